"""Event: a set of outcomes, chosen on some runs so that it tells two tables apart on others."""

from dataclasses import dataclass

import numpy as np
import scipy

from milepost._typing import FloatArray, IntArray
from milepost.auditing.case import Outcomes
from milepost.auditing.claims import Claim

MAX_THRESHOLDS = 200
PRIOR = 2.0  # runs of each table that every kind is taken to have had, so that a rare one does not look decisive


@dataclass(frozen=True, eq=False)
class Event:
    """The outcomes whose likelihood ratio is at least (`left`: the left table gives it more often) or at most a limit.

    ratios: for each column of kinds, the kinds that were seen, in order, and ln of their likelihood ratios.
    """

    left: bool
    limit: float
    ratios: tuple[tuple[IntArray, FloatArray], ...]

    def count(self, outcomes: Outcomes) -> int:
        """How many of the runs gave the event."""
        evidence = weigh(outcomes, self.ratios)
        return int(np.sum(evidence >= self.limit if self.left else evidence <= self.limit))


def choose(claim: Claim, left: Outcomes, right: Outcomes, failure: float) -> Event | None:
    """The event that would refute most, were these runs the test; None when no event would refute anything."""
    ratios = tuple(_learn(left.kinds[:, k], right.kinds[:, k]) for k in range(left.kinds.shape[1]))
    evidence = [np.sort(weigh(outcomes, ratios)) for outcomes in (left, right)]
    seen = np.sort(np.concatenate(evidence))
    places = np.linspace(0, len(seen) - 1, min(len(seen), MAX_THRESHOLDS)).astype(np.int64)
    limits = np.unique(seen[places])
    best, found = 0.0, None
    for from_left in (True, False):
        if from_left:
            hits, misses = (len(side) - np.searchsorted(side, limits, side="left") for side in evidence)
        else:
            hits, misses = (np.searchsorted(side, limits, side="right") for side in evidence[::-1])
        runs, other = (len(left), len(right)) if from_left else (len(right), len(left))
        bound = claim.refuted_below(at_least(hits, runs, failure / 2), at_most(misses, other, failure / 2))
        bound = np.where(claim.testable((misses + 0.5) / (other + 1)), bound, 0.0)
        place = int(np.argmax(bound))
        if bound[place] > best:
            best, found = float(bound[place]), Event(from_left, float(limits[place]), ratios)
    return found


def weigh(outcomes: Outcomes, ratios: tuple[tuple[IntArray, FloatArray], ...]) -> FloatArray:
    """The score plus what the kinds say; a kind that was never seen says nothing."""
    evidence = outcomes.score.copy()
    for column, (kinds, ratio) in zip(outcomes.kinds.T, ratios, strict=True):
        place = np.minimum(np.searchsorted(kinds, column), len(kinds) - 1)
        evidence += np.where(kinds[place] == column, ratio[place], 0.0)
    return evidence


def _learn(left: IntArray, right: IntArray) -> tuple[IntArray, FloatArray]:
    kinds = np.unique(np.concatenate([left, right]))
    counts = [np.bincount(np.searchsorted(kinds, side), minlength=len(kinds)) for side in (left, right)]
    return kinds, np.log(counts[0] + PRIOR) - np.log(counts[1] + PRIOR)


def at_least(count: IntArray, runs: int, failure: float) -> FloatArray:
    """Clopper–Pearson: the probability is at least this, except with probability `failure`."""
    count = np.asarray(count)
    return np.where(count == 0, 0.0, scipy.special.betaincinv(np.maximum(count, 1), runs - count + 1.0, failure))


def at_most(count: IntArray, runs: int, failure: float) -> FloatArray:
    """Clopper–Pearson: the probability is at most this, except with probability `failure`."""
    count = np.asarray(count)
    return np.where(count == runs, 1.0, scipy.special.betainccinv(count + 1.0, np.maximum(runs - count, 1), failure))
