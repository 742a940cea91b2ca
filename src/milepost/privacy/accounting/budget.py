"""Costs of guarantees and caps of budgets, in whole billionths of what adds up: ε, ρ or μ².

The accounting of a budget says which: "pure" adds up ε, "zcdp" adds up ρ, and "gaussian" adds up μ². It never changes:
granting each charge by whichever of two accountings leaves more is not a guarantee. See docs/proofs/composition.md.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from milepost._validation import did_you_mean
from milepost.errors import MilepostError
from milepost.privacy.gaussian_curve import epsilon_of_mu, mu_of, mu_of_pure
from milepost.privacy.guarantee import ACCOUNTINGS, GAUSSIAN, PURE, UNITS, ZCDP, Guarantee, epsilon_of, rho_of
from milepost.storage.sqlite import MAX_INTEGER

NANO = 10**9
MAX_RHO = 1e3


def exact_fraction(value: float) -> Fraction:
    """Return the number that Python prints for a float, exactly: 0.1 is one tenth, so a cap of 1 allows 0.1 ten times.

    The float itself may be larger by a share of at most 2⁻⁵³. Mechanisms spend less than their guarantee by a share of
    1e-12 (`SLACK`), which covers that.

    >>> 10 * exact_fraction(0.1) == 1
    True
    """
    return Fraction(repr(value))


def cost(guarantees: Iterable[Guarantee], accounting: str) -> Fraction:
    """Return the exact cost of several guarantees: Σε, Σρ or Σμ². Refuse a guarantee that does not add up with others.

    The cost is that of the whole guarantee, however many images share it.

    >>> float(cost([Guarantee(1.0), Guarantee(2.0)], "zcdp"))
    2.5
    """
    return sum((_cost(guarantee, accounting) for guarantee in guarantees), Fraction(0))


def _cost(guarantee: Guarantee, accounting: str) -> Fraction:
    """Return the exact cost of one guarantee.

    A pure ε is ε²/2-zCDP (Bun and Steinke 2016, Proposition 1.4) and `mu_of_pure(ε)`-Gaussian; μ-Gaussian noise is
    μ²/2-zCDP; ρ-zCDP is not Gaussian for any useful μ.
    """
    epsilon, delta = guarantee.epsilon, guarantee.delta
    if accounting == PURE and not guarantee.pure:
        raise MilepostError(
            f"a budget with a pure cap takes charges with delta=0 only, got {guarantee}. Use delta=0, or a budget "
            "whose cap has delta > 0."
        )
    if accounting == GAUSSIAN and guarantee.accounting == ZCDP:
        raise MilepostError(
            f"a budget with accounting='gaussian' takes no charge that is spent as zCDP, got {guarantee}. zCDP of some "
            "rho implies less than Gaussian noise of the same rho, and does not add up with it. Use another mechanism, "
            "or a budget with accounting='zcdp'."
        )
    if accounting == PURE:
        return exact_fraction(epsilon)
    if accounting == GAUSSIAN:
        return exact_fraction(mu_of_pure(epsilon) if guarantee.pure else mu_of(epsilon, delta)) ** 2
    if guarantee.pure:
        return exact_fraction(epsilon) ** 2 / 2
    if guarantee.accounting == GAUSSIAN:
        return exact_fraction(mu_of(epsilon, delta)) ** 2 / 2
    return exact_fraction(rho_of(epsilon, delta))


@dataclass(frozen=True)
class Amount:
    """A part of a budget, such as what is spent or what remains.

    Parameters
    ----------
    nano : int
        The amount, in billionths of ε, ρ or μ².
    accounting : {"pure", "zcdp", "gaussian"}
        What is counted: ε if "pure", ρ if "zcdp", μ² if "gaussian".
    delta : float, default 0
        The δ at which a ρ or μ² is converted to ε; 0 if the cap has none.

    Examples
    --------
    >>> print(Amount(1_500_000_000, "pure"))
    ε = 1.5
    >>> Amount(500_000_000, "zcdp").rho, Amount(250_000_000, "gaussian").mu
    (0.5, 0.5)
    """

    nano: int
    accounting: str
    delta: float = 0.0

    @property
    def rho(self) -> float:
        """Return the amount as ρ; refuse an amount of ε or μ²."""
        self._check(ZCDP, "rho")
        return self.nano / NANO

    @property
    def mu(self) -> float:
        """Return the μ of an amount of μ²; refuse an amount of ε or ρ."""
        self._check(GAUSSIAN, "mu")
        return math.sqrt(self.nano / NANO)

    def _check(self, accounting: str, name: str) -> None:
        if self.accounting != accounting:
            raise MilepostError(
                f"an amount with accounting={self.accounting!r} has no {name}. It is counted in {self.unit}: use "
                + {PURE: "epsilon().", ZCDP: "rho.", GAUSSIAN: "mu."}[self.accounting]
            )

    def epsilon(self, delta: float | None = None) -> float:
        """Return the amount as ε.

        Parameters
        ----------
        delta : float, optional
            The δ at which a ρ or μ² is converted; by default the δ of the cap. A pure amount is the same at any δ.

        Returns
        -------
        float
            An ε that is never too small. When a single charge spends the whole cap, the cap may have been rounded down
            by one billionth.

        Raises
        ------
        MilepostError
            If the amount is a ρ or μ², and `delta` is missing or not between 1e-100 and 1.

        Examples
        --------
        >>> round(Amount(500_000_000, "zcdp").epsilon(delta=1e-6), 3)
        5.222
        >>> round(Amount(1_000_000_000, "gaussian").epsilon(delta=1e-6), 3)
        4.887
        """
        if self.accounting == PURE:
            return self.nano / NANO
        delta = self.delta if delta is None else delta
        if isinstance(delta, bool) or not isinstance(delta, int | float) or not 1e-100 <= delta < 1:
            raise MilepostError(
                f"delta= must be at least 1e-100 and less than 1 to convert {self.unit} to epsilon, got {delta!r}"
            )
        if not self.nano:
            return 0.0
        if self.accounting == GAUSSIAN:
            return epsilon_of_mu(math.nextafter(self.mu, math.inf), delta)
        return epsilon_of(math.nextafter(self.rho, math.inf), delta)

    @property
    def unit(self) -> str:
        """Return what is counted: "ε", "ρ" or "μ²"."""
        return UNITS[self.accounting]

    @property
    def number(self) -> str:
        """Return the amount as text, in ε, ρ or μ², with all digits."""
        return f"{self.unit} = {Decimal(self.nano) / NANO:f}"

    def at(self, delta: float) -> str:
        """Return the amount as text: its `number` and, unless it is an ε, the ε at this δ.

        Examples
        --------
        >>> Amount(500_000_000, "zcdp").at(1e-6)
        'ρ = 0.5 (ε = 5.222 at δ = 1e-06)'
        """
        if self.accounting == PURE:
            return self.number
        return f"{self.number} (ε = {self.epsilon(delta):.4g} at δ = {delta:g})"

    def __str__(self) -> str:
        return self.at(self.delta) if self.delta else self.number


@dataclass(frozen=True)
class Cap:
    """The maximum to spend, as it was given: (ε, δ), pure ε, or ρ with an optional δ at which it is converted to ε.

    rho, mu: the number that (ε, δ) allows, in the accounting of the cap; None in the others.

    >>> print(Cap.of(3, 0, None), Cap.of(None, 0, 0.1), sep="; ")
    ε = 3, δ = 0; ρ = 0.1
    >>> Cap.of(3, 1e-6, None).accounting, Cap.of(None, 0, 0.1).accounting
    ('gaussian', 'zcdp')
    """

    epsilon: float | None
    delta: float
    rho: float | None
    mu: float | None = None

    @classmethod
    def of(cls, epsilon: float | None, delta: float, rho: float | None, accounting: str | None = None) -> "Cap":
        """Return the cap for the arguments of `Ledger.create`; refuse arguments that are not a cap."""
        if (epsilon is None) == (rho is None):
            raise MilepostError(
                "a cap is either epsilon=, with or without delta=, or rho=; got "
                + ("neither" if rho is None else "both")
            )
        if epsilon is not None:
            guarantee = Guarantee(epsilon, delta)
            possible = (PURE,) if guarantee.pure else ACCOUNTINGS
        else:
            if isinstance(rho, bool) or not isinstance(rho, int | float) or not 0 < rho <= MAX_RHO:
                raise MilepostError(f"rho= must be a positive number of at most {MAX_RHO:g}, got {rho!r}")
            guarantee, possible = Guarantee(1.0, delta), (ZCDP,)
        accounting = possible[0] if accounting is None else accounting
        if accounting not in possible:
            raise MilepostError(_impossible(accounting, possible))
        cap = cls(
            None if epsilon is None else guarantee.epsilon,
            guarantee.delta,
            rho=float(rho) if rho is not None else guarantee.rho if accounting == ZCDP else None,
            mu=guarantee.mu if accounting == GAUSSIAN else None,
        )
        if not cap.nano:
            raise MilepostError(f"a cap of {cap} is below one billionth, the unit of a ledger; give a larger cap")
        return cap

    @property
    def accounting(self) -> str:
        """Return what the cap counts: "pure" (ε), "zcdp" (ρ) or "gaussian" (μ²)."""
        if self.mu is not None:
            return GAUSSIAN
        return PURE if self.rho is None else ZCDP

    @property
    def exact_value(self) -> Fraction:
        """Return the cap in what it counts."""
        if self.mu is not None:
            return exact_fraction(self.mu) ** 2
        return exact_fraction((self.epsilon or 0.0) if self.rho is None else self.rho)

    @property
    def nano(self) -> int:
        """Return the cap in whole billionths, rounded down."""
        return math.floor(self.exact_value * NANO)

    @property
    def terms(self) -> tuple[float | None, float, float | None]:
        """Return the numbers that were given, without what is computed from (ε, δ); equal caps have equal terms."""
        return self.epsilon, self.delta, None if self.epsilon is not None else self.rho

    def price(self, cost: Fraction, spent: int) -> int:
        """Return the price of an exact cost, rounded up to whole billionths: at least one.

        If nothing is spent yet, a cost of the whole cap has the price of the whole cap, without rounding.
        spent: the billionths that are spent so far.
        """
        billionths = math.ceil(cost * NANO)
        if billionths > MAX_INTEGER:
            raise MilepostError("the charge is larger than any cap, and too large for a ledger; charge less")
        return min(billionths, self.nano) if not spent and cost <= self.exact_value else billionths

    def amount(self, nano: int) -> Amount:
        """Return a number of billionths as an amount of this cap."""
        return Amount(nano, self.accounting, self.delta)

    def to_json(self) -> dict[str, Any]:
        """Return the cap as a ledger stores it; caps in ε and ρ as in version 1, whose digests are of this text."""
        gaussian = {} if self.mu is None else {"mu": self.mu}
        return {"epsilon": self.epsilon, "delta": self.delta, "rho": self.rho} | gaussian

    def __str__(self) -> str:
        if self.epsilon is None:
            return f"ρ = {self.rho:.10g}"
        return f"ε = {self.epsilon:g}, δ = {self.delta:g}"


def _impossible(accounting: Any, possible: tuple[str, ...]) -> str:
    """Return why a cap cannot have an accounting."""
    if accounting not in (PURE, *ACCOUNTINGS):
        hint = did_you_mean(accounting, ACCOUNTINGS)
        return f"accounting= must be one of {', '.join(ACCOUNTINGS)}, got {accounting!r}{hint}"
    reasons = {
        (PURE,): "A cap with delta=0 adds up epsilon: leave out accounting=, or give a positive delta=.",
        (ZCDP,): "A cap in rho= adds up rho: leave out accounting=, or give epsilon= and delta=.",
        ACCOUNTINGS: "Give delta=0 for a cap that adds up epsilon.",
    }
    return f"accounting={accounting!r} does not go with this cap. {reasons[possible]}"
