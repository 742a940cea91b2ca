"""Exact sums for a private model of a table: moments of its points, and sums over clusters of them.

All numbers are integers on a coarse grid, and those of one record depend on that record only: projections and labels
are computed from whole numbers below 2⁵³, which floating point adds up exactly in any order. docs/proofs/model.md.
"""

from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np

from milepost._typing import IntArray
from milepost.spaces.base import Space
from milepost.statistics.accumulate import sum_by_index, sum_rows_by_index
from milepost.statistics.ball_points import BallGrid, shorten_beyond, squared_lengths
from milepost.statistics.sketch import total_weights
from milepost.statistics.statistic_spec import RecordBlock, StatisticSpec

MODEL_STEPS = 1 << 10  # of the grid in a radius: sums of squares of 2³⁷ records, or steps of weight, fit 64 bits
BASIS_BITS = 12  # of the entries of a basis
EXACT_ROWS = 1 << 12  # whose products of whole numbers add up to less than 2⁵³


def model_grid(space: Space) -> BallGrid:
    """Return the grid over the ball that encloses a space."""
    ball = space.enclosing_ball
    if ball is None:
        raise ValueError(f"space {space.kind!r} has no enclosing ball")
    return BallGrid(*ball, MODEL_STEPS)


class PointMoments:
    """Sums int64[columns] of coordinates on a grid, int64[columns, columns] of their products, and the total int64[1].

    All are weighted by the records' weights.
    """

    def __init__(self, width: int) -> None:
        self.sums = np.zeros(width, dtype=np.int64)
        self.products = np.zeros((width, width), dtype=np.int64)
        self.totals = np.zeros(1, dtype=np.int64)

    @classmethod
    def spec(cls, space: Space, grid: BallGrid) -> "StatisticSpec[PointMoments]":
        """Return the specification of the moments of records in a space."""
        return StatisticSpec(partial(PointMoments, grid.width), partial(_points, space, grid), 3 * grid.width)

    @property
    def arrays(self) -> tuple[IntArray, ...]:
        """Return all integers."""
        return self.sums, self.products, self.totals

    def add(self, integers: IntArray, weight: IntArray | None = None) -> None:
        """Add records int64[n, columns] on the grid, each with an integer weight."""
        self.sums += integers.sum(axis=0) if weight is None else (integers * weight[:, None]).sum(axis=0)
        self.products += _products(integers, weight)
        self.totals += len(integers) if weight is None else weight.sum()

    def __add__(self, other: Self) -> "PointMoments":
        """Return the moments of both tables together."""
        result = PointMoments(len(self.sums))
        result.sums, result.products = self.sums + other.sums, self.products + other.products
        result.totals = self.totals + other.totals
        return result


@dataclass(frozen=True, eq=False)
class Clusters:
    """Public centres in a subspace, which give every record of a ball a label and its residual, clipped to a length.

    basis: int64[p, columns], orthonormal directions × 2^BASIS_BITS. centers: int64[k, p], on the grid. reach: the
    largest length of a residual, in steps of the grid.
    """

    grid: BallGrid
    basis: IntArray
    centers: IntArray
    reach: int

    @property
    def axes(self) -> int:
        """Return the number of directions of the subspace."""
        return len(self.basis)

    def residuals(self, integers: IntArray) -> tuple[IntArray, IntArray]:
        """Return the label of each point int64[n, columns] on the grid, and its residual int64[n, p].

        The label is that of the nearest centre in the subspace, the first of several. The residual is what the point is
        away from that centre, shortened to `reach` where it is longer.
        """
        products = integers.astype(np.float64) @ self.basis.T.astype(np.float64)  # exact: whole numbers below 2⁵³
        projected = np.rint(products / (1 << BASIS_BITS))
        squares = squared_lengths(self.centers) - 2 * (projected @ self.centers.T.astype(np.float64))
        labels = np.argmin(squares, axis=1)
        residuals = projected.astype(np.int64) - self.centers[labels]
        return labels, shorten_beyond(residuals, self.reach, self.reach)  # (R)


class ClusterSums:
    """Sums int64[k, p] of the residuals of each cluster's records, and their counts int64[k], times their weights."""

    def __init__(self, clusters: int, axes: int) -> None:
        self.sums = np.zeros((clusters, axes), dtype=np.int64)
        self.counts = np.zeros(clusters, dtype=np.int64)

    @classmethod
    def spec(cls, space: Space, clusters: Clusters) -> "StatisticSpec[ClusterSums]":
        """Return the specification of the sums over clusters of records in a space."""
        empty = partial(ClusterSums, len(clusters.centers), clusters.axes)
        return StatisticSpec(empty, partial(_residuals, space, clusters), _numbers(clusters))

    @property
    def arrays(self) -> tuple[IntArray, ...]:
        """Return all integers."""
        return self.sums, self.counts

    def add(self, labels: IntArray, residuals: IntArray, weight: IntArray | None = None) -> None:
        """Add records with these labels and residuals, each with an integer weight."""
        weights = np.ones(len(labels), dtype=np.int64) if weight is None else weight.astype(np.int64)
        images = np.column_stack([residuals, np.ones(len(labels), dtype=np.int64)])
        added = sum_rows_by_index(labels.astype(np.int32), weights, images, len(self.counts))
        self.sums += added[:, :-1]
        self.counts += added[:, -1]

    def __add__(self, other: Self) -> "ClusterSums":
        """Return the sums of both tables together."""
        result = ClusterSums(*self.sums.shape)
        result.sums, result.counts = self.sums + other.sums, self.counts + other.counts
        return result


class ClusterCounts:
    """The total weight int64[groups, k] of each group's records in each cluster."""

    def __init__(self, groups: int, clusters: int) -> None:
        self.counts = np.zeros((groups, clusters), dtype=np.int64)

    @classmethod
    def spec(cls, space: Space, clusters: Clusters, groups: int) -> "StatisticSpec[ClusterCounts]":
        """Return the specification of the counts of clusters of records in a space, by group."""
        empty = partial(ClusterCounts, groups, len(clusters.centers))
        return StatisticSpec(empty, partial(_group_labels, space, clusters), _numbers(clusters))

    @property
    def arrays(self) -> tuple[IntArray, ...]:
        """Return all integers."""
        return (self.counts,)

    def add(self, groups: IntArray, labels: IntArray, weights: IntArray) -> None:
        """Add records of these groups, clusters and weights; refuse a record in no group."""
        total_weights(len(groups), len(self.counts), groups, weights)
        cells = groups * self.counts.shape[1] + labels
        self.counts += sum_by_index(cells.astype(np.int32), weights, self.counts.size).reshape(self.counts.shape)

    def __add__(self, other: Self) -> "ClusterCounts":
        """Return the counts of both tables together."""
        result = ClusterCounts(*self.counts.shape)
        result.counts = self.counts + other.counts
        return result


class ClusterProducts:
    """Sums int64[k, p, p] of the products of each cluster's residuals, times the records' weights."""

    def __init__(self, clusters: int, axes: int) -> None:
        self.products = np.zeros((clusters, axes, axes), dtype=np.int64)

    @classmethod
    def spec(cls, space: Space, clusters: Clusters) -> "StatisticSpec[ClusterProducts]":
        """Return the specification of the products of residuals of records in a space."""
        empty = partial(ClusterProducts, len(clusters.centers), clusters.axes)
        return StatisticSpec(empty, partial(_residuals, space, clusters), _numbers(clusters))

    @property
    def arrays(self) -> tuple[IntArray, ...]:
        """Return all integers."""
        return (self.products,)

    def add(self, labels: IntArray, residuals: IntArray, weight: IntArray | None = None) -> None:
        """Add records with these labels and residuals, each with an integer weight."""
        for label in np.unique(labels).tolist():
            chosen = labels == label
            self.products[label] += _products(residuals[chosen], None if weight is None else weight[chosen])

    def __add__(self, other: Self) -> "ClusterProducts":
        """Return the products of both tables together."""
        result = ClusterProducts(*self.products.shape[:2])
        result.products = self.products + other.products
        return result


def _products(integers: IntArray, weight: IntArray | None) -> IntArray:
    """Return Σ w·x·xᵀ of whole numbers int64[n, m], exactly: a few rows at a time."""
    result = np.zeros((integers.shape[1], integers.shape[1]), dtype=np.int64)
    for start in range(0, len(integers), EXACT_ROWS):
        part = slice(start, start + EXACT_ROWS)
        points = integers[part].astype(np.float64)
        weighted = points if weight is None else points * weight[part, None]
        result += (weighted.T @ points).astype(np.int64)
    return result


def _numbers(clusters: Clusters) -> int:
    """Return how many numbers the work on a record takes."""
    return 3 * clusters.grid.width + 2 * len(clusters.centers) + 3 * clusters.axes


def _points(space: Space, grid: BallGrid, block: RecordBlock) -> tuple[IntArray, IntArray | None]:
    return grid.integers(space.vectors(block.points)), block.weight


def _residuals(space: Space, clusters: Clusters, block: RecordBlock) -> tuple[IntArray, IntArray, IntArray | None]:
    return *clusters.residuals(clusters.grid.integers(space.vectors(block.points))), block.weight


def _group_labels(space: Space, clusters: Clusters, block: RecordBlock) -> tuple[IntArray, IntArray, IntArray]:
    labels, _, _ = _residuals(space, clusters, block)
    return block.groups, labels, block.weights.astype(np.int64)
