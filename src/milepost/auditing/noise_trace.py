"""Tape: all that one run of the library hands to its noise, from which many runs are drawn at once.

A mechanism whose noise is on numbers that do not depend on earlier noise is, but for what is worked out of them, its
tape with noise: the exact numbers and scales are the library's own, and so is the noise that is added again and again.
"""

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from threading import Lock

import numpy as np

from milepost._typing import FloatArray, IntArray
from milepost.auditing.case import Outcomes
from milepost.errors import MilepostError, PromiseWarning
from milepost.mechanisms.coordinate import slopes
from milepost.privacy import noise

ALONE = Lock()  # one tape at a time


@dataclass(frozen=True, eq=False)
class Call:
    """Noise on some integers: its law and scale, and the integers before and after."""

    law: str
    scale: float
    values: IntArray
    noisy: IntArray


@contextmanager
def record_noise() -> Iterator[list[Call]]:
    """Every call of the noise while the block lasts, which draws as ever; coordinates come one after the other."""
    calls: list[Call] = []
    add, threads = noise._add, slopes.THREADS

    def recorded(law: str, values: IntArray, scale: float) -> IntArray:
        noisy = add(law, values, scale)
        calls.append(Call(law, float(scale), np.array(values, dtype=np.int64), noisy))
        return noisy

    with ALONE, warnings.catch_warnings():
        warnings.simplefilter("ignore", PromiseWarning)  # tables of two rows promise little
        vars(noise)["_add"], vars(slopes)["THREADS"] = recorded, 1
        try:
            yield calls
        finally:
            vars(noise)["_add"], vars(slopes)["THREADS"] = add, threads


@dataclass(frozen=True, eq=False)
class NoiseTrace:
    """The calls of one run, in their order."""

    calls: tuple[Call, ...]

    @classmethod
    def of(cls, run: Callable[[], object]) -> "NoiseTrace":
        """Run once."""
        with record_noise() as calls:
            run()
        return cls(tuple(calls))

    @property
    def shape(self) -> tuple[tuple[str, float, int], ...]:
        """All but the private numbers; a neighbor's must be the same."""
        return tuple((call.law, call.scale, len(call.values)) for call in self.calls)

    @cached_property
    def values(self) -> IntArray:
        """All exact numbers."""
        return np.concatenate([call.values for call in self.calls])

    @cached_property
    def scales(self) -> FloatArray:
        """Of each number's noise."""
        return np.concatenate([np.full(len(call.values), call.scale) for call in self.calls])


@dataclass(frozen=True, eq=False)
class TracePair:
    """The tapes of two neighboring tables."""

    left: NoiseTrace
    right: NoiseTrace

    def __post_init__(self) -> None:
        if self.left.shape != self.right.shape:
            raise MilepostError("the noise of two neighboring tables differs: its law, scale or number is no secret")
        if len({law for law, _, _ in self.left.shape}) != 1:
            raise MilepostError("a tape must have noise of one law")

    @property
    def gaussian(self) -> bool:
        """Whether the noise is Gaussian, else Laplace."""
        return self.left.calls[0].law == "gaussian"

    @cached_property
    def moves(self) -> IntArray:
        """By how much each number differs."""
        return np.asarray(self.right.values - self.left.values)

    @property
    def moved(self) -> IntArray:
        """Which numbers differ; the noise of others says nothing."""
        return np.flatnonzero(self.moves)

    @property
    def loss(self) -> float:
        """The true one: μ = √Σ(Δ/σ)² of Gaussian noise, ε = Σ|Δ|/b of Laplace noise."""
        steps = np.abs(self.moves / self.left.scales)
        return math.sqrt(math.fsum(steps**2)) if self.gaussian else math.fsum(steps)

    def draw(self, samples: int) -> tuple[Outcomes, Outcomes]:
        """ln of the likelihood ratios of so many runs on each table.

        The same noise is used for both: the two counts of an event need not be independent of each other.
        """
        add = noise.gaussian if self.gaussian else noise.laplace
        scores = np.zeros((2, samples))
        for place in self.moved:
            value, move, scale = self.left.values[place], float(self.moves[place]), float(self.left.scales[place])
            error = (add(np.full(samples, value), scale) - value).astype(np.float64)
            if self.gaussian:
                each = np.array([move / 2 - error, -move / 2 - error]) * (move / scale**2)
            else:
                each = np.array([np.abs(error - move) - np.abs(error), np.abs(error) - np.abs(error + move)]) / scale
            scores += each
        return Outcomes.of(score=scores[0]), Outcomes.of(score=scores[1])
