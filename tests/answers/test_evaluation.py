"""Many points at once: the same answers as one by one, in memory that does not grow, with one warning for all."""

import tracemalloc
import warnings
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import milepost as mp
from milepost.answers import evaluation
from milepost.answers.evaluation import evaluate_blocks
from milepost.errors import merge_warnings
from milepost.mechanisms.coordinate import piecewise_linear
from milepost.spaces.embeddings import coordinate_sums

NUMBERS = {f"n{i}": mp.number(0, 1) for i in range(12)}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of a few points, and of a few coordinates of these."""
    monkeypatch.setattr(piecewise_linear, "BLOCK_NUMBERS", 1 << 12)
    monkeypatch.setattr(coordinate_sums, "CACHE_NUMBERS", 1 << 9)


def city(count: int) -> Any:
    """Places in and around a cap of 50 km."""
    return np.random.default_rng(count).normal([52.52, 13.4], 0.4, (count, 2))


def cube(columns: int, count: int, margin: float = 0.01) -> Any:
    """Points in a unit cube, and some just outside."""
    return np.random.default_rng(count).uniform(-margin, 1 + margin, (count, columns))


def mixed_rows(count: int) -> list[dict[str, Any]]:
    generator = np.random.default_rng(count)
    return [
        {"plan": "abc"[generator.integers(3)], **dict(zip(NUMBERS, row, strict=True))}
        for row in generator.uniform(-0.5, 1.5, (count, len(NUMBERS))).tolist()
    ]


SPACES: dict[str, tuple[mp.Space, Any]] = {
    "directions": (mp.L2([(0, 1), (0, 1)], directions=137), cube(2, 200, 0.5)),
    "columns": (mp.L1([(0, 1)] * 137), cube(137, 200)),
    "steps": (mp.L1([(0, 1)] * 9, step=[0.25] + [0] * 8), cube(9, 200)),
    "globe": (mp.GreatCircle((52.52, 13.4), 50, 20), city(200)),
    "clipped": (mp.L2([(0, 1)] * 5, directions=60, clip=0.3), cube(5, 200, 0.2)),
    "angles": (mp.Angular(5, directions=20), np.random.default_rng(0).normal(size=(200, 5))),
    "mixed": (mp.Gower({"plan": mp.category(["a", "b", "c"]), **NUMBERS}), mixed_rows(200)),
    "labels": (
        mp.Hamming(["ACGT"] * 20),
        ["".join(row) for row in np.random.default_rng(0).choice([*"ACGT"], (200, 20))],
    ),
}
SLOPES: dict[str, Any] = {"delta": 1e-6, "mechanism": "slopes"}
ALONE: list[tuple[str, dict[str, Any]]] = [
    *((name, SLOPES | {"epsilon": 50}) for name in SPACES),
    *((name, SLOPES | {"epsilon": 0.1, "neighbors": "add-remove"}) for name in ("directions", "columns", "steps")),
    *((name, {"epsilon": 0.1, "mechanism": "hats"}) for name in ("globe", "angles", "mixed", "labels")),
]


@pytest.mark.filterwarnings("ignore::milepost.AccuracyWarning")
@pytest.mark.parametrize(("name", "change"), ALONE)
def test_a_point_has_the_same_answer_alone_and_among_others(name: str, change: dict[str, Any]) -> None:
    """Bit for bit, whatever the number and the order of the points; with large noise answers are clipped."""
    space, points = SPACES[name]
    synopsis = mp.release(points, space, **change)
    answers, ends = synopsis.mean_distance(points), np.array(synopsis.interval(points))
    raw = synopsis.mean_distance(points, raw=True)
    for selection in (slice(0, 1), slice(7, 8), slice(123, 124), slice(3, 90), slice(180, None, -1)):
        some = points[selection]
        assert np.array_equal(synopsis.mean_distance(some), answers[selection])
        assert np.array_equal(synopsis.mean_distance(some, raw=True), raw[selection])
        assert np.array_equal(synopsis.interval(some), ends[:, selection])


def test_memory_does_not_grow_with_the_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the points and their answers; a matrix of all positions would have 1 kB a point."""
    monkeypatch.setattr(evaluation, "MAX_THREADS", 1)  # so that as many blocks are in memory at any time
    synopsis = mp.release(cube(2, 500), mp.L2([(0, 1), (0, 1)], directions=128), epsilon=9, delta=1e-6)
    points = cube(2, 3_000)
    synopsis.interval(points)  # which computes what does not depend on points
    peaks = []
    for count in (1_000, 3_000):
        tracemalloc.start()
        synopsis.mean_distance(points[:count])
        synopsis.interval(points[:count])
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] - peaks[0] < 2_000 * 8 * 8


def test_arrow_and_arrays_have_the_same_answers() -> None:
    synopsis = mp.release(cube(2, 500), mp.L1({"x": (0, 1), "y": (0, 1)}), epsilon=9, delta=1e-6)
    points = cube(2, 3 * piecewise_linear.points_per_block(2) + 5)
    table = pa.table({"y": points[:, 1], "x": points[:, 0]})
    assert np.array_equal(synopsis.mean_distance(table), synopsis.mean_distance(points))


def test_shares_and_parts_of_columns_are_the_same_alone_and_among_others() -> None:
    synopsis = mp.release(cube(2, 500), mp.L1({"x": (0, 1), "y": (0, 1)}), epsilon=9, delta=1e-6)
    values = cube(1, 9 * piecewise_linear.points_per_block(1)).reshape(-1, 3)
    shares, parts = synopsis.cdf("x", values), synopsis.mean_distance(values[:, :1], columns=["x"])
    assert shares.shape == values.shape
    for row in range(0, len(values), 4_001):
        assert [synopsis.cdf("x", value) for value in values[row]] == shares[row].tolist()
        assert synopsis.mean_distance([values[row, 0]], columns=["x"]) == parts[row]


def test_groups_are_compared_the_same_alone_and_among_others() -> None:
    people, sides = cube(2, 1_000), ["low", "high"] * 500
    space = mp.L2([(0, 1), (0, 1)], directions=40)
    synopsis = mp.release(people, space, epsilon=50, delta=1e-6, groups=sides, labels=["low", "high"])
    points = cube(2, 700, 0.2)
    comparison, nearest = synopsis.compare(points), synopsis.nearest(points)
    assert comparison.nearest.tolist() == nearest.tolist()
    assert comparison.mean_distance.shape == comparison.error.shape == (700, 2)
    assert np.array_equal(comparison.mean_distance[:, 1], synopsis.mean_distance(points, group="high"))
    for row in (0, 101, 699):
        alone = synopsis.compare(points[row : row + 1])
        assert np.array_equal(alone.mean_distance[0], comparison.mean_distance[row])
        assert np.array_equal(alone.error[0], comparison.error[row])
        assert alone.flip_probability[0] == comparison.flip_probability[row]
        assert alone.nearest_index[0] == comparison.nearest_index[row]


def test_the_first_bad_point_is_named_by_its_row() -> None:
    synopsis = mp.release(cube(2, 500), mp.L1({"x": (0, 1), "y": (0, 1)}), epsilon=9, delta=1e-6)
    points = cube(2, 9 * piecewise_linear.points_per_block(2))
    points[[7_000, 9_000], 1] = np.nan
    with pytest.raises(mp.MilepostError, match="in row 7001;"):
        synopsis.mean_distance(points)


def test_points_outside_are_counted_once() -> None:
    synopsis = mp.release(cube(2, 500), mp.L1([(0, 1), (0, 1)]), epsilon=900, mechanism="tangents")
    points = np.full((9 * piecewise_linear.points_per_block(2), 2), 0.5)
    points[[3, 5_000, 5_001, 9_000]] = 2
    with pytest.warns(mp.AccuracyWarning, match=f"^4 of {len(points)} query points lie outside") as record:
        synopsis.mean_distance(points)
    assert [warning.filename for warning in record] == [__file__]


def test_swapped_coordinates_are_noticed_if_all_are_swapped() -> None:
    synopsis = mp.release(city(500), mp.GreatCircle((52.52, 13.4), 50, 16), epsilon=9, delta=1e-6)
    points = np.random.default_rng(0).normal([52.52, 13.4], 0.01, (900, 2))[:, ::-1]
    with pytest.warns(mp.AccuracyWarning, match=r"milepost takes \(lat, lon\)"):
        synopsis.mean_distance(points)
    points = np.array(points)
    points[-1] = points[-1, ::-1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        synopsis.mean_distance(points)


def test_warnings_of_blocks_become_one() -> None:
    blocks = [
        ["2 of 10 points are far", "all are swapped"],
        ["all are swapped", "all are high"],
        ["1 of 5 points are far"],
    ]
    assert merge_warnings(blocks, 25) == ["3 of 25 points are far"]
    assert merge_warnings(blocks[:2], 20) == ["2 of 20 points are far", "all are swapped"]


@pytest.mark.parametrize("thread_safe", [True, False])
def test_blocks_are_in_the_order_of_the_points(thread_safe: bool) -> None:
    def evaluate(part: slice) -> tuple[Any, Any]:
        numbers = np.arange(part.start, part.stop)
        return numbers, numbers / 2

    numbers, halves = evaluate_blocks(evaluate, 1003, 10, thread_safe)
    assert numbers.dtype == np.int64
    assert np.array_equal(numbers, np.arange(1003))
    assert np.array_equal(halves, np.arange(1003) / 2)
