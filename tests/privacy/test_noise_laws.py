"""The laws of the noise, against exact probabilities: the middle, the tails and the lowest bits.

A scale that is off by 3 % is told from the right one, and so is noise that depends on the number that it is added to.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.special import ndtr

from milepost._typing import AnyArray, FloatArray, IntArray
from milepost.privacy.noise import discrete_gaussian, laplace
from milepost.spaces.embeddings.embedding import QUANTA
from tests import chance
from tests.chance import assert_fit, assert_rate, assert_scale, assert_wrong_fit, scale_draws

TAILS = {1e-2: 1.5, 1e-3: 3.0, 1e-4: 10.0}  # how likely the tails are, about, and how much more would be noticed
VALUE = 123_456_789  # on which every second draw is made, and the others on 0
EXACT = 1000.0  # up to this scale Gaussian probabilities are summed; the error of an integral falls as its square


@dataclass(frozen=True)
class Law:
    """A law of noise, how it is drawn, and how many draws tell its scale."""

    name: chance.Law
    add: Callable[[IntArray, float], IntArray]
    draws: int

    def below(self, scale: float, bound: AnyArray | int) -> FloatArray:
        """Pr[X < bound], exactly."""
        x: FloatArray = np.asarray(bound, dtype=np.float64)
        if self.name == "laplace":
            r = np.exp(-1 / scale)
            # Pr[X ≥ m] = r^m/(1 + r) for m ≥ 1, and the law is symmetric
            above, below = r ** np.maximum(x, 1) / (1 + r), r ** np.maximum(1 - x, 1) / (1 + r)
            return np.asarray(np.where(x >= 1, 1 - above, below))
        if scale > EXACT:
            return np.asarray(ndtr((x - 0.5) / scale))
        support = np.arange(-int(40 * scale) - 40, int(40 * scale) + 41)
        weight = np.exp(-(support**2) / (2 * scale**2))
        shares = np.concatenate([[0], np.cumsum(weight / weight.sum())])
        return np.asarray(shares[(x - support[0]).astype(np.int64)])


LAWS: dict[chance.Law, Law] = {
    law.name: law for law in (Law("gaussian", discrete_gaussian, 140_000), Law("laplace", laplace, 280_000))
}
SCALES = (1.5, 20.7, 1.3 * QUANTA)


def borders(scale: float) -> IntArray:
    """Integers about a quarter of the scale apart, from −3 to 3 scales."""
    return np.unique(np.rint(np.arange(-3, 3.01, 0.25) * scale).astype(np.int64))


def cells(law: Law, scale: float, edges: IntArray) -> FloatArray:
    """Probabilities between the borders and beyond them."""
    return np.diff(law.below(scale, edges), prepend=0.0, append=1.0)


@pytest.mark.slow
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", LAWS)
def test_draws_have_the_exact_law(name: chance.Law, scale: float) -> None:
    """Not rejected at its own scale, rejected at 0.97 and 1.03 of it; tails by exact rates; even low bits."""
    law, edges = LAWS[name], borders(scale)
    values = np.where(np.arange(law.draws) % 2, VALUE, 0)
    draws = law.add(values, scale) - values
    counts = np.bincount(np.searchsorted(edges, draws, side="right"), minlength=len(edges) + 1)
    right, wrong = cells(law, scale, edges), [cells(law, scale * factor, edges) for factor in (0.97, 1.03)]
    assert_fit(counts, right, against=wrong)
    for other in wrong:
        assert_wrong_fit(counts, other, right)
    for share, ratio in TAILS.items():
        threshold = tail_at(law, scale, share)
        probability = float(law.below(scale, 1 - threshold))  # Pr[X ≤ −threshold], and Pr[X ≥ threshold] by symmetry
        hits = [int((draws <= -threshold).sum()), int((draws >= threshold).sum())]
        assert_rate(hits, law.draws, at_least=probability, at_most=probability, against=ratio * probability)
    if scale > EXACT:  # the lowest four bits of so wide a law are even but for less than 1e-9
        even = np.full(16, 1 / 16)
        odd = even * np.where(np.arange(16) % 2, 1.05, 0.95)
        assert_fit(np.bincount(draws & 15, minlength=16), even, against=[odd])


@pytest.mark.parametrize("name", LAWS)
def test_noise_does_not_depend_on_its_number(name: chance.Law) -> None:
    """On 0 and on numbers far from it, noise has one scale: half of it on some would be noticed."""
    draws = scale_draws(0.5, law=name)
    for value in (0, VALUE, -(1 << 50)):
        errors = LAWS[name].add(np.full(draws, value), 50.0) - value
        assert_scale(errors / 50, law=name, against=0.5, comparisons=3)


def tail_at(law: Law, scale: float, share: float) -> int:
    """An integer over which the law is with about this probability."""
    candidates = np.unique(np.rint(np.linspace(0.5, 14, 2000) * scale).astype(np.int64))
    probabilities = law.below(scale, 1 - candidates)
    return int(candidates[np.argmin(np.abs(np.log(probabilities / share)))])


@pytest.mark.parametrize("name", LAWS)
def test_exact_probabilities_are_those_of_the_definition(name: chance.Law) -> None:
    """A second method: sums of e^{−|x|/b} or e^{−x²/2σ²} over all integers."""
    x = np.arange(-4000, 4001)
    for scale in (0.7, 1.5, 20.7, 90.0):
        weight = np.exp(-np.abs(x) / scale) if name == "laplace" else np.exp(-(x**2) / (2 * scale**2))
        below = np.concatenate([[0], np.cumsum(weight)[:-1]]) / weight.sum()
        points = np.arange(-60, 61)
        np.testing.assert_allclose(LAWS[name].below(scale, points), below[points + 4000], atol=1e-12)


def test_wide_gaussians_are_summed_as_integrals() -> None:
    """At the scale where the integral takes over, both agree to 1e-7, far less than the tests can see."""
    edges = borders(EXACT)
    np.testing.assert_allclose(LAWS["gaussian"].below(EXACT, edges), ndtr((edges - 0.5) / EXACT), atol=1e-7)
