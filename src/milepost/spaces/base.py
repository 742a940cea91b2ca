"""The base class of spaces: what a point is and how far apart two points are."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self, cast

import numpy as np
import pyarrow as pa

from milepost._typing import AnyArray, FloatArray, ImageArray, IntArray
from milepost.errors import MilepostError, SuppressFailures
from milepost.spaces.bounds_provenance import BoundsProvenance
from milepost.spaces.charts.chart import Chart
from milepost.spaces.charts.representative_columns import RepresentativeColumns, grid_columns
from milepost.spaces.distances.tiles import Tile, tile_slices
from milepost.spaces.embeddings.embedding import Embedding
from milepost.spaces.fields import SpaceField
from milepost.spaces.kernels.kernel import Kernel
from milepost.spaces.numeric import NO_ALIASES, Aliases
from milepost.storage.file_limits import TensorLimits

MAX_TRIED_COLUMNS = 64  # up to which `width` tries how many columns a space reads
# what columns of distances depend on, beside records and their distances: where queries are, and what is cut
COLUMN_MEMBERS = frozenset(
    {"clip_points", "query_records", "prepare_queries", "tiled_distance", "diameter", "distance_error"}
)


def require_space(space: Any) -> None:
    """Refuse an argument that is not a space, such as a table or plain bounds."""
    if not isinstance(space, Space):
        got = f"the class {space.__name__}" if isinstance(space, type) else f"a {type(space).__name__}"
        raise MilepostError(
            f"space must be one such as mp.L1([(0, 10), (0, 10)]), got {got}; the order is mp.release(table, space, …)"
        )


def require_chart(space: "Space") -> Chart:
    """Return the chart of a space; refuse a space that has none."""
    chart = chart_of(space)
    if chart is None:
        raise MilepostError(
            "this mechanism needs a two-dimensional space, such as L2 of two columns or GreatCircle; space "
            f"{space.kind!r} has no chart"
        )
    return chart


def chart_of(space: "Space") -> Chart | None:
    """Return the chart of a space; None where a subclass reads or measures records in another way."""
    return space.chart if _promises(space, {"chart"}) else None


def _promises(space: "Space", members: set[str], others: frozenset[str] = frozenset()) -> bool:
    """Return whether some members, which describe distances, are about the space's own records and distances.

    A subclass that has its own way to read or measure records, and inherits them, does not mean those of its base.
    others: more members that what is described depends on.
    """
    names = members | others | {"read", "prepare_records", "distance", "distance_tiles"}
    owner = next(cls for cls in type(space).__mro__ if names & set(vars(cls)))
    return bool(members & set(vars(owner)))


class _ClassName:
    """The name of the class through which the attribute is read."""

    def __get__(self, _: Any, owner: type) -> str:
        return owner.__name__


class Space(ABC):
    """A metric space: what a point is, how far apart two points are, and an embedding of it into weighted ℓ₁.

    A space is public knowledge, frozen, and independent of the private table. Records and queries are arrays with one
    row per point, and only the space interprets the numbers in a row.

    A subclass defines nine members: `read`, `read_queries`, `distance`, `diameter`, `embedding`, `quantize`,
    `position`, `to_json` and `from_json`. The others have defaults for points that are rows of numbers, where `read`
    and `read_queries` return rows of the same kind; override those that do not fit. `register_space` makes `load` know
    the class.

    Examples
    --------
    >>> import milepost as mp
    >>> sorted(mp.Space.__abstractmethods__)[:5]
    ['diameter', 'distance', 'embedding', 'from_json', 'position']
    >>> isinstance(mp.L1([(0, 1)]), mp.Space)
    True
    """

    kind: ClassVar[str] = cast(str, _ClassName())  # the name that cards and files have for the class
    spec_name: ClassVar[str | None] = None  # the name on the command line and in TOML and HTTP; None for `kind`
    fields: ClassVar[tuple[SpaceField, ...] | None] = None  # the parameters there; None where it is not available there
    objects: ClassVar[bool] = False  # whether a point is any object rather than a row of numbers
    # False: embedding coordinates depend on the queries, so sessions are not possible (Remark 8.2)
    oblivious: ClassVar[bool] = True
    thread_safe: ClassVar[bool] = False  # whether several threads may read records and measure distances at once
    geographic: ClassVar[bool] = False  # whether the columns are latitude and longitude in degrees
    aliases: ClassVar[Aliases] = NO_ALIASES  # other names that columns may have in a table
    tensor_limits: ClassVar[TensorLimits] = {}  # of the arrays in `tensors`; others must be int64

    columns: tuple[str, ...] | None = None  # that a point is read from, by name; None where columns go by position
    distance_unit: str = ""  # of distances, as labels show it; empty where it is unknown
    bounds_provenance: BoundsProvenance | None = None  # of bounds that were found in the private table; else None

    # the nine members of a space

    @abstractmethod
    def read(self, batch: pa.RecordBatch | AnyArray, first_row: int = 0) -> FloatArray:
        """Return the records of a batch of private rows, moved into the space; refuse missing values.

        Each record depends on its own row only. Errors count rows from `first_row`, and quote no private value.
        """

    @abstractmethod
    def read_queries(self, batch: pa.RecordBatch | AnyArray, first_row: int = 0) -> AnyArray:
        """Return a batch of public queries, which may lie outside the space; errors count rows from `first_row`."""

    @abstractmethod
    def distance(self, records: FloatArray, queries: AnyArray) -> FloatArray:
        """Return the distances of records to queries: float64[n, k]; each row depends on its own record only."""

    @property
    @abstractmethod
    def diameter(self) -> float:
        """The largest distance between two points of the space."""

    @property
    @abstractmethod
    def embedding(self) -> Embedding:
        """The embedding of the space into weighted ℓ₁."""

    @abstractmethod
    def quantize(self, points: FloatArray) -> ImageArray:
        """Return positions of records, int32[n, D] in 0..span; each row depends on its own record only."""

    @abstractmethod
    def position(self, queries: AnyArray) -> FloatArray:
        """Return positions of queries in quanta, float64[n, D]: 0..span inside the space, unrounded and unclipped."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Return the JSON that the card stores; its entry `kind` is that of the class."""

    @classmethod
    @abstractmethod
    def from_json(cls, card: dict[str, Any], tensors: dict[str, AnyArray]) -> Self:
        """Return the space that `to_json` and `tensors` described."""

    # points

    @cached_property
    def width(self) -> int:
        """The number of columns of a point.

        By default the number of `columns`, else the one number of columns for which an empty batch can be read,
        embedded and measured.
        """
        if self.columns is not None:
            return len(self.columns)
        widths = [width for width in range(1, MAX_TRIED_COLUMNS + 1) if self._takes(width)]
        if len(widths) != 1:
            found = f"it reads points of {len(widths)} different numbers of columns" if widths else "it reads no rows"
            raise MilepostError(
                f"space {self.kind} must say how many columns a point has, since {found}. Define columns, their "
                "names, or width, their number"
            )
        return widths[0]

    def _takes(self, width: int) -> bool:
        """Return whether an empty batch of this many columns can be read, embedded and measured."""
        with SuppressFailures():
            batch = np.empty((0, width))
            records, queries = self.read(batch), self.read_queries(batch)
            shapes = self.quantize(records).shape, self.position(queries).shape, self.distance(records, queries).shape
            return shapes == ((0, self.embedding.dimension), (0, self.embedding.dimension), (0, 0))
        return False

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Column names, or positions counted from 0."""
        return self.columns or tuple(str(position) for position in range(self.width))

    @property
    def extent(self) -> tuple[tuple[float, float], ...] | None:
        """The interval of each column, for plots; None where points are not rows of numbers in a box."""
        return None

    @property
    def center(self) -> FloatArray:
        """A point in the middle: float64[columns]. By default the middle of `extent`."""
        if self.extent is None:
            raise MilepostError(
                f"space {self.kind} has no centre to start from: release with queries=[…] and take the best of them"
            )
        low, high = np.array(self.extent).T
        result: FloatArray = low / 2 + high / 2
        return result

    @property
    def enclosing_ball(self) -> tuple[FloatArray, float] | None:
        """The centre float64[m] and the radius of a Euclidean ball that has all records as `vectors`.

        None where records are not vectors, so that a table has no private model, and its classes have no means.
        """
        return None

    def vectors(self, points: FloatArray) -> FloatArray:
        """Return records as vectors float64[n, m] of the `enclosing_ball`; each depends on its own record only."""
        return points

    def probe_points(self) -> FloatArray:
        """Return public points spread over the space, at which errors of random directions are shown."""
        return np.empty((0, self.width))

    @property
    def clipping_rule(self) -> str:
        """The rule for private values outside the space, as text."""
        return "rows outside the space were moved into it"

    @property
    def given_queries(self) -> AnyArray | None:
        """The only points that can be queried, as `read_queries` returns them; None where any point can."""
        return None

    def is_point(self, point: Any) -> bool:
        """Return whether an object is a single query point, rather than several: one number for each column."""
        return tuple(np.shape(point)) == (self.width,)

    def clip_points(self, queries: AnyArray) -> AnyArray:
        """Return queries moved into the space, as `read` moves records."""
        return self.read(queries)

    def points_around(self, point: FloatArray, distance: float) -> FloatArray:
        """Return points on all sides of a point, at about this distance: by default along the axes."""
        axes = distance * np.eye(self.width)
        return np.vstack([point + axes, point - axes])

    @property
    def chart(self) -> Chart | None:
        """A square of the plane that covers the space, if the space is two-dimensional; else None."""
        return None

    def query_records(self, queries: AnyArray) -> FloatArray:
        """Return queries as records of the same places, in or outside the space. By default the queries themselves."""
        return queries

    def user_point(self, query: AnyArray) -> Any:
        """Return a query as a user writes it."""
        return query

    def parse(self, text: str) -> Any:
        """Return the query that a text on the command line stands for: numbers separated by commas."""
        try:
            row = [float(number) for number in text.split(",")]
        except ValueError:
            raise MilepostError(f"--at must be numbers separated by commas, such as 35,4, got {text!r}") from None
        if len(row) != self.width:
            raise MilepostError(f"--at must give {self.width} numbers ({', '.join(self.names)}), got {text!r}")
        return row

    def column_values(self, query: Any) -> tuple[Any, ...]:
        """Return the cells of a query that a user wrote, a value for each of `names`."""
        return tuple(query)

    # distances and embedding coordinates

    def prepare_records(self, records: FloatArray) -> FloatArray:
        """Return records as `distance_tiles` takes them; each row depends on its own record only.

        A session measures the distances of the same records again and again: what does not depend on queries is
        computed here, once. By default the records themselves.
        """
        return records

    def prepare_queries(self, queries: AnyArray) -> AnyArray:
        """Return queries as `distance_tiles` takes them, a row each. By default the queries themselves."""
        return queries

    def distance_tiles(self, records: FloatArray, queries: AnyArray) -> Iterator[Tile]:
        """Yield `distance` of prepared records and queries in tiles that fit the cache.

        A tile is the rows, the queries, and the distances float64[rows, queries], which the next tile may overwrite. A
        distance depends on its own record and query only, whatever the tile.
        """
        return PlainDistance(self).distance_tiles(records, queries)

    @property
    def tiled_distance(self) -> "Space | PlainDistance":
        """The object that prepares points and yields tiles: the space, unless a subclass has another `distance`."""
        return self if self._describes_distance("distance_tiles") else PlainDistance(self)

    def _describes_distance(self, method: str) -> bool:
        """Return whether a method is about the space's own `distance`.

        A subclass that has its own `distance`, and inherits the method, does not mean that of its base.
        """
        owner = next(cls for cls in type(self).__mro__ if method in cls.__dict__ or "distance" in cls.__dict__)
        return method in owner.__dict__

    def distance_range(self, queries: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Return bounds of the distances of all records of the space to each query: float64[k], float64[k].

        queries: as `clip_points` returns them. The bounds are public, lie within 0..diameter, and must not depend on
        the private table. `gaussian` and `laplace` need less noise for a closer range, and move a distance outside
        of it to its nearer end. By default 0 and the diameter.
        """
        return np.zeros(len(queries)), np.full(len(queries), self.diameter)

    @property
    def distance_error(self) -> float:
        """How far `distance` may be from the metric by rounding of points; 0 where this is below any quantum."""
        return 0.0

    def query_distances(self, left: AnyArray, right: AnyArray) -> FloatArray:
        """Return the distances of queries to queries: float64[m, k]. By default queries are measured as records."""
        return self.distance(left, right)

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """Covariances for the noise of `field`; none where the metric may not be of negative type."""
        return ()

    def representative_columns(self, queries: AnyArray, max_numbers: int) -> RepresentativeColumns | None:
        """Return distances of points to queries that stand for those of all records; None where none are known.

        queries: as `clip_points` returns them. max_numbers: about how many distances there may be. The result is
        public, and the privacy of `basis` rests on it: the column of every record, as `distance` returns it and up to
        `distance_error`, is one of these, or a mixture of them within their errors. By default those of a grid on the
        `chart`.
        """
        if self.chart is None:
            return None
        places = self.query_records(queries)
        return grid_columns(self.chart, places, lambda points: self.distance(points, queries), max_numbers)

    @property
    def embedding_columns(self) -> IntArray | None:
        """The column of each embedding coordinate; None where embedding coordinates are not columns."""
        return None

    def point(self, positions: FloatArray) -> FloatArray:
        """Return the points at embedding positions, where embedding coordinates are columns."""
        raise MilepostError(
            f"space {self.kind} has no points for {len(positions)} embedding positions: they are not columns"
        )

    def anchor_positions(self, points: FloatArray) -> ImageArray:  # noqa: ARG002
        """Return each record's mean distance to `embedding.anchor`, int32[n] in 0..2²⁴ from one end to the other.

        It depends on that record only. A space whose embedding has no anchor does not need it.
        """
        raise MilepostError(f"the embedding of space {self.kind} has an anchor, so it must define anchor_positions")

    def size_variants(self, n: int) -> Sequence["Space"]:  # noqa: ARG002
        """Return variants of the space for a table of n rows, from few embedding coordinates to many."""
        return (self,)

    def larger_variants(self, max_coordinates: int | None = None) -> Sequence["Space"]:  # noqa: ARG002
        """Return variants with more embedding coordinates than `size_variants`, for those who can wait.

        max_coordinates: about the largest number of them; None for as many as the space offers.
        """
        return ()

    # the file, the command line and TOML

    def by_column(self, values: Iterable[Any]) -> dict[str, Any] | list[Any]:
        """Return values by the names of columns, or in a list where columns have no names."""
        return list(values) if self.columns is None else dict(zip(self.columns, values, strict=True))

    def tensors(self) -> dict[str, AnyArray]:
        """Return the arrays that a file stores beside the card, where the card is not complete."""
        return {}

    @classmethod
    def from_fields(cls, values: Mapping[str, Any]) -> Self:
        """Return the space of field values by name, as TOML and JSON write them."""
        return cls(**values)

    @classmethod
    def from_options(cls, values: Mapping[str, Any]) -> Self:
        """Return the space of field values by name, as the command line gives them."""
        return cls.from_fields(values)


def distance_range(space: Space, queries: AnyArray) -> tuple[FloatArray, FloatArray]:
    """Return a space's `distance_range`, or the default where a subclass has another `distance` than its method."""
    described = space._describes_distance("distance_range")
    return space.distance_range(queries) if described else Space.distance_range(space, queries)


def metric_distances(space: Space, points: AnyArray) -> FloatArray | None:
    """Return the distances of queries to each other; None where the triangle inequality is a promise of users only.

    Or where a subclass has another `distance` than the method that measures queries.
    """
    inherited = type(space).query_distances is not Space.query_distances
    if space.given_queries is not None or (inherited and not space._describes_distance("query_distances")):
        return None
    return space.query_distances(points, points)


def representative_columns(space: Space, queries: AnyArray, max_numbers: int) -> RepresentativeColumns | None:
    """Return a space's `representative_columns`; None where a subclass reads or measures records in another way.

    Or where it moves queries in another way, or has another diameter: distances beyond the diameter are cut, so that
    columns are no mixtures of others.
    """
    promised = _promises(space, {"representative_columns", "chart"}, COLUMN_MEMBERS)
    return space.representative_columns(queries, max_numbers) if promised else None


@dataclass(frozen=True)
class PlainDistance:
    """Tiles of the `distance` of a space, of points that are not prepared."""

    space: Space

    def prepare_records(self, records: FloatArray) -> FloatArray:
        """Return the records themselves."""
        return records

    def prepare_queries(self, queries: AnyArray) -> AnyArray:
        """Return the queries themselves."""
        return queries

    def distance_tiles(self, records: FloatArray, queries: AnyArray) -> Iterator[Tile]:
        """Yield distances in tiles that fit the cache."""
        for rows, some in tile_slices(len(records), len(queries)):
            yield rows, some, self.space.distance(records[rows], queries[some])
