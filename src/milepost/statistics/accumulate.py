"""Tally: exact sums of integers by place, many at a time.

Products of sparse matrices with one entry a record: unlike `np.bincount` they add up integers, not floats, and unlike
`np.add.at` they let other threads run meanwhile.
"""

import numpy as np
import scipy

from milepost._typing import AnyArray, IntArray

ONE = np.ones(1, dtype=np.int64)


def sum_by_index(places: AnyArray, values: IntArray, size: int) -> IntArray:
    """The sum of the values at each place: int64[size], of values int64[n] at places int32[n] in 0..size − 1.

    Places must have been checked: they are addresses.
    """
    whole = scipy.sparse.csc_array((values, places, np.array([0, len(places)], dtype=np.int32)), shape=(size, 1))
    return np.asarray(whole @ ONE)


def sum_rows_by_index(places: AnyArray, weights: IntArray, rows: IntArray, size: int) -> IntArray:
    """The weighted sum of the rows at each place: int64[size, k], of rows int64[n, k]; the same of places."""
    records = np.arange(len(places) + 1, dtype=np.int32)
    return np.asarray(scipy.sparse.csc_array((weights, places, records), shape=(size, len(places))) @ rows)
