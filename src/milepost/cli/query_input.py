"""Query points from the command line or a file, as the space reads them."""

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
    """Query points, as the space reads them and as rows of a table for the user.

    extra_columns: other columns of their file.
    """

    queries: AnyArray
    rows: pa.Table
    extra_columns: pa.Table | None = None

    def __len__(self) -> int:
        return len(self.queries)

    def table(self, answers: pa.Table) -> pa.Table:
        """Return a table of the extra columns, the points, and their answers."""
        extra_tables = [] if self.extra_columns is None else [self.extra_columns]
        tables = [*extra_tables, self.rows, answers]
        names = [name for table in tables for name in table.column_names]
        for table in extra_tables:
            for name in table.column_names:
                if names.count(name) > 1:
                    raise MilepostError(f"--keep {name}: the answers have a column of this name already; rename it")
        return pa.table([column for table in tables for column in table.columns], names=names)


def parse_points(points: Sequence[Any], space: Space) -> QueryPoints:
    """Return query points from points as the user writes them."""
    return _query_points(object_array(list(points)) if space.objects else np.array(points, dtype=np.float64), space)


def known_points(synopsis: Synopsis) -> QueryPoints | None:
    """Return all points that a synopsis answers, or None if it answers any point."""
    return (
        None
        if synopsis.given_queries is None
        else QueryPoints(synopsis.given_queries, _rows(synopsis.given_queries, synopsis.space))
    )


def read_points(path: Path, space: Space, columns: Sequence[str] | None = None) -> list[Any]:
    """Read all points of a CSV or Parquet file."""
    rows: list[Any] = []
    for batch, _ in _parts(path, space, columns):
        rows += objects_of(batch) if space.objects else space.read_queries(batch, len(rows)).tolist()
    if space.objects and space.given_queries is None and space.width == 1:
        rows = [(cell,) for cell in rows]  # a list of one value would be one point
    _require_points(len(rows), path)
    return rows


def point_batches(
    path: Path, space: Space, columns: Sequence[str] | None, keep: Sequence[str], max_points: int
) -> Iterator[QueryPoints]:
    """Read the points of a file in batches of at most `max_points`, with the columns to keep."""
    first = 0
    for batch, cells in _parts(path, space, columns, tuple(("--keep", name) for name in keep)):
        for start in range(0, len(batch), max_points):
            part = slice(start, start + max_points)
            extra_columns = pa.table([column[part] for column in cells], names=list(keep)) if keep else None
            yield _query_points(batch[part], space, first + start, extra_columns)
        first += len(batch)
    _require_points(first, path)


def first_points(batches: Iterable[QueryPoints], max_points: int) -> tuple[QueryPoints, bool]:
    """Return the first `max_points` points, and whether there are more."""
    parts: list[QueryPoints] = []
    for points in batches:
        parts.append(points)
        if sum(map(len, parts)) > max_points:
            break
    queries = np.concatenate([points.queries for points in parts])
    rows = pa.concat_tables([points.rows for points in parts])
    return QueryPoints(queries[:max_points], rows.slice(0, max_points)), len(queries) > max_points


def _parts(
    path: Path, space: Space, columns: Sequence[str] | None, extra: tuple[ExtraColumn, ...] = ()
) -> Iterator[tuple[Batch, list[Any]]]:
    rows = 0
    try:
        for batch, cells in space_batches(path, space, columns, extra):
            yield batch, cells
            rows += len(batch)
    except MilepostError as error:
        raise MilepostError(f"{error} (after row {rows:,})" if rows else str(error)) from None


def _require_points(count: int, path: Path) -> None:
    if count == 0:
        raise MilepostError(f"{path} has no points")


def _query_points(batch: Batch, space: Space, first_row: int = 0, extra_columns: pa.Table | None = None) -> QueryPoints:
    queries = space.read_queries(batch, first_row)
    texts = _texts(batch) if space.objects and space.width > 1 else None  # whole sequences stay as they are
    return QueryPoints(queries, _rows(queries, space) if texts is None else pa.table({"query": texts}), extra_columns)


def _texts(batch: Batch) -> Any:
    """Return the texts of a batch with one text per row, else None."""
    if isinstance(batch, pa.RecordBatch):
        return batch.column(0) if batch.num_columns == 1 else None
    return batch.tolist() if all(isinstance(point, str) for point in batch) else None


def _rows(queries: AnyArray, space: Space) -> pa.Table:
    """Return points as rows of a table with the names of the space."""
    if not space.objects:
        return pa.table(list(queries.T.copy()), names=list(space.names))
    rows = [space.column_values(space.user_point(query)) for query in queries]
    return pa.table([list(column) for column in zip(*rows, strict=True)], names=list(space.names))
