"""Privacy claims of mechanisms, and the smallest loss that the probabilities of one event allow."""

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
import scipy

from milepost._typing import AnyArray, FloatArray

VISIBLE_DELTA = (0.01, 0.1)  # a Gaussian claim is tested at these δ: a million runs cannot detect 1e-6


class Claim(Protocol):
    """A number that bounds the privacy loss of a pair of tables; a larger number is a weaker claim."""

    symbol: ClassVar[str]

    @property
    def loss(self) -> float:
        """Return the claimed loss, in a unit in which doubling the noise halves the loss."""

    def refuted_below(self, likely: FloatArray, unlikely: FloatArray) -> FloatArray:
        """Return the smallest loss that allows an event of probability ≥ `likely` here and ≤ `unlikely` there."""

    def testable(self, unlikely: FloatArray) -> AnyArray:
        """Return whether an event with this probability on the other table may be used as a test."""


@dataclass(frozen=True)
class Pure:
    """ε-differential privacy: Pr[E] ≤ e^ε·Pr′[E]."""

    symbol: ClassVar[str] = "ε"
    loss: float

    def refuted_below(self, likely: FloatArray, unlikely: FloatArray) -> FloatArray:
        """Return ln(Pr[E]/Pr′[E])."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.maximum(np.log(likely) - np.log(unlikely), 0.0))

    def testable(self, unlikely: FloatArray) -> AnyArray:
        """Accept any event."""
        return np.ones(unlikely.shape, dtype=bool)


@dataclass(frozen=True)
class Gaussian:
    """Gaussian noise: no test separates the tables better than N(0, 1) from N(μ, 1); μ = Δ₂/σ.

    Discrete noise of parameter √(σ² + η²) satisfies this up to a factor e^ξ, which is negligible.
    """

    symbol: ClassVar[str] = "μ"
    loss: float

    def refuted_below(self, likely: FloatArray, unlikely: FloatArray) -> FloatArray:
        """Return Φ⁻¹(Pr[E]) − Φ⁻¹(Pr′[E])."""
        return np.asarray(np.maximum(scipy.special.ndtri(likely) - scipy.special.ndtri(unlikely), 0.0))

    def testable(self, unlikely: FloatArray) -> AnyArray:
        """Accept events where the claimed profile is at a δ′ between 0.01 and 0.1."""
        delta = self.profile(unlikely)
        return (delta >= VISIBLE_DELTA[0]) & (delta <= VISIBLE_DELTA[1])

    def profile(self, unlikely: FloatArray) -> FloatArray:
        """Return δ′ of the claimed profile at the ε′ whose best event has probability `unlikely` on the other table."""
        x = -scipy.special.ndtri(np.clip(unlikely, 1e-300, 1 - 1e-16))
        with np.errstate(over="ignore", invalid="ignore"):
            delta = scipy.special.ndtr(self.loss - x) - np.exp(self.loss * x - self.loss**2 / 2) * scipy.special.ndtr(
                -x
            )
        return np.asarray(delta)


@dataclass(frozen=True)
class Concentrated:
    """ρ-zCDP of a mechanism that is not Gaussian noise alone, as μ = √(2ρ): D_α ≤ ρα for every α > 1.

    An event is a post-processing, so its two Bernoulli laws keep the same bound. ρ-zCDP implies no more about one
    event, and less than `Gaussian` does: an audit of this claim measures at most about 0.8 of it.
    """

    symbol: ClassVar[str] = "μ"
    loss: float

    def refuted_below(self, likely: FloatArray, unlikely: FloatArray) -> FloatArray:
        """Return √(2ρ) of the largest D_α(Bernoulli ‖ Bernoulli)/α over a grid of orders."""
        p, q = (
            np.clip(np.asarray(share, dtype=np.float64), 1e-300, 1 - 1e-16)[..., None] for share in (likely, unlikely)
        )
        order = 1 + np.geomspace(1e-3, 1e3, 200)
        moment = np.logaddexp(
            order * np.log(p) + (1 - order) * np.log(q), order * np.log1p(-p) + (1 - order) * np.log1p(-q)
        )
        rho = np.max(moment / (order - 1) / order, axis=-1)
        return np.where(p[..., 0] > q[..., 0], np.sqrt(2 * np.maximum(rho, 0.0)), 0.0)

    def testable(self, unlikely: FloatArray) -> AnyArray:
        """Accept any event."""
        return np.ones(unlikely.shape, dtype=bool)


def concentrated(rho: float) -> Concentrated:
    """Return the claim of ρ-zCDP."""
    return Concentrated(math.sqrt(2 * rho))
