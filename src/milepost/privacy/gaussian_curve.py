"""The exact curve δ(ε) of Gaussian noise, and conversions of its parameter μ. See docs/proofs/gaussian.md.

A mechanism is μ-Gaussian if no test tells two neighboring tables apart better than one normal draw tells N(0, 1) from
N(μ, 1) (Dong, Roth, Su 2019). Every conversion is rounded to the private side, by a share of about 1e-9.
"""

import math
from collections.abc import Callable
from functools import lru_cache

import scipy

MARGIN = 1 + 1e-9  # covers the rounding of floats, and ξ, what discrete noise adds to δ and ε
MAX_LOSS = 1e-50  # ξ of all numbers that are ever drawn for one budget
SMALL = 0.5  # differences over shorter intervals are integrated, because they would cancel
LARGE = 20.0  # above it, erfcx is its asymptotic series
FAR, TINY = 25.0, 1e-270  # e^{−FAR²} < TINY, which is below every δ
GAUSS_LEGENDRE = (  # positive nodes and weights of the rule of 12 points on −1..1
    (0.1252334085114689, 0.2491470458134028),
    (0.3678314989981802, 0.2334925365383548),
    (0.5873179542866175, 0.2031674267230659),
    (0.7699026741943047, 0.1600783285433462),
    (0.9041172563704749, 0.1069393259953184),
    (0.9815606342467192, 0.0471753363865118),
)


def delta_of(mu: float, epsilon: float) -> float:
    """Return a δ, never too small, for which μ-Gaussian implies (ε, δ).

    δ = Φ(μ/2 − ε/μ) − e^ε·Φ(−μ/2 − ε/μ), which is ½e^{−u²}·(erfcx(u) − erfcx(u + μ/√2)) with u = (ε/μ − μ/2)/√2.

    >>> round(delta_of(1.0, 1.0), 6)
    0.126937
    """
    u, step = (epsilon / mu - mu / 2) / math.sqrt(2), mu / math.sqrt(2)
    if u > FAR:
        return TINY
    if step >= SMALL:
        twice = math.erfc(u) - math.exp(-u * u) * _erfcx(u + step)
    else:
        middle, half = u + step / 2, step / 2
        falls = (w * (_fall(middle - half * x) + _fall(middle + half * x)) for x, w in GAUSS_LEGENDRE)
        twice = math.exp(-u * u) * half * math.fsum(falls)
    return min(twice / 2 * MARGIN, 1.0)


def _erfcx(x: float) -> float:
    """Return exp(x²)·erfc(x), without SciPy, whose special functions take longer to import than a release takes."""
    if x < LARGE:
        return math.exp(x * x) * math.erfc(x)
    square = 1 / (2 * x * x)
    return (1 - square * (1 - 3 * square * (1 - 5 * square * (1 - 7 * square)))) / (x * math.sqrt(math.pi))


def _fall(x: float) -> float:
    """Return −erfcx′(x)."""
    return 2 / math.sqrt(math.pi) - 2 * x * _erfcx(x)


@lru_cache(maxsize=256)
def mu_of(epsilon: float, delta: float) -> float:
    """Return a μ, never too large, for which μ-Gaussian implies (ε, δ).

    >>> round(mu_of(1.0, 1e-6), 6)
    0.236704
    """
    return _boundary(lambda mu: delta_of(mu, epsilon) <= delta, rising=False)


def epsilon_of_mu(mu: float, delta: float) -> float:
    """Return an ε, never too small, for which μ-Gaussian implies (ε, δ).

    >>> round(epsilon_of_mu(0.236704, 1e-6), 4)
    1.0
    """
    if delta_of(mu, 0.0) <= delta:
        return 0.0
    return _boundary(lambda epsilon: delta_of(mu, epsilon) <= delta, rising=True)


def mu_of_pure(epsilon: float) -> float:
    """Return a μ, never too small, for which pure ε implies μ-Gaussian: 2Φ⁻¹(e^ε/(1 + e^ε)).

    >>> round(mu_of_pure(1.0), 4)
    1.232
    """
    if epsilon < 1:
        mu = 2 * math.sqrt(2) * float(scipy.special.erfinv(math.tanh(epsilon / 2)))
    else:
        mu = -2 * float(scipy.special.ndtri_exp(-(epsilon + math.log1p(math.exp(-epsilon)))))
    return mu * MARGIN


def _boundary(holds: Callable[[float], bool], rising: bool) -> float:
    """Return a positive number for which a condition holds, next to those for which it does not.

    rising: whether it holds for all larger numbers, rather than for all smaller ones.
    """
    step = 2.0 if rising else 0.5
    inside = 1.0
    while not holds(inside):
        inside *= step
    outside = inside / step
    while holds(outside):
        inside, outside = outside, outside / step
    while abs(outside - inside) > 1e-13 * inside:
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if holds(middle) else (inside, middle)
    return inside
