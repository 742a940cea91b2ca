"""Piecewise linear estimates of the coordinates' functions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from milepost._typing import FloatArray, IntArray
from milepost.spaces.embeddings.coordinate_sums import CACHE_NUMBERS, as_column, sum_coordinates
from milepost.spaces.embeddings.embedding import Embedding


@dataclass(frozen=True, eq=False)
class PiecewiseLinear:
    """Heights (distances) at nodes (embedding positions in quanta, increasing): float64[nodes] each."""

    nodes: FloatArray
    heights: FloatArray

    def at(self, positions: FloatArray) -> FloatArray:
        """Return the height at positions, by binary search; outside, that of the nearer end."""
        return np.asarray(np.interp(positions, self.nodes, self.heights))

    def slope(self, positions: FloatArray) -> FloatArray:
        """Return the slope to the right of positions inside the polygon."""
        segment = np.searchsorted(self.nodes, positions, side="right") - 1
        segment = np.clip(segment, 0, len(self.nodes) - 2)
        return np.asarray((np.diff(self.heights) / np.diff(self.nodes))[segment])

    def argmin(self) -> float:
        """Return the position of the minimum; the middle one where several are equal."""
        minima = np.flatnonzero(self.heights <= self.heights.min())
        return float((self.nodes[minima[0]] + self.nodes[minima[-1]]) / 2)


def nearest_feasible(polygon: PiecewiseLinear, quantum: float) -> PiecewiseLinear:
    """Return the nearest curve that a table could have: slopes are non-decreasing and within ±quantum.

    It is a least-squares projection of the slopes, with F(low) + F(high) = w, as for every table.
    """
    widths = np.diff(polygon.nodes)
    slopes = scipy.optimize.isotonic_regression(np.diff(polygon.heights) / widths, weights=widths).x
    heights = np.concatenate([[0.0], np.cumsum(np.clip(slopes, -quantum, quantum) * widths)])
    heights += (quantum * float(polygon.nodes[-1]) - heights[-1]) / 2
    return PiecewiseLinear(polygon.nodes, heights)


def sum_at(
    polygons: Sequence[PiecewiseLinear],
    embedding: Embedding,
    positions: FloatArray,
    extend: bool,
    only: Sequence[int] | None = None,
) -> FloatArray:
    """Return the sum over coordinates, or `only` some, at positions float64[k, D]; `extend`: slopes ±τ outside."""
    result = np.zeros(len(positions))
    for i in range(len(polygons)) if only is None else only:
        polygon = polygons[i]
        column = np.ascontiguousarray(positions[:, i])
        result += polygon.at(column)
        if extend:
            outside = np.maximum(-column, column - embedding.span[i])
            result += embedding.quantum[i] * np.maximum(outside, 0)
    return result


class UniformPiecewiseLinear:
    """Heights (distances) of each coordinate at multiples of 2^bits quanta, linear between them."""

    def __init__(self, heights: Sequence[FloatArray], bits: Sequence[int]) -> None:
        lengths = np.array([len(part) for part in heights], dtype=np.int64)
        self._starts, self._last_cells = np.cumsum(lengths) - lengths, lengths - 2
        self._cells_per_quantum = 0.5 ** np.array(bits, dtype=np.float64)
        # a cell begins at every node: that of the last one has no rise, and the height at which the cell before it ends
        rises = [np.diff(part, append=part[-1]) for part in heights]
        lows = [np.append(part[:-1], part[-2] + rise[-2]) for part, rise in zip(heights, rises, strict=True)]
        self._rises, self._lows = np.concatenate(rises), np.concatenate(lows)

    def cells(self, inside: FloatArray) -> tuple[IntArray, FloatArray]:
        """Return the cell of each position float64[k, D] inside its interval, and the fraction of the cell below it."""
        cell_positions = inside * self._cells_per_quantum
        cell = np.minimum(cell_positions.astype(np.int64), self._last_cells)
        return cell, cell_positions - cell

    def total(self, columns: FloatArray) -> FloatArray:
        """Return the sum over coordinates at positions float64[D, k] inside their intervals."""
        terms = self._linear_terms if not self._last_cells.any() else self._terms
        return sum_coordinates(lambda part: terms(columns[part], part), *columns.shape)

    def _terms(self, columns: FloatArray, part: slice) -> FloatArray:
        """Return the heights of some coordinates; their positions fit the processor's cache."""
        fraction = columns * self._scales[part]
        node = np.floor(fraction)
        index = node.astype(np.int64)
        index += self._starts[part, None]
        fraction -= node
        heights = node  # of no further use; indices are valid, and with mode="raise" `take` would need a copy
        fraction *= self._rises.take(index, out=heights, mode="clip")
        fraction += self._lows.take(index, out=heights, mode="clip")
        return fraction

    def _linear_terms(self, columns: FloatArray, part: slice) -> FloatArray:
        """Return the heights of some coordinates that have one cell each."""
        result = columns * self._slopes[part]
        result += self._lows[0::2, None][part]
        return result

    @cached_property
    def _slopes(self) -> FloatArray:
        """The slopes of coordinates that have one cell each."""
        return as_column(self._rises[0::2] * self._cells_per_quantum)

    @cached_property
    def _scales(self) -> FloatArray:
        return as_column(self._cells_per_quantum)


# of positions that are evaluated at a time, at most: 16 MB, of which the cells of a few coordinates are in the cache
BLOCK_NUMBERS, BLOCK_POINTS = 1 << 21, 1 << 14
MIN_BLOCK_ROWS = 1 << 7  # of a block of rows: with fewer, most of the time goes to calls of NumPy


def points_per_block(dimension: int) -> int:
    """Return how many points to evaluate at a time."""
    return min(max(1, BLOCK_NUMBERS // max(1, dimension)), BLOCK_POINTS)


def in_cache_blocks(work: Callable[[FloatArray], FloatArray], positions: FloatArray) -> FloatArray:
    """Return work(positions) for positions float64[k, D], computed for a few rows at a time: as many as fit the cache.

    Rows are contiguous in memory, so that the sum over a row's coordinates does not depend on the other rows.
    """
    rows = max(MIN_BLOCK_ROWS, CACHE_NUMBERS // max(1, positions.shape[1]))
    if len(positions) <= rows:
        return work(np.ascontiguousarray(positions))
    parts = (positions[start : start + rows] for start in range(0, len(positions), rows))
    return np.concatenate([work(np.ascontiguousarray(part)) for part in parts])
