"""The exact curve of Gaussian noise: conversions are on the private side, compared with 60-digit arithmetic."""

import itertools
import math
from collections.abc import Iterator

import mpmath
import numpy as np
import pytest

from milepost import MilepostError
from milepost.privacy.gaussian_curve import MAX_LOSS, delta_of, epsilon_of_mu, mu_of, mu_of_pure
from milepost.privacy.guarantee import Guarantee, rho_of
from milepost.privacy.noise import ETA, MAX_DRAWS

EPSILONS = (1e-9, 1e-6, 1e-3, 0.1, 0.5, 1.0, 2.0, 7.0, 50.0, 300.0, 1000.0)
DELTAS = (1e-100, 1e-60, 1e-30, 1e-12, 1e-6, 1e-3, 0.1, 0.5, 0.9)


@pytest.fixture(autouse=True)
def digits() -> Iterator[None]:
    with mpmath.workdps(60):
        yield


def normal(x: mpmath.mpf) -> mpmath.mpf:
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


def exact_delta(mu: float, epsilon: float) -> mpmath.mpf:
    """δ by definition, of the very floats, and with what discrete noise adds: (ε + 2ξ, e^ξ·δ)."""
    mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon) - 2 * mpmath.mpf(MAX_LOSS)
    delta = normal(mu / 2 - epsilon / mu) - mpmath.exp(epsilon) * normal(-mu / 2 - epsilon / mu)
    return mpmath.exp(MAX_LOSS) * delta


@pytest.mark.parametrize(("epsilon", "delta"), list(itertools.product(EPSILONS, DELTAS)))
def test_mu_is_on_the_private_side_and_close(epsilon: float, delta: float) -> None:
    mu = mu_of(epsilon, delta)
    assert exact_delta(mu, epsilon) <= delta < exact_delta(mu * (1 + 1e-8), epsilon)
    back = epsilon_of_mu(mu, delta)
    assert exact_delta(mu, back) <= delta
    assert abs(back - epsilon) <= 1e-6 * epsilon + 1e-8
    value = delta_of(mu, epsilon)
    assert exact_delta(mu, epsilon) <= value <= exact_delta(mu, epsilon) * (1 + 2e-9)


@pytest.mark.parametrize("seed", range(20))
def test_random_guarantees_are_on_the_private_side(seed: int) -> None:
    rng = np.random.default_rng(seed)
    epsilon, delta = 10 ** rng.uniform(-9, 3), 10 ** rng.uniform(-100, math.log10(0.9))
    mu = mu_of(epsilon, delta)
    assert exact_delta(mu, epsilon) <= delta < exact_delta(mu * (1 + 1e-8), epsilon)


@pytest.mark.parametrize("epsilon", [1e-9, 1e-4, 0.3, 0.999, 1.0, 3.0, 40.0, 745.0, 1000.0])
def test_pure_epsilon_has_at_least_this_mu(epsilon: float) -> None:
    """Φ(−μ/2) = 1/(1 + e^ε): the corner of the curve of randomised response."""
    corner = 1 / (1 + mpmath.exp(mpmath.mpf(epsilon)))
    mu = mu_of_pure(epsilon)
    assert normal(-mpmath.mpf(mu) / 2) <= corner < normal(-mpmath.mpf(mu) * (1 - 1e-8) / 2)


def test_a_pure_mechanism_is_below_the_gaussian_curve() -> None:
    """Randomised response of ε has no larger δ at any ε′ than Gaussian noise of its μ, and with μ = ε it would have."""
    epsilon = 2.0
    share = math.exp(epsilon) / (1 + math.exp(epsilon))
    others = np.linspace(0, epsilon, 200)
    response = np.array([share - math.exp(other) * (1 - share) for other in others])
    allowed = np.array([delta_of(mu_of_pure(epsilon), other) for other in others])
    assert np.all(response <= allowed)
    assert np.any(response > [delta_of(epsilon, other) for other in others])


def test_the_reserve_covers_every_draw_of_a_budget() -> None:
    """ξ ≤ 2.1·κ a number; a charge draws MAX_DRAWS at most and costs a billionth of μ² at least."""
    kappa = 2 * mpmath.nsum(lambda j: mpmath.exp(-2 * mpmath.pi**2 * ETA**2 * j**2), [1, mpmath.inf])
    charges = mpmath.mpf(mu_of(1000.0, 1 - 1e-9)) ** 2 * 10**9
    assert 2.1 * kappa * MAX_DRAWS * charges <= MAX_LOSS


def test_a_guarantee_gives_both() -> None:
    guarantee = Guarantee(1.0, 1e-6)
    assert 1 / guarantee.mu == pytest.approx(4.2247, abs=1e-4)
    assert guarantee.budget == guarantee.mu**2 / 2
    assert Guarantee(1.0, 1e-6, accounting="zcdp").budget == guarantee.rho == rho_of(1.0, 1e-6)
    assert guarantee.for_each(3).mu == guarantee.mu / 3
    assert Guarantee(1.0).accounting == Guarantee(1.0, accounting="zcdp").accounting == "pure"
    with pytest.raises(MilepostError, match="delta=0 has no mu"):
        _ = Guarantee(1.0).mu
    for wrong in ("renyi", "pure"):
        with pytest.raises(MilepostError, match="accounting= must be one of gaussian, zcdp"):
            Guarantee(1.0, 1e-6, accounting=wrong)


@pytest.mark.parametrize("guarantee", [Guarantee(1.0), Guarantee(1.0, 1e-6), Guarantee(1.0, 1e-6, accounting="zcdp")])
def test_a_card_keeps_the_accounting(guarantee: Guarantee) -> None:
    assert Guarantee.from_json(guarantee.to_json()) == guarantee


def test_older_cards_spent_rho() -> None:
    assert Guarantee.from_json({"epsilon": 1.0, "delta": 1e-6}).accounting == "zcdp"
    assert Guarantee.from_json({"epsilon": 1.0, "delta": 0.0}) == Guarantee(1.0)
