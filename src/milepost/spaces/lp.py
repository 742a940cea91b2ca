"""The ℓp family: L1."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from milepost.arrays import AnyArray, FloatArray, IntArray
from milepost.errors import MilepostError
from milepost.spaces.base import QUANTA, Hosts, default_cells, quantize, reach_of
from milepost.spaces.numeric import named_numbers, named_pairs, read_matrix, refuse_missing

BLOCK = 1 << 20  # numbers in one block of a distance matrix


@dataclass(frozen=True, init=False)
class L1:
    """A box with the distance Σᵢ weightᵢ·|xᵢ − yᵢ|; its columns are the host coordinates, so nothing is lost.

    bounds: public intervals, `{"age": (18, 90), "visits": (0, 40)}` or a list of pairs for arrays.
    weights: what one unit of a column counts, by name or position; 1 by default.
    step: for columns of whole steps (ages in years: 1), by name or position; records are rounded to low + k·step, and
    answers then have no interpolation error. None or 0: records can be anywhere.

    >>> L1({"east": (0, 10), "north": (0, 10)}).diameter
    20.0
    """

    kind: ClassVar[str] = "l1"
    columns: tuple[str, ...] | None
    low: tuple[float, ...]
    high: tuple[float, ...]
    weights: tuple[float, ...]
    step: tuple[float, ...]

    def __init__(self, bounds: Any, weights: Any = None, step: Any = None) -> None:
        columns, pairs = named_pairs(bounds)
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "low", tuple(low for low, _ in pairs))
        object.__setattr__(self, "high", tuple(high for _, high in pairs))
        object.__setattr__(self, "weights", named_numbers("weights", weights, columns, len(pairs), 1.0))
        object.__setattr__(self, "step", named_numbers("step", step, columns, len(pairs), 0.0))
        if not 1e-100 < self.diameter < 1e100:
            raise MilepostError(
                "bounds and weights must leave at least one column of positive width, and a diameter between 1e-100 "
                f"and 1e100, got a diameter of {self.diameter:g}"
            )
        _ = self.hosts  # a step that does not fit is refused now

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
    def host_columns(self) -> IntArray:
        """The column of each host coordinate; columns that add nothing (beyond float rounding) have none."""
        spread = np.array(self._spread)
        return np.flatnonzero(spread > 1e-15 * spread.max())

    @cached_property
    def hosts(self) -> Hosts:
        """The columns themselves; a column of steps has a whole number of quanta, a power of two, in each step."""
        weight, low, high = (np.asarray(values)[self.host_columns] for values in (self.weights, self.low, self.high))
        pairs = [self._steps(i) for i in self.host_columns.tolist()]
        span, step = (np.array(column, dtype=np.int64) for column in zip(*pairs, strict=True))
        return Hosts(weight, low, high, reach_of(weight * (high - low) / span, span), span=span, step=step)

    def _steps(self, i: int) -> tuple[int, int]:
        """Quanta in the whole column and in one of its steps."""
        if not self.step[i]:
            return QUANTA, 1
        count = (self.high[i] - self.low[i]) / self.step[i]
        most = default_cells(len(self.host_columns))
        if not (1 <= round(count) <= most and abs(count - round(count)) < 1e-9 * count):
            raise MilepostError(
                f"step {self.step[i]:g} of column {self.names[i]!r} must divide its bounds "
                f"({self.low[i]:g}, {self.high[i]:g}) into 1 to {most:,} whole steps, got {count:g}"
            )
        step = QUANTA >> (round(count) - 1).bit_length()
        return round(count) * step, step

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
        hosts = self.hosts
        result: FloatArray = points[:, self.host_columns] - hosts.low
        result *= hosts.span / (hosts.high - hosts.low)
        return result

    @property
    def center(self) -> FloatArray:
        """The middle of the box: float64[columns]."""
        result: FloatArray = (np.asarray(self.low) + np.asarray(self.high)) / 2
        return result

    def point(self, positions: FloatArray) -> FloatArray:
        """The points at host positions: the inverse of `place`, with the middle where a column adds nothing."""
        result = np.tile(self.center, (len(positions), 1))
        result[:, self.host_columns] = self.hosts.low + positions / self.hosts.span * (self.hosts.high - self.hosts.low)
        return result

    def quantize(self, points: FloatArray) -> IntArray:
        """Host positions of records in whole quanta."""
        return quantize(self.place(points), self.hosts)

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
            "step": list(self.step),
        }

    @classmethod
    def from_json(cls, card: dict[str, Any]) -> Self:
        """The inverse of `to_json`."""
        return cls(card["bounds"], card["weights"], card["step"])
