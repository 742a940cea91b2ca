"""Margins: the laws of Theorems 1 and 2, and a cost that never passes the budget."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milepost import L1, Guarantee, MilepostError
from milepost._typing import FloatArray
from milepost.mechanisms.paper import lemma3
from milepost.mechanisms.paper.margins import (
    CONVEX,
    MarginRule,
    Margins,
    _Alphas,
    _with_updates,
    check_game,
    min_alpha,
    solve,
)
from milepost.mechanisms.paper.tangents import Tangents, interactive_margins
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.embeddings.embedding import Embedding
from tests.mechanisms.paper.grid_learner import GRID

SIZES = np.array([10**k for k in range(4, 10)])
APPROXIMATE, PURE = Guarantee(1, 1e-6), Guarantee(1)


def paper_embedding(dimension: int) -> Embedding:
    """The paper's normalisation: [0, 1]^ℓ, of diameter 1."""
    return Embedding(np.ones(dimension), np.zeros(dimension), np.ones(dimension), sensitivity_bound=1.0)


def exponent(x: object, y: object) -> float:
    return float(np.polyfit(np.log(np.asarray(x, dtype=float)), np.log(np.asarray(y, dtype=float)), 1)[0])


def offline_alpha(embedding: Embedding, n: int, guarantee: Guarantee) -> float:
    return float(Tangents().predict(embedding, n, ProtectedChange(), guarantee).prediction.details["alpha"])


@pytest.mark.parametrize(("guarantee", "law"), [(APPROXIMATE, -4 / 5), (PURE, -2 / 3)])
def test_alpha_falls_as_theorem_1_says(guarantee: Guarantee, law: float) -> None:
    """Solved α over n = 10⁴..10⁹ at a fixed number of queries: n^{−4/5} for (ε, δ), n^{−2/3} for pure ε."""
    alpha = [interactive_margins(paper_embedding(1), int(n), guarantee, 10_000, 0.05).alpha for n in SIZES]
    assert exponent(SIZES, alpha) == pytest.approx(law, abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize(("guarantee", "power"), [(APPROXIMATE, 4 / 5), (PURE, 2 / 3)])
def test_offline_alpha_falls_as_theorem_2_says(guarantee: Guarantee, power: float) -> None:
    """(log(n/β)/n)^{4/5} and (log(n/β)/n)^{2/3}; beyond n = 10⁸ the sketch's finest grid is reached."""
    sizes = SIZES[:5]
    alpha = [offline_alpha(paper_embedding(1), int(n), guarantee) for n in sizes]
    assert exponent(sizes / np.log(sizes / 0.05), alpha) == pytest.approx(power * -1, abs=0.1)
    assert exponent(sizes, alpha) < -power + 0.05


@pytest.mark.slow
@pytest.mark.parametrize(("guarantee", "max_exponent"), [(APPROXIMATE, 9 / 5), (PURE, 7 / 3)])
def test_alpha_grows_with_dimension_at_most_as_the_paper(guarantee: Guarantee, max_exponent: float) -> None:
    """Exponents in ℓ, in the paper's normalisation, in both settings."""
    dimensions = [4, 8, 16, 32]
    n = 10**8
    alphas = [
        [interactive_margins(paper_embedding(d), n, guarantee, 10_000, 0.05).alpha for d in dimensions],
        [offline_alpha(paper_embedding(d), n, guarantee) for d in dimensions],
    ]
    for alpha in alphas:
        assert exponent(dimensions, alpha) <= max_exponent


@pytest.mark.parametrize("guarantee", [APPROXIMATE, PURE, Guarantee(0.1, 1e-9), Guarantee(10)])
@pytest.mark.parametrize("dimension", [1, 3, 10])
@pytest.mark.parametrize("n", [100, 10**6])
def test_solved_alpha_is_below_lemma_3(guarantee: Guarantee, dimension: int, n: int) -> None:
    """The paper's constant 3000 is never needed."""
    embedding = paper_embedding(dimension)
    paper = lemma3.interactive_alpha(dimension, n, guarantee, 10_000, 0.05)
    assert interactive_margins(embedding, n, guarantee, 10_000, 0.05).alpha <= paper
    assert offline_alpha(embedding, n, guarantee) <= lemma3.offline_alpha(dimension, n, guarantee, 0.05)


def test_lemma_3_is_solved() -> None:
    """cα = 3000/(nε)·√(|S|m(α))·log(4/δ)·log(k/β) at the returned α, written out once more."""
    d, n, k = 3, 10**5, 1000
    alpha = lemma3.interactive_alpha(d, n, APPROXIMATE, k, 0.05)
    mistakes = d * 3 / math.sqrt(alpha / d / 2)
    right = 3000 / n * math.sqrt(2 * d * mistakes) * math.log(4e6) * math.log(k / 0.05)
    assert alpha / (4 * d) == pytest.approx(right, rel=1e-9)


def test_offline_alpha_takes_no_query_count() -> None:
    """Remark 2.1: the offline margins have no such argument; the interactive α grows with the logarithm of it."""
    assert "max_queries" not in Tangents.scans.__code__.co_varnames
    few, many = (interactive_margins(paper_embedding(1), 10**6, PURE, k, 0.05).alpha for k in (10**3, 10**9))
    assert few < many < 3 * few


spreads = st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=6)


@settings(max_examples=25, deadline=None)
@given(spreads, st.integers(1, 10**9), st.sampled_from([0, 1e-6]), st.floats(0.01, 20), st.sampled_from([CONVEX, GRID]))
def test_the_cost_never_passes_the_budget(
    spread: list[float], n: int, delta: float, epsilon: float, rule: MarginRule
) -> None:
    """Recomputed from the noise parameters: at most the budget, and within 1 part in 10⁹ of it."""
    embedding = L1([(0, w) for w in spread]).embedding
    guarantee = Guarantee(epsilon, delta)
    margins = solve(rule, embedding, n, guarantee.budget, guarantee.pure, 1000, 0.05)
    assert guarantee.budget * (1 - 1e-9) <= margins.cost(embedding) <= guarantee.budget
    assert rule.lines(embedding.spread / margins.gap).sum() <= margins.updates


def full_moves(embedding: Embedding) -> Iterator[FloatArray]:
    """Where a convex cost is largest: some coordinates from end to end, and another as far as the reach then allows."""
    for order in itertools.permutations(range(embedding.dimension)):
        change, remaining = np.zeros(embedding.dimension), embedding.sensitivity_bound
        for i in order:
            change[i] = min(1.0, remaining / embedding.spread[i])
            remaining = max(0.0, remaining - embedding.spread[i])
        yield change


@settings(max_examples=30, deadline=None)
@given(spreads.filter(lambda spread: len(spread) < 6), st.sampled_from([0.0, 1e-6]), st.floats(0.1, 1), st.data())
def test_no_pair_of_records_costs_more_than_values_are_paid_for(
    spread: list[float], delta: float, share: float, data: st.DataObject
) -> None:
    """A pair that moves coordinate i by Δᵢ ≤ wᵢ, ΣΔᵢ ≤ reach, costs at most the share of the epoch that values have.

    Records at opposite corners among them: where the reach is Σwᵢ and the guarantee pure, these cost all of it.
    """
    box = L1([(0, w) for w in spread]).embedding
    guarantee = Guarantee(1, delta)
    for embedding in (box, replace(box, sensitivity_bound=share * box.sensitivity_bound)):
        margins = solve(CONVEX, embedding, 10**5, guarantee.budget, guarantee.pure, 1000, 0.05)
        random = np.array(data.draw(st.lists(st.floats(0, 1), min_size=len(spread), max_size=len(spread))))
        random *= min(1.0, embedding.sensitivity_bound / max(float(random @ embedding.spread), 1e-300))
        scale = margins.value_scale / 2**24
        slope = np.sum(1 / margins.slope_scale) if guarantee.pure else np.sum(1 / margins.slope_scale**2) / 2
        test = margins.epsilon_test if guarantee.pure else margins.epsilon_test**2 / 2
        costs = []
        for change in (random, *full_moves(embedding)):
            value = np.sum(change / scale) if guarantee.pure else np.sum(change**2 / scale**2) / 2
            costs.append(margins.updates * (value + slope + test))
        assert max(costs) <= guarantee.budget
        if guarantee.pure or embedding is box:
            assert max(costs) >= guarantee.budget * (1 - 1e-9)


def test_json_round_trip() -> None:
    """A card keeps every number to the bit."""
    margins = interactive_margins(paper_embedding(2), 10**5, APPROXIMATE, 100, 0.05)
    again = Margins.from_json(margins.to_json())
    assert again.to_json() == margins.to_json()


@pytest.mark.parametrize(
    ("queries", "beta", "argument"),
    [(0, 0.1, "max_queries"), (-1, 0.1, "max_queries"), (2.5, 0.1, "max_queries"), (True, 0.1, "max_queries")]
    + [(1, beta, "failure_probability") for beta in (0, 1, -1, math.nan, math.inf, "x")],
)
def test_impossible_games_are_refused(queries: int, beta: float, argument: str) -> None:
    """The error names the argument."""
    with pytest.raises(MilepostError, match=argument):
        check_game(queries, beta)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("widths", [(1.0,), (1.0, 3.0)], ids=["one", "two"])
def test_alphas_of_many_numbers_of_updates_are_those_of_each(widths: tuple[float, ...], delta: float) -> None:
    """The search computes α for many numbers of updates at once, and the margins for the best alone."""
    embedding, guarantee = L1([(0, width) for width in widths]).embedding, Guarantee(1, delta)
    game = CONVEX, embedding, 10**5, guarantee.budget, guarantee.pure, 1000, 0.05
    updates = np.array([len(widths), 7, 40, 1000])
    expected = [_with_updates(*game, number).alpha for number in updates.tolist()]
    assert _Alphas(*game)(updates) == pytest.approx(expected, rel=1e-9)
    alpha, best = min_alpha(*game)
    assert alpha <= min(expected) * (1 + 1e-9)
    assert solve(*game).alpha == pytest.approx(alpha, rel=1e-9)
    assert solve(*game).updates == best
