"""Clock: answers of sessions leave at fixed moments, so that how long one took to compute tells nothing."""

import asyncio
import math
from collections.abc import Callable


class Clock:
    """Moments `period` seconds apart. A question that comes between two leaves at the one after the next.

    It so has at least a whole period to be worked out. One that takes longer leaves at a later moment, and `late` is
    called.
    """

    def __init__(self, period: float, late: Callable[[], None] = lambda: None) -> None:
        self._period, self._late = period, late

    def now(self) -> float:
        """In periods."""
        return asyncio.get_running_loop().time() / self._period

    def moment(self, arrived: float, now: float) -> int:
        """At which what arrived then, and is ready now, may leave; all three in periods."""
        due = math.ceil(arrived) + 1
        if now > due:
            self._late()
        return max(due, math.ceil(now))

    async def leave(self, arrived: float) -> None:
        """Wait for the moment."""
        now = self.now()
        await asyncio.sleep((self.moment(arrived, now) - now) * self._period)
