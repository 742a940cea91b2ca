"""The laws of the noise, against exact probabilities: the middle, the tails and the lowest bits.

All tests here together raise a false alarm with probability at most 1e-6: ALARM for each of fewer than a hundred
comparisons. They miss a scale that is off by 3 % with less than MISS, which is computed and not hoped for.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import binom, chi2, ncx2

from milepost.arrays import AnyArray, FloatArray, IntArray
from milepost.privacy.noise import gaussian, laplace
from milepost.spaces.base import QUANTA

ALARM = 1e-8
MISS = 1e-9
TAILS = (1e-2, 1e-3, 1e-4)  # how likely the tails are that are looked at, about
VALUE = 123_456_789  # on which noise is drawn
EXACT = 1000.0  # up to this scale Gaussian probabilities are summed; the error of an integral falls as its square


@dataclass(frozen=True)
class Law:
    """A law of noise, how it is drawn, and how many draws tell its scale."""

    name: str
    add: Callable[[IntArray, float], IntArray]
    draws: int

    def below(self, scale: float, least: AnyArray | int) -> FloatArray:
        """Pr[X < least], exactly."""
        at: FloatArray = np.asarray(least, dtype=np.float64)
        if self.name == "laplace":
            r = np.exp(-1 / scale)
            # Pr[X ≥ m] = r^m/(1 + r) for m ≥ 1, and the law is symmetric
            above, below = r ** np.maximum(at, 1) / (1 + r), r ** np.maximum(1 - at, 1) / (1 + r)
            return np.asarray(np.where(at >= 1, 1 - above, below))
        if scale > EXACT:
            return np.asarray(ndtr((at - 0.5) / scale))
        support = np.arange(-int(40 * scale) - 40, int(40 * scale) + 41)
        weight = np.exp(-(support**2) / (2 * scale**2))
        shares = np.concatenate([[0], np.cumsum(weight / weight.sum())])
        return np.asarray(shares[(at - support[0]).astype(np.int64)])


LAWS = {law.name: law for law in (Law("gaussian", gaussian, 200_000), Law("laplace", laplace, 300_000))}
SCALES = (1.5, 20.7, 1.3 * QUANTA)


def borders(scale: float) -> IntArray:
    """Integers about a quarter of the scale apart, from −3 to 3 scales."""
    return np.unique(np.rint(np.arange(-3, 3.01, 0.25) * scale).astype(np.int64))


def cells(law: Law, scale: float, at: IntArray) -> FloatArray:
    """Probabilities between the borders and beyond them."""
    return np.diff(law.below(scale, at), prepend=0.0, append=1.0)


def misfit(counts: IntArray, shares: FloatArray) -> tuple[float, int]:
    """χ² and its degrees of freedom."""
    expected = counts.sum() * shares
    assert expected.min() > 100  # so that χ² has its law far out, too
    return float(np.sum((counts - expected) ** 2 / expected)), len(counts) - 1


def limit(freedom: int) -> float:
    """What χ² is over with probability ALARM."""
    return float(chi2.isf(ALARM, freedom))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("factor", [0.97, 1.03])
def test_a_scale_that_is_off_by_three_percent_would_be_seen(name: str, scale: float, factor: float) -> None:
    """The power of the next test, from the noncentral χ² law, without a draw."""
    law, at = LAWS[name], borders(scale)
    true, claimed = cells(law, scale * factor, at), cells(law, scale, at)
    noncentral = law.draws * float(np.sum((true - claimed) ** 2 / claimed))
    assert ncx2.cdf(limit(len(claimed) - 1), len(claimed) - 1, noncentral) < MISS


@pytest.mark.slow
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", LAWS)
def test_draws_have_the_exact_law(name: str, scale: float) -> None:
    """Not rejected at its own scale, rejected at 0.97 and 1.03 of it; tails by exact binomial bounds; even low bits."""
    law, at = LAWS[name], borders(scale)
    draws = law.add(np.full(law.draws, VALUE), scale) - VALUE
    counts = np.bincount(np.searchsorted(at, draws, side="right"), minlength=len(at) + 1)
    for factor in (1.0, 0.97, 1.03):
        found, freedom = misfit(counts, cells(law, scale * factor, at))
        assert (found < limit(freedom)) == (factor == 1.0), (factor, found)
    for share in TAILS:
        least = tail_at(law, scale, share)
        exactly = float(law.below(scale, 1 - least))  # Pr[X ≤ −least], and Pr[X ≥ least] by symmetry
        for hits in (int((draws <= -least).sum()), int((draws >= least).sum())):
            assert binom.cdf(hits, law.draws, exactly) > ALARM, (share, hits)
            assert binom.sf(hits - 1, law.draws, exactly) > ALARM, (share, hits)
    if scale > EXACT:  # the lowest four bits of so wide a law are even but for less than 1e-9
        found, freedom = misfit(np.bincount(draws & 15, minlength=16), np.full(16, 1 / 16))
        assert found < limit(freedom)


def tail_at(law: Law, scale: float, share: float) -> int:
    """An integer over which the law is with about this probability."""
    tried = np.unique(np.rint(np.linspace(0.5, 14, 2000) * scale).astype(np.int64))
    over = law.below(scale, 1 - tried)
    return int(tried[np.searchsorted(-over, -share)])


@pytest.mark.parametrize("name", LAWS)
def test_exact_probabilities_are_those_of_the_definition(name: str) -> None:
    """A second method: sums of e^{−|x|/b} or e^{−x²/2σ²} over all integers."""
    x = np.arange(-4000, 4001)
    for scale in (0.7, 1.5, 20.7, 90.0):
        weight = np.exp(-np.abs(x) / scale) if name == "laplace" else np.exp(-(x**2) / (2 * scale**2))
        below = np.concatenate([[0], np.cumsum(weight)[:-1]]) / weight.sum()
        at = np.arange(-60, 61)
        np.testing.assert_allclose(LAWS[name].below(scale, at), below[at + 4000], atol=1e-12)


def test_wide_gaussians_are_summed_as_integrals() -> None:
    """At the scale where the integral takes over, both agree to 1e-7, far less than the tests can see."""
    at = borders(EXACT)
    np.testing.assert_allclose(LAWS["gaussian"].below(EXACT, at), ndtr((at - 0.5) / EXACT), atol=1e-7)
