"""Projected: spaces whose metric is an average of |⟨θ, x − y⟩| over public directions θ.

Records and directions are rounded to integers, so that every product is exact and a record's image depends on it alone.
"""

import itertools
import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import pyarrow as pa

from milepost._typing import AnyArray, FloatArray, IntArray
from milepost._validation import check_whole
from milepost.errors import MilepostError
from milepost.spaces.bounds_provenance import BoundsProvenance
from milepost.spaces.box import Box
from milepost.spaces.distances.tiles import Tile, gather, sum_over_columns
from milepost.spaces.embeddings.anchor import Anchor
from milepost.spaces.embeddings.directions import DIRECTION_BITS, MAX_DIRECTIONS, SEED_MARK, UNIT, max_sum, mean_range
from milepost.spaces.embeddings.embedding import QUANTA, Distortion, Embedding
from milepost.spaces.embeddings.quantization import CACHE_NUMBERS, CoordinatePositions
from milepost.spaces.embeddings.stacked_products import multiply_columns
from milepost.spaces.embeddings.thread_blocks import scratch_array
from milepost.spaces.fields import NUMBER, SpaceField
from milepost.spaces.kernels.kernel import Kernel
from milepost.spaces.numeric import named_pairs, unit_of

DISTORTION = SpaceField(
    "distortion",
    NUMBER,
    "The largest share by which distances may be off; it sets the number of directions.",
    0.01,
    on_command_line=False,
)
CLIP = SpaceField("clip", NUMBER, "The share of each projection's interval that is used.", 0.5, on_command_line=False)
MAX_CORNERS = 1 << 12  # of a box, up to which its sensitivity bound is computed at the corners
MAX_CACHED_NUMBERS = 1 << 21  # of public pairs that stay in memory: 16 MB
MIN_WIDTH = 2.0**-10  # of an embedding interval, as a share of the widest
MAX_DEVIATIONS = 5.0  # standard deviations of a random projection of the farthest record, at which intervals end
LIKELY = 1.96  # standard deviations that 95 % of distances keep
ONE_PLACE = 0.625  # diameters: errors of random directions are planned for people at one place so far away
PROBES = 64  # public points at which the spread of rotations is shown


P = TypeVar("P", bound="Projected")


@dataclass(frozen=True, init=False)
class Projected(Box):
    """A box or a ball, and directions, which the subclass chooses."""

    by_products: ClassVar[bool] = True

    radius: float | None  # of a ball, whose box is low..high
    directions: int | None  # None: chosen for the table
    clip: float
    random_state: int

    def _set_fields(
        self,
        bounds: Any,
        center: Any,
        radius: Any,
        directions: Any,
        distortion: Any,
        clip: Any,
        random_state: Any,
        distance_unit: Any,
        bounds_provenance: Any,
    ) -> None:
        """Check the arguments and set the fields."""
        if (bounds is None) == (center is None and radius is None):
            raise MilepostError("give either bounds, for a box, or center and radius, for a ball")
        if bounds is None:
            columns, middle = _named_center(center)
            if not isinstance(radius, int | float) or not 0 < radius < math.inf:
                raise MilepostError(f"radius must be a positive number, got {radius!r}")
            pairs = [(value - radius, value + radius) for value in middle]
        else:
            columns, pairs = named_pairs(bounds)
        width = len(pairs)
        if directions is not None:
            check_whole("directions", directions, 1, MAX_DIRECTIONS)
        if distortion is not None and (not isinstance(distortion, int | float) or not 0 < distortion < 1):
            raise MilepostError(f"distortion must be a share of distances between 0 and 1, got {distortion!r}")
        if directions is not None and distortion is not None:
            raise MilepostError("give either directions or the distortion that their number should have, not both")
        if not isinstance(clip, int | float) or not 0 < clip <= 1:
            raise MilepostError(f"clip must be a share of the interval between 0 and 1, got {clip!r}")
        check_whole("random_state", random_state, 0)
        if width > 1 << 12:
            raise MilepostError(f"at most {1 << 12} columns are supported, got {width}")
        fields = {
            "columns": columns,
            "low": tuple(low for low, _ in pairs),
            "high": tuple(high for _, high in pairs),
            "radius": None if bounds is not None else float(radius),
            "directions": None if directions is None and width > 1 else self._round_directions(width, directions or 1),
            "clip": float(clip),
            "random_state": random_state,
            "distance_unit": unit_of(distance_unit),
            "bounds_provenance": BoundsProvenance.of(bounds_provenance),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        if not 1e-100 < self.diameter < 1e100:
            raise MilepostError(f"the diameter must lie between 1e-100 and 1e100, got {self.diameter:g}")
        self.check_offset()
        if distortion is not None and width > 1:
            object.__setattr__(self, "directions", self._directions_for(distortion))

    def _directions_for(self, distortion: float) -> int:
        """Return the smallest of `counts` whose relative error is at most the distortion."""
        for count in self.counts(MAX_DIRECTIONS):
            if self.with_directions(count)._relative_error <= distortion:
                return count
        raise MilepostError(
            f"no {MAX_DIRECTIONS:,} directions come within {distortion:g} of this metric; ask for a larger distortion"
        )

    @cached_property
    def count(self) -> int:
        """The number of directions."""
        return self.default_directions(self.width) if self.directions is None else self.directions

    def counts(self, max_count: int) -> list[int]:
        """Return the numbers of directions to choose from, each about twice the one before."""
        min_count = max(self.min_directions, self.width)
        doublings = range((max_count // min_count).bit_length())
        return sorted({*(min_count << k for k in doublings), max_count} if min_count < max_count else {max_count})

    def with_directions(self, count: int) -> Self:
        """Return the same space with another number of directions."""
        result = object.__new__(type(self))
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        for name, value in (fields | {"directions": self._round_directions(self.width, count)}).items():
            object.__setattr__(result, name, value)
        return result

    def size_variants(self, n: int) -> Sequence[Self]:  # noqa: ARG002
        """Return spaces with few to many directions, or the space alone where their number was given."""
        return (self,) if self.directions is not None else variants(self)

    def larger_variants(self, max_coordinates: int | None = None) -> Sequence[Self]:
        """Return spaces with more directions than the default."""
        limit = self.max_directions if max_coordinates is None else min(max_coordinates, self.max_directions)
        return () if self.directions is not None else more_variants(self, limit)

    # what a subclass adds

    min_directions: ClassVar[int]  # to choose from

    @property
    def max_directions(self) -> int:
        """The largest number of directions to choose from."""
        return MAX_DIRECTIONS

    even_widths: ClassVar[tuple[int, ...]] = ()  # numbers of columns for which directions are evenly spaced

    @staticmethod
    def _round_directions(width: int, count: int) -> int:
        """Return the number of directions that stands for another one, as the subclass rounds it."""
        return 1 if width == 1 else count

    @staticmethod
    @abstractmethod
    def default_directions(width: int) -> int:
        """Return the default number of directions."""

    @property
    @abstractmethod
    def thetas(self) -> IntArray:
        """Directions × 2¹⁷: int64[D, columns]."""

    @property
    @abstractmethod
    def factor(self) -> float:
        """The metric divided by the mean of |⟨θ, v⟩|."""

    @abstractmethod
    def term(self, differences: FloatArray) -> FloatArray:
        """Return what differences of a column add to the length, before the root."""

    @abstractmethod
    def root(self, total: FloatArray) -> FloatArray:
        """Return the length from the sum of terms."""

    def norm(self, vectors: FloatArray) -> FloatArray:
        """Return the metric's length of vectors float64[..., columns], column by column: the same bits in any batch."""
        total = np.zeros(vectors.shape[:-1])
        for j in range(vectors.shape[-1]):
            total += self.term(np.abs(vectors[..., j]))
        return self.root(total)

    @cached_property
    @abstractmethod
    def kernels(self) -> tuple[Kernel, ...]:
        """Covariances for the noise of `field`."""

    # the public side

    @property
    def clipping_rule(self) -> str:
        """The rule for private values outside the space."""
        return super().clipping_rule if self.radius is None else "points outside the ball were moved to its border"

    @cached_property
    def diameter(self) -> float:
        """The largest distance between two points."""
        if self.radius is not None:
            return 2 * self.radius * self._ball_factor
        with np.errstate(over="ignore"):  # an infinite one is refused
            return float(self.norm(np.asarray(self.high) - np.asarray(self.low)))

    _ball_factor: ClassVar[float] = 1.0

    @cached_property
    def _bits(self) -> int:
        """The bits of a record's coordinates, so that sums of products stay below 2⁵³."""
        return min(25, 52 - DIRECTION_BITS - self.width.bit_length())

    @cached_property
    def _scale(self) -> float:
        """The length that an integer of 2^bits stands for: the largest half-width."""
        return float(np.max(np.asarray(self.high) - np.asarray(self.low))) / 2

    def _to_integers(self, points: AnyArray, out: FloatArray) -> None:
        """Write the integers that stand for points, counted from the centre: elementwise and monotone."""
        np.subtract(points, self.center, out=out)
        out *= (1 << self._bits) / self._scale
        np.rint(out, out=out)

    @cached_property
    def _corner(self) -> FloatArray:
        """The largest integer of each column, on either side, as float64."""
        corners = np.array([self.low, self.high])
        self._to_integers(corners, out=corners)
        result: FloatArray = np.abs(corners).max(axis=0)
        return result

    @cached_property
    def _directions(self) -> FloatArray:
        """The directions and an offset that makes products nonnegative: float64[D, columns + 1], whole numbers."""
        return np.column_stack([self.thetas, self._halves])

    @cached_property
    def _max_length(self) -> float:
        """At least the Euclidean length of a record in integers."""
        if self.radius is None:
            return float(np.linalg.norm(self._corner)) * (1 + 1e-9)
        return (1 << self._bits) + math.sqrt(self.width)

    @cached_property
    def _halves(self) -> FloatArray:
        """Half-widths of the embedding intervals in integer products, whole numbers."""
        lengths = np.linalg.norm(self.thetas.astype(np.float64), axis=1) * (1 + 1e-9)
        if self.radius is None:
            halves = np.abs(self.thetas).astype(np.float64) @ self._corner
        else:
            halves = self._max_length * lengths
        # a direction across which records hardly move would otherwise take noise beyond 64 bits, or have no interval
        halves = np.maximum(halves, MIN_WIDTH * halves.max()) * self.clip
        if self._limits_intervals:
            halves = np.minimum(halves, self._max_length * lengths * (MAX_DEVIATIONS / math.sqrt(self.width)))
        result: FloatArray = np.ceil(halves)
        return result

    @property
    def _limits_intervals(self) -> bool:
        """Whether intervals end where random projections of records hardly ever are."""
        return False

    @cached_property
    def _length_unit(self) -> float:
        """The length that the whole number 1 stands for."""
        return self._scale / (1 << self._bits)

    @cached_property
    def embedding(self) -> Embedding:
        """One embedding coordinate per direction, each with weight factor/D."""
        thetas, halves = self.thetas, self._halves
        unit = self._length_unit / UNIT  # an integer product of 1
        weight = np.full(len(thetas), self.factor / len(thetas))
        ends = halves * unit
        total = float(np.sum(weight * 2 * ends))
        # an image is off its product by half a quantum at most, so a pair by one
        bound = self._product_bound() * unit * float(weight[0]) + total / QUANTA
        bound = min(bound, total) * (1 + 1e-9)
        clipping_error = self._clipping_error(unit * float(weight[0]))
        rotations = self._rotations
        return Embedding(
            weight,
            -ends,
            ends,
            bound,
            self._relative_error,
            clipping_error,
            symmetric=True,
            rotations=rotations,
            rotation_deviation=0.0 if rotations is None else self._pair_deviation * ONE_PLACE * self.diameter,
            probes=None if rotations is None else self._probes,
            anchor=self._anchor(weight, ends, bound),
        )

    @cached_property
    def _rotations(self) -> IntArray | None:
        """The independent random rotation of each direction; None for even directions."""
        return None

    @cached_property
    def _pair_deviation(self) -> float:
        """The standard deviation of an embedded distance over rotations, as a share of the distance."""
        return self._relative_error / LIKELY

    def _probes(self) -> FloatArray:
        return self.position(self.probe_points())

    def probe_points(self) -> FloatArray:
        """Return the middle of the space, and public points spread over it."""
        generator = np.random.default_rng([self.random_state, self.width, SEED_MARK])
        half = (np.asarray(self.high) - np.asarray(self.low)) / 2
        points = self.center + half * generator.uniform(-1, 1, (PROBES - 1, self.width))
        return np.vstack([self.center, self._move_inside(points)])

    @property
    def enclosing_ball(self) -> tuple[FloatArray, float]:
        """The ball itself, or the smallest one around the box."""
        if self.radius is not None:
            return self.center, self.radius
        return self.center, float(np.linalg.norm(np.asarray(self.high) - np.asarray(self.low))) / 2

    def _move_inside(self, points: FloatArray) -> FloatArray:
        return points if self.radius is None else self._into_ball(points)

    def _anchor(self, weight: FloatArray, ends: FloatArray, bound: float) -> Anchor | None:  # noqa: ARG002
        """Return a measure around the space, from which answers can be counted, where there is a good one."""
        return None

    def _product_bound(self) -> float:
        """Return an upper bound on Σ|⟨Θ_k, X − X′⟩| over pairs, in integer products."""
        if self.radius is not None:
            return max_sum(self.thetas) * UNIT * 2 * self._max_length
        columns = np.flatnonzero(self._corner)  # in which records differ
        if 1 << max(0, len(columns) - 1) <= MAX_CORNERS:  # a convex function is largest at a corner
            signs = np.array(list(itertools.product([1.0], *[[-1.0, 1.0]] * (len(columns) - 1))))
            corners = 2 * signs * self._corner[columns]
            return float(np.abs(corners @ self.thetas[:, columns].T.astype(np.float64)).sum(axis=1).max())
        return max_sum(self.thetas) * UNIT * 2 * float(np.linalg.norm(self._corner))

    def _clipping_error(self, weight: float) -> float:
        """Bound how far clipping to a share of the interval moves a distance: (t − c)₊ ≤ t²/(4c) on every direction."""
        if self.clip == 1:
            return 0.0
        products = self.thetas.astype(np.float64)
        max_length = float(np.linalg.norm(self._corner)) if self.radius is None else float(1 << self._bits)
        return weight * float(np.linalg.norm(products, 2)) ** 2 * max_length**2 / (4 * float(self._halves.min()))

    @property
    def _has_even_directions(self) -> bool:
        """Whether directions are evenly spaced rather than random."""
        return self.width in self.even_widths

    @cached_property
    def _relative_error(self) -> float:
        """A bound for all pairs with even directions; with random ones, a likely deviation at any fixed pair."""
        if self.width == 1:
            return 0.0
        return self._bounds.largest if self._has_even_directions else self.distortion().likely

    @cached_property
    def _bounds(self) -> Distortion:
        """The largest expansion and contraction of any pair of points, for even directions."""
        min_mean, max_mean = mean_range(self.width, self.count)
        return Distortion(self.factor * max_mean, 1 / max(self.factor * min_mean, 1e-300), 0.0)

    def distortion(self, pairs: int = 10_000) -> Distortion:
        """Return expansion and contraction (Definition 5): of all pairs with even directions (L2, up to three columns).

        With random directions, and for the likely deviation: of public pairs, x − y spread over the sphere.
        """
        if self.width == 1:
            return Distortion.of(np.empty(0))
        means = _direction_sums(self, pairs) / len(self.thetas)
        measurement = Distortion.of(means * self.factor / _pair_lengths(self.with_directions(1), pairs))
        return replace(self._bounds, likely=measurement.likely) if self._has_even_directions else measurement

    def _public_pairs(self, pairs: int) -> FloatArray:
        """Return differences of public pairs, spread over the sphere, as wide as the box: float64[pairs, columns]."""
        if self.width == 2:
            angle = math.pi * np.arange(pairs) / pairs
            return np.column_stack([np.cos(angle), np.sin(angle)])
        corner = tuple(self._corner.tolist())
        cached = pairs * self.width <= MAX_CACHED_NUMBERS
        return (_cached_pairs if cached else _random_pairs)(self.random_state, pairs, corner)

    def read(self, batch: pa.RecordBatch | AnyArray, first_row: int = 0) -> FloatArray:
        """Return private rows as points, moved to the nearest point of the box or ball; refuse NaN and text."""
        points = super().read(batch, first_row)
        return points if self.radius is None else self._into_ball(points)

    def _into_ball(self, points: FloatArray) -> FloatArray:
        center = self.center
        square = np.zeros(len(points))
        for j in range(self.width):  # column by column: the same operations for a row, whatever the batch
            square += (points[:, j] - center[j]) ** 2
        far = np.sqrt(square) > (self.radius or 0)
        within = (self.radius or 0) * (1 - 1e-13)  # so that a point that was moved is not moved again
        shrink = np.where(far, within / np.sqrt(np.where(far, square, 1)), 1)
        result: FloatArray = center + (points - center) * shrink[:, None]
        return np.where(far[:, None], result, points)

    def position(self, queries: AnyArray) -> FloatArray:
        """Return embedding positions in quanta, unrounded and unclipped, from exact integer products."""
        return self.all_positions(queries, self._positions(self._integers(queries)))

    def record_positions(self, points: AnyArray) -> CoordinatePositions:
        """Return a function for positions of records at some directions, from exact integer products."""
        return self._positions(self._integers(points))

    def _integers(self, points: AnyArray) -> FloatArray:
        """Return the integers that stand for points, and a last column of ones: float64[n, columns + 1]."""
        integers = np.ones((len(points), self.width + 1), order="F")
        self._to_integers(points, out=integers[:, :-1])
        return integers

    def _positions(self, integers: FloatArray, sums: FloatArray | None = None) -> CoordinatePositions:
        """Return a function for the positions of points in integers. sums: to which it adds Σ|⟨Θ_k, X⟩| of each."""
        scale, halves = (QUANTA / (2 * self._halves))[:, None], self._halves[:, None]

        def positions(coordinates: slice, out: FloatArray) -> None:
            multiply_columns(self._directions[coordinates], integers.T, out)
            scales, middles = scale[coordinates], halves[coordinates]
            count = max(1, CACHE_NUMBERS // max(1, out.shape[1]))
            for some in (slice(start, start + count) for start in range(0, len(out), count)):
                if sums is not None:
                    away = np.subtract(out[some], middles[some], out=scratch_array("products", out[some].shape))
                    np.add(sums, np.abs(away, out=away).sum(axis=0), out=sums)
                out[some] *= scales[some]

        return positions

    def distance_tiles(self, records: FloatArray, queries: AnyArray) -> Iterator[Tile]:
        """Yield the distance for every pair."""

        def term(_: int, x: FloatArray, y: FloatArray, out: FloatArray) -> FloatArray:
            np.subtract(x, y, out=out)
            return self.term(np.abs(out, out=out))

        for rows, some, sums in sum_over_columns(records, queries, term):
            yield rows, some, self.root(sums)

    def distance(self, records: FloatArray, queries: AnyArray) -> FloatArray:
        """Return the distance for every pair."""
        return gather(self.distance_tiles(records, queries), len(records), len(queries))

    def distance_range(self, queries: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Return 0 and the distance to the farthest corner of the box."""
        return self._range_up_to(self.norm(self._max_differences(queries)))

    def to_json(self) -> dict[str, Any]:
        """Return the JSON that the card stores."""
        card: dict[str, Any] = {
            "kind": self.kind,
            "directions": self.count,
            "clip": self.clip,
            "random_state": self.random_state,
            "distance_unit": self.distance_unit,
            **self.record,
        }
        if self.radius is None:
            return card | {"bounds": self.by_column(map(list, self.extent))}
        return card | {"center": self.by_column(self.center.tolist()), "radius": self.radius}

    @classmethod
    def from_json(cls, card: dict[str, Any], tensors: dict[str, AnyArray]) -> Self:  # noqa: ARG003
        """Return the space that `to_json` described."""
        return cls(**{key: value for key, value in card.items() if key != "kind"})


def _random_pairs(seed: int, pairs: int, corner: tuple[float, ...]) -> FloatArray:
    result = np.random.default_rng([seed, pairs]).standard_normal((pairs, len(corner)))
    return np.asarray(result * np.maximum(corner, 0))


_cached_pairs = lru_cache(maxsize=1)(_random_pairs)


@lru_cache(maxsize=2)
def _pair_lengths(space: Projected, pairs: int) -> FloatArray:
    """Return the lengths of `_public_pairs`, which are the same with any number of directions."""
    return space.norm(space._public_pairs(pairs))


@lru_cache(maxsize=16)
def _direction_sums(space: Projected, pairs: int) -> FloatArray:
    """Return Σ|⟨θ, v⟩| over a space's directions for each difference v of `_public_pairs`.

    The directions of a smaller number are the first of a larger one, so only the others are added.
    """
    smaller = [count for count in space.counts(space.count) if count < space.count]
    result = _direction_sums(space.with_directions(smaller[-1]), pairs).copy() if smaller else np.zeros(pairs)
    thetas = space.thetas[smaller[-1] if smaller else 0 :]
    vectors, units = space._public_pairs(pairs), thetas.astype(np.float64).T / UNIT
    rows = max(1, CACHE_NUMBERS // len(thetas))
    for start in range(0, pairs, rows):
        products = vectors[start : start + rows] @ units
        result[start : start + rows] += np.abs(products, out=products).sum(axis=1)
    return result


@lru_cache(maxsize=16)
def variants(space: P) -> tuple[P, ...]:
    """Return a space with each number of directions to choose from; cached, since measuring distortion is slow."""
    return tuple(space.with_directions(count) for count in space.counts(space.default_directions(space.width)))


@lru_cache(maxsize=16)
def more_variants(space: P, max_count: int) -> tuple[P, ...]:
    """Return a space with each larger number of directions, up to about `max_count`."""
    default = space.default_directions(space.width)
    return tuple(space.with_directions(count) for count in space.counts(max_count) if count > default)


def _named_center(center: Any) -> tuple[tuple[str, ...] | None, list[float]]:
    named = isinstance(center, dict)
    try:
        values = [float(value) for value in (center.values() if named else center)]
    except (TypeError, ValueError):
        raise MilepostError(f"center must be a point, by name or a list of numbers, got {center!r}") from None
    if not values or not all(math.isfinite(value) for value in values):
        raise MilepostError(f"center must be a point of finite numbers, got {center!r}")
    return (tuple(str(key) for key in center) if named else None), values
