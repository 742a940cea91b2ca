"""Write a table to a CSV or Parquet file, part by part; the file appears when it is complete, or not at all."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from milepost.errors import MilepostError
from milepost.storage.atomic_file import atomic_write

WRITERS: dict[str, Callable[..., Any]] = {
    ".csv": pa.csv.CSVWriter,
    ".txt": pa.csv.CSVWriter,
    ".parquet": pa.parquet.ParquetWriter,
}


def check_suffix(path: Path) -> None:
    """Refuse a file name whose suffix is not a known format."""
    if path.suffix.lower() not in WRITERS:
        raise MilepostError(f"{path} must end in {', '.join(WRITERS)}, which says how the table is written")


@contextmanager
def table_file(path: Path) -> Iterator[Callable[[pa.Table], None]]:
    """Return a function that writes the parts of a table one after another; all have the same columns."""
    with atomic_write(path) as stream, ExitStack() as stack:
        writer: Any = None

        def write(part: pa.Table) -> None:
            nonlocal writer
            try:
                writer = writer or stack.enter_context(WRITERS[path.suffix.lower()](stream, part.schema))
                writer.write_table(part)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                raise MilepostError(f"{path.name} cannot hold these columns: {error}; leave some out") from None

        yield write
