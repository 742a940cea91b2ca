"""Open a table where it is: in this process, or on a Spark cluster."""

from typing import Any

from milepost.ingest.batches import Columns
from milepost.ingest.row_attributes import RowColumns
from milepost.ingest.table import Table
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.base import Space
from milepost.spaces.objects import SPARK, package
from milepost.statistics.row_digest import Fingerprint


def open_table(
    data: Any, space: Space, change: ProtectedChange, columns: Columns, roles: RowColumns, stream: bool = False
) -> Table:
    """The table that data is: one of a cluster for a Spark frame.

    Which rows of a person are used is settled in a pass of its own, by their places: the passes after it must read the
    same rows there, or more of a person would be used. Spark does both in one.
    """
    if not is_spark_frame(data):
        fingerprint = None if roles.unit is None else Fingerprint()
        return Table(data, space, change, columns, roles, stream, fingerprint)
    from milepost.ingest.spark.table import SparkTable

    return SparkTable(data, space, change, columns, roles)


def is_spark_frame(data: Any) -> bool:
    """Whether PySpark has made it."""
    return package(data) == SPARK
