"""gaussian and laplace: independent noise on the sum of distances to each given query. docs/proofs/per-query.md.

The simplest mechanisms: √k or k times the noise of one query, no embedding, any metric.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from milepost._typing import IntArray
from milepost.errors import MilepostError
from milepost.mechanisms.base import Prediction, check_sums
from milepost.mechanisms.query.noisy_sums import NoisySums
from milepost.mechanisms.totals import Total, check_total_scale
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.noise import check_scale, gaussian, laplace
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.embeddings.embedding import QUANTA
from milepost.spaces.queries import Queries
from milepost.statistics.distance_sums import DistanceSums

MIDDLE = QUANTA // 2
SLACK = 1 + 1e-12  # rounding of a few float operations, always to the private side


@dataclass(frozen=True)
class Law:
    """A law of noise: the function that adds it, its standard deviation at scale 1, and its excess kurtosis."""

    name: str
    add: Callable[[IntArray, float], IntArray]
    deviation: float
    kurtosis: float


LAWS = {law.name: law for law in (Law("gaussian", gaussian, 1.0, 0.0), Law("laplace", laplace, math.sqrt(2), 3.0))}


@dataclass(frozen=True)
class PerQuery:
    """Noise of one scale on every sum; replacing a record changes each of the k sums by at most 2²⁴ quanta.

    gaussian: the sums change by at most √k·2²⁴ in ℓ₂, so a variance of k·2⁴⁸/(2ρ) is ρ-zCDP.
    laplace: by at most k·2²⁴ in ℓ₁, so a scale of k·2²⁴/ε is pure ε.
    Where the total is private, distances are counted from half the diameter: adding a record changes sums half as much.
    """

    name: str

    @property
    def pure(self) -> bool:
        """Whether this is laplace, which spends pure ε."""
        return self.name == "laplace"

    def check(self, change: ProtectedChange, guarantee: Guarantee) -> None:  # noqa: ARG002
        """Refuse gaussian with δ = 0; laplace leaves δ unused. Accept any change."""
        if self.name == "gaussian" and guarantee.pure:
            raise MilepostError("gaussian needs delta > 0; with delta = 0 use laplace")

    def scales(self, queries: Queries, change: ProtectedChange, guarantee: Guarantee) -> tuple[float, float]:
        """Return the noise's parameter, σ or b, in quanta, and that of the total's noise."""
        k = queries.count  # an answer has about a quarter of the total's noise, in diameters
        if self.name == "gaussian":
            split = change.gaussian(k, k / 4, guarantee.rho, 1 / (2 * math.sqrt(k)))
            scale = QUANTA * math.sqrt(split.power / 2) * SLACK
        else:
            split = change.laplace(k, k / 2, guarantee.epsilon, 1 / (2 * k))
            scale = QUANTA * split.power * SLACK
        check_scale(scale)
        check_total_scale(split.total)
        return scale, split.total

    def predict(self, queries: Queries, n: int, change: ProtectedChange, guarantee: Guarantee) -> Prediction:
        """Return the error; the noise is known beforehand, so that the release will report the same."""
        self.check(change, guarantee)
        scale, total_scale = self.scales(queries, change, guarantee)
        total = Total(n, total_scale, self.name == "laplace")
        typical_offset = -(QUANTA // 4) if total_scale else QUANTA // 4
        return self._noisy(queries, total, scale, np.full(queries.count, total.size * typical_offset)).prediction()

    def summands(self, queries: Queries, quanta: IntArray) -> IntArray:  # noqa: ARG002
        """Return the distances themselves."""
        return quanta

    def run(
        self,
        sums: DistanceSums,
        queries: Queries,
        change: ProtectedChange,
        guarantee: Guarantee,
        n: int | None = None,
        group: int = 0,
    ) -> NoisySums:
        """Add the noise."""
        self.check(change, guarantee)
        exact = check_sums(sums, queries.count, change, n, group)
        scale, total_scale = self.scales(queries, change, guarantee)
        total = Total.draw(exact, total_scale, self.name == "laplace")
        counted = sums.values[group] - (0 if total.public else exact * MIDDLE)
        return self._noisy(queries, total, scale, LAWS[self.name].add(counted, scale))

    def _noisy(self, queries: Queries, total: Total, scale: float, sums: IntArray) -> NoisySums:
        """Return sums together with the law of their noise, of this scale."""
        law, anchor = LAWS[self.name], 0 if total.public else MIDDLE
        ones = np.ones(queries.count)
        noise = law.deviation * scale * ones, law.kurtosis * ones
        return NoisySums(self.name, queries, total, sums, np.full(queries.count, anchor), *noise)
