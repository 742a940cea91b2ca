"""Table: private data, which of its columns hold the points, and what others say about its rows."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from milepost.data import Columns, settled
from milepost.privacy.change import Change
from milepost.reading import PLAIN, Chosen, Counted, check_some, choose, count, read_sketch, read_sums, total
from milepost.roles import Roles
from milepost.spaces.base import Space
from milepost.spaces.queries import Queries
from milepost.statistics.sketch import Sketch
from milepost.statistics.sums import Sums


@dataclass(frozen=True, eq=False)
class Table:
    """A private table that is read as often as needed; which rows of a person are used is settled once.

    space: as which its rows are read. What differs between spaces that a choice is made from (how many directions there
    are) does not matter to that.
    """

    given: Any
    space: Space
    change: Change
    columns: Columns = None
    roles: Roles = PLAIN

    @cached_property
    def data(self) -> Any:
        """What was given; of an iterator, all that it has, from the first time that it is needed."""
        return settled(self.given)

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


def table_of(data: Any, space: Space, change: Change, columns: Columns, roles: Roles) -> Table:
    """The table that data is: one of a cluster for a Spark frame."""
    if not of_spark(data):
        return Table(data, space, change, columns, roles)
    from milepost.spark.table import SparkTable

    return SparkTable(data, space, change, columns, roles)


def of_spark(data: Any) -> bool:
    """Whether PySpark has made it."""
    return type(data).__module__.split(".")[0] == "pyspark"
