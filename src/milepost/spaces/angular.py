"""Angular: vectors such as embeddings of text and images, by the angle between them. docs/proofs/sphere.md.

Vectors and directions are rounded to integers, so that every product is exact and a record's image depends on it alone.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from milepost._typing import AnyArray, FloatArray, IntArray
from milepost._validation import check_whole
from milepost.errors import MilepostError
from milepost.spaces.distances.integer_products import RADIUS_BITS, query_rows, record_rows, squared_distances
from milepost.spaces.distances.tiles import Tile, TileBuffer, gather
from milepost.spaces.embeddings.directions import DIRECTIONS, MAX_DIRECTIONS, sphere, sphere_count
from milepost.spaces.embeddings.embedding import QUANTA, Distortion, Embedding, box_sensitivity_bound
from milepost.spaces.embeddings.quantization import CoordinatePositions, CoordinateSpace
from milepost.spaces.embeddings.stacked_products import multiply_columns
from milepost.spaces.embeddings.trigonometry import angle, overwriting_angle
from milepost.spaces.fields import INTEGER, NAMES, SpaceField
from milepost.spaces.kernels.kernel import ROUNDING, Kernel, level
from milepost.spaces.numeric import read_matrix, refuse_infinite, refuse_missing

MAX_COLUMNS = 1 << 12
MIN_DIRECTIONS = 8
VECTOR_BITS = 28  # partial sums of |X·Θ| are at most ‖X‖·‖Θ‖, here 2²⁸·√4096·2¹⁷ = 2⁵¹: exact
PAIRS = 1000
NEAR = 1e-3  # squared distance of unit vectors
BLOCK = 1 << 20  # numbers in one block of a distance matrix
# the deviation ÷ π that `_measure` finds for usual numbers of columns and random_state=0, by number of directions,
# rounded up: measuring takes up to a second
DEVIATIONS = {
    64: {64: 0.1079390, 128: 0.0741491, 256: 0.0517267, 512: 0.0379689, 1024: 0.0251302},
    100: {100: 0.0836712, 200: 0.0615722, 400: 0.0426268, 800: 0.0305396},
    128: {128: 0.0747237, 256: 0.0564529, 512: 0.0378024, 1024: 0.0275124},
    200: {200: 0.0610944, 400: 0.0416842, 800: 0.0311206},
    256: {256: 0.0525485, 512: 0.0367783, 1024: 0.0263728},
    300: {300: 0.0505885, 600: 0.0335389, 1200: 0.0247057},
    384: {384: 0.0432553, 768: 0.0291838, 1536: 0.0210986},
    512: {512: 0.0373967, 1024: 0.0264564, 2048: 0.0182177},
    768: {768: 0.0306238, 1536: 0.0212696, 3072: 0.0157200},
    1024: {1024: 0.0264330, 2048: 0.0187111, 4096: 0.0138674},
    1536: {1536: 0.0219650, 3072: 0.0158392},
}


@dataclass(frozen=True, init=False)
class Angular(CoordinateSpace):
    """Vectors of `dim` numbers and the angle between them, 0 to π; their lengths do not matter.

    A private vector of zeros counts as the first axis, an infinite entry as the largest number. Queries have neither.

    Parameters
    ----------
    dim : int
        How many numbers a vector has.
    directions : int, optional
        How many hyperplanes stand for the angle, one coordinate each: the side on which a vector lies. More are closer
        to the angle. By default the number that gives the smallest error.
    random_state : int, default 0
        The seed of random directions.
    columns : list of str, optional
        The names of the columns in tables; by default all columns, by position.

    Examples
    --------
    >>> import milepost as mp
    >>> round(mp.Angular(64).diameter, 3)
    3.142
    """

    kind: ClassVar[str] = "angular"
    fields: ClassVar[tuple[SpaceField, ...]] = (
        SpaceField("dim", INTEGER, "How many numbers a vector has.", 64, required=True),
        DIRECTIONS,
        SpaceField("columns", NAMES, "The names of the columns, in order.", ["x", "y"], on_command_line=False),
    )
    thread_safe: ClassVar[bool] = True
    by_products: ClassVar[bool] = True

    dim: int
    directions: int | None
    random_state: int
    columns: tuple[str, ...] | None

    def __init__(self, dim: Any, directions: Any = None, random_state: Any = 0, columns: Any = None) -> None:
        check_whole("dim", dim, 1, MAX_COLUMNS)
        if directions is not None:
            check_whole("directions", directions, 1, MAX_DIRECTIONS)
        check_whole("random_state", random_state, 0)
        names = None if columns is None or isinstance(columns, str) else tuple(str(name) for name in columns)
        if columns is not None and (names is None or len(names) != dim or len(set(names)) != dim):
            raise MilepostError(f"columns must be a list of {dim} different names, got {columns!r}")
        fields = {
            "dim": dim,
            "directions": 1 if dim == 1 else directions,
            "random_state": random_state,
            "columns": names,
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @property
    def clipping_rule(self) -> str:
        """The rule for private values outside the space."""
        return "a vector of zeros counts as the first axis"

    @property
    def width(self) -> int:
        """The number of entries of a vector."""
        return self.dim

    @property
    def diameter(self) -> float:
        """π, between opposite vectors."""
        return math.pi

    @property
    def count(self) -> int:
        """The approximate number of directions."""
        return min(max(1024, 4 * self.dim), 4096) if self.directions is None else self.directions

    def with_directions(self, count: int) -> Self:
        """Return the same space with another number of directions."""
        return type(self)(self.dim, count, self.random_state, self.columns)

    def size_variants(self, n: int) -> Sequence["Angular"]:  # noqa: ARG002
        """Return spaces with few to many directions, or the space alone where their number was given."""
        return (self,) if self.directions is not None else variants(self)

    # points

    def read(self, batch: pa.RecordBatch | AnyArray, first_row: int = 0) -> FloatArray:
        """Return private rows as vectors that have a direction; refuse NaN and text only."""
        points = read_matrix(batch, self.columns, self.width)
        refuse_missing(points, self.names, "private rows", first_row)
        max_float = np.finfo(np.float64).max
        np.clip(points, -max_float, max_float, out=points)
        points[~points.any(axis=1), 0] = 1
        return points

    def read_queries(self, batch: pa.RecordBatch | AnyArray, first_row: int = 0) -> FloatArray:
        """Return public queries as vectors; refuse infinite and zero ones."""
        points = read_matrix(batch, self.columns, self.width)
        refuse_missing(points, self.names, "query points", first_row)
        refuse_infinite(points, self.names, first_row)
        if not points.any(axis=1).all():
            row = first_row + int(np.flatnonzero(~points.any(axis=1))[0])
            raise MilepostError(f"query points must have a direction, but point {row + 1} is a vector of zeros")
        return points

    def clip_points(self, queries: AnyArray) -> FloatArray:
        """Return queries unchanged: all are inside."""
        return queries

    # embedding coordinates

    @property
    def thetas(self) -> IntArray:
        """Directions × 2¹⁷: int64[D, dim]."""
        return sphere(self.dim, self.count, self.random_state)

    @cached_property
    def embedding(self) -> Embedding:
        """One embedding coordinate per direction, 0 or 1, of weight π/D: a single cell."""
        count = sphere_count(self.dim, self.count)
        weight, span = np.full(count, math.pi / count), np.full(count, QUANTA, dtype=np.int64)
        low, high = np.zeros(count), np.ones(count)
        bound = box_sensitivity_bound(weight / span, span)
        known = DEVIATIONS.get(self.dim, {}).get(self.count) if self.random_state == 0 else None
        relative_error = self._measurement[1] if known is None else known
        return Embedding(weight, low, high, bound, relative_error=relative_error, span=span, step=span)

    def position(self, queries: AnyArray) -> FloatArray:
        """Return 2²⁴ where a vector lies on the direction's side, else 0."""
        return self.all_positions(queries)

    def record_positions(self, points: AnyArray) -> CoordinatePositions:
        """Return a function for positions: 2²⁴ where a vector lies on the direction's side, else 0."""
        integers = _integers(points)

        def positions(coordinates: slice, out: FloatArray) -> None:
            multiply_columns(self._directions[coordinates], integers.T, out)  # exact
            np.multiply(out >= 0, float(QUANTA), out=out)

        return positions

    def _sides(self, vectors: FloatArray) -> AnyArray:
        """Return whether vectors lie on the directions' sides; a vector on the plane does."""
        return np.asarray((self._directions @ _integers(vectors).T >= 0).T)

    @cached_property
    def _directions(self) -> FloatArray:
        """The directions as floats, whole numbers."""
        return self.thetas.astype(np.float64)

    @property
    def distance_error(self) -> float:
        """How far rounding of two unit vectors may turn them."""
        return 2 * math.sqrt(self.dim) / (1 << RADIUS_BITS)

    def prepare_records(self, records: FloatArray) -> FloatArray:
        """Return unit vectors in integers, whose distances are products."""
        return record_rows(_units(records))

    def prepare_queries(self, queries: AnyArray) -> FloatArray:
        """Return unit vectors in integers, whose distances are products."""
        return query_rows(_units(queries))

    def distance_tiles(self, records: FloatArray, queries: AnyArray) -> Iterator[Tile]:
        """Yield angles, to √dim·2⁻²⁵, from exact products."""
        buffers = [TileBuffer() for _ in range(3)]
        sums = 2 * queries[:, -2:].T  # |x − y|² + |x + y|² = 2|x|² + 2|y|², all whole numbers
        for rows, some, minus in squared_distances(records, queries):
            plus, result, scratch = (buffer.array(*minus.shape) for buffer in buffers)
            np.matmul(records[rows, -2:], sums, out=plus)
            plus -= minus
            yield rows, some, overwriting_angle(minus, plus, result, scratch)

    def distance(self, records: FloatArray, queries: AnyArray) -> FloatArray:
        """Return angles, to √dim·2⁻²⁵, from exact products of unit vectors in integers."""
        tiles = self.distance_tiles(self.prepare_records(records), self.prepare_queries(queries))
        return gather(tiles, len(records), len(queries))

    def query_distances(self, left: AnyArray, right: AnyArray) -> FloatArray:
        """Return angles of queries to queries; these are public and few, so they are not rounded to integers."""
        scaled = (_scale_rows(part, VECTOR_BITS) for part in (left, right))
        u, v = (part / np.linalg.norm(part, axis=1, keepdims=True) for part in scaled)
        products = 2 * (u @ v.T)
        minus, plus = 2 - products, 2 + products
        for square, sign in ((minus, -1), (plus, 1)):  # products leave few digits of a small square
            near = np.argwhere(square < NEAR)
            for i, j in (part.T for part in np.array_split(near, 1 + len(near) * self.dim // BLOCK)):
                square[i, j] = ((u[i] + sign * v[j]) ** 2).sum(axis=1)
        return angle(minus, plus)

    @cached_property
    def kernels(self) -> tuple[Kernel, ...]:
        """Covariances with ν uniform on the sphere: the distances of any point to a point and its opposite sum to π."""
        return level(math.pi / 4, self.query_distances, math.pi, self.distance_error, ROUNDING * math.pi).kernels()

    def distortion(self, pairs: int = PAIRS) -> Distortion:
        """Return expansion and contraction (Definition 5) on public pairs, at angles spread over 0..π."""
        return self._measurement[0] if pairs == PAIRS else self._measure(pairs)[0]

    @cached_property
    def _measurement(self) -> tuple[Distortion, float]:
        """The result of `_measure` for the default number of pairs."""
        return self._measure(PAIRS)

    def _measure(self, pairs: int) -> tuple[Distortion, float]:
        """Return the distortion, and the deviation ÷ π that 95 % of the pairs at the worst angle, π/2, keep.

        D independent sides are off by ∝ √(p(1 − p)/D) at angle πp, so pairs at all angles give the worst deviation.
        """
        if self.dim == 1:
            return Distortion.of(np.empty(0)), 0.0
        generator = np.random.default_rng([self.random_state, pairs])
        share = (np.arange(pairs) + 0.5) / pairs
        embedded = np.empty(pairs)
        for part in np.array_split(np.arange(pairs), max(1, pairs * self.count // BLOCK)):
            left, other = generator.standard_normal((2, len(part), self.dim))
            left /= np.linalg.norm(left, axis=1, keepdims=True)
            other -= (other * left).sum(axis=1, keepdims=True) * left
            other /= np.linalg.norm(other, axis=1, keepdims=True)
            turn = math.pi * share[part, None]
            right = np.cos(turn) * left + np.sin(turn) * other
            embedded[part] = (self._sides(left) != self._sides(right)).mean(axis=1)
        ratio, off = embedded / share, np.abs(embedded - share)
        distortion = Distortion.of(ratio)
        if self.dim == 2:  # even directions: any arc is crossed by tD/π of them, rounded up or down
            return distortion, 1 / len(self.thetas)
        return distortion, float(np.quantile(off / np.sqrt(share * (1 - share)), 0.95)) / 2

    def to_json(self) -> dict[str, Any]:
        """Return the JSON that the card stores."""
        return {
            "kind": self.kind,
            "dim": self.dim,
            "directions": self.count,
            "random_state": self.random_state,
            "columns": None if self.columns is None else list(self.columns),
        }

    @classmethod
    def from_json(cls, card: dict[str, Any], tensors: dict[str, AnyArray]) -> Self:  # noqa: ARG003
        """Return the space that `to_json` described."""
        return cls(**{key: value for key, value in card.items() if key != "kind"})


@lru_cache(maxsize=16)
def variants(space: Angular) -> tuple[Angular, ...]:
    """Return a space with each number of directions to choose from; cached, since measuring distortion is slow."""
    min_count = max(MIN_DIRECTIONS, space.dim)
    counts = [min_count << k for k in range((space.count // min_count).bit_length())]
    return tuple(space.with_directions(count) for count in counts)


def _scale_rows(vectors: FloatArray, bits: int) -> FloatArray:
    """Return each row times the power of two that brings its largest entry to 2^(bits−1)..2^bits: exact."""
    exponent = np.frexp(np.abs(vectors).max(axis=1, initial=0))[1]
    return np.asarray(np.ldexp(vectors, (bits - exponent)[:, None]))


def _integers(vectors: FloatArray) -> FloatArray:
    """Return vectors as whole numbers of 28 bits, each row scaled by a power of two."""
    scaled = _scale_rows(vectors, VECTOR_BITS)
    return np.rint(scaled, out=scaled)


def _units(vectors: FloatArray) -> FloatArray:
    """Return unit vectors × 2²⁵, rounded; the length is summed column by column, the same way in any batch."""
    scaled = _scale_rows(vectors, 0)
    square = np.zeros(len(scaled))
    for column in scaled.T:
        square += column * column
    return np.rint(scaled / np.sqrt(square)[:, None] * (1 << RADIUS_BITS))
