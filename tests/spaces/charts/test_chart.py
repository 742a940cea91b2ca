"""Charts: squares that cover two-dimensional spaces, and the errors of interpolation between their vertices."""

import pickle

import numpy as np
import pytest

import milepost as mp
from milepost._typing import AnyArray, FloatArray
from milepost.mechanisms.planar.nested_grids import NestedGrids
from milepost.spaces.base import Space, require_chart
from milepost.spaces.charts.chart import Chart

SPACES = {
    "rectangle": mp.L2([(0, 10), (3, 8)]),
    "disc": mp.L2(center=[1, 2], radius=3),
    "weighted l1": mp.L1([(0, 10), (0, 4)], weights=[1, 2]),
    "city": mp.GreatCircle((52.5, 13.4), 40),
    "continent": mp.GreatCircle((52.5, 13.4), 3000),
    "hemisphere": mp.GreatCircle((-10, 179), 10_000),
}
every_space = pytest.mark.parametrize("space", SPACES.values(), ids=list(SPACES))


def inner_positions(chart: Chart, count: int) -> FloatArray:
    positions = np.random.default_rng(0).uniform(0, chart.side, (count, 2))
    return np.asarray(positions[chart.gap(positions, positions) == 0])


def cell_corners(chart: Chart, size: int) -> FloatArray:
    """Return the low corners of all cells that can have a record."""
    width = chart.side / (size - 1)
    along = np.arange(size - 1) * width
    low = np.stack(np.meshgrid(along, along, indexing="ij"), axis=-1).reshape(-1, 2)
    return low[chart.inside(low, width)]


@every_space
def test_positions_and_points_are_inverse(space: Space) -> None:
    chart = require_chart(space)
    positions = inner_positions(chart, 300)
    for records in (space.read(chart.queries(positions)), chart.points(positions)):
        assert np.abs(chart.positions(records) - positions).max() < 1e-9 * chart.side
    assert np.abs(space.query_records(chart.queries(positions)) - chart.points(positions)).max() < 1e-9 * chart.side


@every_space
def test_every_record_is_in_the_square_and_in_a_cell_that_counts(space: Space) -> None:
    """Rows far outside, which move to the border, included."""
    chart = require_chart(space)
    rows = np.random.default_rng(1).uniform(-90, 90, (2000, 2))
    rows = np.concatenate([rows, [[0.0, 0.0], [90.0, 0.0], [-90.0, 180.0]]])
    positions = chart.positions(space.read(rows))
    assert positions.min() >= -1e-9 * chart.side
    assert positions.max() <= (1 + 1e-9) * chart.side
    for size in (5, 17):
        width = chart.side / (size - 1)
        cells = np.clip(np.floor(positions / width), 0, size - 2)
        assert chart.inside(cells * width, width).all()


@every_space
def test_a_position_depends_on_its_own_record_bit_for_bit(space: Space) -> None:
    chart = require_chart(space)
    records = space.read(np.random.default_rng(2).uniform(-80, 80, (257, 2)))
    together = chart.positions(records)
    alone = np.concatenate([chart.positions(records[k : k + 1]) for k in range(len(records))])
    assert np.array_equal(together, alone)
    assert np.array_equal(pickle.loads(pickle.dumps(chart)).positions(records), together)  # noqa: S301


@every_space
def test_distances_are_at_most_the_lipschitz_constant_times_those_of_positions(space: Space) -> None:
    chart = require_chart(space)
    positions = inner_positions(chart, 200)
    distances = space.distance(chart.points(positions), chart.queries(positions))
    apart = np.linalg.norm(positions[:, None] - positions[None], axis=2)
    assert (distances <= chart.lipschitz * apart * (1 + 1e-9) + 1e-9 * chart.side).all()
    assert (distances > 0.9 * chart.lipschitz * apart)[apart > 0].any()


def interpolation_errors(space: Space, low: FloatArray, width: float, queries: AnyArray) -> tuple[FloatArray, ...]:
    """Return the smallest and the largest error in each cell, at 13 × 13 places of it."""
    chart = require_chart(space)
    steps = [np.array(step) for step in ((0, 0), (0, 1), (1, 0), (1, 1))]
    corners = [space.distance(chart.points(low + width * step), queries) for step in steps]
    smallest, largest = np.full(corners[0].shape, np.inf), np.full(corners[0].shape, -np.inf)
    for p in np.linspace(0, 1, 13):
        for q in np.linspace(0, 1, 13):
            shares = ((1 - p) * (1 - q), (1 - p) * q, p * (1 - q), p * q)
            mixed = sum(share * corner for share, corner in zip(shares, corners, strict=True))
            error = mixed - space.distance(chart.points(low + width * np.array([p, q])), queries)
            smallest, largest = np.minimum(smallest, error), np.maximum(largest, error)
    return smallest, largest


@pytest.mark.parametrize("size", [5, 17])
@every_space
def test_interpolation_is_within_its_bounds_in_all_cells_around_a_vertex(space: Space, size: int) -> None:
    """For queries anywhere, at vertices and in the middle of cells, by dense evaluation."""
    chart = require_chart(space)
    width, low = chart.side / (size - 1), cell_corners(chart, size)
    generator = np.random.default_rng(3)
    some = low[generator.integers(len(low), size=6)]
    places = np.concatenate([inner_positions(chart, 12), some, some + width / 2])
    queries = space.clip_points(chart.queries(places))
    smallest, largest = interpolation_errors(space, low, width, queries)
    for step in ((0, 0), (0, 1), (1, 0), (1, 1)):
        corner = low + width * np.array(step)
        distances = space.distance(chart.points(corner), queries)
        errors = chart.interpolation_errors(corner, distances, width, space.query_records(queries))
        assert (errors.low - 1e-9 * chart.side <= smallest).all()
        assert (largest <= errors.high + 1e-9 * chart.side).all()
        assert (errors.low <= errors.high).all()
        assert (errors.typical <= errors.high * (1 + 1e-9)).all()


@pytest.mark.parametrize("name", ["rectangle", "disc", "city"])
def test_typical_errors_are_those_of_people_who_are_spread_evenly(name: str) -> None:
    """On average over places: the correction leaves less than a fifth of the error of interpolation."""
    space = SPACES[name]
    grids = NestedGrids(require_chart(space), (5, 17))
    chart, width = grids.chart, grids.width
    positions = inner_positions(chart, 60_000)
    queries = space.clip_points(chart.queries(inner_positions(chart, 25)))
    cells = np.minimum((positions / width).astype(np.int64), grids.size - 2)
    shares = positions / width - cells
    weights = np.zeros((grids.size, grids.size))
    for along, across in ((0, 0), (0, 1), (1, 0), (1, 1)):
        part = np.abs(1 - along - shares[:, 0]) * np.abs(1 - across - shares[:, 1])
        np.add.at(weights, (cells[:, 0] + along, cells[:, 1] + across), part)
    people = weights[grids.vertices[:, 0], grids.vertices[:, 1]] / len(positions)
    distances = space.distance(chart.points(grids.positions), queries)
    bias = people @ distances - space.distance(chart.points(positions), queries).mean(axis=0)
    errors = chart.interpolation_errors(grids.positions, distances, width, space.query_records(queries))
    assert (bias > 0).all()
    assert abs(np.mean(people @ errors.typical) / np.mean(bias) - 1) < 0.2


def test_other_spaces_have_no_chart() -> None:
    flat = mp.L1([(0, 10), (0, 4)], weights=[1, 0]), mp.L2([(0, 1), (5, 5)])
    for space in (*flat, mp.L1([(0, 1)]), mp.L2([(0, 1)] * 3), mp.Lp(1.5, [(0, 1)] * 2), mp.Angular(2)):
        assert space.chart is None
        with pytest.raises(mp.MilepostError, match=rf"two-dimensional space.*{space.kind!r} has no chart"):
            require_chart(space)
