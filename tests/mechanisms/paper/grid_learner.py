"""A plain learner for any Lipschitz function, for comparison: docs/proofs/tangents.md, at its end."""

from collections.abc import Sequence

import numpy as np

from milepost._typing import FloatArray, IntArray
from milepost.mechanisms.paper.learners import Reading
from milepost.mechanisms.paper.margins import MarginRule


def _grid_cells(ratio: FloatArray) -> IntArray:
    return np.ceil(ratio * (1 + 1e-9)).astype(np.int64)


GRID = MarginRule(readings=1, slopes=False, gap_power=1 / 2, lines=_grid_cells)


class GridLearner:
    """A plain learner for the same game: cells of equal width a coordinate, one value each; it errs on both sides.

    low, high, start: float64[D]; cells: the number in each coordinate; start: the value of a cell without a reading.
    """

    two_sided = True

    def __init__(self, low: FloatArray, high: FloatArray, start: FloatArray, cells: Sequence[int]) -> None:
        self.low, self.high = low, high
        self.values = [np.full(count, value) for count, value in zip(cells, start, strict=True)]

    def _cell(self, i: int, position: FloatArray) -> IntArray:
        count = len(self.values[i])
        share = (position - self.low[i]) / (self.high[i] - self.low[i])
        cell: IntArray = np.clip(share * count, 0, count - 1).astype(np.int64)
        return cell

    def predict(self, points: FloatArray) -> FloatArray:
        """Return the sum of the values of the cells that hold the points."""
        result = np.zeros(len(points))
        for i, values in enumerate(self.values):
            result += values[self._cell(i, points[:, i])]
        return result

    def update(self, point: FloatArray, reading: Reading) -> None:
        """Set the value of the cell that holds the point, in each coordinate."""
        for i, values in enumerate(self.values):
            values[self._cell(i, point[i : i + 1])] = reading.value[i]
