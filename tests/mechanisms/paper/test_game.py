"""The private game: any learner, exact tests, and nothing after the last update."""

from fractions import Fraction

import numpy as np
import pytest

from milepost import L1, Guarantee
from milepost.mechanisms.paper.game import PrivateGame
from milepost.mechanisms.paper.margins import solve
from milepost.mechanisms.paper.tangents import convex_learner, interactive_margins
from milepost.spaces.embeddings.embedding import QUANTA
from milepost.statistics.sketch import Sketch
from tests.chance import FALSE_ALARM
from tests.mechanisms.paper.grid_learner import GRID, GridLearner

SPACE = L1([(0, 1), (0, 3)])


def big_sketch(times: int = 1000, cells: int = 256) -> Sketch:
    sketch = Sketch(2, cells=cells)
    sketch.add(SPACE.quantize(np.random.default_rng(0).beta(2, 4, (1000, 2)) * [1, 3]))
    return sketch.repeat(times)


@pytest.mark.slow
def test_private_game_runs_the_grid_learner() -> None:
    """Lemma 3 for another learner: two-sided tests, α kept on every query, updates within the bound."""
    sketch, guarantee = big_sketch(100_000), Guarantee(1, 1e-6)
    n = int(sketch.totals[0])
    margins = solve(GRID, SPACE.embedding, n, guarantee.budget, False, 2 * 3000, FALSE_ALARM)
    assert margins.alpha < 0.1 * SPACE.diameter
    cells = GRID.lines(SPACE.embedding.spread / margins.gap).tolist()
    learner = GridLearner(np.zeros(2), np.full(2, float(QUANTA)), SPACE.embedding.spread / 2, cells)
    borders = sketch.borders()
    game = PrivateGame(learner, borders, SPACE.embedding, margins)
    points = np.random.default_rng(1).integers(0, 257, (3000, 2))
    answers = np.array([value for value, _, _ in game.ask(points)])
    exact = (borders.value[[0, 1], points] * SPACE.embedding.quantum).sum(axis=1) / n
    assert np.abs(answers - exact).max() <= margins.alpha
    assert 0 < game.updates <= margins.updates


@pytest.mark.parametrize("unit", [1.0, 1e-98, 3e7, 1e98])
def test_the_tested_value_is_exact(unit: float) -> None:
    """floor((F − F̂)/g) in integers equals rational arithmetic, so one record moves it by at most Δ; in any unit."""
    sketch, embedding = big_sketch(7), L1([(0, unit), (0, 3 * unit)]).embedding
    margins = interactive_margins(embedding, 7000, Guarantee(1), 10, 0.05)
    game = PrivateGame(convex_learner(embedding, margins), sketch.borders(), embedding, margins)
    tested_values: list[int] = []

    class Spy:
        def above(self, value: int) -> bool:
            tested_values.append(value)
            return False

    game._epoch = Spy()  # type: ignore[assignment]
    points = np.random.default_rng(0).integers(0, 257, (50, 2))
    list(game.ask(points))
    for point, value in zip(points, tested_values, strict=True):
        sums = [
            Fraction(float(t)) * int(v)
            for t, v in zip(embedding.quantum, sketch.borders().value[[0, 1], point], strict=True)
        ]
        assert value == (sum(sums) / 7000 / Fraction(margins.lattice)).__floor__()
    assert margins.sensitivity >= Fraction(embedding.sensitivity_bound) / 7000 / Fraction(margins.lattice)


def test_nothing_is_tested_after_the_last_update() -> None:
    """After U times "above" the hypothesis is final, and answers say so."""
    sketch = big_sketch(1)
    margins = interactive_margins(SPACE.embedding, 1000, Guarantee(1), 500, 0.05)
    game = PrivateGame(convex_learner(SPACE.embedding, margins), sketch.borders(), SPACE.embedding, margins)
    game.updates = game.epochs = margins.updates - 1
    object.__setattr__(margins, "threshold", -(10**9))
    first, second = list(game.ask(np.array([[3, 4], [5, 6]])))
    assert first[1:] == (True, True)
    assert second[1:] == (False, False)
    assert not game.open


@pytest.mark.parametrize("pure", [True, False])
def test_lines_are_on_the_lattice(pure: bool) -> None:
    """What a game releases are integers: border, noisy sum of quanta, noisy count."""
    sketch = big_sketch(100_000)
    margins = interactive_margins(SPACE.embedding, int(sketch.totals[0]), Guarantee(1, 0 if pure else 1e-6), 500, 0.05)
    game = PrivateGame(convex_learner(SPACE.embedding, margins), sketch.borders(), SPACE.embedding, margins)
    list(game.ask(np.random.default_rng(1).integers(0, 257, (200, 2))))
    assert len(game.lines) == 2 * game.updates > 0
    assert all(isinstance(number, int) for line in game.lines for number in vars(line).values())
