"""Noise traces: the numbers and scales that one run of the library passes to its noise.

If these numbers do not depend on earlier noise, the output of a mechanism is a post-processing of its trace with noise
added. One trace then gives many runs at once, with the numbers, the scales and the noise of the library itself.
"""

import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from threading import RLock
from typing import TypeAlias

import numpy as np

from milepost._typing import FloatArray, IntArray
from milepost.auditing.case import Outcomes
from milepost.errors import AccuracyWarning, MilepostError
from milepost.privacy import noise

TRACE_LOCK = RLock()  # one thread at a time replaces the noise


@dataclass(frozen=True, eq=False)
class Call:
    """One call of the noise: its law and scale, and the integers without and with noise."""

    law: str
    scale: float
    values: IntArray
    noisy: IntArray


NoiseFunction: TypeAlias = Callable[[str, IntArray, float], IntArray]


@contextmanager
def replaced_noise(add: NoiseFunction) -> Iterator[None]:
    """Let every draw of the library call `add(law, values, scale)`, one after another in one thread."""
    original, threads = noise._add, noise.max_threads
    with TRACE_LOCK:
        vars(noise)["_add"], vars(noise)["max_threads"] = add, lambda: 1
        try:
            yield
        finally:
            vars(noise)["_add"], vars(noise)["max_threads"] = original, threads


@contextmanager
def record_noise() -> Iterator[list[Call]]:
    """Record every call of the noise in a block, which still adds noise."""
    calls: list[Call] = []
    add = noise._add

    def add_and_record(law: str, values: IntArray, scale: float) -> IntArray:
        noisy = add(law, values, scale)
        calls.append(Call(law, float(scale), np.array(values, dtype=np.int64), noisy))
        return noisy

    with warnings.catch_warnings(), replaced_noise(add_and_record):
        warnings.simplefilter("ignore", AccuracyWarning)  # tables of two rows have large errors
        yield calls


@dataclass(frozen=True, eq=False)
class NoiseTrace:
    """The calls of the noise in one run, in order."""

    calls: tuple[Call, ...]

    @classmethod
    def of(cls, run: Callable[[], object]) -> "NoiseTrace":
        """Return the trace of one run."""
        with record_noise() as calls:
            run()
        return cls(tuple(calls))

    @property
    def shape(self) -> tuple[tuple[str, float, int], ...]:
        """Return the laws, scales and lengths of all calls, which must be the same for a neighboring table."""
        return tuple((call.law, call.scale, len(call.values)) for call in self.calls)

    @cached_property
    def values(self) -> IntArray:
        """Return all exact numbers."""
        return np.concatenate([call.values for call in self.calls])

    @cached_property
    def scales(self) -> FloatArray:
        """Return the scale of each number's noise."""
        return np.concatenate([np.full(len(call.values), call.scale) for call in self.calls])


@dataclass(frozen=True, eq=False)
class TracePair:
    """The traces of two neighboring tables."""

    left: NoiseTrace
    right: NoiseTrace

    def __post_init__(self) -> None:
        if self.left.shape != self.right.shape:
            raise MilepostError(
                "the noise of two neighboring tables differs in law, scale or length, which reveals the table"
            )
        if len({law for law, _, _ in self.left.shape}) != 1:
            raise MilepostError("a noise trace must have noise of one law, got several")

    @property
    def gaussian(self) -> bool:
        """Return whether the noise is Gaussian; else it is Laplace."""
        return self.left.calls[0].law == "gaussian"

    @cached_property
    def differences(self) -> IntArray:
        """Return the difference of each number between the tables."""
        return np.asarray(self.right.values - self.left.values)

    @property
    def differing_indices(self) -> IntArray:
        """Return the indices of numbers that differ; the noise of equal numbers reveals nothing."""
        return np.flatnonzero(self.differences)

    @property
    def loss(self) -> float:
        """Return the true loss: μ = √Σ(Δ/s)² of Gaussian noise, ε = Σ|Δ|/b of Laplace noise."""
        steps = np.abs(self.differences / self.left.scales)
        return math.sqrt(math.fsum(steps**2)) if self.gaussian else math.fsum(steps)

    def draw(self, samples: int) -> tuple[Outcomes, Outcomes]:
        """Draw ln of the likelihood ratios of `samples` runs on each table.

        Both tables get the same noise, because the two counts of an event need not be independent of each other.
        """
        add = noise.discrete_gaussian if self.gaussian else noise.laplace
        scores = np.zeros((2, samples))
        for index in self.differing_indices:
            value, scale = self.left.values[index], float(self.left.scales[index])
            shift = float(self.differences[index])
            error = (add(np.full(samples, value), scale) - value).astype(np.float64)
            if self.gaussian:
                log_ratios = np.array([shift / 2 - error, -shift / 2 - error]) * (shift / scale**2)
            else:
                log_ratios = (
                    np.array([np.abs(error - shift) - np.abs(error), np.abs(error) - np.abs(error + shift)]) / scale
                )
            scores += log_ratios
        return Outcomes.of(score=scores[0]), Outcomes.of(score=scores[1])
