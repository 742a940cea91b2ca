"""Table: private data, which of its columns hold the points, and what others say about its rows."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

from milepost._typing import IntArray
from milepost.errors import MilepostError
from milepost.ingest.aggregation import (
    NO_ROW_COLUMNS,
    BoundedRows,
    Counted,
    DigestedSpec,
    Exact,
    MagnitudesSpec,
    RecordBlock,
    SketchSpec,
    StatisticSpec,
    SumsSpec,
    aggregate,
    blocks,
    bound_contributions,
    check_some,
    count,
)
from milepost.ingest.batches import Columns, countable, open_stream, rereadable
from milepost.ingest.row_attributes import RowColumns
from milepost.ingest.stream import Stream
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.base import Space
from milepost.spaces.queries import Queries
from milepost.statistics.distance_sums import DistanceSums
from milepost.statistics.magnitudes import Magnitudes
from milepost.statistics.row_digest import Fingerprint, RowDigest, row_hashes
from milepost.statistics.sketch import Sketch

ELSE = "the table was read already, for another statistic than this"


@dataclass(frozen=True, eq=False)
class Table:
    """A private table; which rows of a person are used is settled once.

    space: as which its rows are read. What differs between spaces that a choice is made from (how many directions there
    are) does not matter to that. stream: whether an iterator of batches is read once, a few in memory at a time, if
    that suffices; else all of them are kept. fingerprint: what every pass that reads rows must agree with; None where
    one pass is all that a statistic depends on.
    """

    source: Any
    space: Space
    change: ProtectedChange
    columns: Columns = None
    roles: RowColumns = NO_ROW_COLUMNS
    stream: bool = False
    fingerprint: Fingerprint | None = None

    def with_fingerprint(self, fingerprint: Fingerprint) -> Self:
        """Return this table, to be read by passes that must agree with the fingerprint."""
        return replace(self, source=self.data, fingerprint=fingerprint)

    @cached_property
    def data(self) -> Any:
        """What was given; of an iterator, from the first time that it is needed."""
        return open_stream(self.source) if self.stream and self.roles.unit is None else rereadable(self.source)

    @property
    def is_local(self) -> bool:
        """Whether its rows are on this computer, in an order of their own."""
        return True

    @property
    def single_pass(self) -> bool:
        """Whether it can be read once only."""
        return isinstance(self.data, Stream) and self.data.single_pass

    @property
    def countable(self) -> bool:
        """Whether its total is known, or takes a pass anyway, before its statistic is read."""
        return self.roles.unit is not None or (self.change.public_total and countable(self.data))

    @cached_property
    def bounded_rows(self) -> BoundedRows | None:
        """Which rows are used, where those of one person are limited."""
        if self.roles.unit is None:
            return None
        fingerprint = self.fingerprint
        key = None if fingerprint is None else fingerprint.key
        chosen = bound_contributions(self.data, self.space, self.columns, self.roles, key)
        if fingerprint is not None and chosen.digest is not None:
            fingerprint.check(chosen.digest)
        return chosen

    def total(self) -> int:
        """How many records there are, or their weight in steps, in all groups together.

        Where that is private, or there is a fingerprint, every row is read. So a bad one is refused before anything is
        spent.
        """
        return check_some(self._total) if self.change.public_total else self._total

    def sketch(self, space: Space, cells: int | None = None) -> Sketch:
        """The exact sketch; as many cells as suit its groups, unless said otherwise."""
        groups = self.roles.group_count
        sketch = self._aggregate(SketchSpec(space, groups, cells or space.embedding.cells(groups)))
        self._check(sketch.totals)
        return sketch

    def sums(self, queries: Queries, counted: Counted | None = None) -> DistanceSums:
        """The exact sums of distances to given queries, or of what is counted of them."""
        sums = self._aggregate(SumsSpec(self.space, self.roles.group_count, queries, counted))
        self._check(sums.totals)
        return sums

    def magnitudes(self) -> Magnitudes:
        """How many values each column has of each size."""
        return self._aggregate(MagnitudesSpec(self.space.width))

    def blocks(self) -> list[RecordBlock]:
        """All records that are used, of a table that has them here."""
        found = list(blocks(self.data, self.space, self.columns, 1, self.roles, self.bounded_rows))
        if self.fingerprint is not None:
            digest = RowDigest()
            for block in found:
                digest.add(row_hashes(self.fingerprint.key, block.points, block.group, block.weight))
            self.fingerprint.check(digest)
        return found

    @cached_property
    def _total(self) -> int:
        if self.bounded_rows is not None:
            return self.bounded_rows.total
        if self.change.public_total and self.fingerprint is None:
            return count(self.data)
        return int(self._aggregate(SumsSpec(self.space, self.roles.group_count)).totals.sum())

    def _check(self, totals: IntArray) -> None:
        """Refuse a table without rows, where their number is public."""
        if self.change.public_total:
            check_some(int(totals.sum()))

    def _aggregate(self, statistic: StatisticSpec[Exact]) -> Exact:
        """The statistic of all rows that are used, which agree with the fingerprint."""
        if self.fingerprint is None:
            return self._read(statistic)
        found = self._read(DigestedSpec(statistic, self.fingerprint.key))
        self.fingerprint.check(found.digest)
        exact: Exact = found.exact
        return exact

    def _read(self, statistic: StatisticSpec[Exact]) -> Exact:
        """One pass."""
        return aggregate(statistic, self.data, self.space, self.columns, self.roles, self.bounded_rows)


@dataclass(frozen=True, eq=False)
class AggregatedTable(Table):
    """A table that was read already: of its rows nothing is left but the one statistic that is needed of it."""

    statistic: Sketch | DistanceSums = field(kw_only=True)

    @classmethod
    def from_table(cls, table: Table, statistic: Sketch | DistanceSums) -> "AggregatedTable":
        """Of a table and its statistic."""
        return cls(None, table.space, table.change, None, table.roles, statistic=statistic)

    @property
    def single_pass(self) -> bool:
        """It need not be read again."""
        return False

    def total(self) -> int:
        """As the statistic has it."""
        return int(self.statistic.totals.sum())

    def sketch(self, space: Space, cells: int | None = None) -> Sketch:  # noqa: ARG002
        """The statistic, which is of this space."""
        if not isinstance(self.statistic, Sketch):
            raise MilepostError(ELSE)
        return self.statistic

    def sums(self, queries: Queries, counted: Counted | None = None) -> DistanceSums:  # noqa: ARG002
        """The statistic, which is of these queries."""
        if not isinstance(self.statistic, DistanceSums):
            raise MilepostError(ELSE)
        return self.statistic
