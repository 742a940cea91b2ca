"""Piecewise linear functions of all coordinates at once are the same as one interpolation after another."""

import numpy as np
import pytest

from milepost.mechanisms.coordinate.piecewise_linear import UniformPiecewiseLinear, in_cache_blocks


def test_all_coordinates_at_once_are_as_one_by_one() -> None:
    generator = np.random.default_rng(0)
    bits = [3, 5, 0]
    heights = [generator.normal(size=count) for count in (9, 2, 33)]
    ends = np.array([8 << 3, 1 << 5, 32 << 0])
    positions = generator.uniform(0, 1, (500, 3)) * ends
    positions[0], positions[1], positions[2] = 0, ends, [8, 16, 4]
    expected = sum(
        np.interp(positions[:, i], np.arange(len(heights[i])) * 2.0 ** bits[i], heights[i]) for i in range(3)
    )
    assert UniformPiecewiseLinear(heights, bits).total(positions.T) == pytest.approx(expected, abs=1e-13)
    cell, fraction = UniformPiecewiseLinear(heights, bits).cells(positions)
    assert np.array_equal((cell + fraction) * 2.0 ** np.array(bits), positions)
    assert cell[1].tolist() == [7, 0, 31]


def test_a_sum_of_many_coordinates_has_the_bits_of_its_terms() -> None:
    """Nodes, ends and points between them: a cell begins at every node, and the last one ends where it did."""
    generator = np.random.default_rng(1)
    heights = [generator.normal(size=17) for _ in range(137)]
    positions = np.concatenate([np.full((1, 137), 64.0), np.zeros((1, 137)), generator.uniform(0, 64, (300, 137))])
    cell, fraction = UniformPiecewiseLinear(heights, [2] * 137).cells(positions)
    table = np.array(heights)
    low, high = (np.take_along_axis(table.T, cell + side, axis=0) for side in (0, 1))
    expected = (low + fraction * (high - low)).sum(axis=1)
    assert np.array_equal(UniformPiecewiseLinear(heights, [2] * 137).total(positions.T), expected)


def test_one_cell_needs_no_search() -> None:
    generator = np.random.default_rng(2)
    heights = [generator.normal(size=2) for _ in range(20)]
    positions = np.where(generator.random((50, 20)) < 0.5, 0.0, 32.0)
    positions[0] = 7
    expected = np.array(
        [[h[0] + p / 32 * (h[1] - h[0]) for h, p in zip(heights, row, strict=True)] for row in positions]
    )
    assert np.array_equal(UniformPiecewiseLinear(heights, [5] * 20).total(positions.T), expected.sum(axis=1))


def test_no_rows() -> None:
    assert in_cache_blocks(lambda rows: rows.sum(axis=1), np.empty((0, 3))).shape == (0,)
