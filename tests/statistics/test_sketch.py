"""Sketch: exact integers that add up, whatever the order, the batches and the cells."""

from concurrent.futures import ThreadPoolExecutor
from random import Random
from threading import Barrier

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from milepost import MilepostError
from milepost._typing import IntArray
from milepost.spaces.embeddings.embedding import QUANTA, default_cells
from milepost.statistics.sketch import Sketch

tables = (
    st.integers(1, 4)
    .flatmap(
        lambda d: st.lists(
            st.lists(
                st.one_of(st.integers(0, QUANTA), st.sampled_from([0, QUANTA, QUANTA // 2])), min_size=d, max_size=d
            ),
            min_size=1,
            max_size=12,
        )
    )
    .map(lambda rows: np.array(rows, dtype=np.int64))
)


def sketch_of(quanta: IntArray, cells: int = 64) -> Sketch:
    sketch = Sketch(quanta.shape[1], cells=cells)
    sketch.add(quanta)
    return sketch


def same(left: Sketch, right: Sketch) -> bool:
    return all(np.array_equal(getattr(left, name), getattr(right, name)) for name in ("counts", "offsets", "totals"))


@given(tables, st.lists(st.integers(0, 1 << 16), min_size=3, max_size=3))
def test_groups_mix_as_repeated_records_do(quanta: IntArray, weights: list[int]) -> None:
    grouped, group = Sketch(quanta.shape[1], 3, cells=16), np.arange(len(quanta)) % 3
    grouped.add(quanta, group)
    expected = Sketch(quanta.shape[1], cells=16)
    expected.add(quanta, None, np.array(weights)[group])
    assert same(grouped.mix(np.array(weights)), expected)


@given(tables, st.sampled_from([1, 2, 64, 1024]))
def test_borders_are_exact(quanta: IntArray, cells: int) -> None:
    """n·F and a subgradient at every border equal brute force, as integers."""
    borders = sketch_of(quanta, cells).borders()
    grid = np.arange(cells + 1, dtype=np.int64) * (QUANTA // cells)
    brute = np.abs(quanta[:, :, None] - grid).sum(axis=0)
    assert np.array_equal(borders.value, brute)
    slope = 2 * borders.below - borders.total
    right = len(quanta) - 2 * (quanta[:, :, None] > grid).sum(axis=0)
    left = len(quanta) - 2 * (quanta[:, :, None] >= grid).sum(axis=0)
    assert ((left <= slope) & (slope <= right)).all()


@given(tables, st.sampled_from([1, 2, 16, 64]))
def test_coarsening_is_exact(quanta: IntArray, cells: int) -> None:
    """A coarsened sketch is the sketch on fewer cells."""
    assert same(sketch_of(quanta).coarsen(cells), sketch_of(quanta, cells))


@pytest.mark.parametrize("cells", [1, 2, 64, 1 << 15, 1 << 16])
@pytest.mark.parametrize("weight", [1, 1000, 1024])
def test_as_many_records_as_there_may_be_in_one_cell_are_summed_exactly(cells: int, weight: int) -> None:
    """Odd sums at and around every power of two of records that one float64 could be asked to hold."""
    rows = 1 << (26 - Sketch(1, cells=cells).bits // 2)
    for count in {rows // weight, rows // 2, rows // weight + 1}:
        quanta = np.ones((count, 1), dtype=np.int64)
        quanta[0] = 2
        sketch = Sketch(1, cells=cells)
        sketch.add(quanta, weight=np.full(count, weight))
        assert (sketch.counts[0, 0, 0], sketch.offsets[0, 0, 0]) == (count * weight, (count + 1) * weight)
    sketch = Sketch(1, cells=cells)
    sketch.add(np.r_[np.full(rows - 1, QUANTA // cells - 1), 0][:, None])
    assert (sketch.counts[0, 0, 0], sketch.offsets[0, 0, 0]) == (rows, (rows - 1) * (QUANTA // cells - 1))


@given(tables, st.randoms(use_true_random=False))
def test_sums_do_not_depend_on_order_or_batches(quanta: IntArray, random: Random) -> None:
    """Any order and any split into parts give the same integers."""
    order = list(range(len(quanta)))
    random.shuffle(order)
    cut = len(quanta) // 2
    parts = sketch_of(quanta[order[:cut]].reshape(cut, -1)) + sketch_of(quanta[order[cut:]]) if cut else None
    assert same(sketch_of(quanta[order]), sketch_of(quanta))
    assert parts is None or same(parts, sketch_of(quanta))


@given(tables, st.integers(1, 1000))
def test_repeat_is_a_table_with_every_record_repeated(quanta: IntArray, times: int) -> None:
    """And so is an integer weight."""
    weighted = Sketch(quanta.shape[1], cells=64)
    weighted.add(quanta, weight=np.full(len(quanta), times))
    assert same(sketch_of(quanta).repeat(times), weighted)


def test_groups_are_kept_apart() -> None:
    """Each group's part of the sketch is the sketch of its records."""
    rng = np.random.default_rng(0)
    quanta, group = rng.integers(0, QUANTA + 1, (500, 3)), rng.integers(0, 4, 500)
    sketch = Sketch(3, groups=4, cells=128)
    sketch.add(quanta, group)
    for g in range(4):
        alone = sketch_of(quanta[group == g], 128)
        assert np.array_equal(sketch.counts[g], alone.counts[0])
        assert np.array_equal(sketch.borders(g).value, alone.borders().value)


def test_a_coordinate_alone() -> None:
    """`only(i)` is the sketch of that column."""
    quanta = np.random.default_rng(0).integers(0, QUANTA + 1, (50, 3))
    assert same(sketch_of(quanta).only(1), sketch_of(quanta[:, 1:2]))
    grouped, group = Sketch(3, groups=2, cells=64), np.arange(50) % 2
    grouped.add(quanta, group)
    assert same(grouped.only(1, group=1), sketch_of(quanta[group == 1, 1:2]))
    assert grouped.only(1).groups == 2


def test_the_first_readers_may_be_several() -> None:
    """Noise is added to several coordinates at once, right after the records were."""
    quanta = np.random.default_rng(0).integers(0, QUANTA, (20_000, 16))
    expected = [sketch_of(quanta[:, [i]], 4096).counts[0, 0].tolist() for i in range(2)]
    barrier = Barrier(2)

    def counts(sketch: Sketch, i: int) -> list[int]:
        barrier.wait()
        return list(sketch.only(i).counts[0, 0].tolist())

    with ThreadPoolExecutor(2) as pool:
        for _ in range(20):
            sketch = sketch_of(quanta, 4096)
            assert list(pool.map(counts, [sketch, sketch], range(2))) == expected


@pytest.mark.parametrize(("dimension", "cells"), [(1, 1 << 16), (64, 1 << 16), (65, 1 << 15), (1000, 1 << 12)])
def test_cells_bound_memory(dimension: int, cells: int) -> None:
    """min(2¹⁶, 2²²/D), a power of two."""
    assert default_cells(dimension) == cells


def test_what_does_not_fit_is_refused() -> None:
    """Too many records, cells that are no power of two, sketches of other shapes."""
    with pytest.raises(MilepostError, match="at most 137,438,953,472 rows"):
        sketch_of(np.zeros((1, 1), dtype=np.int64)).repeat(1 << 38)
    with pytest.raises(MilepostError, match="cells"):
        Sketch(1, cells=3)
    with pytest.raises(MilepostError, match="add up"):
        _ = Sketch(1, cells=4) + Sketch(1, cells=8)
    with pytest.raises(MilepostError, match="refined"):
        Sketch(1, cells=4).coarsen(8)
