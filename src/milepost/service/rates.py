"""Rates: how many requests a second a key may make."""

import math
from time import monotonic


class Rates:
    """A bucket a key, which holds `burst` requests and is filled by `rate` a second."""

    def __init__(self, rate: float, burst: int) -> None:
        self._rate, self._burst = rate, burst
        self._buckets: dict[str, tuple[float, float]] = {}  # what is left, and when

    def wait(self, key: str) -> int:
        """0 where the request may go on; else in how many seconds it may."""
        now = monotonic()
        left, then = self._buckets.get(key, (float(self._burst), now))
        left = min(self._burst, left + (now - then) * self._rate)
        allowed = left >= 1
        self._buckets[key] = left - allowed, now
        return 0 if allowed else math.ceil((1 - left) / self._rate)
