"""basis: what two records cost together, how little noise that takes, answers and their half-widths, and refusals."""

import itertools
import math
import pickle
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import milepost as mp
from milepost._typing import AnyArray, FloatArray, IntArray
from milepost.ingest.aggregation import read_sums
from milepost.mechanisms.query.basis import (
    MAX_NUMBERS,
    MAX_QUERIES,
    Basis,
    BasisDesign,
    Columns,
    Components,
    optimal_rates,
    principal_directions,
)
from milepost.mechanisms.totals import Total
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.base import representative_columns
from milepost.spaces.objects import object_array
from milepost.spaces.queries import Queries
from milepost.statistics.distance_sums import DistanceSums
from tests.chance import assert_promised, assert_rate, assert_scale
from tests.mechanisms.contract import PURE, Transcript, pairs, silent
from tests.spaces.charts.test_representative_columns import Steeper, Wider, user_points

SQUARE = mp.L2([(0, 1), (0, 1)], directions=4)
PLANES: dict[str, Any] = {
    "square": SQUARE,
    "disc": mp.L2(center=[3, -2], radius=7, directions=4),
    "taxicab": mp.L1([(18, 90), (0, 2.2)], weights=[0.5, 30]),
    "cap": mp.GreatCircle((52.5, 13.4), 40, directions=8),
    "half of the earth": mp.GreatCircle((-80, 179), 10_007, directions=8),
}
# the share of the certificate that the worst pair has, at least: corners of cells lie outside of a cap
TIGHT = {"half of the earth": 0.88}
PUBLIC, ADDED = ProtectedChange(), ProtectedChange("add-remove")


@lru_cache(maxsize=32)
def queries_of(name: str, count: int) -> Queries:
    space = PLANES[name]
    return Queries(space.clip_points(space.read_queries(user_points(space, count, 11))), space)


@lru_cache(maxsize=4)
def words() -> mp.AnyMetric:
    """A universe of words."""
    random = np.random.default_rng(2)
    universe = sorted({"".join(random.choice(list("abc"), random.integers(1, 6))) for _ in range(80)})
    return mp.AnyMetric(mp.edit_distance, 5, universe[::4], universe=universe)


def changes(components: Components, queries: Queries, left: AnyArray, right: AnyArray) -> FloatArray:
    """What each pair of records, as `read` returns them, costs at most in units of the rates, rounding included."""
    space, scale = queries.space, 2.0**components.bits
    quanta = [queries.quantize(space.distance(side, queries.points)) for side in (left, right)]
    moved = np.abs((quanta[0] - quanta[1]) @ (components.directions.T / scale))
    return np.asarray((moved + 1) @ components.rates)


def ascend(cost: Any, starts: list[AnyArray], space: Any, rounds: int = 60) -> float:
    """The largest cost that is found from user points, by steps at random of all sizes."""
    random = np.random.default_rng(8)
    low, high = np.array(space.extent).T
    best, values = starts, cost(*(space.read(points) for points in starts))
    for step in range(rounds):
        size = (high - low) * 0.3 * 0.85**step
        tried = [points + size * random.standard_normal(points.shape) for points in best]
        if space.geographic:
            tried = [np.clip(points, [-90, -360], [90, 360]) for points in tried]
        new = cost(*(space.read(points) for points in tried))
        better = new > values
        values = np.where(better, new, values)
        best = [np.where(better[:, None], points, old) for points, old in zip(tried, best, strict=True)]
    return float(values.max())


def start_points(queries: Queries, count: int, seed: int) -> AnyArray:
    """Points everywhere, at the corners of the extent, at queries and near them, and at middles of cells."""
    space: Any = queries.space
    low, high = np.array(space.extent).T
    corners = np.array(list(itertools.product(*zip(low, high, strict=True))))
    random = np.random.default_rng(seed)
    near = queries.points + 1e-3 * (high - low) * random.standard_normal(queries.points.shape)
    middles = low + (high - low) * (random.integers(0, 40, (50, 2)) + 0.5) / 40
    points = np.concatenate([corners, queries.points, near, middles, user_points(space, count, seed)])
    result = points[random.integers(0, len(points), count)]
    return np.asarray(np.clip(result, [-90, -360], [90, 360]) if space.geographic else result)


# What records cost.


@pytest.mark.parametrize("count", [1, 2, pytest.param(30, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", PLANES)
def test_no_two_records_cost_more_than_the_certificate(name: str, count: int) -> None:
    """Thousands of pairs, and the worst that a search finds: it comes close to what is allowed."""
    queries = queries_of(name, count)
    components = Components.of(queries)
    starts = [start_points(queries, 3000, seed) for seed in (1, 2)]
    worst = ascend(lambda left, right: changes(components, queries, left, right), starts, queries.space)
    assert TIGHT.get(name, 0.95) * components.pair < worst <= components.pair


@pytest.mark.parametrize("count", [2, pytest.param(30, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", PLANES)
def test_no_record_that_is_added_costs_more_than_the_certificate(name: str, count: int) -> None:
    queries = queries_of(name, count)
    components = Components.of(queries)
    middle, scale = components.middle(queries), 2.0**components.bits

    def cost(records: AnyArray) -> FloatArray:
        quanta = queries.quantize(queries.space.distance(records, queries.points)) - middle.anchors
        return np.asarray((np.abs(quanta @ (components.directions.T / scale)) + 1) @ components.rates)

    worst = ascend(cost, [start_points(queries, 3000, 3)], queries.space)
    assert TIGHT.get(name, 0.95) * middle.single < worst <= middle.single
    assert middle.single < 0.7 * components.pair
    assert ((middle.anchors >= queries.low) & (middle.anchors <= queries.high)).all()


def test_the_worst_pair_of_a_universe_is_found_exactly() -> None:
    """By rational arithmetic over all pairs, and no farther below the certificate than its tolerance."""
    space = words()
    queries = Queries(space.given_queries, space)
    components = Components.of(queries)
    records = space.read(object_array(list(space._universe.records)))  # type: ignore[union-attr]
    quanta = queries.quantize(records)
    directions = components.directions.astype(np.int64)
    products = [[int(value) for value in row] for row in quanta @ directions.T]
    rates = [Fraction(rate) / (1 << components.bits) for rate in components.rates.tolist()]
    worst = max(
        sum((rate * abs(a - b) for rate, a, b in zip(rates, left, right, strict=True)), Fraction(0))
        for left, right in itertools.combinations(products, 2)
    )
    rounding = float(components.rates.sum())
    assert worst + Fraction(rounding) <= Fraction(components.pair)
    assert float(worst) > 0.99 * components.pair - 1.1 * rounding


@pytest.mark.parametrize("change", [PUBLIC, ADDED, ProtectedChange(contributions=2)], ids=str)
@pytest.mark.parametrize("place", ["square", "words"])
def test_no_tables_cost_more_than_epsilon(place: str, change: ProtectedChange) -> None:
    """From the integers and scales that are handed to the noise, in rational arithmetic."""
    space: Any = SQUARE if place == "square" else words()
    points = np.array([[0.0, 0.0], [0.75, 0.25], [0.5, 1.0]]) if place == "square" else space.given_queries
    queries = Queries(points, space)
    records: Any = [[0, 0], [1, 1], [0, 1], [0.7, 0.3], [9, -9]] if place == "square" else ["a", "ccccc", "bb", "x"]
    design = Basis().predict(queries, 3, change, PURE)
    transcripts = list[Transcript]()
    tables = [[record] * change.contributions + records[:2] for record in records]
    for table in tables if change.replaces else [records[:2], *tables]:
        transcripts.append(transcripts[0].again() if transcripts else Transcript())
        with transcripts[-1].listen():
            design_of_table = Basis().predict(queries, len(table), change, PURE)
            design_of_table.run(read_sums(table, space, queries))
    costs = []
    neighbors = (
        itertools.combinations(transcripts, 2)
        if change.replaces
        else ((transcripts[0], other) for other in transcripts[1:])
    )
    for left, right in neighbors:
        draws, _ = pairs(left, right)
        costs.append(sum((a.cost(b, "pure") for a, b in draws), Fraction(0)))
    assert 0.5 < max(costs) <= 1
    assert design.pure


def test_errors_cost_at_most_their_bound() -> None:
    """Errors of any signs, the worst ones of each component among them; for even errors and for a few large ones."""
    random = np.random.default_rng(0)
    matrix = np.linalg.qr(random.standard_normal((6, 6)))[0] * np.linspace(1, 3, 6)[:, None]
    errors = np.concatenate([np.ones((1, 6)), np.eye(6)[:2] + 1e-3, random.random((5, 6))])
    bounds = Columns(np.zeros_like(errors), errors).slacks(matrix)
    signs = np.array(list(itertools.product((-1, 1), repeat=6)))
    worst = np.abs((errors[:, None] * signs) @ matrix.T).sum(axis=2).max(axis=1)
    assert (worst <= bounds).all()
    assert bounds[1] < 1.05 * worst[1], "a large error counts with its own column"
    assert bounds[0] < np.abs(matrix).sum(), "even errors do not all have the worst signs"


@pytest.mark.parametrize("name", PLANES)
def test_columns_have_room_for_rounding(name: str) -> None:
    """Half a quantum, and what a record and a corner may be off by rounding."""
    queries = queries_of(name, 2)
    found, columns = representative_columns(queries.space, queries.points, MAX_NUMBERS), Columns.of(queries)
    assert found is not None
    assert found.errors is not None
    assert columns.errors is not None
    assert (columns.errors >= found.errors / queries.quantum + 2.5).all()


def test_rates_for_separate_ranges_have_far_more_noise() -> None:
    """Noise for each component's own range, as if one record could take all of them at once."""
    queries = queries_of("square", 30)
    components = Components.of(queries)
    columns = Columns.of(queries)
    ranges = np.ptp(columns.values @ (components.directions.T / 2.0**components.bits), axis=0)
    separate = ranges ** (-1 / 3) / np.sum(ranges ** (2 / 3))
    joint = components.rates / components.pair
    assert np.mean(joint**-2.0) < 0.2 * np.mean(separate**-2.0)


def test_rates_are_about_the_best() -> None:
    """Components that change one at a time: the best rates are in proportion to range^(−1/3) by hand."""
    ranges = np.array([1e6, 1e5, 3e4])
    rates = optimal_rates(np.array([[0, 0, 0], ranges * [1, 0, 0], ranges * [0, 1, 0], ranges * [0, 0, 1]]), 0.0)
    # two rows differ in two components at most: Σ over pairs of components of rateᵢ·rangeᵢ is 1
    cost = max(sum(pair) for pair in itertools.combinations((rates * ranges).tolist(), 2))
    assert cost == pytest.approx(1, rel=0.05)
    assert np.linalg.norm(1 / rates) <= 1.05 * min(
        np.linalg.norm(ranges / share) * max(sum(pair) for pair in itertools.combinations(share.tolist(), 2))
        for share in np.random.default_rng(0).random((2000, 3)) + 1e-3
    )


def test_directions_are_orthonormal() -> None:
    columns = np.random.default_rng(0).standard_normal((300, 40)) * 2.0 ** -np.arange(40)
    directions = principal_directions(columns)
    np.testing.assert_allclose(directions @ directions.T, np.eye(40), atol=1e-9)


# How little noise that takes.


def single(space: Any, n: int) -> float:
    """The standard deviation of one answer whose range is the diameter, alone."""
    return math.sqrt(2) * float(space.diameter) / n


@pytest.mark.parametrize(("count", "ratio"), [(1, 1.02), (10, 2.3), pytest.param(100, 4.0, marks=pytest.mark.slow)])
def test_noise_grows_slowly_with_the_number_of_queries(count: int, ratio: float) -> None:
    queries = Queries(np.random.default_rng(0).random((count, 2)), SQUARE)
    prediction = Basis().predict(queries, 1000, PUBLIC, PURE).prediction
    assert prediction.rms is not None
    assert prediction.rms < ratio * single(SQUARE, 1000)


@pytest.mark.slow
def test_a_thousand_queries_have_five_times_the_noise_of_one() -> None:
    queries = Queries(np.random.default_rng(0).random((1000, 2)), SQUARE)
    prediction = Basis().predict(queries, 1000, PUBLIC, PURE).prediction
    assert prediction.rms is not None
    assert prediction.rms < 5 * single(SQUARE, 1000)


@pytest.mark.parametrize(
    "change", [PUBLIC, ADDED, ProtectedChange(groups=3), ProtectedChange(max_row_weight=2.0)], ids=str
)
@pytest.mark.parametrize("name", ["square", "cap"])
def test_the_error_bound_is_one(name: str, change: ProtectedChange) -> None:
    queries = queries_of(name, 2)
    for n, epsilon in ((1, 0.1), (100, 1.0), (10_000, 3.0)):
        guarantee = mp.Guarantee(epsilon)
        assert (
            Basis().error_bound(queries, n, change, guarantee) <= Basis().predict(queries, n, change, guarantee).error
        )


# Answers.


@lru_cache(maxsize=2)
def small_design() -> tuple[BasisDesign, DistanceSums]:
    queries = queries_of("square", 4)
    table = np.random.default_rng(1).random((50, 2))
    design = Basis().predict(queries, 50, PUBLIC, PURE)
    assert isinstance(design, BasisDesign)
    return design, read_sums(table, SQUARE, queries)


def test_components_have_laplace_noise_of_their_scales() -> None:
    design, sums = small_design()
    matrix = design.components.directions / 2.0**design.components.bits
    noise = [matrix @ (design.run(sums).sums - sums.values[0]) / design.component_scales for _ in range(800)]  # type: ignore[attr-defined]
    assert_scale(noise, law="laplace", against=1.2)
    for component in np.array(noise).T:
        assert_scale(component, law="laplace", against=1.5, comparisons=4)


@pytest.mark.slow
def test_answers_have_the_deviations_that_they_report() -> None:
    """Half-widths of each query cover its mean distance as often as they say, and not much more often."""
    design, sums = small_design()
    runs = 2500
    released: list[Any] = [design.run(sums) for _ in range(runs)]
    truth = sums.values[0] * design.queries.quantum / 50
    for confidence, below in ((0.9, 0.8), (0.5, 0.38)):
        widths = released[0].half_widths(np.arange(4), confidence)
        hits = [(np.abs(noisy.values(np.arange(4), raw=True) - truth) <= widths) for noisy in released]
        assert_rate(np.sum(hits, axis=0), runs, at_least=confidence - 0.02, against=below)
        assert_rate(np.sum(hits, axis=0), runs, at_most=confidence + 0.04)
    assert released[0].prediction() == design.prediction


def test_deviations_follow_from_scales_and_the_inverse() -> None:
    design, _ = small_design()
    inverse = np.linalg.inv(design.components.directions / 2.0**design.components.bits)
    shares = (inverse * design.component_scales) ** 2
    noisy = design.noisy_sums(Total(50), np.zeros(4, dtype=np.int64))
    np.testing.assert_allclose(noisy.deviations, np.sqrt(2 * shares.sum(axis=1)), rtol=1e-4)
    np.testing.assert_allclose(noisy.kurtoses, 3 * (shares**2).sum(axis=1) / shares.sum(axis=1) ** 2, rtol=1e-9)
    assert (noisy.deviations > np.sqrt(2 * shares.sum(axis=1))).all()


@pytest.mark.parametrize("change", [PUBLIC, ADDED, ProtectedChange(groups=1)], ids=str)
def test_answers_are_right_where_noise_is_small(change: ProtectedChange) -> None:
    table = np.random.default_rng(1).random((2000, 2))
    queries = Queries(np.random.default_rng(0).random((10, 2)), SQUARE)
    options: dict[str, Any] = {} if change is PUBLIC else {"n": 2000, "neighbors": change.neighbors}
    if change.groups:
        options |= {"groups": ["a"] * 2000, "labels": ["a"]}
    synopsis = mp.release(table, SQUARE, epsilon=500, mechanism="basis", queries=queries.points, **options)
    synopsis = synopsis.group("a") if change.groups else synopsis
    exact = SQUARE.distance(table, queries.points).mean(axis=0)
    assert_promised(synopsis, queries.points, exact, at_most=0.01)


@pytest.mark.parametrize("count", [1, 7, 40])
def test_sums_follow_from_their_components(count: int) -> None:
    """Of tables of any size: what is off is what is reported."""
    components = Components.of(Queries(np.random.default_rng(0).random((count, 2)), SQUARE))
    random = np.random.default_rng(count)
    for size in (1, 1 << 24, 1 << 40, (1 << 61) - 1):
        sums = random.integers(-size, size, count, endpoint=True)
        found = components.sums(components.totals(sums))
        assert (np.abs(found - sums) <= components.roundings).all()
        assert np.abs(components.totals(sums)).max() < 1 << 62


def test_components_of_the_largest_tables_fit() -> None:
    components = Components.of(queries_of("square", 2))
    for signs in itertools.product((-1, 1), repeat=2):
        assert np.abs(components.totals(np.array(signs) << 61)).max() < 1 << 62


@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
def test_a_file_answers_bit_for_bit(neighbors: str, tmp_path: Path) -> None:
    queries = np.random.default_rng(0).random((5, 2))
    options: dict[str, Any] = {"n": 300, "neighbors": neighbors} if neighbors == "add-remove" else {}
    table = np.random.default_rng(3).random((300, 2))
    synopsis = mp.release(table, SQUARE, epsilon=2, mechanism="basis", queries=queries, **options)
    synopsis.save(tmp_path / "file.milepost")
    loaded = mp.load(tmp_path / "file.milepost")
    assert loaded.mean_distance(queries).tolist() == synopsis.mean_distance(queries).tolist()
    assert loaded.interval(queries[0]) == synopsis.interval(queries[0])
    assert loaded.mechanism == "basis"


def test_groups_and_weights_are_answered() -> None:
    table, queries = np.random.default_rng(3).random((600, 2)), np.random.default_rng(0).random((5, 2))
    rows: dict[str, Any] = {"groups": ["a", "b"] * 300, "row_weights": np.tile([1.0, 1.0, 2.0], 200)}
    options: dict[str, Any] = {"labels": ["a", "b"], "max_row_weight": 2.0, "n": 300}
    synopsis = mp.release(table, SQUARE, epsilon=900, mechanism="basis", queries=queries, **rows, **options)
    distances = SQUARE.distance(table[1::2], queries)
    exact = np.average(distances, axis=0, weights=rows["row_weights"][1::2])
    assert_promised(synopsis.group("b"), queries, exact, at_most=0.05, slack=1e-3)


def test_a_design_is_computed_once_for_each_list_of_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    queries = Queries(np.random.default_rng(0).random((3, 2)), SQUARE)
    first = Basis().predict(queries, 10, ADDED, PURE)
    copy = pickle.loads(pickle.dumps(queries))  # noqa: S301
    monkeypatch.setattr(Columns, "of", None)
    again = Basis().predict(queries, 20, ADDED, mp.Guarantee(2.0))
    assert isinstance(first, BasisDesign)
    assert isinstance(again, BasisDesign)
    assert again.components is first.components
    assert Components.of(copy).pair == first.components.pair


def test_one_record_and_equal_queries_are_enough() -> None:
    space = mp.AnyMetric(mp.edit_distance, 5, ["a", "bb", "a"], universe=["ab"])
    synopsis = mp.release(["ab"] * 9, space, epsilon=1, mechanism="basis")
    assert_promised(synopsis, ["a", "bb"], [1, 1], at_most=0.01)


# What is refused.


def test_refusals_come_before_anything_is_drawn() -> None:
    table, queries = [[0.5, 0.5]], [[0.0, 0.0], [1.0, 1.0]]
    options: dict[str, Any] = {"epsilon": 1, "mechanism": "basis", "queries": queries}
    many = np.random.default_rng(0).random((MAX_QUERIES + 1, 2))
    cases: list[tuple[Any, str]] = [
        (lambda: mp.release(table, SQUARE, **options | {"delta": 1e-6}), "delta=1e-06; leave delta out"),
        (lambda: mp.release(table, SQUARE, **options | {"queries": many}), "up to 1,024 queries, got 1,025"),
        (lambda: mp.release([[math.nan, 0.5]], SQUARE, **options), "NaN"),
        (lambda: mp.release(table, SQUARE, **options | {"epsilon": 0}), "epsilon="),
        (lambda: mp.release([[0.5]], mp.L1([(0, 1)]), **options | {"queries": [[0.5]]}), "two columns of L1 or L2"),
        (lambda: mp.release(table, mp.Lp(1.5, [(0, 1)] * 2, directions=8), **options), "universe="),
        (lambda: mp.release(table, Steeper([(0, 1)] * 2, directions=2), **options), "two columns of L1 or L2"),
        (lambda: mp.release(table, Wider([(0, 1)] * 2, directions=2), **options), "two columns of L1 or L2"),
        (
            lambda: mp.release(["a"], mp.AnyMetric(mp.edit_distance, 3, ["a"]), epsilon=1, mechanism="basis"),
            "universe=",
        ),
    ]
    with silent():
        for call, message in cases:
            with pytest.raises(mp.MilepostError, match=message):
                call()


def test_the_private_input_is_left_alone() -> None:
    design, sums = small_design()
    values: IntArray = sums.values.copy()
    design.run(sums)
    assert np.array_equal(sums.values, values)
