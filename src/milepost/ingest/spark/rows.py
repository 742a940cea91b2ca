"""Records and attributes of the rows of a Spark frame, as a task reads them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from milepost._typing import FloatArray
from milepost.ingest.aggregation import RecordBlock, block_of
from milepost.ingest.batches import BATCH_ROWS
from milepost.ingest.row_attributes import RowAttributes, RowColumns
from milepost.spaces.base import Space

NUMBERS = 1 << 21  # embedding coordinates, or distances, in memory at a time: workers have little of it
MAX_BATCH_BYTES = 1 << 25  # of rows that are read at a time

Batches: TypeAlias = Iterator[pa.RecordBatch]


@dataclass(frozen=True, eq=False)
class RowReader:
    """Reader of rows whose first columns are the points', with these names, followed by columns with these roles."""

    space: Space
    row_columns: RowColumns
    names: tuple[str, ...]
    extra_roles: tuple[str, ...]

    def read(self, batch: pa.RecordBatch, first_row: int = 0) -> tuple[FloatArray, RowAttributes]:
        """Return the records and attributes of a batch."""
        width = len(self.names)
        points = pa.RecordBatch.from_arrays(batch.columns[:width], names=list(self.names))
        cells = dict(zip(self.extra_roles, batch.columns[width:], strict=False))
        return self.space.read(points, first_row), self.row_columns.read(cells, len(batch), first_row)

    def parts(self, batches: Batches, numbers: int) -> Iterator[tuple[pa.RecordBatch, FloatArray, RowAttributes]]:
        """Yield rows with their records and attributes, in parts whose size depends on the numbers that a row takes."""
        known_queries = 1 if self.space.given_queries is None else len(self.space.given_queries)
        size, first_row = max(1, min(BATCH_ROWS, NUMBERS // max(numbers, known_queries))), 0
        for batch in _merge_small(batches, size):
            for start in range(0, len(batch), size):
                part = batch.slice(start, size)
                yield part, *self.read(part, first_row)
                first_row += len(part)

    def blocks(self, batches: Batches, numbers: int) -> Iterator[RecordBlock]:
        """Yield the records that are in a group, with their groups and weights."""
        for _, points, attributes in self.parts(batches, numbers):
            yield block_of(points, attributes)


def column_names(count: int) -> list[str]:
    """Return the internal column names c0, c1, …, which replace the user's."""
    return [f"c{k}" for k in range(count)]


def _merge_small(batches: Batches, rows: int) -> Batches:
    """Merge small batches until they have this many rows or 32 MB."""
    pending: list[pa.RecordBatch] = []
    for batch in batches:
        pending.append(batch)
        if sum(map(len, pending)) >= rows or sum(part.nbytes for part in pending) >= MAX_BATCH_BYTES:
            yield pa.concat_batches(pending)
            pending = []
    if pending:
        yield pa.concat_batches(pending)
