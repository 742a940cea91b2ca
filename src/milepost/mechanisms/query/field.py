"""field: exact distances plus noise that is correlated as the metric is. docs/proofs/field.md.

In a metric of negative type one record changes the mean distances to all points by a vector that is short in a Hilbert
space that is public. Gaussian noise of that space's covariance hides this change, for any number of points: about the
noise of one query, without an embedding. Pure ε takes Laplace noise of the same covariance, √k times as large for k
points.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import mul

import numpy as np

from milepost._typing import AnyArray, FloatArray, IntArray
from milepost.errors import MilepostError
from milepost.mechanisms.base import Prediction, QueryDesign, QueryMechanism, session_name
from milepost.mechanisms.noise_quantiles import min_mixture_quantile, mixture_quantile
from milepost.mechanisms.query.cholesky import NUGGET, CholeskyFactor, check_points
from milepost.mechanisms.query.exact_products import exact_products, exact_squares
from milepost.mechanisms.query.noisy_sums import NoisySums
from milepost.mechanisms.totals import Total, check_total_scale
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.noise import check_scale, gaussian, gaussian_deviation, laplace
from milepost.privacy.protected_change import BudgetSplit, ProtectedChange
from milepost.spaces.base import Space
from milepost.spaces.embeddings.embedding import QUANTA
from milepost.spaces.kernels.kernel import Kernel
from milepost.spaces.kernels.point_combinations import PointCombinations
from milepost.spaces.queries import Queries
from milepost.statistics.distance_sums import DistanceSums

STEP_BITS = 20  # an innovation of the largest weight has this many bits
FRACTION_BITS = 34  # of a quantum, in which sums of innovations are counted
STEPS = 64  # innovations that are computed one after the other, between two products
ROWS = 64  # of the factor in memory at a time, beside the factor itself
SLACK = 1 + 1e-9  # rounding of floats, always to the private side
TYPICAL_OFFSET = 1 / 8  # of a mean distance from its anchor, in diameters: to share the budget with the total


@dataclass(frozen=True)
class NoiseLaw:
    """A law of the innovations' noise.

    exponent: a change ΔE costs Σ|ΔE|^exponent, divided by the power of the split. split: divides a budget between
    innovations and the total. scale: returns the noise's parameter for a power. add: adds noise to integers.
    deviation: returns its standard deviation. kurtosis: its excess kurtosis, which no sum of innovations exceeds.
    """

    exponent: int
    split: Callable[[ProtectedChange, float, float, float, float], BudgetSplit]
    scale: Callable[[float], float]
    add: Callable[[IntArray, float], IntArray]
    deviation: Callable[[float], float]
    kurtosis: float


GAUSSIAN_LAW = NoiseLaw(
    2, ProtectedChange.gaussian, lambda power: math.sqrt(power / 2), gaussian, gaussian_deviation, 0.0
)
LAPLACE_LAW = NoiseLaw(
    1, ProtectedChange.laplace, lambda power: power, laplace, lambda scale: math.sqrt(2) * scale, 3.0
)


@dataclass(frozen=True)
class FieldNoise:
    """The noise of a field for up to `max_points` points. All of it is public.

    Innovations are multiples of `step`, a length in the Hilbert space, each with discrete noise of parameter `scale`:
    Laplace noise if pure, else Gaussian. A row of the factor, in `unit`, turns them into a distance. split: the shares
    of sums and of the total.
    """

    kernel: Kernel
    max_points: int
    quantum: float
    step: float
    split: BudgetSplit
    pure: bool

    @classmethod
    def of(
        cls, kernel: Kernel, max_points: int, diameter: float, change: ProtectedChange, guarantee: Guarantee
    ) -> "FieldNoise":
        """Return the noise that costs the guarantee's budget, rounding included (Theorems 1 to 4 of the proof page)."""
        law = LAPLACE_LAW if guarantee.pure else GAUSSIAN_LAW
        quantum, step = diameter / QUANTA, math.sqrt(kernel.pair) / (1 << STEP_BITS)
        nugget = NUGGET * kernel.max_variance
        # a distance is rounded, computed and counted from a rounded anchor; an innovation is rounded down
        off = quantum + 2 * kernel.distance_error + math.sqrt(kernel.max_variance + 2 * nugget) * step
        more = off * math.sqrt(2 * max_points / nugget)
        # k numbers of length x have Σ|·| ≤ √k·x
        spread = max_points ** (1 / law.exponent - 1 / 2)
        pair, single = (spread * (math.sqrt(square) + more) * SLACK for square in (kernel.pair, kernel.single))
        off_total = TYPICAL_OFFSET * diameter / math.sqrt(single**2 * kernel.max_variance)
        split = law.split(change, pair**law.exponent, single**law.exponent, guarantee.budget, off_total)
        return cls(kernel, max_points, quantum, step, split, guarantee.pure)

    @property
    def law(self) -> NoiseLaw:
        """The law of an innovation's noise."""
        return LAPLACE_LAW if self.pure else GAUSSIAN_LAW

    @property
    def unit(self) -> float:
        """The unit of the factor: a row times innovations is in 2⁻³⁴ quanta."""
        return self.quantum / (1 << FRACTION_BITS) / self.step

    @property
    def scale(self) -> float:
        """The parameter of an innovation's noise, σ or b, in steps."""
        return self.law.scale(self.split.power) / self.step * SLACK

    @property
    def innovation_deviation(self) -> float:
        """The standard deviation of an innovation's noise, a length in the Hilbert space."""
        return self.law.deviation(self.scale) * self.step

    @property
    def deviation(self) -> float:
        """The largest standard deviation of a noisy sum, in the units of the distance."""
        return self.innovation_deviation * math.sqrt(self.kernel.max_variance * (1 + NUGGET))

    def total(self, value: int) -> Total:
        """Return a total that was released with this noise, or is expected."""
        return Total.of(value, self.split.total, self.pure)

    def draw_total(self, exact: int) -> Total:
        """Return the exact total where it is public, else a noisy one."""
        return Total.draw(exact, self.split.total, self.pure)

    def check(self) -> None:
        """Refuse noise that does not fit, before data is touched."""
        check_points(self.kernel, self.max_points, self.unit)
        check_scale(self.scale)
        check_scale(self.deviation / self.quantum)
        check_total_scale(self.split.total, self.pure)

    def anchors(self, points: AnyArray | PointCombinations) -> IntArray:
        """Return the values that distances to points, or sums of them, are counted from, in quanta: int64[k]."""
        sums = PointCombinations.of(points)
        quanta = np.rint(sums.sums(self.kernel.anchor(sums.points)) / self.quantum)
        return np.asarray(np.clip(quanta, 0 if sums.weights is None else -QUANTA, QUANTA).astype(np.int64))


class Innovations:
    """A field at the queries so far: what each adds to the earlier ones, exactly and with noise.

    The exact innovations are private and stay in this object. They are computed from exact earlier sums: from noisy
    ones, the cost of a step would grow with the noise of the steps before.
    """

    def __init__(self, noise: FieldNoise, total: int) -> None:
        self.noise, self.factor = noise, CholeskyFactor(noise.kernel, noise.max_points, noise.unit)
        self._total = total  # the exact one, private unless the change says otherwise
        self.exact: list[int] = []
        self.noisy: list[int] = []

    @property
    def unsynced_points(self) -> PointCombinations:
        """Restored points whose exact sums `sync` needs before the next query."""
        return self.factor.points[len(self.exact) :]

    def restore(self, points: AnyArray | PointCombinations, rows: Sequence[FloatArray], noisy: Sequence[int]) -> None:
        """Add points whose rows and noisy innovations were released before, or elsewhere, on the same table."""
        self.factor.restore(points, rows)
        self.noisy += noisy

    def sync(self, sums: Sequence[int]) -> None:
        """Compute the exact innovations of the points `behind` from their exact sums."""
        self.exact = self._innovations(sums)

    def _innovations(self, sums: Sequence[int]) -> list[int]:
        """Return the exact innovations so far, and those of the points after them: line (1) of the proof page."""
        exact, anchors = list(self.exact), self.noise.anchors(self.unsynced_points).tolist()
        for start in range(0, len(sums), STEPS):
            part, first = slice(start, start + STEPS), len(exact)
            rows = self.factor.rows(first, min(first + STEPS, self.factor.count))
            earlier, own = exact_products(rows[:, :first], exact), rows[:, first:].tolist()
            for row, value, anchor, known in zip(own, sums[part], anchors[part], earlier, strict=True):
                integers = list(map(int, row))
                left = (
                    ((value - self._total * anchor) << FRACTION_BITS) - known - sum(map(mul, integers, exact[first:]))
                )
                exact.append(left // integers[len(exact) - first])
        return exact

    def ask(self, points: AnyArray | PointCombinations, sums: Sequence[int]) -> tuple[IntArray, FloatArray, FloatArray]:
        """Return noisy sums of distances to new points, minus their anchors, in quanta, and the law of their noise.

        The law is given by standard deviations, in quanta, and excess kurtoses.
        """
        first = len(self.noisy)
        self.factor.truncate(first)  # drop the points of a query that failed
        if len(self.unsynced_points):
            raise MilepostError("points were taken over, and their exact sums are not known yet")
        self.factor.extend(points)
        exact = self._innovations(sums)
        fresh = np.array(exact[len(self.exact) :], dtype=np.int64)
        law, scale = self.noise.law, self.noise.scale
        noisy = self.noisy + law.add(fresh, scale).tolist()
        half, share = 1 << (FRACTION_BITS - 1), law.deviation(scale) / (1 << FRACTION_BITS)
        answers, lengths, kurtoses = [], [], []
        for start in range(first, self.factor.count, ROWS):
            rows = self.factor.rows(start, min(start + ROWS, self.factor.count))
            answers += [(total + half) >> FRACTION_BITS for total in exact_products(rows, noisy[: rows.shape[1]])]
            own = [math.sqrt(square) for square in exact_squares(rows)]
            shares = np.square(rows / np.array(own)[:, None])  # of an answer's variance, by innovation
            lengths += own
            kurtoses += (law.kurtosis * np.einsum("ij,ij->i", shares, shares)).tolist()
        self.exact, self.noisy = exact, noisy
        return np.array(answers, dtype=np.int64), np.array(lengths) * share, np.array(kurtoses)


@dataclass(frozen=True, eq=False)
class FieldDesign(QueryDesign):
    """Noise on all sums whose covariance is proportional to C."""

    noise: FieldNoise

    @property
    def scales(self) -> tuple[float]:
        """The parameter of an innovation's noise, σ or b, in steps."""
        return (self.noise.scale,)

    @cached_property
    def prediction(self) -> Prediction:
        """The error; the noise is known without data, the noisy total to divide by is not.

        Answers are taken to have the largest kurtosis, that of one innovation: the factor would take long.
        """
        noise, total = self.noise, self.noise.total(self.n)
        variances = self.queries.combinations.variances(noise.kernel) + NUGGET * noise.kernel.max_variance
        deviations = noise.innovation_deviation * np.sqrt(variances) / noise.quantum
        kurtoses = np.full(self.queries.count, noise.law.kurtosis)
        typical_sums = np.full(self.queries.count, round(total.size * TYPICAL_OFFSET * QUANTA))
        return noisy_sums(self.queries, total, noise, typical_sums, deviations, kurtoses).prediction()

    def add_noise(self, statistic: DistanceSums, group: int, draw_total: Callable[[], Total]) -> NoisySums:
        """Answer all queries at once."""
        total, exact = draw_total(), int(statistic.totals[group])
        answers = Innovations(self.noise, exact).ask(self.queries.combinations, statistic.values[group].tolist())
        return noisy_sums(self.queries, total, self.noise, *answers)


@dataclass(frozen=True)
class Field(QueryMechanism):
    """Noise on all sums whose covariance is proportional to C, for points that are known or arrive one by one.

    It is Gaussian with δ > 0. Pure ε takes Laplace noise on the innovations, √k times as large for k points.
    """

    name = "field"
    pure = False
    all_gaussian = True
    statistic = NoisySums
    takes_weighted_distances = True

    def noise(
        self,
        space: Space,
        max_points: int,
        change: ProtectedChange,
        guarantee: Guarantee,
        *,
        weighted: bool = True,
    ) -> FieldNoise:
        """Return the smallest noise that the space's kernels offer for up to `max_points` queries.

        weighted: whether there may be weighted sums of distances among them.
        """
        self.check(change, guarantee)
        if not space.kernels:
            raise MilepostError(
                f"field needs a metric that is known to be of negative type; space {space.kind!r} is not, unless its "
                "records are from a public universe=[…]"
            )
        kernels = [kernel.for_weighted_sums() if weighted else kernel for kernel in space.kernels]
        candidates = (FieldNoise.of(kernel, max_points, space.diameter, change, guarantee) for kernel in kernels)
        best = min(candidates, key=lambda noise: noise.deviation)
        best.check()
        return best

    def error_bound(self, public: Queries, n: int, change: ProtectedChange, guarantee: Guarantee) -> float:
        """Return the error of the query with the widest range, alone, times √k where costs add up.

        Of any covariance, √(S·C(y, y)) is at least |d(x, y) − d(x′, y)|, by Cauchy and Schwarz. Half of that where only
        adding is protected: a pair is two single changes. 0 with weighted sums, whose ranges may be wider than their
        values.
        """
        if public.functions is not None:
            return 0.0
        budget = guarantee.budget / change.multiple ** (1 if guarantee.pure else 2)
        deviation = math.sqrt(2 * public.count) / budget if guarantee.pure else math.sqrt(1 / (2 * budget))
        error = min_mixture_quantile(0.05) * deviation * (1.0 if change.replaces else 0.5) * public.max_range / n
        return min(error, public.max_range)

    def design(self, public: Queries, n: int, change: ProtectedChange, guarantee: Guarantee) -> FieldDesign:
        """Return the smallest noise for the queries."""
        noise = self.noise(public.space, public.count, change, guarantee, weighted=public.functions is not None)
        return FieldDesign(self.name, n, change, noise.split.total, noise.pure, public, noise)


def noisy_sums(
    queries: Queries, total: Total, noise: FieldNoise, sums: IntArray, deviations: FloatArray, kurtoses: FloatArray
) -> NoisySums:
    """Return the answers of a field at some points."""
    return NoisySums(Field.name, queries, total, sums, noise.anchors(queries.combinations), deviations, kurtoses)


def session_prediction(noise: FieldNoise, n: int, diameter: float, shift_error: float = 0.0) -> Prediction:
    """Return the error that a session promises at every query. shift_error: the error from rounding the query.

    Of all sums of Laplace draws with one variance, a single draw has the largest quantiles at failures up to 5 %.
    """
    total, kurtosis = noise.total(n), np.array(noise.law.kurtosis)
    deviation = math.hypot(noise.deviation, total.deviation * TYPICAL_OFFSET * diameter) / total.size
    error, uniform = (
        min(float(mixture_quantile(kurtosis, 0.05 / count)) * deviation + noise.quantum / 2 + shift_error, diameter)
        for count in (1, noise.max_points)
    )
    return Prediction(session_name(Field.name, noise.max_points), error, deviation, uniform)
