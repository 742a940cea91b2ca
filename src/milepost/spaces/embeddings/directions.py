"""Public unit vectors, or directions, over which |⟨θ, v⟩| averages to ‖v‖₂/c, as integers of 18 bits.

The last bits of a float product depend on the batch; integers below 2⁵³ are exact in any order. Directions nest: those
of a smaller number are the first of a larger one, so that files of different sizes can be compared.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from threading import Lock

import numpy as np

from milepost._typing import FloatArray, IntArray
from milepost.spaces.embeddings.trigonometry import sine_cosine
from milepost.spaces.fields import INTEGER, SpaceField

DIRECTION_BITS = 17  # and a sign
UNIT = 1 << DIRECTION_BITS
DIRECTIONS = SpaceField(
    "directions", INTEGER, "About how many directions stand for the distance; more are closer to it.", 32
)
MAX_DIRECTIONS = 1 << 14
ROTATIONS = 8  # that are interleaved, above three columns
ROTATION_ROWS = 64  # of a rotation that are made at a time
STABLE_ROWS = 64  # stable vectors that are drawn at a time
POOL = 1 << 20  # stable numbers to draw a tilted one from
SEQUENCE_BITS = 15
VAN_DER_CORPUT = [1 << bit for bit in reversed(range(SEQUENCE_BITS))]  # v(k) has the bits of k in reverse order
# A scrambled Sobol sequence: a generator for each bit of k, and a shift. Of random scrambles, this one has about the
# smallest range of means for all powers of two from 16 to 2,048.
HEIGHTS = [31424, 16320, 6208, 3264, 1664, 896, 384, 128, 64, 32, 16, 8, 4, 2, 1], 6482
TURNS = (
    [24576, 16384, 28672, 22528, 25600, 17920, 29952, 24448, 24640, 16480, 28752, 22648, 25668, 18022, 30037],
    1503,
)
SEED_MARK = 0x6D70  # so that directions are not those that a table made with the same seed may come from
BLOCK = 1 << 18  # products at a time
RANGE_SHARE = 0.02  # tolerance for the ends of the range of means, as a share of the range
RANGE_FLOOR = 1e-4  # smallest tolerance, as a share of the largest mean
SPACE_RANGES = {  # mean_range(3, count), rounded outwards: the search takes up to six seconds
    128: (0.496131803, 0.504685643),
    256: (0.498041784, 0.502067673),
    512: (0.499035807, 0.500974902),
    1024: (0.499559163, 0.500478192),
    2048: (0.499715315, 0.500262066),
}
SUBTRIANGLES = np.array([[0, 3, 5], [3, 1, 4], [5, 4, 2], [3, 4, 5]])  # of three corners and three midpoints


def length_factor(dimension: int) -> float:
    """Return c_d = √π·Γ((d+1)/2)/Γ(d/2): ‖v‖₂ = c_d·mean |⟨θ, v⟩| over the sphere."""
    return math.sqrt(math.pi) * math.exp(math.lgamma((dimension + 1) / 2) - math.lgamma(dimension / 2))


def sphere_count(dimension: int, count: int) -> int:
    """Return the number of directions of `sphere` that stands for `count`, without making them.

    It is a power of two in the plane. Above three columns it is a multiple of 8, and beyond 8·d, of 8·d. Numbers are
    rounded up, or down where that would pass the largest number.
    """
    if dimension == 1:
        return 1
    if dimension == 2:
        return power_of_two(count)
    if dimension == 3:
        return count
    block = ROTATIONS * dimension
    step = ROTATIONS if count <= block else block
    rounded = math.ceil(count / step) * step
    return rounded if rounded <= MAX_DIRECTIONS else MAX_DIRECTIONS // step * step


def power_of_two(count: int) -> int:
    """Return the smallest power of two that is at least `count`."""
    return 1 << (count - 1).bit_length()


def direction_counts(dimension: int, min_count: int, max_count: int) -> list[int]:
    """Return numbers of directions to choose from, in order: each about twice the one before, and the largest.

    Up to three columns they are doublings of the smallest. Above, they are multiples of 8 below 8·d, then 8·d·2ᵏ. The
    largest is rounded as any number of directions is.
    """
    largest = sphere_count(dimension, max_count)
    if dimension <= 3:
        doublings = {min_count << k for k in range(max(1, max_count // min_count).bit_length())}
    else:
        block, first = ROTATIONS * dimension, sphere_count(dimension, max(min_count, dimension))
        few = {first << k for k in range(3) if first << k < block}
        doublings = few | {block << k for k in range((max_count // block).bit_length())}
    return sorted({count for count in doublings if count < largest} | {largest})


def rotation_groups(dimension: int, count: int) -> IntArray:
    """Return the independent rotation, from 0, that each direction of `sphere` belongs to, above three columns."""
    index = np.arange(sphere_count(dimension, count))
    return index // (ROTATIONS * dimension) * ROTATIONS + index % ROTATIONS


def rotation_deviation(dimension: int, rows: int, count: int) -> float:
    """Return the standard deviation of c_d·mean |⟨θ, v⟩| for a unit vector v, over random rotations.

    Of the `count` directions, `rows` at a time are orthogonal, and those of different rotations independent. Two
    entries of a random unit vector have E|u₁u₂| = 2/(πd).
    """
    square = length_factor(dimension) ** 2
    own, together = square / dimension - 1, square * 2 / (math.pi * dimension) - 1
    return math.sqrt(max(own + (rows - 1) * together, 0) / count)


@lru_cache(maxsize=32)
def sphere(dimension: int, count: int, seed: int) -> IntArray:
    """Return `sphere_count` unit vectors × 2¹⁷, int64[D, d]: equal angles, a Sobol sequence, or random rotations."""
    count = sphere_count(dimension, count)
    if dimension == 1:
        units: FloatArray = np.ones((1, 1))
    elif dimension == 2:
        sine, cosine = equal_angles(count)
        units = np.column_stack([cosine, sine])
    elif dimension == 3:
        units = _hemisphere(count)
    else:
        units = _rotations(dimension, seed).first(count)
    result: IntArray = np.rint(units * UNIT).astype(np.int64)
    result.flags.writeable = False
    return result


def equal_angles(count: int) -> tuple[FloatArray, FloatArray]:
    """Return sines and cosines of π·v(k), k < count, for the van der Corput sequence v: 0, 1/2, 1/4, 3/4, 1/8, …

    For a power of two these are equal angles.
    """
    return sine_cosine(180 * _digital_sequence(VAN_DER_CORPUT, 0, count))


def _digital_sequence(generators: Sequence[int], shift: int, count: int) -> FloatArray:
    """Return the numbers in 0..1 whose bits are the shift's and, added modulo 2, a generator for each bit of k."""
    index = np.arange(count)
    bits = np.full(count, shift)
    for digit, generator in enumerate(generators):
        bits ^= np.where(index >> digit & 1, generator, 0)
    return np.asarray(bits / (1 << SEQUENCE_BITS))


def _hemisphere(count: int) -> FloatArray:
    """Return a Sobol sequence on half of the sphere; the other half has the same |⟨θ, v⟩|.

    Area is uniform in the height and the turn. The middle of a cell of the finest grid is never at the height 0 or 1.
    """
    middle = 0.5 / (1 << SEQUENCE_BITS)
    height = _digital_sequence(*HEIGHTS, count) + middle
    sine, cosine = sine_cosine(360 * (_digital_sequence(*TURNS, count) + middle))
    ring = np.sqrt(1 - height**2)
    return np.column_stack([ring * cosine, ring * sine, height])


class _Rotation:
    """The rows of a random rotation, uniform over all rotations, made as they are needed.

    Rows come in blocks of a fixed size: normal vectors, less their part along earlier rows, made orthonormal. A row
    does not depend on how many are asked for.
    """

    def __init__(self, dimension: int, seed: int, index: int) -> None:
        self._generator = np.random.default_rng([seed, dimension, index, SEED_MARK])
        self._rows = np.empty((0, dimension))

    def first(self, count: int) -> FloatArray:
        """Return the first rows: float64[count, d]."""
        while len(self._rows) < count:
            made, dimension = self._rows.shape
            vectors = self._generator.standard_normal((min(ROTATION_ROWS, dimension - made), dimension))
            for _ in range(2 if made else 0):  # once leaves rounding errors along earlier rows
                vectors -= (vectors @ self._rows.T) @ self._rows
            columns, triangle = np.linalg.qr(vectors.T)
            self._rows = np.vstack([self._rows, (columns * np.sign(np.diag(triangle))).T])
        return self._rows[:count]


class _Rotations:
    """Independent random rotations, eight of them interleaved: any multiple of 8 has as many rows of each.

    The directions of a rotation repel, and are worth eight times as many others.
    """

    def __init__(self, dimension: int, seed: int) -> None:
        self._dimension, self._seed = dimension, seed
        self._made: list[_Rotation] = []
        self._lock = Lock()

    def first(self, count: int) -> FloatArray:
        """Return the first unit vectors, of a number that `sphere_count` returns: float64[count, d]."""
        block = ROTATIONS * self._dimension
        with self._lock:
            parts = [self._interleaved(start, min(block, count - start)) for start in range(0, count, block)]
        return np.concatenate(parts)

    def _interleaved(self, start: int, count: int) -> FloatArray:
        first = start // self._dimension
        while len(self._made) < first + ROTATIONS:
            self._made.append(_Rotation(self._dimension, self._seed, len(self._made)))
        rows = [rotation.first(count // ROTATIONS) for rotation in self._made[first : first + ROTATIONS]]
        return np.stack(rows, axis=1).reshape(count, self._dimension)


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
    directions = sphere(dimension, count, 0)
    units, count = directions / UNIT, len(directions)
    if dimension == 2:
        ordered, sums = _signed_sums(units)
        normals = np.column_stack([-ordered[:, 1], ordered[:, 0]]) / np.linalg.norm(ordered, axis=1, keepdims=True)
        minimum = float(np.abs((sums[:-1] * normals).sum(axis=1)).min()) / count
        return minimum * (1 - 1e-9), max_sum(directions) / count * (1 + 1e-9)
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
    chunks = range(math.ceil(count / STABLE_ROWS))
    units = np.concatenate([_stable_chunk(p, dimension, seed, chunk) for chunk in chunks])[:count]
    result: IntArray = np.rint(units * UNIT).astype(np.int64)
    result.flags.writeable = False
    return result


def _stable_chunk(p: float, dimension: int, seed: int, chunk: int) -> FloatArray:
    """Return the vectors of a chunk, which do not depend on how many are asked for: float64[64, d]."""
    generator = np.random.default_rng([seed, dimension, chunk, SEED_MARK])
    vectors = _symmetric_stable(generator, p, (STABLE_ROWS, dimension))
    pool, cumulative = _stable_pool(p, seed)
    lengths = pool[np.searchsorted(cumulative, generator.random(STABLE_ROWS) * cumulative[-1])]
    columns = generator.integers(dimension, size=STABLE_ROWS)
    vectors[np.arange(STABLE_ROWS), columns] = lengths * generator.choice([-1.0, 1.0], size=STABLE_ROWS)
    return np.asarray(vectors / np.abs(vectors).sum(axis=1, keepdims=True))


@lru_cache(maxsize=1)
def _stable_pool(p: float, seed: int) -> tuple[FloatArray, FloatArray]:
    """Return magnitudes of stable numbers, sorted, and their sums, from a generator that makes no direction."""
    generator = np.random.default_rng([seed, 0, 0, 1])  # zeros at the end of a seed would not count
    pool = np.sort(np.abs(_symmetric_stable(generator, p, (POOL,))))
    return pool, np.cumsum(pool)


def _symmetric_stable(generator: np.random.Generator, p: float, shape: tuple[int, ...]) -> FloatArray:
    """Draw symmetric p-stable numbers (Chambers, Mallows, Stuck 1976)."""
    angle = generator.uniform(-math.pi / 2, math.pi / 2, shape)
    wait = generator.exponential(size=shape)
    return np.asarray(np.sin(p * angle) / np.cos(angle) ** (1 / p) * (np.cos((1 - p) * angle) / wait) ** ((1 - p) / p))
