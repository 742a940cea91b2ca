"""slopes: discrete Gaussian noise on cumulative counts, which are the slopes of F. docs/proofs/slopes.md.

Every answer, at every place, has the noise that one query alone would need.
"""

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np
from scipy.stats import norm

from milepost.arrays import FloatArray, IntArray
from milepost.errors import MilepostError
from milepost.mechanisms.base import Prediction, check_cells, check_replace, check_sketch
from milepost.mechanisms.curves import CurveNoise, Curves, cell_bits, join, predict, split
from milepost.mechanisms.labels import label_noises
from milepost.privacy.change import Change
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.noise import check_scale, gaussian
from milepost.spaces.base import QUANTUM_BITS, Hosts
from milepost.statistics.sketch import Sketch

SLACK = 1 + 1e-12  # rounding of a few float operations, always to the private side
MOST_STEPS = 1024  # of a simulated path; finer ones are corrected for
THREADS = 2


@dataclass(frozen=True)
class Slopes:
    """Noise of variance 2^bits·reach/(2ρτᵢ) on every cumulative count of coordinate i; ρ-zCDP.

    Two records at qᵢ and q′ᵢ move the counts by at most 2^bits·|qᵢ − q′ᵢ| in squares, so they cost
    ρ·Στᵢ|qᵢ − q′ᵢ|/reach ≤ ρ. Every answer has variance Σwᵢ·reach/(2ρn²).
    """

    name: ClassVar[str] = "slopes"

    def check(self, change: Change, guarantee: Guarantee) -> None:
        """δ > 0 and replace only."""
        check_replace(self.name, change)
        if guarantee.pure:
            raise MilepostError("slopes adds Gaussian noise and needs delta > 0; with delta = 0 use hats")

    def predict(self, hosts: Hosts, n: int, change: Change, guarantee: Guarantee) -> Prediction:
        """Noise and, for spread data, interpolation."""
        self.check(change, guarantee)
        rho = guarantee.for_each(hosts.changes).rho
        deviation = deviation_of(hosts, n, rho)
        bits = cell_bits(hosts, deviation)
        for scale in scales_of(hosts, rho, bits):
            check_scale(scale)
        return predict(self.name, hosts, bits, _noises(hosts, n, rho, bits), deviation)

    def run(self, sketch: Sketch, hosts: Hosts, change: Change, guarantee: Guarantee) -> "SlopeCounts":
        """Add the noise, coordinate by coordinate."""
        self.check(change, guarantee)
        check_sketch(sketch, hosts)
        n, rho = int(sketch.totals[0]), guarantee.for_each(hosts.changes).rho
        bits = cell_bits(hosts, deviation_of(hosts, n, rho))
        check_cells(sketch, min(bits))
        scales = scales_of(hosts, rho, bits)
        for scale in scales:
            check_scale(scale)

        def noisy(i: int) -> IntArray:
            exact = sketch.only(i).coarsen(1 << (QUANTUM_BITS - bits[i])).cumulative()[0]
            return gaussian(exact[: int(hosts.span[i]) >> bits[i]], scales[i])

        if hosts.dimension == 1:
            return SlopeCounts(hosts, n, rho, bits, [noisy(0)])
        with ThreadPoolExecutor(THREADS) as pool:
            counts = list(pool.map(noisy, range(hosts.dimension)))
        return SlopeCounts(hosts, n, rho, bits, counts)


class SlopeCounts(Curves):
    """Noisy cumulative counts C_j: n·F rises by 2C_j − n·2^bits across cell j."""

    mechanism: ClassVar[str] = Slopes.name
    approaches: ClassVar[bool] = True

    def __init__(self, hosts: Hosts, n: int, rho: float, bits: list[int], counts: list[IntArray]) -> None:
        self.rho, self.counts = rho, counts
        heights = []
        for count, b, quantum in zip(counts, bits, hosts.quantum, strict=True):
            rises = 2 * count - (n << b)
            ends = ((n << b) - count).sum()  # n·F at the low end
            heights.append(np.concatenate([[ends], ends + np.cumsum(rises)]) * (float(quantum) / n))
        super().__init__(hosts, n, bits, heights, _noises(hosts, n, rho, bits))

    def tensors(self) -> dict[str, IntArray]:
        """All noisy counts, coordinate after coordinate."""
        return join(self.counts)

    def parameters(self) -> dict[str, Any]:
        """ρ and the cells' sizes."""
        return {"rho": self.rho, "bits": list(self.bits)}

    @classmethod
    def load(cls, hosts: Hosts, n: int, parameters: dict[str, Any], tensors: dict[str, IntArray]) -> Self:
        """The counts of a file, checked against its card."""
        bits, counts = parameters["bits"], split(tensors)
        if [len(count) for count in counts] != [int(span) >> b for span, b in zip(hosts.span, bits, strict=True)]:
            raise MilepostError("the file's counts do not fit its space")
        return cls(hosts, n, parameters["rho"], bits, counts)


@dataclass(frozen=True)
class WalkNoise:
    """Noise of one coordinate: ± a walk of `steps` Gaussian steps, of the same variance at every border."""

    deviation: float  # of every border
    steps: int
    bits: int
    count_share: float  # standard deviation of one count, as a share of all records

    @property
    def largest(self) -> tuple[float, float]:
        """At every border."""
        return self.deviation**2, 0.0

    def variance(self, positions: FloatArray) -> FloatArray:
        """At fraction f of a cell, that cell's own step counts (2f − 1)² instead of 1."""
        fraction = np.modf(positions / (1 << self.bits))[0]
        return np.asarray(self.deviation**2 * (1 - 4 * fraction * (1 - fraction) / self.steps))

    def kurtosis(self, positions: FloatArray) -> FloatArray:
        """A sum of Gaussian steps is normal."""
        return np.zeros(len(positions))

    def mass(self, failure: float) -> float:
        """A mass is the difference of two counts."""
        return float(norm.isf(failure)) * math.sqrt(2) * self.count_share

    def extremes(self, generator: np.random.Generator, draws: int) -> FloatArray:
        """Largest and least of the walk, from a pool of standard ones in fresh order."""
        return self.deviation * generator.permutation(_standard_extremes(self.steps, draws))


def deviation_of(hosts: Hosts, n: int, rho: float) -> float:
    """The standard deviation of every answer: √(Σwᵢ·reach/(2ρ))/n, where a block of A labels counts 2w(1 − 1/A)."""
    widths = [
        float(hosts.spread[unit.start]) if unit not in hosts.simplex else 2 * hosts.width(unit) * (1 - 1 / labels)
        for unit in hosts.units
        for labels in (unit.stop - unit.start,)
    ]
    return math.sqrt(math.fsum(widths) * hosts.reach / (2 * rho)) / n


def scales_of(hosts: Hosts, rho: float, bits: list[int]) -> list[float]:
    """σ of each coordinate's counts, rounded up."""
    squares = [(1 << b) * hosts.reach / (2 * rho * float(t)) for b, t in zip(bits, hosts.quantum, strict=True)]
    return [math.sqrt(square) * SLACK for square in squares]


def _noises(hosts: Hosts, n: int, rho: float, bits: list[int]) -> list[CurveNoise]:
    result: list[CurveNoise] = []
    scales = scales_of(hosts, rho, bits)
    for unit in hosts.units:
        i = unit.start
        share = scales[i] / (n << bits[i])
        if unit in hosts.simplex:
            result += label_noises(hosts, unit, share, laplace=False)
        else:
            steps = int(hosts.span[i]) >> bits[i]
            deviation = scales[i] * math.sqrt(steps) * float(hosts.quantum[i]) / n
            result.append(WalkNoise(deviation, steps, bits[i], share))
    return result


@lru_cache(maxsize=32)
def _standard_extremes(steps: int, draws: int) -> FloatArray:
    """Largest and least of 2S_J − S_m over J = 0..m, S a walk with S_m of variance 1: float64[draws, 2]."""
    simulated = min(steps, MOST_STEPS)
    generator = np.random.default_rng(steps)
    result = np.empty((draws, 2))
    for start in range(0, draws, 1000):
        walk = np.cumsum(generator.standard_normal((min(1000, draws - start), simulated)), axis=1)
        path = (2 * np.concatenate([np.zeros((len(walk), 1)), walk], axis=1) - walk[:, -1:]) / math.sqrt(simulated)
        result[start : start + 1000] = np.stack([path.max(axis=1), path.min(axis=1)], axis=1)
    if steps > simulated:  # a finer walk goes further, by 0.5826 of a step's deviation (Broadie, Glasserman, Kou 1997)
        result += np.array([1, -1]) * 0.5826 * 2 / math.sqrt(simulated)
    return result
