"""Embedding: weighted ℓ₁ coordinates that stand in for a space."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, TypeVar

import numpy as np

from milepost._typing import FloatArray, IntArray
from milepost.spaces.embeddings.anchor import Anchor
from milepost.spaces.embeddings.coordinate_sums import as_column, columns_of, sum_coordinates

QUANTUM_BITS = 24
QUANTA = 1 << QUANTUM_BITS  # of an embedding interval; fewer where a step is given

Result = TypeVar("Result")


@dataclass(frozen=True)
class Block(ABC):
    """Consecutive embedding coordinates that change together; all of a block have the same spread, span and step.

    start: the index of its first coordinate. ends_moved: how many coordinates a change moves from end to end, where
    there are that many. single_share: the squared change of cumulative counts by one record, counted from `origin` or
    from one half, as a share of the distance across the block.
    """

    start: int
    ends_moved: ClassVar[int]
    single_share: ClassVar[float]

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of its coordinates."""

    @property
    def coordinates(self) -> slice:
        """The slice of its coordinates."""
        return slice(self.start, self.start + self.size)

    def width(self, spread: float) -> float:
        """Return the distance across the block. spread: that across one of its coordinates."""
        return self.ends_moved * spread

    @abstractmethod
    def noise_width(self, spread: float) -> float:
        """Return what the block adds to Σwᵢ, to which the variance of an answer from noisy counts is proportional."""

    @abstractmethod
    def origin(self, middle: int) -> int:
        """Return the position that records are counted from, in quanta. middle: that of a coordinate's interval."""

    @abstractmethod
    def select(self, number: Callable[[int], Result], category: Callable[["CategoryBlock"], Result]) -> Result:
        """Return number(coordinate) for a number, category(block) for a category."""


class NumberBlock(Block):
    """The coordinate of a number, which changes alone."""

    ends_moved: ClassVar[int] = 1
    single_share: ClassVar[float] = 1 / 4

    @property
    def size(self) -> int:
        """1: a number has one coordinate."""
        return 1

    def noise_width(self, spread: float) -> float:
        """Return the spread."""
        return spread

    def origin(self, middle: int) -> int:
        """Return the middle, which no record is far from."""
        return middle

    def select(self, number: Callable[[int], Result], category: Callable[["CategoryBlock"], Result]) -> Result:  # noqa: ARG002
        """Return number(coordinate)."""
        return number(self.start)


@dataclass(frozen=True)
class CategoryBlock(Block):
    """Coordinates of a category, one for each label.

    A record or query is at the far end of its label's coordinate and at the near end of the others, so that a change of
    label moves two coordinates. All of them have one step.
    """

    labels: int
    ends_moved: ClassVar[int] = 2
    single_share: ClassVar[float] = 1 / 2

    @property
    def size(self) -> int:
        """The number of labels."""
        return self.labels

    def noise_width(self, spread: float) -> float:
        """Return 2w(1 − 1/A) for A labels: their shares add up to 1, which takes a part of the noise away."""
        return 2 * self.width(spread) * (1 - 1 / self.labels)

    def origin(self, middle: int) -> int:  # noqa: ARG002
        """Return the near end, where a record without a label is."""
        return 0

    def select(self, number: Callable[[int], Result], category: Callable[["CategoryBlock"], Result]) -> Result:  # noqa: ARG002
        """Return category(block)."""
        return category(self)


@dataclass(frozen=True, eq=False)
class Embedding:
    """Weighted ℓ₁ coordinates that stand in for a space: d(x, y) ≈ Σᵢ weightᵢ·|πᵢ(x) − πᵢ(y)|.

    Parameters
    ----------
    weight, low, high : array
        float64[D]: the weight of each coordinate, and its interval; both are positive.
    sensitivity_bound : float
        At least sup Σ τᵢ|qᵢ − q′ᵢ| over pairs of quantized points, rounding included. Noise is made for it.
    relative_error : float
        How far embedded distances may be from those of the metric, relatively; 0 where they are equal.
    clipping_error : float
        How far clipping records to narrower intervals, or rounding queries, may move a distance.
    span : array, optional
        int64[D]: the quanta from low to high; 2²⁴ unless records are on steps.
    step : array, optional
        int64[D]: the quanta between two neighboring positions of records; 1 where all positions are possible.
    images_per_record : int
        How many images one record may change (s of Remark 8.1); 1 for every built-in space.
    blocks : tuple of Block, optional
        Coordinates that change together, in order; by default every coordinate is that of a number.
    symmetric : bool
        Whether every point has a mirror image, as far on the other side of the middle in every coordinate.
    rotations : array, optional
        int64[D]: which of several independent random rotations each coordinate belongs to, 0, 1, … The mean over the
        coordinates of one rotation is an unbiased estimate of the metric, so that their spread shows the error. None
        where `relative_error` bounds it.
    rotation_deviation : float
        The standard deviation, over rotations, of the mean distance to the people of `rotation_tables`.
    rotation_tables : str
        The tables that errors of random directions are planned for, as text.
    error_left : float
        The share of the errors of random directions and of cells that a model of the table leaves, as planned; 1
        without a model.
    probes : callable, optional
        Returns the positions of public points spread over the space, at which the spread of rotations is shown.
    anchor : Anchor, optional
        A public measure around the space, from which answers can be counted.

    Examples
    --------
    >>> import milepost as mp
    >>> embedding = mp.L1([(0, 10), (0, 5)]).embedding
    >>> embedding.dimension, embedding.total_width
    (2, 15.000000000000002)
    """

    weight: FloatArray
    low: FloatArray
    high: FloatArray
    sensitivity_bound: float
    relative_error: float = 0.0
    clipping_error: float = 0.0
    span: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    step: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    images_per_record: int = 1
    blocks: tuple[Block, ...] = ()
    symmetric: bool = False
    rotations: IntArray | None = None
    rotation_deviation: float = 0.0
    rotation_tables: str = "whose people are all at one place near the border, which have the largest error"
    error_left: float = 1.0
    probes: Callable[[], FloatArray] | None = None
    anchor: Anchor | None = None

    def __post_init__(self) -> None:
        if not len(self.span):
            object.__setattr__(self, "span", np.full(self.dimension, QUANTA, dtype=np.int64))
        if not len(self.step):
            object.__setattr__(self, "step", np.ones(self.dimension, dtype=np.int64))
        if not self.blocks:
            object.__setattr__(self, "blocks", tuple(map(NumberBlock, range(self.dimension))))

    @property
    def dimension(self) -> int:
        """D, the number of embedding coordinates."""
        return len(self.weight)

    @cached_property
    def spread(self) -> FloatArray:
        """wᵢ = ωᵢ(hiᵢ − loᵢ): the distance across coordinate i."""
        return self.weight * (self.high - self.low)

    @cached_property
    def total_width(self) -> float:
        """Σwᵢ, rounded up."""
        return round_up(self.spread)

    @cached_property
    def quantum(self) -> FloatArray:
        """τᵢ = wᵢ/spanᵢ: the distance of one quantum, exactly so where the span is 2²⁴."""
        return self.spread / self.span

    @cached_property
    def block_at(self) -> tuple[Block, ...]:
        """The block of each coordinate."""
        return tuple(block for block in self.blocks for _ in range(block.size))

    def width(self, block: Block) -> float:
        """Return the distance across a block."""
        return block.width(float(self.spread[block.start]))

    def cells(self, groups: int = 1) -> int:
        """Return the cells of a sketch for a number of groups: as memory allows, and one per step of records."""
        steps = [QUANTA // int(step) for step in self.step if step > 1]
        return max([default_cells(self.dimension * groups), *steps])

    @property
    def bias(self) -> float:
        """The largest error of a mean embedded distance: rounding of records, the embedding, clipping."""
        return self.fixed_error + self.relative_error * self.sensitivity_bound

    @cached_property
    def fixed_error(self) -> float:
        """The part of `bias` that more directions do not reduce, and that rotations share: rounding and clipping."""
        return float(np.sum(self.quantum)) / 2 * (1 + 1e-6) + self.clipping_error

    def range(self, positions: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the smallest and the largest mean distance that any table could have at positions float64[k, D]."""
        numbers, category_width = self._range_parts
        all_columns, points = columns_of(positions), len(positions)
        columns = all_columns[numbers]
        quantum, span = self._number_columns

        def to_farther_end(part: slice) -> FloatArray:
            result = span[part] - columns[part]
            np.maximum(result, columns[part], out=result)
            result *= quantum[part]
            return result

        def beyond_nearer_end(part: slice) -> FloatArray:
            result = span[part] - columns[part]
            np.minimum(result, columns[part], out=result)
            np.minimum(result, 0, out=result)
            result *= quantum[part]
            return result

        high = sum_coordinates(to_farther_end, len(columns), points) + category_width
        low = -sum_coordinates(beyond_nearer_end, len(columns), points)
        if self.symmetric:  # no record is farther from the middle than half of the sensitivity bound, rounding included
            distance = self._to_middle(all_columns)
            low, high = np.maximum(low, distance - self._radius), np.minimum(high, distance + self._radius)
        return low, high

    def inner_range(self, columns: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        """Return mean distances that are in `range` at positions float64[D, k] inside; by default at all inside.

        It is quicker than `range`, and leaves out 10⁻⁹ of the width at both ends, more than rounding.
        """
        half, category_half, base = self._inner_parts
        nearest, farthest = np.zeros(1), np.full(1, half)  # from the middle
        if columns is not None:
            nearest = farthest = self._to_middle(columns)
        low, high = np.zeros(1), base + np.maximum(nearest - category_half, 0)
        if self.symmetric:
            low, high = np.maximum(low, farthest - self._radius), np.minimum(high, nearest + self._radius)
        margin = 1e-9 * self.total_width
        return low + margin, high - margin

    def _to_middle(self, all_columns: FloatArray) -> FloatArray:
        """Return Σ τᵢ|qᵢ − spanᵢ/2| over the coordinates `_measured`, at positions float64[D, k]."""
        columns, (quantum, middle) = all_columns[self._measured], self._measured_columns

        def terms(part: slice) -> FloatArray:
            result = columns[part] - middle[part]
            np.abs(result, out=result)
            result *= quantum[part]
            return result

        return sum_coordinates(terms, *columns.shape)

    @cached_property
    def _inner_parts(self) -> tuple[float, float, float]:
        """Half the width of the coordinates `_measured`, that of the categories among them, and the least high end."""
        numbers, category_width = self._range_parts
        half, number_half = (float(np.sum(self.spread[part])) / 2 for part in (self._measured, numbers))
        return half, half - number_half, number_half + category_width

    @property
    def _measured(self) -> slice | list[int]:
        """The coordinates of which a range needs the distance from the middle."""
        return slice(None) if self.symmetric else self._range_parts[0]

    @cached_property
    def _number_columns(self) -> tuple[FloatArray, FloatArray]:
        """Quantum and span of the coordinates of numbers."""
        numbers, _ = self._range_parts
        return as_column(self.quantum[numbers]), as_column(self.span[numbers])

    @cached_property
    def _measured_columns(self) -> tuple[FloatArray, FloatArray]:
        """Quantum and middle of the coordinates `_measured`."""
        return as_column(self.quantum[self._measured]), as_column(self.span[self._measured] / 2)

    @cached_property
    def _radius(self) -> float:
        """The largest distance of a record from the middle of a symmetric embedding, rounding included."""
        return self.sensitivity_bound / 2 + float(self.quantum.sum())

    @cached_property
    def _range_parts(self) -> tuple[slice | list[int], float]:
        """The coordinates of numbers, and the distance across all categories, which every label can be from a query."""
        no_coordinates: list[int] = []
        numbers = [i for block in self.blocks for i in block.select(lambda i: [i], lambda _: no_coordinates)]
        widths = [block.select(lambda _: 0.0, self.width) for block in self.blocks]
        return slice(None) if len(numbers) == self.dimension else numbers, math.fsum(widths)

    def take(self, indices: IntArray) -> "Embedding":
        """Return some of the embedding coordinates, all of them numbers, with everything else as it is."""
        arrays = {name: getattr(self, name)[indices] for name in ("weight", "low", "high", "span", "step")}
        rotations = None if self.rotations is None else self.rotations[indices]
        anchor = None if self.anchor is None else self.anchor.take(indices)
        return replace(self, **arrays, blocks=(), rotations=rotations, anchor=anchor)

    def coordinate(self, i: int) -> "Embedding":
        """Return embedding coordinate i as a separate embedding."""
        part = slice(i, i + 1)
        span, step = self.span[part], self.step[part]
        bound = box_sensitivity_bound(self.quantum[part], span)
        ends = self.low[part], self.high[part]
        return Embedding(
            self.weight[part], *ends, bound, span=span, step=step, images_per_record=self.images_per_record
        )


@dataclass(frozen=True)
class Distortion:
    """Definition 5: embedded distances are within 1/`contraction` and `expansion` of the metric's.

    Of all pairs where that is proved (L2 of up to three columns), else of the public pairs that were measured.
    likely: the relative deviation that 95 % of the measured pairs keep.
    """

    expansion: float
    contraction: float
    likely: float

    @classmethod
    def of(cls, ratios: FloatArray) -> "Distortion":
        """Return the distortion of ratios, embedded distances ÷ exact ones over public pairs; none without ratios."""
        if not len(ratios):
            return cls(1.0, 1.0, 0.0)
        likely = float(np.quantile(np.abs(ratios - 1), 0.95))
        return cls(float(ratios.max()), float(1 / max(ratios.min(), 1e-300)), likely)

    @property
    def product(self) -> float:
        """The distortion, expansion times contraction."""
        return self.expansion * self.contraction

    @property
    def largest(self) -> float:
        """The largest relative deviation, on either side."""
        return max(self.expansion - 1, 1 - 1 / self.contraction, 0.0)


def box_sensitivity_bound(quantum: FloatArray, span: IntArray) -> float:
    """Return a float that is at least the exact Σ τᵢ·spanᵢ: the sensitivity bound of a box."""
    return round_up(quantum * span * (1 + 2**-52))


def round_up(values: FloatArray) -> float:
    """Return a float that is at least the exact sum of `values`."""
    return math.nextafter(math.fsum(values.tolist()), math.inf)


def default_cells(dimension: int) -> int:
    """Return the cells per coordinate of a sketch: min(2¹⁶, 2²²/D), rounded down to a power of two."""
    share = max(1, (1 << 22) // dimension)
    return min(1 << 16, 1 << (share.bit_length() - 1))
