"""Register: keys, releases, sessions and jobs as records of one SQLite file."""

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
    """A person's or program's right to ask. digest: SHA-256 of its secret, which is kept nowhere.

    name: whose it is; several keys may be one person's. share: of each dataset's cap, how much may be spent for them.
    revoked: when, or empty.
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
    """A released file. dataset: whose budget paid for it, or empty."""

    id: str
    title: str
    dataset: str
    created: str


@dataclass(frozen=True)
class SessionRecord:
    """A session. analyst: whose keys may ask. words: how it was opened, as JSON; about: what is public of it, as JSON.

    state: opening, open, closed or failed. transcript: of a closed one, as JSON.
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
    """Something a curator has asked for that takes a while. kind: release or session; of: its id.

    words: how it was asked for, as JSON. state: queued, running, done, failed or interrupted.
    detail: why it failed, and what else there is to say.
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
    columns = [f"{one.name} {TYPES[one.type]} NOT NULL" for one in fields(kind)]
    return f"CREATE TABLE {TABLES[kind]} ({', '.join([f'{columns[0]} PRIMARY KEY', *columns[1:]])})"


SCHEMA = SqliteSchema(
    noun="register of a service",
    application_id=0x4D505356,  # "MPSV"
    version=1,
    statements=tuple(_schema(kind) for kind in TABLES),
)


class ServiceDatabase:
    """The records, which are on the disk when a method returns."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._database = Database(path, SCHEMA)
        with self._database.write_transaction(create=True):
            pass
        self._database.check()

    def all(self, kind: type[Record]) -> list[Record]:
        """All records of a kind, in the order in which they were added."""
        with self._database.read_transaction() as connection:
            return rows_of(connection, kind)

    def add(self, record: Record) -> bool:
        """Whether it is new; a record of this id stays as it was."""
        marks = ", ".join("?" * len(fields(record)))
        with self._database.write_transaction() as connection:
            added = connection.execute(
                f"INSERT OR IGNORE INTO {TABLES[type(record)]} VALUES ({marks})",  # noqa: S608
                astuple(record),
            )
            return bool(added.rowcount == 1)

    def change(self, record: Record) -> None:
        """In place of the one with the same id."""
        names = [one.name for one in fields(record)]
        sets = ", ".join(f"{name} = ?" for name in names)
        with self._database.write_transaction() as connection:
            connection.execute(
                f"UPDATE {TABLES[type(record)]} SET {sets} WHERE id = ?",  # noqa: S608
                (*astuple(record), record.id),
            )

    def remove(self, kind: type[Record], name: str) -> None:
        """The one of this id."""
        with self._database.write_transaction() as connection:
            connection.execute(f"DELETE FROM {TABLES[kind]} WHERE id = ?", (name,))  # noqa: S608

    def datasets(self) -> list[tuple[str, str]]:
        """Names of datasets, each with the record that has it."""
        found = [(one.dataset, f"the release {one.id!r}") for one in self.all(ReleaseRecord)]
        found += [(one.dataset, f"the session {one.id!r}") for one in self.all(SessionRecord)]
        found += [(json.loads(one.words)["dataset"], f"the job {one.id!r}") for one in self.all(JobRecord)]
        return [(dataset, f"{what} in {self.path}") for dataset, what in found if dataset]

    @contextmanager
    def watching(self) -> Iterator["DatabaseWatch"]:
        """To notice what other processes write."""
        watch = DatabaseWatch(self.path)
        try:
            yield watch
        finally:
            watch.close()


class DatabaseWatch:
    """A connection that stays open, and tells cheaply whether anything was written."""

    def __init__(self, path: Path) -> None:
        # not mode=ro: the last connection that is closed tidies up, if it may write
        self._connection = sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, check_same_thread=False)
        self._connection.execute("PRAGMA query_only = ON")
        self._version = -1

    def news(self) -> list[ApiKey] | None:
        """All keys, if anything was written since they were read last; else None."""
        (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        if version == self._version:
            return None
        found = rows_of(self._connection, ApiKey)
        self._version = version  # not before: what could not be read is news still
        return found

    def close(self) -> None:
        """The connection."""
        self._connection.close()


def rows_of(connection: sqlite3.Connection, kind: type[Record]) -> list[Record]:
    """All records of a kind, in the order in which they were added."""
    names = ", ".join(one.name for one in fields(kind))
    rows = connection.execute(f"SELECT {names} FROM {TABLES[kind]} ORDER BY rowid")  # noqa: S608
    return [kind(*row) for row in rows]


def now() -> str:
    """For people to read."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
