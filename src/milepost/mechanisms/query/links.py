"""Links: the differences of distances that `net` sums, and a bound of each. All of it is public."""

import math
from dataclasses import dataclass

import numpy as np

from milepost._typing import FloatArray, IntArray
from milepost.errors import MilepostError
from milepost.spaces.embeddings.embedding import QUANTA
from milepost.spaces.queries import Queries

MIDDLE = QUANTA // 2
ROOT = -1  # right end of a link that leads to no query: its distance counts as half the diameter
MAX_QUERIES = 1 << 12
BLOCK = 1 << 22  # distances in memory at a time
STEPS = 16  # of rounded scales in each power of two, so that many links share a scale


@dataclass(frozen=True, eq=False)
class Links:
    """Pairs of queries: int64[m] each, with lengths in quanta.

    right: ROOT where the distance to `left` itself is counted, from half the diameter.
    """

    left: IntArray
    right: IntArray
    lengths: IntArray

    def __len__(self) -> int:
        return len(self.left)

    def differences(self, quanta: IntArray) -> IntArray:
        """Return differences along the links, int64[n, m], from distances int64[n, k]; none exceeds the link's length.

        For a metric this follows from the triangle inequality; clipping ensures it for any function of the user.
        """
        distances = np.concatenate([quanta, np.full((len(quanta), 1), MIDDLE, dtype=np.int64)], axis=1)  # ROOT is last
        result = distances[:, self.left]
        result -= distances[:, self.right]
        return np.asarray(np.clip(result, -self.lengths, self.lengths, out=result))


def lengths_between(queries: Queries) -> IntArray:
    """Return distances between queries in quanta, plus 1 and more for rounding, as a symmetric int32[k, k].

    |rint(a) − rint(b)| ≤ rint(d) + 1 for all |a − b| ≤ d, so no difference of a metric's distances is longer, and where
    points are rounded each of the two may be off. The metric is computed for half of the pairs, a block at a time.
    """
    if queries.count > MAX_QUERIES:
        raise MilepostError(
            f"net answers up to {MAX_QUERIES:,} queries, got {queries.count:,}; ask fewer, or use another mechanism"
        )
    count, points = queries.count, queries.points
    result = np.empty((count, count), dtype=np.int32)
    more = 1 + math.ceil(2 * queries.space.distance_error / queries.quantum)
    rows = max(1, BLOCK // count)
    for start in range(0, count, rows):
        part = slice(start, start + rows)
        result[part, start:] = queries.quantize(queries.space.query_distances(points[part], points[start:])) + more
    upper = np.triu(result, 1)
    return np.asarray(upper + upper.T + np.eye(count, dtype=np.int32))


def round_scales(scales: FloatArray) -> FloatArray:
    """Return scales rounded to whole powers of 2^(1/16); costs and variances are computed from the rounded ones."""
    return np.asarray(np.exp2(np.rint(STEPS * np.log2(scales)) / STEPS))
