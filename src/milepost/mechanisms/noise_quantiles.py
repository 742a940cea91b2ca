"""Quantiles of a sum of independent normal and Laplace noises, from its variance and its excess kurtosis.

A Laplace draw is a normal draw whose variance is an exponential one, so such a sum is normal with a random variance V
(of mean 1, when standardised) and its excess kurtosis is 3·Var V: 0 for a normal law, 3 for one Laplace draw.
"""

import math
from functools import lru_cache

import numpy as np
import scipy

from milepost._typing import FloatArray

KURTOSES = 3 * np.linspace(0, 1, 33) ** 2
TAILS = np.geomspace(1e-16, 1, 2001)  # tail probabilities at which the law of a random variance is discretised


def normal_quantile(failure: float) -> float:
    """Return z with Pr[|N(0, 1)| > z] = failure."""
    return -float(scipy.special.ndtri(failure / 2))


def laplace_quantile(failure: float) -> float:
    """Return z with Pr[|X| > z] = failure for a Laplace X of variance 1."""
    return math.log(1 / failure) / math.sqrt(2)


def mixture_quantile(kurtosis: FloatArray, failure: float) -> FloatArray:
    """Return z with Pr[|X| > z] = failure for a sum X of variance 1, at each excess kurtosis.

    Quantiles of sums of the same kurtosis differ by a few percent at most. Two kinds have the largest: one draw and a
    normal law far out, equal draws nearer. The result is the larger of these two quantiles.
    """
    if not np.any(kurtosis):  # a table takes a tenth of a second
        return np.full(np.shape(kurtosis), normal_quantile(failure))
    return np.asarray(np.interp(kurtosis, KURTOSES, _table(failure)))


@lru_cache(maxsize=64)
def _table(failure: float) -> FloatArray:
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
