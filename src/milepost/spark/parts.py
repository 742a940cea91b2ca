"""Parts: the statistic of some of a frame's rows, and its integers as chunks that are sent."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from milepost.arrays import IntArray
from milepost.reading import Block, Counted
from milepost.spaces.base import Space
from milepost.spaces.queries import Queries
from milepost.statistics.magnitudes import Magnitudes
from milepost.statistics.sketch import Sketch
from milepost.statistics.sums import Sums

CHUNK = 1 << 17  # integers that are sent as one row: 1 MB at most
SENT = pa.schema([("node", pa.int32()), ("chunk", pa.int32()), ("content", pa.binary()), ("trouble", pa.string())])

Exact = TypeVar("Exact", Sketch, Sums, Magnitudes)
ARRAYS: dict[type[Any], tuple[str, ...]] = {
    Sketch: ("counts", "offsets", "totals"),
    Sums: ("values", "totals"),
    Magnitudes: ("counts",),  # from which its total follows
}


class Statistic(Protocol[Exact]):
    """Which statistic is made of blocks of records."""

    @property
    def numbers(self) -> int:
        """How many a record takes in memory."""

    def empty(self) -> Exact:
        """That of no records."""

    def add(self, exact: Exact, block: Block) -> None:
        """Add records to it."""


@dataclass(frozen=True, eq=False)
class SketchOf:
    """Of host coordinates."""

    space: Space
    groups: int
    cells: int

    @property
    def numbers(self) -> int:
        """One for each coordinate."""
        return self.space.hosts.dimension

    def empty(self) -> Sketch:
        """That of no records."""
        return Sketch(self.numbers, self.groups, self.cells)

    def add(self, exact: Sketch, block: Block) -> None:
        """Add records to it."""
        exact.add(self.space.quantize(block.points), block.group, block.weight)


@dataclass(frozen=True, eq=False)
class SumsOf:
    """Of distances to queries, or of what is counted of them; None for totals alone."""

    space: Space
    groups: int
    queries: Queries | None = None
    counted: Counted | None = None

    @property
    def numbers(self) -> int:
        """As many as are summed, or as there are queries."""
        return 1 if self.queries is None else max(self.empty().count, self.queries.count)

    def empty(self) -> Sums:
        """That of no records."""
        nothing = np.empty((0, 0 if self.queries is None else self.queries.count), dtype=np.int64)
        return Sums(self._summed(nothing).shape[1], self.groups)

    def add(self, exact: Sums, block: Block) -> None:
        """Add records to it."""
        quanta = np.empty((len(block.points), 0), dtype=np.int64)
        if self.queries is not None:
            quanta = self.queries.quantize(self.space.distance(block.points, self.queries.points))
        exact.add(self._summed(quanta), block.group, block.weight)

    def _summed(self, quanta: IntArray) -> IntArray:
        return quanta if self.counted is None or self.queries is None else self.counted(self.queries, quanta)


@dataclass(frozen=True)
class MagnitudesOf:
    """Of columns of numbers."""

    columns: int

    @property
    def numbers(self) -> int:
        """One for each column."""
        return self.columns

    def empty(self) -> Magnitudes:
        """That of no records."""
        return Magnitudes(self.columns)

    def add(self, exact: Magnitudes, block: Block) -> None:
        """Add records to it."""
        exact.add(block.points, block.weight)


def chunks(exact: Sketch | Sums | Magnitudes) -> Iterator[IntArray]:
    """The integers of a statistic, in parts that are views of it."""
    for name in ARRAYS[type(exact)]:
        numbers = getattr(exact, name).reshape(-1)
        for start in range(0, len(numbers), CHUNK):
            yield numbers[start : start + CHUNK]


def sent(node: int, chunk: int, numbers: IntArray) -> pa.RecordBatch:
    """Counts of a part of the rows are small: as few bytes are sent as hold the largest."""
    size = max(np.min_scalar_type(edge).itemsize for edge in (-1 - int(numbers.max()), min(int(numbers.min()), -1)))
    content = bytes([size]) + numbers.astype(f"<i{size}").tobytes()
    return pa.RecordBatch.from_pylist([{"node": node, "chunk": chunk, "content": content}], schema=SENT)


def received(content: Any) -> IntArray:
    """The integers of a chunk, from an Arrow cell: the bytes that each has stand first."""
    buffer = content.as_buffer()
    return np.frombuffer(buffer, dtype=f"<i{buffer[0]}", offset=1).astype(np.int64)
