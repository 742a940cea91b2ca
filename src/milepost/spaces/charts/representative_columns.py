"""Columns that stand for those of all records: a column has the distances of one point to the queries.

docs/proofs/basis.md. In a two-dimensional space they are the columns of the corners of a grid. A distance is nearly
linear inside of a cell, so that the column of a record is a mixture of those of the corners of its cell, up to a small
error with a certain bound.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from milepost._typing import FloatArray
from milepost.spaces.charts.chart import Chart

# cells of a grid along each side: the more queries, the more errors add up
MIN_CELLS, MAX_CELLS = 16, 128
FEW_CELLS, MORE_CELLS = 48, 8.0
BLOCK = 1 << 20  # numbers in memory at a time, beside the result


@dataclass(frozen=True, eq=False)
class RepresentativeColumns:
    """Distances of some points to all queries: columns float64[N, k].

    errors: float64[N, k], or None where every record has one of the columns. Otherwise the column of every record is a
    mixture of columns, each of which differs from one of these by its errors at most.
    """

    columns: FloatArray
    errors: FloatArray | None = None


def cell_count(queries: int, max_numbers: int) -> int:
    """Return the number of cells along each side, for columns of about `max_numbers` numbers at most."""
    useful = min(MAX_CELLS, FEW_CELLS + math.ceil(MORE_CELLS * math.sqrt(queries)))
    return max(MIN_CELLS, min(useful, math.isqrt(max_numbers // queries) - 1))


def grid_columns(
    chart: Chart, queries: FloatArray, distances: Callable[[FloatArray], FloatArray], max_numbers: int
) -> RepresentativeColumns:
    """Return the columns of all corners of cells that a record can be in; about `max_numbers` numbers at most.

    queries: as `Space.query_records` returns them. distances: of points, as records, to the queries. Interpolation
    between corners gives more than the distance by what lies between two bounds in each cell. A corner takes the
    widest bounds of its cells; their middle is subtracted, and half of their difference is its error.
    """
    count = cell_count(len(queries), max_numbers)
    width = chart.side / count
    cells = np.stack(np.divmod(np.arange(count * count), count), axis=1)
    low_corners: FloatArray = cells.astype(np.float64) * width
    inside = chart.inside(low_corners, width)
    cells, low_corners = cells[inside], low_corners[inside]
    cell_corners = [(cells + shift) @ (count + 1, 1) for shift in ((0, 0), (0, 1), (1, 0), (1, 1))]
    used = np.unique(np.concatenate(cell_corners))
    columns = distances(chart.points(np.stack(np.divmod(used, count + 1), axis=1) * width))
    low, high = np.full_like(columns, np.inf), np.full_like(columns, -np.inf)
    rows = max(1, BLOCK // len(queries))
    for start in range(0, len(cells), rows):
        part = slice(start, start + rows)
        bounds = chart.interpolation_errors(low_corners[part], width, queries)
        for corners in cell_corners:  # each of them once, as cells differ
            index = np.searchsorted(used, corners[part])
            low[index], high[index] = np.minimum(low[index], bounds[0]), np.maximum(high[index], bounds[1])
    return RepresentativeColumns(columns - (low + high) / 2, (high - low) / 2)
