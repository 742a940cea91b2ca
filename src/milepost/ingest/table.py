"""Private tables: their data, the columns of the points and of row attributes, and passes for exact statistics."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

from milepost._typing import IntArray
from milepost.errors import MilepostError
from milepost.ingest.aggregation import (
    NO_ROW_COLUMNS,
    BoundedRows,
    DigestedSpec,
    DistanceTransform,
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

WRONG_STATISTIC = "the table was read already, for another statistic than this"


@dataclass(frozen=True, eq=False)
class Table:
    """A private table; the rows of each person that are used are selected once.

    space: reads the rows. The candidate spaces of one selection, which differ in the number of directions, all read
    them alike. stream: whether an iterator of batches is read once, a few in memory at a time, if that suffices; else
    all batches stay in memory. fingerprint: every pass that reads rows must agree with it; None where a statistic
    depends on one pass only.
    """

    source: Any
    space: Space
    change: ProtectedChange
    columns: Columns = None
    row_columns: RowColumns = NO_ROW_COLUMNS
    stream: bool = False
    fingerprint: Fingerprint | None = None

    def with_fingerprint(self, fingerprint: Fingerprint) -> Self:
        """Return this table with a fingerprint that all passes must agree with."""
        return replace(self, source=self.data, fingerprint=fingerprint)

    @cached_property
    def data(self) -> Any:
        """Return the data of the source; an iterator is opened at the first use."""
        return (
            open_stream(self.source)
            if self.stream and self.row_columns.privacy_unit is None
            else rereadable(self.source)
        )

    @property
    def is_local(self) -> bool:
        """Return whether its rows are on this computer, in a fixed order."""
        return True

    @property
    def single_pass(self) -> bool:
        """Return whether it can be read once only."""
        return isinstance(self.data, Stream) and self.data.single_pass

    @property
    def countable(self) -> bool:
        """Return whether its total is known, or takes a pass anyway, before its statistic is read."""
        return self.row_columns.privacy_unit is not None or (self.change.public_total and countable(self.data))

    @cached_property
    def bounded_rows(self) -> BoundedRows | None:
        """Return the rows that are used, if the contributions of a person are bounded; else None."""
        if self.row_columns.privacy_unit is None:
            return None
        fingerprint = self.fingerprint
        key = None if fingerprint is None else fingerprint.key
        bounded = bound_contributions(self.data, self.space, self.columns, self.row_columns, key)
        if fingerprint is not None and bounded.digest is not None:
            fingerprint.check(bounded.digest)
        return bounded

    def total(self) -> int:
        """Return the number of records, or their weight in steps, in all groups together.

        If that is private, or there is a fingerprint, every row is read, so that a bad row is refused before anything
        is spent.
        """
        return check_some(self._total) if self.change.public_total else self._total

    def sketch(self, space: Space, cells: int | None = None) -> Sketch:
        """Return the exact sketch; the default number of cells depends on the number of groups."""
        groups = self.row_columns.group_count
        sketch = self._aggregate(SketchSpec(space, groups, cells or space.embedding.cells(groups)))
        self._check(sketch.totals)
        return sketch

    def sums(self, queries: Queries, transform: DistanceTransform | None = None) -> DistanceSums:
        """Return the exact sums of distances to queries, or of a transform of these distances."""
        sums = self._aggregate(SumsSpec(self.space, self.row_columns.group_count, queries, transform))
        self._check(sums.totals)
        return sums

    def magnitudes(self) -> Magnitudes:
        """Return how many values each column has of each size."""
        return self._aggregate(MagnitudesSpec(self.space.width))

    def blocks(self) -> list[RecordBlock]:
        """Return all records that are used, of a table with local rows."""
        result = list(blocks(self.data, self.space, self.columns, 1, self.row_columns, self.bounded_rows))
        if self.fingerprint is not None:
            digest = RowDigest()
            for block in result:
                digest.add(row_hashes(self.fingerprint.key, block.points, block.group, block.weight))
            self.fingerprint.check(digest)
        return result

    @cached_property
    def _total(self) -> int:
        if self.bounded_rows is not None:
            return self.bounded_rows.total
        if self.change.public_total and self.fingerprint is None:
            return count(self.data)
        return int(self._aggregate(SumsSpec(self.space, self.row_columns.group_count)).totals.sum())

    def _check(self, totals: IntArray) -> None:
        """Refuse a table without rows, where their number is public."""
        if self.change.public_total:
            check_some(int(totals.sum()))

    def _aggregate(self, statistic: StatisticSpec[Exact]) -> Exact:
        """Return the statistic of all rows that are used; refuse rows that do not agree with the fingerprint."""
        if self.fingerprint is None:
            return self._read(statistic)
        digested = self._read(DigestedSpec(statistic, self.fingerprint.key))
        self.fingerprint.check(digested.digest)
        exact: Exact = digested.exact
        return exact

    def _read(self, statistic: StatisticSpec[Exact]) -> Exact:
        """Return the statistic, from one pass."""
        return aggregate(statistic, self.data, self.space, self.columns, self.row_columns, self.bounded_rows)


@dataclass(frozen=True, eq=False)
class AggregatedTable(Table):
    """A table that was read already, of which only the one statistic that is needed remains."""

    statistic: Sketch | DistanceSums = field(kw_only=True)

    @classmethod
    def from_table(cls, table: Table, statistic: Sketch | DistanceSums) -> "AggregatedTable":
        """Return the aggregated table of a table and its statistic."""
        return cls(None, table.space, table.change, None, table.row_columns, statistic=statistic)

    @property
    def single_pass(self) -> bool:
        """Return False: it is not read again."""
        return False

    def total(self) -> int:
        """Return the total of the statistic."""
        return int(self.statistic.totals.sum())

    def sketch(self, space: Space, cells: int | None = None) -> Sketch:  # noqa: ARG002
        """Return the statistic, which is of this space."""
        if not isinstance(self.statistic, Sketch):
            raise MilepostError(WRONG_STATISTIC)
        return self.statistic

    def sums(self, queries: Queries, transform: DistanceTransform | None = None) -> DistanceSums:  # noqa: ARG002
        """Return the statistic, which is of these queries."""
        if not isinstance(self.statistic, DistanceSums):
            raise MilepostError(WRONG_STATISTIC)
        return self.statistic
