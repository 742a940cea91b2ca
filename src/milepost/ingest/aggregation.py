"""Records and exact statistics of a table in one call."""

from collections.abc import Iterator
from typing import Any

from milepost._typing import FloatArray
from milepost.ingest.batches import Columns
from milepost.ingest.row_attributes import RowColumns
from milepost.ingest.table import NO_ROW_COLUMNS, Table, check_some
from milepost.spaces.base import Space
from milepost.spaces.embeddings.embedding import default_cells
from milepost.spaces.queries import Queries
from milepost.statistics.distance_sums import DistanceSums, DistanceTransform
from milepost.statistics.sketch import Sketch


def records(data: Any, space: Space, columns: Columns, numbers: int) -> Iterator[FloatArray]:
    """Yield the records of a table in blocks.

    numbers: how many numbers the work on a record takes; at least one for each known query.
    """
    for block in _table(data, space, columns).blocks(numbers):
        yield block.points


def read_sketch(
    data: Any,
    space: Space,
    columns: Columns = None,
    row_columns: RowColumns = NO_ROW_COLUMNS,
    cells: int | None = None,
    *,
    empty: bool = False,
) -> Sketch:
    """Return the exact sketch of a table; refuse bad rows.

    cells: of the sketch, instead of the default. empty: accept a table without rows that count, which is necessary
    where their number is private.
    """
    sketch = _table(data, space, columns, row_columns).sketch(space, cells or default_cells(space.embedding.dimension))
    if not empty:
        check_some(int(sketch.totals.sum()))
    return sketch


def read_sums(
    data: Any,
    space: Space,
    queries: Queries,
    columns: Columns = None,
    row_columns: RowColumns = NO_ROW_COLUMNS,
    *,
    empty: bool = False,
    transform: DistanceTransform | None = None,
) -> DistanceSums:
    """Return the exact sums of distances to queries, or of a transform of these distances; refuse bad rows."""
    sums = _table(data, space, columns, row_columns).sums(queries, transform)
    if not empty:
        check_some(int(sums.totals.sum()))
    return sums


def _table(data: Any, space: Space, columns: Columns, row_columns: RowColumns = NO_ROW_COLUMNS) -> Table:
    return Table(data, space, row_columns.change("add-remove"), columns, row_columns, stream=True)
