"""Watched: an example that takes too long, or too much memory, is a failure."""

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
    """Not an Exception, so that nothing on the way takes it for an error of its own."""


@contextmanager
def in_time(seconds: float = SECONDS) -> Iterator[None]:
    """Fails what takes longer."""

    def late(_: int, __: FrameType | None) -> None:
        raise HangError(f"more than {seconds} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def most_memory() -> int:
    """The most bytes that this process ever had."""
    unit = 1 if sys.platform == "darwin" else 1 << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


@contextmanager
def in_memory_of(most: int) -> Iterator[None]:
    """Fails what makes the process grow by more than this beyond all that it ever had.

    `tracemalloc` would see more, but CPython may crash when it stops while a thread of Arrow still reads ahead.
    """
    before = most_memory()
    yield
    assert most_memory() - before <= most, f"{most_memory() - before:,} bytes more"
