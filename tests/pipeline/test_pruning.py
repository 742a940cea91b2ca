"""Pruning: "auto" leaves out what cannot win, and takes what it would take with every prediction."""

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import milepost as mp
from milepost.auditing.noise_trace import record_noise
from milepost.mechanisms.coordinate.curves import CurvesDesign, cell_bits
from milepost.mechanisms.coordinate.hats import Hats, bits_of, shares
from milepost.mechanisms.coordinate.slopes import Slopes, SlopesDesign, deviation_of
from milepost.mechanisms.paper.tangents import Tangents
from milepost.mechanisms.registry import MECHANISMS
from milepost.pipeline.selection import candidates
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.base import Space

QUICK: dict[str, Space] = {
    "l1": mp.L1([(0, 1)]),
    "l1, weights": mp.L1([(0, 1), (0, 50)]),
    "l1, many": mp.L1([(0, 1)] * 32),
    "steps": mp.L1({"age": (18, 90), "height": (0, 2.2)}, step={"age": 1}),
    "gower": mp.Gower({"a": mp.number(0, 10), "b": mp.category(["x", "y", "z"]), "c": mp.flag()}),
    "hamming": mp.Hamming({"a": list("ACGT"), "b": list("xy")}),
}
SLOW: dict[str, Space] = {
    "disc": mp.L2(center=[0, 0], radius=1),
    "words": mp.AnyMetric(mp.edit_distance, 12, ["mile", "post", "stone"]),
    "great circle": mp.GreatCircle((52.5, 13.4), 40),
    "l2, d = 3": mp.L2([(0, 1)] * 3),
    "l2, d = 8": mp.L2([(0, 1)] * 8),
    "lp": mp.Lp(1.5, [(0, 1)] * 3),
    "angular": mp.Angular(16),
}
SPACES = [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)]
QUERIES: dict[str, Any] = {"l1": [[0.1], [0.4], [0.45]], "disc": [[0.1, 0.2], [0.3, 0], [0, 0.9], [0.5, 0.5]]}


def settings() -> Iterator[tuple[int, ProtectedChange, mp.Guarantee]]:
    """Return numbers of rows, relations and guarantees, from hopeless to very good ones."""
    for (n, epsilon), delta in itertools.product([(10, 0.5), (1000, 0.1), (1000, 2), (10**6, 1)], (0.0, 1e-6)):
        for neighbors, groups in (("replace", None), ("add-remove", None), ("replace", 3)):
            yield n, ProtectedChange(neighbors, groups=groups), mp.Guarantee(epsilon, delta)


@pytest.mark.parametrize("name", SPACES)
def test_pruned_selection_takes_what_full_selection_takes(name: str) -> None:
    """The same mechanism, space, cells and error, for given queries and without."""
    for n, change, guarantee in settings():
        for queries in (None, QUERIES.get(name)):
            assert_same_choice((QUICK | SLOW)[name], queries, n, change, guarantee)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_pruned_selection_takes_the_number_of_directions_of_full_selection(delta: float) -> None:
    assert_same_choice(SLOW["disc"], QUERIES["disc"], 1000, ProtectedChange(), mp.Guarantee(1, delta))


def assert_same_choice(space: Space, queries: Any, n: int, change: ProtectedChange, guarantee: mp.Guarantee) -> None:
    """`best` is the first of `choices`."""
    feasible, _ = candidates(space, queries).feasible(change, guarantee)
    choices, _ = feasible.choices(n, change, guarantee)
    best, _ = feasible.best(n, change, guarantee)
    assert best is not None
    assert (best.mechanism, best.prediction) == (choices[0].mechanism, choices[0].prediction)
    assert best.space.to_json() == choices[0].space.to_json()


@pytest.mark.parametrize("name", SPACES)
def test_no_bound_is_above_the_error(name: str) -> None:
    """Of any mechanism, in any size of the space."""
    space = (QUICK | SLOW)[name]
    for n, change, guarantee in settings():
        feasible, _ = candidates(space, QUERIES.get(name)).feasible(change, guarantee)
        for variant in space.size_variants(n)[:3]:
            for mechanism in feasible.coordinate.values():
                bound = mechanism.error_bound(variant.embedding, n, change, guarantee)
                assert 0 <= bound <= mechanism.predict(variant.embedding, n, change, guarantee).error * (1 + 1e-9)
        for query in feasible.query.values():
            assert feasible.queries is not None
            try:
                error = query.predict(feasible.queries, n, change, guarantee).error
            except mp.MilepostError:
                continue
            assert 0 <= query.error_bound(feasible.queries, n, change, guarantee) <= error * (1 + 1e-9)


def test_a_release_that_slopes_wins_solves_no_game(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither tangents nor the band of all answers is computed."""

    def never(*_: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(Tangents, "scans", never)
    monkeypatch.setattr("milepost.mechanisms.coordinate.curves.band", never)
    people = np.random.default_rng(0).random((1000, 32))
    assert mp.release(people, mp.L1([(0, 1)] * 32), epsilon=1, delta=1e-6).mechanism == "slopes"
    people = np.random.default_rng(0).random((1000, 2))
    assert mp.release(people, mp.L2([(0, 1)] * 2), epsilon=1, delta=1e-6).mechanism == "slopes"


def test_the_bounds_are_close_enough_to_prune_with() -> None:
    """In the plane, a twentieth of what tangents promise, which is hundreds of times the best, and a third of hats'."""
    embedding, change = mp.L1([(0, 1)] * 2).embedding, ProtectedChange()
    for delta in (0.0, 1e-6):
        guarantee = mp.Guarantee(1, delta)
        for name, share in (("tangents", 0.05), ("hats", 0.3)):
            mechanism = MECHANISMS[name]
            assert isinstance(mechanism, Tangents | Hats)
            error = mechanism.predict(embedding, 10**5, change, guarantee).error
            assert mechanism.error_bound(embedding, 10**5, change, guarantee) > share * error


# Cells.


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("n", [1000, 10**5, 10**7])
@pytest.mark.parametrize(
    "name",
    ["l1", "steps", "disc", *(pytest.param(name, marks=pytest.mark.slow) for name in ("great circle", "l2, d = 8"))],
)
def test_cells_are_the_fewest_within_a_few_percent_of_the_error(name: str, n: int, delta: float) -> None:
    """Of the error with cells whose interpolation is a tenth of the noise; half as many would have more."""
    guarantee, change, mechanism = mp.Guarantee(1, delta), ProtectedChange(), Slopes() if delta else Hats()
    embedding = (QUICK | SLOW)[name].embedding
    design = mechanism.predict(embedding, n, change, guarantee)
    assert isinstance(design, CurvesDesign)
    worth = 0.99 if embedding.rotations is None else 0.97
    if isinstance(design, SlopesDesign):
        deviation = deviation_of(embedding, n, design.power)
        if design.constant is not None and embedding.anchor is not None:
            deviation = math.sqrt((2 * embedding.anchor.mean + design.constant) * design.power / 2) / n
        fine = cell_bits(embedding, deviation, n)
    else:
        fine = bits_of(embedding, n, shares(embedding, guarantee.epsilon))
    with_bits = type(design)
    fields = {name: getattr(design, name) for name in design.__dataclass_fields__}
    finest = with_bits(**fields | {"bits": fine})
    assert all(chosen >= b for chosen, b in zip(design.bits, fine, strict=True))
    assert design.error <= finest.error / worth * (1 + 1e-3)  # the noise of hats has a little less with fewer cells
    half = [min(b + 1, 20) if step == 1 else b for b, step in zip(design.bits, embedding.step, strict=True)]
    coarser = with_bits(**fields | {"bits": half})
    assert half == list(design.bits) or coarser.error > 0.997 * finest.error / worth


def test_an_inexact_embedding_needs_few_cells() -> None:
    """With 10⁷ rows and 64 directions of eight columns the embedding's error is all: a thousand cells gain nothing."""
    space = mp.L2([(0, 1)] * 8, directions=64)
    (prediction,) = mp.plan(space, n=10**7, epsilon=1, delta=1e-6, mechanism="slopes").predictions
    assert prediction.cells is not None
    assert prediction.cells <= 64 * 128


# Draws.


@pytest.mark.filterwarnings("ignore::milepost.AccuracyWarning")
@pytest.mark.parametrize(
    ("mechanism", "neighbors"),
    [
        ("tangents", "replace"),  # which needs a public number of rows
        *itertools.product(
            ["slopes", "hats", "gaussian", "laplace", "net", "basis", "field"], ["replace", "add-remove"]
        ),
    ],
)
def test_a_plan_says_how_many_draws_a_release_takes(mechanism: str, neighbors: str) -> None:
    """Exactly so where noise does not depend on noise, and at most that for tangents."""
    options: dict[str, Any] = {"neighbors": neighbors, "n": 60} if neighbors == "add-remove" else {}
    space, people = mp.L1([(0, 1), (0, 2)]), np.random.default_rng(0).random((60, 2))
    queries = [[0.1, 0.2], [0.5, 1]] if mechanism in ("gaussian", "laplace", "net", "basis", "field") else None
    delta = 0 if mechanism == "basis" else 1e-6
    shared: dict[str, Any] = {"epsilon": 1, "delta": delta, "mechanism": mechanism, "queries": queries}
    (prediction,) = mp.plan(space, n=60, neighbors=neighbors, **shared).predictions
    assert prediction.draws is not None
    assert f"{prediction.draws:,}" in str(mp.plan(space, n=60, neighbors=neighbors, **shared))
    with record_noise() as calls:
        mp.release(people, space, **shared, **options)
    drawn = sum(len(call.values) for call in calls)
    if mechanism != "tangents":
        assert drawn == prediction.draws
    else:  # streams draw ahead, in growing blocks
        assert drawn > 0


def test_draws_of_groups_are_those_of_all_groups() -> None:
    space = mp.L1([(0, 1)])
    one, three = (mp.plan(space, n=3000, epsilon=1, delta=1e-6, groups=groups) for groups in (1, 3))
    assert one.best.draws is not None
    assert one.best.cells is not None
    assert one.best.draws == one.best.cells + 1
    assert three.best.draws is not None
    assert three.best.cells is not None
    assert three.best.draws == 3 * (three.best.cells + 1)
