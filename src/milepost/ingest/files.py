"""CSV and Parquet files, one or several, as batches of rows with the selected columns only."""

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
from milepost.ingest.column_selection import NUMBER_ROLES, ColumnSelection
from milepost.ingest.progress import advance_share

CSV, PARQUET = (".csv", ".txt"), (".parquet",)
HIDDEN = (".", "_")  # how Spark names files without data
NO_KEYS: Mapping[str, pa.Scalar] = MappingProxyType({})
ReportBytes: TypeAlias = Callable[[int], None]
BUFFER_BYTES = 1 << 16  # of one column of a Parquet file
BATCH_NUMBERS = 1 << 21  # of all columns: a batch of 16 MB


@dataclass(frozen=True)
class File:
    """A CSV or Parquet file.

    name: for errors. keys: columns whose values are in the names of its folders, as in city=Bonn.
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
        """Return whether it is a Parquet file."""
        return self.path.suffix.lower() in PARQUET


def list_files(path: Path) -> list[File]:
    """Return the files of a path in the order of their names: a file, all files below a folder, or of a pattern."""
    if path.is_dir():
        return _data_files(path, [entry for entry in path.rglob("*") if entry.is_file()])
    if glob.has_magic(str(path)) and not path.exists():
        base = _base_folder(path)
        matches = [Path(match) for match in glob.glob(str(path), recursive=True)]
        entries = [entry for match in matches for entry in (match.rglob("*") if match.is_dir() else [match])]
        return _data_files(path, [entry for entry in entries if entry.is_file()], base)
    return [File(path, path.name)]


def _base_folder(pattern: Path) -> Path:
    """Return the folder down to which a pattern has no wildcards."""
    parts = pattern.parts
    first = next(k for k, part in enumerate(parts) if glob.has_magic(part))
    return Path(*parts[:first]) if first else Path()


def _data_files(path: Path, candidates: list[Path], base: Path | None = None) -> list[File]:
    """Return the candidates that may hold data; folders below the base give their keys."""
    base = path if base is None else base
    visible = [file for file in candidates if not any(part.startswith(HIDDEN) for part in file.relative_to(base).parts)]
    usable = sorted({file for file in visible if file.suffix.lower() in (*CSV, *PARQUET)})
    if not usable:
        raise MilepostError(f"{path} has no CSV (.csv, .txt) or Parquet (.parquet) files")
    if len({file.suffix.lower() in PARQUET for file in usable}) > 1:
        raise MilepostError(f"{path} has CSV and Parquet files; name those to read with a pattern such as *.parquet")
    keys = _keys(usable, base)
    return [File(file, str(file.relative_to(base)), keys.get(file, NO_KEYS)) for file in usable]


def _keys(paths: list[Path], base: Path) -> dict[Path, Mapping[str, pa.Scalar]]:
    """Return the keys in folder names, by file; the values of a key are whole numbers if all are, else text."""
    values: dict[str, list[str]] = {}
    for path in paths:
        pairs = [part.partition("=") for part in path.relative_to(base).parts[:-1] if "=" in part]
        for key, _, value in pairs:
            values.setdefault(key, []).append(value)
    if not values:
        return {}
    for key, texts in values.items():
        if len(texts) != len(paths):
            raise MilepostError(f"{base} has files with and without a folder {key}=…; read those of one kind at a time")
    from pyarrow.dataset import HivePartitioning, get_partition_keys

    integer = re.compile(r"-?\d{1,18}")
    kinds = {key: pa.int64() if all(map(integer.fullmatch, texts)) else pa.string() for key, texts in values.items()}
    partitioning = HivePartitioning(pa.schema(kinds))
    keys_of = {path: get_partition_keys(partitioning.parse(str(path.relative_to(base)))) for path in paths}
    return {path: {key: pa.scalar(keys[key], kinds[key]) for key in kinds} for path, keys in keys_of.items()}


def read(path: Path, selection: ColumnSelection, rows: int) -> Iterator[tuple[pa.RecordBatch, list[pa.Array]]]:
    """Yield batches of the points' columns, each with the cells of extra columns.

    path: a file, a folder or a pattern; several files must have the same columns. rows: maximum of a Parquet batch.
    """
    first: tuple[str, pa.Schema] | None = None
    files = list_files(path)
    for file, report in zip(files, _byte_reports(files), strict=True):
        try:
            for batch, width in _parquet(file, selection, rows) if file.parquet else _csv(file, selection, report):
                if first is None:
                    first = file.name, batch.schema
                _check_same_columns(*first, file.name, batch.schema)
                yield split(batch, width)
        except MilepostError as reason:
            if len(files) == 1 or file.name in str(reason):
                raise
            raise MilepostError(f"{file.name}: {reason}") from None


def count(path: Path) -> int:
    """Return the number of rows in all files of a path."""
    files = list_files(path)
    return sum(_count(file, report) for file, report in zip(files, _byte_reports(files), strict=True))


def countable(path: Path) -> bool:
    """Return whether `count` needs to read no rows."""
    return all(file.parquet for file in list_files(path))


def _count(file: File, report: ReportBytes) -> int:
    if not file.parquet:
        return sum(batch.num_rows for batch in _csv_batches(file, _as_text, report))
    with _parquet_file(file) as content:
        return int(content.metadata.num_rows)


def _byte_reports(files: Sequence[File]) -> Iterator[ReportBytes]:
    """Yield for each file a function that takes its position in bytes and reports the progress over all files."""
    sizes = [0 if file.parquet or not file.path.exists() else file.path.stat().st_size for file in files]
    total = max(1, sum(sizes))
    for before in itertools.accumulate(sizes[:-1], initial=0):
        yield partial(_report_bytes, before, total)


def _report_bytes(before: int, total: int, position: int) -> None:
    advance_share((before + position) / total)


def _check_same_columns(first: str, expected: pa.Schema, name: str, schema: pa.Schema) -> None:
    """Refuse a file whose columns have other names or types than those of the first file."""
    for left, right in zip(expected, schema, strict=True):
        if (left.name, left.type) != (right.name, right.type):
            raise MilepostError(
                f"{first} has {left.type} in its column {left.name!r}, {name} has {right.type} in {right.name!r}; "
                "files that are read together must have the same columns of the same types"
            )


def split(batch: pa.RecordBatch, width: int) -> tuple[pa.RecordBatch, list[pa.Array]]:
    """Return the first columns as a batch, and the cells of the others."""
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
        # Arrow's default is to fetch all row groups ahead, which would hold the whole file in memory
        with (
            pa.OSFile(str(file.path)) as stream,  # one of Python's would have threads wait for each other
            pa.parquet.ParquetFile(stream, buffer_size=BUFFER_BYTES, pre_buffer=False) as content,
        ):
            yield content
    except FileNotFoundError:
        raise MilepostError(f"there is no file {file.path}") from None
    except (OSError, pa.ArrowException):  # Arrow's reason may quote private values
        raise MilepostError(f"{file.name} cannot be read: it is not a Parquet file, or is damaged") from None


def _parquet(file: File, selection: ColumnSelection, rows: int) -> Iterator[tuple[pa.RecordBatch, int]]:
    """Yield batches of the selected columns and the number of the points' columns, which come first.

    Batches are small, whatever the size of the row groups.
    """
    with _parquet_file(file) as content:
        present = _with_keys(file, content.schema_arrow.names)
        positions = selection.points(present)
        names = _names(file, present, [*positions, *selection.others(present)])
        in_file = [name for name in dict.fromkeys(names) if name not in file.keys]
        batch_rows = max(1, min(rows, BATCH_NUMBERS // max(1, len(in_file))))
        for batch in content.iter_batches(batch_rows, columns=in_file):
            yield _select(batch, file, names), len(positions)


def _with_keys(file: File, present: Sequence[str]) -> list[str]:
    """Return the columns of a file and its keys; a key takes precedence over a column of the same name."""
    return [*present, *(key for key in file.keys if key not in present)]


def _select(batch: pa.RecordBatch, file: File, names: Sequence[str]) -> pa.RecordBatch:
    """Return columns of a batch and keys of its file, by name."""
    columns = [
        pa.repeat(file.keys[name], batch.num_rows) if name in file.keys else batch.column(name) for name in names
    ]
    return pa.RecordBatch.from_arrays(columns, names=list(names))


def _csv(file: File, selection: ColumnSelection, report: ReportBytes) -> Iterator[tuple[pa.RecordBatch, int]]:
    """Yield batches of the selected columns and the number of the points' columns, which come first.

    A column has one type, so that text is refused in any block.
    """
    points: list[str] = []
    others: list[str] = []

    def convert(columns: list[str]) -> pa.csv.ConvertOptions:
        present = _with_keys(file, columns)
        points[:] = _names(file, present, selection.points(present))
        others[:] = _names(file, present, selection.others(present))
        types = dict.fromkeys(points, pa.string() if selection.width else pa.float64())
        for name, (role, _) in zip(others, selection.extra, strict=True):
            kind = pa.float64() if role in NUMBER_ROLES else pa.string()
            if types.setdefault(name, kind) != kind:
                raise MilepostError(
                    f"column {name!r} of {file.name} cannot be read as numbers and as text at once, as a column of the "
                    f"points and as {role}; repeat it under another name"
                )
        in_file = [name for name in types if name not in file.keys]
        return pa.csv.ConvertOptions(include_columns=in_file, column_types=types)

    for batch in _csv_batches(file, convert, report):
        yield _select(batch, file, [*points, *others]), len(points)


def _as_text(names: list[str]) -> pa.csv.ConvertOptions:
    return pa.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()))


def _csv_batches(
    file: File, convert: Callable[[list[str]], pa.csv.ConvertOptions], report: ReportBytes
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a CSV file.

    convert: returns how to read the columns, from their names.
    """
    present: list[str] = []
    try:
        # each reader has its own stream: a closed reader's thread may still be reading ahead
        header = pa.csv.ParseOptions(newlines_in_values=True)
        with file.path.open("rb") as stream, pa.csv.open_csv(stream, parse_options=header) as reader:
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
                report(stream.tell())
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
    """Return an error message that names the column only: Arrow's reason may quote a private value."""
    if "empty csv" in reason.lower():
        return f"{file.name} is empty; the first row must name the columns"
    match = re.search(r"CSV column #(\d+)", reason)
    where = f"column {present[int(match.group(1))]!r} of {file.name}" if match else file.name
    if "UTF8" in reason:
        return f"{where} holds text that is not in UTF-8; save the file in that encoding"
    return f"{where} holds something that is not a number, or rows of different lengths; give columns of numbers only"
