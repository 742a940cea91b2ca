"""Space: what a point is and how far two points are; the public side of every release."""

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
    """Refuse what is no space, such as a table, or bounds that are none yet."""
    if isinstance(space, type) or not hasattr(type(space), "read_queries"):
        got = f"the class {space.__name__}" if isinstance(space, type) else f"a {type(space).__name__}"
        raise MilepostError(
            f"space must be one such as mp.L1([(0, 10), (0, 10)]), got {got}; the order is mp.release(table, space, …)"
        )


class Space(Protocol):
    """Public knowledge only: frozen, JSON in the card, and blind to the private table.

    Records and queries are arrays with one row a point; which numbers stand in a row is the space's own matter, and
    nothing else looks at them.
    """

    kind: ClassVar[str]
    objects: ClassVar[bool]  # whether a point is any object rather than a row of numbers
    oblivious: ClassVar[
        bool
    ]  # False: embedding coordinates depend on the queries, so no session can be had (Remark 8.2)

    threads: ClassVar[bool]  # whether several threads may read records and measure distances at once
    geographic: ClassVar[bool]  # whether the columns are latitude and longitude in degrees

    @property
    def found(self) -> BoundsProvenance | None:
        """How its bounds were found in the private table; None where they are public knowledge."""

    @property
    def unit(self) -> str:
        """Of distances, as labels show it; empty where it is not known."""

    @property
    def outside(self) -> str:
        """What became of private values outside the space: the rule, in words."""

    @property
    def extent(self) -> tuple[tuple[float, float], ...] | None:
        """The interval of each column, which a picture shows; None where points are no rows of numbers in a box."""

    aliases: ClassVar[Aliases]  # other names that columns may have in a table

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names of the columns a point is read from, or None for positions."""

    @property
    def width(self) -> int:
        """How many columns a point has."""

    @property
    def names(self) -> tuple[str, ...]:
        """Column names, or positions counted from 0."""

    @property
    def center(self) -> FloatArray:
        """A point in the middle: float64[columns]."""

    @property
    def known(self) -> AnyArray | None:
        """The only points that can be asked about, as `read_queries` gives them; None for any."""

    @property
    def embedding_columns(self) -> IntArray | None:
        """The column behind each embedding coordinate, or None where embedding coordinates are no columns."""

    @property
    def diameter(self) -> float:
        """The largest distance between two points."""

    @property
    def embedding(self) -> Embedding:
        """The embedding coordinates."""

    def sized(self, n: int) -> Sequence["Space"]:
        """The same space with fewer or more embedding coordinates, in that order: what may suit a table of n rows."""

    def knows(self, point: Any) -> bool:
        """Whether an object is one point that can be asked about, rather than several."""

    def read(self, batch: "pa.RecordBatch | AnyArray", first_row: int = 0) -> FloatArray:
        """Records of a batch of private rows, clipped into the space; missing values are refused."""

    def read_queries(self, batch: "pa.RecordBatch | AnyArray", first_row: int = 0) -> AnyArray:
        """A batch of public queries, as they are; errors count rows from its first."""

    def inside(self, queries: AnyArray) -> AnyArray:
        """Queries moved into the space, as `read` moves records."""

    def around(self, point: FloatArray, distance: float) -> FloatArray:
        """Points on all sides of a point, about this far from it."""

    def user_point(self, query: AnyArray) -> Any:
        """One query as a user writes it."""

    def parse(self, text: str) -> Any:
        """One query as the command line writes it."""

    def cells(self, query: Any) -> tuple[Any, ...]:
        """One query as a user writes it, a value for each of `names`."""

    def position(self, queries: AnyArray) -> FloatArray:
        """Embedding positions of queries in quanta: float64[n, D], 0..2²⁴ inside the space, unrounded and unclipped."""

    def point(self, positions: FloatArray) -> FloatArray:
        """The points at embedding positions, where embedding coordinates are columns."""

    def quantize(self, points: FloatArray) -> ImageArray:
        """Embedding positions of records: int32[n, D] in 0..2²⁴; each row depends on its own record only."""

    def distance(self, records: FloatArray, queries: AnyArray) -> FloatArray:
        """The distance itself: float64[n, k]."""

    def between(self, left: AnyArray, right: AnyArray) -> FloatArray:
        """Distances of queries to queries: float64[m, k]."""

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        """Covariances that `field` may give its noise; none where the metric is not known to be of negative type."""

    def to_json(self) -> dict[str, Any]:
        """As the card stores it."""

    def tensors(self) -> dict[str, IntArray]:
        """What a file keeps besides the card, so that it answers without the metric."""
