"""Exact sums of the distances of all records to queries, as integers that add up."""

from collections.abc import Callable
from functools import partial
from typing import Self, TypeAlias

import numpy as np

from milepost._typing import AnyArray, IntArray
from milepost.errors import MilepostError
from milepost.spaces.base import Space
from milepost.spaces.queries import Queries
from milepost.statistics.accumulate import sum_rows_by_index
from milepost.statistics.sketch import check_weight, total_weights
from milepost.statistics.statistic_spec import RecordBlock, StatisticSpec

# returns the summands int64[n, m] of records, from their distances int64[n, k] to queries in quanta
DistanceTransform: TypeAlias = Callable[[Queries, IntArray], IntArray]


class DistanceSums:
    """Sums of the records' distances to each query, in quanta: int64[groups, k]; and totals int64[groups].

    A distance has at most 2²⁴ quanta. Sums do not depend on the order of records, and those of parts of a table add up.
    """

    def __init__(self, count: int, groups: int = 1) -> None:
        self.values = np.zeros((groups, count), dtype=np.int64)
        self.totals = np.zeros(groups, dtype=np.int64)

    @classmethod
    def spec(
        cls, space: Space, groups: int = 1, queries: Queries | None = None, transform: DistanceTransform | None = None
    ) -> "StatisticSpec[DistanceSums]":
        """Return the specification of sums of distances to queries, or of a transform of these distances.

        queries: None for totals alone.
        """
        no_records = np.empty((0, 0 if queries is None else queries.count), dtype=np.int64)
        count = _summands(queries, transform, no_records).shape[1]
        numbers = 1 if queries is None else max(count, queries.count)
        return StatisticSpec(partial(DistanceSums, count, groups), partial(_image, space, queries, transform), numbers)

    @property
    def arrays(self) -> tuple[IntArray, ...]:
        """Return all integers."""
        return self.values, self.totals

    @property
    def count(self) -> int:
        """Return k, the number of queries."""
        return self.values.shape[1]

    @property
    def groups(self) -> int:
        """Return the number of groups."""
        return self.values.shape[0]

    def add(self, quanta: IntArray, group: AnyArray | None = None, weight: AnyArray | None = None) -> None:
        """Add records at distances int64[n, k] in 0..2²⁴ quanta, each with a group index and an integer weight."""
        totals = total_weights(len(quanta), self.groups, group, weight)
        check_weight(int(self.totals.sum()) + int(totals.sum()))
        if group is None and weight is None:
            self.values[0] += quanta.sum(axis=0)
        else:
            weights = np.ones(len(quanta), dtype=np.int64) if weight is None else weight.astype(np.int64)
            group_index = np.zeros(len(quanta), dtype=np.int64) if group is None else group
            present = np.zeros(self.groups, dtype=bool)  # there may be far more groups than records
            present[group_index] = True
            index = (np.cumsum(present, dtype=np.int32) - 1)[group_index]
            self.values[present] += sum_rows_by_index(index, weights, quanta, int(present.sum()))
        self.totals += totals

    def __add__(self, other: Self) -> "DistanceSums":
        """Return the sums of both tables together."""
        if self.values.shape != other.values.shape:
            raise MilepostError(f"sums of shapes {self.values.shape} and {other.values.shape} do not add up")
        return self._with(self.values + other.values, self.totals + other.totals)

    def repeat(self, times: int) -> "DistanceSums":
        """Return the sums of the table in which every record occurs `times` times."""
        check_weight(int(self.totals.sum()) * times)
        return self._with(self.values * times, self.totals * times)

    def _with(self, values: IntArray, totals: IntArray) -> "DistanceSums":
        check_weight(int(totals.sum()))
        result = DistanceSums(self.count, self.groups)
        result.values, result.totals = values, totals
        return result


def _image(
    space: Space, queries: Queries | None, transform: DistanceTransform | None, block: RecordBlock
) -> tuple[IntArray, IntArray | None, IntArray | None]:
    """Return the summands of records, with their groups and weights."""
    quanta = np.empty((len(block.points), 0), dtype=np.int64)
    if queries is not None:
        quanta = queries.quantize(space.distance(block.points, queries.points))
    return _summands(queries, transform, quanta), block.group, block.weight


def _summands(queries: Queries | None, transform: DistanceTransform | None, quanta: IntArray) -> IntArray:
    return quanta if transform is None or queries is None else transform(queries, quanta)
