"""Curves: the base of slopes and hats, an estimate of each coordinate's function at cell borders.

An answer has an error from noise, whose law is public, and one from interpolation: inside a cell of mass p the chord
lies above F by at most 2·ω·h·p·f(1 − f) at fraction f of the cell. Half-widths cover both, with a noisy upper limit for
the mass.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar, Protocol, TypeVar

import numpy as np

from milepost._typing import AnyArray, BoolArray, FloatArray, IntArray
from milepost.mechanisms.base import CoordinateDesign, CoordinateStatistic, Prediction, check_confidence
from milepost.mechanisms.coordinate.categories import balance_shares
from milepost.mechanisms.coordinate.piecewise_linear import (
    PiecewiseLinear,
    UniformPiecewiseLinear,
    in_cache_blocks,
    nearest_feasible,
    points_per_block,
)
from milepost.mechanisms.noise_quantiles import mixture_quantile
from milepost.mechanisms.totals import Total
from milepost.spaces.embeddings.coordinate_sums import as_column, columns_of, sum_coordinates
from milepost.spaces.embeddings.embedding import QUANTUM_BITS, Embedding, default_cells
from milepost.storage.file_limits import INTEGERS, NumberLimit, TensorLimits

MANY_NUMBERS = 1 << 13  # of all groups together: noise for these is drawn in a fraction of a second
MASS_SHARE = 0.1  # of the failure probability, for the upper limit of the cells' masses
FAILURE = 0.05  # of a predicted error
MIN_LEVELS = 4  # of cells, as a power of two
GROUP_LEVELS = 2  # by how many powers of two the cells of groups are finer
WORTH = 0.99  # more cells are taken only for an error below this share of that with fewer
BAND_DRAWS = 1 << 13  # simulated noise paths for the uniform band; seeded, from public numbers only
MIN_BAND_DRAWS = 1 << 10
BAND_SEED = 0
BAND_FAILURE = 0.01  # smallest failure probability whose quantile simulated paths give
BITS = NumberLimit(0, QUANTUM_BITS, whole=True, several=True)  # of cells, in a file


class CurveNoise(Protocol):
    """The public law of one coordinate's noise, as distances."""

    @property
    def max_moments(self) -> tuple[float, float]:
        """The maximum variance over all positions, and the maximum fourth cumulant ÷ the square of that variance."""

    def variance(self, positions: FloatArray) -> FloatArray:
        """Return the variance of the estimate at embedding positions in quanta."""

    def kurtosis(self, positions: FloatArray) -> FloatArray:
        """Return the excess kurtosis at positions: 0 where the noise is normal."""

    def mass(self, failure: float) -> float:
        """Return the margin by which a cell's mass exceeds its estimate with this probability."""

    def extremes(self, generator: np.random.Generator, draws: int) -> FloatArray:
        """Return simulated maximum and minimum noise over the interval: float64[draws, 2]."""


class Curves(CoordinateStatistic):
    """Estimates at the borders of cells of 2^bits quanta, with half-widths."""

    extends: ClassVar[bool] = True
    # Going half the way to the nearest possible curve lowers the error of one column with independent noise
    # (`python -m bench.accuracy` shows it). All the way is too far: at an atom the possible curve errs by |N₁| + |N₂|
    # where the raw one errs by N₁ + N₂. Over several columns its small biases add up while noises do not, and on hats,
    # with correlated noise, nothing is won.
    approaches: ClassVar[bool] = False
    tensor_limits: ClassVar[TensorLimits] = {"numbers": INTEGERS, "lengths": INTEGERS, **Total.tensor_limits}

    def __init__(
        self,
        mechanism: str,
        embedding: Embedding,
        total: Total,
        bits: Sequence[int],
        heights: Sequence[FloatArray],
        noise: Sequence[CurveNoise],
        anchors: Sequence[FloatArray] | None = None,
    ) -> None:
        """Keep heights and noise. anchors: heights without any sums; the noise of a private total scales with F − A."""
        self.mechanism, self.embedding, self.total, self.bits = mechanism, embedding, total, tuple(bits)
        self._heights, self._noise = tuple(balance_shares(embedding, heights)), tuple(noise)
        self._anchors = None if anchors is None else tuple(balance_shares(embedding, anchors))
        self._margins: dict[float, FloatArray] = {}  # of cells' masses, by failure probability

    def functions(self, raw: bool = False) -> tuple[PiecewiseLinear, ...]:
        """Return the estimate of each coordinate's function; unless raw, nearer to a possible one where that helps."""
        return self._raw if raw else self._adjusted

    @cached_property
    def _raw(self) -> tuple[PiecewiseLinear, ...]:
        return tuple(
            PiecewiseLinear(np.arange(len(heights), dtype=np.float64) * (1 << bits), heights)
            for heights, bits in zip(self._heights, self.bits, strict=True)
        )

    @cached_property
    def _adjusted(self) -> tuple[PiecewiseLinear, ...]:
        if not self.approaches or self.embedding.dimension > 1:
            return self._raw
        (raw,) = self._raw
        return (
            PiecewiseLinear(
                raw.nodes, (raw.heights + nearest_feasible(raw, float(self.embedding.quantum[0])).heights) / 2
            ),
        )

    @property
    def confidence(self) -> float:
        """1: half-widths exist at any confidence, since the noise's law is known."""
        return 1.0

    def half_width(self, confidence: float, uniform: bool = False) -> float:
        """Return noise and interpolation at the worst position; for all positions at once when uniform."""
        check_confidence(confidence)
        failure = 1 - confidence
        cells = sum(len(heights) for heights in self._heights) if uniform else 1
        bends = 0.5 * self._bends
        masses = [float(mass.max()) for mass in self._masses]
        interpolation = self._interpolation(bends[None], np.array([masses]), failure / cells)
        offsets = np.array([sum(float(np.abs(part.heights).max()) for part in self._offsets)])
        variances, kurtoses = max_moments(self._noise)
        if not uniform:
            return float(self._widths(variances, kurtoses, offsets, interpolation, failure)[0])
        curve_failure = failure if self.total.public else failure / 2  # the other half for the total, which all share
        # the band is simulated, so perhaps a little low
        band = max(self._band(curve_failure), float(spread(variances, kurtoses, curve_failure)[0]))
        other_error = band + interpolation + self.embedding.bias
        share = self.total.tail(failure / 2) / self.total.size
        return float(
            self.total.narrow_half_widths(lambda bounds: share * bounds, offsets, other_error, self._max_offset)[0]
        )

    def half_widths(self, positions: FloatArray, confidence: float) -> FloatArray:
        """Return noise and interpolation at each of the positions float64[k, D]."""
        check_confidence(confidence)

        def block_widths(block: FloatArray) -> FloatArray:
            inside = np.clip(block, 0, self.embedding.span)
            cell, fraction = self._uniform.cells(inside)
            bends = self._bends * (2 * fraction * (1 - fraction))
            masses = self._cell_masses.take(cell + self._first_cells)
            offsets = np.zeros(len(block))
            if self._uniform_offsets is not None:
                offsets = self._uniform_offsets.total(columns_of(inside))
            interpolation = self._interpolation(bends, masses, 1 - confidence)
            return self._widths(*self.laws(inside, fraction), offsets, interpolation, 1 - confidence)

        return in_cache_blocks(block_widths, positions)

    def laws(self, inside: FloatArray, fraction: FloatArray) -> tuple[FloatArray, FloatArray]:  # noqa: ARG002
        """Return variance and excess kurtosis of every coordinate's noise, float64[k, D]. fraction: within the cell."""
        pairs = list(zip(self._noise, inside.T, strict=True))
        variances = [noise.variance(column) for noise, column in pairs]
        return np.column_stack(variances), np.column_stack([noise.kurtosis(column) for noise, column in pairs])

    def values(self, positions: AnyArray, raw: bool = False) -> FloatArray:
        """Return answers at positions float64[k, D] in quanta; unless raw, in the range that some table has there."""
        result = np.empty(len(positions))
        rows = points_per_block(self.embedding.dimension)
        for start in range(0, len(positions), rows):
            part = slice(start, start + rows)
            result[part] = self._block_values(positions[part], raw)
        return result

    def _block_values(self, positions: FloatArray, raw: bool) -> FloatArray:
        """Return the answers of a block of points; estimates continue with slope ±τ outside."""
        columns = columns_of(positions)
        inside, outside = self._inside(columns)
        result = (self._uniform_raw if raw else self._uniform).total(inside)
        if outside is not None:
            result = outside + result
        if raw:
            return result
        rows = self._near_ends(result, columns, outside)
        if len(rows):
            some = positions if len(rows) == len(positions) else columns.take(rows, axis=1).T
            result[rows] = np.clip(result[rows], *self.embedding.range(some))
        return result

    def _near_ends(self, values: FloatArray, columns: FloatArray, outside: FloatArray | None) -> IntArray:
        """Return the indices of the few answers that may be at the ends of their ranges, or beyond them."""

        def between(low: FloatArray, high: FloatArray) -> BoolArray:
            inner = (values >= low) & (values <= high)
            return inner if outside is None else inner & (outside == 0)

        inner = between(*self._common_range)
        return np.flatnonzero(~(inner if inner.all() else between(*self.embedding.inner_range(columns))))

    @cached_property
    def _common_range(self) -> tuple[FloatArray, FloatArray]:
        return self.embedding.inner_range()

    def _inside(self, columns: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        """Return positions float64[D, k] moved inside, and the distances by which they are moved, if any are."""
        span = self.embedding.span
        if columns.min(initial=0) >= 0 and (columns.max(axis=1, initial=0) <= span).all():
            return columns, None
        inside, quantum = np.clip(columns, 0, as_column(span)), as_column(self.embedding.quantum)

        def distances(part: slice) -> FloatArray:
            result = columns[part] - inside[part]
            np.abs(result, out=result)
            result *= quantum[part]
            return result

        return inside, sum_coordinates(distances, *columns.shape)

    @cached_property
    def _uniform(self) -> UniformPiecewiseLinear:
        return UniformPiecewiseLinear([polygon.heights for polygon in self._adjusted], self.bits)

    @cached_property
    def _uniform_raw(self) -> UniformPiecewiseLinear:
        return self._uniform if self._adjusted is self._raw else UniformPiecewiseLinear(self._heights, self.bits)

    @cached_property
    def _uniform_offsets(self) -> UniformPiecewiseLinear | None:
        return UniformPiecewiseLinear([part.heights for part in self._offsets], self.bits) if self._offsets else None

    @cached_property
    def _bends(self) -> FloatArray:
        return np.array([self._bend(i) for i in range(self.embedding.dimension)])

    @cached_property
    def _cell_masses(self) -> FloatArray:
        return np.concatenate(self._masses)

    @cached_property
    def _first_cells(self) -> IntArray:
        counts = np.array([len(masses) for masses in self._masses], dtype=np.int64)
        return np.cumsum(counts) - counts

    def _widths(
        self,
        variances: FloatArray,
        kurtoses: FloatArray,
        offsets: FloatArray,
        interpolation: FloatArray,
        failure: float,
    ) -> FloatArray:
        """Return half-widths from the noise of sums, float64[k, D], and from `offsets` times that of the total."""

        def noise(offset_bounds: FloatArray) -> FloatArray:
            if self.total.public:
                return spread(variances, kurtoses, failure)
            total = (self.total.deviation / self.total.size * offset_bounds) ** 2
            excess = np.full(len(offset_bounds), self.total.kurtosis)
            return spread(np.column_stack([variances, total]), np.column_stack([kurtoses, excess]), failure)

        return self.total.narrow_half_widths(noise, offsets, interpolation + self.embedding.bias, self._max_offset)

    def _interpolation(self, bends: FloatArray, masses: FloatArray, failure: float) -> FloatArray:
        """Return an upper limit of Σ bendᵢ·massᵢ: estimates plus a margin for independent noises; masses are ≤ 1."""
        total = self.total.tail(failure * MASS_SHARE) / self.total.size
        if failure not in self._margins:
            self._margins[failure] = np.array([noise.mass(failure * MASS_SHARE) for noise in self._noise])
        margins = self._margins[failure] + total
        upper = np.maximum((bends * masses).sum(axis=1), 0) + np.sqrt(((bends * margins) ** 2).sum(axis=1))
        return np.asarray(np.minimum(upper, bends.sum(axis=1) * (1 + total)))

    @cached_property
    def _offsets(self) -> tuple[PiecewiseLinear, ...]:
        """Each coordinate's estimate minus its anchor; empty where the total is public."""
        if self._anchors is None:
            return ()
        pairs = zip(self._raw, self._anchors, strict=True)
        return tuple(PiecewiseLinear(raw.nodes, raw.heights - anchor) for raw, anchor in pairs)

    @cached_property
    def _max_offset(self) -> float:
        """An upper bound of the distance between any table's answer and the anchor."""
        pairs = zip(self._anchors or (), self.embedding.spread, strict=False)
        return sum(float(np.maximum(anchor, width - anchor).max()) for anchor, width in pairs)

    def _bend(self, i: int) -> float:
        return bend(self.embedding, i, self.bits[i])

    @cached_property
    def _masses(self) -> list[FloatArray]:
        """Estimated upper limits of cells' masses: half the change of slope from the cell before to the one after."""
        result = []
        for heights, bits, quantum in zip(self._heights, self.bits, self.embedding.quantum, strict=True):
            rise = float(quantum) * (1 << bits)
            slopes = np.concatenate([[-1.0], np.diff(heights) / rise, [1.0]])
            result.append((slopes[2:] - slopes[:-2]) / 2)
        return result

    def _band(self, failure: float) -> float:
        """Return the simulated quantile of sup |noise| over all positions: the sum of the coordinates' extremes."""
        return band(self._noise, failure * (1 - MASS_SHARE))


def spread(variances: FloatArray, kurtoses: FloatArray, failure: float) -> FloatArray:
    """Return the noise part of half-widths, from variances and excess kurtoses of coordinates, float64[k, D] each."""
    variance = variances.sum(axis=1)
    kurtosis = np.zeros(len(variance))
    if kurtoses.any():
        shares = np.divide(variances, variance[:, None], out=np.zeros_like(variances), where=variances > 0)
        kurtosis = (kurtoses * shares**2).sum(axis=1)
    return np.asarray(mixture_quantile(kurtosis, failure * (1 - MASS_SHARE)) * np.sqrt(variance))


def max_moments(noises: Sequence[CurveNoise]) -> tuple[FloatArray, FloatArray]:
    """Return the arguments of `spread` for the worst position: float64[1, D] each.

    The largest variance and the largest fourth cumulant need not be at the same position; either widens the law.
    """
    variances, kurtoses = np.array([noise.max_moments for noise in noises]).T
    return variances[None], kurtoses[None]


@lru_cache(maxsize=64)
def band(noises: tuple[CurveNoise, ...], failure: float) -> float:
    """Return what sup |Σ noise| over all positions exceeds with this probability: coordinates are independent."""
    generator = np.random.default_rng(BAND_SEED)
    # sums of many coordinates differ less from their mean: fewer draws give as many digits of their quantile
    draws = max(BAND_DRAWS >> (len(noises).bit_length() // 3), MIN_BAND_DRAWS)
    extremes = sum(noise.extremes(generator, draws) for noise in noises)
    simulated_failure = max(failure, BAND_FAILURE)
    quantile = float(np.quantile(np.abs(np.asarray(extremes)).max(axis=1), 1 - simulated_failure))
    # further out, sup |noise| grows no faster than |noise| at the worst position, whose law is known
    worst = max_moments(noises)
    return quantile * float(spread(*worst, failure)[0] / spread(*worst, simulated_failure)[0])


def bend(embedding: Embedding, i: int, bits: int) -> float:
    """Return ω·h of coordinate i's cells; 0 where records are on cell borders, so that F is linear between them."""
    height = 1 << bits
    return 0.0 if embedding.step[i] % height == 0 else float(embedding.quantum[i]) * height


@dataclass(frozen=True, eq=False)
class CurvesDesign(CoordinateDesign):
    """A design whose release is a `Curves`. A subclass gives the noise of every coordinate."""

    @property
    @abstractmethod
    def noises(self) -> Sequence[CurveNoise]:
        """The noise of each coordinate, for n records."""

    @property
    @abstractmethod
    def noise_rms(self) -> float:
        """The standard deviation of an answer, without that of the total."""

    @cached_property
    def cells(self) -> list[int]:
        """The number of cells of each coordinate."""
        return [int(span) >> bits for span, bits in zip(self.embedding.span, self.bits, strict=True)]

    @cached_property
    def _total(self) -> Total:
        return Total.of(self.n, self.total_scale, self.pure)

    @property
    def _total_factor(self) -> float:
        """The error of an answer by an error of 1 of a private total: about a quarter of all widths."""
        return self.embedding.total_width / 4 / self._total.size

    @cached_property
    def interpolation(self) -> float:
        """The bound of interpolation on evenly spread data: a cell has the mass of two equal ones, and its margin."""
        interpolation, margin, bends = 0.0, 0.0, 0.0
        for i, noise in enumerate(self.noises):
            half = bend(self.embedding, i, self.bits[i]) / 2
            if half:
                bends += half
                interpolation += half * min(1.0, 2 / self.cells[i] + noise.mass(0.5 / self.cells[i]))
                margin += (half * noise.mass(FAILURE * MASS_SHARE)) ** 2
        return min(interpolation + math.sqrt(margin), bends)

    @cached_property
    def _noise_part(self) -> float:
        variances, kurtoses = max_moments(self.noises)
        variances = np.column_stack([variances, [(self._total.deviation * self._total_factor) ** 2]])
        return float(spread(variances, np.column_stack([kurtoses, [self._total.kurtosis]]), FAILURE)[0])

    @cached_property
    def error(self) -> float:
        """What `Curves` would report on evenly spread data: the largest noise, interpolation and the embedding."""
        return min(self._noise_part + self.interpolation + self.embedding.bias, self.embedding.sensitivity_bound)

    @cached_property
    def rms(self) -> float:
        """The standard deviation of an answer."""
        return math.hypot(self.noise_rms, self._total.deviation * self._total_factor)

    @cached_property
    def prediction(self) -> Prediction:
        """Noise and, for evenly spread data, interpolation."""
        noise = (
            band(tuple(self.noises), FAILURE * (1 - MASS_SHARE)) + self._total.tail(FAILURE / 2) * self._total_factor
        )
        uniform = max(self._noise_part, noise) + self.interpolation + self.embedding.bias
        errors = self.error, self.rms, min(uniform, self.embedding.sensitivity_bound)
        sizes = sum(self.cells), 8 * sum(self.cells) + 2000
        return Prediction(self.mechanism, *errors, *sizes, coordinates=self.embedding.dimension)


AnyCurvesDesign = TypeVar("AnyCurvesDesign", bound=CurvesDesign)


def with_fewest_cells(make: Callable[[list[int]], AnyCurvesDesign], bits: list[int]) -> AnyCurvesDesign:
    """Return the design with the fewest cells that has no more than 1 % more error than that of cells of 2^bits quanta.

    make: returns the design for cells. Each cell is a draw of noise. People of one group are closer together than the
    prediction assumes, so that cells of groups are compared as if they were as many times wider.
    """
    best, wider = make(bits), 0
    denser = GROUP_LEVELS if best.change.groups is not None else 0
    compared = make(_wider(best, bits, denser)) if denser else best
    limit = compared.error / WORTH
    # with half as many cells, interpolation is at least √2 times as large (masses double, their margins grow by √2),
    # and noise is at most 2 % less: there is no need to compute an error that is certainly too large
    while (math.sqrt(2) - 1) * compared.interpolation < limit - 0.98 * compared.error:
        wider += 1
        coarser = _wider(best, bits, wider)
        if coarser == list(best.bits):
            break
        compared = make(_wider(best, bits, wider + denser))
        if compared.error > limit:
            break
        best = make(coarser) if denser else compared
    return best


def _wider(design: CurvesDesign, bits: list[int], levels: int) -> list[int]:
    """Return bits of cells 2^levels times as wide, but not of those that are steps, and not fewer than MIN_LEVELS."""
    steps = design.embedding.step.tolist()
    max_bits = QUANTUM_BITS - MIN_LEVELS
    return [b if step > 1 else max(b, min(b + levels, max_bits)) for b, step in zip(bits, steps, strict=True)]


def cell_bits(embedding: Embedding, deviation: float, groups: int | None = None) -> list[int]:
    """Return bits of each coordinate's cells: on evenly spread data, interpolation is ≤ a tenth of the deviation.

    A column of m equal cells adds w/(4m²); a column of steps has one cell a step and adds nothing. People of one group
    are closer together than those of all groups: cells of groups have a quarter of that width, unless groups are many.
    """
    share = 1 / 20 if embedding.dimension <= 8 else 1 / 10  # finer where columns are few and noise is soon drawn
    cells = math.sqrt(embedding.total_width / (4 * share * deviation))
    if groups is not None:
        cells = max(cells, min((1 << GROUP_LEVELS) * cells, MANY_NUMBERS / (groups * embedding.dimension)))
    max_levels = default_cells(embedding.dimension * (groups or 1)).bit_length() - 1
    levels = min(max(math.ceil(math.log2(cells)), MIN_LEVELS), max_levels)
    return [QUANTUM_BITS - levels if step == 1 else int(step).bit_length() - 1 for step in embedding.step]


def join_ragged(parts: Sequence[IntArray]) -> dict[str, IntArray]:
    """Return ragged integers as two tensors: all numbers, and the count of each coordinate's."""
    return {"numbers": np.concatenate(parts), "lengths": np.array([len(part) for part in parts], dtype=np.int64)}


def split_ragged(tensors: dict[str, IntArray]) -> list[IntArray]:
    """Undo `join_ragged`."""
    return np.split(tensors["numbers"], np.cumsum(tensors["lengths"])[:-1])
