"""Anchors: a public measure ν around a space, from which noisy answers are counted. docs/proofs/anchors.md."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from milepost._typing import FloatArray, IntArray

SLACK = 1 + 1e-9  # rounding of floats, always to the private side
CONSTANTS = np.geomspace(0.01, 0.5, 40)  # candidates for c, in radii
RINGS = 256  # of records around the middle, on each of which mean distances are bounded
ORIGINS = 65  # candidates for the origin of r
TURNS = 256  # points of a cap's border that its table is computed from
BORDER_POINTS = 1 << 16  # points that the law of a coordinate is computed from
ANGLES = 1 << 10  # at which the mean distance to a sphere is computed
NODES = 1 << 10  # of the table of mean distances
TABLE_STEPS = 1 << 26  # of a table from end to end, on which its numbers are: a last bit of a float changes none
TABLE_ERROR = 1e-5  # at least the relative error of tables of mean distances


@dataclass(frozen=True, eq=False)
class Anchor:
    """A public measure ν around a space. Every record has one more coordinate: its mean distance r to ν.

    Answers are counted from ν: at a query y the mean distance is that of y less that of ν, both from noisy counts, plus
    the noisy mean of r. Noise is then small at every query, since counts that both need cancel.

    Parameters
    ----------
    radius : float
        The distance of ν from the middle.
    low, high : float
        The interval of r.
    quantum : float
        The distance of one quantum of it.
    mean : float
        The mean distance of two points of ν, which is also the mean of r over ν.
    typical : float
        The mean of r over the space, roughly.
    beyond : float
        The mean embedded distance of ν to the intervals' ends, for coordinates at which it is outside of them.
    norms : array
        float64[m]: records of ring k are embedded at most this far from the middle.
    least, most : array
        float64[m]: the interval of r of the records of a ring, as their coordinate gives it.
    singles : array
        float64[m]: at least the squared distance of the counts of such a record from the mean counts of ν.
    sensitivity_bound : float
        That of the embedding.
    deviation : float
        How far mean embedded distances of records to ν may be from r, where directions are not random.
    curve : callable
        Of a coordinate's index and positions in quanta: the mean distance of ν to them there, in quanta.
    same_curves : bool
        Whether `curve` is the same for all coordinates.
    """

    radius: float
    low: float
    high: float
    quantum: float
    mean: float
    typical: float
    beyond: float
    norms: FloatArray
    least: FloatArray
    most: FloatArray
    singles: FloatArray
    sensitivity_bound: float
    deviation: float
    curve: Callable[[int, FloatArray], FloatArray]
    same_curves: bool = True

    @cached_property
    def constants(self) -> tuple[float, ...]:
        """Candidates for the constant c: the noise on the sum of r has c/2 of the power of the counts' noise."""
        return tuple((CONSTANTS * self.radius).tolist())

    def pair(self, constant: float) -> float:
        """Return at least sup Σ τᵢ|qᵢ − q′ᵢ| + (r − r′)²/c over pairs of records."""
        apart, rises = self._extreme_pairs
        return float((apart + rises / constant).max()) * SLACK

    def single(self, constant: float, origin: int) -> float:
        """Return at least sup of the squared distance of a record's counts from those of ν, plus (r − r₀)²/c.

        origin: r₀ in quanta, from which r is counted where the number of records is private.
        """
        return float(self._singles(constant, np.array([self.low + self.quantum * origin]))[0])

    def best_origin(self, constant: float) -> int:
        """Return the origin of r, in quanta, with the smallest `single`."""
        origins = np.linspace(self.low, self.high, ORIGINS)
        return round(float(origins[int(np.argmin(self._singles(constant, origins)))] - self.low) / self.quantum)

    def _singles(self, constant: float, origins: FloatArray) -> FloatArray:
        rise = np.maximum(np.abs(self.most - origins[:, None]), np.abs(self.least - origins[:, None])) + self.quantum
        return np.asarray((self.singles + rise**2 / constant).max(axis=1) * SLACK)

    @cached_property
    def _apart(self) -> FloatArray:
        return np.minimum(self.norms[:, None] + self.norms[None], self.sensitivity_bound)

    @cached_property
    def _rises(self) -> FloatArray:
        """The largest squared difference of r between two rings; the coordinate rounds each r by half a quantum."""
        rise = np.maximum(self.most[:, None] - self.least[None], 0) + self.quantum
        return np.maximum(rise, rise.T) ** 2

    @cached_property
    def _extreme_pairs(self) -> tuple[FloatArray, FloatArray]:
        """Pairs of rings than which no other pair has more of both terms: a maximum is at one of them."""
        apart, rises = self._apart.ravel(), self._rises.ravel()
        order = np.lexsort((rises, apart))[::-1]
        best = np.maximum.accumulate(rises[order])
        first = np.concatenate([[True], best[1:] > best[:-1]])
        return apart[order][first], rises[order][first]

    @cached_property
    def pairs(self) -> tuple[tuple[float, float], ...]:
        """Constants c with their `pair`."""
        return tuple((c, self.pair(c)) for c in self.constants)

    @cached_property
    def singles_by_constant(self) -> tuple[tuple[int, float], ...]:
        """The best origin for each constant c, and its `single`."""
        origins = [(c, self.best_origin(c)) for c in self.constants]
        return tuple((origin, self.single(c, origin)) for c, origin in origins)

    def shares(self, i: int, span: int, bits: int) -> FloatArray:
        """Return how ν weighs the borders of cells of 2^bits quanta on coordinate i: float64[cells + 1], sum 1.

        A point of ν between two borders counts at both, in inverse proportion to its distances, as answers do.
        """
        key = 0 if self.same_curves else i, span, bits
        if key not in self._shares:
            self._shares[key] = self._compute_shares(*key)
        return self._shares[key]

    @cached_property
    def _shares(self) -> dict[tuple[int, int, int], FloatArray]:
        return {}

    def take(self, indices: IntArray) -> "Anchor":
        """Return the anchor of an embedding that has some of the coordinates."""
        return self if self.same_curves else replace(self, curve=lambda i, at: self.curve(int(indices[i]), at))

    def _compute_shares(self, i: int, span: int, bits: int) -> FloatArray:
        size = float(1 << bits)
        borders: FloatArray = size * np.arange(-1.0, (span >> bits) + 2)
        slopes = np.diff(self.curve(i, borders)) / size
        slopes[0], slopes[-1] = -1.0, 1.0  # points beyond an end count at the end
        return np.asarray(np.maximum(np.diff(slopes) / 2, 0))


def sphere_curve(dimension: int) -> Callable[[FloatArray], FloatArray]:
    """Return t ↦ mean |u − t| for u the projection of a uniform point of the unit sphere, also beyond its ends."""
    if dimension == 2:  # an arcsine law
        return lambda positions: _beyond_ends(
            positions, lambda share: (share * np.arcsin(share) + np.sqrt(1 - share**2)) * (2 / math.pi)
        )
    if dimension == 3:  # uniform
        return lambda positions: _beyond_ends(positions, lambda share: (1 + share**2) / 2)
    constant = math.exp(math.lgamma(dimension / 2) - math.lgamma((dimension - 1) / 2)) / math.sqrt(math.pi)

    def curve(share: FloatArray) -> FloatArray:
        inside = _share_within(dimension, share)
        # and twice the integral of u beyond t
        beyond = 2 * constant * (1 - share**2) ** ((dimension - 1) / 2) / (dimension - 1)
        return np.asarray(share * inside + beyond)

    return lambda positions: _beyond_ends(positions, curve)


def _share_within(dimension: int, share: FloatArray) -> FloatArray:
    """Return Pr[|u| ≤ t] for the projection u of a uniform point of the unit sphere, of density ∝ (1 − u²)^((d − 3)/2).

    The integrals A_k of (1 − u²)^k from 0 to t have (2k + 1)·A_k = t(1 − t²)^k + 2k·A_(k − 1), with A_0 = t and
    A_(−1/2) = arcsin t. All terms are positive, so that nothing cancels. (SciPy's function is slow to import.)
    """
    square, power = 1 - share**2, 0.0 if dimension % 2 else -0.5
    result, whole = (share.copy(), 1.0) if dimension % 2 else (np.arcsin(share), math.pi / 2)
    while power < (dimension - 3) / 2:
        power += 1
        result = (share * square**power + 2 * power * result) / (2 * power + 1)
        whole *= 2 * power / (2 * power + 1)
    return np.asarray(result / whole)


def _beyond_ends(positions: FloatArray, curve: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Return a symmetric curve of positions within ±1, and the distance from 0 beyond."""
    away = np.abs(positions)
    return np.where(away >= 1, away, curve(np.minimum(away, 1)))


@dataclass(frozen=True, eq=False)
class HeightTable:
    """r as a table over an increasing number s of a record in 0..1: piecewise linear, from basic operations alone."""

    low: float
    high: float
    shares: FloatArray  # (r − low)/(high − low) at the nodes of s, non-decreasing from 0 to 1

    def position(self, s: FloatArray) -> FloatArray:
        """Return where r is between low and high, 0..1, for each s; elementwise."""
        place = np.clip(s, 0, 1) * (len(self.shares) - 1)
        node = np.minimum(place.astype(np.int64), len(self.shares) - 2)
        left = self.shares[node]
        return np.asarray(np.clip(left + (self.shares[node + 1] - left) * (place - node), 0, 1))

    def heights(self, s: FloatArray) -> FloatArray:
        """Return r for each s."""
        return self.low + (self.high - self.low) * self.position(s)


def height_table(heights: FloatArray) -> HeightTable:
    """Return the table of r at equally spaced s."""
    heights = np.maximum.accumulate(heights)
    low, high = float(heights[0]), float(heights[-1])
    return HeightTable(low, high, np.rint(np.clip((heights - low) / (high - low), 0, 1) * TABLE_STEPS) / TABLE_STEPS)


@lru_cache(maxsize=64)
def sphere_table(dimension: int) -> HeightTable:
    """Return the mean distance to the unit sphere over s = |x|².

    The angle between a record and a point of ν has a density ∝ sin^(d − 2).
    """
    angles = math.pi * np.arange(0.5, ANGLES) / ANGLES
    weights = np.sin(angles) ** (dimension - 2)
    squares = np.linspace(0, 1, NODES + 1)[:, None]
    distances = np.sqrt(1 + squares - 2 * np.sqrt(squares) * np.cos(angles))
    return height_table((distances * (weights / weights.sum())).sum(axis=1))


@lru_cache(maxsize=64)
def border_table(radius: float) -> HeightTable:
    """Return the mean angle to the border of a spherical cap over s = sin²(angle to the centre) ÷ sin²(radius)."""
    angles = np.arcsin(np.minimum(np.sqrt(np.linspace(0, 1, NODES + 1)) * math.sin(radius), 1))
    turns = math.pi * np.arange(0.5, TURNS) / TURNS
    # half of the chord between two points at angles a and r from the centre, which is exact for small caps
    half = np.sin((angles - radius) / 2)[:, None] ** 2
    between = (np.sin(angles) * math.sin(radius))[:, None] * np.sin(turns / 2) ** 2
    return height_table(np.asarray(2 * np.arcsin(np.sqrt(np.minimum(half + between, 1)))).mean(axis=1))


@lru_cache(maxsize=16)
def border_curve(radius: float) -> Callable[[FloatArray], FloatArray]:
    """Return t ↦ mean |u − t| for u the coordinate of a uniform point of a cap's border, as a share of sin(radius).

    The coordinate is a/√(a² + up²), with a = sin(radius)·cos ψ and up = cos(radius).
    """
    along = math.sin(radius) * np.cos(math.pi * np.arange(0.5, BORDER_POINTS) / BORDER_POINTS)
    points = np.sort(along / np.hypot(along, math.cos(radius)) / math.sin(radius))
    sums = np.concatenate([[0.0], np.cumsum(points)])

    def curve(positions: FloatArray) -> FloatArray:
        below = np.searchsorted(points, positions)
        rise = positions * (2 * below - len(points)) - 2 * sums[below] + sums[-1]
        return np.asarray(rise / len(points))

    return curve


def rings(table: HeightTable) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the outer lengths of rings around the middle of the unit ball, and bounds of r on each."""
    away = np.linspace(0, 1, RINGS + 1)
    heights = table.heights(away**2)
    return away[1:], heights[:-1], heights[1:]
