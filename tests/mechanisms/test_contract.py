"""slopes, hats and tangents keep the contract of tests/mechanisms/contract.py."""

import dataclasses
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import milepost as mp
from milepost._typing import FloatArray
from milepost.mechanisms.base import NoisyStatistic
from milepost.mechanisms.coordinate import hats, slopes
from milepost.mechanisms.paper import game, tangents
from milepost.mechanisms.paper.game import PrivateGame
from milepost.mechanisms.paper.margins import Margins
from milepost.mechanisms.paper.tangents import TangentLines, Tangents, convex_learner, interactive_margins
from milepost.privacy import sparse_vector
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.embeddings.embedding import QUANTA, Embedding, box_sensitivity_bound
from milepost.statistics.sketch import Sketch
from tests.mechanisms.contract import (
    APPROXIMATE,
    CELLS,
    GUARANTEES,
    ROWS,
    SPACES,
    Contract,
    Transcript,
    even,
    guarantees,
    pairs,
    patched,
    points,
    run_mechanism,
    silent,
    sketch_of,
)


def times(factor: float, function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function with its result, a number or some, multiplied."""

    def scaled(*args: Any) -> Any:
        result = function(*args)
        return type(result)(part * factor for part in result) if isinstance(result, list | tuple) else result * factor

    return scaled


QUICK_SPACES = ("one column", "unequal weights", "steps", "box", "table", "letters", "towns")


class TestSlopes(Contract):
    mechanism = slopes.Slopes()
    quick = QUICK_SPACES
    refuses_pure = True
    tight = 1 - 1e-9

    def mutations(self, factor: float) -> dict[str, Sequence[tuple[Any, str, Any]]]:
        return {"counts": [(slopes, "scales_of", times(factor, slopes.scales_of))]}

    def short_reach(self, embedding: Embedding) -> tuple[Embedding, Sequence[tuple[Any, str, Any]]]:
        """The reach of unrounded records that keep half a quantum from the ends: the rounding is dropped."""
        return dataclasses.replace(embedding, sensitivity_bound=embedding.sensitivity_bound - embedding.bias), []

    @pytest.mark.slow
    def test_another_process_gives_the_same_answers(self, tmp_path: Path) -> None:
        space = SPACES["steps"]
        synopsis = self.release(even(space, ROWS), space, APPROXIMATE)
        path = tmp_path / "file.milepost"
        synopsis.save(path)
        points = [[30, 1], [47.3, 0.1]]
        code = f"import milepost as mp; print([end.tolist() for end in mp.load({str(path)!r}).interval({points})])"
        output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout  # noqa: S603
        assert json.loads(output) == [end.tolist() for end in synopsis.interval(points)]


class TestHats(Contract):
    mechanism = hats.Hats()
    quick = QUICK_SPACES
    tight = 1 - 1e-8

    def budget(self, guarantee: mp.Guarantee) -> tuple[float, bool]:
        """Pure ε under any guarantee."""
        return guarantee.epsilon, True

    def mutations(self, factor: float) -> dict[str, Sequence[tuple[Any, str, Any]]]:
        return {"sags": [(hats, "_scales", times(factor, hats._scales))]}

    def short_reach(self, embedding: Embedding) -> tuple[Embedding, Sequence[tuple[Any, str, Any]]]:
        """Noise for an interval that is one quantum shorter."""
        return embedding, [(hats, "QUANTA", QUANTA - 1)]


class TestTangents(Contract):
    mechanism = Tangents(max_cells=CELLS)
    fixed_size = False  # the number of lines is an outcome of the private tests
    tight = 0.99
    quick = ("one column", "unequal weights", "box", "letters")

    def mutations(self, factor: float) -> dict[str, Sequence[tuple[Any, str, Any]]]:
        def readings(sums: Any, scales: FloatArray, pure: bool) -> Any:
            return draw(sums, scales * factor, pure)

        draw = game._noisy
        return {
            "readings": [(game, "_noisy", readings)],
            "tests": [(sparse_vector, "noise_scales", times(factor, sparse_vector.noise_scales))],
        }

    def short_reach(self, embedding: Embedding) -> tuple[Embedding, Sequence[tuple[Any, str, Any]]]:
        """A tenth shorter: what the test's lattice and the first border give away would hide a part in a thousand."""
        return embedding, [
            (tangents, "box_sensitivity_bound", times(0.9, box_sensitivity_bound)),
            (tangents, "_scan", tangents._scan.__wrapped__),  # without its memory
        ]

    def worst(self, space: mp.L1, guarantee: mp.Guarantee, embedding: Embedding | None = None) -> float:
        """Opposite corners, read next to the low end, where value and slope both move most."""
        rest = even(space, 1000).repeat(100)
        scans = self.mechanism.scans(embedding or space.embedding, 100_001, guarantee)
        script: list[bool] = []
        for scan in scans:  # say "above" first at border 1, then until nothing is tested any more
            before = int(np.flatnonzero(tangents._coarse_first(scan.cells) == 1)[0])
            script += [False] * before + [True] * scan.margins.updates
        pair = points(space, [0.0] * space.width), points(space, [1.0] * space.width)
        return self.pair_cost(space, guarantee, pair, rest, script, embedding)

    def cost(self, first: Transcript, second: Transcript, statistic: NoisyStatistic, accounting: str) -> Fraction:
        """Of each coordinate, the dearest test and the dearest reading, as many times as there may be updates."""
        assert isinstance(statistic, TangentLines)
        return sum((game_cost(first, second, scan.margins, accounting) for scan in statistic.scans), Fraction(0))

    def measure(self, sketch: Sketch, space: mp.L1, guarantee: mp.Guarantee) -> Callable[[NoisyStatistic], FloatArray]:
        scans = self.mechanism.scans(space.embedding, int(sketch.totals[0]), guarantee)
        exact = [sketch.only(i).coarsen(QUANTA >> scan.bits).borders() for i, scan in enumerate(scans)]

        def errors(statistic: NoisyStatistic) -> FloatArray:
            assert isinstance(statistic, TangentLines)
            result = []
            for line in statistic.lines:
                borders, margins = exact[line.coordinate], scans[line.coordinate].margins
                result.append((line.value - borders.value[0, line.border]) / margins.value_scale[0])
                result.append((line.count - borders.below[0, line.border]) / margins.slope_scale[0])
            return np.array(result)

        return errors

    def releases(self, sketch: Sketch, space: mp.L1, guarantee: mp.Guarantee) -> AbstractContextManager[None]:  # noqa: ARG002
        """Every test says "above", so that a release reads as often as it may."""

        class Above:
            def __init__(self, *_: object) -> None: ...

            def above(self, _: int) -> bool:
                return True

        return patched([(game, "AboveThreshold", Above)])

    @pytest.mark.slow
    @guarantees
    def test_noise_has_the_scale_that_was_paid_for(self, kind: str) -> None:
        super().test_noise_has_the_scale_that_was_paid_for(kind)

    @pytest.mark.parametrize("probability", [0, 1, -0.1, np.nan, "x", None])
    def test_a_bad_failure_probability_is_refused_before_spending(self, probability: Any) -> None:
        space = SPACES["one column"]
        for guarantee in self.offered():
            with silent(), pytest.raises(mp.MilepostError, match="failure_probability"):
                run_mechanism(Tangents(probability), even(space, 100), space.embedding, ProtectedChange(), guarantee)

    @guarantees
    @pytest.mark.parametrize("name", ["one column", "unequal weights", "steps"])
    def test_no_pair_costs_an_interactive_game_more_than_the_budget(self, kind: str, name: str) -> None:
        """All coordinates read at once, at borders anywhere; with a reach too short the same check fails."""
        space, guarantee = SPACES[name], GUARANTEES[kind]
        assert interactive_cost(space, space.embedding, guarantee) <= self.spent(guarantee).budget
        short = dataclasses.replace(space.embedding, sensitivity_bound=0.9 * space.embedding.sensitivity_bound)
        assert interactive_cost(space, short, guarantee) > self.spent(guarantee).budget
        for changes in self.mutations(0.9).values():
            with patched(changes):
                assert interactive_cost(space, space.embedding, guarantee) > self.spent(guarantee).budget


def game_cost(first: Transcript, second: Transcript, margins: Margins, accounting: str) -> Fraction:
    """As many times as this game may read: its dearest test and its dearest reading in two runs."""
    draws, epochs = pairs(first, second)
    settings = margins.threshold, margins.sensitivity, margins.epsilon_test
    tests, readings = [Fraction(0)], [Fraction(0)]
    for a, b in epochs:
        if a.settings == settings:
            tests.append(a.cost(b, accounting))
            readings.append(sum((c.cost(d, accounting) for c, d in draws if c.after == a.position), Fraction(0)))
    return margins.updates * (max(tests) + max(readings))


def interactive_cost(space: mp.L1, embedding: Embedding, guarantee: mp.Guarantee) -> Fraction:
    """Of opposite corners and inner pairs, read at borders near the ends and in between."""
    rest = even(space, 999)
    margins = interactive_margins(embedding, 1000, guarantee, 100, 0.05)
    fractions = [(0.0, 1.0), (1.0, 0.0), (0.0, 0.5), (0.3, 0.9)]
    costs = []
    for pair in fractions:
        first = Transcript()
        second = first.again()
        for transcript, fraction in zip((first, second), pair, strict=True):
            sketch = rest + sketch_of(space, points(space, [fraction] * space.width))
            cells = embedding.span >> sketch.bits
            positions = np.stack([np.minimum(k, cells) for k in (0, 1, CELLS // 3)] + [cells - 1, cells])
            with transcript.listen():
                learner = convex_learner(embedding, margins)
                list(PrivateGame(learner, sketch.borders(), embedding, margins).ask(positions))
        costs.append(game_cost(first, second, margins, Tangents().accounted(guarantee).accounting))
    return max(costs)
