"""Batches of rows from arrays, frames, Arrow tables and datasets, streams, CSV and Parquet files."""

import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from milepost._typing import AnyArray
from milepost._validation import unmask
from milepost.errors import MilepostError
from milepost.ingest import files
from milepost.ingest.column_selection import NUMBER_ROLES, ColumnSelection, ExtraColumn
from milepost.ingest.dataframes import check_rows, from_pandas, from_polars, is_pandas, is_polars, to_readable
from milepost.ingest.stream import Stream
from milepost.spaces.base import Space
from milepost.spaces.objects import SPARK, entries, object_array, object_list, package
from milepost.storage.paths import READ_REMEDY, local_path

BATCH_ROWS = 1 << 18

ARROW_DTYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "str", "string")

Columns: TypeAlias = Sequence[str | int] | str | int | None
Batch: TypeAlias = pa.RecordBatch | AnyArray
Cells: TypeAlias = pa.Array | AnyArray | list[Any]  # of one column
Part: TypeAlias = tuple[Batch, list[Cells]]  # points, and the cells of the same rows in other columns


def batches(data: Any, selection: ColumnSelection) -> Iterator[Batch]:
    """Yield the selected columns of a table in batches: RecordBatches where columns have names, else arrays."""
    for batch, _ in batches_with_cells(data, selection):
        yield batch


def batches_with_cells(data: Any, selection: ColumnSelection) -> Iterator[Part]:
    """Yield the batches, each with the cells of its rows in the extra columns, in one pass.

    Cells of numbers are a NumPy or Arrow array; others are an Arrow array or a list. Objects of a file are text.
    """
    names = None if selection.selected is None else selection.names
    for batch, cells in (_object_parts if selection.width else _named_parts)(data, selection):
        yield batch if names is None or isinstance(batch, np.ndarray) else batch.rename_columns(list(names)), cells


def space_batches(
    data: Any, space: Space, columns: Columns = None, extra: tuple[ExtraColumn, ...] = ()
) -> Iterator[Part]:
    """Yield the batches as a space reads them, with the cells of extra columns."""
    yield from batches_with_cells(data, ColumnSelection.of_space(space, columns, extra))


def column_cells(data: Any, role: str, numbers: bool = False) -> Cells:
    """Return a list, an array or a Series as the cells of a column; role: its purpose, for errors."""
    data = unmask(data)
    if len(getattr(data, "shape", (0,))) != 1 or getattr(getattr(data, "dtype", None), "names", None) is not None:
        raise MilepostError(f"{role} must be a column's name or a list with one entry a row, got several columns")
    if not numbers:
        return object_list(data)
    if is_pandas(data):
        return from_pandas(data.to_frame(role)).column(0)
    if package(data) == "polars":
        return from_polars(data.to_frame(role), [0]).column(0)
    if isinstance(data, pa.ChunkedArray):
        return data.combine_chunks()
    return data if isinstance(data, pa.Array | np.ndarray) else list(data)


def open_stream(data: Any) -> Any:
    """Return an iterator of batches as a Stream, an iterator of rows as a list, tables and files as they are."""
    if package(data) == SPARK:  # whose rows stay where they are
        return data
    data = to_readable(data)
    if isinstance(data, pa.RecordBatchReader):
        return Stream(iter(data))
    if not isinstance(data, Iterator):
        return data
    first = list(itertools.islice(data, 1))
    rest = itertools.chain(first, data)
    return Stream(rest) if first and _is_batch(first[0]) else to_readable(list(rest))


def rereadable(data: Any) -> Any:
    """Return the data as a table that can be read more than once."""
    data = open_stream(data)
    return data.buffered() if isinstance(data, Stream) else data


def countable(data: Any) -> bool:
    """Return whether the number of rows is known without reading them."""
    if isinstance(data, str | os.PathLike):
        return files.countable(local_path(data, READ_REMEDY))
    return not (isinstance(data, Stream) and data.single_pass)


def count(data: Any) -> int:
    """Return the number of rows of a table, without reading them as points."""
    if isinstance(data, str | os.PathLike):
        return files.count(local_path(data, READ_REMEDY))
    if isinstance(data, Stream):
        return sum(map(len, data))
    if _is_dataset(data):
        return int(data.count_rows())
    _ = is_polars(data)  # a lazy frame is refused
    try:
        return len(data)
    except TypeError:
        return len(_array(data))


def known_count(data: Any) -> int | None:
    """Return the number of rows of a table if it is known without reading them, else None."""
    return count(data) if countable(data) else None


def _stream_parts(
    stream: Stream, selection: ColumnSelection, parts: Callable[[Any, ColumnSelection], Iterator[Part]]
) -> Iterator[Part]:
    """Yield the parts of all batches, which must have the same columns of the same types."""
    first: pa.Schema | type | None = None
    for number, batch in enumerate(stream, 1):
        if not _is_batch(batch):
            raise MilepostError(
                f"batch {number} is a {type(batch).__name__}; expected an Arrow batch, a frame or a 2-D array"
            )
        for part in parts(to_readable(batch), selection):
            kind = part[0].schema if isinstance(part[0], pa.RecordBatch) else type(part[0])
            first = kind if first is None else first
            if kind != first:
                raise MilepostError(
                    f"batch {number} has other columns or types than the first; all batches must have the same"
                )
            yield part


def _dataset_parts(data: Any, selection: ColumnSelection) -> Iterator[Part]:
    """Yield the parts of a pyarrow dataset, which is read a few batches ahead."""
    present = data.schema.names
    positions = selection.points(present)
    names = [present[position] for position in (*positions, *selection.others(present))]
    try:
        columns = list(dict.fromkeys(names))
        for batch in data.to_batches(columns=columns, batch_size=BATCH_ROWS, batch_readahead=4, fragment_readahead=1):
            if batch.num_rows:
                yield files.split(batch.select(names), len(positions))
    except (OSError, pa.ArrowException):  # its reason may quote private values
        raise MilepostError(
            "the dataset cannot be read: a file is missing or damaged, or has other columns or types than the others"
        ) from None


def _object_parts(data: Any, selection: ColumnSelection) -> Iterator[Part]:
    if isinstance(data, str | os.PathLike):
        yield from files.read(local_path(data, READ_REMEDY), selection, BATCH_ROWS)
    elif isinstance(data, Stream):
        yield from _stream_parts(data, selection, _object_parts)
    elif isinstance(data, pa.Table | pa.RecordBatch) or _is_dataset(data):
        yield from _named_parts(data, selection)
    elif is_polars(data) or (is_pandas(data) and data.ndim == 2):
        for start in range(0, len(data), BATCH_ROWS):
            part = slice(start, start + BATCH_ROWS)  # of positions: pandas would take labels of a float index
            yield _object_rows(data.iloc[part] if is_pandas(data) else data[part], selection)
    else:
        others: list[Cells] = []
        if isinstance(data, np.ndarray) and data.ndim == 2:
            data, others = _array_columns(data, selection)
        elif selection.selected is not None:
            raise MilepostError(
                "columns=[…] selects columns of a table, got a list of objects; select them before the call"
            )
        elif selection.extra:
            role, _ = selection.extra[0]
            raise MilepostError(f"{role}: a list of objects has no columns; give {role}=[…] with one entry a row")
        rows = object_list(data)
        for start in range(0, len(rows), BATCH_ROWS):
            part = slice(start, start + BATCH_ROWS)
            yield object_array(rows[part]), [cells[part] for cells in others]


def _object_rows(frame: Any, selection: ColumnSelection) -> Part:
    """Return the cells of one column as they are, or of several columns as rows, with those of extra columns."""
    present = [str(name) for name in frame.columns]
    cells = [object_array(object_list(_series(frame, k))) for k in selection.points(present)]
    return cells[0] if len(cells) == 1 else np.column_stack(cells), _frame_cells(frame, selection)


def _series(frame: Any, position: int) -> Any:
    return frame.iloc[:, position] if is_pandas(frame) else frame.to_series(position)


def _frame_cells(frame: Any, selection: ColumnSelection) -> list[Cells]:
    """Return the cells of a frame's extra columns."""
    result: list[Cells] = []
    positions = selection.others([str(name) for name in frame.columns])
    for position, (role, _) in zip(positions, selection.extra, strict=True):
        series = _series(frame, position)
        if role not in NUMBER_ROLES:
            cells = _arrow_cells(series)
            result.append(object_list(series) if cells is None else cells)
        elif is_pandas(frame):
            result.append(from_pandas(frame.iloc[:, [position]]).column(0))
        else:
            result.append(from_polars(frame, [position]).column(0))
    return result


def _arrow_cells(series: Any) -> pa.Array | None:
    """Return a column of text or whole numbers as an Arrow array, which is quick; None for other columns."""
    if str(series.dtype).lower() not in ARROW_DTYPES:
        return None
    cells = pa.array(series, from_pandas=True) if is_pandas(series) else series.to_arrow()
    return cells.combine_chunks() if isinstance(cells, pa.ChunkedArray) else cells


def _array_columns(array: AnyArray, selection: ColumnSelection) -> tuple[AnyArray, list[Cells]]:
    """Return the columns of points, by default all that have no role, and the cells of extra columns."""
    present = [str(k) for k in range(array.shape[1])]
    others: list[Cells] = [
        array[:, position] if role in NUMBER_ROLES else entries(array[:, position])
        for position, (role, _) in zip(selection.others(present), selection.extra, strict=True)
    ]
    if selection.selected is not None:
        array = array[:, selection.points(present)]
    elif others:
        array = np.delete(array, selection.others(present), axis=1)
    return array, others


def _named_parts(data: Any, selection: ColumnSelection) -> Iterator[Part]:
    """Yield the parts of a table of numbers, with column names where the table has them."""
    if isinstance(data, str | os.PathLike):
        yield from files.read(local_path(data, READ_REMEDY), selection, BATCH_ROWS)
    elif isinstance(data, Stream):
        yield from _stream_parts(data, selection, _named_parts)
    elif _is_dataset(data):
        yield from _dataset_parts(data, selection)
    elif isinstance(data, pa.Table | pa.RecordBatch):
        table = pa.Table.from_batches([data]) if isinstance(data, pa.RecordBatch) else data
        positions = selection.points(table.column_names)
        subset = table.select([*positions, *selection.others(table.column_names)])
        for batch in subset.to_batches(max_chunksize=BATCH_ROWS):
            yield files.split(batch, len(positions))
    elif is_pandas(data):
        frame = data.to_frame() if data.ndim == 1 else data
        points = frame.iloc[:, selection.points([str(name) for name in frame.columns])]
        for start in range(0, len(frame), BATCH_ROWS):
            part = slice(start, start + BATCH_ROWS)
            yield from_pandas(points.iloc[part]), _frame_cells(frame.iloc[part], selection) if selection.extra else []
    elif is_polars(data):
        positions = selection.points(data.columns)
        for start in range(0, len(data), BATCH_ROWS):
            rows = data[start : start + BATCH_ROWS]
            yield from_polars(rows, positions), _frame_cells(rows, selection)
    else:
        if selection.selected is None:
            check_rows(data, selection.names, selection.aliases, [column for _, column in selection.extra])
        array, others = _array_columns(_array(data, bool(selection.extra)), selection)
        for start in range(0, len(array), BATCH_ROWS):
            part = slice(start, start + BATCH_ROWS)
            yield array[part], [cells[part] for cells in others]


def values(data: Any, mixed: bool = False) -> AnyArray:
    """Return rows of numbers, or of any objects if `mixed`, as an array of any shape."""
    try:
        # text among rows of numbers would make text of them all
        return np.array(data, dtype=object) if mixed and isinstance(data, Sequence) else np.asarray(data)
    except ValueError:
        raise MilepostError(
            "points must have the same number of coordinates each, got rows of different lengths"
        ) from None


def _array(data: Any, mixed: bool = False) -> AnyArray:
    array = values(data, mixed)
    if array.ndim == 1 and array.dtype.kind in "iufb":
        array = array[:, None]
    if array.ndim != 2:
        got = f"an array of {array.ndim} dimensions" if array.ndim else type(data).__name__
        hint = "; make a frame of it, pd.DataFrame(data)" if isinstance(data, dict) else ""
        if hasattr(data, "toarray"):  # a sparse matrix
            hint = "; give what its toarray() has, or fewer columns"
        raise MilepostError(
            "data must be a 2-D array, a pandas or Polars frame, an Arrow table or the path of a CSV or Parquet file, "
            f"got {got}{hint}"
        )
    return array


def _is_batch(data: Any) -> bool:
    """Return whether the data is a batch of rows rather than one row."""
    if isinstance(data, np.ndarray):
        return data.ndim == 2
    return isinstance(data, pa.Table | pa.RecordBatch) or (is_pandas(data) and data.ndim == 2) or is_polars(data)


def _is_dataset(data: Any) -> bool:
    return type(data).__module__ == "pyarrow._dataset" and hasattr(data, "to_batches")
