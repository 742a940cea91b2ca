"""Sketches: exact integers per embedding coordinate, which give the mean distance at every cell border."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Self

import numpy as np

from milepost._typing import AnyArray, FloatArray, ImageArray, IntArray
from milepost.errors import MilepostError
from milepost.privacy.protected_change import WEIGHT_STEPS
from milepost.spaces.base import Space
from milepost.spaces.embeddings.embedding import QUANTA, QUANTUM_BITS, default_cells
from milepost.spaces.embeddings.quantization import (
    CACHE_NUMBERS,
    CACHE_ROWS,
    MAX_PACKED,
    CoordinateSpace,
    ImagePart,
    PackedPart,
    array_part,
    image_parts,
    packed_parts,
    unpack_sums,
)
from milepost.statistics.accumulate import sum_by_index, sum_each_row_by_index
from milepost.statistics.statistic_spec import RecordBlock, StatisticSpec

MAX_TOTAL = 1 << 37  # twice the total weight × 2²⁴ quanta stays below 2⁶³
SMALL = 1 << 20  # numbers of a table that are summed in a few milliseconds in any way
CROWDED = 4  # records a cell, from which sums over whole tables of cells are quick


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
    counts, offsets: int64[groups, D, cells]; totals: int64[groups]; anchor_sums: int64[groups], the sums of records'
    mean distances to the anchor of the embedding, in quanta; None where there is none.
    """

    def __init__(self, dimension: int, groups: int = 1, cells: int | None = None, *, anchored: bool = False) -> None:
        self.cells = default_cells(dimension) if cells is None else cells
        if self.cells < 1 or self.cells & (self.cells - 1) or self.cells > QUANTA:
            raise MilepostError(f"cells must be a power of two up to 2^{QUANTUM_BITS}, got {self.cells}")
        self._counts = np.zeros((groups, dimension, self.cells), dtype=np.int64)
        self._offsets = np.zeros_like(self._counts)
        self.totals = np.zeros(groups, dtype=np.int64)
        self.anchor_sums = np.zeros(groups, dtype=np.int64) if anchored else None
        self._packed: AnyArray | None = None  # uint64[D, columns], as `unpack_sums` takes them
        self._packed_records = 0
        self._unpack_lock = Lock()  # noise is added to several coordinates at once, each of which reads the counts

    @classmethod
    def spec(cls, space: Space, groups: int = 1, cells: int | None = None) -> "StatisticSpec[Sketch]":
        """Return the specification of the sketch of a table in a space."""
        dimension = space.embedding.dimension
        work = max(space.width, dimension // 8)  # a few coordinates of a record are in memory at a time
        threads = isinstance(space, CoordinateSpace) and space.uses_all_processors
        empty = partial(Sketch, dimension, groups, cells, anchored=space.embedding.anchor is not None)
        return StatisticSpec(empty, partial(_image, space), work, threads)

    @property
    def arrays(self) -> tuple[IntArray, ...]:
        """Return all integers."""
        anchor_sums = () if self.anchor_sums is None else (self.anchor_sums,)
        return self.counts, self.offsets, self.totals, *anchor_sums

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

    def add(
        self, images: "AnyArray | RecordImages", group: AnyArray | None = None, weight: AnyArray | None = None
    ) -> None:
        """Add records at whole quanta [n, D] in 0..2²⁴, each with a group index and an integer weight."""
        totals = total_weights(len(images), self.groups, group, weight)
        check_weight(int(self.totals.sum()) + int(totals.sum()))
        add: Callable[..., None] = self._add_packed if weight is None else self._add_weighted
        block_rows = images.block_rows if isinstance(images, RecordImages) else CACHE_ROWS
        rows = min(max(block_rows, CROWDED * self._columns, CACHE_NUMBERS // self.dimension), CACHE_NUMBERS)
        if CROWDED * len(images) < self._columns:
            add, rows = self._add_few, max(1, CACHE_NUMBERS // self.dimension)
        for start in range(0, len(images), rows):
            part = slice(start, start + rows)
            groups, weights = (None if each is None else each[part].astype(np.int64) for each in (group, weight))
            add(images, part, groups, weights)
            if self.anchor_sums is not None:
                self.anchor_sums += self._sum_anchor_positions(images[part], groups, weights)
        self.totals += totals

    def _sum_anchor_positions(
        self, images: "AnyArray | RecordImages", group: IntArray | None, weight: IntArray | None
    ) -> IntArray:
        """Return the sums of the records' mean distances to the anchor, by group."""
        if not isinstance(images, RecordImages):
            raise MilepostError("a sketch of a space with an anchor takes the records themselves, not their images")
        weighted = images.space.anchor_positions(images.points).astype(np.int64)
        if weight is not None:
            weighted *= weight
        if group is None:
            return np.array([int(weighted.sum())] + [0] * (self.groups - 1))
        return sum_by_index(group.astype(np.int32), weighted, self.groups)

    def _add_packed(self, images: "AnyArray | RecordImages", rows: slice, group: IntArray | None, _: None) -> None:
        """Add records to sums, modulo 2⁶⁴, from which their number and the sum of q in each cell can be read."""
        records = len(images[rows])
        if self._packed is None or self._packed_records + records > MAX_PACKED:
            self._unpack()
            self._packed = np.zeros((self.dimension, self._columns), dtype=np.uint64)
        self._packed_records += records
        small = len(images) * self.dimension <= SMALL
        for some, (coordinates, quanta, packed) in _packed_parts(images, rows):
            index = self._cells_of(quanta, group if group is None or some is None else group[some])
            self._packed[coordinates] += sum_each_row_by_index(index, packed, self._columns, small=small)

    def _add_weighted(
        self, images: "AnyArray | RecordImages", rows: slice, group: IntArray | None, weight: IntArray
    ) -> None:
        """Add records with weights, as separate sums."""
        for coordinates, quanta, _ in _parts(images, rows):
            weighted, weights = quanta * weight, np.tile(weight, (len(quanta), 1))
            index = self._cells_of(quanta, group)
            self._add_sums(
                coordinates, *(sum_each_row_by_index(index, each, self._columns) for each in (weights, weighted))
            )

    def _add_few(
        self, images: "AnyArray | RecordImages", rows: slice, group: IntArray | None, weight: IntArray | None
    ) -> None:
        """Add records one by one, which takes no longer if there are many cells."""
        for coordinates, quanta, _ in _parts(images, rows):
            index = np.minimum(quanta >> self.bits, self.cells - 1).astype(np.int64)
            offset = quanta - (index << self.bits)
            index += (np.arange(self.dimension)[coordinates] * self.cells)[:, None]
            if group is not None:
                index += group * (self.dimension * self.cells)
            weights = np.broadcast_to(1 if weight is None else weight, index.shape)
            offset *= weights
            self._counts, self._offsets = np.ascontiguousarray(self._counts), np.ascontiguousarray(self._offsets)
            np.add.at(self._counts.reshape(-1), index.reshape(-1), weights.reshape(-1))
            np.add.at(self._offsets.reshape(-1), index.reshape(-1), offset.reshape(-1))

    @property
    def _columns(self) -> int:
        """Return the cells of all groups, with one more in each group for records at the far end."""
        return self.groups * (self.cells + 1)

    def _cells_of(self, quanta: ImageArray, group: IntArray | None) -> ImageArray:
        """Return the column of each record's cell, in place: int32[coordinates, n]."""
        quanta >>= self.bits
        if group is not None:
            quanta += (group * (self.cells + 1)).astype(np.int32)
        return quanta

    def _unpack(self) -> None:
        """Move packed sums to the separate counts and offsets."""
        with self._unpack_lock:
            if self._packed is None:
                return
            count = max(1, CACHE_NUMBERS // self._columns)
            for start in range(0, self.dimension, count):
                coordinates = slice(start, start + count)
                self._add_sums(coordinates, *unpack_sums(self._packed[coordinates]))
            self._packed, self._packed_records = None, 0

    def _add_sums(self, coordinates: slice, counts: IntArray, sums: IntArray) -> None:
        """Add the weight and the weighted sum of q in each column: int64[coordinates, columns]."""
        counts, sums = (each.reshape(-1, self.groups, self.cells + 1).swapaxes(0, 1) for each in (counts, sums))
        sums -= counts * (np.arange(self.cells + 1) << self.bits)
        self._counts[:, coordinates] += counts[:, :, :-1]
        self._offsets[:, coordinates] += sums[:, :, :-1]
        # a record at the far end is at the end of the last cell
        self._counts[:, coordinates, -1] += counts[:, :, -1]
        self._offsets[:, coordinates, -1] += counts[:, :, -1] << self.bits

    def __add__(self, other: Self) -> "Sketch":
        """Return the sketch of both tables together."""
        if self.counts.shape != other.counts.shape:
            raise MilepostError(f"sketches of shapes {self.counts.shape} and {other.counts.shape} do not add up")
        if (self.anchor_sums is None) != (other.anchor_sums is None):
            raise MilepostError("a sketch with sums of mean distances to an anchor does not add up with one without")
        check_weight(int(self.totals.sum()) + int(other.totals.sum()))
        result = self._with(self.counts + other.counts, self.offsets + other.offsets, self.totals + other.totals)
        if self.anchor_sums is not None and other.anchor_sums is not None:
            result.anchor_sums = self.anchor_sums + other.anchor_sums
        return result

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
        result = self._with(self.counts * times, self.offsets * times, self.totals * times)
        result.anchor_sums = None if self.anchor_sums is None else self.anchor_sums * times
        return result

    def mix(self, weights: IntArray) -> "Sketch":
        """Return the sketch of one table in which every record occurs as often as its group's weight says."""
        check_weight(int(self.totals @ weights))
        result = Sketch(self.dimension, cells=self.cells)
        result.counts, result.offsets = (np.tensordot(weights, part, 1)[None] for part in (self.counts, self.offsets))
        result.totals = np.array([int(self.totals @ weights)])
        result.anchor_sums = None if self.anchor_sums is None else np.array([int(self.anchor_sums @ weights)])
        return result

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
        result.anchor_sums = self.anchor_sums
        return result


@dataclass(frozen=True, eq=False)
class RecordImages:
    """The images of records, which are computed a few rows and coordinates at a time."""

    space: Space
    points: FloatArray

    @property
    def block_rows(self) -> int:
        """Return how many rows to compute at a time."""
        return self.space.block_rows if isinstance(self.space, CoordinateSpace) else CACHE_ROWS

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, rows: slice) -> "RecordImages":
        return RecordImages(self.space, self.points[rows])


def _parts(images: AnyArray | RecordImages, rows: slice) -> Iterator[ImagePart]:
    """Yield the images of rows, in parts of some coordinates."""
    if isinstance(images, RecordImages):
        return image_parts(images.space, images.points[rows])
    return iter([array_part(images[rows])])


def _packed_parts(images: AnyArray | RecordImages, rows: slice) -> Iterator[PackedPart]:
    """Yield the images of rows for packed sums, in parts of some coordinates."""
    if isinstance(images, RecordImages):
        return packed_parts(images.space, images.points[rows])
    return iter([(None, array_part(images[rows]))])


def _image(space: Space, block: RecordBlock) -> tuple[RecordImages, IntArray | None, IntArray | None]:
    """Return the images of records, with their groups and weights."""
    return RecordImages(space, block.points), block.group, block.weight


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
