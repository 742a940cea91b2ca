"""Files: CSV and Parquet, one or several, as batches of rows, of the wanted columns only."""

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from milepost.errors import MilepostError
from milepost.folder import File, listed
from milepost.progress import passed
from milepost.wanted import Wanted

Told: TypeAlias = Callable[[int], None]
BUFFER_BYTES = 1 << 16  # of one column of a Parquet file
BATCH_NUMBERS = 1 << 21  # of all columns: a batch of 16 MB


def read(path: Path, wanted: Wanted, rows: int) -> Iterator[tuple[pa.RecordBatch, list[pa.Array]]]:
    """Batches of the points' columns, each with the cells of those beside them; of so many rows at most.

    path: of a file, a folder or a pattern; the columns of several files must be alike.
    """
    first: tuple[str, pa.Schema] | None = None
    found = listed(path)
    for file, told in zip(found, _shares(found), strict=True):
        try:
            for batch, width in _parquet(file, wanted, rows) if file.parquet else _csv(file, wanted, told):
                if first is None:
                    first = file.name, batch.schema
                _check_alike(*first, file.name, batch.schema)
                yield split(batch, width)
        except MilepostError as reason:
            if len(found) == 1 or file.name in str(reason):
                raise
            raise MilepostError(f"{file.name}: {reason}") from None


def count(path: Path) -> int:
    """How many rows there are in the file, or all the files, of a path."""
    found = listed(path)
    return sum(_count(file, told) for file, told in zip(found, _shares(found), strict=True))


def countable(path: Path) -> bool:
    """Whether `count` needs to read no rows."""
    return all(file.parquet for file in listed(path))


def _count(file: File, told: Told) -> int:
    if not file.parquet:
        return sum(batch.num_rows for batch in _csv_batches(file, _as_text, told))
    with _parquet_file(file) as content:
        return int(content.metadata.num_rows)


def _shares(found: Sequence[File]) -> Iterator[Told]:
    """For each file, what is told how many of its bytes are read, where these say how far all of them are."""
    sizes = [0 if file.parquet or not file.path.exists() else file.path.stat().st_size for file in found]
    whole = max(1, sum(sizes))
    for before in itertools.accumulate(sizes[:-1], initial=0):
        yield partial(_passed, before, whole)


def _passed(before: int, whole: int, position: int) -> None:
    passed((before + position) / whole)


def _check_alike(first: str, expected: pa.Schema, name: str, found: pa.Schema) -> None:
    """Refuse a file whose columns have other names or types than those of the first one."""
    for one, other in zip(expected, found, strict=True):
        if (one.name, one.type) != (other.name, other.type):
            raise MilepostError(
                f"{first} has {one.type} in its column {one.name!r}, {name} has {other.type} in {other.name!r}; files "
                "that are read together must have the same columns of the same types"
            )


def split(batch: pa.RecordBatch, width: int) -> tuple[pa.RecordBatch, list[pa.Array]]:
    """The first columns, and the others' cells."""
    if batch.num_columns == width:
        return batch, []
    return batch.select(list(range(width))), list(batch.columns[width:])


def _names(file: File, present: Sequence[str], positions: Sequence[int]) -> list[str]:
    names, times = [present[position] for position in positions], Counter(present)
    for name in names:
        if times[name] > 1:  # files are read by name
            raise MilepostError(f"{file.name} has {times[name]} columns with the name {name!r}; rename them")
    return names


@contextmanager
def _parquet_file(file: File) -> Iterator[pa.parquet.ParquetFile]:
    try:
        # Arrow's default is to fetch all row groups ahead, which would hold the whole file
        with (
            pa.OSFile(str(file.path)) as stream,  # one of Python's would have threads wait for each other
            pa.parquet.ParquetFile(stream, buffer_size=BUFFER_BYTES, pre_buffer=False) as content,
        ):
            yield content
    except FileNotFoundError:
        raise MilepostError(f"there is no file {file.path}") from None
    except (OSError, pa.ArrowException):  # Arrow's reason may quote private values
        raise MilepostError(f"{file.name} cannot be read: it is not a Parquet file, or is damaged") from None


def _parquet(file: File, wanted: Wanted, rows: int) -> Iterator[tuple[pa.RecordBatch, int]]:
    """A batch at a time, of the wanted columns only, however large the row groups are; the points' columns first."""
    with _parquet_file(file) as content:
        present = _with_keys(file, content.schema_arrow.names)
        picked = wanted.points(present)
        names = _names(file, present, [*picked, *wanted.others(present)])
        stored = [name for name in dict.fromkeys(names) if name not in file.keys]
        few = max(1, min(rows, BATCH_NUMBERS // max(1, len(stored))))
        for batch in content.iter_batches(few, columns=stored):
            yield _picked(batch, file, names), len(picked)


def _with_keys(file: File, present: Sequence[str]) -> list[str]:
    """The columns of a file, and those that its folders' names say, which go before its own of the same name."""
    return [*present, *(key for key in file.keys if key not in present)]


def _picked(batch: pa.RecordBatch, file: File, names: Sequence[str]) -> pa.RecordBatch:
    """Columns of a batch and of the file's keys, by name."""
    columns = [
        pa.repeat(file.keys[name], batch.num_rows) if name in file.keys else batch.column(name) for name in names
    ]
    return pa.RecordBatch.from_arrays(columns, names=list(names))


def _csv(file: File, wanted: Wanted, told: Told) -> Iterator[tuple[pa.RecordBatch, int]]:
    """One type for a whole column, so that text is refused whichever block it stands in."""
    points: list[str] = []
    others: list[str] = []

    def convert(columns: list[str]) -> pa.csv.ConvertOptions:
        present = _with_keys(file, columns)
        points[:] = _names(file, present, wanted.points(present))
        others[:] = _names(file, present, wanted.others(present))
        types = dict.fromkeys(points, pa.string() if wanted.width else pa.float64())
        for name, other in zip(others, wanted.beside, strict=True):
            kind = pa.float64() if other.numbers else pa.string()
            if types.setdefault(name, kind) != kind:
                raise MilepostError(
                    f"column {name!r} of {file.name} cannot be read as numbers and as text at once, as a column of the "
                    f"points and as {other.role}; repeat it under another name"
                )
        stored = [name for name in types if name not in file.keys]
        return pa.csv.ConvertOptions(include_columns=stored, column_types=types)

    for batch in _csv_batches(file, convert, told):
        yield _picked(batch, file, [*points, *others]), len(points)


def _as_text(names: list[str]) -> pa.csv.ConvertOptions:
    return pa.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()))


def _csv_batches(
    file: File, convert: Callable[[list[str]], pa.csv.ConvertOptions], told: Told
) -> Iterator[pa.RecordBatch]:
    """The rows of a CSV file; convert: how to read its columns, once their names are known."""
    present: list[str] = []
    try:
        # each reader has a stream of its own: a closed reader's thread may still be reading ahead
        names = pa.csv.ParseOptions(newlines_in_values=True)
        with file.path.open("rb") as stream, pa.csv.open_csv(stream, parse_options=names) as reader:
            present = reader.schema.names
        # a quoted line break is part of its cell, wherever Arrow's blocks end; an empty line of a single column is
        # an empty cell
        parse = pa.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=len(present) > 1)
        options = convert(present)
        with (
            file.path.open("rb") as stream,
            pa.csv.open_csv(stream, convert_options=options, parse_options=parse) as reader,
        ):
            for batch in reader:
                told(stream.tell())
                if batch.num_rows:
                    yield batch
    except FileNotFoundError:
        raise MilepostError(f"there is no file {file.path}") from None
    except OSError as error:
        raise MilepostError(f"{file.name} cannot be read: {error.strerror or 'unknown reason'}") from None
    except UnicodeDecodeError:  # of the first row: Arrow looks at names last
        raise MilepostError(f"the first row of {file.name} is not in UTF-8; save the file in that encoding") from None
    except pa.ArrowInvalid as error:
        raise MilepostError(_csv_reason(str(error), file, present)) from None


def _csv_reason(reason: str, file: File, present: Sequence[str]) -> str:
    """Arrow's reason may quote a private value: keep the column only."""
    if "empty csv" in reason.lower():
        return f"{file.name} is empty; the first row must name the columns"
    found = re.search(r"CSV column #(\d+)", reason)
    where = f"column {present[int(found.group(1))]!r} of {file.name}" if found else file.name
    if "UTF8" in reason:
        return f"{where} holds text that is not in UTF-8; save the file in that encoding"
    return f"{where} holds something that is not a number, or rows of different lengths; give columns of numbers only"
