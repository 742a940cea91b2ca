"""Budget: exact costs and caps, rounded to the private side."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milepost import Guarantee, MilepostError
from milepost.privacy.accounting.budget import NANO, Amount, Cap, cost, exact_fraction
from milepost.privacy.gaussian_curve import MAX_LOSS, mu_of, mu_of_pure
from milepost.privacy.guarantee import ACCOUNTINGS, GAUSSIAN, PURE, ZCDP, epsilon_of, rho_of
from milepost.privacy.noise import ETA, MAX_DRAWS
from milepost.storage.sqlite import MAX_INTEGER

EPSILONS = st.floats(1e-9, 1e3)
KAPPA = 1.41e-77  # how far discrete noise of deviation 3 is from continuous noise, at most: see docs/proofs/gaussian.md


def billionths(number: Decimal, rounding: str) -> int:
    """Billionths of a decimal number, by Decimal's own rounding."""
    with localcontext(Context(prec=100)):
        return int((number * NANO).to_integral_value(rounding))


@given(st.lists(EPSILONS, min_size=1, max_size=4))
def test_pure_costs_add_up_exactly_and_round_up_once(epsilons: list[float]) -> None:
    """Against decimal arithmetic with a hundred digits."""
    guarantees = [Guarantee(epsilon) for epsilon in epsilons]
    cap = Cap.of(1e3, 0, None)
    with localcontext(Context(prec=100)):
        total = sum((Decimal(repr(epsilon)) for epsilon in epsilons), Decimal(0))
        squares = sum((Decimal(repr(epsilon)) ** 2 / 2 for epsilon in epsilons), Decimal(0))
    assert cap.price(cost(guarantees, PURE), spent=1) == billionths(total, ROUND_CEILING)
    assert cap.price(cost(guarantees, ZCDP), spent=1) == billionths(squares, ROUND_CEILING)


@given(EPSILONS)
def test_a_cap_is_rounded_down(epsilon: float) -> None:
    """To whole billionths; one below that is refused."""
    assert Cap.of(epsilon, 0, None).nano == billionths(Decimal(repr(epsilon)), ROUND_FLOOR)
    assert Cap.of(None, 0, epsilon).nano == billionths(Decimal(repr(epsilon)), ROUND_FLOOR)


@settings(max_examples=30)
@given(st.floats(1e-3, 30), st.floats(-12, -2), st.sampled_from(ACCOUNTINGS))
def test_a_guarantee_costs_what_it_is_spent_as_and_fills_its_own_cap(
    epsilon: float, exponent: float, accounting: str
) -> None:
    """Rounded up beside others, and not passing a cap of the same words when it is alone."""
    delta = 10**exponent
    exact = cost([Guarantee(epsilon, delta, accounting=accounting)], accounting)
    rho, mu = (Fraction(repr(value)) for value in (rho_of(epsilon, delta), mu_of(epsilon, delta)))
    assert exact == (rho if accounting == ZCDP else mu**2)
    cap = Cap.of(epsilon, delta, None, accounting)
    assert cap.nano <= exact * NANO <= cap.price(exact, spent=1) <= cap.nano + 1
    assert cap.price(exact, spent=0) == cap.nano
    assert cap.price(exact * 2, spent=0) > cap.nano


@given(EPSILONS)
def test_a_pure_charge_costs_the_gaussian_noise_that_tells_as_much(epsilon: float) -> None:
    """Against 50 digits of 2Φ⁻¹(e^ε/(1 + e^ε)) = 2√2·erf⁻¹(tanh(ε/2)), its definition: erfc(μ/√8) = 1 − tanh(ε/2)."""
    exact = cost([Guarantee(epsilon)], GAUSSIAN)
    assert exact == Fraction(repr(mu_of_pure(epsilon))) ** 2
    with mpmath.workdps(50):
        mu = mpmath.sqrt(mpmath.mpf(exact.numerator) / exact.denominator)
        told = [mpmath.erfc(mu * share / mpmath.sqrt(8)) for share in (1, 1 - mpmath.mpf(3e-9))]
        assert told[0] < 2 / (1 + mpmath.exp(epsilon)) < told[1]


def test_gaussian_noise_on_a_zcdp_budget_costs_half_of_its_square() -> None:
    """More than the ρ of the same (ε, δ): a release that takes a whole zCDP cap is calibrated by ρ."""
    gaussian, zcdp = (Guarantee(1, 1e-6, accounting=accounting) for accounting in ACCOUNTINGS)
    assert cost([gaussian], ZCDP) == cost([gaussian], GAUSSIAN) / 2 > cost([zcdp], ZCDP)
    cap = Cap.of(1, 1e-6, None, ZCDP)
    assert cap.price(cost([gaussian], ZCDP), spent=0) > cap.nano == cap.price(cost([zcdp], ZCDP), spent=0)


def test_zcdp_does_not_add_up_with_gaussian_noise() -> None:
    with pytest.raises(MilepostError, match=r"no charge that is spent as zCDP, got ε = 1, δ = 1e-06.* another mech"):
        cost([Guarantee(1), Guarantee(1, 1e-6, accounting=ZCDP)], GAUSSIAN)


def test_what_discrete_noise_adds_stays_below_its_reserve() -> None:
    """Every charge costs a billionth at least, so a cap bounds their number, and with it all numbers that are drawn."""
    smallest = [Guarantee(1e-9), Guarantee(1e-9, 1e-100)]
    largest = Cap.of(1e3, math.nextafter(1, 0), None)
    assert largest.accounting == GAUSSIAN
    assert [largest.price(cost([guarantee], GAUSSIAN), spent) for guarantee in smallest for spent in (0, 1)] == [1] * 4
    assert largest.nano * MAX_DRAWS * 2.1 * KAPPA <= MAX_LOSS
    assert 2 * sum(math.exp(-2 * (math.pi * ETA * j) ** 2) for j in (1, 2)) <= KAPPA


def test_a_float_is_read_as_python_prints_it() -> None:
    """Its binary value differs by 2⁻⁵³ of it at most, which is less than the slack of every mechanism."""
    from milepost.privacy.protected_change import SLACK

    assert exact_fraction(0.1) == Fraction(1, 10) != Fraction(0.1)
    assert abs(exact_fraction(0.1) / Fraction(0.1) - 1) < Fraction(SLACK - 1) / 1000
    assert Cap.of(1, 0, None).price(30 * exact_fraction(0.1), spent=1) == 3 * NANO


def test_a_shared_guarantee_costs_its_whole() -> None:
    """`for_each` divides what one image may spend, and all of them together spend everything."""
    guarantee = Guarantee(1, 1e-6)
    for accounting in ACCOUNTINGS:
        assert cost([guarantee.for_each(5)], accounting) == cost([guarantee], accounting)
    zcdp = Guarantee(1, 1e-6, accounting=ZCDP)
    assert cost([zcdp.for_each(5)], ZCDP) == cost([zcdp], ZCDP)
    assert cost([Guarantee(1).for_each(5)], PURE) == 1


def test_a_cost_beyond_64_bits_is_refused() -> None:
    cap = Cap.of(1, 0, None)
    assert cap.price(Fraction(MAX_INTEGER, NANO), spent=1) == MAX_INTEGER
    with pytest.raises(MilepostError, match="too large"):
        cap.price(Fraction(MAX_INTEGER, NANO) + Fraction(1, 10**30), spent=1)


def test_a_pure_cap_takes_pure_charges_only() -> None:
    with pytest.raises(MilepostError, match="takes charges with delta=0 only"):
        cost([Guarantee(1), Guarantee(1, 1e-9)], PURE)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((None, 0.0, None), "neither"),
        ((1, 0.0, 1), "both"),
        ((0, 0.0, None), "epsilon"),
        ((1, 1.5, None), "delta"),
        ((math.nan, 0.0, None), "epsilon"),
        (("1", 0.0, None), "epsilon"),
        ((None, 0.0, 0), "rho"),
        ((None, 0.0, -1.0), "rho"),
        ((None, 0.0, math.nan), "rho"),
        ((None, 0.0, math.inf), "rho"),
        ((None, 0.0, 1001), "rho"),
        ((None, 0.0, True), "rho"),
        ((None, 0.0, "1"), "rho"),
        ((None, 2.0, 1), "delta"),
        ((None, 0.0, 9e-10), "below one billionth"),
    ],
)
def test_what_is_no_cap_is_refused(arguments: tuple[float, float, float], message: str) -> None:
    with pytest.raises(MilepostError, match=message):
        Cap.of(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, 1e-6, None, "gausian"), "must be one of gaussian, zcdp, got 'gausian'; did you mean 'gaussian'"),
        ((1, 1e-6, None, 3), "must be one of gaussian, zcdp, got 3"),
        ((1, 1e-6, None, ["zcdp"]), "must be one of gaussian, zcdp"),
        ((1, 1e-6, None, "pure"), "accounting='pure' does not go with this cap. Give delta=0"),
        ((1, 0, None, "gaussian"), "accounting='gaussian' does not go with this cap. A cap with delta=0 adds up eps"),
        ((1, 0, None, "zcdp"), "accounting='zcdp' does not go with this cap. A cap with delta=0 adds up epsilon"),
        ((None, 0, 1, "gaussian"), "accounting='gaussian' does not go with this cap. A cap in rho= adds up rho"),
        ((None, 1e-6, 1, "pure"), "accounting='pure' does not go with this cap. A cap in rho= adds up rho"),
    ],
)
def test_an_accounting_that_contradicts_its_cap_is_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(MilepostError, match=message):
        Cap.of(*arguments)


def test_the_accounting_follows_from_the_cap() -> None:
    assert [Cap.of(*cap).accounting for cap in ((1, 1e-6, None), (1, 0, None), (None, 1e-6, 1))] == [
        GAUSSIAN,
        PURE,
        ZCDP,
    ]
    assert Cap.of(1, 1e-6, None, ZCDP).accounting == ZCDP
    assert Cap.of(1, 0, None, PURE) == Cap.of(1, 0, None)


def test_an_amount_is_told_in_both_ways() -> None:
    """ρ, and ε by OpenDP's tight conversion at any δ; a pure amount as ε."""
    amount = Cap.of(3, 1e-6, None, ZCDP).amount(100_000_000)
    assert amount.rho == 0.1
    assert amount.epsilon() == pytest.approx(epsilon_of(0.1, 1e-6), rel=1e-9)
    assert amount.epsilon() >= epsilon_of(0.1, 1e-6)
    assert str(amount) == "ρ = 0.1 (ε = 2.142 at δ = 1e-06)"
    assert str(Amount(123_456_789, ZCDP)) == "ρ = 0.123456789"
    assert str(Amount(1, PURE)) == "ε = 0.000000001"
    assert Amount(NANO, PURE).epsilon(1e-6) == Amount(NANO, PURE).epsilon() == 1


def test_an_amount_of_gaussian_noise_is_told_by_its_exact_curve() -> None:
    """μ², and an ε that is never too small, by 50 digits: less than that of the same ρ-zCDP."""
    amount = Cap.of(3, 1e-6, None).amount(200_000_000)
    assert amount.mu == math.sqrt(0.2)
    assert str(amount) == "μ² = 0.2 (ε = 1.995 at δ = 1e-06)"
    assert amount.epsilon() < Amount(100_000_000, ZCDP, 1e-6).epsilon()
    with mpmath.workdps(50):
        mu = mpmath.sqrt(mpmath.mpf("0.2"))
        deltas = []
        for epsilon in (amount.epsilon(), amount.epsilon() * (1 - 1e-8)):
            upper, lower = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
            deltas.append(mpmath.ncdf(upper) - mpmath.exp(epsilon) * mpmath.ncdf(lower))
        assert deltas[0] <= 1e-6 < deltas[1]


@pytest.mark.parametrize("accounting", ACCOUNTINGS)
def test_an_amount_is_converted_at_a_delta(accounting: str) -> None:
    amount = Amount(100_000_000, accounting, 1e-6)
    assert amount.epsilon(1e-9) > amount.epsilon() > amount.epsilon(1e-3)
    assert Amount(0, accounting).epsilon(1e-6) == 0
    for delta in (None, 0, 1, math.nan, "1", True):
        with pytest.raises(MilepostError, match="delta"):
            Amount(1, accounting).epsilon(delta)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("accounting", "name", "message"),
    [
        (PURE, "rho", r"accounting='pure' has no rho. It is counted in ε: use epsilon\(\)"),
        (PURE, "mu", "accounting='pure' has no mu"),
        (ZCDP, "mu", "accounting='zcdp' has no mu. It is counted in ρ: use rho"),
        (GAUSSIAN, "rho", "accounting='gaussian' has no rho. It is counted in μ²: use mu"),
    ],
)
def test_an_amount_has_no_number_of_another_accounting(accounting: str, name: str, message: str) -> None:
    with pytest.raises(MilepostError, match=message):
        getattr(Amount(1, accounting), name)
