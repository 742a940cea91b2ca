"""Table: private data, which of its columns hold the points, and what others say about its rows."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from milepost.data import Columns, countable, opened, settled
from milepost.errors import MilepostError
from milepost.privacy.change import Change
from milepost.reading import PLAIN, Chosen, check_some, choose, count, read, read_sketch, read_sums, total
from milepost.roles import Roles
from milepost.spaces.base import Space
from milepost.spaces.objects import SPARK, package
from milepost.spaces.queries import Queries
from milepost.statistic import Counted, MagnitudesOf
from milepost.statistics.magnitudes import Magnitudes
from milepost.statistics.sketch import Sketch
from milepost.statistics.sums import Sums
from milepost.stream import Stream

ELSE = "the table was read already, for another statistic than this"


@dataclass(frozen=True, eq=False)
class Table:
    """A private table; which rows of a person are used is settled once.

    space: as which its rows are read. What differs between spaces that a choice is made from (how many directions there
    are) does not matter to that. stream: whether an iterator of batches is read once, a few in memory at a time, if
    that suffices; else all of them are kept.
    """

    given: Any
    space: Space
    change: Change
    columns: Columns = None
    roles: Roles = PLAIN
    stream: bool = False

    @cached_property
    def data(self) -> Any:
        """What was given; of an iterator, from the first time that it is needed."""
        return opened(self.given) if self.stream and self.roles.unit is None else settled(self.given)

    @property
    def here(self) -> bool:
        """Whether its rows are on this computer, in an order of their own."""
        return True

    @property
    def once(self) -> bool:
        """Whether it can be read once only."""
        return isinstance(self.data, Stream) and self.data.once

    @property
    def countable(self) -> bool:
        """Whether its total is known, or takes a pass anyway, before its statistic is read."""
        return self.roles.unit is not None or (self.change.public_total and countable(self.data))

    @cached_property
    def chosen(self) -> Chosen | None:
        """Which rows are used, where those of one person are limited."""
        if self.roles.unit is None:
            return None
        return choose(self.data, self.space, self.columns, self.roles)

    def total(self) -> int:
        """How many records there are, or their weight in steps, in all groups together.

        Where that is private every row is read, so that a bad one is refused before anything is spent.
        """
        if self.chosen is not None:
            found = self.chosen.total
        elif self.change.public_total:
            found = count(self.data)
        else:
            found = total(self.data, self.space, self.columns, self.roles)
        return check_some(found) if self.change.public_total else found

    def sketch(self, space: Space, cells: int | None = None) -> Sketch:
        """The exact host statistic; as many cells as suit its groups, unless said otherwise."""
        cells, empty = cells or space.hosts.cells(self.roles.group_count), not self.change.public_total
        return read_sketch(self.data, space, self.columns, self.roles, cells, empty=empty, chosen=self.chosen)

    def sums(self, queries: Queries, counted: Counted | None = None) -> Sums:
        """The exact sums of distances to given queries, or of what is counted of them."""
        empty = not self.change.public_total
        return read_sums(
            self.data, self.space, queries, self.columns, self.roles, empty=empty, chosen=self.chosen, counted=counted
        )

    def magnitudes(self) -> Magnitudes:
        """How many values each column has of each size."""
        wanted = MagnitudesOf(self.space.width)
        return read(wanted, self.data, self.space, self.columns, self.roles, self.chosen)


@dataclass(frozen=True, eq=False)
class Summed(Table):
    """A table that was read already: of its rows nothing is left but the one statistic that is needed of it."""

    statistic: Sketch | Sums = field(kw_only=True)

    @classmethod
    def of(cls, table: Table, statistic: Sketch | Sums) -> "Summed":
        """Of a table and its statistic."""
        return cls(None, table.space, table.change, None, table.roles, statistic=statistic)

    @property
    def once(self) -> bool:
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

    def sums(self, queries: Queries, counted: Counted | None = None) -> Sums:  # noqa: ARG002
        """The statistic, which is of these queries."""
        if not isinstance(self.statistic, Sums):
            raise MilepostError(ELSE)
        return self.statistic


def table_of(data: Any, space: Space, change: Change, columns: Columns, roles: Roles, stream: bool = False) -> Table:
    """The table that data is: one of a cluster for a Spark frame."""
    if not of_spark(data):
        return Table(data, space, change, columns, roles, stream)
    from milepost.spark.table import SparkTable

    return SparkTable(data, space, change, columns, roles)


def of_spark(data: Any) -> bool:
    """Whether PySpark has made it."""
    return package(data) == SPARK
