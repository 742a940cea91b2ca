"""gaussian and laplace: independent noise on the sum of distances to each given query. docs/proofs/per-query.md.

The plainest mechanisms there are: √k or k times the noise of one query, no embedding, any metric.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from milepost.arrays import AnyArray, FloatArray, IntArray
from milepost.errors import MilepostError
from milepost.mechanisms.base import Prediction, check_confidence, check_replace
from milepost.privacy.change import Change
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.noise import check_scale, gaussian, gaussian_tail, laplace, laplace_tail
from milepost.spaces.base import QUANTA
from milepost.spaces.queries import Queries
from milepost.statistics.sums import Sums

SLACK = 1 + 1e-12  # rounding of a few float operations, always to the private side


@dataclass(frozen=True)
class Law:
    """A law of noise: how it is added, the tail of |noise|, and its standard deviation at scale 1."""

    name: str
    add: Callable[[IntArray, float], IntArray]
    tail: Callable[[float, float], int]
    deviation: float


LAWS = {
    law.name: law
    for law in (
        Law("gaussian", gaussian, gaussian_tail, 1.0),
        Law("laplace", laplace, laplace_tail, math.sqrt(2)),
    )
}


@dataclass(frozen=True)
class PerQuery:
    """Noise of one scale on every sum; a replaced record moves each of the k sums by at most 2²⁴ quanta.

    gaussian: the sums move by at most √k·2²⁴ in ℓ₂, so a variance of k·2⁴⁸/(2ρ) is ρ-zCDP.
    laplace: by at most k·2²⁴ in ℓ₁, so a scale of k·2²⁴/ε is pure ε.
    """

    name: str

    def check(self, change: Change, guarantee: Guarantee) -> None:
        """Replace only; gaussian needs δ > 0, laplace leaves δ unused."""
        check_replace(self.name, change)
        if self.name == "gaussian" and guarantee.pure:
            raise MilepostError("gaussian needs delta > 0; with delta = 0 use laplace")

    def scale(self, queries: Queries, guarantee: Guarantee) -> float:
        """The noise's parameter, σ or b, in quanta."""
        if self.name == "gaussian":
            return QUANTA * math.sqrt(queries.count / (2 * guarantee.rho)) * SLACK
        return QUANTA * queries.count / guarantee.epsilon * SLACK

    def predict(self, queries: Queries, n: int, change: Change, guarantee: Guarantee) -> Prediction:
        """The noise is known beforehand, so that the prediction is what the release will say."""
        self.check(change, guarantee)
        scale = self.scale(queries, guarantee)
        check_scale(scale)
        found = NoisySums(LAWS[self.name], queries, n, scale, np.zeros(queries.count, dtype=np.int64))
        error, uniform = (min(found.half_width(0.95, uniform=all_), found.most) for all_ in (False, True))
        return Prediction(self.name, error, found.deviation, uniform, size=8 * queries.count + 2000)

    def run(self, sums: Sums, queries: Queries, change: Change, guarantee: Guarantee) -> "NoisySums":
        """Add the noise."""
        self.check(change, guarantee)
        if sums.count != queries.count or sums.groups != 1:
            raise MilepostError(f"sums of {sums.count} queries do not fit {queries.count} queries and one group")
        if not sums.totals[0] > 0:
            raise MilepostError("the sums have no records; at least one is needed")
        scale = self.scale(queries, guarantee)
        check_scale(scale)
        law = LAWS[self.name]
        return NoisySums(law, queries, int(sums.totals[0]), scale, law.add(sums.values[0], scale))


class NoisySums:
    """A noisy sum of distances for each query, int64[k] in quanta; answers by a query's position."""

    confidence: ClassVar[float] = 1.0

    def __init__(self, law: Law, queries: Queries, n: int, scale: float, sums: IntArray) -> None:
        self.law, self.queries, self.n, self.scale, self.sums = law, queries, n, scale, sums

    @property
    def mechanism(self) -> str:
        """The law's name."""
        return self.law.name

    @property
    def most(self) -> float:
        """Every mean distance and, unless raw, every answer is within 0..diameter."""
        return self.queries.diameter

    @property
    def deviation(self) -> float:
        """The standard deviation of an answer."""
        return self.law.deviation * self.scale * self.queries.quantum / self.n

    def values(self, places: AnyArray, raw: bool = False) -> FloatArray:
        """The answers at positions int64[k]; unless raw, within 0..diameter, where every mean distance is."""
        result = self.sums[places] * (self.queries.quantum / self.n)
        return np.asarray(result if raw else np.clip(result, 0, self.queries.diameter))

    def half_width(self, confidence: float, uniform: bool = False) -> float:
        """Noise and rounding; of all k answers at once when uniform."""
        check_confidence(confidence)
        failure = 1 - confidence
        if uniform:  # independent noises
            failure = -math.expm1(math.log1p(-failure) / self.queries.count)
        return self.law.tail(self.scale, failure) * self.queries.quantum / self.n + self.queries.bias

    def half_widths(self, places: AnyArray, confidence: float) -> FloatArray:
        """The same for every query."""
        return np.full(len(places), self.half_width(confidence))

    def tensors(self) -> dict[str, IntArray]:
        """The noisy sums."""
        return {"sums": self.sums}

    def parameters(self) -> dict[str, Any]:
        """The noise."""
        return {"law": self.law.name, "scale": self.scale}

    @classmethod
    def load(cls, queries: Queries, n: int, parameters: dict[str, Any], tensors: dict[str, IntArray]) -> Self:
        """The sums of a file, checked against its card."""
        if tensors["sums"].shape != (queries.count,):
            raise MilepostError("the file's sums do not fit its queries")
        return cls(LAWS[parameters["law"]], queries, n, parameters["scale"], tensors["sums"])
