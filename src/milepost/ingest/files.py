"""CSV and Parquet files, one or several, as batches of rows with the selected columns only.

Files are fragments of `pyarrow.dataset` on a file system of `pyarrow.fs`. The scanner of a dataset does not read them:
it holds whole row groups of a Parquet file in memory, refuses a CSV file in which two columns have the same name even
if neither is read, and fills a column that a file does not have with nulls.
"""

import glob
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.csv
import pyarrow.fs
import pyarrow.parquet

from milepost.errors import MilepostError
from milepost.ingest.column_selection import NUMBER_ROLES, ColumnSelection
from milepost.ingest.progress import advance_share

CSV, PARQUET = (".csv", ".txt"), (".parquet",)
COMPRESSION = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}  # of CSV files
KINDS = "CSV (.csv, .txt, also with .gz, .bz2 or .zst) and Parquet (.parquet) files"
HIDDEN = (".", "_")  # how Spark names files without data
BUFFER_BYTES = 1 << 16  # of one column of a Parquet file
BATCH_NUMBERS = 1 << 21  # of all columns: a batch of 16 MB

Files: TypeAlias = dict[str, Any]  # fragments of pyarrow.dataset, by their names in errors
ReportBytes: TypeAlias = Callable[[int], None]


def list_files(path: Path) -> Files:
    """Return the files of a path in the order of their names: a file, all files below a folder, or of a pattern."""
    if path.is_dir():
        return _data_files(path, _files_below(path), path)
    if glob.has_magic(str(path)) and not path.exists():
        matches = [Path(match) for match in glob.glob(str(path), recursive=True)]
        found = [file for match in matches for file in (_files_below(match) if match.is_dir() else [match])]
        return _data_files(path, found, _base_folder(path))
    if _suffix(path) not in (*CSV, *PARQUET):
        raise MilepostError(f"{path.name} cannot be read; only {KINDS} are read from a path")
    return {path.name: _fragment(path)}


def _files_below(folder: Path) -> list[Path]:
    """Return all files below a folder. Links to folders are not followed: a row must not be read twice."""
    return [entry for entry in folder.rglob("*") if entry.is_file()]


def _base_folder(pattern: Path) -> Path:
    """Return the folder down to which a pattern has no wildcards."""
    parts = pattern.parts
    first = next(k for k, part in enumerate(parts) if glob.has_magic(part))
    return Path(*parts[:first]) if first else Path()


def _data_files(path: Path, candidates: list[Path], base: Path) -> Files:
    """Return the candidates that may hold data; folders below the base give their keys."""
    visible = [file for file in candidates if not any(part.startswith(HIDDEN) for part in file.relative_to(base).parts)]
    usable = sorted({file for file in visible if _suffix(file) in (*CSV, *PARQUET)})
    if not usable:
        raise MilepostError(f"{path} has no {KINDS.replace(' and ', ' or ')}")
    if len({_suffix(file) in PARQUET for file in usable}) > 1:
        raise MilepostError(f"{path} has CSV and Parquet files; name those to read with a pattern such as *.parquet")
    keys = _keys(usable, base)
    return {str(file.relative_to(base)): _fragment(file, keys.get(file)) for file in usable}


def _keys(paths: list[Path], base: Path) -> dict[Path, Any]:
    """Return the keys in folder names such as city=Bonn, by file.

    The values of a key are whole numbers if all are, else text.
    """
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
    from pyarrow.dataset import HivePartitioning

    integer = re.compile(r"-?\d{1,18}")
    kinds = {key: pa.int64() if all(map(integer.fullmatch, texts)) else pa.string() for key, texts in values.items()}
    partitioning = HivePartitioning(pa.schema(kinds))
    return {path: partitioning.parse(str(path.relative_to(base))) for path in paths}


def _fragment(path: Path, keys: Any = None) -> Any:
    """Return a file as a fragment of a dataset, which has the keys in the names of its folders."""
    from pyarrow.dataset import CsvFileFormat, ParquetFileFormat

    kind = ParquetFileFormat() if _suffix(path) in PARQUET else CsvFileFormat()
    return kind.make_fragment(str(path), pa.fs.LocalFileSystem(), partition_expression=keys)


def _suffix(path: Path) -> str:
    """Return the suffix of a file, without that of its compression if it may have one."""
    inner = Path(path.stem).suffix.lower()
    return inner if path.suffix.lower() in COMPRESSION and inner in CSV else path.suffix.lower()


def _is_parquet(file: Any) -> bool:
    return _suffix(Path(file.path)) in PARQUET


def _key_values(file: Any) -> dict[str, pa.Scalar]:
    from pyarrow.dataset import get_partition_keys

    values = get_partition_keys(file.partition_expression)
    return {
        key: pa.scalar(value, pa.int64() if isinstance(value, int) else pa.string()) for key, value in values.items()
    }


def read(path: Path, selection: ColumnSelection, rows: int) -> Iterator[tuple[pa.RecordBatch, list[pa.Array]]]:
    """Yield batches of the points' columns, each with the cells of extra columns.

    path: a file, a folder or a pattern; several files must have the same columns. rows: maximum of a Parquet batch.
    """
    first: tuple[str, pa.Schema] | None = None
    files = list_files(path)
    for (name, file), report in zip(files.items(), _byte_reports(files), strict=True):
        parts = _parquet(name, file, selection, rows) if _is_parquet(file) else _csv(name, file, selection, report)
        try:
            for batch, width in parts:
                if first is None:
                    first = name, batch.schema
                _check_same_columns(*first, name, batch.schema)
                yield split(batch, width)
        except MilepostError as reason:
            if len(files) == 1 or name in str(reason):
                raise
            raise MilepostError(f"{name}: {reason}") from None


def count(path: Path) -> int:
    """Return the number of rows in all files of a path."""
    files = list_files(path)
    reports = zip(files.items(), _byte_reports(files), strict=True)
    return sum(_count(name, file, report) for (name, file), report in reports)


def countable(path: Path) -> bool:
    """Return whether `count` needs to read no rows."""
    return all(map(_is_parquet, list_files(path).values()))


def _count(name: str, file: Any, report: ReportBytes) -> int:
    if not _is_parquet(file):
        return sum(batch.num_rows for batch in _csv_batches(name, file, _as_text, report))
    with _parquet_file(name, file) as content:
        return int(content.metadata.num_rows)


def _byte_reports(files: Files) -> Iterator[ReportBytes]:
    """Yield for each file a function that takes its position in bytes and reports the progress over all files."""
    paths = [Path(file.path) for file in files.values()]
    sizes = [0 if _suffix(path) in PARQUET or not path.exists() else path.stat().st_size for path in paths]
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


def _selected_names(name: str, present: Sequence[str], positions: Sequence[int]) -> list[str]:
    selected, times = [present[position] for position in positions], Counter(present)
    for column in selected:
        if times[column] > 1:  # files are read by name
            raise MilepostError(f"{name} has {times[column]} columns with the name {column!r}; rename them")
    return selected


@contextmanager
def _parquet_file(name: str, file: Any) -> Iterator[pa.parquet.ParquetFile]:
    # Arrow's default is to fetch all row groups ahead, which would hold the whole file in memory
    options: dict[str, Any] = {"buffer_size": BUFFER_BYTES, "pre_buffer": False}
    try:
        with file.open() as stream, pa.parquet.ParquetFile(stream, **options) as content:
            yield content
    except FileNotFoundError:
        raise MilepostError(f"there is no file {file.path}") from None
    except (OSError, pa.ArrowException):  # Arrow's reason may quote private values
        raise MilepostError(f"{name} cannot be read: it is not a Parquet file, or is damaged") from None


def _parquet(name: str, file: Any, selection: ColumnSelection, rows: int) -> Iterator[tuple[pa.RecordBatch, int]]:
    """Yield batches of the selected columns and the number of the points' columns, which come first.

    Batches are small, whatever the size of the row groups.
    """
    with _parquet_file(name, file) as content:
        keys = _key_values(file)
        present = _with_keys(keys, content.schema_arrow.names)
        positions = selection.points(present)
        names = _selected_names(name, present, [*positions, *selection.others(present)])
        in_file = [column for column in dict.fromkeys(names) if column not in keys]
        batch_rows = max(1, min(rows, BATCH_NUMBERS // max(1, len(in_file))))
        for batch in content.iter_batches(batch_rows, columns=in_file):
            yield _select(batch, keys, names), len(positions)


def _with_keys(keys: dict[str, pa.Scalar], present: Sequence[str]) -> list[str]:
    """Return the columns of a file and its keys; a key takes precedence over a column of the same name."""
    return [*present, *(key for key in keys if key not in present)]


def _select(batch: pa.RecordBatch, keys: dict[str, pa.Scalar], names: Sequence[str]) -> pa.RecordBatch:
    """Return columns of a batch and keys of its file, by name."""
    columns = [pa.repeat(keys[name], batch.num_rows) if name in keys else batch.column(name) for name in names]
    return pa.RecordBatch.from_arrays(columns, names=list(names))


def _csv(name: str, file: Any, selection: ColumnSelection, report: ReportBytes) -> Iterator[tuple[pa.RecordBatch, int]]:
    """Yield batches of the selected columns and the number of the points' columns, which come first.

    A column has one type, so that text is refused in any block.
    """
    keys = _key_values(file)
    points: list[str] = []
    others: list[str] = []

    def convert(columns: list[str]) -> pa.csv.ConvertOptions:
        present = _with_keys(keys, columns)
        points[:] = _selected_names(name, present, selection.points(present))
        others[:] = _selected_names(name, present, selection.others(present))
        types = dict.fromkeys(points, pa.string() if selection.width else pa.float64())
        for column, (role, _) in zip(others, selection.extra, strict=True):
            kind = pa.float64() if role in NUMBER_ROLES else pa.string()
            if types.setdefault(column, kind) != kind:
                raise MilepostError(
                    f"column {column!r} of {name} cannot be read as numbers and as text at once, as a column of the "
                    f"points and as {role}; repeat it under another name"
                )
        in_file = [column for column in types if column not in keys]
        return pa.csv.ConvertOptions(include_columns=in_file, column_types=types)

    for batch in _csv_batches(name, file, convert, report):
        yield _select(batch, keys, [*points, *others]), len(points)


def _as_text(names: list[str]) -> pa.csv.ConvertOptions:
    return pa.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()))


def _csv_batches(
    name: str, file: Any, convert: Callable[[list[str]], pa.csv.ConvertOptions], report: ReportBytes
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a CSV file.

    convert: returns how to read the columns, from their names.
    """
    present: list[str] = []
    try:
        # Each reader has its own stream: a closed reader's thread may still be reading ahead. The first stream stays
        # open to the end: the system would give its number to the second one, from which that thread would read then.
        header = pa.csv.ParseOptions(newlines_in_values=True)
        with file.open() as first_stream, file.open() as stream:
            with pa.csv.open_csv(_decompressed(file, first_stream), parse_options=header) as reader:
                present = reader.schema.names
            # a quoted line break is part of its cell, wherever Arrow's blocks end; an empty line of a single column is
            # an empty cell
            parse = pa.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=len(present) > 1)
            options = convert(present)
            with pa.csv.open_csv(_decompressed(file, stream), convert_options=options, parse_options=parse) as reader:
                for batch in reader:
                    report(stream.tell())
                    if batch.num_rows:
                        yield batch
    except FileNotFoundError:
        raise MilepostError(f"there is no file {file.path}") from None
    except OSError as error:
        raise MilepostError(f"{name} cannot be read: {error.strerror or 'it is damaged, or not a file'}") from None
    except UnicodeDecodeError:  # of the first row: Arrow looks at names last
        raise MilepostError(f"the first row of {name} is not in UTF-8; save the file in that encoding") from None
    except pa.ArrowInvalid as error:
        raise MilepostError(_csv_reason(str(error), name, present)) from None


def _decompressed(file: Any, stream: pa.NativeFile) -> pa.NativeFile:
    compression = COMPRESSION.get(Path(file.path).suffix.lower())
    return stream if compression is None else pa.CompressedInputStream(stream, compression)


def _csv_reason(reason: str, name: str, present: Sequence[str]) -> str:
    """Return an error message that names the column only: Arrow's reason may quote a private value."""
    if "empty csv" in reason.lower():
        return f"{name} is empty; the first row must name the columns"
    match = re.search(r"CSV column #(\d+)", reason)
    where = f"column {present[int(match.group(1))]!r} of {name}" if match else name
    if "UTF8" in reason:
        return f"{where} holds text that is not in UTF-8; save the file in that encoding"
    return f"{where} holds something that is not a number, or rows of different lengths; give columns of numbers only"
