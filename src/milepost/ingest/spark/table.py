"""SparkTable: a private Spark frame, whose statistic is made where its rows are; noise is drawn on the driver."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from milepost._typing import IntArray
from milepost.errors import MilepostError
from milepost.ingest import batches as tables
from milepost.ingest.aggregation import Exact, StatisticSpec, SumsSpec, check_count, check_some
from milepost.ingest.column_selection import ColumnSelection
from milepost.ingest.spark.jobs import map_partitions, require_pyspark, spark_errors, tree_sum
from milepost.ingest.spark.rows import RowReader, column_names
from milepost.ingest.spark.tasks import CountTask, RowKeysTask
from milepost.ingest.table import Table
from milepost.statistics.magnitudes import Magnitudes
from milepost.statistics.sketch import check_weight

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, eq=False)
class SelectedColumns:
    """The columns of a frame that are read, called c0, c1, …, and how. schema: theirs, as Arrow's."""

    frame: "DataFrame"
    rows: RowReader
    schema: pa.Schema


@dataclass(frozen=True, eq=False)
class SparkTable(Table):
    """A Spark frame: the same integers as of the same rows read here, made by tasks next to them.

    Rows stay on the executors. What is fetched is the exact statistic, one copy: the driver is trusted with it, as any
    computer is with a table of its own.
    """

    def __post_init__(self) -> None:
        require_pyspark()
        check_frame(self.source)
        for role in self.roles.sequences():
            raise MilepostError(
                f"{role} must be a column's name or position: rows of a Spark frame have no order that a list could "
                "follow; join it to the frame as a column"
            )

    @property
    def here(self) -> bool:
        """Rows stay on the executors."""
        return False

    @property
    def single_pass(self) -> bool:
        """A frame is read as often as needed."""
        return False

    @property
    def countable(self) -> bool:
        """Counting takes a job."""
        return False

    def magnitudes(self) -> Magnitudes:
        """How many values each column has of each size."""
        magnitudes = super().magnitudes()
        magnitudes.total = int(magnitudes.counts[0].sum())  # every record is in one cell of each column
        check_weight(check_some(magnitudes.total))
        return magnitudes

    @cached_property
    def _total(self) -> int:
        if not self.change.public_total or self.roles.unit is not None or self.fingerprint is not None:
            return int(self._aggregate(SumsSpec(self.space, self.roles.group_count)).totals.sum())
        frame = self._picked.frame
        with spark_errors():
            return int(frame.count())

    def _check(self, totals: IntArray) -> None:
        """Refuse a frame without rows, or with others than were counted, where their number is public."""
        total = int(totals.sum())
        check_weight(total)
        if self.change.public_total:
            check_count(check_some(total), vars(self).get("_total", total))

    def _read(self, statistic: StatisticSpec[Exact]) -> Exact:
        """One job. The key of a fingerprint goes with its tasks: executors see the rows, and are trusted with both."""
        picked, keyed = self._picked, self.roles.unit is not None
        with spark_errors():
            frame = self._of_persons(picked) if keyed else picked.frame
            return tree_sum(map_partitions(frame, CountTask(picked.rows, statistic, keyed)), statistic)

    def _of_persons(self, picked: SelectedColumns) -> "DataFrame":
        """Rows of which each person has no more than allowed: those that come first, as `used` takes them.

        Spark compares bytes as unsigned numbers, as it must. Rows of the same place are equal, but for a chance of
        2⁻⁶⁴, so that it does not matter which of them it takes.
        """
        from pyspark.sql.types import StructType

        names = column_names(len(picked.schema) - 1)  # the person's own is not needed any more
        layout = StructType()
        for name in names:
            layout = layout.add(name, picked.frame.schema[name].dataType)
        for name, kind in (("person", "binary"), ("place", "binary"), ("trouble", "string")):
            layout = layout.add(name, kind)
        passed = pa.schema([picked.schema.field(name) for name in names])
        keyed = map_partitions(picked.frame, RowKeysTask(picked.rows, passed), layout)
        rank = "row_number() over (partition by person order by place) as rank"
        chosen = keyed.selectExpr("*", rank).where(f"rank <= {self.roles.contributions} or trouble is not null")
        return chosen.select(*names, "trouble")

    @cached_property
    def _picked(self) -> SelectedColumns:
        """What is read of the frame; names and types that do not fit are refused before a job runs."""
        frame, space, columns = self.source, self.space, self.columns
        with spark_errors():
            present = frame.columns
            numbered = frame.toDF(*column_names(len(present)))  # names may be alike, or hold dots
            schema = numbered.limit(0).toArrow().schema
        beside = tuple(sorted(self.roles.extra_columns, key=lambda one: one.role == "unit"))  # the person's comes last
        for _ in tables.space_batches(schema.empty_table().rename_columns(present), space, columns, beside):
            pass  # refuses what it would refuse of any table
        asked = [columns] if isinstance(columns, str | int) else columns
        wanted = ColumnSelection(asked, space.columns, space.aliases, space.width if space.objects else 0, beside)
        points, others = wanted.points(present), wanted.others(present)
        names = tuple(present[k] for k in points) if asked is None or space.columns is None else space.columns
        found = pa.schema([schema.field(k).with_name(f"c{place}") for place, k in enumerate([*points, *others])])
        rows = RowReader(space, self.roles, names, tuple(one.role for one in beside))
        rows.read(pa.RecordBatch.from_arrays([pa.array([], kind) for kind in found.types], schema=found))
        with spark_errors():
            picked = numbered.selectExpr(*(f"c{k} as c{place}" for place, k in enumerate([*points, *others])))
        return SelectedColumns(picked, rows, found)


def check_frame(frame: Any) -> None:
    """Refuse what is no Spark frame that has an end."""
    if not hasattr(frame, "mapInArrow"):
        remedy = "; to_spark() makes one of it" if hasattr(frame, "to_spark") else ""
        raise MilepostError(f"expected a Spark DataFrame, got {type(frame).__module__}.{type(frame).__name__}{remedy}")
    if frame.isStreaming:
        raise MilepostError("expected a Spark DataFrame with an end, got a stream; write it to a table first")
