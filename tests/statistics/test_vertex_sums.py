"""Weights on the vertices of a grid: exact, in any order, of parts that add up, in groups and with weights."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import milepost as mp
from milepost._typing import IntArray
from milepost.spaces.base import require_chart
from milepost.statistics.sketch import MAX_TOTAL
from milepost.statistics.vertex_sums import POSITION_BITS, UNIT, VertexSums, grid_positions

SIZE = 5
STEPS = (SIZE - 1) << POSITION_BITS
SQUARE = mp.L2([(0, 8), (0, 8)])
tables = arrays.arrays(np.int64, st.tuples(st.integers(0, 12), st.just(2)), elements=st.integers(0, STEPS))


def sums_of(
    table: IntArray, group: IntArray | None = None, weight: IntArray | None = None, groups: int = 1
) -> VertexSums:
    result = VertexSums(SIZE, groups)
    result.add(table, group, weight)
    return result


def same(left: VertexSums, right: VertexSums) -> bool:
    return np.array_equal(left.values, right.values) and np.array_equal(left.totals, right.totals)


@given(tables, st.randoms(use_true_random=False))
def test_sums_do_not_depend_on_order(table: IntArray, order: Random) -> None:
    rows = list(range(len(table)))
    order.shuffle(rows)
    sums = VertexSums(SIZE)
    for row in rows:
        sums.add(table[row : row + 1])
    assert same(sums, sums_of(table))
    assert sums.totals.tolist() == [len(table)]


@given(tables, tables)
def test_sums_add_up(left: IntArray, right: IntArray) -> None:
    assert same(sums_of(left) + sums_of(right), sums_of(np.concatenate([left, right])))


@given(tables)
def test_a_record_is_the_mean_of_its_vertices(table: IntArray) -> None:
    """Weights are not negative and add up to one record; four vertices at most have some."""
    vertices = np.arange(SIZE) << POSITION_BITS
    for row in table:
        weights = sums_of(row[None]).values[0]
        assert weights.min() >= 0
        assert weights.sum() == UNIT
        assert np.count_nonzero(weights) <= 4
        assert [int(weights.sum(axis=1 - k) @ vertices) for k in (0, 1)] == (row * UNIT).tolist()


@given(tables, st.data())
def test_groups_and_weights(table: IntArray, data: st.DataObject) -> None:
    count = len(table)
    groups = np.array(data.draw(st.lists(st.integers(0, 2), min_size=count, max_size=count)), dtype=np.int64)
    weights = np.array(data.draw(st.lists(st.integers(0, 1024), min_size=count, max_size=count)), dtype=np.int64)
    sums = sums_of(table, groups, weights, groups=3)
    for group in range(3):
        chosen = groups == group
        expected = sum(
            (w * sums_of(row[None]).values for row, w in zip(table[chosen], weights[chosen], strict=True)), 0
        )
        assert np.array_equal(sums.values[group], np.zeros((SIZE, SIZE)) if not chosen.any() else expected[0])
        assert sums.totals[group] == weights[chosen].sum()


def test_positions_are_on_the_grid_whatever_the_records_are() -> None:
    chart = require_chart(SQUARE)
    rows = np.array([[0.0, 8.0], [4.0, 2.0], [np.inf, -np.inf], [np.nan, 1e300], [-1e-300, 8 + 1e-15]])
    with np.errstate(invalid="ignore"):
        positions = grid_positions(chart, SIZE, rows)
    assert positions[:3].tolist() == [[0, STEPS], [STEPS // 2, STEPS // 4], [STEPS, 0]]
    assert positions.min() >= 0
    assert positions.max() <= STEPS


def test_a_table_that_is_too_large_is_refused() -> None:
    sums = VertexSums(SIZE)
    sums.totals[0] = MAX_TOTAL
    with pytest.raises(mp.MilepostError, match="at most"):
        sums.add(np.zeros((1, 2), dtype=np.int64))
    with pytest.raises(mp.MilepostError, match="do not add up"):
        sums + VertexSums(3)


def test_more_vertices_than_indices_have_bits_are_refused() -> None:
    with pytest.raises(mp.MilepostError, match="do not fit memory"):
        VertexSums(257, 33_000)
