"""Private tables: their data, the columns of the points and of row attributes, and passes for exact statistics."""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Self, TypeVar

import numpy as np

from milepost._typing import AnyArray, IntArray
from milepost.errors import MilepostError
from milepost.ingest import batches as tables
from milepost.ingest.batches import Batch, Cells, Columns
from milepost.ingest.contribution_bounding import NAME_BYTES, ORDER_KEY_BYTES, block_keys, select_rows
from milepost.ingest.geopandas import to_columns
from milepost.ingest.parallel import Task, aggregate, reading_threads
from milepost.ingest.progress import reading
from milepost.ingest.row_attributes import RowColumns
from milepost.ingest.stream import Stream
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.base import Space
from milepost.spaces.charts.chart import Chart
from milepost.spaces.queries import Queries
from milepost.statistics.ball_points import BallGrid, DistanceCounts, PointSums
from milepost.statistics.class_sums import ClippedPoints, class_sums
from milepost.statistics.distance_sums import DistanceSums, DistanceTransform
from milepost.statistics.magnitudes import Magnitudes
from milepost.statistics.model_sums import ClusterCounts, ClusterProducts, Clusters, ClusterSums, PointMoments
from milepost.statistics.row_digest import CHANGED, Fingerprint, RowDigest, row_hashes
from milepost.statistics.sketch import Sketch, check_weight
from milepost.statistics.statistic_spec import Exact, RecordBlock, StatisticSpec
from milepost.statistics.vertex_sums import VertexSums

BLOCK, MAX_BLOCK_ROWS = 1 << 20, 1 << 17  # numbers of the rows that a thread reads at a time, and these rows
MEMORY_BLOCK = 1 << 16  # of records in memory: they fit the cache
NO_ROW_COLUMNS = RowColumns()

Totalled = TypeVar("Totalled", Sketch, DistanceSums, VertexSums)


@dataclass(frozen=True, eq=False)
class Table:
    """A private table; the rows of each person that are used are selected once.

    space: reads the rows. The candidate spaces of one selection, which differ in the number of directions, all read
    them alike. stream: whether an iterator of batches is read once, a few in memory at a time, if that suffices; else
    all batches stay in memory. fingerprint: every pass that reads rows must agree with it; None where a statistic
    depends on one pass only. records: all records that are used, of a table that was read into memory. statistic: the
    only one that remains of a table that was read already.
    """

    source: Any
    space: Space
    change: ProtectedChange
    columns: Columns = None
    row_columns: RowColumns = NO_ROW_COLUMNS
    stream: bool = False
    fingerprint: Fingerprint | None = None
    records: tuple[RecordBlock, ...] | None = field(default=None, kw_only=True, repr=False)
    statistic: Sketch | DistanceSums | VertexSums | None = field(default=None, kw_only=True, repr=False)

    def with_fingerprint(self, fingerprint: Fingerprint) -> Self:
        """Return this table with a fingerprint that all passes must agree with."""
        return replace(self, source=self.data, fingerprint=fingerprint)

    def in_space(self, space: Space) -> Self:
        """Return this table with its rows read by another space, which reads the same columns."""
        fingerprint = None if self.fingerprint is None else Fingerprint()  # of the points as that space reads them
        source = self.data if self.is_local else self.source
        return replace(self, source=source, space=space, fingerprint=fingerprint)

    def with_statistic(self, statistic: Sketch | DistanceSums | VertexSums) -> "Table":
        """Return a table that was read already, of which only this statistic remains."""
        return Table(None, self.space, self.change, None, self.row_columns, statistic=statistic)

    def in_memory(self) -> "Table":
        """Read all records that are used, of a table with local rows, and return a table that has them in memory."""
        records = tuple(self.blocks())
        if self.fingerprint is not None:
            digest_in_memory = RowDigest()
            for block in records:
                digest_in_memory.add(row_hashes(self.fingerprint.key, block.points, block.group, block.weight))
            self.fingerprint.check(digest_in_memory)
        return Table(None, self.space, self.change, None, self.row_columns, records=records)

    @cached_property
    def data(self) -> Any:
        """Return the data of the source; an iterator is opened at the first use."""
        bounded = self.row_columns.privacy_unit is not None
        return tables.open_stream(self.source) if self.stream and not bounded else tables.rereadable(self.source)

    @property
    def is_local(self) -> bool:
        """Return whether its rows are on this computer, in a fixed order."""
        return True

    @property
    def single_pass(self) -> bool:
        """Return whether it can be read once only."""
        return self.statistic is None and isinstance(self.data, Stream) and self.data.single_pass

    @property
    def countable(self) -> bool:
        """Return whether its total is known, or takes a pass anyway, before its statistic is read."""
        bounded = self.row_columns.privacy_unit is not None
        return bounded or (self.change.public_total and tables.countable(self.data))

    @cached_property
    def bounded_rows(self) -> tuple[AnyArray, int] | None:
        """Return which rows are used, bool[n], and their total weight; None where contributions are not bounded.

        One pass selects the rows of each person, and keeps 43 bytes a row, 16 of them for a fingerprint. Rows in no
        group are left out first: they do not count as contributions of the person. The digest of the selected rows
        shows that a later pass reads other rows at these indices than this pass did.
        """
        if self.row_columns.privacy_unit is None:
            return None
        grouped, weights = [np.empty(0, dtype=bool)], [np.empty(0, dtype=np.int16)]
        keys = [np.empty((0, NAME_BYTES + ORDER_KEY_BYTES), dtype=np.uint8)]
        hashes = [np.empty((0, 2), dtype=np.uint64)]
        for batch, cells, first in self._slices(1, "choosing rows"):
            block = self._block(batch, cells, first)
            in_group = block.grouped
            grouped.append(in_group)
            weights.append(block.weights[in_group].astype(np.int16))
            keys.append(block_keys(block))
            if self.fingerprint is not None:
                row_hash = row_hashes(self.fingerprint.key, block.points, block.group, block.weight)
                hashes.append(row_hash[in_group])
        mask, selected = np.concatenate(grouped), select_rows(np.concatenate(keys), self.row_columns.contributions)
        mask[np.flatnonzero(mask)] = selected
        total = int(np.concatenate(weights)[selected].sum(dtype=np.int64))
        check_weight(total)
        if self.fingerprint is not None:
            digest_of_selected = RowDigest()
            digest_of_selected.add(np.concatenate(hashes)[selected])
            self.fingerprint.check(digest_of_selected)
        return mask, total

    def total(self) -> int:
        """Return the number of records, or their weight in steps, in all groups together.

        If that is private, or there is a fingerprint, every row is read, so that a bad row is refused before anything
        is spent.
        """
        if self.statistic is not None:
            return int(self.statistic.totals.sum())
        return check_some(self._total) if self.change.public_total else self._total

    def sketch(self, space: Space, cells: int | None = None) -> Sketch:
        """Return the exact sketch; the default number of cells depends on the number of groups."""
        groups = self.row_columns.group_count
        return self._totalled(Sketch, Sketch.spec(space, groups, cells or space.embedding.cells(groups)))

    def sums(self, queries: Queries, transform: DistanceTransform | None = None) -> DistanceSums:
        """Return the exact sums of distances to queries, or of a transform of these distances."""
        spec = DistanceSums.spec(self.space, self.row_columns.group_count, queries, transform)
        return self._totalled(DistanceSums, spec)

    def magnitudes(self) -> Magnitudes:
        """Return how many values each column has of each size."""
        return self._aggregate(Magnitudes.spec(self.space.width))

    def vertex_sums(self, chart: Chart, size: int) -> VertexSums:
        """Return the exact weights of records on a grid with `size` vertices along each side of a chart."""
        return self._totalled(VertexSums, VertexSums.spec(chart, size, self.row_columns.group_count))

    def point_sums(self, grid: BallGrid) -> PointSums:
        """Return the exact sums of the vectors of all groups together, on a grid over the space."""
        exact = self._aggregate(PointSums.spec(self.space, grid))
        self._check(exact.totals)
        return exact

    def distance_counts(self, grid: BallGrid, point: IntArray, limits: IntArray) -> DistanceCounts:
        """Return how many records of all groups together are at which distance from a point of the grid."""
        exact = self._aggregate(DistanceCounts.spec(grid, point, limits))
        self._check(exact.counts)
        return exact

    def point_moments(self, grid: BallGrid) -> PointMoments:
        """Return the exact moments of the vectors of all groups together, on a grid over the space."""
        exact = self._aggregate(PointMoments.spec(self.space, grid))
        self._check(exact.totals)
        return exact

    def cluster_sums(self, clusters: Clusters) -> ClusterSums:
        """Return the exact sums of residuals of all groups together, by cluster."""
        return self._aggregate(ClusterSums.spec(self.space, clusters))

    def class_sums(self, rule: ClippedPoints) -> ClusterSums:
        """Return the exact sums of clipped points, and the sizes, of each group."""
        return self._aggregate(class_sums(self.space, rule, self.row_columns.group_count))

    def cluster_counts(self, clusters: Clusters) -> ClusterCounts:
        """Return the exact weight of each cluster's records, by group."""
        return self._aggregate(ClusterCounts.spec(self.space, clusters, self.row_columns.group_count))

    def cluster_products(self, clusters: Clusters) -> ClusterProducts:
        """Return the exact products of residuals of all groups together, by cluster."""
        return self._aggregate(ClusterProducts.spec(self.space, clusters))

    def blocks(self, numbers: int = 1) -> Iterator[RecordBlock]:
        """Yield the records that are used in blocks. numbers: how many numbers the work on a record takes."""
        for task in self._tasks(numbers):
            block = task()
            if len(block.points):
                yield block

    @cached_property
    def _total(self) -> int:
        if self.records is not None:
            return sum(block.total for block in self.records)
        if self.bounded_rows is not None:
            return self.bounded_rows[1]
        if self.change.public_total and self.fingerprint is None:
            return count(self.data)
        return int(self._aggregate(DistanceSums.spec(self.space, self.row_columns.group_count)).totals.sum())

    def _totalled(self, kind: type[Totalled], spec: StatisticSpec[Totalled]) -> Totalled:
        """Return a statistic with totals; of a table that was read already, the statistic that remains."""
        if self.statistic is None:
            exact = self._aggregate(spec)
            self._check(exact.totals)
            return exact
        if not isinstance(self.statistic, kind):
            raise MilepostError(f"the table was read already, for another statistic than {kind.__name__}")
        return self.statistic

    def _check(self, totals: IntArray) -> None:
        """Refuse a table without rows, where their number is public."""
        if self.change.public_total:
            check_some(int(totals.sum()))

    def _aggregate(self, spec: StatisticSpec[Exact]) -> Exact:
        """Return the statistic of all rows that are used; refuse rows that do not agree with the fingerprint."""
        exact: Exact
        if self.fingerprint is None:
            (exact,) = self._read([spec])
            return exact
        exact, digest = self._read([spec, RowDigest.spec(self.fingerprint.key)])
        self.fingerprint.check(digest)
        return exact

    def _read(self, specs: Sequence[StatisticSpec[Any]]) -> list[Any]:
        """Return statistics, all from one pass."""
        threads = reading_threads(self.space, specs)
        return aggregate(specs, self._tasks(max(spec.numbers for spec in specs)), threads)

    def _tasks(self, numbers: int) -> Generator[Task]:
        """Yield tasks that each read a block; threads may run them in any order."""
        if self.records is not None:
            size = max(1, MEMORY_BLOCK // numbers)
            for block in self.records:
                for start in range(0, len(block.points), size):
                    yield partial(block.select, slice(start, start + size))
            return
        mask = None if self.bounded_rows is None else self.bounded_rows[0]
        rows = 0
        for batch, cells, first in self._slices(numbers):
            rows = first + len(batch)
            cells.pop("privacy_unit", None)
            if mask is not None:
                check_count(min(rows, len(mask)), rows)
            yield partial(self._used, batch, cells, first, None if mask is None else mask[first:rows])
        if mask is not None:
            check_count(rows, len(mask))

    def _used(self, batch: Batch, cells: dict[str, Cells], first: int, mask: AnyArray | None) -> RecordBlock:
        """Return the records of a batch that are used."""
        return self._block(batch, cells, first).used(mask)

    def _block(self, batch: Batch, cells: dict[str, Cells], first: int) -> RecordBlock:
        """Return all records of a batch."""
        return self.row_columns.block(self.space.read(batch, first), cells, first)

    def _slices(self, numbers: int, what: str = "reading") -> Iterator[tuple[Batch, dict[str, Cells], int]]:
        """Yield batches small enough for work that takes this many numbers a row, or one for each known query."""
        known_queries = 1 if self.space.given_queries is None else len(self.space.given_queries)
        size = min(max(1, BLOCK // max(numbers, known_queries)), MAX_BLOCK_ROWS)
        with reading(what, lambda: tables.known_count(self.data)) as progress:
            for batch, cells, rows in self._batches():
                for start in range(0, len(batch), size):
                    part = slice(start, start + size)
                    yield batch[part], {role: column[part] for role, column in cells.items()}, rows + start
                    progress.advance(len(batch[part]))

    def _batches(self) -> Iterator[tuple[Batch, dict[str, Cells], int]]:
        """Yield batches of rows as they are, the cells of each role, and the number of rows before the batch."""
        data, row_columns = to_columns(self.data, self.space), self.row_columns
        if data is not self.data:
            row_columns = row_columns.with_columns_of(self.data)
        extra, sequences, rows = row_columns.extra_columns, row_columns.sequences(), 0
        for batch, extra_cells in tables.space_batches(data, self.space, self.columns, extra):
            cells = dict(zip((role for role, _ in extra), extra_cells, strict=True))
            for role, entries in sequences.items():
                cells[role] = entries[rows : rows + len(batch)]
                _check_length(role, len(entries), rows + len(batch), at_end=False)
            yield batch, cells, rows
            rows += len(batch)
        for role, entries in sequences.items():
            _check_length(role, len(entries), rows, at_end=True)


def count(data: Any) -> int:
    """Return the number of rows of a table; refuse an empty one."""
    with reading("counting"):
        return check_some(tables.count(data))


def check_some(n: int) -> int:
    """Refuse a table without rows, where their number is public."""
    if n == 0:
        raise MilepostError("the table is empty; at least one row is needed")
    return n


def check_count(rows_read: int, rows_counted: int) -> None:
    """Refuse a table that had another number of rows when it was read than when it was counted."""
    if rows_read != rows_counted:
        raise MilepostError(CHANGED)


def _check_length(role: str, entries: int, rows: int, at_end: bool) -> None:
    """Refuse a role with too few or too many entries; the number of rows is private."""
    if entries < rows or (at_end and entries > rows):
        raise MilepostError(
            f"{role} must have one entry a row, got {entries:,} for a table with {'fewer' if at_end else 'more'} rows"
        )
