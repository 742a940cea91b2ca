"""An audit case: one mechanism on one pair of neighboring tables, and its privacy claim."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from milepost._typing import AnyArray, FloatArray, IntArray
from milepost.auditing.claims import Claim
from milepost.spaces.base import Space
from milepost.statistics.sketch import Sketch
from milepost.statistics.statistic_spec import RecordBlock


@dataclass(frozen=True, eq=False)
class Outcomes:
    """The outputs of many runs, reduced to numbers that distinguish the tables: int64[runs, parts] and float64[runs].

    kinds: the discrete parts (flags, lengths), one column for each independent part; the audit learns their likelihood
    ratios. score: ln of the likelihood ratio of the rest, given the kinds; without kinds, any increasing function of
    that. The reduction is a post-processing: a poor reduction detects less, but cannot refute a true claim.
    """

    kinds: IntArray
    score: FloatArray

    @classmethod
    def of(cls, *, kinds: AnyArray | None = None, score: AnyArray | None = None) -> "Outcomes":
        """Return outcomes with both parts or only one; kinds may be a single column int64[runs]."""
        runs = len(kinds if kinds is not None else score if score is not None else ())
        columns = np.zeros((runs, 0)) if kinds is None else np.asarray(kinds).reshape(runs, -1)
        return cls(columns.astype(np.int64), np.zeros(runs) if score is None else np.asarray(score, dtype=np.float64))

    def part(self, runs: slice) -> "Outcomes":
        """Return the outcomes of some of the runs."""
        return Outcomes(self.kinds[runs], self.score[runs])

    def __len__(self) -> int:
        return len(self.score)


Draw = Callable[[int], Outcomes]


SLOW_SAMPLES = 50  # the value of `every` for cases whose code runs once per sample
MIN_SAMPLES = 4000  # samples that a slow case draws at least, if they are requested


@dataclass(frozen=True)
class Case:
    """An audit case: a mechanism, a pair of neighboring tables, a claim, and functions that run the mechanism.

    left, right: functions that draw the outcomes of many runs on each table. every: draw one sample for each `every`
    requested samples, for code that cannot run on vectors.
    """

    mechanism: str
    pair: str
    claim: Claim
    left: Draw
    right: Draw
    every: int = field(default=1, kw_only=True)

    @property
    def exact(self) -> float | None:
        """Return the true loss of the pair, in the units of the claim, if it is known."""
        return None

    def samples(self, requested: int) -> int:
        """Return the number of samples of each table to draw when `requested` are requested."""
        return min(requested, max(MIN_SAMPLES, requested // self.every))

    def draw(self, samples: int) -> tuple[Outcomes, Outcomes]:
        """Draw outcomes on both tables; the outcomes on one table are independent of each other."""
        return self.left(samples), self.right(samples)


def laplace_ratio(noisy: AnyArray, left: AnyArray, right: AnyArray, scale: AnyArray | float) -> float:
    """Return ln of the likelihood ratio of a vector with Laplace noise around two exact vectors."""
    return float(np.sum((np.abs(noisy - right) - np.abs(noisy - left)) / scale))


def gaussian_ratio(noisy: AnyArray, left: AnyArray, right: AnyArray, scale: AnyArray | float) -> float:
    """Return ln of the likelihood ratio of a vector with Gaussian noise around two exact vectors.

    It is the projection of the vector on the difference of the vectors.
    """
    return float(np.sum((left - right) * (noisy - (left + right) / 2) / np.square(scale)))


def sketch_of(space: Space, records: Sequence[Any], cells: int) -> Sketch:
    """Return a small sketch of a small table."""
    return Sketch.spec(space, cells=cells).of(RecordBlock(np.asarray(records, dtype=np.float64)))
