"""Ends: from which cell to which a noisy histogram shows something. Reads released numbers only."""

import math
from functools import lru_cache

import numpy as np

from milepost._typing import FloatArray, IntArray
from milepost.privacy.noise import laplace_tail


def ends(
    noisy: IntArray, scale: float, tail: float, failure: float, zero: int, spread: float = 0.0
) -> tuple[int, int] | None:
    """The first cell and the one after the last: about `tail` records, or what noise hides, lie beyond either end.

    noisy: counts with discrete Laplace noise of this scale each. None: no cell can be told from an empty one.
    failure: the probability with which noise alone moves an end. zero: the cell that starts at 0, which no end passes
    unless something is seen beyond. spread: how much wider than what is seen the ends are, as a share of its width.
    """
    found = seen(noisy, scale, failure / 2)
    if found is None:
        return None
    first, last, low, high = found
    more = math.ceil(min(spread * (high - low), len(noisy)))
    low, high = max(low - more, 0), min(high + more, len(noisy))
    low = max(low, zero) if first >= zero else low
    high = min(high, zero) if last <= zero else high
    inside = noisy[low:high]
    spared = [_spared(side, scale, tail, failure / 4) for side in (inside, inside[::-1])]
    return (low + spared[0], high - spared[1]) if sum(spared) < len(inside) else (low, high)


def seen(noisy: IntArray, scale: float, failure: float) -> tuple[int, int, int, int] | None:
    """The hull of the shortest windows whose noisy counts cannot be noise alone, and the same with as much around each.

    Windows of 1, 2, 4 … cells; one that holds a shorter one says nothing new. Ends of the second hull may lie outside.
    """
    count = len(noisy)
    known = np.zeros(count, dtype=bool)
    low, high = count, 0
    for length in _lengths(count):
        starts = np.arange(0, count, length)
        shown = np.add.reduceat(noisy, starts) > _limit(scale, count, length, failure)
        for start in starts[shown & ~np.logical_or.reduceat(known, starts)].tolist():
            known[start : start + length] = True
            low, high = min(low, start - length), max(high, start + 2 * length)
    if not known.any():
        return None
    places = np.flatnonzero(known)
    return int(places[0]), int(places[-1]) + 1, low, high


def hidden(scale: float, count: int, failure: float) -> float:
    """How many records one of `count` cells must have, at least, so that `ends` is likely to see it."""
    return _limit(scale, count, 1, failure / 2)


def _lengths(count: int) -> list[int]:
    return [1 << k for k in range(count.bit_length())]


def _limit(scale: float, count: int, length: int, failure: float) -> float:
    """What no window of this length passes by noise alone; all windows of all lengths share the failure."""
    return tail_of_sum(scale, length, failure / len(_lengths(count)) / math.ceil(count / length))


def _spared(noisy: IntArray, scale: float, tail: float, failure: float) -> int:
    """How many cells, from the first on, hold at most `tail` records together, unless with this probability."""
    margins = tails_of_sums(scale, len(noisy), failure / len(noisy))
    beyond = np.flatnonzero(np.cumsum(noisy) + margins > tail)
    return int(beyond[0]) if len(beyond) else 0


def tail_of_sum(scale: float, count: int, failure: float) -> float:
    """A number that the sum of `count` discrete Laplace draws passes with at most this probability."""
    if count == 1:
        return float(laplace_tail(scale, 2 * failure))
    return float(tails_of_sums(scale, count, failure)[-1])


@lru_cache(maxsize=256)
def tails_of_sums(scale: float, most: int, failure: float) -> FloatArray:
    """The same for 1, 2, … `most` draws, by Chernoff's bound: min over λ of (count·ln E[e^{λX}] − ln failure)/λ.

    E[e^{λX}] = (1 − r)²/((1 − re^λ)(1 − re^{−λ})), r = e^{−1/scale}, for λ < 1/scale.
    """
    rate = (1 - np.geomspace(1, 1e-3, 200)[1:]) / scale
    r = math.exp(-1 / scale)
    moment = 2 * math.log1p(-r) - np.log1p(-np.exp(rate - 1 / scale)) - np.log1p(-np.exp(-rate - 1 / scale))
    counts = np.arange(1, most + 1)[:, None]
    result = np.asarray(np.min((counts * moment - math.log(failure)) / rate, axis=1))
    result.setflags(write=False)
    return result
