"""Space and Hosts: the public side of every release."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
import pyarrow as pa

from milepost._typing import AnyArray, FloatArray, ImageArray, IntArray
from milepost.errors import MilepostError
from milepost.spaces.found import Found
from milepost.spaces.kernels import Kernel
from milepost.spaces.numeric import Aliases

QUANTUM_BITS = 24
BLOCK = 1 << 20  # numbers in one block of a distance matrix
CACHED = 1 << 17  # numbers that fit the cache
QUANTA = 1 << QUANTUM_BITS  # a host interval has this many quanta, or fewer where a step is given


@dataclass(frozen=True, eq=False)
class Hosts:
    """Weighted ℓ₁ coordinates that stand in for the space: d(x, y) ≈ Σᵢ weightᵢ·|πᵢ(x) − πᵢ(y)|.

    weight, low, high: float64[D], each interval of positive width and weight.
    reach: at least sup Σ τᵢ|qᵢ − q′ᵢ| over pairs of quantized points, rounding included.
    embedding: how far host distances may be from the metric's, relatively; 0 where they are the same.
    clipped: how far clipping records to narrower intervals, or rounding queries, may move a distance.
    span: int64[D], the quanta from low to high; 2²⁴ unless records sit on steps.
    step: int64[D], quanta between two places where a record can sit; 1 when it can sit anywhere.
    changes: how many images one record may change (s of Remark 8.1); 1 for every space here.
    simplex: blocks of coordinates, one for each label of a category, of which a record or query is at the far end of
    one and at the near end of the others; all of a block have one step and the same weight.
    symmetric: whether every point has a mirror image, as far on the other side of the middle in every coordinate.
    """

    weight: FloatArray
    low: FloatArray
    high: FloatArray
    reach: float
    embedding: float = 0.0
    clipped: float = 0.0
    span: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    step: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    changes: int = 1
    simplex: tuple[slice, ...] = ()
    symmetric: bool = False

    def __post_init__(self) -> None:
        if not len(self.span):
            object.__setattr__(self, "span", np.full(self.dimension, QUANTA, dtype=np.int64))
        if not len(self.step):
            object.__setattr__(self, "step", np.ones(self.dimension, dtype=np.int64))

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
        """τᵢ = wᵢ/spanᵢ: the distance of one quantum, exactly so where the span is 2²⁴."""
        return self.spread / self.span

    @cached_property
    def units(self) -> tuple[slice, ...]:
        """Coordinates that change independently: blocks of labels, and each other coordinate alone."""
        blocked = {i for block in self.simplex for i in range(block.start, block.stop)}
        alone = [slice(i, i + 1) for i in range(self.dimension) if i not in blocked]
        return tuple(sorted([*alone, *self.simplex], key=lambda unit: unit.start))

    def width(self, unit: slice) -> float:
        """The distance across a unit: a change of label moves two coordinates of its block."""
        return float(self.spread[unit.start]) * (2 if unit in self.simplex else 1)

    def cells(self, groups: int = 1) -> int:
        """Of a sketch for so many groups: as many as memory allows, and one a step where records sit on steps."""
        steps = [QUANTA // int(step) for step in self.step if step > 1]
        return max([default_cells(self.dimension * groups), *steps])

    @property
    def bias(self) -> float:
        """How far a mean host distance may be from the metric's: rounding of records, the embedding, clipping."""
        return float(np.sum(self.quantum)) / 2 * (1 + 1e-6) + self.embedding * self.reach + self.clipped

    def range(self, positions: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The least and the largest mean distance that any table could have at positions float64[k, D]."""
        quantum, span, to_low = self.quantum, self.span, positions
        if self.simplex:
            single = [unit.start for unit in self.units if unit not in self.simplex]
            quantum, span, to_low = quantum[single], span[single], positions[:, single]
        to_high = span - to_low
        high = (np.maximum(to_low, to_high) * quantum).sum(axis=1) + math.fsum(map(self.width, self.simplex))
        low = -(np.minimum(np.minimum(to_low, to_high), 0) * quantum).sum(axis=1)
        if self.symmetric:  # no record is farther from the middle than half of the reach, rounding included
            away = (np.abs(positions - self.span / 2) * self.quantum).sum(axis=1)
            farthest = self.reach / 2 + float(self.quantum.sum())
            low, high = np.maximum(low, away - farthest), np.minimum(high, away + farthest)
        return low, high

    def alone(self, i: int) -> "Hosts":
        """Host coordinate i as hosts of its own."""
        part = slice(i, i + 1)
        span, step = self.span[part], self.step[part]
        reach = reach_of(self.quantum[part], span)
        ends = self.low[part], self.high[part]
        return Hosts(self.weight[part], *ends, reach, span=span, step=step, changes=self.changes)


@dataclass(frozen=True)
class Distortion:
    """Definition 5: host distances are within 1/`contraction` and `expansion` of the metric's.

    Of all pairs where that is proved (L2 of up to three columns), else of the public pairs that were measured.
    likely: the relative deviation that 95 % of the measured pairs keep.
    """

    expansion: float
    contraction: float
    likely: float

    @classmethod
    def of(cls, ratios: FloatArray) -> "Distortion":
        """From host distances ÷ exact ones over public pairs; none where host distances are the metric's."""
        if not len(ratios):
            return cls(1.0, 1.0, 0.0)
        likely = float(np.quantile(np.abs(ratios - 1), 0.95))
        return cls(float(ratios.max()), float(1 / max(ratios.min(), 1e-300)), likely)

    @property
    def product(self) -> float:
        """The distortion."""
        return self.expansion * self.contraction

    @property
    def largest(self) -> float:
        """The largest relative deviation, on either side."""
        return max(self.expansion - 1, 1 - 1 / self.contraction, 0.0)


def check_space(space: Any) -> None:
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
    oblivious: ClassVar[bool]  # False: host coordinates depend on the queries, so no session can be had (Remark 8.2)

    threads: ClassVar[bool]  # whether several threads may read records and measure distances at once
    geographic: ClassVar[bool]  # whether the columns are latitude and longitude in degrees

    @property
    def found(self) -> Found | None:
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
    def host_columns(self) -> IntArray | None:
        """The column behind each host coordinate, or None where host coordinates are no columns."""

    @property
    def diameter(self) -> float:
        """The largest distance between two points."""

    @property
    def hosts(self) -> Hosts:
        """The host coordinates."""

    def sized(self, n: int) -> Sequence["Space"]:
        """The same space with fewer or more host coordinates, in that order: what may suit a table of n rows."""

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

    def written(self, query: AnyArray) -> Any:
        """One query as a user writes it."""

    def parse(self, text: str) -> Any:
        """One query as the command line writes it."""

    def cells(self, query: Any) -> tuple[Any, ...]:
        """One query as a user writes it, a value for each of `names`."""

    def place(self, queries: AnyArray) -> FloatArray:
        """Host positions of queries in quanta: float64[n, D], 0..2²⁴ inside the space, unrounded and unclipped."""

    def point(self, positions: FloatArray) -> FloatArray:
        """The points at host positions, where host coordinates are columns."""

    def quantize(self, points: FloatArray) -> ImageArray:
        """Host positions of records: int32[n, D] in 0..2²⁴; each row depends on its own record only."""

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


def summed(
    records: FloatArray, queries: AnyArray, term: Callable[[int, FloatArray, FloatArray], FloatArray]
) -> FloatArray:
    """Σᵢ term(i, xᵢ, yᵢ) for every pair: float64[n, k]; column by column, so that a pair's is the same in any batch.

    term: takes columns float64[rows, 1] and float64[1, k], of so many rows that they fit the cache.
    """
    result = np.zeros((len(records), len(queries)))
    rows = max(1, CACHED // max(1, len(queries)))
    for start in range(0, len(records), rows):
        part = slice(start, start + rows)
        for i in range(records.shape[1]):
            result[part] += term(i, records[part, i, None], queries[None, :, i])
    return result


def quantize(points: FloatArray, place: Callable[[FloatArray], FloatArray], hosts: Hosts) -> ImageArray:
    """Host positions of records rounded to whole steps, inside the interval, as int32[n, D] in columns of one piece.

    place: makes positions float64[rows, D], which it must not keep, of some records; so many that they fit the cache.
    Rounding is elementwise, so that a row sees only itself.
    """
    result = np.empty((len(points), hosts.dimension), dtype=np.int32, order="F")
    steps, most = (hosts.step > 1).any(), (hosts.span // hosts.step).astype(np.float64)
    rows = max(1, CACHED // hosts.dimension)
    for start in range(0, len(points), rows):
        part = slice(start, start + rows)
        positions = place(points[part])
        if steps:
            positions /= hosts.step
        np.rint(positions, out=positions)
        result[part] = np.clip(positions, 0, most, out=positions)
    if steps:
        result *= hosts.step.astype(np.int32)
    return result


def reach_of(quantum: FloatArray, span: IntArray) -> float:
    """A float that is at least the exact Σ τᵢ·spanᵢ: the reach of a box."""
    return round_up(quantum * span * (1 + 2**-52))


def round_up(values: FloatArray) -> float:
    """A float that is at least the exact sum of `values`."""
    return math.nextafter(math.fsum(values.tolist()), math.inf)


def default_cells(dimension: int) -> int:
    """Cells a coordinate that a sketch of D coordinates keeps: min(2¹⁶, 2²²/D), rounded down to a power of two."""
    share = max(1, (1 << 22) // dimension)
    return min(1 << 16, 1 << (share.bit_length() - 1))
