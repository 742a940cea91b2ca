"""Sessions in a store: what is kept, what goes on, what is refused, and what is not in the file."""

import json
import os
import shutil
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import milepost as mp
from milepost._typing import AnyArray
from milepost.auditing.noise_trace import record_noise
from milepost.errors import MilepostError
from milepost.pipeline.interactive import stored_card
from milepost.privacy import noise
from milepost.sessions.engine import Step
from milepost.sessions.engines.field import FieldEngine
from milepost.sessions.engines.game import GameEngine
from milepost.sessions.store import SCHEMA, Store
from milepost.spaces.queries import Queries
from tests.sessions.tables import KINDS, LIMIT, PEOPLE, PURE, SESSION_PARAMS, SPACE, open_session, points, steps_of

pytestmark = pytest.mark.filterwarnings("ignore::milepost.AccuracyWarning")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "homes.db"


# What goes on.


@pytest.mark.parametrize("kind", KINDS)
def test_a_session_goes_on(path: Path, kind: str) -> None:
    """By the same call, by `auto` and by `resume`: the same answers, free, and what was left is left."""
    queries = points(6)
    first = open_session(path, kind)
    answers = [(answer.value, answer.error) for answer in first.ask_many(queries)]
    for again in (open_session(path, kind), open_session(path), mp.resume(path, PEOPLE)):
        remaining = None if kind == "slopes" else LIMIT - 6
        assert (again.remaining, again.mechanism, again.error, again.updates) == (
            remaining,
            kind,
            first.error,
            first.updates,
        )
        assert [(answer.value, answer.error) for answer in again.ask_many(queries[::-1])] == answers[::-1]
        assert again.remaining == remaining
        assert not any(answer.tested or answer.updated for answer in again.ask_many(queries))
    assert again.ask([0.5, 0.25]).remaining == (None if remaining is None else remaining - 1)
    assert first.ask([0.5, 0.25]) == again.ask([0.5, 0.25])
    assert len(steps_of(path)) == 7


def test_a_session_of_pure_epsilon_goes_on(path: Path) -> None:
    """By the same call, by `auto` and by `resume`, with noise of its law for new points."""
    queries = points(6)
    first = open_session(path, **PURE)
    answers = [(answer.value, answer.error) for answer in first.ask_many(queries)]
    with record_noise() as calls:
        for again in (open_session(path, **PURE), open_session(path, delta=0.0), mp.resume(path, PEOPLE)):
            assert (again.remaining, again.mechanism, again.error) == (LIMIT - 6, "field", first.error)
            assert again.guarantee == mp.Guarantee(40)
            assert [(answer.value, answer.error) for answer in again.ask_many(queries)] == answers
        assert not calls
        assert again.ask([0.5, 0.25]).remaining == LIMIT - 7
        assert [call.law for call in calls] == ["laplace"]
    assert first.ask([0.5, 0.25]) == again.ask([0.5, 0.25])
    with pytest.raises(MilepostError, match="another guarantee: ε = 40, not ε = 40, δ = 1e-06"):
        open_session(path, "field")


@pytest.mark.parametrize(
    "params",
    [
        {"neighbors": "add-remove"},
        {"neighbors": "add-remove", "n": 400},
        {"neighbors": "add-remove", "n": 400, **PURE},
        {"neighbors": "add-remove", **PURE},
        {"privacy_unit": "id", "contributions": 2},
        {"privacy_unit": "id", "contributions": 2, **PURE},
        {"row_weights": "w", "max_row_weight": 2.0},
        {"row_weights": "w", "max_row_weight": 2.0, **PURE},
    ],
)
def test_a_session_about_people_and_weights_goes_on(path: Path, params: dict[str, Any]) -> None:
    """`resume` needs the names of columns only, and draws no number of rows again."""
    table = pd.DataFrame({"x": PEOPLE[:, 0], "y": PEOPLE[:, 1], "id": np.arange(500) // 3, "w": 1.5})
    space = mp.L1({"x": (0, 10), "y": (0, 10)})
    first = open_session(path, people=table, space=space, **params)
    value = first.ask([1, 2]).value
    again = mp.resume(path, table, row_weights=params.get("row_weights"))
    assert (again.n, again.ask([1, 2]).value, again.change) == (first.n, value, first.change)
    other = (
        {"n": 401}
        if "neighbors" in params
        else {"contributions": 3}
        if "privacy_unit" in params
        else {"max_row_weight": 3.0}
    )
    with pytest.raises(MilepostError, match=r"another (change|n)"):
        open_session(path, people=table, space=space, **params | other)


@pytest.mark.parametrize(
    "space",
    [mp.GreatCircle((5, 5), 900), mp.L1([(0, 10), (0, 10)], step=[0.5, 1]), mp.Lp(1.5, [(0, 9)] * 2, directions=8)],
)
def test_spaces_come_back(path: Path, space: Any) -> None:
    first = open_session(path, space=space)
    answer = first.ask([5, 5], name="centre")
    again = mp.resume(path, PEOPLE)
    assert again.space == space or again.space.to_json() == space.to_json()
    assert again.ask([5, 5], name="centre").value == answer.value


def test_sequences_come_back(path: Path) -> None:
    sequences = ["ACG", "TTT", "ACC"] * 100
    first = open_session(path, people=sequences, space=mp.Hamming(["ACGT"] * 3))
    value = first.ask("ACG", name="x").value
    ((name, point, answer),) = mp.resume(path, sequences).transcript()
    assert (name, point, answer.value) == ("x", ("A", "C", "G"), value)


def test_epochs_are_abandoned_and_never_more_than_paid_for(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every opening that asks something new begins a test; when none is left, nothing is promised, and that is said.

    Without noise, so that how many tests learn something is no matter of chance.
    """
    monkeypatch.setattr(noise, "_add", lambda _law, values, _scale: values)
    max_updates = open_session(path, "tangents").max_updates
    fresh = iter(points(max_updates + 20))
    errors = []
    for _ in range(max_updates + 3):
        errors.append(mp.resume(path, PEOPLE).ask(next(fresh)).error)
    steps = steps_of(path)
    assert sum(step.opened for step in steps) == max_updates
    assert sum(step.updated for step in steps) < max_updates  # or this test says nothing
    assert errors[:3] == [open_session(path).error] * 3
    assert errors[-1] == SPACE.diameter > errors[0]
    with pytest.warns(mp.AccuracyWarning, match="new answers are promised nothing"):
        mp.resume(path, PEOPLE).ask(next(fresh))


def test_a_fork_begins_its_own_test_or_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise that is in memory would be in both processes."""
    store_session, memory_session = (
        open_session(path, "tangents"),
        mp.interactive(PEOPLE, SPACE, mechanism="tangents", **SESSION_PARAMS),
    )
    first, other, third = points(3)
    value = store_session.ask(first).value
    memory_session.ask(first)
    before = steps_of(path)[0]
    with monkeypatch.context() as patch:
        patch.setattr(os, "getpid", lambda: 1)
        assert store_session.ask(first).value == value
        store_session.ask(other)
        with pytest.raises(MilepostError, match="fork"):
            memory_session.ask(third)
    assert steps_of(path)[1].opened == (1 if not before.updated else steps_of(path)[1].opened)
    assert memory_session.ask(third).remaining == LIMIT - 2


@pytest.mark.parametrize("kind", ["field", "tangents"])
def test_two_sessions_on_one_store_see_each_other(path: Path, kind: str) -> None:
    first, second = open_session(path, kind), open_session(path, kind)
    for index, point in enumerate(points(20)):
        asker, listener = (first, second) if index % 2 else (second, first)
        assert asker.ask(point).value == listener.ask(point).value
    assert first.remaining == second.remaining == LIMIT - 20
    assert sum(step.opened for step in steps_of(path)) <= first.max_updates
    assert len({step.key for step in steps_of(path)}) == 20


def test_the_limit_is_one_for_all(path: Path) -> None:
    session, other_session = open_session(path, "field", max_queries=3), open_session(path, "field", max_queries=3)
    first, second, third, fourth = points(4)
    session.ask_many([first, second])
    with pytest.raises(
        MilepostError, match=r"2 new queries were asked, and 1 of max_queries=3 is left\. None was answered"
    ):
        other_session.ask_many([third, fourth])
    other_session.ask(third)
    with pytest.raises(MilepostError, match="1 new query was asked, and 0 of max_queries=3 are left"):
        session.ask(fourth)
    assert session.ask(third).value == other_session.ask(third).value


# Names.


@pytest.mark.parametrize("kind", KINDS)
def test_a_name_has_one_answer(path: Path, kind: str) -> None:
    session = open_session(path, kind)
    answer = session.ask([1, 2], name="a")
    assert session.ask([1, 2], name="a").value == session.ask([1, 2], name="b").value == answer.value
    for other in (session, mp.resume(path, PEOPLE)):
        with pytest.raises(MilepostError, match="question 'a' was asked about another point"):
            other.ask([2, 1], name="a")
        with pytest.raises(MilepostError, match="question 'c' was asked about another point"):
            other.ask_many([[1, 2], [2, 1]], names=["c", "c"])
    assert len(steps_of(path)) == 1
    assert [name for name, _, _ in session.transcript()] == ["a", "b"]


def test_a_transcript_comes_back(path: Path) -> None:
    """Points as they were asked, answers as they were given, in order."""
    session = open_session(path, "field")
    assert session.transcript() == []
    names = ["x", "Ä" * 200, "[bold]", "a'; DROP TABLE step; --", "q 5"]
    answers = session.ask_many(points(5), names=names)
    for again in (session, mp.resume(path, PEOPLE)):
        transcript = again.transcript()
        assert [name for name, _, _ in transcript] == names
        assert [list(point) for _, point, _ in transcript] == points(5)
        assert [(a.value, a.error) for _, _, a in transcript] == [(a.value, a.error) for a in answers]


@pytest.mark.parametrize("name", ["", "x" * 201, "two\nlines", "\0", "\ud800", 7, b"x"])
def test_bad_names_cost_nothing(path: Path, name: Any) -> None:
    session = open_session(path, "field")
    with pytest.raises(MilepostError, match="one line of 1 to 200 characters"):
        session.ask([1, 2], name=name)
    assert session.remaining == LIMIT


@pytest.mark.parametrize("names", ["ab", ["a"], ["a", "b", "c"], []])
def test_one_name_a_point(path: Path, names: Any) -> None:
    session = open_session(path, "field")
    with pytest.raises(MilepostError, match="one name for each of the 2 points"):
        session.ask_many(points(2), names=names)
    assert session.remaining == LIMIT


# Refusals.


def changed_table(column: int, row: int = 0) -> AnyArray:
    table = PEOPLE.copy()
    table[row, column] += 0.01
    return table


TABLES: dict[str, AnyArray] = {
    "a value": changed_table(1),
    "the last value": changed_table(1, 499),
    "a row more": np.vstack([PEOPLE, PEOPLE[:1]]),
    "a row less": PEOPLE[:-1],
    "columns": PEOPLE[:, ::-1],
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", TABLES)
def test_another_table_is_refused(path: Path, kind: str, name: str) -> None:
    value = open_session(path, kind).ask([1, 2]).value
    with pytest.raises(MilepostError, match="another table: the rows, or the columns in use, differ"):
        mp.resume(path, TABLES[name])
    with pytest.raises(MilepostError, match="another table: the rows, or the columns in use, differ"):
        open_session(path, kind, TABLES[name])
    assert open_session(path, kind).ask([1, 2]).value == value


OTHER_PARAMS: list[tuple[str, dict[str, Any]]] = [
    ("space", {"space": mp.L1([(0, 10), (0, 11)])}),
    ("guarantee", {"epsilon": 41}),
    ("guarantee", {"delta": 1e-7}),
    ("max_queries", {"max_queries": LIMIT + 1}),
    ("mechanism", {"mechanism": "tangents"}),
    ("mechanism", {"mechanism": "slopes"}),
    ("failure_probability", {"failure_probability": 0.01}),
    ("change", {"neighbors": "add-remove"}),
    ("n", {"n": 500}),
]


@pytest.mark.parametrize(("name", "change"), OTHER_PARAMS)
def test_another_call_is_refused(path: Path, name: str, change: dict[str, Any]) -> None:
    """Nothing is charged to the ledger for it, or lost."""
    ledger = mp.Ledger(path.with_name("ledger.db"))
    ledger.create("homes", epsilon=100, delta=1e-6)
    params: dict[str, Any] = {"mechanism": "field", "ledger": ledger, "dataset": "homes"}
    value = open_session(path, **params).ask([1, 2]).value
    spent = ledger.spent("homes").nano
    with pytest.raises(MilepostError, match=f"session with another {name}: .*begin another session in another store"):
        open_session(path, **params | change)
    assert ledger.spent("homes").nano == spent
    assert open_session(path, **params).ask([1, 2]).value == value


def test_another_version_is_refused(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose noise would be another's, or whose card is of a format to come."""
    for kind in ("field", "tangents"):
        store = path.with_name(kind)
        open_session(store, kind).ask([1, 2])
        card = stored_card(store)
        for change, message in (
            ({"numbers": [*card["numbers"][:-1], 7.0]}, "another version of milepost"),
            ({"format": 4}, "has format 4, and this version reads format 3. A newer version wrote it: update milepost"),
        ):
            with monkeypatch.context() as patch:
                patch.setattr(json, "loads", loads_with(change))
                with pytest.raises(MilepostError, match=message):
                    open_session(store, kind)


def loads_with(change: dict[str, Any]) -> Callable[[str], Any]:
    loads = json.loads

    def result(text: str) -> Any:
        content = loads(text)
        return content | change if isinstance(content, dict) and "format" in content else content

    return result


def test_nothing_to_resume_is_said(path: Path) -> None:
    with pytest.raises(MilepostError, match="there is no session store"):
        mp.resume(path, PEOPLE)
    Store(path).create_file()
    with pytest.raises(MilepostError, match="has no session yet; begin one with"):
        mp.resume(path, PEOPLE)
    assert open_session(path).ask([1, 1]).value == mp.resume(path, PEOPLE).ask([1, 1]).value


@pytest.mark.parametrize("store", [7, "a\0b", b"x"])
def test_a_store_is_a_path(store: Any) -> None:
    with pytest.raises(MilepostError, match="store= must be the path of a file"):
        mp.interactive(PEOPLE, SPACE, store=store, **SESSION_PARAMS)


# The key.


def test_the_key_is_the_owners(path: Path) -> None:
    open_session(path, "field")
    key = Path(f"{path}.key")
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert sorted(file.name for file in path.parent.iterdir()) == ["homes.db", "homes.db.key"]
    assert key.read_bytes() not in path.read_bytes()


def test_without_its_key_a_store_stays_closed(path: Path) -> None:
    """Missing, cut off, another one; and it opens again once it is back."""
    value = open_session(path, "field").ask([1, 2]).value
    key = Path(f"{path}.key")
    correct_key = key.read_bytes()
    for wrong_key, message in (
        (correct_key[:31], "is damaged: it has 31 bytes, and a key has 32"),
        (correct_key[::-1], "another table"),
    ):
        key.write_bytes(wrong_key)
        with pytest.raises(MilepostError, match=message):
            mp.resume(path, PEOPLE)
    key.unlink()
    with pytest.raises(MilepostError, match=r"homes\.db\.key cannot be read: .*Restore the file next to the store"):
        open_session(path)
    assert not key.exists()
    key.write_bytes(correct_key)
    assert mp.resume(path, PEOPLE).ask([1, 2]).value == value


def test_a_damaged_key_is_found_before_anything_is_spent(path: Path) -> None:
    ledger = mp.Ledger(path.with_name("ledger.db"))
    ledger.create("homes", epsilon=100, delta=1e-6)
    Path(f"{path}.key").write_bytes(b"short")
    with pytest.raises(MilepostError, match="is damaged"):
        open_session(path, ledger=ledger, dataset="homes")
    assert ledger.history("homes") == ()


# Files.


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    """A ledger, a SQLite file, text, a folder: refused before anything is charged."""
    ledger = mp.Ledger(tmp_path / "ledger.db")
    ledger.create("homes", epsilon=100, delta=1e-6)
    foreign, text = tmp_path / "foreign.db", tmp_path / "homes.csv"
    with closing(sqlite3.connect(foreign)) as other, other:
        other.execute("CREATE TABLE homes (lat, lon)")
    text.write_text("lat,lon\n52.5,13.4\n" * 100)
    for path, message in (
        (ledger.path, "is not a session store: it is a SQLite file of another program"),
        (foreign, "is not a session store: it is a SQLite file of another program"),
        (text, "is not a session store: it is not a SQLite file"),
        (tmp_path, "is a folder or a device"),
        (tmp_path / "none" / "homes.db", "there is no folder"),
    ):
        before = path.read_bytes() if path.is_file() else b""
        with pytest.raises(MilepostError, match=message):
            open_session(path, ledger=ledger, dataset="homes")
        assert (path.read_bytes() if path.is_file() else b"") == before
    assert ledger.history("homes") == ()
    assert not list(tmp_path.glob("*.key"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (f"PRAGMA user_version = {SCHEMA.version + 1}", "session store of a newer milepost"),
        ("PRAGMA user_version = 1", "session store of an older milepost: it has version 1"),
        ("PRAGMA user_version = 0", "session store of an older milepost: it has version 0"),
        ("PRAGMA application_id = 7", "SQLite file of another program"),
    ],
)
def test_stores_of_other_versions_are_left_alone(path: Path, change: str, message: str) -> None:
    session = open_session(path, "field")
    session.ask([1, 2])
    with closing(sqlite3.connect(path)) as other:
        other.execute(change)
    content = path.read_bytes()
    for call in (lambda: open_session(path), lambda: mp.resume(path, PEOPLE), lambda: session.ask([3, 3])):
        with pytest.raises(MilepostError, match=message):
            call()
    assert path.read_bytes() == content
    with closing(sqlite3.connect(path)) as other:
        other.execute(f"PRAGMA user_version = {SCHEMA.version}")
        other.execute(f"PRAGMA application_id = {SCHEMA.application_id}")
    assert session.ask([3, 3]).remaining == LIMIT - 2


def test_what_was_released_cannot_be_changed_or_deleted(path: Path) -> None:
    open_session(path, "field").ask([1, 2], name="a")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        for change in (
            "DELETE FROM step",
            "UPDATE step SET value = 1",
            "DELETE FROM session",
            "UPDATE question SET name = 'b'",
        ):
            with pytest.raises(sqlite3.IntegrityError, match="never changed"):
                other.execute(change)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE step SET value = value + 1",
        "UPDATE step SET released = zeroblob(length(released))",
        "DELETE FROM step WHERE number = 0",
        "UPDATE session SET card = replace(card, '400', '900')",
        "UPDATE question SET number = 1",
    ],
)
def test_edited_rows_are_noticed(path: Path, change: str) -> None:
    open_session(path, "field").ask_many(points(2), names=["a", "b"])
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        for (name,) in other.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            other.execute(f"DROP TRIGGER {name}")
        other.execute(change)
    with pytest.raises(MilepostError, match="is damaged"):
        mp.resume(path, PEOPLE).ask(points(1)[0], name="a")


@pytest.mark.slow
def test_flipped_bits_are_noticed_or_harmless(path: Path) -> None:
    """One bit is wrong: an error of ours, or the answers that were given."""
    values = {tuple(point): open_session(path, "field").ask(point).value for point in points(3)}
    content, noticed = path.read_bytes(), 0
    positions = [position for position, byte in enumerate(content) if byte or position % 64 == 0]
    for position in positions[:: max(1, len(positions) // 60)]:
        path.write_bytes(content[:position] + bytes([content[position] ^ 1 << position % 8]) + content[position + 1 :])
        try:
            session = mp.resume(path, PEOPLE)
            assert {point: session.ask(point).value for point in values} == values
        except MilepostError:
            noticed += 1
        for file in path.parent.glob("homes.db-*"):
            file.unlink()
    assert noticed > 5


def test_a_backup_under_a_session_is_noticed(path: Path) -> None:
    """Its lost answers would be given with new noise, and counted twice or not at all."""
    session = open_session(path, "field")
    first, second, third = points(3)
    session.ask(first)
    shutil.copy(path, path.with_name("backup"))
    value = session.ask(second).value
    shutil.copy(path, path.with_name("whole"))
    shutil.copy(path.with_name("backup"), path)
    for point in (first, second, third):
        with pytest.raises(MilepostError, match="lacks answers that it had: another file, such as a backup"):
            session.ask(point)
    shutil.copy(path.with_name("whole"), path)
    assert session.ask(second).value == value
    assert session.ask(third).remaining == LIMIT - 3


def test_numbers_come_back_as_they_were(path: Path) -> None:
    """SQLite keeps −0.0 as 0.0: a row must not look damaged for that."""
    open_session(path, "field")
    steps = [Step(b"a", -0.0, 0.0), Step(b"b", 5.0, 1e-300), Step(b"c", 1 / 3, 2.0**60, True, True, 2, b"\0x")]
    with Store(path).writing() as log:
        log.add(steps, [])
    assert steps_of(path) == steps


# Nothing secret.


@pytest.mark.parametrize("kind", ["field", "tangents"])
def test_nothing_secret_is_on_the_disk(path: Path, kind: str) -> None:
    """No row, no exact sum and no exact innovation, while the session is open and after it.

    Numbers whose noise happened to be 0 are left out, and must be few. Three bytes and zeros are found in a file by
    chance, so smaller numbers are left out, too, or looked for beside their neighbor.
    """
    session = open_session(path, kind, max_queries=30)
    with closing(sqlite3.connect(path)) as reader:  # keeps the log beside the file
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM step").fetchall()
        session.ask_many(points(30))
        content = b"".join(file.read_bytes() for file in path.parent.iterdir() if file.suffix != ".key")
        assert Path(f"{path}-wal").stat().st_size
    content += path.read_bytes()
    for secret in secrets_of(session, kind):
        assert secret not in content
    released = np.concatenate([np.frombuffer(step.released, dtype=np.int64) for step in steps_of(path) if step.updated])
    assert released[-1].tobytes() in content  # or this test would see nothing


def secrets_of(session: mp.Session, kind: str) -> list[bytes]:
    engine = session._engine
    patterns = [value.tobytes() for value in PEOPLE.ravel()] + [row.tobytes() for row in PEOPLE]
    draws: list[int] = []
    if kind == "field":
        assert isinstance(engine, FieldEngine)
        numbers = [*engine._sums(Queries(np.array(points(30)), engine.space)), *engine._innovations.exact]
        assert len(numbers) == 60
    else:
        assert isinstance(engine, GameEngine)
        epoch = engine._game._epoch
        draws = [] if epoch is None else [epoch._threshold, *epoch._queries._buffer]  # none right after an update
        positions = engine._borders(Queries(np.array(points(30)), engine.space))
        everyone = np.arange(positions.shape[1])
        numbers = [int(sum_) for position in positions for sum_ in engine._game._borders.value[everyone, position]]
    noisy = {int(integer) for step in session._steps for integer in np.frombuffer(step.released, dtype=np.int64)}
    large = [int(number) for number in numbers if abs(number) >= 1 << 24]
    secret = [number for number in large if number not in noisy]
    assert len(secret) > 0.9 * len(large) > 0
    patterns += [np.array(two, dtype=np.int64).tobytes() for two in pairwise(draws) if min(map(abs, two)) > 100]
    return patterns + [np.int64(number).tobytes() for number in secret]


@pytest.mark.parametrize("kind", ["field", "tangents"])
def test_a_store_that_does_not_name_its_accounting_spent_rho(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As older versions wrote it: it goes on with the noise that was paid for, whatever is the default now."""
    ledger = mp.Ledger(tmp_path / "budget.ledger")
    ledger.create("homes", epsilon=60, delta=1e-6, accounting="zcdp")
    options: dict[str, Any] = {"mechanism": kind, "ledger": ledger, "dataset": "homes"}
    with monkeypatch.context() as older:
        older.setattr(mp.Guarantee, "to_json", lambda self: {"epsilon": self.epsilon, "delta": self.delta})
        answer = open_session(tmp_path / "homes.db", **options).ask([5, 5])
    for session in (mp.resume(tmp_path / "homes.db", PEOPLE), open_session(tmp_path / "homes.db", kind)):
        assert session.guarantee.accounting == "zcdp"
        assert session.ask([5, 5]).value == answer.value
        assert session.error == pytest.approx(open_session(tmp_path / "homes.db", **options).error)
    assert len(ledger.history("homes")) == 1


def test_a_card_says_how_the_session_is_spent(tmp_path: Path) -> None:
    for kind, accounting in {"field": "gaussian", "tangents": "zcdp", "hats": "pure"}.items():
        path = tmp_path / f"{kind}.db"
        assert open_session(path, kind).guarantee.accounting == accounting
        assert stored_card(path)["accounting"] == accounting
    with pytest.raises(mp.MilepostError, match="another guarantee: ε = 40, δ = 1e-06, not ε = 40"):
        open_session(tmp_path / "field.db", "field", delta=0.0)
