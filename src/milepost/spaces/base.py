"""Space and Hosts: the public side of every release."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
import pyarrow as pa

from milepost.arrays import AnyArray, FloatArray, IntArray

QUANTUM_BITS = 24
QUANTA = 1 << QUANTUM_BITS  # every host interval has this many quanta


@dataclass(frozen=True, eq=False)
class Hosts:
    """Weighted ℓ₁ coordinates that stand in for the space: d(x, y) ≈ Σᵢ weightᵢ·|πᵢ(x) − πᵢ(y)|.

    weight, low, high: float64[D], each interval of positive width and weight.
    reach: at least sup Σ τᵢ|qᵢ − q′ᵢ| over pairs of quantized points, rounding included.
    """

    weight: FloatArray
    low: FloatArray
    high: FloatArray
    reach: float

    @property
    def dimension(self) -> int:
        """D, the number of host coordinates."""
        return len(self.weight)

    @cached_property
    def spread(self) -> FloatArray:
        """wᵢ = ωᵢ(hiᵢ − loᵢ): the distance across coordinate i."""
        return self.weight * (self.high - self.low)

    @cached_property
    def total(self) -> float:
        """Σwᵢ, rounded up."""
        return round_up(self.spread)

    @cached_property
    def quantum(self) -> FloatArray:
        """τᵢ = wᵢ/2²⁴, exactly: the distance of one quantum."""
        return self.spread / QUANTA

    @property
    def rounding(self) -> float:
        """How far quantizing a record can move its distance to anything: half a quantum a coordinate."""
        return self.total / QUANTA / 2 * (1 + 1e-6)


class Space(Protocol):
    """Public knowledge only: frozen, JSON in the card, and blind to the private table."""

    kind: ClassVar[str]

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names of the columns a point is read from, or None for positions."""

    @property
    def width(self) -> int:
        """How many columns a point has."""

    @property
    def diameter(self) -> float:
        """The largest distance between two points."""

    @property
    def hosts(self) -> Hosts:
        """The host coordinates."""

    def read(self, batch: "pa.RecordBatch | AnyArray", first_row: int = 0) -> FloatArray:
        """Points of a batch of private rows, clipped into the space; NaN and text are refused."""

    def read_queries(self, batch: "pa.RecordBatch | AnyArray") -> FloatArray:
        """Points of a batch of public queries, as they are."""

    def place(self, points: FloatArray) -> FloatArray:
        """Host positions of points in quanta: float64[n, D], 0..2²⁴ inside the space, unrounded and unclipped."""

    def quantize(self, points: FloatArray) -> IntArray:
        """Host positions of records: int64[n, D] in 0..2²⁴; each row depends on its own record only."""

    def distance(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """The distance itself: float64[n, k]."""

    def to_json(self) -> dict[str, Any]:
        """As the card stores it."""


def quantize(positions: FloatArray) -> IntArray:
    """Host positions rounded to whole quanta, inside the interval; elementwise, so a row sees only itself."""
    return np.clip(np.rint(positions), 0, QUANTA).astype(np.int64)


def round_up(values: FloatArray) -> float:
    """A float that is at least the exact sum of `values`."""
    return math.nextafter(math.fsum(values.tolist()), math.inf)
