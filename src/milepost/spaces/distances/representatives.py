"""Columns that stand for all records: a column has the distances of one point to the queries. docs/proofs/basis.md.

In a plane they are the columns of the corners of a grid. A distance is nearly linear inside of a cell, so that the
column of a record is a mixture of those of the corners of its cell, up to a small error with a certain bound.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from milepost._typing import AnyArray, FloatArray

MIN_CELLS, MAX_CELLS = 16, 128  # of a grid, along each side
BLOCK = 1 << 20  # distances in memory at a time, beside the result
SLACK = 1 + 1e-9  # rounding of a few float operations, always to the larger side


@dataclass(frozen=True, eq=False)
class RepresentativeColumns:
    """Distances of some points to all queries: columns float64[N, k].

    errors: float64[N, k], or None where every record has one of the columns. Otherwise the column of every record is a
    mixture of some of them, plus an error that is at most `errors` of each of these, in every entry.
    """

    columns: FloatArray
    errors: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Interpolation:
    """Distances to queries as functions on a square, and how far they are from their interpolation.

    distances: of positions float64[m, 2], those outside of the space included, to all queries: float64[m, k].
    errors: of cells with these low corners float64[m, 2] and this side: float64[m, k]. A distance inside of a cell is
    at most that far from its bilinear interpolation between the corners.
    """

    distances: Callable[[FloatArray], FloatArray]
    errors: Callable[[FloatArray, float], FloatArray]


def cell_count(queries: int, max_numbers: int) -> int:
    """Return how many cells a grid has along each side, so that the columns have about this many numbers at most."""
    return max(MIN_CELLS, min(MAX_CELLS, math.isqrt(max_numbers // queries) - 1))


def grid_columns(side: float, inside: AnyArray, interpolation: Interpolation) -> RepresentativeColumns:
    """Return the columns of all corners of cells that a record can be in.

    side: of the square from (0, 0) that covers the space. inside: bool[c, c], whether a record can be in a cell: the
    first index counts cells along the first coordinate.
    """
    count = len(inside)
    length = side / count
    cells = np.argwhere(inside)
    padded = np.pad(inside, 1)
    used = padded[1:, 1:] | padded[1:, :-1] | padded[:-1, 1:] | padded[:-1, :-1]
    corners = np.argwhere(used)
    index = np.full((count + 1, count + 1), -1)
    index[used] = np.arange(len(corners))
    columns = interpolation.distances(corners * length)
    errors = np.zeros_like(columns)
    rows = max(1, BLOCK // columns.shape[1])
    for start in range(0, len(cells), rows):
        part = cells[start : start + rows]
        values = interpolation.errors(part * length, length) * SLACK
        for shift in ((0, 0), (0, 1), (1, 0), (1, 1)):
            touched = index[part[:, 0] + shift[0], part[:, 1] + shift[1]]  # each once, as cells differ
            errors[touched] = np.maximum(errors[touched], values)
    return RepresentativeColumns(columns, errors)


def euclidean(queries: FloatArray, rounding: float) -> Interpolation:
    """Return the interpolation of Euclidean distances to queries float64[k, 2], positions on the square.

    The second derivatives along the axes are Δ₂²/r³ and Δ₁²/r³, and a distance grows as fast as its point moves.
    rounding: how far computed distances may be off.
    """

    def distances(positions: FloatArray) -> FloatArray:
        return np.hypot(*(positions[:, None, axis] - queries[:, axis] for axis in (0, 1)))

    def errors(corners: FloatArray, length: float) -> FloatArray:
        offsets = [queries[:, axis] - corners[:, None, axis] for axis in (0, 1)]
        nearest = np.hypot(*(np.maximum(np.maximum(-offset, offset - length), 0) for offset in offsets))
        farthest = [np.maximum(np.abs(offset), np.abs(offset - length)) for offset in offsets]
        with np.errstate(divide="ignore", over="ignore"):
            inverse = 1 / nearest
            bends = [np.minimum((side * inverse) ** 2, 1) * inverse for side in farthest]
        return np.asarray(np.minimum(length**2 / 8 * (bends[0] + bends[1]), length / math.sqrt(2)) + rounding)

    return Interpolation(distances, errors)


def manhattan(queries: FloatArray, rounding: float) -> Interpolation:
    """Return the interpolation of |Δ₁| + |Δ₂| to queries float64[k, 2], which is linear on both sides of a query.

    Where a query divides an interval into a and b, the absolute value is off by 2ab/(a + b) at most.
    """

    def distances(positions: FloatArray) -> FloatArray:
        return np.asarray(sum(np.abs(positions[:, None, axis] - queries[:, axis]) for axis in (0, 1)))

    def errors(corners: FloatArray, length: float) -> FloatArray:
        offsets = [np.clip(queries[:, axis] - corners[:, None, axis], 0, length) for axis in (0, 1)]
        return np.asarray(sum(2 * offset * (length - offset) / length for offset in offsets) + rounding)

    return Interpolation(distances, errors)


def spherical(
    radius: float,
    center: FloatArray,
    distances: Callable[[FloatArray], FloatArray],
    off: FloatArray,
) -> Interpolation:
    """Return the interpolation of distances on a sphere, on Lambert's equal-area chart around a centre.

    radius: of the sphere. center: float64[2], the position of the centre on the square. distances: of positions to all
    queries. off: float64[k], how far computed distances may be off. Along a straight line on the chart a distance r
    bends by its own curvature, cot(r/radius)/radius, and by that of the line, whose covariant acceleration is at most
    ρ/(4·radius²·√q)·√(1 + (1 + 2q)²); q = 1 − ρ²/(4·radius²) at ρ from the centre, and no length is stretched by more
    than 1/√q. All of it is taken at the worst point of a cell.
    """

    def errors(corners: FloatArray, length: float) -> FloatArray:
        middles = corners + length / 2
        out = np.hypot(*(middles - center).T) + length / math.sqrt(2)
        share = np.maximum(1 - (out / (2 * radius)) ** 2, 2.0**-10)[:, None]  # q, above that for at least MIN_CELLS
        reach = length / np.sqrt(2 * share)
        middle = distances(middles)
        near, far = np.maximum(middle - reach, 0) / radius, np.minimum(middle + reach, math.pi * radius) / radius
        with np.errstate(divide="ignore", over="ignore"):
            own = np.where(far <= math.pi / 2, 0, -1 / np.tan(far))
            own = np.maximum(own, np.where(near < math.pi / 2, 1 / np.tan(near), 0))
            own[far >= math.pi * (1 - 1e-6)] = np.inf
        line = out[:, None] / (4 * radius**2 * np.sqrt(share)) * np.sqrt(1 + (1 + 2 * share) ** 2)
        bend = own / radius / share + line
        return np.asarray(np.minimum(length**2 / 4 * bend, reach) + off)

    return Interpolation(distances, errors)
