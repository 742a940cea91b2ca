"""Even: estimates of all coordinates' functions at even distances, evaluated together."""

from collections.abc import Callable, Sequence

import numpy as np

from milepost._typing import FloatArray, IntArray

NUMBERS = 1 << 15  # that fit the cache


class Even:
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


def by_rows(work: Callable[[FloatArray], FloatArray], positions: FloatArray) -> FloatArray:
    """What work gives for positions float64[k, D], for as many rows at a time as fit the cache.

    Rows are in one piece, so that sums over coordinates are the same in any company.
    """
    rows = max(1, NUMBERS // max(1, positions.shape[1]))
    if len(positions) <= rows:
        return work(np.ascontiguousarray(positions))
    parts = (positions[start : start + rows] for start in range(0, len(positions), rows))
    return np.concatenate([work(np.ascontiguousarray(part)) for part in parts])
