"""CountOrigin: the public marks that cumulative counts start from, so that an added record changes them little.

A record's mark on a cell is the share of the cell at or above it. Counted from one half, no mark changes by more than
one half. Counted from the marks of the middle position, few marks change in a space whose records cannot be far from it
in many coordinates at once. Labels are counted from the marks of a record without a label. docs/proofs/change.md,
Lemma 2.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from milepost._typing import FloatArray, IntArray
from milepost.errors import MilepostError
from milepost.spaces.embeddings.embedding import Embedding, round_up


@dataclass(frozen=True)
class CountOrigin:
    """The origin of counts. central: whether numbers are counted from the middle position, else from one half."""

    embedding: Embedding
    central: bool

    @classmethod
    def of(cls, embedding: Embedding) -> "CountOrigin":
        """Return the origin from which one record changes counts less."""
        half, central = cls(embedding, central=False), cls(embedding, central=True)
        return central if embedding.symmetric and central.radius < half.radius else half

    @cached_property
    def radius(self) -> float:
        """An upper bound of Σᵢ τᵢ·2^−bits·|change of coordinate i's marks|², for any one record."""
        if self.central:
            return round_up(np.array([self.embedding.sensitivity_bound / 2, *self.embedding.quantum]))
        widths = [self.embedding.width(block) * block.single_share for block in self.embedding.blocks]
        return round_up(np.array(widths))

    def marks(self, i: int, bits: int) -> IntArray:
        """Return the marks on the cells of coordinate i that each record's are counted from: int64[cells]."""
        span, block = int(self.embedding.span[i]), self.embedding.block_at[i]
        cell_ends = (np.arange(span >> bits, dtype=np.int64) + 1) << bits

        def halves(_: int) -> IntArray:
            return np.full(len(cell_ends), 1 << (bits - 1), dtype=np.int64)

        def marks_of_origin(_: object) -> IntArray:
            return (cell_ends - block.origin(span // 2)).clip(0, 1 << bits)

        return block.select(marks_of_origin if self.central else halves, marks_of_origin)


@dataclass(frozen=True)
class AnchorOrigin:
    """The mean marks of the embedding's anchor, from which counts start where answers are counted from it, too."""

    embedding: Embedding

    def marks(self, i: int, bits: int) -> IntArray:
        """Return the marks on the cells of coordinate i that each record's are counted from: int64[cells]."""
        shares = border_shares(self.embedding, i, bits)
        return np.asarray(np.rint(np.cumsum(shares)[:-1] * (1 << bits)), dtype=np.int64)


def border_shares(embedding: Embedding, i: int, bits: int) -> FloatArray:
    """Return how the anchor weighs the cell borders of coordinate i: float64[cells + 1]."""
    if embedding.anchor is None:
        raise MilepostError("the embedding of this space has no anchor")
    return embedding.anchor.shares(i, int(embedding.span[i]), bits)
