"""Adaptive charges: all that a ledger grants tells no more than its cap, by the exact δ of what was granted.

The second method knows no accounting. Gaussian releases together are one Gaussian; a pure ε is randomised response, the
worst that pure ε allows; and what follows may depend on what came out. So δ is a sum over outcomes of hockey sticks of
Gaussian noise, which this module computes from their definition.
"""

import math
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import special
from scipy.optimize import brentq

from milepost import BudgetExceededError, Guarantee, Ledger, MilepostError
from milepost._typing import FloatArray
from milepost.privacy.accounting import budget
from milepost.privacy.accounting.budget import NANO
from milepost.privacy.gaussian_curve import epsilon_of_mu
from milepost.privacy.guarantee import ACCOUNTINGS, GAUSSIAN, ZCDP

ROUNDING = 1 + 1e-6  # of this method, and of charges to billionths
CAPS = ((1.0, 1e-6), (0.05, 0.1), (4.0, 1e-9))


def gaussian_delta(square: float, epsilon: Any) -> Any:
    """δ of a normal draw, 0 or μ = √square from the origin, at any ε, also a negative one."""
    if square <= 0:
        return -np.expm1(np.minimum(epsilon, 0.0))
    mu = math.sqrt(square)
    upper, lower = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
    return np.exp(special.log_ndtr(upper)) - np.exp(epsilon + special.log_ndtr(lower))


def response(epsilon: float) -> list[tuple[float, float]]:
    """The probability and the loss of both outcomes of randomised response."""
    truth = 1 / (1 + math.exp(-epsilon))
    return [(truth, epsilon), (1 - truth, -epsilon)]


def square_of(guarantee: Guarantee) -> float:
    """μ² of the noisiest Gaussian release that has exactly this guarantee; of the one that is ρ-zCDP, if so spent."""
    if guarantee.accounting == ZCDP:
        return 2 * guarantee.rho

    def excess(exponent: float) -> float:
        return float(gaussian_delta(math.exp(exponent), guarantee.epsilon)) - guarantee.delta

    return math.exp(brentq(excess, -40, 8, xtol=1e-13))


@dataclass(frozen=True)
class Game:
    """Random charges on real ledgers, of which every outcome of a pure one continues on a copy of its own."""

    folder: Path
    rng: np.random.Generator
    names: Iterator[int]
    pure: float  # the share of pure charges

    def start(self, epsilon: float, delta: float, accounting: str) -> float:
        ledger = Ledger(self.folder / str(next(self.names)))
        ledger.create("homes", epsilon=epsilon, delta=delta, accounting=accounting)
        return self.worth(ledger, epsilon, 0.0, steps=4)

    def worth(self, ledger: Ledger, epsilon: float, square: float, steps: int) -> float:
        """δ at ε, given what came out before: with this Gaussian noise so far, and some charges to follow."""
        for step in range(steps):
            guarantee = self.guarantee(ledger)
            if guarantee is None or not granted(ledger, guarantee, refund=self.rng.random() < 0.2):
                continue
            if not guarantee.pure:
                square += square_of(guarantee)
                continue
            total = 0.0
            for probability, loss in response(guarantee.epsilon):
                copy = Path(shutil.copy(ledger.path, self.folder / str(next(self.names))))
                total += probability * self.worth(Ledger(copy), epsilon - loss, square, steps - step - 1)
            return total
        last = rest(ledger)
        if last is not None and granted(ledger, last, refund=False):
            square += square_of(last)
        return float(gaussian_delta(square, epsilon))

    def guarantee(self, ledger: Ledger) -> Guarantee | None:
        """Some part of what is left, or a little more."""
        account = ledger.account("homes")
        part = account.remaining.nano / NANO * self.rng.uniform(0.1, 1.1)
        square = part if account.accounting == GAUSSIAN else 2 * part
        if self.rng.random() < self.pure:
            return Guarantee(max(math.sqrt(square / 1.5), 1e-9))
        return spent_as(square, 10 ** self.rng.uniform(-10, -1), str(self.rng.choice(ACCOUNTINGS)))


def spent_as(square: float, delta: float, accounting: str = GAUSSIAN) -> Guarantee | None:
    """About this μ², said as (ε, δ) at this δ; None where any ε would be more."""
    epsilon = epsilon_of_mu(math.sqrt(square), delta) if square > 0 else 0.0
    return Guarantee(epsilon, delta, accounting=accounting) if epsilon >= 1e-9 else None


def rest(ledger: Ledger) -> Guarantee | None:
    """All that is left, to a millionth."""
    account = ledger.account("homes")
    square = account.remaining.nano / NANO * (1 - 1e-6)
    return spent_as(square if account.accounting == GAUSSIAN else 2 * square, 1e-9)


def granted(ledger: Ledger, guarantee: Guarantee, refund: bool) -> bool:
    """Whether the charge is granted, and not given back."""
    try:
        charge = ledger.charge("homes", guarantee)
    except MilepostError:
        return False
    if refund:
        charge.refund()
    return not refund


@pytest.mark.parametrize("accounting", ACCOUNTINGS)
@pytest.mark.parametrize(("epsilon", "delta"), CAPS)
def test_no_adaptive_charges_tell_more_than_the_cap(
    tmp_path: Path, epsilon: float, delta: float, accounting: str
) -> None:
    for seed in range(4):
        game = Game(tmp_path, np.random.default_rng(seed), count(100 * seed), pure=0.5)
        assert game.start(epsilon, delta, accounting) <= delta * ROUNDING


@pytest.mark.parametrize(("epsilon", "delta"), CAPS)
def test_gaussian_charges_that_fill_a_gaussian_cap_tell_just_as_much(
    tmp_path: Path, epsilon: float, delta: float
) -> None:
    """So that a price of any wrong scale would show; a zCDP cap is filled with less."""
    for seed in range(3):
        game = Game(tmp_path, np.random.default_rng(seed), count(100 * seed), pure=0.0)
        assert 0.99 * delta <= game.start(epsilon, delta, GAUSSIAN) <= delta * ROUNDING
    assert Game(tmp_path, np.random.default_rng(3), count(300), pure=0.0).start(epsilon, delta, ZCDP) < 0.7 * delta


def test_pure_charges_at_their_price_of_zcdp_would_tell_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin with a mistake: ε²/2-zCDP is what Gaussian noise of μ = ε has, but pure ε tells more than that noise."""
    epsilon, delta = 0.05, 0.1
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.create("homes", epsilon=epsilon, delta=delta)
    pure = Guarantee(ledger.remaining("homes").mu)
    with pytest.raises(BudgetExceededError):
        ledger.charge("homes", pure)
    monkeypatch.setattr(budget, "mu_of_pure", lambda epsilon: epsilon)
    ledger.charge("homes", pure)
    told = sum(chance * gaussian_delta(0.0, epsilon - loss) for chance, loss in response(pure.epsilon))
    assert told > 1.2 * delta
    game = Game(tmp_path, np.random.default_rng(0), count(), pure=0.5)
    assert game.start(epsilon, delta, GAUSSIAN) > 1.05 * delta  # by the same charges as above


# One step of Gaussian noise, then the better of several releases, after a look at what came out


def one_step(square: float, epsilon: float, choices: list[Callable[[FloatArray], FloatArray]]) -> float:
    """δ at ε of Gaussian noise and, by its log-likelihood ratio, of the choice that tells most at the rest of ε."""
    mu = math.sqrt(square)
    normal = np.linspace(-10, 10, 2001)
    weights = np.exp(-(normal**2) / 2) * (normal[1] - normal[0]) / math.sqrt(2 * math.pi)
    left = epsilon - (square / 2 + mu * normal)
    return float(weights @ np.max([choice(left) for choice in choices], axis=0))


def pure_choice(epsilon: float) -> Callable[[FloatArray], FloatArray]:
    def delta(left: FloatArray) -> FloatArray:
        return np.asarray(sum(chance * gaussian_delta(0.0, left - loss) for chance, loss in response(epsilon)))

    return delta


def gaussian_choice(square: float) -> Callable[[FloatArray], FloatArray]:
    return lambda left: np.asarray(gaussian_delta(square, left))


def two_point_choice(rho: float) -> Callable[[FloatArray], FloatArray]:
    """For each ε the worst of those ρ-zCDP pairs that have two outcomes: a rare one with a large loss, and another."""
    losses = np.linspace(0.01, 1, 150) * 14 * math.sqrt(rho)
    low, high = np.full_like(losses, -200.0), np.full_like(losses, -1e-6)
    for _ in range(40):
        middle = (low + high) / 2
        fits = excess_of_zcdp(middle, losses, rho) <= 0
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    rare = np.exp(low) * (1 - 1e-4)

    def delta(left: FloatArray) -> FloatArray:
        return np.asarray(np.max(rare * np.maximum(-np.expm1(left[:, None] - losses), 0), axis=1))

    return delta


def excess_of_zcdp(log_rare: FloatArray, losses: FloatArray, rho: float) -> FloatArray:
    """By how much (α − 1)·D_α exceeds ρ·α·(α − 1) at most, over orders and both directions, for each pair."""
    orders = 1 + np.geomspace(1e-3, 1e4, 300)[:, None]
    here, there = log_rare, log_rare - losses
    here_not, there_not = (np.log1p(-np.exp(log)) for log in (here, there))
    excess = []
    for p, q, p_not, q_not in ((here, there, here_not, there_not), (there, here, there_not, here_not)):
        sums = np.logaddexp(p + (orders - 1) * (p - q), p_not + (orders - 1) * (p_not - q_not))
        excess.append(np.max(sums - rho * orders * (orders - 1), axis=0))
    return np.asarray(np.maximum(*excess))


def test_a_pure_charge_after_a_look_at_gaussian_noise(tmp_path: Path) -> None:
    """At its price it fits a small δ, too, and at its price of zCDP it would not."""
    ledger, first = Ledger(tmp_path / "ledger.db"), Guarantee(0.945, 1e-6)
    ledger.create("homes", epsilon=1, delta=1e-6)
    ledger.charge("homes", first)
    mu = ledger.remaining("homes").mu
    pure = Guarantee(pure_of(mu * (1 - 1e-6)))
    ledger.charge("homes", pure)
    right, wrong = pure_choice(pure.epsilon), pure_choice(mu)
    square = square_of(first)
    assert 0.999e-6 < one_step(square, 1.0, [gaussian_choice(mu**2), right]) <= 1e-6 * ROUNDING
    assert one_step(square, 1.0, [gaussian_choice(mu**2), wrong]) > 1.08e-6


def pure_of(mu: float) -> float:
    """The pure ε that tells as much as Gaussian noise at ε = 0: 2Φ(μ/2) − 1 = tanh(ε/2)."""
    return 2 * math.atanh(math.erf(mu / math.sqrt(8)))


def ledger_after(path: Path, accounting: str) -> tuple[Ledger, float]:
    """A ledger of ε = 1, δ = 1e-6 and one charge, and the μ² of that charge."""
    ledger, first = Ledger(path), Guarantee(0.42, 1e-6)
    ledger.create("homes", epsilon=1, delta=1e-6, accounting=accounting)
    ledger.charge("homes", first)
    return ledger, square_of(first)


def test_either_of_two_accountings_would_grant_too_much(tmp_path: Path) -> None:
    """A twin with a mistake: each accounting alone holds, whatever is chosen; "granted by one of the two" does not."""
    (one, square), (other, _) = (ledger_after(tmp_path / name, name) for name in ACCOUNTINGS)
    mu, rho = one.remaining("homes").mu, other.remaining("homes").rho
    by_mu = [gaussian_choice(mu**2), pure_choice(pure_of(mu))]
    by_rho = [two_point_choice(rho), gaussian_choice(2 * rho), pure_choice(math.sqrt(2 * rho))]
    assert 0.999e-6 < one_step(square, 1.0, by_mu) <= 1e-6 * ROUNDING
    assert 0.8e-6 < one_step(square, 1.0, by_rho) <= 1e-6
    assert one_step(square, 1.0, by_mu + by_rho) > 1.03e-6
    # each ledger refuses what only the other would grant
    all_of_mu = spent_as(mu**2 * (1 - 1e-6), 1e-6)
    assert all_of_mu is not None
    with pytest.raises(BudgetExceededError):
        other.charge("homes", all_of_mu)
    one.charge("homes", all_of_mu)
    with pytest.raises(MilepostError, match="takes no charge that is spent as zCDP"):
        one.charge("homes", Guarantee(1e-3, 1e-6, accounting=ZCDP))
    other.charge("homes", Guarantee(other.remaining("homes").epsilon() * (1 - 1e-6), 1e-6, accounting=ZCDP))
