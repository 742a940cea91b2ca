"""Files: CSV and Parquet, one or several, as batches of rows, of the wanted columns only."""

import glob
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TypeAlias

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from milepost.errors import MilepostError
from milepost.ingest.column_selection import ColumnSelection
from milepost.ingest.progress import advance_share

CSV, PARQUET = (".csv", ".txt"), (".parquet",)
HIDDEN = (".", "_")  # as Spark names what is no data
NO_KEYS: Mapping[str, pa.Scalar] = MappingProxyType({})
Told: TypeAlias = Callable[[int], None]
BUFFER_BYTES = 1 << 16  # of one column of a Parquet file
BATCH_NUMBERS = 1 << 21  # of all columns: a batch of 16 MB


@dataclass(frozen=True)
class File:
    """A CSV or Parquet file.

    name: for errors. keys: columns that are said by the names of the folders it is in, city=Bonn.
    """

    path: Path
    name: str
    keys: Mapping[str, pa.Scalar] = field(default_factory=lambda: NO_KEYS)

    def __post_init__(self) -> None:
        if self.path.suffix.lower() not in (*CSV, *PARQUET):
            raise MilepostError(
                f"{self.path.name}: only CSV (.csv, .txt) and Parquet (.parquet) files are read from a path"
            )

    @property
    def parquet(self) -> bool:
        """Whether it is a Parquet file."""
        return self.path.suffix.lower() in PARQUET


def listed(path: Path) -> list[File]:
    """The files behind a path, in the order of their names: a file, a folder's and its subfolders', or a pattern's."""
    if path.is_dir():
        return _files(path, [inside for inside in path.rglob("*") if inside.is_file()])
    if glob.has_magic(str(path)) and not path.exists():
        fixed = _fixed(path)
        found = [Path(match) for match in glob.glob(str(path), recursive=True)]
        inside = [one for match in found for one in (match.rglob("*") if match.is_dir() else [match])]
        return _files(path, [one for one in inside if one.is_file()], fixed)
    return [File(path, path.name)]


def _fixed(pattern: Path) -> Path:
    """The folder down to which a pattern has no wildcards."""
    parts = pattern.parts
    first = next(k for k, part in enumerate(parts) if glob.has_magic(part))
    return Path(*parts[:first]) if first else Path()


def _files(given: Path, found: list[Path], base: Path | None = None) -> list[File]:
    """Those that may hold data; keys are told by folders below the base."""
    base = given if base is None else base
    shown = [one for one in found if not any(part.startswith(HIDDEN) for part in one.relative_to(base).parts)]
    usable = sorted({one for one in shown if one.suffix.lower() in (*CSV, *PARQUET)})
    if not usable:
        raise MilepostError(f"{given} has no CSV (.csv, .txt) or Parquet (.parquet) files")
    if len({one.suffix.lower() in PARQUET for one in usable}) > 1:
        raise MilepostError(f"{given} has CSV and Parquet files; name those to read with a pattern such as *.parquet")
    keys = _keys(usable, base)
    return [File(one, str(one.relative_to(base)), keys.get(one, NO_KEYS)) for one in usable]


def _keys(found: list[Path], base: Path) -> dict[Path, Mapping[str, pa.Scalar]]:
    """What the names of folders say, by file; the values of a key are whole numbers if all are, else text."""
    values: dict[str, list[str]] = {}
    for path in found:
        pairs = [part.partition("=") for part in path.relative_to(base).parts[:-1] if "=" in part]
        for key, _, value in pairs:
            values.setdefault(key, []).append(value)
    if not values:
        return {}
    for key, said in values.items():
        if len(said) != len(found):
            raise MilepostError(f"{base} has files with and without a folder {key}=…; read those of one kind at a time")
    from pyarrow.dataset import HivePartitioning, get_partition_keys

    whole = re.compile(r"-?\d{1,18}")
    kinds = {key: pa.int64() if all(map(whole.fullmatch, said)) else pa.string() for key, said in values.items()}
    partitioning = HivePartitioning(pa.schema(kinds))
    said_of = {path: get_partition_keys(partitioning.parse(str(path.relative_to(base)))) for path in found}
    return {path: {key: pa.scalar(said[key], kinds[key]) for key in kinds} for path, said in said_of.items()}


def read(path: Path, wanted: ColumnSelection, rows: int) -> Iterator[tuple[pa.RecordBatch, list[pa.Array]]]:
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
    advance_share((before + position) / whole)


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


def _parquet(file: File, wanted: ColumnSelection, rows: int) -> Iterator[tuple[pa.RecordBatch, int]]:
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


def _csv(file: File, wanted: ColumnSelection, told: Told) -> Iterator[tuple[pa.RecordBatch, int]]:
    """One type for a whole column, so that text is refused whichever block it stands in."""
    points: list[str] = []
    others: list[str] = []

    def convert(columns: list[str]) -> pa.csv.ConvertOptions:
        present = _with_keys(file, columns)
        points[:] = _names(file, present, wanted.points(present))
        others[:] = _names(file, present, wanted.others(present))
        types = dict.fromkeys(points, pa.string() if wanted.width else pa.float64())
        for name, other in zip(others, wanted.extra, strict=True):
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
