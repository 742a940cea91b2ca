"""Distances by exact products: the same integers in any batch and on any number of threads, near the metric's."""

import hashlib
import math
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import milepost as mp
from milepost._typing import FloatArray
from milepost.ingest import parallel, record_source
from milepost.ingest import table as table_module
from milepost.ingest.aggregation import read_sums
from milepost.ingest.record_source import MemorySource, open_source
from milepost.ingest.table import Table
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.distances import integer_products
from milepost.spaces.distances.integer_products import MAX_SQUARE, query_rows, record_rows, squared_distances
from milepost.spaces.distances.tiles import gather
from milepost.spaces.queries import Queries
from tests.mechanisms.contract import patched

SPACES: dict[str, Any] = {
    "box": mp.L2([(0, 1)] * 15 + [(-3, 4)]),
    "far box": mp.L2([(1e6, 1e6 + 1)] * 20),
    "ball": mp.L2(center=[5] * 40, radius=2),
    "angles": mp.Angular(24),
    "degrees": mp.Angular(24, angle_unit="degrees"),
}
spaces = pytest.mark.parametrize("name", SPACES)


def records_of(space: Any, count: int, seed: int = 0) -> FloatArray:
    """Points inside and outside of the space, and copies of its ends."""
    rng = np.random.default_rng(seed)
    low, high = np.array(space.extent or [(-1, 1)] * space.width).T
    rows = low + (high - low) * rng.uniform(-0.2, 1.2, (count, space.width))
    rows[: count // 4] = np.where(rng.random((count // 4, space.width)) < 0.5, low, high)
    return np.asarray(rows)


def same(left: Any, right: Any) -> bool:
    return np.array_equal(left.values, right.values) and np.array_equal(left.totals, right.totals)


@spaces
def test_products_are_exact(name: str) -> None:
    """Of the largest and other points, as Python's integers have them."""
    space = SPACES[name]
    x = space.prepare_records(space.read(records_of(space, 20)))
    y = space.prepare_queries(space.clip_points(space.read_queries(records_of(space, 6, 1))))
    squares = gather(squared_distances(x, y), len(x), len(y))
    assert 4 * MAX_SQUARE < 2.0**53
    assert x[:, -2].max() <= MAX_SQUARE
    for row, record in enumerate(x[:, :-2].astype(np.int64).tolist()):
        for column, query in enumerate((y[:, :-2] / -2).astype(np.int64).tolist()):
            assert squares[row, column] == sum((a - b) ** 2 for a, b in zip(record, query, strict=True))


def test_partial_sums_are_exact_at_the_limit() -> None:
    """Points of the largest length, alike and opposite, with all entries odd."""
    width = 4096
    point = np.full((1, width), float((1 << 25) // 64 | 1))
    x, y = record_rows(np.concatenate([point, -point])), query_rows(np.concatenate([point, -point]))
    assert x[0, -2] <= MAX_SQUARE
    length = 4 * width * int(point[0, 0]) ** 2
    assert gather(squared_distances(x, y), 2, 2).tolist() == [[0, length], [length, 0]]


@spaces
@pytest.mark.parametrize("rows", [1, 7, 4096])
@pytest.mark.parametrize("threads", [1, 2])
def test_sums_do_not_depend_on_batches_and_threads(name: str, rows: int, threads: int) -> None:
    """Of a table that is read and of records in memory."""
    space, count = SPACES[name], 300 if rows < 4096 else 5000
    table = records_of(space, count)
    queries = Queries(space.clip_points(space.read_queries(records_of(space, 9, 1))), space)
    parts = [*np.split(table[:100], 100), table[100:]]
    expected = sum(queries.quantize(space.distance(space.read(part), queries.points)).sum(axis=0) for part in parts)
    source = open_source(Table(table, space, ProtectedChange()), count)
    assert isinstance(source, MemorySource)
    changes: list[tuple[Any, str, Any]] = [
        (parallel, "processors", lambda: threads),
        (table_module, "BLOCK", 4 * rows * queries.count),
        (record_source, "BLOCK_NUMBERS", rows * queries.count),
        (integer_products, "BLOCK_NUMBERS", rows * queries.count),
    ]
    with patched(changes):
        for sums in (read_sums(table, space, queries), source.sums(queries)):
            assert np.array_equal(sums.values[0], expected)
            assert sums.totals.tolist() == [count]
    some = Queries(queries.points[3:4], space)
    assert np.array_equal(source.sums(some).values[0], expected[3:4])


DIGEST = """
import hashlib, numpy as np, milepost as mp
from milepost.spaces.queries import Queries
from milepost.ingest.aggregation import read_sums
rng = np.random.default_rng(0)
table, points = rng.random((5000, 384)), rng.random((40, 384))
digest = hashlib.sha256()
for space in (mp.L2([(0, 1)] * 384), mp.Angular(384)):
    for count in (1, 40):
        queries = Queries(space.read_queries(points[:count]), space)
        digest.update(read_sums(table, space, queries).values.tobytes())
        digest.update(np.ascontiguousarray(space.distance(space.read(table), queries.points)).tobytes())
print(digest.hexdigest())
"""


@pytest.mark.slow
def test_distances_do_not_depend_on_the_threads_of_the_library() -> None:
    """OpenBLAS divides a product among its threads, and adds up in another order."""
    digests = set()
    for threads in ("1", "2"):
        environment = os.environ | {"OPENBLAS_NUM_THREADS": threads}
        digests.add(subprocess.check_output([sys.executable, "-c", DIGEST], env=environment, text=True).strip())  # noqa: S603
    assert len(digests) == 1
    assert len(digests.pop()) == 2 * hashlib.sha256().digest_size


@pytest.mark.parametrize("name", ["box", "ball"])
def test_a_distance_is_off_by_no_more_than_it_says(name: str) -> None:
    """Random points; and points between two of the grid, moved apart in every column: half of the bound is reached."""
    space = SPACES[name]
    x, y = space.read(records_of(space, 200)), space.clip_points(space.read_queries(records_of(space, 20, 1)))
    grid = space.diameter / (1 << 26)
    steps = 2.0 ** np.arange(space.width) % 97 + 0.499
    apart = np.stack([space.center + steps * grid, space.center - steps * grid])
    largest = 0.0
    for left, right in ((x, y), (apart[:1], apart[1:])):
        exact = np.array([[math.dist(a, b) for b in right.tolist()] for a in left.tolist()])
        error = np.abs(space.distance(left, right) - exact).max()
        assert error <= space.distance_error + space.rounding
        largest = max(largest, float(error))
    assert largest > space.distance_error / 4
    assert space.kernels[0].distance_error >= space.distance_error
    assert Queries(y, space).bias >= space.distance_error


def test_few_columns_are_not_on_a_grid() -> None:
    space = mp.L2([(0, 1)] * 7)
    assert space.distance_error == 0
    rng = np.random.default_rng(0)
    x, y = rng.random((50, 7)), rng.random((5, 7))
    exact = [[math.dist(a, b) for b in y.tolist()] for a in x.tolist()]
    np.testing.assert_allclose(space.distance(space.read(x), y), exact, rtol=1e-14)


def test_queries_far_outside_have_distances() -> None:
    """Beyond the numbers that products are exact for; each for itself, whatever else is asked."""
    space = SPACES["box"]
    x = space.read(records_of(space, 30))
    inside = records_of(space, 4, 1).clip(0, 1)
    queries = space.read_queries(np.concatenate([inside, 3 + inside, 1e30 * (1 + inside)]))
    exact = np.array([[math.dist(a, b) for b in queries.tolist()] for a in x.tolist()])
    distances = space.distance(x, queries)
    assert (np.abs(distances - exact) <= space.distance_error + 1e-14 * exact).all()
    for column in range(len(queries)):
        assert np.array_equal(space.distance(x[5:6], queries[column : column + 1])[0, 0], distances[5, column])


@pytest.mark.parametrize("name", ["box", "far box", "ball"])
@pytest.mark.parametrize("apart", [0.0, 1e-12, 1e-7, 1e-3, 0.3])
def test_distances_of_queries_are_in_floats(name: str, apart: float) -> None:
    """Near ones and others to 10⁻¹¹ diameters, which is what the factor of `field` allows for."""
    space = SPACES[name]
    rng = np.random.default_rng(2)
    left = space.center + space.diameter / 8 * rng.uniform(-1, 1, (30, space.width)) / math.sqrt(space.width)
    right = left[::-1] + apart * space.diameter / 4 * rng.uniform(-1, 1, left.shape) / math.sqrt(space.width)
    exact = np.array([[math.dist(a, b) for b in right.tolist()] for a in left.tolist()])
    np.testing.assert_allclose(space.query_distances(left, right), exact, rtol=0, atol=1e-11 * space.diameter)
    assert space.query_distances(left, right).min() >= 0
    assert space.kernels[0].between_error < space.kernels[0].distance_error
