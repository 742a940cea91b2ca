"""Nested grids: sums of weights on the vertices of coarse grids, and the least-squares estimate from all of them.

A coarse vertex has the hat function of its grid: 1 there, 0 at its neighbors, bilinear between. Its sum is a weighted
sum of those of fine vertices. Distances are nearly bilinear in a coarse cell, so that coarse grids, which have few
vertices and little noise, tell most of a mean distance, and fine ones only what remains near the query.
docs/proofs/quadtree.md.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from milepost._typing import FloatArray, IntArray
from milepost.spaces.charts.chart import Chart

FIT_STEPS, FIT_TOLERANCE = 400, 1e-6  # of the non-negative fit: the largest number, and of people moved in one
HIGH_BITS = 30  # sums are split here, so that products with whole hat functions do not overflow


@dataclass(frozen=True)
class NestedGrids:
    """Square grids over a chart, from few vertices a side to many; each size is 1 more than a multiple of the last one.

    Only vertices of cells that can have a record count.
    """

    chart: Chart
    sizes: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of vertices along a side of the finest grid."""
        return self.sizes[-1]

    @property
    def width(self) -> float:
        """The width of a cell of the finest grid."""
        return self.chart.side / (self.size - 1)

    @cached_property
    def vertices(self) -> IntArray:
        """The indices int64[N, 2] of the vertices of the finest grid that count, row by row."""
        cells = np.stack(np.meshgrid(*[np.arange(self.size - 1)] * 2, indexing="ij"), axis=-1).reshape(-1, 2)
        inside = self.chart.inside(cells.astype(np.float64) * self.width, self.width)
        counted = np.zeros((self.size, self.size), dtype=bool)
        for along in (0, 1):
            for across in (0, 1):
                rows, columns = (cells[inside] + (along, across)).T
                counted[rows, columns] = True
        return np.argwhere(counted)

    @property
    def positions(self) -> FloatArray:
        """The positions float64[N, 2] of these vertices in the chart."""
        return self.vertices.astype(np.float64) * self.width

    def steps(self, level: int) -> int:
        """Return how many cells of the finest grid are in one of a coarser grid, along a side."""
        return (self.size - 1) // (self.sizes[level] - 1)

    @cached_property
    def hats(self) -> tuple[Any, ...]:
        """The hat functions of each coarser grid at the vertices: sparse int64[K, N], in units of 1/steps²."""
        return tuple(self._hats(level) for level in range(len(self.sizes) - 1))

    def _hats(self, level: int) -> Any:
        steps, size, count = self.steps(level), self.sizes[level], len(self.vertices)
        cells = np.minimum(self.vertices // steps, size - 2)
        shares = self.vertices - cells * steps
        rows, columns, values = [], [], []
        for along in (0, 1):
            for across in (0, 1):
                ends = [share if step else steps - share for step, share in zip((along, across), shares.T, strict=True)]
                rows.append((cells[:, 0] + along) * size + cells[:, 1] + across)
                columns.append(np.arange(count))
                values.append(ends[0] * ends[1])
        entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
        matrix = scipy.sparse.csr_array(entries, shape=(size * size, count), dtype=np.int64)
        matrix.eliminate_zeros()
        return matrix[np.diff(matrix.indptr) > 0]  # vertices that some record has weight on

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """The number of vertices of each grid that count."""
        return (*(hat.shape[0] for hat in self.hats), len(self.vertices))

    def exact_sums(self, values: IntArray) -> list[IntArray]:
        """Return the sums of each grid, rounded down to whole units, from those of the finest: int64[size, size].

        A sum of the finest grid is below 2⁶¹, and products with whole hat functions may be above 2⁶³: high and low
        digits are multiplied one by one.
        """
        finest = values[self.vertices[:, 0], self.vertices[:, 1]]
        high, low = finest >> HIGH_BITS, finest & ((1 << HIGH_BITS) - 1)
        result = []
        for level, hats in enumerate(self.hats):
            bits = 2 * (self.steps(level).bit_length() - 1)
            result.append(((hats @ high) << (HIGH_BITS - bits)) + ((hats @ low) >> bits))
        return [*result, finest]


class GridEstimate:
    """The least-squares estimate of the finest grid's sums, from noisy sums of all grids with these variances.

    Weights on vertices, such as distances to a query, turn the estimate into an answer. Answers are counted from an
    anchor, the mean of the weights that the noise tells least about, so that a total may be known from elsewhere.
    """

    def __init__(self, grids: NestedGrids, variances: Sequence[float]) -> None:
        self.grids = grids
        self._variances = np.repeat(np.asarray(variances[:-1], dtype=np.float64), grids.counts[:-1])
        self._finest = float(variances[-1])

    @cached_property
    def _hats(self) -> Any:
        """The hat functions of all coarser grids: sparse float64[K, N]."""
        grids = self.grids
        parts = [hats.astype(np.float64) / grids.steps(level) ** 2 for level, hats in enumerate(grids.hats)]
        return scipy.sparse.vstack(parts, format="csr")

    @cached_property
    def _factor(self) -> tuple[FloatArray, bool]:
        """The Cholesky factor of what Woodbury's identity inverts, K × K."""
        products = (self._hats @ self._hats.T).toarray()
        products[np.diag_indices(len(products))] += self._variances / self._finest
        factor: tuple[FloatArray, bool] = scipy.linalg.cho_factor(products, lower=True, check_finite=False)
        return factor

    def _solve(self, right: FloatArray) -> FloatArray:
        """Return the inverse of the estimate's precision, times float64[N] or float64[N, q]."""
        coarse = scipy.linalg.cho_solve(self._factor, self._hats @ right, check_finite=False)
        return np.asarray((right - self._hats.T @ coarse) * self._finest)

    @cached_property
    def anchor(self) -> FloatArray:
        """The weights float64[N] of the mean that answers are counted from; they add up to 1."""
        solved = self._solve(np.ones(len(self.grids.vertices)))
        return np.asarray(solved / solved.sum())

    def estimate(self, sums: Sequence[IntArray], unit: float) -> FloatArray:
        """Return the estimate of the finest grid's sums float64[N], in people; unit: of the sums in one person."""
        return self._solve(self._weighted(sums, unit))

    def nonnegative(self, sums: Sequence[IntArray], unit: float) -> FloatArray:
        """Return the shares float64[N] of people that fit the noisy sums best, none negative, which add up to 1.

        A projected gradient with momentum, restarted where the error grows (O'Donoghue and Candès 2015).
        """
        target = self._weighted(sums, unit)
        start = self._solve(target)
        total = max(float(start.sum()), 1.0)
        step = 1 / self._largest_precision
        last = point = _onto_simplex(start, total)
        momentum = 1.0
        for _ in range(FIT_STEPS):
            gradient = self._precision(point) - target
            best = _onto_simplex(point - step * gradient, total)
            if float((point - best) @ (best - last)) > 0:
                momentum = 1.0
            following = (1 + math.sqrt(1 + 4 * momentum * momentum)) / 2
            point = best + (momentum - 1) / following * (best - last)
            moved, last, momentum = float(np.abs(best - last).sum()), best, following
            if moved < FIT_TOLERANCE * total:
                break
        return np.asarray(last / total)

    def _precision(self, values: FloatArray) -> FloatArray:
        """Return the estimate's precision, times float64[N]."""
        return np.asarray(values / self._finest + self._hats.T @ ((self._hats @ values) / self._variances))

    @cached_property
    def _largest_precision(self) -> float:
        """At least the largest eigenvalue of the precision: no row of it has a larger sum, and entries are positive."""
        return float(self._precision(np.ones(len(self.grids.vertices))).max())

    def _weighted(self, sums: Sequence[IntArray], unit: float) -> FloatArray:
        """Return the noisy sums in people, each divided by its variance, added up at the vertices."""
        coarse = np.concatenate([part.astype(np.float64) for part in sums[:-1]]) / unit / self._variances
        return np.asarray(self._hats.T @ coarse + sums[-1] / (unit * self._finest))

    def moments(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the variances of answers with weights float64[N, q], less their anchors, and Σ of squared variances.

        The second is the sum over all noisy numbers of the squared variance that each contributes: three times it, for
        Laplace noise, is the fourth cumulant of the answer.
        """
        solved = self._solve(weights - self.anchor @ weights)
        fine, coarse = solved**2 / self._finest, (self._hats @ solved) ** 2 / self._variances[:, None]
        squares = (fine**2).sum(axis=0) + (coarse**2).sum(axis=0)
        return fine.sum(axis=0) + coarse.sum(axis=0), squares


def _onto_simplex(values: FloatArray, total: float) -> FloatArray:
    """Return the nearest non-negative numbers with this sum."""
    ordered = np.sort(values)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, len(ordered) + 1)
    return np.asarray(np.maximum(values - excess[np.flatnonzero(ordered > excess)[-1]], 0))
