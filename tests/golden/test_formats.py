"""Files that earlier versions wrote are read, or refused with the version that reads them; a ledger is always read."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import milepost as mp
from milepost.errors import MilepostError
from milepost.storage.formats import check_format
from tests.golden.format_files import CURRENT, DELTA, EPSILON, FOLDER, QUERY, SPACE, table, write_missing

READERS = {  # by file: the version that reads it, or None for this one
    "ledger-1.ledger": None,
    "ledger-2.ledger": None,
    "synopsis-2.milepost": r"a version before 0\.1\.0 \(commit 42d2854\)",
    "synopsis-3.milepost": r"a version before 0\.1\.0 \(commit cb0f754\)",
    "synopsis-4.milepost": None,
    "session-1.db": r"a version before 0\.1\.0 \(commit 42d2854\)",
    "session-2.db": r"a version before 0\.1\.0 \(commit cb0f754\)",
    "session-3.db": None,
}
REMEDIES = {"synopsis": "make the release again", "session": "begin another session in another store"}


def copy(name: str, folder: Path) -> Path:
    """Return a copy of a file, and of its key if it has one: SQLite changes the files that it opens."""
    for path in FOLDER.glob(f"{name}*"):
        shutil.copy(path, folder)
    return folder / name


def uses(path: Path) -> list[Callable[[], Any]]:
    """Return all calls that read a file."""
    kind = path.name.split("-")[0]
    if kind == "ledger":
        return [lambda: mp.Ledger(path).spent("homes")]
    if kind == "synopsis":
        return [lambda: mp.load(path).mean_distance(QUERY)]
    options: dict[str, Any] = {"epsilon": EPSILON, "delta": DELTA, "max_queries": 20}
    return [
        lambda: mp.resume(path, table()).ask(QUERY),
        lambda: mp.interactive(table(), SPACE, **options, store=path).ask(QUERY),
    ]


def test_every_file_is_covered_and_every_current_format_has_one() -> None:
    names = {path.name for path in FOLDER.iterdir()}
    assert {name.removesuffix(".key") for name in names} == set(READERS)
    assert {name for name, reader in READERS.items() if reader is None} >= set(CURRENT.values()), (
        "python -m tests.golden.format_files writes files of the current formats"
    )
    assert {f"{name}.key" for name in READERS if name.endswith(".db")} <= names


@pytest.mark.parametrize("name", READERS)
def test_a_file_is_read_or_refused_with_the_version_that_reads_it(name: str, tmp_path: Path) -> None:
    path, reader = copy(name, tmp_path), READERS[name]
    content = path.read_bytes()
    kind, number = name.split(".")[0].split("-")
    for use in uses(path):
        if reader is None:
            use()
        else:
            current = CURRENT[kind].split(".")[0].split("-")[1]
            message = (
                f"^{path} has format {number}, and this version reads format {current}. It was written by {reader}, "
                f"which reads it: use that version, or {REMEDIES[kind]}, which spends again.$"
            )
            with pytest.raises(MilepostError, match=message):
                use()
            assert path.read_bytes() == content


def test_no_ledger_is_refused() -> None:
    """A refused ledger would invite a new one, which grants the whole budget again."""
    assert [name for name, reader in READERS.items() if name.startswith("ledger") and reader is not None] == []


def test_a_ledger_of_format_1_goes_on_with_what_is_spent(tmp_path: Path) -> None:
    ledger = mp.Ledger(copy("ledger-1.ledger", tmp_path))
    assert [account.name for account in ledger.datasets()] == ["homes"]
    assert str(ledger.account("homes").cap) == "ε = 9, δ = 1e-06"
    assert ledger.spent("homes").nano == 24_355_971
    (entry,) = ledger.history("homes")
    assert (entry.id, entry.state, entry.what, entry.protects) == (1, "settled", "auto", "replace, row")
    assert entry.guarantees == (mp.Guarantee(1.0, 1e-6, accounting="zcdp"),)
    assert ledger.create("homes", epsilon=9, delta=1e-6).accounting == "zcdp"
    with pytest.raises(MilepostError, match="already has accounting='zcdp', which never changes; got 'gaussian'"):
        ledger.create("homes", epsilon=9, delta=1e-6, accounting="gaussian")
    with pytest.raises(MilepostError, match=r"'homes' already has a cap of ε = 9, δ = 1e-06"):
        ledger.create("homes", epsilon=10, delta=1e-6)
    with pytest.raises(mp.BudgetExceededError):
        ledger.charge("homes", mp.Guarantee(9.0, 1e-6))
    zcdp = mp.Guarantee(1.0, 1e-6, accounting="zcdp")
    assert ledger.charge("homes", zcdp, protects="replace, row").id == 2
    assert mp.Ledger(ledger.path).spent("homes").nano == 2 * 24_355_971
    ledger.charge("homes", mp.Guarantee(1.0, 1e-6), protects="replace, row")
    assert ledger.history("homes")[-1].cost.nano == 28_014_482  # μ²/2
    assert ledger.create("schools", epsilon=9, delta=1e-6).accounting == "gaussian"
    assert ledger.account("homes").accounting == "zcdp"


def test_a_ledger_of_format_2_goes_on_with_what_is_spent(tmp_path: Path) -> None:
    ledger = mp.Ledger(copy("ledger-2.ledger", tmp_path))
    accounts = {account.name: (account.accounting, account.spent.nano) for account in ledger.datasets()}
    assert accounts == {
        "homes": ("gaussian", 56_028_964),
        "schools": ("zcdp", 24_355_971 + 28_014_482),
        "names": ("pure", 0),
    }
    whole, zcdp = mp.Guarantee(1.0, 1e-6), mp.Guarantee(1.0, 1e-6, accounting="zcdp")
    assert [entry.guarantees for entry in ledger.history("homes")] == [(whole,)]
    assert [entry.guarantees for entry in ledger.history("schools")] == [(zcdp,), (whole,)]
    assert [entry.state for entry in ledger.history("names")] == ["returned"]
    ledger.charge("homes", whole, protects="replace, row")
    assert ledger.spent("homes").nano == 2 * 56_028_964
    assert ledger.create("homes", epsilon=9, delta=1e-6).accounting == "gaussian"


def test_a_session_of_the_current_format_has_the_answer_that_it_gave(tmp_path: Path) -> None:
    path = copy(CURRENT["session"], tmp_path)
    ((name, point, answer),) = mp.resume(path, table()).transcript()
    assert (name, list(point)) == ("first", QUERY)
    assert mp.resume(path, table()).ask(QUERY).value == answer.value


def test_files_of_the_current_formats_can_be_written(tmp_path: Path) -> None:
    assert write_missing(tmp_path) == list(CURRENT.values())
    assert write_missing(tmp_path) == []
    for name in CURRENT.values():
        for use in uses(tmp_path / name):
            use()


@pytest.mark.parametrize(
    ("found", "message"),
    [
        (4, "has format 4, and this version reads format 3. A newer version wrote it: update milepost."),
        (2, "It was written by version 0.9, which reads it: use that version, or make it again."),
        (1, "It was written by a version before 0.1.0, which reads it"),
        (None, "has format None, and this version reads format 3. It was written by another version"),
        ("3", "has format '3'"),
        (True, "has format True"),
        ([3], r"has format \[3\]"),
    ],
)
def test_other_formats_are_refused(found: Any, message: str) -> None:
    check_format("a.milepost", 3, 3, {}, "make it again")
    with pytest.raises(MilepostError, match=message):
        check_format("a.milepost", found, 3, {2: "version 0.9"}, "make it again")
