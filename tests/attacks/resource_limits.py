"""Limits of time and memory: an example that exceeds them fails."""

import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from hypothesis import HealthCheck, Phase, settings

MEMORY = 512 << 20  # more than the process had: its libraries take some when they are first used
BOUNDED = settings(
    database=None,
    deadline=None,
    derandomize=True,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)
SECONDS = 120  # of one example, which take milliseconds; a machine may be slow, but a hang is a hang


class HangError(BaseException):
    """An example took too long. Not an Exception, so that no code under test catches it."""


@contextmanager
def time_limit(seconds: float = SECONDS) -> Iterator[None]:
    """Fail if the block takes longer."""

    def fail(_: int, __: FrameType | None) -> None:
        raise HangError(f"more than {seconds} s")

    before = signal.signal(signal.SIGALRM, fail)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def max_memory() -> int:
    """Return the maximum of bytes that this process ever had."""
    unit = 1 if sys.platform == "darwin" else 1 << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


@contextmanager
def memory_limit(max_bytes: int) -> Iterator[None]:
    """Fail if the process grows by more than this beyond its earlier maximum.

    `tracemalloc` would see more, but CPython may crash when it stops while a thread of Arrow still reads ahead.
    """
    before = max_memory()
    yield
    assert max_memory() - before <= max_bytes, f"{max_memory() - before:,} bytes more"
