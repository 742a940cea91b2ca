"""Spaces with ℓp distances: L1, L2, Lp."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from milepost._typing import AnyArray, FloatArray, ImageArray, IntArray
from milepost.errors import MilepostError
from milepost.spaces.bounds_provenance import BoundsProvenance
from milepost.spaces.box import BOUNDS, BOUNDS_PROVENANCE, DISTANCE_UNIT, STEP, WEIGHTS, Box
from milepost.spaces.charts.chart import Chart, PlaneChart
from milepost.spaces.distances.integer_products import (
    MAX_SQUARE,
    RADIUS_BITS,
    query_rows,
    record_rows,
    squared_distances,
    squared_lengths,
)
from milepost.spaces.distances.tiles import Tile, gather, sum_over_columns
from milepost.spaces.embeddings.anchor import TABLE_ERROR, Anchor, rings, sphere_curve, sphere_table
from milepost.spaces.embeddings.directions import (
    DIRECTIONS,
    MAX_DIRECTIONS,
    SEED_MARK,
    SPACE_RANGES,
    UNIT,
    direction_counts,
    length_factor,
    rotation_deviation,
    rotation_groups,
    sphere,
    sphere_count,
    stable,
)
from milepost.spaces.embeddings.embedding import QUANTA, Embedding, box_sensitivity_bound, default_cells
from milepost.spaces.embeddings.projected import CLIP, DISTORTION, LIKELY, MAX_DEVIATIONS, Projected
from milepost.spaces.embeddings.quantization import CACHE_NUMBERS, CoordinatePositions
from milepost.spaces.embeddings.stacked_products import multiply_columns
from milepost.spaces.embeddings.thread_blocks import scratch_array
from milepost.spaces.fields import NUMBER, POINT, SpaceField
from milepost.spaces.kernels.kernel import Kernel, level
from milepost.spaces.kernels.reference_measures import around_ball, corners
from milepost.spaces.numeric import named_numbers, named_pairs, unit_of

MIN_PRODUCT_COLUMNS = 8  # from which L2 distances are quicker as products than column by column
NEAR = 2.0**-6  # of the squared lengths of two points: a smaller squared distance is computed column by column
MAX_NEAR_NUMBERS = 1 << 20  # in memory at a time
MAX_EXPANSION_DEVIATIONS = 4.0  # of embedded distances over rotations: a record is scaled down beyond these
MAX_INDEPENDENT = 32  # groups of independent directions
ANCHOR_POINTS, ANCHOR_MARGIN = 64, 1.5  # at which the mean distance to the anchor is compared with the embedded one
MAX_SINGLE_SUMMANDS = 64  # products that are added up in single precision
SUM_ERROR = 1e-9  # more than the relative error of a sum of positive floats, one for each direction
MAX_EXACT = 1 << 53  # whole numbers up to here are floats
MIN_WIDTH = 1e-100  # of the interval of a column, so that positions in it are ordinary floats


@dataclass(frozen=True, init=False)
class L1(Box):
    """A box with the distance Σᵢ weightᵢ·|xᵢ − yᵢ|; its columns are the embedding coordinates, so nothing is lost.

    Parameters
    ----------
    bounds : dict or list of pairs
        The public interval of each column, by name or in the order of an array's columns.
    weights : dict, list or float, optional
        What one unit of a column counts, by name or position; 1 by default.
    step : dict, list or float, optional
        The step of columns whose values are whole steps (1 for ages in years). Answers then have no interpolation
        error. A record between two steps is moved to the nearest one, low + k·step, and the reported error does not
        include this. With None or 0 records can be anywhere.
    distance_unit : str, default ""
        The unit of distances, for labels: "km".
    bounds_provenance : BoundsProvenance or dict, optional
        How the bounds were found, as `find_bounds` reports it; leave it out for bounds that are public knowledge.

    Examples
    --------
    >>> import milepost as mp
    >>> mp.L1({"east": (0, 10), "north": (0, 10)}).diameter
    20.0
    """

    kind: ClassVar[str] = "l1"
    fields: ClassVar[tuple[SpaceField, ...]] = (BOUNDS, WEIGHTS, STEP, DISTANCE_UNIT, BOUNDS_PROVENANCE)
    weights: tuple[float, ...]
    step: tuple[float, ...]

    def __init__(
        self,
        bounds: Any,
        weights: Any = None,
        step: Any = None,
        *,
        distance_unit: Any = "",
        bounds_provenance: Any = None,
    ) -> None:
        columns, pairs = named_pairs(bounds)
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "low", tuple(low for low, _ in pairs))
        object.__setattr__(self, "high", tuple(high for _, high in pairs))
        object.__setattr__(self, "weights", named_numbers("weights", weights, columns, len(pairs), 1.0))
        object.__setattr__(self, "step", named_numbers("step", step, columns, len(pairs), 0.0))
        object.__setattr__(self, "distance_unit", unit_of(distance_unit))
        object.__setattr__(self, "bounds_provenance", BoundsProvenance.of(bounds_provenance))
        if not 1e-100 < self.diameter < 1e100:
            raise MilepostError(
                "bounds and weights must leave at least one column of positive width, and a diameter between 1e-100 "
                f"and 1e100, got a diameter of {self.diameter:g}"
            )
        for i in self.embedding_columns.tolist():
            if not MIN_WIDTH < self.high[i] - self.low[i] < 1 / MIN_WIDTH:
                raise MilepostError(
                    f"bounds of column {self.names[i]!r} must be {MIN_WIDTH:g} to {1 / MIN_WIDTH:g} apart, got "
                    f"({self.low[i]!r}, {self.high[i]!r}); multiply the column by a power of ten, and divide its weight"
                )
        self.check_offset()
        _ = self.embedding  # a step that does not fit is refused now

    @property
    def diameter(self) -> float:
        """The distance between opposite corners."""
        return sum(self._spread)

    @property
    def _spread(self) -> list[float]:
        """The distance across each column."""
        return [w * (high - low) for w, low, high in zip(self.weights, self.low, self.high, strict=True)]

    @cached_property
    def embedding_columns(self) -> IntArray:
        """The column of each embedding coordinate; columns that add nothing (beyond float rounding) have none."""
        spread = np.array(self._spread)
        return np.flatnonzero(spread > 1e-15 * spread.max())

    @cached_property
    def embedding(self) -> Embedding:
        """The columns themselves; a column of steps has a whole number of quanta, a power of two, in each step."""
        weight, low, high = (
            np.asarray(values)[self.embedding_columns] for values in (self.weights, self.low, self.high)
        )
        pairs = [self._steps(i) for i in self.embedding_columns.tolist()]
        span, step = (np.array(column, dtype=np.int64) for column in zip(*pairs, strict=True))
        return Embedding(
            weight, low, high, box_sensitivity_bound(weight * (high - low) / span, span), span=span, step=step
        )

    def _steps(self, i: int) -> tuple[int, int]:
        """Return the quanta of a column and of one of its steps."""
        if not self.step[i]:
            return QUANTA, 1
        count = (self.high[i] - self.low[i]) / self.step[i]
        max_steps = default_cells(len(self.embedding_columns))
        if not (1 <= round(count) <= max_steps and abs(count - round(count)) < 1e-9 * count):
            raise MilepostError(
                f"step {self.step[i]:g} of column {self.names[i]!r} must divide its bounds "
                f"({self.low[i]:g}, {self.high[i]:g}) into 1 to {max_steps:,} whole steps, got {count:g}"
            )
        step = QUANTA >> (round(count) - 1).bit_length()
        return round(count) * step, step

    def position(self, queries: AnyArray) -> FloatArray:
        """Return embedding positions in quanta, unrounded and unclipped."""
        embedding = self.embedding
        all_columns = embedding.dimension == self.width  # indexing would copy them
        result: FloatArray = (queries if all_columns else queries[:, self.embedding_columns]) - embedding.low
        result *= embedding.span / (embedding.high - embedding.low)
        return result

    def record_positions(self, points: FloatArray) -> CoordinatePositions:
        """Return a function for the positions of records, column by column."""
        low = self.embedding.low
        columns = points.T if len(low) == self.width else points.T[self.embedding_columns]  # indexing copies them
        scale = self.embedding.span / (self.embedding.high - low)

        def positions(coordinates: slice, out: FloatArray) -> None:
            np.subtract(columns[coordinates], low[coordinates, None], out=out)
            out *= scale[coordinates, None]

        return positions

    def point(self, positions: FloatArray) -> FloatArray:
        """Return the points at embedding positions, with the middle in columns that add nothing."""
        result = np.tile(self.center, (len(positions), 1))
        result[:, self.embedding_columns] = self.embedding.low + positions / self.embedding.span * (
            self.embedding.high - self.embedding.low
        )
        return result

    def distance_tiles(self, records: FloatArray, queries: AnyArray) -> Iterator[Tile]:
        """Yield Σᵢ weightᵢ|xᵢ − yᵢ| for every pair."""

        def term(i: int, x: FloatArray, y: FloatArray, out: FloatArray) -> FloatArray:
            np.subtract(x, y, out=out)
            np.abs(out, out=out)
            out *= self.weights[i]
            return out

        return sum_over_columns(records, queries, term)

    def distance(self, records: FloatArray, queries: AnyArray) -> FloatArray:
        """Return Σᵢ weightᵢ|xᵢ − yᵢ| for every pair."""
        return gather(self.distance_tiles(records, queries), len(records), len(queries))

    def distance_range(self, queries: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Return 0 and the distance to the farthest corner."""
        return self._range_up_to(self._max_differences(queries) @ np.asarray(self.weights))

    @property
    def enclosing_ball(self) -> tuple[FloatArray, float]:
        """The smallest ball around the box of `vectors`."""
        low, high = (self.vectors(np.array([ends]))[0] for ends in (self.low, self.high))
        return low / 2 + high / 2, float(np.linalg.norm(high - low)) / 2

    def vectors(self, points: FloatArray) -> FloatArray:
        """Return the columns that add something to distances, each times its weight."""
        return np.asarray(points[:, self.embedding_columns] * np.asarray(self.weights)[self.embedding_columns])

    @cached_property
    def chart(self) -> Chart | None:
        """The rectangle of two columns, each times its weight; None where one of them adds nothing."""
        if self.width != 2 or not min(self._spread) > 0:
            return None
        low, weights, (first, second) = self.low, self.weights, self._spread
        return PlaneChart((low[0], low[1]), (weights[0], weights[1]), (first, second), taxicab=True)

    @cached_property
    def kernels(self) -> tuple[Kernel, ...]:
        """Covariances with ν on two opposite corners, whose distances to any point sum to the diameter."""
        return level(self.diameter / 4, self.query_distances, self.diameter, self.rounding).kernels()

    def to_json(self) -> dict[str, Any]:
        """Return the JSON that the card stores."""
        return {
            "kind": self.kind,
            "bounds": self.by_column(map(list, self.extent)),
            "weights": list(self.weights),
            "step": list(self.step),
            "distance_unit": self.distance_unit,
            **self.record,
        }

    @classmethod
    def from_json(cls, card: dict[str, Any], tensors: dict[str, AnyArray]) -> Self:  # noqa: ARG003
        """Return the space that `to_json` described."""
        return cls(**{name: value for name, value in card.items() if name != "kind"})


@dataclass(frozen=True, init=False)
class L2(Projected):
    """A box (`bounds`) or a ball (`center` and `radius`) with the Euclidean distance.

    In the plane D directions are off by at most (π/2D)²/3.

    Parameters
    ----------
    bounds : dict or list of pairs, optional
        The public interval of each column of a box, by name or in the order of an array's columns.
    center : dict or list, optional
        The centre of a ball, by name or in the order of an array's columns.
    radius : float, optional
        The radius of a ball.
    directions : int, optional
        About how many projections stand for the distance. The number is rounded up to a power of two in the plane.
        Above three columns it is rounded up to a multiple of 8, and beyond 8 times the number of columns, to a
        multiple of that. More are closer to the distance, and cost time and, except with slopes, noise. By default the
        number that gives the smallest error (Remark 7.1).
    distortion : float, optional
        Instead of `directions`: the largest share by which distances may be off.
    clip : float, default 1.0
        The share of each projection's interval that is used; in high dimension projections rarely leave a small one.
    random_state : int, default 0
        The seed of random directions.
    distance_unit : str, default ""
        The unit of distances, for labels: "km".
    bounds_provenance : BoundsProvenance or dict, optional
        How the bounds were found, as `find_bounds` reports it; leave it out for bounds that are public knowledge.

    Examples
    --------
    >>> import milepost as mp
    >>> mp.L2(center={"x": 0, "y": 0}, radius=5).diameter
    10.0
    """

    kind: ClassVar[str] = "l2"
    fields: ClassVar[tuple[SpaceField, ...]] = (
        replace(BOUNDS, or_else=("center",)),
        SpaceField(
            "center",
            POINT,
            "The centre of a ball, one number for each column.",
            {"x": 0, "y": 0},
        ),
        SpaceField("radius", NUMBER, "The radius of a ball.", 5),
        DIRECTIONS,
        DISTORTION,
        CLIP,
        DISTANCE_UNIT,
        BOUNDS_PROVENANCE,
    )
    even_widths: ClassVar[tuple[int, ...]] = (2, 3)
    min_directions: ClassVar[int] = 8

    @property
    def max_directions(self) -> int:
        """The largest number to choose from: in space, the largest whose range is known."""
        return max(SPACE_RANGES) if self.width == 3 else MAX_DIRECTIONS

    def __init__(
        self,
        bounds: Any = None,
        *,
        center: Any = None,
        radius: Any = None,
        directions: Any = None,
        distortion: Any = None,
        clip: Any = 1.0,
        random_state: Any = 0,
        distance_unit: Any = "",
        bounds_provenance: Any = None,
    ) -> None:
        self._set_fields(
            bounds, center, radius, directions, distortion, clip, random_state, distance_unit, bounds_provenance
        )

    @staticmethod
    def default_directions(width: int) -> int:
        """Return the largest number of directions to try: few suffice in the plane, higher dimensions need more."""
        return sphere_count(width, min(max(512, 8 * width), 1 << 13))

    @staticmethod
    def _round_directions(width: int, count: int) -> int:
        """Return the number of directions of `sphere` that stands for another one."""
        return sphere_count(width, count)

    def counts(self, max_count: int) -> list[int]:
        """Return the numbers of directions to choose from, which are rounded already."""
        return direction_counts(self.width, self.min_directions, max_count)

    @property
    def thetas(self) -> IntArray:
        """Unit vectors spread over the sphere."""
        return sphere(self.width, self.count, self.random_state)

    @property
    def factor(self) -> float:
        """c_d of Lemma 9's embedding."""
        return length_factor(self.width)

    # Random directions: no record may be embedded farther from the middle than `_expansion` times its length. The few
    # that would be are scaled down, each by itself, so that the sensitivity bound is certain.

    @property
    def _random(self) -> bool:
        return self.width > 1 and not self._has_even_directions

    @cached_property
    def _rotations(self) -> IntArray | None:
        """The independent random rotation of each direction; None for even directions."""
        return rotation_groups(self.width, self.count) if self._random else None

    @cached_property
    def _rotation_rows(self) -> int:
        """The number of directions of each rotation."""
        rotations = self._rotations
        return 1 if rotations is None else len(rotations) // (int(rotations.max()) + 1)

    @cached_property
    def _pair_deviation(self) -> float:
        """The standard deviation of an embedded distance over rotations, as a share of the distance."""
        return rotation_deviation(self.width, self._rotation_rows, len(self.thetas))

    @cached_property
    def _relative_error(self) -> float:
        """A bound for all pairs with even directions; with random ones, a likely deviation at any fixed pair."""
        return LIKELY * self._pair_deviation if self._random else super()._relative_error

    @property
    def _limits_intervals(self) -> bool:
        return self.width > MAX_DEVIATIONS**2

    @cached_property
    def _max_expansion(self) -> float:
        """The largest expansion that random directions can have: each rotation has orthogonal rows."""
        return self.factor / math.sqrt(self._rotation_rows) * self._rotation_norm

    @property
    def _rotation_norm(self) -> float:
        """At least the spectral norm of the rows of a rotation, of which each entry is rounded by 2⁻¹⁸ at most."""
        return 1 + math.sqrt(self._rotation_rows * self.width) / UNIT

    @cached_property
    def _expansion(self) -> float:
        """The largest ratio of a record's embedded distance from the middle to its length, without quantization."""
        if self.width == 1:
            return 1.0
        if not self._random:
            return self._bounds.expansion
        return min(1 + MAX_EXPANSION_DEVIATIONS * self._pair_deviation, self._max_expansion)

    def _product_bound(self) -> float:
        """Return an upper bound on Σ|⟨Θ_k, X − X′⟩| over pairs of records, in integer products."""
        bound = 2 * self._expansion * self._max_length * UNIT * len(self.thetas) / self.factor
        return min(bound, math.inf if self._random else super()._product_bound())

    def record_positions(self, points: AnyArray) -> CoordinatePositions:
        """Return a function for positions of records at some directions, from exact integer products."""
        integers = self._integers(points)
        plain = self._positions(integers)
        if not self._scales_records:
            return plain
        factors = self._scale_factors(integers)
        (scaled,) = np.nonzero(factors < 1)
        if not len(scaled):
            return plain

        def positions(coordinates: slice, out: FloatArray) -> None:
            plain(coordinates, out)
            out[:, scaled] = (out[:, scaled] - QUANTA / 2) * factors[scaled] + QUANTA / 2

        return positions

    @property
    def _scales_records(self) -> bool:
        """Whether the projections of a record may add up to too much."""
        return self._random and self._expansion < self._max_expansion

    def provisional_positions(self, points: FloatArray) -> tuple[CoordinatePositions, Callable[[], IntArray]]:
        """Return a function for positions of records that are not scaled down, and one for the indices of the others.

        The sums of a record's projections, which show whether it is scaled down, come from the same products.
        """
        if not self._scales_records or type(self).record_positions is not L2.record_positions:
            return super().provisional_positions(points)
        integers = self._integers(points)
        sums = np.zeros(len(integers))

        def scaled() -> IntArray:
            (near,) = np.nonzero(sums * (1 + SUM_ERROR) > self._allowed_sums(integers))
            return near[self._scale_factors(integers[near]) < 1] if len(near) else near

        return self._positions(integers, sums), scaled

    def _allowed_sums(self, integers: FloatArray) -> FloatArray:
        """Return the largest Σ|⟨Θ_k, X⟩| of records that are not scaled down."""
        lengths = np.sqrt(self._squares(integers))
        return np.asarray(lengths * (self._expansion * UNIT * len(self.thetas) / self.factor))

    def _scale_factors(self, integers: FloatArray) -> FloatArray:
        """Return what projections of records are multiplied by: 1, or less where they add up to too much.

        Few records come near that. The others are found in single precision, whose error is bounded, so that a factor
        depends on its own record only.
        """
        allowed = self._allowed_sums(integers)
        rough = self._product_sums(integers.astype(np.float32), self._single_directions, MAX_SINGLE_SUMMANDS)
        # rounding of arguments, products and sums, each by at most 2⁻²⁴ of the lengths for every operation
        operations, lengths = self.width + MAX_SINGLE_SUMMANDS + 4, np.sqrt(self._squares(integers))
        margin = operations * 2.0**-23 * lengths * len(self.thetas) * (UNIT + math.sqrt(self.width))
        (near,) = np.nonzero(rough > allowed - margin)
        result = np.ones(len(integers))
        if len(near):
            # no sum of this many products is above 2⁵³, so that sums of parts of any size are the same
            max_summands = int(MAX_EXACT / (self._max_length * (UNIT + math.sqrt(self.width))))
            sums = self._product_sums(integers[near], self._directions, max_summands)
            result[near] = np.where(sums > allowed[near], allowed[near] / np.maximum(sums, 1), 1.0)
        return result

    def _product_sums(self, integers: AnyArray, directions: AnyArray, max_summands: int) -> IntArray:
        """Return Σ|⟨Θ_k, X⟩| of records, from sums of `max_summands` directions, in the precision of the arguments."""
        coordinates = integers.T[:-1]
        result = np.zeros(len(integers), dtype=np.int64)
        step = max(1, min(CACHE_NUMBERS // max(1, len(integers)), max_summands))
        for start in range(0, len(directions), step):
            part = directions[start : start + step, :-1]
            products = scratch_array("products", (len(part), len(integers)), integers.dtype)
            multiply_columns(part, coordinates, products)
            np.abs(products, out=products)
            result += products.sum(axis=0).astype(np.int64)  # whole numbers, or off by less than one
        return result

    @cached_property
    def _single_directions(self) -> AnyArray:
        return self._directions.astype(np.float32)

    def _squares(self, integers: FloatArray) -> FloatArray:
        """Return the squared lengths of records in integers, column by column: the same bits in any batch."""
        result = np.zeros(len(integers))
        for j in range(self.width):  # of a box they exceed 2⁵³, so that their order matters
            result += integers[:, j] * integers[:, j]
        return result

    @cached_property
    def chart(self) -> Chart | None:
        """The rectangle of two columns, or the square around a disc; None where a column has no extent."""
        if self.width != 2:
            return None
        widths = self.high[0] - self.low[0], self.high[1] - self.low[1]
        return (
            None
            if not min(widths) > 0
            else PlaneChart((self.low[0], self.low[1]), (1.0, 1.0), widths, disc=self.radius is not None)
        )

    # The anchor: ν uniform on the sphere around the ball, or around the box.

    def anchor_positions(self, points: FloatArray) -> ImageArray:
        """Return each record's mean distance to the sphere around the space, in quanta of the anchor's interval."""
        share = self._squares(self._integers(points)) / self._max_length**2
        return np.asarray(np.rint(sphere_table(self.width).position(share) * QUANTA), dtype=np.int32)

    def _anchor(self, weight: FloatArray, ends: FloatArray, bound: float) -> Anchor | None:
        if self.width == 1:
            return None
        radius, table = self._max_length * self._length_unit, sphere_table(self.width)
        norms, least, most = rings(table)
        lengths = np.linalg.norm(self.thetas.astype(np.float64), axis=1) / UNIT
        curve = sphere_curve(self.width)
        same = float(np.ptp(ends / lengths)) <= 1e-6 * float(ends.max())
        scale = QUANTA / 2 / ends

        def curve_at(i: int, positions: FloatArray) -> FloatArray:
            projected = radius * lengths[i]
            return np.asarray(curve((positions / scale[i] - ends[i]) / projected) * (projected * scale[i]))

        spreads = radius * lengths
        beyond = math.fsum(weight * (spreads * curve(ends / spreads) - ends).clip(0))
        rounding = float(np.sum(weight * ends)) / QUANTA  # of one record: half a quantum in every coordinate
        singles = self._single_squares(norms, most) * radius + rounding
        return Anchor(
            radius=radius,
            low=radius * table.low,
            high=radius * table.high,
            quantum=radius * (table.high - table.low) / QUANTA,
            mean=radius * table.high,
            typical=radius * float(table.heights(np.array([self._mean_square]))[0]),
            beyond=beyond,
            norms=self._expansion * radius * norms + rounding,
            least=radius * least,
            most=radius * most,
            singles=singles,
            sensitivity_bound=bound,
            deviation=0.0 if self._random else self._anchor_deviation(radius, lengths, curve),
            curve=curve_at,
            same_curves=same,
        )

    def _anchor_deviation(self, radius: float, lengths: FloatArray, curve: Callable[[FloatArray], FloatArray]) -> float:
        """Return how far mean embedded distances to ν may be from r: the largest of many points, with a margin."""
        table, units = sphere_table(self.width), self.thetas / UNIT
        points = np.random.default_rng([self.width, SEED_MARK]).standard_normal((ANCHOR_POINTS, self.width))
        points *= (np.linspace(0, 1, ANCHOR_POINTS) / np.linalg.norm(points, axis=1))[:, None]
        embedded = self.factor * (curve(points @ units.T / lengths) * lengths).mean(axis=1)
        exact = table.heights((points**2).sum(axis=1))
        return ANCHOR_MARGIN * radius * float(np.abs(embedded - exact).max())

    @property
    def _mean_square(self) -> float:
        """The mean squared distance of points spread over the space from its middle, as a share of the largest."""
        return 1 / 3 if self.radius is None else self.width / (self.width + 2)

    def _single_squares(self, norms: FloatArray, most: FloatArray) -> FloatArray:
        """Return bounds of the squared distance of the counts of records from those of ν, at radius 1, by ring.

        With random directions the squares of a record's projections add up to at most its own in each rotation, and
        the mean distance to ν is a concave function of a square. docs/proofs/anchors.md, Lemma 3.
        """
        mean = sphere_table(self.width).high
        if not self._random:
            off = self._relative_error + TABLE_ERROR
            return np.asarray((1 + off) * most - (1 - off) * mean / 2)
        off = math.sqrt(self.width) / UNIT + TABLE_ERROR  # of the lengths of directions, and of the mean
        largest = norms / math.sqrt(self._rotation_rows) * self._rotation_norm
        return np.asarray(self.factor * sphere_curve(self.width)(largest) * (1 + off) - mean / 2 * (1 - off))

    def term(self, differences: FloatArray) -> FloatArray:
        """Return the squares of differences."""
        return differences * differences

    def root(self, total: FloatArray) -> FloatArray:
        """Return the square root of a sum."""
        return np.asarray(np.sqrt(total))

    # In many columns distances are exact products of points on a grid. In few columns the sum over columns is as quick,
    # and more precise. The choice depends on the number of columns only.

    @property
    def _uses_products(self) -> bool:
        """Whether distances to records are products of whole numbers."""
        return self.width >= MIN_PRODUCT_COLUMNS

    @property
    def _grid(self) -> float:
        """The length that the whole number 1 stands for."""
        return self.diameter / (2 << RADIUS_BITS)

    @property
    def distance_error(self) -> float:
        """How far a distance of two points on the grid may be from that of the points: half a diagonal of it each."""
        return math.sqrt(self.width) * self._grid * (1 + 1e-6) if self._uses_products else 0.0

    def _on_grid(self, points: AnyArray) -> FloatArray:
        """Return the points of the grid that are nearest to points, counted from the centre."""
        integers = np.subtract(points, self.center, order="C")
        integers *= 1 / self._grid
        return np.asarray(np.rint(integers, out=integers))

    def prepare_records(self, records: FloatArray) -> FloatArray:
        """Return records on the grid, where distances are products."""
        return record_rows(self._on_grid(records)) if self._uses_products else records

    def prepare_queries(self, queries: AnyArray) -> FloatArray:
        """Return queries on the grid, where distances are products."""
        return query_rows(self._on_grid(queries)) if self._uses_products else queries

    @staticmethod
    def _by_column(records: FloatArray, queries: AnyArray) -> Iterator[Tile]:
        """Yield the distance for every pair, from sums over columns."""

        def square(_: int, x: FloatArray, y: FloatArray, out: FloatArray) -> FloatArray:
            np.subtract(x, y, out=out)
            return np.multiply(out, out, out=out)

        for rows, some, squares in sum_over_columns(records, queries, square):
            yield rows, some, np.sqrt(squares, out=squares)

    def distance_tiles(self, records: FloatArray, queries: AnyArray) -> Iterator[Tile]:
        """Yield the distance for every pair, of records and queries inside the space."""
        if not self._uses_products:
            yield from self._by_column(records, queries)
            return
        for rows, some, squares in squared_distances(records, queries):
            np.sqrt(squares, out=squares)
            yield rows, some, np.multiply(squares, self._grid, out=squares)

    def distance(self, records: FloatArray, queries: AnyArray) -> FloatArray:
        """Return the distance for every pair, in many columns that of the nearest points of the grid.

        To a query so far outside that products are not exact it is a sum over columns.
        """
        x, y = self.prepare_records(records), self.prepare_queries(queries)
        if not self._uses_products:
            return gather(self.distance_tiles(x, y), len(x), len(y))
        far = y[:, -1] > MAX_SQUARE
        result = np.empty((len(x), len(y)))
        result[:, ~far] = gather(self.distance_tiles(x, y[~far]), len(x), int((~far).sum()))
        result[:, far] = self._grid * gather(self._by_column(x[:, :-2], y[far, :-2] / -2), len(x), int(far.sum()))
        return result

    def query_distances(self, left: AnyArray, right: AnyArray) -> FloatArray:
        """Return the distances of queries to queries, which are public: in floats rather than on the grid."""
        if not self._uses_products:
            return self.distance(left, right)
        u, v = left - self.center, right - self.center
        squares = squared_lengths(u)[:, None] + squared_lengths(v)
        near = squares * NEAR
        squares -= 2 * (u @ v.T)
        pairs = np.argwhere(squares < near)  # of a small difference, products leave few digits
        for i, j in (part.T for part in np.array_split(pairs, 1 + len(pairs) * self.width // MAX_NEAR_NUMBERS)):
            squares[i, j] = ((left[i] - right[j]) ** 2).sum(axis=1)
        return np.asarray(np.sqrt(squares, out=squares))

    def distance_range(self, queries: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Return 0 and the distance to the farthest corner of the box, or to the farthest point of the ball."""
        if self.radius is None:
            return super().distance_range(queries)
        return self._range_up_to(self.norm(queries - self.center) + self.radius)

    @cached_property
    def kernels(self) -> tuple[Kernel, ...]:
        """Covariances with ν on the sphere around the ball, or around the box, whose middle is rounded."""
        radius = self.diameter / 2 + self.rounding
        off = self.rounding + self.distance_error
        return around_ball(self.center, radius, self.query_distances, off, self.rounding).kernels()


@dataclass(frozen=True, init=False)
class Lp(Projected):
    """A box with the distance (Σ|xᵢ − yᵢ|^p)^(1/p), 1 < p < 2, by p-stable directions tilted by their ℓ₁ length.

    Parameters
    ----------
    p : float
        The power, between 1.01 and 1.99.
    bounds : dict or list of pairs
        The public interval of each column, by name or in the order of an array's columns.
    directions : int, optional
        How many projections stand for the distance. More are closer to it, and cost time and, except with slopes,
        noise. By default the number that gives the smallest error (Remark 7.1).
    distortion : float, optional
        Instead of `directions`: the largest share by which distances may be off.
    clip : float, default 1.0
        The share of each projection's interval that is used; in high dimension projections rarely leave a small one.
    random_state : int, default 0
        The seed of random directions.
    distance_unit : str, default ""
        The unit of distances, for labels: "km".
    bounds_provenance : BoundsProvenance or dict, optional
        How the bounds were found, as `find_bounds` reports it; leave it out for bounds that are public knowledge.

    Examples
    --------
    >>> import milepost as mp
    >>> round(mp.Lp(1.5, [(0, 1), (0, 1)]).diameter, 3)
    1.587
    """

    kind: ClassVar[str] = "lp"
    fields: ClassVar[tuple[SpaceField, ...]] = (
        SpaceField("p", NUMBER, "The power, between 1 and 2.", 1.5, required=True),
        BOUNDS,
        DIRECTIONS,
        DISTORTION,
        CLIP,
        DISTANCE_UNIT,
        BOUNDS_PROVENANCE,
    )
    min_directions: ClassVar[int] = 32
    p: float

    def __init__(
        self,
        p: Any,
        bounds: Any,
        *,
        directions: Any = None,
        distortion: Any = None,
        clip: Any = 1.0,
        random_state: Any = 0,
        distance_unit: Any = "",
        bounds_provenance: Any = None,
    ) -> None:
        if not isinstance(p, int | float) or not 1.01 <= p <= 1.99:
            raise MilepostError(f"p must lie between 1.01 and 1.99, got {p!r}; use L1 for p = 1 and L2 for p = 2")
        object.__setattr__(self, "p", float(p))
        self._set_fields(
            bounds, None, None, directions, distortion, clip, random_state, distance_unit, bounds_provenance
        )

    @staticmethod
    def default_directions(width: int) -> int:
        """Return the number of random directions, the same for any width above 1."""
        return 1024 if width > 1 else 1

    @property
    def thetas(self) -> IntArray:
        """Stable vectors of ℓ₁ length 1."""
        return stable(self.p, self.width, self.count, self.random_state)

    @cached_property
    def _rotations(self) -> IntArray | None:
        """A group for each direction: all directions are independent."""
        return np.arange(self.count) % MAX_INDEPENDENT if self.count > 1 else None

    @property
    def factor(self) -> float:
        """‖v‖_p = d·E|⟨s/‖s‖₁, v⟩| under the tilted law."""
        return float(self.width)

    def term(self, differences: FloatArray) -> FloatArray:
        """Return the p-th powers of differences."""
        return np.asarray(differences**self.p)

    def root(self, total: FloatArray) -> FloatArray:
        """Return the p-th root of a sum."""
        return np.asarray(total ** (1 / self.p))

    @cached_property
    def kernels(self) -> tuple[Kernel, ...]:
        """Covariances with ν on opposite corners of the box."""
        middle, half = self.center, (np.asarray(self.high) - np.asarray(self.low)) / 2
        return corners(self.p, middle, half, self.query_distances, self.rounding).kernels()

    def to_json(self) -> dict[str, Any]:
        """Return the JSON that the card stores."""
        return super().to_json() | {"p": self.p}
