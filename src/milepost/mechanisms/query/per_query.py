"""gaussian and laplace: independent noise on the sum of distances to each given query. docs/proofs/per-query.md.

The simplest mechanisms: √k or k times the noise of one query, no embedding, any metric. A query whose distances have a
small range, such as one in the middle of the space, gets less noise than one at the border.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from milepost._typing import FloatArray, IntArray
from milepost.mechanisms.base import Prediction, QueryDesign, QueryMechanism, check_delta
from milepost.mechanisms.query.links import round_scales
from milepost.mechanisms.query.noisy_sums import NoisySums
from milepost.mechanisms.totals import Total
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.noise import gaussian_deviations, gaussian_each, laplace_each
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.queries import Queries
from milepost.statistics.distance_sums import DistanceSums

SLACK = 1 + 1e-12  # rounding of a few float operations, always to the private side


@dataclass(frozen=True)
class Changes:
    """The largest changes of each sum by one record, divided by the relative scale of the sum's noise: float64[k] each.

    pairs: by a record replaced. singles: by one added. off: the effect of the total's noise on an answer, relative to
    that of the sums' noise, where the total's noise and the relative scales have parameter 1.
    """

    pairs: FloatArray
    singles: FloatArray
    off: float


@dataclass(frozen=True)
class Law:
    """A law of noise: the function that adds it, its standard deviations for scales, and its excess kurtosis.

    pure: whether it gives pure ε. exponent: scales ∝ range^exponent give answers the smallest mean variance.
    units: returns the unit of the relative scales, in quanta, and the scale of the total's noise.
    """

    name: str
    pure: bool
    add: Callable[[IntArray, FloatArray], IntArray]
    deviations: Callable[[FloatArray], FloatArray]
    kurtosis: float
    exponent: float
    units: Callable[[Changes, ProtectedChange, Guarantee], tuple[float, float]]


def _gaussian_units(changes: Changes, change: ProtectedChange, guarantee: Guarantee) -> tuple[float, float]:
    pair, single = math.fsum(changes.pairs**2), math.fsum(changes.singles**2)
    split = change.gaussian(pair, single, guarantee.budget, changes.off / math.sqrt(single))
    return math.sqrt(split.power / 2) * SLACK, split.total


def _laplace_units(changes: Changes, change: ProtectedChange, guarantee: Guarantee) -> tuple[float, float]:
    pair, single = math.fsum(changes.pairs), math.fsum(changes.singles)
    split = change.laplace(pair, single, guarantee.epsilon, changes.off / single)
    return split.power * SLACK, split.total


LAWS = {
    law.name: law
    for law in (
        Law("gaussian", False, gaussian_each, gaussian_deviations, 0.0, 1 / 2, _gaussian_units),
        Law("laplace", True, laplace_each, lambda scales: math.sqrt(2) * scales, 3.0, 1 / 3, _laplace_units),
    )
}


def middles(queries: Queries) -> IntArray:
    """Return the middle of each query's range, in quanta: distances are counted from it where the total is private."""
    return np.asarray((queries.low + queries.high) // 2)


@dataclass(frozen=True, eq=False)
class PerQueryDesign(QueryDesign):
    """Noise on every sum. sum_scales: float64[k], of each sum's noise in quanta."""

    law: Law
    sum_scales: FloatArray

    @property
    def scales(self) -> tuple[float, float]:
        """The largest and the smallest scale of a sum."""
        return float(self.sum_scales.max()), float(self.sum_scales.min())

    @cached_property
    def anchors(self) -> IntArray:
        """The values that distances are counted from: 0 where the total is public, else the middle of the range."""
        public = np.zeros(self.queries.count, dtype=np.int64)
        return middles(self.queries) if self.total_scale else public

    @cached_property
    def prediction(self) -> Prediction:
        """The error; the noise is known without data, so that the release will report the same."""
        total = Total.of(self.n, self.total_scale, self.pure)
        return self._noisy(total, total.size * ((self.queries.high - self.queries.low) // 4)).prediction()

    def add_noise(self, statistic: DistanceSums, group: int, draw_total: Callable[[], Total]) -> NoisySums:
        """Add the noise."""
        total, exact = draw_total(), int(statistic.totals[group])
        counted = statistic.values[group] - exact * self.anchors
        return self._noisy(total, self.law.add(counted, self.sum_scales))

    def _noisy(self, total: Total, sums: IntArray) -> NoisySums:
        """Return sums together with the law of their noise."""
        noise = self.law.deviations(self.sum_scales), np.full(self.queries.count, self.law.kurtosis)
        return NoisySums(self.mechanism, self.queries, total, sums, self.anchors, *noise)


@dataclass(frozen=True)
class PerQuery(QueryMechanism):
    """Independent noise on every sum; replacing a record changes sum j by at most r_j, the range of its distances.

    name: "gaussian" or "laplace". Gaussian noise of variances σ_j² costs Σr_j²/(2σ_j²), at most μ²/2 or ρ, and Laplace
    noise of scales b_j costs Σr_j/b_j, at most ε. The mean variance is smallest with σ_j² ∝ r_j, and with b_j ∝ r_j^⅓.
    Where the total is private, distances are counted from the middle of the range: adding a record changes sums half as
    much.
    """

    name: str
    pure: bool = field(init=False)
    statistic = NoisySums
    takes_weighted_distances = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "pure", self.law.pure)

    @property
    def all_gaussian(self) -> bool:
        """Whether the noise is Gaussian."""
        return not self.pure

    @property
    def law(self) -> Law:
        """The law of the noise."""
        return LAWS[self.name]

    def summands(self, queries: Queries, quanta: IntArray) -> IntArray:
        """Return values clipped to each query's range: noise then covers every change, even if a range is wrong."""
        return np.clip(quanta, queries.low, queries.high)

    def check(self, change: ProtectedChange, guarantee: Guarantee) -> None:  # noqa: ARG002
        """Refuse δ = 0 with Gaussian noise; accept any change."""
        if not self.pure:
            check_delta(self.name, guarantee)

    def scales(self, queries: Queries, change: ProtectedChange, guarantee: Guarantee) -> tuple[FloatArray, float]:
        """Return the parameter, σ or b, of each sum's noise, in quanta, and that of the total's noise."""
        low, high, anchors = queries.low, queries.high, middles(queries)
        ranges = (high - low).astype(np.float64)
        relative = round_scales(ranges**self.law.exponent)
        singles = np.maximum(anchors - low, high - anchors) / relative
        off = math.sqrt(np.mean(ranges**2) / np.mean(relative**2)) / 4  # answers are a quarter of the range off anchors
        unit, total = self.law.units(Changes(ranges / relative, singles, off), change, guarantee)
        return unit * relative, total

    def design(self, public: Queries, n: int, change: ProtectedChange, guarantee: Guarantee) -> PerQueryDesign:
        """Share the budget between sums and the total."""
        scales, total_scale = self.scales(public, change, guarantee)
        return PerQueryDesign(self.name, n, change, total_scale, self.pure, public, self.law, scales)
