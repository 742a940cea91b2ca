"""Box: the base class of spaces over numeric columns with bounds."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from milepost._typing import AnyArray, FloatArray
from milepost.spaces.bounds_provenance import BoundsProvenance
from milepost.spaces.embeddings.quantization import CoordinateSpace
from milepost.spaces.fields import INTERVALS, NUMBERS, RECORD, TEXT, SpaceField
from milepost.spaces.kernels.kernel import ROUNDING
from milepost.spaces.numeric import (
    HALF_ULP,
    MAX_OFFSET,
    ColumnClipper,
    read_matrix,
    refuse_far,
    refuse_missing,
    too_far,
)

BOUNDS = SpaceField(
    "bounds",
    INTERVALS,
    "The public interval of a column, once for each column; without names they go by position.",
    {"age": [18, 90]},
    required=True,
)
WEIGHTS = SpaceField("weights", NUMBERS, "What one unit of a column counts; 1 by default.", {"age": 2})
STEP = SpaceField("step", NUMBERS, "The step of a column whose values are whole steps.", {"age": 1})
DISTANCE_UNIT = SpaceField("distance_unit", TEXT, "The unit of distances, for labels.", "km")
BOUNDS_PROVENANCE = SpaceField(
    "bounds_provenance",
    RECORD,
    "How the bounds were found in the private table, as `milepost bounds` writes it.",
    {"epsilon": 0.1, "neighbors": "replace", "columns": 1},
    on_command_line=False,
)


@dataclass(frozen=True, init=False)
class Box(CoordinateSpace):
    """Columns, by name or position, each with a public interval.

    bounds_provenance: how the bounds were found in the private table; None where they are public knowledge.
    """

    thread_safe: ClassVar[bool] = True

    columns: tuple[str, ...] | None
    low: tuple[float, ...]
    high: tuple[float, ...]
    distance_unit: str
    bounds_provenance: BoundsProvenance | None

    @property
    def width(self) -> int:
        """The number of columns of a point."""
        return len(self.low)

    @cached_property
    def offset(self) -> float:
        """The distance from 0 to the farthest corner, over the columns in which points differ."""
        low, high = np.asarray(self.low), np.asarray(self.high)
        corner = np.where(low < high, np.maximum(np.abs(low), np.abs(high)), 0)
        with np.errstate(over="ignore"):
            return float(self.query_distances(corner[None], np.zeros((1, self.width)))[0, 0])

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
    def clipping_rule(self) -> str:
        """The rule for private values outside the space."""
        return "values outside the bounds were moved to the nearest bound"

    @property
    def extent(self) -> tuple[tuple[float, float], ...]:
        """The interval of each column."""
        return tuple(zip(self.low, self.high, strict=True))

    @property
    def record(self) -> dict[str, Any]:
        """The entry `bounds_provenance` of the card; empty where bounds are public knowledge."""
        return {} if self.bounds_provenance is None else {"bounds_provenance": self.bounds_provenance.to_json()}

    def _max_differences(self, queries: AnyArray) -> FloatArray:
        """Return the largest difference of a record to queries in each column: float64[k, columns]."""
        return np.asarray(np.maximum(queries - np.asarray(self.low), np.asarray(self.high) - queries))

    def _range_up_to(self, distances: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return 0 and the largest distances of records, computed ones, with room for rounding."""
        return np.zeros(len(distances)), np.minimum(distances + self.rounding, self.diameter)

    def read(self, batch: pa.RecordBatch | AnyArray, first_row: int = 0) -> FloatArray:
        """Return private rows as points, clipped to the bounds; refuse NaN and text."""
        clipper = ColumnClipper(self.low, self.high)
        points = read_matrix(batch, self.columns, self.width, clipper=clipper)
        if not clipper.inside:
            refuse_missing(points, self.names, "private rows", first_row)
        return points

    def read_queries(self, batch: pa.RecordBatch | AnyArray, first_row: int = 0) -> FloatArray:
        """Return public queries as points; they may lie outside the bounds, but not absurdly far."""
        points = read_matrix(batch, self.columns, self.width)
        refuse_missing(points, self.names, "query points", first_row)
        refuse_far(points, self.low, self.high, self.names, first_row)
        return points
