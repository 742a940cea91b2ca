"""Anchor: from which public marks cumulative counts are counted, so that one record more moves them little.

A record's mark on a cell is the share of the cell at or above it. Counted from one half, no mark moves by more than
that; counted from the marks of the middle place, few move in a space whose records cannot be far from it in many
coordinates at once. Labels are counted from those of a record without a label. docs/proofs/change.md, Lemma 2.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from milepost._typing import IntArray
from milepost.spaces.embeddings.embedding import Embedding, round_up


@dataclass(frozen=True)
class CountOrigin:
    """central: whether counts of numbers are counted from the middle place, rather than from one half."""

    embedding: Embedding
    central: bool

    @classmethod
    def of(cls, embedding: Embedding) -> "CountOrigin":
        """The one from which a record moves counts less."""
        half, central = cls(embedding, central=False), cls(embedding, central=True)
        return central if embedding.symmetric and central.radius < half.radius else half

    @cached_property
    def radius(self) -> float:
        """At least the sum over coordinates of τᵢ·2^−bits·|change of its marks|², for any one record."""
        if self.central:
            return round_up(np.array([self.embedding.sensitivity_bound / 2, *self.embedding.quantum]))
        return round_up(
            np.array(
                [
                    self.embedding.width(unit) / (2 if unit in self.embedding.category_blocks else 4)
                    for unit in self.embedding.independent_blocks
                ]
            )
        )

    def marks(self, i: int, bits: int) -> IntArray:
        """What each record's marks on the cells of coordinate i are counted from: int64[cells]."""
        span = int(self.embedding.span[i])
        ends = (np.arange(span >> bits, dtype=np.int64) + 1) << bits
        if any(block.start <= i < block.stop for block in self.embedding.category_blocks):
            ends = ends.clip(0, 1 << bits)
        elif self.central:
            ends = (ends - span // 2).clip(0, 1 << bits)
        else:
            ends = np.full(len(ends), 1 << (bits - 1), dtype=np.int64)
        return ends
