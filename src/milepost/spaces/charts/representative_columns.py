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
    between corners gives more than the distance by what lies between two bounds, in all cells at a corner. Their middle
    is subtracted from the corner's column, and half of their difference is its error.
    """
    count = cell_count(len(queries), max_numbers)
    width = chart.side / count
    cells = np.stack(np.divmod(np.arange(count * count), count), axis=1)
    cells = cells[chart.inside(cells.astype(np.float64) * width, width)]
    shifts = ((0, 0), (0, 1), (1, 0), (1, 1))
    used = np.unique(np.concatenate([(cells + shift) @ (count + 1, 1) for shift in shifts]))
    corners: FloatArray = np.stack(np.divmod(used, count + 1), axis=1).astype(np.float64) * width
    columns = distances(chart.points(corners))
    errors = np.empty_like(columns)
    rows = max(1, BLOCK // len(queries))
    for start in range(0, len(corners), rows):
        part = slice(start, start + rows)
        low, _, high = chart.interpolation_errors(corners[part], columns[part], width, queries)
        columns[part] -= (low + high) / 2
        errors[part] = (high - low) / 2
    return RepresentativeColumns(columns, errors)
