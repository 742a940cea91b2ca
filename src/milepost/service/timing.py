"""Clock: answers of sessions leave at fixed moments, so that how long one took to compute tells nothing."""

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from milepost.service.errors import RefusedError


class Clock:
    """Moments `period` seconds apart. A question that comes between two leaves at the one after the next.

    One session answers one question a period: one that comes while others wait leaves a period after the last of these,
    so that many at once do not tell how long all of them took together. Each so has a whole period to be worked out.
    One that takes longer leaves at a later moment, and `late` is called.
    most: periods that a request may take, at least 3. A question that could not leave a period before they are over is
    refused as busy, which depends on when questions came and on nothing else.
    """

    def __init__(self, period: float, most: int, late: Callable[[], None] = lambda: None) -> None:
        self._period, self._most, self._late = period, most, late
        self._last: dict[str, int] = {}  # of each session, the moment of the question that came last

    def now(self) -> float:
        """In periods."""
        return asyncio.get_running_loop().time() / self._period

    @asynccontextmanager
    async def answering(self, session: str) -> AsyncIterator[None]:
        """Do the block's work, and go on at the session's next moment, whatever became of the work."""
        due = self.due(session, self.now())
        try:
            yield
        finally:
            await self.leave(due)

    def due(self, session: str, arrived: float) -> int:
        """At which a question that arrives now is to leave; both in periods."""
        first = math.ceil(arrived)
        due = max(first, self._last.get(session, 0)) + 1
        if due - first > self._most - 2:
            raise RefusedError("busy")
        self._last[session] = due
        return due

    def moment(self, due: int, now: float) -> int:
        """At which what is due then, and is ready now, may leave; all three in periods."""
        if now > due:
            self._late()
        return max(due, math.ceil(now))

    async def leave(self, due: int) -> None:
        """Wait for the moment."""
        now = self.now()
        await asyncio.sleep((self.moment(due, now) - now) * self._period)
