"""Reading: from a private table to its exact statistic, block by block."""

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
from milepost.ingest.contribution_bounding import NAME_BYTES, PLACE_BYTES, row_keys, select_rows
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
Made = TypeVar("Made", covariant=True)
Counted: TypeAlias = Callable[[Queries, IntArray], IntArray]
BLOCK = 1 << 22  # embedding coordinates, or distances, that a thread has at a time: as many rows as a sketch has cells
NO_ROW_COLUMNS = RowColumns()
MAX_PARTS = 1 << 23  # numbers of a statistic, up to which every thread has one of its own


@dataclass(frozen=True, eq=False)
class RecordBlock:
    """Records as the space reads them, with a group index and an integer weight each.

    None: all in group 0, or of weight 1.
    """

    points: FloatArray
    group: IntArray | None = None
    weight: IntArray | None = None

    @property
    def total(self) -> int:
        """The weight of all records."""
        return len(self.points) if self.weight is None else int(self.weight.sum())


class StatisticSpec(Protocol[Made]):
    """Which statistic is made of blocks of records."""

    @property
    def numbers(self) -> int:
        """How many a record takes in memory."""

    @property
    def size(self) -> int:
        """How many it has itself."""

    def empty(self) -> Made:
        """That of no records."""

    def image(self, block: RecordBlock) -> tuple[Any, ...]:
        """What its `add` takes of records; each record's depends on itself only."""


@dataclass(frozen=True, eq=False)
class SketchSpec:
    """Of embedding coordinates."""

    space: Space
    groups: int
    cells: int

    @property
    def numbers(self) -> int:
        """One for each coordinate."""
        return self.space.embedding.dimension

    @property
    def size(self) -> int:
        """One for each cell."""
        return self.numbers * self.groups * self.cells

    def empty(self) -> Sketch:
        """That of no records."""
        return Sketch(self.numbers, self.groups, self.cells)

    def image(self, block: RecordBlock) -> tuple[ImageArray, IntArray | None, IntArray | None]:
        """Quanta."""
        return self.space.quantize(block.points), block.group, block.weight


@dataclass(frozen=True, eq=False)
class SumsSpec:
    """Of distances to queries, or of what is counted of them; None for totals alone.

    counted: what is summed of records, int64[n, m], from distances int64[n, k] in quanta; else these themselves.
    """

    space: Space
    groups: int
    queries: Queries | None = None
    counted: Counted | None = None

    @property
    def numbers(self) -> int:
        """As many as are summed, or as there are queries."""
        return 1 if self.queries is None else max(self.empty().count, self.queries.count)

    @property
    def size(self) -> int:
        """One for each sum."""
        return self.numbers * self.groups

    def empty(self) -> DistanceSums:
        """That of no records."""
        nothing = np.empty((0, 0 if self.queries is None else self.queries.count), dtype=np.int64)
        return DistanceSums(self._summed(nothing).shape[1], self.groups)

    def image(self, block: RecordBlock) -> tuple[IntArray, IntArray | None, IntArray | None]:
        """Quanta of distances."""
        quanta = np.empty((len(block.points), 0), dtype=np.int64)
        if self.queries is not None:
            quanta = self.queries.quantize(self.space.distance(block.points, self.queries.points))
        return self._summed(quanta), block.group, block.weight

    def _summed(self, quanta: IntArray) -> IntArray:
        return quanta if self.counted is None or self.queries is None else self.counted(self.queries, quanta)


@dataclass(frozen=True)
class MagnitudesSpec:
    """Of columns of numbers."""

    columns: int

    @property
    def numbers(self) -> int:
        """One for each column."""
        return self.columns

    @property
    def size(self) -> int:
        """One for each cell."""
        return self.columns * 2 * SIDE

    def empty(self) -> Magnitudes:
        """That of no records."""
        return Magnitudes(self.columns)

    def image(self, block: RecordBlock) -> tuple[FloatArray, IntArray | None]:
        """Values as they are."""
        return block.points, block.weight


@dataclass(frozen=True, eq=False)
class DigestedStatistic:
    """A statistic, and the digest of the rows that it was made of, which were read once for both."""

    exact: Any
    digest: RowDigest

    def add(self, image: tuple[Any, ...], hashes: AnyArray) -> None:
        """Add records by what the statistic takes of them, and their hashes."""
        self.exact.add(*image)
        self.digest.add(hashes)

    def __add__(self, other: Self) -> "DigestedStatistic":
        """Return both of two tables together."""
        return DigestedStatistic(self.exact + other.exact, self.digest + other.digest)


@dataclass(frozen=True, eq=False)
class DigestedSpec:
    """Another statistic with a digest of its rows. key: of their hashes, private."""

    statistic: StatisticSpec[Any]
    key: bytes = field(repr=False)

    @property
    def numbers(self) -> int:
        """As many as the statistic's."""
        return self.statistic.numbers

    @property
    def size(self) -> int:
        """As many as the statistic has."""
        return self.statistic.size

    def empty(self) -> DigestedStatistic:
        """That of no records."""
        return DigestedStatistic(self.statistic.empty(), RowDigest())

    def image(self, block: RecordBlock) -> tuple[tuple[Any, ...], AnyArray]:
        """What the statistic takes, and hashes."""
        return self.statistic.image(block), row_hashes(self.key, block.points, block.group, block.weight)


Task: TypeAlias = Callable[[], RecordBlock]


@dataclass(frozen=True, eq=False)
class BoundedRows:
    """Which rows are used where those of one person are limited: bool[n]; their total weight and digest. Private."""

    rows: AnyArray
    total: int
    digest: RowDigest | None = None


def count(data: Any) -> int:
    """How many rows a table has; an empty one is refused."""
    with reading("counting"):
        return check_some(tables.count(data))


def known_count(data: Any) -> int | None:
    """How many rows a table has, where that is known without reading them."""
    return tables.count(data) if tables.countable(data) else None


def bound_contributions(
    data: Any, space: Space, columns: Columns, roles: RowColumns, key: bytes | None = None
) -> BoundedRows:
    """Which rows are used of each person; one pass, which keeps 43 bytes a row, 16 of them for a key.

    Rows in no group are left out first: they are none of the person's contributions.
    key: of the digest, by which a pass that reads other rows at these places than this one did is noticed.
    """
    grouped, weights = [np.empty(0, dtype=bool)], [np.empty(0, dtype=np.int16)]
    keys = [np.empty((0, NAME_BYTES + PLACE_BYTES), dtype=np.uint8)]
    hashes = [np.empty((0, 2), dtype=np.uint64)]
    for batch, cells, first in _sliced(data, space, columns, 1, roles, "choosing rows"):
        points = space.read(batch, first)
        marks = roles.read(cells, len(points), first)
        inside = marks.grouped
        group = np.zeros(marks.rows, dtype=np.int64) if marks.group is None else marks.group
        grouped.append(inside)
        weights.append(marks.weights[inside].astype(np.int16))
        keys.append(row_keys(marks.person, points, group, marks.weights)[inside])
        if key is not None:
            hashes.append(row_hashes(key, points, marks.group, marks.weight)[inside])
    result, chosen = np.concatenate(grouped), select_rows(np.concatenate(keys), roles.contributions)
    result[np.flatnonzero(result)] = chosen
    total = int(np.concatenate(weights)[chosen].sum(dtype=np.int64))
    check_weight(total)
    digest = RowDigest()
    if key is not None:
        digest.add(np.concatenate(hashes)[chosen])
    return BoundedRows(result, total, None if key is None else digest)


def records(data: Any, space: Space, columns: Columns, numbers: int) -> Iterator[FloatArray]:
    """The records of a table in blocks, for work that takes so many numbers a record, or one for each known query."""
    for block in blocks(data, space, columns, numbers):
        yield block.points


def blocks(
    data: Any,
    space: Space,
    columns: Columns,
    numbers: int,
    roles: RowColumns = NO_ROW_COLUMNS,
    chosen: BoundedRows | None = None,
) -> Iterator[RecordBlock]:
    """The same with groups and weights: rows that are in no group, or too many of one person, are left out.

    chosen: which rows of a person are used, where that is known already; else it takes a pass of its own.
    """
    for task in _tasks(data, space, columns, numbers, roles, chosen):
        block = task()
        if len(block.points):
            yield block


def read_sketch(
    data: Any,
    space: Space,
    columns: Columns = None,
    roles: RowColumns = NO_ROW_COLUMNS,
    cells: int | None = None,
    *,
    empty: bool = False,
    chosen: BoundedRows | None = None,
) -> Sketch:
    """The exact sketch of a table; bad rows are refused and nothing is spent.

    cells: of the sketch, where its default is not meant. empty: a table without rows that count is no error, as it must
    be where their number is private. chosen: what `choose` gave for the same table, to save a pass.
    """
    wanted = SketchSpec(space, roles.group_count, cells or default_cells(space.embedding.dimension))
    sketch = aggregate(wanted, data, space, columns, roles, chosen)
    if not empty:
        check_some(int(sketch.totals.sum()))
    return sketch


def read_sums(
    data: Any,
    space: Space,
    queries: Queries,
    columns: Columns = None,
    roles: RowColumns = NO_ROW_COLUMNS,
    *,
    empty: bool = False,
    chosen: BoundedRows | None = None,
    counted: Counted | None = None,
) -> DistanceSums:
    """The exact sums of distances to given queries, or what is counted of them; bad rows are refused, as above."""
    wanted = SumsSpec(space, roles.group_count, queries, counted)
    sums = aggregate(wanted, data, space, columns, roles, chosen)
    if not empty:
        check_some(int(sums.totals.sum()))
    return sums


def aggregate(
    wanted: StatisticSpec[Exact],
    data: Any,
    space: Space,
    columns: Columns = None,
    roles: RowColumns = NO_ROW_COLUMNS,
    chosen: BoundedRows | None = None,
) -> Exact:
    """The exact statistic of a table, added up by as many threads as there are processors, the same in any order.

    A table whose total weight has no room is refused as soon as the rows read so far show it.
    """
    workers = (os.cpu_count() or 1) if space.threads else 1
    most = workers if wanted.size <= MAX_PARTS else 1
    parts: list[Exact] = []
    idle: LifoQueue[Exact] = LifoQueue()
    making = Lock()
    weight = 0

    def taken() -> Exact:
        with making:  # a small table needs one part only
            if idle.empty() and len(parts) < most:
                parts.append(wanted.empty())
                return parts[-1]
        return idle.get()

    def add(task: Task) -> None:
        nonlocal weight
        block = task()
        with making:
            weight += block.total
            check_weight(weight)
        image = wanted.image(block)
        part = taken()
        try:
            part.add(*image)
        finally:
            idle.put(part)

    tasks = _tasks(data, space, columns, wanted.numbers, roles, chosen)
    with closing(tasks), ThreadPoolExecutor(workers) as pool:
        running: deque[Future[None]] = deque()
        first = list(islice(tasks, 2))
        if len(first) == 1:  # which needs no thread of its own
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
    result: Exact = reduce(operator.add, parts) if parts else wanted.empty()
    return result


def check_count(read: int, counted: int) -> None:
    """Refuse a table that had other rows when it was read than when it was counted."""
    if read != counted:
        raise MilepostError(CHANGED)


def _batches(
    data: Any, space: Space, columns: Columns, roles: RowColumns
) -> Iterator[tuple[Batch, dict[str, Cells], int]]:
    """Batches of rows as they are, the cells of their roles, and the number of rows before them."""
    placed = to_columns(data, space)
    if placed is not data:
        roles = roles.taken(data)
    besides, sequences, rows = roles.extra_columns, roles.sequences(), 0
    for batch, found in tables.space_batches(placed, space, columns, besides):
        cells = dict(zip((beside.role for beside in besides), found, strict=True))
        for role, entries in sequences.items():
            cells[role] = entries[rows : rows + len(batch)]
            _check_length(role, len(entries), rows + len(batch), at_end=False)
        yield batch, cells, rows
        rows += len(batch)
    for role, entries in sequences.items():
        _check_length(role, len(entries), rows, at_end=True)


def _tasks(
    data: Any, space: Space, columns: Columns, numbers: int, roles: RowColumns, chosen: BoundedRows | None
) -> Generator[Task]:
    """Blocks that are yet to be read, which may be done in any order, and by threads."""
    if chosen is None and roles.unit is not None:
        chosen = bound_contributions(data, space, columns, roles)
    rows = 0
    for batch, cells, first in _sliced(data, space, columns, numbers, roles):
        rows = first + len(batch)
        cells.pop("unit", None)
        if chosen is not None:
            check_count(min(rows, len(chosen.rows)), rows)
        yield partial(_block, space, roles, None if chosen is None else chosen.rows[first:rows], batch, cells, first)
    if chosen is not None:
        check_count(rows, len(chosen.rows))


def _block(
    space: Space, roles: RowColumns, chosen: AnyArray | None, batch: Batch, cells: dict[str, Cells], first: int
) -> RecordBlock:
    """Those of a batch's rows that are used."""
    points = space.read(batch, first)
    return block_of(points, roles.read(cells, len(points), first), chosen)


def block_of(points: FloatArray, marks: RowAttributes, chosen: AnyArray | None = None) -> RecordBlock:
    """Records that are in a group and, where those of a person are chosen, among these."""
    if chosen is None and marks.group is None:
        return RecordBlock(points, None, marks.weight)
    keep = marks.grouped if chosen is None else marks.grouped & chosen
    if keep.all():
        return RecordBlock(points, marks.group, marks.weight)
    group, weight = (None if part is None else part[keep] for part in (marks.group, marks.weight))
    return RecordBlock(points[keep], group, weight)


def _sliced(
    data: Any, space: Space, columns: Columns, numbers: int, roles: RowColumns, what: str = "reading"
) -> Iterator[tuple[Batch, dict[str, Cells], int]]:
    """Batches small enough for work that takes so many numbers a row, or one for each known query."""
    size = max(1, BLOCK // max(numbers, 1 if space.known is None else len(space.known)))
    with reading(what, lambda: known_count(data)) as told:
        for batch, cells, rows in _batches(data, space, columns, roles):
            for start in range(0, len(batch), size):
                part = slice(start, start + size)
                yield batch[part], {role: of[part] for role, of in cells.items()}, rows + start
                told.advance(len(batch[part]))


def _check_length(role: str, entries: int, rows: int, at_end: bool) -> None:
    """Refuse a role that is given by too few or too many entries; the number of rows is private."""
    if entries < rows or (at_end and entries > rows):
        raise MilepostError(
            f"{role} must have one entry a row, got {entries:,} for a table with {'fewer' if at_end else 'more'} rows"
        )


def check_some(n: int) -> int:
    """Refuse a table without rows, where their number is public."""
    if n == 0:
        raise MilepostError("the table is empty; at least one row is needed")
    return n
