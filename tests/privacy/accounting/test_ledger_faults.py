"""Ledger: every statement fails, disks fill up, files are locked, damaged, foreign or not to be written."""

import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from milepost import Guarantee, Ledger, MilepostError
from milepost.privacy.accounting import account
from milepost.privacy.accounting.account import SCHEMA
from milepost.privacy.accounting.budget import NANO
from milepost.storage import sqlite
from tests.golden.format_files import FOLDER
from tests.processes import PATIENCE, start

TENTH = NANO // 10


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger of `homes` with ε = 1, of which a tenth is spent."""
    path = tmp_path / "ledger.db"
    ledger = Ledger(path)
    ledger.create("homes", epsilon=1)
    ledger.charge("homes", Guarantee(0.1)).settle()
    return path


class Fault:
    """Stops the statement with this number, before it runs or after."""

    def __init__(self, number: int, after: bool, stop: Callable[[], None]) -> None:
        self.number, self.after, self.stop = number, after, stop
        self.seen = 0

    def connect(self, uri: str, wait: float) -> sqlite3.Connection:
        """In place of `durable.connect`."""
        fault = self

        class Connection(sqlite3.Connection):
            """Counts its statements."""

            def execute(self, *arguments: Any) -> sqlite3.Cursor:
                """Or not."""
                fault.seen += 1
                mine = fault.seen == fault.number
                if mine and not fault.after:
                    fault.stop()
                cursor = super().execute(*arguments)
                if mine and fault.after:
                    cursor.close()
                    fault.stop()
                return cursor

        return sqlite3.connect(uri, uri=True, timeout=wait, isolation_level=None, factory=Connection)


def fail() -> None:
    """As a disk does."""
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR
    raise error


def die() -> None:
    """As on a power cut, but for what the system has in its memory."""
    os._exit(9)


def make_charge(path: Path) -> None:
    Ledger(path).charge("homes", Guarantee(0.2))


def make_refund(path: Path) -> None:
    Ledger(path).charge("homes", Guarantee(0.2)).refund()


def make_release(path: Path) -> None:
    with Ledger(path).spending("homes", Guarantee(0.2)) as charge:
        charge.drawn()


def create_dataset(path: Path) -> None:
    Ledger(path).create("names", epsilon=1)


def create_ledger(path: Path) -> None:
    """In a file that is not there yet."""
    Ledger(path.with_name("new.db")).create("homes", epsilon=1)


ACTIONS = {
    "charged": make_charge,
    "given back": make_refund,
    "released": make_release,
    "created": create_dataset,
    "made": create_ledger,
}


def statements(action: Callable[[Path], None], path: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many there are in an action."""
    fault = Fault(0, False, fail)
    with monkeypatch.context() as patch:
        patch.setattr(sqlite, "connect", fault.connect)
        action(path)
    return fault.seen


def copies(path: Path) -> Iterator[Path]:
    """As many ledgers like this one as are wanted."""
    k = 0
    while True:
        folder = path.parent / str(k)
        folder.mkdir()
        shutil.copy(path, folder)
        yield folder / path.name
        k += 1


POSSIBLE: dict[str, list[list[str]]] = {
    "charged": [[], ["reserved"]],
    "given back": [[], ["reserved"], ["returned"]],
    "released": [[], ["reserved"], ["returned"], ["drawn"], ["settled"]],
    "created": [[]],
    "made": [[]],
}


def check_usable(path: Path, action: str, success: bool | None) -> None:
    """As before or as after, and nothing between; success: whether the action said that it is done."""
    if action == "made":
        path = path.with_name("new.db")
        if success or (path.exists() and path.stat().st_size):
            assert Ledger(path).remaining("homes").nano == NANO
        Ledger(path).create("homes", epsilon=1)
    ledger = Ledger(path)
    account = ledger.account("homes")
    states = [entry.state for entry in ledger.history("homes") if entry.cost.nano == 2 * TENTH]
    assert states in POSSIBLE[action]
    if success and action != "released":  # whose last note may be missing
        assert states == POSSIBLE[action][-1]
    counts = bool(states) and states != ["returned"]
    assert account.spent.nano == (0 if action == "made" else TENTH) + 2 * TENTH * counts
    ledger.create("names", epsilon=1)
    assert len(ledger.datasets()) == 2
    ledger.charge("homes", Guarantee(ledger.remaining("homes").epsilon()))
    with pytest.raises(MilepostError, match="nothing is left"):
        ledger.charge("homes", Guarantee(0.1))


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.slow)])  # every fourth, then all
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.filterwarnings("ignore::milepost.AccuracyWarning")
def test_every_statement_may_fail(
    path: Path, monkeypatch: pytest.MonkeyPatch, action: str, after: bool, step: int
) -> None:
    """Each time: an error of ours or none, a ledger in order, and all that was granted is in it."""
    ledgers = copies(path)
    count = statements(ACTIONS[action], next(ledgers), monkeypatch)
    assert count > 10
    failures = 0
    for number in range(1, count + 1, step):
        copy, message = next(ledgers), ""
        with monkeypatch.context() as patch:
            patch.setattr(sqlite, "connect", Fault(number, after, fail).connect)
            try:
                ACTIONS[action](copy)
            except MilepostError as error:
                message = str(error)
        check_usable(copy, action, not message)
        assert not message or "disk reports an error" in message
        failures += bool(message)
    assert failures > count / 2 / step


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.slow
def test_the_process_may_end_at_every_statement(
    path: Path, monkeypatch: pytest.MonkeyPatch, action: str, after: bool
) -> None:
    ledgers = copies(path)
    for number in range(1, statements(ACTIONS[action], next(ledgers), monkeypatch) + 1):
        end_at(next(ledgers), action, number, after)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("action", ["charged", "made"])
def test_the_process_may_end_at_the_last_statements(
    path: Path, monkeypatch: pytest.MonkeyPatch, action: str, after: bool
) -> None:
    """Some of the above: from the first insertion to what follows the commit."""
    ledgers = copies(path)
    count = statements(ACTIONS[action], next(ledgers), monkeypatch)
    for number in range(count - 5, count + 1):
        end_at(next(ledgers), action, number, after)


def end_at(path: Path, action: str, number: int, after: bool) -> None:
    process = start(act_and_die, path, action, number, after)
    process.join(PATIENCE)
    assert process.exitcode == 9
    check_usable(path, action, None)


def act_and_die(path: Path, action: str, number: int, after: bool) -> None:
    sqlite.connect = Fault(number, after, die).connect
    ACTIONS[action](path)


def test_a_full_file_refuses_and_goes_on_when_there_is_room(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite's own limit of pages stands for the disk's."""
    ledger = Ledger(path)
    with closing(sqlite3.connect(path)) as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()

    def connect(uri: str, wait: float) -> sqlite3.Connection:
        connection = sqlite3.connect(uri, uri=True, timeout=wait, isolation_level=None)
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    with monkeypatch.context() as patch:
        patch.setattr(sqlite, "connect", connect)
        granted = charge_until_full(ledger)
        with pytest.raises(MilepostError, match=r"disk is full .*Free some space"):
            ledger.charge("homes", Guarantee(1e-6), label="x" * 200)
        assert ledger.spent("homes").nano == TENTH + 1000 * granted
    ledger.charge("homes", Guarantee(1e-6))
    assert ledger.spent("homes").nano == TENTH + 1000 * (granted + 1)


def charge_until_full(ledger: Ledger) -> int:
    for granted in range(1000):
        try:
            ledger.charge("homes", Guarantee(1e-6), label="x" * 200)
        except MilepostError:
            return granted
    return pytest.fail("never full")


FULL_DISK = """
import sys
from pathlib import Path
from milepost import Guarantee, Ledger, MilepostError
folder = Path(sys.argv[1])
ledger = Ledger(folder / "ledger.db")
ledger.create("homes", epsilon=1)
granted, refused = 0, 0
ballast = folder / "ballast"
ballast.write_bytes(bytes(40_000))
for k in range(2000):
    try:
        ledger.charge("homes", Guarantee(1e-6), label="x" * 200)
        granted += 1
    except MilepostError as error:
        assert "disk" in str(error), error
        refused += 1
        if refused == 20:
            ballast.unlink()
        if refused > 40:
            break
    if ballast.exists() or refused <= 20:
        assert ledger.spent("homes").nano == 1000 * granted, (ledger.spent("homes"), granted)
print(granted, refused)
"""


@pytest.mark.slow
def test_a_real_disk_that_fills_up(tmp_path: Path) -> None:
    """A small file system of its own, where this is allowed: charges are refused, then granted again."""
    unshare = shutil.which("unshare")
    folder = tmp_path / "small"
    folder.mkdir()
    script = 'mount -t tmpfs -o size=200k none "$1" && exec "$2" -c "$3" "$1"'
    command = [str(unshare), "-rm", "sh", "-c", script, "sh", str(folder), sys.executable, FULL_DISK]
    if unshare is None or subprocess.run([unshare, "-rm", "true"], capture_output=True, check=False).returncode:  # noqa: S603
        pytest.skip("no file systems of one's own here")
    result = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    assert result.returncode == 0, result.stderr
    granted, refused = map(int, result.stdout.split())
    assert granted > 50
    assert refused > 20


def test_writes_that_fail_at_any_size(path: Path) -> None:
    """A limit of the system on the size of files, moved through all pages of the file and its log."""
    ledgers = copies(path)
    outcomes = set()
    for size in range(0, 60_000, 3000):
        copy = next(ledgers)
        process = start(charge_within, copy, size)
        process.join(PATIENCE)
        assert process.exitcode in (0, 3)
        check_usable(copy, "charged", process.exitcode == 0)
        outcomes.add(process.exitcode)
    assert outcomes == {0, 3}


def charge_within(path: Path, size: int) -> None:
    ledger = Ledger(path)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    try:
        ledger.charge("homes", Guarantee(0.2))
    except MilepostError as error:
        os._exit(3 if "cannot be read or written" in str(error) or "is full" in str(error) else 4)
    os._exit(0)


@pytest.mark.parametrize("folder_too", [False, True])
def test_a_file_that_must_not_be_written(folder_too: bool) -> None:
    """Nothing can be charged; what is in it is told where that needs no writing."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "ledger.db"
        Ledger(path).create("homes", epsilon=1)
        path.chmod(0o444)
        folder.chmod(0o555 if folder_too else 0o777)
        process = start(charge_as_nobody, path)
        process.join(PATIENCE)
        folder.chmod(0o755)
        assert process.exitcode == 0
        assert Ledger(path).remaining("homes").nano == NANO


def charge_as_nobody(path: Path) -> None:
    if os.geteuid() == 0:  # whom no permission stops
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    with pytest.raises(MilepostError, match=r"ledger\.db cannot be (written|opened) .*Allow this user"):
        Ledger(path).charge("homes", Guarantee(0.1))
    with pytest.raises(MilepostError, match=r"new\.db cannot be (written|opened)|ledger\.db cannot"):
        Ledger(path).create("new", epsilon=1)


def test_a_locked_file_is_refused_after_the_wait(path: Path) -> None:
    """And read meanwhile: writers do not stop readers."""
    ledger = Ledger(path, wait=0.2)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(MilepostError, match=r"has been in use by another program for 0\.2 s .*Try again"):
            ledger.charge("homes", Guarantee(0.1))
        assert ledger.spent("homes").nano == TENTH
        other.execute("COMMIT")
    ledger.charge("homes", Guarantee(0.1))
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("PRAGMA journal_mode = DELETE")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(MilepostError, match="has been in use"):
            ledger.spent("homes")
        other.execute("COMMIT")
    ledger.charge("homes", Guarantee(0.1))
    assert ledger.spent("homes").nano == 3 * TENTH
    with closing(sqlite3.connect(path)) as other:
        assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def flip(path: Path, content: bytes, position: int, bit: int) -> None:
    path.write_bytes(content[:position] + bytes([content[position] ^ 1 << bit]) + content[position + 1 :])


def check_flips(path: Path, step: int) -> None:
    """One bit is wrong: an error of ours, or all numbers as they were; never a budget that is larger than it was."""
    content = path.read_bytes()
    noticed = 0
    before = Ledger(path).account("homes")
    positions = [
        position for position, byte in enumerate(content) if byte or position % 64 == 0
    ]  # most of a page is empty
    for position in positions[::step]:
        flip(path, content, position, position % 8)
        try:
            ledger = Ledger(path)
            account, history = ledger.account("homes"), ledger.history("homes")
            assert account == before
            assert [entry.state for entry in history] == ["settled"] * before.entries
            ledger.create("names", epsilon=1)
            ledger.charge("homes", Guarantee(0.1))
            assert ledger.spent("homes").nano == before.spent.nano + TENTH
        except MilepostError as error:
            noticed += 1
            assert "ledger.db" in str(error)  # noqa: PT017
            assert not Path(f"{path}-journal").exists()
        for leftover in path.parent.glob("ledger.db-*"):
            leftover.unlink()
    assert noticed > 20


def test_flipped_bits_are_noticed_or_harmless(path: Path) -> None:
    check_flips(path, 29)


@pytest.mark.slow
def test_every_flipped_byte_is_noticed_or_harmless(path: Path) -> None:
    check_flips(path, 1)


def test_a_damaged_middle_is_said_with_what_to_do(path: Path) -> None:
    """Pages of zeros, a file that is cut off, and numbers that somebody has edited."""
    content = path.read_bytes()
    ledger = Ledger(path)
    for damaged in (content[:4096] + bytes(4096) + content[8192:], content[:6000], content[:4096]):
        path.write_bytes(damaged)
        for call in (lambda: Ledger(path), lambda: ledger.charge("homes", Guarantee(0.1))):
            with pytest.raises(MilepostError, match=r"ledger\.db is damaged.*latest backup"):
                call()
        assert path.read_bytes() == damaged
    path.write_bytes(content)
    for edit in (
        "UPDATE dataset SET cap = 2 * cap",
        "UPDATE dataset SET spent = 0",
        "UPDATE entry SET cost = 1",
        "UPDATE entry SET state = 'returned'",
        "UPDATE dataset SET created = X'FF'",
        "UPDATE dataset SET name = X'FF' || name",
    ):
        path.write_bytes(content)
        with closing(sqlite3.connect(path)) as other, other:
            other.execute(edit)
        with pytest.raises(MilepostError, match=r"ledger\.db (is damaged|has no dataset)"):
            ledger.charge("homes", Guarantee(0.1))


def test_entries_and_datasets_cannot_be_deleted(path: Path) -> None:
    """And where a dataset is gone by force, its name does not get a fresh budget."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        for table in ("entry", "dataset"):
            with pytest.raises(sqlite3.IntegrityError, match="never deleted"):
                other.execute(f"DELETE FROM {table}")  # noqa: S608
        other.execute("DROP TRIGGER dataset_stays")
        other.execute("DELETE FROM dataset")
    with pytest.raises(MilepostError, match="is damaged"):
        Ledger(path).create("homes", epsilon=1)


def old_ledger(folder: Path) -> Path:
    """A copy of a ledger that version 1 has written."""
    folder.mkdir(exist_ok=True)
    return Path(shutil.copy(FOLDER / "ledger-1.ledger", folder))


def marks(path: Path) -> tuple[int, int]:
    """The version of a ledger, and the number of its charges."""
    with closing(sqlite3.connect(path)) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    return version, Ledger(path).account("homes").entries


def make_old_charge(path: Path) -> None:
    Ledger(path).charge("homes", Guarantee(1, 1e-6))


@pytest.mark.parametrize("after", [False, True])
def test_an_old_ledger_becomes_new_with_its_first_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: bool
) -> None:
    """Whichever statement fails, it is either as it was or has both: reading changes nothing."""
    path = old_ledger(tmp_path)
    Ledger(path).history("homes")
    assert marks(path) == (1, 1)
    outcomes = []
    for number in range(1, statements(make_old_charge, path, monkeypatch) + 1):
        copy = old_ledger(tmp_path / str(number))
        with monkeypatch.context() as patch, suppress(MilepostError):
            patch.setattr(sqlite, "connect", Fault(number, after, fail).connect)
            make_old_charge(copy)
        outcomes.append(marks(copy))
    assert marks(path) == (2, 2)
    assert set(outcomes) == {(1, 1), (2, 2)}


def test_an_old_ledger_survives_a_kill_in_its_first_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count = statements(make_old_charge, old_ledger(tmp_path), monkeypatch)
    for number in range(count - 6, count + 1):
        path = old_ledger(tmp_path / str(number))
        process = start(charge_and_die, path, number)
        process.join(PATIENCE)
        assert process.exitcode == 9
        assert marks(path) in ((1, 1), (2, 2))
        make_old_charge(path)
        assert marks(path)[0] == 2


def charge_and_die(path: Path, number: int) -> None:
    sqlite.connect = Fault(number, True, die).connect
    make_old_charge(path)


@pytest.mark.parametrize("end", ["settle", "refund"])
def test_a_charge_of_version_1_can_go_on(tmp_path: Path, end: str) -> None:
    """Its guarantee has no accounting there, and means zCDP."""
    path = tmp_path / "ledger.db"
    ledger, guarantee = Ledger(path), Guarantee(1, 1e-6, accounting="zcdp")
    ledger.create("homes", epsilon=3, delta=1e-6, accounting="zcdp")
    charge = ledger.charge("homes", guarantee)
    row = list(charge.entry.row())
    row[3] = '[{"epsilon": 1.0, "delta": 1e-06}]'
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE entry SET guarantees = ?, seal = ?", (row[3], account._seal(*row)))
        connection.execute("PRAGMA user_version = 1")
    assert [entry.guarantees for entry in ledger.history("homes")] == [(guarantee,)]
    getattr(charge, end)()
    (entry,) = ledger.history("homes")
    assert (entry.guarantees, entry.cost, entry.counts) == ((guarantee,), charge.entry.cost, end == "settle")
    assert ledger.spent("homes").nano == entry.cost.nano * entry.counts


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            "PRAGMA user_version = 3",
            "ledger of a newer milepost: it has version 3, and this milepost reads 2.*Update milepost",
        ),
        ("PRAGMA user_version = 0", "ledger of an older milepost: it has version 0, and this milepost reads 2"),
        ("PRAGMA user_version = -1", "ledger of an older milepost: it has version -1, and"),
        ("PRAGMA application_id = 7", "is not a ledger: it is a SQLite file of another program"),
    ],
)
def test_files_of_other_versions_and_programs_are_left_alone(path: Path, change: str, message: str) -> None:
    ledger = Ledger(path)
    with closing(sqlite3.connect(path)) as other:
        other.execute(change)
    content = path.read_bytes()
    for call in (
        lambda: Ledger(path),
        lambda: ledger.charge("homes", Guarantee(0.1)),
        lambda: ledger.create("names", epsilon=1),
        ledger.datasets,
    ):
        with pytest.raises(MilepostError, match=message):
            call()
    assert path.read_bytes() == content


def test_what_is_no_ledger_is_refused_and_left_alone(tmp_path: Path) -> None:
    """A SQLite file of somebody else, text, a folder, a device; an empty file becomes one when a budget is created."""
    foreign, text, empty = tmp_path / "foreign.db", tmp_path / "text.db", tmp_path / "empty.db"
    with closing(sqlite3.connect(foreign)) as other, other:
        other.execute("CREATE TABLE homes (lat, lon)")
    text.write_text("lat,lon\n52.5,13.4\n" * 100)
    empty.touch()
    for path, message in (
        (foreign, "SQLite file of another program"),
        (text, "is not a ledger: it is not a SQLite file"),
        (tmp_path, "is a folder or a device"),
        (Path("/dev/full"), "is a folder or a device"),
    ):
        before = path.read_bytes() if path.is_file() else b""
        with pytest.raises(MilepostError, match=message):
            Ledger(path)
        assert (path.read_bytes() if path.is_file() else b"") == before
    target = tmp_path / "made.db"
    ledger = Ledger(target)
    for source in (foreign, text):
        shutil.copy(source, target)
        with pytest.raises(MilepostError, match="not a ledger"):
            ledger.create("homes", epsilon=1)
        assert target.read_bytes() == source.read_bytes()
    shutil.copy(empty, target)
    with pytest.raises(MilepostError, match="is empty, and not yet a ledger"):
        Ledger(target).datasets()
    Ledger(target).create("homes", epsilon=1)
    assert ledger.remaining("homes").nano == NANO


def test_the_file_says_whose_it_is(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        marks = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
        assert marks == [SCHEMA.application_id, SCHEMA.version]
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert path.read_bytes()[68:72] == b"MPLG"


def test_commits_wait_for_the_disk(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`synchronous` is FULL (2) or more at every commit: no test here can cut the power."""
    levels = []

    class Connection(sqlite3.Connection):
        """Looks at its settings before it commits."""

        def execute(self, statement: str, *arguments: Any) -> sqlite3.Cursor:
            """As ever."""
            if statement == "COMMIT":
                levels.extend(super().execute("PRAGMA synchronous").fetchone())
            return super().execute(statement, *arguments)

    def connect(uri: str, wait: float) -> sqlite3.Connection:
        return sqlite3.connect(uri, uri=True, timeout=wait, isolation_level=None, factory=Connection)

    monkeypatch.setattr(sqlite, "connect", connect)
    for action in ACTIONS.values():
        action(path)
    assert len(levels) == 1 + 2 + 3 + 1 + 1
    assert min(levels) >= 2
