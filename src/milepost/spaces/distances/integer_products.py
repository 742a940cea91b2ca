"""Squared distances of points on a public grid of whole numbers, by one matrix product that is exact.

A record X becomes the row (X, |X|², 1) and a query Y the row (−2Y, 1, |Y|²), so that their product is |X − Y|². With
|X| and |Y| up to 2²⁵ and a few more, every partial sum of it is a whole number below 2⁵³, in whatever order a library
adds up: the result depends neither on the other rows of a batch nor on threads.
"""

from collections.abc import Iterator

import numpy as np

from milepost._typing import FloatArray
from milepost.spaces.distances.tiles import Tile, TileBuffer, row_slices
from milepost.spaces.embeddings.stacked_products import multiply_rows

RADIUS_BITS = 25  # of the length of a point, as a whole number
MAX_SQUARE = ((1 << RADIUS_BITS) + 128.0) ** 2  # of the length: 4 times this is below 2⁵³
BLOCK_NUMBERS = 1 << 20  # distances in one product


def record_rows(integers: FloatArray) -> FloatArray:
    """Return (X, |X|², 1) of records, whole numbers float64[n, d]: float64[n, d + 2], a record after the other."""
    result = np.ones((len(integers), integers.shape[1] + 2))
    result[:, :-2] = integers
    result[:, -2] = squared_lengths(integers)
    return result


def query_rows(integers: FloatArray) -> FloatArray:
    """Return (−2Y, 1, |Y|²) of queries, whole numbers float64[k, d]: float64[k, d + 2]."""
    result = np.ones((len(integers), integers.shape[1] + 2))
    np.multiply(integers, -2, out=result[:, :-2])
    result[:, -1] = squared_lengths(integers)
    return result


def squared_lengths(integers: FloatArray) -> FloatArray:
    """Return |X|² of rows; of whole numbers it is exact up to 2⁵³, in any order."""
    return np.asarray(np.einsum("ij,ij->i", integers, integers))


def squared_distances(records: FloatArray, queries: FloatArray) -> Iterator[Tile]:
    """Yield |X − Y|² for every pair of a record's row and a query's row, in tiles with all queries."""
    product = TileBuffer()
    for block in row_slices(len(records), len(queries), BLOCK_NUMBERS):
        squares = product.array(len(records[block]), len(queries))
        multiply_rows(records[block], queries, squares)
        for rows in row_slices(*squares.shape):
            tile = squares[rows]
            first = block.start + rows.start
            yield slice(first, first + len(tile)), slice(None), tile
