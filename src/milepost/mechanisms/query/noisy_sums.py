"""NoisySums: the release of every mechanism for given queries, a noisy sum of distances for each query."""

from typing import Any, ClassVar

import numpy as np

from milepost._typing import AnyArray, FloatArray, IntArray
from milepost.errors import MilepostError
from milepost.mechanisms.base import NoisyStatistic, Prediction, check_confidence
from milepost.mechanisms.noise_quantiles import mixture_quantile
from milepost.mechanisms.totals import Total
from milepost.spaces.queries import Queries
from milepost.storage.file_limits import FLOATS, INTEGERS, POSITIVE_FLOATS, ParameterLimits, TensorLimits


class NoisySums(NoisyStatistic):
    """A noisy sum of distances for each query, int64[k] in quanta; answers are found by the query's index.

    anchors: int64[k], the values that distances to each query are counted from. deviations, kurtoses: float64[k], the
    standard deviation of each sum's noise, in quanta, and its excess kurtosis.
    """

    parameter_limits: ClassVar[ParameterLimits] = Total.parameter_limits
    tensor_limits: ClassVar[TensorLimits] = {
        "sums": INTEGERS,
        "anchors": INTEGERS,
        "deviations": POSITIVE_FLOATS,
        "kurtoses": FLOATS,
        **Total.tensor_limits,
    }

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
    def confidence(self) -> float:
        """1: half-widths exist at any confidence, since the noise's law is known."""
        return 1.0

    @property
    def max_error(self) -> float:
        """The largest range of a query: every mean distance and, unless raw, every answer is within its range."""
        return self.queries.max_range

    @property
    def deviation(self) -> float:
        """The root of the answers' mean variance, the total's noise included."""
        own, total = (
            self.deviations * self._unit,
            self.total.deviation / self.total.size * self._offsets(self._all_indices),
        )
        return float(np.sqrt(np.mean((own**2 + total**2) * self.queries.factors**2)))

    def prediction(self) -> Prediction:
        """Return the prediction of a release with this noise."""
        error, uniform = (min(self.half_width(0.95, uniform=flag), self.max_error) for flag in (False, True))
        return Prediction(self.mechanism, error, self.deviation, uniform, size=32 * self.queries.count + 2000)

    @property
    def _all_indices(self) -> IntArray:
        return np.arange(self.queries.count)

    @property
    def _unit(self) -> float:
        """The change of an answer, before its factor, when its sum grows by a quantum."""
        return self.queries.quantum / self.total.size

    def _offsets(self, indices: AnyArray) -> FloatArray:
        """Return answers minus their anchors, before their factors."""
        return np.asarray(self.sums[indices] * self._unit, dtype=np.float64)

    def values(self, indices: AnyArray, raw: bool = False) -> FloatArray:
        """Return the answers of queries int64[k]; unless raw, clipped to each query's range, where its means are."""
        quantum, low, high = self.queries.quantum, self.queries.low[indices], self.queries.high[indices]
        result = self._offsets(indices) + self.anchors[indices] * quantum
        answers = result if raw else np.clip(result, low * quantum, high * quantum)
        return np.asarray(answers * self.queries.factors[indices])

    def half_width(self, confidence: float, uniform: bool = False) -> float:
        """Return noise and rounding, the maximum over all queries; for all k answers at once when uniform."""
        check_confidence(confidence)
        share = self.queries.count if uniform else 1
        return float(self._widths(self._all_indices, (1 - confidence) / share).max())

    def half_widths(self, indices: AnyArray, confidence: float) -> FloatArray:
        """Return the half-width of each answer."""
        check_confidence(confidence)
        return self._widths(indices, 1 - confidence)

    def _widths(self, indices: AnyArray, failure: float) -> FloatArray:
        own, kurtoses = (self.deviations[indices] * self._unit) ** 2, self.kurtoses[indices]

        def noise(offset_bounds: FloatArray) -> FloatArray:
            total = (self.total.deviation / self.total.size * offset_bounds) ** 2
            variance = own + total
            kurtosis = (kurtoses * own**2 + self.total.kurtosis * total**2) / variance**2
            return np.asarray(mixture_quantile(kurtosis, failure) * np.sqrt(variance))

        rounding, anchors = np.full(len(indices), self.queries.bias), self.anchors[indices]
        low, high = self.queries.low[indices], self.queries.high[indices]
        max_offsets = np.maximum(anchors - low, high - anchors) * self.queries.quantum
        widths = self.total.narrow_half_widths(noise, self._offsets(indices), rounding, max_offsets)
        return widths * self.queries.factors[indices]

    def tensors(self) -> dict[str, AnyArray]:
        """Return the noisy sums, and the public numbers of each sum."""
        arrays = {"sums": self.sums, "anchors": self.anchors, "deviations": self.deviations, "kurtoses": self.kurtoses}
        return arrays | self.total.tensors()

    def parameters(self) -> dict[str, Any]:
        """Return the law of the total's noise."""
        return self.total.parameters()

    @classmethod
    def load(
        cls, mechanism: str, public: Queries, n: int, parameters: dict[str, Any], tensors: dict[str, AnyArray]
    ) -> NoisyStatistic:
        """Return the sums of a file, checked against its card."""
        arrays = [tensors[name] for name in ("sums", "anchors", "deviations", "kurtoses")]
        if any(tensor.shape != (public.count,) for tensor in arrays):
            raise MilepostError("the file's sums do not fit its queries")
        return cls(mechanism, public, Total.load(n, parameters, tensors), *arrays)
