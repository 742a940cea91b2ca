"""Cases of the primitives: noise, and one epoch of the sparse vector."""

from collections.abc import Callable, Iterator

import numpy as np

from milepost._typing import IntArray
from milepost.audit.case import Case, Draw, Outcomes
from milepost.audit.claims import Gaussian, Pure
from milepost.privacy.noise import gaussian, laplace
from milepost.privacy.sparse_vector import AboveThreshold, noise_scales


def noise_cases() -> Iterator[Case]:
    """One integer that moves by 20: every run is one coordinate of a vector draw."""
    sensitivity = 20

    def draw(add: Callable[[IntArray, float], IntArray], value: int, scale: float) -> Draw:
        return lambda runs: Outcomes.of(score=-add(np.full(runs, value, dtype=np.int64), scale))

    for name, add, claim in (("laplace", laplace, Pure(2.5)), ("gaussian", gaussian, Gaussian(1.25))):
        scale = sensitivity / claim.loss
        pair = f"{name} on 0 and {sensitivity}"
        yield Case("noise", pair, claim, draw(add, 0, scale), draw(add, sensitivity, scale))


def sparse_vector_cases() -> Iterator[Case]:
    """Five tests that move one way and a sixth that moves the other way; the outcome is where "above" came."""
    sensitivity, claim = 16, Pure(3.0)
    width = noise_scales(sensitivity, claim.loss)[1]
    low, high = round(-width / 2), round(width)
    left = [low] * 5 + [high]
    right = [low + sensitivity] * 5 + [high - sensitivity]

    def draw(values: list[int]) -> Draw:
        def first_above() -> int:
            epoch = AboveThreshold(0, sensitivity, claim.loss)
            return next((k for k, value in enumerate(values) if epoch.above(value)), len(values))

        return lambda runs: Outcomes.of(kinds=np.array([first_above() for _ in range(runs)]))

    yield Case("sparse-vector", "5 values up, 1 down", claim, draw(left), draw(right), every=10)
