"""Curves: the base of slopes and hats, an estimate of each coordinate's function at cell borders.

An answer has an error from noise, whose law is public, and one from interpolation: inside a cell of mass p the chord
lies above F by at most 2·ω·h·p·f(1 − f) at fraction f of the cell. Half-widths cover both, with a noisy upper limit for
the mass. Where directions are random, the spread of the answers of independent rotations shows their error, noise
included. docs/proofs/rotations.md.
"""

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import ClassVar, Protocol, Self, TypeAlias, TypeVar

import numpy as np

from milepost._typing import AnyArray, BoolArray, FloatArray, IntArray
from milepost.errors import MilepostError
from milepost.mechanisms.base import CoordinateDesign, CoordinateStatistic, Prediction, check_confidence
from milepost.mechanisms.coordinate.categories import balance_shares
from milepost.mechanisms.coordinate.cell_shares import CellShares
from milepost.mechanisms.coordinate.count_origin import border_shares
from milepost.mechanisms.coordinate.piecewise_linear import (
    PiecewiseLinear,
    UniformPiecewiseLinear,
    in_cache_blocks,
    nearest_feasible,
    points_per_block,
)
from milepost.mechanisms.noise_quantiles import mixture_quantile, normal_quantile, student_quantile
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
RANDOM_WORTH = 0.97  # the same where directions are random, and take many cells together
# Plans are for tables whose cells have up to this many times the mass that those of evenly spread tables have. The
# seven real tables of bench/dimension/plans.py have 3.0 to 6.2 at the cells in use; tiny tables can have more.
CONCENTRATION = 8
CHEAP_DRAWS = 1 << 9  # of all coordinates and groups together, drawn in 8 ms: no fewer cells are needed
FEW_DRAWS = 1 << 11  # drawn in 30 ms; cells for concentrated tables take no more draws than that, or
DRAWS_PER_RECORD = 1.5  # than this many times the number of records
BAND_DRAWS = 1 << 13  # simulated noise paths for the uniform band; seeded, from public numbers only
MIN_BAND_DRAWS = 1 << 10
BAND_SEED = 0
BAND_FAILURE = 0.01  # smallest failure probability whose quantile simulated paths give
TYPICAL_SHARE = 0.5  # of the error of random directions for people at one place, where these are at several
PROBE_SHARE = 0.9  # of public points, whose half-widths are no larger than the error that is reported for a release
MODELED_CELLS = 0.015  # of the bound of interpolation, beside what a model leaves: there cells measure their own error
MAX_GROUPS = 32  # of rotations, whose spread is a half-width: more make it little shorter
SAMPLED_COORDINATES = 64  # from which the interpolation of all random directions is planned
MEAN_FRACTIONS = 0.4  # more than the mean of 2f(1 − f) over a cell, for the anchor's smooth law
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

    def share_moments(self, weights: FloatArray) -> tuple[float, float]:
        """Return variance and excess kurtosis of the noise of Σ weightⱼ·shareⱼ, over the cells' shares."""

    def extremes(self, generator: np.random.Generator, draws: int) -> FloatArray:
        """Return simulated maximum and minimum noise over the interval: float64[draws, 2]."""

    @property
    def share_variances(self) -> FloatArray:
        """The variances of the noise on cell shares, as in `ShareNoise`."""

    @property
    def laplace(self) -> bool:
        """Whether independent Laplace draws make up the noise; else it is normal."""


# the quantile of |noise| at a failure probability, for bounds of the share of the total's noise
NoiseLaw: TypeAlias = Callable[[FloatArray, float], FloatArray]


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
        origins: Sequence[FloatArray] | None = None,
    ) -> None:
        """Keep heights and noise. origins: heights without any sums; the noise of a private total scales with F − A."""
        self.mechanism, self.embedding, self.total, self.bits = mechanism, embedding, total, tuple(bits)
        self._heights, self._noise = tuple(balance_shares(embedding, heights)), tuple(noise)
        self._origins = None if origins is None else tuple(balance_shares(embedding, origins))
        self._margins: dict[float, FloatArray] = {}  # of cells' masses, by failure probability

    @property
    def heights(self) -> tuple[FloatArray, ...]:
        """The estimates of each coordinate at the borders of its cells."""
        return self._heights

    @property
    def noises(self) -> tuple[CurveNoise, ...]:
        """The law of each coordinate's noise."""
        return self._noise

    def cell_shares(self) -> CellShares:
        """Return the mean of the cdf over each cell, with its noise."""
        return self._cell_shares

    @cached_property
    def _cell_shares(self) -> CellShares:
        return CellShares.of_curves(self.embedding, self.bits, self._heights, self._origins, self._noise, self.total)

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

    @property
    def anchored(self) -> bool:
        """Whether curves are counted from their means over the embedding's anchor."""
        return False

    @property
    def shared_variance(self) -> float:
        """The variance of noise that is common to all coordinates, besides that of the total."""
        return 0.0

    @property
    def max_variance(self) -> float | None:
        """The largest variance of the coordinates' noise together, where that is less than the sum of the largest."""
        return None

    @cached_property
    def _bias(self) -> float:
        return bias_of(self.embedding, self.anchored, self._groups is not None)

    @property
    def has_uniform_error(self) -> bool:
        """Whether directions are not random: what their spread shows holds for one point at a time."""
        return self._groups is None

    def half_width(self, confidence: float, uniform: bool = False) -> float:
        """Return noise and interpolation at the worst position; for all positions at once when uniform.

        Where directions are random, it is a half-width that PROBE_SHARE of the embedding's probes do not exceed.
        """
        check_confidence(confidence)
        failure = 1 - confidence
        if self._groups is not None and self.embedding.probes is not None:
            if uniform:
                raise MilepostError(
                    "no half-width holds for all points at once, since the directions of this space are random. For k "
                    "points that were chosen before, use interval(points, confidence=1 - 0.05 / k)"
                )
            return float(
                np.quantile(self.half_widths(self.embedding.probes(), confidence), PROBE_SHARE, method="higher")
            )
        cells = sum(len(heights) for heights in self._heights) if uniform else 1
        bends = 0.5 * self._bends
        masses = [float(mass.max()) for mass in self._masses]
        interpolation = self._interpolation(bends[None], np.array([masses]), failure / cells)
        offsets = np.array([sum(float(np.abs(part.heights).max()) for part in self._offsets)])
        if self.anchored:
            offsets = np.minimum(offsets, self._max_offset)
        variances, kurtoses = max_moments(self._noise)
        if self.max_variance is not None:
            variances, kurtoses = np.array([[self.max_variance]]), np.zeros((1, 1))
        law = self._noise_law(variances, kurtoses)
        if not uniform:
            return float(self._widths(law, offsets, interpolation, failure)[0])
        curve_failure = failure if self.total.public else failure / 2  # the other half for the total, which all share
        # the band is simulated, so perhaps a little low
        noise = law(np.zeros(1), curve_failure)[0]
        shared = normal_quantile(curve_failure) * math.sqrt(self.shared_variance)
        band = max(self._band(curve_failure) + shared, float(noise))
        other_error = band + interpolation + self._bias
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
            masses = self._cell_masses.take(cell + self.first_cells)
            offsets = np.zeros(len(block))
            if self.uniform_offsets is not None:
                offsets = self.uniform_offsets.total(columns_of(inside))
            interpolation = self._interpolation(bends, masses, 1 - confidence)
            if self._groups is not None:
                law = self._rotation_law(self._rotation_variances(columns_of(block)))
                return self._widths(law, offsets, interpolation, 1 - confidence)
            law = self._noise_law(*self.laws(inside, cell, fraction))
            widths = self._widths(law, offsets, interpolation, 1 - confidence)
            if not self.embedding.relative_error:
                return widths
            # relative to the mean distance, which is within the width of the answer, rather than to the diameter
            largest = self.embedding.sensitivity_bound
            mean = np.clip(self._block_values(block, False) + widths, 0, largest)
            return widths - self.embedding.relative_error * (largest - mean)

        return in_cache_blocks(block_widths, positions)

    # The answers of independent rotations: each is an unbiased estimate, with noise of its own.

    @cached_property
    def _groups(self) -> list[IntArray] | None:
        """The coordinates of each group of rotations; None where directions are not random."""
        return grouped_rotations(self.embedding)

    @cached_property
    def _group_curves(self) -> list[UniformPiecewiseLinear]:
        return [
            UniformPiecewiseLinear([self._heights[i] for i in group], [self.bits[i] for i in group])
            for group in self._groups or ()
        ]

    def _rotation_variances(self, columns: FloatArray) -> FloatArray:
        """Return the variance of answers over rotations, with their own noise, at positions float64[D, k].

        It is that of the mean of the groups' answers, estimated from their spread.
        """
        groups, dimension = self._groups or [], self.embedding.dimension
        inside, _ = self._inside(columns)
        answers = []
        for group, curves in zip(groups, self._group_curves, strict=True):
            beyond = np.abs(columns[group] - inside[group]) * as_column(self.embedding.quantum[group])
            outside = sum_coordinates(beyond.__getitem__, *beyond.shape)
            answers.append((curves.total(inside[group]) + outside) * (dimension / len(group)))
        # group after group: a matrix product adds up in an order that depends on the number of points
        weights = [len(group) / dimension for group in groups]
        mean = sum(weight * answer for weight, answer in zip(weights, answers, strict=True))
        squares = sum(weight * (answer - mean) ** 2 for weight, answer in zip(weights, answers, strict=True))
        return np.asarray(squares / (len(groups) - 1))

    def _rotation_law(self, variances: FloatArray) -> NoiseLaw:
        """Return the quantile of |noise and error of directions|: Student's, of the spread of rotations."""
        freedom = len(self._groups or ()) - 1

        def quantile(offset_bounds: FloatArray, failure: float) -> FloatArray:
            total = (self.total.deviation / self.total.size * offset_bounds) ** 2
            factor = student_quantile(freedom, failure * (1 - MASS_SHARE))
            return factor * np.sqrt(variances + self.shared_variance + total)

        return quantile

    def _noise_law(self, variances: FloatArray, kurtoses: FloatArray) -> NoiseLaw:
        """Return the quantile of |noise|, of sums whose coordinates have these laws, float64[k, D] each."""

        def quantile(offset_bounds: FloatArray, failure: float) -> FloatArray:
            terms = [(np.full(len(variances), self.shared_variance), 0.0)] if self.shared_variance else []
            if not self.total.public:
                total = (self.total.deviation / self.total.size * offset_bounds) ** 2
                terms.append((total, self.total.kurtosis))
            more = np.column_stack([variances, *(variance for variance, _ in terms)])
            excess = np.column_stack([kurtoses, *(np.full(len(variances), kurtosis) for _, kurtosis in terms)])
            return spread(more, excess, failure)

        return quantile

    def laws(self, inside: FloatArray, cell: IntArray, fraction: FloatArray) -> tuple[FloatArray, FloatArray]:  # noqa: ARG002
        """Return variance and excess kurtosis of every coordinate's noise, float64[k, D]. fraction: within its cell."""
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
    def uniform_offsets(self) -> UniformPiecewiseLinear | None:
        """The estimates less those of no records, by which the noise of a total is multiplied; None if it is public."""
        return UniformPiecewiseLinear([part.heights for part in self._offsets], self.bits) if self._offsets else None

    @cached_property
    def _bends(self) -> FloatArray:
        return np.array([self._bend(i) for i in range(self.embedding.dimension)])

    @cached_property
    def _cell_masses(self) -> FloatArray:
        return np.concatenate(self._masses)

    @cached_property
    def first_cells(self) -> IntArray:
        """The index of each coordinate's first cell among the cells of all coordinates."""
        counts = np.array([len(masses) for masses in self._masses], dtype=np.int64)
        return np.cumsum(counts) - counts

    def _widths(self, law: NoiseLaw, offsets: FloatArray, interpolation: FloatArray, failure: float) -> FloatArray:
        """Return half-widths from the noise of sums, and from `offsets` times that of the total."""
        other_error = interpolation + self._bias
        return self.total.narrow_half_widths(
            lambda bounds: law(bounds, failure), offsets, other_error, self._max_offset
        )

    def _interpolation(self, bends: FloatArray, masses: FloatArray, failure: float) -> FloatArray:
        """Return an upper limit of Σ bendᵢ·massᵢ: estimates plus a margin for independent noises; masses are ≤ 1."""
        total = self.total.tail(failure * MASS_SHARE) / self.total.size
        if failure not in self._margins:
            self._margins[failure] = np.array([noise.mass(failure * MASS_SHARE) for noise in self._noise])
        margins = self._margins[failure] + total
        upper = np.maximum((bends * masses).sum(axis=1), 0) + np.sqrt(((bends * margins) ** 2).sum(axis=1))
        limit = np.minimum(upper, bends.sum(axis=1) * (1 + total))
        if self.anchored:  # the means over the anchor err to the other side
            estimate, weights = self._anchor_interpolation
            limit = np.maximum(limit, estimate + math.sqrt(float(((weights * margins) ** 2).sum())))
        return np.asarray(limit)

    @cached_property
    def _anchor_interpolation(self) -> tuple[float, FloatArray]:
        """An estimated upper limit of the interpolation error of curves' means over the anchor.

        And what a margin of the masses of each coordinate adds to it, in squares: they are averaged over the anchor.
        """
        estimate, weights = 0.0, np.zeros(len(self._bends))
        for i, (height, masses) in enumerate(zip(self._bends * MEAN_FRACTIONS, self._masses, strict=True)):
            shares = border_shares(self.embedding, i, self.bits[i])
            cells = (shares[1:] + shares[:-1]) / 2
            estimate += height * float(cells @ masses)
            weights[i] = height * float(np.linalg.norm(cells))
        return max(estimate, 0.0), weights

    @cached_property
    def _offsets(self) -> tuple[PiecewiseLinear, ...]:
        """Each coordinate's estimate minus its origin; empty where the total is public."""
        if self._origins is None:
            return ()
        pairs = zip(self._raw, self._origins, strict=True)
        return tuple(PiecewiseLinear(raw.nodes, raw.heights - origin) for raw, origin in pairs)

    @cached_property
    def _max_offset(self) -> float:
        """An upper bound of the distance between any table's answer and the origin's."""
        if self.anchored:  # both are mean distances
            return self.embedding.sensitivity_bound
        pairs = zip(self._origins or (), self.embedding.spread, strict=False)
        return sum(float(np.maximum(origin, width - origin).max()) for origin, width in pairs)

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


def grouped_rotations(embedding: Embedding) -> list[IntArray] | None:
    """Return the coordinates of each of up to MAX_GROUPS groups of rotations; None where directions are not random."""
    rotations = embedding.rotations
    if rotations is None:
        return None
    count = int(rotations.max()) + 1
    groups = max(k for k in range(1, MAX_GROUPS + 1) if count % k == 0) if count > MAX_GROUPS else count
    return [np.flatnonzero(rotations % groups == group) for group in range(groups)] if groups > 1 else None


def spread(variances: FloatArray, kurtoses: FloatArray, failure: float) -> FloatArray:
    """Return the noise part of half-widths, from variances and excess kurtoses of coordinates, float64[k, D] each."""
    return sum_quantile(variances, kurtoses, failure * (1 - MASS_SHARE))


def sum_quantile(variances: FloatArray, kurtoses: FloatArray, failure: float) -> FloatArray:
    """Return what |sum of independent noises| exceeds with this probability, from their laws float64[k, D] each."""
    variance = variances.sum(axis=1)
    kurtosis = np.zeros(len(variance))
    if kurtoses.any():
        shares = np.divide(variances, variance[:, None], out=np.zeros_like(variances), where=variances > 0)
        kurtosis = (kurtoses * shares**2).sum(axis=1)
    return np.asarray(mixture_quantile(kurtosis, failure) * np.sqrt(variance))


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


def bias_of(embedding: Embedding, anchored: bool, spread_shown: bool) -> float:
    """Return the largest error besides noise and interpolation. spread_shown: whether that of directions is apart."""
    bias = embedding.fixed_error if spread_shown else embedding.bias
    if anchored and embedding.anchor is not None:
        anchor = embedding.anchor
        bias += anchor.quantum + (0.0 if spread_shown else anchor.deviation)
    return bias


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
    def max_noise_variance(self) -> float | None:
        """The largest variance of an answer's noise, where that is less than the sum of the coordinates' largest."""
        return None

    @property
    def _total_factor(self) -> float:
        """The error of an answer by an error of 1 of a private total, on evenly spread data.

        It is about a quarter of all widths or, where answers are counted from an anchor, of the diameter.
        """
        width = self.embedding.total_width
        if self.anchored and self.embedding.anchor is not None:
            width = 2 * self.embedding.anchor.radius
        return width / 4 / self._total.size

    @property
    def planned_for(self) -> str:
        """The tables that the error is planned for; empty if it is that of any table."""
        if self.embedding.rotations is not None:
            return f"tables {self.embedding.rotation_tables}; the error that a release reports is measured"
        if self.interpolation >= self._max_interpolation:
            return ""
        return (
            f"tables whose people are up to {CONCENTRATION} times as dense as evenly spread ones; a denser table "
            "reports a larger error"
        )

    @cached_property
    def interpolation(self) -> float:
        """The bound of interpolation: a cell has CONCENTRATION times the mass of two equal ones, and its margin."""
        if self.embedding.rotations is not None:
            return self._mean_interpolation
        interpolation, margin = 0.0, 0.0
        for i, noise in enumerate(self.noises):
            half = bend(self.embedding, i, self.bits[i]) / 2
            if half:
                interpolation += half * min(1.0, 2 * CONCENTRATION / self.cells[i] + noise.mass(0.5 / self.cells[i]))
                margin += (half * noise.mass(FAILURE * MASS_SHARE)) ** 2
        return min(interpolation + math.sqrt(margin), self._max_interpolation)

    @cached_property
    def _max_interpolation(self) -> float:
        """That of a table whose people are all at one place."""
        return sum(bend(self.embedding, i, bits) / 2 for i, bits in enumerate(self.bits))

    @cached_property
    def _mean_interpolation(self) -> float:
        """The bound of interpolation where directions are random, so that positions are anywhere in their cells.

        Records are taken to be half as far from the middle as the anchor, if there is one, and so twice as dense.
        """
        sample, copies = self._sample
        bends = np.array([bend(sample.embedding, i, bits) for i, bits in enumerate(sample.bits)])
        if not bends.any():
            return 0.0
        masses = np.array([sample._peak_mass(i) for i in range(len(bends))])
        margins = np.array([noise.mass(FAILURE * MASS_SHARE) for noise in sample.noises])
        upper = copies * float(bends @ np.minimum(masses, 1)) + math.sqrt(copies) * float(
            np.linalg.norm(bends * margins)
        )
        left = 1.0 if self.embedding.error_left == 1 else MODELED_CELLS * self.embedding.error_left
        return left * min(upper * MEAN_FRACTIONS, copies * float(bends.sum()) / 2)

    @cached_property
    def _sample(self) -> tuple[Self, float]:
        """A design of some of the coordinates, and how many each stands for: random directions are much alike."""
        dimension = self.embedding.dimension
        if dimension <= SAMPLED_COORDINATES:
            return self, 1.0
        indices = np.arange(SAMPLED_COORDINATES) * dimension // SAMPLED_COORDINATES
        return self.take(indices), dimension / SAMPLED_COORDINATES

    def take(self, indices: IntArray) -> Self:
        """Return the design of some of the coordinates, all of them numbers."""
        return replace(self, embedding=self.embedding.take(indices), bits=[self.bits[i] for i in indices.tolist()])

    def _peak_mass(self, i: int) -> float:
        """Return twice the largest mass of two cells of a coordinate: of the anchor's law, or of evenly spread data."""
        if self.embedding.anchor is None:
            return 4 / self.cells[i]
        return 4 * float(border_shares(self.embedding, i, self.bits[i])[1:-1].max(initial=0))

    @cached_property
    def _noise_part(self) -> float:
        """The largest noise and, where directions are random, their error for people at one place."""
        total = (self._total.deviation * self._total_factor) ** 2
        if self.max_noise_variance is None:
            variances, kurtoses = max_moments(self.noises)
        else:
            variances, kurtoses = np.array([[self.max_noise_variance]]), np.zeros((1, 1))
        if self.embedding.rotations is not None:
            variance = float(variances.sum()) + total + self._direction_deviation**2
            return self._student * math.sqrt(variance)
        variances = np.column_stack([variances, [total]])
        return float(spread(variances, np.column_stack([kurtoses, [self._total.kurtosis]]), FAILURE)[0])

    @property
    def _direction_deviation(self) -> float:
        """The standard deviation of an answer over rotations, of what a model leaves."""
        return self.embedding.error_left * self.embedding.rotation_deviation

    @cached_property
    def _student(self) -> float:
        """The quantile of Student's law for the groups of rotations."""
        rotations = self.embedding.rotations
        groups = 2 if rotations is None else min(int(rotations.max()) + 1, MAX_GROUPS)
        return student_quantile(max(groups - 1, 1), FAILURE * (1 - MASS_SHARE))

    @property
    def anchored(self) -> bool:
        """Whether answers are counted from the embedding's anchor."""
        return self.max_noise_variance is not None

    @cached_property
    def _bias(self) -> float:
        return bias_of(self.embedding, self.anchored, self.embedding.rotations is not None)

    @cached_property
    def error(self) -> float:
        """What `Curves` would report on data of the planned concentration: noise, interpolation and the embedding."""
        return min(self._noise_part + self.interpolation + self._bias, self.embedding.sensitivity_bound)

    @cached_property
    def rms(self) -> float:
        """The standard deviation of an answer; people are taken to be at several places rather than at one."""
        directions = TYPICAL_SHARE * self._direction_deviation
        return math.hypot(self.noise_rms, self._total.deviation * self._total_factor, directions)

    @cached_property
    def prediction(self) -> Prediction:
        """Noise and interpolation."""
        uniform = None
        if self.embedding.rotations is None:
            noise = band(tuple(self.noises), FAILURE * (1 - MASS_SHARE))
            noise += self._total.tail(FAILURE / 2) * self._total_factor
            uniform = max(self._noise_part, noise) + self.interpolation + self._bias
            uniform = min(uniform, self.embedding.sensitivity_bound)
        sizes = sum(self.cells), 8 * sum(self.cells) + 2000
        return Prediction(
            self.mechanism,
            self.error,
            self.rms,
            uniform,
            *sizes,
            coordinates=self.embedding.dimension,
            planned_for=self.planned_for,
        )


AnyCurvesDesign = TypeVar("AnyCurvesDesign", bound=CurvesDesign)


def with_fewest_cells(make: Callable[[list[int]], AnyCurvesDesign], bits: list[int]) -> AnyCurvesDesign:
    """Return the design with the fewest cells whose error is little larger than that of cells of 2^bits quanta.

    make: returns the design for cells. Each cell is a draw of noise. People of one group are closer together than the
    prediction assumes, so that cells of groups are compared as if they were as many times wider.
    """
    best, wider = make(bits), 0
    denser = GROUP_LEVELS if best.change.groups is not None else 0
    compared = make(_wider(best, bits, denser)) if denser else best
    limit = compared.error / (WORTH if best.embedding.rotations is None else RANDOM_WORTH)
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


def cell_bits(embedding: Embedding, deviation: float, n: int, groups: int | None = None) -> list[int]:
    """Return bits of each coordinate's cells: on evenly spread data, interpolation is ≤ a tenth of the deviation.

    A column of m equal cells adds w/(4m²); a column of steps has one cell a step and adds nothing. Where that takes few
    draws, cells have half that width, because people may be closer together than evenly spread ones. Those of one group
    are closer together than those of all groups: cells of groups have a quarter of that width, unless groups are many.
    """
    share = 1 / 20 if embedding.dimension <= 8 else 1 / 10  # finer where columns are few and noise is soon drawn
    cells = math.sqrt(embedding.total_width / (4 * share * deviation))
    if groups is not None:
        cells = max(cells, min((1 << GROUP_LEVELS) * cells, MANY_NUMBERS / (groups * embedding.dimension)))
    levels = math.ceil(math.log2(cells))
    if embedding.rotations is None:
        curved = max(1, int((embedding.step == 1).sum()))  # coordinates whose cells are chosen here
        few = max(FEW_DRAWS / (groups or 1), DRAWS_PER_RECORD * n)
        levels = max(levels, min(levels + 1, _levels(few / curved)), _levels(CHEAP_DRAWS / (groups or 1) / curved))
    max_levels = default_cells(embedding.dimension * (groups or 1)).bit_length() - 1
    levels = min(max(levels, MIN_LEVELS), max_levels)
    return [QUANTUM_BITS - levels if step == 1 else int(step).bit_length() - 1 for step in embedding.step]


def _levels(cells: float) -> int:
    """Return the largest power of two of cells that are no more than these."""
    return math.floor(math.log2(max(cells, 1)))


def join_ragged(parts: Sequence[IntArray]) -> dict[str, IntArray]:
    """Return ragged integers as two tensors: all numbers, and the count of each coordinate's."""
    return {"numbers": np.concatenate(parts), "lengths": np.array([len(part) for part in parts], dtype=np.int64)}


def split_ragged(tensors: dict[str, IntArray]) -> list[IntArray]:
    """Undo `join_ragged`."""
    return np.split(tensors["numbers"], np.cumsum(tensors["lengths"])[:-1])
