"""Files: CSV and Parquet as batches of rows, of the wanted columns only."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from milepost.errors import MilepostError
from milepost.wanted import Wanted

CSV = (".csv", ".txt")
BUFFER_BYTES = 1 << 16  # of one column of a Parquet file


def read(path: Path, wanted: Wanted, rows: int) -> Iterator[tuple[pa.RecordBatch, list[pa.Array]]]:
    """Batches of the points' columns, each with the cells of those beside them; of so many rows, or blocks of a CSV."""
    if path.suffix.lower() == ".parquet":
        return _parquet(path, wanted, rows)
    if path.suffix.lower() in CSV:
        return _csv(path, wanted)
    raise _unknown(path)


def count(path: Path) -> int:
    """How many rows a file has."""
    if path.suffix.lower() == ".parquet":
        with _parquet_file(path) as content:
            return int(content.metadata.num_rows)
    if path.suffix.lower() in CSV:
        return sum(batch.num_rows for batch in _csv_batches(path, _as_text))
    raise _unknown(path)


def split(batch: pa.RecordBatch, width: int) -> tuple[pa.RecordBatch, list[pa.Array]]:
    """The first columns, and the others' cells."""
    if batch.num_columns == width:
        return batch, []
    return batch.select(list(range(width))), list(batch.columns[width:])


def _unknown(path: Path) -> MilepostError:
    return MilepostError(f"{path.name}: only CSV (.csv, .txt) and Parquet (.parquet) files are read from a path")


def _names(path: Path, present: Sequence[str], positions: Sequence[int]) -> list[str]:
    names = [present[position] for position in positions]
    for name in names:
        if present.count(name) > 1:  # files are read by name
            raise MilepostError(f"{path.name} has {present.count(name)} columns with the name {name!r}; rename them")
    return names


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


def _parquet(path: Path, wanted: Wanted, rows: int) -> Iterator[tuple[pa.RecordBatch, list[pa.Array]]]:
    """A batch at a time, of the wanted columns only, however large the row groups are."""
    with _parquet_file(path) as content:
        present = content.schema_arrow.names
        picked = wanted.points(present)
        names = _names(path, present, [*picked, *wanted.others(present)])
        for batch in content.iter_batches(rows, columns=list(dict.fromkeys(names))):
            yield split(batch.select(names), len(picked))


def _csv(path: Path, wanted: Wanted) -> Iterator[tuple[pa.RecordBatch, list[pa.Array]]]:
    """One type for a whole column, so that text is refused whichever block it stands in."""
    points: list[str] = []
    others: list[str] = []

    def convert(present: list[str]) -> pa.csv.ConvertOptions:
        points[:] = _names(path, present, wanted.points(present))
        others[:] = _names(path, present, wanted.others(present))
        types = dict.fromkeys(points, pa.string() if wanted.width else pa.float64())
        for name, other in zip(others, wanted.beside, strict=True):
            kind = pa.float64() if other.numbers else pa.string()
            if types.setdefault(name, kind) != kind:
                raise MilepostError(
                    f"column {name!r} of {path.name} cannot be read as numbers and as text at once, as a column of the "
                    f"points and as {other.role}; repeat it under another name"
                )
        return pa.csv.ConvertOptions(include_columns=[*points, *others], column_types=types)

    for batch in _csv_batches(path, convert):
        yield split(batch, len(points))


def _as_text(names: list[str]) -> pa.csv.ConvertOptions:
    return pa.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()))


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
    if "UTF8" in reason:
        return f"{where} holds text that is not in UTF-8; save the file in that encoding"
    return f"{where} holds something that is not a number, or rows of different lengths; give columns of numbers only"
