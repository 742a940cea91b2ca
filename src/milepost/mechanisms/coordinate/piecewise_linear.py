"""Polygon: an estimate of one coordinate's function, linear between its nodes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from milepost._typing import FloatArray, IntArray
from milepost.spaces.embeddings.embedding import Embedding


@dataclass(frozen=True, eq=False)
class PiecewiseLinear:
    """Heights (distances) at nodes (embedding positions in quanta, increasing): float64[nodes] each."""

    nodes: FloatArray
    heights: FloatArray

    def at(self, positions: FloatArray) -> FloatArray:
        """The height at positions, by binary search; outside, that of the nearer end."""
        return np.asarray(np.interp(positions, self.nodes, self.heights))

    def slope(self, positions: FloatArray) -> FloatArray:
        """The slope to the right of positions inside the polygon."""
        segment = np.searchsorted(self.nodes, positions, side="right") - 1
        segment = np.clip(segment, 0, len(self.nodes) - 2)
        return np.asarray((np.diff(self.heights) / np.diff(self.nodes))[segment])

    def lowest(self) -> float:
        """The position of the least height; the middle of them where several are equal."""
        least = np.flatnonzero(self.heights <= self.heights.min())
        return float((self.nodes[least[0]] + self.nodes[least[-1]]) / 2)


def nearest_feasible(polygon: PiecewiseLinear, quantum: float) -> PiecewiseLinear:
    """The nearest curve whose slopes could come from a table: non-decreasing and within ±quantum.

    A least-squares projection of the slopes; F(low) + F(high) = w, as for every table.
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
    """The sum over coordinates (or some) at positions float64[k, D]; with `extend`, slopes are ±τ outside intervals."""
    result = np.zeros(len(positions))
    for i in range(len(polygons)) if only is None else only:
        polygon = polygons[i]
        column = np.ascontiguousarray(positions[:, i])
        result += polygon.at(column)
        if extend:
            outside = np.maximum(-column, column - embedding.span[i])
            result += embedding.quantum[i] * np.maximum(outside, 0)
    return result


CACHE_NUMBERS = 1 << 15  # that fit the cache


class UniformPiecewiseLinear:
    """Heights (distances) of each coordinate at multiples of 2^bits quanta, linear between them."""

    def __init__(self, heights: Sequence[FloatArray], bits: Sequence[int]) -> None:
        lengths = np.array([len(part) for part in heights], dtype=np.int64)
        self._heights = np.concatenate(heights)
        self._starts, self._last = np.cumsum(lengths) - lengths, lengths - 2
        self._share = 0.5 ** np.array(bits, dtype=np.float64)

    def cells(self, inside: FloatArray) -> tuple[IntArray, FloatArray]:
        """The cell of each position float64[k, D] inside its interval, and the share of the cell before it."""
        scaled = inside * self._share
        cell = np.minimum(scaled.astype(np.int64), self._last)
        return cell, scaled - cell

    def total(self, inside: FloatArray) -> FloatArray:
        """The sum over coordinates at positions float64[k, D] inside their intervals."""
        cell, fraction = self.cells(inside)
        cell += self._starts
        low = self._heights.take(cell)
        cell += 1
        rise = self._heights.take(cell)
        rise -= low
        rise *= fraction
        rise += low
        return np.asarray(rise.sum(axis=1))


def in_cache_blocks(work: Callable[[FloatArray], FloatArray], positions: FloatArray) -> FloatArray:
    """What work gives for positions float64[k, D], for as many rows at a time as fit the cache.

    Rows are in one piece, so that sums over coordinates are the same in any company.
    """
    rows = max(1, CACHE_NUMBERS // max(1, positions.shape[1]))
    if len(positions) <= rows:
        return work(np.ascontiguousarray(positions))
    parts = (positions[start : start + rows] for start in range(0, len(positions), rows))
    return np.concatenate([work(np.ascontiguousarray(part)) for part in parts])
