"""Points of a ball on its grid: no image is longer than the bound, each depends on its record, and sums add up."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import milepost as mp
from milepost._typing import FloatArray
from milepost.ingest.row_attributes import RowColumns
from milepost.ingest.table import Table
from milepost.privacy.protected_change import ProtectedChange
from milepost.statistics.ball_points import STEPS, BallGrid, DistanceCounts, PointSums, squared_lengths
from milepost.statistics.statistic_spec import RecordBlock, StatisticSpec

widths = st.sampled_from([1, 2, 3, 17, 400])


def ball(width: int, offset: float, radius: float) -> mp.L2:
    return mp.L2(center=[offset] * width, radius=radius)


def grid_of(space: mp.L2) -> BallGrid:
    return BallGrid(np.asarray(space.center), float(space.radius or 0))


def directions(width: int, seed: int) -> FloatArray:
    """Random directions, and those along the axes and the diagonal, on either side."""
    generator = np.random.default_rng(seed)
    ends = np.vstack([np.eye(width)[:3], np.ones((1, width)), generator.normal(size=(20, width))])
    return np.asarray(np.vstack([ends, -ends]) / np.linalg.norm(np.vstack([ends, -ends]), axis=1, keepdims=True))


@given(widths, st.sampled_from([0.0, 1.0, -7e5, 4e6]), st.sampled_from([1.0, 1e-3, 3e5]), st.integers(0, 99))
def test_no_record_is_longer_than_the_bound(width: int, offset: float, radius: float, seed: int) -> None:
    """Not at the border, nor outside of it, nor where the ball is so far from 0 that its border is rounded."""
    if abs(offset) * np.sqrt(width) > 2**21 * radius:
        offset = 0.0
    space = ball(width, offset, radius)
    grid = grid_of(space)
    rows = np.vstack([factor * radius * directions(width, seed) + offset for factor in (1.0, 1 + 1e-12, 1e9)])
    integers = grid.integers(space.read(rows))
    assert int(squared_lengths(integers).max()) <= grid.max_length**2
    assert grid.max_length <= STEPS + np.sqrt(width) + 1
    half = len(directions(width, seed)) // 2
    opposite = int(squared_lengths(integers[:1] - integers[half : half + 1])[0])
    assert opposite <= 4 * grid.max_length**2
    if not offset:
        assert opposite > 4 * (STEPS - np.sqrt(width)) ** 2  # antipodal points cost all of it


def test_a_length_that_rounding_made_too_large_is_cut() -> None:
    """Whatever a space's clipping lets through: here points of twice the radius."""
    grid = BallGrid(np.zeros(3), 1.0)
    integers = grid.integers(2 * directions(3, 0))
    assert int(squared_lengths(integers).max()) <= STEPS**2
    assert int(squared_lengths(integers).min()) > (STEPS - 3) ** 2


@given(widths, st.integers(0, 99))
def test_an_image_depends_on_its_own_record_only(width: int, seed: int) -> None:
    space = ball(width, 3.25, 10)
    grid, rows = grid_of(space), 12 * np.random.default_rng(seed).normal(size=(50, width))
    together = grid.integers(space.read(rows))
    alone = np.vstack([grid.integers(space.read(row[None])) for row in rows])
    assert np.array_equal(together, alone)
    point = np.full(width, 1000)
    limits = np.array([10**6, 10**10, 10**12])
    specs: list[StatisticSpec[Any]] = [PointSums.spec(space, grid), DistanceCounts.spec(grid, point, limits)]
    for spec in specs:
        whole, parts = spec.empty(), spec.empty()
        whole.add(*spec.image(RecordBlock(space.read(rows))))
        for part in np.array_split(rows[::-1], 7):
            other = spec.empty()
            other.add(*spec.image(RecordBlock(space.read(part))))
            parts = parts + other
        assert all(np.array_equal(a, b) for a, b in zip(whole.arrays, parts.arrays, strict=True))


def test_distances_are_compared_as_integers() -> None:
    """A record at a limit is not beyond it; a weight counts as that many records."""
    grid = BallGrid(np.zeros(2), 1.0)
    points = np.array([[3.0, 4.0], [3.0, 4.0], [0.0, 5.0], [0.0, 6.0]]) / STEPS
    spec = DistanceCounts.spec(grid, np.zeros(2, dtype=np.int64), np.array([24, 25, 26]))
    counts = spec.empty()
    counts.add(*spec.image(RecordBlock(points, weight=np.array([1, 2, 4, 8]))))
    assert counts.counts.tolist() == [0, 7, 0, 8]
    assert [counts.beyond(limit) for limit in range(3)] == [15, 8, 8]
    sums = PointSums.spec(ball(2, 0.0, 1.0), grid).empty()
    sums.add(*PointSums.spec(ball(2, 0.0, 1.0), grid).image(RecordBlock(points, weight=np.array([1, 2, 4, 8]))))
    assert sums.values.tolist() == [9, 12 + 20 + 48]
    assert sums.totals.tolist() == [15]


def test_a_table_counts_rows_of_all_groups_together() -> None:
    """And none of a row in no group, nor of one beyond the limit of its person."""
    space = ball(1, 0.0, 10)
    grid = grid_of(space)
    rows = np.array([[1.0], [2.0], [3.0], [4.0], [4.0], [4.0]])
    roles = RowColumns(
        groups=["a", "b", "c", "a", "a", "a"], labels=["a", "b"], privacy_unit=[1, 2, 3, 4, 4, 4], contributions=2
    )
    table = Table(rows, space, roles.change("replace"), row_columns=roles)
    sums = table.point_sums(grid)
    assert sums.totals.tolist() == [4]
    assert abs(sums.values[0] - 11 * STEPS / 10) < 3
    counts = table.distance_counts(grid, np.zeros(1, dtype=np.int64), np.array([(STEPS // 4) ** 2]))
    assert counts.counts.tolist() == [2, 2]


def test_an_empty_table_is_refused_where_the_number_of_rows_is_public() -> None:
    space = ball(2, 0.0, 10)
    with pytest.raises(mp.MilepostError, match="empty"):
        Table(np.empty((0, 2)), space, ProtectedChange()).point_sums(grid_of(space))
