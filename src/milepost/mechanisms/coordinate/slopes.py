"""slopes: discrete Gaussian noise on cumulative counts, which are the slopes of F. docs/proofs/slopes.md.

Every answer, at every position, has the noise that one query alone would need.
"""

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Self

import numpy as np
import scipy

from milepost._typing import FloatArray, IntArray
from milepost.errors import MilepostError
from milepost.mechanisms.base import Prediction, check_cells, check_sketch
from milepost.mechanisms.coordinate.categories import category_noises
from milepost.mechanisms.coordinate.count_origin import CountOrigin
from milepost.mechanisms.coordinate.curves import CurveNoise, Curves, cell_bits, join_ragged, predict, split_ragged
from milepost.mechanisms.totals import Total, check_total_scale
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.noise import check_scale, gaussian
from milepost.privacy.protected_change import BudgetSplit, ProtectedChange
from milepost.spaces.embeddings.embedding import QUANTUM_BITS, Embedding
from milepost.statistics.sketch import Sketch

SLACK = 1 + 1e-12  # rounding of a few float operations, always to the private side
MAX_STEPS = 1024  # of a simulated path; finer ones are corrected for
THREADS = 2


@dataclass(frozen=True)
class Slopes:
    """Noise of variance 2^bits·power/(2τᵢ) on every cumulative count of coordinate i; ρ-zCDP.

    Replacing a record at qᵢ by one at q′ᵢ changes the counts by at most 2^bits·|qᵢ − q′ᵢ| in squares, so it costs
    Στᵢ|qᵢ − q′ᵢ|/power ≤ ρ where power = sensitivity bound/ρ. Every answer has variance Σwᵢ·power/(2n²).
    """

    name: ClassVar[str] = "slopes"
    pure: ClassVar[bool] = False

    def check(self, change: ProtectedChange, guarantee: Guarantee) -> None:  # noqa: ARG002
        """Refuse δ = 0."""
        if guarantee.pure:
            raise MilepostError("slopes adds Gaussian noise and needs delta > 0; with delta = 0 use hats")

    def predict(self, embedding: Embedding, n: int, change: ProtectedChange, guarantee: Guarantee) -> Prediction:
        """Return noise and, for evenly spread data, interpolation."""
        self.check(change, guarantee)
        split = split_of(embedding, change, guarantee)
        deviation = deviation_of(embedding, n, split.power)
        bits = cell_bits(embedding, deviation, change.groups)
        _check_scales(embedding, split, bits)
        return predict(
            self.name,
            embedding,
            bits,
            _noises(embedding, n, split.power, bits),
            deviation,
            Total(n, split.total, pure=False),
        )

    def run(
        self,
        sketch: Sketch,
        embedding: Embedding,
        change: ProtectedChange,
        guarantee: Guarantee,
        n: int | None = None,
        group: int = 0,
    ) -> "SlopeCounts":
        """Add the noise, coordinate by coordinate."""
        self.check(change, guarantee)
        n = check_sketch(sketch, embedding, change, n, group)
        split = split_of(embedding, change, guarantee)
        bits = cell_bits(embedding, deviation_of(embedding, n, split.power), change.groups)
        check_cells(sketch, min(bits))
        _check_scales(embedding, split, bits)
        scales = scales_of(embedding, split.power, bits)
        exact = int(sketch.totals[group])
        anchor = None if change.public_total else CountOrigin.of(embedding)

        def noisy_counts(i: int) -> IntArray:
            counts = sketch.only(i, group).coarsen(1 << (QUANTUM_BITS - bits[i])).cumulative()[0]
            counts = counts[: int(embedding.span[i]) >> bits[i]]
            return gaussian(counts if anchor is None else counts - exact * anchor.marks(i, bits[i]), scales[i])

        total = Total.draw(exact, split.total, pure=False)
        if embedding.dimension == 1:
            return SlopeCounts(embedding, total, split.power, bits, [noisy_counts(0)], anchor)
        with ThreadPoolExecutor(THREADS) as pool:
            counts = list(pool.map(noisy_counts, range(embedding.dimension)))
        return SlopeCounts(embedding, total, split.power, bits, counts, anchor)


class SlopeCounts(Curves):
    """Noisy cumulative counts C_j, counted from an anchor if any: n·F rises by 2C_j − n·2^bits across cell j."""

    mechanism: ClassVar[str] = Slopes.name
    approaches: ClassVar[bool] = True

    def __init__(
        self,
        embedding: Embedding,
        total: Total,
        power: float,
        bits: list[int],
        counts: list[IntArray],
        anchor: CountOrigin | None = None,
    ) -> None:
        self.power, self.counts, self.anchor = power, counts, anchor
        marks = None if anchor is None else [anchor.marks(i, b) for i, b in enumerate(bits)]
        full_counts = counts if marks is None else [c + total.size * m for c, m in zip(counts, marks, strict=True)]
        heights = _heights(embedding, total.size, bits, full_counts)
        anchors = None if marks is None else _heights(embedding, 1, bits, marks)
        super().__init__(embedding, total, bits, heights, _noises(embedding, total.size, power, bits), anchors)

    def laws(self, inside: FloatArray, fraction: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the laws of `WalkNoise`, for all coordinates at once where none is of a category."""
        if self.embedding.category_blocks:
            return super().laws(inside, fraction)
        variances, steps = self._walks
        return variances * _within(fraction, steps), np.zeros_like(fraction)

    @cached_property
    def _walks(self) -> tuple[FloatArray, FloatArray]:
        """Variance at borders, and number of steps, of every coordinate."""
        steps = [int(span) >> b for span, b in zip(self.embedding.span, self.bits, strict=True)]
        return np.array([noise.max_moments[0] for noise in self._noise]), np.array(steps, dtype=np.float64)

    def tensors(self) -> dict[str, IntArray]:
        """Return all noisy counts, coordinate after coordinate."""
        return join_ragged(self.counts) | self.total.tensors()

    def parameters(self) -> dict[str, Any]:
        """Return the noise, the cells' sizes and the anchor."""
        anchor = {} if self.anchor is None else {"central": self.anchor.central}
        return {"power": self.power, "bits": list(self.bits)} | anchor | self.total.parameters()

    @classmethod
    def load(cls, embedding: Embedding, n: int, parameters: dict[str, Any], tensors: dict[str, IntArray]) -> Self:
        """Return the counts of a file, checked against its card."""
        bits, counts = parameters["bits"], split_ragged(tensors)
        if [len(count) for count in counts] != [int(span) >> b for span, b in zip(embedding.span, bits, strict=True)]:
            raise MilepostError("the file's counts do not fit its space")
        anchor = CountOrigin(embedding, parameters["central"]) if "central" in parameters else None
        total = Total.load(n, parameters, tensors)
        if total.public != (anchor is None):
            raise MilepostError("the file's card has an anchor without a noisy total, or the reverse")
        return cls(embedding, total, parameters["power"], bits, counts, anchor)


def _heights(embedding: Embedding, n: int, bits: list[int], counts: Sequence[IntArray]) -> list[FloatArray]:
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
        return -float(scipy.special.ndtri(failure)) * math.sqrt(2) * self.count_share

    def extremes(self, generator: np.random.Generator, draws: int) -> FloatArray:
        """Return maxima and minima of walks, from a shuffled pool of standard walks."""
        return self.deviation * generator.permutation(_standard_extremes(self.steps, draws))


def _within(fraction: FloatArray, steps: FloatArray | int) -> FloatArray:
    """Return the variance at fraction f of a cell ÷ that at borders: the cell's own step has (2f − 1)², not 1."""
    return np.asarray(1 - 4 * fraction * (1 - fraction) / steps)


def split_of(embedding: Embedding, change: ProtectedChange, guarantee: Guarantee) -> BudgetSplit:
    """Share ρ between counts and the total: a pair of records costs at most the sensitivity bound, one its radius."""
    radius = CountOrigin.of(embedding).radius
    # an answer has the total's noise times |F − anchor| ≤ Σw/2, on evenly spread tables about half of that
    off = embedding.total_width / 4 / math.sqrt(_width(embedding) * radius)
    bound, rho = embedding.sensitivity_bound, guarantee.for_each(embedding.images_per_record).rho
    return change.gaussian(bound, radius, rho, off)


def deviation_of(embedding: Embedding, n: int, power: float) -> float:
    """Return the standard deviation of every answer: √(Σwᵢ·power/2)/n, a block of A labels adding 2w(1 − 1/A)."""
    return math.sqrt(_width(embedding) * power / 2) / n


def scales_of(embedding: Embedding, power: float, bits: list[int]) -> list[float]:
    """Return σ of each coordinate's counts, rounded up."""
    squares = [(1 << b) * power / (2 * float(t)) for b, t in zip(bits, embedding.quantum, strict=True)]
    return [math.sqrt(square) * SLACK for square in squares]


def _width(embedding: Embedding) -> float:
    """Return Σwᵢ, to which a block of A labels adds 2w(1 − 1/A)."""
    widths = [
        float(embedding.spread[block.start])
        if block not in embedding.category_blocks
        else 2 * embedding.width(block) * (1 - 1 / labels)
        for block in embedding.independent_blocks
        for labels in (block.stop - block.start,)
    ]
    return math.fsum(widths)


def _check_scales(embedding: Embedding, split: BudgetSplit, bits: list[int]) -> None:
    for scale in scales_of(embedding, split.power, bits):
        check_scale(scale)
    check_total_scale(split.total)


def _noises(embedding: Embedding, n: int, power: float, bits: list[int]) -> list[CurveNoise]:
    result: list[CurveNoise] = []
    scales = scales_of(embedding, power, bits)
    for block in embedding.independent_blocks:
        i = block.start
        share = scales[i] / (n << bits[i])
        if block in embedding.category_blocks:
            result += category_noises(embedding, block, share, laplace=False)
        else:
            steps = int(embedding.span[i]) >> bits[i]
            deviation = scales[i] * math.sqrt(steps) * float(embedding.quantum[i]) / n
            result.append(WalkNoise(deviation, steps, bits[i], share))
    return result


@lru_cache(maxsize=32)
def _standard_extremes(steps: int, draws: int) -> FloatArray:
    """Simulate maxima and minima of 2S_J − S_m over J = 0..m, S a walk with Var S_m = 1: float64[draws, 2]."""
    simulated_steps = min(steps, MAX_STEPS)
    generator = np.random.default_rng(steps)
    result = np.empty((draws, 2))
    for start in range(0, draws, 1000):
        walk = np.cumsum(generator.standard_normal((min(1000, draws - start), simulated_steps)), axis=1)
        path = (2 * np.concatenate([np.zeros((len(walk), 1)), walk], axis=1) - walk[:, -1:]) / math.sqrt(
            simulated_steps
        )
        result[start : start + 1000] = np.stack([path.max(axis=1), path.min(axis=1)], axis=1)
    if (
        steps > simulated_steps
    ):  # a finer walk goes further, by 0.5826 of a step's deviation (Broadie, Glasserman, Kou 1997)
        result += np.array([1, -1]) * 0.5826 * 2 / math.sqrt(simulated_steps)
    return result
