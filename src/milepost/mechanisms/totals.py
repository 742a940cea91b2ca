"""Total: the number of records of a group, exact where that is public, else a noisy number and its law.

Where it is noisy, sums are counted from public anchors: N·F = S + N·A, with S private sums and A the anchor. An answer
S̃/Ñ + A, with noise ξ on S and e on N, is off by exactly (ξ − e·(F − A))/Ñ, so that its half-width follows from the two
laws and Ñ, whatever the table (Fieller 1954; docs/proofs/change.md, Lemma 3).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from milepost._typing import FloatArray, IntArray
from milepost.errors import MilepostError
from milepost.privacy.noise import check_scale, gaussian, gaussian_deviation, gaussian_tail, laplace, laplace_tail
from milepost.privacy.protected_change import ProtectedChange
from milepost.storage.file_limits import FLAG, INTEGERS, SCALE, ParameterLimits, RecordLimit, TensorLimits

ROUNDS = 6  # of narrowing half-widths; they are valid after every round
FINENESS = 64  # a total is multiplied by it before Gaussian noise is added, so that η is small beside the scale
ROUNDING = 1 / math.sqrt(12)  # the standard deviation of rounding to a whole number
FALSE_DETECTION_RATE = 0.01  # probability that an empty group looks like one with people in it


@dataclass(frozen=True)
class Total:
    """The number of records of one group, or their weight in steps.

    scale: of its noise: b of Laplace noise if pure, else the standard deviation, with rounding; 0 where it is public.
    """

    value: int
    scale: float = 0.0
    pure: bool = False
    parameter_limits: ClassVar[ParameterLimits] = {"total": RecordLimit({"scale": SCALE, "pure": FLAG})}
    tensor_limits: ClassVar[TensorLimits] = {"total": INTEGERS}

    @classmethod
    def draw(cls, exact: int, scale: float, pure: bool) -> Self:
        """Return the exact total where the scale is 0, else a noisy one. scale: b, or σ unless pure."""
        if not scale:
            return cls(exact)
        if pure:
            value = int(laplace(np.array([exact]), scale)[0])
        else:  # finely, then rounded to a whole number
            noisy = int(gaussian(np.array([FINENESS * exact]), FINENESS * scale)[0])
            value = (noisy + FINENESS // 2) // FINENESS
        return cls.of(value, scale, pure)

    @classmethod
    def of(cls, value: int, scale: float, pure: bool) -> Self:
        """Return a total with noise of this scale, as `draw` takes it; 0 for a public one."""
        if not scale or pure:
            return cls(value, scale, pure)
        return cls(value, math.hypot(gaussian_deviation(FINENESS * scale) / FINENESS, ROUNDING))

    @property
    def public(self) -> bool:
        """Whether the total is exact."""
        return self.scale == 0

    @property
    def size(self) -> int:
        """The total to divide by: at least 1."""
        return max(self.value, 1)

    @property
    def deviation(self) -> float:
        """The standard deviation of its noise."""
        return self.scale * (math.sqrt(2) if self.pure else 1.0)

    @property
    def kurtosis(self) -> float:
        """The excess kurtosis of its noise."""
        return 3.0 if self.pure else 0.0

    def tail(self, failure: float) -> float:
        """Return what |noise| exceeds with at most this probability."""
        if self.public:
            return 0.0
        return float((laplace_tail if self.pure else gaussian_tail)(self.scale, failure))

    @property
    def detectable(self) -> bool:
        """Whether the total is larger than the noise of an empty group explains."""
        return self.value > self.tail(2 * FALSE_DETECTION_RATE)

    def narrow_half_widths(
        self,
        noise: Callable[[FloatArray], FloatArray],
        offsets: FloatArray,
        other_error: FloatArray,
        max_offset: FloatArray | float,
    ) -> FloatArray:
        """Return half-widths of answers that differ from their anchors by `offsets`, where |F − A| ≤ max_offset.

        noise: the quantile of |ξ − e·a|/Ñ for a share a of the total's noise, increasing. other_error: bound of all
        other errors. If a half-width h is valid then |F − A| ≤ |offset| + h, which gives the next half-width.
        """
        if self.public:
            return noise(np.zeros(len(offsets))) + other_error
        if self.value < 1:
            return np.full(len(offsets), math.inf)
        bounds = np.full(len(offsets), max_offset) if isinstance(max_offset, float) else max_offset
        for _ in range(ROUNDS):
            widths = noise(bounds) + other_error
            bounds = np.minimum(bounds, np.abs(offsets) + widths)
        return widths

    def tensors(self) -> dict[str, IntArray]:
        """Return the noisy number; a public one is in the card."""
        return {} if self.public else {"total": np.array([self.value], dtype=np.int64)}

    def parameters(self) -> dict[str, Any]:
        """Return the law of the noise."""
        return {} if self.public else {"total": {"scale": self.scale, "pure": self.pure}}

    @classmethod
    def load(cls, n: int, parameters: dict[str, Any], tensors: dict[str, IntArray]) -> Self:
        """Return the total that `tensors` and `parameters` were taken from; n: the public one, if any."""
        law = parameters.get("total")
        if law is None and n > 0:
            return cls(n)
        if law is None:
            raise KeyError("total")
        if tensors["total"].shape != (1,) or not law["scale"] > 0:
            raise MilepostError("the file's total does not fit its card")
        return cls(int(tensors["total"][0]), law["scale"], law["pure"])


def check_total_scale(scale: float, pure: bool) -> None:
    """Refuse noise on the total that integers cannot hold; 0 is no noise."""
    if scale:
        check_scale(scale if pure else FINENESS * scale)


def check_total(exact: int, n: int, change: ProtectedChange) -> None:
    """Refuse a table that is empty, or has changed since n was counted, where the number of its rows is public."""
    if change.public_total and not exact > 0:
        raise MilepostError("the statistic has no records; at least one is needed")
    if change.public_total and n != exact:
        raise MilepostError("the table has changed while it was read; read it when nobody writes to it")
