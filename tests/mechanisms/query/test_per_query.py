"""gaussian and laplace: what they cost, how far off they are, which queries they answer, and their files."""

import itertools
import json
import math
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import milepost as mp
from milepost._typing import AnyArray, FloatArray, IntArray
from milepost.ingest.aggregation import read_sums
from milepost.mechanisms.query.per_query import PerQuery
from milepost.privacy import noise
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.base import Space
from milepost.spaces.embeddings.embedding import QUANTA
from milepost.spaces.queries import Queries
from milepost.statistics.distance_sums import DistanceSums
from tests import chance
from tests.chance import assert_promised, assert_rate, assert_scale, assert_wrong_scale
from tests.mechanisms.contract import APPROXIMATE, PURE, Transcript, patched, run_mechanism, silent
from tests.spaces.farthest_record import RANGE_CASES
from tests.spaces.test_distance_range import Between

LAWS: dict[chance.Law, mp.Guarantee] = {"gaussian": APPROXIMATE, "laplace": PURE}
LINE = mp.L1([(0, 1)])

laws = pytest.mark.parametrize("law", LAWS)


def _uniform_error(synopsis: mp.Synopsis) -> float:
    """0 where there is none."""
    return synopsis.error(0.9, uniform=True) if synopsis.statistic.has_uniform_error else 0.0


def on_the_line(count: int) -> Queries:
    return Queries(np.linspace(0, 1, count)[:, None], LINE)


def budget(law: str, guarantee: mp.Guarantee) -> Fraction:
    """μ²/2, or ε for laplace, which leaves δ unused."""
    return Fraction(PerQuery(law).accounted(guarantee).budget)


# What a pair of records costs.


class Nothing(Exception):  # noqa: N818
    """What a user's function may raise."""


def broken_metric(rows: dict[str, list[float | None]]) -> Callable[[Any, Any], float]:
    """A distance of whole numbers; of a private record, whatever its row says, None for an exception."""

    def distance(x: Any, y: Any) -> float:
        if not isinstance(x, str):
            return float(abs(x - y))
        value: float | None = rows[x][y]
        if value is None:
            raise Nothing
        return value

    return distance


def costs(
    law: str, queries: Queries, tables: Sequence[Any], change: ProtectedChange, guarantee: mp.Guarantee
) -> Iterator[Fraction]:
    """What each two tables cost: Σ Δ²/(2σ²) or Σ|Δ|/b, from what is handed to the noise functions."""
    transcripts = list[Transcript]()
    for table in tables:
        transcripts.append(transcripts[0].again() if transcripts else Transcript())
        with transcripts[-1].listen():
            sums = read_sums(table, queries.space, queries, transform=PerQuery(law).summands)
            run_mechanism(PerQuery(law), sums, queries, change, guarantee)
    assert {draw.law for draw in transcripts[0].draws} == {law}
    for first, second in itertools.combinations(transcripts, 2):
        draws = zip(first.draws, second.draws, strict=True)
        yield sum(
            (draw.cost(other, PerQuery(law).accounted(guarantee).accounting) for draw, other in draws), Fraction(0)
        )


def pair_cost(law: str, queries: Queries, pair: Sequence[Any], rest: Any, guarantee: mp.Guarantee) -> Fraction:
    """What one record replaced by another costs."""
    (cost,) = costs(law, queries, [[record, *rest] for record in pair], ProtectedChange(), guarantee)
    return cost


distances = st.one_of(
    st.none(),
    st.sampled_from([0.0, 5.0, 2.5, -0.0, -3.0, math.nan, math.inf, -math.inf, 1e300, 5e-324, 5 - 1e-7, 5 + 1e-7]),
    st.floats(0, 5),
)


@laws
@settings(max_examples=30)
@given(data=st.data())
def test_no_pair_costs_more_than_the_budget(law: str, data: st.DataObject) -> None:
    """Whatever the user's function says about a record, NaN, infinities, negative numbers and exceptions included."""
    count = data.draw(st.integers(1, 6))
    row = st.lists(distances, min_size=count, max_size=count)
    rows = {"left": data.draw(row), "right": data.draw(row), "other": data.draw(row)}
    guarantee = mp.Guarantee(data.draw(st.floats(0.01, 500)), 1e-6 if law == "gaussian" else 0)
    space = mp.AnyMetric(broken_metric(rows), diameter=5, queries=list(range(count)))
    queries = Queries(space.given_queries, space)
    rest = ["other"] * data.draw(st.integers(0, 2))
    cost = pair_cost(law, queries, ["left", "right"], rest, guarantee)
    assert cost <= budget(law, guarantee)


@laws
@pytest.mark.parametrize("count", [1, 2, 7, 100])
@pytest.mark.parametrize("epsilon", [0.01, 1, 3.7, 1000])
def test_the_budget_is_spent_on_the_worst_pair(law: str, count: int, epsilon: float) -> None:
    """One end of the line and the other, asked about at one end; a tenth less noise would be too little."""
    queries = Queries(np.zeros((count, 1)), LINE)
    guarantee = mp.Guarantee(epsilon, 1e-6 if law == "gaussian" else 0)

    def worst() -> Any:
        return pair_cost(law, queries, [[0.0], [1.0]], [[0.5]], guarantee)

    limit = budget(law, guarantee)
    assert limit * (1 - Fraction(1, 10**9)) <= worst() <= limit
    scales = PerQuery.scales
    with patched([(PerQuery, "scales", lambda *args: (0.9 * scales(*args)[0], 0.0))]):
        assert worst() > limit


@laws
@pytest.mark.parametrize("name", RANGE_CASES)
def test_the_farthest_record_of_a_place_uses_the_budget_up(name: str, law: chance.Law) -> None:
    """A record at the place moves to the farthest point; or there is one at the farthest point, or none."""
    case, guarantee = RANGE_CASES[name](), LAWS[law]
    if case.space.given_queries is None:
        places = [Queries(case.queries.points[[k] * 3], case.space) for k in range(case.queries.count)]
    else:
        places = [Queries(case.space.given_queries[[k]], case.space) for k in range(case.queries.count)]
    for k, queries in enumerate(places):
        nearest, farthest = case.extremes(k)
        replaced = pair_cost(law, queries, [nearest, farthest], [nearest], guarantee)
        (added,) = costs(law, queries, [[nearest], [nearest, farthest]], ProtectedChange("add-remove"), guarantee)
        for cost in (replaced, added):
            assert 1 - Fraction(1, 10**5) <= cost / budget(law, guarantee) <= 1


@laws
@pytest.mark.parametrize("name", RANGE_CASES)
def test_no_records_cost_more_than_the_budget_at_several_places(name: str, law: chance.Law) -> None:
    """The extreme records of each place, from one to the other and present or absent, and other records."""
    case, guarantee = RANGE_CASES[name](), LAWS[law]
    queries = case.queries
    records = [record for query in range(queries.count) for record in case.extremes(query)] + list(case.records[:6])
    shares = list(costs(law, queries, [[record] for record in records], ProtectedChange(), guarantee))
    assert 0.2 < max(shares) / budget(law, guarantee) <= 1
    for record in records:
        tables = [records[:1], [records[0], record]]
        (added,) = costs(law, queries, tables, ProtectedChange("add-remove"), guarantee)
        assert added <= budget(law, guarantee)


@laws
def test_a_range_that_does_not_hold_costs_no_more(law: chance.Law) -> None:
    """Distances above, below and without a number: they are moved into the range that noise was made for."""
    queries, hours = Queries(np.array([[0.0], [7.0], [12.0]]), Between()), np.arange(24.0)[:, None, None]
    for change in (ProtectedChange(), ProtectedChange("add-remove")):
        tables = list(hours) if change.replaces else [hours[0], *([*hours[0], *hour] for hour in hours)]
        all_costs = list(costs(law, queries, tables, change, LAWS[law]))
        neighbors = all_costs if change.replaces else all_costs[: len(hours)]
        assert 0.6 < max(neighbors) / budget(law, LAWS[law]) <= 1


@pytest.mark.parametrize("place", [0, 0.2, 0.5])
def test_the_scales_of_one_place_are_those_of_its_range(place: float) -> None:
    """DESIGN.md: σ = 4.225 a unit of ℓ₂ sensitivity at (1, 1e-6), and k/ε a unit of ℓ₁ for Laplace."""
    queries, reach = Queries(np.full((9, 1), place), LINE), max(place, 1 - place)
    gaussian, _ = PerQuery("gaussian").scales(queries, ProtectedChange(), APPROXIMATE)
    laplace, _ = PerQuery("laplace").scales(queries, ProtectedChange(), mp.Guarantee(0.5, 1e-6))
    assert gaussian == pytest.approx(4.22468 * 3 * reach * QUANTA, rel=1e-4)
    assert laplace == pytest.approx(18 * reach * QUANTA, rel=1e-6)


@laws
def test_scales_give_answers_the_smallest_mean_variance(law: chance.Law) -> None:
    """σ_j² = r_j·Σr/(2ρ) and b_j = r_j^⅓·Σr^⅔/ε but for rounding; noise ∝ r has more, and more at the worst place."""
    queries, guarantee = on_the_line(33), LAWS[law]
    ranges, limit = (queries.high - queries.low).astype(float), float(budget(law, guarantee))
    scales, _ = PerQuery(law).scales(queries, ProtectedChange(), guarantee)
    if law == "gaussian":
        best = np.sqrt(ranges * ranges.sum() / (2 * limit))
        others = [f * np.sqrt(((ranges / f) ** 2).sum() / (2 * limit)) for f in (ranges, np.ones(33))]
    else:
        best = np.cbrt(ranges) * np.cbrt(ranges**2).sum() / limit
        others = [f * (ranges / f).sum() / limit for f in (ranges, np.ones(33))]
    assert scales == pytest.approx(best, rel=0.025)
    assert np.mean(scales**2) == pytest.approx(np.mean(best**2), rel=1e-3)
    assert all(np.mean(scales**2) < 0.999 * np.mean(other**2) for other in others)
    assert scales.max() < others[0].max()


# How far off answers are.


@laws
def test_the_noise_has_its_scale(law: chance.Law) -> None:
    """20,000 numbers against the scale that was paid for; a tenth less or more is rejected."""
    queries, guarantee = on_the_line(1000), LAWS[law]
    sums = read_sums(np.full((10, 1), 0.3), LINE, queries)
    (scales, _), add = PerQuery(law).scales(queries, ProtectedChange(), guarantee), noise._add

    def errors(factor: float) -> FloatArray:
        with patched([(noise, "_add", lambda law, values, scale: add(law, values, factor * scale))]):
            runs = [run_mechanism(PerQuery(law), sums, queries, ProtectedChange(), guarantee).sums for _ in range(20)]
        return np.concatenate([(run - sums.values[0]) / scales for run in runs])

    assert_scale(errors(1), law=law, against=1.1)
    for factor in (0.9, 1.1):
        assert_wrong_scale(errors(factor), factor, law=law)


@dataclass
class CoverageCounts:
    """How often answers were within their half-widths: one by one, and all of a release at once."""

    each: int = 0
    every: int = 0

    def count(self, errors: FloatArray, half_widths: FloatArray, joint: FloatArray) -> None:
        self.each += int((np.abs(errors) <= half_widths).sum())
        self.every += int((np.abs(errors) <= joint).all())


@pytest.mark.slow
@laws
def test_answers_lie_within_their_half_widths(law: chance.Law) -> None:
    """At 95 % one by one (answers to different queries have noise of their own) and all together, and hardly more.

    Noise that is claimed a fifth too small is rejected: 0.908 of Laplace noise would be covered then.
    """
    releases, queries, guarantee = 1200, on_the_line(10), LAWS[law]
    people = np.random.default_rng(0).beta(2, 3, (5000, 1))
    exact, positions = mp.exact_mean_distance(people, LINE, queries.points), np.arange(10)
    sums = read_sums(people, LINE, queries)
    raw, default = CoverageCounts(), CoverageCounts()
    for _ in range(releases):
        noisy_sums = run_mechanism(PerQuery(law), sums, queries, ProtectedChange(), guarantee)
        widths = tuple(noisy_sums.half_widths(positions, confidence) for confidence in (0.95, 1 - 0.05 / 10))
        assert widths[0].max() == noisy_sums.half_width(0.95)
        assert widths[1].max() == pytest.approx(noisy_sums.half_width(0.95, uniform=True))
        assert widths[1].max() < LINE.diameter
        errors = noisy_sums.values(positions, raw=True) - exact
        raw.count(errors, *widths)
        default.count(noisy_sums.values(positions) - exact, *widths)
    assert_rate(raw.each, 10 * releases, at_least=0.95, at_most=0.95, against=0.91)
    assert_rate(raw.every, releases, at_least=0.95, at_most=0.95, against=0.87)
    assert default.each >= raw.each  # answers are moved to where the truth can be
    assert default.every >= raw.every


@laws
def test_the_prediction_is_what_the_release_says(law: chance.Law) -> None:
    """To the bit, without data or noise."""
    queries, guarantee = on_the_line(7), LAWS[law]
    with silent():
        prediction = PerQuery(law).predict(queries, 300, ProtectedChange(), guarantee).prediction
    noisy_sums = run_mechanism(
        PerQuery(law), read_sums(np.zeros((300, 1)), LINE, queries), queries, ProtectedChange(), guarantee
    )
    assert prediction.error == noisy_sums.half_width(0.95)
    assert prediction.uniform == noisy_sums.half_width(0.95, uniform=True)
    assert prediction.rms == noisy_sums.deviation


# Files.


def shared(x: Any, y: Any) -> float:
    """How many members only one of two sets has."""
    return float(len(set(x) ^ set(y)))


PLANE = np.random.default_rng(1).random((500, 2))
QUERIES = [[0.1, 0.2], [0.5, 0.5], [1 / 3, 0.9]]
SETS = [(1, 2), (2, 3, 4), ()]


@dataclass(frozen=True)
class FileCase:
    """A release for a file; in another process points come as JSON has them, sets by position."""

    space: Space
    data: Any
    mechanism: str
    points: Any
    queries: Any = None
    json_points: Any = None

    def release(self) -> mp.Synopsis:
        delta = 0 if self.mechanism in ("laplace", "hats") else 1e-6
        options: dict[str, Any] = {"mechanism": self.mechanism, "queries": self.queries}
        return mp.release(self.data, self.space, epsilon=50, delta=delta, **options)


BOX = {"x": (0, 1), "y": (0, 1)}
LOCATIONS = np.random.default_rng(2).normal([60, 179], 5, (200, 2))
TABLE = mp.Gower({"plan": mp.category(["b", "a"]), "age": mp.number(0, 9), "member": mp.flag()})
ROWS_OF_TABLE = [["a", 3.5, True], ["b", 0.0, False], ["z", 9.0, True]] * 50
FILE_CASES = {
    "l1, gaussian": FileCase(mp.L1(BOX), PLANE, "gaussian", QUERIES, QUERIES),
    "l1, laplace": FileCase(mp.L1([(0, 1)] * 2), PLANE, "laplace", QUERIES, QUERIES),
    "l1, slopes": FileCase(mp.L1(BOX), PLANE, "slopes", QUERIES),
    "disc, gaussian": FileCase(mp.L2(center=[0.5, 0.5], radius=0.6), PLANE, "gaussian", QUERIES, QUERIES),
    "disc, slopes": FileCase(mp.L2(center=[0.5, 0.5], radius=0.6, directions=8), PLANE, "slopes", QUERIES),
    "box, hats": FileCase(mp.L2(BOX, directions=16), PLANE, "hats", QUERIES),
    "lp, laplace": FileCase(mp.Lp(1.5, [(0, 1)] * 2), PLANE, "laplace", QUERIES, QUERIES),
    "lp, slopes": FileCase(mp.Lp(1.5, [(0, 1)] * 2, directions=16), PLANE, "slopes", QUERIES),
    "cap, slopes": FileCase(mp.GreatCircle((60, 179), 2000), LOCATIONS, "slopes", [[60.0, 179.0], [55.0, -178.0]]),
    "cap, laplace": FileCase(mp.GreatCircle((60, 179), 2000), LOCATIONS, "laplace", [[60.0, 179.0]], [[60.0, 179.0]]),
    "angles, hats": FileCase(mp.Angular(2, directions=16), PLANE, "hats", QUERIES),
    "angles, gaussian": FileCase(mp.Angular(2), PLANE, "gaussian", QUERIES, QUERIES),
    "table, slopes": FileCase(TABLE, ROWS_OF_TABLE, "slopes", [["a", 3.5, True], ["b", 0.0, False]]),
    "table, laplace": FileCase(
        TABLE, ROWS_OF_TABLE, "laplace", [["a", 3.5, True], ["b", 0.0, False]], [["a", 3.5, True], ["b", 0.0, False]]
    ),
    "letters, hats": FileCase(mp.Hamming(["AB"] * 3), ["ABA", "BBB"] * 50, "hats", ["AAA", "ABB"]),
    "edit, gaussian": FileCase(
        mp.AnyMetric(mp.edit_distance, 9, ["mile", "post", "é"]), ["miles", "past"] * 50, "gaussian", ["é", "mile"]
    ),
    "edit, slopes": FileCase(
        mp.AnyMetric(mp.edit_distance, 9, ["mile", "post", "é"]), ["miles", "past"] * 50, "slopes", ["é", "mile"]
    ),
    "lambda, gaussian": FileCase(
        mp.AnyMetric(lambda x, y: float(len(set(x) ^ set(y))), 5, SETS), [(1, 9), (3,), (2, 4)] * 40, "gaussian", SETS
    ),
    "lambda, hats, calibrated": FileCase(
        mp.AnyMetric(lambda x, y: float(len(set(x) ^ set(y))), 5, SETS, calibrate=True),
        [(1, 9), (3,)] * 40,
        "hats",
        SETS,
    ),
    "sets, laplace": FileCase(
        mp.AnyMetric(shared, 5, [frozenset(s) for s in SETS]),
        [frozenset({1, 9})] * 40,
        "laplace",
        [frozenset(s) for s in SETS],
        json_points=[0, 1, 2],
    ),
    "sets, slopes": FileCase(
        mp.AnyMetric(shared, 5, [frozenset(s) for s in SETS]),
        [frozenset({1, 9})] * 40,
        "slopes",
        [frozenset(s) for s in SETS],
        json_points=[0, 1, 2],
    ),
}
wide = pytest.mark.filterwarnings("ignore:the predicted error:milepost.AccuracyWarning")


@lru_cache
def cached_release(name: str) -> mp.Synopsis:
    """One release of each, for all tests of files."""
    return FILE_CASES[name].release()


def all_answers(synopsis: mp.Synopsis, points: Any) -> list[Any]:
    """All that a synopsis says about some points; floats that JSON gives back to the bit."""
    values = [synopsis.mean_distance(points, raw=raw).tolist() for raw in (False, True)]
    return [*values, np.array(synopsis.interval(points)).tolist(), synopsis.error(), _uniform_error(synopsis)]


@wide
@pytest.mark.parametrize("name", FILE_CASES)
def test_a_file_answers_bit_for_bit(name: str, tmp_path: Path) -> None:
    """Saved and loaded: the same answers, card, statement and errors; saved once more, the same file."""
    case = FILE_CASES[name]
    synopsis = cached_release(name)
    synopsis.save(tmp_path / "one.milepost")
    again = mp.load(tmp_path / "one.milepost")
    assert all_answers(again, case.json_points or case.points) == all_answers(synopsis, case.points)
    assert again.card == json.loads(json.dumps(synopsis.card))
    assert again.statement() == synopsis.statement()
    assert repr(again) == repr(synopsis)
    again.save(tmp_path / "two.milepost")
    assert all_answers(mp.load(tmp_path / "two.milepost"), case.json_points or case.points) == all_answers(
        synopsis, case.points
    )


@pytest.mark.slow
@wide
def test_a_file_answers_bit_for_bit_in_another_process(tmp_path: Path) -> None:
    """Which has none of the metrics that were made here."""
    expected = {}
    for number, (name, case) in enumerate(FILE_CASES.items()):
        synopsis = cached_release(name)
        synopsis.save(tmp_path / f"{number}.milepost")
        expected[name] = all_answers(synopsis, case.points)
    points = [case.json_points or case.points for case in FILE_CASES.values()]
    code = """
import json, sys, milepost as mp
result = []
for number, asked in enumerate(json.load(sys.stdin)):
    synopsis = mp.load(f"{sys.argv[1]}/{number}.milepost")
    values = [synopsis.mean_distance(asked, raw=raw).tolist() for raw in (False, True)]
    interval = [end.tolist() for end in synopsis.interval(asked)]
    uniform = synopsis.error(0.9, uniform=True) if synopsis.statistic.has_uniform_error else 0.0
    result.append([*values, interval, synopsis.error(), uniform])
print(json.dumps(result))
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    output = subprocess.run(command, input=json.dumps(points), capture_output=True, text=True, check=True).stdout  # noqa: S603
    for name, answers in zip(FILE_CASES, json.loads(output), strict=True):
        assert answers == expected[name], name


# Which queries are answered.


def test_a_delta_of_zero_is_honoured() -> None:
    """gaussian is refused before anything is drawn, and laplace never draws Gaussian noise, whatever δ is."""
    queries = on_the_line(3)
    sums = read_sums(np.zeros((50, 1)), LINE, queries)
    table, query_points = np.zeros((50, 1)), [[0.0], [0.5]]
    calls: list[Callable[[], Any]] = [
        lambda: PerQuery("gaussian").check(ProtectedChange(), PURE),
        lambda: run_mechanism(PerQuery("gaussian"), sums, queries, ProtectedChange(), PURE),
        lambda: PerQuery("gaussian").predict(queries, 50, ProtectedChange(), PURE),
        lambda: mp.release(table, LINE, epsilon=1, mechanism="gaussian", queries=query_points),
    ]
    with silent():
        for call in calls:
            with pytest.raises(mp.MilepostError, match=r"needs delta > 0"):
                call()
    draw = noise._add

    def no_gaussian(law: str, values: IntArray, scale: float) -> IntArray:
        assert law == "laplace"
        return draw(law, values, scale)

    with patched([(noise, "_add", no_gaussian)]):
        for guarantee in (PURE, APPROXIMATE):
            run_mechanism(PerQuery("laplace"), sums, queries, ProtectedChange(), guarantee)
        assert mp.release(table, LINE, epsilon=1, queries=query_points).mechanism == "field"


@laws
def test_queries_must_be_given(law: str) -> None:
    """A space that has none of its own needs them, in a list; AnyMetric brings its own."""
    plane = mp.L1([(0, 1)] * 2)
    cases: list[tuple[Space, Any, str]] = [
        (LINE, None, "queries="),
        (LINE, [], "none"),
        (plane, [0.5, 0.5], "in a list"),
        (LINE, [[math.nan]], "NaN"),
        (plane, [[1.0]], "shape 1 × 1"),
    ]
    with silent():
        for space, queries, message in cases:
            with pytest.raises(mp.MilepostError, match=message):
                mp.release(np.zeros((50, space.width)), space, epsilon=1, delta=1e-6, mechanism=law, queries=queries)
    metric_space = mp.AnyMetric(mp.edit_distance, 5, ["a", "bb"])
    synopsis = mp.release(["ab"] * 500, metric_space, mechanism=law, epsilon=50, delta=1e-6)
    assert_promised(synopsis, ["a", "bb"], [1, 1], at_most=0.1 * metric_space.diameter)


@laws
def test_other_points_are_refused(law: str) -> None:
    """A release knows its queries only, and says so; so does the rest that needs more."""
    synopsis = mp.release(
        np.full((500, 2), 0.5), mp.L1(BOX), epsilon=50, delta=1e-6, mechanism=law, queries=[[0, 0], [1, 0.5]]
    )
    assert_promised(synopsis, [1, 0.5], 0.5, at_most=0.1 * synopsis.space.diameter)
    with pytest.raises(mp.MilepostError, match=r"2 queries .* no others; \[0\.5, 0\.5\] is not among them"):
        synopsis.mean_distance([[0, 0], [0.5, 0.5]])
    calls: list[Callable[[], Any]] = [
        lambda: synopsis.cdf("x", 0.5),
        lambda: synopsis.quantile("x", 0.5),
        lambda: synopsis.explain([0, 0]),
        lambda: synopsis.mean_distance([0], columns=["x"]),
    ]
    for call in calls:
        with pytest.raises(mp.MilepostError, match="no functions of single columns"):
            call()


OUTSIDE: dict[str, tuple[Space, AnyArray]] = {
    "l1": (mp.L1([(0, 1)] * 2), np.array([[-1, 0.5], [0.25, 0.5], [2, 7]])),
    "disc": (mp.L2(center=[1, -2], radius=3), np.array([[4.1, 2], [1, -2], [-9, 3.3], [0.7, 5], [3.3, -7.7]])),
    "box": (mp.L2([(0, 1)] * 2), np.array([[0.3, 1.7], [0, 0]])),
}


@laws
@pytest.mark.parametrize("name", OUTSIDE)
def test_queries_outside_are_moved_into_the_space(law: str, name: str) -> None:
    """With a warning that says how many; they are then found as they were written, and answered at the border."""
    space, query_points = OUTSIDE[name]
    people = space.read(np.random.default_rng(0).random((2000, 2)))
    count = int((space.clip_points(query_points) != query_points).any(axis=1).sum())
    with pytest.warns(mp.AccuracyWarning, match=f"{count} of {len(query_points)} queries lie outside"):
        synopsis = mp.release(people, space, epsilon=900, delta=1e-6, mechanism=law, queries=query_points)
    exact = mp.exact_mean_distance(people, space, space.clip_points(query_points))
    assert_promised(synopsis, query_points, exact, at_most=0.1 * space.diameter)


CENTERS: dict[str, tuple[Space, Any]] = {
    "l1": (mp.L1([(0, 1)] * 2), QUERIES),
    "disc": (mp.L2(center=[0.5, 0.5], radius=0.6), QUERIES),
    "box": (mp.L2([(0, 1)] * 2), QUERIES),
}


@laws
@pytest.mark.parametrize("name", CENTERS)
def test_the_center_is_one_of_the_queries(law: str, name: str) -> None:
    """The one with the least answer, and it can be asked about."""
    space, query_points = CENTERS[name]
    with Transcript().listen():  # without noise
        synopsis = mp.release(PLANE, space, epsilon=900, delta=1e-6, mechanism=law, queries=query_points)
    assert synopsis.center().tolist() == [0.5, 0.5]
    assert synopsis.mean_distance(synopsis.center()) == synopsis.mean_distance(query_points).min()


@laws
def test_a_center_at_the_border_can_be_asked_about(law: str) -> None:
    """Queries that were moved to the border of a ball are found again where they are now."""
    space, query_points = OUTSIDE["disc"]
    with pytest.warns(mp.AccuracyWarning, match="outside"):
        synopsis = mp.release(
            space.read(query_points), space, epsilon=900, delta=1e-6, mechanism=law, queries=query_points[[0, 2, 3, 4]]
        )
    assert synopsis.mean_distance(synopsis.center()) == synopsis.mean_distance(query_points[[0, 2, 3, 4]]).min()


@laws
def test_bad_sums_are_refused_before_anything_is_drawn(law: chance.Law) -> None:
    """Of other queries, of several groups, of no records, of neighbors that hide the number of rows."""
    queries, guarantee = on_the_line(3), LAWS[law]
    good, grouped = DistanceSums(3), DistanceSums(3, groups=2)
    good.add(np.zeros((5, 3), dtype=np.int64))
    grouped.add(np.zeros((4, 3), dtype=np.int64), group=np.array([0, 1, 1, 0]))
    other = DistanceSums(2)
    other.add(np.zeros((5, 2), dtype=np.int64))
    mechanism, tiny = PerQuery(law), mp.Guarantee(1e-9, min(guarantee.delta, 1e-50))
    many = Queries(np.zeros((1 << 12, 1)), LINE)
    cases: list[tuple[Callable[[], Any], str]] = [
        (
            lambda: run_mechanism(mechanism, other, queries, ProtectedChange(), guarantee),
            "2 numbers do not fit these queries, which have 3",
        ),
        (lambda: run_mechanism(mechanism, grouped, queries, ProtectedChange(), guarantee), "one group"),
        (lambda: run_mechanism(mechanism, DistanceSums(3), queries, ProtectedChange(), guarantee), "no records"),
        (lambda: mechanism.predict(queries, 0, ProtectedChange("add-remove"), guarantee), "no records"),
        (lambda: mechanism.predict(many, 5, ProtectedChange(), tiny), "too small"),
    ]
    with silent():
        for call, message in cases:
            with pytest.raises(mp.MilepostError, match=message):
                call()


@laws
@pytest.mark.parametrize("table", [np.empty((0, 1)), [[0.5], [math.nan]], [["a"]], np.zeros((3, 2))])
def test_bad_tables_are_refused_before_anything_is_drawn(law: str, table: Any) -> None:
    """As for every other mechanism."""
    with silent(), pytest.raises(mp.MilepostError, match=r"empty|NaN|numbers|text|shape"):
        mp.release(table, LINE, epsilon=1, delta=1e-6, mechanism=law, queries=[[0.5]])


@laws
@pytest.mark.parametrize("rows", [1, 1000])
def test_one_query_and_one_row(law: str, rows: int) -> None:
    """Both are enough: a list of one point gives a list, and the point itself a number."""
    synopsis = mp.release(np.full((rows, 1), 0.25), LINE, epsilon=900, delta=1e-6, mechanism=law, queries=[[1.0]])
    assert synopsis.n == rows
    assert synopsis.mean_distance([[1.0]]).shape == (1,)
    assert_promised(synopsis, [1.0], 0.75, at_most=0.2)
    assert synopsis.error() == synopsis.error(uniform=True)
    assert synopsis.interval([1.0])[0] <= synopsis.mean_distance([1.0]) <= synopsis.interval([1.0])[1]


@laws
def test_duplicated_queries_have_one_answer(law: str) -> None:
    """The first one's; −0.0 and 0.0 are the same point."""
    query_points = [[0.0], [0.5], [-0.0], [0.5]]
    synopsis = mp.release(np.full((500, 1), 0.25), LINE, epsilon=9, delta=1e-6, mechanism=law, queries=query_points)
    answers = synopsis.mean_distance(query_points)
    assert answers[0] == answers[2] == synopsis.mean_distance([0.0])
    assert answers[1] == answers[3]
    text_space = mp.AnyMetric(mp.edit_distance, 5, ["a", "bb", "a"])
    text_answers = mp.release(["ab"] * 500, text_space, epsilon=9, delta=1e-6, mechanism=law).mean_distance(
        ["a", "bb", "a"]
    )
    assert text_answers[0] == text_answers[2]


@laws
def test_answers_stay_where_some_table_could_be(law: str) -> None:
    """0..diameter, unless raw; the interval covers the answer."""
    with pytest.warns(mp.AccuracyWarning, match="quarter"):
        synopsis = mp.release([[0.25]], LINE, epsilon=0.01, delta=1e-6, mechanism=law, queries=np.zeros((200, 1)))
    positions = np.arange(200)
    assert ((synopsis.statistic.values(positions) >= 0) & (synopsis.statistic.values(positions) <= 1)).all()
    # 200 draws of a scale over 5,000: one is within 1 with less than 1e-3, all of them with 1e-600
    assert np.abs(synopsis.statistic.values(positions, raw=True)).max() > 1
    assert synopsis.error() == synopsis.error(0.5, uniform=True) == LINE.diameter


@laws
@pytest.mark.filterwarnings("ignore::milepost.AccuracyWarning")
def test_answers_stay_in_the_range_of_their_query(law: str) -> None:
    """In the middle of the line no mean distance is above a half, and no error either."""
    options: dict[str, Any] = {"epsilon": 0.01, "delta": 1e-6, "mechanism": law}
    synopsis = mp.release([[0.25]], LINE, queries=np.full((200, 1), 0.5), **options)
    answers = synopsis.statistic.values(np.arange(200))
    assert ((answers >= 0) & (answers <= 0.5 + 2 / QUANTA)).all()
    assert answers.max() > 0.5 - 1e-6  # half of all draws are above, and all of 200 below with 2⁻²⁰⁰
    assert synopsis.error() == pytest.approx(0.5, abs=2 / QUANTA)


@laws
def test_the_private_input_is_left_alone(law: chance.Law) -> None:
    queries = on_the_line(4)
    sums = read_sums(np.full((9, 1), 0.3), LINE, queries)
    values, totals = sums.values.copy(), sums.totals.copy()
    run_mechanism(PerQuery(law), sums, queries, ProtectedChange(), LAWS[law])
    assert np.array_equal(sums.values, values)
    assert np.array_equal(sums.totals, totals)


@laws
def test_data_and_order_do_not_show(law: str, tmp_path: Path) -> None:
    """Card and file size follow from public numbers."""
    cards, sizes = [], []
    for table in (np.zeros((500, 1)), np.linspace(0, 1, 500)[:, None], np.linspace(1, 0, 500)[:, None]):
        synopsis = mp.release(table, LINE, epsilon=9, delta=1e-6, mechanism=law, queries=[[0.1], [0.7]])
        synopsis.save(tmp_path / "file.milepost")
        cards.append(synopsis.card)
        sizes.append((tmp_path / "file.milepost").stat().st_size)
    assert cards[0] == cards[1] == cards[2]
    assert sizes[0] == sizes[1] == sizes[2]
