"""Choice: "auto" takes what is predicted to be nearest, sizes the space to the table, and sees no data."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import milepost as mp
from milepost.mechanisms.base import Prediction, QueryMechanism
from milepost.mechanisms.registry import MECHANISM_NAMES, MECHANISMS
from milepost.pipeline.selection import ANY_POINT, candidates, read_given_queries
from milepost.privacy import noise
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.base import Space
from milepost.spaces.embeddings.projected import Projected
from milepost.spaces.queries import Queries

PLANE = mp.L1([(0, 10), (0, 10)])
DISC = mp.L2(center=[5, 5], radius=5)
EDIT_SPACE = mp.AnyMetric(mp.edit_distance, 9, ["mile", "post", "stone"])
SPACES: dict[str, Space] = {"l1": PLANE, "disc": DISC, "box": mp.L2([(0, 1)] * 2), "words": EDIT_SPACE}
DELTAS = {"approximate": 1e-6, "pure": 0.0}

every_delta = pytest.mark.parametrize("delta", DELTAS.values(), ids=DELTAS)


def random_queries(count: int) -> Any:
    return np.random.default_rng(0).uniform(3, 7, (count, 2))


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """No noise may be drawn."""

    def never(*_: Any) -> Any:
        pytest.fail("noise was drawn")

    monkeypatch.setattr(noise, "_add", never)


@pytest.fixture
def no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """No record may be read."""

    def never(*_: Any, **__: Any) -> Any:
        pytest.fail("data was read")

    for name in ("batches.batches_with_cells", "batches.count", "table.aggregate", "table.Table.blocks"):
        monkeypatch.setattr(f"milepost.ingest.{name}", never)


def by_name(plan: mp.Plan) -> dict[str, Prediction]:
    return {prediction.mechanism: prediction for prediction in plan.predictions}


# What auto takes.


@every_delta
@pytest.mark.parametrize("count", [1, 3, 30, pytest.param(300, marks=pytest.mark.slow)])
@pytest.mark.parametrize("space", [PLANE, DISC], ids=["l1", "disc"])
def test_auto_takes_the_smallest_predicted_error(space: Space, count: int, delta: float) -> None:
    """Among host and direct mechanisms alike, each as if it had been named; one that answers any point is favoured."""
    n, queries = 20_000, random_queries(count)
    planned = mp.plan(space, n=n, epsilon=1, delta=delta, queries=queries)
    factors = {name: 1 if isinstance(MECHANISMS[name], QueryMechanism) else ANY_POINT for name in MECHANISM_NAMES}
    errors = [factors[prediction.mechanism] * prediction.error for prediction in planned.predictions]
    assert errors == sorted(errors)
    given, guarantee = Queries(queries, space), mp.Guarantee(1, delta)
    automatic = {name for name in MECHANISM_NAMES if MECHANISMS[name].is_automatic(space, given, guarantee)}
    assert {*by_name(planned), *planned.refused} == automatic
    for name, prediction in by_name(planned).items():
        (choice,), _ = candidates(space, queries, name).choices(n, ProtectedChange(), mp.Guarantee(1, delta))
        assert choice.prediction == prediction
    synopsis = mp.release(np.full((n, 2), 5.0), space, epsilon=1, delta=delta, queries=queries)
    assert synopsis.mechanism == planned.best.mechanism
    assert (synopsis.queries is None) == (not isinstance(MECHANISMS[synopsis.mechanism], QueryMechanism))


@pytest.mark.parametrize(
    ("count", "delta", "expected"),
    [
        (1, 0, "laplace"),
        (1, 1e-6, "laplace"),
        (100, 1e-6, "field"),
        (10_000, 1e-6, "slopes"),
        (10_000, 0, "hats"),
    ],
)
def test_few_queries_are_answered_one_by_one_and_many_by_a_sketch(count: int, delta: float, expected: str) -> None:
    """For ℓ₁, whose sketch costs as much as one query; as does a field, of so many queries as memory allows."""
    assert mp.plan(PLANE, n=100_000, epsilon=1, delta=delta, queries=random_queries(count)).best.mechanism == expected


def test_net_is_taken_where_several_queries_meet_a_worse_sketch() -> None:
    """Figure 3 on thirty words: k = 30 costs √30, differences of near ones less, and the embedding far more."""
    space = mp.AnyMetric(mp.edit_distance, 9, [f"{a}{b}ost" for a in "abcdef" for b in "vwxyz"])
    planned = mp.plan(space, n=10_000, epsilon=1, delta=1e-6)
    assert planned.best.mechanism == "net"
    assert planned.best.error < by_name(planned)["gaussian"].error < by_name(planned)["laplace"].error
    assert by_name(planned)["slopes"].error > 10 * planned.best.error
    assert mp.plan(space, n=10_000, epsilon=1).best.mechanism == "net"


@pytest.mark.slow
def test_without_queries_only_sketches_are_compared() -> None:
    """Those for given queries are not even mentioned, unless the space has some of its own."""
    for space in (PLANE, DISC):
        planned = mp.plan(space, n=1000, epsilon=1, delta=1e-6)
        assert {*by_name(planned), *planned.refused} == {"slopes", "hats", "tangents"}
    planned = mp.plan(EDIT_SPACE, n=1000, epsilon=1, delta=1e-6)
    assert {*by_name(planned), *planned.refused} == set(MECHANISM_NAMES) - {"quadtree"}  # which needs a plane
    assert set(planned.refused) == {"field", "basis"}


def test_where_no_promise_is_any_good_the_least_noise_is_taken() -> None:
    """Ten rows, 200 queries: all half-widths are the diameter, but gaussian has many times slopes' noise."""
    planned = mp.plan(mp.L1([(0, 1)]), n=10, epsilon=0.1, delta=1e-6, queries=np.linspace(0, 1, 200)[:, None])
    assert planned.best.rms == min(p.rms for p in planned.predictions if p.rms is not None)


def test_a_named_mechanism_is_taken_whatever_its_error() -> None:
    """And only that one is predicted."""
    choices = candidates(PLANE, random_queries(3), "slopes")
    assert (list(choices.coordinate), list(choices.query)) == (["slopes"], [])
    people = np.full((5000, 2), 5.0)
    for name in ("slopes", "hats", "gaussian", "laplace"):
        synopsis = mp.release(people, PLANE, epsilon=1, delta=1e-6, mechanism=name, queries=random_queries(3))
        assert synopsis.mechanism == name


# What is refused, and why.


def test_a_pure_guarantee_refuses_what_is_gaussian_and_says_why() -> None:
    """δ is never changed."""
    planned = mp.plan(PLANE, n=1000, epsilon=1, queries=random_queries(3))
    assert set(planned.refused) == {"slopes", "gaussian"}
    assert all("needs delta > 0" in reason for reason in planned.refused.values())
    assert all(f"{name}: {reason}" in planned.notes for name, reason in planned.refused.items())
    assert set(by_name(planned)) == {"hats", "tangents", "field", "laplace", "net", "basis"}


@pytest.mark.usefixtures("silent", "no_data")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mechanism": "slopes"}, r"^slopes adds Gaussian noise and needs delta > 0; use hats, quadtree or tangents$"),
        (
            {"mechanism": "gaussian", "queries": [[1, 1]]},
            "^gaussian adds .* delta > 0; use hats, quadtree, tangents, basis, field, laplace or net$",
        ),
        ({"mechanism": "laplace"}, r"^laplace answers given points only.*queries="),
        (
            {"mechanism": "magic"},
            "unknown mechanism 'magic'.*slopes, hats, quadtree, tangents, basis, field, gaussian, laplace",
        ),
        ({"neighbors": "add-remove", "mechanism": "tangents"}, "^tangents needs a public number of rows"),
        ({"groups": "town"}, "labels"),
        ({"queries": np.empty((0, 2))}, "got none"),
        ({"queries": [1, 1]}, "in a list"),
        ({"queries": [[1, np.inf]]}, "finite"),
        ({"queries": [["a", "b"]]}, "numbers"),
    ],
)
def test_what_cannot_be_is_refused_before_data_is_read(options: dict[str, Any], message: str) -> None:
    """With the reason of the mechanism that was named, or of each."""
    with pytest.raises(mp.MilepostError, match=message):
        mp.release(np.full((5, 2), 5.0), PLANE, epsilon=1, **options)


@pytest.mark.usefixtures("silent")
def test_noise_that_would_not_fit_is_refused_by_name() -> None:
    """Where one mechanism's noise does not fit 64 bits, the others are still there; where none's does, all say so."""
    queries = random_queries(100)
    planned = mp.plan(PLANE, n=1000, epsilon=2.5e-8, queries=queries)
    assert "too small" in planned.refused["laplace"]
    assert "laplace" not in by_name(planned)
    with pytest.raises(mp.MilepostError, match="too small"):
        mp.release(np.zeros((5, 2)), PLANE, epsilon=2.5e-8, mechanism="laplace", queries=queries)


# Predictions touch no data.


@pytest.mark.usefixtures("silent", "no_data")
@every_delta
@pytest.mark.parametrize(
    "name", ["l1", "words", *(pytest.param(name, marks=pytest.mark.slow) for name in ("disc", "box"))]
)
def test_predictions_touch_no_data(name: str, delta: float) -> None:
    """No table is there, no noise is drawn, and the same numbers come twice."""
    first, second = (mp.plan(SPACES[name], n=5000, epsilon=1, delta=delta) for _ in range(2))
    assert first.predictions == second.predictions
    assert all(prediction.error > 0 for prediction in first.predictions)


@pytest.mark.parametrize("name", ["l1", "words"])
def test_the_choice_does_not_depend_on_the_table(name: str) -> None:
    """Two tables of as many rows: the same mechanism, the same card."""
    tables: dict[str, list[Any]] = {
        "l1": [np.zeros((4000, 2)), np.random.default_rng(0).uniform(0, 10, (4000, 2))],
        "words": [["mile"] * 4000, ["", "a stone by the road"] * 2000],
    }
    cards = [mp.release(table, SPACES[name], epsilon=1, delta=1e-6).card for table in tables[name]]
    assert cards[0] == cards[1]


# Given queries.


def test_queries_are_read_like_points_that_are_asked_about() -> None:
    """Arrays, lists, frames; for objects, a list of them."""
    import pandas as pd

    space = mp.L1({"x": (0, 1), "y": (0, 1)})
    expected = [[0.25, 0.5], [1, 0]]
    frame = pd.DataFrame({"note": ["a", "b"], "y": [0.5, 0], "x": [0.25, 1]})
    ways: list[Any] = [expected, np.array(expected), tuple(expected), frame]
    for queries in ways:
        result = read_given_queries(space, queries)
        assert result is not None
        assert result.points.tolist() == expected
    objects = read_given_queries(EDIT_SPACE, ["stone", "mile"])
    assert objects is not None
    assert objects.points.tolist() == [2, 0]
    with pytest.raises(mp.MilepostError, match="not one of the 3 queries"):
        read_given_queries(EDIT_SPACE, ["stone", "road"])
    assert read_given_queries(PLANE, None) is None


@pytest.mark.parametrize("mechanism", ["gaussian", "laplace"])
def test_some_of_a_spaces_own_queries_may_be_given(mechanism: str) -> None:
    """They cost less than all, and only they are answered."""
    options: dict[str, Any] = {"epsilon": 50, "delta": 1e-6, "mechanism": mechanism}
    full, partial = (mp.release(["miles"] * 500, EDIT_SPACE, queries=q, **options) for q in (None, ["stone", "mile"]))
    assert partial.error() < full.error()
    assert partial.mean_distance(["mile", "stone"]) == pytest.approx([1, 5], abs=partial.error(1 - 1e-9, uniform=True))
    with pytest.raises(mp.MilepostError, match="2 queries"):
        partial.mean_distance(["post"])


# The number of embedding coordinates.


SIZED: dict[str, Space] = {
    "disc": DISC,
    "box": mp.L2({"a": (0, 1), "b": (0, 2)}),
    "paper": mp.AnyMetric(mp.edit_distance, 9, ["mile", "post", "stone"], repetitions="paper"),
}


@pytest.mark.filterwarnings("ignore:the predicted error:milepost.AccuracyWarning")
@pytest.mark.parametrize("mechanism", ["slopes", "hats"])
@pytest.mark.parametrize("name", SIZED)
def test_a_release_has_the_chosen_number_of_directions(name: str, mechanism: str, tmp_path: Path) -> None:
    """As planned; the synopsis has the sized space, and so has its file."""
    space, n = SIZED[name], 3000
    table: Any = ["miles", "past", "a"] * 1000 if space.objects else np.full((n, space.width), 0.5)
    guarantee: dict[str, Any] = {"epsilon": 1, "delta": 1e-6}
    synopsis = mp.release(table, space, mechanism=mechanism, **guarantee)
    expected = by_name(mp.plan(space, n=n, **guarantee))[mechanism].coordinates
    assert synopsis.space.embedding.dimension == expected
    sizes = [variant.embedding.dimension for variant in space.size_variants(n)]
    assert expected in sizes
    assert sizes == sorted(sizes)
    synopsis.save(tmp_path / "file.milepost")
    again = mp.load(tmp_path / "file.milepost")
    assert again.space.embedding.dimension == expected
    assert again.space.to_json() == synopsis.space.to_json()
    points = ["mile", "stone"] if space.objects else np.full((2, space.width), 0.25)
    assert again.mean_distance(points).tolist() == synopsis.mean_distance(points).tolist()
    assert again.error() == synopsis.error()


def predicted(space: Space, mechanism: str, n: int) -> Prediction:
    """Of one mechanism, at (1, 1e-6)."""
    (choice,), _ = candidates(space, None, mechanism).choices(n, ProtectedChange(), mp.Guarantee(1, 1e-6))
    return choice.prediction


@pytest.mark.parametrize(
    ("space", "n"),
    [
        (DISC, 1000),
        pytest.param(DISC, 1_000_000, marks=pytest.mark.slow),
        pytest.param(mp.L2([(0, 1)] * 10), 100_000, marks=pytest.mark.slow),
        pytest.param(mp.Lp(1.5, [(0, 1)] * 3), 100_000, marks=pytest.mark.slow),
    ],
    ids=["disc, few", "disc, many", "box", "lp"],
)
@pytest.mark.parametrize("mechanism", ["slopes", pytest.param("hats", marks=pytest.mark.slow)])
def test_no_number_of_directions_is_much_better(space: Projected, n: int, mechanism: str) -> None:
    """The search stops early, and must not stop short: within a few hundredths of the best of all sizes (WORTH)."""
    best = min(predicted(variant, mechanism, n).error for variant in space.size_variants(n))
    assert predicted(space, mechanism, n).error <= best / 0.95


@pytest.mark.slow
def test_more_rows_get_more_directions() -> None:
    """Remark 7.1: less noise leaves more room for the embedding's error to show."""
    directions = [predicted(DISC, "hats", n).coordinates or 0 for n in (1000, 100_000, 10**7)]
    assert directions == sorted(directions)
    assert 0 < directions[0] < directions[-1]


def test_a_given_number_of_directions_is_kept() -> None:
    """Whatever would suit the table."""
    planned = mp.plan(mp.L2(center=[0, 0], radius=1, directions=16), n=10**6, epsilon=1, delta=1e-6)
    assert {p.coordinates for p in planned.predictions} == {16}


# Plans.


def test_a_plan_with_queries_is_what_the_release_says() -> None:
    """To the bit, for gaussian and laplace; coordinates are those of sketches only."""
    queries, disc = random_queries(4), mp.L2(center=[5, 5], radius=5, directions=8)
    planned = mp.plan(disc, n=2000, epsilon=2, delta=1e-6, queries=queries)
    for name in ("gaussian", "laplace"):
        synopsis = mp.release(np.full((2000, 2), 5.0), disc, epsilon=2, delta=1e-6, mechanism=name, queries=queries)
        prediction = by_name(planned)[name]
        assert (prediction.error, prediction.uniform) == (synopsis.error(), synopsis.error(uniform=True))
        assert prediction.coordinates is None
        assert name in str(planned)


def test_a_wanted_error_counts_mechanisms_for_given_queries_too() -> None:
    """The least ε is less where one query is all that is asked."""
    single_query, all_points = (
        mp.plan(PLANE, n=10_000, error=0.01, queries=queries) for queries in (random_queries(1), None)
    )
    assert single_query.best.mechanism == "laplace"
    assert single_query.best.error <= 0.01
    assert single_query.guarantee.epsilon < all_points.guarantee.epsilon / 2


def promises(plan: mp.Plan) -> dict[str, float]:
    return {p.mechanism: float(p.details["alpha"]) for p in plan.predictions if "alpha" in p.details}


@pytest.mark.parametrize(
    ("space", "options"),
    [
        (PLANE, {"delta": 1e-6}),
        (PLANE, {}),
        (PLANE, {"delta": 1e-6, "max_queries": 100}),
        pytest.param(DISC, {"delta": 1e-6}, marks=pytest.mark.slow),
        pytest.param(EDIT_SPACE, {"delta": 1e-6}, marks=pytest.mark.slow),
    ],
    ids=["l1", "l1, pure", "l1, session", "disc", "words"],
)
def test_notes_name_the_rows_from_which_tangents_promise_something(space: Space, options: dict[str, Any]) -> None:
    """At n the promise is no better than the diameter; at the n that a note names it is, and at 4/5 of it it is not."""
    planned = mp.plan(space, n=1000, epsilon=1, **options)
    assert len(promises(planned)) == (2 if "max_queries" in options else 1)
    for mechanism, alpha in promises(planned).items():
        assert alpha >= space.diameter
        (note,) = [note for note in planned.notes if note.startswith(f"{mechanism}: its promise")]
        assert note[:60] in str(planned)
        match = re.search(r"from about n = ([\d,]+) on", note)
        assert match is not None
        n = int(match.group(1).replace(",", ""))
        assert promises(mp.plan(space, n=n, epsilon=1, **options))[mechanism] < space.diameter
        assert promises(mp.plan(space, n=n * 4 // 5, epsilon=1, **options))[mechanism] >= space.diameter


def test_a_promise_that_is_good_has_no_note() -> None:
    """Nothing to say but how each mechanism spends the guarantee, and which tables the plan is for."""
    planned = mp.plan(PLANE, n=1_000_000, epsilon=1, delta=1e-6)
    assert promises(planned)["tangents"] < PLANE.diameter
    accounting, margin = planned.notes
    assert accounting == "accounting: exact Gaussian curve (slopes); pure ε (hats); zCDP (tangents)"
    assert margin.startswith("slopes, hats: planned for tables")


def test_notes_look_as_far_as_tables_may_be() -> None:
    """With 2·10¹⁰ rows the promise is no good, with 1.3·10¹¹ it is: the note must not say that no number will do."""
    line = mp.L1([(0, 1)])
    assert promises(mp.plan(line, n=130_000_000_000, epsilon=2e-8))["tangents"] < 1
    planned = mp.plan(line, n=20_000_000_000, epsilon=2e-8)
    assert promises(planned)["tangents"] >= 1
    assert "nor with any number" not in planned.notes[0]
