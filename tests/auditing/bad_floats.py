"""Laplace noise in floats, by the textbook's formula: its lowest bits tell what it was added to (Mironov 2012)."""

import math

import numpy as np

from milepost._typing import AnyArray, FloatArray
from milepost.auditing import Case, Outcomes, Pure
from milepost.auditing.case import Draw
from tests.auditing.bad_mechanisms import Known

STEPS = 2.0**53  # a uniform float is a whole number of these
NEAR = 6  # how many of them to either side are looked at


def noise(uniform: FloatArray) -> FloatArray:
    """An exponential draw of scale 1."""
    return np.asarray(-np.log(uniform))


def attainable(value: FloatArray) -> AnyArray:
    """Whether |value| is what the formula gives for some uniform float: bool[n]."""
    size = np.abs(value)
    middle = np.rint(np.exp(-size) * STEPS)
    tried = np.clip(middle[:, None] + np.arange(-NEAR, NEAR + 1), 1, STEPS - 1)
    return np.asarray((noise(tried / STEPS) == size[:, None]).any(axis=1))


def float_laplace(epsilon: float = 1.0) -> Known:
    """0 or 1 plus Laplace noise of scale 1/ε; every outcome of 0 is attainable as noise, many of 1 are not."""

    def draw(value: float) -> Draw:
        generator = np.random.default_rng([17, int(value)])

        def outcomes(runs: int) -> Outcomes:
            uniform = generator.integers(1, int(STEPS), runs) / STEPS
            noisy = value + np.where(generator.random(runs) < 0.5, -1.0, 1.0) * noise(uniform)
            return Outcomes.of(kinds=attainable(noisy))

        return outcomes

    return Known(Case("noise", "Laplace noise in floats, by low bits", Pure(epsilon), draw(0), draw(1)), math.inf)
