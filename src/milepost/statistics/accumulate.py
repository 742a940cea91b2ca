"""Exact sums of integers by index, many at a time.

Products of sparse matrices with one entry a record: unlike `np.bincount` they add up integers, not floats, and unlike
`np.add.at` they let other threads run meanwhile.
"""

import numpy as np
import scipy

from milepost._typing import AnyArray, IntArray

ONE = np.ones(1, dtype=np.int64)


def sum_by_index(indices: AnyArray, values: IntArray, size: int) -> IntArray:
    """Return the sum of the values at each index: int64[size], of values int64[n] at indices int32[n] in 0..size − 1.

    The caller must have checked the indices: SciPy uses them as addresses, unchecked.
    """
    matrix = scipy.sparse.csc_array((values, indices, np.array([0, len(indices)], dtype=np.int32)), shape=(size, 1))
    return np.asarray(matrix @ ONE)


def sum_each_row_by_index(indices: AnyArray, values: AnyArray, size: int, *, small: bool = False) -> AnyArray:
    """Return the sums of the values at each index, row by row: [rows, size], of int64 or uint64 values [rows, n].

    indices: int32[rows, n] in 0..size − 1, which the caller must have checked. Both arrays are contiguous. small:
    whether to do without sparse matrices, whose import takes longer than the sums of a small table.
    """
    rows, n = indices.shape
    if small:
        result = np.zeros(rows * size, dtype=values.dtype)
        np.add.at(result, (indices + np.arange(rows)[:, None] * size).reshape(-1), values.reshape(-1))
        return result.reshape(rows, size)
    starts = np.arange(rows + 1, dtype=np.int32) * n
    matrix = scipy.sparse.csr_array((values.reshape(-1), indices.reshape(-1), starts), shape=(rows, size))
    return np.asarray(matrix.toarray())


def sum_rows_by_index(indices: AnyArray, weights: IntArray, rows: IntArray, size: int) -> IntArray:
    """Return the weighted sum of the rows at each index: int64[size, k], of rows int64[n, k] at checked indices."""
    records = np.arange(len(indices) + 1, dtype=np.int32)
    return np.asarray(scipy.sparse.csc_array((weights, indices, records), shape=(size, len(indices))) @ rows)
