"""Events: sets of outcomes, chosen on some runs, that tell two tables apart on other runs."""

from dataclasses import dataclass

import numpy as np
import scipy

from milepost._typing import FloatArray, IntArray
from milepost.auditing.case import Outcomes
from milepost.auditing.claims import Claim

MAX_THRESHOLDS = 200
PRIOR = 2.0  # pseudo-count of every kind on each table, so that a rare kind does not look decisive


@dataclass(frozen=True, eq=False)
class Event:
    """The outcomes whose likelihood ratio is at least (`left`: the left table gives it more often) or at most a limit.

    ratios: for each column of kinds, the distinct kinds in order, and ln of their likelihood ratios.
    """

    left: bool
    limit: float
    ratios: tuple[tuple[IntArray, FloatArray], ...]

    def count(self, outcomes: Outcomes) -> int:
        """Return the number of runs that gave the event."""
        evidence = weigh(outcomes, self.ratios)
        return int(np.sum(evidence >= self.limit if self.left else evidence <= self.limit))


def choose(claim: Claim, left: Outcomes, right: Outcomes, failure: float) -> Event | None:
    """Return the event that would refute the largest loss if these runs were the test; None if no event refutes any."""
    ratios = tuple(_learn(left.kinds[:, k], right.kinds[:, k]) for k in range(left.kinds.shape[1]))
    evidence = [np.sort(weigh(outcomes, ratios)) for outcomes in (left, right)]
    pooled = np.sort(np.concatenate(evidence))
    indices = np.linspace(0, len(pooled) - 1, min(len(pooled), MAX_THRESHOLDS)).astype(np.int64)
    limits = np.unique(pooled[indices])
    best, event = 0.0, None
    for from_left in (True, False):
        if from_left:
            hits, misses = (len(side) - np.searchsorted(side, limits, side="left") for side in evidence)
        else:
            hits, misses = (np.searchsorted(side, limits, side="right") for side in evidence[::-1])
        runs, other = (len(left), len(right)) if from_left else (len(right), len(left))
        bound = claim.refuted_below(at_least(hits, runs, failure / 2), at_most(misses, other, failure / 2))
        bound = np.where(claim.testable((misses + 0.5) / (other + 1)), bound, 0.0)
        index = int(np.argmax(bound))
        if bound[index] > best:
            best, event = float(bound[index]), Event(from_left, float(limits[index]), ratios)
    return event


def weigh(outcomes: Outcomes, ratios: tuple[tuple[IntArray, FloatArray], ...]) -> FloatArray:
    """Return the score plus the log likelihood ratios of the kinds; an unknown kind adds nothing."""
    evidence = outcomes.score.copy()
    for column, (kinds, ratio) in zip(outcomes.kinds.T, ratios, strict=True):
        index = np.minimum(np.searchsorted(kinds, column), len(kinds) - 1)
        evidence += np.where(kinds[index] == column, ratio[index], 0.0)
    return evidence


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
