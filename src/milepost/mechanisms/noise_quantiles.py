"""Quantiles of a sum of independent normal and Laplace noises, from its variance and its excess kurtosis.

A Laplace draw is a normal draw whose variance is an exponential one, so such a sum is normal with a random variance V
(of mean 1, when standardised) and its excess kurtosis is 3·Var V: 0 for a normal law, 3 for one Laplace draw.
"""

import math
from functools import lru_cache
from pathlib import Path
from statistics import NormalDist

import numpy as np
import scipy

from milepost._typing import AnyArray, FloatArray

TABLES = Path(__file__).with_name("noise_tables.npz")  # made by tools/noise_tables.py
FAILURES = np.geomspace(1e-12, 0.5, 97)  # at which quantiles are tabulated
KURTOSES = 3 * np.linspace(0, 1, 33) ** 2
TAILS = np.geomspace(1e-16, 1, 2001)  # tail probabilities at which the law of a random variance is discretised


@lru_cache(maxsize=1024)
def normal_quantile(failure: float) -> float:
    """Return z with Pr[|N(0, 1)| > z] = failure; negative for a failure above 1, where Pr[N(0, 1) > z] = failure/2."""
    return -NormalDist().inv_cdf(failure / 2)


@lru_cache(maxsize=1024)
def student_quantile(freedom: int, failure: float) -> float:
    """Return z with Pr[|T| > z] = failure for Student's T with this many degrees of freedom.

    Its distribution is a finite sum of powers of the cosine of θ = arctan(z/√freedom) (Abramowitz and Stegun, 26.7.3
    and 26.7.4), which is inverted by bisection. (SciPy's function is slow to import.)
    """

    def within(angle: float) -> float:
        sine, cosine = math.sin(angle), math.cos(angle)
        odd = freedom % 2
        term, total = (cosine, 0.0) if odd else (1.0, 0.0)
        for k in range(freedom // 2):
            total += term
            term *= cosine**2 * ((2 * k + 2) / (2 * k + 3) if odd else (2 * k + 1) / (2 * k + 2))
        return (angle + sine * total) * 2 / math.pi if odd else sine * total

    low, high = 0.0, math.pi / 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if within(middle) < 1 - failure else (low, middle)
    return math.sqrt(freedom) * math.tan(high)


def laplace_quantile(failure: float) -> float:
    """Return z with Pr[|X| > z] = failure for a Laplace X of variance 1."""
    return math.log(1 / failure) / math.sqrt(2)


def mixture_quantile(kurtosis: FloatArray, failure: float) -> FloatArray:
    """Return z with Pr[|X| > z] = failure for a sum X of variance 1, at each excess kurtosis.

    Quantiles of sums of the same kurtosis differ by a few percent at most. Two kinds have the largest: one draw and a
    normal law far out, equal draws nearer. The result is the larger of these two quantiles.
    """
    if not np.any(kurtosis):
        return np.full(np.shape(kurtosis), normal_quantile(failure))
    return np.asarray(np.interp(kurtosis, KURTOSES, _table(failure)))


def min_mixture_quantile(failure: float) -> float:
    """Return a lower bound of `mixture_quantile` at any excess kurtosis of 0..3: at the ends, less 1 %."""
    return 0.99 * min(normal_quantile(failure), laplace_quantile(failure))


@lru_cache(maxsize=1)
def noise_tables() -> dict[str, AnyArray]:
    """Return the tables that the package ships, by name."""
    with np.load(TABLES) as arrays:
        return dict(arrays)


@lru_cache(maxsize=64)
def _table(failure: float) -> FloatArray:
    """Return quantiles at KURTOSES: by a cubic in ln failure through the four nearest of FAILURES."""
    if not FAILURES[1] <= failure <= FAILURES[-2]:
        return compute_quantiles(failure)
    first = min(max(int(np.searchsorted(FAILURES, failure)) - 2, 0), len(FAILURES) - 4)
    nodes, x = np.log(FAILURES[first : first + 4]), math.log(failure)
    weights = [math.prod((x - b) / (a - b) for b in nodes.tolist() if b != a) for a in nodes.tolist()]
    inner = weights @ noise_tables()["mixture"][first : first + 4].astype(np.float64)
    return np.array([normal_quantile(failure), *inner[1:-1], laplace_quantile(failure)])


def compute_quantiles(failure: float) -> FloatArray:
    """Compute quantiles at KURTOSES, in about a tenth of a second."""
    inner = [
        max(_quantile(variances, failure) for variances in (_one_draw(kurtosis), _equal_draws(kurtosis)))
        for kurtosis in KURTOSES[1:-1]
    ]
    return np.array([normal_quantile(failure), *inner, laplace_quantile(failure)])


def _one_draw(kurtosis: float) -> FloatArray:
    """Return variances of one Laplace draw plus a normal law: float64[len(TAILS) − 1], at the midpoints of TAILS."""
    share = math.sqrt(kurtosis / 3)
    return 1 - share - share * np.log(_midpoints())


def _equal_draws(kurtosis: float) -> FloatArray:
    """Return variances of a sum of equal Laplace draws, whose number may be any real."""
    draws = 3 / kurtosis
    return np.asarray(scipy.special.gammainccinv(draws, _midpoints()) / draws)


def _midpoints() -> FloatArray:
    return np.asarray((TAILS[1:] + TAILS[:-1]) / 2)


def _quantile(variances: FloatArray, failure: float) -> float:
    weights, deviations = np.diff(TAILS), np.sqrt(variances)
    return float(
        scipy.optimize.brentq(lambda z: 2 * float(weights @ scipy.special.ndtr(-z / deviations)) - failure, 0, 100)
    )
