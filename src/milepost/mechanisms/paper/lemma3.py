"""The paper's own α: Lemma 3 with its constant 3000 and the convex learner of Lemma 6, for comparison only."""

import math
from collections.abc import Callable

from milepost.privacy.guarantee import Guarantee


def interactive_alpha(dimension: int, n: int, guarantee: Guarantee, queries: int, failure_probability: float) -> float:
    """Return Theorem 1's α for [0, 1]^ℓ with diameter 1.

    cα = 3000/(nε)·√(|S|m(α))·log(4/δ)·log(k/β) with |S| = 2ℓ and c = 1/(4ℓ).
    m(α) = 3ℓ·√(2ℓ/α): ℓ learners, each with Lemma 4's 3/√α₁ at α₁ = α/(2ℓ) (noisy oracle, Lemma 5).
    """
    return _alpha(dimension, n, guarantee, lambda _: math.log(queries / failure_probability))


def offline_alpha(dimension: int, n: int, guarantee: Guarantee, failure_probability: float) -> float:
    """Return Theorem 2's α: the interactive mechanism at α/2, with the 2ℓ²/α points of a grid as queries."""
    return 2 * _alpha(
        dimension, n, guarantee, lambda alpha: math.log(max(2.0, dimension**2 / alpha) / failure_probability)
    )


def _alpha(dimension: int, n: int, guarantee: Guarantee, log_failure: Callable[[float], float]) -> float:
    size = 2 * dimension

    def excess(log_alpha: float) -> float:
        alpha = math.exp(log_alpha)
        work = size * 3 * dimension * math.sqrt(2 * dimension / alpha)
        right = work if guarantee.pure else math.sqrt(work) * math.log(4 / guarantee.delta)
        right *= 3000 / (n * guarantee.epsilon) * log_failure(alpha)
        return log_alpha - math.log(4 * dimension * right)

    low, high = -80.0, 120.0
    for _ in range(60):  # bisection: 200·2⁻⁶⁰ is below the last bit
        middle = (low + high) / 2
        low, high = (low, middle) if excess(middle) > 0 else (middle, high)
    return math.exp(high)
