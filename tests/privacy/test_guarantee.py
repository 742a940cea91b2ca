"""Guarantee: what is refused, and conversions that round to the private side."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milepost import Guarantee, MilepostError
from milepost.privacy.guarantee import epsilon_of, rho_of
from tests.quick import examples


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, -math.inf, 1e9, 1e-12, "1", None, True])
def test_bad_epsilon_is_refused(epsilon: object) -> None:
    """The error names the argument."""
    with pytest.raises(MilepostError, match="epsilon"):
        Guarantee(epsilon)  # type: ignore[arg-type]


@pytest.mark.parametrize("delta", [1, 2, -1e-9, math.nan, math.inf, 1e-300, "0", None])
def test_bad_delta_is_refused(delta: object) -> None:
    """The error names the argument."""
    with pytest.raises(MilepostError, match="delta"):
        Guarantee(1, delta)  # type: ignore[arg-type]


@settings(max_examples=examples(40), deadline=None)
@given(st.floats(-3, 2.9), st.floats(-20, -0.01))
def test_round_trip_is_safe(log_epsilon: float, log_delta: float) -> None:
    """ρ of (ε, δ) implies no more than (ε, δ), and a ρ 0.1 % larger would imply more."""
    epsilon, delta = 10**log_epsilon, 10**log_delta
    rho = rho_of(epsilon, delta)
    assert epsilon_of(rho, delta) <= epsilon
    assert epsilon_of(rho * 1.001, delta) > epsilon


def test_the_conversion_is_the_tight_one() -> None:
    """DESIGN.md: ε = 1, δ = 1e-6 needs σ = 4.531 for sensitivity 1; the simple rule ρ + 2√(ρ ln 1/δ) needs 5.3."""
    rho = Guarantee(1, 1e-6).rho
    assert math.sqrt(0.5 / rho) == pytest.approx(4.531, abs=1e-3)
    assert rho + 2 * math.sqrt(rho * math.log(1e6)) > 1.1


def test_a_pure_guarantee_has_no_rho() -> None:
    """δ = 0 is honoured: nothing turns it into zCDP."""
    assert Guarantee(2.0).budget == 2.0
    with pytest.raises(MilepostError, match="delta=0 has no rho"):
        _ = Guarantee(2.0).rho


class TestShare:
    @pytest.mark.parametrize("accounting", ["gaussian", "zcdp"])
    def test_shares_of_a_budget_add_up(self, accounting: str) -> None:
        whole = Guarantee(1.0, 1e-6, accounting=accounting)
        parts = [whole.with_share(0.1), whole.with_share(0.9).with_share(0.5), whole.with_share(0.9).with_share(0.5)]
        assert sum(part.budget for part in parts) == pytest.approx(whole.budget, rel=1e-14)
        assert sum(part.rho for part in parts) == pytest.approx(whole.rho, rel=1e-14)
        assert sum(part.mu**2 for part in parts) == pytest.approx(whole.mu**2, rel=1e-14)
        assert parts[0].for_each(2).budget == pytest.approx(whole.budget / 40, rel=1e-14)

    def test_what_is_said_is_the_whole(self) -> None:
        whole = Guarantee(1.0, 1e-6)
        assert str(whole.with_share(0.1)) == str(whole)
        assert whole.with_share(0.1).to_json() == whole.to_json()
        assert whole.with_share(0.1).epsilon == 1
        assert whole.with_share(1.0) == whole
        with pytest.raises(MilepostError, match="a guarantee has epsilon, delta and accounting"):
            Guarantee.from_json(whole.to_json() | {"share": 0.1})

    @pytest.mark.parametrize("share", [0, -0.1, 1.1, math.nan])
    def test_other_shares_are_refused(self, share: float) -> None:
        with pytest.raises(MilepostError, match="share="):
            Guarantee(1.0, 1e-6).with_share(share)

    def test_pure_epsilon_has_none(self) -> None:
        with pytest.raises(MilepostError, match="delta=0"):
            Guarantee(1.0).with_share(0.5)
        assert Guarantee(1.0).with_share(1.0) == Guarantee(1.0)
