"""SQLite files of older versions, and those that a program left in the middle of their creation."""

import shutil
import sqlite3
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from milepost.errors import MilepostError
from milepost.storage.sqlite import Database, SqliteSchema

SCHEMA = SqliteSchema("test file", 0x4D505454, 1, ("CREATE TABLE entry (value INTEGER NOT NULL)",))


NEWER = replace(SCHEMA, version=3, oldest=1)  # of the same tables


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def test_a_change_makes_an_older_version_of_the_same_tables_the_current_one(tmp_path: Path) -> None:
    """Reading does not, nor does a change that is undone; before and after it no older program harms the file."""
    path = tmp_path / "test.db"
    old, new = Database(path, SCHEMA), Database(path, NEWER)
    with old.write_transaction(create=True) as connection:
        connection.execute("INSERT INTO entry VALUES (7)")
    new.check()
    with suppress(ZeroDivisionError), new.write_transaction() as connection:
        assert connection.execute("SELECT value FROM entry").fetchall() == [(7,)]
        raise ZeroDivisionError
    assert version(path) == 1
    old.check()
    with new.write_transaction():
        pass
    assert version(path) == 3
    with pytest.raises(MilepostError, match=r"newer milepost: it has version 3, and this milepost reads 1.*Update"):
        old.check()
    new.check()
    with pytest.raises(MilepostError, match="older milepost: it has version 3, and this milepost reads 5"):
        Database(path, replace(NEWER, version=5, oldest=4)).check()


def half_created(folder: Path) -> Path:
    """Return a copy of a file, and of its journal, from the middle of the transaction that creates it."""
    path, copy = folder / "original.db", folder / "copy.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA cache_size = 1")  # pages are written before the transaction ends
        connection.execute("BEGIN IMMEDIATE")
        for number in range(50):
            connection.execute(f"CREATE TABLE filler_{number} (value INTEGER)")
        for suffix in ("", "-journal"):
            shutil.copy(f"{path}{suffix}", f"{copy}{suffix}")
        connection.execute("ROLLBACK")
    return copy


def test_a_file_whose_creation_was_cut_short_is_empty(tmp_path: Path) -> None:
    path = half_created(tmp_path)
    assert path.stat().st_size
    database = Database(path, SCHEMA)
    assert database.empty
    with database.write_transaction(create=True) as connection:
        connection.execute("INSERT INTO entry VALUES (7)")
    assert not database.empty
    database.check()
    with database.read_transaction() as connection:
        assert connection.execute("SELECT value FROM entry").fetchall() == [(7,)]


@pytest.mark.parametrize("created", [False, True])
def test_a_file_without_a_journal_is_empty_if_nothing_is_in_it(tmp_path: Path, created: bool) -> None:
    database = Database(tmp_path / "plain.db", SCHEMA)
    assert database.empty
    if created:
        with database.write_transaction(create=True):
            pass
    else:
        database.path.touch()
    assert database.empty is not created
