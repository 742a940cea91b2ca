"""Box: what spaces over numeric columns have in common."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from milepost.arrays import AnyArray, FloatArray
from milepost.errors import MilepostError
from milepost.spaces.numeric import read_matrix, refuse_missing


@dataclass(frozen=True, init=False)
class Box:
    """Columns, by name or position, each with a public interval."""

    columns: tuple[str, ...] | None
    low: tuple[float, ...]
    high: tuple[float, ...]

    @property
    def width(self) -> int:
        """How many columns a point has."""
        return len(self.low)

    @property
    def names(self) -> tuple[str, ...]:
        """Column names, or positions counted from 0."""
        return self.columns or tuple(str(position) for position in range(self.width))

    @property
    def center(self) -> FloatArray:
        """The middle: float64[columns]."""
        result: FloatArray = (np.asarray(self.low) + np.asarray(self.high)) / 2
        return result

    def read(self, batch: pa.RecordBatch | AnyArray, first_row: int = 0) -> FloatArray:
        """Private rows as points, clipped to the bounds; NaN and text are refused."""
        points = read_matrix(batch, self.columns, self.width)
        refuse_missing(points, self.names, "private rows", first_row)
        return np.clip(points, self.low, self.high)

    def read_queries(self, batch: pa.RecordBatch | AnyArray) -> FloatArray:
        """Public queries as points; they may lie outside the bounds but must be finite."""
        points = read_matrix(batch, self.columns, self.width)
        refuse_missing(points, self.names, "query points")
        if not np.isfinite(points).all():
            raise MilepostError("query points must be finite, got an infinite coordinate")
        return points
