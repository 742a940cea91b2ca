"""Waiting for what happens elsewhere: until a condition holds, however long a busy machine takes.

Tests wait for events, never for a number of seconds. The only clock is here: its deadline, of minutes, turns what would
hang for ever into a failure.
"""

import asyncio
import time
from collections.abc import Callable

PATIENCE = 600  # seconds after which something is taken to hang
PAUSE = 0.01  # seconds between two looks


class HangError(AssertionError):
    """What was waited for has not happened."""


def wait_until(condition: Callable[[], object], what: str = "an event") -> None:
    """Return as soon as the condition holds; HangError if it does not within PATIENCE."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise HangError(f"{what} did not happen within {PATIENCE} s")
        time.sleep(PAUSE)


async def wait_in_loop(condition: Callable[[], object], what: str = "an event") -> None:
    """The same within a running event loop, whose other tasks go on meanwhile."""
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise HangError(f"{what} did not happen within {PATIENCE} s")
        await asyncio.sleep(PAUSE)
