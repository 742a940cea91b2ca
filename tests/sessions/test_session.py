"""Session: queries that arrive one by one."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

import milepost as mp
from milepost.sessions.engines.game import GameEngine
from tests.chance import FALSE_ALARM


@pytest.fixture
def session(homes: pd.DataFrame, city: mp.L1) -> mp.Session:
    return mp.interactive(homes, city, epsilon=3, delta=1e-6, max_queries=50, mechanism="tangents")


@pytest.mark.slow
def test_answers_keep_their_promise() -> None:
    """Theorem 1 through the front door: 500 adaptive queries within the promise, which β makes sure."""
    people = np.random.default_rng(0).beta(2, 3, (1_000_000, 2)) * [1, 2]
    space = mp.L1([(0, 1), (0, 2)])
    tangents_session = mp.interactive(
        people, space, epsilon=1, delta=1e-6, max_queries=500, failure_probability=FALSE_ALARM, mechanism="tangents"
    )
    with tangents_session as session:
        assert session.error < 0.05 * space.diameter
        best, step = np.array([0.5, 1.0]), 0.5
        rng = np.random.default_rng(1)
        transcript = []
        for _ in range(100):  # an analyst who looks for the centre
            candidates = np.clip(best + rng.normal(0, step, (5, 2)), 0, [1, 2])
            answers = session.ask_many(candidates)
            best = candidates[int(np.argmin([answer.value for answer in answers]))]
            step *= 0.97
            transcript += list(zip(candidates, answers, strict=True))
        assert session.updates <= session.max_updates
        exact = mp.exact_mean_distance(people, space, np.array([point for point, _ in transcript]))
        errors = np.abs(exact - [answer.value for _, answer in transcript])
        assert errors.max() <= session.error
        assert any(answer.updated for _, answer in transcript)
        assert session.remaining == 0


def test_an_answer_says_what_is_left(session: mp.Session) -> None:
    """value, error, updated, remaining."""
    answer = session.ask([2, 3])
    assert answer.remaining == session.remaining == 49
    assert answer.updated
    assert answer.tested
    assert answer.error == session.error
    assert len(session.ask_many([[1, 2], [3, 4]])) == 2
    assert session.remaining == 47


def test_the_last_query_is_the_last(session: mp.Session) -> None:
    """A batch that does not fit is refused whole; afterwards nothing is answered."""
    with pytest.raises(mp.MilepostError, match="51 new queries were asked, and 50 of max_queries=50 are left"):
        session.ask_many(np.linspace([0, 0], [9, 9], 51))
    assert session.asked == 0
    session.ask_many(np.linspace([0, 0], [9, 9], 50))
    with pytest.raises(mp.MilepostError, match="max_queries"):
        session.ask([1, 1.5])


def test_a_batch_is_what_single_queries_are(homes: pd.DataFrame, city: mp.L1) -> None:
    """ask_many answers in order; a repeated point has the answer it had, and is free."""
    session = mp.interactive(homes, city, epsilon=3, delta=1e-6, max_queries=200, mechanism="tangents")
    answers = session.ask_many([*np.linspace([4, 4], [6, 6], 50), *[[5, 5]] * 50])
    assert len({answer.value for answer in answers[50:]}) == 1
    assert [answer.remaining for answer in answers] == [*range(199, 149, -1), *[149] * 50]
    assert sum(answer.updated for answer in answers) == session.updates
    assert session.ask([5, 5]).value == answers[-1].value


@pytest.mark.parametrize("points", [[1, 2, 3], [[1, np.nan]], "ab", 7, [[1, 2], [3]]])
def test_bad_points_cost_nothing(session: mp.Session, points: object) -> None:
    """Refused before they count."""
    with pytest.raises(mp.MilepostError):
        session.ask_many(points)
    assert session.asked == 0


def test_ask_takes_one_point(session: mp.Session) -> None:
    """And says so."""
    with pytest.raises(mp.MilepostError, match="ask_many"):
        session.ask([[1, 2], [3, 4]])
    assert session.asked == 0


def test_a_closed_session_forgets(session: mp.Session) -> None:
    """The data is gone."""
    with session:
        session.ask([1, 1])
    with pytest.raises(mp.MilepostError, match="closed"):
        session.ask([1, 1])
    assert "1 of 50" in repr(session)


def test_threads_share_one_budget(homes: pd.DataFrame, city: mp.L1) -> None:
    """Eight threads at once make no more readings than one, and count every query."""
    session = mp.interactive(homes, city, epsilon=3, delta=1e-6, max_queries=800, mechanism="tangents")
    assert isinstance(session._engine, GameEngine)
    object.__setattr__(session._engine.margins, "threshold", -(10**12))  # every test is "above"
    points = np.random.default_rng(0).random((8, 100, 2)) * 10
    with ThreadPoolExecutor(8) as pool:
        answers = [answer for batch in pool.map(session.ask_many, points) for answer in batch]
    assert session.updates == session.max_updates == sum(answer.updated for answer in answers)
    assert session.remaining == 0


def test_a_session_cannot_be_copied(session: mp.Session) -> None:
    """Two copies would spend one budget twice, and a pickle would hold exact sums."""
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(mp.MilepostError, match="copied"):
            duplicate(session)
