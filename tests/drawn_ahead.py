"""The library's noise, drawn ahead, for tests that make thousands of small releases.

A call of the sampler costs as much as tens of its draws. Here every law and scale has a stock, filled by the library's
own sampler in large blocks. A draw is handed out once, so that releases stay independent; its law stays the same,
because noise does not depend on the number that it is added to (`tests/privacy/test_noise_laws.py`).
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

import numpy as np

from milepost._typing import IntArray
from milepost.privacy import noise

FIRST, LARGEST = 64, 4096  # draws of a block: of the first of a stock, and of any

Sampler = Callable[[str, IntArray, float], IntArray]


class Stock:
    """Draws of one law and scale, each of which is handed out once."""

    def __init__(self, sampler: Sampler, law: str, scale: float) -> None:
        self._sampler, self._law, self._scale, self._block = sampler, law, scale, FIRST
        self._draws: IntArray = np.empty(0, dtype=np.int64)

    def take(self, count: int) -> IntArray:
        """Fresh draws, int64[count]."""
        if len(self._draws) < count:
            more = self._sampler(self._law, np.zeros(max(self._block, count), dtype=np.int64), self._scale)
            self._draws, self._block = np.concatenate([self._draws, more]), min(2 * self._block, LARGEST)
        draws, self._draws = self._draws[:count], self._draws[count:]
        return draws


@contextmanager
def drawn_ahead() -> Iterator[None]:
    """While the block lasts, the library takes its noise from stocks.

    Streams begin with a block of one draw, not with many that most of them never use: here a call costs little.
    """
    sampler, stocks, lock = noise._add, dict[tuple[str, float], Stock](), Lock()
    stream = noise.LaplaceStream.__init__
    defaults = stream.__defaults__

    def add(law: str, values: IntArray, scale: float) -> IntArray:
        integers = np.asarray(values, dtype=np.int64)
        with lock:
            stock = stocks.setdefault((law, float(scale)), Stock(sampler, law, float(scale)))
            return integers + stock.take(integers.size)

    vars(noise)["_add"], stream.__defaults__ = add, (1,)
    try:
        yield
    finally:
        vars(noise)["_add"], stream.__defaults__ = sampler, defaults
