"""Learners: the convex learner of Figure 1, and its sum over coordinates (Lemma 6).

Positions, values and slopes are plain numbers here; the margins say whether an oracle is exact or noisy.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from milepost._typing import FloatArray


@dataclass(frozen=True, eq=False)
class Reading:
    """An oracle's response at one point: value and slope of each coordinate's function, float64[D] each."""

    value: FloatArray
    slope: FloatArray


class Learner(Protocol):
    """The algorithm's side of an iterative database construction (Definition 3)."""

    two_sided: bool  # False: the hypothesis never exceeds the function while readings are within their margins

    def predict(self, points: FloatArray) -> FloatArray:
        """Return the hypothesis at points float64[k, D]: float64[k]."""

    def update(self, point: FloatArray, reading: Reading) -> None:
        """Learn from a reading at a point float64[D]."""


class ConvexLearner:
    """Figure 1: learn a convex, Lipschitz function on [low, high] as a maximum of tangents, starting from 0.

    margin: the largest error of a reading's tangent, anywhere on the interval. Lines are lowered by it, so that the
    hypothesis stays below the function; with margin 0 the oracle is exact.

    >>> learner = ConvexLearner(0.0, 1.0, lipschitz=1.0)
    >>> learner.update(1.0, value=0.5, slope=1.0)
    >>> float(learner.predict(0.9))
    0.4
    """

    def __init__(self, low: float, high: float, lipschitz: float, margin: float = 0.0) -> None:
        self.low, self.high, self.lipschitz, self.margin = low, high, lipschitz, margin
        self.lines: list[tuple[float, float, float]] = []  # anchor, height there, slope
        self.nodes = np.array([low, high], dtype=np.float64)  # the upper envelope, as a polygon
        self.heights = np.zeros(2)

    def predict(self, position: FloatArray | float) -> FloatArray:
        """Return the hypothesis, by binary search on the upper envelope."""
        return np.asarray(np.interp(position, self.nodes, self.heights))

    def update(self, position: float, value: float, slope: float) -> None:
        """Add the tangent at a position, lowered by the margin, its slope clipped to ±lipschitz."""
        slope = min(max(slope, -self.lipschitz), self.lipschitz)
        height = value - self.margin
        self.lines.append((position, height, slope))
        line = height + slope * (self.nodes - position)
        gain = line - self.heights
        if not (gain > 0).any():
            return
        # the new line is on top on one interval of the envelope: cut its two ends, drop the nodes between
        crossing = np.flatnonzero((gain[:-1] > 0) != (gain[1:] > 0))
        share = gain[crossing] / (gain[crossing] - gain[crossing + 1])
        cut = self.nodes[crossing] + share * (self.nodes[crossing + 1] - self.nodes[crossing])
        keep = gain <= 0
        keep[[0, -1]] = True
        nodes = np.concatenate([self.nodes[keep], cut])
        heights = np.concatenate([np.maximum(self.heights, line)[keep], height + slope * (cut - position)])
        order = np.argsort(nodes, kind="stable")
        self.nodes, self.heights = nodes[order], heights[order]


class DecomposableLearner:
    """Lemma 6: one convex learner a coordinate; the hypothesis is their sum.

    On a mistake every coordinate takes the tangent of its reading. Selecting the coordinates "on which a mistake is
    made" would cost budget and gain nothing: a tangent never hurts, and in the analysis each mistake is still charged
    to one coordinate that has erred (docs/proofs/tangents.md).
    """

    two_sided = False

    def __init__(self, learners: Sequence[ConvexLearner]) -> None:
        self.learners = tuple(learners)

    def predict(self, points: FloatArray) -> FloatArray:
        """Return the sum of the coordinates' hypotheses."""
        result = np.zeros(len(points))
        for i, learner in enumerate(self.learners):
            result += learner.predict(points[:, i])
        return result

    def update(self, point: FloatArray, reading: Reading) -> None:
        """Give each coordinate its tangent."""
        for i, learner in enumerate(self.learners):
            learner.update(float(point[i]), float(reading.value[i]), float(reading.slope[i]))
