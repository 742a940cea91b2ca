"""AboveThreshold: privacy by exact computation, its law by sampling, its margin."""

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest

from milepost import MilepostError
from milepost._typing import FloatArray
from milepost.privacy.sparse_vector import AboveThreshold, margin, noise_scales
from tests.chance import assert_fit, assert_rate, assert_wrong_fit, draws_needed
from tests.drawn_ahead import drawn_ahead


def outcome_law(values: Sequence[int], threshold: int, scales: tuple[float, float]) -> FloatArray:
    """Pr[first "above" at position 0, 1, …, or never], by summing over the threshold's noise."""
    support = np.arange(-int(60 * scales[0]) - 60, int(60 * scales[0]) + 61)
    weight = np.exp(-np.abs(support) / scales[0])
    weight /= weight.sum()
    survival, law = weight, []
    r = math.exp(-1 / scales[1])
    for value in values:
        min_noise = (threshold + support - value).astype(float)  # above when the noise is at least this
        upper = np.where(
            min_noise > 0, r ** np.maximum(min_noise, 0) / (1 + r), 1 - r ** np.maximum(1 - min_noise, 0) / (1 + r)
        )
        law.append(float((survival * upper).sum()))
        survival = survival * (1 - upper)
    return np.array([*law, float(survival.sum())])


def worst_loss(epsilon: float, sensitivity: int, scales: tuple[float, float]) -> float:
    """The largest |log ratio| of any outcome, as a share of ε, over neighboring streams.

    All short streams on a grid, and long ones that move one way except at their end: the worst known.
    """
    d = sensitivity
    pairs = list(itertools.product(itertools.product((-4, 0, 3), repeat=3), itertools.product((-d, 0, d), repeat=3)))
    for length, value, last in itertools.product((10, 100), (-8 * d, -2 * d, 0, 4 * d), (-8 * d, 0)):
        pairs.append(((*[value] * length, last), (*[d] * length, -d)))
    losses = []
    for values, moves in pairs:
        left = outcome_law(values, 1, scales)
        right = outcome_law([v + m for v, m in zip(values, moves, strict=True)], 1, scales)
        mask = np.minimum(left, right) > 1e-200
        losses.append(np.abs(np.log(left[mask] / right[mask])).max())
    return float(max(losses)) / epsilon


@pytest.mark.parametrize(("epsilon", "sensitivity"), [(0.5, 1), (1.0, 2), (3.0, 1)])
def test_answers_are_private_on_a_grid_of_outcomes(epsilon: float, sensitivity: int) -> None:
    """Exact probabilities: no outcome of neighboring streams differs by more than e^ε, and the bound is used well."""
    scales = noise_scales(sensitivity, epsilon)
    assert 0.8 < worst_loss(epsilon, sensitivity, scales) <= 1 + 1e-9


@pytest.mark.parametrize("wrong", [(0.5, 1.0), (1.0, 0.5), (0.5, 0.5)])
def test_smaller_noise_would_be_caught(wrong: tuple[float, float]) -> None:
    """Halving the noise of the threshold or of the queries breaks the test above."""
    threshold, query = noise_scales(1, 1.0)
    assert worst_loss(1.0, 1, (threshold * wrong[0], query * wrong[1])) > 1.01


@pytest.mark.slow
def test_the_object_follows_that_law() -> None:
    """Over 20,000 epochs; the law of a stream shifted by one is told from it."""
    values, threshold = [0, 2, -1, 4], 3
    counts = np.zeros(5)
    with drawn_ahead():
        for _ in range(20_000):
            epoch = AboveThreshold(threshold, 1, 1.0)
            counts[next((k for k, value in enumerate(values) if epoch.above(value)), 4)] += 1
    law, shifted = (
        outcome_law(stream, threshold, noise_scales(1, 1.0)) for stream in (values, [v + 1 for v in values])
    )
    law, shifted = law / law.sum(), shifted / shifted.sum()
    assert_fit(counts, law, against=[shifted])
    assert_wrong_fit(counts, shifted, law)


def test_an_epoch_says_above_once() -> None:
    """A second test after "above" would not be paid for."""
    epoch = AboveThreshold(0, 1, 1.0)
    assert epoch.above(10**6)  # noise of scales 2 and 4 is never so far off: e^{−10⁵}
    with pytest.raises(MilepostError, match="over"):
        epoch.above(0)


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_the_margin_holds(epsilon: float) -> None:
    """Noise of threshold and query together pass the margin at most as often as the failure allows, by summation."""
    bound = margin(1, epsilon, epochs=1, queries=1, failure=0.1)
    scales = noise_scales(1, epsilon)
    assert outcome_law([-1], bound, scales)[0] <= 0.1
    assert outcome_law([1], -bound, scales)[1] <= 0.1
    assert outcome_law([-1], bound // 3, scales)[0] > 0.1


def test_an_epoch_of_its_own_margin_is_seldom_wrong() -> None:
    """The object itself, of either side; one that errs twice as often as it may would be noticed."""
    bound, epochs = margin(1, 1.0, epochs=1, queries=1, failure=0.1), draws_needed(0.1, 0.2)
    with drawn_ahead():
        above = sum(AboveThreshold(bound, 1, 1.0).above(-1) for _ in range(epochs))
        below = sum(not AboveThreshold(-bound, 1, 1.0).above(1) for _ in range(epochs))
    assert_rate(above, epochs, at_most=0.1, against=0.2)
    assert_rate(below, epochs, at_most=0.1, against=0.2)
