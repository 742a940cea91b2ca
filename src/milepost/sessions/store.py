"""The store of a session: its card and transcript in a SQLite file. See docs/ledger.md.

Everything in the file is released or public, except a fingerprint of the table, whose key is in a separate file.
"""

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from milepost.errors import MilepostError
from milepost.sessions.engine import Step
from milepost.sessions.transcript import Question
from milepost.storage.paths import local_path
from milepost.storage.sqlite import Database, SqliteSchema

SCHEMA = SqliteSchema(
    noun="session store",
    application_id=0x4D505353,  # "MPSS"
    version=3,  # from 3 on, a query may be a function of the distances to several points
    oldest=2,
    statements=(
        "CREATE TABLE session (card TEXT NOT NULL, fingerprint BLOB NOT NULL, synopsis BLOB, seal BLOB NOT NULL)",
        """CREATE TABLE step (
            number INTEGER PRIMARY KEY,
            key BLOB NOT NULL,
            value REAL NOT NULL,
            error REAL NOT NULL,
            updated INTEGER NOT NULL,
            tested INTEGER NOT NULL,
            opened INTEGER NOT NULL,
            released BLOB NOT NULL,
            answered TEXT NOT NULL,
            seal BLOB NOT NULL
        )""",
        "CREATE TABLE question (name TEXT NOT NULL, point BLOB NOT NULL, number INTEGER NOT NULL, seal BLOB NOT NULL)",
        *(
            f"CREATE TRIGGER {table}_stays_{verb.lower()} BEFORE {verb} ON {table} "
            f"BEGIN SELECT RAISE(ABORT, 'what was released is never changed'); END"
            for table in ("session", "step", "question")
            for verb in ("UPDATE", "DELETE")
        ),
    ),
)


@dataclass(frozen=True)
class StoredSession:
    """The beginning of a session: its public card, its table's fingerprint, and the bytes of its synopsis, if any."""

    card: dict[str, Any]
    fingerprint: bytes
    synopsis: bytes | None


class StoreLog:
    """The transcript in one transaction."""

    def __init__(self, connection: sqlite3.Connection, database: Database) -> None:
        self._connection, self._database = connection, database

    def stored_session(self) -> StoredSession | None:
        """Return the beginning of the session; None if the store has no session yet."""
        row = self._connection.execute("SELECT card, fingerprint, synopsis, seal FROM session").fetchone()
        if row is None:
            return None
        self._check(row)
        return StoredSession(json.loads(row[0]), row[1], row[2])

    def begin(self, stored: StoredSession) -> None:
        """Write the beginning of a session; call this once for each store."""
        row = json.dumps(stored.card, ensure_ascii=False, allow_nan=False), stored.fingerprint, stored.synopsis
        self._connection.execute("INSERT INTO session VALUES (?, ?, ?, ?)", (*row, _seal(row)))

    def steps(self, after: int) -> list[Step]:
        """Return all steps except the first `after`."""
        rows = self._connection.execute("SELECT * FROM step WHERE number >= ? ORDER BY number", (after,)).fetchall()
        for number, row in enumerate(rows, after):
            self._check(row)
            if row[0] != number:
                raise self._database.damaged()
        return [
            Step(key, value, error, bool(updated), bool(tested), opened, released)
            for _, key, value, error, updated, tested, opened, released, _, _ in rows
        ]

    def find(self, name: str) -> Question | None:
        """Return the question with this name, or None."""
        row = self._connection.execute("SELECT * FROM question WHERE name = ?", (name,)).fetchone()
        if row is None:
            return None
        self._check(row)
        return Question(*row[:3])

    def questions(self) -> list[Question]:
        """Return all named questions."""
        rows = self._connection.execute("SELECT * FROM question ORDER BY rowid").fetchall()
        for row in rows:
            self._check(row)
        return [Question(*row[:3]) for row in rows]

    def add(self, steps: Sequence[Step], questions: Sequence[Question]) -> None:
        """Add steps and questions; they are on the disk when the transaction ends."""
        (first,) = self._connection.execute("SELECT COUNT(*) FROM step").fetchone()
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        for number, step in enumerate(steps, first):
            flags = int(step.updated), int(step.tested), step.opened
            numbers = step.value + 0.0, step.error + 0.0  # SQLite has no −0.0
            row = number, step.key, *numbers, *flags, step.released, now
            self._connection.execute("INSERT INTO step VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (*row, _seal(row)))
        for question in questions:
            fields = question.name, question.point, question.number
            self._connection.execute("INSERT INTO question VALUES (?, ?, ?, ?)", (*fields, _seal(fields)))

    def _check(self, row: tuple[Any, ...]) -> None:
        if row[-1] != _seal(row[:-1]):
            raise self._database.damaged()


class Store:
    """The transcript of one session, in a file that several processes may use, one at a time."""

    durable = True

    def __init__(self, path: str | os.PathLike[str]) -> None:
        if not isinstance(path, str | os.PathLike) or "\0" in os.fspath(path):
            raise MilepostError(f"store= must be the path of a file, such as 'homes.db', got {path!r}")
        self._database = Database(local_path(path, "Give a path on a disk.").absolute(), SCHEMA)
        if not self._database.empty:
            self._database.check()

    @property
    def path(self) -> Path:
        """Return the path of the file."""
        return self._database.path

    @property
    def empty(self) -> bool:
        """Return whether the store has no session yet."""
        return self._database.empty or self.stored_session() is None

    def create_file(self) -> None:
        """Create the file, if the store has no session yet, so that failures occur before anything is spent."""
        if self.empty:
            with self._database.write_transaction(create=True) as connection:
                connection.execute(f"PRAGMA user_version = {SCHEMA.version}")  # fails if the file is read-only

    @contextmanager
    def writing(self, *, create: bool = False) -> Iterator[StoreLog]:
        """Begin a transaction, of one process at a time; it is durable when the block ends."""
        with self._database.write_transaction(create=create) as connection:
            yield StoreLog(connection, self._database)

    def stored_session(self) -> StoredSession | None:
        """Return the beginning of the session; None if the store has no session yet."""
        with self._database.read_transaction() as connection:
            return StoreLog(connection, self._database).stored_session()

    def count(self) -> int:
        """Return the number of different points that were asked about."""
        with self._database.read_transaction() as connection:
            (steps,) = connection.execute("SELECT COUNT(*) FROM step").fetchone()
            return int(steps)

    def questions(self) -> list[Question]:
        """Return all named questions."""
        with self._database.read_transaction() as connection:
            return StoreLog(connection, self._database).questions()


def _seal(row: Sequence[Any]) -> bytes:
    """Return a digest of a row. It detects a changed bit, and does not protect against somebody who edits the file."""
    return hashlib.sha256(repr(tuple(row)).encode()).digest()[:16]
