"""Accounts: the budgets of datasets and the entries of their charges, as the tables of a ledger hold them.

A ledger is never refused because of its age: a refused ledger invites a new one, which grants the whole budget again.
So change `SCHEMA`, or the JSON of caps and guarantees, only together with a migration of the files that exist, and keep
a ledger of every version in `tests/golden/formats`.
"""

import hashlib
import json
import re
import sqlite3
import unicodedata
from dataclasses import dataclass, replace

from milepost.errors import MilepostError
from milepost.privacy.accounting.budget import Amount, Cap
from milepost.privacy.guarantee import Guarantee
from milepost.storage.sqlite import SqliteSchema

# States of an entry: charged; noise is being drawn; done; refunded before noise was drawn. All but the last count.
RESERVED, DRAWN, SETTLED, RETURNED = STATES = ("reserved", "drawn", "settled", "returned")
# The states that may precede each state.
BEFORE = {DRAWN: (RESERVED,), SETTLED: (RESERVED, DRAWN), RETURNED: (RESERVED,)}

NAME = re.compile(r"[^\W_][\w.-]{0,63}")
MAX_LENGTH = 200  # of a text, in characters

# There is no index: a damaged index could hide a row. Names are unique because a transaction looks before it adds one.
SCHEMA = SqliteSchema(
    noun="ledger",
    application_id=0x4D504C47,  # "MPLG"
    version=2,  # caps may be in μ², and guarantees have an accounting; version 1 lacks both, and all of it is zCDP
    oldest=1,
    statements=(
        """CREATE TABLE dataset (
            id INTEGER PRIMARY KEY,
            name TEXT NOT NULL,
            said TEXT NOT NULL,
            created TEXT NOT NULL,
            cap INTEGER NOT NULL CHECK (typeof(cap) = 'integer' AND cap > 0),
            spent INTEGER NOT NULL CHECK (typeof(spent) = 'integer' AND spent BETWEEN 0 AND cap),
            entries INTEGER NOT NULL CHECK (typeof(entries) = 'integer' AND entries >= 0),
            seal TEXT NOT NULL
        )""",
        f"""CREATE TABLE entry (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            dataset INTEGER NOT NULL REFERENCES dataset (id),
            token TEXT NOT NULL,
            cost INTEGER NOT NULL CHECK (typeof(cost) = 'integer' AND cost > 0),
            state TEXT NOT NULL CHECK (state IN {STATES}),
            guarantees TEXT NOT NULL,
            what TEXT NOT NULL,
            label TEXT NOT NULL,
            protects TEXT NOT NULL,
            charged TEXT NOT NULL,
            changed TEXT NOT NULL,
            seal TEXT NOT NULL
        )""",
        """CREATE TRIGGER entry_stays BEFORE DELETE ON entry
            BEGIN SELECT RAISE(ABORT, 'an entry is never deleted'); END""",
        """CREATE TRIGGER dataset_stays BEFORE DELETE ON dataset
            BEGIN SELECT RAISE(ABORT, 'a dataset is never deleted'); END""",
    ),
)


ENTRY = "id, token, cost, state, guarantees, what, label, protects, charged, changed, seal"


class InconsistentEntriesError(Exception):
    """Raised when the tables contradict each other: a bit of the file has changed, or somebody has edited it."""


@dataclass(frozen=True)
class Account:
    """The budget of a dataset: its cap, and the amount that is spent.

    Attributes
    ----------
    name : str
        The name of the dataset.
    cap : Cap
        The maximum to spend, as it was given.
    spent : Amount
        The amount that is spent.
    entries : int
        The number of charges, refunded ones included.
    created : str
        The time by the computer's clock; no decision depends on it.

    Examples
    --------
    >>> import tempfile
    >>> import milepost as mp
    >>> account = mp.Ledger(f"{tempfile.mkdtemp()}/budget.ledger").create("homes", epsilon=1)
    >>> print(account.name, account.cap, account.remaining, sep="; ")
    homes; ε = 1, δ = 0; ε = 1
    """

    name: str
    cap: Cap
    spent: Amount
    entries: int
    created: str

    @property
    def accounting(self) -> str:
        """Return what adds up, for ever: ε ("pure"), ρ ("zcdp") or μ² ("gaussian")."""
        return self.cap.accounting

    @property
    def remaining(self) -> Amount:
        """Return the amount that may still be spent."""
        return self.cap.amount(self.cap.nano - self.spent.nano)

    def with_charge(self, nano: int, entries: int) -> "Account":
        """Return the account with this many billionths more spent, and this many entries more."""
        return replace(self, spent=self.cap.amount(self.spent.nano + nano), entries=self.entries + entries)

    def row(self) -> tuple[str, str, str, int, int, int]:
        """Return the account as a row of its table, without the seal."""
        cap = json.dumps(self.cap.to_json(), allow_nan=False)
        return self.name, cap, self.created, self.cap.nano, self.spent.nano, self.entries


@dataclass(frozen=True)
class Entry:
    """One charge in the history of a ledger.

    Attributes
    ----------
    id : int
        The number of the entry; entries are in the order of their numbers.
    dataset : str
        The dataset that is charged.
    cost : Amount
        The amount that the charge costs.
    state : str
        "reserved" (charged, and counted even if nothing follows), "drawn" (noise was being drawn), "settled" (done) or
        "returned" (refunded before noise was drawn; the only state that does not count).
    guarantees : tuple of Guarantee
        The guarantees that are charged; several add up.
    what : str
        The mechanism or kind of release.
    label : str
        The user's text.
    protects : str
        The neighboring relation and the privacy unit; empty if the charge does not name them.
    charged, changed : str
        The times of the charge and of the last change of state, by the computer's clock.
    token : str
        Random text that identifies the charge.

    Examples
    --------
    >>> import tempfile
    >>> import milepost as mp
    >>> ledger = mp.Ledger(f"{tempfile.mkdtemp()}/budget.ledger")
    >>> _ = ledger.create("homes", epsilon=1)
    >>> _ = ledger.charge("homes", mp.Guarantee(0.25), "hats", label="first map")
    >>> [(entry.id, str(entry.cost), entry.state, entry.label) for entry in ledger.history("homes")]
    [(1, 'ε = 0.25', 'reserved', 'first map')]
    """

    id: int
    dataset: str
    cost: Amount
    state: str
    guarantees: tuple[Guarantee, ...]
    what: str
    label: str
    protects: str
    charged: str
    changed: str
    token: str

    @property
    def accounting(self) -> str:
        """Return how the guarantees are spent, each kind once, such as "pure and gaussian"."""
        return " and ".join(dict.fromkeys(guarantee.accounting for guarantee in self.guarantees))

    @property
    def counts(self) -> bool:
        """Return whether the cost counts as spent."""
        return self.state != RETURNED

    def row(self) -> tuple[str, int, str, str, str, str, str, str, str]:
        """Return the entry as a row of its table, without the numbers of the entry and the dataset, and the seal."""
        guarantees = json.dumps([guarantee.to_json() for guarantee in self.guarantees], allow_nan=False)
        texts = self.what, self.label, self.protects
        return self.token, self.cost.nano, self.state, guarantees, *texts, self.charged, self.changed


def check_name(name: str) -> None:
    """Refuse a text that is not the name of a dataset."""
    if not isinstance(name, str) or not NAME.fullmatch(name) or not unicodedata.is_normalized("NFC", name):
        raise MilepostError(
            f"dataset= must be a name of up to 64 letters, digits, dots, hyphens and underscores, got {name!r}. "
            "Begin it with a letter or a digit."
        )


def check_line(name: str, text: str) -> None:
    """Refuse a text that is not one line of moderate length."""
    if not isinstance(text, str) or not (text.isprintable() and len(text) <= MAX_LENGTH):
        raise MilepostError(f"{name}= must be one line of at most {MAX_LENGTH} characters, got {text!r}")


def find(connection: sqlite3.Connection, name: str) -> tuple[int, Account] | None:
    """Return a dataset's number and account, checked against its entries; None if there is no such dataset."""
    row = connection.execute(
        "SELECT id, name, said, created, cap, spent, entries, seal FROM dataset WHERE name = ?", (name,)
    ).fetchone()
    if row is None:
        return None
    key, name, cap_json, created, nano, spent, entries, seal = row
    totals = connection.execute(
        "SELECT COUNT(*), COALESCE(SUM(CASE WHEN state = ? THEN 0 ELSE cost END), 0) FROM entry WHERE dataset = ?",
        (RETURNED, key),
    ).fetchone()
    if seal != _seal(name, cap_json, created, nano, spent, entries) or totals != (entries, spent):
        raise InconsistentEntriesError
    cap = Cap(**json.loads(cap_json))
    return key, Account(name, cap, cap.amount(spent), entries, created)


def names(connection: sqlite3.Connection) -> list[str]:
    """Return the names of all datasets, in the order in which they were created."""
    return [str(name) for (name,) in connection.execute("SELECT name FROM dataset ORDER BY id")]


def add(connection: sqlite3.Connection, account: Account) -> None:
    """Add a dataset; refuse if there are entries of a missing dataset, which could be this one."""
    orphans = "SELECT COUNT(*) FROM entry WHERE dataset NOT IN (SELECT id FROM dataset)"
    if connection.execute(orphans).fetchone() != (0,):
        raise InconsistentEntriesError
    row = account.row()
    connection.execute(
        "INSERT INTO dataset (name, said, created, cap, spent, entries, seal) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (*row, _seal(*row)),
    )


def store(connection: sqlite3.Connection, key: int, account: Account) -> None:
    """Update the spent amount and the number of entries of an existing dataset."""
    connection.execute(
        "UPDATE dataset SET spent = ?, entries = ?, seal = ? WHERE id = ?",
        (account.spent.nano, account.entries, _seal(*account.row()), key),
    )


def entries(connection: sqlite3.Connection, key: int, account: Account) -> list[Entry]:
    """Return all charges of a dataset, the oldest first."""
    rows = connection.execute(f"SELECT {ENTRY} FROM entry WHERE dataset = ? ORDER BY id", (key,))  # noqa: S608
    return [_entry(row, account) for row in rows.fetchall()]


def entry(connection: sqlite3.Connection, key: int, account: Account, number: int) -> Entry | None:
    """Return the charge of a dataset with this number."""
    rows = connection.execute(f"SELECT {ENTRY} FROM entry WHERE id = ? AND dataset = ?", (number, key))  # noqa: S608
    row = rows.fetchone()
    return None if row is None else _entry(row, account)


def add_entry(connection: sqlite3.Connection, key: int, new: Entry) -> int:
    """Add a charge, and return its number."""
    row = new.row()
    connection.execute(
        "INSERT INTO entry (dataset, token, cost, state, guarantees, what, label, protects, charged, changed, seal) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (key, *row, _seal(*row)),
    )
    return int(connection.execute("SELECT last_insert_rowid()").fetchone()[0])


def store_entry(connection: sqlite3.Connection, changed: Entry) -> None:
    """Update the state of an existing charge."""
    row = changed.row()
    guarantees = row[3]  # version 1 wrote the same without an accounting
    connection.execute(
        "UPDATE entry SET state = ?, guarantees = ?, changed = ?, seal = ? WHERE id = ?",
        (changed.state, guarantees, changed.changed, _seal(*row), changed.id),
    )


def protected(connection: sqlite3.Connection, key: int) -> str:
    """Return what the charges of a dataset protect; empty if no charge names it."""
    row = connection.execute(
        "SELECT protects FROM entry WHERE dataset = ? AND state <> ? AND protects <> '' ORDER BY id LIMIT 1",
        (key, RETURNED),
    ).fetchone()
    return "" if row is None else str(row[0])


def _entry(row: tuple[int, str, int, str, str, str, str, str, str, str, str], account: Account) -> Entry:
    key, token, cost, state, guarantees, what, label, protects, charged, changed, seal = row
    if seal != _seal(token, cost, state, guarantees, what, label, protects, charged, changed):
        raise InconsistentEntriesError
    spent = tuple(map(Guarantee.from_json, json.loads(guarantees)))
    amount = account.cap.amount(cost)
    return Entry(key, account.name, amount, state, spent, what, label, protects, charged, changed, token)


def _seal(*fields: object) -> str:
    """Return a digest of a row. It detects a changed bit, and does not protect against somebody who edits the file."""
    return hashlib.sha256(repr(fields).encode()).hexdigest()[:16]
