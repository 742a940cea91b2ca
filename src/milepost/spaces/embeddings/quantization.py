"""Quantization of records: positions rounded to whole quanta, a few coordinates at a time, which fit the cache."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import ClassVar, TypeAlias, TypeGuard

import numpy as np

from milepost._typing import AnyArray, FloatArray, ImageArray, IntArray
from milepost.errors import MilepostError
from milepost.spaces.base import Space
from milepost.spaces.embeddings.embedding import QUANTA, QUANTUM_BITS, Embedding
from milepost.spaces.embeddings.stacked_products import MAX_STACKED_WIDTH
from milepost.spaces.embeddings.thread_blocks import block_numbers, scratch_array

CACHE_NUMBERS = 1 << 17  # float64 numbers that fit the cache
CACHE_ROWS = 1 << 15  # records whose positions fit the cache for a few coordinates
MIN_PRODUCT_ROWS, MAX_PRODUCT_ROWS = 1 << 10, 1 << 13  # the same for positions from matrix products
PRODUCT_PARTS = 8  # a product that starts threads computes this many times the numbers that fit the cache
SUM_BITS = 43  # of a sum of images that is packed into 64 bits with their number
# A float of this size has no fraction, so that adding it rounds to the nearest whole number, ties to even, as np.rint
# does. The bits of the result, as an unsigned number, are RECORD + q: the low half is q, and a sum of them modulo 2⁶⁴
# holds Σq < 2⁴³ in its low bits and the number of records times an odd factor above.
ROUNDER = 2.0**52 + 2.0**SUM_BITS
RECORD = np.float64(ROUNDER).view(np.uint64)
COUNT_BITS = 64 - SUM_BITS
COUNT_INVERSE = np.uint64(pow(int(RECORD) >> SUM_BITS, -1, 1 << COUNT_BITS))
MAX_PACKED = (1 << (SUM_BITS - QUANTUM_BITS)) - 1  # records whose images, up to 2²⁴, sum to less than 2⁴³

# writes the positions of records at a slice of coordinates into float64[coordinates, n], which has contiguous rows
CoordinatePositions: TypeAlias = Callable[[slice, FloatArray], None]
# coordinates; the images of records there, int32[coordinates, n]; and RECORD + images, uint64[coordinates, n]
ImagePart: TypeAlias = tuple[slice, ImageArray, AnyArray]
# indices of the records, None for all; and their images, with what to add to packed sums
PackedPart: TypeAlias = tuple[IntArray | None, ImagePart]


def product_rows(width: int) -> int:
    """Return how many records to multiply by directions at a time: they fit the cache, and so do some coordinates.

    Products with wide records are quick only for many directions at a time, so for few records.
    """
    return min(max(CACHE_NUMBERS // max(1, width), MIN_PRODUCT_ROWS), MAX_PRODUCT_ROWS)


class CoordinateSpace(Space):
    """A space that computes the positions of records for a few embedding coordinates at a time."""

    by_products: ClassVar[bool] = False  # whether positions are products of records and a matrix

    @property
    def block_rows(self) -> int:
        """How many records to embed at a time, so that their positions at some coordinates fit the cache."""
        return product_rows(self.width) if self.by_products else CACHE_ROWS

    @property
    def uses_all_processors(self) -> bool:
        """Whether embedding a block of records starts threads, as large matrix products do."""
        return self.by_products and self.width > MAX_STACKED_WIDTH

    @abstractmethod
    def record_positions(self, points: FloatArray) -> CoordinatePositions:
        """Return a function that writes unrounded positions of records in quanta, for a slice of coordinates.

        A record's positions depend on that record alone, and are within 0..span up to rounding, except where the
        embedding has a clipping error.
        """

    def provisional_positions(self, points: FloatArray) -> tuple[CoordinatePositions, Callable[[], IntArray]]:
        """Return a function for positions that nearly all records have, and one for the indices of the other records.

        The second is called when the positions at all coordinates have been written, once each. A space whose records
        have a property of all their positions together need not compute these twice.
        """
        return self.record_positions(points), lambda: np.empty(0, dtype=np.int64)

    def all_positions(self, points: AnyArray, positions: CoordinatePositions | None = None) -> FloatArray:
        """Return unrounded positions at all coordinates: float64[n, D], with contiguous columns.

        positions: those of the points; by default the positions that records have there.
        """
        result = np.empty((self.embedding.dimension, len(points)))
        write = self.record_positions(points) if positions is None else positions
        write(slice(0, len(result)), result)
        return result.T

    def quantize(self, points: FloatArray) -> ImageArray:
        """Return embedding positions of records in whole quanta."""
        result = np.empty((len(points), self.embedding.dimension), dtype=np.int32, order="F")
        count = self.block_rows
        for start in range(0, len(points), count):
            rows = slice(start, start + count)
            for coordinates, quanta, _ in _coordinate_parts(self, points[rows], self.record_positions(points[rows])):
                result[rows, coordinates] = quanta.T
        return result


def unpack_sums(packed: AnyArray) -> tuple[IntArray, IntArray]:
    """Return the number of records and the sum of their images, of sums of at most MAX_PACKED numbers RECORD + q."""
    counts = ((packed >> np.uint64(SUM_BITS)) * COUNT_INVERSE) & np.uint64((1 << COUNT_BITS) - 1)
    return counts.view(np.int64), (packed & np.uint64((1 << SUM_BITS) - 1)).view(np.int64)


def image_parts(space: Space, points: FloatArray) -> Iterator[ImagePart]:
    """Yield the images of records, some coordinates at a time; the next part may overwrite the arrays of this one."""
    if _has_positions(space):
        yield from _coordinate_parts(space, points, space.record_positions(points))
    else:
        yield array_part(space.quantize(points))


def packed_parts(space: Space, points: FloatArray) -> Iterator[PackedPart]:
    """Yield parts as `image_parts` does, for sums of RECORD + images modulo 2⁶⁴, from which images can be taken again.

    Records that turn out to have other positions than the provisional ones are yielded twice more: with the negative of
    what was added, and with their images. All are whole numbers, so that the sums are those of the images.
    """
    if not _has_positions(space):
        yield None, array_part(space.quantize(points))
        return
    positions, others = space.provisional_positions(points)
    for part in _coordinate_parts(space, points, positions):
        yield None, part
    records = others()
    if len(records):
        some = points[records]
        for coordinates, images, packed in _coordinate_parts(space, some, space.provisional_positions(some)[0]):
            yield records, (coordinates, images, np.negative(packed, out=packed))
        for part in _coordinate_parts(space, some, space.record_positions(some)):
            yield records, part


def _has_positions(space: Space) -> TypeGuard[CoordinateSpace]:
    """Return whether images are rounded positions; a subclass with its own `quantize` does not mean its base's."""
    return isinstance(space, CoordinateSpace) and type(space).quantize is CoordinateSpace.quantize


def _coordinate_parts(
    space: CoordinateSpace, points: FloatArray, positions: CoordinatePositions
) -> Iterator[ImagePart]:
    """Yield the images of records, rounded from positions, as many coordinates at a time as fit the cache."""
    rounding, dimension = Rounding(space.embedding), space.embedding.dimension
    count = max(1, block_numbers(CACHE_NUMBERS) // max(1, len(points)))
    at_once = count * (PRODUCT_PARTS if space.uses_all_processors else 1)
    for first in range(0, dimension, at_once):
        last = min(first + at_once, dimension)
        values = scratch_array("positions", (last - first, len(points)))
        positions(slice(first, last), values)
        for start in range(first, last, count):
            coordinates = slice(start, min(start + count, last))
            yield coordinates, *rounding.apply(values[start - first : coordinates.stop - first], coordinates)


def array_part(quanta: AnyArray) -> ImagePart:
    """Return images of records, whole quanta [n, D], as one part; refuse those outside of their intervals."""
    if int(quanta.view(f"u{quanta.itemsize}").max(initial=0)) > QUANTA:  # a negative one is large without its sign
        raise MilepostError(f"images must lie within 0 and 2^{QUANTUM_BITS} quanta; the space has others")
    images = quanta.T.astype(np.int32, order="C")
    return slice(0, len(images)), images, images.astype(np.uint64) + RECORD


class Rounding:
    """Rounds the positions of records to whole steps in the intervals of an embedding, elementwise."""

    def __init__(self, embedding: Embedding) -> None:
        self._step = embedding.step.astype(np.uint64)[:, None] if (embedding.step > 1).any() else None
        self._max_step = (embedding.span // embedding.step).astype(np.float64)[:, None]
        # otherwise positions are inside, up to rounding
        self._always_clip = embedding.clipping_error > 0 or bool((embedding.span // embedding.step < QUANTA).any())

    def apply(self, values: FloatArray, coordinates: slice) -> tuple[ImageArray, AnyArray]:
        """Return the images of records from their positions at coordinates, and RECORD + images, which replace values.

        Positions that are inside up to rounding need no clipping; all are clipped if one is outside.
        """
        if self._step is not None:
            values /= self._step[coordinates]
        if self._always_clip:
            np.clip(values, 0, self._max_step[coordinates], out=values)
        values += ROUNDER
        packed, images = values.view(np.uint64), scratch_array("images", values.shape, np.int32)
        if self._step is not None:
            packed -= RECORD
            packed *= self._step[coordinates]
            packed += RECORD
        np.copyto(images, packed, casting="unsafe")  # the low half of RECORD is 0
        if not self._always_clip and int(images.view(np.uint32).max(initial=0)) > QUANTA:  # no coordinate has steps
            np.clip(values, ROUNDER, ROUNDER + QUANTA, out=values)
            np.copyto(images, packed, casting="unsafe")
        return images, packed
