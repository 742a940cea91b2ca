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
    data: Any, space: Space, change: ProtectedChange, columns: Columns, row_columns: RowColumns, stream: bool = False
) -> Table:
    """Return data as a table, on the cluster for a Spark frame.

    A separate first pass chooses which rows of a person are used, by their row numbers. The passes after it must read
    the same rows at these numbers, or more rows of a person would be used. Spark does both in one pass.
    """
    if not is_spark_frame(data):
        fingerprint = None if row_columns.privacy_unit is None else Fingerprint()
        return Table(data, space, change, columns, row_columns, stream, fingerprint)
    from milepost.ingest.spark.table import SparkTable

    return SparkTable(data, space, change, columns, row_columns)


def is_spark_frame(data: Any) -> bool:
    """Return whether data is a PySpark object."""
    return package(data) == SPARK
