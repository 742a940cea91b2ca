"""Workers: threads for what would keep other requests waiting."""

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from threading import BoundedSemaphore, Lock
from typing import Any, ParamSpec, TypeVar

from milepost.service.problems import RefusedError

Given = ParamSpec("Given")
Result = TypeVar("Result")
THREADS = 4
WIDTH = 2  # threads that one person may keep busy

WHOSE: ContextVar[str] = ContextVar("whose", default="")  # the person whose request it is


@dataclass
class Lane:
    """Work that is done in order, by so many threads at most; each takes one piece, and then goes behind the others."""

    width: int
    busy: int = 0
    waiting: deque[Callable[[], None]] = field(default_factory=deque)


class Workers:
    """A few threads, and so many requests at most that wait for one, half of them one person's.

    Nobody keeps all threads from others: people have lanes, and a session has one of its own, so that how long its
    answer took is not told by what else its analyst has asked for. A request that is given up leaves its thread to end
    its work: a question that was asked is answered and kept.
    """

    def __init__(self, most: int) -> None:
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="milepost")
        self._room, self._share = BoundedSemaphore(most), max(1, most // 2)
        self._lanes: dict[tuple[str, str], Lane] = {}
        self._lock = Lock()

    async def run(self, work: Callable[Given, Result], *given: Given.args, **words: Given.kwargs) -> Result:
        """What the work returns or raises."""
        return await self._run(("person", WHOSE.get()), WIDTH, lambda: work(*given, **words))

    async def run_for(
        self, session: str, work: Callable[Given, Result], *given: Given.args, **words: Given.kwargs
    ) -> Result:
        """The same in the order in which it came for a session."""
        return await self._run(("session", session), 1, lambda: work(*given, **words))

    async def _run(self, name: tuple[str, str], width: int, work: Callable[[], Result]) -> Result:
        if not self._room.acquire(blocking=False):
            raise RefusedError("busy")
        future: Future[Result] = Future()
        future.add_done_callback(lambda _: self._room.release())
        with self._lock:
            lane = self._lanes.setdefault(name, Lane(width))
            full = len(lane.waiting) >= self._share
            if not full:
                lane.waiting.append(lambda: _do(future, work))
                begin = lane.busy < lane.width
                lane.busy += begin
        if full:
            future.cancel()
            raise RefusedError("busy")
        if begin:
            self._pool.submit(self._go, name, lane)
        return await asyncio.wrap_future(future)

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
            self._pool.submit(self._go, name, lane)

    def close(self) -> None:
        """When all that was begun is done."""
        self._pool.shutdown(cancel_futures=True)


def _do(future: Future[Any], work: Callable[[], Any]) -> None:
    if future.set_running_or_notify_cancel():
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001
            future.set_exception(error)
