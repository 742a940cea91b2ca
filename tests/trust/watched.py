"""Watched: an example that takes too long, or too much memory, is a failure."""

import signal
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SECONDS = 20  # of one example, which take milliseconds; a machine may be slow, but a hang is a hang


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


@contextmanager
def in_memory_of(most: int) -> Iterator[None]:
    """Fails what has more bytes at once than this; NumPy's arrays are counted."""
    tracemalloc.start()
    try:
        yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= most, f"{peak:,} bytes at once"
