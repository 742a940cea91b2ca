"""Estimate: a private number with its interval, the answer to a question about a release."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Estimate:
    """A number that a release estimates, with an interval for the exact one.

    Attributes
    ----------
    value : float
        The estimate.
    low, high : float
        The ends of the interval.
    confidence : float
        The probability that the interval holds the number that the table has.

    Examples
    --------
    >>> import milepost as mp
    >>> estimate = mp.Estimate(4.0, 3.5, 4.75, 0.95)
    >>> float(estimate), estimate.error
    (4.0, 0.75)
    >>> print(estimate)
    4 (3.5 to 4.75)
    """

    value: float
    low: float
    high: float
    confidence: float

    @property
    def error(self) -> float:
        """Return the distance from the value to the farther end of the interval."""
        return max(self.high - self.value, self.value - self.low)

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return f"{self.value:.4g} ({self.low:.4g} to {self.high:.4g})"

    def to_json(self) -> dict[str, Any]:
        """Return the numbers by name, as JSON has them.

        Returns
        -------
        dict
            ``value``, ``low``, ``high`` and ``confidence``.

        Examples
        --------
        >>> import milepost as mp
        >>> mp.Estimate(4.0, 3.5, 4.75, 0.95).to_json()["high"]
        4.75
        """
        return asdict(self)
