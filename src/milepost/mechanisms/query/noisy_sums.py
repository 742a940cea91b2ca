"""NoisySums: what every mechanism for given queries releases, a noisy sum of distances for each."""

from typing import Any, ClassVar, Self

import numpy as np

from milepost._typing import AnyArray, FloatArray, IntArray
from milepost.errors import MilepostError
from milepost.mechanisms.base import Prediction, check_confidence
from milepost.mechanisms.noise_quantiles import mixture_quantile
from milepost.mechanisms.totals import Total
from milepost.spaces.embeddings.embedding import QUANTA
from milepost.spaces.queries import Queries


class NoisySums:
    """A noisy sum of distances for each query, int64[k] in quanta; answers by a query's position.

    anchors: int64[k], from which the distances to each are counted. deviations, kurtoses: float64[k], the standard
    deviation of each sum's noise, in quanta, and its excess kurtosis.
    """

    confidence: ClassVar[float] = 1.0

    def __init__(
        self,
        mechanism: str,
        queries: Queries,
        total: Total,
        sums: IntArray,
        anchors: IntArray,
        deviations: FloatArray,
        kurtoses: FloatArray,
    ) -> None:
        self.mechanism, self.queries, self.total, self.sums = mechanism, queries, total, sums
        self.anchors, self.deviations, self.kurtoses = anchors, deviations, kurtoses

    @property
    def max_error(self) -> float:
        """Every mean distance and, unless raw, every answer is within 0..diameter."""
        return self.queries.diameter

    @property
    def deviation(self) -> float:
        """The root of the answers' mean variance, the total's noise included."""
        own, total = self.deviations * self._unit, self.total.deviation / self.total.size * self._off(self._all)
        return float(np.sqrt(np.mean(own**2 + total**2)))

    def prediction(self) -> Prediction:
        """What a release with this noise would say."""
        error, uniform = (min(self.half_width(0.95, uniform=all_), self.max_error) for all_ in (False, True))
        return Prediction(self.mechanism, error, self.deviation, uniform, size=32 * self.queries.count + 2000)

    @property
    def _all(self) -> IntArray:
        return np.arange(self.queries.count)

    @property
    def _unit(self) -> float:
        """What a quantum in a sum adds to an answer."""
        return self.queries.quantum / self.total.size

    def _off(self, places: AnyArray) -> FloatArray:
        """How far answers are off their anchors."""
        return np.asarray(self.sums[places] * self._unit, dtype=np.float64)

    def values(self, places: AnyArray, raw: bool = False) -> FloatArray:
        """The answers at positions int64[k]; unless raw, within 0..diameter, where every mean distance is."""
        result = self._off(places) + self.anchors[places] * self.queries.quantum
        return np.asarray(result if raw else np.clip(result, 0, self.queries.diameter))

    def half_width(self, confidence: float, uniform: bool = False) -> float:
        """Noise and rounding, the most of all queries; of all k answers at once when uniform."""
        check_confidence(confidence)
        share = self.queries.count if uniform else 1
        return float(self._widths(self._all, (1 - confidence) / share).max())

    def half_widths(self, places: AnyArray, confidence: float) -> FloatArray:
        """Of each answer."""
        check_confidence(confidence)
        return self._widths(places, 1 - confidence)

    def _widths(self, places: AnyArray, failure: float) -> FloatArray:
        own, kurtoses = (self.deviations[places] * self._unit) ** 2, self.kurtoses[places]

        def noise(far: FloatArray) -> FloatArray:
            total = (self.total.deviation / self.total.size * far) ** 2
            variance = own + total
            kurtosis = (kurtoses * own**2 + self.total.kurtosis * total**2) / variance**2
            return np.asarray(mixture_quantile(kurtosis, failure) * np.sqrt(variance))

        more, anchors = np.full(len(places), self.queries.bias), self.anchors[places]
        farthest = np.maximum(anchors, QUANTA - anchors) * self.queries.quantum
        return self.total.narrowed(noise, self._off(places), more, farthest)

    def tensors(self) -> dict[str, AnyArray]:
        """The noisy sums, and the public numbers that there is one of for each."""
        each = {"sums": self.sums, "anchors": self.anchors, "deviations": self.deviations, "kurtoses": self.kurtoses}
        return each | self.total.tensors()

    def parameters(self) -> dict[str, Any]:
        """The law of the total's noise."""
        return self.total.parameters()

    @classmethod
    def load(
        cls, mechanism: str, queries: Queries, n: int, parameters: dict[str, Any], tensors: dict[str, AnyArray]
    ) -> Self:
        """The sums of a file, checked against its card."""
        each = [tensors[name] for name in ("sums", "anchors", "deviations", "kurtoses")]
        if any(tensor.shape != (queries.count,) for tensor in each):
            raise MilepostError("the file's sums do not fit its queries")
        return cls(mechanism, queries, Total.load(n, parameters, tensors), *each)
