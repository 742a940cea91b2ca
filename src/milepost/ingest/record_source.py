"""Sources of records: exact sums of distances to queries that become known one after another."""

from collections.abc import Generator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from operator import mul
from typing import Protocol, cast

import numpy as np

from milepost._typing import AnyArray, FloatArray, IntArray
from milepost.ingest.parallel import Task, aggregate, reading_threads
from milepost.ingest.table import Table
from milepost.spaces.base import Space
from milepost.spaces.embeddings.embedding import QUANTA
from milepost.spaces.queries import Queries
from milepost.statistics.distance_sums import DistanceSums
from milepost.statistics.row_digest import CHANGED_SESSION, Fingerprint
from milepost.statistics.sketch import CellBorders
from milepost.statistics.statistic_spec import RecordBlock

MAX_NUMBERS = 1 << 27  # of records in memory: 1 GB
MAX_CELLS, MAX_BORDERS = 1 << 20, 1 << 23  # of a coordinate, and of all of them
BLOCK_NUMBERS = 1 << 20  # distances that a thread computes at a time
RATIO_BITS = 60


class RecordSource(Protocol):
    """Exact sums of distances, and the shift of queries that they need. All but the shift is private."""

    @property
    def total(self) -> int:
        """Return the number of records, or their weight in steps."""

    def sums(self, queries: Queries) -> DistanceSums:
        """Return the exact sums of distances to queries that were shifted."""

    def shift_queries(self, queries: AnyArray) -> tuple[AnyArray, FloatArray]:
        """Return the queries that are answered instead, and bounds of the errors that this causes; public."""


@dataclass(frozen=True, eq=False)
class RowSource:
    """A table that is read again for every question.

    Each pass must read the rows that the first pass read: noise is added to differences from earlier answers, which is
    private for one unchanged table only.
    """

    table: Table

    @cached_property
    def total(self) -> int:
        """Return the total, which the first pass counts."""
        return self._fixed_table.total()

    def sums(self, queries: Queries) -> DistanceSums:
        """Return the sums, from one pass over the records."""
        return self._fixed_table.sums(queries)

    def shift_queries(self, queries: AnyArray) -> tuple[AnyArray, FloatArray]:
        """Return the queries themselves, without error."""
        return queries, np.zeros(len(queries))

    @cached_property
    def _fixed_table(self) -> Table:
        """Return the table with a fingerprint."""
        fixed = self.table.fingerprint is not None
        return self.table if fixed else self.table.with_fingerprint(Fingerprint(CHANGED_SESSION))


class MemorySource:
    """The records of a table, in memory and prepared for distances."""

    def __init__(self, table: Table) -> None:
        self.space, in_memory = table.space, table.in_memory()
        self.total = in_memory.total()
        blocks = list(in_memory.records or ())[::-1]
        del in_memory
        self._blocks: list[RecordBlock] = []
        while blocks:  # one after the other, so that records are not in memory twice
            block = blocks.pop()
            self._blocks.append(replace(block, points=self.space.tiled_distance.prepare_records(block.points)))

    def sums(self, queries: Queries) -> DistanceSums:
        """Return the sums, computed by several threads where there are many distances."""
        spec = DistanceSums.spec(self.space, 1, queries, prepared=True)
        threads = reading_threads(self.space, [spec])
        (sums,) = aggregate([spec], self._tasks(max(1, BLOCK_NUMBERS // len(queries.points))), threads)
        return cast(DistanceSums, sums)

    def shift_queries(self, queries: AnyArray) -> tuple[AnyArray, FloatArray]:
        """Return the queries themselves, without error."""
        return queries, np.zeros(len(queries))

    def _tasks(self, rows: int) -> Generator[Task]:
        for block in self._blocks:
            for start in range(0, len(block.points), rows):
                yield partial(block.select, slice(start, start + rows))


@dataclass(frozen=True, eq=False)
class SketchSource:
    """Sums at cell borders, for a space whose embedded distances are the metric's; records are read once."""

    space: Space
    borders: CellBorders

    @property
    def total(self) -> int:
        """Return the total of all records."""
        return self.borders.total

    def shift_queries(self, queries: AnyArray) -> tuple[AnyArray, FloatArray]:
        """Return the queries at the nearest cell borders, and bounds of the errors of that and of quanta."""
        embedding, positions = self.space.embedding, self._cells(queries).astype(np.float64) * (1 << self.borders.bits)
        shift = np.abs(self.space.position(queries) - positions) @ embedding.quantum
        return self.space.point(positions), shift + embedding.bias

    def sums(self, queries: Queries) -> DistanceSums:
        """Return the sums: for each query a weighted sum of integers, rounded once."""
        result = DistanceSums(queries.count)
        result.totals[0] = self.borders.total
        columns, ratios = np.arange(self.space.embedding.dimension), self._ratios(queries)
        totals = []
        for cells in self._cells(queries.points):
            parts = self.borders.value[columns, cells].tolist()
            totals.append(sum(map(mul, ratios, parts)))
        result.values[0] = queries.round_sums(totals, RATIO_BITS)
        return result

    def _cells(self, queries: AnyArray) -> IntArray:
        cells = np.rint(self.space.position(queries) / (1 << self.borders.bits))
        return np.clip(cells, 0, self.space.embedding.span >> self.borders.bits).astype(np.int64)

    def _ratios(self, queries: Queries) -> list[int]:
        """Return how many quanta of a distance are in a quantum of each embedding coordinate, × 2⁶⁰."""
        return [round(ratio * (1 << RATIO_BITS)) for ratio in (self.space.embedding.quantum / queries.quantum).tolist()]


def cells_of(space: Space) -> int | None:
    """Return the number of cells of a source's sketch; None where it has no sketch."""
    embedding = space.embedding
    if space.embedding_columns is None:
        return None
    if (embedding.step > 1).all():
        return embedding.cells()
    share = max(1, MAX_BORDERS // embedding.dimension)
    return max(embedding.cells(), min(MAX_CELLS, 1 << (share.bit_length() - 1)))


def max_query_shift(space: Space) -> float:
    """Return the largest error that the shift of a query, or the rounding of points, can cause."""
    cells = cells_of(space)
    if cells is None:
        return space.distance_error
    return QUANTA / cells / 2 * float(space.embedding.quantum.sum()) + space.embedding.bias


def open_source(table: Table, total: int) -> RecordSource:
    """Return the quickest source that fits in memory, for a table of one group.

    total: the approximate number of records.
    """
    space = table.space
    cells = cells_of(space)
    if cells is not None:
        return SketchSource(space, table.sketch(space, cells).borders())
    fits = table.is_local and total * space.width <= MAX_NUMBERS
    return MemorySource(table) if fits else RowSource(table)
