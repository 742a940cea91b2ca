"""Kernels: public covariances in whose Hilbert space one record has a small norm. docs/proofs/field.md.

In a metric of negative type, with ν a public measure, r(y) = ∫d(y,u)dν − ½∬d dν dν and K(y,y′) = r(y) + r(y′) − d(y,y′)
is a covariance. In the Hilbert space of C = 2K + c, the function d(x,·) − d(x′,·) has the squared norm
d(x,x′) + (r(x) − r(x′))²/c, and d(x,·) − ∫d(u,·)dν has r(x) + (r(x) − ½∬d dν dν)²/c.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from milepost._typing import AnyArray, FloatArray

SLACK = 1 + 1e-9  # rounding of floats, always to the private side
ROUNDING = 1e-11  # of computed distances, in diameters
CONSTANTS = np.geomspace(1e-4, 1, 33)  # candidates for c, in diameters


@dataclass(frozen=True, eq=False)
class Kernel:
    """A covariance C on public points, and bounds on the norms of records in its Hilbert space.

    C(y, y′) = half(y) + half(y′) − 2·apart(y, y′): half of a point's variance, a quarter of a difference's.
    anchor: A(y), from which distances to y are counted.
    pair, single: at least the squared norms of d(x,·) − d(x′,·) and of d(x,·) − A, for any records.
    max_variance: at least C(y, y), for any point.
    distance_error: how far a computed distance of a record to a query may be from the metric's; between_error: how far
    `apart` may be. combination_error: how far, besides, a weighted sum of computed distances may be from the metric's;
    0 where its only rounding is that to quanta.
    """

    half: Callable[[AnyArray], FloatArray]
    apart: Callable[[AnyArray, AnyArray], FloatArray]
    anchor: Callable[[AnyArray], FloatArray]
    pair: float
    single: float
    max_variance: float
    distance_error: float
    between_error: float
    combination_error: float = 0.0

    def for_weighted_sums(self) -> "Kernel":
        """Return the kernel whose `distance_error` is also that of weighted sums of distances."""
        return replace(self, distance_error=self.distance_error + self.combination_error)


@dataclass(frozen=True, eq=False)
class Reference:
    """A public measure ν on a space of negative type, as kernels need it.

    height: r of points, float64[k]. mean: ½∬d dν dν. between: distances of public points.
    away: float64[m + 1], borders of m rings around the centre. low, high: float64[m], within which r is on each ring.
    distance_error: how far a computed distance of a record to a query may be from the metric's; between_error: how far
    `between` may be.
    """

    height: Callable[[AnyArray], FloatArray]
    mean: float
    between: Callable[[AnyArray, AnyArray], FloatArray]
    diameter: float
    away: FloatArray
    low: FloatArray
    high: FloatArray
    distance_error: float
    between_error: float

    def kernels(self) -> tuple[Kernel, ...]:
        """Return a kernel for each constant c that may be the best; c = 0 suffices where r is the same everywhere."""
        if float(self.high.max()) - float(self.low.min()) <= 1e-12 * self.diameter:
            return (self._kernel(0.0),)
        return tuple(self._kernel(float(constant) * self.diameter) for constant in CONSTANTS)

    def _kernel(self, constant: float) -> Kernel:
        def half(points: AnyArray) -> FloatArray:
            return np.asarray(2 * self.height(points) + constant / 2)

        def anchor(points: AnyArray) -> FloatArray:
            return np.asarray(self.height(points) + self.mean)

        max_variance = 4 * float(self.high.max()) + constant
        pair, single = (value * SLACK for value in (self._pair(constant), self._single(constant)))
        return Kernel(
            half, self.between, anchor, pair, single, max_variance * SLACK, self.distance_error, self.between_error
        )

    def _pair(self, constant: float) -> float:
        """Return sup d(x,x′) + (r(x) − r(x′))²/c, ring by ring."""
        apart = np.minimum(self.away[1:, None] + self.away[None, 1:], self.diameter)
        if not constant:
            return float(apart.max())
        rise = np.maximum(self.high[:, None] - self.low[None], 0)
        return float((apart + np.maximum(rise, rise.T) ** 2 / constant).max())

    def _single(self, constant: float) -> float:
        """Return sup r(x) + (r(x) − ½∬d dν dν)²/c."""
        if not constant:
            return float(self.high.max())
        rise = np.maximum(np.abs(self.high - self.mean), np.abs(self.low - self.mean))
        return float((self.high + rise**2 / constant).max())


def level(
    height: float,
    between: Callable[[AnyArray, AnyArray], FloatArray],
    diameter: float,
    off: float,
    rough: float | None = None,
) -> Reference:
    """Return a measure with the same mean distance, 2·height, to every point: r is the same everywhere."""
    ends, value = np.array([0.0, math.inf]), np.array([height])
    rough = off if rough is None else rough

    def heights(points: AnyArray) -> FloatArray:
        return np.full(len(points), height)

    return Reference(heights, height, between, diameter, ends, value, value, off, rough)
