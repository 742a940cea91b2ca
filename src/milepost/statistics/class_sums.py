"""Exact sums of the points of each class, clipped around a point of a grid, and the sizes of classes.

Every number is an integer that depends on one record only, and those of parts of a table add up. A point is rounded to
the grid first and clipped afterwards, so that its length is compared as an integer. docs/proofs/class-means.md.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from milepost._typing import IntArray
from milepost.spaces.base import Space
from milepost.statistics.ball_points import BallGrid, shorten_beyond
from milepost.statistics.model_sums import ClusterSums
from milepost.statistics.statistic_spec import RecordBlock, StatisticSpec


@dataclass(frozen=True, eq=False)
class ClippedPoints:
    """A public rule: points of a grid, counted from a centre and shortened to a length.

    center: int64[columns], on the grid. reach: the largest length, in steps of the grid. taxicab: whether lengths are
    those of ℓ₁, for Laplace noise; else those of ℓ₂.
    """

    grid: BallGrid
    center: IntArray
    reach: int
    taxicab: bool

    def integers(self, integers: IntArray) -> IntArray:
        """Return points int64[n, columns] of the grid, counted from the centre, none longer than `reach`."""
        offsets = integers - self.center
        return (shorten_taxicab if self.taxicab else shorten_euclidean)(offsets, self.reach)  # (Q)


def shorten_euclidean(integers: IntArray, reach: int) -> IntArray:
    """Return vectors int64[n, columns]; those of an ℓ₂ length above `reach` are shortened, in place."""
    return shorten_beyond(integers, reach, reach)


def shorten_taxicab(integers: IntArray, reach: int) -> IntArray:
    """Return vectors int64[n, columns]; those of an ℓ₁ length above `reach` are shortened, in place."""
    lengths = np.abs(integers).sum(axis=1)
    beyond = lengths > reach
    integers[beyond] = np.trunc(integers[beyond] * (reach / lengths[beyond])[:, None]).astype(np.int64)
    return integers


def class_sums(space: Space, rule: ClippedPoints, classes: int) -> StatisticSpec[ClusterSums]:
    """Return the specification of the sums of clipped points, and of the sizes, of each class."""
    width = rule.grid.width
    return StatisticSpec(partial(ClusterSums, classes, width), partial(_clipped, space, rule), 4 * width)


def _clipped(space: Space, rule: ClippedPoints, block: RecordBlock) -> tuple[IntArray, IntArray, IntArray | None]:
    return block.groups, rule.integers(rule.grid.integers(space.vectors(block.points))), block.weight
