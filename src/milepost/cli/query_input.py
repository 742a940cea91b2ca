"""Asked: points to ask about, from the command line or a file, as the space reads them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from milepost._typing import AnyArray
from milepost.errors import MilepostError
from milepost.ingest.batches import Batch, space_batches
from milepost.ingest.column_selection import ExtraColumn
from milepost.spaces.base import Space
from milepost.spaces.objects import object_array, objects_of
from milepost.synopsis.synopsis import Synopsis


@dataclass(frozen=True, eq=False)
class QueryPoints:
    """Points as the space reads them, and as rows of a table for their user.

    kept: other columns of the file that they came from.
    """

    queries: AnyArray
    rows: pa.Table
    kept: pa.Table | None = None

    def __len__(self) -> int:
        return len(self.queries)

    def table(self, found: pa.Table) -> pa.Table:
        """What was kept, the points, and what was found about each."""
        given = [] if self.kept is None else [self.kept]
        tables = [*given, self.rows, found]
        names = [name for table in tables for name in table.column_names]
        for table in given:
            for name in table.column_names:
                if names.count(name) > 1:
                    raise MilepostError(f"--keep {name}: the answers have a column of this name already; rename it")
        return pa.table([column for table in tables for column in table.columns], names=names)


def parse_points(given: Sequence[Any], space: Space) -> QueryPoints:
    """Points as their user writes them."""
    return _asked(object_array(list(given)) if space.objects else np.array(given, dtype=np.float64), space)


def known_points(synopsis: Synopsis) -> QueryPoints | None:
    """All points that a synopsis answers, where these were given; None where it answers any."""
    return None if synopsis.known is None else QueryPoints(synopsis.known, _rows(synopsis.known, synopsis.space))


def read_points(path: Path, space: Space, columns: Sequence[str] | None = None) -> list[Any]:
    """The points of a CSV or Parquet file, all at once."""
    rows: list[Any] = []
    for batch, _ in _parts(path, space, columns):
        rows += objects_of(batch) if space.objects else space.read_queries(batch, len(rows)).tolist()
    if space.objects and space.known is None and space.width == 1:
        rows = [(cell,) for cell in rows]  # a list of one value would be one point
    _check_some(len(rows), path)
    return rows


def point_batches(
    path: Path, space: Space, columns: Sequence[str] | None, keep: Sequence[str], most: int
) -> Iterator[QueryPoints]:
    """The same in batches of at most so many points, with columns to keep."""
    first = 0
    for batch, cells in _parts(path, space, columns, tuple(ExtraColumn("--keep", name) for name in keep)):
        for start in range(0, len(batch), most):
            part = slice(start, start + most)
            kept = pa.table([column[part] for column in cells], names=list(keep)) if keep else None
            yield _asked(batch[part], space, first + start, kept)
        first += len(batch)
    _check_some(first, path)


def first_points(batches: Iterable[QueryPoints], most: int) -> tuple[QueryPoints, bool]:
    """The first points, and whether there are more."""
    taken: list[QueryPoints] = []
    for asked in batches:
        taken.append(asked)
        if sum(map(len, taken)) > most:
            break
    queries = np.concatenate([asked.queries for asked in taken])
    rows = pa.concat_tables([asked.rows for asked in taken])
    return QueryPoints(queries[:most], rows.slice(0, most)), len(queries) > most


def _parts(
    path: Path, space: Space, columns: Sequence[str] | None, beside: tuple[ExtraColumn, ...] = ()
) -> Iterator[tuple[Batch, list[Any]]]:
    rows = 0
    try:
        for batch, cells in space_batches(path, space, columns, beside):
            yield batch, cells
            rows += len(batch)
    except MilepostError as error:
        raise MilepostError(f"{error} (after row {rows:,})" if rows else str(error)) from None


def _check_some(count: int, path: Path) -> None:
    if count == 0:
        raise MilepostError(f"{path} has no points")


def _asked(batch: Batch, space: Space, first_row: int = 0, kept: pa.Table | None = None) -> QueryPoints:
    queries = space.read_queries(batch, first_row)
    texts = _texts(batch) if space.objects and space.width > 1 else None  # whole sequences stay as they are
    return QueryPoints(queries, _rows(queries, space) if texts is None else pa.table({"query": texts}), kept)


def _texts(batch: Batch) -> Any:
    """The texts of a batch that has one a row, else None."""
    if isinstance(batch, pa.RecordBatch):
        return batch.column(0) if batch.num_columns == 1 else None
    return batch.tolist() if all(isinstance(point, str) for point in batch) else None


def _rows(queries: AnyArray, space: Space) -> pa.Table:
    """Points as rows of a table with the space's names."""
    if not space.objects:
        return pa.table(list(queries.T.copy()), names=list(space.names))
    rows = [space.cells(space.user_point(query)) for query in queries]
    return pa.table([list(column) for column in zip(*rows, strict=True)], names=list(space.names))
