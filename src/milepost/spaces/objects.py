"""Objects: points that are no rows of numbers, in lists and batches, and what makes two of them the same."""

import math
from collections.abc import Hashable
from typing import Any

import numpy as np
import pyarrow as pa

from milepost.arrays import AnyArray
from milepost.errors import MilepostError


def object_list(data: Any) -> list[Any]:
    """The objects of a list, an array (its entries, or its rows), a Series, an Arrow column or anything iterable."""
    if isinstance(data, str | bytes | dict) or not hasattr(data, "__iter__"):
        raise MilepostError(f"expected a list of objects, got {data!r}; put a single one in a list")
    if isinstance(data, np.ndarray):
        return entries(data)
    for method in ("to_pylist", "to_list"):  # Arrow; pandas and Polars
        if hasattr(data, method):
            result: list[Any] = getattr(data, method)()
            return result
    return list(data)


def object_array(objects: list[Any]) -> AnyArray:
    """A one-dimensional array of objects, whatever they are."""
    result = np.empty(len(objects), dtype=object)
    for position, item in enumerate(objects):
        result[position] = item
    return result


def entries(array: AnyArray) -> list[Any]:
    """Entries of a one-dimensional array as Python objects, rows of one with more dimensions."""
    return array.tolist() if array.ndim == 1 else list(array)


def objects_of(batch: pa.RecordBatch | AnyArray) -> list[Any]:
    """The objects of a batch: cells of one column, tuples of several, entries or rows of an array."""
    if isinstance(batch, pa.RecordBatch):
        columns = [column.to_pylist() for column in batch.columns]
        return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
    return entries(batch)


def key(point: Any) -> Hashable:
    """Equal points have equal keys; lists and arrays go by their entries."""
    if isinstance(point, np.ndarray | np.generic):
        point = point.tolist()
    if isinstance(point, list | tuple):
        return tuple(key(part) for part in point)
    if not isinstance(point, Hashable):
        raise MilepostError(
            f"queries must be text, numbers, tuples, lists or arrays of numbers, or hashable objects, got a "
            f"{type(point).__name__}"
        )
    return point


def json_of(point: Any) -> Any:
    """A query that JSON gives back with an equal key; TypeError for others."""
    if isinstance(point, np.ndarray | np.generic):
        point = point.tolist()
    if isinstance(point, list | tuple):
        return [json_of(part) for part in point]
    if isinstance(point, str | bool | int) or (isinstance(point, float) and math.isfinite(point)):
        return point
    raise TypeError
