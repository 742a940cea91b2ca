"""Cell shares: the mean over each cell of the share of people at or below a position, as curves hold it, and its noise.

The slope of a coordinate's curve is ω(2·cdf − 1), so that the rise across a cell gives the mean of the cdf there.
Differences between the shares of two tables are what their energy distance is made of.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from milepost._typing import FloatArray, IntArray
from milepost.mechanisms.totals import Total
from milepost.spaces.embeddings.embedding import QUANTUM_BITS, Embedding
from milepost.statistics.sketch import Sketch


class ShareNoise(Protocol):
    """The law of the noise on one coordinate's cell shares."""

    @property
    def share_variances(self) -> FloatArray:
        """One variance, of every cell, where cells have independent noise.

        Else one for each level of Haar functions over the cells: of a coefficient for the constant, then of those for
        the halves, quarters and so on.
        """

    @property
    def laplace(self) -> bool:
        """Whether independent Laplace draws make up the noise; else it is normal."""


@dataclass(frozen=True, eq=False)
class CellShares:
    """The cell shares of a release, or the exact ones of a public table.

    values: of all cells, coordinate after coordinate. bits: coordinate i has cells of 2^bits[i] quanta. offsets: the
    shares less those of the origin, which the noise of the total multiplies; None where the total is public.
    variances: as `ShareNoise.share_variances`, of each coordinate; empty where there is no noise.
    """

    embedding: Embedding
    bits: tuple[int, ...]
    values: FloatArray
    total: Total
    offsets: FloatArray | None
    variances: tuple[FloatArray, ...]
    laplace: bool

    @classmethod
    def of_curves(
        cls,
        embedding: Embedding,
        bits: Sequence[int],
        heights: Sequence[FloatArray],
        origins: Sequence[FloatArray] | None,
        noises: Sequence[ShareNoise],
        total: Total,
    ) -> "CellShares":
        """Return the shares from the heights of curves at the borders of cells."""
        values = _shares(embedding, bits, heights)
        offsets = None if origins is None else values - _shares(embedding, bits, origins)
        variances = tuple(noise.share_variances for noise in noises)
        return cls(embedding, tuple(bits), values, total, offsets, variances, any(noise.laplace for noise in noises))

    @classmethod
    def of_sketch(cls, embedding: Embedding, bits: Sequence[int], sketch: Sketch) -> "CellShares":
        """Return the exact shares of a public table. sketch: with cells as fine as `bits` are."""
        total = int(sketch.totals[0])
        cumulative = {b: sketch.coarsen(1 << (QUANTUM_BITS - b)).cumulative() for b in set(bits)}
        parts = [
            cumulative[b][i, : int(span) >> b] / (total << b)
            for i, (b, span) in enumerate(zip(bits, embedding.span, strict=True))
        ]
        return cls(embedding, tuple(bits), np.concatenate(parts), Total(total), None, (), False)

    @cached_property
    def lengths(self) -> IntArray:
        """The number of cells of each coordinate: int64[D]."""
        return self.embedding.span >> np.array(self.bits, dtype=np.int64)

    @cached_property
    def starts(self) -> IntArray:
        """The index of each coordinate's first cell: int64[D]."""
        return np.cumsum(self.lengths) - self.lengths

    @property
    def exact(self) -> bool:
        """Whether the shares are those of a public table."""
        return not self.variances

    def cells_of(self, i: int) -> slice:
        """Return the cells of coordinate i."""
        return slice(int(self.starts[i]), int(self.starts[i] + self.lengths[i]))

    def first(self, embedding: Embedding) -> "CellShares":
        """Return the shares of the first coordinates, in an embedding that has only these."""
        count = embedding.dimension
        cells = int(self.lengths[:count].sum())
        offsets = None if self.offsets is None else self.offsets[:cells]
        return CellShares(
            embedding,
            self.bits[:count],
            self.values[:cells],
            self.total,
            offsets,
            self.variances[:count],
            self.laplace,
        )

    def coarsen(self, bits: Sequence[int]) -> "CellShares":
        """Return the shares of cells of 2^bits quanta, which are no narrower: means over the cells in them."""
        if tuple(bits) == self.bits:
            return self
        merged = 1 << (np.array(bits, dtype=np.int64) - np.array(self.bits, dtype=np.int64))
        firsts = merge_starts(self.starts, self.lengths, merged)
        sizes = np.diff(np.append(firsts, len(self.values)))
        means = np.add.reduceat(self.values, firsts) / sizes
        offsets = None if self.offsets is None else np.add.reduceat(self.offsets, firsts) / sizes
        variances = tuple(coarse_variances(v, int(m)) for v, m in zip(self.variances, merged, strict=False))
        return CellShares(self.embedding, tuple(bits), means, self.total, offsets, variances, self.laplace)


def merge_starts(starts: IntArray, lengths: IntArray, merged: IntArray) -> IntArray:
    """Return the index of the first cell of each group of `merged[i]` cells of coordinate i; the last may be short."""
    groups = -(-lengths // merged)
    coordinate = np.repeat(np.arange(len(lengths)), groups)
    index = np.arange(len(coordinate)) - np.repeat(np.cumsum(groups) - groups, groups)
    return np.asarray(starts[coordinate] + index * merged[coordinate])


def coarse_variances(variances: FloatArray, merged: int) -> FloatArray:
    """Return the variances of means over `merged` cells, a power of two: the finest levels of Haar functions go."""
    if len(variances) == 1:
        return variances / merged
    return np.asarray(variances[: len(variances) - (merged.bit_length() - 1)] / merged)


def _shares(embedding: Embedding, bits: Sequence[int], heights: Sequence[FloatArray]) -> FloatArray:
    rises = np.concatenate([np.diff(height) for height in heights])
    cells = [len(height) - 1 for height in heights]
    steps = embedding.quantum * np.exp2(np.array(bits))  # the rise across a cell that has everybody below it
    return np.asarray((rises / np.repeat(steps, cells) + 1) / 2)
