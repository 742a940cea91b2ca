"""Milepost on Apache Spark: rows stay on the cluster, and a release has the integers that it would have here.

`milepost.release` and `milepost.interactive` take Spark frames as they take any table. docs/spark.md.
"""

from typing import TYPE_CHECKING, Any

from milepost.ingest.spark.session import session
from milepost.ingest.spark.table import check_frame
from milepost.pipeline.release import release as release_table
from milepost.spaces.base import Space
from milepost.synopsis.spark_column import mean_distance
from milepost.synopsis.synopsis import Synopsis

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["mean_distance", "release", "session"]


def release(frame: "DataFrame", space: Space, *, epsilon: float, **options: Any) -> Synopsis:
    """As `milepost.release`, with the same arguments, and refused for what is no Spark frame."""
    check_frame(frame)
    return release_table(frame, space, epsilon=epsilon, **options)
