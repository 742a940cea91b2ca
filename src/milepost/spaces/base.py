"""The protocol of a space: what a point is and how far apart two points are."""

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol

import pyarrow as pa

from milepost._typing import AnyArray, FloatArray, ImageArray, IntArray
from milepost.errors import MilepostError
from milepost.spaces.bounds_provenance import BoundsProvenance
from milepost.spaces.embeddings.embedding import Embedding
from milepost.spaces.kernels.kernel import Kernel
from milepost.spaces.numeric import Aliases


def require_space(space: Any) -> None:
    """Refuse an argument that is not a space, such as a table or plain bounds."""
    if isinstance(space, type) or not hasattr(type(space), "read_queries"):
        got = f"the class {space.__name__}" if isinstance(space, type) else f"a {type(space).__name__}"
        raise MilepostError(
            f"space must be one such as mp.L1([(0, 10), (0, 10)]), got {got}; the order is mp.release(table, space, …)"
        )


class Space(Protocol):
    """Public knowledge only: frozen, stored as JSON in the card, and independent of the private table.

    Records and queries are arrays with one row per point. Only the space interprets the numbers in a row.
    """

    kind: ClassVar[str]
    objects: ClassVar[bool]  # whether a point is any object rather than a row of numbers
    # False: embedding coordinates depend on the queries, so sessions are not possible (Remark 8.2)
    oblivious: ClassVar[bool]
    thread_safe: ClassVar[bool]  # whether several threads may read records and measure distances at once
    geographic: ClassVar[bool]  # whether the columns are latitude and longitude in degrees

    @property
    def bounds_provenance(self) -> BoundsProvenance | None:
        """How the bounds were found in the private table; None where they are public knowledge."""

    @property
    def distance_unit(self) -> str:
        """The unit of distances, as labels show it; empty where it is unknown."""

    @property
    def clipping_rule(self) -> str:
        """The rule for private values outside the space, as text."""

    @property
    def extent(self) -> tuple[tuple[float, float], ...] | None:
        """The interval of each column, for plots; None where points are not rows of numbers in a box."""

    aliases: ClassVar[Aliases]  # other names that columns may have in a table

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names of the columns that a point is read from; None where columns go by position."""

    @property
    def width(self) -> int:
        """The number of columns of a point."""

    @property
    def names(self) -> tuple[str, ...]:
        """Column names, or positions counted from 0."""

    @property
    def center(self) -> FloatArray:
        """A point in the middle: float64[columns]."""

    @property
    def given_queries(self) -> AnyArray | None:
        """The only points that can be queried, as `read_queries` returns them; None where any point can."""

    @property
    def embedding_columns(self) -> IntArray | None:
        """The column of each embedding coordinate; None where embedding coordinates are not columns."""

    @property
    def diameter(self) -> float:
        """The largest distance between two points."""

    @property
    def embedding(self) -> Embedding:
        """The embedding of the space into weighted ℓ₁."""

    def size_variants(self, n: int) -> Sequence["Space"]:
        """Return variants of the space for a table of n rows, from few embedding coordinates to many."""

    def is_point(self, point: Any) -> bool:
        """Return whether an object is a single query point, rather than several."""

    def read(self, batch: "pa.RecordBatch | AnyArray", first_row: int = 0) -> FloatArray:
        """Return the records of a batch of private rows, clipped into the space; refuse missing values."""

    def read_queries(self, batch: "pa.RecordBatch | AnyArray", first_row: int = 0) -> AnyArray:
        """Return a batch of public queries, unclipped; errors count rows from `first_row`."""

    def clip_points(self, queries: AnyArray) -> AnyArray:
        """Return queries moved into the space, as `read` moves records."""

    def points_around(self, point: FloatArray, distance: float) -> FloatArray:
        """Return points on all sides of a point, at about this distance."""

    def user_point(self, query: AnyArray) -> Any:
        """Return a query as a user writes it."""

    def parse(self, text: str) -> Any:
        """Return the query that a text on the command line stands for."""

    def column_values(self, query: Any) -> tuple[Any, ...]:
        """Return the cells of a query that a user wrote, a value for each of `names`."""

    def position(self, queries: AnyArray) -> FloatArray:
        """Return positions of queries in quanta, float64[n, D]: 0..2²⁴ inside the space, unrounded and unclipped."""

    def point(self, positions: FloatArray) -> FloatArray:
        """Return the points at embedding positions, where embedding coordinates are columns."""

    def quantize(self, points: FloatArray) -> ImageArray:
        """Return positions of records, int32[n, D] in 0..2²⁴; each row depends on its own record only."""

    def distance(self, records: FloatArray, queries: AnyArray) -> FloatArray:
        """Return the distances of records to queries: float64[n, k]."""

    def query_distances(self, left: AnyArray, right: AnyArray) -> FloatArray:
        """Return the distances of queries to queries: float64[m, k]."""

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """Covariances for the noise of `field`; none where the metric may not be of negative type."""

    def to_json(self) -> dict[str, Any]:
        """Return the JSON that the card stores."""

    def tensors(self) -> dict[str, IntArray]:
        """Return the arrays that a file stores beside the card, so that it answers without the metric."""
