"""Ledger: many processes at once, and processes that are killed."""

import os
from multiprocessing.synchronize import Barrier
from pathlib import Path

import numpy as np
import pytest

from milepost import Guarantee, Ledger, MilepostError
from milepost.privacy.accounting.budget import NANO
from tests.events import wait_until
from tests.processes import PATIENCE, START, start

PROCESSES = 32
MAX_CHARGES = 100  # charges
SHARE = 0.01  # of ε = 1
CHARGE = round(SHARE * NANO)


def charge_until_refused(path: Path, barrier: Barrier, log: Path) -> None:
    """Begin with all others; write down how often a charge was granted."""
    ledger = Ledger(path, wait=PATIENCE)
    barrier.wait()
    granted = 0
    try:
        while granted <= MAX_CHARGES:
            ledger.charge("homes", Guarantee(SHARE), label=str(os.getpid()))
            granted += 1
    except MilepostError as error:
        log.write_text(f"{granted} {'nothing is left' in str(error)}")


def crowd(folder: Path) -> None:
    """32 processes, room for a hundred charges: a hundred are granted."""
    folder.mkdir()
    path = folder / "ledger.db"
    Ledger(path).create("homes", epsilon=1)
    barrier = START.Barrier(PROCESSES)
    processes = [start(charge_until_refused, path, barrier, folder / str(k)) for k in range(PROCESSES)]
    for process in processes:
        process.join(PATIENCE)
        assert process.exitcode == 0
    outcomes = [(folder / str(k)).read_text().split() for k in range(PROCESSES)]
    assert {refused for _, refused in outcomes} == {"True"}  # for lack of budget, not of patience
    assert sum(int(granted) for granted, _ in outcomes) == MAX_CHARGES
    account, history = Ledger(path).account("homes"), Ledger(path).history("homes")
    assert (account.spent.nano, account.remaining.nano, account.entries) == (NANO, 0, MAX_CHARGES)
    assert [entry.id for entry in history] == list(range(1, MAX_CHARGES + 1))
    assert sorted(map(int, (granted for granted, _ in outcomes if granted != "0"))) == sorted(
        [entry.label for entry in history].count(label) for label in {entry.label for entry in history}
    )


def test_exactly_as_many_charges_as_fit_are_granted(tmp_path: Path) -> None:
    crowd(tmp_path / "crowd")


@pytest.mark.slow
def test_exactly_as_many_charges_as_fit_are_granted_ten_times_in_a_row(tmp_path: Path) -> None:
    for k in range(10):
        crowd(tmp_path / str(k))


def test_two_processes_may_create_the_same_ledger_at_once(tmp_path: Path) -> None:
    """One file, one budget each; the last of them sets the mode in which readers do not wait."""
    path, barrier = tmp_path / "ledger.db", START.Barrier(8)
    processes = [start(create_together, path, barrier, k) for k in range(8)]
    for process in processes:
        process.join(PATIENCE)
        assert process.exitcode == 0
    accounts = Ledger(path).datasets()
    assert sorted(account.name for account in accounts) == ["both", *(f"own-{k}" for k in range(8))]
    assert Ledger(path).remaining("both").nano == NANO


def create_together(path: Path, barrier: Barrier, k: int) -> None:
    ledger = Ledger(path, wait=PATIENCE)
    barrier.wait()
    ledger.create("both", epsilon=1)
    ledger.create(f"own-{k}", epsilon=1)


def charge_for_ever(path: Path, log: Path) -> None:
    """A letter for each charge that was granted, and one before each that is given back."""
    ledger = Ledger(path)
    with log.open("ab", buffering=0) as file:
        for k in range(1_000_000):
            charge = ledger.charge("homes", Guarantee(1e-6))
            file.write(b"c")
            if k % 3 == 0:
                file.write(b"r")
                charge.refund()
            elif k % 3 == 1:
                charge.drawn()


def kill(folder: Path, times: int) -> None:
    """After random numbers of steps: the ledger opens at once, has all that was told, and one step more at most."""
    path, log = folder / "ledger.db", folder / "told"
    Ledger(path).create("homes", epsilon=1)
    min_entries = 0
    for steps in np.random.default_rng(11).integers(1, 10, times).tolist():
        log.write_bytes(b"")
        before = Ledger(path).spent("homes").nano // 1000
        process = start(charge_for_ever, path, log)
        wait_until(lambda: log.stat().st_size >= steps or not process.is_alive(), f"{steps} steps")  # noqa: B023
        process.kill()
        process.join()
        assert process.exitcode == -9
        letters = log.read_bytes()
        granted, refunds = letters.count(b"c"), letters.count(b"r")
        spent = Ledger(path).spent("homes").nano // 1000 - before
        # the last refund may have been on its way, and one charge may have been granted without a word
        assert granted - refunds <= spent <= granted - refunds + 2
        min_entries += granted
    account, history = Ledger(path).account("homes"), Ledger(path).history("homes")
    assert account.entries == len(history) >= min_entries >= times
    assert account.spent.nano == 1000 * sum(entry.counts for entry in history) <= account.cap.nano
    charge = Ledger(path).charge("homes", Guarantee(1e-6))
    charge.settle()
    assert list(folder.glob("ledger.db*")) == [path]  # what the killed ones left is in the file again


def test_what_was_granted_survives_kill_9(tmp_path: Path) -> None:
    kill(tmp_path, 10)


@pytest.mark.slow
def test_what_was_granted_survives_kill_9_a_hundred_times(tmp_path: Path) -> None:
    kill(tmp_path, 100)


def test_a_killed_release_stays_spent(tmp_path: Path) -> None:
    """Its entry is reserved, for ever."""
    path = tmp_path / "ledger.db"
    Ledger(path).create("homes", epsilon=1)
    process = start(die_before_noise, path)
    process.join(PATIENCE)
    assert process.exitcode == 9
    (entry,) = Ledger(path).history("homes")
    assert (entry.state, entry.counts) == ("reserved", True)
    with pytest.raises(MilepostError, match=r"ε = 0\.4 is left"):
        Ledger(path).charge("homes", Guarantee(0.5))


def die_before_noise(path: Path) -> None:
    with Ledger(path).spending("homes", Guarantee(0.6)):
        os._exit(9)


def test_a_ledger_goes_to_other_processes(tmp_path: Path) -> None:
    """By pickling, as an argument; no connection goes with it."""
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.create("homes", epsilon=1)
    charge = ledger.charge("homes", Guarantee(0.25))
    process = start(charge.refund)
    process.join(PATIENCE)
    assert process.exitcode == 0
    assert ledger.remaining("homes").nano == NANO
