"""Milepost on Apache Spark: rows stay on the cluster, and noise is added to the same integers as for a local table.

`milepost.release` and `milepost.interactive` take Spark frames as they take any table. See docs/spark.md.
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
    """Release the average distances to the rows of a Spark frame; refuse any other table.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        The private table.
    space : Space
        The public space of the rows.
    epsilon : float
        The privacy parameter ε of this release.
    **options
        Other parameters of `milepost.release`.

    Returns
    -------
    Synopsis
        The release, which answers without Spark.

    Raises
    ------
    MilepostError
        If `frame` is not a Spark frame, or for any reason for which `milepost.release` refuses.

    Examples
    --------
    >>> import milepost as mp
    >>> frame = mp.spark.session().createDataFrame([(1.0,), (3.0,)] * 500, ["x"])  # doctest: +SKIP
    >>> synopsis = mp.spark.release(frame, mp.L1({"x": (0, 10)}), epsilon=1)  # doctest: +SKIP
    """
    check_frame(frame)
    return release_table(frame, space, epsilon=epsilon, **options)
