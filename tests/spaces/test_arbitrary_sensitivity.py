"""AnyMetric: no function of the user's, however broken, lets a record move the sketch further than the reach."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import milepost as mp
from milepost._typing import AnyArray, FloatArray
from milepost.ingest.aggregation import read_sketch, read_sums
from milepost.spaces.embeddings.embedding import QUANTA
from milepost.spaces.objects import object_array
from milepost.spaces.queries import Queries
from tests.quick import some_quick


class Nothing(Exception):  # noqa: N818
    """What a user's function may raise."""


SPECIAL = [0.0, -0.0, 5.0, 2.5, math.nan, math.inf, -math.inf, -3.0, 1e300, 5e-324, 5 - 2**-22, 5 + 2**-22]
DIAMETER = 5.0


def rows_space(count: int, calibrate: bool = False, repetitions: int = 8) -> mp.AnyMetric:
    """Queries 0..count − 1 on a line; a record is the tuple of its own distances, None where the function raises."""

    def distance(x: Any, y: Any) -> float:
        if not isinstance(x, tuple):
            return float(abs(x - y))
        if x[y] is None:
            raise Nothing
        return float(x[y])

    return mp.AnyMetric(
        distance, DIAMETER, list(range(count)), calibrate=calibrate, repetitions=repetitions, random_state=count
    )


def embedded_distance(space: mp.AnyMetric, left: AnyArray, right: AnyArray) -> Fraction:
    """Σ τ|q − q′|, exactly."""
    triples = zip(space.embedding.quantum.tolist(), left.tolist(), right.tolist(), strict=True)
    return sum((Fraction(t) * abs(a - b) for t, a, b in triples), Fraction(0))


def images(space: mp.AnyMetric, records: Sequence[Any]) -> AnyArray:
    return space.quantize(space.read(object_array(list(records))))


# The reach.


@settings(max_examples=150)
@given(data=st.data())
def test_no_pair_passes_the_reach_whatever_the_function_says(data: st.DataObject) -> None:
    """Rows without a triangle inequality, NaN, negative and infinite numbers, exceptions; images stay in 0..2²⁴."""
    count = data.draw(st.integers(1, 9))
    space = rows_space(count, data.draw(st.booleans()))
    row = st.lists(st.none() | st.sampled_from(SPECIAL) | st.floats(), min_size=count, max_size=count).map(tuple)
    quanta = images(space, [data.draw(row), data.draw(row)])
    assert quanta.min() >= 0
    assert quanta.max() <= QUANTA
    assert embedded_distance(space, *quanta) <= Fraction(space.embedding.sensitivity_bound)


@pytest.mark.parametrize("calibrate", [False, True])
@pytest.mark.parametrize("count", [1, 2, 7, 30])
def test_the_reach_is_that_of_the_worst_pair(count: int, calibrate: bool) -> None:
    """Next to every query, and far from all: no triangle inequality allows both; noise a little short would be seen."""
    space = rows_space(count, calibrate)
    near, far = images(space, [(0.0,) * count, (DIAMETER,) * count])
    bound = Fraction(space.embedding.sensitivity_bound)
    assert bound * (1 - Fraction(1, 10**12)) <= embedded_distance(space, near, far) <= bound


@pytest.mark.slow
@pytest.mark.parametrize("calibrate", [False, True])
@pytest.mark.parametrize("count", [1, 2, 5, 40])
def test_no_pair_of_many_passes_the_reach(count: int, calibrate: bool) -> None:
    """10⁵ pairs of rows, special values among them; the farthest again in rational arithmetic."""
    space = rows_space(count, calibrate)
    generator = np.random.default_rng(count)
    for _ in range(20):
        size = 10_000, count
        rows = generator.choice([0.0, DIAMETER], size)
        mask = generator.random(size) < generator.random((size[0], 1))
        rows = np.where(mask, generator.uniform(-1, 6, size), rows)
        rows = np.where(generator.random(size) < 0.02, generator.choice(SPECIAL, size), rows)
        quanta = images(space, list(map(tuple, rows.tolist())))
        left, right = quanta[:5000], quanta[5000:]
        distances = np.abs(left - right) @ space.embedding.quantum
        for k in np.argsort(distances)[-5:]:
            assert embedded_distance(space, left[k], right[k]) <= Fraction(space.embedding.sensitivity_bound)


# One record, one image.


def line(x: Sequence[Any], y: Sequence[Any]) -> AnyArray:
    return np.asarray(np.abs(np.subtract.outer(np.array(x, dtype=float), np.array(y, dtype=float))))


def centred(x: Sequence[Any], y: Sequence[Any]) -> AnyArray:
    """Right among the queries as a list, but every row depends on the others."""
    distances = line(x, y)
    return np.asarray(np.abs(distances - distances.mean(axis=0, keepdims=True) * (len(x) > 1)))


def halved(x: Sequence[Any], y: Sequence[Any]) -> AnyArray:
    """Half as far in company."""
    return line(x, y) / (1 if len(x) == 1 else 2)


def normalised(x: Sequence[Any], y: Sequence[Any]) -> AnyArray:
    """Divided by the largest of the batch."""
    distances = line(x, y)
    return np.asarray(distances / max(1.0, float(distances.max()) / 3))


def by_order(x: Sequence[Any], y: Sequence[Any]) -> AnyArray:
    """The first object of a batch is another than when it comes second."""
    return np.asarray(line(x, y) + np.arange(len(x))[:, None])


def products(x: Sequence[Any], y: Sequence[Any]) -> AnyArray:
    """A Euclidean distance by a matrix product, whose last bits depend on the shape of the batch."""
    left, right = np.array(x, dtype=float), np.array(y, dtype=float)
    square = (left**2).sum(axis=1)[:, None] + (right**2).sum(axis=1) - 2 * left @ right.T
    return np.asarray(np.sqrt(np.maximum(square, 0)))


def cautious(x: Sequence[Any], y: Sequence[Any]) -> AnyArray:
    """A good function that raises when anything in the batch is above 90."""
    if max(x) > 90:
        raise Nothing
    return line(x, y)


def vectors(count: int, width: int) -> list[Any]:
    return list(map(tuple, np.random.default_rng(width).random((count, width)).tolist()))


def batch_space(function: Callable[..., AnyArray], queries: list[Any], diameter: float = 40) -> mp.AnyMetric:
    return mp.AnyMetric(function, diameter, queries, batches=True)


NUMBERS = np.random.default_rng(0).uniform(0, 100, 300).tolist()
TEN = [float(k) for k in range(10)]
FUNCTIONS: dict[str, Any] = {
    "a pair at a time": (mp.AnyMetric(lambda x, y: abs(x - y), 40, TEN), NUMBERS),
    "edit distance": (mp.AnyMetric(mp.edit_distance, 9, ["a", "bb", "mile"]), [f"{k:b}" for k in range(300)]),
    "precomputed": (mp.AnyMetric(mp.precomputed(line(range(50), range(50))), 30, [3, 9, 7]), list(range(50)) * 6),
    "a good batch": (batch_space(line, TEN), NUMBERS),
    "raises": (batch_space(cautious, TEN), NUMBERS),
    "centred": (batch_space(centred, TEN), NUMBERS),
    "halved": (batch_space(halved, TEN), NUMBERS),
    "by order": (batch_space(by_order, TEN), NUMBERS),
    "products, 20 queries": (batch_space(products, vectors(20, 5), 3), vectors(300, 5)),
    "products, 100 queries": (batch_space(products, vectors(100, 64), 9), vectors(300, 64)),
}
functions = pytest.mark.parametrize(
    "name",
    some_quick(FUNCTIONS, ["a pair at a time", "edit distance", "precomputed", "raises", "products, 20 queries"]),
)
HIDDEN_DEPENDENCE: dict[str, Any] = {
    "centred, one query": (lambda: batch_space(centred, [3.0]), NUMBERS),
    "normalised, close queries": (lambda: batch_space(normalised, [0.0, 1.0, 2.0]), NUMBERS),
    "products, 2 queries in the plane": (lambda: batch_space(products, vectors(2, 2), 3), vectors(300, 2)),
    "products, 5 queries": (lambda: batch_space(products, vectors(5, 3), 3), vectors(300, 3)),
}


def check_rows(space: mp.AnyMetric, records: list[Any], sizes: Sequence[int]) -> None:
    """read(P)[i] == read(P[i:i+1])[0], in batches of any size and in any order."""
    table = object_array(records)
    single_rows = np.concatenate([space.read(table[i : i + 1]) for i in range(len(table))])
    for size in sizes:
        batches = [space.read(table[start : start + size]) for start in range(0, len(table), size)]
        assert np.array_equal(np.concatenate(batches), single_rows)
    order = np.random.default_rng(0).permutation(len(table))
    assert np.array_equal(space.read(table[order]), single_rows[order])
    assert np.array_equal(images(space, records), space.quantize(single_rows))


@functions
def test_a_record_is_read_alike_in_any_batch(name: str) -> None:
    """Bit for bit, also where rows of the user's matrix depend on the batch: objects are then taken one by one."""
    space, records = FUNCTIONS[name]
    check_rows(space, records, sizes=(2, 3, 64, len(records)))


@pytest.mark.parametrize("name", HIDDEN_DEPENDENCE)
def test_a_record_is_read_alike_even_where_the_queries_do_not_show_it(name: str) -> None:
    """One query, queries that are close together, or so few that a matrix product has the same bits."""
    make, records = HIDDEN_DEPENDENCE[name]
    check_rows(make(), records, sizes=(2, 3, 64, len(records)))


@functions
@pytest.mark.parametrize("row", [0, 7, 29])
def test_changing_one_record_changes_one_image_only(name: str, row: int) -> None:
    """Also to an object of another type, or one that the function cannot take."""
    space, records = FUNCTIONS[name]
    records = records[:30]
    before = images(space, records)
    for other in (records[-1] * 2, object(), "text", 5, 10**400, (1,), np.ones(3), b"", True):
        after = images(space, [*records[:row], other, *records[row + 1 :]])
        assert np.array_equal(np.delete(after, row, axis=0), np.delete(before, row, axis=0))
        assert ((after >= 0) & (after <= QUANTA)).all()


@functions
def test_the_statistics_move_by_one_record_only(name: str) -> None:
    """Sketch and Sums of neighboring tables differ by the images of the record that was replaced."""
    space, records = FUNCTIONS[name]
    queries = Queries(space.given_queries, space)
    original, neighbor = records[:40], [*records[:11], records[60], *records[12:40]]
    first, second = (read_sums(table, space, queries) for table in (original, neighbor))
    pair = [
        queries.quantize(space.distance(space.read(object_array([record])), space.given_queries))
        for record in (original[11], neighbor[11])
    ]
    assert np.array_equal(first.values - second.values, pair[0] - pair[1])
    left, right = (read_sketch(table, space) for table in (original, neighbor))
    single_sketches = [read_sketch([record], space) for record in (original[11], neighbor[11])]
    assert np.array_equal(left.counts - right.counts, single_sketches[0].counts - single_sketches[1].counts)
    assert np.array_equal(left.offsets - right.offsets, single_sketches[0].offsets - single_sketches[1].offsets)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_blocks_do_not_show(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table read in blocks of any size has the same sums, for a function that depends on its batch too."""
    for name in ("centred", "products, 20 queries", "raises"):
        space, records = FUNCTIONS[name]
        queries = Queries(space.given_queries, space)
        expected = read_sums(records, space, queries)
        with monkeypatch.context() as patch:
            patch.setattr("milepost.ingest.table.BLOCK", size * queries.count)
            assert np.array_equal(read_sums(records, space, queries).values, expected.values)


def test_a_function_that_gives_wrong_shapes_tells_nothing() -> None:
    """For a private record that is a distance that cannot be had: the diameter, and no word about it."""

    def shapeless(x: Sequence[Any], y: Sequence[Any]) -> Any:
        return line(x, y) if max(x) < 10 else line(x, y)[:, :1]

    space = batch_space(shapeless, TEN)
    distances: FloatArray = space.read(object_array([1.0, 50.0, 2.0]))
    assert (distances[1] == space.diameter).all()
    assert np.array_equal(distances[[0, 2]], line([1.0, 2.0], TEN))


def test_a_space_from_a_file_reads_no_records(tmp_path: Path) -> None:
    """Its metric stayed with its maker: an error, rather than a table in which everybody is a diameter away."""
    space = mp.AnyMetric(lambda x, y: abs(x - y), 40, TEN)
    mp.release(NUMBERS, space, epsilon=50, mechanism="laplace").save(tmp_path / "file.milepost")
    loaded_space = mp.load(tmp_path / "file.milepost").space
    with pytest.raises(mp.MilepostError, match="came from a file"):
        mp.exact_mean_distance(NUMBERS, loaded_space, [1.0])
    with pytest.raises(mp.MilepostError, match="came from a file"):
        mp.release(NUMBERS, loaded_space, epsilon=50, mechanism="laplace")
