"""Links: which differences of distances `net` counts, and how far each may go. All of it is public."""

from dataclasses import dataclass

import numpy as np

from milepost._typing import FloatArray, IntArray
from milepost.errors import MilepostError
from milepost.spaces.embeddings.embedding import QUANTA
from milepost.spaces.queries import Queries

MIDDLE = QUANTA // 2
ROOT = -1  # what stands for half the diameter, where a link leads to no query
MAX_QUERIES = 1 << 12
BLOCK = 1 << 22  # distances in memory at a time
STEPS = 16  # to which scales are rounded, so many for each power of two, so that many links share one


@dataclass(frozen=True, eq=False)
class Links:
    """Pairs of queries: int64[m] each, with lengths in quanta.

    right: GROUND where the distance to `left` itself is counted, from half the diameter.
    """

    left: IntArray
    right: IntArray
    lengths: IntArray

    def __len__(self) -> int:
        return len(self.left)

    def counted(self, quanta: IntArray) -> IntArray:
        """Differences along the links, int64[n, m], from distances int64[n, k]; none is over the link's length.

        For a metric none would be (the triangle inequality); whatever the user's function says, none is.
        """
        ends = np.concatenate([quanta, np.full((len(quanta), 1), MIDDLE, dtype=np.int64)], axis=1)  # GROUND is the last
        result = ends[:, self.left]
        result -= ends[:, self.right]
        return np.asarray(np.clip(result, -self.lengths, self.lengths, out=result))


def lengths_between(queries: Queries) -> IntArray:
    """Distances between queries in quanta, one more for rounding, the same both ways: int32[k, k].

    |rint(a) − rint(b)| ≤ rint(d) + 1 for all |a − b| ≤ d, so no difference of a metric's distances is longer. The
    metric is asked for half of the pairs, a block at a time.
    """
    if queries.count > MAX_QUERIES:
        raise MilepostError(
            f"net answers up to {MAX_QUERIES:,} queries, got {queries.count:,}; ask fewer, or use gaussian or laplace"
        )
    count, points = queries.count, queries.points
    result = np.empty((count, count), dtype=np.int32)
    rows = max(1, BLOCK // count)
    for start in range(0, count, rows):
        part = slice(start, start + rows)
        result[part, start:] = queries.quantize(queries.space.between(points[part], points[start:])) + 1
    upper = np.triu(result, 1)
    return np.asarray(upper + upper.T + np.eye(count, dtype=np.int32))


def round_scales(scales: FloatArray) -> FloatArray:
    """Scales moved to whole powers of 2^(1/16): what they cost and give is computed from the rounded ones."""
    return np.asarray(np.exp2(np.rint(STEPS * np.log2(scales)) / STEPS))
