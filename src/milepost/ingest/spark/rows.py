"""Rows: how the columns of a Spark frame are read in a task."""

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
GATHERED = 1 << 25  # bytes of rows that are read at a time

Batches: TypeAlias = Iterator[pa.RecordBatch]


@dataclass(frozen=True, eq=False)
class RowReader:
    """How rows are read: the first columns are the points', by these names, and those after them have these roles."""

    space: Space
    roles: RowColumns
    names: tuple[str, ...]
    beside: tuple[str, ...]

    def read(self, batch: pa.RecordBatch, first_row: int = 0) -> tuple[FloatArray, RowAttributes]:
        """Records, and what their roles say."""
        width = len(self.names)
        points = pa.RecordBatch.from_arrays(batch.columns[:width], names=list(self.names))
        cells = dict(zip(self.beside, batch.columns[width:], strict=False))
        return self.space.read(points, first_row), self.roles.read(cells, len(batch), first_row)

    def parts(self, batches: Batches, numbers: int) -> Iterator[tuple[pa.RecordBatch, FloatArray, RowAttributes]]:
        """Rows as they are and as they are read, as many at a time as take so many numbers each."""
        known = 1 if self.space.known is None else len(self.space.known)
        size, first_row = max(1, min(BATCH_ROWS, NUMBERS // max(numbers, known))), 0
        for gathered in _gathered(batches, size):
            for start in range(0, len(gathered), size):
                part = gathered.slice(start, size)
                yield part, *self.read(part, first_row)
                first_row += len(part)

    def blocks(self, batches: Batches, numbers: int) -> Iterator[RecordBlock]:
        """Records that are in a group, with their groups and weights."""
        for _, points, marks in self.parts(batches, numbers):
            yield block_of(points, marks)


def column_names(count: int) -> list[str]:
    """By which columns go, whatever the user calls them."""
    return [f"c{k}" for k in range(count)]


def _gathered(batches: Batches, rows: int) -> Batches:
    """Small batches put together, up to so many rows or 32 MB."""
    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(map(len, held)) >= rows or sum(one.nbytes for one in held) >= GATHERED:
            yield pa.concat_batches(held)
            held = []
    if held:
        yield pa.concat_batches(held)
