"""Blocks of embedding coordinates, one coordinate for each label of a category; the labels' shares add up to 1."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from milepost._typing import FloatArray
from milepost.spaces.embeddings.embedding import CategoryBlock, Embedding


def balance_shares(embedding: Embedding, heights: Sequence[FloatArray]) -> list[FloatArray]:
    """Return heights in which the shares of each category's labels add up to 1, after the same shift of each share.

    The answer at a label is then w(1 − its share): the noise of one count instead of all (docs/proofs/slopes.md).
    """

    def balanced(block: CategoryBlock) -> list[FloatArray]:
        half = float(embedding.spread[block.start])
        shares = np.array([height[0] for height in heights[block.coordinates]]) / half
        shares += (1 - shares.sum()) / len(shares)
        return [half * np.array([share, 1 - share]) for share in shares]

    return [part for block in embedding.blocks for part in block.select(lambda i: [heights[i]], balanced)]


@dataclass(frozen=True)
class CategoryNoise:
    """Noise of one label's coordinate in a block: that of w(1 − its share) at the far end, none at the near one.

    deviation: of the answer at a label. labels: of the block. laplace: whether counts had Laplace noise, else Gaussian.
    first: whether it is the block's first coordinate, which stands for the block where all positions are equal.
    share: the standard deviation of a label's share, before all shares are shifted to add up to 1.
    """

    deviation: float
    labels: int
    laplace: bool
    first: bool
    span: int
    share: float

    @property
    def share_variances(self) -> FloatArray:
        """The variance of a label's share, before all shares are shifted to add up to 1."""
        return np.array([self.share**2])

    @property
    def excess(self) -> float:
        """Excess kurtosis of a label's noise less the mean of all labels' noises."""
        own, other = 1 - 1 / self.labels, 1 / self.labels
        fourth = own**4 + (self.labels - 1) * other**4
        return 3 * fourth / own**2 if self.laplace else 0.0

    @property
    def max_moments(self) -> tuple[float, float]:
        """Variance and excess kurtosis, which all labels share."""
        return (self.deviation**2, self.excess) if self.first else (0.0, 0.0)

    @property
    def rms(self) -> float:
        """The standard deviation, which all labels share."""
        return self.deviation if self.first else 0.0

    def variance(self, positions: FloatArray) -> FloatArray:
        """Return the variance at positions: all of it at the query's label, none at the others."""
        return self.deviation**2 * positions / self.span

    def kurtosis(self, positions: FloatArray) -> FloatArray:
        """Return the excess kurtosis, which all labels share."""
        return np.full(len(positions), self.excess)

    def mass(self, failure: float) -> float:  # noqa: ARG002
        """Return 0: labels are not interpolated."""
        return 0.0

    def share_moments(self, weights: FloatArray) -> tuple[float, float]:
        """Return the moments of a label's share, times the weight of its only cell."""
        return float(weights @ weights) * self.share**2 * (1 - 1 / self.labels), self.excess

    def extremes(self, generator: np.random.Generator, draws: int) -> FloatArray:
        """Return simulated maxima and minima over the labels."""
        if not self.first:
            return np.zeros((draws, 2))
        shape = draws, self.labels
        noise = generator.laplace(size=shape) / math.sqrt(2) if self.laplace else generator.standard_normal(shape)
        noise -= noise.mean(axis=1, keepdims=True)
        noise *= self.deviation / math.sqrt(1 - 1 / self.labels)
        return np.stack([noise.max(axis=1), noise.min(axis=1)], axis=1)


def category_noises(embedding: Embedding, block: CategoryBlock, share: float, laplace: bool) -> list[CategoryNoise]:
    """Return the noises of a block's coordinates; share: deviation of a label's share before `balance_shares`."""
    deviation = embedding.width(block) * share * math.sqrt(1 - 1 / block.labels)
    span = int(embedding.span[block.start])
    return [CategoryNoise(deviation, block.labels, laplace, k == 0, span, share) for k in range(block.labels)]
