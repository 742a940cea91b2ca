"""Records of the rows of a Spark frame, as a task reads them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from milepost.ingest.batches import BATCH_ROWS
from milepost.ingest.row_attributes import RowColumns
from milepost.spaces.base import Space
from milepost.statistics.statistic_spec import RecordBlock

NUMBERS = 1 << 21  # embedding coordinates, or distances, in memory at a time: workers have little of it
MAX_BATCH_BYTES = 1 << 25  # of rows that are read at a time

Batches: TypeAlias = Iterator[pa.RecordBatch]


@dataclass(frozen=True, eq=False)
class RowReader:
    """Reader of rows whose first columns are the points', with these names, followed by columns with these roles.

    schema: of all these columns, which are named c0, c1, … .
    """

    space: Space
    row_columns: RowColumns
    names: tuple[str, ...]
    extra_roles: tuple[str, ...]
    schema: pa.Schema

    def read(self, batch: pa.RecordBatch, first_row: int = 0) -> RecordBlock:
        """Return the records of a batch."""
        width = len(self.names)
        points = pa.RecordBatch.from_arrays(batch.columns[:width], names=list(self.names))
        cells = dict(zip(self.extra_roles, batch.columns[width:], strict=False))
        return self.row_columns.block(self.space.read(points, first_row), cells, first_row)

    def blocks(self, batches: Batches, numbers: int) -> Iterator[tuple[pa.RecordBatch, RecordBlock]]:
        """Yield rows and their records, in parts whose size depends on the numbers that a row takes."""
        known_queries = 1 if self.space.given_queries is None else len(self.space.given_queries)
        size, first_row = max(1, min(BATCH_ROWS, NUMBERS // max(numbers, known_queries))), 0
        for batch in _merge_small(batches, size):
            for start in range(0, len(batch), size):
                part = batch.slice(start, size)
                yield part, self.read(part, first_row)
                first_row += len(part)


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
