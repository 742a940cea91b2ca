"""representative_columns: every record's column is a mixture of those of the corners of its cell, within errors."""

from typing import Any

import numpy as np
import pytest

import milepost as mp
from milepost._typing import AnyArray, FloatArray
from milepost.spaces.base import representative_columns
from milepost.spaces.charts import representative_columns as module
from milepost.spaces.charts.representative_columns import cell_count

SPACES: dict[str, Any] = {
    "l2, square": mp.L2([(0, 1), (0, 1)], directions=4),
    "l2, rectangle far from 0": mp.L2([(1e6, 1e6 + 2), (-5, 4)], directions=4),
    "l2, disc": mp.L2(center=[3, -2], radius=7, directions=4),
    "l1": mp.L1([(0, 1), (0, 3)]),
    "l1, weights and steps": mp.L1([(18, 90), (0, 2.2)], weights=[0.5, 30], step=[1, 0]),
    "cap": mp.GreatCircle((52.5, 13.4), 40, directions=8),
    "cap, a metre": mp.GreatCircle((52, 13), 1e-3, directions=8),
    "cap at a pole": mp.GreatCircle((90, 0), 3000, directions=8),
    "cap, half of the earth": mp.GreatCircle((-80, 179), 10_007, directions=8),
}
QUERIES = 12


def user_points(space: Any, count: int, seed: int) -> AnyArray:
    """Points spread over the extent, and somewhat beyond; `read` moves them inside."""
    low, high = np.array(space.extent).T
    shares = np.random.default_rng(seed).uniform(-0.05, 1.05, (count, 2))
    return np.asarray(np.clip(low + shares * (high - low), *((-90, 90) if space.geographic else (-np.inf, np.inf))))


def query_points(space: Any) -> AnyArray:
    return np.asarray(space.clip_points(space.read_queries(user_points(space, QUERIES, 5))))


def corner_rows(space: Any, count: int, positions: FloatArray) -> tuple[AnyArray, FloatArray]:
    """The rows of the four corners of each position's cell, and their weights in bilinear interpolation."""
    chart = space.chart
    width = chart.side / count
    cells = np.stack(np.divmod(np.arange(count * count), count), axis=1)
    inside = cells[chart.inside(cells.astype(float) * width, width)]
    shifts = [(0, 0), (0, 1), (1, 0), (1, 1)]
    used = np.unique(np.concatenate([(inside + shift) @ (count + 1, 1) for shift in shifts]))
    cell = np.clip(np.floor(positions / width), 0, count - 1).astype(int)
    share = positions / width - cell
    weights = [np.abs(1 - shift - share).prod(axis=1) for shift in np.array(shifts)]
    keys = np.stack([(cell + shift) @ (count + 1, 1) for shift in shifts], axis=1)
    rows = np.searchsorted(used, keys)
    assert (used[np.minimum(rows, len(used) - 1)] == keys).all(), "a record is in a cell that is left out"
    return rows, np.stack(weights, axis=1)


def tried_records(space: Any, queries: AnyArray, count: int) -> FloatArray:
    """Records everywhere, close to queries, and at the middles, borders and corners of cells."""
    chart, random = space.chart, np.random.default_rng(3)
    width = chart.side / count
    places = chart.positions(space.query_records(queries))
    near = np.concatenate([places + width * random.uniform(-1, 1, places.shape) * 2.0**-k for k in range(8)])
    steps = random.integers(0, 2 * count + 1, (2000, 2)) * width / 2
    positions = np.clip(np.concatenate([near, places, steps]), 0, chart.side)
    gaps = chart.gap(positions, positions)
    return np.concatenate([space.read(user_points(space, 2000, 4)), chart.points(positions[gaps == 0])])


@pytest.mark.parametrize("cells", [16, 40])
@pytest.mark.parametrize("name", SPACES)
def test_a_record_is_a_mixture_of_corners_within_their_errors(
    name: str, cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = SPACES[name]
    monkeypatch.setattr(module, "cell_count", lambda *_: cells)
    queries = query_points(space)
    found = representative_columns(space, queries, 1 << 20)
    assert found is not None
    assert found.errors is not None
    records = tried_records(space, queries, cells)
    rows, weights = corner_rows(space, cells, space.chart.positions(records))
    mixtures, allowed = (np.einsum("rc,rck->rk", weights, array[rows]) for array in (found.columns, found.errors))
    off = np.abs(np.minimum(space.distance(records, queries), space.diameter) - mixtures)
    quantum = space.diameter / 2**24
    assert (off <= allowed + 2 * quantum).all()
    assert (off > 0.5 * allowed).any(), "errors could be halved"


@pytest.mark.parametrize("name", SPACES)
def test_errors_fall_with_the_square_of_the_cells(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    space, errors = SPACES[name], []
    for cells in (16, 64):
        monkeypatch.setattr(module, "cell_count", lambda *_, cells=cells: cells)
        found = representative_columns(space, query_points(space), 1 << 20)
        assert found is not None
        assert found.errors is not None
        errors.append(float(np.median(found.errors)))
    assert errors[1] <= errors[0] / 8 or errors[0] < space.diameter / 2**24


def test_more_queries_have_more_cells_up_to_a_limit() -> None:
    counts = [cell_count(queries, 1 << 23) for queries in (1, 10, 100, 1000)]
    assert counts == [56, 74, 128, 90]
    assert all((count + 1) ** 2 * queries <= 1 << 23 for count, queries in zip(counts, (1, 10, 100, 1000), strict=True))


def test_a_distance_beyond_the_diameter_is_an_error() -> None:
    """A query may stay a millionth of the radius outside of a cap; distances to it count as the diameter at most."""
    space = SPACES["cap at a pole"]
    outside = space.points_around(space.center, space.radius_km * (1 + 9e-7))[:1]
    queries = space.clip_points(np.concatenate([outside, [[89.0, 0.0]]]))
    found, plain = (
        space.representative_columns(queries, 1 << 20),
        mp.Space.representative_columns(space, queries, 1 << 20),
    )
    assert plain is not None
    more = found.errors - plain.errors
    np.testing.assert_allclose(more, np.tile([9e-7 * space.radius_km, 0], (len(more), 1)), rtol=1e-3, atol=1e-9)


def test_a_universe_has_the_columns_of_its_records() -> None:
    matrix = [[abs(i - j) for j in range(6)] for i in range(6)]
    space = mp.AnyMetric(mp.precomputed(matrix), 5, [0, 4, 2], universe=[5, 3, 1])
    found = representative_columns(space, np.array([2, 0]), 1)
    assert found is not None
    assert found.errors is None
    assert found.columns.tolist() == [[3, 5], [1, 3], [1, 1]]


class Steeper(mp.L2):
    """Another distance, on which the columns of the base class are no promise."""

    kind = "steeper"

    def distance(self, records: FloatArray, queries: AnyArray) -> FloatArray:
        return np.asarray(super().distance(records, queries) ** 2)


class Wider(mp.L2):
    """Records that are not moved into the space."""

    kind = "wider"

    def read(self, batch: Any, first_row: int = 0) -> FloatArray:  # noqa: ARG002
        return np.asarray(batch, dtype=np.float64)


class Anywhere(mp.L1):
    """Queries that are not moved into the space: distances beyond the diameter are cut."""

    kind = "anywhere"

    def clip_points(self, queries: AnyArray) -> AnyArray:
        return queries


class Shorter(mp.L1):
    """A diameter that distances exceed, where they are cut."""

    kind = "shorter"

    @property
    def diameter(self) -> float:
        return 0.2


class Elsewhere(mp.L1):
    """Queries that are measured from another place than they are at."""

    kind = "elsewhere"

    def prepare_queries(self, queries: AnyArray) -> AnyArray:
        return np.asarray(queries + 10)


@pytest.mark.parametrize(
    "space",
    [
        Anywhere([(0, 1), (0, 1)]),
        Shorter([(0, 1), (0, 1)]),
        Elsewhere([(0, 1), (0, 1)]),
        Steeper([(0, 1), (0, 1)], directions=2),
        Wider([(0, 1), (0, 1)], directions=2),
        mp.L1([(0, 1)]),
        mp.L1([(7, 7), (0.1, 0.7)]),
        mp.L2([(0, 1)] * 3, directions=8),
        mp.Lp(1.5, [(0, 1), (0, 1)], directions=8),
        mp.Angular(3, directions=8),
        mp.AnyMetric(mp.precomputed([[0, 1], [1, 0]]), 1, [0, 1]),
    ],
    ids=lambda space: space.kind,
)
def test_a_space_without_a_promise_has_none(space: Any) -> None:
    queries = np.zeros((1, space.width)) if space.given_queries is None else space.given_queries
    assert representative_columns(space, queries, 1 << 20) is None
