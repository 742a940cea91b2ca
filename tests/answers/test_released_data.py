"""The free answers of a synopsis: centre, cdf, quantiles, parts of columns, intervals, places outside; auto and plan.

Where answers are compared with exact ones, noise is as good as none (LOUD), or within what `tests/chance.py` allows.
"""

import math
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import milepost as mp
from milepost._typing import FloatArray
from milepost.mechanisms.coordinate.slopes import Slopes
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.embeddings.embedding import QUANTA
from milepost.spaces.registry import space_from_json
from tests.chance import FALSE_ALARM, sure

N = 20_000
LOUD: dict[str, dict[str, Any]] = {
    "slopes": {"epsilon": 1000, "delta": 1e-6},
    "hats": {"epsilon": 1000},
    "tangents": {"epsilon": 1000},
}
mechanisms = pytest.mark.parametrize("mechanism", LOUD)
curves = pytest.mark.parametrize("mechanism", ["slopes", "hats"])


@pytest.fixture(scope="module")
def people() -> pd.DataFrame:
    """Two columns of different shapes, and one that nobody differs in."""
    rng = np.random.default_rng(1)
    return pd.DataFrame({"age": rng.beta(2, 5, N) * 72 + 18, "visits": rng.exponential(6, N).clip(0, 40), "site": 7.0})


SPACE = mp.L1({"age": (18, 90), "visits": (0, 40), "site": (7, 7)}, weights={"visits": 0.5})
AGES = mp.L1({"age": (18, 90)})


CACHE: dict[Any, mp.Synopsis] = {}


def cached_release(people: pd.DataFrame, mechanism: str, space: mp.L1 = SPACE, **change: Any) -> mp.Synopsis:
    """A release of one of the tables of this page, made once; a synopsis never changes."""
    key = mechanism, space, len(people), tuple(change.items())
    if key not in CACHE:
        CACHE[key] = mp.release(people, space, mechanism=mechanism, **LOUD[mechanism] | change)
    return CACHE[key]


def exact_cdf(values: Any, at: Any) -> FloatArray:
    return np.asarray((np.asarray(values)[:, None] <= np.atleast_1d(at)).mean(axis=0))


# centre


@mechanisms
def test_the_center_is_the_median_of_every_column(mechanism: str, people: pd.DataFrame) -> None:
    """With almost no noise, close to exact; a column without width stands in its middle."""
    center = cached_release(people, mechanism).center()
    assert center.shape == (3,)
    assert center[2] == 7
    atol = 2 if mechanism == "tangents" else 0.3  # tangents is flat between its lines
    np.testing.assert_allclose(center[:2], people[["age", "visits"]].median(), atol=atol)


@mechanisms
@pytest.mark.parametrize("epsilon", [0.5, 5])
@pytest.mark.filterwarnings("ignore::milepost.AccuracyWarning")
def test_no_place_is_nearer_than_the_center_by_more_than_the_noise(
    mechanism: str, epsilon: float, people: pd.DataFrame
) -> None:
    """F(centre) ≤ F(median) + twice what all answers are off at most."""
    promise: dict[str, Any] = {"failure_probability": FALSE_ALARM} if mechanism == "tangents" else {}
    synopsis = cached_release(people, mechanism, epsilon=epsilon, **promise)
    at_center = mp.exact_mean_distance(people, SPACE, synopsis.center())
    minimum = mp.exact_mean_distance(people, SPACE, people.median().to_numpy())
    assert minimum - 1e-9 <= at_center <= minimum + 2 * synopsis.error(sure(), uniform=True)


# cdf and quantiles


def test_the_cdf_of_one_column_is_a_distribution(people: pd.DataFrame) -> None:
    """slopes at one column: monotone at any noise, 0 below the interval and 1 at its end."""
    for epsilon in (0.05, 1, 1000):
        synopsis = cached_release(people, "slopes", AGES, epsilon=epsilon)
        shares = synopsis.cdf("age", np.linspace(10, 100, 500))
        assert np.diff(shares).min() > -1e-9  # but for rounding
        assert shares.min() == synopsis.cdf("age", 17.9) == 0
        assert shares.max() == synopsis.cdf("age", 90) == synopsis.cdf("age", 1e300) == 1


@curves
def test_the_cdf_is_close_to_the_exact_one(mechanism: str, people: pd.DataFrame) -> None:
    """With almost no noise, within two cells' mass; by name and by position, one value or many."""
    synopsis = cached_release(people, mechanism)
    ages = np.linspace(18.5, 89.5, 60)
    np.testing.assert_allclose(synopsis.cdf("age", ages), exact_cdf(people["age"], ages), atol=0.01)
    assert np.array_equal(synopsis.cdf(0, ages), synopsis.cdf("age", ages))
    assert np.array_equal(synopsis.cdf("age", pd.Series(ages)), synopsis.cdf("age", ages))
    assert synopsis.cdf("age", ages.reshape(6, 10)).shape == (6, 10)
    share = synopsis.cdf("visits", 5)
    assert isinstance(share, float)
    assert share == pytest.approx(float(exact_cdf(people["visits"], 5)[0]), abs=0.02)


@curves
def test_a_quantile_undoes_the_cdf(mechanism: str, people: pd.DataFrame) -> None:
    """To within a cell; close to the exact quantiles; the ends are the ends."""
    synopsis = cached_release(people, mechanism)
    shares = np.linspace(0.02, 0.98, 49)
    values = synopsis.quantile("age", shares)
    assert np.all(np.diff(values) >= 0)
    np.testing.assert_allclose(synopsis.cdf("age", values), shares, atol=0.01)
    np.testing.assert_allclose(values, people["age"].quantile(shares), atol=0.5)
    assert np.array_equal(synopsis.quantile(0, shares), values)
    assert isinstance(synopsis.quantile("age", 0.5), float)
    assert 18 <= synopsis.quantile("age", 0) <= values[0]
    assert values[-1] <= synopsis.quantile("age", 1) == 90
    assert synopsis.quantile("visits", [0, 0.5, 1]).shape == (3,)


@pytest.mark.filterwarnings("ignore::milepost.AccuracyWarning")
def test_quantiles_stay_in_order_whatever_the_noise(people: pd.DataFrame) -> None:
    """Noisy shares below 0 and above 1 do not disturb the search."""
    for mechanism in LOUD:
        synopsis = cached_release(people, mechanism, epsilon=0.2)
        values = synopsis.quantile("visits", np.linspace(0, 1, 101))
        assert np.all(np.diff(values) >= 0)
        assert 0 <= values.min() <= values.max() <= 40


@mechanisms
def test_bad_columns_and_shares_are_refused(mechanism: str, people: pd.DataFrame) -> None:
    """The error names what was wrong."""
    synopsis = cached_release(people, mechanism)
    for q in (-0.01, 1.01, [0.5, 2], math.nan, "half", None):
        with pytest.raises(mp.MilepostError, match=r"^q must"):
            synopsis.quantile("age", q)
    for values in (math.nan, [1, math.nan], "x", None):
        with pytest.raises(mp.MilepostError, match="values of column 'age'"):
            synopsis.cdf("age", values)
    unknown: list[Any] = ["weight", 3, -1, True, None]
    for column in unknown:
        for answer in (synopsis.cdf, synopsis.quantile):
            with pytest.raises(mp.MilepostError, match="no column"):
                answer(column, 0.5)
    with pytest.raises(mp.MilepostError, match="'site' has no width"):
        synopsis.cdf("site", 7)


def test_columns_without_names_go_by_position() -> None:
    """As numbers or as text."""
    synopsis = mp.release(np.random.default_rng(0).random((N, 2)), mp.L1([(0, 1), (0, 1)]), epsilon=100, delta=1e-6)
    assert synopsis.quantile(1, 0.5) == synopsis.quantile("1", 0.5) == pytest.approx(0.5, abs=0.03)
    assert synopsis.mean_distance([0.5], columns=[1]) == synopsis.mean_distance([0.5], columns=["1"])
    frame = pd.DataFrame({"anything": [0.5, 0.25]})
    assert synopsis.mean_distance(frame, columns=["1"]).shape == (2,)


# parts of columns


@mechanisms
def test_some_columns_have_their_part_of_the_distance(mechanism: str, people: pd.DataFrame) -> None:
    """One point, arrays and frames; columns in any order; all of them together make the whole."""
    synopsis = cached_release(people, mechanism)
    age_part = synopsis.mean_distance([30], columns=["age"])
    assert isinstance(age_part, float)
    atol = 0.5 if mechanism == "tangents" else synopsis.error(sure(), uniform=True)  # ε = 1000: tangents has no noise
    assert age_part == pytest.approx(np.abs(people["age"] - 30).mean(), abs=atol)
    visits_part = synopsis.mean_distance([[5], [10]], columns=["visits"])
    expected = [0.5 * np.abs(people["visits"] - visits).mean() for visits in (5, 10)]
    np.testing.assert_allclose(visits_part, expected, atol=atol)
    both = synopsis.mean_distance([[5, 30]], columns=["visits", "age"])
    assert both == pytest.approx(age_part + visits_part[0])
    assert both == pytest.approx(synopsis.mean_distance([[30, 5, 7]]), abs=atol)
    frame = pd.DataFrame({"other": [0, 0], "visits": [5.0, 10.0]}, index=[4, 2])
    series = synopsis.mean_distance(frame, columns=["visits"])
    assert series.index.tolist() == [4, 2]
    assert np.array_equal(series, visits_part)
    assert np.array_equal(synopsis.mean_distance(pl.from_pandas(frame), columns=["visits"]), visits_part)
    assert synopsis.mean_distance([7], columns=["site"]) == 0
    assert np.array_equal(synopsis.mean_distance([[7, 5]], columns=["site", "visits"]), visits_part[:1])


def test_unknown_columns_and_points_that_do_not_fit_are_refused(people: pd.DataFrame) -> None:
    """Before anything is answered."""
    synopsis = cached_release(people, "slopes")
    for columns, message in (
        (["weight"], "no column 'weight'; it has age, visits, site"),
        ([7], "no column 7"),
        ("age", "list"),
        ([], "list"),
        (5, "list"),
        (["age", "age"], "once"),
    ):
        with pytest.raises(mp.MilepostError, match=message):
            synopsis.mean_distance([30], columns=columns)  # type: ignore[arg-type]
    with pytest.raises(mp.MilepostError, match="1 column"):
        synopsis.mean_distance([[30, 5]], columns=["age"])
    with pytest.raises(mp.MilepostError, match="no column 'age'"):
        synopsis.mean_distance(pd.DataFrame({"visits": [1.0]}), columns=["age"])
    for value in (math.nan, math.inf):
        with pytest.raises(mp.MilepostError, match="query points"):
            synopsis.mean_distance([value], columns=["age"])


@mechanisms
@pytest.mark.parametrize("epsilon", [0.01, 1, 1000])
@pytest.mark.filterwarnings("ignore::milepost.AccuracyWarning")
def test_an_explanation_adds_up(mechanism: str, epsilon: float, people: pd.DataFrame) -> None:
    """To the answer itself, even where noise had to be moved into the possible range; outside too."""
    synopsis = cached_release(people.head(50), mechanism, epsilon=epsilon)
    for point in ([30, 5, 7], [18, 0, 7], [90, 40, 7], [17, 45, 8]):
        parts = synopsis.explain(point)
        assert list(parts) == ["age", "visits", "site"]
        assert parts["site"] == 0
        assert sum(parts.values()) == pytest.approx(synopsis.mean_distance(point), rel=1e-9, abs=1e-9)
    with pytest.raises(mp.MilepostError, match="one point, got 2"):
        synopsis.explain([[30, 5, 7], [30, 5, 7]])


def test_an_explanation_is_right(people: pd.DataFrame) -> None:
    """With almost no noise, column by column."""
    parts = cached_release(people, "slopes").explain([30, 5, 7])
    assert parts["age"] == pytest.approx(np.abs(people["age"] - 30).mean(), abs=0.01)
    assert parts["visits"] == pytest.approx(0.5 * np.abs(people["visits"] - 5).mean(), abs=0.01)


# intervals


@mechanisms
def test_intervals_hold_the_answer(mechanism: str, people: pd.DataFrame) -> None:
    """Two floats for one point, two arrays for many; low ends are at least 0, more confidence is wider."""
    synopsis = cached_release(people, mechanism, epsilon=1)
    points = np.column_stack([np.linspace(18, 90, 20), np.linspace(40, 0, 20), np.full(20, 7)])
    (low, high), values = synopsis.interval(points), synopsis.mean_distance(points)
    assert low.shape == high.shape == (20,)
    assert np.all((low >= 0) & (low <= values) & (values <= high))
    assert np.all(high - values <= synopsis.error() * (1 + 1e-9))
    interval = synopsis.interval(points[3])
    assert [type(end) for end in interval] == [float, float]
    assert interval == (low[3], high[3])
    (raw_low, raw_high), raw_values = synopsis.interval(points, raw=True), synopsis.mean_distance(points, raw=True)
    assert np.all((raw_low <= np.maximum(raw_values, 0)) & (raw_values <= raw_high))
    if mechanism != "tangents":
        lower, higher = synopsis.interval(points, confidence=0.999)
        assert np.all((lower <= low) & (higher > high))
    for confidence in (0, 1, math.nan, 2):
        with pytest.raises(mp.MilepostError, match="confidence"):
            synopsis.interval(points, confidence=confidence)


@pytest.mark.filterwarnings("ignore::milepost.AccuracyWarning")
def test_low_ends_are_never_negative() -> None:
    """Whatever the noise."""
    for mechanism in LOUD:
        synopsis = mp.release(
            np.full((5, 1), 0.5), mp.L1([(0, 1)]), mechanism=mechanism, **LOUD[mechanism] | {"epsilon": 0.1}
        )
        assert synopsis.interval([[0.5], [0.1]])[0].min() >= 0


def test_raw_answers_are_the_noisy_numbers_themselves(people: pd.DataFrame) -> None:
    """Unprojected and unclipped: at cell borders they follow from the released integers; a list is many values."""
    synopsis = cached_release(people, "slopes", AGES, epsilon=0.2)
    numbers = synopsis.statistic.tensors()["numbers"]
    cell = QUANTA // len(numbers)
    first = (N * cell - numbers).sum() * AGES.embedding.quantum[0] / N
    assert synopsis.mean_distance([18], raw=True) == pytest.approx(first)
    curve = synopsis.mean_distance(np.linspace(18, 90, len(numbers) + 1), raw=True)
    np.testing.assert_allclose(np.diff(curve), (2 * numbers - N * cell) * AGES.embedding.quantum[0] / N, atol=1e-9)
    assert not np.array_equal(curve, synopsis.mean_distance(np.linspace(18, 90, len(numbers) + 1)))


# places outside the space


@curves
@pytest.mark.parametrize("raw", [False, True])
def test_curves_continue_linearly_outside(mechanism: str, raw: bool, people: pd.DataFrame) -> None:
    """With slope ± weight in each column, and without a warning."""
    synopsis = cached_release(people, mechanism, epsilon=1)
    points = np.array([[18.0, 40.0, 7.0], [90.0, 0.0, 7.0], [30.0, 40.0, 7.0]])
    shifts = np.array([[-5.0, 4.0, 3.0], [1000.0, -2.0, -3.0], [0.0, 0.25, 0.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        differences = synopsis.mean_distance(points + shifts, raw=raw) - synopsis.mean_distance(points, raw=raw)
    np.testing.assert_allclose(differences, np.abs(shifts[:, 0]) + 0.5 * np.abs(shifts[:, 1]), rtol=1e-9)
    answers = synopsis.mean_distance([[90], [95]], columns=["age"])
    assert answers[1] - answers[0] == pytest.approx(5)


def test_tangents_answer_at_the_border_and_say_so(people: pd.DataFrame) -> None:
    synopsis = cached_release(people, "tangents")
    expected = synopsis.mean_distance([90, 40, 7])
    calls: list[Any] = [
        lambda: synopsis.mean_distance([95, 41, 7]),
        lambda: sum(synopsis.explain([95, 41, 7]).values()),
        lambda: synopsis.interval([95, 41, 7])[1] - synopsis.error(),
    ]
    for call in calls:
        with pytest.warns(mp.AccuracyWarning, match="1 of 1 query points") as record:
            assert call() == pytest.approx(expected)
        assert [warning.filename for warning in record] == [__file__]


# sessions from a synopsis, auto, plan


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_a_session_may_be_backed_by_a_synopsis(delta: float, people: pd.DataFrame) -> None:
    """Unlimited, never tested, and what it says is what a release of the same guarantee says."""
    mechanism = "slopes" if delta else "hats"
    with mp.interactive(people, SPACE, epsilon=1, delta=delta, max_queries=2, mechanism=mechanism) as session:
        points = np.column_stack([np.linspace(18, 90, 30), np.linspace(0, 40, 30), np.full(30, 7.0)])
        answers = session.ask_many(points)
        assert {(a.remaining, a.tested, a.updated) for a in answers} == {(None, False, False)}
        assert session.remaining is None
        assert session.asked == 30
        assert session.ask(points[4]) == answers[4]
        synopsis = session.synopsis
        assert synopsis is not None
        assert [a.value for a in answers] == synopsis.mean_distance(points).tolist()
        np.testing.assert_allclose([a.value + a.error for a in answers], synopsis.interval(points)[1])
        assert session.error == synopsis.error()
        other = mp.release(people, SPACE, epsilon=1, delta=delta, mechanism=mechanism)
        assert synopsis.card == other.card
        assert "queries asked" in repr(session)
        assert " of " not in repr(session)
    with pytest.raises(mp.MilepostError, match="closed"):
        session.ask(points[0])


@pytest.mark.parametrize("d", [1, 2, pytest.param(10, marks=pytest.mark.slow)])
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_auto_takes_the_smallest_predicted_error(d: int, delta: float) -> None:
    """Of all that fit the guarantee; the plan, the release and the session agree."""
    space = mp.L1([(0, k + 1) for k in range(d)])
    plan = mp.plan(space, n=N, epsilon=1, delta=delta)
    errors = {prediction.mechanism: prediction.error for prediction in plan.predictions}
    assert set(errors) == ({"slopes", "hats", "tangents"} if delta else {"hats", "tangents"})
    assert set(plan.refused) == (set() if delta else {"slopes"})
    assert list(errors.values()) == sorted(errors.values())
    best = min(errors, key=lambda name: errors[name])
    assert plan.best.mechanism == best
    data = np.random.default_rng(0).random((N, d))
    assert mp.release(data, space, epsilon=1, delta=delta).mechanism == best
    session = mp.interactive(data, space, epsilon=1, delta=delta, max_queries=5)
    predictions = mp.plan(space, n=N, epsilon=1, delta=delta, max_queries=5).predictions
    session_prediction = min((p for p in predictions if "queries" in p.mechanism), key=lambda p: p.error)
    better = session_prediction.error < 0.95 * errors[best]  # any number of queries is worth 5 %
    assert session.mechanism == (session_prediction.mechanism.split(",")[0] if better else best)


@pytest.mark.slow
@pytest.mark.parametrize(("d", "delta", "epsilon"), [(1, 1e-6, 1.0), (1, 0, 0.1), (3, 0, 20.0), (3, 1e-6, 0.3)])
def test_a_plan_for_an_error_undoes_a_plan_for_an_epsilon(d: int, delta: float, epsilon: float) -> None:
    """Within 0.2 %, and the planned error is kept."""
    space = mp.L1([(0, 1)] * d)
    error = mp.plan(space, n=100_000, epsilon=epsilon, delta=delta).best.error
    plan = mp.plan(space, n=100_000, error=error, delta=delta)
    assert plan.guarantee.epsilon == pytest.approx(epsilon, rel=2e-3)
    assert plan.best.error <= error
    assert plan.guarantee.delta == delta


def test_impossible_plans_are_refused() -> None:
    """An error that no ε gives, no distance at all, or both and neither."""
    space = mp.L1([(0, 1)])
    with pytest.raises(mp.MilepostError, match="no epsilon gives an error of 1e-12"):
        mp.plan(space, n=100, error=1e-12)
    for error in (0, -1, math.nan, math.inf, "small", True):
        with pytest.raises(mp.MilepostError, match="error must be a positive distance"):
            mp.plan(space, n=100, error=error)  # type: ignore[arg-type]
    with pytest.raises(mp.MilepostError, match="either epsilon"):
        mp.plan(space, n=100)
    with pytest.raises(mp.MilepostError, match="either epsilon"):
        mp.plan(space, n=100, epsilon=1, error=0.1)


# columns of steps


STEPS = mp.L1({"age": (18, 90), "visits": (0, 40)}, weights={"visits": 2}, step={"age": 1, "visits": 0.5})


@pytest.fixture(scope="module")
def counted() -> pd.DataFrame:
    """Whole years and half visits, with heavy atoms."""
    rng = np.random.default_rng(2)
    return pd.DataFrame({"age": rng.integers(18, 91, N), "visits": rng.poisson(6, N).clip(0, 80) / 2})


@curves
def test_whole_steps_have_no_interpolation_error(mechanism: str, counted: pd.DataFrame) -> None:
    """At steps and between them, an almost noiseless release is exact, for spans that are no powers of two."""
    synopsis = cached_release(counted, mechanism, STEPS)
    points = np.array([[18, 0], [40, 3], [40.5, 3.25], [63.99, 12.01], [90, 40], [89.5, 39.9], [5, 50]])
    noise = synopsis.error(sure(7))
    np.testing.assert_allclose(
        synopsis.mean_distance(points), mp.exact_mean_distance(counted, STEPS, points), atol=noise
    )
    assert noise < 5e-3
    continuous_space = mp.L1({"age": (18, 90), "visits": (0, 40)}, weights={"visits": 2})
    guarantee = mp.Guarantee(1000, 1e-6)
    errors = [
        Slopes().predict(space.embedding, N, ProtectedChange(), guarantee).prediction.error
        for space in (STEPS, continuous_space)
    ]
    assert errors[0] < errors[1]


@pytest.mark.slow
@mechanisms
def test_steps_answer_everything_else_too(mechanism: str, counted: pd.DataFrame) -> None:
    """Quantiles are steps, the cdf counts the step itself, the centre is the median."""
    synopsis = cached_release(counted, mechanism, STEPS)
    shares = np.linspace(0.05, 0.95, 19)
    values = synopsis.quantile("age", shares)
    assert np.array_equal(values, np.rint(values))
    atol = 3 if mechanism == "tangents" else 0
    expected = np.sort(counted["age"])[np.ceil(shares * N).astype(int) - 1]
    assert np.abs(values - expected).max() <= atol + 1
    if mechanism != "tangents":
        assert np.mean(values == expected) > 0.7  # a share next to a jump may fall on either side
        ages = np.array([18, 30, 30.5, 31, 89.999])
        np.testing.assert_allclose(synopsis.cdf("age", ages), exact_cdf(counted["age"], ages), atol=2e-3)
    np.testing.assert_allclose(synopsis.center(), counted.median(), atol=1 + atol)


def test_records_go_to_the_nearest_step() -> None:
    """Inside the bounds, each by itself."""
    space = mp.L1({"age": (18, 90)}, step=1)
    ages = np.array([[17.0], [18.4], [18.6], [40.49], [89.6], [99.0]])
    quanta = space.quantize(space.read(ages))[:, 0]
    step = int(space.embedding.step[0])
    assert (quanta // step + 18).tolist() == [18, 18, 19, 40, 90, 90]
    assert not np.any(quanta % step)
    assert int(space.embedding.span[0]) == 72 * step <= QUANTA
    assert step & (step - 1) == 0
    assert space.point(space.position(ages)) == pytest.approx(ages)


@mechanisms
def test_a_space_with_steps_survives_a_file(mechanism: str, counted: pd.DataFrame, tmp_path: Any) -> None:
    assert space_from_json(STEPS.to_json(), {}) == STEPS
    synopsis = cached_release(counted, mechanism, STEPS)
    synopsis.save(tmp_path / "steps.milepost")
    loaded_synopsis = mp.load(tmp_path / "steps.milepost")
    assert loaded_synopsis.space == STEPS
    assert loaded_synopsis.interval([40.5, 3.25]) == synopsis.interval([40.5, 3.25])


@pytest.mark.parametrize(
    ("bounds", "step", "message"),
    [
        ([(0, 1)], 0.3, "whole steps"),
        ([(0, 1)], 2, "whole steps"),
        ([(0, 1)], 1e-7, "whole steps"),
        ([(0, 1e6)], 1, "65,536 whole steps"),
        ([(0, 1)], -1, "at least 0"),
        ([(0, 1)], math.nan, "finite"),
        ([(0, 1)], math.inf, "finite"),
        ([(0, 1)], "one", "numbers"),
        ([(0, 1)], [1, 1], "one number for each of the 1 columns"),
        ({"age": (18, 90)}, {"weight": 1}, "unknown column 'weight'"),
        ({"age": (18, 90)}, {"age": 0.7}, "'age'"),
    ],
)
def test_bad_steps_are_refused(bounds: Any, step: Any, message: str) -> None:
    with pytest.raises(mp.MilepostError, match=message):
        mp.L1(bounds, step=step)


def test_steps_of_a_tenth_are_whole() -> None:
    """0.1 has no float, but 0..1 has ten such steps; a column without a step goes its own way."""
    space = mp.L1({"a": (0, 1), "b": (0, 3)}, step={"a": 0.1})
    assert (int(space.embedding.span[0]) // int(space.embedding.step[0]), int(space.embedding.step[1])) == (10, 1)
    assert space.quantize(np.array([[0.3, 1.0], [0.7, 2.0]]))[:, 0].tolist() == [3 << 20, 7 << 20]


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_a_tangent_session_with_steps_keeps_its_promise(delta: float, counted: pd.DataFrame) -> None:
    """50 queries, on and between steps, within the error."""
    rng = np.random.default_rng(0)
    points = np.column_stack([rng.uniform(18, 90, 50), rng.integers(0, 41, 50)])
    points[:25, 0] = np.rint(points[:25, 0])
    with mp.interactive(
        counted, STEPS, epsilon=100, delta=delta, max_queries=100, failure_probability=FALSE_ALARM, mechanism="tangents"
    ) as session:
        assert session.mechanism == "tangents"
        assert session.error < 0.1 * STEPS.diameter
        values = [answer.value for answer in session.ask_many(points)]
    assert np.abs(values - mp.exact_mean_distance(counted, STEPS, points)).max() <= session.error
