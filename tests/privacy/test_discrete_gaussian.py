"""Theorem 1 of docs/proofs/gaussian.md: discrete noise hides what Gaussian noise hides, and without η it does not.

δ(ε) of discrete noise is summed over all outcomes, in one and two dimensions; nothing is sampled.
"""

import itertools
import math

import numpy as np
import pytest

from milepost._typing import FloatArray
from milepost.privacy.gaussian_curve import delta_of
from milepost.privacy.noise import gaussian_deviation

SCALES = (0.3, 0.5, 1.0, 1.7, 4.0)
MOVES = ((1,), (2,), (3,), (1, 1), (1, 2), (2, 3))


def law(parameter: float, support: int) -> FloatArray:
    """Probabilities of −support..support."""
    weight = np.exp(-(np.arange(-support, support + 1.0) ** 2) / (2 * parameter**2))
    return np.asarray(weight / weight.sum())


def largest_excess(parameters: tuple[float, ...], moves: tuple[int, ...], mu: float) -> float:
    """The largest δ(ε) of discrete noise ÷ that of μ, where δ is at least 1e-9.

    Between two losses δ(ε) of discrete noise is linear in e^ε and that of μ is convex, so that the largest excess is
    inside: four values of ε are tried between each two.
    """
    support = math.ceil(9 * max(parameters)) + max(moves)
    left = right = np.ones(1)
    for parameter, move in zip(parameters, moves, strict=True):
        p = law(parameter, support + move)
        left, right = np.outer(left, p[move:]).ravel(), np.outer(right, p[:-move]).ravel()
    losses = np.log(right) - np.log(left)  # of the events that are likelier when the numbers are larger
    order = np.argsort(losses)[::-1]
    losses = losses[order]
    likely, unlikely = np.cumsum(right[order]), np.cumsum(left[order])
    bends = np.unique(losses[losses >= 0])
    bends = bends[:: max(1, len(bends) // 500)]
    ratios = []
    for part in (0.2, 0.4, 0.6, 0.8):
        for epsilon in (bends[:-1] + part * np.diff(bends)).tolist():
            last = int(np.searchsorted(-losses, -epsilon)) - 1
            delta = float(likely[last] - math.exp(epsilon) * unlikely[last])
            if delta >= 1e-9:
                ratios.append(delta / delta_of(mu, epsilon))
    return max(ratios)


@pytest.mark.parametrize(("scale", "moves"), list(itertools.product(SCALES, MOVES)))
def test_discrete_noise_with_eta_keeps_the_curve(scale: float, moves: tuple[int, ...]) -> None:
    scales = [scale * (1 + index / 3) for index in range(len(moves))]
    mu = math.sqrt(sum((move / each) ** 2 for move, each in zip(moves, scales, strict=True)))
    assert largest_excess(tuple(map(gaussian_deviation, scales)), moves, mu) <= 1 + 1e-9


@pytest.mark.parametrize("scale", [0.5, 1.0])
@pytest.mark.parametrize("moves", [(1,), (1, 1), (1, 2)])
def test_without_eta_it_does_not(scale: float, moves: tuple[int, ...]) -> None:
    """The twin with η = 0, the plain formula of continuous noise: more than 3 % over it at a scale of 1 or less."""
    mu = math.sqrt(sum((move / scale) ** 2 for move in moves))
    assert largest_excess((scale,) * len(moves), moves, mu) > 1.03


def test_eta_costs_nothing_at_the_scales_in_use() -> None:
    """Totals are drawn 64 times finer, and everything else in quanta: 0.1 % more noise at most."""
    assert gaussian_deviation(64.0) / 64.0 < 1.002
    assert gaussian_deviation(180.0) / 180.0 < 1.0002
