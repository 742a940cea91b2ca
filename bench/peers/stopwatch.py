"""Stopwatch: the result of a call and its processor time, which does not depend on other programs."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def timed(function: Callable[[], T]) -> tuple[T, float]:
    """Return the result and the processor seconds of all threads."""
    start = time.process_time()
    result = function()
    return result, time.process_time() - start


def min_seconds(function: Callable[[], object], repeat: int = 3) -> float:
    """Return the processor seconds of the fastest of a few calls."""
    return min(timed(function)[1] for _ in range(repeat))
