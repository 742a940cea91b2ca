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
    """The sets S_ij, each once a level: members as positions of queries, and 1/(KL) for every time it was drawn.

    Empty sets are left out: to them every point has the same distance, so they add nothing to a distance.
    level: i of each set, from 1. int64[sets], like the float64[sets] of weight.
    """

    members: tuple[IntArray, ...]
    weight: FloatArray
    level: IntArray

    def nearest(self, distances: FloatArray) -> FloatArray:
        """d(x, S) for every set S: float64[n, sets], from distances to the queries float64[n, k]."""
        columns = np.ascontiguousarray(distances.T)
        result = np.empty((len(self.members), len(distances)))
        for row, members in zip(result, self.members, strict=True):
            np.min(columns[members], axis=0, out=row)
        return np.ascontiguousarray(result.T)


@dataclass(frozen=True)
class Calibration:
    """What pairs of queries say about embedded distances: a factor that multiplies them, and what is left."""

    factor: float
    distortion: Distortion


def measure(distances: FloatArray, images: FloatArray, weight: FloatArray, calibrate: bool) -> Calibration:
    """Embedded distances ÷ exact ones over pairs of points that are apart.

    distances: float64[m, m] between the points. images: d(x, S) of each, float64[m, sets]. calibrate: choose the factor
    that is right on average, else 1.
    """
    left, right = np.triu_indices(len(distances), 1)
    exact, embedding = distances[left, right], np.zeros(len(left))
    for image, own in zip(images.T, weight.tolist(), strict=True):
        embedding += own * np.abs(image[left] - image[right])
    exact, embedding = (
        exact[exact > 0],
        embedding[exact > 0],
    )  # none apart: one query, whose image is the distance itself
    factor = float(exact.sum() / embedding.sum()) if calibrate and embedding.any() else 1.0
    return Calibration(factor, Distortion.of(factor * embedding / exact))


def levels_of(count: int) -> int:
    """L = ⌊log₂k⌋ + 1, so that k = 1 has one level and k = 2 has two."""
    return count.bit_length()


def paper_repetitions(count: int, n: int) -> int:
    """K = ⌈512(log₂k + log₂n)⌉ of Figure 3, at least 1."""
    return max(1, math.ceil(512 * (math.log2(count) + math.log2(n))))


@lru_cache(maxsize=8)
def draw(count: int, repetitions: int, seed: int) -> Subsets:
    """K sets a level; set ij holds each of `count` queries with probability 2^{-(i-1)}, i = 1..L."""
    levels = levels_of(count)
    generator = np.random.default_rng([seed, count])
    everyone = np.ones(count, dtype=bool)
    drawn = {(1, everyone.tobytes()): repetitions}  # on the first level a set holds all queries
    for _ in range(repetitions):  # the outer loop, so that more repetitions keep the sets that fewer have
        for level in range(2, levels + 1):
            chosen = generator.random(count) < 2.0 ** (1 - level)
            if chosen.any():
                key = level, chosen.tobytes()
                drawn[key] = drawn.get(key, 0) + 1
    members = tuple(np.flatnonzero(np.frombuffer(key, dtype=bool)) for _, key in drawn)
    weight = np.array(list(drawn.values())) / (repetitions * levels)
    weight.flags.writeable = False
    return Subsets(members, weight, np.array([level for level, _ in drawn]))
