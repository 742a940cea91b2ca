"""Matrices of distances in tiles that fit the processor's cache.

A distance depends on its own record and query only, whatever the tile: its operations are elementwise.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias

import numpy as np

from milepost._typing import AnyArray, FloatArray
from milepost.spaces.embeddings.thread_blocks import block_numbers

TILE_NUMBERS = 60 << 10  # distances computed at a time: with what they are computed from, they fit the cache
TILE_ROWS = 3 << 10  # records among them: the inner loops of NumPy are short of work below 2,731

# the rows and queries of a part of a matrix of distances, and that part, which the next tile may overwrite
Tile: TypeAlias = tuple[slice, slice, FloatArray]


def sum_over_columns(
    records: FloatArray, queries: AnyArray, term: Callable[[int, FloatArray, FloatArray, FloatArray], FloatArray]
) -> Iterator[Tile]:
    """Yield Σᵢ term(i, xᵢ, yᵢ) for every pair in tiles; column by column, so that batches do not matter.

    term: takes columns float64[rows] and float64[k, 1], and an array float64[k, rows], to which it may write its result
    before it returns it.
    """
    sums, scratch = TileBuffer(), TileBuffer()
    for rows, some in tile_slices(len(records), len(queries)):
        y = queries[some]
        total, other = (buffer.array(len(y), len(records[rows])) for buffer in (sums, scratch))
        for i in range(records.shape[1]):
            values = term(i, records[rows, i], y[:, i, None], other if i else total)
            if i:
                total += values
            elif values is not total:
                total[...] = values
        yield rows, some, total.T


class TileBuffer:
    """Memory for one array after the other of up to TILE_NUMBERS numbers, or of one row that is longer."""

    def __init__(self) -> None:
        self._numbers = np.empty(0)

    def array(self, rows: int, columns: int) -> FloatArray:
        """Return an array of this shape, which overwrites the one before."""
        size = rows * columns
        if size > len(self._numbers):
            self._numbers = np.empty(size)
        return self._numbers[:size].reshape(rows, columns)

    def like(self, array: FloatArray) -> FloatArray:
        """Return an array of the same shape and order in memory."""
        return self.array(*array.shape) if array.flags.c_contiguous else self.array(*array.shape[::-1]).T


def tile_slices(records: int, queries: int) -> Iterator[tuple[slice, slice]]:
    """Yield the rows and queries of tiles of a matrix of distances that fit the cache, with many rows each."""
    rows = -(-records // max(1, records // TILE_ROWS))
    for part in row_slices(records, 1, rows):
        for some in row_slices(queries, rows):
            yield part, some


def row_slices(records: int, width: int, numbers: int | None = None) -> Iterator[slice]:
    """Yield slices of the rows of a matrix with about this many numbers each; by default those of a tile."""
    rows = max(1, (block_numbers(TILE_NUMBERS) if numbers is None else numbers) // max(1, width))
    return (slice(start, start + rows) for start in range(0, records, rows))


def gather(tiles: Iterable[Tile], records: int, queries: int) -> FloatArray:
    """Return the matrix float64[n, k] of which tiles are parts."""
    result = np.empty((queries, records)).T
    for rows, some, tile in tiles:
        result[rows, some] = tile
    return result
