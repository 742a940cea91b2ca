"""Mistake bounds of the learners, against adversaries that see the hypothesis (Lemmas 4 to 6)."""

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milepost._typing import FloatArray
from milepost.mechanisms.paper.game import play
from milepost.mechanisms.paper.learners import ConvexLearner, DecomposableLearner, Learner, Reading
from tests.mechanisms.paper.grid_learner import GridLearner
from tests.strategies import Convex, convex_functions, parabola

GRID = np.linspace(0, 1, 1001)


def truth_of(functions: Sequence[Convex]) -> Callable[[FloatArray], float]:
    return lambda point: float(sum(f.value(point[i : i + 1])[0] for i, f in enumerate(functions)))


def oracle_of(
    functions: Sequence[Convex], value_noise: float = 0, slope_noise: float = 0, seed: int = 0
) -> Callable[[FloatArray], Reading]:
    """An oracle that is off by exactly its margins, with signs the adversary would like."""
    rng = np.random.default_rng(seed)

    def read(point: FloatArray) -> Reading:
        signs = rng.choice([-1, 1], size=(2, len(functions)))
        value = np.array([f.value(point[i : i + 1])[0] for i, f in enumerate(functions)]) + signs[0] * value_noise
        slope = np.array([f.slope(point[i : i + 1])[0] for i, f in enumerate(functions)]) + signs[1] * slope_noise
        return Reading(value, slope)

    return read


def adversary_of(
    functions: Sequence[Convex], alpha: float, taste: str, seed: int
) -> Callable[[Learner], FloatArray | None]:
    """Adaptive: it looks at the hypothesis and picks a mistake to its taste, until none is left."""
    rng = np.random.default_rng(seed)
    dimension = len(functions)
    curves = [f.value(GRID) for f in functions]
    rounds = itertools.count()

    def choose(learner: Learner) -> FloatArray | None:
        if next(rounds) == 2000:  # far past any bound: let the assertion speak
            return None
        candidates = np.array([GRID] * dimension).T if dimension == 1 else rng.random((400, dimension))
        if dimension > 1:  # each coordinate's own worst place, too
            assert isinstance(learner, DecomposableLearner)
            worst = [GRID[np.argmax(c - part.predict(GRID))] for c, part in zip(curves, learner.learners, strict=True)]
            candidates = np.vstack([candidates, worst])
        exact = sum(f.value(candidates[:, i]) for i, f in enumerate(functions))
        error = exact - learner.predict(candidates)
        if learner.two_sided:
            error = np.abs(error)
        mistakes = np.flatnonzero(error > alpha)
        if not len(mistakes):
            return None
        index = {
            "worst": mistakes[np.argmax(error[mistakes])],
            "least": mistakes[np.argmin(error[mistakes])],
            "first": mistakes[0],
            "any": rng.choice(mistakes),
        }[taste]
        return np.asarray(candidates[index])

    return choose


tastes = st.sampled_from(["worst", "least", "first", "any"])


@given(convex_functions, st.floats(1e-3, 0.5), tastes, st.integers(0, 99))
def test_exact_learner_keeps_the_mistake_bound(function: Convex, alpha: float, taste: str, seed: int) -> None:
    """Lemma 4: no adversary forces more than √2/√α + 1 updates."""
    learner = DecomposableLearner([ConvexLearner(0, 1, 1)])
    adversary = adversary_of([function], alpha, taste, seed)
    mistakes = play(learner, truth_of([function]), oracle_of([function]), adversary, alpha)
    assert mistakes <= math.sqrt(2 / alpha) + 1


def test_the_bound_is_nearly_reached() -> None:
    """A parabola and a lazy adversary force more than half of Lemma 4's bound, so the tests above can bite."""
    alpha = 1e-3
    adversary = adversary_of([parabola(0.5)], alpha, "least", 0)
    learner = DecomposableLearner([ConvexLearner(0, 1, 1)])
    mistakes = play(learner, truth_of([parabola(0.5)]), oracle_of([parabola(0.5)]), adversary, alpha)
    assert mistakes > 0.5 * math.sqrt(2 / alpha)


@given(convex_functions, st.floats(5e-3, 0.3), st.floats(0, 0.1), st.floats(0, 0.1), tastes, st.integers(0, 99))
def test_noisy_learner_keeps_its_mistake_bound(
    function: Convex, gap: float, value_noise: float, slope_noise: float, taste: str, seed: int
) -> None:
    """Lemma 5: with margins ηv, ηg and α = 2ηv + 2ηg + γ, at most √(2/γ) + 1 updates, and F̂ ≤ F always."""
    alpha = 2 * value_noise + 2 * slope_noise + gap + 1e-12
    learner = DecomposableLearner([ConvexLearner(0, 1, 1, value_noise + slope_noise)])
    oracle = oracle_of([function], value_noise, slope_noise, seed)
    mistakes = play(learner, truth_of([function]), oracle, adversary_of([function], alpha, taste, seed), alpha)
    assert mistakes <= math.sqrt(2 / gap) + 1
    assert (learner.predict(GRID[:, None]) <= function.value(GRID) + 1e-9).all()


@settings(max_examples=40)
@given(
    st.lists(convex_functions, min_size=2, max_size=5),
    st.floats(5e-3, 0.3),
    st.floats(0, 0.05),
    st.floats(0, 0.05),
    tastes,
    st.integers(0, 99),
)
def test_decomposable_learner_keeps_the_sum_of_bounds(
    functions: list[Convex], gap: float, value_noise: float, slope_noise: float, taste: str, seed: int
) -> None:
    """Lemma 6: D coordinates never pass the sum of their bounds, though every one takes every tangent."""
    alpha = len(functions) * (2 * value_noise + 2 * slope_noise + gap + 1e-12)
    learner = DecomposableLearner([ConvexLearner(0, 1, 1, value_noise + slope_noise) for _ in functions])
    oracle = oracle_of(functions, value_noise, slope_noise, seed)
    mistakes = play(learner, truth_of(functions), oracle, adversary_of(functions, alpha, taste, seed), alpha)
    assert mistakes <= len(functions) * (math.sqrt(2 / gap) + 1)


def test_tangents_fail_on_the_non_convex_example() -> None:
    """The paper's "1/α mistakes for non-convex functions" is false: G = 0.3 + min(x, 1 − x), tangent at 0.3."""
    learner = ConvexLearner(0, 1, 1)
    learner.update(0.3, value=0.6, slope=1.0)
    for _ in range(100):
        assert float(learner.predict(1.0)) - 0.3 == pytest.approx(1.0)  # off by 1 at x = 1 …
        learner.update(1.0, value=0.3, slope=-1.0)  # … for ever: a maximum cannot come down


@given(convex_functions, st.integers(2, 40), tastes, st.integers(0, 99))
def test_grid_learner_plays_the_same_game(function: Convex, cells: int, taste: str, seed: int) -> None:
    """A plain grid of k cells makes at most k mistakes larger than a cell's height."""
    learner = GridLearner(np.zeros(1), np.ones(1), np.full(1, 0.5), [cells])
    alpha = (1 + 1e-9) / cells
    adversary = adversary_of([function], alpha, taste, seed)
    assert play(learner, truth_of([function]), oracle_of([function]), adversary, alpha) <= cells


@given(convex_functions, st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_the_envelope_is_the_maximum_of_its_lines(function: Convex, positions: list[float]) -> None:
    """Binary search on the upper envelope gives what a brute-force maximum over all lines gives."""
    learner = ConvexLearner(0, 1, 1)
    for position in positions:
        learner.update(
            position, float(function.value(np.array([position]))[0]), float(function.slope(np.array([position]))[0])
        )
    anchors, heights, slopes = (np.array(column)[:, None] for column in zip(*learner.lines, strict=True))
    brute = np.maximum((heights + slopes * (GRID - anchors)).max(axis=0), 0)
    assert learner.predict(GRID) == pytest.approx(brute, abs=1e-9)
    assert (np.diff(learner.nodes) >= 0).all()


def test_slopes_are_clipped() -> None:
    """A noisy slope beyond the Lipschitz constant is clipped, which Theorem 2's proof needs."""
    learner = ConvexLearner(0, 1, lipschitz=1)
    learner.update(0.5, value=0.5, slope=7.0)
    assert learner.lines == [(0.5, 0.5, 1)]
