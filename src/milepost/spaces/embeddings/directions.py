"""Public unit vectors, or directions, over which |⟨θ, v⟩| averages to ‖v‖₂/c, as integers of 18 bits.

The last bits of a float product depend on the batch; integers below 2⁵³ are exact in any order.
"""

import math
from functools import lru_cache
from threading import Lock

import numpy as np

from milepost._typing import FloatArray, IntArray
from milepost.spaces.fields import INTEGER, SpaceField

DIRECTION_BITS = 17  # and a sign
UNIT = 1 << DIRECTION_BITS
DIRECTIONS = SpaceField("directions", INTEGER, "How many directions stand for the distance; more are closer to it.", 32)
MAX_DIRECTIONS = 1 << 14
BLOCK = 1 << 18  # products at a time
RANGE_SHARE = 0.02  # tolerance for the ends of the range of means, as a share of the range
RANGE_FLOOR = 1e-4  # smallest tolerance, as a share of the largest mean
SPACE_RANGES = {  # mean_range(3, count), rounded outwards: the search takes a tenth of a second
    128: (0.496358248, 0.503436390),
    256: (0.498104252, 0.501698557),
    512: (0.499114732, 0.500812300),
}
SUBTRIANGLES = np.array([[0, 3, 5], [3, 1, 4], [5, 4, 2], [3, 4, 5]])  # of three corners and three midpoints


def length_factor(dimension: int) -> float:
    """Return c_d = √π·Γ((d+1)/2)/Γ(d/2): ‖v‖₂ = c_d·mean |⟨θ, v⟩| over the sphere."""
    return math.sqrt(math.pi) * math.exp(math.lgamma((dimension + 1) / 2) - math.lgamma(dimension / 2))


def sphere_count(dimension: int, count: int) -> int:
    """Return the number of directions of `sphere`, without making them: above three columns, of whole rotations."""
    if dimension <= 3:
        return 1 if dimension == 1 else count
    return math.ceil(count / dimension) * dimension


@lru_cache(maxsize=32)
def sphere(dimension: int, count: int, seed: int) -> IntArray:
    """Return about `count` unit vectors × 2¹⁷, int64[count, d]: equal angles, a lattice, or orthonormal blocks."""
    if dimension == 1:
        units: FloatArray = np.ones((1, 1))
    elif dimension == 2:
        angle = math.pi * (np.arange(count) + 0.5) / count
        units = np.column_stack([np.cos(angle), np.sin(angle)])
    elif dimension == 3:
        units = _hemisphere(count)
    else:
        units = _rotations(dimension, seed).first(sphere_count(dimension, count) // dimension)
    result: IntArray = np.rint(units * UNIT).astype(np.int64)
    result.flags.writeable = False
    return result


def _hemisphere(count: int) -> FloatArray:
    """Return a Fibonacci lattice on half of the sphere; the other half has the same |⟨θ, v⟩|."""
    k = np.arange(count)
    height = (k + 0.5) / count
    angle = math.pi * (1 + math.sqrt(5)) * k
    ring = np.sqrt(1 - height**2)
    return np.column_stack([ring * np.cos(angle), ring * np.sin(angle), height])


class _Rotations:
    """Random rotations, one after another: directions of a block repel, and are worth eight times as many others.

    The directions of a smaller number are the first of a larger one, so that none is computed twice.
    """

    def __init__(self, dimension: int, seed: int) -> None:
        self._dimension, self._generator = dimension, np.random.default_rng([seed, dimension])
        self._blocks: list[FloatArray] = []
        self._lock = Lock()

    def first(self, blocks: int) -> FloatArray:
        """Return the unit vectors of the first rotations: float64[blocks·d, d]."""
        with self._lock:
            while len(self._blocks) < blocks:
                matrix, triangle = np.linalg.qr(self._generator.standard_normal((self._dimension, self._dimension)))
                self._blocks.append(matrix * np.sign(np.diag(triangle)))
            return np.concatenate(self._blocks[:blocks])


@lru_cache(maxsize=4)
def _rotations(dimension: int, seed: int) -> _Rotations:
    return _Rotations(dimension, seed)


def max_sum(directions: IntArray) -> float:
    """Return an upper bound on Σ|⟨Θ_k, v⟩| / 2¹⁷ over unit vectors v, exact up to rounding in the plane.

    In the plane the supremum is the longest of the sums Σ ±Θ_k over the sign patterns that some v makes; elsewhere
    Cauchy–Schwarz gives √D·‖Θ‖₂.
    """
    units = directions / UNIT
    if directions.shape[1] == 2:
        return float(np.linalg.norm(_signed_sums(units)[1], axis=1).max()) * (1 + 1e-12)
    gram = np.linalg.eigvalsh(units.T @ units)
    return math.sqrt(len(units) * float(gram[-1])) * (1 + 1e-9)


def _signed_sums(units: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return vectors of the plane ordered by angle, within 0..π, and Σ ±θ with the first 0, 1, … of them plus."""
    ordered = units[np.argsort(np.arctan2(units[:, 1], units[:, 0]) % math.pi)]
    ordered = ordered * np.where(np.arctan2(ordered[:, 1], ordered[:, 0]) < 0, -1, 1)[:, None]
    sums = np.cumsum(ordered, axis=0)
    return ordered, 2 * np.vstack([np.zeros(2), sums]) - sums[-1]


def mean_range(dimension: int, count: int) -> tuple[float, float]:
    """Return bounds of mean |⟨θ, v⟩| over `count` even directions, for all unit vectors v of the plane or space."""
    known = SPACE_RANGES.get(count) if dimension == 3 else None
    return compute_mean_range(dimension, count) if known is None else known


@lru_cache(maxsize=64)
def compute_mean_range(dimension: int, count: int) -> tuple[float, float]:
    """Compute the bounds that `mean_range` returns; those of numbers that a space tries are tabulated.

    f(v) = mean |⟨θ, v⟩| is a maximum of linear functions ⟨s, v⟩, s = mean ±θ. So between normals of directions it is
    linear, and in the plane its minima are at these, its maxima the lengths |s|. In space the half-sphere is divided
    into triangles, and a triangle is divided again while it may hold a value beyond all values so far:
    f ≥ ⟨s, v⟩ ≥ its smallest value at a corner, with s of the middle m; and f ≤ its largest value at a corner ÷ the
    smallest ⟨corner, m⟩, as f is convex and of degree 1. docs/proofs/projections.md, section 3.
    """
    units = sphere(dimension, count, 0) / UNIT
    if dimension == 2:
        ordered, sums = _signed_sums(units)
        normals = np.column_stack([-ordered[:, 1], ordered[:, 0]]) / np.linalg.norm(ordered, axis=1, keepdims=True)
        minimum = float(np.abs((sums[:-1] * normals).sum(axis=1)).min()) / count
        return minimum * (1 - 1e-9), max_sum(sphere(dimension, count, 0)) / count * (1 + 1e-9)
    x, y, z = np.eye(3)
    corners = np.array([[x, y, z], [y, -x, z], [-x, -y, z], [-y, x, z]])
    values = _means(corners, units)
    minimum, maximum, tolerance = math.inf, 0.0, 0.0
    while len(corners):
        minimum, maximum = min(minimum, float(values.min())), max(maximum, float(values.max()))
        tolerance = max(RANGE_SHARE * (maximum - minimum), RANGE_FLOOR * maximum)
        middles = _unit(corners.sum(axis=1))
        lower = np.einsum("tij,tj->ti", corners, _gradients(middles, units)).min(axis=1)
        upper = values.max(axis=1) / np.einsum("tij,tj->ti", corners, middles).min(axis=1)
        undecided = (lower < minimum - tolerance) | (upper > maximum + tolerance)
        corners, values = corners[undecided], values[undecided]
        sides = _unit(corners + np.roll(corners, -1, axis=1))
        corners = np.concatenate([corners, sides], axis=1)[:, SUBTRIANGLES].reshape(-1, 3, 3)
        values = np.concatenate([values, _means(sides, units)], axis=1)[:, SUBTRIANGLES].reshape(-1, 3)
    return max(0.0, minimum - tolerance) * (1 - 1e-9), (maximum + tolerance) * (1 + 1e-9)


def _unit(vectors: FloatArray) -> FloatArray:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))


def _means(vectors: FloatArray, units: FloatArray) -> FloatArray:
    """Return mean |⟨θ, v⟩| for each of the vectors float64[n, 3, 3]: float64[n, 3]."""
    result = np.empty(vectors.shape[:-1])
    rows, flat = max(1, BLOCK // len(units)), vectors.reshape(-1, vectors.shape[-1])
    for start in range(0, len(flat), rows):
        part = slice(start, start + rows)
        result.reshape(-1)[part] = np.abs(flat[part] @ units.T).mean(axis=1)
    return result


def _gradients(vectors: FloatArray, units: FloatArray) -> FloatArray:
    """Return the mean of θ·sign ⟨θ, v⟩: float64[n, 3]."""
    result, rows = np.empty(vectors.shape), max(1, BLOCK // len(units))
    for start in range(0, len(vectors), rows):
        part = slice(start, start + rows)
        result[part] = np.sign(vectors[part] @ units.T) @ units
    return result / len(units)


@lru_cache(maxsize=32)
def stable(p: float, dimension: int, count: int, seed: int) -> IntArray:
    """Return `count` p-stable vectors tilted by their ℓ₁ length and divided by it, × 2¹⁷: int64[count, d].

    One random coordinate is drawn with density ∝ |s|·f(s), the others with f, so that the vector has density ∝ ‖s‖₁·f;
    then E|⟨s/‖s‖₁, v⟩| = ‖v‖_p/d, and no direction weighs much more than another.
    """
    if dimension == 1:
        return np.full((1, 1), UNIT, dtype=np.int64)
    generator = np.random.default_rng([seed, dimension, count])
    vectors = _symmetric_stable(generator, p, (count, dimension))
    pool = np.sort(np.abs(_symmetric_stable(generator, p, (1 << 20,))))
    cumulative = np.cumsum(pool)
    lengths = pool[np.searchsorted(cumulative, generator.random(count) * cumulative[-1])]
    columns = generator.integers(dimension, size=count)
    vectors[np.arange(count), columns] = lengths * generator.choice([-1.0, 1.0], size=count)
    units = vectors / np.abs(vectors).sum(axis=1, keepdims=True)
    result: IntArray = np.rint(units * UNIT).astype(np.int64)
    result.flags.writeable = False
    return result


def _symmetric_stable(generator: np.random.Generator, p: float, shape: tuple[int, ...]) -> FloatArray:
    """Draw symmetric p-stable numbers (Chambers, Mallows, Stuck 1976)."""
    angle = generator.uniform(-math.pi / 2, math.pi / 2, shape)
    wait = generator.exponential(size=shape)
    return np.asarray(np.sin(p * angle) / np.cos(angle) ** (1 / p) * (np.cos((1 - p) * angle) / wait) ** ((1 - p) / p))
