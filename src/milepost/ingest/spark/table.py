"""Private Spark frames: statistics are computed on the executors, noise is drawn on the driver."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from milepost._typing import IntArray
from milepost.errors import MilepostError
from milepost.ingest import batches as tables
from milepost.ingest.column_selection import ColumnSelection
from milepost.ingest.spark.jobs import map_partitions, raise_troubles, require_pyspark, spark_errors, tree_sum
from milepost.ingest.spark.rows import RowReader, column_names
from milepost.ingest.spark.tasks import check_rows, count_rows
from milepost.ingest.table import Table, check_count, check_some
from milepost.statistics.distance_sums import DistanceSums
from milepost.statistics.magnitudes import Magnitudes
from milepost.statistics.sketch import check_weight
from milepost.statistics.statistic_spec import StatisticSpec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, eq=False)
class SparkTable(Table):
    """A Spark frame: tasks compute the same integers as a local table of the same rows gives.

    Rows stay on the executors. One copy of the exact statistic is fetched: the driver is trusted with it, as any
    computer is with a local table.
    """

    def __post_init__(self) -> None:
        require_pyspark()
        check_frame(self.source)
        for role in self.row_columns.sequences():
            raise MilepostError(
                f"{role} must be a column's name or position: rows of a Spark frame have no order that a list could "
                "follow; join it to the frame as a column"
            )

    @property
    def is_local(self) -> bool:
        """Return False: rows stay on the executors."""
        return False

    @property
    def single_pass(self) -> bool:
        """Return False: a frame is read as often as needed."""
        return False

    @property
    def countable(self) -> bool:
        """Return False: counting takes a job."""
        return False

    def magnitudes(self) -> Magnitudes:
        """Return how many values each column has of each size."""
        magnitudes = super().magnitudes()
        magnitudes.total = int(magnitudes.counts[0].sum())  # every record is in one cell of each column
        check_weight(check_some(magnitudes.total))
        return magnitudes

    @cached_property
    def _total(self) -> int:
        if not self.change.public_total or self.row_columns.privacy_unit is not None or self.fingerprint is not None:
            return int(self._aggregate(DistanceSums.spec(self.space, self.row_columns.group_count)).totals.sum())
        frame, _ = self._selected_columns
        with spark_errors():
            return int(frame.count())

    def _check(self, totals: IntArray) -> None:
        """Refuse a frame without rows, or with another number of rows than was counted, where that is public."""
        total = int(totals.sum())
        check_weight(total)
        if self.change.public_total:
            check_count(check_some(total), vars(self).get("_total", total))

    def _read(self, specs: Sequence[StatisticSpec[Any]]) -> list[Any]:
        """Return statistics, all from one job.

        The key of a fingerprint goes with its tasks: executors see the rows, and are trusted with both.
        """
        (frame, rows), bounded = self._selected_columns, self.row_columns.privacy_unit is not None
        with spark_errors():
            by_person = self._sort_by_person(frame, rows) if bounded else frame
            try:
                return tree_sum(map_partitions(by_person, partial(count_rows, rows, specs, bounded)), specs)
            except MilepostError:
                if bounded:  # name a bad row as it is in the frame, not where Spark has sent it
                    raise_troubles(map_partitions(frame, partial(check_rows, rows)).toArrow())
                raise

    def _sort_by_person(self, frame: "DataFrame", rows: RowReader) -> "DataFrame":
        """Return the frame with all rows of a person next to each other, and a hash of the person's id as last column.

        Ids with the same name have the same hash: within a column of one type, different ids have different names, and
        Spark's hash of −0 is that of 0.
        """
        person = column_names(len(rows.schema))[-1]
        hashed = frame.selectExpr("*", f"xxhash64({person}) as person")
        return hashed.repartition("person").sortWithinPartitions("person")

    @cached_property
    def _selected_columns(self) -> tuple["DataFrame", RowReader]:
        """Return a frame of the columns that are read, named c0, c1, …, and their reader.

        Names and types that do not fit are refused before a job runs.
        """
        frame, space = self.source, self.space
        with spark_errors():
            present = frame.columns
            renamed = frame.toDF(*column_names(len(present)))  # names may repeat, or hold dots
            schema = renamed.limit(0).toArrow().schema
        extra = tuple(
            sorted(self.row_columns.extra_columns, key=lambda column: column[0] == "privacy_unit")
        )  # the person's last
        selection = ColumnSelection.of_space(space, self.columns, extra)
        for _ in tables.batches(schema.empty_table().rename_columns(present), selection):
            pass  # refuses the same as for any other table
        points, others = selection.points(present), selection.others(present)
        names = tuple(present[k] for k in points)
        if selection.selected is not None and space.columns is not None:
            names = space.columns
        selected = pa.schema([schema.field(k).with_name(f"c{index}") for index, k in enumerate([*points, *others])])
        rows = RowReader(space, self.row_columns, names, tuple(role for role, _ in extra), selected)
        rows.read(pa.RecordBatch.from_arrays([pa.array([], kind) for kind in selected.types], schema=selected))
        with spark_errors():
            subset = renamed.selectExpr(*(f"c{k} as c{index}" for index, k in enumerate([*points, *others])))
        return subset, rows


def check_frame(frame: Any) -> None:
    """Refuse data other than a Spark frame, and a stream, which has no end."""
    if not hasattr(frame, "mapInArrow"):
        remedy = "; to_spark() makes one of it" if hasattr(frame, "to_spark") else ""
        raise MilepostError(f"expected a Spark DataFrame, got {type(frame).__module__}.{type(frame).__name__}{remedy}")
    if frame.isStreaming:
        raise MilepostError("expected a Spark DataFrame with an end, got a stream; write it to a table first")
