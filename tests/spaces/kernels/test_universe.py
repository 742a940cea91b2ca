"""A public universe: what records weigh in its covariances, how good these are, and what reading one record costs."""

import math
from collections.abc import Sequence
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
from milepost.mechanisms.query.field import Field
from milepost.mechanisms.query.per_query import PerQuery
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.embeddings.embedding import QUANTA
from milepost.spaces.kernels import covariance, universe
from milepost.spaces.kernels.covariance import (
    Covariance,
    balance_pairs,
    balance_single,
    certified_covariance,
    covariances,
)
from milepost.spaces.kernels.universe import MAX_RECORDS, Universe, check_records
from milepost.spaces.objects import object_array
from milepost.spaces.queries import Queries
from tests.chance import assert_promised
from tests.mechanisms.contract import APPROXIMATE, PURE, Transcript, patched, run_mechanism, silent
from tests.quick import examples, some_quick


def quanta(distances: Any) -> IntArray:
    """Columns of a universe: distances float64[N, k] in quanta of the largest."""
    table = np.asarray(distances, dtype=np.float64)
    return np.asarray(np.rint(table * (QUANTA / table.max())), dtype=np.int64)


def path(count: int) -> FloatArray:
    points = np.arange(count, dtype=np.float64)
    return np.abs(points[:, None] - points)


def plane(count: int) -> FloatArray:
    points = np.random.default_rng(count).random((count, 2))
    return np.asarray(np.sqrt(np.square(points[:, None] - points).sum(axis=2)))


def tree(count: int) -> FloatArray:
    generator, result = np.random.default_rng(count), np.zeros((count, count))
    for node in range(1, count):
        result[node, :node] = result[:node, node] = result[generator.integers(node), :node] + 1
    return result


METRICS = {
    "uniform": 1 - np.eye(50),
    "path": path(60),
    "plane": plane(80),
    "tree": tree(70),
    "few queries": plane(200)[:, :7],
    "few records": plane(200)[:7],
    "none of them a metric": np.random.default_rng(3).random((40, 30)),
}
metrics = pytest.mark.parametrize(
    "name", some_quick(METRICS, ["uniform", "path", "few records", "none of them a metric"])
)


# What columns weigh.


def exact_weight(matrix: FloatArray, left: IntArray, right: IntArray) -> Fraction:
    """δᵀC⁻¹δ in squared diameters, by Gauss's elimination with rational numbers."""
    rows = [[Fraction(value) for value in row] for row in matrix.tolist()]
    delta = [Fraction(a - b, QUANTA) for a, b in zip(left.tolist(), right.tolist(), strict=True)]
    solution = list(delta)
    for i in range(len(rows)):
        assert rows[i][i] > 0
        for j in range(i + 1, len(rows)):
            factor = rows[j][i] / rows[i][i]
            rows[j] = [b - factor * a for a, b in zip(rows[i], rows[j], strict=True)]
            solution[j] -= factor * solution[i]
    return sum((solution[i] ** 2 / rows[i][i] for i in range(len(rows))), Fraction(0))  # C = LDLᵀ


def weights(candidate: Covariance, columns: IntArray) -> tuple[Fraction, Fraction]:
    """The true pair and single."""
    pairs = [exact_weight(candidate.matrix, left, right) for left in columns for right in columns]
    return max(pairs), max(exact_weight(candidate.matrix, column, candidate.middle) for column in columns)


entry = st.one_of(st.sampled_from([0, 1, QUANTA // 2, QUANTA - 1, QUANTA]), st.integers(0, QUANTA))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_no_columns_weigh_more_than_the_bounds(data: st.DataObject) -> None:
    """In rational arithmetic, for columns that need not be a metric's, equal ones and more queries than records too."""
    count = data.draw(st.integers(1, 5))
    columns = np.array(data.draw(st.lists(st.lists(entry, min_size=count, max_size=count), min_size=1, max_size=5)))
    for candidate in covariances(columns):
        pair, single = weights(candidate, columns)
        assert pair <= Fraction(candidate.pair)
        assert single <= Fraction(candidate.single)
        assert candidate.matrix.diagonal().max() <= 1
        assert np.array_equal(candidate.matrix, candidate.matrix.T)
        assert ((candidate.middle >= 0) & (candidate.middle <= QUANTA)).all()


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32), count=st.integers(1, 5), rank=st.integers(1, 5))
def test_bounds_do_not_rest_on_the_optimisation(seed: int, count: int, rank: int) -> None:
    """Any covariance will do, of any rank."""
    generator = np.random.default_rng(seed)
    half = generator.normal(size=(count, rank)) * 10.0 ** generator.integers(-6, 1, (1, rank))
    columns = generator.integers(0, QUANTA + 1, (4, count))
    candidate = certified_covariance(half @ half.T, columns, columns[0])
    pair, single = weights(candidate, columns)
    assert pair <= Fraction(candidate.pair)
    assert single <= Fraction(candidate.single)


@metrics
def test_bounds_are_tight(name: str) -> None:
    """By another method, in floats: not more than 1 % above."""
    columns = quanta(METRICS[name])
    for candidate in covariances(columns):
        inverse = np.linalg.inv(candidate.matrix)
        differences = (columns[:, None] - columns[None]) / QUANTA
        pair = np.einsum("uvi,ij,uvj->uv", differences, inverse, differences, optimize=True).max()
        middle = (columns - candidate.middle) / QUANTA
        single = np.einsum("ui,ij,uj->u", middle, inverse, middle).max()
        assert pair * (1 - 1e-9) <= candidate.pair <= 1.01 * pair
        assert single * (1 - 1e-9) <= candidate.single <= 1.01 * single


@pytest.mark.parametrize("spread", [0.0, 0.3, 3.0])
@pytest.mark.parametrize("block", [1, 7, 64, 1000])
def test_the_farthest_pair_is_found(spread: float, block: int) -> None:
    """Rows that cannot be part of it are left out; it is that of all pairs."""
    points = np.random.default_rng(1).normal(size=(300, 4)) * np.exp(
        spread * np.random.default_rng(2).normal(size=(300, 1))
    )
    lengths = np.square(points).sum(axis=1)
    expected = np.square(points[:, None] - points[None]).sum(axis=2).max()
    with patched([(covariance, "BLOCK", block)]):
        assert covariance._max_squared_distance(points, lengths) == pytest.approx(expected, rel=1e-12)


# How good they are.


@metrics
def test_values_are_near_the_least(name: str) -> None:
    """Within 2 % of a bound below every covariance for single records, and 20 % for pairs (in variance)."""
    shares = quanta(METRICS[name]).T / QUANTA
    single, lower_bound = balance_single(shares)
    assert lower_bound <= single.value * (1 + 1e-9)
    assert single.value <= covariance.CLOSE_RATIO * lower_bound
    pair, lower_bound = balance_pairs(shares, single)
    assert lower_bound <= pair.value * (1 + 1e-9)
    assert pair.value <= 1.2 * lower_bound


@metrics
def test_no_covariance_is_below_the_bound(name: str) -> None:
    """Wishart ones, powers of moments, and those that were found: max C(y,y) × what the heaviest pair weighs."""
    columns = quanta(METRICS[name])
    shares = columns.T / QUANTA
    single, _ = balance_single(shares)
    _, lower_bound = balance_pairs(shares, single)
    generator, count = np.random.default_rng(5), columns.shape[1]
    moments = np.cov(shares) + 1e-3 * np.eye(count)
    values, vectors = np.linalg.eigh(moments)
    noise = generator.normal(size=(count, 2 * count))
    others = [noise @ noise.T, *((vectors * values**power) @ vectors.T for power in (0.25, 0.5, 0.75, 1.0))]
    for design in others:
        assert certified_covariance(design, columns, columns[0]).pair >= lower_bound
    assert min(candidate.pair for candidate in covariances(columns)) <= min(
        certified_covariance(design, columns, columns[0]).pair for design in others
    )


def ratios(distances: FloatArray) -> tuple[float, float, float]:
    """The largest deviation of field and its mean square's root, and gaussian's: as a share of one query's alone."""
    largest = float(distances.max())
    space = mp.AnyMetric(mp.precomputed(distances), largest, range(len(distances)), universe=range(len(distances)))
    queries = Queries(space.given_queries, space)
    single_query = largest / math.sqrt(2 * APPROXIMATE.budget)
    noise = Field().noise(space, queries.count, ProtectedChange(), APPROXIMATE)
    variances = noise.split.power / 2 * 2 * noise.kernel.half(queries.points)
    scales = PerQuery("gaussian").scales(queries, ProtectedChange(), APPROXIMATE)[0] * queries.quantum
    field, gaussian = (math.sqrt(float(squares.mean())) / single_query for squares in (variances, scales**2))
    return noise.deviation / single_query, field, gaussian


@pytest.mark.parametrize(
    ("distances", "max_ratio", "rms"),
    [
        (METRICS["uniform"], math.sqrt(2), math.sqrt(2)),
        (METRICS["path"], 1.01, 1.0),
        (METRICS["plane"], 1.15, 1.1),
        (METRICS["tree"], 1.4, 1.3),
    ],
    ids=["uniform", "path", "plane", "tree"],
)
def test_all_queries_cost_about_as_much_as_one(distances: FloatArray, max_ratio: float, rms: float) -> None:
    """Where noise for each by itself costs √k times as much, or √k mean ranges where distances have different ones."""
    largest, mean, gaussian = ratios(distances)
    assert largest <= max_ratio * 1.005
    assert mean <= rms * 1.005
    mean_range = float((distances.max(axis=0) - distances.min(axis=0)).mean() / distances.max())
    assert gaussian == pytest.approx(math.sqrt(len(distances)) * mean_range, rel=1e-3)


def test_added_records_cost_less_than_replaced_ones() -> None:
    """A path's end is half as far from its middle as from the other end, and what is best for that is offered."""
    space = mp.AnyMetric(mp.precomputed(path(60)), 59, range(60), universe=range(60))
    assert min(kernel.single for kernel in space.kernels) <= 0.26 * min(kernel.pair for kernel in space.kernels)


def test_work_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a single step the closed form remains; it is private all the same, and not bad."""
    monkeypatch.setattr(covariance, "WORK", 0)
    largest, _, _ = ratios(METRICS["plane"])
    assert largest < 1.4


def test_a_universe_is_the_same_every_time() -> None:
    """Public numbers only, and no random ones."""
    first, second = (covariances(quanta(METRICS["tree"])) for _ in range(2))
    assert [candidate.pair for candidate in first] == [candidate.pair for candidate in second]
    assert all(np.array_equal(a.matrix, b.matrix) for a, b in zip(first, second, strict=True))


# What a record costs.


def cost(
    space: mp.AnyMetric,
    tables: Sequence[Sequence[Any]],
    change: ProtectedChange,
    guarantee: mp.Guarantee,
    points: Any = None,
) -> Fraction:
    """ρ, μ²/2 or ε of field on two neighboring tables, from what is handed to the noise functions."""
    queries = Queries(space.given_queries if points is None else np.array(points), space)
    first = Transcript()
    second = first.again()
    for transcript, table in zip((first, second), tables, strict=True):
        with transcript.listen():
            run_mechanism(
                Field(),
                read_sums(list(table), space, queries, empty=True),
                queries,
                change,
                guarantee,
                n=len(tables[0]),
            )
    pairs = zip(first.draws, second.draws, strict=True)
    return sum((left.cost(right, guarantee.accounting) for left, right in pairs), Fraction(0))


class Awkward:
    """A private object that fails whenever it can."""

    def __hash__(self) -> int:
        raise RuntimeError("do not look at me")

    def __str__(self) -> str:
        raise RuntimeError("do not look at me")


STRANGERS = [
    "zz",
    -1,
    10**400,
    3.5,
    float("inf"),
    (1,),
    [],
    {},
    {"a": 1},
    b"",
    Awkward(),
    object(),
    [[Awkward()]],
    set(),
]


@settings(max_examples=examples(80), deadline=None)
@given(data=st.data())
def test_no_pair_costs_more_than_the_budget(data: st.DataObject) -> None:
    """Members and strangers, replaced or added, in universes that are no metric's, with queries asked several times."""
    members, count = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 5))
    size = max(members, count)
    entries = st.one_of(st.sampled_from([0.0, 5.0, 5e-8, 2.5]), st.floats(0, 7))
    table = np.array(data.draw(st.lists(st.lists(entries, min_size=size, max_size=size), min_size=size, max_size=size)))
    table = np.triu(table, 1) + np.triu(table, 1).T
    space = mp.AnyMetric(mp.precomputed(table), 5, range(count), universe=range(members))
    record = st.one_of(
        st.integers(0, members - 1),
        st.integers(0, members - 1).map(str),
        st.integers(0, len(STRANGERS) - 1).map(lambda index: STRANGERS[index]),
    )
    rest = data.draw(st.lists(record, max_size=3))
    guarantee = mp.Guarantee(data.draw(st.floats(0.05, 50)), data.draw(st.sampled_from([1e-6, 0.0])))
    points = data.draw(st.none() | st.lists(st.integers(0, count - 1), min_size=1, max_size=8))
    left, right = data.draw(record), data.draw(record)
    assert cost(space, ([left, *rest], [right, *rest]), ProtectedChange(), guarantee, points) <= Fraction(
        guarantee.budget
    )
    tables = [left, 0, *rest], [0, *rest]
    assert cost(space, tables, ProtectedChange("add-remove"), guarantee, points) <= Fraction(guarantee.budget)


@pytest.mark.parametrize("name", ["uniform", "path", "plane", "tree", "none of them a metric"])
def test_the_budget_is_spent_on_the_worst_pair(name: str) -> None:
    """It takes nine tenths of ρ and more, and no more than ρ; with a tenth less noise it would not fit."""
    table = METRICS[name][:, :30][:40]
    members, count = table.shape
    space = mp.AnyMetric(
        lambda x, y: 0.0 if isinstance(x, str) else table[x, int(y)],
        float(table.max()),
        [str(y) for y in range(count)],
        universe=range(members),
    )
    columns = quanta(table)
    best = min(covariances(columns), key=lambda candidate: candidate.pair)
    inverse = np.linalg.inv(best.matrix)
    differences = (columns[:, None] - columns[None]) / QUANTA
    worst = np.einsum("uvi,ij,uvj->uv", differences, inverse, differences, optimize=True)
    left, right = np.unravel_index(worst.argmax(), worst.shape)
    tables = [int(left), 0], [int(right), 0]
    share = cost(space, tables, ProtectedChange(), APPROXIMATE) / Fraction(APPROXIMATE.budget)
    assert Fraction(9, 10) <= share <= 1
    wrong = lambda design, columns, middle: _lighter(certified_covariance(design, columns, middle))  # noqa: E731
    with patched([(covariance, "certified_covariance", wrong)]):
        wrong_space = mp.AnyMetric(space.metric, space.diameter, space.queries, universe=range(members))
        assert cost(wrong_space, tables, ProtectedChange(), APPROXIMATE) > Fraction(APPROXIMATE.budget)


def _lighter(candidate: Covariance) -> Covariance:
    return Covariance(candidate.matrix, candidate.middle, 0.8 * candidate.pair, 0.8 * candidate.single)


def test_what_a_kernel_knows_is_what_is_summed() -> None:
    """Integers of records are those whose weight was computed, to the bit."""
    space = mp.AnyMetric(mp.precomputed(plane(30) * math.pi), 3.3, range(9), universe=range(30))
    queries = Queries(space.given_queries, space)
    calls: list[IntArray] = []

    def record_columns(columns: IntArray) -> tuple[Covariance, ...]:
        calls.append(columns)
        return ()

    with patched([(universe, "covariances", record_columns)]):
        assert space.kernels == ()
    sums = [read_sums([str(record)], space, queries).values[0] for record in range(30)]
    assert np.array_equal(calls[0], sums)


# Reading.


def line(x: Any, y: Any) -> float:
    return float(abs(x - y))


def test_records_have_the_columns_of_their_equals() -> None:
    """Numbers of any type, and text as in a file; whatever is no member is the first one, without a word."""
    space = mp.AnyMetric(line, 9, [0, 4.5, 9], universe=[7, 0, 3, 2.5])
    columns = {7: [7, 2.5, 2], 0: [0, 4.5, 9], 3: [3, 1.5, 6], 2.5: [2.5, 2, 6.5]}
    pairs = [(7, 7), (7.0, 7), (np.int64(3), 3), ("3", 3), (np.float64(2.5), 2.5), ("2.5", 2.5), ("0", 0), ("7", 7)]
    for record, member in pairs:
        assert space.read(object_array([record])).tolist() == [columns[member]], record
    for stranger in STRANGERS:
        assert space.read(object_array([stranger])).tolist() == [columns[7]]
    distances = space.read(object_array([record for record, _ in pairs] + STRANGERS))
    assert distances.tolist() == [columns[member] for _, member in pairs] + [columns[7]] * len(STRANGERS)
    assert space.read(np.empty(0, dtype=object)).shape == (0, 3)
    assert "not one of the 4 of the public universe counts as the first of them" in space.clipping_rule


@pytest.mark.parametrize(
    ("records", "universe", "expected"),
    [
        ([(0, 1), [1, 1], "(0, 1)"], [(1, 1), (0, 1)], [1, 0, 1]),
        ([1, 2, "1"], ["2", "1"], [1, 0, 1]),
        (["3", 3], [3, "3"], [1, 0]),
        (["colour", "Colour", " colour"], ["x", "colour"], [1, 0, 0]),
        ([{1, 2}, frozenset({1})], [frozenset({1}), frozenset({1, 2})], [1, 0]),
        ([np.array([1.0, 2.0]), [1, 2]], [(5, 5), (1, 2)], [1, 1]),
    ],
)
def test_members_are_found(records: Any, universe: Any, expected: list[int]) -> None:
    members = Universe(tuple(universe), np.arange(len(universe), dtype=np.float64)[:, None], 9.0)
    assert members.read(records)[:, 0].tolist() == expected


def test_a_csv_file_finds_rows_and_nodes(tmp_path: Path) -> None:
    """Row numbers of a matrix, and nodes of a graph, that were read as text."""
    import networkx as nx

    (tmp_path / "rows.csv").write_text("row\n" + "\n".join(["0", "2", "2"]))
    space = mp.AnyMetric(mp.precomputed(path(4)), 3, [0, 3], universe=range(4))
    assert mp.exact_mean_distance(tmp_path / "rows.csv", space, [0, 3]) == pytest.approx([4 / 3, 5 / 3])
    graph = nx.grid_2d_graph(2, 3)
    roads = mp.AnyMetric(mp.shortest_path(graph), 3, [(0, 0)], universe=list(graph))
    assert mp.exact_mean_distance(["(0, 0)", "(1, 2)", (1, 0)], roads, [(0, 0)]) == pytest.approx([4 / 3])


def test_the_function_is_asked_about_public_records_only() -> None:
    """When the space is made, and never again for a private one."""
    arguments: set[Any] = set()

    def distance(x: Any, y: Any) -> float:
        arguments.add(x)
        return line(x, y)

    space = mp.AnyMetric(distance, 9, [0, 9], universe=[1, 2, 3])
    assert arguments == {0, 9, 1, 2, 3}
    arguments.clear()
    space.read(object_array([1, 2, 77, "x"]))
    assert not arguments


def test_missing_records_are_refused_as_ever() -> None:
    space = mp.AnyMetric(line, 9, [0, 9], universe=[1, 2, 3])
    with pytest.raises(mp.MilepostError, match="row 2 is missing"):
        mp.release([1, None], space, epsilon=1)


def test_distances_beyond_the_diameter_count_as_the_diameter() -> None:
    """Infinite ones included, as for every record."""
    graph = path(3)
    graph[2, :2] = graph[:2, 2] = np.inf
    space = mp.AnyMetric(mp.precomputed(graph), 0.5, [0], universe=[0, 1, 2])
    assert space.read(object_array([0, 1, 2]))[:, 0].tolist() == [0, 0.5, 0.5]


def failing(x: Any, y: Any) -> float:
    if x == "bad":
        raise ValueError("no such place")
    return {"nan": math.nan, "negative": -1.0}.get(str(x), 0.0 if x == y else 1.0)


@pytest.mark.parametrize(
    ("universe", "message"),
    [
        ("colour", "expected a list of objects, got 'colour'"),
        (7, "expected a list of objects"),
        ([], r"universe must be a list of 1 to 65,536 records for 2 queries, got 0"),
        (range(MAX_RECORDS + 1), r"got 65,537"),
        (["a", "b", "a"], "universe must have every record once, but 'a' is there twice"),
        ([1, 1.0], "1.0 is there twice"),
        ([{}], r"universe=\[…\] must be text.* got a dict"),
        (["a", "bad"], r"distance fails on 'bad', which is in universe=\[…\]: ValueError: no such place"),
        (["a", "nan"], r"from 'nan', which is in universe=\[…\], to query 'a' is not a number: nan"),
        (["negative"], "to query 'a' is negative: -1"),
    ],
)
def test_a_bad_universe_is_refused(universe: Any, message: str) -> None:
    """When the space is made: what is wrong, and with which record."""
    with pytest.raises(mp.MilepostError, match=message):
        mp.AnyMetric(failing, 1, ["a", "b"], universe=universe)


def test_a_universe_that_does_not_fit_memory_is_refused() -> None:
    """Before a distance is computed."""
    with pytest.raises(mp.MilepostError, match=r"1 to 8,192 records for 2,048 queries, got 8,193; .*fewer points"):
        check_records(range(8193), 2048)
    universe_of_many = Universe((0,), np.zeros((1, 8193)), 1.0)
    with pytest.raises(mp.MilepostError, match=r"field answers up to 8,192 queries of a universe, got 8,193"):
        _ = universe_of_many.kernels


# Releases.


SPACE = mp.AnyMetric(mp.precomputed(path(20)), 19, [0, 7, 19], universe=range(20))
PEOPLE = np.random.default_rng(4).integers(0, 20, 3000).tolist()


@pytest.mark.slow
def test_field_is_taken_where_there_is_a_universe() -> None:
    """And answers are within its error, under pure ε, too; without one it is refused."""
    wide = mp.AnyMetric(mp.precomputed(path(50)), 49, range(50), universe=range(50))
    people = np.random.default_rng(4).integers(0, 50, 3000)
    synopsis = mp.release(people, wide, epsilon=1, delta=1e-6)
    assert synopsis.mechanism == "field"
    assert_promised(synopsis, range(50), mp.exact_mean_distance(people, wide, range(50)), at_most=5)
    assert synopsis.error() < 0.2 * mp.release(people, wide, epsilon=1, delta=1e-6, mechanism="gaussian").error()
    pure = mp.release(people, wide, epsilon=1, mechanism="field")
    assert pure.guarantee.pure
    assert_promised(pure, range(50), mp.exact_mean_distance(people, wide, range(50)), at_most=8)
    assert pure.error() < 0.3 * mp.release(people, wide, epsilon=1, mechanism="laplace").error()
    with silent():
        plain = mp.AnyMetric(mp.precomputed(path(20)), 19, [0, 7, 19])
        with pytest.raises(mp.MilepostError, match=r"universe=\[…\]"):
            mp.release(PEOPLE, plain, epsilon=1, delta=1e-6, mechanism="field")


@pytest.mark.parametrize("universe", [[5], [5, 6], [4, 5, 6, 0]])
@pytest.mark.parametrize("queries", [[5], [0, 0, 7], list(range(20))])
def test_a_small_universe_needs_little_noise(universe: list[int], queries: list[int]) -> None:
    """One possible record leaves nothing to hide, more queries than records, and queries that are the same."""
    space = mp.AnyMetric(mp.precomputed(path(20)), 19, queries, universe=universe)
    synopsis = mp.release([5, "zz"] * 500, space, epsilon=1, delta=1e-6, mechanism="field")
    exact = mp.exact_mean_distance([5, universe[0]], space, queries)
    assert_promised(synopsis, queries, exact, at_most=2)
    single_error = 19 / 1000 * 4.531 * 1.96
    assert synopsis.error() <= (0.35 if max(universe) - min(universe) < 6 else 1.05) * single_error


@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
@pytest.mark.parametrize("mechanism", ["field", "gaussian", "laplace", "slopes", "hats"])
@pytest.mark.filterwarnings("ignore:the predicted error:milepost.AccuracyWarning")
def test_every_mechanism_answers_and_its_file_does(mechanism: str, neighbors: str, tmp_path: Path) -> None:
    """A loaded file has the same answers, errors and card; its space has the universe's size, and reads no records."""
    delta = 0 if mechanism in ("laplace", "hats") else 1e-6
    synopsis = mp.release(PEOPLE, SPACE, epsilon=50, delta=delta, mechanism=mechanism, neighbors=neighbors)
    queries = [0, 7, 19]
    assert_promised(
        synopsis,
        queries,
        mp.exact_mean_distance(PEOPLE, SPACE, queries),
        at_most=19 if mechanism in ("slopes", "hats") else 1,
    )
    synopsis.save(tmp_path / "one.milepost")
    loaded_synopsis = mp.load(tmp_path / "one.milepost")
    assert np.array_equal(loaded_synopsis.mean_distance(queries), synopsis.mean_distance(queries))
    assert loaded_synopsis.error() == synopsis.error()
    assert loaded_synopsis.card == synopsis.card
    assert loaded_synopsis.card["space"]["universe"] == 20
    assert loaded_synopsis.card["outside"] == loaded_synopsis.space.clipping_rule == SPACE.clipping_rule
    assert loaded_synopsis.space.kernels == ()
    with pytest.raises(mp.MilepostError, match="cannot read records"):
        mp.release(PEOPLE, loaded_synopsis.space, epsilon=1)


def test_a_named_metric_with_a_universe_reads_no_records_from_a_file(tmp_path: Path) -> None:
    """The file has not kept the universe, so that it cannot tell strangers."""
    space = mp.AnyMetric(mp.edit_distance, 9, ["mile", "post"], universe=["miles", "past"])
    mp.release(["miles", "past", "?"] * 99, space, epsilon=9, delta=1e-6).save(tmp_path / "one.milepost")
    with pytest.raises(mp.MilepostError, match="cannot read records"):
        mp.exact_mean_distance(["miles"], mp.load(tmp_path / "one.milepost").space, ["mile"])


def test_the_file_does_not_show_who_is_in_the_table(tmp_path: Path) -> None:
    """Card and size are the same for members, strangers and awkward objects."""
    cards, sizes = [], []
    for table in ([3] * 500, ["zz"] * 500, [Awkward() for _ in range(500)]):
        synopsis = mp.release(table, SPACE, epsilon=9, delta=1e-6, mechanism="field")
        synopsis.save(tmp_path / "file.milepost")
        cards.append(synopsis.card)
        sizes.append((tmp_path / "file.milepost").stat().st_size)
    assert cards[0] == cards[1] == cards[2]
    assert sizes[0] == sizes[1] == sizes[2]


def test_a_mechanism_without_a_field_computes_no_covariance() -> None:
    """It would be for nothing."""

    def never(*_: Any) -> Any:
        pytest.fail("a covariance was computed")

    space = mp.AnyMetric(mp.precomputed(path(20)), 19, [0, 7, 19], universe=range(20))
    with patched([(universe, "covariances", never)]):
        assert mp.release(PEOPLE, space, epsilon=1, mechanism="laplace").guarantee == PURE


def test_pure_epsilon_takes_the_universe_into_account() -> None:
    space = mp.AnyMetric(mp.precomputed(path(20)), 19, range(20), universe=range(20))
    planned = mp.plan(space, n=len(PEOPLE), epsilon=1)
    errors = {prediction.mechanism: prediction.error for prediction in planned.predictions}
    assert errors["basis"] < errors["field"] < errors["laplace"]
    synopsis = mp.release(PEOPLE, space, epsilon=1, mechanism="field")
    assert synopsis.guarantee == PURE
    assert_promised(synopsis, range(20), mp.exact_mean_distance(PEOPLE, space, range(20)), at_most=4)
