"""hats: discrete Laplace noise on hierarchical hats, for pure ε. docs/proofs/hats.md."""

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Self

import numpy as np

from milepost._typing import FloatArray, IntArray
from milepost.errors import MilepostError
from milepost.mechanisms.base import Prediction, check_cells, check_sketch
from milepost.mechanisms.coordinate import faber_schauder
from milepost.mechanisms.coordinate.categories import CategoryNoise, category_noises
from milepost.mechanisms.coordinate.curves import Curves, cell_bits, join_ragged, predict, split_ragged
from milepost.mechanisms.noise_quantiles import laplace_quantile, normal_quantile
from milepost.mechanisms.totals import Total, check_total_scale
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.noise import check_scale, laplace
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.embeddings.embedding import QUANTA, QUANTUM_BITS, Embedding
from milepost.statistics.sketch import Sketch

SLACK = 1 + 1e-12  # rounding of a few float operations, always to the private side
# Cells are sized for this share of a single query's noise: finer hats cost little, and they estimate a cell's mass less
# exactly than slopes do, so that coarse cells would widen intervals.
FINER = 1 / 4
MASS_DRAWS = 200
BAND_CELLS = 1 << 10  # of a simulated path: finer hats add less than 1 % to its extremes


@dataclass(frozen=True)
class Hats:
    """Laplace noise on V(0) and on the sag of every dyadic interval; coordinate i gets εᵢ ∝ wᵢ^{2/3}."""

    name: ClassVar[str] = "hats"
    pure: ClassVar[bool] = True

    def check(self, change: ProtectedChange, guarantee: Guarantee) -> None:
        """Accept any guarantee (δ stays unused) and any change."""

    def predict(self, embedding: Embedding, n: int, change: ProtectedChange, guarantee: Guarantee) -> Prediction:
        """Return noise at the worst position and, for evenly spread data, interpolation."""
        epsilons, bits, scale = _split(embedding, n, change, guarantee)
        _check_scales(epsilons, bits, scale)
        noises = _noises(embedding, n, epsilons, bits)
        rms = math.sqrt(sum(noise.rms**2 for noise in noises))
        return predict(self.name, embedding, bits, noises, rms, Total(n, scale, pure=True))

    def run(
        self,
        sketch: Sketch,
        embedding: Embedding,
        change: ProtectedChange,
        guarantee: Guarantee,
        n: int | None = None,
        group: int = 0,
    ) -> "HatSags":
        """Add the noise, coordinate by coordinate and level by level."""
        n = check_sketch(sketch, embedding, change, n, group)
        epsilons, bits, scale = _split(embedding, n, change, guarantee)
        check_cells(sketch, min(bits))
        _check_scales(epsilons, bits, scale)
        total = int(sketch.totals[group])
        middles = _middles(embedding, change.public_total)
        sags = []
        for i, b in enumerate(bits):
            exact = faber_schauder.analyse(sketch.only(i, group).coarsen(1 << (QUANTUM_BITS - b)).borders().value[0])
            exact[0] -= total * middles[i]
            scales = _scales(b, epsilons[i])
            pairs = zip(faber_schauder.parts(len(scales) - 1), scales, strict=True)
            sags.append(np.concatenate([laplace(exact[part], float(scale)) for part, scale in pairs]))
        return HatSags(embedding, Total.draw(total, scale, pure=True), epsilons, bits, sags)


class HatSags(Curves):
    """Noisy n·F(low) and noisy sags, from the widest interval to the narrowest.

    Where the total is private, n·F(low) of numbers is counted from the middle of the basis's interval.
    """

    mechanism: ClassVar[str] = Hats.name

    def __init__(
        self, embedding: Embedding, total: Total, epsilons: list[float], bits: list[int], sags: list[IntArray]
    ) -> None:
        self.epsilons, self.sags = epsilons, sags
        n, middles = total.size, _middles(embedding, total.public)
        heights = _heights(embedding, bits, sags, n, middles)
        anchors = None if total.public else _heights(embedding, bits, [np.zeros_like(sag) for sag in sags], 1, middles)
        super().__init__(embedding, total, bits, heights, _noises(embedding, n, epsilons, bits), anchors)

    def tensors(self) -> dict[str, IntArray]:
        """Return all noisy coefficients, coordinate after coordinate."""
        return join_ragged(self.sags) | self.total.tensors()

    def parameters(self) -> dict[str, Any]:
        """Return each coordinate's ε and the cells' sizes."""
        return {"epsilons": self.epsilons, "bits": list(self.bits)} | self.total.parameters()

    @classmethod
    def load(cls, embedding: Embedding, n: int, parameters: dict[str, Any], tensors: dict[str, IntArray]) -> Self:
        """Return the coefficients of a file, checked against its card."""
        bits, sags = parameters["bits"], split_ragged(tensors)
        if len(bits) != embedding.dimension or [len(sag) for sag in sags] != [1 << (QUANTUM_BITS - b) for b in bits]:
            raise MilepostError("the file's coefficients do not fit its space")
        return cls(embedding, Total.load(n, parameters, tensors), parameters["epsilons"], bits, sags)


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
        variance = self.variance(self._borders)
        max_variance = float(variance.max())
        return max_variance, float((self.kurtosis(self._borders) * (variance / max_variance) ** 2).max())

    @cached_property
    def rms(self) -> float:
        """Root mean square of the standard deviation over borders."""
        return math.sqrt(float(self.variance(self._borders).mean()))

    @property
    def _borders(self) -> FloatArray:
        return np.arange((self.span >> self.bits) + 1, dtype=np.float64) * (1 << self.bits)

    def mass(self, failure: float) -> float:
        """Return the margin from simulated second differences of the noise, over all cells."""
        deviation = _second_difference(QUANTUM_BITS - self.bits) * QUANTA / self.epsilon
        quantile = max(normal_quantile(2 * failure), laplace_quantile(2 * failure))  # the law lies between both
        return quantile * deviation / (2 * (self.n << self.bits))

    def extremes(self, generator: np.random.Generator, draws: int) -> FloatArray:
        """Return maxima and minima of paths, from a shuffled pool of standard paths."""
        pool = _standard_extremes(min(QUANTUM_BITS - self.bits, BAND_CELLS.bit_length() - 1), draws)
        return self.unit * QUANTA / self.epsilon * generator.permutation(pool)

    @property
    def _noise_scales(self) -> FloatArray:
        return _scales(self.bits, self.epsilon)


def shares(embedding: Embedding, epsilon: float) -> list[float]:
    """Return εᵢ ∝ wᵢ^{2/3}, which minimises Σ wᵢ²/εᵢ²; two labels of a block change and share its ε."""
    widths = np.array([embedding.width(block) for block in embedding.independent_blocks])
    parts: FloatArray = widths ** (2 / 3)
    result: list[float] = []
    for block, part in zip(embedding.independent_blocks, (epsilon * parts / parts.sum() / SLACK).tolist(), strict=True):
        size = block.stop - block.start
        result += [part / min(size, 2)] * size
    return result


def _split(
    embedding: Embedding, n: int, change: ProtectedChange, guarantee: Guarantee
) -> tuple[list[float], list[int], float]:
    """Return each coordinate's ε, its cells' sizes, and the scale of the total's noise."""
    epsilon = guarantee.for_each(embedding.images_per_record).epsilon_each
    bits = bits_of(embedding, n, shares(embedding, epsilon / change.multiple), change.groups)
    # a pair costs all of ε; an added record costs the share `single` of a number's ε, and one of a block's two labels
    single = max(
        0.5 if block in embedding.category_blocks else faber_schauder.single(QUANTUM_BITS - bits[block.start])
        for block in embedding.independent_blocks
    )
    noise = sum(embedding.width(block) ** (2 / 3) for block in embedding.independent_blocks) ** 1.5
    split = change.laplace(1, single, epsilon, embedding.total_width / 4 / (2 * single * noise))
    return shares(embedding, 1 / split.power), bits, split.total


def _heights(
    embedding: Embedding, bits: list[int], sags: list[IntArray], n: int, middles: list[int]
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
    labels = {i for block in embedding.category_blocks for i in range(block.start, block.stop)}
    return [0 if public_total or i in labels else QUANTA // 2 for i in range(embedding.dimension)]


def _check_scales(epsilons: list[float], bits: list[int], scale: float) -> None:
    for b, epsilon in set(zip(bits, epsilons, strict=True)):
        check_scale(float(_scales(b, epsilon).max()))
    check_total_scale(scale)


def bits_of(embedding: Embedding, n: int, epsilons: list[float], groups: int | None = None) -> list[int]:
    """Return the cells' sizes, from the expected noise."""
    pairs = [(embedding.width(block), epsilons[block.start]) for block in embedding.independent_blocks]
    single = math.sqrt(sum(2 * (width / epsilon) ** 2 for width, epsilon in pairs)) / n
    return cell_bits(embedding, FINER * single, groups)


def _scales(bits: int, epsilon: float) -> FloatArray:
    """Return noise scales in quanta of V(0) and of each level, for cells of 2^bits quanta."""
    result: FloatArray = faber_schauder.scales(QUANTUM_BITS - bits) * (QUANTA / epsilon * SLACK)
    return result


def _noises(embedding: Embedding, n: int, epsilons: list[float], bits: list[int]) -> list[HatNoise | CategoryNoise]:
    result: list[HatNoise | CategoryNoise] = []
    for block in embedding.independent_blocks:
        i = block.start
        if block in embedding.category_blocks:
            share = math.sqrt(2) * float(_scales(bits[i], epsilons[i])[0]) / (n * QUANTA)
            result += category_noises(embedding, block, share, laplace=True)
        else:
            result.append(_noise(bits[i], epsilons[i], n, float(embedding.quantum[i]) / n, int(embedding.span[i])))
    return result


@lru_cache(maxsize=4096)
def _noise(bits: int, epsilon: float, n: int, unit: float, span: int) -> HatNoise:
    """Return one object for all coordinates of the same width, with its cached properties."""
    return HatNoise(bits, epsilon, n, unit, span)


@lru_cache(maxsize=32)
def _second_difference(levels: int) -> float:
    """Return the standard deviation of V_{j+2} − V_{j+1} − V_j + V_{j−1}, ε = 1, width 1, at the noisiest cells."""
    paths = faber_schauder.simulate(faber_schauder.scales(levels), np.random.default_rng(levels), MASS_DRAWS)
    steps = np.diff(paths, axis=1, prepend=paths[:, :1], append=paths[:, -1:])
    return float(np.max((steps[:, 2:] - steps[:, :-2]).std(axis=0))) * 1.1  # a margin for the error of the simulation


@lru_cache(maxsize=32)
def _standard_extremes(levels: int, draws: int) -> FloatArray:
    """Simulate maxima and minima of paths at ε = 1 and width 1: float64[draws, 2]."""
    generator, scales = np.random.default_rng(levels), faber_schauder.scales(levels)
    result = np.empty((draws, 2))
    for start in range(0, draws, 1000):
        paths = faber_schauder.simulate(scales, generator, min(1000, draws - start))
        result[start : start + 1000] = np.stack([paths.max(axis=1), paths.min(axis=1)], axis=1)
    return result
