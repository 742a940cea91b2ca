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
from milepost._validation import check_whole, did_you_mean
from milepost.errors import MilepostError
from milepost.spaces.distances.integer_products import RADIUS_BITS, query_rows, record_rows, squared_distances
from milepost.spaces.distances.tiles import Tile, TileBuffer, gather
from milepost.spaces.embeddings.directions import (
    DIRECTIONS,
    MAX_DIRECTIONS,
    UNIT,
    direction_counts,
    rotation_groups,
    sphere,
    sphere_count,
)
from milepost.spaces.embeddings.embedding import QUANTA, Distortion, Embedding, box_sensitivity_bound
from milepost.spaces.embeddings.projected import LIKELY, PROBES
from milepost.spaces.embeddings.quantization import CoordinatePositions, CoordinateSpace
from milepost.spaces.embeddings.stacked_products import multiply_columns
from milepost.spaces.embeddings.trigonometry import angle, overwriting_angle
from milepost.spaces.fields import INTEGER, NAMES, TEXT, SpaceField
from milepost.spaces.kernels.kernel import ROUNDING, Kernel, level
from milepost.spaces.numeric import read_matrix, refuse_infinite, refuse_missing

HALF_TURN = {"radians": math.pi, "degrees": 180.0}  # by unit of angles
RADIANS = "radians"  # the default, which cards leave out and labels do not show
MAX_COLUMNS = 1 << 12
MIN_DIRECTIONS = 8
VECTOR_BITS = 28  # partial sums of |X·Θ| are at most ‖X‖·‖Θ‖, here 2²⁸·√4096·2¹⁷ = 2⁵¹: exact
PAIRS = 1000
SPREAD_SHARE = 0.6  # of the error for equal vectors, for vectors 60° apart: √(1 − 2·60°/180°), rounded up
NEAR = 1e-3  # squared distance of unit vectors
BLOCK = 1 << 20  # numbers in one block of a distance matrix


@dataclass(frozen=True, init=False)
class Angular(CoordinateSpace):
    """Vectors of `dim` numbers and the angle between them, 0 to π; their lengths do not matter.

    A private vector of zeros counts as the first axis, an infinite entry as the largest number. Queries have neither.

    Parameters
    ----------
    dim : int
        How many numbers a vector has.
    directions : int, optional
        About how many hyperplanes stand for the angle, one coordinate each: the side on which a vector lies. The number
        is rounded up to a power of two in the plane. Above three columns it is rounded up to a multiple of 8, and
        beyond 8·dim, to a multiple of that. More are closer to the angle. By default the number that gives the smallest
        error.
    random_state : int, default 0
        The seed of random directions.
    columns : list of str, optional
        The names of the columns in tables; by default all columns, by position.
    angle_unit : {"radians", "degrees"}, default "radians"
        The unit of all distances and errors. Privacy is the same in both.

    Examples
    --------
    >>> import milepost as mp
    >>> round(mp.Angular(64).diameter, 3)
    3.142
    >>> mp.Angular(64, angle_unit="degrees").diameter
    180.0
    """

    kind: ClassVar[str] = "angular"
    fields: ClassVar[tuple[SpaceField, ...]] = (
        SpaceField("dim", INTEGER, "How many numbers a vector has.", 64, required=True),
        DIRECTIONS,
        SpaceField("columns", NAMES, "The names of the columns, in order.", ["x", "y"], on_command_line=False),
        SpaceField("angle_unit", TEXT, "The unit of angles: radians, the default, or degrees.", "degrees"),
    )
    thread_safe: ClassVar[bool] = True
    by_products: ClassVar[bool] = True

    dim: int
    directions: int | None
    random_state: int
    columns: tuple[str, ...] | None
    angle_unit: str

    def __init__(
        self,
        dim: Any,
        directions: Any = None,
        random_state: Any = 0,
        columns: Any = None,
        *,
        angle_unit: Any = RADIANS,
    ) -> None:
        check_whole("dim", dim, 1, MAX_COLUMNS)
        if directions is not None:
            check_whole("directions", directions, 1, MAX_DIRECTIONS)
        check_whole("random_state", random_state, 0)
        names = None if columns is None or isinstance(columns, str) else tuple(str(name) for name in columns)
        if columns is not None and (names is None or len(names) != dim or len(set(names)) != dim):
            raise MilepostError(f"columns must be a list of {dim} different names, got {columns!r}")
        if not isinstance(angle_unit, str) or angle_unit not in HALF_TURN:
            hint = did_you_mean(angle_unit, HALF_TURN)
            raise MilepostError(f"angle_unit= must be one of {', '.join(HALF_TURN)}, got {angle_unit!r}{hint}")
        fields = {
            "dim": dim,
            "directions": None if directions is None and dim > 1 else sphere_count(dim, directions or 1),
            "random_state": random_state,
            "columns": names,
            "angle_unit": angle_unit,
            "distance_unit": "" if angle_unit == RADIANS else angle_unit,
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
        """π or 180°, between opposite vectors."""
        return HALF_TURN[self.angle_unit]

    @property
    def _radian(self) -> float:
        """The distance of an angle of 1 radian; exactly 1 in radians."""
        return self.diameter / math.pi

    @property
    def count(self) -> int:
        """The number of directions."""
        return (
            sphere_count(self.dim, min(max(1024, 4 * self.dim), 4096)) if self.directions is None else self.directions
        )

    def with_directions(self, count: int) -> Self:
        """Return the same space with another number of directions."""
        return type(self)(self.dim, count, self.random_state, self.columns, angle_unit=self.angle_unit)

    def size_variants(self, n: int) -> Sequence["Angular"]:  # noqa: ARG002
        """Return spaces with few to many directions, or the space alone where their number was given."""
        return (self,) if self.directions is not None else variants(self)

    def larger_variants(self, max_coordinates: int | None = None) -> Sequence["Angular"]:
        """Return spaces with more directions than the default."""
        limit = MAX_DIRECTIONS if max_coordinates is None else min(max_coordinates, MAX_DIRECTIONS)
        counts = direction_counts(self.dim, MIN_DIRECTIONS, limit) if self.directions is None else []
        return [self.with_directions(count) for count in counts if count > self.count]

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
        """One embedding coordinate per direction, 0 or 1, of weight π/D, or 180°/D: a single cell."""
        count = self.count
        weight, span = np.full(count, self.diameter / count), np.full(count, QUANTA, dtype=np.int64)
        low, high = np.zeros(count), np.ones(count)
        bound = box_sensitivity_bound(weight / span, span)
        random = self.dim > 3
        deviation = 0.5 / math.sqrt(count)  # of the share of D independent sides, for vectors at a right angle
        return Embedding(
            weight,
            low,
            high,
            bound,
            relative_error=LIKELY * deviation if random else self._measurement[1],
            span=span,
            step=span,
            rotations=rotation_groups(self.dim, count) if random else None,
            rotation_deviation=self.diameter * deviation * SPREAD_SHARE if random else 0.0,
            rotation_tables="whose vectors are at least 60° apart on average",
            probes=self._probes if random else None,
        )

    def _probes(self) -> FloatArray:
        return self.position(self.probe_points())

    def probe_points(self) -> FloatArray:
        """Return public vectors in all directions."""
        return np.random.default_rng([self.random_state, self.dim]).standard_normal((PROBES, self.dim))

    @property
    def enclosing_ball(self) -> tuple[FloatArray, float]:
        """The ball of radius 1 around 0."""
        return np.zeros(self.dim), 1.0

    def vectors(self, points: FloatArray) -> FloatArray:
        """Return vectors of length 1."""
        return _units(points) / (1 << RADIUS_BITS)

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
        return 2 * math.sqrt(self.dim) / (1 << RADIUS_BITS) * self._radian

    def prepare_records(self, records: FloatArray) -> FloatArray:
        """Return unit vectors in integers, whose distances are products."""
        return record_rows(_units(records))

    def prepare_queries(self, queries: AnyArray) -> FloatArray:
        """Return unit vectors in integers, whose distances are products."""
        return query_rows(_units(queries))

    def distance_tiles(self, records: FloatArray, queries: AnyArray) -> Iterator[Tile]:
        """Yield angles, to √dim·2⁻²⁵ radians, from exact products."""
        buffers = [TileBuffer() for _ in range(3)]
        sums = 2 * queries[:, -2:].T  # |x − y|² + |x + y|² = 2|x|² + 2|y|², all whole numbers
        for rows, some, minus in squared_distances(records, queries):
            plus, result, scratch = (buffer.array(*minus.shape) for buffer in buffers)
            np.matmul(records[rows, -2:], sums, out=plus)
            plus -= minus
            yield rows, some, self._in_unit(overwriting_angle(minus, plus, result, scratch))

    def distance(self, records: FloatArray, queries: AnyArray) -> FloatArray:
        """Return angles, to √dim·2⁻²⁵ radians, from exact products of unit vectors in integers."""
        tiles = self.distance_tiles(self.prepare_records(records), self.prepare_queries(queries))
        return gather(tiles, len(records), len(queries))

    def _in_unit(self, angles: FloatArray) -> FloatArray:
        """Return angles in radians, which may be overwritten, in the unit of the space: elementwise."""
        return angles if self.angle_unit == RADIANS else np.multiply(angles, self._radian, out=angles)

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
        return self._in_unit(angle(minus, plus))

    @cached_property
    def kernels(self) -> tuple[Kernel, ...]:
        """Covariances with ν uniform on the sphere: angles to two opposite vectors sum to half a turn."""
        half_turn = self.diameter
        rounding = ROUNDING * half_turn
        return level(half_turn / 4, self.query_distances, half_turn, self.distance_error, rounding).kernels()

    def distortion(self, pairs: int = PAIRS) -> Distortion:
        """Return expansion and contraction (Definition 5) on public pairs, at angles spread over half a turn."""
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
            return distortion, 1 / self.count + 0.5 / UNIT  # rounding to integers turns both ends by 2⁻¹⁷·√½ at most
        return distortion, float(np.quantile(off / np.sqrt(share * (1 - share)), 0.95)) / 2

    def to_json(self) -> dict[str, Any]:
        """Return the JSON that the card stores."""
        return {
            "kind": self.kind,
            "dim": self.dim,
            "directions": self.count,
            "random_state": self.random_state,
            "columns": None if self.columns is None else list(self.columns),
            **({} if self.angle_unit == RADIANS else {"angle_unit": self.angle_unit}),
        }

    @classmethod
    def from_json(cls, card: dict[str, Any], tensors: dict[str, AnyArray]) -> Self:  # noqa: ARG003
        """Return the space that `to_json` described."""
        return cls(**{key: value for key, value in card.items() if key != "kind"})


@lru_cache(maxsize=16)
def variants(space: Angular) -> tuple[Angular, ...]:
    """Return a space with each number of directions to choose from; cached, since measuring distortion is slow."""
    return tuple(space.with_directions(count) for count in direction_counts(space.dim, MIN_DIRECTIONS, space.count))


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
