"""Counts of the values of each column by sign, power of two and 8 more bits, as integers that add up."""

from functools import lru_cache, partial
from typing import Self

import numpy as np

from milepost._typing import AnyArray, FloatArray, IntArray
from milepost.statistics.sketch import check_weight
from milepost.statistics.statistic_spec import RecordBlock, StatisticSpec

MIN_VALUE, MAX_VALUE = (
    -40,
    60,
)  # powers of two: sizes below the first count as one, sizes from the last on as just below it
SUBCELLS = 256  # of an octave, from one power of two to the next
SIDE = 1 + (MAX_VALUE - MIN_VALUE) * SUBCELLS  # cells on either side of 0; the first is that of sizes below 2⁻⁴⁰
OCTAVES = 2 * (1 + MAX_VALUE - MIN_VALUE)


class Magnitudes:
    """Counts int64[columns, 2·SIDE] of the values in each cell of the public grid `edges()`, and the number of records.

    A record adds its weight to one cell of each column. Counts do not depend on the order of records, and those of
    parts of a table add up.
    """

    def __init__(self, columns: int) -> None:
        self.counts = np.zeros((columns, 2 * SIDE), dtype=np.int64)
        self.total = 0

    @classmethod
    def spec(cls, columns: int) -> "StatisticSpec[Magnitudes]":
        """Return the specification of the magnitudes of columns of numbers."""
        return StatisticSpec(partial(Magnitudes, columns), _image, columns)

    @property
    def arrays(self) -> tuple[IntArray, ...]:
        """Return all integers, but for the total, which is the sum of each column's counts."""
        return (self.counts,)

    @property
    def columns(self) -> int:
        """Return the number of columns of a record."""
        return len(self.counts)

    def add(self, points: FloatArray, weight: AnyArray | None = None) -> None:
        """Add records float64[n, columns], which may hold infinite values, each with an integer weight."""
        weights = np.ones(len(points), dtype=np.int64) if weight is None else weight.astype(np.int64)
        check_weight(self.total + int(weights.sum()))
        for column, counts in enumerate(self.counts):
            np.add.at(counts, cell_of(points[:, column]), weights)
        self.total += int(weights.sum())

    def __add__(self, other: Self) -> "Magnitudes":
        """Return the counts of both tables together."""
        result = Magnitudes(self.columns)
        result.counts, result.total = self.counts + other.counts, self.total + other.total
        return result

    def between(self, column: int, borders: FloatArray) -> IntArray:
        """Count a column's values between borders, which are edges of the grid.

        Values outside of the borders count in the first or last cell, so that every value is in one cell.
        """
        starts = np.searchsorted(edges(), borders[:-1])
        starts[0] = 0
        return np.asarray(np.add.reduceat(self.counts[column], starts))


def _image(block: RecordBlock) -> tuple[FloatArray, IntArray | None]:
    """Return values as they are, with the weights of records."""
    return block.points, block.weight


def cell_of(values: FloatArray) -> IntArray:
    """Return the cell of each value, which depends on that value alone; NaN must have been refused."""
    # the largest size below 2⁶⁰ stands for all from there on, infinity included
    size = np.minimum(np.abs(values), np.nextafter(2.0**MAX_VALUE, 0))
    share, power = np.frexp(size)  # size = share·2^power, ½ ≤ share < 1
    subcell = (power - 1 - MIN_VALUE) * SUBCELLS + np.floor((2 * share - 1) * SUBCELLS).astype(np.int64)
    index = np.where(size < 2.0**MIN_VALUE, 0, 1 + subcell)
    return np.where(values < 0, SIDE - 1 - index, SIDE + index)


@lru_cache(maxsize=1)
def edges() -> FloatArray:
    """Return the 2·SIDE + 1 borders of the cells: 0, and ±2^k·(1 + j/256) for k from −40 to 60; exact and public."""
    powers = 2.0 ** np.arange(MIN_VALUE, MAX_VALUE)
    octaves = (powers[:, None] * (1 + np.arange(SUBCELLS) / SUBCELLS)).ravel()
    upper = np.concatenate([octaves, [2.0**MAX_VALUE]])
    result = np.concatenate([-upper[::-1], [0.0], upper])
    result.setflags(write=False)
    return result


@lru_cache(maxsize=1)
def octave_borders() -> FloatArray:
    """Return the edges that are 0 or a power of two, of either sign."""
    upper = 2.0 ** np.arange(MIN_VALUE, MAX_VALUE + 1)
    result = np.concatenate([-upper[::-1], [0.0], upper])
    result.setflags(write=False)
    return result
