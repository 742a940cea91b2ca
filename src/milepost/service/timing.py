"""A clock that sends the answers of sessions at fixed moments, so that their timing does not reveal private data."""

import asyncio
import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from milepost.service.errors import RefusedError


class Clock:
    """Moments `period` seconds apart. The answer to a question leaves at the second moment after the question arrives.

    A session answers one question per period. If others wait, an answer leaves one period after the last of them, so
    that many questions at once do not reveal how long they took together. Each answer has a whole period to be
    computed. An answer that takes longer leaves at a later moment, and `late` is called.
    max_periods: periods that a request may take, at least 3. A question whose answer could not leave a period before
    their end is refused as busy, which depends only on when questions arrived.
    """

    def __init__(self, period: float, max_periods: int, late: Callable[[], None] = lambda: None) -> None:
        self._period, self._max_periods, self._late = period, max_periods, late
        self._last: dict[str, int] = {}  # for each session, the moment of its latest question

    def now(self) -> float:
        """Return the current time, in periods."""
        return asyncio.get_running_loop().time() / self._period

    @asynccontextmanager
    async def answering(self, session: str) -> AsyncIterator[None]:
        """Run the block, and continue at the session's next moment, also after an exception."""
        due = self.due(session, self.now())
        try:
            yield
        finally:
            await self.leave(due)

    def due(self, session: str, arrival: float) -> int:
        """Return the moment at which the answer to a question leaves; both times in periods."""
        first = math.ceil(arrival)
        due = max(first, self._last.get(session, 0)) + 1
        if due - first > self._max_periods - 2:
            raise RefusedError("busy")
        self._last[session] = due
        return due

    def moment(self, due: int, now: float) -> int:
        """Return the moment at which an answer that is due at `due` and ready at `now` leaves; all times in periods."""
        if now > due:
            self._late()
        return max(due, math.ceil(now))

    async def leave(self, due: int) -> None:
        """Wait for the moment at which an answer leaves."""
        now = self.now()
        await asyncio.sleep((self.moment(due, now) - now) * self._period)
