"""Polygon: an estimate of one coordinate's function, linear between its nodes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from milepost._typing import FloatArray
from milepost.spaces.embeddings.embedding import Hosts


@dataclass(frozen=True, eq=False)
class Polygon:
    """Heights (distances) at nodes (host positions in quanta, increasing): float64[nodes] each."""

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


def possible(polygon: Polygon, quantum: float) -> Polygon:
    """The nearest curve whose slopes could come from a table: non-decreasing and within ±quantum.

    A least-squares projection of the slopes; F(low) + F(high) = w, as for every table.
    """
    widths = np.diff(polygon.nodes)
    slopes = scipy.optimize.isotonic_regression(np.diff(polygon.heights) / widths, weights=widths).x
    heights = np.concatenate([[0.0], np.cumsum(np.clip(slopes, -quantum, quantum) * widths)])
    heights += (quantum * float(polygon.nodes[-1]) - heights[-1]) / 2
    return Polygon(polygon.nodes, heights)


def total(
    polygons: Sequence[Polygon], hosts: Hosts, positions: FloatArray, extend: bool, only: Sequence[int] | None = None
) -> FloatArray:
    """The sum over coordinates (or some) at positions float64[k, D]; with `extend`, slopes are ±τ outside intervals."""
    result = np.zeros(len(positions))
    for i in range(len(polygons)) if only is None else only:
        polygon = polygons[i]
        column = np.ascontiguousarray(positions[:, i])
        result += polygon.at(column)
        if extend:
            outside = np.maximum(-column, column - hosts.span[i])
            result += hosts.quantum[i] * np.maximum(outside, 0)
    return result
