"""AnyMetric: objects of any kind, a distance of the user's own, and the queries it was made for."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import milepost as mp
from milepost._typing import FloatArray
from milepost.spaces.embeddings.embedding import QUANTA
from tests.chance import assert_promised

WORDS = ["colour", "color", "centre", "center", "table", "chair", "cat"]
QUERIES = ["colour", "centre", "table"]


def edits(**params: Any) -> mp.AnyMetric:
    return mp.AnyMetric(mp.edit_distance, diameter=12, queries=QUERIES, **params)


def oracle(
    records: Sequence[Any], queries: Sequence[Any], distance: Callable[[Any, Any], float], diameter: float
) -> Any:
    return [np.mean([min(distance(record, query), diameter) for record in records]) for query in queries]


class Person:
    """An object that only its maker knows."""

    def __init__(self, age: float) -> None:
        self.age = age


def ages(left: Person, right: Person) -> float:
    return abs(left.age - right.age)


@pytest.mark.parametrize(
    ("records", "queries", "distance"),
    [
        (WORDS * 3, QUERIES, mp.edit_distance),
        ([1, 2, 3.5, 10], [0, 5], lambda x, y: abs(x - y)),
        ([(0, 0), (1, 2), (3, 1)], [(0, 0), (2, 2)], lambda x, y: abs(x[0] - y[0]) + abs(x[1] - y[1])),
        (np.arange(12.0).reshape(4, 3), np.ones((2, 3)) * [[1], [2]], lambda x, y: float(np.abs(x - y).sum())),
        ([{1, 2}, {3}, {1}], [frozenset({1}), frozenset({3, 4})], lambda x, y: len(x ^ y)),
        ([{1, 2}, {3}, {1}], [{1}, {3, 4}], mp.jaccard),
        ([Person(30), Person(40)], [Person(35)], ages),
        ([[1, 2], [3]], [[1], [2, 3, 4]], lambda x, y: abs(len(x) - len(y))),
    ],
    ids=["text", "numbers", "tuples", "vectors", "sets", "jaccard", "a class", "ragged lists"],
)
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian", "slopes"])
def test_objects_of_any_type(records: Any, queries: Any, distance: Any, mechanism: str) -> None:
    """A release knows them; at a large ε its answers are those of a five-line oracle, but for the embedding."""
    space = mp.AnyMetric(distance, diameter=6, queries=queries)
    delta = 0 if mechanism == "laplace" else 1e-6
    exact = oracle(list(records), list(queries), distance, 6)
    assert mp.exact_mean_distance(records, space, queries) == pytest.approx(exact)
    with pytest.warns(mp.AccuracyWarning) if mechanism == "slopes" and len(queries) > 1 else no_context():
        synopsis = mp.release(list(records) * 50, space, epsilon=900, delta=delta, mechanism=mechanism)
    answers = synopsis.mean_distance(queries)
    assert_promised(synopsis, queries, exact, at_most=6 if mechanism == "slopes" else 0.02, slack=1e-9)
    assert synopsis.mean_distance(queries[0]) == answers[0]
    assert isinstance(synopsis.mean_distance(queries[0]), float)


def no_context() -> Any:
    from contextlib import nullcontext

    return nullcontext()


@pytest.mark.parametrize(
    "table",
    [
        WORDS,
        tuple(WORDS),
        np.array(WORDS),
        np.array(WORDS, dtype=object),
        pd.Series(WORDS),
        pd.DataFrame({"word": WORDS}),
        pl.Series(WORDS),
        pl.DataFrame({"word": WORDS}),
        pa.table({"word": WORDS}),
        pa.array(WORDS),
        pa.table({"word": pa.array(WORDS).dictionary_encode()}),
    ],
    ids=lambda table: f"{type(table).__module__}.{type(table).__name__}",
)
def test_tables_of_objects(table: Any) -> None:
    """However a list of words is kept, it is the same table."""
    assert mp.exact_mean_distance(table, edits(), QUERIES) == pytest.approx(
        oracle(WORDS, QUERIES, mp.edit_distance, 12)
    )


def test_files_and_columns(tmp_path: Path) -> None:
    """A file's cells are text; which of several columns is meant must be said, and several make tuples."""
    frame = pd.DataFrame({"id": range(len(WORDS)), "word": WORDS, "n": ["7"] * len(WORDS)})
    frame.to_csv(tmp_path / "words.csv", index=False)
    pa.parquet.write_table(pa.table({"word": WORDS}), tmp_path / "words.parquet")
    exact = oracle(WORDS, QUERIES, mp.edit_distance, 12)
    for data, columns in (
        (tmp_path / "words.csv", "word"),
        (tmp_path / "words.csv", [1]),
        (tmp_path / "words.parquet", None),
        (frame, ["word"]),
    ):
        assert mp.exact_mean_distance(data, edits(), QUERIES, columns=columns) == pytest.approx(exact)
    for table in (frame, tmp_path / "words.csv", pa.Table.from_pandas(frame), pl.from_pandas(frame)):
        with pytest.raises(mp.MilepostError, match=r"id, word, n.*columns="):
            mp.release(table, edits(), epsilon=1)
    pairs = mp.AnyMetric(lambda x, y: float(x != y), diameter=1, queries=[("cat", "7"), ("cat", "8")])
    assert mp.exact_mean_distance(frame, pairs, [("cat", "7")], columns=["word", "n"]) == pytest.approx(6 / 7)


def test_an_iterator_is_read_once() -> None:
    """A generator is a table, too."""
    assert mp.release(iter(WORDS * 100), edits(), epsilon=900).n == 700


def test_answers_have_the_shape_of_the_question() -> None:
    """One word gives a float, a Series keeps its index, a list gives an array."""
    synopsis = mp.release(WORDS * 100, edits(), epsilon=900)
    queries = pd.Series(QUERIES, index=["a", "b", "c"])
    answers = synopsis.mean_distance(queries)
    assert list(answers.index) == ["a", "b", "c"]
    assert synopsis.mean_distance(QUERIES) == pytest.approx(answers.to_numpy())
    assert synopsis.mean_distance("table") == answers["c"]
    assert synopsis.interval("table")[0] <= answers["c"] <= synopsis.interval("table")[1]
    assert synopsis.mean_distance([]).shape == (0,)
    assert synopsis.center() in QUERIES
    assert synopsis.mean_distance(synopsis.center()) == min(answers)


def test_a_query_outside_the_set_is_refused() -> None:
    """Remark 15.1: the embedding was made for its queries, and the error says so."""
    synopsis = mp.release(WORDS * 10, edits(), epsilon=100)
    for query in ("chairs", ["table", "chairs"], [3], [None]):
        with pytest.raises(mp.MilepostError, match=r"not one of the 3 queries.*Remark 15.1"):
            synopsis.mean_distance(query)
    with pytest.raises(mp.MilepostError, match="not one of the 3 queries"):
        mp.exact_mean_distance(WORDS, edits(), ["chairs"])


def test_a_session_is_refused() -> None:
    """Remark 8.2: queries that arrive later cannot be part of the embedding; nothing is read."""
    for mechanism in ("auto", "tangents", "laplace"):
        with pytest.raises(mp.MilepostError, match=r"no sessions.*Remark 8\.2.*mp\.release"):
            mp.interactive(WORDS, edits(), epsilon=1, max_queries=5, mechanism=mechanism)
    with pytest.raises(mp.MilepostError, match="no sessions"):
        mp.plan(edits(), n=100, epsilon=1, max_queries=5)


def lopsided(x: float, y: float) -> float:
    return max(x - y, 0.0)


@pytest.mark.parametrize(
    ("distance", "queries", "message"),
    [
        (lambda *_: math.nan, [1, 2], "not a number"),
        (lambda *_: -1.0, [1, 2], "from query 1 to query 1 is negative: -1"),
        (lopsided, [1, 2], r"from query 1 to query 2 is another one the other way round: 0"),
        (lambda *_: 1.0, [1, 2], "from query 1 to query 1 is not 0: 1"),
        (lambda _: 0.0, [1, 2], "fails on the queries: TypeError"),
        (lambda x, _: x.missing, [1, 2], "fails on the queries: AttributeError"),
        (lambda *_: "far", [1, 2], "fails on the queries: ValueError"),
        (mp.edit_distance, [1, 2], "edit_distance takes text, got int"),
        (None, [1, 2], "distance must be a function"),
        (mp.edit_distance, [], "queries must be 1 to"),
        (mp.edit_distance, "colour", "expected a list of objects"),
        (lambda *_: 0.0, [{1: 2}], "got a dict"),
    ],
)
def test_a_bad_distance_or_query_is_refused(distance: Any, queries: Any, message: str) -> None:
    """When the space is made: what is wrong, and with which queries."""
    with pytest.raises(mp.MilepostError, match=message):
        mp.AnyMetric(distance, diameter=12, queries=queries)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"diameter": 0}, "diameter"),
        ({"diameter": math.nan}, "diameter"),
        ({"diameter": math.inf}, "diameter"),
        ({"diameter": "12"}, "diameter"),
        ({"repetitions": 0}, "repetitions"),
        ({"repetitions": "many"}, "repetitions"),
        ({"repetitions": True}, "repetitions"),
        ({"random_state": -1}, "random_state="),
    ],
)
def test_bad_arguments_are_refused(params: dict[str, Any], message: str) -> None:
    """The error names the argument."""
    with pytest.raises(mp.MilepostError, match=f"^{message} must"):
        mp.AnyMetric(mp.edit_distance, **dict[str, Any](diameter=12, queries=QUERIES) | params)


def test_a_batch_function_of_the_wrong_shape_is_refused() -> None:
    """The shape that was expected and the one that came."""
    with pytest.raises(mp.MilepostError, match=r"2 × 2 numbers, got shape \(2,\)"):
        mp.AnyMetric(lambda x, _: np.zeros(len(x)), diameter=1, queries=[1, 2], batches=True)


def broken(record: Any, query: Any) -> float:
    if query == record == 0:
        return 0.0
    return {1: math.nan, 2: -5.0, 3: 1e9, 4: math.inf, 5: -math.inf}.get(record, 0.25)


def test_a_private_distance_is_clipped_and_never_an_error() -> None:
    """NaN and what is too long count as the diameter, what is negative as 0, an exception as the diameter."""

    def distance(record: Any, query: Any) -> float:
        return 1 / 0 if record == "bad" else broken(record, query)

    space = mp.AnyMetric(distance, diameter=2, queries=[0])
    assert space.read(np.array([1, 2, 3, 4, 5, 6, "bad", 7], dtype=object)).ravel().tolist() == [
        *(2, 0, 2, 2, 0, 0.25, 2, 0.25)
    ]
    assert mp.exact_mean_distance([1, 2, "bad"], space, [0]) == pytest.approx([4 / 3])


class Abandoned(BaseException):
    """What is no Exception."""


class Stubborn:
    """An object that raises when it is looked up."""

    def __init__(self, reason: type[BaseException]) -> None:
        self.reason = reason

    def __hash__(self) -> int:
        raise self.reason


@pytest.mark.parametrize("reason", [SystemExit, GeneratorExit, Abandoned, MemoryError])
def test_no_private_record_ends_the_process(reason: type[BaseException]) -> None:
    """Whatever a function or an object that is looked up raises, a record has its place; a query is refused."""

    def distance(record: Any, query: Any) -> float:
        if record == "bad":
            raise reason
        return float(record != query)

    batches = mp.Metric(lambda x, y: np.array([[distance(left, right) for right in y] for left in x]))
    for metric in (distance, batches):
        space = mp.AnyMetric(metric, diameter=2, queries=[0])
        assert space.read(np.array([0, "bad", 1], dtype=object)).ravel().tolist() == [0, 2, 1]
    universe = mp.AnyMetric(distance, diameter=2, queries=[0], universe=[1, 0])
    assert universe.read(np.array([0, Stubborn(reason)], dtype=object)).ravel().tolist() == [0, 1]
    for params in ({"queries": ["bad"]}, {"queries": [0], "universe": [0, "bad"]}):
        with pytest.raises(mp.MilepostError, match=f"distance fails on .*{reason.__name__}"):
            mp.AnyMetric(distance, diameter=2, **params)


def test_ctrl_c_ends_reading() -> None:
    """It may be the user's own."""

    def distance(record: Any, query: Any) -> float:
        if record == "bad":
            raise KeyboardInterrupt
        return float(record != query)

    with pytest.raises(KeyboardInterrupt):
        mp.AnyMetric(distance, diameter=2, queries=[0]).read(np.array(["bad"], dtype=object))


@pytest.mark.parametrize("missing", [None, math.nan])
def test_a_missing_record_is_refused(missing: Any) -> None:
    """With its row, as in other tables."""
    with pytest.raises(mp.MilepostError, match="row 3 is missing"):
        mp.release(["a", "b", missing], edits(), epsilon=1)


def test_rows_that_depend_on_their_batch_are_read_one_by_one() -> None:
    """A batch function that looks at other rows would let one record move another's image; a promise is believed."""
    calls: list[int] = []

    def relative(x: Sequence[float], y: Sequence[float]) -> FloatArray:
        calls.append(len(x))
        left, right = np.array(x, dtype=float)[:, None], np.array(y, dtype=float)
        return np.asarray(np.abs(left - right) + (0 if len(x) == 1 else 1e-9 * left.mean() * np.abs(left - right)))

    space = mp.AnyMetric(relative, diameter=10, queries=[1.0, 2.0, 4.0], batches=True)
    calls.clear()
    distances = space.read(np.array([3.0, 5.0, 9.0], dtype=object))
    assert set(calls) == {1}
    assert np.array_equal(distances[1:], space.read(np.array([5.0, 9.0], dtype=object)))
    trusted_space = mp.AnyMetric(mp.Metric(relative, row_independent=True), diameter=10, queries=[1.0, 2.0, 4.0])
    calls.clear()
    trusted_space.read(np.array([3.0, 5.0, 9.0], dtype=object))
    assert calls == [3]


def test_images_that_are_all_the_same_promise_nothing() -> None:
    """Where no set tells two queries apart, the embedding may be off by everything."""
    spaces = [
        mp.AnyMetric(mp.precomputed([[0, 1], [1, 0]]), diameter=1, queries=[0, 1], repetitions=1, random_state=seed)
        for seed in range(30)
    ]
    degenerate_spaces = [space for space in spaces if not np.ptp(space.query_positions, axis=0).any()]
    assert degenerate_spaces
    assert all(space.embedding.relative_error == 1 for space in degenerate_spaces)


def test_one_query_is_an_isometry() -> None:
    """k = 1: the only embedding coordinate is the distance itself."""
    space = mp.AnyMetric(mp.edit_distance, diameter=12, queries=["table"])
    assert space.embedding.dimension == 1
    assert space.distortion().product == 1
    synopsis = mp.release(WORDS * 1000, space, epsilon=100, delta=1e-6, mechanism="slopes")
    assert_promised(synopsis, "table", mp.exact_mean_distance(WORDS, space, "table"), at_most=0.3)
    assert synopsis.error() < 0.1


def test_equal_queries_have_equal_answers() -> None:
    """The first of them answers; distances between them are 0 and do not disturb the measured distortion."""
    space = mp.AnyMetric(mp.edit_distance, diameter=12, queries=["table", "table", "cat"])
    for mechanism in ("laplace", "hats"):
        with pytest.warns(mp.AccuracyWarning) if mechanism == "hats" else no_context():
            synopsis = mp.release(WORDS * 100, space, epsilon=100, mechanism=mechanism)
        assert synopsis.mean_distance("table") == synopsis.mean_distance(["cat", "table", "table"])[2]
    assert math.isfinite(space.distortion().product)


def test_calibration_is_right_on_average_over_queries() -> None:
    """Embedded distances fall short of the metric's; the factor makes their sum over pairs of queries the same."""
    rng = np.random.default_rng(0)
    points = rng.random((40, 2)) * 10
    matrix = np.abs(points[:, None] - points[None]).sum(axis=2)
    plain, calibrated = (
        mp.AnyMetric(mp.precomputed(matrix), diameter=20, queries=range(20), calibrate=c) for c in (False, True)
    )
    assert plain.distortion().expansion <= 1
    assert plain.distortion().contraction > 1.5
    images = calibrated.query_positions
    embedded = (np.abs(images[:, None] - images[None]) * calibrated.embedding.quantum).sum(axis=2)
    assert embedded.sum() == pytest.approx(matrix[:20, :20].sum(), rel=1e-6)
    assert calibrated.distortion().likely < plain.distortion().likely
    assert calibrated.distortion().expansion > 1


def test_the_papers_repetitions_follow_the_table() -> None:
    """K = ⌈512(log₂k + log₂n)⌉ is settled once n is known; the file has the number."""
    space = edits(repetitions="paper")
    assert space.size_variants(1000)[0].repetitions == math.ceil(512 * (math.log2(3) + math.log2(1000)))
    with pytest.raises(mp.MilepostError, match="size_variants"):
        _ = space.embedding
    with pytest.warns(mp.AccuracyWarning, match="embedding"):
        synopsis = mp.release(WORDS * 100, space, epsilon=10, mechanism="hats")
    assert synopsis.space.to_json()["repetitions"] == math.ceil(512 * (math.log2(3) + math.log2(700)))


@pytest.mark.parametrize("mechanism", ["laplace", "hats"])
def test_a_file_answers_without_the_metric(mechanism: str, tmp_path: Path) -> None:
    """A metric that only its maker has is not needed for answers; private records cannot be read without it."""
    space = mp.AnyMetric(lambda x, y: abs(x - y), diameter=5, queries=[1, 2.5, 4])
    with pytest.warns(mp.AccuracyWarning) if mechanism == "hats" else no_context():
        synopsis = mp.release([1, 2, 3] * 100, space, epsilon=100, mechanism=mechanism)
    synopsis.save(tmp_path / "a.milepost")
    loaded_synopsis = mp.load(tmp_path / "a.milepost")
    assert np.array_equal(loaded_synopsis.mean_distance([1, 2.5, 4]), synopsis.mean_distance([1, 2.5, 4]))
    assert loaded_synopsis.error() == synopsis.error()
    assert loaded_synopsis.center() == synopsis.center()
    with pytest.raises(mp.MilepostError, match="not one of the 3"):
        loaded_synopsis.mean_distance(3)
    with pytest.raises(mp.MilepostError, match="cannot read records"):
        mp.release([1, 2, 3], loaded_synopsis.space, epsilon=1)


def test_a_named_metric_is_found_again(tmp_path: Path) -> None:
    """Edit distance is known by name: the loaded space reads records too."""
    mp.release(WORDS * 10, edits(), epsilon=100).save(tmp_path / "a.milepost")
    loaded_synopsis = mp.load(tmp_path / "a.milepost")
    assert mp.exact_mean_distance(WORDS, loaded_synopsis.space, QUERIES) == pytest.approx(
        oracle(WORDS, QUERIES, mp.edit_distance, 12)
    )


def test_queries_that_json_does_not_have_are_stored_by_position(tmp_path: Path) -> None:
    """Objects of a class cannot be in a file: there, queries are numbers in the order of the list."""
    people = [Person(20), Person(50)]
    space = mp.AnyMetric(ages, diameter=100, queries=people)
    synopsis = mp.release([Person(age) for age in range(20, 60)] * 10, space, epsilon=100)
    synopsis.save(tmp_path / "a.milepost")
    loaded_synopsis = mp.load(tmp_path / "a.milepost")
    assert np.array_equal(loaded_synopsis.mean_distance([0, 1]), synopsis.mean_distance(people))


def test_images_are_within_their_interval() -> None:
    """Whatever the function gives, an image has 0..2²⁴ quanta."""
    space = mp.AnyMetric(broken, diameter=2, queries=[0])
    images = space.quantize(space.read(np.array([0, 1, 2, 3, 4, 5, 6], dtype=object)))
    assert images.min() == 0
    assert images.max() == QUANTA


class TestMetrics:
    """The ready metrics."""

    def test_edit_distance(self) -> None:
        """Insertions, deletions and replacements; Unicode; symmetric."""
        assert mp.edit_distance("kitten", "sitting") == 3
        assert mp.edit_distance("", "abc") == 3
        assert mp.edit_distance("größe", "grosse") == 3
        matrix = mp.edit_distance.matrix(WORDS, WORDS)
        assert np.array_equal(matrix, matrix.T)

    def test_precomputed(self) -> None:
        """Row numbers, or labels; what is not there is far away for a record and an error for a query."""
        matrix = [[0, 1, 4], [1, 0, 3], [4, 3, 0]]
        space = mp.AnyMetric(mp.precomputed(matrix, labels="abc"), diameter=4, queries=["a", "c"])
        assert mp.exact_mean_distance(["b", "c", "z"], space, ["a"]) == pytest.approx([(1 + 4 + 4) / 3])
        with pytest.raises(mp.MilepostError, match="fails on the queries: KeyError"):
            mp.AnyMetric(mp.precomputed(matrix), diameter=4, queries=[0, 3])
        assert mp.precomputed(matrix)(0, 2) == 4
        assert mp.precomputed(matrix)("0", np.int64(2)) == 4

    @pytest.mark.parametrize(
        ("matrix", "labels", "message"),
        [
            ([[0, 1]], None, "square matrix of distances, got an array of shape 1 × 2"),
            ([], None, "square"),
            ([["a"]], None, "square matrix of numbers"),
            ([[0]], ["a", "b"], "got 2 labels for 1 rows"),
            ([[0, 1], [1, 0]], ["a", "a"], "a different label for each row, got 2 labels"),
        ],
    )
    def test_a_bad_matrix_is_refused(self, matrix: Any, labels: Any, message: str) -> None:
        """What was expected and what came."""
        with pytest.raises(mp.MilepostError, match=message):
            mp.precomputed(matrix, labels)


@pytest.mark.slow
def test_memory_is_bounded_by_blocks() -> None:
    """The user's function never sees more than a block of pairs at a time."""
    call_sizes: Counter[int] = Counter()

    def apart(x: Sequence[float], y: Sequence[float]) -> FloatArray:
        call_sizes[len(x) * len(y)] += 1
        return np.asarray(np.abs(np.array(x, dtype=float)[:, None] - np.array(y, dtype=float)))

    queries = np.linspace(0, 1, 4000).tolist()
    mp.release(np.linspace(0, 1, 5000), mp.AnyMetric(apart, 1, queries, batches=True), epsilon=100)
    assert max(call_sizes) == 4000  # a function that promises nothing sees one object at a time
    call_sizes.clear()
    mp.release(np.linspace(0, 1, 5000), mp.AnyMetric(mp.Metric(apart, row_independent=True), 1, queries), epsilon=100)
    assert 4000 < max(call_sizes) <= 1 << 23
    assert sum(size * calls for size, calls in call_sizes.items()) >= 4000 * 5000
