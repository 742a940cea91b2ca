"""Exact statistics of private tables, computed block by block."""

import operator
import os
from collections import deque
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial, reduce
from itertools import chain, islice
from queue import LifoQueue
from threading import Lock
from typing import Any, Protocol, Self, TypeAlias, TypeVar

import numpy as np

from milepost._typing import AnyArray, FloatArray, ImageArray, IntArray
from milepost.errors import MilepostError
from milepost.ingest import batches as tables
from milepost.ingest.batches import Batch, Cells, Columns
from milepost.ingest.contribution_bounding import NAME_BYTES, ORDER_KEY_BYTES, row_keys, select_rows
from milepost.ingest.geopandas import to_columns
from milepost.ingest.progress import reading
from milepost.ingest.row_attributes import RowAttributes, RowColumns
from milepost.spaces.base import Space
from milepost.spaces.embeddings.embedding import default_cells
from milepost.spaces.queries import Queries
from milepost.statistics.distance_sums import DistanceSums
from milepost.statistics.magnitudes import SIDE, Magnitudes
from milepost.statistics.row_digest import CHANGED, RowDigest, row_hashes
from milepost.statistics.sketch import Sketch, check_weight

Exact = TypeVar("Exact", Sketch, DistanceSums, Magnitudes, "DigestedStatistic")
Statistic_co = TypeVar("Statistic_co", covariant=True)
DistanceTransform: TypeAlias = Callable[[Queries, IntArray], IntArray]
BLOCK = 1 << 22  # embedding coordinates, or distances, that a thread has at a time: as many rows as a sketch has cells
NO_ROW_COLUMNS = RowColumns()
MAX_PARTS = 1 << 23  # numbers of a statistic, up to which every thread has its own part


@dataclass(frozen=True, eq=False)
class RecordBlock:
    """Records as the space reads them, each with a group index and an integer weight.

    group, weight: None where all records are in group 0, or have weight 1.
    """

    points: FloatArray
    group: IntArray | None = None
    weight: IntArray | None = None

    @property
    def total(self) -> int:
        """Return the total weight of the records."""
        return len(self.points) if self.weight is None else int(self.weight.sum())


class StatisticSpec(Protocol[Statistic_co]):
    """Specification of a statistic that is computed from blocks of records."""

    @property
    def numbers(self) -> int:
        """Return how many numbers a record takes in memory."""

    @property
    def size(self) -> int:
        """Return how many numbers the statistic has."""

    def empty(self) -> Statistic_co:
        """Return the statistic of no records."""

    def image(self, block: RecordBlock) -> tuple[Any, ...]:
        """Return the arguments of `add` for these records; the image of a record depends on that record only."""


@dataclass(frozen=True, eq=False)
class SketchSpec:
    """Specification of a sketch of embedding coordinates."""

    space: Space
    groups: int
    cells: int

    @property
    def numbers(self) -> int:
        """Return one number per coordinate."""
        return self.space.embedding.dimension

    @property
    def size(self) -> int:
        """Return one number per cell."""
        return self.numbers * self.groups * self.cells

    def empty(self) -> Sketch:
        """Return the statistic of no records."""
        return Sketch(self.numbers, self.groups, self.cells)

    def image(self, block: RecordBlock) -> tuple[ImageArray, IntArray | None, IntArray | None]:
        """Return the records in quanta, with their groups and weights."""
        return self.space.quantize(block.points), block.group, block.weight


@dataclass(frozen=True, eq=False)
class SumsSpec:
    """Specification of sums of distances to queries, or of a transform of these distances.

    queries: None for totals alone. transform: returns the summands int64[n, m] of records, from their distances
    int64[n, k] in quanta; None to sum the distances themselves.
    """

    space: Space
    groups: int
    queries: Queries | None = None
    transform: DistanceTransform | None = None

    @property
    def numbers(self) -> int:
        """Return the number of sums or of queries, whichever is larger."""
        return 1 if self.queries is None else max(self.empty().count, self.queries.count)

    @property
    def size(self) -> int:
        """Return one number per sum and group."""
        return self.numbers * self.groups

    def empty(self) -> DistanceSums:
        """Return the statistic of no records."""
        nothing = np.empty((0, 0 if self.queries is None else self.queries.count), dtype=np.int64)
        return DistanceSums(self._summands(nothing).shape[1], self.groups)

    def image(self, block: RecordBlock) -> tuple[IntArray, IntArray | None, IntArray | None]:
        """Return the summands, with the records' groups and weights."""
        quanta = np.empty((len(block.points), 0), dtype=np.int64)
        if self.queries is not None:
            quanta = self.queries.quantize(self.space.distance(block.points, self.queries.points))
        return self._summands(quanta), block.group, block.weight

    def _summands(self, quanta: IntArray) -> IntArray:
        return quanta if self.transform is None or self.queries is None else self.transform(self.queries, quanta)


@dataclass(frozen=True)
class MagnitudesSpec:
    """Specification of the magnitudes of columns of numbers."""

    columns: int

    @property
    def numbers(self) -> int:
        """Return one number per column."""
        return self.columns

    @property
    def size(self) -> int:
        """Return one number per cell."""
        return self.columns * 2 * SIDE

    def empty(self) -> Magnitudes:
        """Return the statistic of no records."""
        return Magnitudes(self.columns)

    def image(self, block: RecordBlock) -> tuple[FloatArray, IntArray | None]:
        """Return the values as they are, with the records' weights."""
        return block.points, block.weight


@dataclass(frozen=True, eq=False)
class DigestedStatistic:
    """A statistic and the digest of the rows that it was computed from, both from one pass."""

    exact: Any
    digest: RowDigest

    def add(self, image: tuple[Any, ...], hashes: AnyArray) -> None:
        """Add records, given by their image under the statistic and their hashes."""
        self.exact.add(*image)
        self.digest.add(hashes)

    def __add__(self, other: Self) -> "DigestedStatistic":
        """Return the statistic and the digest of both tables together."""
        return DigestedStatistic(self.exact + other.exact, self.digest + other.digest)


@dataclass(frozen=True, eq=False)
class DigestedSpec:
    """Specification of a statistic with a digest of its rows.

    key: private, of the row hashes.
    """

    statistic: StatisticSpec[Any]
    key: bytes = field(repr=False)

    @property
    def numbers(self) -> int:
        """Return how many numbers a record of the statistic takes."""
        return self.statistic.numbers

    @property
    def size(self) -> int:
        """Return how many numbers the statistic has."""
        return self.statistic.size

    def empty(self) -> DigestedStatistic:
        """Return the statistic of no records."""
        return DigestedStatistic(self.statistic.empty(), RowDigest())

    def image(self, block: RecordBlock) -> tuple[tuple[Any, ...], AnyArray]:
        """Return the image under the statistic, and the row hashes."""
        return self.statistic.image(block), row_hashes(self.key, block.points, block.group, block.weight)


Task: TypeAlias = Callable[[], RecordBlock]


@dataclass(frozen=True, eq=False)
class BoundedRows:
    """The rows that are used where contributions are bounded, bool[n], their total weight and digest. Private."""

    rows: AnyArray
    total: int
    digest: RowDigest | None = None


def count(data: Any) -> int:
    """Return the number of rows of a table; refuse an empty one."""
    with reading("counting"):
        return check_some(tables.count(data))


def known_count(data: Any) -> int | None:
    """Return the number of rows of a table if it is known without reading them, else None."""
    return tables.count(data) if tables.countable(data) else None


def bound_contributions(
    data: Any, space: Space, columns: Columns, row_columns: RowColumns, key: bytes | None = None
) -> BoundedRows:
    """Select the rows that are used of each person, in one pass that keeps 43 bytes a row, 16 of them for a key.

    Rows in no group are left out first: they do not count as contributions of the person.
    key: of the digest, which shows that a later pass reads other rows at these indices than this pass did.
    """
    grouped, weights = [np.empty(0, dtype=bool)], [np.empty(0, dtype=np.int16)]
    keys = [np.empty((0, NAME_BYTES + ORDER_KEY_BYTES), dtype=np.uint8)]
    hashes = [np.empty((0, 2), dtype=np.uint64)]
    for batch, cells, first in _slices(data, space, columns, 1, row_columns, "choosing rows"):
        points = space.read(batch, first)
        attributes = row_columns.read(cells, len(points), first)
        in_group = attributes.grouped
        group = np.zeros(attributes.rows, dtype=np.int64) if attributes.group is None else attributes.group
        grouped.append(in_group)
        weights.append(attributes.weights[in_group].astype(np.int16))
        keys.append(row_keys(attributes.person, points, group, attributes.weights)[in_group])
        if key is not None:
            hashes.append(row_hashes(key, points, attributes.group, attributes.weight)[in_group])
    mask, selected_rows = np.concatenate(grouped), select_rows(np.concatenate(keys), row_columns.contributions)
    mask[np.flatnonzero(mask)] = selected_rows
    total = int(np.concatenate(weights)[selected_rows].sum(dtype=np.int64))
    check_weight(total)
    digest = RowDigest()
    if key is not None:
        digest.add(np.concatenate(hashes)[selected_rows])
    return BoundedRows(mask, total, None if key is None else digest)


def records(data: Any, space: Space, columns: Columns, numbers: int) -> Iterator[FloatArray]:
    """Yield the records of a table in blocks.

    numbers: how many numbers the work on a record takes; at least one for each known query.
    """
    for block in blocks(data, space, columns, numbers):
        yield block.points


def blocks(
    data: Any,
    space: Space,
    columns: Columns,
    numbers: int,
    row_columns: RowColumns = NO_ROW_COLUMNS,
    bounded_rows: BoundedRows | None = None,
) -> Iterator[RecordBlock]:
    """Yield the records in blocks, with groups and weights; leave out rows in no group, or too many of one person.

    bounded_rows: the rows of each person that are used, if they are known; else one more pass selects them.
    """
    for task in _tasks(data, space, columns, numbers, row_columns, bounded_rows):
        block = task()
        if len(block.points):
            yield block


def read_sketch(
    data: Any,
    space: Space,
    columns: Columns = None,
    row_columns: RowColumns = NO_ROW_COLUMNS,
    cells: int | None = None,
    *,
    empty: bool = False,
    bounded_rows: BoundedRows | None = None,
) -> Sketch:
    """Return the exact sketch of a table; refuse bad rows, in which case nothing is spent.

    cells: of the sketch, instead of the default. empty: accept a table without rows that count, as is necessary where
    their number is private. chosen: the result of `bound_contributions` for the same table, to save a pass.
    """
    spec = SketchSpec(space, row_columns.group_count, cells or default_cells(space.embedding.dimension))
    sketch = aggregate(spec, data, space, columns, row_columns, bounded_rows)
    if not empty:
        check_some(int(sketch.totals.sum()))
    return sketch


def read_sums(
    data: Any,
    space: Space,
    queries: Queries,
    columns: Columns = None,
    row_columns: RowColumns = NO_ROW_COLUMNS,
    *,
    empty: bool = False,
    bounded_rows: BoundedRows | None = None,
    transform: DistanceTransform | None = None,
) -> DistanceSums:
    """Return the exact sums of distances to queries, or of their transform `counted`; refuse bad rows."""
    spec = SumsSpec(space, row_columns.group_count, queries, transform)
    sums = aggregate(spec, data, space, columns, row_columns, bounded_rows)
    if not empty:
        check_some(int(sums.totals.sum()))
    return sums


def aggregate(
    spec: StatisticSpec[Exact],
    data: Any,
    space: Space,
    columns: Columns = None,
    row_columns: RowColumns = NO_ROW_COLUMNS,
    bounded_rows: BoundedRows | None = None,
) -> Exact:
    """Return the exact statistic of a table, computed by one thread per processor; any order gives the same.

    A table whose total weight is too large is refused as soon as the rows read so far show it.
    """
    workers = (os.cpu_count() or 1) if space.thread_safe else 1
    max_parts = workers if spec.size <= MAX_PARTS else 1
    parts: list[Exact] = []
    idle: LifoQueue[Exact] = LifoQueue()
    lock = Lock()
    weight = 0

    def next_part() -> Exact:
        with lock:  # a small table needs one part only
            if idle.empty() and len(parts) < max_parts:
                parts.append(spec.empty())
                return parts[-1]
        return idle.get()

    def add(task: Task) -> None:
        nonlocal weight
        block = task()
        with lock:
            weight += block.total
            check_weight(weight)
        image = spec.image(block)
        part = next_part()
        try:
            part.add(*image)
        finally:
            idle.put(part)

    tasks = _tasks(data, space, columns, spec.numbers, row_columns, bounded_rows)
    with closing(tasks), ThreadPoolExecutor(workers) as pool:
        running: deque[Future[None]] = deque()
        first = list(islice(tasks, 2))
        if len(first) == 1:  # which needs no thread
            add(first.pop())
        try:
            for task in chain(first, tasks):
                running.append(pool.submit(add, task))
                if len(running) > workers:
                    running.popleft().result()
            while running:
                running.popleft().result()
        finally:
            for future in running:
                future.cancel()
    result: Exact = reduce(operator.add, parts) if parts else spec.empty()
    return result


def check_count(rows_read: int, rows_counted: int) -> None:
    """Refuse a table that had another number of rows when it was read than when it was counted."""
    if rows_read != rows_counted:
        raise MilepostError(CHANGED)


def _batches(
    data: Any, space: Space, columns: Columns, row_columns: RowColumns
) -> Iterator[tuple[Batch, dict[str, Cells], int]]:
    """Yield batches of rows as they are, the cells of each role, and the number of rows before the batch."""
    table = to_columns(data, space)
    if table is not data:
        row_columns = row_columns.with_columns_of(data)
    extra, sequences, rows = row_columns.extra_columns, row_columns.sequences(), 0
    for batch, extra_cells in tables.space_batches(table, space, columns, extra):
        cells = dict(zip((column.role for column in extra), extra_cells, strict=True))
        for role, entries in sequences.items():
            cells[role] = entries[rows : rows + len(batch)]
            _check_length(role, len(entries), rows + len(batch), at_end=False)
        yield batch, cells, rows
        rows += len(batch)
    for role, entries in sequences.items():
        _check_length(role, len(entries), rows, at_end=True)


def _tasks(
    data: Any, space: Space, columns: Columns, numbers: int, row_columns: RowColumns, bounded_rows: BoundedRows | None
) -> Generator[Task]:
    """Yield tasks that each read a block; threads may run them in any order."""
    if bounded_rows is None and row_columns.privacy_unit is not None:
        bounded_rows = bound_contributions(data, space, columns, row_columns)
    mask = None if bounded_rows is None else bounded_rows.rows
    rows = 0
    for batch, cells, first in _slices(data, space, columns, numbers, row_columns):
        rows = first + len(batch)
        cells.pop("privacy_unit", None)
        if mask is not None:
            check_count(min(rows, len(mask)), rows)
        yield partial(_block, space, row_columns, None if mask is None else mask[first:rows], batch, cells, first)
    if mask is not None:
        check_count(rows, len(mask))


def _block(
    space: Space, row_columns: RowColumns, mask: AnyArray | None, batch: Batch, cells: dict[str, Cells], first: int
) -> RecordBlock:
    """Return the records of a batch that are used."""
    points = space.read(batch, first)
    return block_of(points, row_columns.read(cells, len(points), first), mask)


def block_of(points: FloatArray, attributes: RowAttributes, mask: AnyArray | None = None) -> RecordBlock:
    """Return the records that are in a group and, if contributions are bounded, in the mask."""
    if mask is None and attributes.group is None:
        return RecordBlock(points, None, attributes.weight)
    keep = attributes.grouped if mask is None else attributes.grouped & mask
    if keep.all():
        return RecordBlock(points, attributes.group, attributes.weight)
    group, weight = (None if part is None else part[keep] for part in (attributes.group, attributes.weight))
    return RecordBlock(points[keep], group, weight)


def _slices(
    data: Any, space: Space, columns: Columns, numbers: int, row_columns: RowColumns, what: str = "reading"
) -> Iterator[tuple[Batch, dict[str, Cells], int]]:
    """Yield batches small enough for work that takes this many numbers a row, or one for each known query."""
    size = max(1, BLOCK // max(numbers, 1 if space.given_queries is None else len(space.given_queries)))
    with reading(what, lambda: known_count(data)) as progress:
        for batch, cells, rows in _batches(data, space, columns, row_columns):
            for start in range(0, len(batch), size):
                part = slice(start, start + size)
                yield batch[part], {role: column[part] for role, column in cells.items()}, rows + start
                progress.advance(len(batch[part]))


def _check_length(role: str, entries: int, rows: int, at_end: bool) -> None:
    """Refuse a role with too few or too many entries; the number of rows is private."""
    if entries < rows or (at_end and entries > rows):
        raise MilepostError(
            f"{role} must have one entry a row, got {entries:,} for a table with {'fewer' if at_end else 'more'} rows"
        )


def check_some(n: int) -> int:
    """Refuse a table without rows, where their number is public."""
    if n == 0:
        raise MilepostError("the table is empty; at least one row is needed")
    return n
