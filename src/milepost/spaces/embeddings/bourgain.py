"""Figure 3: distances to random subsets of the queries, a 1-sensitive variant of Bourgain's embedding.

docs/proofs/bourgain.md. Subsets are drawn from public numbers only, so the image of a record depends on that record and
on the queries.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from milepost._typing import FloatArray, IntArray
from milepost.spaces.embeddings.embedding import Distortion


@dataclass(frozen=True, eq=False)
class Subsets:
    """The sets S_ij, each once per level: members as indices of queries, and weight 1/(KL) per draw of the set.

    Empty sets are left out: to them every point has the same distance, so they add nothing to a distance.
    level: i of each set, from 1. int64[sets], like the float64[sets] of weight.
    """

    members: tuple[IntArray, ...]
    weight: FloatArray
    level: IntArray

    def nearest(self, distances: FloatArray) -> FloatArray:
        """Return d(x, S) for every set S: float64[n, sets], from distances to the queries float64[n, k]."""
        columns = np.ascontiguousarray(distances.T)
        result = np.empty((len(self.members), len(distances)))
        for row, members in zip(result, self.members, strict=True):
            np.min(columns[members], axis=0, out=row)
        return np.ascontiguousarray(result.T)


@dataclass(frozen=True)
class Calibration:
    """A factor that multiplies embedded distances, and the distortion after it, measured on pairs of queries."""

    factor: float
    distortion: Distortion


def measure(distances: FloatArray, images: FloatArray, weight: FloatArray, calibrate: bool) -> Calibration:
    """Return the calibration of embedded distances ÷ exact ones over pairs of points that are apart.

    distances: float64[m, m] between the points. images: d(x, S) of each, float64[m, sets]. calibrate: choose the factor
    that is right on average, else 1.
    """
    left, right = np.triu_indices(len(distances), 1)
    exact, embedded = distances[left, right], np.zeros(len(left))
    for image, set_weight in zip(images.T, weight.tolist(), strict=True):
        embedded += set_weight * np.abs(image[left] - image[right])
    # where no pair is apart, there is one query, and its image is the distance itself
    exact, embedded = exact[exact > 0], embedded[exact > 0]
    factor = float(exact.sum() / embedded.sum()) if calibrate and embedded.any() else 1.0
    return Calibration(factor, Distortion.of(factor * embedded / exact))


def levels_of(count: int) -> int:
    """Return L = ⌊log₂k⌋ + 1, so that k = 1 has one level and k = 2 has two."""
    return count.bit_length()


def paper_repetitions(count: int, n: int) -> int:
    """Return K = ⌈512(log₂k + log₂n)⌉ of Figure 3, at least 1."""
    return max(1, math.ceil(512 * (math.log2(count) + math.log2(n))))


@lru_cache(maxsize=8)
def draw(count: int, repetitions: int, seed: int) -> Subsets:
    """Draw K sets per level; set ij holds each of `count` queries with probability 2^{-(i-1)}, i = 1..L."""
    levels = levels_of(count)
    generator = np.random.default_rng([seed, count])
    all_queries = np.ones(count, dtype=bool)
    draws = {(1, all_queries.tobytes()): repetitions}  # on the first level a set holds all queries
    for _ in range(repetitions):  # the outer loop, so that more repetitions keep the sets that fewer have
        for level in range(2, levels + 1):
            subset = generator.random(count) < 2.0 ** (1 - level)
            if subset.any():
                key = level, subset.tobytes()
                draws[key] = draws.get(key, 0) + 1
    members = tuple(np.flatnonzero(np.frombuffer(key, dtype=bool)) for _, key in draws)
    weight = np.array(list(draws.values())) / (repetitions * levels)
    weight.flags.writeable = False
    return Subsets(members, weight, np.array([level for level, _ in draws]))
