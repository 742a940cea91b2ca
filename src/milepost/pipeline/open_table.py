"""Open a table where it is: in this process, or on a Spark cluster."""

from typing import Any

from milepost.ingest.batches import Columns
from milepost.ingest.row_attributes import Roles
from milepost.ingest.table import Table
from milepost.privacy.protected_change import Change
from milepost.spaces.base import Space
from milepost.spaces.objects import SPARK, package
from milepost.statistics.row_digest import Fingerprint


def table_of(data: Any, space: Space, change: Change, columns: Columns, roles: Roles, stream: bool = False) -> Table:
    """The table that data is: one of a cluster for a Spark frame.

    Which rows of a person are used is settled in a pass of its own, by their places: the passes after it must read the
    same rows there, or more of a person would be used. Spark does both in one.
    """
    if not of_spark(data):
        fingerprint = None if roles.unit is None else Fingerprint()
        return Table(data, space, change, columns, roles, stream, fingerprint)
    from milepost.ingest.spark.table import SparkTable

    return SparkTable(data, space, change, columns, roles)


def of_spark(data: Any) -> bool:
    """Whether PySpark has made it."""
    return package(data) == SPARK
