"""The ℓp family: L1."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from milepost.arrays import AnyArray, FloatArray, IntArray
from milepost.errors import MilepostError
from milepost.spaces.base import QUANTA, Hosts, quantize, round_up
from milepost.spaces.numeric import named_pairs, named_weights, read_matrix, refuse_missing

BLOCK = 1 << 20  # numbers in one block of a distance matrix


@dataclass(frozen=True, init=False)
class L1:
    """A box with the distance Σᵢ weightᵢ·|xᵢ − yᵢ|; its columns are the host coordinates, so nothing is lost.

    bounds: public intervals, `{"age": (18, 90), "visits": (0, 40)}` or a list of pairs for arrays.
    weights: what one unit of a column counts, by name or position; 1 by default.

    >>> L1({"east": (0, 10), "north": (0, 10)}).diameter
    20.0
    """

    kind: ClassVar[str] = "l1"
    columns: tuple[str, ...] | None
    low: tuple[float, ...]
    high: tuple[float, ...]
    weights: tuple[float, ...]

    def __init__(self, bounds: Any, weights: Any = None) -> None:
        columns, pairs = named_pairs(bounds)
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "low", tuple(low for low, _ in pairs))
        object.__setattr__(self, "high", tuple(high for _, high in pairs))
        object.__setattr__(self, "weights", named_weights(weights, columns, len(pairs)))
        if not 1e-100 < self.diameter < 1e100:
            raise MilepostError(
                "bounds and weights must leave at least one column of positive width, and a diameter between 1e-100 "
                f"and 1e100, got a diameter of {self.diameter:g}"
            )

    @property
    def width(self) -> int:
        """How many columns a point has."""
        return len(self.low)

    @property
    def names(self) -> tuple[str, ...]:
        """Column names, or positions counted from 0."""
        return self.columns or tuple(str(position) for position in range(self.width))

    @property
    def diameter(self) -> float:
        """The distance between opposite corners."""
        return sum(self._spread)

    @property
    def _spread(self) -> list[float]:
        """The distance across each column."""
        return [w * (high - low) for w, low, high in zip(self.weights, self.low, self.high, strict=True)]

    @cached_property
    def _live(self) -> IntArray:
        """Columns that add to the distance (beyond float rounding); the others have no host coordinate."""
        spread = np.array(self._spread)
        return np.flatnonzero(spread > 1e-15 * spread.max())

    @cached_property
    def hosts(self) -> Hosts:
        """The columns themselves."""
        weight, low, high = (np.asarray(values)[self._live] for values in (self.weights, self.low, self.high))
        return Hosts(weight, low, high, reach=round_up(weight * (high - low)))

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

    def place(self, points: FloatArray) -> FloatArray:
        """Host positions in quanta, unrounded and unclipped."""
        return (points[:, self._live] - self.hosts.low) / (self.hosts.high - self.hosts.low) * QUANTA

    def quantize(self, points: FloatArray) -> IntArray:
        """Host positions of records in whole quanta."""
        return quantize(self.place(points))

    def distance(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Σᵢ weightᵢ|xᵢ − yᵢ| for every pair, in blocks of bounded memory."""
        result = np.empty((len(left), len(right)))
        rows = max(1, BLOCK // max(1, len(right)))
        for start in range(0, len(left), rows):
            block = result[start : start + rows]
            block[:] = 0
            for i, weight in enumerate(self.weights):
                block += weight * np.abs(left[start : start + rows, i, None] - right[None, :, i])
        return result

    def to_json(self) -> dict[str, Any]:
        """As the card stores it."""
        bounds = [list(pair) for pair in zip(self.low, self.high, strict=True)]
        return {
            "kind": self.kind,
            "bounds": dict(zip(self.columns, bounds, strict=True)) if self.columns else bounds,
            "weights": list(self.weights),
        }

    @classmethod
    def from_json(cls, card: dict[str, Any]) -> Self:
        """The inverse of `to_json`."""
        return cls(card["bounds"], card["weights"])
