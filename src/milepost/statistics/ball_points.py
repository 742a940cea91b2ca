"""Points of a ball on an integer grid: exact sums of their coordinates, and counts of their distances from a point.

Every number is an integer that depends on one record only, and those of parts of a table add up. docs/proofs/ball.md.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np

from milepost._typing import FloatArray, IntArray
from milepost.spaces.base import Space
from milepost.statistics.statistic_spec import RecordBlock, StatisticSpec

STEPS = 1 << 20  # of the grid, in a radius


@dataclass(frozen=True, eq=False)
class BallGrid:
    """A public grid over a ball: whole numbers of steps from its centre, of which a radius has `steps`."""

    center: FloatArray
    radius: float
    steps: int = STEPS

    @property
    def width(self) -> int:
        """Return the number of columns of a point."""
        return len(self.center)

    @property
    def max_length(self) -> int:
        """Return the largest ℓ₂ length of a point on the grid, in steps; `integers` makes sure of it."""
        return self.steps + math.isqrt(self.width) + 1  # rounding to the grid adds √d/2

    def integers(self, points: FloatArray) -> IntArray:
        """Return points of the ball, float64[n, columns], on the grid: int64[n, columns], none beyond `max_length`."""
        result = np.rint((points - self.center) * (self.steps / self.radius)).astype(np.int64)
        return shorten_beyond(result, self.max_length, self.steps)  # the border of a ball far from 0 is rounded, too

    def points(self, integers: IntArray) -> FloatArray:
        """Return the points at integers of the grid."""
        return np.asarray(self.center + integers * (self.radius / self.steps))


def squared_lengths(integers: IntArray) -> IntArray:
    """Return Σx² of each row, exact in 64 bits for vectors of up to 2³⁰ steps."""
    return np.asarray(np.einsum("ij,ij->i", integers, integers))


def shorten_beyond(integers: IntArray, max_length: int, steps: int) -> IntArray:
    """Return vectors int64[n, columns]; those longer than `max_length` are shortened, in place, to `steps`."""
    squares = squared_lengths(integers)
    beyond = squares > max_length**2
    if beyond.any():
        integers[beyond] = shorten(integers[beyond], squares[beyond], steps)
    return integers


def shorten(integers: IntArray, squares: IntArray, steps: int = STEPS) -> IntArray:
    """Return vectors of these squared lengths, int64[n, columns], scaled to a length of `steps` and cut to integers."""
    return np.trunc(integers * (steps / np.sqrt(squares))[:, None]).astype(np.int64)


def grid_center(sums: IntArray, total: int) -> IntArray:
    """Return the mean of points on the grid, from noisy sums and a noisy total, moved into the ball."""
    limit = 2 * STEPS  # far outside, where squares still fit 64 bits
    mean = np.clip(np.rint(sums / total), -limit, limit).astype(np.int64)[None]
    squares = squared_lengths(mean)
    return np.asarray((mean if squares[0] <= STEPS**2 else shorten(mean, squares))[0])


class PointSums:
    """Sums int64[columns] of the coordinates of records on a grid, times their weights; and the total int64[1]."""

    def __init__(self, width: int) -> None:
        self.values = np.zeros(width, dtype=np.int64)
        self.totals = np.zeros(1, dtype=np.int64)

    @classmethod
    def spec(cls, space: Space, grid: BallGrid) -> "StatisticSpec[PointSums]":
        """Return the specification of the sums of the vectors of a space on a grid."""
        return StatisticSpec(partial(PointSums, grid.width), partial(_weighted_points, space, grid), 3 * grid.width)

    @property
    def arrays(self) -> tuple[IntArray, ...]:
        """Return all integers."""
        return self.values, self.totals

    def add(self, integers: IntArray, weight: IntArray | None = None) -> None:
        """Add records int64[n, columns] on the grid, each with an integer weight."""
        self.values += integers.sum(axis=0) if weight is None else (integers * weight[:, None]).sum(axis=0)
        self.totals += len(integers) if weight is None else weight.sum()

    def __add__(self, other: Self) -> "PointSums":
        """Return the sums of both tables together."""
        result = PointSums(len(self.values))
        result.values, result.totals = self.values + other.values, self.totals + other.totals
        return result


class DistanceCounts:
    """Counts int64[k + 1] of records by their distance from a point of the grid, between k public limits."""

    def __init__(self, limits: int) -> None:
        self.counts = np.zeros(limits + 1, dtype=np.int64)

    @classmethod
    def spec(cls, grid: BallGrid, point: IntArray, limits: IntArray) -> "StatisticSpec[DistanceCounts]":
        """Return the specification. limits: squared distances in steps, int64[k], in increasing order."""
        image = partial(_weighted_cells, grid, point, limits)
        return StatisticSpec(partial(DistanceCounts, len(limits)), image, 3 * grid.width)

    @property
    def arrays(self) -> tuple[IntArray, ...]:
        """Return all integers."""
        return (self.counts,)

    def add(self, cells: IntArray, weight: IntArray | None = None) -> None:
        """Add records in these cells, each with an integer weight."""
        np.add.at(self.counts, cells, 1 if weight is None else weight.astype(np.int64))

    def beyond(self, limit: int) -> int:
        """Return the weight of the records that are farther than a limit, given by its index."""
        return int(self.counts[limit + 1 :].sum())

    def __add__(self, other: Self) -> "DistanceCounts":
        """Return the counts of both tables together."""
        result = DistanceCounts(len(self.counts) - 1)
        result.counts = self.counts + other.counts
        return result


def _weighted_points(space: Space, grid: BallGrid, block: RecordBlock) -> tuple[IntArray, IntArray | None]:
    return grid.integers(space.vectors(block.points)), block.weight


def _weighted_cells(
    grid: BallGrid, point: IntArray, limits: IntArray, block: RecordBlock
) -> tuple[IntArray, IntArray | None]:
    squares = squared_lengths(grid.integers(block.points) - point)
    return np.searchsorted(limits, squares), block.weight
