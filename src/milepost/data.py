"""Data: NumPy arrays, pandas and Polars frames, Arrow tables, CSV and Parquet files as batches of rows."""

import numbers
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from milepost.arrays import AnyArray
from milepost.errors import MilepostError
from milepost.geometry import located
from milepost.spaces.base import Space
from milepost.spaces.numeric import NO_ALIASES, Aliases, find, number
from milepost.spaces.objects import object_array, object_list, objects_of

BATCH_ROWS = 1 << 17
CSV = (".csv", ".txt")
BUFFER_BYTES = 1 << 16  # of one column of a Parquet file

Columns: TypeAlias = Sequence[str | int] | str | int | None
Batch: TypeAlias = pa.RecordBatch | AnyArray
Pick: TypeAlias = Callable[[Sequence[str]], list[int]]  # positions of the columns to use among those present


def batches(
    data: Any,
    columns: Columns = None,
    names: tuple[str, ...] | None = None,
    *,
    aliases: Aliases = NO_ALIASES,
    objects: bool = False,
    width: int = 1,
) -> Iterator[Batch]:
    """The rows of a table in batches: RecordBatches where columns have names, else arrays.

    columns: names or positions of the columns to use, in the order of the space; they then get the space's names.
    names, aliases: the space's own names and others for them, looked for when `columns` is not given.
    objects: rows are objects, as they are, rather than numbers; a file's are text. width: of how many columns.
    """
    if isinstance(columns, str | int):
        columns = [columns]
    if columns is not None and names is not None and len(columns) != len(names):
        raise MilepostError(f"columns must name {len(names)} columns for {', '.join(names)}, got {list(columns)}")
    pick = partial(_pick, columns=columns, names=names, aliases=aliases, width=width if objects else 0)
    for batch in (_object_batches if objects else _named_batches)(data, pick, columns is not None):
        if columns is None or names is None or isinstance(batch, np.ndarray):
            yield batch
        else:
            yield batch.rename_columns(list(names))


def count(data: Any) -> int:
    """How many rows a table has, before any is read as a point."""
    if isinstance(data, str | os.PathLike):
        path = Path(data)
        if path.suffix.lower() == ".parquet":
            with _parquet_file(path) as content:
                return int(content.metadata.num_rows)
        if path.suffix.lower() in CSV:
            return sum(batch.num_rows for batch in _csv_batches(path, lambda names: _typed(names, pa.string())))
        raise _unknown(path)
    _ = _is_polars(data)  # a lazy frame is refused
    try:
        return len(data)
    except TypeError:
        return len(_array(data))


def _object_batches(data: Any, pick: Pick, some: bool) -> Iterator[Batch]:
    if isinstance(data, str | os.PathLike):
        yield from _file(Path(data), pick, objects=True)
    elif isinstance(data, pa.Table | pa.RecordBatch):
        yield from _named_batches(data, pick, some)
    elif _is_polars(data) or (_is_pandas(data) and data.ndim == 2):
        for start in range(0, len(data), BATCH_ROWS):
            part = slice(start, start + BATCH_ROWS)  # of positions: pandas would take labels of a float index
            yield _object_rows(data.iloc[part] if _is_pandas(data) else data[part], pick)
    else:
        if some and isinstance(data, np.ndarray) and data.ndim == 2:
            data = data[:, pick([str(k) for k in range(data.shape[1])])]
        elif some:
            raise MilepostError("columns=[…] picks columns of a table, got a list; pick them before")
        rows = object_list(data)
        for start in range(0, len(rows), BATCH_ROWS):
            yield object_array(rows[start : start + BATCH_ROWS])


def _object_rows(frame: Any, pick: Pick) -> AnyArray:
    """Cells of a frame's column as they are, or rows of several columns' cells."""
    picked = pick([str(name) for name in frame.columns])
    series = [frame.iloc[:, k] if _is_pandas(frame) else frame.to_series(k) for k in picked]
    cells = [object_array(object_list(column)) for column in series]
    return cells[0] if len(cells) == 1 else np.column_stack(cells)


def _named_batches(data: Any, pick: Pick, some: bool) -> Iterator[Batch]:
    """Batches of the columns that `pick` takes; some: whether these are asked for, so that an array has them, too."""
    if isinstance(data, str | os.PathLike):
        yield from _file(Path(data), pick)
    elif isinstance(data, pa.Table | pa.RecordBatch):
        table = pa.Table.from_batches([data]) if isinstance(data, pa.RecordBatch) else data
        yield from table.select(pick(table.column_names)).to_batches(max_chunksize=BATCH_ROWS)
    elif _is_pandas(data):
        frame = data.to_frame() if data.ndim == 1 else data
        frame = frame.iloc[:, pick([str(name) for name in frame.columns])]
        for start in range(0, len(frame), BATCH_ROWS):
            yield _from_pandas(frame.iloc[start : start + BATCH_ROWS])
    elif _is_polars(data):
        picked = pick(data.columns)
        for start in range(0, len(data), BATCH_ROWS):
            yield _from_polars(data[start : start + BATCH_ROWS], picked)
    else:
        array = _array(data)
        if some:
            array = array[:, pick([str(k) for k in range(array.shape[1])])]
        for start in range(0, len(array), BATCH_ROWS):
            yield array[start : start + BATCH_ROWS]


def points(data: Any, space: Space, width: int | None = None) -> tuple[Batch, bool, Any]:
    """Query points as one batch, whether it was one single point, and a pandas index to keep (or None).

    width: columns of a point, where it is not the space's own. Polars frames have no index: their answers are arrays.
    """
    data = located(data, space)
    return _objects(data, space) if space.objects else _rows(data, space.width if width is None else width)


def _objects(data: Any, space: Space) -> tuple[AnyArray, bool, Any]:
    table = isinstance(data, pa.Table | pa.RecordBatch)
    if not table and (isinstance(data, str) or not hasattr(data, "__iter__") or space.knows(data)):
        return object_array([data]), True, None
    pick = partial(_pick, columns=None, names=space.columns, aliases=space.aliases, width=space.width)
    parts = [object_array(objects_of(batch)) for batch in _object_batches(data, pick, False)]
    index = data.index if _is_pandas(data) else None
    return np.concatenate(parts) if parts else object_array([]), False, index


def _rows(data: Any, width: int) -> tuple[Batch, bool, Any]:
    if _is_pandas(data):
        if data.ndim == 1:  # a Series: one point, or the values of a one-column space
            data = data.to_frame() if width == 1 else data.to_frame().T.infer_objects()
            return _from_pandas(data), width != 1, data.index if width == 1 else None
        return _from_pandas(data), False, data.index
    if _is_polars(data):
        return _from_polars(data, range(data.width)), False, None
    if isinstance(data, pa.Table):
        return data.combine_chunks().to_batches()[0] if len(data) else _empty(data), False, None
    if isinstance(data, pa.RecordBatch):
        return data, False, None
    if isinstance(data, dict):
        raise MilepostError("query points must be a point, a list of points or a frame, got a dict")
    array = _values(data)
    if array.ndim == 0 and width == 1:
        return array.reshape(1, 1), True, None
    if array.ndim == 1 and width == 1 and len(array) != 1:  # values of a one-column space
        return array.reshape(-1, 1), False, None
    if array.ndim == 1:
        return array.reshape(1, -1), True, None
    return array, False, None


def _values(data: Any) -> AnyArray:
    try:
        return np.asarray(data)
    except ValueError:
        raise MilepostError(
            "points must have the same number of coordinates each, got rows of different lengths"
        ) from None


def _array(data: Any) -> AnyArray:
    array = _values(data)
    if array.ndim == 1 and array.dtype.kind in "iufb":
        array = array[:, None]
    if array.ndim != 2:
        raise MilepostError(
            "data must be a 2-D array, a pandas or Polars frame, an Arrow table or the path of a CSV or Parquet file, "
            f"got {type(data).__name__} with {array.ndim} dimensions"
        )
    return array


def _is_pandas(data: Any) -> bool:
    return type(data).__module__.split(".")[0] == "pandas"


def _is_polars(data: Any) -> bool:
    """Whether it is a Polars frame; a Series is read as an array, and a lazy frame is refused."""
    if type(data).__module__.split(".")[0] != "polars" or type(data).__name__ == "Series":
        return False
    if type(data).__name__ != "DataFrame":
        raise MilepostError(f"expected a Polars DataFrame, got a {type(data).__name__}; collect() it first")
    return True


def _from_polars(frame: Any, picked: Sequence[int]) -> pa.RecordBatch:
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


def _from_pandas(frame: Any) -> pa.RecordBatch:
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


def _empty(table: pa.Table) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in table.schema], schema=table.schema)


def _pick(
    present: Sequence[str], columns: Columns, names: Sequence[str] | None, aliases: Aliases, width: int
) -> list[int]:
    """Positions of the wanted columns, by name or by position; the space's own where it has names, else all.

    width: of objects, 0 for numbers; which columns hold objects is not guessed.
    """
    if width and columns is None and names is None and len(present) != width:
        raise MilepostError(
            f"the table has the columns {', '.join(present)}; say with columns=[…] which one holds the objects, or "
            "which ones, for tuples of them"
        )
    if columns is None:
        absent = [name for name in names or () if find(present, name, aliases) is None]
        if width and absent:
            raise MilepostError(f"the table has no column {absent[0]!r}; it has {', '.join(present) or 'no columns'}")
        found = [position for name in names or () if (position := find(present, name, aliases)) is not None]
        return found if names is not None and len(found) == len(names) else list(range(len(present)))
    picked = []
    for wanted in [columns] if isinstance(columns, str | int) else columns:
        if isinstance(wanted, str) and wanted in present:
            picked.append(list(present).index(wanted))
        elif isinstance(wanted, int) and not isinstance(wanted, bool) and 0 <= wanted < len(present):
            picked.append(wanted)
        else:
            raise MilepostError(f"columns: the table has no column {wanted!r}; it has {', '.join(present)}")
    return picked


def _file(path: Path, pick: Pick, objects: bool = False) -> Iterator[pa.RecordBatch]:
    if path.suffix.lower() == ".parquet":
        return _parquet(path, pick)
    if path.suffix.lower() in CSV:
        return _csv(path, pick, objects)
    raise _unknown(path)


def _unknown(path: Path) -> MilepostError:
    return MilepostError(f"{path.name}: only CSV (.csv, .txt) and Parquet (.parquet) files are read from a path")


def _wanted(path: Path, present: Sequence[str], pick: Pick) -> list[str]:
    wanted = [present[position] for position in pick(present)]
    for name in wanted:
        if present.count(name) > 1:  # files are read by name
            raise MilepostError(f"{path.name} has {present.count(name)} columns with the name {name!r}; rename them")
    return wanted


@contextmanager
def _parquet_file(path: Path) -> Iterator[pa.parquet.ParquetFile]:
    try:
        # Arrow's default is to fetch all row groups ahead, which would hold the whole file
        with (
            path.open("rb") as stream,
            pa.parquet.ParquetFile(stream, buffer_size=BUFFER_BYTES, pre_buffer=False) as content,
        ):
            yield content
    except FileNotFoundError:
        raise MilepostError(f"there is no file {path}") from None
    except (OSError, pa.ArrowException):  # Arrow's reason may quote private values
        raise MilepostError(f"{path.name} cannot be read: it is not a Parquet file, or is damaged") from None


def _parquet(path: Path, pick: Pick) -> Iterator[pa.RecordBatch]:
    """A batch at a time, of the wanted columns only, however large the row groups are."""
    with _parquet_file(path) as content:
        wanted = _wanted(path, content.schema_arrow.names, pick)
        for batch in content.iter_batches(BATCH_ROWS, columns=list(dict.fromkeys(wanted))):
            yield batch.select(wanted)


def _csv(path: Path, pick: Pick, objects: bool) -> Iterator[pa.RecordBatch]:
    # one type for a whole column, so that text is refused whichever block it stands in
    kind = pa.string() if objects else pa.float64()
    return _csv_batches(path, lambda present: _typed(_wanted(path, present, pick), kind, only=True))


def _typed(names: Sequence[str], kind: pa.DataType, only: bool = False) -> pa.csv.ConvertOptions:
    return pa.csv.ConvertOptions(include_columns=list(names) if only else [], column_types=dict.fromkeys(names, kind))


def _csv_batches(path: Path, convert: Callable[[list[str]], pa.csv.ConvertOptions]) -> Iterator[pa.RecordBatch]:
    """The rows of a CSV file; convert: how to read its columns, once their names are known."""
    present: list[str] = []
    try:
        # each reader has a stream of its own: a closed reader's thread may still be reading ahead
        names = pa.csv.ParseOptions(newlines_in_values=True)
        with path.open("rb") as stream, pa.csv.open_csv(stream, parse_options=names) as reader:
            present = reader.schema.names
        # a quoted line break is part of its cell, wherever Arrow's blocks end; an empty line of a single column is
        # an empty cell
        parse = pa.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=len(present) > 1)
        options = convert(present)
        with path.open("rb") as stream, pa.csv.open_csv(stream, convert_options=options, parse_options=parse) as reader:
            yield from (batch for batch in reader if batch.num_rows)
    except FileNotFoundError:
        raise MilepostError(f"there is no file {path}") from None
    except OSError as error:
        raise MilepostError(f"{path.name} cannot be read: {error.strerror or 'unknown reason'}") from None
    except pa.ArrowInvalid as error:
        raise MilepostError(_csv_reason(str(error), path, present)) from None


def _csv_reason(reason: str, path: Path, present: Sequence[str]) -> str:
    """Arrow's reason may quote a private value: keep the column only."""
    if "empty csv" in reason.lower():
        return f"{path.name} is empty; the first row must name the columns"
    found = re.search(r"CSV column #(\d+)", reason)
    where = f"column {present[int(found.group(1))]!r} of {path.name}" if found else path.name
    return f"{where} holds something that is not a number, or rows of different lengths; give columns of numbers only"
