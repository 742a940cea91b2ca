"""Arrays that a thread uses again, and the size of blocks that one or several threads work on."""

from threading import local
from typing import Any

import numpy as np

from milepost._typing import AnyArray

# Threads hand over Python's lock between calls of NumPy, and wait for each other if the calls are short. Longer calls
# are then quicker, although their arrays do not fit the fastest cache.
LARGER = 4


class _Thread(local):
    """What belongs to one thread."""

    def __init__(self) -> None:
        self.larger = 1
        self.arrays: dict[tuple[str, Any], AnyArray] = {}


_THREAD = _Thread()


def use_larger_blocks() -> None:
    """Use larger blocks in this thread, because other threads work at the same time."""
    _THREAD.larger = LARGER


def block_numbers(cached: int) -> int:
    """Return how many numbers this thread computes at a time. cached: how many fit the cache."""
    return cached * _THREAD.larger


def scratch_array(name: str, shape: tuple[int, int], dtype: Any = np.float64) -> AnyArray:
    """Return an array with any content, which this thread may use until it asks for the same name and type again.

    Memory that is used again stays in the cache, and takes no time of the system.
    """
    size, key = shape[0] * shape[1], (name, dtype)
    array = _THREAD.arrays.get(key)
    if array is None or array.size < size:
        _THREAD.arrays[key] = array = np.empty(size, dtype)
    return array[:size].reshape(shape)
