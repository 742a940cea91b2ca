"""Workers: threads for what would keep other requests waiting."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import BoundedSemaphore
from typing import ParamSpec, TypeVar

from milepost.service.problems import RefusedError

Given = ParamSpec("Given")
Result = TypeVar("Result")
THREADS = 4


class Workers:
    """A few threads, and so many requests at most that wait for one.

    A request that is given up leaves its thread to end its work: a question that was asked is answered and kept.
    """

    def __init__(self, most: int) -> None:
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="milepost")
        self._room = BoundedSemaphore(most)

    async def run(self, work: Callable[Given, Result], *given: Given.args, **words: Given.kwargs) -> Result:
        """What the work returns or raises."""
        if not self._room.acquire(blocking=False):
            raise RefusedError("busy")
        future = self._pool.submit(work, *given, **words)
        future.add_done_callback(lambda _: self._room.release())
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """When all that was begun is done."""
        self._pool.shutdown(cancel_futures=True)
