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
from milepost.mechanisms.base import Prediction, check_confidence, check_groups
from milepost.mechanisms.curves import spread
from milepost.mechanisms.totals import Total, check_total, check_total_scale
from milepost.privacy.change import Change
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.noise import check_scale, gaussian, gaussian_tail, laplace, laplace_tail
from milepost.spaces.base import QUANTA
from milepost.spaces.queries import Queries
from milepost.statistics.sums import Sums

MIDDLE = QUANTA // 2
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
    Where the total is private, distances are counted from half the diameter: one record more moves sums half as much.
    """

    name: str

    def check(self, change: Change, guarantee: Guarantee) -> None:  # noqa: ARG002
        """Any change; gaussian needs δ > 0, laplace leaves δ unused."""
        if self.name == "gaussian" and guarantee.pure:
            raise MilepostError("gaussian needs delta > 0; with delta = 0 use laplace")

    def scales(self, queries: Queries, change: Change, guarantee: Guarantee) -> tuple[float, float]:
        """The noise's parameter, σ or b, in quanta, and that of the total's noise."""
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

    def predict(self, queries: Queries, n: int, change: Change, guarantee: Guarantee) -> Prediction:
        """The noise is known beforehand, so that the prediction is what the release will say."""
        self.check(change, guarantee)
        scale, total_scale = self.scales(queries, change, guarantee)
        law, total = LAWS[self.name], Total(n, total_scale, self.name == "laplace")
        even = np.full(queries.count, -total.size * (QUANTA // 4) if total_scale else total.size * (QUANTA // 4))
        found = NoisySums(law, queries, total, scale, even)
        error, uniform = (min(found.half_width(0.95, uniform=all_), found.most) for all_ in (False, True))
        deviation = math.hypot(found.deviation, total.deviation / total.size * queries.diameter / 4)
        return Prediction(self.name, error, deviation, uniform, size=8 * queries.count + 2000)

    def run(
        self,
        sums: Sums,
        queries: Queries,
        change: Change,
        guarantee: Guarantee,
        n: int | None = None,
        group: int = 0,
    ) -> "NoisySums":
        """Add the noise."""
        self.check(change, guarantee)
        if sums.count != queries.count:
            raise MilepostError(f"sums of {sums.count} queries do not fit {queries.count} queries")
        check_groups(sums.groups, change)
        exact = int(sums.totals[group])
        check_total(exact, n, change)
        scale, total_scale = self.scales(queries, change, guarantee)
        law = LAWS[self.name]
        total = Total.draw(exact, total_scale, self.name == "laplace")
        counted = sums.values[group] - (0 if total.public else exact * MIDDLE)
        return NoisySums(law, queries, total, scale, law.add(counted, scale))


class NoisySums:
    """A noisy sum of distances for each query, int64[k] in quanta; answers by a query's position.

    Where the total is private, distances are counted from half the diameter.
    """

    confidence: ClassVar[float] = 1.0

    def __init__(self, law: Law, queries: Queries, total: Total, scale: float, sums: IntArray) -> None:
        self.law, self.queries, self.total, self.scale, self.sums = law, queries, total, scale, sums

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
        """The standard deviation of an answer, but for the total's noise."""
        return self.law.deviation * self._unit * self.scale

    @property
    def _unit(self) -> float:
        """What a quantum in a sum adds to an answer."""
        return self.queries.quantum / self.total.size

    @property
    def _anchor(self) -> float:
        """The answer that no sum at all stands for."""
        return 0.0 if self.total.public else MIDDLE * self.queries.quantum

    def values(self, places: AnyArray, raw: bool = False) -> FloatArray:
        """The answers at positions int64[k]; unless raw, within 0..diameter, where every mean distance is."""
        result = self.sums[places] * self._unit + self._anchor
        return np.asarray(result if raw else np.clip(result, 0, self.queries.diameter))

    def half_width(self, confidence: float, uniform: bool = False) -> float:
        """Noise and rounding, the most of all queries; of all k answers at once when uniform."""
        check_confidence(confidence)
        off = np.array([np.abs(self.sums).max() * self._unit])
        if not uniform:
            return float(self._widths(off, 1 - confidence)[0])
        failure = (1 - confidence) / (1 if self.total.public else 2)  # half for the total, which all answers share
        each = -math.expm1(math.log1p(-failure) / self.queries.count)  # of independent noises
        more = np.array([self.law.tail(self.scale, each) * self._unit + self.queries.bias])
        share = self.total.tail(failure) / self.total.size
        return float(self.total.narrowed(lambda far: share * far, off, more, self.queries.diameter / 2)[0])

    def half_widths(self, places: AnyArray, confidence: float) -> FloatArray:
        """The same for every query where the total is public."""
        check_confidence(confidence)
        return self._widths(np.asarray(self.sums[places] * self._unit, dtype=np.float64), 1 - confidence)

    def _widths(self, off: FloatArray, failure: float) -> FloatArray:
        """Of answers that are off the anchor by so much."""

        def noise(far: FloatArray) -> FloatArray:
            if self.total.public:
                return np.full(len(far), self.law.tail(self.scale, failure) * self._unit)
            parts = np.full(len(far), self.deviation), self.total.deviation / self.total.size * far
            kurtosis = np.full((len(far), 2), self.total.kurtosis)
            return spread(np.column_stack(parts) ** 2, kurtosis, failure)

        more = np.full(len(off), self.queries.bias)
        return self.total.narrowed(noise, off, more, self.queries.diameter / 2)

    def tensors(self) -> dict[str, IntArray]:
        """The noisy sums."""
        return {"sums": self.sums} | self.total.tensors()

    def parameters(self) -> dict[str, Any]:
        """The noise."""
        return {"law": self.law.name, "scale": self.scale} | self.total.parameters()

    @classmethod
    def load(cls, queries: Queries, n: int, parameters: dict[str, Any], tensors: dict[str, IntArray]) -> Self:
        """The sums of a file, checked against its card."""
        if tensors["sums"].shape != (queries.count,):
            raise MilepostError("the file's sums do not fit its queries")
        total = Total.load(n, parameters, tensors)
        return cls(LAWS[parameters["law"]], queries, total, parameters["scale"], tensors["sums"])
