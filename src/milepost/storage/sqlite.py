"""Durable SQLite files: the changes of a transaction are on the disk when it ends, even if others use the file.

Each transaction opens the file and closes it. Therefore threads may share one object, also after a fork; the database
is a single file while no transaction runs; and a file that replaces it is seen at once.
"""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from milepost.errors import MilepostError

WAIT = 30.0  # seconds that a transaction waits for other programs
READ, WRITE = "BEGIN", "BEGIN IMMEDIATE"
PAUSE = 0.005  # seconds between attempts where SQLite itself does not wait
MAX_INTEGER = (1 << 63) - 1  # the largest integer of a column

# for each result code of SQLite: what is wrong with the file, and what to do
BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)
IN_USE = "has been in use by another program for {wait:g} s", "Try again, or end the program that uses it."
DAMAGED = "is damaged", "Keep it, restore the latest backup, and record again what happened since the backup."
NO_ACCESS = "cannot be opened", "Allow this user to read and write the file and its folder."
FAILED = (
    "cannot be read or written: the disk reports an error, or the file has reached a size limit",
    "The last change may or may not be in the file: look before you try again.",
)
REASONS = {
    **dict.fromkeys(BUSY, IN_USE),
    **dict.fromkeys((sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_CONSTRAINT), DAMAGED),
    **dict.fromkeys((sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH, sqlite3.SQLITE_CANTOPEN), NO_ACCESS),
    sqlite3.SQLITE_NOTADB: (
        "is not a {noun}: it is not a SQLite file, or its beginning is damaged",
        "Give another path.",
    ),
    sqlite3.SQLITE_READONLY: ("cannot be written", "Allow this user to write the file and its folder."),
    sqlite3.SQLITE_FULL: ("cannot grow: the disk is full", "Free some space and try again."),
}


@dataclass(frozen=True)
class SqliteSchema:
    """The schema of a file.

    noun: the kind of file, for error messages. application_id: the number by which SQLite files name their program.
    version: the version of the tables and of what they hold. statements: the SQL statements that create the tables.
    oldest: the oldest version that has the same tables; such a file is read, and the first change gives it `version`.
    """

    noun: str
    application_id: int
    version: int
    statements: tuple[str, ...]
    oldest: int | None = None


@dataclass(frozen=True)
class Database:
    """A SQLite file with a schema; the first `write_transaction(create=True)` creates it.

    Every failure is a MilepostError that states what to do; it undoes the transaction completely.
    """

    path: Path
    schema: SqliteSchema
    wait: float = WAIT

    @property
    def empty(self) -> bool:
        """Return whether the file is missing, or empty because a program ended while it created the file.

        If that program had begun to write the file, then the first to read it undoes this with the help of the journal.
        """
        if not os.path.lexists(self.path):
            return True
        if not self.path.is_file():
            return False
        if self.path.stat().st_size and os.path.lexists(f"{self.path}-journal"):
            with suppress(MilepostError), self.read_transaction():
                pass
        return not self.path.stat().st_size

    @contextmanager
    def write_transaction(self, *, create: bool = False) -> Iterator[sqlite3.Connection]:
        """Run a transaction with exclusive write access: durable when the block ends, undone when it raises.

        create: create the file if it does not exist.
        """
        with self._transaction(WRITE, create) as connection:
            yield connection
            connection.execute("COMMIT")
            # This fails while others use the file, and a later transaction tries again; commits are durable either way.
            with suppress(sqlite3.Error):
                connection.execute("PRAGMA busy_timeout = 0")
                connection.execute("PRAGMA journal_mode = WAL")

    @contextmanager
    def read_transaction(self) -> Iterator[sqlite3.Connection]:
        """Run a transaction that sees the file as it was at one instant."""
        with self._transaction(READ, create=False) as connection:
            yield connection

    def check(self) -> None:
        """Refuse a file that has another schema or damaged pages."""
        with self.read_transaction() as connection:
            if connection.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
                raise self.damaged()

    def damaged(self) -> MilepostError:
        """Return the error for a file whose content contradicts itself."""
        return self._error(*DAMAGED)

    @contextmanager
    def _transaction(self, begin: str, create: bool) -> Iterator[sqlite3.Connection]:
        self._check_path(create)
        try:
            connection = self._begin(begin, create)
            try:
                yield connection
            finally:
                _close(connection)
        except sqlite3.ProgrammingError:
            raise
        except UnicodeDecodeError:  # SQLite quotes the text
            raise self.damaged() from None
        except sqlite3.Error as error:
            raise self._error(*REASONS.get(_code(error), FAILED), because=f" ({error})") from error

    def _begin(self, begin: str, create: bool) -> sqlite3.Connection:
        """Return a connection with a transaction on the right schema; retry if SQLite gives up without waiting."""
        deadline = time.monotonic() + self.wait
        while True:
            left = max(0.0, deadline - time.monotonic())
            connection = connect(f"{self.path.as_uri()}?mode={'rwc' if create else 'rw'}", left)
            try:
                # Sync the folder too if there is no WAL; on macOS, write to the disk and not only to its cache.
                for setting in ("synchronous = EXTRA", "fullfsync = ON", "cell_size_check = ON"):
                    connection.execute(f"PRAGMA {setting}")
                connection.execute(begin)
                self._ensure_schema(connection, create, begin == WRITE)
            except BaseException as error:
                _close(connection)
                busy = isinstance(error, sqlite3.Error) and _code(error) in BUSY
                if not busy or time.monotonic() >= deadline:
                    raise
                time.sleep(PAUSE)
            else:
                return connection

    def _ensure_schema(self, connection: sqlite3.Connection, create: bool, write: bool) -> None:
        """Create the schema in an empty file; refuse a file that has another schema; update the version of an old one.

        The version is updated in the transaction that writes: either both happen, or neither does.
        """
        noun, application_id, version = self.schema.noun, self.schema.application_id, self.schema.version
        oldest = version if self.schema.oldest is None else self.schema.oldest
        (tables,) = connection.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
        (file_id,) = connection.execute("PRAGMA application_id").fetchone()
        (file_version,) = connection.execute("PRAGMA user_version").fetchone()
        if not tables and not file_id and not file_version:
            if not create:
                raise self._error(f"is empty, and not yet a {noun}", "Create an entry in it first.")
            for statement in self.schema.statements:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {application_id}")
            connection.execute(f"PRAGMA user_version = {version}")
        elif file_id != application_id:
            raise self._error(f"is not a {noun}: it is a SQLite file of another program", "Give another path.")
        elif file_version > version:
            raise self._error(
                f"is a {noun} of a newer milepost: it has version {file_version}, and this milepost reads {version}",
                "Update milepost.",
            )
        elif file_version < oldest:
            raise self._error(
                f"is a {noun} of an older milepost: it has version {file_version}, and this milepost reads {version}",
                "Use the version of milepost that wrote it, or restore the latest backup.",
            )
        elif file_version < version and write:
            connection.execute(f"PRAGMA user_version = {version}")

    def _check_path(self, create: bool) -> None:
        if not os.path.lexists(self.path):
            if not create:
                raise MilepostError(
                    f"there is no {self.schema.noun} {self.path}; check the path, or create the file first"
                )
            if not self.path.parent.is_dir():
                raise MilepostError(f"{self.path} cannot be written: there is no folder {self.path.parent}")
        elif self.path.exists() and not self.path.is_file():
            raise self._error(f"is a folder or a device, not a {self.schema.noun}", "Give the name of a file.")

    def _error(self, what: str, remedy: str, because: str = "") -> MilepostError:
        what = what.format(noun=self.schema.noun, wait=self.wait)
        return MilepostError(f"{self.path} {what}{because}. {remedy}")


def connect(uri: str, wait: float) -> sqlite3.Connection:
    """Return a connection on which only explicit statements begin and end transactions."""
    return sqlite3.connect(uri, uri=True, timeout=wait, isolation_level=None)


def _close(connection: sqlite3.Connection) -> None:
    """Roll back an open transaction, then close: otherwise a cursor that is still referenced would keep a lock."""
    with suppress(sqlite3.Error):  # some failures have rolled back already
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    connection.close()


def _code(error: sqlite3.Error) -> int:
    """Return SQLite's primary result code; text that is not UTF-8 has none and counts as damaged content."""
    return int(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)) & 0xFF
