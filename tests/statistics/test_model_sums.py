"""Sums for a model: exact in any order, of parts that add up, and no residual longer than its reach."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import milepost as mp
from milepost._typing import FloatArray, IntArray
from milepost.ingest.row_attributes import RowColumns
from milepost.ingest.table import Table
from milepost.mechanisms.table_model import MAX_AXES, MAX_REACH, MIN_REACH
from milepost.pipeline.private_model import MAX_WIDTH
from milepost.privacy.noise import MAX_SCALE
from milepost.privacy.protected_change import WEIGHT_STEPS
from milepost.statistics.ball_points import BallGrid, squared_lengths
from milepost.statistics.model_sums import (
    BASIS_BITS,
    EXACT_ROWS,
    MODEL_STEPS,
    ClusterCounts,
    ClusterProducts,
    Clusters,
    ClusterSums,
    PointMoments,
    model_grid,
)
from milepost.statistics.sketch import MAX_TOTAL
from milepost.statistics.statistic_spec import RecordBlock, StatisticSpec


def space_of(width: int) -> mp.L2:
    return mp.L2(center=[0] * width, radius=1)


def clusters_of(width: int, axes: int, centers: int, reach: int, seed: int = 0) -> Clusters:
    """Random orthonormal axes, and centres in the ball and at the largest distance from it."""
    generator = np.random.default_rng(seed)
    basis = np.linalg.qr(generator.normal(size=(width, axes)))[0].T
    places = generator.integers(-MODEL_STEPS // 2, MODEL_STEPS // 2, (centers, axes))
    places[-1] = 2 * MODEL_STEPS
    return Clusters(model_grid(space_of(width)), np.rint(basis * (1 << BASIS_BITS)).astype(np.int64), places, reach)


def points_of(rows: int, width: int, seed: int = 0) -> FloatArray:
    """Points in the ball, at its border, and beyond it."""
    generator = np.random.default_rng(seed)
    points = generator.normal(size=(rows, width))
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True) * generator.uniform(0, 1.5, (rows, 1)))


def specs(width: int, axes: int = 2, reach: int = 300) -> list[StatisticSpec[Any]]:
    space, clusters = space_of(width), clusters_of(width, axes, 5, reach)
    return [
        PointMoments.spec(space, clusters.grid),
        ClusterSums.spec(space, clusters),
        ClusterProducts.spec(space, clusters),
    ]


def read(spec: StatisticSpec[Any], points: FloatArray, weight: IntArray | None = None) -> Any:
    result = spec.empty()
    result.add(*spec.image(RecordBlock(points, weight=weight)))
    return result


def exact_residual(clusters: Clusters, point: Sequence[int]) -> tuple[int, list[int]]:
    """The label and the residual before it is shortened, in Python's integers and fractions."""
    projected = [
        round(Fraction(sum(x * b for x, b in zip(point, row, strict=True)), 1 << BASIS_BITS))
        for row in clusters.basis.tolist()
    ]
    away = [[x - c for x, c in zip(projected, center, strict=True)] for center in clusters.centers.tolist()]
    label = min(range(len(away)), key=lambda k: sum(part * part for part in away[k]))
    return label, away[label]


@pytest.mark.parametrize("weighted", [False, True])
def test_sums_are_those_of_pythons_integers(weighted: bool) -> None:
    """Moments, sums and counts of clusters, and their products; with the largest weights among others."""
    rows, width = 60, 5
    points = space_of(width).read(points_of(rows, width))
    weight = np.random.default_rng(1).integers(0, WEIGHT_STEPS + 1, rows) if weighted else None
    clusters = clusters_of(width, 3, 5, 300)
    integers = clusters.grid.integers(points).tolist()
    times = [1] * rows if weight is None else weight.tolist()
    moments, sums, products = (read(spec, points, weight) for spec in specs(width, 3))
    pairs = list(zip(integers, times, strict=True))
    assert moments.sums.tolist() == [sum(w * x[i] for x, w in pairs) for i in range(width)]
    expected = [[sum(w * x[i] * x[j] for x, w in pairs) for j in range(width)] for i in range(width)]
    assert moments.products.tolist() == expected
    assert moments.totals.tolist() == [sum(times)]
    labels, residuals = clusters.residuals(np.array(integers))
    for point, label, residual in zip(integers, labels.tolist(), residuals.tolist(), strict=True):
        exact_label, exact = exact_residual(clusters, point)
        assert label == exact_label
        if sum(part * part for part in exact) <= clusters.reach**2:
            assert residual == exact
    for k in range(5):
        chosen = [(r, w) for r, w, label in zip(residuals.tolist(), times, labels.tolist(), strict=True) if label == k]
        assert sums.counts[k] == sum(w for _, w in chosen)
        assert sums.sums[k].tolist() == [sum(w * r[i] for r, w in chosen) for i in range(3)]
        expected = [[sum(w * r[i] * r[j] for r, w in chosen) for j in range(3)] for i in range(3)]
        assert products.products[k].tolist() == expected


def test_parts_add_up_in_any_order() -> None:
    rows, width = 2 * EXACT_ROWS + 5, 4
    points = space_of(width).read(points_of(rows, width))
    weight = np.random.default_rng(2).integers(0, WEIGHT_STEPS + 1, rows)
    order = np.random.default_rng(3).permutation(rows)
    for spec in specs(width):
        whole, parts = read(spec, points, weight), spec.empty()
        for part in np.array_split(order, 7):
            parts = parts + read(spec, points[part], weight[part])
        assert all(np.array_equal(a, b) for a, b in zip(whole.arrays, parts.arrays, strict=True))


@pytest.mark.parametrize(("width", "axes"), [(4, 4), (MAX_WIDTH, MAX_AXES)])
def test_an_image_depends_on_its_own_record_only(width: int, axes: int) -> None:
    """Products of floats are whole numbers, so that no batch rounds them in another way than a record alone."""
    clusters = clusters_of(width, axes, 16, 400)
    integers = clusters.grid.integers(space_of(width).read(points_of(50, width)))
    labels, residuals = clusters.residuals(integers)
    alone = [clusters.residuals(row[None]) for row in integers]
    assert labels.tolist() == [int(label[0]) for label, _ in alone]
    assert np.array_equal(residuals, np.vstack([residual for _, residual in alone]))


def test_the_first_of_equally_near_centres_is_taken() -> None:
    grid = model_grid(space_of(2))
    basis = np.eye(2, dtype=np.int64) << BASIS_BITS
    clusters = Clusters(grid, basis, np.array([[100, 0], [-100, 0], [100, 0]]), 300)
    labels, residuals = clusters.residuals(np.array([[0, 7], [1, 0], [-1, 0]]))
    assert labels.tolist() == [0, 0, 1]
    assert residuals.tolist() == [[-100, 7], [-99, 0], [99, 0]]


@pytest.mark.parametrize("reach", [MIN_REACH, 17, 313, 1024, MAX_REACH - 1, MAX_REACH])
def test_no_residual_is_longer_than_its_reach(reach: int) -> None:
    """Every vector of the plane near the limit, multiples of the axes, and the farthest that there are."""
    grid = model_grid(space_of(2))
    side = np.arange(-40, 41)
    near = reach + side
    plane = np.column_stack([part.reshape(-1) for part in np.meshgrid(np.concatenate([side, near, 3 * near]), near)])
    far = np.array(
        [[4 * MODEL_STEPS, 4 * MODEL_STEPS], [7 * reach, 0], [0, -3 * reach], [3 * reach, 4 * reach], [0, 0]]
    )
    basis, center = np.eye(2, dtype=np.int64) << BASIS_BITS, np.array([[0, 0]])
    integers = np.vstack([plane, far])
    _, residuals = Clusters(grid, basis, center, reach).residuals(integers)
    lengths, before = squared_lengths(residuals), squared_lengths(integers)
    assert int(lengths.max()) == reach**2
    kept = before <= reach**2
    assert np.array_equal(residuals[kept], integers[kept])
    assert int(lengths[~kept].min()) >= (reach - 2) ** 2


def test_floats_hold_every_whole_number() -> None:
    """Limits of the code, from the largest length, weight, width and number of rows of a block."""
    longest = BallGrid(np.zeros(MAX_WIDTH), 1.0, MODEL_STEPS).max_length
    row = (1 << BASIS_BITS) + MAX_WIDTH  # more than the length of a row of the basis, rounded
    projected = longest * row // (1 << BASIS_BITS) + 1
    farthest = 2 * MODEL_STEPS * MAX_AXES  # a centre's length, at most
    assert longest * row < 2**53
    assert farthest**2 + 2 * MAX_AXES * projected * farthest < 2**53
    assert WEIGHT_STEPS * max(longest, MAX_REACH) ** 2 * EXACT_ROWS < 2**53
    assert MAX_TOTAL * max(longest, MAX_REACH) ** 2 + 32 * int(MAX_SCALE) < 2**63


def test_the_largest_numbers_are_added_up_exactly() -> None:
    """A block of rows at the limits of length and of weight."""
    rows = 3 * EXACT_ROWS - 1
    sums, products = ClusterSums(2, 1), ClusterProducts(2, 1)
    labels, weight = np.arange(rows) % 2, np.full(rows, WEIGHT_STEPS)
    residuals = np.full((rows, 1), -MAX_REACH)
    sums.add(labels, residuals, weight)
    products.add(labels, residuals, weight)
    counts = [-(-rows // 2), rows // 2]
    assert sums.counts.tolist() == [WEIGHT_STEPS * count for count in counts]
    assert sums.sums[:, 0].tolist() == [-MAX_REACH * WEIGHT_STEPS * count for count in counts]
    assert products.products[:, 0, 0].tolist() == [MAX_REACH**2 * WEIGHT_STEPS * count for count in counts]


def test_a_table_reads_the_rows_that_are_used() -> None:
    """None beyond the limit of its person, and each with its weight."""
    space = space_of(4)
    rows = np.eye(4)[[0, 1, 2, 2, 2]]
    roles = RowColumns(privacy_unit=[1, 2, 3, 3, 3], contributions=2, row_weights=[1, 0.5, 1, 1, 1], max_row_weight=1.0)
    table = Table(rows, space, roles.change("replace"), row_columns=roles)
    clusters = Clusters(
        model_grid(space), np.eye(4, dtype=np.int64)[:3] << BASIS_BITS, np.eye(3, dtype=np.int64) * MODEL_STEPS, 100
    )
    moments = table.point_moments(clusters.grid)
    weights = [WEIGHT_STEPS, WEIGHT_STEPS // 2, 2 * WEIGHT_STEPS, 0]
    assert moments.totals.tolist() == [sum(weights)]
    assert moments.sums.tolist() == [MODEL_STEPS * weight for weight in weights]
    assert moments.products.tolist() == np.diag([MODEL_STEPS**2 * weight for weight in weights]).tolist()
    assert table.cluster_sums(clusters).counts.tolist() == weights[:3]
    assert not table.cluster_products(clusters).products.any()


def test_counts_are_by_group_and_cluster() -> None:
    """Rows in no group are left out; counts of parts add up."""
    space = space_of(4)
    rows, groups = np.eye(4)[[0, 0, 1, 2, 0, 1]], ["b", "a", "b", "c", "b", "b"]
    clusters = Clusters(
        model_grid(space), np.eye(4, dtype=np.int64)[:3] << BASIS_BITS, np.eye(3, dtype=np.int64) * MODEL_STEPS, 100
    )
    roles = RowColumns(groups=groups, labels=["a", "b"], row_weights=[1, 1, 1, 1, 0.5, 0], max_row_weight=1.0)
    table = Table(rows, space, roles.change("replace"), row_columns=roles)
    counts = np.array([[2, 0, 0], [3, 2, 0]]) * (WEIGHT_STEPS // 2)
    assert table.cluster_counts(clusters).counts.tolist() == counts.tolist()
    spec = ClusterCounts.spec(space, clusters, 2)
    parts = [spec.of(RecordBlock(space.read(rows[part]), np.array([1, 0, 1])[: len(rows[part])]))
             for part in (slice(0, 3), slice(3, 5))]  # fmt: skip
    assert (parts[0] + parts[1]).counts.tolist() == [[2, 0, 0], [1, 1, 1]]
    with pytest.raises(mp.MilepostError, match="groups are numbered from 0 to 1"):
        spec.of(RecordBlock(space.read(rows[:1]), np.array([-1])))


def test_a_space_without_vectors_has_no_grid() -> None:
    with pytest.raises(ValueError, match="no enclosing ball"):
        model_grid(mp.AnyMetric(mp.precomputed([[0, 1], [1, 0]]), 1, [0, 1]))
