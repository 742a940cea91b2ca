"""Costs of guarantees and caps of budgets, in whole billionths of ρ or of ε."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from milepost.errors import MilepostError
from milepost.privacy.guarantee import Guarantee, epsilon_of, rho_of
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


def cost(guarantees: Iterable[Guarantee], pure: bool) -> Fraction:
    """Return the exact cost of several guarantees: Σε for a pure cap, Σρ otherwise.

    A pure ε is ε²/2-zCDP (Bun and Steinke 2016, Proposition 1.4); any other guarantee costs its ρ. The cost is that of
    the whole guarantee, however many images share it.
    """
    total = Fraction(0)
    for guarantee in guarantees:
        if pure and not guarantee.pure:
            raise MilepostError(
                f"a budget with a pure cap takes charges with delta=0 only, got {guarantee}. Use delta=0, or a budget "
                "whose cap has delta > 0."
            )
        if pure:
            total += exact_fraction(guarantee.epsilon)
        elif guarantee.pure:
            total += exact_fraction(guarantee.epsilon) ** 2 / 2
        else:
            total += exact_fraction(rho_of(guarantee.epsilon, guarantee.delta))
    return total


@dataclass(frozen=True)
class Amount:
    """A part of a budget, such as what is spent or what remains.

    Parameters
    ----------
    nano : int
        The amount, in billionths of ε if it is pure and of ρ otherwise.
    pure : bool
        Whether the amount is counted in ε.
    delta : float, default 0
        The δ at which a ρ is converted to ε; 0 if the cap has none.

    Examples
    --------
    >>> print(Amount(1_500_000_000, pure=True))
    ε = 1.5
    >>> Amount(500_000_000, pure=False).rho
    0.5
    """

    nano: int
    pure: bool
    delta: float = 0.0

    @property
    def rho(self) -> float:
        """Return the amount as ρ; refuse a pure amount, which has none."""
        if self.pure:
            raise MilepostError("a pure amount has no rho. It is counted in epsilon: use epsilon().")
        return self.nano / NANO

    def epsilon(self, delta: float | None = None) -> float:
        """Return the amount as ε.

        Parameters
        ----------
        delta : float, optional
            The δ at which a ρ is converted; by default the δ of the cap. A pure amount is the same at any δ.

        Returns
        -------
        float
            An ε that is never too small. When a single charge spends the whole cap, the cap's ρ may have been rounded
            down by one billionth.

        Raises
        ------
        MilepostError
            If the amount is a ρ, and `delta` is missing or not between 1e-100 and 1.

        Examples
        --------
        >>> round(Amount(500_000_000, pure=False).epsilon(delta=1e-6), 3)
        5.222
        """
        if self.pure:
            return self.nano / NANO
        delta = self.delta if delta is None else delta
        if isinstance(delta, bool) or not isinstance(delta, int | float) or not 1e-100 <= delta < 1:
            raise MilepostError(
                f"delta= must be at least 1e-100 and less than 1 to convert rho to epsilon, got {delta!r}"
            )
        return epsilon_of(math.nextafter(self.rho, math.inf), delta) if self.nano else 0.0

    @property
    def number(self) -> str:
        """Return the amount as text, in ε or ρ, with all digits."""
        return f"{'ε' if self.pure else 'ρ'} = {Decimal(self.nano) / NANO:f}"

    def at(self, delta: float) -> str:
        """Return the amount as text: its `number` and, for a ρ, the ε at this δ.

        Examples
        --------
        >>> Amount(500_000_000, pure=False).at(1e-6)
        'ρ = 0.5 (ε = 5.222 at δ = 1e-06)'
        """
        return self.number if self.pure else f"{self.number} (ε = {self.epsilon(delta):.4g} at δ = {delta:g})"

    def __str__(self) -> str:
        return self.at(self.delta) if self.delta else self.number


@dataclass(frozen=True)
class Cap:
    """The maximum to spend, as it was given: (ε, δ), pure ε, or ρ with an optional δ at which it is converted to ε.

    rho: the number that adds up, also if (ε, δ) was given; None if the cap is pure.

    >>> print(Cap.of(3, 0, None), Cap.of(None, 0, 0.1), sep="; ")
    ε = 3, δ = 0; ρ = 0.1
    """

    epsilon: float | None
    delta: float
    rho: float | None

    @classmethod
    def of(cls, epsilon: float | None, delta: float, rho: float | None) -> "Cap":
        """Return the cap for the arguments of `Ledger.create`; refuse arguments that are not a cap."""
        if (epsilon is None) == (rho is None):
            raise MilepostError(
                "a cap is either epsilon=, with or without delta=, or rho=; got "
                + ("neither" if rho is None else "both")
            )
        if epsilon is not None:
            guarantee = Guarantee(epsilon, delta)
            cap = cls(guarantee.epsilon, guarantee.delta, None if guarantee.pure else guarantee.rho)
        else:
            if isinstance(rho, bool) or not isinstance(rho, int | float) or not 0 < rho <= MAX_RHO:
                raise MilepostError(f"rho= must be a positive number of at most {MAX_RHO:g}, got {rho!r}")
            cap = cls(None, Guarantee(1.0, delta).delta, float(rho))
        if not cap.nano:
            raise MilepostError(f"a cap of {cap} is below one billionth, the unit of a ledger; give a larger cap")
        return cap

    @property
    def pure(self) -> bool:
        """Return whether the cap is counted in ε, and takes pure charges only."""
        return self.rho is None

    @property
    def exact_value(self) -> Fraction:
        """Return the cap in ε if it is pure, in ρ otherwise."""
        return exact_fraction((self.epsilon or 0.0) if self.rho is None else self.rho)

    @property
    def nano(self) -> int:
        """Return the cap in whole billionths, rounded down."""
        return math.floor(self.exact_value * NANO)

    @property
    def terms(self) -> tuple[float | None, float, float | None]:
        """Return the numbers that were given, without a ρ computed from (ε, δ); equal caps have equal terms."""
        return self.epsilon, self.delta, None if self.epsilon is not None else self.rho

    def price(self, cost: Fraction, spent: int) -> int:
        """Return the price of an exact cost in ρ or ε, rounded up to whole billionths.

        If nothing is spent yet, a cost of the whole cap has the price of the whole cap, without rounding.
        spent: the billionths that are spent so far.
        """
        billionths = math.ceil(cost * NANO)
        if billionths > MAX_INTEGER:
            raise MilepostError("the charge is larger than any cap, and too large for a ledger; charge less")
        return min(billionths, self.nano) if not spent and cost <= self.exact_value else billionths

    def amount(self, nano: int) -> Amount:
        """Return a number of billionths as an amount of this cap."""
        return Amount(nano, self.pure, self.delta)

    def to_json(self) -> dict[str, Any]:
        """Return the cap as a ledger stores it."""
        return {"epsilon": self.epsilon, "delta": self.delta, "rho": self.rho}

    def __str__(self) -> str:
        if self.epsilon is None:
            return f"ρ = {self.rho:.10g}"
        return f"ε = {self.epsilon:g}, δ = {self.delta:g}"
