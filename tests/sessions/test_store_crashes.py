"""Sessions whose process is killed at any instant, and two processes that use one store at once."""

import os
from functools import partial
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import milepost as mp
from milepost.errors import MilepostError
from tests.events import wait_until
from tests.processes import PATIENCE, START, start
from tests.sessions.tables import ACCOUNTING, PEOPLE, PURE, SESSION_PARAMS, open_session, points, steps_of

pytestmark = pytest.mark.filterwarnings("ignore::milepost.AccuracyWarning")

MAX_QUERIES = 5000
DISC = mp.L2(center=(5, 5), radius=8, directions=8)
CASES: dict[str, dict[str, Any]] = {
    "field": {"mechanism": "field", "space": DISC},
    "field, pure": {"space": DISC, **PURE},
    "tangents": {"mechanism": "tangents"},
    "slopes": {"mechanism": "slopes"},
}


def ask_for_ever(path: Path, kind: str, answer_log: Path, round_: int) -> None:
    """A line for each answer, once it is delivered; some are asked again, some by two at a time."""
    session = begin_session(path, kind)
    with answer_log.open("ab", buffering=0) as file:
        for point in points(MAX_QUERIES, round_)[2:]:
            (answer,) = session.ask_many([point])
            file.write(f"{point[0]!r} {point[1]!r} {answer.value!r} {answer.error!r}\n".encode())


def _has_answer(answer_log: Path, size: int, process: Any) -> bool:
    """Whether there is another answer, or nobody to give one."""
    return answer_log.stat().st_size > size or not process.is_alive()


def begin_session(path: Path, kind: str) -> mp.Session:
    ledger = mp.Ledger(path.with_name("ledger.db"))
    return open_session(path, **CASES[kind], max_queries=MAX_QUERIES, ledger=ledger, dataset="homes")


def read_answers(answer_log: Path) -> dict[tuple[float, float], tuple[float, float]]:
    """Values and errors by point; a line that is cut off was not delivered."""
    lines = [line.split() for line in answer_log.read_text().splitlines(keepends=True) if line.endswith("\n")]
    return {(float(x), float(y)): (float(value), float(error)) for x, y, value, error in lines}


def kill(folder: Path, kind: str, times: int) -> None:
    """At random instants, those of the beginning included: nothing delivered is lost or changed."""
    path, answer_log = folder / "homes.db", folder / "told"
    ledger = mp.Ledger(folder / "ledger.db")
    cap: dict[str, Any] = {"delta": 1e-6, "accounting": ACCOUNTING[kind]} if kind in ACCOUNTING else {}  # or pure ε
    account = ledger.create("homes", epsilon=1000, **cap)
    answer_log.touch()
    for round_, instant in enumerate(np.random.default_rng(7).uniform(0, 0.05, times)):
        size = answer_log.stat().st_size
        process = start(ask_for_ever, path, kind, answer_log, round_)
        if round_ % 3:
            wait_until(partial(_has_answer, answer_log, size, process))
        process.join(instant)  # or its end, which is a failure
        process.kill()
        process.join()
        assert process.exitcode == -9
    delivered = read_answers(answer_log)
    assert len(delivered) >= times / 2
    session = begin_session(path, kind)
    steps = steps_of(path)
    assert len(steps) >= len(delivered)
    assert len({step.key for step in steps}) == len(steps)
    answers = session.ask_many([list(point) for point in delivered])
    assert [(answer.value, answer.error) for answer in answers] == list(delivered.values())
    assert not any(answer.tested for answer in answers)
    assert len(steps_of(path)) == len(steps)
    if session.limit is not None:
        assert session.remaining == MAX_QUERIES - len(steps) <= MAX_QUERIES - len(delivered)
        assert sum(step.opened for step in steps) <= session.max_updates
    assert sum(step.updated for step in steps) == session.updates <= session.max_updates
    # a beginning that was killed stays spent; the session itself is charged once
    charged = [entry for entry in ledger.history("homes") if entry.counts]
    once = charged[-1].cost.nano
    assert ledger.spent("homes").nano == sum(entry.cost.nano for entry in charged) >= once
    assert ledger.spent("homes").nano <= account.cap.nano
    assert [entry.state for entry in charged][-1] in ("drawn", "settled")
    assert len([entry for entry in charged if entry.state == "settled"]) <= 1 + times // 3
    fresh = session.ask([1.2345, 2.3456])
    assert mp.resume(path, PEOPLE).ask([1.2345, 2.3456]).value == fresh.value


@pytest.mark.slow
@pytest.mark.parametrize("kind", CASES)
def test_what_was_answered_survives_kill_9(tmp_path: Path, kind: str) -> None:
    kill(tmp_path, kind, 100)


ROOM = 60


def ask_all(path: Path, kind: str, barrier: Barrier, answer_log: Path, seed: int) -> None:
    """Points that others ask as well, in an order of its own, until all are asked or none is left."""
    barrier.wait()
    session = open_session(path, **CASES[kind], max_queries=ROOM)
    queries = np.random.default_rng(seed).permutation(np.array(points(ROOM + 20)))
    with answer_log.open("w") as file:
        for index, point in enumerate(queries.tolist()):
            try:
                answer = session.ask(point, name=f"{point[0]!r}, {point[1]!r}" if index % 5 == 0 else None)
            except MilepostError as error:
                if f"0 of max_queries={ROOM} are left" not in str(error):
                    raise
                continue
            file.write(f"{point[0]!r} {point[1]!r} {answer.value!r} {answer.error!r}\n")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["field", "tangents"])
def test_processes_share_one_session(tmp_path: Path, kind: str) -> None:
    """Begun by all of them at once: one session, equal answers at equal points, and exactly as many as are paid for."""
    path, barrier = tmp_path / "homes.db", START.Barrier(3)
    processes = [start(ask_all, path, kind, barrier, tmp_path / str(seed), seed) for seed in range(3)]
    for process in processes:
        process.join(PATIENCE)
        assert process.exitcode == 0
    steps = steps_of(path)
    assert len(steps) == len({step.key for step in steps}) == ROOM
    logs = [read_answers(tmp_path / str(seed)) for seed in range(3)]
    together: dict[tuple[float, float], tuple[float, float]] = {}
    for log in logs:
        for point, answer in log.items():
            assert together.setdefault(point, answer) == answer
    assert len(together) == ROOM
    session = open_session(path, **CASES[kind], max_queries=ROOM)
    assert session.remaining == 0
    assert {point: (result.value, result.error) for point in together for result in [session.ask(point)]} == together
    assert sum(step.opened for step in steps) <= session.max_updates
    names = [name for name, _, _ in session.transcript()]
    assert len(names) == len(set(names)) > 10


def begin_and_die(path: Path, kind: str, answer_log: Path) -> None:
    session = begin_session(path, kind)
    answer_log.write_text(repr(session.ask([1, 2]).value))
    os._exit(9)


def test_a_session_that_goes_on_is_not_charged_again(tmp_path: Path) -> None:
    """In another process, whose first one has ended without a word."""
    path, answer_log = tmp_path / "homes.db", tmp_path / "told"
    ledger = mp.Ledger(tmp_path / "ledger.db")
    ledger.create("homes", epsilon=1000, delta=1e-6)
    process = start(begin_and_die, path, "field", answer_log)
    process.join(PATIENCE)
    assert process.exitcode == 9
    (entry,) = ledger.history("homes")
    assert (entry.state, entry.guarantees) == (
        "settled",
        (mp.Guarantee(SESSION_PARAMS["epsilon"], SESSION_PARAMS["delta"]),),
    )
    assert begin_session(path, "field").ask([1, 2]).value == float(answer_log.read_text())
    assert len(ledger.history("homes")) == 1
