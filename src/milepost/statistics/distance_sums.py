"""Exact sums of the values of all records for queries, such as distances, as integers that add up."""

from collections.abc import Callable
from functools import partial
from typing import Any, Self, TypeAlias

import numpy as np

from milepost._typing import AnyArray, FloatArray, IntArray
from milepost.errors import MilepostError
from milepost.spaces.base import Space
from milepost.spaces.distances.tiles import TileBuffer, gather
from milepost.spaces.embeddings.quantization import CoordinateSpace
from milepost.spaces.queries import Queries
from milepost.statistics.accumulate import sum_rows_by_index
from milepost.statistics.sketch import check_weight, total_weights
from milepost.statistics.statistic_spec import RecordBlock, StatisticSpec

PARTS = 4  # a table is read in this many times more parts than its distances need, so that all threads have work

# returns the summands int64[n, m] of records, from their values int64[n, k] for the queries in quanta
DistanceTransform: TypeAlias = Callable[[Queries, IntArray], IntArray]


class DistanceSums:
    """Sums of the records' distances to each query, in quanta: int64[groups, k]; and totals int64[groups].

    A distance has at most 2²⁴ quanta, a function of distances at most ±2²⁴. Sums do not depend on the order of records,
    and those of parts of a table add up.
    """

    def __init__(self, count: int, groups: int = 1) -> None:
        self.values = np.zeros((groups, count), dtype=np.int64)
        self.totals = np.zeros(groups, dtype=np.int64)

    @classmethod
    def spec(
        cls,
        space: Space,
        groups: int = 1,
        queries: Queries | None = None,
        transform: DistanceTransform | None = None,
        *,
        prepared: bool = False,
    ) -> "StatisticSpec[DistanceSums]":
        """Return the specification of sums of distances to queries, or of a transform of these distances.

        queries: None for totals alone. prepared: whether the blocks hold prepared records.
        """
        count = _summand_count(queries, transform)
        numbers = 1 if queries is None else PARTS * max(count, len(queries.points))
        image = partial(_image, space, queries, transform, prepared)
        products = isinstance(space, CoordinateSpace) and space.uses_all_processors and space.distance_error > 0
        return StatisticSpec(partial(DistanceSums, count, groups), image, numbers, queries is not None and products)

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

    def add(
        self, quanta: "IntArray | DistanceSums", group: AnyArray | None = None, weight: AnyArray | None = None
    ) -> None:
        """Add records with values int64[n, k] within ±2²⁴ quanta, each with a group index and an integer weight.

        Or add the sums of records of weight 1, which belong to group 0.
        """
        if isinstance(quanta, DistanceSums):
            check_weight(int(self.totals.sum()) + int(quanta.totals[0]))
            self.values[0] += quanta.values[0]
            self.totals[0] += quanta.totals[0]
            return
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
    space: Space, queries: Queries | None, transform: DistanceTransform | None, prepared: bool, block: RecordBlock
) -> tuple[Any, ...]:
    """Return the sums of a block or, of records with groups or weights, their summands.

    prepared: whether the records of the block are prepared for `Space.distance_tiles`.
    """
    if queries is None:
        return np.empty((len(block.points), 0), dtype=np.int64), block.group, block.weight
    records = block.points if prepared else space.tiled_distance.prepare_records(block.points)
    if transform is None and queries.functions is None and block.group is None and block.weight is None:
        return (_sums(space, queries, records),)
    tiles = space.tiled_distance.distance_tiles(records, queries.prepared)
    values = queries.evaluate(gather(tiles, len(records), len(queries.points)))
    return _summands(queries, transform, values), block.group, block.weight


def _sums(space: Space, queries: Queries, records: FloatArray) -> DistanceSums:
    """Return the sums of prepared records of weight 1, a tile of distances that fits the cache at a time."""
    result = DistanceSums(queries.count)
    result.totals[0] = len(records)
    buffer = TileBuffer()
    for _, some, distances in space.tiled_distance.distance_tiles(records, queries.prepared):
        quanta = queries.whole_quanta(distances, out=buffer.like(distances))
        result.values[0, some] += quanta.sum(axis=0).astype(np.int64)  # below 2⁵³, so exact in floats
    return result


def _summand_count(queries: Queries | None, transform: DistanceTransform | None) -> int:
    """Return how many sums there are."""
    no_records = np.empty((0, 0 if queries is None else queries.count), dtype=np.int64)
    return len(_summands(queries, transform, no_records).T)


def _summands(queries: Queries | None, transform: DistanceTransform | None, quanta: IntArray) -> IntArray:
    return quanta if transform is None or queries is None else transform(queries, quanta)
