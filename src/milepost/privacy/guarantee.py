"""Guarantees (ε, δ), what mechanisms may spend for them, and the conversions between (ε, δ) and ρ-zCDP."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

from milepost._validation import did_you_mean
from milepost.errors import MilepostError
from milepost.privacy.gaussian_curve import mu_of

PURE, GAUSSIAN, ZCDP = "pure", "gaussian", "zcdp"
ACCOUNTINGS = (GAUSSIAN, ZCDP)  # of guarantees with δ > 0
ACCOUNTING_NAMES = {PURE: "pure ε", GAUSSIAN: "exact Gaussian curve", ZCDP: "zCDP"}
UNITS = {PURE: "ε", GAUSSIAN: "μ²", ZCDP: "ρ"}  # what each accounting adds up
MIN_EPSILON = 1e-9
MAX_EPSILON = 1e3


@dataclass(frozen=True)
class Guarantee:
    """A differential privacy guarantee: (ε, δ), or pure ε when δ = 0.

    Mechanisms spend a pure guarantee as ε. With δ > 0, mechanisms whose noise is all Gaussian spend μ (`mu`), by the
    exact curve of Gaussian noise; others spend ρ-zCDP (`rho`), which implies less for the same noise. `budget` is the
    number that adds up when mechanisms are composed.

    Parameters
    ----------
    epsilon : float
        The privacy parameter ε, between 1e-9 and 1000.
    delta : float, default 0
        The privacy parameter δ: 0 for pure ε, otherwise at least 1e-100 and less than 1.
    images : int, default 1
        How many images one record may change at once; they share the guarantee (Remark 8.1 of the paper).
    accounting : {"gaussian", "zcdp"}, optional
        How a guarantee with δ > 0 is spent: as μ, which is the default, or as ρ. With δ = 0 it is always "pure".
    share : float, default 1.0
        The share of the budget of a guarantee with δ > 0 that one step of a release may spend. The steps together have
        the guarantee (ε, δ), which is what reports state.

    Raises
    ------
    MilepostError
        If `epsilon`, `delta` or `share` is not a number within these limits, or `accounting` is not one of these words.

    Examples
    --------
    >>> import milepost as mp
    >>> mp.Guarantee(1.0).pure
    True
    >>> round(mp.Guarantee(1.0, 1e-6).mu, 5), round(mp.Guarantee(1.0, 1e-6).rho, 5)
    (0.2367, 0.02436)
    """

    epsilon: float
    delta: float = 0.0
    images: int = 1
    accounting: str = ""
    share: float = 1.0

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise MilepostError(f"{name}= must be a number, got {value!r}")
            object.__setattr__(self, name, float(value))
        if not MIN_EPSILON <= self.epsilon <= MAX_EPSILON:
            raise MilepostError(f"epsilon= must be between {MIN_EPSILON:g} and {MAX_EPSILON:g}, got {self.epsilon:g}")
        if not 0 <= self.delta < 1:
            raise MilepostError(
                f"delta= must be at least 0 and less than 1, got {self.delta:g}. Use 0 for pure epsilon, or a small "
                "number such as 1e-6."
            )
        if 0 < self.delta < 1e-100:
            raise MilepostError(f"delta= must be 0 or at least 1e-100, got {self.delta:g}. Use 0 for pure epsilon.")
        if self.accounting not in ("", *ACCOUNTINGS) and not (self.pure and self.accounting == PURE):
            hint = did_you_mean(self.accounting, ACCOUNTINGS)
            raise MilepostError(f"accounting= must be one of {', '.join(ACCOUNTINGS)}, got {self.accounting!r}{hint}")
        object.__setattr__(self, "accounting", PURE if self.pure else self.accounting or GAUSSIAN)
        if not 0 < self.share <= 1:
            raise MilepostError(f"share= must be above 0 and at most 1, got {self.share!r}")
        if self.pure and self.share != 1:
            raise MilepostError("a guarantee with delta=0 has no share= of its budget: it is spent as epsilon.")

    @property
    def pure(self) -> bool:
        """Return whether δ = 0, so that only mechanisms of pure ε may be used."""
        return self.delta == 0

    @property
    def rho(self) -> float:
        """Return a ρ, never too large, for which ρ-zCDP of `images` at once implies (ε, δ); refuse δ = 0.

        A share of the budget has that share of ρ.
        """
        if self.pure:
            raise MilepostError("a guarantee with delta=0 has no rho. It is spent as epsilon: use its epsilon.")
        return rho_of(self.epsilon, self.delta) / self.images**2 * self.share

    @property
    def mu(self) -> float:
        """Return a μ, never too large, for which μ-Gaussian noise of `images` at once implies (ε, δ); refuse δ = 0.

        A share of the budget has the square root of that share of μ.
        """
        if self.pure:
            raise MilepostError("a guarantee with delta=0 has no mu. It is spent as epsilon: use its epsilon.")
        return mu_of(self.epsilon, self.delta) / self.images * math.sqrt(self.share)

    @property
    def epsilon_each(self) -> float:
        """Return the ε that one image may cost: s images together cost at most s times that."""
        return self.epsilon / self.images

    @property
    def budget(self) -> float:
        """Return the number that adds up when mechanisms are composed: ε when pure, else μ²/2, or ρ in zCDP.

        Gaussian noise of scale σ spends Δ²/(2σ²) of the latter two.
        """
        if self.pure:
            return self.epsilon_each
        return self.mu**2 / 2 if self.accounting == GAUSSIAN else self.rho

    def for_each(self, images: int) -> "Guarantee":
        """Return this guarantee for records that change several images at once.

        Parameters
        ----------
        images : int
            How many images one record may change.

        Returns
        -------
        Guarantee
            The same (ε, δ), shared by the images.

        Examples
        --------
        >>> Guarantee(1.0).for_each(2).budget
        0.5
        """
        return replace(self, images=images)

    def with_share(self, share: float) -> "Guarantee":
        """Return this guarantee for one of several steps that share its budget.

        Parameters
        ----------
        share : float
            The share of the budget that the step may spend, above 0 and at most 1. The shares of all steps must not
            add up to more than 1.

        Returns
        -------
        Guarantee
            The same (ε, δ), with a share of its budget.

        Raises
        ------
        MilepostError
            If δ = 0, or the share is not such a number.

        Examples
        --------
        >>> whole = Guarantee(1.0, 1e-6)
        >>> round(whole.with_share(0.1).budget / whole.budget, 9)
        0.1
        """
        return replace(self, share=self.share * share)

    def to_json(self) -> dict[str, Any]:
        """Return the guarantee as a card stores it: a dict with `epsilon` and `delta`, and `accounting` if δ > 0.

        Examples
        --------
        >>> Guarantee(1.0, 1e-6).to_json()
        {'epsilon': 1.0, 'delta': 1e-06, 'accounting': 'gaussian'}
        """
        accounting = {} if self.pure else {"accounting": self.accounting}
        return {"epsilon": self.epsilon, "delta": self.delta} | accounting

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> "Guarantee":
        """Return the guarantee that `to_json` described; cards without `accounting` are older, and spent ρ.

        Examples
        --------
        >>> Guarantee.from_json({"epsilon": 1.0, "delta": 1e-6}).accounting
        'zcdp'
        """
        if not set(fields) <= {"epsilon", "delta", "accounting"}:
            raise MilepostError(f"a guarantee has epsilon, delta and accounting, got {', '.join(fields)}")
        return cls(**({"accounting": ZCDP} | fields))

    def __str__(self) -> str:
        return f"ε = {self.epsilon:g}" if self.pure else f"ε = {self.epsilon:g}, δ = {self.delta:g}"


def _profile(rho: float) -> Any:
    """Return OpenDP's privacy profile of a ρ-zCDP mechanism (tight conversion)."""
    convert, make_gaussian = _makers()
    scale = math.nextafter(math.sqrt(0.5 / rho), 0.0)  # a smaller scale: the profile is that of at least ρ
    return convert(make_gaussian(scale)).map(1.0)


@lru_cache(maxsize=1)
def _makers() -> tuple[Callable[[Any], Any], Callable[[float], Any]]:
    """Return OpenDP's conversion, and the function that makes its measurement of a scale; made once for many scales."""
    from opendp.combinators import make_zCDP_to_approxDP  # not opendp.prelude, which imports scikit-learn, too
    from opendp.domains import atom_domain
    from opendp.measurements import make_gaussian
    from opendp.metrics import absolute_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    return make_zCDP_to_approxDP, partial(make_gaussian, atom_domain(T="i64"), absolute_distance(T="f64"))


def epsilon_of(rho: float, delta: float) -> float:
    """Return an ε, never too small, for which ρ-zCDP implies (ε, δ).

    >>> round(epsilon_of(0.5, 1e-6), 3)
    5.222
    """
    if not rho > 0:
        raise MilepostError(f"rho= must be positive, got {rho!r}")
    if not 0 < delta < 1:
        raise MilepostError(f"delta= must lie strictly between 0 and 1, got {delta!r}")
    return float(_profile(rho).epsilon(delta))


@lru_cache(maxsize=256)
def rho_of(epsilon: float, delta: float) -> float:
    """Return the largest ρ, up to bisection and never too large, for which ρ-zCDP implies (ε, δ)."""

    def feasible(rho: float) -> bool:
        return bool(_profile(rho).delta(epsilon) <= delta)

    # ρ-zCDP implies ε = ρ + 2√(ρ ln 1/δ), so half of that ρ is feasible with room for rounding
    root = math.sqrt(math.log(1 / delta))
    low = (epsilon / (math.sqrt(root * root + epsilon) + root)) ** 2 / 2
    high = 2 * low
    while feasible(high):
        low, high = high, 2 * high
    while high - low > 1e-12 * low:
        middle = (low + high) / 2
        low, high = (middle, high) if feasible(middle) else (low, middle)
    return low
