"""Source: sums of distances to queries that come later are those of one pass over the table, to the integer."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import milepost as mp
from milepost._typing import AnyArray
from milepost.ingest import parallel, record_source
from milepost.ingest.aggregation import read_sums
from milepost.ingest.record_source import MemorySource, RecordSource, RowSource, SketchSource, open_source
from milepost.ingest.row_attributes import RowColumns
from milepost.ingest.table import Table
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.queries import Queries
from tests.mechanisms.contract import SPACES, patched, places, points

DIRECT = {name: space for name, space in SPACES.items() if space.embedding_columns is None and name != "towns"}
SKETCHED = {name: space for name, space in SPACES.items() if space.embedding_columns is not None}
ADD_REMOVE = ProtectedChange("add-remove")


def inside_queries(space: Any, rows: Any) -> AnyArray:
    result = points(space, rows)
    result = np.clip(result, [-90, -360], [90, 360]) if isinstance(space, mp.GreatCircle) else result
    return np.asarray(space.clip_points(space.read_queries(result)))


def same(left: Any, right: Any) -> bool:
    return np.array_equal(left.values, right.values) and np.array_equal(left.totals, right.totals)


def is_in_memory(source: RecordSource) -> bool:
    assert isinstance(source, MemorySource | RowSource)
    return isinstance(source, MemorySource)


@pytest.mark.parametrize("name", DIRECT)
@settings(max_examples=10)
@given(data=st.data())
def test_records_kept_at_hand_give_the_same_integers(name: str, data: st.DataObject) -> None:
    """As the table read anew and as `read_sums`: with weights, contributions, blocks of any size, any threads."""
    space = DIRECT[name]
    record = st.lists(places, min_size=space.width, max_size=space.width)
    rows = data.draw(st.lists(record, min_size=1, max_size=30))
    queries = Queries(inside_queries(space, data.draw(st.lists(record, min_size=1, max_size=5))), space)
    weights = [data.draw(st.sampled_from([-1.0, 0.0, 0.3, 4.0, 9.0])) for _ in rows]
    persons = [data.draw(st.integers(0, 4)) for _ in rows]
    roles = data.draw(
        st.sampled_from(
            [
                RowColumns(),
                RowColumns(row_weights=weights, max_row_weight=4.0),
                RowColumns(privacy_unit=persons, contributions=2),
                RowColumns(privacy_unit=persons, contributions=3, row_weights=weights, max_row_weight=4.0),
            ]
        )
    )
    table = Table(points(space, rows), space, roles.change("add-remove"), None, roles)
    block, cores = data.draw(st.sampled_from([1, 7, 1 << 16])), data.draw(st.sampled_from([1, 2, 5]))
    in_memory_source = open_source(table, len(rows))
    assert is_in_memory(in_memory_source)
    expected = read_sums(table.data, space, queries, None, roles, empty=True)
    with patched([(record_source, "BLOCK_NUMBERS", block), (parallel, "processors", lambda: cores)]):
        assert same(in_memory_source.sums(queries), expected)
    reread_source = RowSource(table)
    assert same(reread_source.sums(queries), expected)
    assert in_memory_source.total == reread_source.total == int(expected.totals[0])
    shifted_points, shift_bounds = in_memory_source.shift_queries(queries.points)
    assert shifted_points is queries.points
    assert not shift_bounds.any()


@pytest.mark.slow
@pytest.mark.parametrize("name", DIRECT)
def test_many_blocks_add_up(name: str) -> None:
    """More parts than are handed out at a time."""
    space = DIRECT[name]
    table = Table(points(space, np.random.default_rng(0).random((1500, space.width))), space, ProtectedChange())
    queries = Queries(inside_queries(space, np.random.default_rng(1).random((3, space.width))), space)
    with patched([(record_source, "BLOCK_NUMBERS", 4)]):
        assert same(open_source(table, 1500).sums(queries), table.sums(queries))


@pytest.mark.parametrize("name", [*DIRECT, *SKETCHED])
def test_a_table_without_rows_has_sums_of_0(name: str) -> None:
    """Where that may be private; a public one must have rows."""
    space = SPACES[name]
    no_rows = points(space, [[0.5] * space.width])[:0]
    with patched([(record_source, "MAX_CELLS", 1 << 10)]):
        source = open_source(Table(no_rows, space, ADD_REMOVE), 5)
    queries = Queries(source.shift_queries(inside_queries(space, [[0.5] * space.width, [0.0] * space.width]))[0], space)
    assert source.total == 0
    assert not source.sums(queries).values.any()
    assert int(source.sums(queries).totals[0]) == 0
    with pytest.raises(mp.MilepostError, match="empty"), patched([(record_source, "MAX_CELLS", 1 << 10)]):
        _ = open_source(Table(no_rows, space, ProtectedChange()), 5).total


def test_rows_that_all_weigh_nothing_are_no_rows() -> None:
    space = SPACES["disc"]
    roles = RowColumns(row_weights=[0.0, 0.0], max_row_weight=1.0)
    source = open_source(Table(points(space, [[0.1, 0.2], [0.3, 0.4]]), space, roles.change("replace"), None, roles), 2)
    assert source.total == 0
    assert not source.sums(Queries(inside_queries(space, [[0.5, 0.5]]), space)).values.any()


def test_a_table_beyond_memory_is_read_anew() -> None:
    """By the number that the session is sized for, which is public, not by the rows themselves."""
    space = SPACES["disc"]
    table = Table(points(space, np.random.default_rng(0).random((50, 2))), space, ADD_REMOVE)
    assert is_in_memory(open_source(table, 50))
    assert not is_in_memory(open_source(table, record_source.MAX_NUMBERS))
    queries = Queries(inside_queries(space, [[0.1, 0.2], [0.9, 0.5]]), space)
    assert same(open_source(table, record_source.MAX_NUMBERS).sums(queries), open_source(table, 50).sums(queries))


@pytest.mark.parametrize("name", SKETCHED)
@pytest.mark.parametrize("cells", [1, 1 << 10])
@settings(max_examples=8)
@given(data=st.data())
def test_sums_at_cell_borders(name: str, cells: int, data: st.DataObject) -> None:
    """At the points that queries are moved to: those of records at their quanta, rounded once, and within the bias.

    The bias that is said covers rounding of records and the way from a query to the point that stands for it. Records
    off their steps are moved to these beforehand, which is no part of it.
    """
    space = SKETCHED[name]
    record = st.lists(places, min_size=space.width, max_size=space.width)
    rows = data.draw(st.lists(record, min_size=1, max_size=12))
    query_points = inside_queries(space, data.draw(st.lists(record, min_size=1, max_size=4)))
    weights = [data.draw(st.sampled_from([0.0, 1.0, 4.0])) for _ in rows]
    roles = RowColumns(row_weights=weights, max_row_weight=4.0) if data.draw(st.booleans()) else RowColumns()
    table = Table(points(space, rows), space, roles.change("add-remove"), None, roles)
    with patched([(record_source, "MAX_CELLS", cells)]):
        source = open_source(table, len(rows))
    assert isinstance(source, SketchSource)
    shifted_points, shift_bounds = source.shift_queries(query_points)
    reshifted_points, reshift_bounds = source.shift_queries(shifted_points)
    assert np.array_equal(reshifted_points, shifted_points)
    assert reshift_bounds == pytest.approx(space.embedding.bias, rel=1e-3)
    queries = Queries(shifted_points, space)
    sums = source.sums(queries)
    row_weights = np.ones(len(rows)) if roles.row_weights is None else np.array(weights) / 4 * 1024
    assert int(sums.totals[0]) == source.total == row_weights.sum()
    quanta, embedding = space.quantize(space.read(points(space, rows))), space.embedding
    distances = np.abs(quanta[:, None] - np.rint(space.position(shifted_points))[None]) @ embedding.quantum
    assert sums.values[0] == pytest.approx(
        row_weights @ distances / queries.quantum, abs=0.5 + 1e-6 * row_weights.sum()
    )
    on_steps = space.point(quanta.astype(np.float64))
    exact = space.distance(on_steps, query_points)
    if row_weights.sum():
        mean = sums.values[0] * queries.quantum / row_weights.sum()
        # records off the steps stand at the nearest
        exact_mean = row_weights @ exact / row_weights.sum()
        assert (np.abs(mean - exact_mean) <= shift_bounds + queries.quantum).all()


@pytest.mark.parametrize("name", ["one column", "unequal weights"])
def test_cells_are_fine(name: str) -> None:
    """With the shipped sizes a query is moved by next to nothing: a millionth of the diameter, in few columns."""
    space = SKETCHED[name]
    table = Table(points(space, np.random.default_rng(0).random((20, space.width))), space, ProtectedChange())
    source = open_source(table, 20)
    query_points = inside_queries(space, np.random.default_rng(1).random((50, space.width)))
    assert source.shift_queries(query_points)[1].max() <= 1e-6 * space.diameter


def test_groups_have_no_sessions() -> None:
    """A source is of one group: `interactive` does not take them."""
    arguments: dict[str, Any] = {"groups": "city", "labels": ["a"]}
    with pytest.raises(TypeError, match="groups"):
        mp.interactive(np.zeros((9, 2)), SPACES["disc"], epsilon=1, delta=1e-6, max_queries=5, **arguments)


def test_a_table_that_changes_is_noticed(tmp_path: Any) -> None:
    """Read anew for every question: other rows than were counted are refused."""
    path = tmp_path / "people.csv"
    path.write_text("x,y\n" + "0.5,-2\n" * 40)
    space = mp.L2(center={"x": 1, "y": -2}, radius=3)
    with patched([(record_source, "MAX_NUMBERS", 10)]):
        session = mp.interactive(path, space, epsilon=9, delta=1e-6, max_queries=5, mechanism="field")
    first = session.ask([1, -2])
    path.write_text("x,y\n" + "0.5,-2\n" * 41)
    with pytest.raises(mp.MilepostError, match="has changed"):
        session.ask([2, -2])
    assert session.remaining == 4
    path.write_text("x,y\n" + "0.5,-2\n" * 40)
    assert session.ask([1, -2]).value == first.value
    session.ask([2, -2])
    assert session.remaining == 3
