"""Exact matrix products of whole numbers, as stacks of small products.

Several threads multiply at once. A library starts threads for each large product, which then wait for each other; it
starts none for small ones. Up to MAX_STACKED_WIDTH columns these are as quick. Products of whole numbers below 2⁵³ are
exact, so that the size of a product changes no bit.
"""

import numpy as np

from milepost._typing import FloatArray

MAX_STACKED_WIDTH = 100  # columns, up to which small products are as quick as large ones
ONE_THREAD = 1 << 18  # multiplications of a product, up to which OpenBLAS starts no threads
MIN_ROWS = 32  # of a small product with many queries


def multiply_columns(left: FloatArray, right: FloatArray, out: FloatArray) -> None:
    """Write the product of left [c, width] and right [width, n] into out [c, n]; n is large."""
    (count, width), n = left.shape, right.shape[1]
    size = 1 << max(0, (ONE_THREAD // (count * width)).bit_length() - 1)
    stacked = n // size * size if width <= MAX_STACKED_WIDTH else 0
    if stacked:
        parts = right[:, :stacked].reshape(width, -1, size).transpose(1, 0, 2)
        np.matmul(left, parts, out=out[:, :stacked].reshape(count, -1, size).transpose(1, 0, 2))
    np.matmul(left, right[:, stacked:], out=out[:, stacked:])


def multiply_rows(left: FloatArray, right: FloatArray, out: FloatArray) -> None:
    """Write the product of left [n, width] and the transpose of right [k, width] into out [n, k]; n is large."""
    (n, width), count = left.shape, len(right)
    if width > MAX_STACKED_WIDTH:
        np.matmul(left, right.T, out=out)
        return
    columns = max(1, ONE_THREAD // width // MIN_ROWS)
    for start in range(0, count, columns):
        some = slice(start, min(start + columns, count))
        size = max(1, ONE_THREAD // (width * (some.stop - start)))
        stacked = n // size * size
        if stacked:
            parts = left[:stacked].reshape(-1, size, width)
            np.matmul(parts, right[some].T, out=out[:stacked, some].reshape(-1, size, some.stop - start))
        np.matmul(left[stacked:], right[some].T, out=out[stacked:, some])
