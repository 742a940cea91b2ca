"""net: what it costs whatever the distance is, how far off it is, and what it refuses."""

import math
from collections.abc import Callable, Sequence
from copy import deepcopy
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import milepost as mp
from milepost._typing import FloatArray, IntArray
from milepost.ingest.aggregation import read_sums
from milepost.mechanisms.query import mesh, net
from milepost.mechanisms.query.links import MIDDLE, Links, lengths_between
from milepost.mechanisms.query.net import LinkDesigns, Net
from milepost.mechanisms.query.noisy_sums import NoisySums
from milepost.pipeline.selection import read_given_queries
from milepost.privacy import noise
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.base import Space
from milepost.spaces.embeddings.embedding import QUANTA
from milepost.spaces.queries import Queries
from milepost.statistics.distance_sums import DistanceSums
from tests.chance import (
    Law,
    assert_promised,
    assert_rate,
    assert_scale,
    assert_wrong_rate,
    assert_wrong_scale,
    scale_draws,
)
from tests.drawn_ahead import drawn_ahead
from tests.mechanisms.contract import APPROXIMATE, PURE, Transcript, patched, run_mechanism, silent
from tests.mechanisms.query.test_per_query import broken_metric, distances
from tests.quick import examples

GUARANTEES = {"approximate": APPROXIMATE, "pure": PURE}
LAWS: dict[str, Law] = {"approximate": "gaussian", "pure": "laplace"}
LINE = mp.L1([(0, 1)])
PLANE = mp.L2([(0, 1)] * 2)
RANDOM = np.random.default_rng(0)
CHANGES = {
    "replace": ProtectedChange(),
    "add-remove": ProtectedChange("add-remove"),
    "groups": ProtectedChange(groups=2),
    "rows": ProtectedChange(contributions=3, privacy_unit="person"),
    "row_weights": ProtectedChange(max_row_weight=2.0),
    "all": ProtectedChange("add-remove", contributions=2, privacy_unit="person", max_row_weight=1.0, groups=3),
}

guarantees = pytest.mark.parametrize("kind", GUARANTEES)
changes = pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)


def in_the_plane(count: int) -> Queries:
    return Queries(np.random.default_rng(count).random((count, 2)), PLANE)


def far_apart(count: int) -> Queries:
    """Any two of them as far from one another as a record can be."""
    space = mp.AnyMetric(mp.precomputed(1 - np.eye(count)), 1, list(range(count)))
    return Queries(space.given_queries, space)


def sums_of(
    queries: Queries, rows: Any, change: ProtectedChange | None = None, group: Any = None, weight: Any = None
) -> DistanceSums:
    """Of records at distances int[n, k] in quanta."""
    summands = Net().summands(queries, np.array(rows, dtype=np.int64).reshape(-1, queries.count))
    sums = DistanceSums(len(LinkDesigns.of(queries)), 1 if change is None else change.groups or 1)
    sums.add(summands, group, weight)
    return sums


def cost(pair: Sequence[DistanceSums], queries: Queries, change: ProtectedChange, guarantee: mp.Guarantee) -> Fraction:
    """The share of the budget that two neighboring tables cost: of ρ, or of ε where the noise is Laplace's."""
    first = Transcript()
    second = first.again()
    for transcript, sums in zip((first, second), pair, strict=True):
        with transcript.listen():
            for group in range(sums.groups):
                run_mechanism(
                    Net(), sums, queries, change, guarantee, n=None if change.public_total else 5, group=group
                )
    (law,) = {draw.law for draw in first.draws}
    assert law == "laplace" or not guarantee.pure
    costs = [call.cost(other, guarantee.accounting) for call, other in zip(first.draws, second.draws, strict=True)]
    return sum(costs, Fraction(0)) / Fraction(guarantee.budget)


# What a pair of records costs.


@guarantees
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_no_pair_costs_more_than_the_budget(kind: str, data: st.DataObject) -> None:
    """Whatever the function says about a record: no triangle inequality, NaN, infinities, exceptions."""
    count = data.draw(st.integers(1, 7))
    row = st.lists(distances, min_size=count, max_size=count)
    rows = {"left": data.draw(row), "right": data.draw(row), "other": data.draw(row)}
    rows |= {"near": [20.0 * (k % 2) for k in range(count)], "far": [20.0 * (k % 2 == 0) for k in range(count)]}
    guarantee = mp.Guarantee(data.draw(st.floats(0.01, 500)), GUARANTEES[kind].delta)
    space = mp.AnyMetric(broken_metric(rows), diameter=data.draw(st.sampled_from([5, 20])), queries=list(range(count)))
    queries = Queries(space.given_queries, space)
    rest = ["other"] * data.draw(st.integers(0, 2))
    for records in (("left", "right"), ("near", "far")):  # the second: neighboring queries differ as much as they can
        pair = [read_sums([record, *rest], space, queries, transform=Net().summands) for record in records]
        assert cost(pair, queries, ProtectedChange(), guarantee) <= 1


quanta = st.one_of(st.sampled_from([0, 1, MIDDLE - 1, MIDDLE, QUANTA - 1, QUANTA]), st.integers(0, QUANTA))


@guarantees
@changes
@settings(max_examples=examples(40), deadline=None)
@given(data=st.data())
def test_no_person_costs_more_than_the_budget(kind: str, change: ProtectedChange, data: st.DataObject) -> None:
    """Added, replaced, moved to another group, several rows and any weights: the worst that is known, and others."""
    queries = QUERY_SETS[data.draw(st.sampled_from(list(QUERY_SETS)))]
    groups, steps = change.groups or 1, change.steps
    near, far = (record.tolist() for record in worst_rows(queries))
    pair: list[Any] = []
    for left, right in ((near, far), (far, near)):
        pair = []
        for record, group_index in ((left, 0), (right, groups - 1)):
            records = [] if pair and not change.replaces else [record] * change.contributions
            marks = (np.full(len(records), mark, dtype=np.int64) for mark in (group_index, steps))
            pair.append(sums_of(queries, records, change, *marks))
        assert cost(pair, queries, change, GUARANTEES[kind]) <= 1
    row = st.tuples(
        st.lists(quanta, min_size=queries.count, max_size=queries.count),
        st.integers(0, groups - 1),
        st.integers(0, steps),
    )
    sides = [data.draw(st.lists(row, min_size=0, max_size=change.contributions)) for _ in range(2)]
    if change.public_total:
        sides = [[(data.draw(row)[0], 0, 1)] for _ in range(2)]
    elif not change.replaces:
        sides[1] = []
    pair = []
    for rows in sides:
        group, weight = (np.array([entry[part] for entry in rows], dtype=np.int64) for part in (1, 2))
        pair.append(sums_of(queries, [entry[0] for entry in rows], change, group, weight))
    if change.public_total or any(int(side.totals.sum()) for side in pair):
        assert cost(pair, queries, change, GUARANTEES[kind]) <= 1


QUERY_SETS = {
    "one": Queries(np.array([[0.3]]), LINE),
    "twins": Queries(np.array([[0.3], [0.3], [0.30001]]), LINE),
    "plane": in_the_plane(12),
    "far": far_apart(40),
    "cluster": Queries(RANDOM.random((30, 2)) / 10, PLANE),
}


def worst_rows(queries: Queries) -> tuple[IntArray, IntArray]:
    """A record that is at 0 from every second query on the way down the tree, and far from the others; or reversed."""
    links, near = LinkDesigns.of(queries).tree.links, np.zeros(queries.count, dtype=np.int64)
    for query in LinkDesigns.of(queries).tree.order.tolist():
        parent = int(links.right[query])
        near[query] = 0 if parent < 0 or near[parent] else links.lengths[links.right >= 0].max()
    return near, QUANTA - near


@pytest.mark.parametrize("name", QUERY_SETS)
@pytest.mark.parametrize("epsilon", [0.01, 1, 3.7, 1000])
def test_a_tree_spends_its_budget_on_the_worst_pair(name: str, epsilon: float) -> None:
    """All links move by twice their length at once; a tenth less noise would be too little."""
    queries, guarantee = QUERY_SETS[name], mp.Guarantee(epsilon)
    pair = [sums_of(queries, row) for row in worst_rows(queries)]
    assert 1 - Fraction(1, 10**9) <= cost(pair, queries, ProtectedChange(), guarantee) <= 1
    with patched([(net, "SLACK", 0.9)]):
        assert cost(pair, queries, ProtectedChange(), guarantee) > 1


def test_a_mesh_spends_its_budget_on_the_worst_pair() -> None:
    """Twenty pairs of near queries, all pairs far apart: the ground counts most, and near queries differ by all of it.

    A tenth less noise would be too little.
    """
    apart = np.where(np.arange(40)[:, None] // 2 == np.arange(40) // 2, 0.004, 1.0) * (1 - np.eye(40))
    space = mp.AnyMetric(mp.precomputed(apart), 1, list(range(40)))
    queries = Queries(space.given_queries, space)
    assert not Net().design(queries, 1, ProtectedChange(), APPROXIMATE).pure
    near = np.tile([0, int(lengths_between(queries)[0, 1])], 20)
    pair = [sums_of(queries, row) for row in (near, QUANTA - near)]
    assert 0.98 < cost(pair, queries, ProtectedChange(), APPROXIMATE) <= 1
    with patched([(net, "SLACK", 0.9)]):
        assert cost(pair, queries, ProtectedChange(), APPROXIMATE) > 1


@pytest.mark.parametrize("name", QUERY_SETS)
@changes
def test_links_are_paid_for_to_the_last_digit(name: str, change: ProtectedChange) -> None:
    """Σ(2ℓ)²/(2σ²) of the mesh and Σ2ℓ/b of the tree are what a replaced record may cost, and no more than it."""
    for pure, guarantee in ((False, APPROXIMATE), (True, PURE)):
        design = Net().design(QUERY_SETS[name], 1, change, guarantee)
        shape = design.shape
        shares = [
            Fraction(int(length)) / Fraction(design.unit * scale)
            for length, scale in zip(shape.links.lengths.tolist(), shape.scales.tolist(), strict=True)
        ]
        record_cost = sum(shares) if pure else sum(share * share for share in shares) / 2
        total = Fraction(design.total_scale) if design.total_scale else None
        ends = 2 if change.replaces and (change.groups or 1) > 1 else 1
        total_cost = 0 if total is None else 1 / total if pure else 1 / (2 * total * total)
        budget = Fraction(guarantee.budget) / Fraction(change.multiple) ** (1 if pure else 2)
        replacement_cost = record_cost * (2 if pure else 4) if change.replaces else Fraction(0)
        addition_cost = Fraction(0) if change.public_total else ends * (record_cost + total_cost)
        assert 1 - Fraction(1, 10**9) <= max(replacement_cost, addition_cost) / budget <= 1


def test_differences_are_cut_whatever_the_distance_is() -> None:
    """A record next to one query and far from its neighbor, which no metric has."""
    queries = QUERY_SETS["plane"]
    rows = np.where(np.arange(queries.count) % 2, QUANTA, 0)[None]
    summands = Net().summands(queries, rows)[0]
    shapes = LinkDesigns.of(queries)
    lengths = np.concatenate([shapes.mesh.links.lengths, shapes.tree.links.lengths])
    assert (np.abs(summands) <= lengths).all()
    assert (np.abs(summands) == lengths).any()


METRICS: dict[str, tuple[Space, Any, Any]] = {
    "plane": (PLANE, RANDOM.random((40, 2)), RANDOM.random((300, 2))),
    "line": (LINE, RANDOM.random((40, 1)), RANDOM.random((300, 1))),
    "cap": (
        mp.GreatCircle((60, 179), 2000),
        RANDOM.normal([60, 179], 4, (30, 2)),
        RANDOM.normal([60, 179], 6, (300, 2)),
    ),
    "words": (mp.AnyMetric(mp.edit_distance, 9, ["mile", "miles", "post", "é"]), None, ["mils", "past", "x" * 30, ""]),
}


@pytest.mark.filterwarnings("ignore::milepost.AccuracyWarning")
@pytest.mark.parametrize("name", METRICS)
def test_nothing_of_a_metric_is_cut(name: str) -> None:
    """The triangle inequality, rounding included; so noiseless links give the distances back."""
    space, query_points, rows = METRICS[name]
    queries = read_given_queries(space, query_points)
    assert queries is not None
    shapes = LinkDesigns.of(queries)
    exact = queries.quantize(space.distance(next(read_points(rows, space)), queries.points))
    for shape in (shapes.mesh, shapes.tree):
        ends = np.concatenate([exact, np.full((len(exact), 1), MIDDLE)], axis=1)
        free = ends[:, shape.links.left] - ends[:, shape.links.right]
        assert np.array_equal(shape.links.differences(exact), free)
        for row, links in zip(exact[:20], free[:20], strict=True):
            assert np.array_equal(shape.sums(links), row - MIDDLE)


def read_points(rows: Any, space: Space) -> Any:
    from milepost.ingest.aggregation import records

    return records(rows, space, None, 1)


# How far off answers are.


@pytest.mark.slow
@guarantees
def test_the_noise_has_its_scales(kind: str) -> None:
    """On every link; a tenth less or more is rejected."""
    queries, pure = in_the_plane(60), kind == "pure"
    design = Net().design(queries, 1, ProtectedChange(), GUARANTEES[kind])
    assert design.pure == pure
    exact, law = np.arange(len(design.shape.links)) << 20, LAWS[kind]
    runs, add = -(-max(scale_draws(factor, law=law) for factor in (0.9, 1.1)) // len(exact)), noise._add

    def errors(factor: float) -> FloatArray:
        with patched([(noise, "_add", lambda law, values, scale: add(law, values, factor * scale))]), drawn_ahead():
            samples = [design.noisy_links(exact) - exact for _ in range(runs)]
        return np.concatenate([sample / (design.unit * design.shape.scales) for sample in samples])

    assert_scale(errors(1), law=law, against=1.1)
    for factor in (0.9, 1.1):
        assert_wrong_scale(errors(factor), factor, law=law)


# releases, and how often half-widths that are a fifth too small cover at most: tails of sums of Laplace noise are heavy
RELEASES = {"pure": (6000, 0.91), "approximate": (2800, 0.885)}


@pytest.mark.slow
@guarantees
@pytest.mark.parametrize("name", ["replace", "add-remove"])
def test_answers_lie_within_their_half_widths(kind: str, name: str) -> None:
    """At 95 % each, and all at once; a rate of 0.9 would be noticed, and half-widths that are a fifth too small are.

    Answers of one release are not independent: one query of each is counted.
    """
    releases, truth = RELEASES[kind]
    queries, guarantee, change = in_the_plane(25), GUARANTEES[kind], CHANGES[name]
    people = np.random.default_rng(1).beta(2, 3, (4000, 2))
    exact, positions = mp.exact_mean_distance(people, PLANE, queries.points), np.arange(queries.count)
    sums = read_sums(people, PLANE, queries, transform=Net().summands)
    each, every, narrow = 0, 0, 0
    with drawn_ahead():
        for number in range(releases):
            noisy_sums = run_mechanism(Net(), sums, queries, change, guarantee, n=4000)
            off = np.abs(noisy_sums.values(positions, raw=True) - exact)
            index = number % queries.count
            (width,) = noisy_sums.half_widths(positions[index : index + 1], 0.95)
            each += int(off[index] <= width)
            narrow += int(off[index] <= 0.8 * width)
            every += int(off.max() <= noisy_sums.half_width(0.95, uniform=True))
    assert_rate(each, releases, at_least=0.95, at_most=0.96, against=0.9)
    assert_rate(every, releases, at_least=0.95, against=0.9)
    assert_wrong_rate(narrow, releases, at_least=0.95, truth=truth)


@guarantees
@pytest.mark.parametrize("name", QUERY_SETS)
def test_the_prediction_is_what_the_release_says(kind: str, name: str) -> None:
    """To the bit, without data or noise."""
    queries, guarantee = QUERY_SETS[name], GUARANTEES[kind]
    with silent():
        prediction = Net().predict(queries, 300, ProtectedChange(), guarantee).prediction
    noisy_sums = run_mechanism(
        Net(), sums_of(queries, np.zeros((300, queries.count))), queries, ProtectedChange(), guarantee
    )
    assert prediction.error == min(noisy_sums.half_width(0.95), noisy_sums.max_error)
    assert prediction.uniform == min(noisy_sums.half_width(0.95, uniform=True), noisy_sums.max_error)
    assert prediction.rms == noisy_sums.deviation


def largest_deviation(queries: Queries, guarantee: mp.Guarantee) -> float:
    """The largest deviation of an answer ÷ that of one query answered alone with noise of the same law."""
    design = Net().design(queries, 1, ProtectedChange(), guarantee)
    single = QUANTA * (math.sqrt(2) / guarantee.epsilon if design.pure else (2 * guarantee.budget) ** -0.5)
    return design.unit * float(np.sqrt(design.shape.variances.max())) / single


@pytest.mark.slow
def test_near_queries_have_much_less_noise() -> None:
    """Half as much as the farthest-point tree of DESIGN.md and less; far ones have what gaussian and laplace give."""
    assert largest_deviation(in_the_plane(300), APPROXIMATE) < 3
    assert largest_deviation(in_the_plane(300), PURE) < 60
    assert largest_deviation(far_apart(100), APPROXIMATE) == pytest.approx(10, rel=1e-9)
    assert largest_deviation(far_apart(100), PURE) == pytest.approx(100, rel=1e-9)
    assert largest_deviation(QUERY_SETS["one"], PURE) == pytest.approx(1, rel=1e-9)
    assert largest_deviation(QUERY_SETS["twins"], PURE) < 1.01


def test_a_delta_is_spent_as_rho() -> None:
    """A ledger counts ρ where δ > 0, which Laplace noise would cost much more of."""
    for name in QUERY_SETS:
        assert not Net().design(QUERY_SETS[name], 1, ProtectedChange(), APPROXIMATE).pure
        assert Net().design(QUERY_SETS[name], 1, ProtectedChange(), PURE).pure


@pytest.mark.parametrize("core", [1, 5, 40])
def test_queries_outside_the_core_have_the_same_largest_noise(core: int) -> None:
    """One link each; answers still follow from links, and promises from what is drawn."""
    with patched([(mesh, "CORE", core)]):
        queries = in_the_plane(40)
        shapes = LinkDesigns.of(queries)
    assert shapes.mesh.inner + 40 - core == len(shapes.mesh.links)
    exact = queries.quantize(PLANE.distance(RANDOM.random((1, 2)), queries.points))
    assert np.array_equal(shapes.mesh.sums(shapes.mesh.links.differences(exact)[0]), exact[0] - MIDDLE)
    rows = shapes.mesh.sums
    units = np.eye(len(shapes.mesh.links), dtype=np.int64) << 40
    spread = np.array([rows(unit) for unit in units]) / 2.0**40
    assert shapes.mesh.variances == pytest.approx((shapes.mesh.scales[:, None] ** 2 * spread**2).sum(axis=0), rel=1e-6)


# What is refused, and files.


@guarantees
def test_a_release_is_saved_and_answers_bit_for_bit(kind: str, tmp_path: Path) -> None:
    """With a private total too; no metric is needed to read it."""
    text_space = mp.AnyMetric(lambda x, y: float(abs(len(x) - len(y))), 9, ["a", "aaa", "aaaaaa"])
    for neighbors in ("replace", "add-remove"):
        synopsis = mp.release(
            ["a", "aa", "aaaa"] * 200,
            text_space,
            epsilon=50,
            delta=GUARANTEES[kind].delta,
            mechanism="net",
            neighbors=neighbors,
        )
        synopsis.save(tmp_path / "file.milepost")
        again = mp.load(tmp_path / "file.milepost")
        queries = list(text_space.queries)
        assert again.mean_distance(queries).tolist() == synopsis.mean_distance(queries).tolist()
        assert np.array_equal(again.interval(queries), synopsis.interval(queries))
        exact = mp.exact_mean_distance(["a", "aa", "aaaa"] * 200, text_space, queries)
        assert_promised(synopsis, queries, exact, at_most=0.1 * text_space.diameter)


def test_delta_zero_draws_no_gaussian_noise() -> None:
    queries, draw = QUERY_SETS["far"], noise._add

    def no_gaussian(law: str, values: IntArray, scale: float) -> IntArray:
        assert law == "laplace"
        return draw(law, values, scale)

    with patched([(noise, "_add", no_gaussian)]):
        run_mechanism(Net(), sums_of(queries, np.zeros((3, queries.count))), queries, ProtectedChange(), PURE)


def test_bad_sums_are_refused_before_anything_is_drawn() -> None:
    """Of other queries, of groups that are not paid for, of no records, of too many queries, of too small an ε."""
    queries = QUERY_SETS["plane"]
    many = Queries(np.zeros((5000, 1)), LINE)
    grouped = DistanceSums(len(LinkDesigns.of(queries)), groups=2)
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: run_mechanism(Net(), DistanceSums(3), queries, ProtectedChange(), PURE), "3 numbers do not fit"),
        (lambda: run_mechanism(Net(), grouped, queries, ProtectedChange(), PURE), "one group"),
        (lambda: run_mechanism(Net(), sums_of(queries, []), queries, ProtectedChange(), PURE), "no records"),
        (lambda: Net().predict(queries, 0, ProtectedChange("add-remove"), PURE), "no records"),
        (lambda: Net().predict(many, 5, ProtectedChange(), PURE), "up to 4,096 queries, got 5,000"),
        (lambda: Net().predict(in_the_plane(50), 5, ProtectedChange(), mp.Guarantee(1e-9, 1e-50)), "too small"),
    ]
    with silent():
        for call, message in cases:
            with pytest.raises(mp.MilepostError, match=message):
                call()
    plan = mp.plan(LINE, n=1000, epsilon=1, queries=np.linspace(0, 1, 5000)[:, None])
    assert "4,096" in plan.refused["net"]


def test_shapes_are_found_once_and_go_along_with_copies(monkeypatch: pytest.MonkeyPatch) -> None:
    """The links that are counted are those that are paid for, on other computers, too."""
    queries = in_the_plane(9)
    assert LinkDesigns.of(queries) is LinkDesigns.of(queries)
    queries_copy = deepcopy(queries)
    monkeypatch.setattr(net, "lengths_between", None)
    assert np.array_equal(LinkDesigns.of(queries_copy).mesh.links.lengths, LinkDesigns.of(queries).mesh.links.lengths)


def test_the_private_input_is_left_alone() -> None:
    queries = QUERY_SETS["plane"]
    rows = RANDOM.integers(0, QUANTA, (5, queries.count))
    original = rows.copy()
    sums = sums_of(queries, rows)
    values, totals = sums.values.copy(), sums.totals.copy()
    noisy_sums = run_mechanism(Net(), sums, queries, ProtectedChange(), PURE)
    assert isinstance(noisy_sums, NoisySums)
    assert np.array_equal(rows, original)
    assert np.array_equal(sums.values, values)
    assert np.array_equal(sums.totals, totals)


def test_links_to_the_ground_count_from_half_the_diameter() -> None:
    links = Links(np.array([0, 1, 1]), np.array([-1, -1, 0]), np.array([MIDDLE, MIDDLE, 7]))
    assert links.differences(np.array([[0, QUANTA], [5, 2]])).tolist() == [
        [-MIDDLE, MIDDLE, 7],
        [5 - MIDDLE, 2 - MIDDLE, -3],
    ]


@pytest.mark.slow
def test_lipschitz_answers_keep_the_promise_for_all_at_once() -> None:
    """No two differ by more than their points' distance, and the largest error is no larger."""
    rng = np.random.default_rng(0)
    query_points = rng.random((40, 2))
    people = rng.random((400, 2)) ** 2
    exact = mp.exact_mean_distance(people, PLANE, query_points)
    apart = PLANE.query_distances(query_points, query_points)
    for _ in range(20):
        synopsis = mp.release(people, PLANE, epsilon=1, mechanism="net", queries=query_points)
        plain, lipschitz_answers = (
            synopsis.mean_distance(query_points),
            synopsis.mean_distance(query_points, lipschitz=True),
        )
        assert (np.abs(lipschitz_answers[:, None] - lipschitz_answers[None]) <= apart + 1e-12).all()
        assert np.abs(lipschitz_answers - exact).max() <= np.abs(plain - exact).max() + 1e-12
        assert synopsis.mean_distance(query_points[7], lipschitz=True) == lipschitz_answers[7]
    text_space = mp.AnyMetric(mp.edit_distance, 9, ["mile", "miles", "post"])
    text_synopsis = mp.release(["mild"] * 50, text_space, epsilon=1, mechanism="laplace")
    near = text_synopsis.mean_distance(["mile", "miles", "post"], lipschitz=True)
    assert abs(near[0] - near[1]) <= 1 + 1e-12
    with pytest.raises(mp.MilepostError, match="given queries"):
        mp.release(people, PLANE, epsilon=1).mean_distance(query_points, lipschitz=True)
