"""gaussian and laplace: independent noise on the sum of distances to each given query. docs/proofs/per-query.md.

The simplest mechanisms: √k or k times the noise of one query, no embedding, any metric.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from milepost._typing import IntArray
from milepost.mechanisms.base import Prediction, QueryDesign, QueryMechanism, check_delta
from milepost.mechanisms.query.noisy_sums import NoisySums
from milepost.mechanisms.totals import Total
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.noise import gaussian, laplace
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.embeddings.embedding import QUANTA
from milepost.spaces.queries import Queries
from milepost.statistics.distance_sums import DistanceSums

MIDDLE = QUANTA // 2
SLACK = 1 + 1e-12  # rounding of a few float operations, always to the private side


@dataclass(frozen=True)
class Law:
    """A law of noise: the function that adds it, its standard deviation at scale 1, and its excess kurtosis.

    pure: whether it gives pure ε. scales: the noise's parameter, σ or b, in quanta, and that of the total's noise, for
    a number of queries.
    """

    name: str
    pure: bool
    add: Callable[[IntArray, float], IntArray]
    deviation: float
    kurtosis: float
    scales: Callable[[int, ProtectedChange, Guarantee], tuple[float, float]]


def _gaussian_scales(k: int, change: ProtectedChange, guarantee: Guarantee) -> tuple[float, float]:
    # an answer has about a quarter of the total's noise, in diameters
    split = change.gaussian(k, k / 4, guarantee.rho, 1 / (2 * math.sqrt(k)))
    return QUANTA * math.sqrt(split.power / 2) * SLACK, split.total


def _laplace_scales(k: int, change: ProtectedChange, guarantee: Guarantee) -> tuple[float, float]:
    split = change.laplace(k, k / 2, guarantee.epsilon, 1 / (2 * k))
    return QUANTA * split.power * SLACK, split.total


LAWS = {
    law.name: law
    for law in (
        Law("gaussian", False, gaussian, 1.0, 0.0, _gaussian_scales),
        Law("laplace", True, laplace, math.sqrt(2), 3.0, _laplace_scales),
    )
}


@dataclass(frozen=True, eq=False)
class PerQueryDesign(QueryDesign):
    """Noise of one scale, in quanta, on every sum."""

    law: Law
    scale: float

    @property
    def scales(self) -> tuple[float]:
        """The scale of all sums."""
        return (self.scale,)

    @cached_property
    def prediction(self) -> Prediction:
        """The error; the noise is known without data, so that the release will report the same."""
        total = Total(self.n, self.total_scale, self.pure)
        typical_offset = QUANTA // 4 if total.public else -(QUANTA // 4)
        return self._noisy(total, np.full(self.queries.count, total.size * typical_offset)).prediction()

    def add_noise(self, statistic: DistanceSums, group: int, draw_total: Callable[[], Total]) -> NoisySums:
        """Add the noise."""
        total, exact = draw_total(), int(statistic.totals[group])
        counted = statistic.values[group] - (0 if total.public else exact * MIDDLE)
        return self._noisy(total, self.law.add(counted, self.scale))

    def _noisy(self, total: Total, sums: IntArray) -> NoisySums:
        """Return sums together with the law of their noise."""
        anchor, ones = 0 if total.public else MIDDLE, np.ones(self.queries.count)
        noise = self.law.deviation * self.scale * ones, self.law.kurtosis * ones
        return NoisySums(self.mechanism, self.queries, total, sums, np.full(self.queries.count, anchor), *noise)


@dataclass(frozen=True)
class PerQuery(QueryMechanism):
    """Noise of one scale on every sum; replacing a record changes each of the k sums by at most 2²⁴ quanta.

    name: "gaussian" or "laplace". With Gaussian noise the sums change by at most √k·2²⁴ in ℓ₂, so a variance of
    k·2⁴⁸/(2ρ) is ρ-zCDP. With Laplace noise they change by at most k·2²⁴ in ℓ₁, so a scale of k·2²⁴/ε is pure ε.
    Where the total is private, distances are counted from half the diameter: adding a record changes sums half as much.
    """

    name: str
    pure: bool = field(init=False)
    statistic = NoisySums

    def __post_init__(self) -> None:
        object.__setattr__(self, "pure", self.law.pure)

    @property
    def law(self) -> Law:
        """The law of the noise."""
        return LAWS[self.name]

    def check(self, change: ProtectedChange, guarantee: Guarantee) -> None:  # noqa: ARG002
        """Refuse δ = 0 with Gaussian noise; accept any change."""
        if not self.pure:
            check_delta(self.name, guarantee)

    def scales(self, queries: Queries, change: ProtectedChange, guarantee: Guarantee) -> tuple[float, float]:
        """Return the noise's parameter, σ or b, in quanta, and that of the total's noise."""
        return self.law.scales(queries.count, change, guarantee)

    def design(self, public: Queries, n: int, change: ProtectedChange, guarantee: Guarantee) -> PerQueryDesign:
        """Share the budget between sums and the total."""
        scale, total_scale = self.scales(public, change, guarantee)
        return PerQueryDesign(self.name, n, change, total_scale, self.pure, public, self.law, scale)
