"""The ledger: how much of a private dataset's budget is spent, in a file that survives crashes. docs/ledger.md."""

import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from sqlite3 import Connection

from milepost.errors import BudgetExceededError, MilepostError, warn
from milepost.privacy.accounting import account as tables
from milepost.privacy.accounting.account import (
    BEFORE,
    DRAWN,
    RESERVED,
    RETURNED,
    SCHEMA,
    SETTLED,
    Account,
    Entry,
    InconsistentEntriesError,
    check_line,
    check_name,
)
from milepost.privacy.accounting.budget import NANO, Amount, Cap, cost
from milepost.privacy.guarantee import Guarantee
from milepost.storage.paths import local_path
from milepost.storage.sqlite import WAIT, Database


class Ledger:
    """The privacy budgets of datasets, in a SQLite file that many processes and threads may use at once.

    A charge is on the disk before it is granted, and the sum of all charges never passes the cap. Charges of
    programs that crashed stay spent. Totals are whole billionths of ρ (zCDP), or of ε where the cap is pure:
    charges are rounded up and caps down. No private value is ever written.

    path: of the file, which the first `create` makes. wait: how many seconds to wait for other programs.

    >>> import tempfile
    >>> ledger = Ledger(Path(tempfile.mkdtemp()) / "ledger.db")
    >>> _ = ledger.create("homes", epsilon=1)
    >>> with ledger.spending("homes", Guarantee(0.25), "release") as charge:
    ...     pass  # read the table
    ...     charge.drawn()
    ...     pass  # draw noise
    >>> print(ledger.spent("homes"), ledger.remaining("homes"), sep="; ")
    ε = 0.25; ε = 0.75
    """

    def __init__(self, path: str | os.PathLike[str], *, wait: float = WAIT) -> None:
        if not isinstance(path, str | os.PathLike) or "\0" in os.fspath(path):
            raise MilepostError(f"a ledger is the path of a file, such as 'ledger.db', got {path!r}")
        if isinstance(wait, bool) or not isinstance(wait, int | float) or not 0 <= wait <= 86_400:
            raise MilepostError(f"wait must be a number of seconds, at least 0 and at most a day, got {wait!r}")
        self._database = Database(local_path(path, "give a path on a disk").absolute(), SCHEMA, float(wait))
        if not self._database.empty:
            self._database.check()

    @property
    def path(self) -> Path:
        """Return the path of the file."""
        return self._database.path

    def create(
        self, dataset: str, *, epsilon: float | None = None, delta: float = 0.0, rho: float | None = None
    ) -> Account:
        """Create a budget for a dataset: (epsilon, delta), pure epsilon, or rho; the same one again changes nothing.

        A cap never changes. A pure one takes pure charges only, and adds up their ε; others add up ρ.
        """
        check_name(dataset)
        cap = Cap.of(epsilon, delta, rho)
        with self._writing(create=True) as connection:
            row = tables.find(connection, dataset)
            if row is None:
                new = Account(dataset, cap, cap.amount(0), 0, _now())
                tables.add(connection, new)
                return new
        account = row[1]
        if account.cap.terms != cap.terms:
            raise MilepostError(
                f"{dataset!r} has a cap of {account.cap} already, which stays; got {cap}; other data needs another name"
            )
        return account

    def charge(
        self,
        dataset: str,
        guarantee: Guarantee | Sequence[Guarantee],
        what: str = "release",
        *,
        label: str = "",
        protects: str = "",
    ) -> "Charge":
        """Spend a guarantee, or several together, before the data is read; refuse a charge that would pass the cap.

        Where δ > 0, what is released must be ρ-zCDP for the guarantee's `rho`, as all mechanisms here are.
        what: the mechanism or kind of release. label: the user's text. protects: whom the guarantee is about, such as
        "replace, customer_id": charges of one dataset that protect different ones do not add up, and are refused.
        All three are written as they are, so none may hold a private value.
        """
        guarantees = tuple(guarantee) if isinstance(guarantee, Sequence) else (guarantee,)
        if not guarantees or not all(isinstance(part, Guarantee) for part in guarantees):
            raise MilepostError(f"a charge is a Guarantee, or several, got {guarantee!r}")
        guarantees = tuple(part.for_each(1) for part in guarantees)  # all of it, however many images share it
        for name, text in {"what": what, "label": label, "protects": protects}.items():
            check_line(name, text)
        exact_cost = cost(guarantees, self.account(dataset).cap.pure)
        with self._writing() as connection:
            key, account = self._find(connection, dataset)
            price = account.cap.price(exact_cost, account.spent.nano)
            others = tables.protected(connection, key)
            fits, alike = price <= account.remaining.nano, others in ("", protects) or not protects
            if fits and alike:
                now, amount, texts = _now(), account.cap.amount(price), (what, label, protects)
                entry = Entry(0, dataset, amount, RESERVED, guarantees, *texts, now, now, secrets.token_hex(8))
                entry = replace(entry, id=tables.add_entry(connection, key, entry))
                tables.store(connection, key, account.with_charge(price, 1))
                return Charge(self, entry)
        if not alike:
            raise MilepostError(
                f"charges of {dataset!r} protect {others!r} and this one {protects!r}: their guarantees do not add up; "
                "create a budget of its own for what protects somebody else"
            )
        raise _refusal(account, guarantees, price)

    @contextmanager
    def spending(
        self,
        dataset: str,
        guarantee: Guarantee | Sequence[Guarantee],
        what: str = "release",
        *,
        label: str = "",
        protects: str = "",
    ) -> Iterator["Charge"]:
        """Charge, then run the block, which calls `drawn()` right before the first noise.

        If the block fails before that, the budget is given back; afterwards it stays spent.
        """
        charge = self.charge(dataset, guarantee, what, label=label, protects=protects)
        try:
            yield charge
        except BaseException as error:
            try:
                charge._move(RETURNED, only_if_possible=True)
            except MilepostError as second:
                error.add_note(f"The budget of charge {charge.id} was not given back: {second}")
            raise
        try:
            charge.settle()
        except MilepostError as error:  # an answer exists and is paid for: it must not be lost
            warn(f"charge {charge.id} of {dataset!r} is spent, but the ledger could not note that it is done: {error}")

    def account(self, dataset: str) -> Account:
        """Return a dataset's cap, and what is spent and left."""
        check_name(dataset)
        with self._reading() as connection:
            return self._find(connection, dataset)[1]

    def spent(self, dataset: str) -> Amount:
        """Return how much is spent: `rho`, and `epsilon(delta)` at a δ."""
        return self.account(dataset).spent

    def remaining(self, dataset: str) -> Amount:
        """Return how much may still be spent."""
        return self.account(dataset).remaining

    def datasets(self) -> tuple[Account, ...]:
        """Return all datasets, in the order in which they were created."""
        with self._reading() as connection:
            return tuple(self._find(connection, name)[1] for name in tables.names(connection))

    def history(self, dataset: str) -> tuple[Entry, ...]:
        """Return all charges of a dataset, the oldest first, those given back included."""
        check_name(dataset)
        with self._reading() as connection:
            return tuple(tables.entries(connection, *self._find(connection, dataset)))

    def _find(self, connection: Connection, dataset: str) -> tuple[int, Account]:
        row = tables.find(connection, dataset)
        if row is None:
            names = ", ".join(tables.names(connection)) or "none yet"
            raise MilepostError(
                f"{self.path} has no dataset {dataset!r} (it has: {names}); create it with its cap first"
            )
        return row

    @contextmanager
    def _writing(self, *, create: bool = False) -> Iterator[Connection]:
        with self._report_damage(), self._database.write_transaction(create=create) as connection:
            yield connection

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with self._report_damage(), self._database.read_transaction() as connection:
            yield connection

    @contextmanager
    def _report_damage(self) -> Iterator[None]:
        try:
            yield
        except InconsistentEntriesError:
            raise self._database.damaged() from None

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r})"


@dataclass(frozen=True)
class Charge:
    """A guarantee that is spent, and can be given back as long as no noise has been drawn for it."""

    ledger: Ledger
    entry: Entry  # as charged; its state may have changed since

    @property
    def id(self) -> int:
        """Return the number of its entry in the ledger's history."""
        return self.entry.id

    def drawn(self) -> None:
        """Note that noise is about to be drawn: the charge stays spent from now on. A second call does nothing."""
        self._move(DRAWN)

    def settle(self) -> None:
        """Note that all is done; the charge stays spent."""
        self._move(SETTLED)

    def refund(self) -> None:
        """Give the budget back; refuse once noise may have been drawn. The entry stays in the history."""
        self._move(RETURNED)

    def _move(self, state: str, *, only_if_possible: bool = False) -> None:
        """Change the state, if its present one allows that."""
        with self.ledger._writing() as connection:
            key, account = self.ledger._find(connection, self.entry.dataset)
            entry = tables.entry(connection, key, account, self.id)
            if entry is None or entry.token != self.entry.token:
                raise MilepostError(
                    f"charge {self.id} is not in {self.ledger.path} any more: another file, such as a backup, was put "
                    "in its place; nothing may be released for it, charge again"
                )
            if entry.state in BEFORE[state]:
                tables.store_entry(connection, replace(entry, state=state, changed=_now()))
                if state == RETURNED:
                    tables.store(connection, key, account.with_charge(-entry.cost.nano, 0))
            elif entry.state != state and not only_if_possible:
                raise MilepostError(
                    f"charge {self.id} is {entry.state} and cannot be {state}: only one for which no noise was drawn "
                    "can be given back, and one that was given back is not paid for any more"
                )


class UnrecordedCharge:
    """A charge that no ledger records."""

    def drawn(self) -> None:
        """Do nothing."""


def spending(
    ledger: Ledger | None,
    dataset: str | None,
    guarantee: Guarantee | Sequence[Guarantee],
    what: str = "release",
    *,
    label: str = "",
    protects: str = "",
) -> AbstractContextManager[Charge | UnrecordedCharge]:
    """Charge as `Ledger.spending` does; without a ledger, run the block without a record.

    >>> with spending(None, None, Guarantee(1)) as charge:
    ...     charge.drawn()
    """
    if (ledger is None) != (dataset is None):
        raise MilepostError("ledger and dataset go together: the ledger's file, and the name of the budget in it")
    if ledger is None or dataset is None:
        return nullcontext(UnrecordedCharge())
    if not isinstance(ledger, Ledger):
        raise MilepostError(f"ledger must be an mp.Ledger, got {ledger!r}; open its file with mp.Ledger(…)")
    return ledger.spending(dataset, guarantee, what, label=label, protects=protects)


def _refusal(account: Account, guarantees: tuple[Guarantee, ...], price: int) -> BudgetExceededError:
    request = " and ".join(map(str, guarantees))
    if not account.cap.pure:
        request += f" (ρ = {price / NANO:g})"
    left = f"{account.remaining} is left" if account.remaining.nano else "nothing is left"
    return BudgetExceededError(
        f"the budget of {account.name!r} does not allow {request}: of its cap, {account.cap}, {account.spent} is "
        f"spent, and {left}; nothing was read or spent"
    )


def _now() -> str:
    """Return the time, for people to read: the order of entries, and every decision, depends on their numbers only."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
