"""Answers of a synopsis as a column of a Spark frame, computed on Spark's workers."""

import pickle
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from milepost._typing import BoolArray
from milepost.errors import MilepostError
from milepost.ingest.spark.jobs import pickle_portably, require_pyspark
from milepost.synopsis.synopsis import Synopsis

if TYPE_CHECKING:
    from pyspark.sql import Column


def mean_distance(synopsis: Synopsis, *columns: "str | Column", group: Any = None) -> "Column":
    """Return the average distance from each row's point to the people in the table, as a column of doubles.

    Parameters
    ----------
    synopsis : Synopsis
        The release to ask; workers get a copy.
    *columns : str or Column
        The columns of the points, in the order of the space; by default those that the space names.
    group : label, optional
        Measure the distance to this group only, in a release with groups.

    Returns
    -------
    Column
        A row with a null or NaN in these columns gets null, as in Spark's own functions.

    Examples
    --------
    >>> frame.withColumn("far", milepost.spark.mean_distance(synopsis, "east", "north"))  # doctest: +SKIP
    """
    require_pyspark()
    from pyspark.sql.functions import arrow_udf

    if group is not None:
        synopsis = synopsis.group(group)
    synopsis.statistic.check_ungrouped()
    space = synopsis.space
    point_columns = columns or space.columns or ()
    if not point_columns or (space.given_queries is None and len(point_columns) != space.width):
        expected = "the columns of a query" if space.given_queries is not None else f"{space.width} columns"
        raise MilepostError(
            f"expected {expected} ({', '.join(space.names)}), got {len(point_columns)}; name them in this order"
        )
    payload = pickle_portably(synopsis)

    def scores(*cells: pa.Array) -> pa.Array:
        from milepost.synopsis.spark_column import score

        return score(payload, cells)

    column: Column = arrow_udf(scores, "double")(*point_columns)
    return column


def score(payload: bytes, cells: tuple[pa.Array, ...]) -> pa.Array:
    """Return the answers for a batch of rows; rows are independent of each other."""
    synopsis = _synopsis(payload)
    complete = ~np.any([_missing(column) for column in cells], axis=0)
    names = synopsis.space.names if synopsis.space.given_queries is None else [f"c{k}" for k in range(len(cells))]
    batch = pa.RecordBatch.from_arrays([column.filter(pa.array(complete)) for column in cells], names=list(names))
    result = np.zeros(len(complete))
    if len(batch):
        result[complete] = synopsis.mean_distance(batch)
    return pa.array(result, mask=~complete)


@lru_cache(maxsize=4)
def _synopsis(payload: bytes) -> Synopsis:
    """Unpickle a synopsis once per worker."""
    result: Synopsis = pickle.loads(payload)  # noqa: S301
    return result


def _missing(column: pa.Array) -> BoolArray:
    missing = pc.is_null(column, nan_is_null=pa.types.is_floating(column.type))
    return np.asarray(missing.to_numpy(zero_copy_only=False))
