"""Data frames as Arrow batches, recognized without importing their libraries.

An object that has names for its columns is read by them or refused, never by position.
"""

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.interchange

from milepost._typing import AnyArray
from milepost._validation import unmask
from milepost.errors import MilepostError
from milepost.spaces.numeric import Aliases, find_column, number
from milepost.spaces.objects import SPARK, TABLES, is_series, join_names, package, package_of

REMEDIES = ("to_pandas", "to_dataframe", "toPandas", "to_pandas_df", "compute")  # methods that give a pandas frame


def is_pandas(data: Any) -> bool:
    """Return whether the data is a pandas frame or Series."""
    return package(data) == "pandas"


def is_polars(data: Any) -> bool:
    """Return whether the data is a Polars frame; a Series is read as an array, and a lazy frame is refused."""
    kinds = [kind.__name__ for kind in type(data).__mro__]
    if package(data) != "polars" or "Series" in kinds:
        return False
    if "DataFrame" not in kinds:
        raise MilepostError(
            f"expected a Polars DataFrame, got a {type(data).__name__}; collect() it first, "
            "or give its collect_batches()"
        )
    return True


def to_readable(data: Any) -> Any:
    """Return user data in a readable form: without masks, and with column names only where they are used.

    Structured arrays and objects with an interchange protocol become Arrow tables or readers; other objects with column
    names are refused.
    """
    if isinstance(data, np.ndarray) and data.dtype.names is not None:
        return _from_fields(data)
    data = unmask(data)
    if package(data) in TABLES and package(data) != SPARK:
        return data
    if hasattr(data, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(data)
    if hasattr(data, "__dataframe__"):
        return _from_interchange(data)
    if _has_names(data):
        raise _unreadable(data)
    return data


def check_rows(rows: Any, names: Sequence[str] | None, aliases: Aliases, apart: Sequence[Any] = ()) -> None:
    """Refuse named tuples and Series in a list whose names are not the space's, in its order: a list has positions.

    apart: positions of columns that are not the points'.
    """
    if names is None or not isinstance(rows, list | tuple):
        return
    kinds = {type(row) for row in (rows, *rows)}
    if not any(hasattr(kind, "_fields") or package_of(kind) == "pandas" for kind in kinds):
        return
    for row in (rows, *rows):
        present = _row_names(row)
        if present is None:
            continue
        expected = [position for position in range(len(present)) if position not in apart]
        if [find_column(present, name, aliases) for name in names] != expected:
            raise MilepostError(
                f"rows have the names {join_names(present)}, the space has {join_names(names)}; "
                "make a frame of them, pd.DataFrame(rows), which is read by name"
            )


def from_polars(frame: Any, positions: Sequence[int]) -> pa.RecordBatch:
    """Return the columns at these positions as an Arrow batch."""
    arrays = []
    for position in positions:
        column = frame.to_series(position)
        try:
            arrays.append(column.to_arrow())
        except pa.ArrowException:
            raise MilepostError(
                f"column {column.name!r} must hold numbers that Arrow has, got {column.dtype}"
            ) from None
    return pa.RecordBatch.from_arrays(arrays, names=[frame.columns[position] for position in positions])


def from_pandas(frame: Any) -> pa.RecordBatch:
    """Return all columns of a frame as an Arrow batch."""
    arrays = [_column(frame.iloc[:, position], str(name)) for position, name in enumerate(frame.columns)]
    return pa.RecordBatch.from_arrays(arrays, names=[str(name) for name in frame.columns])


def _column(cells: Any, name: str) -> pa.Array:
    """Return a column as an Arrow array.

    Objects are converted one by one: were the type inferred from all of them, a row would depend on the others.
    """
    if cells.dtype == object and any(isinstance(value, numbers.Number) for value in cells):
        try:
            return pa.array([number(value) for value in cells], pa.float64())
        except MilepostError:
            raise MilepostError(f"column {name!r} mixes numbers with text or other objects") from None
    return pa.array(cells, from_pandas=True)


def _from_fields(array: AnyArray) -> pa.Table:
    """Return the fields of a structured array as columns, with masked entries as nulls."""
    if array.ndim != 1:
        raise MilepostError(
            f"an array with fields must have one dimension, got {array.ndim}; give one record a row, by ravel()"
        )
    columns = {}
    for name in array.dtype.names or ():
        cells = array[name]
        if cells.ndim != 1:
            raise MilepostError(f"field {name!r} has several values in each record; make a separate field of each")
        columns[name] = _column(unmask(cells) if cells.dtype == object else cells, name)
    return pa.table(columns)


def _from_interchange(data: Any) -> pa.Table:
    try:
        return pa.interchange.from_dataframe(data)
    except Exception:  # noqa: BLE001  # any library's own, whose text may quote private values
        raise _unreadable(data) from None


def _has_names(data: Any) -> bool:
    """Return whether an object has column names, like a pandas frame, or an xarray whose last dimension has labels."""
    columns = getattr(data, "columns", None)
    if (columns is not None and not callable(columns)) or hasattr(data, "data_vars"):
        return True
    dimensions: Sequence[Any] = getattr(data, "dims", ())
    labels = getattr(data, "coords", {})
    return bool(dimensions) and dimensions[-1] in labels and np.asarray(labels[dimensions[-1]]).dtype.kind in "UOT"


def _unreadable(data: Any) -> MilepostError:
    kind = type(data)
    method = next((method for method in REMEDIES if hasattr(data, method)), None)
    remedy = "make a pandas or Polars frame of it" if method is None else f"give what its {method}() has"
    return MilepostError(
        f"the columns of this table have names, and it is not read by position: got {kind.__module__}.{kind.__name__}; "
        f"{remedy}"
    )


def _row_names(row: Any) -> list[str] | None:
    """Return the names of a row's values, if it has any."""
    if isinstance(row, tuple):
        return list(getattr(row, "_fields", ())) or None
    if is_series(row) and all(isinstance(label, str) for label in row.index):
        return list(row.index)
    return None


@dataclass(frozen=True)
class FrameTemplate:
    """A frame's library, "pandas" or "polars", and its index where it has one."""

    library: str
    index: Any = None

    def series(self, name: str, values: Any) -> Any:
        """Return values, in the order of the frame's rows, as a Series."""
        module = import_module(self.library)
        if self.library == "polars":
            return module.Series(name, values)
        return module.Series(values, index=self.index, name=name)

    def frame(self, columns: Mapping[str, Any]) -> Any:
        """Return columns, in the order of the frame's rows, as a frame."""
        module = import_module(self.library)
        return module.DataFrame(columns) if self.library == "polars" else module.DataFrame(columns, index=self.index)


def frame_template(data: Any) -> FrameTemplate | None:
    """Return the template of a pandas or Polars frame or Series; None for other data."""
    library = package(data)
    if library == "pandas":
        return FrameTemplate(library, data.index)
    return FrameTemplate(library) if library == "polars" else None


def shape_answers(values: AnyArray, single: bool, template: FrameTemplate | None, name: str) -> Any:
    """Return one value for a single point, a Series for points of a frame, else the array."""
    if single:
        return values[:1].tolist()[0]
    return values if template is None else template.series(name, values)
