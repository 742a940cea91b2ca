"""Weighted sums of distances as queries: what they cost, their noise, ranges and files, and which releases take them.

Costs are exact: what a table and its neighbor hand to the noise functions, in rational arithmetic.
"""

import itertools
import json
import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, target
from hypothesis import strategies as st

import milepost as mp
from milepost._typing import AnyArray, FloatArray
from milepost.ingest.aggregation import read_sums
from milepost.ingest.query_points import read_queries
from milepost.mechanisms.query.cholesky import NUGGET, CholeskyFactor
from milepost.mechanisms.query.field import Field, Innovations
from milepost.mechanisms.query.per_query import PerQuery
from milepost.pipeline.selection import candidates, combined_error_factor
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.base import Space
from milepost.spaces.distances.functions import MAX_POINTS, WEIGHT_ONE, WeightedSum
from milepost.spaces.embeddings.embedding import QUANTA
from milepost.spaces.queries import Queries
from milepost.synopsis import file_format
from tests.chance import assert_rate, assert_scale
from tests.drawn_ahead import drawn_ahead
from tests.mechanisms.contract import (
    APPROXIMATE,
    GUARANTEES,
    PURE,
    QUICK,
    ROADS,
    SPACES,
    Transcript,
    guarantees,
    opposites,
    places,
    points,
    run_mechanism,
    silent,
)
from tests.quick import some_quick
from tests.spaces.test_distance_range import Between

UNIVERSE = mp.AnyMetric(mp.precomputed(ROADS), 4, [0, 1, 2, 3], repetitions=2, universe=[0, 1, 2, 3])
KERNELS = {name: space for name, space in SPACES.items() if name != "towns"} | {"universe": UNIVERSE}
PLANE = mp.L2([(0, 10), (0, 10)])
NEAR = mp.WeightedDistances([[5, 5], [5.1, 5]], [1, -1])
FAR = mp.WeightedDistances([[1, 1], [9, 9]], [1, -1])
SUM = mp.WeightedDistances([[2, 3], [5, 5]], [2, 1])
PEOPLE = np.random.default_rng(0).uniform(0, 10, (2000, 2))

pytestmark = pytest.mark.filterwarnings("ignore::milepost.AccuracyWarning")
spaces = pytest.mark.parametrize("name", some_quick(KERNELS, ["unequal weights", "disc", "cap", "letters", "universe"]))
taking = pytest.mark.parametrize("mechanism", ["field", "gaussian", "laplace"])


def as_points(space: Any, fractions: Any) -> Any:
    """Points of a space at fractions of its columns' widths, as users write them."""
    rows = points(space, fractions)
    return np.clip(rows, [-90, -360], [90, 360]).tolist() if isinstance(space, mp.GreatCircle) else rows.tolist()


def inside(space: Any, items: Any) -> Queries:
    """Queries whose points are moved into the space."""
    queries, _ = read_queries(items, space)
    return Queries(space.clip_points(queries.points), space, queries.functions, queries.given_factors)


def mechanism_of(name: str) -> Any:
    return Field() if name == "field" else PerQuery(name)


def share_of_budget(
    mechanism: Any, queries: Queries, tables: Any, change: ProtectedChange, guarantee: mp.Guarantee
) -> Fraction:
    """The share of the budget that a table and its neighbor cost."""
    first = Transcript()
    second = first.again()
    for transcript, table in zip((first, second), tables, strict=True):
        sums = read_sums(table, queries.space, queries, empty=True, transform=mechanism.summands)
        with transcript.listen():
            run_mechanism(mechanism, sums, queries, change, guarantee, n=None if change.public_total else 5)
    spent = mechanism.accounted(guarantee)
    return first.cost(second, spent.accounting) / Fraction(spent.budget)


# A point of weight 1 is a point.


@spaces
def test_one_point_of_weight_one_is_that_point(name: str) -> None:
    space = KERNELS[name]
    rows = as_points(space, np.random.default_rng(1).random((3, space.width)))
    plain, weighted = inside(space, rows), inside(space, [mp.WeightedDistances([row], [1]) for row in rows])
    assert weighted.functions is not None
    table = points(space, np.random.default_rng(2).random((50, space.width)))
    assert read_sums(table, space, plain).values.tolist() == read_sums(table, space, weighted).values.tolist()
    assert (plain.low.tolist(), plain.high.tolist()) == (weighted.low.tolist(), weighted.high.tolist())
    assert plain.keys() == weighted.keys()
    assert plain.to_json() == weighted.to_json()
    noise = Field().noise(space, 3, ProtectedChange(), APPROXIMATE)
    assert noise.anchors(plain.points).tolist() == noise.anchors(weighted.combinations).tolist()
    factors = [CholeskyFactor(noise.kernel, 3, noise.unit) for _ in range(2)]
    for factor, queries in zip(factors, (plain, weighted), strict=True):
        factor.extend(queries.combinations)
    assert factors[0].rows(0, 3).tolist() == factors[1].rows(0, 3).tolist()


def test_equal_queries_have_one_key() -> None:
    """In another order, with other factors, with points twice or of weight 0."""
    same = [
        SUM,
        mp.WeightedDistances([[5, 5], [2, 3]], [10, 20]),
        mp.WeightedDistances([[2, 3], [5, 5], [2, 3]], [1, 1, 1]),
        mp.WeightedDistances(np.array([[2, 3], [7, 7], [5, 5]]), np.array([2.0, 0.0, 1.0])),
    ]
    queries, _ = read_queries(same, PLANE)
    assert len(set(queries.keys())) == 1
    assert queries.factors.tolist() == [3, 30, 3, 3]
    others, _ = read_queries([FAR, mp.WeightedDistances([[1, 1], [9, 9]], [-1, 1]), [2, 3]], PLANE)
    assert len({*queries.keys(), *others.keys()}) == 4


# Values: of one record each, exactly rounded, within the range.


@spaces
def test_a_value_depends_on_its_own_record_only(name: str) -> None:
    space = KERNELS[name]
    rng = np.random.default_rng(3)
    rows = as_points(space, rng.random((7, space.width)))
    queries = inside(space, [mp.WeightedDistances(rows, rng.uniform(-1, 1, 7)), mp.WeightedDistances(rows, [1] * 7)])
    table = points(space, rng.random((40, space.width)))
    together = read_sums(table, space, queries).values[0]
    alone = [read_sums(table[k : k + 1], space, queries).values[0] for k in range(40)]
    assert together.tolist() == np.sum(alone, axis=0).tolist()
    assert all((queries.low <= value).all() and (value <= queries.high).all() for value in alone)


def test_a_sum_of_many_terms_depends_on_its_own_record_only() -> None:
    """Bit for bit, before it is rounded: a product of matrices would not do."""
    rng = np.random.default_rng(4)
    distances, shares = rng.random((200, MAX_POINTS)), rng.uniform(-1, 1, MAX_POINTS)
    function, used, _ = WeightedSum.of([Fraction(share) for share in shares])
    assert len(used) == MAX_POINTS
    together = function.evaluate(distances)
    assert together.tolist() == [function.evaluate(distances[k : k + 1])[0] for k in range(200)]
    assert together[1:7].tolist() == function.evaluate(np.asfortranarray(distances[1:7])).tolist()


weights = st.lists(st.floats(-1, 1).filter(lambda weight: abs(weight) > 1e-9), min_size=1, max_size=6)


@settings(QUICK, max_examples=50)
@given(weights, st.integers(0, 1000))
def test_a_value_is_the_weighted_sum_rounded_once(given_weights: list[float], seed: int) -> None:
    """Against rational arithmetic: half a quantum off, and what FUNCTION_ERROR allows for."""
    rng = np.random.default_rng(seed)
    rows = rng.uniform(0, 10, (len(given_weights), 2)).tolist()
    queries = inside(PLANE, [mp.WeightedDistances(rows, given_weights)])
    people = rng.uniform(0, 10, (5, 2))
    distances = PLANE.distance(people, queries.points)
    (function,) = queries.functions or ()
    assert isinstance(function, WeightedSum)
    assert sum(map(abs, function.weights)) <= WEIGHT_ONE
    for record, value in zip(distances.tolist(), queries.evaluate(distances)[:, 0].tolist(), strict=True):
        terms = (Fraction(w) * Fraction(d) for w, d in zip(function.weights, record, strict=True))
        exact = sum(terms, Fraction(0)) / WEIGHT_ONE
        off = abs(Fraction(value) * Fraction(queries.quantum) - exact)
        assert off <= Fraction(queries.quantum) / 2 + Fraction(PLANE.diameter) / 2**42
    exact_weights = [Fraction(weight) for weight in given_weights]
    total = sum(map(abs, exact_weights))
    assert float(queries.factors[0]) == pytest.approx(float(total))


def test_distances_that_are_none_are_cut() -> None:
    """NaN counts as the diameter, as for points; and so does what is beyond it."""
    queries = inside(PLANE, [SUM, FAR, [2, 3]])
    distances = np.array([[math.nan] * 5, [math.inf] * 5, [-1.0] * 5, [1e300] * 5])
    values = queries.evaluate(distances)
    assert values[:, 0].tolist() == [QUANTA, QUANTA, 0, QUANTA]
    assert values[:, 1].tolist() == [0, 0, 0, 0]
    assert values[:, 2].tolist() == queries.quantize(distances[:, :1])[:, 0].tolist()


def test_the_range_of_a_difference_is_the_distance_of_its_points() -> None:
    """By the triangle inequality; not in a metric of users, who only promise it."""
    queries = inside(PLANE, [NEAR, FAR])
    widths = (queries.high - queries.low) * queries.quantum * queries.factors
    assert widths[0] == pytest.approx(2 * 0.1, rel=1e-3)
    assert queries.low[0] == -queries.high[0]
    towns = inside(SPACES["towns"], [mp.WeightedDistances([2, 3], [1, -1])])
    assert (towns.high - towns.low).tolist() == [QUANTA]


@settings(QUICK, max_examples=100)
@given(st.data())
def test_no_record_is_outside_the_range(data: st.DataObject) -> None:
    space = KERNELS[data.draw(st.sampled_from(sorted(KERNELS)))]
    place = st.lists(places, min_size=space.width, max_size=space.width)
    given_weights = data.draw(weights)
    rows = as_points(space, data.draw(st.lists(place, min_size=len(given_weights), max_size=len(given_weights))))
    try:
        queries = inside(space, [mp.WeightedDistances(rows, given_weights)])
    except mp.MilepostError as error:
        assert "cancel" in str(error)  # noqa: PT017
        return
    records = space.read(points(space, data.draw(st.lists(place, min_size=1, max_size=4))))
    values = queries.evaluate(space.distance(records, queries.points))
    assert ((queries.low <= values) & (values <= queries.high)).all()


# No change costs more than the budget.


def search(mechanism: str, space: Any, examples: int, change: ProtectedChange, guarantee: mp.Guarantee) -> None:
    """The ends of the space, asked about in sums and differences; then Hypothesis looks for something that costs more.

    Points near each other have differences of small norm, whose innovations are divided by small numbers.
    """
    cost = partial(share_of_budget, mechanism_of(mechanism), change=change, guarantee=guarantee)
    ends = as_points(space, [[0.0] * space.width, [1.0] * space.width])
    made = [mp.WeightedDistances(ends, [1, -1]), mp.WeightedDistances(ends, [1, 1]), ends[0]]
    for left, right in opposites(space):
        for tables in ((left, right),) if change.replaces else ((left, left[:0]), (right, right[:0])):
            assert cost(inside(space, made), tables) <= 1
    place = st.lists(places, min_size=space.width, max_size=space.width)

    @settings(QUICK, max_examples=examples)
    @given(
        place, place, st.lists(place, min_size=2, max_size=5), st.sampled_from([0.0, 1e-9, 1e-3, 1.0]), st.integers(0)
    )
    def no_pair_costs_more(left: Any, right: Any, spots: Any, spread: float, seed: int) -> None:
        rng = np.random.default_rng(seed)
        queries: list[Any] = []
        for spot in spots:
            near = np.array(spot) + spread * rng.uniform(-1, 1, (3, space.width))
            rows = as_points(space, np.clip(near, -0.1, 1.1))
            queries += [mp.WeightedDistances(rows, size * rng.uniform(-1, 1, 3)) for size in (1, 1e6)]
            queries += [rows[0]]
        try:
            read = inside(space, queries)
        except mp.MilepostError as error:
            assert "cancel" in str(error)  # noqa: PT017
            return
        tables = [points(space, [left]), points(space, [right if change.replaces else left])[: int(change.replaces)]]
        share = float(cost(read, tables))
        assert share <= 1, f"{share:.12g} of the budget"
        target(share)

    no_pair_costs_more()


@spaces
@guarantees
@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
def test_no_pair_costs_more_than_the_budget_in_a_field(name: str, kind: str, neighbors: str) -> None:
    search("field", KERNELS[name], 5, ProtectedChange(neighbors), GUARANTEES[kind])


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
@pytest.mark.parametrize("name", ["disc", "letters", "towns"])
@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
def test_no_pair_costs_more_than_the_budget_of_each_query(name: str, law: str, neighbors: str) -> None:
    guarantee = APPROXIMATE if law == "gaussian" else PURE
    search(law, SPACES[name], 5, ProtectedChange(neighbors), guarantee)


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_a_range_that_does_not_hold_costs_no_more(law: str) -> None:
    """Values are cut to it, record by record, whatever the space says of its distances."""
    ends = [[0.0], [12.0]]
    queries = inside(Between(), [mp.WeightedDistances(ends, [1, -1]), mp.WeightedDistances(ends, [1, 1])])
    guarantee = APPROXIMATE if law == "gaussian" else PURE
    records = [np.array([[hour]]) for hour in (0.0, 5.0, 12.0, 18.0)]
    costs = [
        share_of_budget(mechanism_of(law), queries, pair, ProtectedChange(), guarantee)
        for pair in itertools.combinations(records, 2)
    ]
    assert 0 < max(costs) <= 1


def test_the_farthest_pair_uses_the_budget_up() -> None:
    """The claim is no larger than necessary: one difference of the ends of a line, and a record that changes sides."""
    line = SPACES["one column"]
    queries = inside(line, [mp.WeightedDistances([[0.0], [1.0]], [1, -1])])
    tables = np.array([[0.0]]), np.array([[1.0]])
    for mechanism, guarantee in (("gaussian", APPROXIMATE), ("laplace", PURE), ("field", APPROXIMATE), ("field", PURE)):
        assert 0.95 < share_of_budget(mechanism_of(mechanism), queries, tables, ProtectedChange(), guarantee) <= 1


@pytest.mark.parametrize("name", [name for name in KERNELS if name != "universe"])
def test_the_norm_of_a_pair_covers_the_rounding_of_sums(name: str) -> None:
    """As the proof page's section 7 assumes: the diameter is at most √(S·max C) and 2√(S₁·max C)."""
    space = KERNELS[name]
    for kernel in space.kernels:
        assert min(kernel.pair, 4 * kernel.single) * kernel.max_variance >= space.diameter**2 * (1 - 1e-6)


def test_sums_in_a_universe_pay_for_their_rounding() -> None:
    """Its norms are those of columns in quanta, and sums are computed from columns that are not; points pay nothing."""
    sizes = 4, ProtectedChange(), APPROXIMATE
    designs = [
        Field().design(inside(UNIVERSE, items), *sizes) for items in ([0, 1], [mp.WeightedDistances([0, 1], [1, 1]), 1])
    ]
    plain, weighted = (design.noise for design in designs)
    assert plain.kernel.distance_error == 0
    assert plain.quantum / 2 + UNIVERSE.diameter * 2.0**-44 < weighted.kernel.distance_error < plain.quantum
    assert weighted.scale > plain.scale


# Noise.


@spaces
def test_the_factor_covers_the_covariance_of_sums(name: str) -> None:
    """LLᵀ ⪰ C + λ/2 with C = WC₀Wᵀ, and it is C + λ up to rounding: whether queries come together or one by one."""
    space = KERNELS[name]
    rng = np.random.default_rng(5)
    rows = [as_points(space, rng.random((4, space.width))) for _ in range(5)]
    queries = inside(space, [*(mp.WeightedDistances(some, rng.uniform(-1, 1, 4)) for some in rows), rows[0][0]])
    noise = Field().noise(space, queries.count, ProtectedChange(), APPROXIMATE)
    sums = queries.combinations
    matrix = np.zeros((queries.count, len(sums.points)))
    for k, start in enumerate(sums.starts[:-1]):
        end = sums.starts[k + 1]
        matrix[k, start:end] = sums.filled_weights[start:end]
    halves, kernel = noise.kernel.half(sums.points), noise.kernel
    covariance = matrix @ (halves[:, None] + halves - 2 * kernel.apart(sums.points, sums.points)) @ matrix.T
    nugget = NUGGET * kernel.max_variance
    for at_once in (1, queries.count):
        factor = CholeskyFactor(kernel, queries.count, noise.unit)
        for start in range(0, queries.count, at_once):
            factor.extend(sums[start : start + at_once])
        lower = factor.rows(0, queries.count) * noise.unit
        off = lower @ lower.T - covariance - nugget * np.eye(queries.count)
        assert np.abs(off).max() <= nugget / 100
        assert np.linalg.eigvalsh(lower @ lower.T - covariance).min() >= nugget / 2
    assert np.allclose(sums.variances(kernel), np.diag(covariance), atol=1e-9 * kernel.max_variance)


def test_rows_of_a_query_that_failed_are_dropped() -> None:
    """Points and weighted sums after them, in whichever order, are those that were written last."""
    noise = Field().noise(PLANE, 6, ProtectedChange(), APPROXIMATE)
    together, again = (CholeskyFactor(noise.kernel, 6, noise.unit) for _ in range(2))
    queries = inside(PLANE, [[1, 2], SUM, NEAR, [5, 5], FAR])
    together.extend(queries.combinations)
    again.extend(inside(PLANE, [[1, 2]]).combinations)
    again.extend(inside(PLANE, [FAR, [3, 3], SUM]).combinations)
    again.truncate(1)
    again.extend(queries.combinations[1:3])
    again.extend(queries.combinations[3:])
    assert np.abs(together.rows(0, 5) - again.rows(0, 5)).max() <= 2.0**-36 * np.abs(together.rows(0, 5)).max()
    assert again.points.points.tolist() == queries.points.tolist()


def test_a_field_takes_so_many_points() -> None:
    noise = Field().noise(PLANE, 100, ProtectedChange(), APPROXIMATE)
    factor = CholeskyFactor(noise.kernel, 100, noise.unit)
    many = np.random.default_rng(0).uniform(0, 10, (MAX_POINTS, 2))
    queries = inside(PLANE, [mp.WeightedDistances(many, [1] * MAX_POINTS)] * 65)
    with pytest.raises(mp.MilepostError, match=r"32,768 points in all, got 33,280"):
        factor.extend(queries.combinations)


RELEASES = 600


@pytest.mark.slow
@taking
def test_answers_have_the_deviation_that_they_claim(mechanism: str) -> None:
    """And not a quarter more or less, for a sum, a difference of near points, and one of far points."""
    guarantee = PURE if mechanism == "laplace" else APPROXIMATE
    queries = inside(PLANE, [SUM, NEAR, FAR])
    tool = mechanism_of(mechanism)
    sums = read_sums(PEOPLE[:50], PLANE, queries, transform=tool.summands)
    design = tool.predict(queries, 50, ProtectedChange(), guarantee)
    exact = sums.values[0] * queries.quantum * queries.factors / 50
    with drawn_ahead():
        released = [design.run(sums) for _ in range(2000)]
    values = np.array([statistic.values(np.arange(3), raw=True) for statistic in released])
    deviations = released[0].deviations * queries.quantum * queries.factors / 50
    law: Any = "laplace" if mechanism == "laplace" else "gaussian"
    unit = math.sqrt(2) if mechanism == "laplace" else 1.0
    for errors in ((values - exact) / deviations * unit).T:
        assert_scale(errors, law=law, against=1.25, comparisons=3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "neighbors"),
    [
        ("field", "replace"),
        ("field", "add-remove"),
        ("gaussian", "add-remove"),
        ("laplace", "replace"),
        ("slopes", "replace"),
    ],
)
def test_intervals_hold(mechanism: str, neighbors: str) -> None:
    """At 80 %, where a wrong scale shows; those of slopes are wider than necessary. A release counts once a query."""
    plane = mp.L1([(0, 10), (0, 10)])
    table, asked = PEOPLE[:300], [SUM, NEAR, FAR]
    exact = [float(mp.exact_mean_distance(table, plane, query.points) @ np.array(query.weights)) for query in asked]
    options: dict[str, Any] = {"epsilon": 1, "delta": 0 if mechanism == "laplace" else 1e-6, "mechanism": mechanism}
    options |= {} if mechanism == "slopes" else {"queries": asked}
    options |= {} if neighbors == "replace" else {"neighbors": neighbors, "n": 300}
    hits = np.zeros(3, dtype=np.int64)
    with drawn_ahead():
        for _ in range(RELEASES):
            synopsis = mp.release(table, plane, **options)
            answers = [synopsis.estimate(query, 0.8) for query in asked]
            hits += [answer.low <= truth <= answer.high for answer, truth in zip(answers, exact, strict=True)]
    for count in hits.tolist():
        assert_rate(count, RELEASES, at_least=0.8, against=0.6, comparisons=3)


# Releases and files.


@taking
def test_a_release_answers_its_queries(mechanism: str, tmp_path: Path) -> None:
    """Whatever the factor and the order; a file answers bit for bit."""
    synopsis = mp.release(PEOPLE, PLANE, epsilon=50, delta=1e-6, mechanism=mechanism, queries=[[2, 3], SUM, NEAR, FAR])
    estimate = synopsis.estimate(SUM)
    assert isinstance(estimate, mp.Estimate)
    assert estimate.low < estimate.value < estimate.high
    twice = synopsis.estimate(mp.WeightedDistances([[5, 5], [2, 3]], [2, 4]))
    assert twice.value == pytest.approx(2 * estimate.value)
    assert twice.error == pytest.approx(2 * estimate.error)
    assert synopsis.estimate([2, 3]).value == synopsis.mean_distance([2, 3])
    assert synopsis.given_queries is not None
    assert synopsis.given_queries.tolist() == [[2, 3]]
    assert synopsis.center().tolist() == [2, 3]
    synopsis.save(tmp_path / "q.milepost")
    loaded = mp.load(tmp_path / "q.milepost")
    assert [loaded.estimate(query) for query in (SUM, NEAR, FAR, [2, 3])] == [
        synopsis.estimate(query) for query in (SUM, NEAR, FAR, [2, 3])
    ]
    assert str(loaded.describe()) == str(synopsis.describe())
    with pytest.raises(mp.MilepostError, match=r"a function of the distances to \[\[1.0, 1.0\], \[2.0, 3.0\]\] is not"):
        synopsis.estimate(mp.WeightedDistances([[2, 3], [1, 1]], [1, 1]))
    with pytest.raises(mp.MilepostError, match=r"\[1.0, 1.0\] is not among them"):
        synopsis.estimate([1, 1])


def test_a_release_of_sums_alone_has_no_center() -> None:
    synopsis = mp.release(PEOPLE, PLANE, epsilon=50, delta=1e-6, queries=[SUM])
    assert synopsis.queries is not None
    with pytest.raises(mp.MilepostError, match="no point that could be a center"):
        synopsis.center()
    with pytest.raises(mp.MilepostError, match="no points to draw"):
        synopsis.plot()


def test_points_among_sums_are_answered_as_points(tmp_path: Path) -> None:
    """A weight of 5 on a single point is no other query than the point; smoothed answers are found by the point."""
    five = mp.WeightedDistances([[2, 3]], [5])
    synopsis = mp.release(PEOPLE, PLANE, epsilon=90, delta=1e-6, mechanism="field", queries=[SUM, five, [4, 4]])
    synopsis.save(tmp_path / "q.milepost")
    for release in (synopsis, mp.load(tmp_path / "q.milepost")):
        value = release.mean_distance([2, 3])
        assert value == pytest.approx(mp.exact_mean_distance(PEOPLE, PLANE, [2, 3]), abs=0.05)
        assert release.estimate(five).value == pytest.approx(5 * value)
        assert release.mean_distance([[2, 3], [4, 4]], lipschitz=True) == pytest.approx(
            release.mean_distance([[2, 3], [4, 4]])
        )
        assert release.center().tolist() == [4, 4]


def test_sums_of_given_points_are_answered_too() -> None:
    """From the answers at the points, with an interval that is wider than necessary."""
    synopsis = mp.release(PEOPLE, PLANE, epsilon=9, delta=1e-6, mechanism="field", queries=[[2, 3], [5, 5]])
    estimate = synopsis.estimate(SUM)
    values = synopsis.mean_distance([[2, 3], [5, 5]])
    assert estimate.value == pytest.approx(2 * values[0] + values[1])
    low, high = synopsis.interval([[2, 3], [5, 5]], 0.975)
    assert estimate.error == pytest.approx(((high - low) / 2) @ [2, 1])


@pytest.mark.parametrize("mechanism", ["slopes", "hats", "quadtree", "tangents"])
def test_a_release_of_any_point_answers_sums(mechanism: str) -> None:
    delta = 0 if mechanism == "hats" else 1e-6
    synopsis = mp.release(PEOPLE, mp.L1([(0, 10), (0, 10)]), epsilon=9, delta=delta, mechanism=mechanism)
    assert synopsis.estimate([2, 3]) == mp.Estimate(synopsis.mean_distance([2, 3]), *synopsis.interval([2, 3]), 0.95)
    for query in (SUM, FAR):
        values = synopsis.mean_distance(query.points)
        estimate = synopsis.estimate(query, 0.9)
        assert estimate.value == pytest.approx(values @ query.weights)
        joint = 0.95 if synopsis.statistic.confidence >= 0.95 else 0.9
        _, high = synopsis.interval(query.points, joint)
        assert estimate.high - estimate.value == pytest.approx((high - values) @ np.abs(query.weights))


def test_groups_and_private_totals() -> None:
    sides = np.where(PEOPLE[:, 0] < 5, "west", "east")
    synopsis = mp.release(
        PEOPLE, PLANE, epsilon=60, delta=1e-6, queries=[SUM, FAR, [2, 3]], groups=sides, labels=["west", "east"]
    )
    for label in ("west", "east"):
        table = PEOPLE[sides == label]
        first, second = (mp.exact_mean_distance(table, PLANE, point) for point in FAR.points)
        estimate = synopsis.estimate(FAR, 0.999999, group=label)
        assert estimate.low <= first - second <= estimate.high
    with pytest.raises(mp.MilepostError, match="name one with group="):
        synopsis.estimate(FAR)


def test_auto_leaves_out_mechanisms_that_take_points_only() -> None:
    possible = candidates(PLANE, [SUM, [2, 3]])
    feasible, refused = possible.feasible(ProtectedChange(), APPROXIMATE)
    assert {"field", "gaussian", "laplace", "slopes"} <= {*feasible.mechanisms}
    assert not {"net", "basis"} & {*feasible.mechanisms, *refused}
    with (
        silent(),
        pytest.raises(mp.MilepostError, match=r"net answers points only.*; use .*field, gaussian or laplace"),
    ):
        mp.release(PEOPLE, PLANE, epsilon=1, delta=1e-6, mechanism="net", queries=[SUM])
    with silent(), pytest.raises(mp.MilepostError, match=r"basis answers points only.*; use .*field or laplace"):
        mp.release(PEOPLE, PLANE, epsilon=1, mechanism="basis", queries=[SUM])


def test_auto_compares_intervals_of_the_same_queries() -> None:
    """A mechanism that answers every point adds up intervals, which its predicted error says."""
    plan = mp.plan(PLANE, n=2000, epsilon=1, delta=1e-6, queries=[SUM, FAR])
    errors = {prediction.mechanism: prediction.error for prediction in plan.predictions}
    alone = {p.mechanism: p.error for p in mp.plan(PLANE, n=2000, epsilon=1, delta=1e-6).predictions}
    assert errors["slopes"] == pytest.approx(alone["slopes"] * 3 * 2.2414 / 1.96, rel=1e-3)
    synopsis = mp.release(PEOPLE, PLANE, epsilon=1, delta=1e-6, mechanism="slopes")
    assert synopsis.estimate(SUM).error <= errors["slopes"]
    assert plan.best.mechanism == "field" or errors["field"] >= plan.best.error
    synopsis = mp.release(PEOPLE, PLANE, epsilon=1, delta=1e-6, mechanism="field", queries=[SUM, FAR])
    assert max(synopsis.estimate(q).error for q in (SUM, FAR)) == pytest.approx(errors["field"], rel=1e-9)
    assert combined_error_factor(None) == combined_error_factor(inside(PLANE, [[2, 3]])) == 1


def test_differences_of_near_points_have_little_noise() -> None:
    """In a field, less than a tenth of the noise of a point, though they are no farther apart than a hundredth."""
    synopsis = mp.release(PEOPLE, PLANE, epsilon=1, delta=1e-6, mechanism="field", queries=[[5, 5], [5.1, 5], NEAR])
    deviations = synopsis.statistic.tensors()["deviations"]
    assert deviations[2] * 2 < 0.25 * deviations[0]


FORGED: dict[str, Callable[[dict[str, Any]], None]] = {
    "weights that add up to more": lambda query: query.update(of=[WEIGHT_ONE, 1]),
    "more weights than points": lambda query: query.update(of=[1, 1, 1]),
    "a weight of 0": lambda query: query.update(of=[0, 1]),
    "a fraction": lambda query: query.update(of=[0.5, 0.5]),
    "a truth value": lambda query: query.update(of=[True, 1]),
    "no weights": lambda query: query.update(of=[]),
    "text": lambda query: query.update(of="12"),
    "too few points": lambda query: query["points"].pop(),
    "points that are none": lambda query: query.update(points="ab"),
    "a point of one number": lambda query: query["points"].__setitem__(0, [1.0]),
    "a factor of 0": lambda query: query.update(factor=0),
    "a negative factor": lambda query: query.update(factor=-1.0),
    "a huge factor": lambda query: query.update(factor=1e101),
    "a factor of text": lambda query: query.update(factor="3"),
    "another function": lambda query: query.update(function="nearest"),
    "no function": lambda query: query.pop("function"),
    "a point with a factor": lambda query: query.update(of=[WEIGHT_ONE], points=[[2.0, 3.0]]),
}


@pytest.mark.parametrize("forgery", FORGED)
def test_a_forged_query_is_refused(forgery: str, tmp_path: Path) -> None:
    path = tmp_path / "q.milepost"
    mp.release(PEOPLE, PLANE, epsilon=1, delta=1e-6, mechanism="field", queries=[SUM, [2, 3]]).save(path)
    card, tensors = file_format.read(path)
    FORGED[forgery](card["queries"][0])
    file_format.write(path, json.loads(json.dumps(card)), tensors)
    with pytest.raises(mp.MilepostError):
        mp.load(path)


def test_a_file_of_a_mechanism_that_takes_points_only_has_no_sums(tmp_path: Path) -> None:
    path = tmp_path / "q.milepost"
    mp.release(PEOPLE, PLANE, epsilon=1, delta=1e-6, mechanism="gaussian", queries=[SUM]).save(path)
    card, tensors = file_format.read(path)
    file_format.write(path, card | {"mechanism": "net"}, tensors)
    with pytest.raises(mp.MilepostError, match="queries that net does not answer"):
        mp.load(path)


# What is refused.

WRONG: dict[str, tuple[Any, Any, str]] = {
    "no weights": ([[1, 1]], [], "at least one point"),
    "zeros": ([[1, 1], [2, 2]], [0, 0], "must not all be 0"),
    "not a number": ([[1, 1]], [math.nan], "finite numbers, got nan"),
    "infinite": ([[1, 1]], [math.inf], "finite numbers, got inf"),
    "text": ([[1, 1]], ["1"], "finite numbers, got '1'"),
    "a flag": ([[1, 1]], [True], "finite numbers, got True"),
    "one number": ([[1, 1]], 3, "a list of numbers"),
    "too many": ([[1, 1]] * 513, [1] * 513, "up to 512 points, got 513"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_weights_are_refused(name: str) -> None:
    rows, given_weights, message = WRONG[name]
    with pytest.raises(mp.MilepostError, match=message):
        mp.WeightedDistances(rows, given_weights)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (mp.WeightedDistances([[1, 1]], [1, 2]), "one weight for each point, got 1 points and 2 weights"),
        (mp.WeightedDistances([[1, 1], [1, 1]], [1, -1]), "cancel each other"),
        (mp.WeightedDistances(np.empty((0, 2)), [1]), "at least one point, got none"),
        (mp.WeightedDistances([[1, 1, 1]], [1]), "columns"),
        (mp.WeightedDistances([[1, math.nan]], [1]), "finite|NaN|nan|missing"),
        (mp.WeightedDistances(None, [1]), "got None"),
    ],
)
def test_wrong_points_are_refused_before_anything_is_spent(query: Any, message: str) -> None:
    with silent(), pytest.raises(mp.MilepostError, match=message):
        mp.release(PEOPLE, PLANE, epsilon=1, delta=1e-6, queries=[query])
    with silent(), pytest.raises(mp.MilepostError, match="put a single one in a list"):
        mp.release(PEOPLE, PLANE, epsilon=1, delta=1e-6, queries=SUM)
    with silent(), pytest.raises(mp.MilepostError, match="a list of points and weighted distances"):
        mp.release(PEOPLE, PLANE, epsilon=1, delta=1e-6, queries=[SUM, [[1, 1], [2, 2]]])


def test_points_outside_are_moved_with_a_warning() -> None:
    outside = mp.WeightedDistances([[-5, 5], [5, 5]], [1, 1])
    with pytest.warns(UserWarning, match="1 of 2 queries lie outside the space"):
        synopsis = mp.release(PEOPLE, PLANE, epsilon=50, delta=1e-6, mechanism="field", queries=[outside])
    moved = synopsis.estimate(mp.WeightedDistances([[0, 5], [5, 5]], [1, 1]))
    assert synopsis.estimate(outside) == moved


def test_objects_have_weighted_distances() -> None:
    words = mp.AnyMetric(mp.edit_distance, diameter=12, queries=["colour", "centre"])
    query = mp.WeightedDistances(["colour", "centre"], [1, -1])
    table = ["colour", "color", "centre"] * 50
    synopsis = mp.release(table, words, epsilon=50, mechanism="laplace", queries=[query])
    first, second = mp.exact_mean_distance(table, words, ["colour", "centre"])
    assert synopsis.estimate(query, 0.999999).low <= first - second <= synopsis.estimate(query, 0.999999).high


def exact_answer(space: Space, query: mp.WeightedDistances) -> float:
    values = mp.exact_mean_distance(PEOPLE, space, query.points)
    return float(np.asarray(values) @ np.asarray(query.weights))


@pytest.mark.parametrize("space", [PLANE, mp.L1([(0, 10), (0, 10)])], ids=["rows", "sketch"])
def test_a_session_has_the_sums_of_a_release(space: Space) -> None:
    """From rows, and from a sketch, which adds up weighted sums at cell borders: without noise, the exact numbers."""
    with (
        Transcript().listen(),
        mp.interactive(PEOPLE, space, epsilon=9, delta=1e-6, max_queries=9, mechanism="field") as session,
    ):
        for query in (SUM, NEAR, FAR):
            answer = session.ask(query)
            assert answer.value == pytest.approx(exact_answer(space, query), abs=2e-4)


def innovations(space: Space, items: list[Any], tables: list[AnyArray]) -> list[FloatArray]:
    """The exact innovations of two tables at queries that come one by one."""
    queries = inside(space, items)
    noise = Field().noise(space, queries.count, ProtectedChange(), APPROXIMATE)
    result = []
    for table in tables:
        state = Innovations(noise, len(table))
        for k in range(queries.count):
            one = queries.select([k])
            state.ask(one.combinations, read_sums(table, space, one).values[0].tolist())
        result.append(np.array(state.exact) * noise.step)
    return result


def test_innovations_of_sums_add_up_to_the_norm_of_a_pair() -> None:
    """‖ΔE‖² ≤ S, whether a difference comes before its points or after."""
    space = KERNELS["one column"]
    difference, ends = mp.WeightedDistances([[0.0], [0.01]], [1, -1]), [[0.0], [0.01]]
    tables = [np.array([[0.0]]), np.array([[1.0]])]
    for items in ([difference, *ends], [*ends, difference], [difference, difference, *ends]):
        first, second = innovations(space, items, tables)
        assert np.square(first - second).sum() <= space.diameter * (1 + 1e-2)


def test_answers_about_points_name_what_answers_other_queries() -> None:
    synopsis = mp.release(PEOPLE, PLANE, epsilon=1, delta=1e-6, queries=[SUM], mechanism="gaussian")
    with pytest.raises(mp.MilepostError, match=r"ask for estimate\(WeightedDistances"):
        synopsis.mean_distance(SUM)
