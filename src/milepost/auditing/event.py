"""Events: sets of outcomes that distinguish two tables; some runs choose an event, and other runs test it."""

from dataclasses import dataclass

import numpy as np
import scipy

from milepost._typing import FloatArray, IntArray
from milepost.auditing.case import Outcomes
from milepost.auditing.claims import Claim

MAX_THRESHOLDS = 200
PRIOR = 2.0  # added to the count of every kind on each table, so that a rare kind does not seem decisive


@dataclass(frozen=True, eq=False)
class Event:
    """The outcomes whose likelihood ratio is at least a limit (if `left`) or at most a limit.

    left: whether the event is likelier on the left table. ratios: the distinct kinds of each column, in order, and ln
    of their likelihood ratios.
    """

    left: bool
    limit: float
    ratios: tuple[tuple[IntArray, FloatArray], ...]

    def count(self, outcomes: Outcomes) -> int:
        """Return the number of runs in which the event occurred."""
        scores = log_ratios(outcomes, self.ratios)
        return int(np.sum(scores >= self.limit if self.left else scores <= self.limit))


def choose(claim: Claim, left: Outcomes, right: Outcomes, failure: float) -> Event | None:
    """Return the event that would refute the largest loss if these runs were the test; None if none refutes a loss."""
    ratios = tuple(_learn(left.kinds[:, k], right.kinds[:, k]) for k in range(left.kinds.shape[1]))
    scores = [np.sort(log_ratios(outcomes, ratios)) for outcomes in (left, right)]
    pooled = np.sort(np.concatenate(scores))
    indices = np.linspace(0, len(pooled) - 1, min(len(pooled), MAX_THRESHOLDS)).astype(np.int64)
    limits = np.unique(pooled[indices])
    best, event = 0.0, None
    for from_left in (True, False):
        if from_left:
            hits, misses = (len(side) - np.searchsorted(side, limits, side="left") for side in scores)
        else:
            hits, misses = (np.searchsorted(side, limits, side="right") for side in scores[::-1])
        runs, other = (len(left), len(right)) if from_left else (len(right), len(left))
        bound = claim.refuted_below(at_least(hits, runs, failure / 2), at_most(misses, other, failure / 2))
        bound = np.where(claim.testable((misses + 0.5) / (other + 1)), bound, 0.0)
        index = int(np.argmax(bound))
        if bound[index] > best:
            best, event = float(bound[index]), Event(from_left, float(limits[index]), ratios)
    return event


def log_ratios(outcomes: Outcomes, ratios: tuple[tuple[IntArray, FloatArray], ...]) -> FloatArray:
    """Return the score plus the log likelihood ratios of the kinds, for each run; an unknown kind adds 0."""
    result = outcomes.score.copy()
    for column, (kinds, ratio) in zip(outcomes.kinds.T, ratios, strict=True):
        index = np.minimum(np.searchsorted(kinds, column), len(kinds) - 1)
        result += np.where(kinds[index] == column, ratio[index], 0.0)
    return result


def _learn(left: IntArray, right: IntArray) -> tuple[IntArray, FloatArray]:
    kinds = np.unique(np.concatenate([left, right]))
    counts = [np.bincount(np.searchsorted(kinds, side), minlength=len(kinds)) for side in (left, right)]
    return kinds, np.log(counts[0] + PRIOR) - np.log(counts[1] + PRIOR)


def at_least(count: IntArray, runs: int, failure: float) -> FloatArray:
    """Return the Clopper–Pearson lower bound of a probability, which fails with probability `failure`."""
    count = np.asarray(count)
    return np.where(count == 0, 0.0, scipy.special.betaincinv(np.maximum(count, 1), runs - count + 1.0, failure))


def at_most(count: IntArray, runs: int, failure: float) -> FloatArray:
    """Return the Clopper–Pearson upper bound of a probability, which fails with probability `failure`."""
    count = np.asarray(count)
    return np.where(count == runs, 1.0, scipy.special.betainccinv(count + 1.0, np.maximum(runs - count, 1), failure))
