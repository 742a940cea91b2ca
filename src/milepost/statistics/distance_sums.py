"""Exact sums of the distances of all records to queries, as integers that add up."""

from typing import Self

import numpy as np

from milepost._typing import AnyArray, IntArray
from milepost.errors import MilepostError
from milepost.statistics.accumulate import sum_rows_by_index
from milepost.statistics.sketch import check_weight, total_weights


class DistanceSums:
    """Sums of the records' distances to each query, in quanta: int64[groups, k]; and totals int64[groups].

    A distance has at most 2²⁴ quanta. Sums do not depend on the order of records, and those of parts of a table add up.
    """

    def __init__(self, count: int, groups: int = 1) -> None:
        self.values = np.zeros((groups, count), dtype=np.int64)
        self.totals = np.zeros(groups, dtype=np.int64)

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
