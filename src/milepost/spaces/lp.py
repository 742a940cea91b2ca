"""Spaces with ℓp distances: L1, L2, Lp."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from milepost._typing import AnyArray, FloatArray, IntArray
from milepost.errors import MilepostError
from milepost.spaces.bounds_provenance import BoundsProvenance
from milepost.spaces.box import BOUNDS, BOUNDS_PROVENANCE, DISTANCE_UNIT, STEP, WEIGHTS, Box
from milepost.spaces.distances.integer_products import (
    MAX_SQUARE,
    RADIUS_BITS,
    query_rows,
    record_rows,
    squared_distances,
    squared_lengths,
)
from milepost.spaces.distances.tiles import Tile, gather, sum_over_columns
from milepost.spaces.embeddings.directions import DIRECTIONS, length_factor, sphere, stable
from milepost.spaces.embeddings.embedding import QUANTA, Embedding, box_sensitivity_bound, default_cells
from milepost.spaces.embeddings.projected import CLIP, DISTORTION, Projected
from milepost.spaces.embeddings.quantization import CoordinatePositions
from milepost.spaces.fields import NUMBER, POINT, SpaceField
from milepost.spaces.kernels.kernel import Kernel, level
from milepost.spaces.kernels.reference_measures import around_ball, corners
from milepost.spaces.numeric import named_numbers, named_pairs, unit_of

MIN_PRODUCT_COLUMNS = 8  # from which L2 distances are quicker as products than column by column
NEAR = 2.0**-6  # of the squared lengths of two points: a smaller squared distance is computed column by column
MAX_NEAR_NUMBERS = 1 << 20  # in memory at a time
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
        return {1: 1}.get(width, min(max(512, 8 * width), 1 << 12))

    @property
    def _nested_directions(self) -> bool:
        """Whether the directions of a smaller number are the first of a larger one: those that are random."""
        return not self._has_even_directions

    @property
    def thetas(self) -> IntArray:
        """Unit vectors spread over the sphere."""
        return sphere(self.width, self.count, self.random_state)

    @property
    def factor(self) -> float:
        """c_d of Lemma 9's embedding."""
        return length_factor(self.width)

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
