"""Sums over embedding coordinates, the same to the last bit for one point and for a million."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from milepost._typing import AnyArray, FloatArray

CACHE_NUMBERS = 1 << 14  # float64 numbers of which several arrays fit the processor's cache
RUNNING_SUMS, PAIRWISE_BLOCK = 8, 128  # of NumPy's pairwise summation


Terms: TypeAlias = Callable[[slice], FloatArray]  # of some coordinates: float64[coordinates, points]


def sum_coordinates(terms: Terms, dimension: int, points: int) -> FloatArray:
    """Return the sum of `terms` over all coordinates: float64[points].

    terms: may return the same array again, with other numbers.

    Additions are elementwise, in the order in which NumPy adds a row of contiguous numbers. Therefore the sum of one
    point does not depend on the other points, and has the small rounding error of pairwise summation.
    """
    if dimension * points <= CACHE_NUMBERS and points <= 16 * dimension:  # NumPy's own sum takes fewer calls
        return np.asarray(np.ascontiguousarray(terms(slice(0, dimension)).T).sum(axis=1))
    return _pairwise(terms, 0, dimension, points)


def _pairwise(terms: Terms, start: int, stop: int, points: int) -> FloatArray:
    """Return the sum over the coordinates start..stop: of halves where they are many."""
    count = stop - start
    if count > PAIRWISE_BLOCK:
        middle = start + count // (2 * RUNNING_SUMS) * RUNNING_SUMS
        result = _pairwise(terms, start, middle, points)
        result += _pairwise(terms, middle, stop, points)
        return result
    rest = stop - count % RUNNING_SUMS
    result = _running_sums(terms, start, rest, points) if rest > start else np.zeros(points)
    for row in terms(slice(rest, stop)) if rest < stop else ():
        result += row
    return result


def _running_sums(terms: Terms, start: int, stop: int, points: int) -> FloatArray:
    """Return the sum over a multiple of eight coordinates: of every eighth, then of these eight."""
    step = max(RUNNING_SUMS, CACHE_NUMBERS // points // RUNNING_SUMS * RUNNING_SUMS)
    running = np.zeros((RUNNING_SUMS, points))
    for first in range(start, stop, step):
        for round_terms in terms(slice(first, min(first + step, stop))).reshape(-1, RUNNING_SUMS, points):
            running += round_terms
    pairs = running[0::2] + running[1::2]
    pairs = pairs[0::2] + pairs[1::2]
    return np.asarray(pairs[0] + pairs[1])


def columns_of(positions: FloatArray) -> FloatArray:
    """Return positions float64[k, D] with contiguous coordinates, float64[D, k]; spaces return them so already."""
    return np.ascontiguousarray(positions.T)


def as_column(values: AnyArray) -> FloatArray:
    """Return one number of each coordinate as float64[D, 1], to combine with columns.

    Equal numbers are one number in memory, with which NumPy is twice as quick.
    """
    numbers = np.asarray(values, dtype=np.float64)
    if len(numbers) and (numbers == numbers[0]).all():
        return np.broadcast_to(numbers[0], (len(numbers), 1))
    return numbers[:, None]
