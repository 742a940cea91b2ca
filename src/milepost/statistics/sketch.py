"""Sketches: exact integers per embedding coordinate, which give the mean distance at every cell border."""

from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Self

import numpy as np

from milepost._typing import AnyArray, ImageArray, IntArray
from milepost.errors import MilepostError
from milepost.privacy.protected_change import WEIGHT_STEPS
from milepost.spaces.base import Space
from milepost.spaces.embeddings.embedding import QUANTA, QUANTUM_BITS, default_cells
from milepost.statistics.accumulate import sum_by_index
from milepost.statistics.statistic_spec import RecordBlock, StatisticSpec

MAX_TOTAL = 1 << 37  # twice the total weight × 2²⁴ quanta stays below 2⁶³
ROWS = 1 << 17  # records at a time, which fit the cache
FEW = 1 << 12  # fewer records than this are added one by one


@dataclass(frozen=True, eq=False)
class CellBorders:
    """Exact sums at the cell borders of one group: J = 0..cells, at quantum J·2^bits.

    value[i, J] = Σ |qᵢ − J·2^bits| (so n·Fᵢ in quanta), below[i, J] = the weight with qᵢ < J·2^bits (all at J = cells),
    so that 2·below − total is a subgradient of n·Fᵢ there. int64[D, cells + 1] each.
    """

    value: IntArray
    below: IntArray
    total: int
    bits: int


class Sketch:
    """Two integer histograms per coordinate: weight in each cell, and weighted offsets from the cell's left border.

    All sums are int64 and do not depend on the order of records; sketches of parts of a table add up to its sketch.
    counts, offsets: int64[groups, D, cells]; totals: int64[groups].
    """

    def __init__(self, dimension: int, groups: int = 1, cells: int | None = None) -> None:
        self.cells = default_cells(dimension) if cells is None else cells
        if self.cells < 1 or self.cells & (self.cells - 1) or self.cells > QUANTA:
            raise MilepostError(f"cells must be a power of two up to 2^{QUANTUM_BITS}, got {self.cells}")
        self._counts = np.zeros((groups, dimension, self.cells), dtype=np.int64)
        self._offsets = np.zeros_like(self._counts)
        self.totals = np.zeros(groups, dtype=np.int64)
        self._packed: IntArray | None = None
        self._weight = 0  # of the records that are packed
        self._unpack_lock = Lock()  # noise is added to several coordinates at once, each of which reads the counts

    @classmethod
    def spec(cls, space: Space, groups: int = 1, cells: int | None = None) -> "StatisticSpec[Sketch]":
        """Return the specification of the sketch of a table in a space."""
        dimension = space.embedding.dimension
        return StatisticSpec(partial(Sketch, dimension, groups, cells), partial(_image, space), dimension)

    @property
    def arrays(self) -> tuple[IntArray, ...]:
        """Return all integers."""
        return self.counts, self.offsets, self.totals

    @property
    def counts(self) -> IntArray:
        """Return the weight in each cell."""
        self._unpack()
        return self._counts

    @counts.setter
    def counts(self, counts: IntArray) -> None:
        self._unpack()
        self._counts = counts

    @property
    def offsets(self) -> IntArray:
        """Return the weighted offsets from the cell's left border."""
        self._unpack()
        return self._offsets

    @offsets.setter
    def offsets(self, offsets: IntArray) -> None:
        self._unpack()
        self._offsets = offsets

    @property
    def dimension(self) -> int:
        """Return D, the number of embedding coordinates."""
        return self._counts.shape[1]

    @property
    def groups(self) -> int:
        """Return the number of groups."""
        return self._counts.shape[0]

    @property
    def bits(self) -> int:
        """Return bits, where a cell has 2^bits quanta."""
        return QUANTUM_BITS - (self.cells.bit_length() - 1)

    @property
    def _max_packed_weight(self) -> int:
        """Return the maximum weight whose counts and offsets fit 62 bits together."""
        return (1 << (62 - self.bits) // 2) - 1

    @property
    def _offset_bits(self) -> int:
        """Return the number of bits for the offsets of that weight."""
        return self.bits + (62 - self.bits) // 2

    def add(self, quanta: AnyArray, group: AnyArray | None = None, weight: AnyArray | None = None) -> None:
        """Add records at whole quanta [n, D] in 0..2²⁴, each with a group index and an integer weight.

        It is quickest if columns are contiguous (Fortran order) and there are as many rows as cells.
        """
        totals = total_weights(len(quanta), self.groups, group, weight)
        check_weight(int(self.totals.sum()) + int(totals.sum()))
        cells = self.groups * self.cells
        rows = min(
            max(ROWS, 2 * cells), self._max_packed_weight // (1 if weight is None else int(weight.max(initial=1)))
        )
        if min(rows, len(quanta)) < max(FEW, cells // 4):
            add, rows = self._add_few, max(1, ROWS // self.dimension)
        else:
            add = self._add_many
        for start in range(0, len(quanta), rows):
            part = slice(start, start + rows)
            add(quanta[part], *(None if each is None else each[part].astype(np.int64) for each in (group, weight)))
        self.totals += totals

    def _add_few(self, quanta: AnyArray, group: IntArray | None, weight: IntArray | None) -> None:
        """Add records one by one, which takes no longer if there are many cells."""
        check_quanta(quanta)
        offset = quanta.astype(np.int64)
        index = np.minimum(offset >> self.bits, self.cells - 1)
        offset -= index << self.bits
        index += np.arange(self.dimension) * self.cells
        if group is not None:
            index += (group * (self.dimension * self.cells))[:, None]
        if weight is not None:
            offset *= weight[:, None]
        indices, weights = index.ravel(order="F"), 1 if weight is None else np.tile(weight, self.dimension)
        self._counts, self._offsets = np.ascontiguousarray(self._counts), np.ascontiguousarray(self._offsets)
        np.add.at(self._counts.reshape(-1), indices, weights)
        np.add.at(self._offsets.reshape(-1), indices, offset.ravel(order="F"))

    def _add_many(self, quanta: AnyArray, group: IntArray | None, weight: IntArray | None) -> None:
        """Add coordinates in sums of counts·2^offset_bits + offsets, with one more cell for records at the far end."""
        total = len(quanta) if weight is None else int(weight.sum())
        if self._packed is None or self._weight + total > self._max_packed_weight:
            self._unpack()
            self._packed = np.zeros((self.dimension, self.groups, self.cells + 1), dtype=np.int64)
        self._weight += total
        cells, offset_mask, one_count = self.cells + 1, (1 << self.bits) - 1, np.int64(1 << self._offset_bits)
        coordinates = max(1, ROWS // max(len(quanta), 2 * self.groups * self.cells))
        for first in range(0, self.dimension, coordinates):
            part = slice(first, first + coordinates)
            images = quanta[:, part]
            check_quanta(images)
            indices, records = np.empty(images.shape, np.int32, order="F"), np.empty(images.shape, np.int64, order="F")
            np.bitwise_and(images, offset_mask, out=indices, casting="unsafe")
            np.add(indices, one_count, out=records)
            np.right_shift(images, self.bits, out=indices, casting="unsafe")
            if images.shape[1] > 1:
                indices += np.arange(images.shape[1], dtype=np.int32) * (self.groups * cells)
            if group is not None:
                indices += (group * cells).astype(np.int32)[:, None]
            if weight is not None:
                records *= weight[:, None]
            sums = self._packed[part]
            sums += sum_by_index(indices.ravel(order="F"), records.ravel(order="F"), sums.size).reshape(sums.shape)

    def _unpack(self) -> None:
        """Move packed sums to the separate counts and offsets."""
        with self._unpack_lock:
            if self._packed is None:
                return
            packed = self._packed.swapaxes(0, 1)
            last = packed[:, :, -1] >> self._offset_bits
            packed = packed[:, :, :-1]
            self._counts += packed >> self._offset_bits
            packed &= (1 << self._offset_bits) - 1
            self._offsets += packed
            self._counts[:, :, -1] += last
            self._offsets[:, :, -1] += last << self.bits
            self._packed, self._weight = None, 0

    def __add__(self, other: Self) -> "Sketch":
        """Return the sketch of both tables together."""
        if self.counts.shape != other.counts.shape:
            raise MilepostError(f"sketches of shapes {self.counts.shape} and {other.counts.shape} do not add up")
        check_weight(int(self.totals.sum()) + int(other.totals.sum()))
        return self._with(self.counts + other.counts, self.offsets + other.offsets, self.totals + other.totals)

    def coarsen(self, cells: int) -> "Sketch":
        """Return the exact sketch of the same table with fewer cells."""
        if cells > self.cells:
            raise MilepostError(f"a sketch of {self.cells} cells cannot be refined to {cells}")
        ratio = self.cells // cells
        shape = (self.groups, self.dimension, cells, ratio)
        counts = self.counts.reshape(shape)
        starts = np.arange(ratio, dtype=np.int64) << self.bits
        offsets = self.offsets.reshape(shape).sum(axis=3) + (counts * starts).sum(axis=3)
        return self._with(counts.sum(axis=3), offsets, self.totals, cells)

    def repeat(self, times: int) -> "Sketch":
        """Return the sketch of the table in which every record occurs `times` times."""
        check_weight(int(self.totals.sum()) * times)
        return self._with(self.counts * times, self.offsets * times, self.totals * times)

    def only(self, i: int, group: int | None = None) -> "Sketch":
        """Return the sketch of embedding coordinate i alone, and of one group alone if it is given."""
        part, groups = slice(i, i + 1), slice(None) if group is None else slice(group, group + 1)
        result = Sketch(1, cells=self.cells)
        result.counts, result.offsets = self.counts[groups, part], self.offsets[groups, part]
        result.totals = self.totals[groups]
        return result

    def cumulative(self, group: int = 0) -> IntArray:
        """Return the share of cells at or above records: C_j = Σ clip((j+1)·2^bits − q, 0, 2^bits), int64[D, cells]."""
        result: IntArray = (np.cumsum(self.counts[group], axis=1) << self.bits) - self.offsets[group]
        return result

    def borders(self, group: int = 0) -> CellBorders:
        """Return the exact sums at every cell border of one group."""
        counts, total = self.counts[group], int(self.totals[group])
        below = np.zeros((self.dimension, self.cells + 1), dtype=np.int64)
        np.cumsum(counts, axis=1, out=below[:, 1:])
        value = np.zeros_like(below)
        np.cumsum(self.cumulative(group), axis=1, out=value[:, 1:])  # Σ_{j<J} C_j = Σ max(0, J·2^bits − q)
        # Σ|q − t| = 2·Σ max(0, t − q) + Σq − n·t
        grid = np.arange(self.cells + 1, dtype=np.int64) << self.bits
        quanta_sum = total * QUANTA - value[:, -1:]
        return CellBorders(2 * value + quanta_sum - total * grid, below, total, self.bits)

    def _with(self, counts: IntArray, offsets: IntArray, totals: IntArray, cells: int | None = None) -> "Sketch":
        result = Sketch(self.dimension, self.groups, cells or self.cells)
        result.counts, result.offsets, result.totals = counts, offsets, totals
        return result


def _image(space: Space, block: RecordBlock) -> tuple[ImageArray, IntArray | None, IntArray | None]:
    """Return records in quanta, with their groups and weights."""
    return space.quantize(block.points), block.group, block.weight


def check_weight(total: int) -> None:
    """Refuse more weight than 64-bit sums can hold; the error does not tell the total, which may be private."""
    if total > MAX_TOTAL:
        raise MilepostError(
            f"a table may have at most {MAX_TOTAL:,} rows, or a total weight of {MAX_TOTAL // WEIGHT_STEPS:,} times "
            "the largest; this table has more. Release it in parts, or release a public sample of the people"
        )


def total_weights(records: int, groups: int, group: AnyArray | None, weight: AnyArray | None) -> IntArray:
    """Return the total weight of records in each group: int64[groups]; refuse a record in no group."""
    if group is None:
        return np.array([records if weight is None else int(weight.sum())] + [0] * (groups - 1))
    if len(group) and not 0 <= int(group.min()) <= int(group.max()) < groups:
        raise MilepostError(f"groups are numbered from 0 to {groups - 1}, got {group.min()} to {group.max()}")
    weights = np.ones(records, dtype=np.int64) if weight is None else weight.astype(np.int64)
    return sum_by_index(group.astype(np.int32), weights, groups)


def check_quanta(quanta: AnyArray) -> None:
    """Refuse images outside of their intervals: they would count in another cell."""
    if int(quanta.view(f"u{quanta.itemsize}").max(initial=0)) > QUANTA:  # a negative one is large without its sign
        raise MilepostError(f"images must lie within 0 and 2^{QUANTUM_BITS} quanta; the space has others")
