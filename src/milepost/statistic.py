"""Statistic: which exact integers are made of the records of a table, here or on a cluster."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, Self, TypeAlias, TypeVar

import numpy as np

from milepost._typing import AnyArray, FloatArray, ImageArray, IntArray
from milepost.spaces.base import Space
from milepost.spaces.queries import Queries
from milepost.statistics.distance_sums import Sums
from milepost.statistics.magnitudes import SIDE, Magnitudes
from milepost.statistics.row_digest import RowDigest, row_hashes
from milepost.statistics.sketch import Sketch

Exact = TypeVar("Exact", Sketch, Sums, Magnitudes, "Digested")
Made = TypeVar("Made", covariant=True)
Counted: TypeAlias = Callable[[Queries, IntArray], IntArray]


@dataclass(frozen=True, eq=False)
class Block:
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


class Statistic(Protocol[Made]):
    """Which statistic is made of blocks of records."""

    @property
    def numbers(self) -> int:
        """How many a record takes in memory."""

    @property
    def size(self) -> int:
        """How many it has itself."""

    def empty(self) -> Made:
        """That of no records."""

    def image(self, block: Block) -> tuple[Any, ...]:
        """What its `add` takes of records; each record's depends on itself only."""


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

    @property
    def size(self) -> int:
        """One for each cell."""
        return self.numbers * self.groups * self.cells

    def empty(self) -> Sketch:
        """That of no records."""
        return Sketch(self.numbers, self.groups, self.cells)

    def image(self, block: Block) -> tuple[ImageArray, IntArray | None, IntArray | None]:
        """Quanta."""
        return self.space.quantize(block.points), block.group, block.weight


@dataclass(frozen=True, eq=False)
class SumsOf:
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

    def empty(self) -> Sums:
        """That of no records."""
        nothing = np.empty((0, 0 if self.queries is None else self.queries.count), dtype=np.int64)
        return Sums(self._summed(nothing).shape[1], self.groups)

    def image(self, block: Block) -> tuple[IntArray, IntArray | None, IntArray | None]:
        """Quanta of distances."""
        quanta = np.empty((len(block.points), 0), dtype=np.int64)
        if self.queries is not None:
            quanta = self.queries.quantize(self.space.distance(block.points, self.queries.points))
        return self._summed(quanta), block.group, block.weight

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

    @property
    def size(self) -> int:
        """One for each cell."""
        return self.columns * 2 * SIDE

    def empty(self) -> Magnitudes:
        """That of no records."""
        return Magnitudes(self.columns)

    def image(self, block: Block) -> tuple[FloatArray, IntArray | None]:
        """Values as they are."""
        return block.points, block.weight


@dataclass(frozen=True, eq=False)
class Digested:
    """A statistic, and the digest of the rows that it was made of, which were read once for both."""

    exact: Any
    digest: RowDigest

    def add(self, image: tuple[Any, ...], hashes: AnyArray) -> None:
        """Add records by what the statistic takes of them, and their hashes."""
        self.exact.add(*image)
        self.digest.add(hashes)

    def __add__(self, other: Self) -> "Digested":
        """Return both of two tables together."""
        return Digested(self.exact + other.exact, self.digest + other.digest)


@dataclass(frozen=True, eq=False)
class DigestedOf:
    """Another statistic with a digest of its rows. key: of their hashes, private."""

    statistic: Statistic[Any]
    key: bytes = field(repr=False)

    @property
    def numbers(self) -> int:
        """As many as the statistic's."""
        return self.statistic.numbers

    @property
    def size(self) -> int:
        """As many as the statistic has."""
        return self.statistic.size

    def empty(self) -> Digested:
        """That of no records."""
        return Digested(self.statistic.empty(), RowDigest())

    def image(self, block: Block) -> tuple[tuple[Any, ...], AnyArray]:
        """What the statistic takes, and hashes."""
        return self.statistic.image(block), row_hashes(self.key, block.points, block.group, block.weight)
