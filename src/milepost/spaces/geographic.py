"""GreatCircle: places on the Earth, in a cap around a public centre. docs/proofs/sphere.md.

A record becomes a unit vector (east, north, up) as seen from the centre, by operations that IEEE 754 rounds one way, so
that its image depends on it alone.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from milepost._typing import AnyArray, FloatArray, ImageArray
from milepost._validation import check_whole
from milepost.errors import MilepostError, warn
from milepost.spaces.charts.chart import Chart, SphereChart
from milepost.spaces.charts.representative_columns import RepresentativeColumns
from milepost.spaces.distances.tiles import Tile, TileBuffer, gather, row_slices, tile_slices
from milepost.spaces.embeddings.anchor import TABLE_ERROR, Anchor, HeightTable, border_curve, border_table, rings
from milepost.spaces.embeddings.directions import DIRECTIONS, MAX_DIRECTIONS, equal_angles, power_of_two
from milepost.spaces.embeddings.embedding import QUANTA, Distortion, Embedding
from milepost.spaces.embeddings.quantization import CoordinatePositions, CoordinateSpace
from milepost.spaces.embeddings.thread_blocks import scratch_array
from milepost.spaces.embeddings.trigonometry import angle, overwriting_angle, polynomial, sine_cosine
from milepost.spaces.fields import NUMBER, POINT, SpaceField
from milepost.spaces.kernels.kernel import Kernel
from milepost.spaces.kernels.reference_measures import POINTS, around_cap
from milepost.spaces.numeric import Aliases, find_column, read_matrix, refuse_missing

COLUMNS = ("lat", "lon")
MAX_SWAP_RADIUS = 10.0  # degrees, about 1,100 km, up to which a cap tells (lat, lon) from (lon, lat)
ALIASES: Aliases = {"lat": ("latitude",), "lon": ("lng", "long", "longitude")}
EARTH_KM = 6371.0088  # the mean radius
QUARTER_KM = EARTH_KM * math.pi / 2
MIN_RADIUS_KM = 1e-3
ANCHOR_POINTS, ANCHOR_MARGIN = 256, 1.5  # at which the mean distance to the anchor is compared with the embedded one
GOLDEN = 2.399963  # an angle whose multiples are spread over the circle
MAX_ANCHOR_RADIUS = math.radians(60)  # of a cap, beyond which answers counted from its border have no less noise
CANDIDATES = (8, 16, 32, 64, 128, 256, 512)
TURN = 1e-7  # rounding of a record acts like turning a direction by less than this
BORDER = 1e-6  # share of the radius by which a query may lie outside the cap without being moved
BLOCK = 1 << 15  # numbers that fit the cache
MAX_TERMS = 12  # of a series for arcsin, which is quicker than a quotient of polynomials
ROUNDING_KM = 1e-10  # of a computed distance


@dataclass(frozen=True, init=False)
class GreatCircle(CoordinateSpace):
    """Places (lat, lon) in degrees within `radius_km` of a centre, and great-circle distances in km.

    Tables may call their columns lat or latitude, and lon, lng, long or longitude; arrays have them in this order.
    A private row outside the cap moves to its border, along the great circle to the centre. A latitude beyond ±90
    counts as ±90, an infinite longitude as the centre's.

    Parameters
    ----------
    center : tuple or dict
        (lat, lon) of the centre. Longitudes count modulo 360, so that caps may cross the antimeridian or hold a pole.
    radius_km : float
        The radius of the cap, at most a quarter of the circumference, 10,007 km.
    directions : int, optional
        About how many embedding coordinates stand for the distance; the number is rounded up to a power of two. By
        default the number that gives the smallest error.

    Examples
    --------
    >>> import milepost as mp
    >>> mp.GreatCircle((52.5, 13.4), 40).diameter
    80.0
    """

    kind: ClassVar[str] = "great-circle"
    fields: ClassVar[tuple[SpaceField, ...]] = (
        SpaceField("center", POINT, "The centre of a cap as LAT,LON, in degrees.", [52.5, 13.4], required=True),
        SpaceField("radius_km", NUMBER, "The radius of a cap, in km.", 40, required=True),
        DIRECTIONS,
    )
    aliases: ClassVar[Aliases] = ALIASES
    thread_safe: ClassVar[bool] = True
    geographic: ClassVar[bool] = True
    columns = COLUMNS
    distance_unit = "km"

    latitude: float
    longitude: float
    radius_km: float
    directions: int | None

    def __init__(self, center: Any, radius_km: Any, directions: Any = None) -> None:
        latitude, longitude = read_center(center)
        number = isinstance(radius_km, int | float) and not isinstance(radius_km, bool)
        if not (number and MIN_RADIUS_KM <= radius_km <= QUARTER_KM):
            raise MilepostError(
                f"radius_km must lie between {MIN_RADIUS_KM:g} and {QUARTER_KM:.0f} km, a quarter of the "
                f"circumference, got {radius_km!r}"
            )
        if directions is not None:
            check_whole("directions", directions, 1, MAX_DIRECTIONS)
        fields = {
            "latitude": latitude,
            "longitude": longitude - 360 * round(longitude / 360),
            "radius_km": float(radius_km),
            "directions": None if directions is None else power_of_two(directions),
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @property
    def center(self) -> FloatArray:
        """(lat, lon) of the centre."""
        return np.array([self.latitude, self.longitude])

    @property
    def diameter(self) -> float:
        """The largest distance in the cap, in km."""
        return 2 * self.radius_km

    @property
    def clipping_rule(self) -> str:
        """The rule for private values outside the space."""
        return "places outside the cap were moved to its border"

    @property
    def extent(self) -> tuple[tuple[float, float], ...]:
        """Latitudes and longitudes of the cap, longitudes around the centre's; all of them where it holds a pole."""
        angle = math.degrees(self.radius_km / EARTH_KM)
        south, north = max(self.latitude - angle, -90.0), min(self.latitude + angle, 90.0)
        turn = 180.0
        if south > -90 and north < 90:
            ratio = math.sin(math.radians(angle)) / math.cos(math.radians(self.latitude))
            turn = math.degrees(math.asin(min(1.0, ratio)))
        return (south, north), (self.longitude - turn, self.longitude + turn)

    @property
    def count(self) -> int:
        """The number of directions."""
        return CANDIDATES[-1] if self.directions is None else self.directions

    def with_directions(self, count: int) -> Self:
        """Return the same cap with another number of directions."""
        return type(self)((self.latitude, self.longitude), self.radius_km, count)

    def size_variants(self, n: int) -> Sequence[Self]:  # noqa: ARG002
        """Return caps with few to many directions, or the cap alone where their number was given."""
        return (self,) if self.directions is not None else [self.with_directions(count) for count in CANDIDATES]

    def larger_variants(self, max_coordinates: int | None = None) -> Sequence[Self]:
        """Return caps with more directions than the default."""
        counts = [CANDIDATES[-1] << k for k in (1, 2, 3)] if self.directions is None else []
        return [self.with_directions(count) for count in counts if max_coordinates is None or count <= max_coordinates]

    # points

    def read(self, batch: pa.RecordBatch | AnyArray, first_row: int = 0) -> FloatArray:
        """Return private rows as unit vectors float64[n, 3], moved into the cap; refuse NaN and text only."""
        points = read_matrix(batch, self.columns, self.width, self.aliases)
        refuse_missing(points, self.names, "private rows", first_row)
        longitude = np.where(np.isinf(points[:, 1]), self.longitude, points[:, 1])
        return self._move_into_cap(self._vectors(np.clip(points[:, 0], -90, 90), longitude))

    def read_queries(self, batch: pa.RecordBatch | AnyArray, first_row: int = 0) -> FloatArray:
        """Return public queries as (lat, lon), longitudes within ±180."""
        points = read_matrix(batch, self.columns, self.width, self.aliases)
        refuse_missing(points, self.names, "query points", first_row)
        for row in np.flatnonzero(~(np.abs(points) <= [90, 360]).all(axis=1)).tolist():
            raise invalid_coordinates(f"query points (row {first_row + row + 1})", *points[row].tolist())
        points[:, 1] -= 360 * np.rint(points[:, 1] / 360)
        warn_swapped(points, self.latitude, self.longitude, math.degrees(self._radius))
        return points

    def clip_points(self, queries: AnyArray) -> FloatArray:
        """Return queries, moved to the border along the great circle to the centre where they are outside the cap."""
        vectors, result = self._vectors(queries[:, 0], queries[:, 1]), np.array(queries, dtype=np.float64)
        far = np.flatnonzero(self._center_angles(vectors) > self._radius * (1 + BORDER))
        for row, vector in zip(far.tolist(), self._move_into_cap(vectors[far]), strict=True):
            result[row] = geographic(vector, self.latitude, self.longitude)
        return result

    def points_around(self, point: FloatArray, distance: float) -> FloatArray:
        """Return the points at this distance to the north, east, south and west."""
        angle = distance / EARTH_KM
        sides = [(0, 1), (1, 0), (0, -1), (-1, 0)]
        vectors = [np.array([x * math.sin(angle), y * math.sin(angle), math.cos(angle)]) for x, y in sides]
        return np.array([geographic(vector, *point.tolist()) for vector in vectors])

    def _vectors(self, latitude: FloatArray, longitude: FloatArray) -> FloatArray:
        """Return (east, north, up) of points as seen from the centre: float64[n, 3]."""
        sine, cosine = sine_cosine(latitude)
        sine_turn, cosine_turn = sine_cosine(np.fmod(longitude, 360) - self.longitude)
        (sine_center,), (cosine_center,) = sine_cosine(np.array([self.latitude]))
        along = cosine * cosine_turn
        up = sine * sine_center + along * cosine_center
        return np.column_stack([cosine * sine_turn, sine * cosine_center - along * sine_center, up])

    def query_records(self, queries: AnyArray) -> FloatArray:
        """Return queries as unit vectors."""
        return self._vectors(queries[:, 0], queries[:, 1])

    @property
    def enclosing_ball(self) -> tuple[FloatArray, float]:
        """The ball around the cap, in kilometres from the centre of the earth: its border is its largest circle."""
        return EARTH_KM * np.array([0.0, 0.0, self._cosine]), EARTH_KM * self._sine

    def vectors(self, points: FloatArray) -> FloatArray:
        """Return east, north and up, in kilometres."""
        return EARTH_KM * points

    @cached_property
    def chart(self) -> Chart:
        """The disc that the cap becomes in Lambert's projection."""
        return SphereChart(EARTH_KM, self._radius, self.latitude, self.longitude)

    def representative_columns(self, queries: AnyArray, max_numbers: int) -> RepresentativeColumns | None:
        """Return those of the chart; a distance beyond the diameter, to a query just outside the cap, counts as it."""
        result = super().representative_columns(queries, max_numbers)
        if result is None or result.errors is None:
            return result
        beyond = np.maximum(EARTH_KM * self._center_angles(self.query_records(queries)) - self.radius_km, 0)
        return replace(result, errors=result.errors + beyond)

    @staticmethod
    def _center_angles(vectors: FloatArray) -> FloatArray:
        """Return the angles of vectors to the centre."""
        return _angles(vectors, np.array([[0.0, 0.0, 1.0]]))[:, 0]

    def _move_into_cap(self, vectors: FloatArray) -> FloatArray:
        """Return vectors, moved to the border where they are beyond it; the antipode of the centre moves north."""
        east, north, up = vectors.T
        square = east * east + north * north
        # each test is exact to the last bits, one in large and one in small caps
        far = up < self._cosine if self._cosine < self._sine else (up < 0) | (square > self._sine * self._sine)
        antipodal = far & (square == 0)
        shrink = np.where(far, self._sine / np.sqrt(np.where(antipodal | ~far, 1, square)), 1)
        north = np.where(antipodal, 1, north)
        return np.column_stack([east * shrink, north * shrink, np.where(far, self._cosine, up)])

    @cached_property
    def _radius(self) -> float:
        """The cap's radius as an angle."""
        return min(self.radius_km / EARTH_KM, math.pi / 2)

    @cached_property
    def _sine(self) -> float:
        return math.sin(self._radius)

    @cached_property
    def _cosine(self) -> float:
        return max(math.cos(self._radius), 0.0)

    # embedding coordinates

    @cached_property
    def embedding(self) -> Embedding:
        """One coordinate per direction: the sine of the angle at which it sees a record, within ± sin radius."""
        weight = np.full(self.count, EARTH_KM * math.pi / 2 / self.count)
        ends = np.full(self.count, self._sine)
        total = float(np.sum(weight * 2 * ends))
        off = EARTH_KM * self._deviation
        # an image is off its position by half a quantum at most, so a pair by one
        bound = min(self.diameter + off + total / QUANTA, total) * (1 + 1e-9)
        anchor = self._anchor(bound, off, total) if self._radius <= MAX_ANCHOR_RADIUS else None
        return Embedding(weight, -ends, ends, bound, relative_error=off / bound, symmetric=True, anchor=anchor)

    def _anchor(self, bound: float, off: float, total: float) -> Anchor:
        """Return ν uniform on the border of the cap. off: the largest error of an embedded distance."""
        table = border_table(self._radius)
        away, least, most = rings(table)
        lengths = EARTH_KM * np.arcsin(away * self._sine)
        mean, curve = table.high, border_curve(self._radius)
        rounding = total / QUANTA / 2  # of one record: half a quantum in every coordinate
        typical = float(table.heights(np.array([0.5]))[0])  # half of a flat cap is farther from the centre

        def curve_at(_: int, positions: FloatArray) -> FloatArray:
            return curve(positions * (2 / QUANTA) - 1) * (QUANTA / 2)

        return Anchor(
            radius=self.radius_km,
            low=EARTH_KM * table.low,
            high=EARTH_KM * table.high,
            quantum=EARTH_KM * (table.high - table.low) / QUANTA,
            mean=EARTH_KM * mean,
            typical=EARTH_KM * typical,
            beyond=0.0,
            norms=lengths + off * away + rounding,  # a smaller cap has a smaller error
            least=EARTH_KM * least,
            most=EARTH_KM * most,
            singles=EARTH_KM * ((1 + TABLE_ERROR) * most - (1 - TABLE_ERROR) * mean / 2) + 1.5 * off + rounding,
            sensitivity_bound=bound,
            deviation=self._anchor_deviation(table, curve),
            curve=curve_at,
        )

    def _anchor_deviation(self, table: HeightTable, curve: Callable[[FloatArray], FloatArray]) -> float:
        """Return how far mean embedded distances to the border may be from r: the largest of many, with a margin."""
        angles = self._radius * np.linspace(0, 1, ANCHOR_POINTS)
        turns = GOLDEN * np.arange(ANCHOR_POINTS)
        vectors = np.column_stack([np.sin(angles) * np.cos(turns), np.sin(angles) * np.sin(turns), np.cos(angles)])
        sine, cosine = self._turns
        along = vectors[:, :1] * cosine + vectors[:, 1:2] * sine
        shares = along / np.hypot(along, vectors[:, 2:]) / self._sine
        embedded = math.pi / 2 * self._sine * curve(shares).mean(axis=1)
        exact = table.heights((np.sin(angles) / self._sine) ** 2)
        return ANCHOR_MARGIN * EARTH_KM * float(np.abs(embedded - exact).max())

    def anchor_positions(self, points: FloatArray) -> ImageArray:
        """Return each record's mean distance to the border, in quanta of the anchor's interval."""
        east, north = points.T[:2]
        share = (east * east + north * north) / self._sine**2
        return np.asarray(np.rint(border_table(self._radius).position(share) * QUANTA), dtype=np.int32)

    @cached_property
    def _deviation(self) -> float:
        """An upper bound on |embedded distance − distance| over pairs of the cap, as an angle: proof, section 3."""
        first = (math.pi / self.count + 2 * TURN) * self._sine
        second = (math.pi**2 / (4 * self.count**2) + math.pi * TURN) * math.tan(self._radius)
        return min(first, second)

    def position(self, queries: AnyArray) -> FloatArray:
        """Return positions in quanta, unrounded and unclipped; refuse points beyond a quarter of the circumference."""
        vectors = self._vectors(queries[:, 0], queries[:, 1])
        for latitude, longitude in queries[vectors[:, 2] < -BORDER][:1].tolist():
            raise MilepostError(
                f"({latitude:g}, {longitude:g}) is more than a quarter of the circumference away from the centre, "
                f"({self.latitude:g}, {self.longitude:g}); ask about its antipode: the two mean distances add up to "
                f"{2 * QUARTER_KM:.3f} km"
            )
        return self.all_positions(vectors)

    def record_positions(self, points: FloatArray) -> CoordinatePositions:
        """Return a function for positions of u = a/√(a² + up²), a = east·cos φ + north·sin φ; u = 0 where both are 0.

        It computes elementwise, so that a record's positions depend on that record alone.
        """
        east, north, up = points.T
        sine, cosine = (turn[:, None] for turn in self._turns)
        up_square = up * up
        # a division of some takes twice as long as one of all
        all_positive = bool(up_square.min(initial=1) > 0)

        def positions(coordinates: slice, out: FloatArray) -> None:
            length = scratch_array("lengths", out.shape)
            np.multiply(cosine[coordinates], east, out=out)
            np.multiply(sine[coordinates], north, out=length)
            out += length
            np.multiply(out, out, out=length)
            length += up_square
            np.sqrt(length, out=length)
            np.divide(out, length, out=out, where=True if all_positive else length > 0)
            out *= QUANTA / 2 / self._sine
            out += QUANTA / 2

        return positions

    @cached_property
    def _turns(self) -> tuple[FloatArray, FloatArray]:
        """Sines and cosines of D equal angles in 0..π, of which the first are those of a smaller D."""
        return equal_angles(self.count)

    def prepare_records(self, records: FloatArray) -> FloatArray:
        """Return unit vectors with contiguous columns."""
        return np.asfortranarray(records)

    def prepare_queries(self, queries: AnyArray) -> FloatArray:
        """Return queries as unit vectors."""
        return self.query_records(queries)

    def distance_tiles(self, records: FloatArray, queries: AnyArray) -> Iterator[Tile]:
        """Yield great-circle distances in km, to a micrometre.

        In a small cap arcsin(s)/s is a short series of s², where s is half of the chord. Large caps need more. The
        choice depends on the cap only, and queries far outside take the longer way, each for itself.
        """
        near = (queries[:, 2] >= self._min_series_up) & (len(self._series) <= MAX_TERMS)
        squares, others, series, scratch = (TileBuffer() for _ in range(4))
        for rows, some in tile_slices(len(records), len(queries)):
            x, y, by_series = records[rows], queries[some], near[some]
            minus, plus, factors = (buffer.array(len(y), len(x)) for buffer in (squares, others, series))
            _add_squares(np.subtract, x, y, minus, plus)
            if by_series.all():
                polynomial(self._series, minus, out=factors)
                np.sqrt(minus, out=minus)
                minus *= factors
            else:
                _add_squares(np.add, x, y, plus, factors)
                distances = polynomial(self._series, minus[by_series]) * np.sqrt(minus[by_series])
                minus = overwriting_angle(minus, plus, factors, scratch.array(*minus.shape))
                minus *= EARTH_KM
                minus[by_series] = distances
            yield rows, some, minus.T

    @cached_property
    def _series(self) -> list[float]:
        """The coefficients aₖ up to the first that adds less than 2⁻⁵³ at the largest chord of the cap."""
        half_chord = math.sin(min(self._radius * (1 + 2 * BORDER), math.pi / 4))
        terms = [math.comb(2 * k, k) / 16.0**k / (2 * k + 1) for k in range(MAX_TERMS + 1)]
        count = sum(term * (2 * half_chord) ** (2 * k) > 2.0**-53 * (1 - half_chord**2) for k, term in enumerate(terms))
        return [EARTH_KM * term for term in terms[: max(2, count)]]

    @cached_property
    def _min_series_up(self) -> float:
        """The cosine of the largest angle to the centre at which a query is in the cap."""
        return math.cos(min(self._radius * (1 + 2 * BORDER), math.pi / 2))

    def distance(self, records: FloatArray, queries: AnyArray) -> FloatArray:
        """Return great-circle distances in km, to a micrometre."""
        tiles = self.distance_tiles(self.prepare_records(records), self.prepare_queries(queries))
        return gather(tiles, len(records), len(queries))

    def distance_range(self, queries: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Return 0 and the distance to the border of the cap on the other side of the centre."""
        largest = EARTH_KM * self._center_angles(self.prepare_queries(queries)) + self.radius_km + ROUNDING_KM
        return np.zeros(len(queries)), np.minimum(largest, self.diameter)

    def query_distances(self, left: AnyArray, right: AnyArray) -> FloatArray:
        """Return great-circle distances of queries to queries."""
        u, v = self.prepare_queries(left), self.prepare_queries(right)
        result = np.empty((len(left), len(right)))
        for rows in row_slices(*result.shape):
            np.multiply(EARTH_KM, _angles(u[rows], v), out=result[rows])
        return result

    @cached_property
    def kernels(self) -> tuple[Kernel, ...]:
        """Covariances with ν on equally spaced points of the border."""

        def grid(distances: FloatArray, turns: FloatArray) -> FloatArray:
            angles = distances / EARTH_KM
            side = np.sin(angles)
            vectors = np.column_stack([side * np.sin(turns), side * np.cos(turns), np.cos(angles)])
            return np.array([geographic(vector, self.latitude, self.longitude) for vector in vectors])

        radius = EARTH_KM * self._radius
        border = grid(np.full(POINTS, radius), 2 * math.pi / POINTS * np.arange(float(POINTS)))
        off = ROUNDING_KM + BORDER * radius  # a query may stay that far outside, beyond the diameter
        return around_cap(radius, border, grid, self.query_distances, off, ROUNDING_KM).kernels()

    def distortion(self, pairs: int = 10_000) -> Distortion:
        """Return expansion and contraction (Definition 5) on public pairs, spread over the cap."""
        generator = np.random.default_rng(pairs)
        up = 1 - generator.random(2 * pairs) * (1 - self._cosine)
        turn, side = generator.uniform(0, 2 * math.pi, 2 * pairs), np.sqrt(1 - up * up)
        vectors = np.column_stack([side * np.cos(turn), side * np.sin(turn), up])
        ratios = []
        for block in np.array_split(vectors, max(1, 2 * pairs * self.count // (BLOCK << 6))):
            left, right = (block[k : len(block) // 2 * 2 : 2] for k in (0, 1))
            exact = EARTH_KM * angle(((left - right) ** 2).sum(axis=1), ((left + right) ** 2).sum(axis=1))
            embedded = self._embedded_distances(left, right)
            ratios.append(embedded / exact)
        return Distortion.of(np.concatenate(ratios))

    def _embedded_distances(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Return embedded distances of pairs of vectors."""
        return np.asarray(np.abs(self.all_positions(left) - self.all_positions(right)) @ self.embedding.quantum)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON that the card stores."""
        return {
            "kind": self.kind,
            "center": [self.latitude, self.longitude],
            "radius_km": self.radius_km,
            "directions": self.count,
        }

    @classmethod
    def from_json(cls, card: dict[str, Any], tensors: dict[str, AnyArray]) -> Self:  # noqa: ARG003
        """Return the space that `to_json` described."""
        return cls(**{name: value for name, value in card.items() if name != "kind"})


def _angles(left: FloatArray, right: FloatArray) -> FloatArray:
    """Return the angles between unit vectors float64[n, 3] and float64[k, 3], column by column: float64[n, k]."""
    minus, plus, scratch = np.empty((3, len(right), len(left)))
    _add_squares(np.subtract, left, right, minus, scratch)
    _add_squares(np.add, left, right, plus, scratch)
    return angle(minus, plus).T


def _add_squares(combine: np.ufunc, left: FloatArray, right: FloatArray, out: FloatArray, scratch: FloatArray) -> None:
    """Write squared lengths of the sums or differences of vectors, column by column: float64[k, n]."""
    for column, (x, y) in enumerate(zip(left.T, right.T, strict=True)):
        values = scratch if column else out
        combine(x, y[:, None], out=values)
        np.multiply(values, values, out=values)
        if column:
            out += values


def geographic(vector: FloatArray, latitude: float, longitude: float) -> tuple[float, float]:
    """Return (lat, lon) of a public vector (east, north, up) as seen from a point."""
    east, north, up = vector.tolist()
    sine, cosine = math.sin(math.radians(latitude)), math.cos(math.radians(latitude))
    outward = up * cosine - north * sine
    meridian = longitude + math.degrees(math.atan2(east, outward))
    return (
        math.degrees(math.atan2(up * sine + north * cosine, math.hypot(outward, east))),
        meridian - 360 * round(meridian / 360),
    )


def read_center(center: Any) -> tuple[float, float]:
    """Return the latitude and longitude of a centre, by name or in order; refuse anything else."""
    if isinstance(center, Mapping):
        names = [str(name) for name in center]
        indices = [find_column(names, name, ALIASES) for name in COLUMNS]
        values = [list(center.values())[index] for index in indices if index is not None]
        center = values if len(names) == 2 else names
    try:
        latitude, longitude = (float(value) for value in center)
    except (TypeError, ValueError):
        raise MilepostError(f"center must be a place (lat, lon) in degrees, got {center!r}") from None
    if not (abs(latitude) <= 90 and abs(longitude) <= 360):
        raise invalid_coordinates("center", latitude, longitude)
    return latitude, longitude


def invalid_coordinates(what: str, latitude: float, longitude: float) -> MilepostError:
    """Return the error for coordinates out of range, with a hint where the other order would be in range."""
    swapped = abs(longitude) <= 90 and abs(latitude) <= 360
    return MilepostError(
        f"{what} must be (lat, lon) in degrees, lat within ±90 and lon within ±360, got lat {latitude:g} and lon "
        f"{longitude:g}" + (f"; if that is (lon, lat), write ({longitude:g}, {latitude:g})" if swapped else "")
    )


def warn_swapped(points: FloatArray, latitude: float, longitude: float, radius: float) -> None:
    """Warn when all queries are outside a cap, of this radius in degrees, but inside it with lat and lon swapped.

    A wide cap gets no warning, since such queries may be intended.
    """
    if radius > MAX_SWAP_RADIUS or not len(points):
        return
    lat, lon = points[:, 0], points[:, 1]
    narrow = math.cos(math.radians(latitude))
    if np.all((np.abs(lat - latitude) > radius) & (np.hypot(lon - latitude, narrow * (lat - longitude)) <= radius)):
        warn("the query points lie outside the cap but inside as (lon, lat): milepost takes (lat, lon)")
