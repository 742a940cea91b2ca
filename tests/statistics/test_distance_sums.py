"""Sums: exact, in any order, of parts that add up, in groups and with weights."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import milepost as mp
from milepost._typing import AnyArray, FloatArray, IntArray
from milepost.ingest.aggregation import read_sums
from milepost.privacy import noise
from milepost.spaces.base import Space
from milepost.spaces.embeddings.embedding import QUANTA
from milepost.spaces.queries import Queries
from milepost.statistics.distance_sums import DistanceSums
from milepost.statistics.sketch import MAX_TOTAL

tables = arrays.arrays(np.int64, st.tuples(st.integers(0, 12), st.just(3)), elements=st.integers(0, QUANTA))


def sums_of(
    table: IntArray, group: IntArray | None = None, weight: IntArray | None = None, groups: int = 1
) -> DistanceSums:
    result = DistanceSums(table.shape[1], groups)
    result.add(table, group, weight)
    return result


def same(left: DistanceSums, right: DistanceSums) -> bool:
    return np.array_equal(left.values, right.values) and np.array_equal(left.totals, right.totals)


@given(tables, st.randoms(use_true_random=False))
def test_sums_do_not_depend_on_order(table: IntArray, order: Random) -> None:
    """Exact integers: any order of the rows, all at once or one by one."""
    rows = list(range(len(table)))
    order.shuffle(rows)
    sums = DistanceSums(3)
    for row in rows:
        sums.add(table[row : row + 1])
    assert same(sums, sums_of(table))
    assert sums.values[0].tolist() == [sum(int(row[k]) for row in table) for k in range(3)]
    assert sums.totals.tolist() == [len(table)]


@given(tables, tables, st.integers(0, 1000))
def test_sums_add_up_and_repeat(left: IntArray, right: IntArray, times: int) -> None:
    """Those of two tables are those of both together; k times a table is the table k times."""
    both = sums_of(np.concatenate([left, right]))
    assert same(sums_of(left) + sums_of(right), both)
    assert same(sums_of(right) + sums_of(left), both)
    assert same(both.repeat(3), both + both + both)
    assert (both.repeat(times).values == times * both.values).all()
    assert both.repeat(times).totals == times * both.totals


@given(tables, st.data())
def test_groups_and_weights(table: IntArray, data: st.DataObject) -> None:
    """A group's sums are those of its rows; a weight of w counts a row w times."""
    size = st.lists(st.integers(0, 3), min_size=len(table), max_size=len(table))
    group, weight = (np.array(data.draw(size), dtype=np.int64) for _ in range(2))
    sums = sums_of(table, group, weight, groups=4)
    for label in range(4):
        part = sums_of(np.repeat(table[group == label], weight[group == label], axis=0))
        assert np.array_equal(sums.values[label], part.values[0])
        assert sums.totals[label] == part.totals[0]
    assert sums.values.sum(axis=0).tolist() == sums_of(table, None, weight).values[0].tolist()


def test_adding_leaves_both_parts_alone() -> None:
    first, second = sums_of(np.ones((2, 3), dtype=np.int64)), sums_of(np.ones((5, 3), dtype=np.int64))
    _ = first + second, first.repeat(7)
    assert first.totals[0] == 2
    assert first.values.tolist() == [[2, 2, 2]]


def test_sums_that_do_not_fit_are_refused() -> None:
    """Of other queries or groups, or of more weight than 64 bits hold."""
    row = np.full((1, 3), QUANTA, dtype=np.int64)
    with pytest.raises(mp.MilepostError, match="do not add up"):
        _ = DistanceSums(3) + DistanceSums(2)
    with pytest.raises(mp.MilepostError, match="do not add up"):
        _ = DistanceSums(3, groups=2) + DistanceSums(3)
    max_sums = sums_of(row).repeat(MAX_TOTAL)
    assert max_sums.values[0, 0] == QUANTA * MAX_TOTAL  # no overflow
    for call in (
        lambda: max_sums + sums_of(row),
        lambda: max_sums.add(row),
        lambda: max_sums.repeat(2),
        lambda: sums_of(row, weight=np.array([MAX_TOTAL + 1])),
    ):
        with pytest.raises(mp.MilepostError, match=r"at most 137,438,953,472 rows"):
            call()
    assert max_sums.totals[0] == MAX_TOTAL


def test_an_unknown_group_is_refused() -> None:
    """A record is never dropped without a word."""
    with pytest.raises((ValueError, IndexError)):
        sums_of(np.ones((2, 3), dtype=np.int64), group=np.array([0, 2]), groups=2)


@pytest.mark.parametrize("rows", [1, 7, 100])
def test_a_table_gives_the_same_sums_in_blocks_of_any_size(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading is by blocks of bounded memory, and draws nothing."""
    space = mp.L2(center=[0, 0], radius=1)
    table, points = np.random.default_rng(0).normal(0, 1, (100, 2)), np.random.default_rng(1).random((5, 2)) / 2
    queries = Queries(points, space)
    expected = read_sums(table, space, queries)
    monkeypatch.setattr(noise, "_add", None)
    monkeypatch.setattr("milepost.ingest.table.BLOCK", rows * queries.count)
    assert same(read_sums(table, space, queries), expected)
    exact = mp.exact_mean_distance(table, space, points)
    np.testing.assert_allclose(expected.values[0] * queries.quantum / 100, exact, atol=queries.bias)


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=8), st.floats(1e-90, 1e90))
def test_any_distance_has_its_quanta(distances: list[float], diameter: float) -> None:
    """0..2²⁴ whatever came: NaN and infinity count as the diameter, negative ones as 0; others to half a quantum."""
    queries = Queries(np.zeros((len(distances), 1)), mp.L1([(0, diameter)]))
    with np.errstate(over="ignore"):
        quanta = queries.quantize(np.array([distances]))[0]
    assert quanta.dtype == np.int64
    for distance, quantum in zip(distances, quanta.tolist(), strict=True):
        clipped = min(max(distance, 0.0), diameter) if distance == distance else diameter
        assert 0 <= quantum <= QUANTA
        assert abs(quantum * queries.quantum - clipped) <= queries.bias


@pytest.mark.parametrize(
    ("space", "order"),
    [
        (mp.L1([(0, 1)] * 20, weights=0.1), "C"),
        (mp.L1([(0, 1)] * 20, weights=0.1), "F"),
        (mp.L2([(0, 1)] * 20), "C"),
        (mp.L2([(0, 1)] * 20), "F"),
        (mp.Lp(1.5, [(0, 1)] * 20), "C"),
        (mp.Lp(1.5, [(0, 1)] * 20), "F"),
    ],
    ids=["l1-C", "l1-F", "l2-C", "l2-F", "lp-C", "lp-F"],
)
def test_a_distance_depends_on_its_own_record_only(space: Space, order: str) -> None:
    """distance(P)[i] == distance(P[i:i+1])[0], bit for bit, however the table lies in memory."""
    generator = np.random.default_rng(0)
    records = space.read(np.array(generator.random((300, 20)), order="F" if order == "F" else "C"))
    queries = generator.random((7, 20))
    alone = np.concatenate([space.distance(records[i : i + 1], queries) for i in range(300)])
    assert np.array_equal(space.distance(records, queries), alone)
    assert np.array_equal(space.distance(records[::-1], queries), alone[::-1])


class Doubled(mp.L2):
    """A space with its own distance, and the tiles of its base class."""

    def distance(self, records: FloatArray, queries: AnyArray) -> FloatArray:
        return np.minimum(2 * super().distance(records, queries), self.diameter)


@pytest.mark.parametrize("columns", [2, 9])
def test_a_subclass_with_its_own_distance_is_measured_by_it(columns: int) -> None:
    """By column, and by products."""
    space = Doubled([(0, 1)] * columns)
    rows = np.random.default_rng(0).random((50, columns))
    queries = Queries(rows[:3], space)
    expected = queries.quantize(space.distance(space.read(rows), queries.points)).sum(axis=0)
    assert read_sums(rows, space, queries).values[0].tolist() == expected.tolist()
    base = mp.L2([(0, 1)] * columns)
    assert read_sums(rows, base, Queries(rows[:3], base)).values[0].tolist() != expected.tolist()
