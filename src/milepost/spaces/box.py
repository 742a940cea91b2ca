"""Base classes of spaces over numeric columns: RowSpace and Box."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from milepost._typing import AnyArray, FloatArray, IntArray
from milepost.errors import MilepostError
from milepost.spaces.bounds_provenance import BoundsProvenance
from milepost.spaces.kernels.kernel import ROUNDING
from milepost.spaces.numeric import (
    HALF_ULP,
    MAX_OFFSET,
    NO_ALIASES,
    Aliases,
    read_matrix,
    refuse_far,
    refuse_missing,
    too_far,
)


class RowSpace(ABC):
    """Points that are rows of numbers, any of which can be queried."""

    objects: ClassVar[bool] = False
    oblivious: ClassVar[bool] = True
    given_queries: ClassVar[None] = None
    aliases: ClassVar[Aliases] = NO_ALIASES
    thread_safe: ClassVar[bool] = True
    geographic: ClassVar[bool] = False
    distance_unit: str = ""  # of distances, as labels show it
    bounds_provenance: BoundsProvenance | None = None

    @property
    @abstractmethod
    def width(self) -> int:
        """The number of columns of a point."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """Column names, or positions counted from 0."""

    @property
    def clipping_rule(self) -> str:
        """The rule for private values outside the space."""
        return "values outside the bounds were moved to the nearest bound"

    def is_point(self, point: Any) -> bool:
        """Return whether an object is a single point: one number for each column."""
        return tuple(np.shape(point)) == (self.width,)

    def user_point(self, query: AnyArray) -> FloatArray:
        """Return a query as a user writes it."""
        return query

    @abstractmethod
    def distance(self, records: FloatArray, queries: AnyArray) -> FloatArray:
        """Return the distances of records to queries: float64[n, k]."""

    def query_distances(self, left: AnyArray, right: AnyArray) -> FloatArray:
        """Return the distances of queries to queries, which are points like records."""
        return self.distance(left, right)

    def parse(self, text: str) -> list[float]:
        """Return the numbers of a comma-separated text."""
        try:
            row = [float(number) for number in text.split(",")]
        except ValueError:
            raise MilepostError(f"--at must be numbers with commas between, such as 35,4, got {text!r}") from None
        if len(row) != self.width:
            raise MilepostError(f"--at must give {self.width} numbers ({', '.join(self.names)}), got {text!r}")
        return row

    def column_values(self, query: Any) -> tuple[Any, ...]:
        """Return the numbers of a query."""
        return tuple(query)

    def tensors(self) -> dict[str, IntArray]:
        """Return no arrays: the card is complete."""
        return {}


@dataclass(frozen=True, init=False)
class Box(RowSpace):
    """Columns, by name or position, each with a public interval.

    bounds_provenance: how the bounds were found in the private table; None where they are public knowledge.
    """

    columns: tuple[str, ...] | None
    low: tuple[float, ...]
    high: tuple[float, ...]
    distance_unit: str
    bounds_provenance: BoundsProvenance | None

    @property
    def width(self) -> int:
        """The number of columns of a point."""
        return len(self.low)

    @property
    def names(self) -> tuple[str, ...]:
        """Column names, or positions counted from 0."""
        return self.columns or tuple(str(position) for position in range(self.width))

    @property
    def center(self) -> FloatArray:
        """The middle: float64[columns]."""
        result: FloatArray = np.asarray(self.low) / 2 + np.asarray(self.high) / 2
        return result

    @property
    @abstractmethod
    def diameter(self) -> float:
        """The largest distance between two points."""

    @cached_property
    def offset(self) -> float:
        """The distance from 0 to the farthest corner, over the columns in which points differ."""
        low, high = np.asarray(self.low), np.asarray(self.high)
        corner = np.where(low < high, np.maximum(np.abs(low), np.abs(high)), 0)
        with np.errstate(over="ignore"):
            return float(self.distance(corner[None], np.zeros((1, self.width)))[0, 0])

    @property
    def rounding(self) -> float:
        """An upper bound on the error of a computed distance whose two points were rounded to floats."""
        return ROUNDING * self.diameter + 2 * HALF_ULP * self.offset

    def check_offset(self) -> None:
        """Refuse a box so far from 0 that rounding destroys its points and its middle."""
        if not self.offset <= MAX_OFFSET * self.diameter:
            columns = zip(self.names, self.low, self.high, strict=True)
            differing = [column for column in columns if column[1] < column[2]]
            name, low, high = max(differing, key=lambda column: max(map(abs, column[1:])) / (column[2] - column[1]))
            raise too_far(f"column {name!r}", low, high)

    @property
    def extent(self) -> tuple[tuple[float, float], ...]:
        """The interval of each column."""
        return tuple(zip(self.low, self.high, strict=True))

    @property
    def record(self) -> dict[str, Any]:
        """The entry `bounds_provenance` of the card; empty where bounds are public knowledge."""
        return {} if self.bounds_provenance is None else {"bounds_provenance": self.bounds_provenance.to_json()}

    def size_variants(self, n: int) -> Sequence[Self]:  # noqa: ARG002
        """Return the space alone: its number of embedding coordinates is fixed."""
        return (self,)

    def read(self, batch: pa.RecordBatch | AnyArray, first_row: int = 0) -> FloatArray:
        """Return private rows as points, clipped to the bounds; refuse NaN and text."""
        points = read_matrix(batch, self.columns, self.width, within=(self.low, self.high))
        refuse_missing(points, self.names, "private rows", first_row)
        return points

    def read_queries(self, batch: pa.RecordBatch | AnyArray, first_row: int = 0) -> FloatArray:
        """Return public queries as points; they may lie outside the bounds, but not absurdly far."""
        points = read_matrix(batch, self.columns, self.width)
        refuse_missing(points, self.names, "query points", first_row)
        refuse_far(points, self.low, self.high, self.names, first_row)
        return points

    def clip_points(self, queries: AnyArray) -> FloatArray:
        """Return queries moved into the space, as `read` moves records."""
        return self.read(queries)

    def points_around(self, point: FloatArray, distance: float) -> FloatArray:
        """Return points on all sides of a point, along the axes."""
        axes = distance * np.eye(self.width)
        return np.vstack([point + axes, point - axes])
