"""The service's database: keys, releases, sessions and jobs as records of one SQLite file."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from milepost.storage.sqlite import Database, SqliteSchema


@dataclass(frozen=True)
class ApiKey:
    """The key of a person or a program. digest: SHA-256 of its secret, which is stored nowhere.

    name: its owner, who may have several keys. share: the part of each dataset's cap that the owner may spend.
    revoked: the time of its revocation, or empty.
    """

    id: str
    name: str
    role: str
    share: float
    digest: bytes
    created: str
    revoked: str


@dataclass(frozen=True)
class ReleaseRecord:
    """A released file. dataset: the dataset whose budget was charged for it, or empty."""

    id: str
    title: str
    dataset: str
    created: str


@dataclass(frozen=True)
class SessionRecord:
    """A session. analyst: the owner of the keys that may ask. words: the request that opened it, as JSON.

    about: its public description, as JSON. state: opening, open, closed or failed.
    transcript: of a closed session, as JSON.
    """

    id: str
    title: str
    analyst: str
    dataset: str
    source: str
    words: str
    created: str
    state: str
    about: str
    transcript: str


@dataclass(frozen=True)
class JobRecord:
    """A release or session that a curator has requested. kind: release or session; of: its id.

    words: the request, as JSON. state: queued, running, done, failed or interrupted.
    detail: why it failed, or its warnings.
    """

    id: str
    kind: str
    of: str
    author: str
    words: str
    created: str
    state: str
    detail: str


Record = TypeVar("Record", ApiKey, ReleaseRecord, SessionRecord, JobRecord)
TABLES: dict[type, str] = {  # names in the file, which stay when a class is renamed
    ApiKey: "Key",
    ReleaseRecord: "Release",
    SessionRecord: "Opened",
    JobRecord: "Job",
}
TYPES: dict[Any, str] = {str: "TEXT", float: "REAL", bytes: "BLOB"}


def _schema(kind: type) -> str:
    columns = [f"{column.name} {TYPES[column.type]} NOT NULL" for column in fields(kind)]
    return f"CREATE TABLE {TABLES[kind]} ({', '.join([f'{columns[0]} PRIMARY KEY', *columns[1:]])})"


SCHEMA = SqliteSchema(
    noun="database of a service",
    application_id=0x4D505356,  # "MPSV"
    version=1,
    statements=tuple(_schema(kind) for kind in TABLES),
)


class ServiceDatabase:
    """All records; what a method writes is on the disk when it returns."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._database = Database(path, SCHEMA)
        with self._database.write_transaction(create=True):
            pass
        self._database.check()

    def all(self, kind: type[Record]) -> list[Record]:
        """Return all records of a kind, in the order in which they were added."""
        with self._database.read_transaction() as connection:
            return rows_of(connection, kind)

    def add(self, record: Record) -> bool:
        """Add a record, and return whether it is new; an existing record of its id stays unchanged."""
        placeholders = ", ".join("?" * len(fields(record)))
        with self._database.write_transaction() as connection:
            cursor = connection.execute(
                f"INSERT OR IGNORE INTO {TABLES[type(record)]} VALUES ({placeholders})",  # noqa: S608
                astuple(record),
            )
            return bool(cursor.rowcount == 1)

    def change(self, record: Record) -> None:
        """Replace the record of the same id."""
        names = [column.name for column in fields(record)]
        assignments = ", ".join(f"{name} = ?" for name in names)
        with self._database.write_transaction() as connection:
            connection.execute(
                f"UPDATE {TABLES[type(record)]} SET {assignments} WHERE id = ?",  # noqa: S608
                (*astuple(record), record.id),
            )

    def remove(self, kind: type[Record], name: str) -> None:
        """Remove the record of an id."""
        with self._database.write_transaction() as connection:
            connection.execute(f"DELETE FROM {TABLES[kind]} WHERE id = ?", (name,))  # noqa: S608

    def datasets(self) -> list[tuple[str, str]]:
        """Return the names of datasets, each with a text about the record that refers to it."""
        references = [(release.dataset, f"the release {release.id!r}") for release in self.all(ReleaseRecord)]
        references += [(session.dataset, f"the session {session.id!r}") for session in self.all(SessionRecord)]
        references += [(json.loads(job.words)["dataset"], f"the job {job.id!r}") for job in self.all(JobRecord)]
        return [(dataset, f"{what} in {self.path}") for dataset, what in references if dataset]

    @contextmanager
    def watching(self) -> Iterator["DatabaseWatch"]:
        """Open a connection that notices what other processes write."""
        watch = DatabaseWatch(self.path)
        try:
            yield watch
        finally:
            watch.close()


class DatabaseWatch:
    """An open connection that checks cheaply whether anything was written."""

    def __init__(self, path: Path) -> None:
        # not mode=ro: the last connection to close cleans up, if it may write
        self._connection = sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, check_same_thread=False)
        self._connection.execute("PRAGMA query_only = ON")
        self._version = -1

    def changed_keys(self) -> list[ApiKey] | None:
        """Return all keys if anything was written since the last call, else None."""
        (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        if version == self._version:
            return None
        keys = rows_of(self._connection, ApiKey)
        self._version = version  # not before: after a failure the keys must be read again
        return keys

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def rows_of(connection: sqlite3.Connection, kind: type[Record]) -> list[Record]:
    """Return all records of a kind, in the order in which they were added."""
    names = ", ".join(column.name for column in fields(kind))
    rows = connection.execute(f"SELECT {names} FROM {TABLES[kind]} ORDER BY rowid")  # noqa: S608
    return [kind(*row) for row in rows]


def now() -> str:
    """Return the current time as text, in UTC."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
