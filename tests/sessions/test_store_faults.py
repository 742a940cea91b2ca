"""Sessions in a store in which every statement fails, or whose disk is full, or that must not be written."""

import os
import resource
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

import milepost as mp
from milepost.errors import MilepostError
from milepost.storage import sqlite
from tests.privacy.accounting.test_ledger_faults import Fault, die, fail
from tests.processes import PATIENCE, start
from tests.sessions.tables import ACCOUNTING, LIMIT, PEOPLE, open_session, points, steps_of

pytestmark = pytest.mark.filterwarnings("ignore::milepost.AccuracyWarning")

KNOWN_POINTS, NEW_POINTS = points(6)[:3], points(6)[3:]
KINDS = ("field", "tangents")


def copies(path: Path) -> Iterator[Path]:
    """As many stores like this one, with their keys, as are wanted."""
    k = 0
    while True:
        folder = path.parent / str(k)
        folder.mkdir()
        for file in path.parent.glob("homes.db*"):
            shutil.copy(file, folder)
        yield folder / path.name
        k += 1


def prepare_store(folder: Path, kind: str) -> tuple[Path, list[float]]:
    """A store with three answers."""
    path = folder / "homes.db"
    return path, [answer.value for answer in open_session(path, kind).ask_many(KNOWN_POINTS)]


def count_statements(call: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> int:
    """How many statements there are."""
    fault = Fault(0, False, fail)
    with monkeypatch.context() as patch:
        patch.setattr(sqlite, "connect", fault.connect)
        call()
    return fault.seen


FEW = [("tangents", 8), ("field", 11)]  # every eighth statement, or every eleventh
ALL = [pytest.param(kind, 1, marks=pytest.mark.slow) for kind in ("field", "tangents", "slopes")]


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize(("kind", "each"), [*FEW, *ALL[:2]])
def test_every_statement_of_a_question_may_fail(
    memory_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, each: int, after: bool
) -> None:
    """The same session answers afterwards; what was delivered stays, and what is there is counted once."""
    path, values = prepare_store(memory_path, kind)
    stores = copies(path)
    first = open_session(next(stores), kind)
    count = count_statements(lambda: first.ask_many(NEW_POINTS, names=["a", "b", "c"]), monkeypatch)
    assert count > 10
    failures = 0
    for number in range(1, count + 1, each):
        store, delivered = next(stores), None
        session = open_session(store, kind)
        with monkeypatch.context() as patch:
            patch.setattr(sqlite, "connect", Fault(number, after, fail).connect)
            try:
                delivered = session.ask_many(NEW_POINTS, names=["a", "b", "c"])
            except MilepostError as error:
                failures += 1
                assert "disk reports an error" in str(error)  # noqa: PT017
        assert len(steps_of(store)) in ((3, 6) if delivered is None else (6,))
        check(store, session, values, None if delivered is None else [answer.value for answer in delivered])
    assert failures > count / each / 2


def check(path: Path, session: mp.Session, values: list[float], delivered: list[float] | None) -> None:
    """The session that failed and one that goes on in another process agree on everything."""
    again = mp.resume(path, PEOPLE)
    assert [answer.value for answer in session.ask_many(KNOWN_POINTS)] == values
    new_values = [answer.value for answer in session.ask_many(NEW_POINTS, names=["a", "b", "c"])]
    assert delivered is None or new_values == delivered
    assert [answer.value for answer in again.ask_many(KNOWN_POINTS + NEW_POINTS)] == values + new_values
    assert session.remaining == again.remaining == LIMIT - 6
    assert again.ask([9, 1]).value == session.ask([9, 1]).value
    steps = steps_of(path)
    assert len(steps) == len({step.key for step in steps}) == 7
    assert sum(step.opened for step in steps) <= session.max_updates
    assert [name for name, _, _ in session.transcript()] == ["a", "b", "c"]


@pytest.mark.slow
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_process_may_end_at_every_statement(
    memory_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, after: bool
) -> None:
    end_at(memory_path, monkeypatch, kind, after, 0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_process_may_end_at_the_last_statements(
    memory_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Around the commit."""
    end_at(memory_path, monkeypatch, kind, True, -4)


def end_at(folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str, after: bool, first: int) -> None:
    path, values = prepare_store(folder, kind)
    stores = copies(path)
    session = open_session(next(stores), kind)
    count = count_statements(lambda: session.ask_many(NEW_POINTS, names=["a", "b", "c"]), monkeypatch)
    step_counts = set()
    for number in range(1, count + 1)[first:]:
        store = next(stores)
        process = start(ask_and_die, store, kind, number, after)
        process.join(PATIENCE)
        assert process.exitcode == 9
        step_counts.add(len(steps_of(store)))
        check(store, open_session(store, kind), values, None)
    assert step_counts == {3, 6}


def ask_and_die(path: Path, kind: str, number: int, after: bool) -> None:
    session = open_session(path, kind)
    sqlite.connect = Fault(number, after, die).connect
    session.ask_many(NEW_POINTS, names=["a", "b", "c"])


@pytest.mark.parametrize(("kind", "each"), [("tangents", 12), *ALL])
@pytest.mark.parametrize("after", [False, True])
def test_every_statement_of_a_beginning_may_fail(
    memory_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, each: int, after: bool
) -> None:
    """Of the store and of the ledger: charged at most once more than is used, and the next call begins or goes on."""

    def begin(folder: Path) -> mp.Session:
        ledger = mp.Ledger(folder / "ledger.db")
        return open_session(folder / "homes.db", kind, ledger=ledger, dataset="homes")

    def create_folder(name: str) -> Path:
        folder = memory_path / name
        folder.mkdir()
        mp.Ledger(folder / "ledger.db").create("homes", epsilon=200, delta=1e-6, accounting=ACCOUNTING[kind])
        return folder

    folder = create_folder("first")
    count = count_statements(lambda: begin(folder), monkeypatch)
    for number in range(1, count + 1, each):
        folder, well = create_folder(str(number)), True
        with monkeypatch.context() as patch:
            patch.setattr(sqlite, "connect", Fault(number, after, fail).connect)
            try:
                begin(folder)
            except MilepostError as error:
                assert "disk reports an error" in str(error)  # noqa: PT017
                well = False
        ledger = mp.Ledger(folder / "ledger.db")
        before = [entry.state for entry in ledger.history("homes")]
        value = begin(folder).ask([1, 2]).value
        states = [entry.state for entry in ledger.history("homes")]
        assert len(states) - len(before) in (0, 1)
        assert not well or states == before  # it goes on, and is not charged again
        assert states.count("settled") + states.count("drawn") + states.count("reserved") in (1, 2)
        assert begin(folder).ask([1, 2]).value == value
        assert [entry.state for entry in ledger.history("homes")] == states


def test_an_interruption_leaves_the_session_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the middle of what others have answered: nothing of it is learned twice."""
    for kind in KINDS:
        path, values = prepare_store(tmp_path, kind)
        session, other_session = open_session(path, kind), open_session(path, kind)
        new_values = [answer.value for answer in other_session.ask_many(NEW_POINTS)]
        replay = session._engine.replay

        def interrupted(steps: object, replay: Callable[..., None] = replay) -> None:
            replay(list(steps)[:1])  # type: ignore[call-overload]
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(session._engine, "replay", interrupted)
            with pytest.raises(KeyboardInterrupt):
                session.ask([1, 1])
        assert [answer.value for answer in session.ask_many(KNOWN_POINTS + NEW_POINTS)] == values + new_values
        assert session.remaining == LIMIT - 6
        assert session.ask([1, 1]).value == other_session.ask([1, 1]).value
        shutil.rmtree(tmp_path)
        tmp_path.mkdir()


@pytest.mark.parametrize("kind", KINDS)
def test_a_failure_while_noise_is_drawn_is_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Of a batch nothing is kept; the next question goes on from the transcript."""
    path, values = prepare_store(tmp_path, kind)
    session = open_session(path, kind)
    answer, engine = session._engine.answer, session._engine

    def answer_and_fail(positions: object) -> None:
        answer(positions)  # type: ignore[arg-type]
        raise MemoryError

    monkeypatch.setattr(engine, "answer", answer_and_fail)
    with pytest.raises(MemoryError):
        session.ask_many(NEW_POINTS)
    assert session._engine is not engine
    assert len(steps_of(path)) == 3
    check(path, session, values, None)


def test_a_full_file_refuses_and_goes_on_when_there_is_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite's own limit of pages stands for the disk's."""
    path, values = prepare_store(tmp_path, "field")
    session = open_session(path, "field")
    with closing(sqlite3.connect(path)) as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()

    def connect(uri: str, wait: float) -> sqlite3.Connection:
        connection = sqlite3.connect(uri, uri=True, timeout=wait, isolation_level=None)
        connection.execute(f"PRAGMA max_page_count = {pages + 1}")
        return connection

    delivered: list[tuple[list[float], float]] = []
    with monkeypatch.context() as patch:
        patch.setattr(sqlite, "connect", connect)
        for point in points(300)[6:]:
            try:
                delivered.append((point, session.ask(point).value))
            except MilepostError as error:
                assert "disk is full" in str(error)  # noqa: PT017
                break
        assert [session.ask(point).value for point, _ in delivered] == [value for _, value in delivered]
        assert session.remaining == LIMIT - 3 - len(delivered)
    assert 3 < len(delivered) < 200
    assert session.ask([1, 1]).remaining == LIMIT - 4 - len(delivered)
    assert [session.ask(point).value for point in KNOWN_POINTS] == values


def test_a_disk_without_room_for_a_store_costs_nothing(tmp_path: Path) -> None:
    """A limit of the system on the size of files, from the least on: refused, and given back or never charged."""
    ledger = mp.Ledger(tmp_path / "ledger.db")
    ledger.create("homes", epsilon=200, delta=1e-6)
    for size in (0, 16, 4096):
        process = start(begin_within, tmp_path / f"{size}.db", ledger.path, size)
        process.join(PATIENCE)
        assert process.exitcode == 3
        assert not [entry for entry in ledger.history("homes") if entry.counts]


def begin_within(path: Path, ledger: Path, size: int) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    try:
        open_session(path, "field", ledger=mp.Ledger(ledger), dataset="homes")
    except MilepostError as error:
        messages = ("cannot be read or written", "is full", "cannot be written")
        os._exit(3 if any(message in str(error) for message in messages) else 4)
    os._exit(0)


@pytest.mark.parametrize("folder_too", [False, True])
def test_a_store_that_must_not_be_written(folder_too: bool) -> None:
    """Nothing is answered or lost."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path, values = prepare_store(folder, "field")
        Path(f"{path}.key").chmod(0o644)
        path.chmod(0o444)
        folder.chmod(0o555 if folder_too else 0o777)
        process = start(ask_as_nobody, path)
        process.join(PATIENCE)
        folder.chmod(0o755)
        assert process.exitcode == 0
        assert [answer.value for answer in mp.resume(path, PEOPLE).ask_many(KNOWN_POINTS)] == values
        assert len(steps_of(path)) == 3


def ask_as_nobody(path: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        prepare_store(Path(name), "field")  # all that is imported on the way may be out of nobody's reach
    if os.geteuid() == 0:  # whom no permission stops
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    for point in ([1, 1], [2, 2]):
        with pytest.raises(MilepostError, match=r"homes\.db cannot be (written|opened) .*Allow this user"):
            open_session(path, "field").ask(point)


def test_a_locked_store_is_refused_after_the_wait(tmp_path: Path) -> None:
    path, values = prepare_store(tmp_path, "field")
    session = open_session(path, "field")
    transcript = session._transcript
    database = transcript._database  # type: ignore[attr-defined]
    object.__setattr__(database, "wait", 0.2)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(MilepostError, match="has been in use by another program"):
            session.ask(NEW_POINTS[0])
        other.execute("ROLLBACK")
    assert [answer.value for answer in session.ask_many(KNOWN_POINTS)] == values
    assert session.ask(NEW_POINTS[0]).remaining == LIMIT - 4
