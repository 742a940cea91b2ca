"""Frames: those of pandas and Polars, told apart without either of them, as batches of Arrow."""

import numbers
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from milepost.errors import MilepostError
from milepost.spaces.numeric import number


def package(data: Any) -> str:
    """The name of the library that it comes from."""
    return type(data).__module__.split(".")[0]


def is_pandas(data: Any) -> bool:
    """Whether it is a frame or Series of pandas."""
    return package(data) == "pandas"


def is_polars(data: Any) -> bool:
    """Whether it is a Polars frame; a Series is read as an array, and a lazy frame is refused."""
    if package(data) != "polars" or type(data).__name__ == "Series":
        return False
    if type(data).__name__ != "DataFrame":
        raise MilepostError(
            f"expected a Polars DataFrame, got a {type(data).__name__}; collect() it first, "
            "or give its collect_batches()"
        )
    return True


def from_polars(frame: Any, picked: Sequence[int]) -> pa.RecordBatch:
    """Some columns, by position, through Arrow."""
    arrays = []
    for position in picked:
        column = frame.to_series(position)
        try:
            arrays.append(column.to_arrow())
        except pa.ArrowException:
            raise MilepostError(
                f"column {column.name!r} must hold numbers that Arrow has, got {column.dtype}"
            ) from None
    return pa.RecordBatch.from_arrays(arrays, names=[frame.columns[position] for position in picked])


def from_pandas(frame: Any) -> pa.RecordBatch:
    """Column by column; objects go one by one, since a type inferred for a whole column would tie its rows together."""
    arrays = []
    for position, name in enumerate(frame.columns):
        column = frame.iloc[:, position]
        if column.dtype == object and any(isinstance(value, numbers.Number) for value in column):
            try:
                column = pa.array([number(value) for value in column], pa.float64())
            except MilepostError:
                raise MilepostError(f"column {str(name)!r} mixes numbers with text or other objects") from None
        arrays.append(column if isinstance(column, pa.Array) else pa.array(column, from_pandas=True))
    return pa.RecordBatch.from_arrays(arrays, names=[str(name) for name in frame.columns])
