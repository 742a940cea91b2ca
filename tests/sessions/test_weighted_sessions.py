"""Weighted distances in sessions: asked once, stored, and continued from by other processes."""

import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import milepost as mp
from milepost.ingest.query_points import read_queries
from milepost.pipeline.selection import session_choices
from milepost.privacy.protected_change import ProtectedChange
from milepost.sessions.engine import query_bytes, read_query_bytes
from milepost.sessions.store import SCHEMA, Store
from tests.mechanisms.contract import APPROXIMATE, silent

PEOPLE = np.random.default_rng(0).uniform(0, 10, (500, 2))
PLANES = {"rows": mp.L2([(0, 10), (0, 10)]), "sketch": mp.L1([(0, 10), (0, 10)])}
SUM = mp.WeightedDistances([[2, 3], [5, 5]], [2, 1])
SAME = mp.WeightedDistances([[5, 5], [2, 3]], [10, 20])
DIFFERENCE = mp.WeightedDistances([[2, 3], [2.5, 3]], [1, -1])

pytestmark = pytest.mark.filterwarnings("ignore::milepost.AccuracyWarning")
planes = pytest.mark.parametrize("space", PLANES.values(), ids=PLANES)


def begin(space: Any, **options: Any) -> mp.Session:
    arguments: dict[str, Any] = {"epsilon": 5, "delta": 1e-6, "max_queries": 9, "mechanism": "field"} | options
    return mp.interactive(PEOPLE, space, **arguments)


@planes
def test_the_same_query_is_free(space: Any) -> None:
    """In another order of points and with other factors; a point of weight 1 is that point."""
    session = begin(space)
    first = session.ask(SUM)
    assert (first.updated, first.remaining) == (True, 8)
    again = session.ask(SAME)
    assert (again.updated, again.remaining, again.tested) == (False, 8, False)
    assert again.value == pytest.approx(10 * first.value)
    assert again.error == pytest.approx(10 * first.error)
    point = session.ask([2, 3])
    assert session.ask(mp.WeightedDistances([[2, 3]], [1])) == mp.Answer(
        point.value, point.low, point.high, 0.95, point.error, False, 7, False
    )
    five = session.ask(mp.WeightedDistances([[2, 3]], [5]))
    assert five.value == pytest.approx(5 * point.value)
    assert five.remaining == 7
    answers = session.ask_many([[2, 3], SAME, DIFFERENCE, [9, 9]])
    assert [answer.remaining for answer in answers] == [7, 7, 6, 5]


def test_an_answer_is_an_estimate() -> None:
    session = begin(PLANES["rows"])
    answer = session.ask(DIFFERENCE)
    assert isinstance(answer, mp.Estimate)
    assert float(answer) == answer.value
    assert answer.confidence == 0.95
    assert (answer.high, answer.low) == (answer.value + answer.error, answer.value - answer.error)
    assert answer.to_json()["error"] == answer.error
    far = begin(PLANES["rows"], epsilon=0.01).ask([5, 5])
    assert far.low >= 0
    assert far.high == far.value + far.error


@planes
def test_a_store_holds_weighted_distances(space: Any, tmp_path: Path) -> None:
    """Another process goes on from them; names stand for a query with its factor."""
    store = tmp_path / "s.db"
    session = begin(space, store=store)
    first = session.ask(SUM, name="sum")
    other = mp.resume(store, PEOPLE)
    difference = other.ask(DIFFERENCE, name="difference")
    assert session.ask(DIFFERENCE).value == difference.value
    assert session.ask(SAME).value == pytest.approx(10 * first.value)
    session.ask_many([[1, 2], [9, 9]])
    third = mp.resume(store, PEOPLE)
    assert third.remaining == session.remaining == 5
    assert third.ask(SUM) == session.ask(SUM)
    third.ask(mp.WeightedDistances([[2, 3], [9, 9]], [1, 1]))
    names = third.transcript()
    assert [name for name, _, _ in names] == ["sum", "difference"]
    assert isinstance(names[0][1], mp.WeightedDistances)
    assert names[0][1].weights == (2.0, 1.0)
    assert names[0][2].value == first.value
    assert third.ask(names[0][1]).value == first.value
    assert third.remaining == 4
    with pytest.raises(mp.ConflictError, match="another name"):
        third.ask(SAME, name="sum")


def test_innovations_of_a_resumed_session_are_those_of_one_process(tmp_path: Path) -> None:
    """Exact ones are computed again from the table, queries with weights included."""
    store = tmp_path / "s.db"
    session = begin(PLANES["rows"], store=store)
    asked: list[Any] = [SUM, [1, 2], DIFFERENCE, [9, 9]]
    for query in asked:
        session.ask(query)
    other = mp.resume(store, PEOPLE)
    other.ask([4, 4])
    engines: list[Any] = [session._engine, other._engine]
    assert engines[0]._innovations.exact == engines[1]._innovations.exact[:4]
    assert engines[0]._innovations.noisy == engines[1]._innovations.noisy[:4]


def test_a_store_of_the_version_before_goes_on(tmp_path: Path) -> None:
    """Its queries are points, whose bytes are the same; the first question gives it the version of today."""
    store = tmp_path / "s.db"
    first = begin(PLANES["rows"], store=store).ask([1, 2])
    connection = sqlite3.connect(store)
    connection.execute("PRAGMA user_version = 2")
    connection.close()
    session = mp.resume(store, PEOPLE)
    assert session.ask([1, 2]).value == first.value
    session.ask(SUM)
    connection = sqlite3.connect(store)
    assert connection.execute("PRAGMA user_version").fetchone() == (SCHEMA.version,) == (3,)
    connection.close()
    assert Store(store).count() == 2


def test_noise_does_not_depend_on_whether_sums_are_asked() -> None:
    """A session may be asked about sums at any time: its noise is the same as that of the version before."""
    choices, _ = session_choices(PLANES["rows"], 500, ProtectedChange(), APPROXIMATE, 9, 0.05, ["field"])
    assert all(kernel.combination_error == 0 for kernel in choices[0].space.kernels)


def test_bytes_of_queries_are_read_back() -> None:
    space = PLANES["rows"]
    queries, _ = read_queries([SUM, SAME, DIFFERENCE, [-0.0, 3]], space)
    parts = query_bytes(queries)
    assert len(parts[3]) == 16
    for index, content in enumerate(parts):
        query = read_query_bytes(space, content)
        assert query.keys() == queries.select([index]).keys()
        assert query.factors.tolist() == queries.select([index]).factors.tolist()
    for wrong in (parts[0][:-8], b"nearest " + parts[0][8:], parts[0] + b"x", b""):
        with pytest.raises(mp.MilepostError, match="does not know"):
            read_query_bytes(space, wrong)


def test_a_session_of_the_game_answers_points_only() -> None:
    session = begin(PLANES["sketch"], mechanism="tangents")
    with (
        silent(),
        pytest.raises(mp.MilepostError, match="tangents answers points only; begin one with mechanism='field'"),
    ):
        session.ask(SUM)
    assert session.asked == 0
    assert session.ask([2, 3]).confidence == 0.95


def test_a_session_of_a_synopsis_adds_up_its_answers(tmp_path: Path) -> None:
    """Without limit; also in a store."""
    for options in ({}, {"store": tmp_path / "s.db"}):
        session = begin(PLANES["sketch"], mechanism="slopes", **options)
        assert session.synopsis is not None
        expected = session.synopsis.estimate(SUM)
        answer = session.ask(SUM)
        assert [answer.value, answer.high] == pytest.approx([expected.value, expected.high])
        assert answer.remaining is None
        assert session.ask(SAME).value == pytest.approx(10 * answer.value)


def test_wrong_queries_are_refused_and_nothing_is_spent() -> None:
    session = begin(PLANES["rows"])
    for wrong in (mp.WeightedDistances([[1, 1]], [1, 2]), mp.WeightedDistances([[1, 1], [1, 1]], [1, -1])):
        with silent(), pytest.raises(mp.MilepostError):
            session.ask(wrong)
        with pytest.raises(mp.MilepostError):
            session.check(wrong)
    session.check(SUM)
    with silent(), pytest.raises(mp.MilepostError, match="ask takes one point, got 2"):
        session.ask([SUM, [1, 1]])
    many = np.random.default_rng(0).uniform(0, 10, (512, 2))
    one = mp.WeightedDistances(many, np.ones(512))
    assert session.ask(one).remaining == 8
