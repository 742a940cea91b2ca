"""Statistics against straightforward sums of Python integers, one record after the other."""

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import milepost as mp
from milepost._typing import AnyArray, FloatArray, IntArray
from milepost.spaces.embeddings.embedding import QUANTA
from milepost.spaces.queries import Queries
from milepost.statistics import sketch as module
from milepost.statistics.distance_sums import DistanceSums
from milepost.statistics.sketch import MAX_TOTAL, Sketch

ENDS = [0, 1, 2, QUANTA // 2 - 1, QUANTA // 2, QUANTA - 2, QUANTA - 1, QUANTA]
ODD = [0.0, -0.0, 5e-324, -5e-324, 1e-310, -1e-310, math.inf, -math.inf, 1e308, -1e308, 0.5, 1.0, -1.0, 3.0, 2**-25]


def images(rows: int, dimension: int, seed: int) -> IntArray:
    """Places all over the interval, many of them at its ends and next to the borders of cells."""
    generator = np.random.default_rng(seed)
    result = generator.integers(0, QUANTA + 1, (rows, dimension))
    mask = generator.random(result.shape) < 0.3
    result[mask] = generator.choice(ENDS, int(mask.sum()))
    return result


def brute_force(quanta: IntArray, groups: int, cells: int, group: AnyArray, weight: AnyArray) -> list[IntArray]:
    """Counts, offsets and totals by definition."""
    counts, offsets, totals = Counter[tuple[int, ...]](), Counter[tuple[int, ...]](), Counter[tuple[int, ...]]()
    size = QUANTA // cells
    for row, label, row_weight in zip(quanta.tolist(), group.tolist(), weight.tolist(), strict=True):
        totals[label,] += row_weight
        for i, q in enumerate(row):
            cell = min(q // size, cells - 1)
            counts[label, i, cell] += row_weight
            offsets[label, i, cell] += row_weight * (q - cell * size)
    shape = groups, quanta.shape[1], cells
    result = []
    for sums, dimensions in ((counts, shape), (offsets, shape), (totals, (groups,))):
        result.append(np.zeros(dimensions, dtype=np.int64))
        for index, value in sums.items():
            result[-1][index] = value
    return result


def check(sketch: Sketch, expected: list[IntArray]) -> None:
    for array, part in zip((sketch.counts, sketch.offsets, sketch.totals), expected, strict=True):
        assert array.dtype == np.int64
        np.testing.assert_array_equal(array, part)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("max_row_weight", [None, 1, 1024])
@pytest.mark.parametrize(("groups", "cells"), [(1, 1), (1, 1 << 14), (3, 2), (3, 64), (700, 1), (700, 64)])
@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("small", [True, False])
def test_a_sketch_is_a_sum_of_integers(
    small: bool,
    few: bool,
    groups: int,
    cells: int,
    max_row_weight: int | None,
    order: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whether records are many for their cells or few, in blocks that end anywhere."""
    rows, dimension = 900, 5
    monkeypatch.setattr(module, "CROWDED", 0 if few else 1 << 20)
    monkeypatch.setattr(module, "CACHE_NUMBERS", 400)
    monkeypatch.setattr(module, "MAX_PACKED", 700)
    monkeypatch.setattr(module, "SMALL", 1 << 20 if small else 0)
    quanta = np.array(images(rows, dimension, cells + groups), order="F" if order == "F" else "C")
    generator = np.random.default_rng(groups)
    group = generator.integers(0, groups, rows)
    weight = (
        np.ones(rows, dtype=np.int64) if max_row_weight is None else generator.integers(0, max_row_weight + 1, rows)
    )
    sketch = Sketch(dimension, groups, cells)
    sketch.add(quanta, None if groups == 1 else group, None if max_row_weight is None else weight)
    check(sketch, brute_force(quanta, groups, cells, group, weight))
    parts = [Sketch(dimension, groups, cells) for _ in range(2)]
    for k, cut in enumerate((slice(0, 311), slice(311, None))):
        parts[k].add(quanta[cut], group[cut].astype(np.int16), weight[cut].astype(np.int32))
    check(parts[0] + parts[1], brute_force(quanta, groups, cells, group, weight))


@pytest.mark.parametrize("cells", [1, 4, 1 << 8, 1 << 16])
@pytest.mark.parametrize("rows", [3, 5000])
def test_weights_up_to_the_largest_total_are_summed_exactly(cells: int, rows: int) -> None:
    """The heaviest table that there may be, at the far end and next to it."""
    weight = np.full(rows, (MAX_TOTAL - 1) // rows)
    weight[0] += MAX_TOTAL - int(weight.sum())
    quanta = np.full((rows, 2), QUANTA)
    quanta[1:, 1] = QUANTA - 1
    sketch = Sketch(2, cells=cells)
    sketch.add(quanta, None, weight)
    size, light = QUANTA // cells, MAX_TOTAL - int(weight[0])
    assert sketch.counts[0, :, -1].tolist() == [MAX_TOTAL] * 2
    assert sketch.offsets[0, :, -1].tolist() == [MAX_TOTAL * size, MAX_TOTAL * size - light]
    with pytest.raises(mp.MilepostError, match=r"at most 137,438,953,472 rows"):
        sketch.add(quanta[:1])


@pytest.mark.parametrize("wrong", [-1, QUANTA + 1, -(1 << 63), 1 << 40])
@pytest.mark.parametrize("rows", [1, 10_000])
def test_an_image_outside_its_interval_is_refused(wrong: int, rows: int) -> None:
    """It is an address, and would be counted somewhere else."""
    quanta = np.zeros((rows, 2), dtype=np.int64)
    quanta[-1, 1] = wrong
    kinds: list[type[np.integer[Any]]] = [np.int64] if abs(wrong) > QUANTA + 1 else [np.int64, np.int32]
    for kind in kinds:
        with pytest.raises(mp.MilepostError, match="images must lie within"):
            Sketch(2, cells=16).add(quanta.astype(kind))


@pytest.mark.parametrize("statistic", [Sketch(3, 4, 8), DistanceSums(3, 4)])
@pytest.mark.parametrize("wrong", [-1, 4])
def test_a_record_of_no_group_is_refused(statistic: Sketch | DistanceSums, wrong: int) -> None:
    """It would be counted in another."""
    with pytest.raises(mp.MilepostError, match="groups are numbered"):
        statistic.add(np.zeros((5000, 3), dtype=np.int64), np.full(5000, wrong))


@pytest.mark.parametrize("groups", [1, 3, 2000])
@pytest.mark.parametrize("max_row_weight", [None, 1024])
def test_sums_are_sums_of_integers(groups: int, max_row_weight: int | None) -> None:
    """Signs included, as links of a net have them."""
    rows, count = 700, 9
    generator = np.random.default_rng(groups)
    quanta = images(rows, count, 1) * generator.choice([-1, 1], (rows, count))
    group = generator.integers(0, groups, rows)
    weight = (
        np.ones(rows, dtype=np.int64) if max_row_weight is None else generator.integers(0, max_row_weight + 1, rows)
    )
    sums = DistanceSums(count, groups)
    sums.add(quanta, None if groups == 1 else group, None if max_row_weight is None else weight)
    values, totals = [[0] * count for _ in range(groups)], [0] * groups
    for row, label, row_weight in zip(quanta.tolist(), group.tolist(), weight.tolist(), strict=True):
        totals[label] += row_weight
        values[label] = [sum_ + row_weight * q for sum_, q in zip(values[label], row, strict=True)]
    assert sums.values.tolist() == values
    assert sums.totals.tolist() == totals


def nearest(value: float, low: float, high: float) -> int:
    """The quantum of a number: halves to even, in the float arithmetic that the space promises."""
    inside = min(max(value, low), high)
    return round(Fraction((inside - low) * (QUANTA / (high - low))))


@pytest.mark.parametrize("kind", ["C", "F", "arrow"])
@pytest.mark.parametrize("rows", [1, 5, 3000])
def test_a_table_becomes_the_sketch_of_its_rounded_numbers(
    kind: str, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers at the ends and outside, infinite, subnormal, of either zero; in blocks of any size."""
    bounds = [(0.0, 1.0), (-2.0, 3.0), (1e-300, 1e-299 + 1e90)]
    generator = np.random.default_rng(rows)
    table: FloatArray = generator.normal(0.4, 2, (rows, 3))
    mask = generator.random(table.shape) < 0.4
    table[mask] = generator.choice([*ODD, *(end for pair in bounds for end in pair)], int(mask.sum()))
    space = mp.L1(bounds, weights=[1, 1, 1e-90])
    expected = np.array([[nearest(x, *pair) for x, pair in zip(row, bounds, strict=True)] for row in table.tolist()])
    batch: pa.RecordBatch | FloatArray = np.array(table, order="F" if kind == "F" else "C")
    if kind == "arrow":
        batch = pa.RecordBatch.from_arrays([pa.array(column) for column in table.T], names=["0", "1", "2"])
    monkeypatch.setattr("milepost.spaces.embeddings.quantization.CACHE_NUMBERS", 1000)
    monkeypatch.setattr("milepost.spaces.embeddings.quantization.CACHE_ROWS", 400)
    monkeypatch.setattr("milepost.spaces.numeric.TRANSPOSED_NUMBERS", 2100)
    quanta = space.quantize(space.read(batch))
    assert quanta.dtype == np.int32
    assert quanta.flags.f_contiguous
    np.testing.assert_array_equal(quanta, expected)
    sketch = Sketch(3, cells=1 << 9)
    sketch.add(quanta)
    check(sketch, brute_force(expected, 1, 1 << 9, np.zeros(rows, dtype=int), np.ones(rows, dtype=int)))


@pytest.mark.parametrize("rows", [3, 3000])
@pytest.mark.parametrize("column", [0, 1])
def test_nan_is_found_next_to_infinities(rows: int, column: int) -> None:
    """Infinite values of both signs are ordinary, wherever they stand; a missing one is refused and named."""
    table = np.zeros((rows, 2))
    table[0], table[1] = math.inf, -math.inf
    space = mp.L1([(0, 1), (0, 1)])
    assert space.read(table)[:2].tolist() == [[1, 1], [0, 0]]
    table[rows - 1, column] = math.nan
    for batch in (table, np.asfortranarray(table), pa.RecordBatch.from_arrays(list(table.T), names=["a", "b"])):
        with pytest.raises(mp.MilepostError, match=f"column '{column}' has a missing value or NaN in row {rows + 7}"):
            space.read(batch, 7)


def test_a_distance_that_is_no_number_counts_as_the_diameter() -> None:
    """And so does one beyond it, wherever it stands; a negative one is 0."""
    queries = Queries(np.zeros((1, 1)), mp.L1([(0, 2)]))
    distances = np.array([math.nan, math.inf, -math.inf, 3.0, 2.0, -1.0, 0.0, -0.0, 1.0])
    for rows in (1, 100):
        quanta = queries.quantize(np.repeat(distances, rows)[:, None])
        assert quanta[::rows, 0].tolist() == [QUANTA, QUANTA, 0, QUANTA, QUANTA, 0, 0, 0, QUANTA // 2]
