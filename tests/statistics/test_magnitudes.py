"""Magnitudes: every value is in the cell that holds it, and counts add up."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import milepost as mp
from milepost.statistics.magnitudes import MAX_VALUE, MIN_VALUE, SIDE, Magnitudes, cell_of, edges, octave_borders

values = st.floats(allow_nan=False) | st.integers(-300, 300).map(float) | st.integers(-45, 65).map(lambda k: 2.0**k)


def test_the_grid_is_sorted_symmetric_and_exact() -> None:
    """Borders are whole multiples of a power of two, so no float operation has rounded them."""
    borders = edges()
    assert len(borders) == 2 * SIDE + 1
    assert (np.diff(borders) > 0).all()
    np.testing.assert_array_equal(borders, -borders[::-1])
    assert all(math.frexp(border)[0] * 512 % 1 == 0 for border in borders.tolist())
    assert set(octave_borders().tolist()) <= set(borders.tolist())
    with pytest.raises(ValueError, match="read-only"):
        borders[0] = 0


@given(values)
def test_a_value_is_in_its_cell(value: float) -> None:
    """Sizes from 2⁶⁰ on, infinite ones too, are in the outermost cells; a value below 0 may be its cell's upper end."""
    cell = int(cell_of(np.array([value]))[0])
    low, high = edges()[cell : cell + 2]
    inside = max(min(value, 2.0**MAX_VALUE), -(2.0**MAX_VALUE))
    assert low <= inside <= high
    assert value < 0 or inside < high or inside == 2.0**MAX_VALUE
    assert cell == {math.inf: 2 * SIDE - 1, -math.inf: 0}.get(value, cell)
    assert abs(value) >= 2.0**MIN_VALUE or cell in (SIDE - 1, SIDE)


@given(st.lists(values, min_size=1, max_size=20), st.lists(st.sampled_from(edges().tolist()), min_size=2, unique=True))
def test_counts_between_borders_are_those_of_a_loop(rows: list[float], edge_values: list[float]) -> None:
    """Values outside the borders are in the end cells, so that none is lost."""
    borders = np.sort(np.array(edge_values))
    magnitudes = Magnitudes(1)
    magnitudes.add(np.array(rows)[:, None])
    expected = np.zeros(len(borders) - 1, dtype=np.int64)
    for value in rows:
        midpoint = edges()[cell_of(np.array([value]))[0] : cell_of(np.array([value]))[0] + 2].mean()
        expected[min(max(np.searchsorted(borders, midpoint) - 1, 0), len(expected) - 1)] += 1
    np.testing.assert_array_equal(magnitudes.between(0, borders), expected)


def test_parts_of_a_table_add_up() -> None:
    """In any order; a weight is that many records."""
    rows = np.random.default_rng(0).normal(size=(100, 2)) * [1, 1e9]
    magnitudes, first, second, weighted = (Magnitudes(2) for _ in range(4))
    magnitudes.add(rows)
    first.add(rows[60:])
    second.add(rows[:60])
    weighted.add(rows, np.full(100, 3))
    sum_of_parts = first + second
    np.testing.assert_array_equal(magnitudes.counts, sum_of_parts.counts)
    assert magnitudes.total == sum_of_parts.total == 100
    np.testing.assert_array_equal(weighted.counts, 3 * magnitudes.counts)
    with pytest.raises(mp.MilepostError, match="at most 137,438,953,472 rows"):
        magnitudes.add(rows[:1], np.array([1 << 37]))
