"""Workers: threads for what would keep other requests waiting."""

import asyncio
import math
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import BoundedSemaphore, Lock
from typing import Any, ParamSpec, TypeVar

from milepost.service.errors import RefusedError

Given = ParamSpec("Given")
Result = TypeVar("Result")
THREADS = 4
WIDTH = 2  # threads that one person may keep busy

WHOSE: ContextVar[str] = ContextVar("whose", default="")  # the person whose request it is


@dataclass
class Lane:
    """Work that is done in order, by so many threads at most; each takes one piece, and then goes behind the others."""

    pool: ThreadPoolExecutor
    width: int
    busy: int = 0
    waiting: deque[Callable[[], None]] = field(default_factory=deque)


class Workers:
    """A few threads for what is computed from files and memory, and one for each session.

    Nothing waits for the answer of a session but that session: how long others wait would tell how long it took.
    Nobody keeps all of the few threads from others: people have lanes, and no more than `most` requests wait, half of
    them one person's. How many wait for a session is limited by the clock. A request that is given up leaves its thread
    to end its work: a question that was asked is answered and kept.
    """

    def __init__(self, most: int, sessions: int) -> None:
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="milepost")
        self._answering = ThreadPoolExecutor(max(1, sessions), thread_name_prefix="milepost-session")
        self._room, self._share = BoundedSemaphore(most), max(1, most // 2)
        self._lanes: dict[tuple[str, str], Lane] = {}
        self._lock = Lock()

    async def run(self, work: Callable[Given, Result], *given: Given.args, **words: Given.kwargs) -> Result:
        """What the work returns or raises."""
        if not self._room.acquire(blocking=False):
            raise RefusedError("busy")
        future: Future[Result] = Future()
        future.add_done_callback(lambda _: self._room.release())
        lane = Lane(self._pool, WIDTH)
        if not self._enter(("person", WHOSE.get()), lane, future, lambda: work(*given, **words), self._share):
            future.cancel()
            raise RefusedError("busy")
        return await asyncio.wrap_future(future)

    async def run_for(
        self, session: str, work: Callable[Given, Result], *given: Given.args, **words: Given.kwargs
    ) -> Result:
        """The same by the session's own thread, in the order in which it came."""
        future: Future[Result] = Future()
        self._enter(("session", session), Lane(self._answering, 1), future, lambda: work(*given, **words))
        return await asyncio.wrap_future(future)

    def _enter(
        self,
        name: tuple[str, str],
        new: Lane,
        future: Future[Result],
        work: Callable[[], Result],
        most: float = math.inf,
    ) -> bool:
        """Whether the work found a place in its lane. new: the lane, where there is none of this name."""
        with self._lock:
            lane = self._lanes.setdefault(name, new)
            if len(lane.waiting) >= most:
                return False
            lane.waiting.append(lambda: _do(future, work))
            begin = lane.busy < lane.width
            lane.busy += begin
        if begin:
            lane.pool.submit(self._go, name, lane)
        return True

    def _go(self, name: tuple[str, str], lane: Lane) -> None:
        with self._lock:
            piece = lane.waiting.popleft() if lane.waiting else None
        if piece is not None:
            piece()
        with self._lock:
            if not lane.waiting:
                lane.busy -= 1
                if not lane.busy:
                    self._lanes.pop(name, None)
                return
        with suppress(RuntimeError):  # the pool is being closed
            lane.pool.submit(self._go, name, lane)

    def close(self) -> None:
        """When all that was begun is done."""
        self._pool.shutdown(cancel_futures=True)
        self._answering.shutdown(cancel_futures=True)


def _do(future: Future[Any], work: Callable[[], Any]) -> None:
    if future.set_running_or_notify_cancel():
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001
            future.set_exception(error)
