"""Exact weights of a table's records on the vertices of a public grid over a chart, as integers that add up."""

from functools import partial
from typing import Self

import numpy as np

from milepost._typing import AnyArray, FloatArray, IntArray
from milepost.errors import MilepostError
from milepost.spaces.charts.chart import Chart
from milepost.statistics.accumulate import sum_by_index
from milepost.statistics.sketch import check_weight, total_weights
from milepost.statistics.statistic_spec import RecordBlock, StatisticSpec

POSITION_BITS = 12  # of a position within a cell of the grid
UNIT = 1 << 2 * POSITION_BITS  # the weights of one record on the four vertices around it add up to this
MAX_VERTICES = (1 << 31) - 1  # of all groups: indices have 32 bits, and SciPy uses them unchecked
CORNERS = ((0, 0), (0, 1), (1, 0), (1, 1))


class VertexSums:
    """Weights of records on the vertices of a square grid: int64[groups, size, size]; and totals int64[groups].

    A record is spread over the four vertices around it so that it remains their mean: by bilinear interpolation, in
    whole numbers that add up to `UNIT`. Sums do not depend on the order of records, and those of parts of a table add
    up.
    """

    def __init__(self, size: int, groups: int = 1) -> None:
        if groups * size * size > MAX_VERTICES:
            raise MilepostError(f"{groups:,} grids of {size} × {size} vertices do not fit memory")
        self.values = np.zeros((groups, size, size), dtype=np.int64)
        self.totals = np.zeros(groups, dtype=np.int64)

    @classmethod
    def spec(cls, chart: Chart, size: int, groups: int = 1) -> "StatisticSpec[VertexSums]":
        """Return the specification of the weights on a grid with `size` vertices along each side of a chart."""
        return StatisticSpec(partial(VertexSums, size, groups), partial(_image, chart, size), 8)

    @property
    def arrays(self) -> tuple[IntArray, ...]:
        """Return all integers."""
        return self.values, self.totals

    @property
    def size(self) -> int:
        """Return the number of vertices along a side."""
        return self.values.shape[1]

    @property
    def groups(self) -> int:
        """Return the number of groups."""
        return self.values.shape[0]

    def add(self, positions: IntArray, group: AnyArray | None = None, weight: AnyArray | None = None) -> None:
        """Add records at positions int64[n, 2] in 0..(size − 1)·2¹², each with a group index and an integer weight."""
        totals = total_weights(len(positions), self.groups, group, weight)
        check_weight(int(self.totals.sum()) + int(totals.sum()))
        cells = np.minimum(positions >> POSITION_BITS, self.size - 2)
        shares = positions - (cells << POSITION_BITS)
        first = cells[:, 0] * self.size + cells[:, 1]
        if group is not None:
            first += group * self.size**2
        sums = self.values.reshape(-1)
        for along, across in CORNERS:
            parts = [
                share if step else (1 << POSITION_BITS) - share
                for step, share in zip((along, across), shares.T, strict=True)
            ]
            products = parts[0] * parts[1]
            if weight is not None:
                products *= weight
            sums += sum_by_index((first + along * self.size + across).astype(np.int32), products, sums.size)
        self.totals += totals

    def __add__(self, other: Self) -> "VertexSums":
        """Return the weights of both tables together."""
        if self.values.shape != other.values.shape:
            raise MilepostError(f"grids of shapes {self.values.shape} and {other.values.shape} do not add up")
        check_weight(int(self.totals.sum()) + int(other.totals.sum()))
        result = VertexSums(self.size, self.groups)
        result.values, result.totals = self.values + other.values, self.totals + other.totals
        return result


def _image(chart: Chart, size: int, block: RecordBlock) -> tuple[IntArray, IntArray | None, IntArray | None]:
    return grid_positions(chart, size, block.points), block.group, block.weight


def grid_positions(chart: Chart, size: int, records: FloatArray) -> IntArray:
    """Return the positions of records on a grid, int64[n, 2] in 0..(size − 1)·2¹², whatever the records are."""
    steps = (size - 1) << POSITION_BITS
    scaled = np.rint(chart.positions(records) * (steps / chart.side))
    return np.asarray(np.fmin(np.fmax(scaled, 0), steps).astype(np.int64))
