"""An audit case: one mechanism on one pair of neighboring tables, and its privacy claim."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from milepost._typing import AnyArray, FloatArray, IntArray
from milepost.auditing.claims import Claim
from milepost.spaces.base import Space
from milepost.statistics.sketch import Sketch


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Outputs of many runs, reduced to what tells the tables apart: int64[runs, parts] and float64[runs].

    kinds: the discrete parts (flags, lengths), one column for each independent part; the auditor learns their
    likelihood ratios. score: ln of the likelihood ratio of the rest, given the kinds; any increasing function of it if
    there are no kinds. The reduction is a post-processing: a poor one sees less, but none accuses a private mechanism.
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
        """Return some of the runs."""
        return Outcomes(self.kinds[runs], self.score[runs])

    def __len__(self) -> int:
        return len(self.score)


Draw = Callable[[int], Outcomes]


SLOW_SAMPLES = 50  # `every` of cases whose code runs once per sample
MIN_SAMPLES = 4000  # drawn if at least as many are requested, even if the case is slow


@dataclass(frozen=True)
class Case:
    """A mechanism, a pair of neighboring tables, the claim, and the shipped code run many times on each table.

    every: draw one sample for each `every` requested ones, for code that cannot run on vectors.
    """

    mechanism: str
    pair: str
    claim: Claim
    left: Draw
    right: Draw
    every: int = field(default=1, kw_only=True)

    @property
    def exact(self) -> float | None:
        """Return the pair's true loss, in the units of the claim, if it is known."""
        return None

    def samples(self, requested: int) -> int:
        """Return the number of samples of each table to draw when `requested` are requested."""
        return min(requested, max(MIN_SAMPLES, requested // self.every))

    def draw(self, samples: int) -> tuple[Outcomes, Outcomes]:
        """Draw outcomes of each table; those of one table are independent of each other."""
        return self.left(samples), self.right(samples)


def laplace_ratio(reading: AnyArray, left: AnyArray, right: AnyArray, scale: AnyArray | float) -> float:
    """Return ln of the likelihood ratio of a reading with Laplace noise around two exact vectors."""
    return float(np.sum((np.abs(reading - right) - np.abs(reading - left)) / scale))


def gaussian_ratio(reading: AnyArray, left: AnyArray, right: AnyArray, scale: AnyArray | float) -> float:
    """Return ln of the likelihood ratio of a reading with Gaussian noise around two exact vectors.

    It is the projection of the reading on the difference of the vectors.
    """
    return float(np.sum((left - right) * (reading - (left + right) / 2) / np.square(scale)))


def sketch_of(space: Space, records: Sequence[Any], cells: int) -> Sketch:
    """Return a small sketch of a small table."""
    sketch = Sketch(space.embedding.dimension, cells=cells)
    sketch.add(space.quantize(np.asarray(records, dtype=np.float64)))
    return sketch
