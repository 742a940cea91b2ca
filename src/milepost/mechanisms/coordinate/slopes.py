"""slopes: discrete Gaussian noise on cumulative counts, which are the slopes of F. docs/proofs/slopes.md.

Every answer, at every position, has the noise that one query alone would need.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from milepost._typing import FloatArray, IntArray
from milepost.errors import MilepostError
from milepost.mechanisms.base import CoordinateMechanism, NoisyStatistic, check_delta
from milepost.mechanisms.coordinate.categories import category_noises
from milepost.mechanisms.coordinate.count_origin import CountOrigin
from milepost.mechanisms.coordinate.curves import (
    BITS,
    CurveNoise,
    Curves,
    CurvesDesign,
    cell_bits,
    join_ragged,
    split_ragged,
    with_fewest_cells,
)
from milepost.mechanisms.coordinate.path_extremes import walk_extremes
from milepost.mechanisms.noise_quantiles import normal_quantile
from milepost.mechanisms.totals import Total
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.noise import gaussian_deviation, gaussian_each
from milepost.privacy.protected_change import BudgetSplit, ProtectedChange
from milepost.spaces.embeddings.embedding import CategoryBlock, Embedding
from milepost.statistics.sketch import Sketch
from milepost.storage.file_limits import FLAG, SCALE, ParameterLimits

SLACK = 1 + 1e-12  # rounding of a few float operations, always to the private side


class SlopeCounts(Curves):
    """Noisy cumulative counts C_j, counted from an anchor if any: n·F rises by 2C_j − n·2^bits across cell j."""

    approaches: ClassVar[bool] = True
    parameter_limits: ClassVar[ParameterLimits] = {
        "power": SCALE,
        "bits": BITS,
        "central": FLAG,
        **Total.parameter_limits,
    }

    def __init__(
        self,
        mechanism: str,
        embedding: Embedding,
        total: Total,
        power: float,
        bits: Sequence[int],
        counts: list[IntArray],
        anchor: CountOrigin | None = None,
    ) -> None:
        self.power, self.counts, self.anchor = power, counts, anchor
        marks = None if anchor is None else [anchor.marks(i, b) for i, b in enumerate(bits)]
        full_counts = counts if marks is None else [c + total.size * m for c, m in zip(counts, marks, strict=True)]
        heights = _heights(embedding, total.size, bits, full_counts)
        anchors = None if marks is None else _heights(embedding, 1, bits, marks)
        noises = _noises(embedding, total.size, power, bits)
        super().__init__(mechanism, embedding, total, bits, heights, noises, anchors)

    def laws(self, inside: FloatArray, fraction: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the laws of all coordinates at once where all have the noise of a walk."""
        if self._walks is None:
            return super().laws(inside, fraction)
        variances, steps = self._walks
        return variances * _within(fraction, steps), np.zeros_like(fraction)

    @cached_property
    def _walks(self) -> tuple[FloatArray, FloatArray] | None:
        """Variance at borders, and number of steps, of every coordinate; None where some have other noise."""
        walks = [noise for noise in self._noise if isinstance(noise, WalkNoise)]
        if len(walks) < len(self._noise):
            return None
        variances, steps = [walk.max_moments[0] for walk in walks], [walk.steps for walk in walks]
        return np.array(variances), np.array(steps, dtype=np.float64)

    def tensors(self) -> dict[str, IntArray]:
        """Return all noisy counts, coordinate after coordinate."""
        return join_ragged(self.counts) | self.total.tensors()

    def parameters(self) -> dict[str, Any]:
        """Return the noise, the cells' sizes and the anchor."""
        anchor = {} if self.anchor is None else {"central": self.anchor.central}
        return {"power": self.power, "bits": list(self.bits)} | anchor | self.total.parameters()

    @classmethod
    def load(
        cls, mechanism: str, public: Embedding, n: int, parameters: dict[str, Any], tensors: dict[str, IntArray]
    ) -> NoisyStatistic:
        """Return the counts of a file, checked against its card."""
        bits, counts = parameters["bits"], split_ragged(tensors)
        if [len(count) for count in counts] != [int(span) >> b for span, b in zip(public.span, bits, strict=True)]:
            raise MilepostError("the file's counts do not fit its space")
        anchor = CountOrigin(public, parameters["central"]) if "central" in parameters else None
        total = Total.load(n, parameters, tensors)
        if total.public != (anchor is None):
            raise MilepostError("the file's card has an anchor without a noisy total, or the reverse")
        return cls(mechanism, public, total, parameters["power"], bits, counts, anchor)


@dataclass(frozen=True, eq=False)
class SlopesDesign(CurvesDesign):
    """Noise of variance 2^bits·power/(2τᵢ) on every cumulative count of coordinate i."""

    power: float

    @cached_property
    def scales(self) -> list[float]:
        """σ of each coordinate's counts."""
        return scales_of(self.embedding, self.power, self.bits)

    @cached_property
    def noises(self) -> Sequence[CurveNoise]:
        """The noise of each coordinate."""
        return _noises(self.embedding, self.n, self.power, self.bits)

    @property
    def noise_rms(self) -> float:
        """The standard deviation of every answer."""
        return deviation_of(self.embedding, self.n, self.power)

    @property
    def group_draws(self) -> int:
        """One for each cell."""
        return sum(self.cells)

    def add_noise(self, statistic: Sketch, group: int, draw_total: Callable[[], Total]) -> SlopeCounts:
        """Add the noise to the counts of all coordinates at once."""
        embedding, exact = self.embedding, int(statistic.totals[group])
        anchor = None if self.change.public_total else CountOrigin.of(embedding)

        cumulative = {bits: sketch.cumulative() for bits, sketch in self.coarsen(statistic, group).items()}

        def exact_counts(i: int) -> IntArray:
            counts = cumulative[self.bits[i]][i, : self.cells[i]]
            return counts if anchor is None else counts - exact * anchor.marks(i, self.bits[i])

        total, parts = draw_total(), [exact_counts(i) for i in range(embedding.dimension)]
        sizes = [len(part) for part in parts]
        noisy = gaussian_each(np.concatenate(parts), np.repeat(self.scales, sizes))
        counts = np.split(noisy, np.cumsum(sizes)[:-1])
        return SlopeCounts(self.mechanism, embedding, total, self.power, self.bits, counts, anchor)


@dataclass(frozen=True)
class Slopes(CoordinateMechanism):
    """Noise of variance 2^bits·power/(2τᵢ) on every cumulative count of coordinate i.

    Replacing a record at qᵢ by one at q′ᵢ changes the counts by at most 2^bits·|qᵢ − q′ᵢ| in squares, so it costs
    Στᵢ|qᵢ − q′ᵢ|/power ≤ ρ, or μ²/2, where power = sensitivity bound/ρ. Every answer has variance Σwᵢ·power/(2n²).
    """

    name = "slopes"
    pure = False
    all_gaussian = True
    statistic = SlopeCounts

    def check(self, change: ProtectedChange, guarantee: Guarantee) -> None:  # noqa: ARG002
        """Refuse δ = 0."""
        check_delta(self.name, guarantee)

    def design(self, public: Embedding, n: int, change: ProtectedChange, guarantee: Guarantee) -> SlopesDesign:
        """Share the budget between counts and the total, and size cells for the noise."""
        split = split_of(public, change, guarantee)

        def make(bits: list[int]) -> SlopesDesign:
            return SlopesDesign(self.name, n, change, split.total, self.pure, public, bits, split.power)

        return with_fewest_cells(make, cell_bits(public, deviation_of(public, n, split.power), change.groups))


def _heights(embedding: Embedding, n: int, bits: Sequence[int], counts: Sequence[IntArray]) -> list[FloatArray]:
    """Return F at the borders of cells, of n records with these cumulative counts."""
    result = []
    for count, b, quantum in zip(counts, bits, embedding.quantum, strict=True):
        rises = 2 * count - (n << b)
        low = ((n << b) - count).sum()  # n·F at the low end
        result.append(np.concatenate([[low], low + np.cumsum(rises)]) * (float(quantum) / n))
    return result


@dataclass(frozen=True)
class WalkNoise:
    """Noise of one coordinate: ± a walk of `steps` Gaussian steps, of the same variance at every border."""

    deviation: float  # of every border
    steps: int
    bits: int
    count_share: float  # standard deviation of one count, as a share of all records

    @property
    def max_moments(self) -> tuple[float, float]:
        """Variance and excess kurtosis at every border, where the variance is largest."""
        return self.deviation**2, 0.0

    def variance(self, positions: FloatArray) -> FloatArray:
        """Return the variance at positions; it is less than at borders."""
        return np.asarray(self.deviation**2 * _within(np.modf(positions / (1 << self.bits))[0], self.steps))

    def kurtosis(self, positions: FloatArray) -> FloatArray:
        """Return zeros: a sum of Gaussian steps is normal."""
        return np.zeros(len(positions))

    def mass(self, failure: float) -> float:
        """Return the margin of a mass, which is the difference of two counts."""
        return normal_quantile(2 * failure) * math.sqrt(2) * self.count_share

    def extremes(self, generator: np.random.Generator, draws: int) -> FloatArray:
        """Return maxima and minima of walks."""
        return self.deviation * walk_extremes(self.steps, generator, draws)


def _within(fraction: FloatArray, steps: FloatArray | int) -> FloatArray:
    """Return the variance at fraction f of a cell ÷ that at borders: the cell's own step has (2f − 1)², not 1."""
    return np.asarray(1 - 4 * fraction * (1 - fraction) / steps)


def split_of(embedding: Embedding, change: ProtectedChange, guarantee: Guarantee) -> BudgetSplit:
    """Share the budget between counts and the total: a pair costs at most the sensitivity bound, one its radius."""
    radius = CountOrigin.of(embedding).radius
    # an answer has the total's noise times |F − anchor| ≤ Σw/2, on evenly spread tables about half of that
    off = embedding.total_width / 4 / math.sqrt(_width(embedding) * radius)
    bound, budget = embedding.sensitivity_bound, guarantee.for_each(embedding.images_per_record).budget
    return change.gaussian(bound, radius, budget, off)


def deviation_of(embedding: Embedding, n: int, power: float) -> float:
    """Return the standard deviation of every answer: √(Σwᵢ·power/2)/n, a block of A labels adding 2w(1 − 1/A)."""
    return math.sqrt(_width(embedding) * power / 2) / n


def scales_of(embedding: Embedding, power: float, bits: Sequence[int]) -> list[float]:
    """Return σ of each coordinate's counts, rounded up."""
    squares = [(1 << b) * power / (2 * float(t)) for b, t in zip(bits, embedding.quantum, strict=True)]
    return [math.sqrt(square) * SLACK for square in squares]


def _width(embedding: Embedding) -> float:
    """Return Σwᵢ, to which a block of A labels adds 2w(1 − 1/A)."""
    return math.fsum(block.noise_width(float(embedding.spread[block.start])) for block in embedding.blocks)


def _noises(embedding: Embedding, n: int, power: float, bits: Sequence[int]) -> list[CurveNoise]:
    scales = [gaussian_deviation(scale) for scale in scales_of(embedding, power, bits)]
    shares = [scale / (n << b) for scale, b in zip(scales, bits, strict=True)]

    def walk(i: int) -> Sequence[CurveNoise]:
        steps = int(embedding.span[i]) >> bits[i]
        deviation = scales[i] * math.sqrt(steps) * float(embedding.quantum[i]) / n
        return [WalkNoise(deviation, steps, bits[i], shares[i])]

    def labels(block: CategoryBlock) -> Sequence[CurveNoise]:
        return category_noises(embedding, block, shares[block.start], laplace=False)

    return [noise for block in embedding.blocks for noise in block.select(walk, labels)]
