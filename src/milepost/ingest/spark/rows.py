"""Records of the rows of a Spark frame, as a task reads them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from milepost.ingest.batches import BATCH_ROWS
from milepost.ingest.row_attributes import RowColumns
from milepost.spaces.base import Space
from milepost.statistics.statistic_spec import RecordBlock

NUMBERS = 1 << 22  # embedding coordinates, or distances, of the rows that are counted at a time
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

    def read(self, batch: pa.RecordBatch, first_row: int = 0, persons: bool = True) -> RecordBlock:
        """Return the records of a batch. persons: whether they have the names of their persons."""
        width = len(self.names)
        points = pa.RecordBatch.from_arrays(batch.columns[:width], names=list(self.names))
        cells = dict(zip(self.extra_roles, batch.columns[width:], strict=False))
        if not persons:
            cells.pop("privacy_unit", None)
        return self.row_columns.block(self.space.read(points, first_row), cells, first_row)

    def blocks(self, batches: Batches, numbers: int) -> Iterator[RecordBlock]:
        """Yield the records of rows, in parts whose size depends on the numbers that a row takes."""
        size, first_row = self.block_rows(numbers), 0
        for batch in merge_batches(batches, size):
            yield self.read(batch, first_row)
            first_row += len(batch)

    def block_rows(self, numbers: int) -> int:
        """Return how many rows are counted at a time, if a row takes this many numbers."""
        known_queries = 1 if self.space.given_queries is None else len(self.space.given_queries)
        return max(1, min(BATCH_ROWS, NUMBERS // max(numbers, known_queries)))


def column_names(count: int) -> list[str]:
    """Return the internal column names c0, c1, …, which replace the user's."""
    return [f"c{k}" for k in range(count)]


def merge_batches(batches: Batches, rows: int) -> Batches:
    """Yield the same rows in batches of this many, fewer if these have 32 MB, and fewer at the end."""
    pending: list[pa.RecordBatch] = []
    pending_rows = pending_bytes = 0
    for batch in batches:
        pending.append(batch)
        pending_rows, pending_bytes = pending_rows + len(batch), pending_bytes + batch.nbytes
        if pending_rows < rows and pending_bytes < MAX_BATCH_BYTES:
            continue
        merged = pa.concat_batches(pending)
        whole = len(merged) // rows * rows or len(merged)
        for start in range(0, whole, rows):
            yield merged.slice(start, min(rows, whole - start))
        pending = [merged.slice(whole)] if whole < len(merged) else []
        pending_rows, pending_bytes = len(merged) - whole, sum(part.nbytes for part in pending)
    if pending:
        yield pa.concat_batches(pending)
