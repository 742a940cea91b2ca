"""Scripted noise: exact inputs and scales of all noise of a run, and the cost of two neighboring tables from them.

The first run gets its exact inputs back as if the noise were 0. The run on a neighboring table gets the outputs of the
first one, so that both take the same path, even where later noise depends on earlier answers. What the two runs cost
together then follows from the differences of their inputs and from the scales, in exact rational arithmetic. A
first run with real noise gives the likelihood ratio of its outputs.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from milepost._typing import IntArray
from milepost.auditing.case import gaussian_ratio, laplace_ratio
from milepost.auditing.noise_trace import record_noise, replaced_noise
from milepost.privacy import sparse_vector
from milepost.privacy.gaussian_curve import mu_of_pure
from milepost.privacy.guarantee import GAUSSIAN, PURE, ZCDP
from milepost.privacy.noise import ETA, LaplaceStream
from milepost.privacy.sparse_vector import AboveThreshold


class DifferentPathsError(AssertionError):
    """Raised when two neighboring tables draw different noise although they got the same answers."""


@dataclass(frozen=True, eq=False)
class Draw:
    """One call of a noise function: integers in, integers out. after: the number of the last threshold test, or −1."""

    law: str
    scale: float
    values: IntArray
    output: IntArray
    after: int

    def cost(self, other: "Draw", accounting: str) -> Fraction:
        """Return ε, ρ or μ²/2, by the accounting, of the difference between this call and the neighboring table's."""
        self._check_path(other)
        changed = np.flatnonzero(self.values != other.values)
        moves = [abs(a - b) for a, b in zip(self.values[changed].tolist(), other.values[changed].tolist(), strict=True)]
        if self.law == "laplace":
            epsilon = Fraction(sum(moves)) / Fraction(self.scale)
            return _pure_cost(epsilon, accounting)
        if accounting == PURE and any(moves):
            raise DifferentPathsError("Gaussian noise hides a record under a pure guarantee, which needs Laplace")
        # discrete noise of parameter s hides as much as Gaussian noise of variance s² − η²
        variance = Fraction(self.scale) ** 2 - (Fraction(ETA) ** 2 if accounting == GAUSSIAN else 0)
        if variance <= 0:
            raise DifferentPathsError(
                "Gaussian noise of this scale has no μ: draw it with milepost.privacy.noise.gaussian"
            )
        return Fraction(sum(move * move for move in moves)) / (2 * variance)

    def log_ratio(self, other: "Draw") -> float:
        """Return ln of the likelihood ratio of this call's output on this table and on the neighboring one."""
        self._check_path(other)
        ratio = gaussian_ratio if self.law == "gaussian" else laplace_ratio
        return ratio(self.output, self.values, other.values, self.scale)

    def _check_path(self, other: "Draw") -> None:
        if (self.law, self.scale, self.values.shape) != (other.law, other.scale, other.values.shape):
            raise DifferentPathsError("paths differ: neighboring tables draw noise of another law, scale or number")


class ThresholdTest:
    """One epoch of `AboveThreshold`: the scales that it asked for, and the values that it compared."""

    def __init__(self, position: int, threshold_scale: float, query_scale: float, settings: tuple[Any, ...]) -> None:
        self.position, self.settings = position, settings
        self.threshold_scale, self.query_scale = threshold_scale, query_scale
        self.values: list[int] = []

    def cost(self, other: "ThresholdTest", accounting: str) -> Fraction:
        """Return Δ/threshold scale + 2Δ/query scale, where Δ is the largest change of any compared value."""
        if (self.threshold_scale, self.query_scale) != (other.threshold_scale, other.query_scale):
            raise DifferentPathsError("paths differ: neighboring tables test with noise of other scales")
        if len(self.values) != len(other.values):
            raise DifferentPathsError("paths differ: neighboring tables make another number of tests")
        move = max((abs(a - b) for a, b in zip(self.values, other.values, strict=True)), default=0)
        epsilon = move / Fraction(self.threshold_scale) + 2 * move / Fraction(self.query_scale)
        return _pure_cost(epsilon, accounting)


def _pure_cost(epsilon: Fraction, accounting: str) -> Fraction:
    """Return what pure ε costs: ε itself, ε²/2 in zCDP, or μ²/2 of the Gaussian noise that implies as much."""
    if accounting == PURE:
        return epsilon
    return epsilon**2 / 2 if accounting == ZCDP else Fraction(mu_of_pure(float(epsilon))) ** 2 / 2


class NoiseScript:
    """A run without noise or, after an earlier one, with the outputs of that one.

    answers: of threshold tests, in order; further tests are answered "above".
    """

    def __init__(self, answers: Sequence[bool] = (), earlier: "NoiseScript | None" = None) -> None:
        self.draws: list[Draw] = []
        self.tests: list[ThresholdTest] = []
        self._answers, self._earlier = answers, earlier
        self._asked, self._after = 0, -1

    @classmethod
    def drawn(cls, run: Callable[[], object]) -> "NoiseScript":
        """Return the script of a run with real noise, without threshold tests."""
        result = cls()
        with record_noise() as calls:
            run()
        result.draws = [Draw(call.law, call.scale, call.values, call.noisy, -1) for call in calls]
        return result

    def again(self) -> "NoiseScript":
        """Return a script for the neighboring table, which gets the outputs of this run."""
        return NoiseScript(self._answers, self)

    def cost(self, other: "NoiseScript", accounting: str) -> Fraction:
        """Return what both runs cost together: ε, ρ or μ²/2, by the accounting."""
        if (len(self.draws), len(self.tests)) != (len(other.draws), len(other.tests)):
            raise DifferentPathsError("paths differ: neighboring tables draw another number of times")
        draws = (a.cost(b, accounting) for a, b in zip(self.draws, other.draws, strict=True))
        tests = (a.cost(b, accounting) for a, b in zip(self.tests, other.tests, strict=True))
        return sum((*draws, *tests), Fraction(0))

    def log_ratio(self, other: "NoiseScript") -> float:
        """Return ln of the likelihood ratio of the outputs, which both runs have, on this run's table and the other's.

        Every draw is given those before it, so that the logarithms of their ratios add up.
        """
        if len(self.draws) != len(other.draws):
            raise DifferentPathsError("paths differ: neighboring tables draw another number of times")
        return sum(a.log_ratio(b) for a, b in zip(self.draws, other.draws, strict=True))

    def _add(self, law: str, values: IntArray, scale: float) -> IntArray:
        inputs = np.array(values, dtype=np.int64)
        output = inputs
        if self._earlier is not None:
            if len(self.draws) >= len(self._earlier.draws):
                raise DifferentPathsError("paths differ: a neighboring table draws more noise")
            output = self._earlier.draws[len(self.draws)].output
            if output.shape != inputs.shape:
                raise DifferentPathsError("paths differ: a neighboring table draws another number of numbers")
        self.draws.append(Draw(law, float(scale), inputs, output, self._after))
        return output.copy()

    def _answer(self, test: ThresholdTest, value: int) -> bool:
        test.values.append(value)
        self._asked, self._after = self._asked + 1, test.position
        return self._answers[self._asked - 1] if self._asked <= len(self._answers) else True

    @contextmanager
    def replacing_noise(self) -> Iterator[None]:
        """Send every draw and every threshold test of the library here."""
        script = self
        original_init, original_above = AboveThreshold.__init__, AboveThreshold.above
        stream_class, streams = vars(sparse_vector)["LaplaceStream"], list[LaplaceStream]()

        def stream(scale: float, block: int = 16) -> LaplaceStream:
            streams.append(_SilentStream(scale, block))
            return streams[-1]

        def begin(self: AboveThreshold, threshold: int, sensitivity: int, epsilon: float) -> None:
            first = len(streams)
            original_init(self, threshold, sensitivity, epsilon)
            query_scale = self._queries._scale
            (threshold_scale,) = [made._scale for made in streams[first:] if made is not self._queries]
            settings = threshold, sensitivity, epsilon
            test = ThresholdTest(len(script.tests), threshold_scale, query_scale, settings)
            script.tests.append(test)
            vars(self)["_scripted"] = test

        def above(self: AboveThreshold, value: int) -> bool:
            return script._answer(vars(self)["_scripted"], value)

        with replaced_noise(self._add):
            vars(sparse_vector)["LaplaceStream"] = stream
            type.__setattr__(AboveThreshold, "__init__", begin)
            type.__setattr__(AboveThreshold, "above", above)
            try:
                yield
            finally:
                vars(sparse_vector)["LaplaceStream"] = stream_class
                type.__setattr__(AboveThreshold, "__init__", original_init)
                type.__setattr__(AboveThreshold, "above", original_above)


class _SilentStream(LaplaceStream):
    """A stream that keeps its scale and always draws 0."""

    def next(self) -> int:
        return 0
