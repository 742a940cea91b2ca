"""Labels: blocks of embedding coordinates, one for each label of a category, whose shares add up to 1."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from milepost._typing import FloatArray
from milepost.spaces.embeddings.embedding import Embedding


def balance_shares(embedding: Embedding, heights: Sequence[FloatArray]) -> list[FloatArray]:
    """Heights with the shares of a block's labels moved, all alike, so that they add up to 1.

    The answer at a label is then w(1 − its share): the noise of one count instead of all (docs/proofs/slopes.md).
    """
    result = list(heights)
    for block in embedding.category_blocks:
        half = float(embedding.spread[block.start])
        shares = np.array([height[0] for height in heights[block]]) / half
        shares += (1 - shares.sum()) / len(shares)
        result[block] = [half * np.array([share, 1 - share]) for share in shares]
    return result


@dataclass(frozen=True)
class CategoryNoise:
    """Noise of one label's coordinate in a block: that of w(1 − its share) at the far end, none at the near one.

    deviation: of the answer at a label. labels: of the block. laplace: whether counts had Laplace noise, else Gaussian.
    leads: the block's first coordinate speaks for all of it where one place is as good as another.
    """

    deviation: float
    labels: int
    laplace: bool
    leads: bool
    span: int

    @property
    def excess(self) -> float:
        """Excess kurtosis of a label's noise less the mean of all labels' noises."""
        mine, others = 1 - 1 / self.labels, 1 / self.labels
        fourth = mine**4 + (self.labels - 1) * others**4
        return 3 * fourth / mine**2 if self.laplace else 0.0

    @property
    def largest(self) -> tuple[float, float]:
        """The same at every label."""
        return (self.deviation**2, self.excess) if self.leads else (0.0, 0.0)

    @property
    def typical(self) -> float:
        """The same at every label."""
        return self.deviation if self.leads else 0.0

    def variance(self, positions: FloatArray) -> FloatArray:
        """Of the label that is asked about."""
        return self.deviation**2 * positions / self.span

    def kurtosis(self, positions: FloatArray) -> FloatArray:
        """The same at every label."""
        return np.full(len(positions), self.excess)

    def mass(self, failure: float) -> float:  # noqa: ARG002
        """Nothing is interpolated."""
        return 0.0

    def extremes(self, generator: np.random.Generator, draws: int) -> FloatArray:
        """Largest and least over the labels."""
        if not self.leads:
            return np.zeros((draws, 2))
        shape = draws, self.labels
        noise = generator.laplace(size=shape) / math.sqrt(2) if self.laplace else generator.standard_normal(shape)
        noise -= noise.mean(axis=1, keepdims=True)
        noise *= self.deviation / math.sqrt(1 - 1 / self.labels)
        return np.stack([noise.max(axis=1), noise.min(axis=1)], axis=1)


def category_noises(embedding: Embedding, block: slice, share: float, laplace: bool) -> list[CategoryNoise]:
    """Of a block whose labels' shares have noise of this deviation before they are made to add up to 1."""
    labels = block.stop - block.start
    deviation = embedding.width(block) * share * math.sqrt(1 - 1 / labels)
    span = int(embedding.span[block.start])
    return [CategoryNoise(deviation, labels, laplace, k == 0, span) for k in range(labels)]
