"""release: that of any table, for Spark frames alone."""

from typing import TYPE_CHECKING, Any

from milepost.release import release as release_table
from milepost.spaces.base import Space
from milepost.spark.table import check_frame
from milepost.synopsis.synopsis import Synopsis

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def release(frame: "DataFrame", space: Space, *, epsilon: float, **options: Any) -> Synopsis:
    """As `milepost.release`, with the same arguments, and refused for what is no Spark frame."""
    check_frame(frame)
    return release_table(frame, space, epsilon=epsilon, **options)
