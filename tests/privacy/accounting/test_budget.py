"""Budget: exact costs and caps, rounded to the private side."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milepost import Guarantee, MilepostError
from milepost.privacy.accounting.budget import NANO, Amount, Cap, cost, exact_fraction
from milepost.privacy.guarantee import epsilon_of, rho_of
from milepost.storage.sqlite import MAX_INTEGER

EPSILONS = st.floats(1e-9, 1e3)


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
    assert cap.price(cost(guarantees, pure=True), spent=1) == billionths(total, ROUND_CEILING)
    assert cap.price(cost(guarantees, pure=False), spent=1) == billionths(squares, ROUND_CEILING)


@given(EPSILONS)
def test_a_cap_is_rounded_down(epsilon: float) -> None:
    """To whole billionths; one below that is refused."""
    assert Cap.of(epsilon, 0, None).nano == billionths(Decimal(repr(epsilon)), ROUND_FLOOR)
    assert Cap.of(None, 0, epsilon).nano == billionths(Decimal(repr(epsilon)), ROUND_FLOOR)


@settings(max_examples=30)
@given(st.floats(1e-3, 30), st.floats(-12, -2))
def test_a_guarantee_costs_its_rho_and_fills_its_own_cap(epsilon: float, exponent: float) -> None:
    """Rounded up beside others, and not passing a cap of the same words when it is alone."""
    delta = 10**exponent
    rho_cost = cost([Guarantee(epsilon, delta)], pure=False)
    assert rho_cost == Fraction(repr(rho_of(epsilon, delta)))
    cap = Cap.of(epsilon, delta, None)
    assert cap.nano <= rho_cost * NANO <= cap.price(rho_cost, spent=1) <= cap.nano + 1
    assert cap.price(rho_cost, spent=0) == cap.nano
    assert cap.price(rho_cost * 2, spent=0) > cap.nano


def test_a_float_is_read_as_python_prints_it() -> None:
    """Its binary value differs by 2⁻⁵³ of it at most, which is less than the slack of every mechanism."""
    from milepost.privacy.protected_change import SLACK

    assert exact_fraction(0.1) == Fraction(1, 10) != Fraction(0.1)
    assert abs(exact_fraction(0.1) / Fraction(0.1) - 1) < Fraction(SLACK - 1) / 1000
    assert Cap.of(1, 0, None).price(30 * exact_fraction(0.1), spent=1) == 3 * NANO


def test_a_shared_guarantee_costs_its_whole() -> None:
    """`for_each` divides what one image may spend, and all of them together spend everything."""
    guarantee = Guarantee(1, 1e-6)
    assert cost([guarantee.for_each(5)], pure=False) == cost([guarantee], pure=False)
    assert cost([Guarantee(1).for_each(5)], pure=True) == 1


def test_a_cost_beyond_64_bits_is_refused() -> None:
    cap = Cap.of(1, 0, None)
    assert cap.price(Fraction(MAX_INTEGER, NANO), spent=1) == MAX_INTEGER
    with pytest.raises(MilepostError, match="too large"):
        cap.price(Fraction(MAX_INTEGER, NANO) + Fraction(1, 10**30), spent=1)


def test_a_pure_cap_takes_pure_charges_only() -> None:
    with pytest.raises(MilepostError, match="takes charges with delta=0 only"):
        cost([Guarantee(1), Guarantee(1, 1e-9)], pure=True)


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


def test_an_amount_is_told_in_both_ways() -> None:
    """ρ, and ε by OpenDP's tight conversion at any δ; a pure amount as ε."""
    amount = Cap.of(3, 1e-6, None).amount(100_000_000)
    assert amount.rho == 0.1
    assert amount.epsilon() == pytest.approx(epsilon_of(0.1, 1e-6), rel=1e-9)
    assert amount.epsilon() >= epsilon_of(0.1, 1e-6)
    assert amount.epsilon(1e-9) > amount.epsilon() > amount.epsilon(1e-3)
    assert str(amount) == "ρ = 0.1 (ε = 2.142 at δ = 1e-06)"
    assert str(Amount(123_456_789, pure=False)) == "ρ = 0.123456789"
    assert str(Amount(1, pure=True)) == "ε = 0.000000001"
    assert Amount(0, pure=False).epsilon(1e-6) == 0
    assert Amount(NANO, pure=True).epsilon(1e-6) == Amount(NANO, pure=True).epsilon() == 1
    for delta in (None, 0, 1, math.nan, "1", True):
        with pytest.raises(MilepostError, match="delta"):
            Amount(1, pure=False).epsilon(delta)  # type: ignore[arg-type]
    with pytest.raises(MilepostError, match="no rho"):
        _ = Amount(1, pure=True).rho
