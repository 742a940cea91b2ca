"""Threads for work that would block other requests."""

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

Params = ParamSpec("Params")
Result = TypeVar("Result")
THREADS = 4
THREADS_PER_PERSON = 2  # threads that one person may use at a time

CALLER: ContextVar[str] = ContextVar("caller", default="")  # the person who sent the current request


@dataclass
class TaskQueue:
    """Tasks that run in order, on at most `width` threads of a pool; a thread runs one task at a time."""

    pool: ThreadPoolExecutor
    width: int
    busy: int = 0
    waiting: deque[Callable[[], None]] = field(default_factory=deque)


class Workers:
    """A few threads for work on files and in memory, and one thread for each session.

    Only a session itself waits for its answers: the waiting time of others would reveal how long an answer took.
    No person can block the shared threads: each person has a queue, at most `max_waiting` requests wait, and at most
    half of them are one person's. The clock limits how many requests wait for a session. If a request is cancelled, its
    thread completes the work: a question is still answered and stored.
    """

    def __init__(self, max_waiting: int, sessions: int) -> None:
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="milepost")
        self._session_pool = ThreadPoolExecutor(max(1, sessions), thread_name_prefix="milepost-session")
        self._free_slots, self._max_waiting_per_person = BoundedSemaphore(max_waiting), max(1, max_waiting // 2)
        self._queues: dict[tuple[str, str], TaskQueue] = {}
        self._lock = Lock()

    async def run(self, work: Callable[Params, Result], *args: Params.args, **kwargs: Params.kwargs) -> Result:
        """Run a function on a shared thread, and return its result; refuse it as busy if too many requests wait."""
        if not self._free_slots.acquire(blocking=False):
            raise RefusedError("busy")
        future: Future[Result] = Future()
        future.add_done_callback(lambda _: self._free_slots.release())
        queue = TaskQueue(self._pool, THREADS_PER_PERSON)
        if not self._enqueue(
            ("person", CALLER.get()), queue, future, lambda: work(*args, **kwargs), self._max_waiting_per_person
        ):
            future.cancel()
            raise RefusedError("busy")
        return await asyncio.wrap_future(future)

    async def run_for(
        self, session: str, work: Callable[Params, Result], *args: Params.args, **kwargs: Params.kwargs
    ) -> Result:
        """Run a function on the session's own thread, in the order of arrival, and return its result."""
        future: Future[Result] = Future()
        self._enqueue(("session", session), TaskQueue(self._session_pool, 1), future, lambda: work(*args, **kwargs))
        return await asyncio.wrap_future(future)

    def _enqueue(
        self,
        name: tuple[str, str],
        new_queue: TaskQueue,
        future: Future[Result],
        work: Callable[[], Result],
        max_waiting: float = math.inf,
    ) -> bool:
        """Add work to the queue of this name, or to `new_queue` if there is none; return False if it is full."""
        with self._lock:
            queue = self._queues.setdefault(name, new_queue)
            if len(queue.waiting) >= max_waiting:
                return False
            queue.waiting.append(lambda: _complete(future, work))
            start = queue.busy < queue.width
            queue.busy += start
        if start:
            queue.pool.submit(self._run_next, name, queue)
        return True

    def _run_next(self, name: tuple[str, str], queue: TaskQueue) -> None:
        with self._lock:
            task = queue.waiting.popleft() if queue.waiting else None
        if task is not None:
            task()
        with self._lock:
            if not queue.waiting:
                queue.busy -= 1
                if not queue.busy:
                    self._queues.pop(name, None)
                return
        with suppress(RuntimeError):  # the pool is being closed
            queue.pool.submit(self._run_next, name, queue)

    def close(self) -> None:
        """Wait for the running work, and cancel the rest."""
        self._pool.shutdown(cancel_futures=True)
        self._session_pool.shutdown(cancel_futures=True)


def _complete(future: Future[Any], work: Callable[[], Any]) -> None:
    if future.set_running_or_notify_cancel():
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001
            future.set_exception(error)
