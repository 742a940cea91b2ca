"""Points that are objects rather than rows of numbers: reading lists and batches of them, and their keys."""

import math
from collections.abc import Hashable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from milepost._typing import AnyArray, IntArray
from milepost._validation import unmask
from milepost.errors import MilepostError

MAX_NAMES = 20  # names in an error text
SPARK = "pyspark"
TABLES = ("pyarrow", "pandas", "geopandas", "polars", SPARK)  # packages whose tables are read as they are
MISSING = ("NoneType", "NAType", "NaTType", "MaskedConstant")  # types of cells without a value


def is_missing(cell: Any) -> bool:
    """Return whether a cell has no value: None, NaN, their pandas equivalents or a masked entry of an array."""
    if isinstance(cell, float | np.floating):
        return math.isnan(cell)
    if isinstance(cell, Decimal):
        return cell.is_nan()
    return type(cell).__name__ in MISSING


def object_list(data: Any) -> list[Any]:
    """Return the objects of a list, an array (entries or rows), a Series, an Arrow column or another iterable."""
    if isinstance(data, str | bytes | Mapping) or not hasattr(data, "__iter__"):
        raise MilepostError(f"expected a list of objects, got {data!r}; put a single one in a list")
    data = unmask(data)
    if isinstance(data, np.ndarray):
        return entries(data)
    for method in ("to_pylist", "to_list"):  # Arrow; pandas and Polars
        if hasattr(data, method):
            return [normalize_cell(cell) for cell in getattr(data, method)()]
    return list(data)


def to_python_objects(cells: Any, name: str) -> list[Any]:
    """Return the cells of a column as Python objects."""
    if not isinstance(cells, pa.Array):
        return list(cells)
    try:
        result: list[Any] = cells.to_pylist()
    except (ValueError, pa.ArrowException):  # its reason may quote a private value
        raise MilepostError(f"column {name!r} must hold text or whole numbers, got {cells.type}") from None
    return result


def encode_cells(cells: Any, name: str) -> tuple[list[Any], IntArray]:
    """Return the distinct cells of a column (or all cells) as Python objects, and the index of each row's cell."""
    if isinstance(cells, pa.Array) and not pa.types.is_nested(cells.type):
        with suppress(pa.ArrowException):
            cells = cells.dictionary_decode() if pa.types.is_dictionary(cells.type) else cells
            column = cells.dictionary_encode("encode")
            return to_python_objects(column.dictionary, name), column.indices.to_numpy().astype(np.int64)
    values = to_python_objects(cells, name)
    return values, np.arange(len(values))


def normalize_cell(cell: Any) -> Any:
    """Return a cell independently of its column's type: 3.0 is 3, since another row's 1.5 may have made it a float."""
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)
    if isinstance(cell, Decimal) and cell.is_finite():
        return int(cell) if cell == cell.to_integral_value() else Decimal(format(cell.normalize(), "f"))
    return cell


def object_array(objects: list[Any]) -> AnyArray:
    """Return a one-dimensional array of any objects."""
    result = np.empty(len(objects), dtype=object)
    for index, item in enumerate(objects):
        result[index] = item
    return result


def entries(array: AnyArray) -> list[Any]:
    """Return the entries of a one-dimensional array as Python objects, or the rows of an array of more dimensions."""
    if array.ndim > 1:
        return list(array.astype(np.float64) if array.dtype.kind in "iufb" else array)
    return list(array) if array.dtype == object else [normalize_cell(cell) for cell in array.tolist()]


def join_names(names: Sequence[str]) -> str:
    """Return names, up to a maximum number, as text for an error message."""
    return ", ".join(names[:MAX_NAMES]) + (f", … ({len(names):,} in all)" if len(names) > MAX_NAMES else "")


def cells_of(batch: pa.RecordBatch | AnyArray, names: Sequence[str], by_name: bool, first_row: int = 0) -> list[Any]:
    """Return the cells of each column, from a table by name or position or from rows (sequences, dicts or text)."""
    width = len(names)
    if isinstance(batch, pa.RecordBatch):
        present = batch.schema.names
        if not by_name and len(present) == width:
            return list(batch.columns)
        if len(present) == 1 and width > 1:
            return _columns(batch.column(0).to_pylist(), names, first_row)
        missing = [name for name in names if name not in present]
        if missing:
            raise MilepostError(f"the table has no column {missing[0]!r}; it has {join_names(present) or 'no columns'}")
        return [batch.column(present.index(name)) for name in names]
    if batch.ndim == 2 and batch.shape[1] == width:
        return [batch[:, i].tolist() for i in range(width)]
    return _columns(entries(batch), names, first_row)


def _columns(rows: list[Any], names: Sequence[str], first_row: int) -> list[Any]:
    """Return the columns of rows that are dicts, sequences or text."""
    cells = [_row(row, names, first_row + index + 1) for index, row in enumerate(rows)]
    return [list(column) for column in zip(*cells, strict=True)] if cells else [[] for _ in names]


def _row(row: Any, names: Sequence[str], number: int) -> list[Any]:
    """Return one value per column; refuse a row that does not fit. number: of the row in error messages, from 1."""
    if is_series(row):
        row = {str(name): value for name, value in row.items()}
    if hasattr(row, "_asdict"):  # a named tuple
        row = row._asdict()
    if isinstance(row, Mapping):
        absent = [name for name in names if name not in row]
        if absent:
            raise MilepostError(f"row {number} has no value for {absent[0]!r}; the columns are {join_names(names)}")
        return [row[name] for name in names]
    if len(names) == 1 and not isinstance(row, list | tuple | np.ndarray):
        return [row]
    if not isinstance(row, Sequence | np.ndarray) or len(row) != len(names):
        raise MilepostError(f"expected rows of {len(names)} values ({join_names(names)}), which row {number} is not")
    return list(row)


def is_series(point: Any) -> bool:
    """Return whether a point is a row of a pandas frame."""
    return package(point) == "pandas" and getattr(point, "ndim", 0) == 1


def package(data: Any) -> str:
    """Return the name of the library that defines the class of an object, or one of its base classes."""
    return package_of(type(data))


def package_of(kind: type) -> str:
    """Return the name of the library that defines a class, or one of its base classes."""
    roots = [base.__module__.split(".")[0] for base in kind.__mro__]
    return next((root for root in roots if root in TABLES), roots[0])


def objects_of(batch: pa.RecordBatch | AnyArray) -> list[Any]:
    """Return the objects of a batch: cells of one column, tuples of several, or entries or rows of an array."""
    if isinstance(batch, pa.RecordBatch):
        columns = [object_list(column) for column in batch.columns]
        return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))
    if batch.ndim == 2 and batch.dtype == object:  # rows of a frame
        return [tuple(row) for row in batch]
    return entries(batch)


def key(point: Any) -> Hashable:
    """Return a hashable key, the same for equal points; lists, arrays and sets are compared by their entries."""
    if isinstance(point, np.ndarray | np.generic):
        point = point.tolist()
    if isinstance(point, list | tuple):
        return tuple(key(part) for part in point)
    if isinstance(point, set):
        return frozenset(point)
    if not isinstance(point, Hashable):
        raise MilepostError(
            f"queries must be text, numbers, tuples, lists or arrays of numbers, or hashable objects, got a "
            f"{type(point).__name__}"
        )
    return point


def json_of(point: Any) -> Any:
    """Return a JSON value whose key equals that of a query; raise TypeError where there is none."""
    if isinstance(point, np.ndarray | np.generic):
        point = point.tolist()
    if isinstance(point, list | tuple):
        return [json_of(part) for part in point]
    if isinstance(point, str | bool | int) or (isinstance(point, float) and math.isfinite(point)):
        return point
    raise TypeError
