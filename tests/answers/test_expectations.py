"""Means, variances, shares and expectations of columns: exact without noise, covered with it, clear when refused."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import milepost as mp
from milepost._typing import FloatArray
from milepost.auditing.scripted_noise import NoiseScript
from milepost.mechanisms.coordinate.curves import Curves
from tests.chance import assert_rate, sure
from tests.drawn_ahead import drawn_ahead

DELTAS = {"slopes": 1e-6, "hats": 0.0}
MECHANISMS = pytest.mark.parametrize("mechanism", DELTAS)
CHANGES = pytest.mark.parametrize("neighbors", ["replace", "add-remove"])


def release(people: Any, space: Any, mechanism: str = "slopes", **options: Any) -> mp.Synopsis:
    return mp.release(people, space, mechanism=mechanism, **{"epsilon": 1, "delta": DELTAS[mechanism], **options})


def without_noise(people: Any, space: Any, mechanism: str = "slopes", **options: Any) -> mp.Synopsis:
    with NoiseScript().replacing_noise():
        return release(people, space, mechanism, **options)


def cell(synopsis: mp.Synopsis, i: int = 0) -> float:
    """The width of a cell of a column, as a share of its bounds."""
    assert isinstance(synopsis.statistic, Curves)
    return 1 / (len(synopsis.statistic.heights[i]) - 1)


@pytest.fixture(scope="module")
def people() -> FloatArray:
    generator = np.random.default_rng(7)
    return np.column_stack([10 * generator.beta(2, 5, 3000), generator.integers(0, 31, 3000)])


SPACE = mp.L1({"height": (0, 10), "visits": (0, 30)}, weights={"height": 2, "visits": 0.1}, step={"visits": 1})


@MECHANISMS
@CHANGES
def test_without_noise_steps_are_exact(people: FloatArray, mechanism: str, neighbors: str) -> None:
    synopsis, visits = without_noise(people, SPACE, mechanism, neighbors=neighbors), people[:, 1]

    def close(estimate: mp.Estimate, expected: Any) -> bool:
        return bool(abs(estimate.value - expected) < 1e-9 and estimate.low <= expected + 1e-9 <= estimate.high + 2e-9)

    assert close(synopsis.mean("visits"), visits.mean())
    # the debiased plug-in adds the variance of noise that is not there
    assert abs(synopsis.variance("visits").value - visits.var()) < (synopsis.mean("visits").error / 1.5) ** 2
    for low, high in ((3, 7), (0, 0), (30, 30), (5, 5), (2.5, 3.2), (-math.inf, 12), (12, math.inf), (29, 99), (4, 30)):
        assert close(synopsis.share("visits", low, high), np.mean((visits >= low) & (visits <= high))), (low, high)
    assert close(synopsis.expectation({"visits": lambda x: (x > 3) & (x < 9)}), np.mean((visits > 3) & (visits < 9)))
    assert close(synopsis.expectation({1: np.sqrt}), np.sqrt(visits).mean())


@MECHANISMS
@CHANGES
def test_without_noise_other_columns_are_within_their_cells(people: FloatArray, mechanism: str, neighbors: str) -> None:
    synopsis, height = without_noise(people, SPACE, mechanism, neighbors=neighbors), people[:, 0]
    width = 10 * cell(synopsis)
    assert abs(synopsis.mean("height").value - height.mean()) < 1e-6
    error = synopsis.mean("height").error
    assert abs(synopsis.variance("height").value - height.var()) < width**2 / 8 + error**2
    for low, high in ((2, 5), (1.234, 3.3), (0, 0.7), (6, 10), (-math.inf, 4.4), (4.4, 4.4), (0, 10)):
        expected = np.mean((height >= low) & (height <= high))
        estimate = synopsis.share("height", low, high)
        assert abs(estimate.value - expected) < 0.02, (low, high)
        assert estimate.low <= expected <= estimate.high
    functions: dict[Callable[[FloatArray], Any], float] = {
        lambda x: np.maximum(x - 3.21, 0): width,
        lambda x: np.exp(-x): width,
        np.abs: 1e-6,
        lambda x: x >= 2.2: 0.02,
    }
    for function, tolerance in functions.items():
        estimate, expected = synopsis.expectation({"height": function}), np.mean(function(height))
        assert abs(estimate.value - expected) < tolerance
        assert estimate.low <= expected <= estimate.high


@MECHANISMS
def test_functions_of_several_columns_add_up(people: FloatArray, mechanism: str) -> None:
    synopsis = without_noise(people, SPACE, mechanism)
    estimate = synopsis.expectation({"height": lambda x: -2 * x, "visits": lambda x: x**2})
    assert abs(estimate.value - np.mean(people[:, 1] ** 2 - 2 * people[:, 0])) < 1e-4
    single = synopsis.expectation({"visits": lambda x: x**2})
    assert single.error < estimate.error < single.error + synopsis.expectation({"height": lambda x: -2 * x}).error


@MECHANISMS
def test_a_distance_is_that_of_the_release(people: FloatArray, mechanism: str) -> None:
    space = mp.L1({"height": (0, 10), "visits": (0, 32)}, weights={"height": 2, "visits": 0.1}, step={"visits": 1})
    synopsis = release(people, space, mechanism)
    estimate = synopsis.expectation({"height": lambda x: 2 * np.abs(x - 5), "visits": lambda x: 0.1 * np.abs(x - 9)})
    assert math.isclose(estimate.value, synopsis.mean_distance([5, 9], raw=True), rel_tol=1e-9)
    # half-widths of distances keep a tenth of the failure probability for masses of cells
    low, high = synopsis.interval([5, 9], raw=True)
    assert 0.9 * (high - low) < estimate.high - estimate.low < high - low


@MECHANISMS
def test_the_mean_is_an_expectation_and_a_part_of_the_distance(people: FloatArray, mechanism: str) -> None:
    synopsis = release(people, SPACE, mechanism, epsilon=3)
    estimate, other = synopsis.mean("height"), synopsis.expectation({"height": lambda x: x})
    assert math.isclose(estimate.value, other.value, rel_tol=1e-12)
    assert math.isclose(estimate.low, other.low, rel_tol=1e-6)
    assert math.isclose(2 * estimate.value, synopsis.mean_distance([0], columns=["height"], raw=True), rel_tol=1e-9)


def test_columns_of_gower_have_means_and_labels_have_shares() -> None:
    generator = np.random.default_rng(3)
    rows = [
        [float(age), label, bool(member)]
        for age, label, member in zip(
            generator.integers(18, 91, 900),
            generator.choice(["a", "b", "c", "elsewhere"], 900),
            generator.random(900) < 0.3,
            strict=True,
        )
    ]
    columns = {"age": mp.number(18, 90, step=1), "plan": mp.category(["a", "b", "c"]), "member": mp.flag()}
    for mechanism in DELTAS:
        for options in ({}, {"neighbors": "add-remove"}):
            synopsis = without_noise(rows, mp.Gower(columns), mechanism, **options)
            assert abs(synopsis.mean("age").value - np.mean([row[0] for row in rows])) < 1e-9
            assert abs(synopsis.mean("member").value - np.mean([row[2] for row in rows])) < 1e-9
            for label in ("a", "b", "c", "other"):
                count = sum(row[1] == label or (label == "other" and row[1] == "elsewhere") for row in rows)
                estimate = synopsis.share("plan", label)
                assert abs(estimate.value - count / 900) < 1e-9
                assert estimate.low < count / 900 < estimate.high
            with pytest.raises(mp.MilepostError, match="'plan' has no label 'd'"):
                synopsis.share("plan", "d")
            with pytest.raises(mp.MilepostError, match="give one label, and no high"):
                synopsis.share("plan", "a", "b")
            with pytest.raises(mp.MilepostError, match=r"use mean_distance, explain or share\(column, label\)"):
                synopsis.mean("plan")
            with pytest.raises(mp.MilepostError, match="has labels"):
                synopsis.expectation({"plan": np.abs})


@MECHANISMS
def test_a_group_has_answers_of_its_own(mechanism: str) -> None:
    rows, labels = [[2.0], [8.0]] * 500, ["low", "high"] * 500
    options = {"groups": labels, "labels": ["low", "high"], "epsilon": 100, "delta": DELTAS[mechanism]}
    synopsis = without_noise(rows, mp.L1({"age": (0, 10)}, step=1), mechanism, **options)
    assert abs(synopsis.mean("age", group="high").value - 8) < 1e-9
    assert abs(synopsis.share("age", 0, 5, group="low").value - 1) < 1e-9
    assert synopsis.variance("age", group="low").value < 0.01
    assert abs(synopsis.expectation({"age": np.square}, group="high").value - 64) < 1e-9
    assert synopsis.group("high").mean("age") == synopsis.mean("age", group="high")
    questions: list[Callable[[], mp.Estimate]] = [
        lambda: synopsis.mean("age"),
        lambda: synopsis.variance("age"),
        lambda: synopsis.share("age", 0, 5),
        lambda: synopsis.expectation({"age": np.abs}),
    ]
    for ask in questions:
        with pytest.raises(mp.MilepostError, match="name one with group="):
            ask()
    with pytest.raises(mp.MilepostError, match="no group 'middle'"):
        synopsis.mean("age", group="middle")


@MECHANISMS
@pytest.mark.parametrize("epsilon", [1e-3, 1000.0])
@pytest.mark.parametrize("rows", [1, 50])
def test_answers_stay_in_the_range_of_possible_ones(mechanism: str, epsilon: float, rows: int) -> None:
    with pytest.warns(mp.AccuracyWarning) if epsilon < 1 else _nothing():
        synopsis = release(np.full((rows, 1), 7.0), mp.L1([(5, 10)]), mechanism, epsilon=epsilon)
    ranges = {
        synopsis.mean(0): (5, 10),
        synopsis.variance(0): (0, 6.25),
        synopsis.share(0, 6, 8): (0, 1),
        synopsis.expectation({0: np.negative}): (-10, -5),
    }
    for estimate, (lowest, highest) in ranges.items():
        assert lowest <= estimate.low <= estimate.value <= estimate.high <= highest
        assert (estimate.error < 0.4) == (epsilon > 1) or rows == 1
    if epsilon > 1:
        certain = synopsis.mean(0, confidence=sure())
        assert certain.low <= 7 <= certain.high


def test_a_higher_confidence_has_a_wider_interval(people: FloatArray) -> None:
    synopsis = release(people, SPACE)
    questions: list[Callable[[float], mp.Estimate]] = [
        lambda confidence: synopsis.mean("height", confidence=confidence),
        lambda confidence: synopsis.variance("visits", confidence=confidence),
        lambda confidence: synopsis.share("height", 1, 3, confidence=confidence),
    ]
    for ask in questions:
        narrow, wide = ask(0.5), ask(0.999)
        assert narrow.value == wide.value
        assert wide.low <= narrow.low < narrow.high <= wide.high
        assert narrow.confidence == 0.5


def test_a_file_has_the_same_answers(people: FloatArray, tmp_path: Any) -> None:
    for mechanism in DELTAS:
        synopsis = release(people, SPACE, mechanism, neighbors="add-remove")
        synopsis.save(tmp_path / "people.milepost")
        copy = mp.load(tmp_path / "people.milepost")
        assert copy.mean("height") == synopsis.mean("height")
        assert copy.variance("visits") == synopsis.variance("visits")
        assert copy.share("height", 2, 3) == synopsis.share("height", 2, 3)


class TestRefusals:
    """Bad input is named; nothing is answered."""

    @pytest.fixture
    def synopsis(self) -> mp.Synopsis:
        space = mp.L1({"age": (0, 10), "flat": (3, 3), "ignored": (0, 5)}, weights={"ignored": 0})
        return release([[1.0, 3.0, 2.0]] * 100, space)

    def test_unknown_columns(self, synopsis: mp.Synopsis) -> None:
        for column in ("agee", 9, None, ["age"]):
            for ask in (synopsis.mean, synopsis.variance, lambda c: synopsis.share(c, 1, 2)):
                with pytest.raises(mp.MilepostError, match="the space has no column"):
                    ask(column)  # type: ignore[arg-type]
        with pytest.raises(mp.MilepostError, match="the space has no column 'agee'"):
            synopsis.expectation({"agee": np.abs})

    def test_columns_of_which_nothing_was_released(self, synopsis: mp.Synopsis) -> None:
        for column in ("flat", "ignored"):
            for ask in (synopsis.mean, synopsis.variance, lambda c: synopsis.share(c, 1, 2)):
                with pytest.raises(mp.MilepostError, match="no width or no weight"):
                    ask(column)

    def test_confidences(self, synopsis: mp.Synopsis) -> None:
        for confidence in (0, 1, -0.5, math.nan, "95"):
            questions: list[Callable[[Any], mp.Estimate]] = [
                lambda c: synopsis.mean("age", confidence=c),
                lambda c: synopsis.variance("age", confidence=c),
                lambda c: synopsis.share("age", 1, 2, confidence=c),
                lambda c: synopsis.expectation({"age": np.abs}, confidence=c),
            ]
            for ask in questions:
                with pytest.raises(mp.MilepostError, match="confidence must lie strictly between 0 and 1"):
                    ask(confidence)

    def test_ends_of_shares(self, synopsis: mp.Synopsis) -> None:
        with pytest.raises(mp.MilepostError, match="low must not be above high, got 5 and 2"):
            synopsis.share("age", 5, 2)
        for low, high in ((math.nan, 2), ("a", 2), (1, None), (True, 2), (1, "b"), (None, 1)):
            with pytest.raises(mp.MilepostError, match="must be a number for column 'age'"):
                synopsis.share("age", low, high)

    def test_functions(self, synopsis: mp.Synopsis) -> None:
        no_functions: list[Any] = [{}, None, [np.abs], np.abs]
        for functions in no_functions:
            with pytest.raises(mp.MilepostError, match="functions must be a dict"):
                synopsis.expectation(functions)
        wrong: list[tuple[Any, str]] = [
            (3, "must be callable, got 3"),
            (lambda x: x[:-1], "must return one number for each value of an array of"),
            (lambda x: 1.0, "shape \\(\\)"),  # noqa: ARG005
            (lambda x: [str(value) for value in x], "must return one number for each value"),
            (lambda x: 1j * x, "complex"),
            (lambda x: x / 0 if x.any() else x, "must be finite between its bounds, and is not at"),
            (lambda x: np.where(x > 5, np.nan, x), "must be finite between its bounds, and is not at 5"),
            (math.sqrt, "raised TypeError"),
            (lambda x: {"a": x}["b"], "raised KeyError"),
        ]
        for function, message in wrong:
            with np.errstate(all="ignore"), pytest.raises(mp.MilepostError, match=message):
                synopsis.expectation({"age": function})
        with pytest.raises(mp.MilepostError, match="each column once"):
            synopsis.expectation({"age": np.abs, 0: np.abs})

    def test_a_function_cannot_change_what_it_is_given(self, synopsis: mp.Synopsis) -> None:
        def negate(values: FloatArray) -> FloatArray:
            values *= -1
            return values

        assert synopsis.expectation({"age": negate}) == synopsis.expectation({"age": np.negative})

    def test_other_spaces_and_mechanisms(self) -> None:
        plane = release([[1.0, 2.0]] * 100, mp.L2([(0, 10), (0, 10)]))
        with pytest.raises(mp.MilepostError, match=r"in l2 has no estimates for single columns.*such as mp\.L1"):
            plane.mean(0)
        box = mp.L1([(0, 10)])
        with pytest.warns(mp.AccuracyWarning):
            tangents = mp.release([[1.0]] * 100, box, epsilon=1, delta=1e-6, mechanism="tangents")
        with pytest.raises(mp.MilepostError, match="release with one of slopes, hats"):
            tangents.mean(0)
        given = mp.release([[1.0]] * 100, box, epsilon=1, delta=1e-6, mechanism="gaussian", queries=[[1]])
        with pytest.raises(mp.MilepostError, match="gaussian release knows no functions of single columns"):
            given.variance(0)


def tables(n: int) -> dict[str, FloatArray]:
    generator = np.random.default_rng(n)
    return {
        "uniform": generator.uniform(0, 10, n),
        "cluster": 3.301 + 1e-3 * generator.uniform(0, 1, n),
        "atoms": generator.choice([0.0, 1.3, 2.5, 7.77, 10.0], n),
        "border": np.full(n, 10.0),
    }


@pytest.mark.slow
@MECHANISMS
@CHANGES
@pytest.mark.parametrize("table", ["uniform", "cluster", "atoms", "border"])
def test_intervals_cover(mechanism: str, neighbors: str, table: str) -> None:
    values, draws = tables(400)[table], 400
    questions: list[tuple[Callable[[mp.Synopsis], mp.Estimate], Any]] = [
        (lambda s: s.mean("x"), values.mean()),
        (lambda s: s.variance("x"), values.var()),
        (lambda s: s.share("x", 2, 5), np.mean((values >= 2) & (values <= 5))),
        (lambda s: s.share("x", 3.3014, 7.77), np.mean((values >= 3.3014) & (values <= 7.77))),
        (lambda s: s.expectation({"x": lambda x: np.maximum(x - 3.3014, 0)}), np.maximum(values - 3.3014, 0).mean()),
    ]
    hits = np.zeros(len(questions), dtype=np.int64)
    size = {} if neighbors == "replace" else {"n": len(values)}  # a noisy one may be far too small
    with drawn_ahead():
        for _ in range(draws):
            synopsis = release(values[:, None], mp.L1({"x": (0, 10)}), mechanism, neighbors=neighbors, **size)
            for k, (ask, exact) in enumerate(questions):
                estimate = ask(synopsis)
                hits[k] += estimate.low - 1e-12 <= exact <= estimate.high + 1e-12
    assert_rate(hits, draws, at_least=0.95, against=0.8)


def _nothing() -> Any:
    import contextlib

    return contextlib.nullcontext()
