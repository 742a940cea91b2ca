"""Laplace noise in floats, by the textbook's formula: its lowest bits tell what it was added to (Mironov 2012)."""

import math

import numpy as np

from milepost._typing import AnyArray, FloatArray
from milepost.auditing import Case, Outcomes, Pure
from milepost.auditing.case import Draw
from tests.auditing.bad_mechanisms import KnownCase

STEPS = 2.0**53  # a uniform float is a whole number of these
NEIGHBORS = 6  # to either side, that are tried


def exponential_noise(uniform: FloatArray) -> FloatArray:
    """Return exponential noise of scale 1."""
    return np.asarray(-np.log(uniform))


def attainable(value: FloatArray) -> AnyArray:
    """Return whether |value| is what the formula gives for some uniform float: bool[n]."""
    size = np.abs(value)
    middle = np.rint(np.exp(-size) * STEPS)
    candidates = np.clip(middle[:, None] + np.arange(-NEIGHBORS, NEIGHBORS + 1), 1, STEPS - 1)
    return np.asarray((exponential_noise(candidates / STEPS) == size[:, None]).any(axis=1))


def float_laplace(epsilon: float = 1.0) -> KnownCase:
    """0 or 1 plus Laplace noise of scale 1/ε; every outcome of 0 is attainable as noise, many of 1 are not."""

    def draw(value: float) -> Draw:
        generator = np.random.default_rng([17, int(value)])

        def outcomes(runs: int) -> Outcomes:
            uniform = generator.integers(1, int(STEPS), runs) / STEPS
            noisy = value + np.where(generator.random(runs) < 0.5, -1.0, 1.0) * exponential_noise(uniform)
            return Outcomes.of(kinds=attainable(noisy))

        return outcomes

    return KnownCase(Case("noise", "Laplace noise in floats, by low bits", Pure(epsilon), draw(0), draw(1)), math.inf)
