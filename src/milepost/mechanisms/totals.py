"""Total: how many records a group has, exactly where that is public, else a noisy number and its law.

Where it is noisy, sums are counted from public anchors: N·F = S + N·A, with S private sums and A the anchor. An answer
S̃/Ñ + A, with noise ξ on S and e on N, is off by exactly (ξ − e·(F − A))/Ñ, so that its half-width follows from the two
laws and Ñ, whatever the table (Fieller 1954; docs/proofs/change.md, Lemma 3).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from milepost._typing import FloatArray, IntArray
from milepost.errors import MilepostError
from milepost.privacy.noise import check_scale, gaussian, gaussian_tail, laplace, laplace_tail
from milepost.privacy.protected_change import ProtectedChange

ROUNDS = 6  # of narrowing a half-width; each gives a valid one
UNSEEN = 0.01  # how likely an empty group looks like one with people in it


@dataclass(frozen=True)
class Total:
    """Records, or their weight in steps, of one group. scale: of its noise; 0 where it is public."""

    value: int
    scale: float = 0.0
    pure: bool = False

    @classmethod
    def draw(cls, exact: int, scale: float, pure: bool) -> Self:
        """The exact total where the scale is 0, else a noisy one."""
        if not scale:
            return cls(exact)
        return cls(int((laplace if pure else gaussian)(np.array([exact]), scale)[0]), scale, pure)

    @property
    def public(self) -> bool:
        """Whether it is exact."""
        return self.scale == 0

    @property
    def size(self) -> int:
        """To divide by: at least 1."""
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
        """What |noise| exceeds with at most this probability."""
        if self.public:
            return 0.0
        return float((laplace_tail if self.pure else gaussian_tail)(self.scale, failure))

    @property
    def seen(self) -> bool:
        """Whether it is more than an empty group's noise would show."""
        return self.value > self.tail(2 * UNSEEN)

    def narrowed(
        self, noise: Callable[[FloatArray], FloatArray], off: FloatArray, more: FloatArray, most: FloatArray | float
    ) -> FloatArray:
        """Half-widths of answers off their anchors by `off`, |F − A| ≤ most.

        noise: the quantile of |ξ − e·a|/Ñ for a share a of the total's noise, increasing. more: what else may be
        wrong. If a half-width h is valid then |F − A| ≤ |off| + h, and so is the one that follows from that.
        """
        if self.public:
            return noise(np.zeros(len(off))) + more
        if self.value < 1:
            return np.full(len(off), math.inf)
        farthest = np.full(len(off), most) if isinstance(most, float) else most
        for _ in range(ROUNDS):
            widths = noise(farthest) + more
            farthest = np.minimum(farthest, np.abs(off) + widths)
        return widths

    def tensors(self) -> dict[str, IntArray]:
        """The noisy number; a public one is in the card."""
        return {} if self.public else {"total": np.array([self.value], dtype=np.int64)}

    def parameters(self) -> dict[str, Any]:
        """The law of its noise."""
        return {} if self.public else {"total": {"scale": self.scale, "pure": self.pure}}

    @classmethod
    def load(cls, n: int, parameters: dict[str, Any], tensors: dict[str, IntArray]) -> Self:
        """The inverse of `tensors` and `parameters`; n: a public one."""
        law = parameters.get("total")
        if law is None and n > 0:
            return cls(n)
        if law is None:
            raise KeyError("total")
        if tensors["total"].shape != (1,) or not law["scale"] > 0:
            raise MilepostError("the file's total does not fit its card")
        return cls(int(tensors["total"][0]), law["scale"], law["pure"])


def check_total(exact: int, n: int | None, change: ProtectedChange) -> int:
    """The number of records that a group's noise is sized for: the exact one where it is public, else n."""
    if change.public_total:
        if n is not None and n != exact:
            raise MilepostError("the table has changed while it was read; read it when nobody writes to it")
        if not exact > 0:
            raise MilepostError("the statistic has no records; at least one is needed")
        return exact
    if n is None:
        raise MilepostError("the number of rows is private here: say for how many to size the release")
    return max(n, 1)


def check_total_scale(scale: float) -> None:
    """Refuse noise that would not fit."""
    if scale:
        check_scale(scale)
