"""Noisy means of classes: a private centre, rows clipped around it, then noisy sums and sizes of each class.

Rows lie much closer to their own centre than to the border of a space, so that clipping moves few of them and takes
away half of the noise or more. What follows from the noisy numbers, public numbers included, is free: means are drawn
to each other as far as noise rules. docs/proofs/class-means.md.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol

import numpy as np

from milepost._typing import AnyArray, BoolArray, FloatArray, IntArray
from milepost.errors import MilepostError
from milepost.mechanisms.totals import Total, check_total_scale
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.noise import check_scale, gaussian, gaussian_deviation, laplace
from milepost.privacy.protected_change import ProtectedChange
from milepost.statistics.ball_points import BallGrid, PointSums, grid_center
from milepost.statistics.class_sums import ClippedPoints
from milepost.statistics.model_sums import ClusterSums
from milepost.storage.file_limits import (
    FLAG,
    FLOATS,
    INTEGERS,
    SCALE,
    ParameterLimits,
    TensorLimits,
    check_parameters,
    check_tensors,
)

CENTER_OFF, MAX_CENTER_OFF = 0.15, 0.3  # radii that noise moves the centre by: what is bought, and what is still useful
USUAL_SHARE, MAX_SHARE, MIN_SHARE = 0.1, 0.3, 0.02  # of the budget, for the centre
COUNT_SHARES = {False: 0.15, True: 0.1}  # of the rest, at least, for the sizes of classes; by whether it is pure
REACH, NARROW_REACH = 0.4, 0.6  # radii that rows may be from their centre: REACH + NARROW_REACH/√columns
SMALL = 0.25  # of the average size of a class: a class that is smaller, and may be empty, is left out
MIN_DEVIATIONS = 0.5  # of the noise on its size: no mean is divided by less
MIN_SIGNAL = 0.01  # of the variance of noise: the smallest variance between classes that is believed
HALVINGS = 60


@dataclass(frozen=True)
class SumNoise:
    """Scales of the noise on every sum of coordinates, and on every count: σ, or b if pure."""

    sums: float
    count: float
    pure: bool

    @classmethod
    def of(
        cls, change: ProtectedChange, length: int, width: int, budget: float, pure: bool, count_share: float = 0.0
    ) -> "SumNoise":
        """Return the noise that spends a budget on sums of vectors of at most this length, and on their numbers.

        length: in ℓ₁ if pure, else in ℓ₂. width: of a vector. A mean is off by the noise on every column of a sum, and
        by about half of its length times the noise on the number: both are in balance, unless `count_share` of the
        budget, for the numbers, is more.
        """
        odds = count_share / (1 - count_share)
        if pure:
            off = max(1 / (2 * width), odds**1.5)
            split = change.laplace(2.0 * length, float(length), budget, off)  # (L)
            return cls(split.power, split.total, pure)
        off = max(1 / (2 * math.sqrt(width)), odds)
        split = change.gaussian(4.0 * length**2, float(length**2), budget, off)  # (G)
        return cls(math.sqrt(split.power / 2), split.total, pure)

    def check(self) -> None:
        """Refuse noise that integers cannot hold."""
        check_scale(self.sums)
        check_total_scale(self.count, self.pure)

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise on a sum."""
        return math.sqrt(2) * self.sums if self.pure else gaussian_deviation(self.sums)

    def draw(self, sums: IntArray, counts: Sequence[int]) -> tuple[IntArray, tuple[Total, ...]]:
        """Return noisy sums and counts."""
        noisy = (laplace if self.pure else gaussian)(sums.reshape(-1), self.sums).reshape(sums.shape)  # (S)
        return noisy, tuple(Total.draw(count, self.count, self.pure) for count in counts)  # (N)


class ClassTable(Protocol):
    """What the means of classes read of a table."""

    def point_sums(self, grid: BallGrid) -> PointSums:
        """Return the exact sums of all vectors."""

    def class_sums(self, rule: ClippedPoints) -> ClusterSums:
        """Return the exact sums of clipped vectors, and the sizes, of each class."""


@dataclass(frozen=True)
class ClassMeansDesign:
    """What the release of class means spends on what; from public numbers.

    center: the noise on the centre; None where noise would move it so far that the middle of the ball is as good.
    reach: the length that vectors are clipped to, in steps of the grid: in ℓ₁ if pure, else in ℓ₂.
    """

    grid: BallGrid
    center: SumNoise | None
    reach: int
    noise: SumNoise

    @classmethod
    def of(cls, guarantee: Guarantee, change: ProtectedChange, grid: BallGrid, total: int) -> "ClassMeansDesign":
        """Return the design that spends the budget of a guarantee. total: about how many rows there are."""
        pure, budget, width = guarantee.pure, guarantee.budget, grid.width
        longest = math.isqrt(width * grid.max_length**2) + 1 if pure else grid.max_length  # (R): ‖x‖₁ ≤ √d·‖x‖₂

        def center(share: float) -> SumNoise:
            return SumNoise.of(change.all_groups, longest, width, share * budget, pure)

        off = math.sqrt(width) * center(1.0).deviation / (total * grid.steps)  # of the centre, with all of the budget
        usual, least = ((off / limit) ** (1 if pure else 2) for limit in (CENTER_OFF, MAX_CENTER_OFF))
        share = max(min(usual, USUAL_SHARE), least, MIN_SHARE)
        whole = grid.steps * (math.sqrt(width) if pure else 1.0)
        if share > MAX_SHARE:
            share, reach = 0.0, round(REACH * whole)
        else:
            reach = round(min(REACH + NARROW_REACH / math.sqrt(width), 1.0) * whole)
        noise = SumNoise.of(change, reach, width, (1 - share) * budget, pure, COUNT_SHARES[pure])  # (Q)
        return cls(grid, center(share) if share else None, reach, noise)

    def check(self) -> None:
        """Refuse noise that integers cannot hold."""
        for noise in (self.center, self.noise):
            if noise is not None:
                noise.check()

    def run(self, table: ClassTable) -> "ClassMeans":
        """Draw all noise, which spends the budget.

        Input: a table, read once or twice. Output: `ClassMeans`. Guarantee: that of the design.
        """
        center = np.zeros(self.grid.width, dtype=np.int64)
        if self.center is not None:
            exact = table.point_sums(self.grid)  # every row is read: one that is bad is refused before noise is drawn
            sums, (total,) = self.center.draw(exact.values, exact.totals.tolist())  # (C)
            center = grid_center(sums, total.size)
        rule = ClippedPoints(self.grid, center, self.reach, self.noise.pure)
        classes = table.class_sums(rule)
        noisy, totals = self.noise.draw(classes.sums, classes.counts.tolist())  # (M)
        unit = self.grid.radius / self.grid.steps
        return ClassMeans(self.grid.points(center), unit, self.reach, noisy, totals, self.noise.deviation)


@dataclass(frozen=True, eq=False)
class Shrunk:
    """What is believed of class means, given noise: normal laws around `means` float64[k, columns].

    variances: float64[k], of each column. eligible: bool[k], the classes that may be predicted.
    """

    means: FloatArray
    variances: FloatArray
    eligible: BoolArray


@dataclass(frozen=True, eq=False)
class ClassMeans:
    """Noisy sums and sizes of classes, and what follows from them: no private number.

    center: float64[columns], which sums are counted from. unit: the length of a step. reach: the length in steps that
    vectors were clipped to. sums: int64[k, columns], in steps. totals: the size of each class. deviation: of the noise
    on a sum, in steps.
    """

    center: FloatArray
    unit: float
    reach: int
    sums: IntArray
    totals: tuple[Total, ...]
    deviation: float

    parameter_limits: ClassVar[ParameterLimits] = {
        "unit": SCALE,
        "reach": SCALE,
        "deviation": SCALE,
        "scale": SCALE,
        "pure": FLAG,
    }
    tensor_limits: ClassVar[TensorLimits] = {"center": FLOATS, "sums": INTEGERS, "counts": INTEGERS}

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.center)

    @property
    def pure(self) -> bool:
        """Whether the noise is Laplace noise."""
        return self.totals[0].pure

    @cached_property
    def sizes(self) -> FloatArray:
        """The sizes of classes, drawn to their average as far as noise rules: float64[k], above 0."""
        counts = np.array([total.value for total in self.totals], dtype=np.float64)
        variance = self.totals[0].deviation ** 2
        between = max(float(counts.var(ddof=1)) - variance, 0.0) if len(counts) > 1 else 0.0
        drawn = counts.mean() + between / (between + variance) * (counts - counts.mean())
        return np.asarray(np.maximum(drawn, max(MIN_DEVIATIONS * math.sqrt(variance), 1.0)))

    @cached_property
    def detectable(self) -> BoolArray:
        """Which classes are larger than the noise of an empty class, or not much smaller than others: bool[k]."""
        average = sum(total.value for total in self.totals) / len(self.totals)
        return np.array([total.detectable or total.value >= max(SMALL * average, 1.0) for total in self.totals])

    @cached_property
    def shrunk(self) -> Shrunk:
        """The means of classes, drawn to the mean of all as far as noise rules, in units of `vectors`.

        The variance between classes is the one for which the squared lengths of the means, each in its own variance,
        add up to what is expected (Paule and Mandel 1982).
        """
        eligible = self.detectable if self.detectable.any() else ~self.detectable
        means, variance = self.sums / self.sizes[:, None], (self.deviation / self.sizes) ** 2
        lengths = np.abs(means).sum(axis=1) if self.pure else np.sqrt((means**2).sum(axis=1))
        means *= np.minimum(1, self.reach / np.maximum(lengths, 1e-300))[:, None]  # where a mean of clipped rows is
        middle = self.sizes[eligible] @ means[eligible] / self.sizes[eligible].sum()
        apart = means - middle
        squares, own = (apart[eligible] ** 2).sum(axis=1), variance[eligible]
        expected = self.width * max(len(own) - 1, 1)
        low = MIN_SIGNAL * float(own.mean())
        high = max(float(squares.max()) / self.width, low)
        for _ in range(HALVINGS):
            between = math.sqrt(low * high)
            low, high = (between, high) if (squares / (between + own)).sum() > expected else (low, between)
        share = high / (high + variance)
        drawn = middle + share[:, None] * apart
        return Shrunk(self.center + self.unit * drawn, self.unit**2 * share * variance, eligible)

    def squared_distances(self, vectors: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the expected squares of the distances of vectors to class means, and their standard deviations.

        Both are float64[n, k], over what noise leaves open about the means.
        """
        model = self.shrunk
        squares = np.column_stack([((vectors - mean) ** 2).sum(axis=1) for mean in model.means])
        variances = 4 * squares * model.variances + 2 * self.width * model.variances**2
        return squares + self.width * model.variances, np.sqrt(variances)

    def tensors(self) -> dict[str, AnyArray]:
        """Return all arrays, as the file stores them."""
        return {
            "center": self.center,
            "sums": self.sums,
            "counts": np.array([total.value for total in self.totals], dtype=np.int64),
        }

    def parameters(self) -> dict[str, Any]:
        """Return all numbers, as the card stores them."""
        total = self.totals[0]
        return {
            "unit": self.unit,
            "reach": self.reach,
            "deviation": self.deviation,
            "scale": total.scale,
            "pure": total.pure,
        }

    @classmethod
    def load(cls, parameters: Any, tensors: dict[str, AnyArray], classes: int, width: int) -> "ClassMeans":
        """Return the means of a file; refuse those that do not fit its classes and columns."""
        check_parameters("class means", cls.parameter_limits, parameters)
        check_tensors(cls.tensor_limits, tensors)
        shapes = {"center": (width,), "sums": (classes, width), "counts": (classes,)}
        if any(tensors[name].shape != shape for name, shape in shapes.items()):
            raise MilepostError("the file's class means do not fit its space and labels")
        scale, pure = parameters["scale"], parameters["pure"]
        totals = tuple(Total(count, scale, pure) for count in tensors["counts"].tolist())
        unit, reach, deviation = (parameters[name] for name in ("unit", "reach", "deviation"))
        return cls(tensors["center"], unit, reach, tensors["sums"], totals, deviation)
