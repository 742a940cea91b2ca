"""The energy distance between two tables, from the cell shares that their releases hold.

E = 2·E d(X, Y) − E d(X, X′) − E d(Y, Y′) is 0 where both tables are the same, else positive. On an embedding it is
2·Σᵢ ωᵢ·∫(difference of the cdfs)², so that the squared differences of cell shares add up to it; the noise adds an
energy of its own, whose law is public, and cells hide what happens inside of them. docs/how-to/difference.md.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import scipy

from milepost._typing import FloatArray, IntArray
from milepost.answers.released_data import ReleasedData
from milepost.mechanisms.coordinate.cell_shares import CellShares, coarse_variances, merge_starts
from milepost.mechanisms.coordinate.curves import bend, grouped_rotations
from milepost.mechanisms.coordinate.piecewise_linear import UniformPiecewiseLinear
from milepost.mechanisms.noise_quantiles import normal_quantile, student_quantile
from milepost.spaces.base import Space
from milepost.spaces.embeddings.coordinate_sums import columns_of
from milepost.spaces.embeddings.embedding import CategoryBlock

STEP = 4  # how many cells are merged into one, from a resolution to the next
MIN_CELLS = 4  # of a coordinate, at the coarsest resolution
FEW_CELLS = 4  # in which most people are: coarser cells may hide how two such tables differ
SPREAD_LOSS = 1.5  # how much fewer cells people may be in than with the finest ones, where these are few, too
VISIBLE, LAPLACE_VISIBLE = 2.0, 3.0  # standard deviations, beyond which finer cells show what coarser ones hide
HIDDEN_CONFIDENCE = 1.645  # standard deviations of the noise on what finer cells show, and on the masses of cells
HIDDEN_SUM = STEP / (STEP - 1)  # what all finer resolutions add ÷ what the next one adds, where shares jump in cells
PHASES = math.sqrt(math.log(40) / 2)  # Hoeffding's bound at 2.5 %, for where in their cells people are
SMOOTH_SUM = 1 / (STEP**2 - 1)  # what cells hide ÷ what the last refinement has added, where shares are smooth
EXACT_CELLS = 500  # up to which the noncentral law of a sum of squares is inverted, not approximated
NULL_DRAWS = 10_000  # simulated sums of squares of noise; seeded, from public numbers only
NULL_SEED = 0
MANY_DRAWS = 16  # squares of Laplace draws, whose sum is close to a gamma law
MAX_SAMPLING_CELLS = 64  # of a coordinate, for the spread of its sampling error

NoiseKey: TypeAlias = tuple[float, tuple[float, ...]]  # energies of normal noise and of each Laplace draw


@dataclass(frozen=True)
class EnergyDistance:
    """An energy distance with its interval and its tests.

    parts: what each coordinate adds; they add up to the value, unless that is clipped. p_tables: how likely noise alone
    makes two equal tables look so different. p_population: how likely noise and sampling do that to two samples of one
    population, at most. cells: of the coordinate with the most, at the resolution of the value.
    """

    value: float
    low: float
    high: float
    confidence: float
    p_tables: float
    p_population: float
    parts: FloatArray
    cells: int


def energy_distance(left: CellShares, right: CellShares, confidence: float) -> EnergyDistance:
    """Return the energy distance of two tables, whose shares are of the same cells."""
    resolutions = _resolutions(left, right)
    chosen = _choose(resolutions)
    resolution = resolutions[chosen]
    value, failure = resolution.value, 1 - confidence
    if chosen == 0 and len(resolutions) > 1:  # cells as fine as there are hide what smooth shares do inside of them
        value += SMOOTH_SUM * max(resolution.value - resolutions[1].value, 0) * resolution.hides
    # no resolution sees more than the distance: the chosen one limits it from below, wherever noise made the choice
    low, _ = resolution.interval(failure / len(resolutions))
    upper = _choose_upper(resolutions, value, failure)
    high = resolutions[upper].interval(failure)[1] + _hidden(resolutions, upper)
    largest = 2 * left.embedding.sensitivity_bound
    tests = [(level.p_tables(), level.p_population()) for level in resolutions]
    p_tables, p_population = (min(1.0, len(tests) * min(column)) for column in zip(*tests, strict=True))
    return EnergyDistance(
        min(max(value, 0.0), largest),
        min(max(min(low, value), 0.0), largest),
        min(max(high, value, 0.0), largest),
        confidence,
        p_tables,
        p_population,
        resolution.parts,
        int(resolution.cells.max()),
    )


class Resolution:
    """Two tables in cells that are merged from those of their releases; what coarser cells see has less noise.

    merged: how many of the releases' cells make one cell of each coordinate.
    """

    def __init__(self, left: CellShares, right: CellShares, merged: IntArray) -> None:
        self.left, self.right, self.merged = left, right, merged
        self.embedding = left.embedding
        self._firsts = merge_starts(left.starts, left.lengths, merged)
        self._sizes = np.diff(np.append(self._firsts, len(left.values)))
        self.cells = -(-left.lengths // merged)
        self._coordinate = np.repeat(np.arange(len(self.cells)), self.cells)
        # the distance that a squared difference of shares in one of the releases' cells adds
        self._area = 2 * self.embedding.quantum * np.exp2(np.array(left.bits))

    @cached_property
    def _starts(self) -> IntArray:
        return np.asarray(np.cumsum(self.cells) - self.cells)

    def _merge(self, values: FloatArray) -> FloatArray:
        """Return means over merged cells, each times the root of what its square weighs."""
        return np.asarray(
            np.add.reduceat(values, self._firsts) / np.sqrt(self._sizes) * np.sqrt(self._area)[self._coordinate]
        )

    def _by_coordinate(self, values: FloatArray) -> FloatArray:
        return np.asarray(np.add.reduceat(values, self._starts))

    @cached_property
    def _squares(self) -> FloatArray:
        """The energy of each coordinate, noise included."""
        return self._by_coordinate(self._merge(self.left.values - self.right.values) ** 2)

    @cached_property
    def _noise_levels(self) -> list[tuple[int, NoiseKey, float]]:
        """The coordinate, the energies of one independent coefficient's noise, and the number of these."""
        result = []
        sides = [side for side in (self.left, self.right) if not side.exact]
        for i, (area, cells, freedom) in enumerate(zip(self._area, self.cells, self._freedoms, strict=True)):
            variances = [side.variances[i] for side in sides]
            counts = _level_counts(max(map(len, variances), default=1), int(cells), freedom, int(self.merged[i]))
            for level, count in enumerate(counts):
                normal, laplace = 0.0, []
                for side, own in zip(sides, variances, strict=True):
                    energy = float(area * own[min(level, len(own) - 1)])
                    if side.laplace:
                        laplace.append(energy)
                    else:
                        normal += energy
                result.append((i, (normal, tuple(laplace)), count))
        return result

    @cached_property
    def _freedoms(self) -> list[float]:
        """The number of cells of each coordinate, of labels less one for each category, since their shares add up."""

        def labels(block: CategoryBlock) -> list[float]:
            return [(block.labels - 1) / block.labels] * block.labels

        blocks = self.embedding.blocks
        return [x for block in blocks for x in block.select(lambda i: [float(self.cells[i])], labels)]

    @cached_property
    def _noise(self) -> dict[NoiseKey, float]:
        """How many coefficients have noise of the same energies."""
        result: dict[NoiseKey, float] = {}
        for _, (normal, laplace), count in self._noise_levels:
            key = float(f"{normal:.9g}"), tuple(float(f"{energy:.9g}") for energy in laplace)
            result[key] = result.get(key, 0.0) + count
        return result

    @cached_property
    def _noise_parts(self) -> FloatArray:
        """The mean energy of each coordinate's noise."""
        result = np.zeros(len(self.cells))
        for i, (normal, laplace), count in self._noise_levels:
            result[i] += (normal + sum(laplace)) * count
        return result

    @cached_property
    def _total_energies(self) -> list[tuple[float, bool, FloatArray]]:
        """The mean energy of the noise of each noisy total, whether that is Laplace noise, and its parts."""
        result = []
        for side in (self.left, self.right):
            if side.offsets is not None:
                parts = self._by_coordinate(self._merge(side.offsets) ** 2)
                parts *= (side.total.deviation / side.total.size) ** 2
                result.append((float(parts.sum()), side.total.pure, parts))
        return result

    @cached_property
    def parts(self) -> FloatArray:
        """What each coordinate adds, without the energy of the noise."""
        return self._squares - self._noise_parts - sum(parts for *_, parts in self._total_energies)

    @cached_property
    def value(self) -> float:
        """The energy distance that the cells see."""
        return float(self.parts.sum())

    @property
    def hides(self) -> bool:
        """Whether cells hide a part of the distance."""
        return bool(self._hiding.any())

    @cached_property
    def null_variance(self) -> float:
        """The variance of the value where both tables are the same."""
        variance = 0.0
        for (normal, laplace), count in self._noise.items():
            # a square of variance v has variance 2v² and, of a Laplace draw, a fourth cumulant of 3v² more
            variance += count * (2 * (normal + sum(laplace)) ** 2 + 3 * sum(energy**2 for energy in laplace))
        return variance + sum((5 if pure else 2) * energy**2 for energy, pure, _ in self._total_energies)

    @cached_property
    def _laplace(self) -> bool:
        """Whether some of the noise is Laplace noise."""
        return self.left.laplace or self.right.laplace

    @cached_property
    def concentration(self) -> float:
        """The chance that two people are in the same cell, on average over coordinates with several cells.

        That of both tables together, without what noise adds to it.
        """
        left, right = self.left.total.size, self.right.total.size
        shares = (left * self.left.values + right * self.right.values) / (left + right)
        sums = np.add.reduceat(shares, self._firsts) / self._sizes
        masses, several = [], self.cells > 1
        variances = _pooled_variances(self.left, self.right, np.array([left, right], dtype=np.float64)) / self.merged
        for i in np.flatnonzero(several).tolist():
            own = np.concatenate([[0.0], sums[self._starts[i] : self._starts[i] + self.cells[i]], [1.0]])
            masses.append(float((np.diff(own) ** 2).sum()) - 2 * float(self.cells[i]) * float(variances[i]))
        return float(np.mean(masses)) if masses else 0.0

    @cached_property
    def cell_limits(self) -> tuple[float, float]:
        """Upper limits of what cells hide of the distance: Σb and √Σb², with b what one cell of a coordinate may hide.

        In a cell with the shares p and p′ of people, the difference of the cdfs varies by at most max(p, p′), so that
        its variance is at most a quarter of the square of that. The shares of a cell are at most the rise of the cdf
        from the mean over the cell before to the mean over the cell after.
        """
        weights = np.where(self._hiding, self._area * self.merged / 4, 0.0)
        left, right = (self._rises(side.values) for side in (self.left, self.right))
        # max(p, p′) is at most the mean of both, and half of their difference: so are the norms
        both, apart = (
            self._weighted_norms((left + right) / 2, weights, 1 / 4),
            self._weighted_norms(left - right, weights, 1.0),
        )
        total, root = ((own + other / 2) ** 2 for own, other in zip(both, apart, strict=True))
        return total, min(root, total)

    @cached_property
    def _hiding(self) -> FloatArray:
        """Whether records may be anywhere in the cells of each coordinate."""
        own = [bend(self.embedding, i, bits) > 0 for i, bits in enumerate(self.left.bits)]
        return np.asarray((self.merged > 1) | np.array(own))

    def _rises(self, values: FloatArray) -> FloatArray:
        """Return how much shares rise from the cell before to the cell after each cell."""
        means = np.add.reduceat(values, self._firsts) / self._sizes
        before, after = np.roll(means, 1), np.roll(means, -1)
        before[self._starts] = 0
        after[self._starts + self.cells - 1] = 1
        return np.asarray(after - before)

    def _weighted_norms(self, rises: FloatArray, weights: FloatArray, share: float) -> tuple[float, float]:
        """Return upper limits of √Σ weight·rise² and of ∜Σ (weight·rise²)², without what noise adds.

        share: the variance of the rises' noise, relative to the sum of both tables' variances.
        """
        noise = np.zeros(len(weights))
        for side in (self.left, self.right):
            if not side.exact:
                pairs = zip(side.variances, self.merged.tolist(), strict=True)
                noise += share * np.array([rise_variance(coarse_variances(own, merged)) for own, merged in pairs])
        squares, fourths = (self._by_coordinate(rises**power) for power in (2, 4))
        # Hermite polynomials have no bias; rises that are two cells apart have a quarter of their squares' variance in
        # common, and less of their fourth powers'
        second, fourth = squares - noise * self.cells, fourths - 6 * noise * squares + 3 * noise**2 * self.cells
        second_spread = 3 * self.cells * noise**2 + 6 * noise * np.maximum(second, 0)
        fourth_spread = 27 * self.cells * noise**4
        limits = [
            float(own @ value) + HIDDEN_CONFIDENCE * math.sqrt(float(own**2 @ spread))
            for own, value, spread in ((weights, second, second_spread), (weights**2, fourth, fourth_spread))
        ]
        return max(limits[0], 0.0) ** (1 / 2), max(limits[1], 0.0) ** (1 / 4)

    @cached_property
    def _largest_energy(self) -> float:
        """The largest energy of a coefficient's noise, which a difference of the tables is multiplied by."""
        noise = max((normal + sum(laplace) for normal, laplace in self._noise), default=0.0)
        return noise + sum(energy for energy, *_ in self._total_energies)

    def deviation(self, distance: float) -> float:
        """Return the standard deviation of the value, at an energy distance that cells see."""
        return math.sqrt(self.null_variance + 4 * self._largest_energy * max(distance, 0.0))

    def interval(self, failure: float) -> tuple[float, float]:
        """Return the interval of the distance that the cells see in the metric, unclipped.

        A value below 0 has the interval of 0, which is not as narrow as noise would leave it.
        """
        value = max(self.value, 0.0)
        noise = self._white_energy
        if noise is not None and noise[1] <= EXACT_CELLS and grouped_rotations(self.embedding) is None:
            energy, freedom = noise
            squares = max(float(self._squares.sum()) / energy, freedom)
            low, high = (energy * _noncentrality(squares, freedom, p) for p in (1 - failure / 2, failure / 2))
            return self._with_embedding_error(low, high)
        # squares of Laplace draws have longer tails
        quantile = normal_quantile(failure / 2 if self._laplace else failure)
        slope = 2 * quantile**2 * self._largest_energy
        root = math.sqrt(slope**2 + quantile**2 * self.null_variance + 2 * slope * value)
        low, high = value + slope - root, value + slope + root
        if (half := self._rotation_half_width(failure)) is not None:
            low, high = value - half, value + half
        return self._with_embedding_error(low, high)

    def _with_embedding_error(self, low: float, high: float) -> tuple[float, float]:
        """Widen an interval by the error of even directions; that of random ones is in their spread."""
        if self.embedding.rotations is not None:
            return low, high
        return low / (1 + self.embedding.relative_error), high * (1 + self.embedding.relative_error)

    def _rotation_half_width(self, failure: float) -> float | None:
        """Return a half-width from the spread of independent rotations, noise included; None without rotations."""
        groups = grouped_rotations(self.embedding)
        if groups is None:
            return None
        dimension = self.embedding.dimension
        weights = np.array([len(group) / dimension for group in groups])
        values = np.array([float(self.parts[group].sum()) for group in groups]) / weights
        variance = float(weights @ (values - self.value) ** 2) / (len(groups) - 1)
        shared = 4 * sum(energy for energy, *_ in self._total_energies) * max(self.value, 0.0)
        return student_quantile(len(groups) - 1, failure) * math.sqrt(variance + shared)

    @cached_property
    def _white_energy(self) -> tuple[float, float] | None:
        """The energy of every coefficient and their number, where all have equal normal noise and totals have none."""
        if len(self._noise) != 1 or self._total_energies:
            return None
        ((normal, laplace), count) = next(iter(self._noise.items()))
        return None if laplace or not normal else (normal, count)

    def p_tables(self) -> float:
        """Return the probability that noise gives two equal tables so large a sum of squares."""
        squares, white = float(self._squares.sum()), self._white_energy
        if white is not None:
            return float(scipy.special.chdtrc(white[1], squares / white[0]))
        return float((1 + np.count_nonzero(self._null_sums >= squares)) / (1 + NULL_DRAWS))

    @cached_property
    def _null_sums(self) -> FloatArray:
        """Simulated sums of squares of the noise."""
        generator = np.random.default_rng(NULL_SEED)
        result = np.zeros(NULL_DRAWS)
        for (normal, laplace), count in self._noise.items():
            if not laplace:
                result += normal * generator.chisquare(count, NULL_DRAWS)
            elif count > MANY_DRAWS:
                mean = (normal + sum(laplace)) * count
                variance = count * (2 * (normal + sum(laplace)) ** 2 + 3 * sum(energy**2 for energy in laplace))
                result += generator.gamma(mean**2 / variance, variance / mean, NULL_DRAWS)
            else:
                shape = NULL_DRAWS, math.ceil(count)
                draws = generator.standard_normal(shape) * math.sqrt(normal)
                for energy in laplace:
                    draws += generator.laplace(scale=math.sqrt(energy / 2), size=shape)
                result += (draws**2).sum(axis=1) * (count / math.ceil(count))
        for energy, pure, _ in self._total_energies:
            draws = (
                generator.laplace(scale=math.sqrt(0.5), size=NULL_DRAWS) if pure else generator.normal(size=NULL_DRAWS)
            )
            result += energy * draws**2
        return result

    def p_population(self) -> float:
        """Return a bound of the probability that sampling and noise give two samples of one population such a sum.

        The sampling error of one coordinate has a covariance that its cdf gives. Those of several coordinates are
        taken to move together as closely as they can, since a file has no more than the margins.
        """
        traces, norms = self._sampling
        share = 1 / self.left.total.size + 1 / self.right.total.size
        sampling, norm = share * float(traces.sum()), share * float(norms.sum())
        noise = float(self._noise_parts.sum()) + sum(energy for energy, *_ in self._total_energies)
        variance = 2 * norm**2 + 4 * self._largest_energy * sampling + self.null_variance
        mean = sampling + noise
        if not variance > 0:
            return float(self._squares.sum() <= mean)
        return float(scipy.special.gammaincc(mean**2 / variance, float(self._squares.sum()) * mean / variance))

    @cached_property
    def _sampling(self) -> tuple[FloatArray, FloatArray]:
        """The trace and the Hilbert–Schmidt norm of the covariance of one record, for each block of coordinates."""
        sizes = np.array([self.left.total.size, self.right.total.size], dtype=np.float64)
        pooled = (sizes[0] * self.left.values + sizes[1] * self.right.values) / sizes.sum()
        variances = _pooled_variances(self.left, self.right, sizes)
        merged = np.maximum(self.merged, -(-self.left.lengths // MAX_SAMPLING_CELLS))
        firsts = merge_starts(self.left.starts, self.left.lengths, merged)
        widths = np.diff(np.append(firsts, len(pooled))).astype(np.float64)
        means = np.clip(np.add.reduceat(pooled, firsts) / widths, 0, 1)
        cells = -(-self.left.lengths // merged)
        starts = np.cumsum(cells) - cells
        traces, norms = [], []

        def number(i: int) -> None:
            part = slice(starts[i], starts[i] + cells[i])
            trace, norm = _bridge_moments(np.sort(means[part]), self._area[i] * widths[part])
            traces.append(trace + self._area[i] * variances[i] * float(self.left.lengths[i]))
            norms.append(norm)

        def category(block: CategoryBlock) -> None:
            shares = 1 - means[starts[block.coordinates]]
            covariance = self._area[block.start] * (np.diag(shares) - np.outer(shares, shares))
            traces.append(float(np.trace(covariance)))
            norms.append(float(np.linalg.norm(covariance)))

        for block in self.embedding.blocks:
            block.select(number, category)
        return np.array(traces), np.array(norms)


def _bridge_moments(shares: FloatArray, areas: FloatArray) -> tuple[float, float]:
    """Return trace and Hilbert–Schmidt norm of min(F, F′) − F·F′, at shares in increasing order."""
    roots = np.sqrt(areas)
    covariance = (np.minimum.outer(shares, shares) - np.outer(shares, shares)) * np.outer(roots, roots)
    return float(np.trace(covariance)), float(np.linalg.norm(covariance))


def _pooled_variances(left: CellShares, right: CellShares, sizes: FloatArray) -> FloatArray:
    """Return the mean variance of the noise on pooled shares, in the cells of each coordinate."""
    result = np.zeros(left.embedding.dimension)
    for side, size in zip((left, right), sizes, strict=True):
        if not side.exact:
            result += (size / sizes.sum()) ** 2 * np.array([_mean_variance(own) for own in side.variances])
    return result


def rise_variance(variances: FloatArray) -> float:
    """Return the mean variance of the difference of two cells that have one between them."""
    if len(variances) == 1:
        return 2 * float(variances[0])
    # Haar functions of s cells: two such pairs lie across their middle, and two across each of their ends
    finest_first = variances[:0:-1]
    shares = 12 / 4.0 ** np.arange(1, len(variances))
    shares[0] = 1.0
    return float(shares @ finest_first)


def _mean_variance(variances: FloatArray) -> float:
    """Return the mean variance of a cell's noise, from that of Haar coefficients."""
    if len(variances) == 1:
        return float(variances[0])
    counts = np.concatenate([[1.0], np.exp2(np.arange(len(variances) - 1))])
    return float(counts @ variances / counts.sum())


def _level_counts(levels: int, cells: int, freedom: float, merged: int) -> Sequence[float]:
    """Return the number of coefficients of each level of Haar functions, or of all cells where noise has one level."""
    if levels == 1:
        return [freedom]
    kept = levels - (merged.bit_length() - 1)
    full = 1 << (kept - 1)  # cells of the whole interval, of which the space may have fewer
    return [1.0] + [float(-(-cells * (1 << level) // full)) for level in range(kept - 1)]


def _noncentrality(squares: float, freedom: float, probability: float) -> float:
    """Return the noncentrality at which a sum of squares is at most `squares` with this probability; 0 if none is."""
    if not scipy.special.chdtr(freedom, squares) > probability:
        return 0.0
    return float(scipy.special.chndtrinc(squares, freedom, probability))


def _resolutions(left: CellShares, right: CellShares) -> list[Resolution]:
    """Return the tables in the cells of their releases, then in coarser and coarser ones."""
    powers = np.array([1 << (int(length).bit_length() - 1) for length in left.lengths], dtype=np.int64)
    limits = np.maximum(powers // MIN_CELLS, 1)
    result, merge = [], 1
    while True:
        result.append(Resolution(left, right, np.minimum(merge, limits)))
        if merge >= limits.max():
            return result
        merge *= STEP


def _choose(resolutions: Sequence[Resolution]) -> int:
    """Return the coarsest resolution beside which no finer one shows more than its noise (Lepski's rule).

    Where most people are in few of its cells, but in more of finer ones, a resolution is too coarse.
    """
    limit = max(1 / FEW_CELLS, SPREAD_LOSS * resolutions[0].concentration)
    for chosen in reversed(range(1, len(resolutions))):
        if resolutions[chosen].concentration <= limit and all(
            _added(resolutions[finer], resolutions[chosen])[1] <= 0 for finer in range(chosen)
        ):
            return chosen
    return 0


def _added(finer: Resolution, coarser: Resolution) -> tuple[float, float, float]:
    """Return what a finer resolution adds to the value, that beyond its noise, and its standard deviation."""
    added = finer.value - coarser.value
    variance = max(finer.null_variance - coarser.null_variance, 0) + 4 * finer._largest_energy * max(added, 0)
    deviation = math.sqrt(variance)
    return added, added - (LAPLACE_VISIBLE if finer._laplace else VISIBLE) * deviation, deviation


def _choose_upper(resolutions: Sequence[Resolution], distance: float, failure: float) -> int:
    """Return the resolution that limits the distance from above best; what it shows has no part in the choice."""

    def room(index: int) -> float:
        return normal_quantile(failure) * resolutions[index].deviation(distance) + _hidden(resolutions, index, False)

    return min(range(len(resolutions)), key=room)


def _hidden(resolutions: Sequence[Resolution], index: int, shown: bool = True) -> float:
    """Return an upper limit of what the cells of a resolution hide.

    That is never more than `cell_limits`. Where shares jump at random places of many cells, all finer resolutions add a
    third of what the next one adds. shown: whether to count what that is, and not only its noise.
    """
    total, root = resolutions[index].cell_limits
    if len(resolutions) == 1:
        return total
    finer = max(index - 1, 0)
    added, _, deviation = _added(resolutions[finer], resolutions[finer + 1])
    factor = HIDDEN_SUM if index else HIDDEN_SUM - 1
    return min(total, factor * max(shown * added + HIDDEN_CONFIDENCE * deviation, 0.0) + PHASES * root)


@dataclass(frozen=True, eq=False)
class ComparedTables:
    """Two tables in the same cells, for reports. released: one of them that is a release, in the space of both."""

    space: Space
    left: CellShares
    right: CellShares
    released: ReleasedData
    parts: FloatArray

    def column_parts(self) -> dict[str, float] | FloatArray:
        """Return what each column adds, from what its coordinates add; in a space without columns, the coordinates."""
        columns, names = self.space.embedding_columns, self.space.names
        if columns is None:
            return self.parts
        result = dict.fromkeys(names, 0.0)
        for column, part in zip(columns.tolist(), self.parts.tolist(), strict=True):
            result[names[column]] += part
        return result

    def mean_distance_differences(self, points: FloatArray) -> FloatArray:
        """Return the mean distance of points to people of the right table, less that to people of the left one."""
        left, embedding = self.left, self.left.embedding
        heights = []
        for i in range(embedding.dimension):
            part = left.cells_of(i)
            below = np.concatenate([[0.0], np.cumsum(self.right.values[part] - left.values[part])])
            heights.append(float(embedding.quantum[i]) * (1 << left.bits[i]) * (2 * below - below[-1]))
        positions = np.clip(self.space.position(self.space.read_queries(points)), 0, embedding.span)
        return UniformPiecewiseLinear(heights, left.bits).total(columns_of(positions))

    def largest_curves(self, count: int) -> list[tuple[str, FloatArray, FloatArray, FloatArray]]:
        """Return name, positions and both cumulative shares of the coordinates that differ most and have cells."""
        left, embedding = self.left, self.left.embedding
        columns, result = self.space.embedding_columns, []
        several = [i for i in np.argsort(-self.parts, kind="stable").tolist() if left.lengths[i] > 1]
        for i in several[:count]:
            name = f"direction {i}" if columns is None else self.space.names[int(columns[i])]
            part = left.cells_of(i)
            middles = (np.arange(left.lengths[i]) + 0.5) / left.lengths[i]
            positions = embedding.low[i] + middles * (embedding.high[i] - embedding.low[i])
            result.append((name, positions, left.values[part], self.right.values[part]))
        return result
