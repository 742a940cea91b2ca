"""tangents: the promise, in both settings and under both guarantees, and tests that can fail."""

import dataclasses

import numpy as np
import pytest

from milepost import L1, Guarantee
from milepost._typing import FloatArray
from milepost.mechanisms.paper.game import PrivateGame
from milepost.mechanisms.paper.margins import Margins
from milepost.mechanisms.paper.tangents import Scan, Tangents, convex_learner, interactive_margins
from milepost.privacy.protected_change import ProtectedChange
from milepost.statistics.sketch import Sketch
from tests.chance import assert_rate, assert_wrong_rate
from tests.mechanisms.contract import run_mechanism

RUNS, BETA = 60, 0.01
POSITIONS: FloatArray = np.arange(1025, dtype=np.float64) * 2**14
SPACE = L1([(0, 1), (0, 2)])
GUARANTEES = {"approximate": Guarantee(1, 1e-6), "pure": Guarantee(1)}
TIMES = {"approximate": 75_000, "pure": 750_000}


def table(kind: str) -> Sketch:
    """An even column, which needs many tangents, and one with two atoms at its ends, on which F is flat.

    On a flat F a line that is a little too steep is too high.
    """
    sketch = Sketch(2, cells=1024)
    sketch.add(SPACE.quantize(np.stack([np.linspace(0, 1, 40), np.arange(40) % 2 * 2.0], axis=1)))
    return sketch.repeat(TIMES[kind])


def louder(margins: Margins) -> Margins:
    """Noise × 16 under unchanged margins."""
    return dataclasses.replace(
        margins,
        value_scale=margins.value_scale * 16,
        slope_scale=margins.slope_scale * 16,
        epsilon_test=margins.epsilon_test / 16,
    )


def careless(margins: Margins) -> Margins:
    """Margins set to 0 under unchanged noise: α is what an exact oracle would need."""
    alpha = float(margins.gap.sum())
    threshold = int(alpha / margins.lattice)
    return dataclasses.replace(margins, alpha=alpha, threshold=threshold, margin=np.zeros_like(margins.gap))


VARIANTS = {"as solved": lambda margins: margins, "louder": louder, "careless": careless}


def interactive_failures(kind: str, variant: str) -> int:
    """Runs of 1000 queries in which some answer was off by more than α/2.

    The adversary knows the table: it asks where F − F̂ is least, largest, just over α, and just under what fires.
    """
    sketch, guarantee = table(kind), GUARANTEES[kind]
    n = int(sketch.totals[0])
    base_margins = interactive_margins(SPACE.embedding, n, guarantee, 1000, BETA)
    assert base_margins.alpha <= 0.1 * SPACE.diameter, "a promise this weak proves nothing"
    margins = VARIANTS[variant](base_margins)
    borders = sketch.borders()
    exact = borders.value * SPACE.embedding.quantum[:, None] / n
    quiet = 2 * margins.threshold * margins.lattice - margins.alpha  # α − 2·(margin of the test)
    failures = 0
    for run in range(RUNS):
        rng = np.random.default_rng(run)
        learner = convex_learner(SPACE.embedding, margins)
        game = PrivateGame(learner, borders, SPACE.embedding, margins)
        wrong = False
        for _ in range(50):
            below = np.stack([e - part.predict(POSITIONS) for e, part in zip(exact, learner.learners, strict=True)])
            candidates = rng.integers(0, 1025, (2000, 2))
            error = below[[0, 1], candidates].sum(axis=1)
            points = np.concatenate(
                [
                    [below.argmin(axis=1), below.argmax(axis=1)],
                    candidates[np.argsort(np.where(error > margins.alpha, error, np.inf))[:4]],
                    candidates[np.argsort(np.where(error < quiet, -error, np.inf))[:8]],
                    candidates[:6],
                ]
            )
            answers = np.array([value for value, _, _ in game.ask(points)]) + margins.alpha / 2
            truth = exact[[0, 1], points].sum(axis=1)
            wrong |= bool(np.abs(answers - truth).max() > margins.alpha / 2 * (1 + 1e-9))
        assert game.updates <= margins.updates
        failures += wrong
    return failures


def offline_failures(kind: str, variant: str, columns: list[int], monkeypatch: pytest.MonkeyPatch) -> int:
    """Releases of some columns in which some point of a fine grid was off by more than α/2."""
    space = L1([((0, 1), (0, 2))[i] for i in columns])
    full_sketch, guarantee = table(kind), GUARANTEES[kind]
    sketch = Sketch(len(columns), cells=1024)
    sketch.counts, sketch.offsets = full_sketch.counts[:, columns], full_sketch.offsets[:, columns]
    sketch.totals = full_sketch.totals
    n = int(sketch.totals[0])
    mechanism = Tangents(failure_probability=BETA, max_cells=sketch.cells)
    base_scans = mechanism.scans(space.embedding, n, guarantee)
    assert sum(scan.alpha for scan in base_scans) <= 0.1 * space.diameter, "a promise this weak proves nothing"
    new_scans = []
    for scan, spread in zip(base_scans, space.embedding.spread, strict=True):
        margins = VARIANTS[variant](scan.margins)
        new_scans.append(Scan(margins, scan.bits, scan.cells, margins.alpha + spread / scan.cells / 2))
    monkeypatch.setattr(Tangents, "scans", lambda *_: tuple(new_scans))
    exact = sketch.borders().value * space.embedding.quantum[:, None] / n
    failures = 0
    for _ in range(2 * RUNS):
        lines = run_mechanism(mechanism, sketch, space.embedding, ProtectedChange(), guarantee)
        below = [e - learner.predict(POSITIONS) for e, learner in zip(exact, lines.learners, strict=True)]
        # F is a sum over coordinates, so the extremes over all points of the grid are sums of extremes
        middle = lines.alpha / 2
        worst = max(abs(sum(b.max() for b in below) - middle), abs(sum(b.min() for b in below) - middle))
        failures += bool(worst > middle * (1 + 1e-9))
        for i, scan in enumerate(new_scans):
            assert sum(line.coordinate == i for line in lines.lines) <= scan.margins.updates
    return failures


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["approximate", "pure"])
def test_interactive_promise(kind: str) -> None:
    """Theorem 1: no more runs break the promise than β allows; updates stay within U."""
    assert_rate(interactive_failures(kind, "as solved"), RUNS, at_most=BETA, against=0.35)


@pytest.mark.slow
@pytest.mark.parametrize("columns", [[0, 1], [1]])
@pytest.mark.parametrize("kind", ["approximate", "pure"])
def test_offline_promise(kind: str, columns: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Theorem 2: the same for releases, over all points of a grid at once."""
    failures = offline_failures(kind, "as solved", columns, monkeypatch)
    assert_rate(failures, 2 * RUNS, at_most=BETA, against=0.25)


@pytest.mark.slow
@pytest.mark.parametrize("variant", ["louder", "careless"])
@pytest.mark.parametrize("kind", ["approximate", "pure"])
def test_the_promise_tests_can_fail(kind: str, variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise × 16, or margins of 0, break both promises nearly always: 2 runs of 5 keep one at most."""
    successes = RUNS - interactive_failures(kind, variant), 2 * RUNS - offline_failures(kind, variant, [1], monkeypatch)
    for count, runs in zip(successes, (RUNS, 2 * RUNS), strict=True):
        assert_wrong_rate(count, runs, at_least=1 - BETA, truth=0.4)
