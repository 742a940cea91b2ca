"""Noise traces: what is audited in vectors is what a release hands to its noise, and a release is nothing else."""

import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

import milepost as mp
from milepost._typing import IntArray
from milepost.auditing import case_matrix
from milepost.auditing.noise_trace import Call, NoiseTrace, TracePair, record_noise
from milepost.auditing.worst_case_search import SearchedCase
from milepost.errors import MilepostError
from milepost.mechanisms.paper.game import PrivateGame
from milepost.mechanisms.paper.tangents import convex_learner, interactive_margins
from milepost.privacy import noise
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.sparse_vector import AboveThreshold, noise_scales
from milepost.spaces.embeddings.embedding import QUANTA
from milepost.statistics.sketch import Sketch
from milepost.synopsis.synopsis import Synopsis
from tests.chance import assert_close, assert_rate

FAMILIES = (
    case_matrix.slopes_cases,
    case_matrix.hats_cases,
    case_matrix.gaussian_cases,
    case_matrix.laplace_cases,
    case_matrix.net_cases,
    case_matrix.basis_cases,
    case_matrix.field_cases,
    case_matrix.quadtree_cases,
)
CASES = {f"{case.mechanism}, {case.pair}, {case.claim.symbol}": case for family in FAMILIES for case in family()}
# no pair is known that costs more
MIN_SHARES = {"hats, line, replace, ε": 0.75, "field, earth, replace, μ": 0.8, "field, earth, replace, ε": 0.8}


@pytest.mark.parametrize("name", CASES)
def test_the_worst_pair_costs_at_most_the_claim_and_about_as_much(name: str) -> None:
    """Exactly, from the numbers and scales that the library itself gave to its noise; no sampling."""
    case = CASES[name]
    assert isinstance(case, SearchedCase)
    assert MIN_SHARES.get(name, 0.9) * case.claim.loss < case.exact <= case.claim.loss * (1 + 1e-9)
    assert case.worst_pair.pairs_tried >= 6


@contextmanager
def replay_noise(calls: tuple[Call, ...]) -> Iterator[None]:
    """Return the noisy numbers of another run instead of new noise."""
    remaining_calls, add, threads = iter(calls), noise._add, noise.max_threads

    def add_recorded(law: str, values: IntArray, scale: float) -> IntArray:
        call = next(remaining_calls)
        assert (call.law, call.scale, len(call.values)) == (law, scale, len(values))
        return call.noisy

    vars(noise)["_add"], vars(noise)["max_threads"] = add_recorded, lambda: 1
    try:
        yield
    finally:
        vars(noise)["_add"], vars(noise)["max_threads"] = add, threads
        assert next(remaining_calls, None) is None


@pytest.mark.filterwarnings("ignore::milepost.AccuracyWarning")
@pytest.mark.parametrize("name", CASES)
def test_a_release_is_a_function_of_its_noise_trace(name: str) -> None:
    """Two neighboring tables that are given the same noisy numbers give the same file, and the same answers."""
    case = CASES[name]
    assert isinstance(case, SearchedCase)
    left, right = case.worst_pair.rows
    results: list[Any] = []
    with record_noise() as calls:
        results.append(case.search.release(left))
    with replay_noise(tuple(calls)):
        results.append(case.search.release(right))
    first, second = (_content(result) for result in results)
    assert first == second


def _content(result: Any) -> object:
    if not isinstance(result, Synopsis):
        return [(answer.value, answer.error, answer.updated) for answer in result]
    tensors = {key: value.tolist() for key, value in result.statistic.tensors().items()}
    return json.dumps([tensors, result.statistic.parameters(), result.n, str(result)], sort_keys=True, default=str)


def trace_of(values: list[int], scale: float, law: Callable[[IntArray, float], IntArray] = noise.laplace) -> NoiseTrace:
    return NoiseTrace.of(partial(law, np.array(values), scale))


def test_the_loss_of_a_pair_is_by_definition() -> None:
    """Σ|Δ|/b of Laplace noise, √Σ(Δ/s)² of Gaussian noise; numbers that are equal say nothing."""
    pair = TracePair(trace_of([0, 5, 7], 2.0), trace_of([3, 5, 3], 2.0))
    assert pair.loss == pytest.approx(3.5)
    assert pair.differing_indices.tolist() == [0, 2]
    gaussian = TracePair(trace_of([0, 5], 4.0, noise.gaussian), trace_of([3, 9], 4.0, noise.gaussian))
    assert gaussian.loss == pytest.approx(5 / math.hypot(4, noise.ETA))


@pytest.mark.parametrize("law", [noise.laplace, noise.gaussian])
def test_scores_are_likelihood_ratios(law: Callable[[IntArray, float], IntArray]) -> None:
    """By a second method, from the definition of the densities; the two tables' scores differ in mean as they must."""
    pair = TracePair(trace_of([0, 5], 3.0, law), trace_of([4, 3], 3.0, law))
    left, right = pair.draw(4000)
    if pair.gaussian:
        means = np.mean(left.score), np.mean(right.score)
        assert_close(means, [pair.loss**2 / 2, -(pair.loss**2) / 2], pair.loss / math.sqrt(4000))
    else:
        assert np.abs(left.score).max() <= pair.loss + 1e-9
        # reached with probability over a tenth, and so by none of 4000 with less than 1e-180
        assert math.isclose(np.abs(left.score).max(), pair.loss, rel_tol=1e-9)
        assert_rate([(left.score > 0).sum(), (right.score < 0).sum()], 4000, at_least=0.71, against=0.6)


def test_noise_that_differs_between_neighbors_is_refused() -> None:
    with pytest.raises(MilepostError, match="differs in law, scale or length"):
        TracePair(trace_of([0], 2.0), trace_of([0], 3.0))
    both = NoiseTrace(trace_of([0], 2.0).calls + trace_of([0], 2.0, noise.gaussian).calls)
    with pytest.raises(MilepostError, match="one law"):
        TracePair(both, both)


def test_recording_ends_and_leaves_noise_as_it_was() -> None:
    before = noise._add
    with pytest.raises(RuntimeError, match="over"), record_noise():
        raise RuntimeError("over")
    assert noise._add is before
    assert mp.audit(samples=200, mechanism="noise").findings


def test_an_epoch_compares_noisy_values_with_a_noisy_threshold() -> None:
    """From the noise that it was given: one draw for the threshold and a fresh one for each value, of their scales."""
    for _ in range(40):
        with record_noise() as calls:
            epoch = AboveThreshold(3, 4, 1.0)
            flags = [epoch.above(0)]
            while not flags[-1] and len(flags) < 16:
                flags.append(epoch.above(0))
        threshold, queries = calls
        assert (threshold.scale, queries.scale) == noise_scales(4, 1.0)
        noisy = queries.noisy[::-1][: len(flags)]  # a stream hands out its last draw first
        assert flags == (noisy >= 3 + threshold.noisy[0]).tolist()


@pytest.mark.parametrize("pure", [True, False])
def test_a_game_reads_noisy_sums(pure: bool) -> None:
    """On "above" it says the values and counts that noise of their own scales was added to, and no others."""
    embedding = mp.L1([(0, 2), (0, 2)], weights=[1, 3]).embedding
    margins = interactive_margins(embedding, 4, Guarantee(9.0, 0.0 if pure else 1e-6), 3, 0.5)
    margins = replace(margins, threshold=-(1 << 40), updates=1)  # so that the first test is above
    sketch = Sketch(2, cells=2)
    sketch.add(np.array([[0, QUANTA]] * 4))
    game = PrivateGame(convex_learner(embedding, margins), sketch.borders(), embedding, margins)
    with record_noise() as calls:
        assert [updated for _, _, updated in game.ask(np.ones((1, 2), dtype=np.int64))] == [True]
    readings = [call for call in calls[2:] for _ in call.values]  # after the threshold's and the test's
    law = "laplace" if pure else "gaussian"
    assert {call.law for call in readings} == {law}
    assert sorted(call.scale for call in readings) == sorted([*margins.value_scale, *margins.slope_scale])
    numbers = [line.value for line in game.lines] + [line.count for line in game.lines]
    assert sorted(numbers) == sorted(value for call in calls[2:] for value in call.noisy.tolist())
    borders = sketch.borders()
    exact = [*borders.value[:, 1].tolist(), *borders.below[:, 1].tolist()]
    assert sorted(value for call in calls[2:] for value in call.values.tolist()) == sorted(exact)
    for line in game.lines:  # each coordinate's reading has the noise of its own scale
        for number, scales, sums in (
            (line.value, margins.value_scale, borders.value),
            (line.count, margins.slope_scale, borders.below),
        ):
            matches = [call for call in calls[2:] if call.scale == scales[line.coordinate] and number in call.noisy]
            assert matches
            assert sums[line.coordinate, 1] in matches[0].values
