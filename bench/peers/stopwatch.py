"""Stopwatch: what a call returned, and how much of a processor it took, which other programs do not disturb."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def timed(function: Callable[[], T]) -> tuple[T, float]:
    """The result and the processor seconds of all threads."""
    start = time.process_time()
    result = function()
    return result, time.process_time() - start


def least(function: Callable[[], object], repeat: int = 3) -> float:
    """The processor seconds of the quickest of a few calls."""
    return min(timed(function)[1] for _ in range(repeat))
