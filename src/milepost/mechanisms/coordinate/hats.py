"""hats: discrete Laplace noise on hierarchical hats, for pure ε. docs/proofs/hats.md."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np

from milepost._typing import FloatArray, IntArray
from milepost.errors import MilepostError
from milepost.mechanisms.base import CoordinateMechanism, NoisyStatistic
from milepost.mechanisms.coordinate import faber_schauder
from milepost.mechanisms.coordinate.categories import CategoryNoise, category_noises
from milepost.mechanisms.coordinate.curves import (
    BITS,
    FAILURE,
    MASS_SHARE,
    MIN_LEVELS,
    Curves,
    CurvesDesign,
    cell_bits,
    join_ragged,
    split_ragged,
    with_fewest_cells,
)
from milepost.mechanisms.coordinate.path_extremes import hat_extremes
from milepost.mechanisms.noise_quantiles import (
    laplace_quantile,
    min_mixture_quantile,
    noise_tables,
    normal_quantile,
)
from milepost.mechanisms.totals import Total
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.noise import laplace_each
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.embeddings.embedding import QUANTA, QUANTUM_BITS, CategoryBlock, Embedding
from milepost.statistics.sketch import Sketch
from milepost.storage.file_limits import SCALES, ParameterLimits

SLACK = 1 + 1e-12  # rounding of a few float operations, always to the private side
# Cells are sized for this share of a single query's noise: finer hats cost little, and they estimate a cell's mass less
# exactly than slopes do, so that coarse cells would widen intervals.
FINER = 1 / 4


class HatSags(Curves):
    """Noisy n·F(low) and noisy sags, from the widest interval to the narrowest.

    Where the total is private, n·F(low) of numbers is counted from the middle of the basis's interval.
    """

    parameter_limits: ClassVar[ParameterLimits] = {"epsilons": SCALES, "bits": BITS, **Total.parameter_limits}

    def __init__(
        self,
        mechanism: str,
        embedding: Embedding,
        total: Total,
        epsilons: Sequence[float],
        bits: Sequence[int],
        sags: list[IntArray],
    ) -> None:
        self.epsilons, self.sags = tuple(epsilons), sags
        n, middles = total.size, _middles(embedding, total.public)
        heights = _heights(embedding, bits, sags, n, middles)
        anchors = None if total.public else _heights(embedding, bits, [np.zeros_like(sag) for sag in sags], 1, middles)
        super().__init__(mechanism, embedding, total, bits, heights, _noises(embedding, n, epsilons, bits), anchors)

    def tensors(self) -> dict[str, IntArray]:
        """Return all noisy coefficients, coordinate after coordinate."""
        return join_ragged(self.sags) | self.total.tensors()

    def parameters(self) -> dict[str, Any]:
        """Return each coordinate's ε and the cells' sizes."""
        return {"epsilons": list(self.epsilons), "bits": list(self.bits)} | self.total.parameters()

    @classmethod
    def load(
        cls, mechanism: str, public: Embedding, n: int, parameters: dict[str, Any], tensors: dict[str, IntArray]
    ) -> NoisyStatistic:
        """Return the coefficients of a file, checked against its card."""
        bits, sags = parameters["bits"], split_ragged(tensors)
        if len(bits) != public.dimension or [len(sag) for sag in sags] != [1 << (QUANTUM_BITS - b) for b in bits]:
            raise MilepostError("the file's coefficients do not fit its space")
        return cls(mechanism, public, Total.load(n, parameters, tensors), parameters["epsilons"], bits, sags)


@dataclass(frozen=True, eq=False)
class HatsDesign(CurvesDesign):
    """Laplace noise on V(0) and on the sag of every dyadic interval. epsilons: of each coordinate."""

    epsilons: Sequence[float]

    @property
    def scales(self) -> list[float]:
        """The largest scale of each kind of coordinate."""
        kinds = set(zip(self.bits, self.epsilons, strict=True))
        return [float(_scales(bits, epsilon).max()) for bits, epsilon in kinds]

    @cached_property
    def noises(self) -> "Sequence[HatNoise | CategoryNoise]":
        """The noise of each coordinate."""
        return _noises(self.embedding, self.n, self.epsilons, self.bits)

    def take(self, indices: IntArray) -> "HatsDesign":
        """Return the design of some of the coordinates, all of them numbers."""
        return replace(super().take(indices), epsilons=[self.epsilons[i] for i in indices.tolist()])

    @property
    def noise_rms(self) -> float:
        """The root of the mean variance of an answer."""
        return math.sqrt(sum(noise.rms**2 for noise in self.noises))

    @property
    def group_draws(self) -> int:
        """One for each coefficient."""
        return sum(1 << (QUANTUM_BITS - bits) for bits in self.bits)

    def add_noise(self, statistic: Sketch, group: int, draw_total: Callable[[], Total]) -> HatSags:
        """Add the noise to the coefficients of all coordinates at once; then that of the total."""
        total = int(statistic.totals[group])
        middles = _middles(self.embedding, self.change.public_total)
        parts, scales = [], []
        coarse = self.coarsen(statistic, group).items()
        coefficients = {bits: faber_schauder.analyse(sketch.borders().value) for bits, sketch in coarse}
        for i, (bits, epsilon) in enumerate(zip(self.bits, self.epsilons, strict=True)):
            exact = coefficients[bits][i]
            exact[0] -= total * middles[i]
            parts.append(exact)
            scales.append(np.repeat(_scales(bits, epsilon), faber_schauder.sizes(QUANTUM_BITS - bits)))
        noisy = laplace_each(np.concatenate(parts), np.concatenate(scales))
        sags = np.split(noisy, np.cumsum([len(part) for part in parts])[:-1])
        return HatSags(self.mechanism, self.embedding, draw_total(), self.epsilons, self.bits, sags)


@dataclass(frozen=True)
class Hats(CoordinateMechanism):
    """Laplace noise on V(0) and on the sag of every dyadic interval; coordinate i gets εᵢ ∝ wᵢ^{2/3}."""

    name = "hats"
    pure = True
    statistic = HatSags

    def design(self, public: Embedding, n: int, change: ProtectedChange, guarantee: Guarantee) -> HatsDesign:
        """Share ε between coordinates and the total, and size cells for the noise."""
        epsilon = guarantee.for_each(public.images_per_record).epsilon_each
        noise = sum(public.width(block) ** (2 / 3) for block in public.blocks) ** 1.5

        def make(bits: list[int]) -> HatsDesign:
            # a pair costs all of ε; an added record costs the share `single` of a number's ε, and one of its labels'
            singles = {b: faber_schauder.single(QUANTUM_BITS - b) for b in set(bits)}
            single = max(block.select(lambda i: singles[bits[i]], lambda _: 0.5) for block in public.blocks)
            split = change.laplace(1, single, epsilon, public.total_width / 4 / (2 * single * noise))
            epsilons = shares(public, 1 / split.power)
            return HatsDesign(self.name, n, change, split.total, self.pure, public, bits, epsilons)

        bits = bits_of(public, n, shares(public, epsilon / change.multiple), change.groups)
        return with_fewest_cells(make, bits)

    def error_bound(self, public: Embedding, n: int, change: ProtectedChange, guarantee: Guarantee) -> float:
        """Return the noise of V(0) alone, at the low end of every number's interval, and the error of the embedding.

        The largest variance is at least that at the low ends. A scale of V(0) grows with the number of levels. The sums
        have at most ε, or twice that where only adding is protected: a pair is two single changes, so that `single` is
        at least one half. Labels may have no noise.
        """
        epsilon = guarantee.epsilon / public.images_per_record / change.multiple
        epsilons = shares(public, epsilon if change.replaces else 2 * epsilon)

        def square(i: int) -> float:
            levels = min(MIN_LEVELS, QUANTUM_BITS + 1 - int(public.step[i]).bit_length())
            return 2 * float(public.spread[i] / epsilons[i] * faber_schauder.scales(levels)[0]) ** 2

        squares = math.fsum(block.select(square, lambda _: 0.0) for block in public.blocks)
        error = min_mixture_quantile(FAILURE * (1 - MASS_SHARE)) * math.sqrt(squares) / n
        error += public.bias if public.rotations is None else public.fixed_error
        return min(error, public.sensitivity_bound)


@dataclass(frozen=True)
class HatNoise:
    """Noise of one coordinate: `unit` (a distance a quantum) times the synthesis of Laplace draws."""

    bits: int
    epsilon: float
    n: int
    unit: float
    span: int

    def variance(self, positions: FloatArray) -> FloatArray:
        """Return the variance at positions; it is not the same everywhere."""
        return faber_schauder.variance(self._noise_scales, positions / QUANTA) * self.unit**2

    def kurtosis(self, positions: FloatArray) -> FloatArray:
        """Return the excess kurtosis, which is larger at positions with fewer draws."""
        return faber_schauder.kurtosis(self._noise_scales, positions / QUANTA)

    @cached_property
    def max_moments(self) -> tuple[float, float]:
        """The maxima over all borders; between them both are smaller."""
        variance, excess, _ = _border_moments(self.bits, self.span)
        return variance * self._width**2, excess

    @cached_property
    def rms(self) -> float:
        """Root mean square of the standard deviation over borders."""
        return math.sqrt(_border_moments(self.bits, self.span)[2]) * self._width

    @property
    def _width(self) -> float:
        """The distance that a path of ε = 1 and width 1 is scaled by."""
        return QUANTA / self.epsilon * SLACK * self.unit

    @property
    def share_variances(self) -> FloatArray:
        """The variance of each level's coefficients: V(0) shifts all shares alike, and a sag has a Haar function."""
        levels = QUANTUM_BITS - self.bits
        widths = np.concatenate([[1.0], np.exp2(-np.arange(levels))])  # of the intervals of each level
        return np.asarray((1 << levels) / widths * 2 * (self._noise_scales / (self.n * QUANTA)) ** 2)

    @property
    def laplace(self) -> bool:
        """True: coefficients have Laplace noise."""
        return True

    def mass(self, failure: float) -> float:
        """Return the margin from simulated second differences of the noise, over all cells."""
        deviation = _second_difference(QUANTUM_BITS - self.bits) * QUANTA / self.epsilon
        quantile = max(normal_quantile(2 * failure), laplace_quantile(2 * failure))  # the law lies between both
        return quantile * deviation / (2 * (self.n << self.bits))

    def share_moments(self, weights: FloatArray) -> tuple[float, float]:
        """Return the moments of a sum of differences of V, each of which is a sum of Laplace draws."""
        levels = QUANTUM_BITS - self.bits
        differences = np.zeros((1 << levels) + 2)  # with a cell before the first and one after the last
        differences[1 : len(weights) + 1] = weights / (2 * (self.n << self.bits))
        draws = faber_schauder.transpose(-np.diff(differences)) * np.repeat(
            self._noise_scales, faber_schauder.sizes(levels)
        )
        largest = float(np.abs(draws).max())
        if not largest:
            return 0.0, 0.0
        squares = (draws / largest) ** 2
        total = float(squares.sum())
        return 2 * total * largest**2, 3 * float(squares @ squares) / total**2

    def extremes(self, generator: np.random.Generator, draws: int) -> FloatArray:
        """Return maxima and minima of paths."""
        return self.unit * QUANTA / self.epsilon * hat_extremes(QUANTUM_BITS - self.bits, generator, draws)

    @property
    def _noise_scales(self) -> FloatArray:
        return _scales(self.bits, self.epsilon)


def shares(embedding: Embedding, epsilon: float) -> list[float]:
    """Return εᵢ ∝ wᵢ^{2/3}, which minimises Σ wᵢ²/εᵢ²; two labels of a block change and share its ε."""
    widths = np.array([embedding.width(block) for block in embedding.blocks])
    parts: FloatArray = widths ** (2 / 3)
    result: list[float] = []
    for block, part in zip(embedding.blocks, (epsilon * parts / parts.sum() / SLACK).tolist(), strict=True):
        result += [part / min(block.size, block.ends_moved)] * block.size
    return result


def _heights(
    embedding: Embedding, bits: Sequence[int], sags: Sequence[IntArray], n: int, middles: list[int]
) -> list[FloatArray]:
    """Return F at the borders of cells, of n records with these coefficients."""
    result = []
    for sag, span, b, quantum, middle in zip(sags, embedding.span, bits, embedding.quantum, middles, strict=True):
        coefficients = sag.copy()
        coefficients[0] += n * middle
        result.append(faber_schauder.synthesise(coefficients, n)[: (int(span) >> b) + 1] * (float(quantum) / n))
    return result


def _middles(embedding: Embedding, public_total: bool) -> list[int]:
    """Return the position that each coordinate's V(0) is counted from, in quanta."""
    return [0 if public_total else block.origin(QUANTA // 2) for block in embedding.block_at]


def bits_of(embedding: Embedding, n: int, epsilons: list[float], groups: int | None = None) -> list[int]:
    """Return the cells' sizes, from the expected noise."""
    pairs = [(embedding.width(block), epsilons[block.start]) for block in embedding.blocks]
    single = math.sqrt(sum(2 * (width / epsilon) ** 2 for width, epsilon in pairs)) / n
    return cell_bits(embedding, FINER * single, n, groups)


def _scales(bits: int, epsilon: float) -> FloatArray:
    """Return noise scales in quanta of V(0) and of each level, for cells of 2^bits quanta."""
    result: FloatArray = faber_schauder.scales(QUANTUM_BITS - bits) * (QUANTA / epsilon * SLACK)
    return result


def _noises(
    embedding: Embedding, n: int, epsilons: Sequence[float], bits: Sequence[int]
) -> list[HatNoise | CategoryNoise]:
    def hats(i: int) -> Sequence[HatNoise | CategoryNoise]:
        return [_noise(bits[i], epsilons[i], n, float(embedding.quantum[i]) / n, int(embedding.span[i]))]

    def labels(block: CategoryBlock) -> Sequence[HatNoise | CategoryNoise]:
        share = math.sqrt(2) * float(_scales(bits[block.start], epsilons[block.start])[0]) / (n * QUANTA)
        return category_noises(embedding, block, share, laplace=True)

    return [noise for block in embedding.blocks for noise in block.select(hats, labels)]


@lru_cache(maxsize=1024)
def _border_moments(bits: int, span: int) -> tuple[float, float, float]:
    """Return the largest variance over borders, the largest fourth cumulant ÷ its square, and the mean variance.

    They are those of paths at ε = 1 and width 1, which other noise is a multiple of.
    """
    scales = faber_schauder.scales(QUANTUM_BITS - bits)
    borders = np.asarray(np.arange((span >> bits) + 1) * (2.0**bits / QUANTA), dtype=np.float64)
    variance, kurtosis = faber_schauder.variance(scales, borders), faber_schauder.kurtosis(scales, borders)
    largest = float(variance.max())
    return largest, float((kurtosis * (variance / largest) ** 2).max()), float(variance.mean())


@lru_cache(maxsize=4096)
def _noise(bits: int, epsilon: float, n: int, unit: float, span: int) -> HatNoise:
    """Return one object for all coordinates of the same width, with its cached properties."""
    return HatNoise(bits, epsilon, n, unit, span)


def _second_difference(levels: int) -> float:
    """Return the standard deviation of V_{j+2} − V_{j+1} − V_j + V_{j−1}, ε = 1, width 1, at the noisiest cells.

    It falls with the number of levels, so that the last tabulated number is large enough for more of them.
    """
    table = noise_tables()["second_differences"]
    return float(table[min(levels, len(table) - 1)])
