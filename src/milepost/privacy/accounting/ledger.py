"""Ledgers: how much of each private dataset's budget is spent, in a file that survives crashes. See docs/ledger.md.

Every version reads the ledgers of all versions before it: the schema, in `account.py`, may only be changed with a
migration. A refused ledger invites a new one, which grants the whole budget again.
"""

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
from milepost.privacy.guarantee import PURE, Guarantee
from milepost.storage.paths import local_path
from milepost.storage.sqlite import WAIT, Database


class Ledger:
    """The privacy budgets of datasets, in a SQLite file that many processes and threads may use at once.

    A charge is on the disk before it is granted, and the sum of all charges never exceeds the cap. Charges of programs
    that crashed stay spent. Totals are whole billionths of what adds up: ε if the cap is pure, otherwise μ² (Gaussian
    noise) or ρ (zCDP), as `create` has fixed it. Charges are rounded up and caps are rounded down. The file never holds
    a private value.

    Parameters
    ----------
    path : str or path-like
        The file, on a local disk; the first `create` makes it.
    wait : float, default 30
        How many seconds a transaction waits for other programs that use the file.

    Raises
    ------
    MilepostError
        If `path` is not a ledger, or the file is damaged or cannot be opened.

    Examples
    --------
    >>> import tempfile
    >>> import milepost as mp
    >>> ledger = mp.Ledger(f"{tempfile.mkdtemp()}/budget.ledger")
    >>> _ = ledger.create("homes", epsilon=1)
    >>> with ledger.spending("homes", mp.Guarantee(0.25), "release") as charge:
    ...     pass  # read the table
    ...     charge.drawn()
    ...     pass  # draw noise
    >>> print(ledger.spent("homes"), ledger.remaining("homes"), sep="; ")
    ε = 0.25; ε = 0.75
    """

    def __init__(self, path: str | os.PathLike[str], *, wait: float = WAIT) -> None:
        if not isinstance(path, str | os.PathLike) or "\0" in os.fspath(path):
            raise MilepostError(f"path= must be the path of a file, such as 'budget.ledger', got {path!r}")
        if isinstance(wait, bool) or not isinstance(wait, int | float) or not 0 <= wait <= 86_400:
            raise MilepostError(f"wait= must be a number of seconds between 0 and 86400, got {wait!r}")
        self._database = Database(local_path(path, "Give a path on a disk.").absolute(), SCHEMA, float(wait))
        if not self._database.empty:
            self._database.check()

    @property
    def path(self) -> Path:
        """Return the path of the file, which is absolute."""
        return self._database.path

    def create(
        self,
        dataset: str,
        *,
        epsilon: float | None = None,
        delta: float = 0.0,
        rho: float | None = None,
        accounting: str | None = None,
    ) -> Account:
        """Create the budget of a dataset; repeat a call with the same cap without effect.

        A cap and its accounting never change. A pure cap takes pure charges only and adds up their ε; other caps add up
        μ² or ρ.

        Parameters
        ----------
        dataset : str
            A name of up to 64 letters, digits, dots, hyphens and underscores.
        epsilon : float, optional
            The cap in ε; give either `epsilon` or `rho`.
        delta : float, default 0
            The δ of a cap in ε, 0 for a pure cap; or the δ at which a cap in ρ is converted to ε.
        rho : float, optional
            The cap in ρ (zCDP).
        accounting : {"gaussian", "zcdp"}, optional
            What a cap with δ > 0 adds up: μ² of Gaussian noise, which allows more, or ρ, which every mechanism of this
            library has. By default "gaussian" for a new cap in ε, and "zcdp" for a cap in ρ.

        Returns
        -------
        Account
            The budget: its cap, and the amounts that are spent and left.

        Raises
        ------
        MilepostError
            If the arguments are not a cap, or the dataset has another cap or accounting.

        Examples
        --------
        >>> import tempfile
        >>> import milepost as mp
        >>> ledger = mp.Ledger(f"{tempfile.mkdtemp()}/budget.ledger")
        >>> print(ledger.create("homes", rho=0.1).remaining)
        ρ = 0.1
        >>> ledger.create("schools", epsilon=1, delta=1e-6).accounting
        'gaussian'
        """
        check_name(dataset)
        cap = Cap.of(epsilon, delta, rho, accounting)
        with self._writing(create=True) as connection:
            row = tables.find(connection, dataset)
            if row is None:
                new = Account(dataset, cap, cap.amount(0), 0, _now())
                tables.add(connection, new)
                return new
        account = row[1]
        if account.cap.terms != cap.terms:
            raise MilepostError(
                f"{dataset!r} already has a cap of {account.cap}, and a cap never changes; got {cap}. Use another name "
                "for other data."
            )
        if accounting is not None and account.accounting != accounting:
            raise MilepostError(
                f"{dataset!r} already has accounting={account.accounting!r}, which never changes; got {accounting!r}. "
                "Leave out accounting=, or use another name for other data."
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
        """Charge a guarantee, or several together, before the data is read.

        If δ > 0, the release must be what the guarantee's `accounting` says, as all mechanisms of this library are:
        μ-Gaussian for its `mu`, or ρ-zCDP for its `rho`. A budget with accounting="gaussian" refuses the latter.

        Parameters
        ----------
        dataset : str
            The dataset to charge.
        guarantee : Guarantee or sequence of Guarantee
            The guarantees to spend; several add up.
        what : str, default "release"
            The mechanism or kind of release. This text and the next two are stored as they are: do not put a private
            value into them.
        label : str, optional
            Any text of one line.
        protects : str, optional
            The neighboring relation and the privacy unit, such as "replace, customer_id". Guarantees that protect
            different units do not add up, so a dataset takes charges for one of them only.

        Returns
        -------
        Charge
            The charge: call `drawn()` right before the first noise, and `settle()` or `refund()` at the end.

        Raises
        ------
        BudgetExceededError
            If the charge would exceed the cap; nothing is charged.
        MilepostError
            If the arguments are wrong, the charges of the dataset protect another unit, or the guarantee does not add
            up with others in its accounting.

        Examples
        --------
        >>> import tempfile
        >>> import milepost as mp
        >>> ledger = mp.Ledger(f"{tempfile.mkdtemp()}/budget.ledger")
        >>> _ = ledger.create("homes", epsilon=1)
        >>> charge = ledger.charge("homes", mp.Guarantee(0.25))
        >>> print(ledger.remaining("homes"))
        ε = 0.75
        >>> charge.refund()
        >>> print(ledger.remaining("homes"))
        ε = 1
        """
        guarantees = tuple(guarantee) if isinstance(guarantee, Sequence) else (guarantee,)
        if not guarantees or not all(isinstance(part, Guarantee) for part in guarantees):
            raise MilepostError(f"guarantee= must be a Guarantee or a list of them, got {guarantee!r}")
        guarantees = tuple(
            part.for_each(1) for part in guarantees
        )  # charge the whole guarantee, however many images share it
        for name, text in {"what": what, "label": label, "protects": protects}.items():
            check_line(name, text)
        cost(guarantees, self.account(dataset).accounting)  # refuse, or convert (which is cached), before the lock
        with self._writing() as connection:
            key, account = self._find(connection, dataset)
            price = account.cap.price(cost(guarantees, account.accounting), account.spent.nano)
            others = tables.protected(connection, key)
            fits, same_unit = price <= account.remaining.nano, others in ("", protects) or not protects
            if fits and same_unit:
                now, amount, texts = _now(), account.cap.amount(price), (what, label, protects)
                entry = Entry(0, dataset, amount, RESERVED, guarantees, *texts, now, now, secrets.token_hex(8))
                entry = replace(entry, id=tables.add_entry(connection, key, entry))
                tables.store(connection, key, account.with_charge(price, 1))
                return Charge(self, entry)
        if not same_unit:
            raise MilepostError(
                f"the charges of {dataset!r} protect {others!r}, and this charge protects {protects!r}. Their "
                "guarantees do not add up: create another budget for this charge."
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
        """Charge a guarantee, then run the block of a `with` statement, which calls `drawn()` before the first noise.

        If the block fails before `drawn()`, the charge is refunded; after `drawn()`, it stays spent.

        Parameters
        ----------
        dataset, guarantee, what, label, protects
            The parameters of `charge`.

        Yields
        ------
        Charge
            The charge, which is settled when the block ends.

        Raises
        ------
        MilepostError
            If `charge` refuses.

        Examples
        --------
        >>> import tempfile
        >>> import milepost as mp
        >>> ledger = mp.Ledger(f"{tempfile.mkdtemp()}/budget.ledger")
        >>> _ = ledger.create("homes", epsilon=1)
        >>> with ledger.spending("homes", mp.Guarantee(0.25)) as charge:
        ...     charge.drawn()
        >>> ledger.history("homes")[0].state
        'settled'
        """
        charge = self.charge(dataset, guarantee, what, label=label, protects=protects)
        try:
            yield charge
        except BaseException as error:
            try:
                charge._move(RETURNED, only_if_possible=True)
            except MilepostError as second:
                error.add_note(f"The budget of charge {charge.id} was not refunded: {second}")
            raise
        try:
            charge.settle()
        except MilepostError as error:  # an answer exists and is charged: it must not be lost
            warn(
                f"charge {charge.id} of {dataset!r} is spent, but the ledger could not record that it is done: {error}"
            )

    def account(self, dataset: str) -> Account:
        """Return the budget of a dataset.

        Parameters
        ----------
        dataset : str
            The name of the dataset.

        Returns
        -------
        Account
            Its cap, and the amounts that are spent and left.

        Raises
        ------
        MilepostError
            If the ledger has no such dataset.

        Examples
        --------
        >>> import tempfile
        >>> import milepost as mp
        >>> ledger = mp.Ledger(f"{tempfile.mkdtemp()}/budget.ledger")
        >>> _ = ledger.create("homes", epsilon=1)
        >>> print(ledger.account("homes").cap)
        ε = 1, δ = 0
        """
        check_name(dataset)
        with self._reading() as connection:
            return self._find(connection, dataset)[1]

    def spent(self, dataset: str) -> Amount:
        """Return the amount that is spent.

        Parameters
        ----------
        dataset : str
            The name of the dataset.

        Returns
        -------
        Amount
            The amount; `mu` or `rho`, and `epsilon(delta)`, return it as numbers.

        Raises
        ------
        MilepostError
            If the ledger has no such dataset.

        Examples
        --------
        >>> import tempfile
        >>> import milepost as mp
        >>> ledger = mp.Ledger(f"{tempfile.mkdtemp()}/budget.ledger")
        >>> _ = ledger.create("homes", epsilon=1)
        >>> _ = ledger.charge("homes", mp.Guarantee(0.25))
        >>> ledger.spent("homes").epsilon()
        0.25
        """
        return self.account(dataset).spent

    def remaining(self, dataset: str) -> Amount:
        """Return the amount that may still be spent.

        Parameters
        ----------
        dataset : str
            The name of the dataset.

        Returns
        -------
        Amount
            The amount; `mu` or `rho`, and `epsilon(delta)`, return it as numbers.

        Raises
        ------
        MilepostError
            If the ledger has no such dataset.

        Examples
        --------
        >>> import tempfile
        >>> import milepost as mp
        >>> ledger = mp.Ledger(f"{tempfile.mkdtemp()}/budget.ledger")
        >>> _ = ledger.create("homes", rho=0.1)
        >>> ledger.remaining("homes").rho
        0.1
        """
        return self.account(dataset).remaining

    def datasets(self) -> tuple[Account, ...]:
        """Return the budgets of all datasets, in the order in which they were created.

        Returns
        -------
        tuple of Account
            One budget a dataset.

        Examples
        --------
        >>> import tempfile
        >>> import milepost as mp
        >>> ledger = mp.Ledger(f"{tempfile.mkdtemp()}/budget.ledger")
        >>> _ = ledger.create("homes", epsilon=1), ledger.create("schools", epsilon=2)
        >>> [account.name for account in ledger.datasets()]
        ['homes', 'schools']
        """
        with self._reading() as connection:
            return tuple(self._find(connection, name)[1] for name in tables.names(connection))

    def history(self, dataset: str) -> tuple[Entry, ...]:
        """Return all charges of a dataset, the oldest first, refunded ones included.

        Parameters
        ----------
        dataset : str
            The name of the dataset.

        Returns
        -------
        tuple of Entry
            One entry a charge.

        Raises
        ------
        MilepostError
            If the ledger has no such dataset.

        Examples
        --------
        >>> import tempfile
        >>> import milepost as mp
        >>> ledger = mp.Ledger(f"{tempfile.mkdtemp()}/budget.ledger")
        >>> _ = ledger.create("homes", epsilon=1)
        >>> ledger.charge("homes", mp.Guarantee(0.25), "hats").settle()
        >>> [(entry.what, entry.state) for entry in ledger.history("homes")]
        [('hats', 'settled')]
        """
        check_name(dataset)
        with self._reading() as connection:
            return tuple(tables.entries(connection, *self._find(connection, dataset)))

    def _find(self, connection: Connection, dataset: str) -> tuple[int, Account]:
        row = tables.find(connection, dataset)
        if row is None:
            names = ", ".join(tables.names(connection)) or "none yet"
            raise MilepostError(
                f"{self.path} has no dataset {dataset!r} (it has: {names}); create the dataset with its cap first"
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
    """A charge of a guarantee, which can be refunded until noise is drawn for it; made by `Ledger.charge`.

    Attributes
    ----------
    ledger : Ledger
        The ledger that records the charge.
    entry : Entry
        The entry as it was charged; its state may have changed since.

    Examples
    --------
    >>> import tempfile
    >>> import milepost as mp
    >>> ledger = mp.Ledger(f"{tempfile.mkdtemp()}/budget.ledger")
    >>> _ = ledger.create("homes", epsilon=1)
    >>> charge = ledger.charge("homes", mp.Guarantee(0.25))
    >>> charge.drawn()
    >>> charge.settle()
    """

    ledger: Ledger
    entry: Entry

    @property
    def id(self) -> int:
        """Return the number of the entry in the ledger's history."""
        return self.entry.id

    def drawn(self) -> None:
        """Record that noise is about to be drawn: the charge stays spent from now on. A second call does nothing."""
        self._move(DRAWN)

    def settle(self) -> None:
        """Record that the release is done; the charge stays spent."""
        self._move(SETTLED)

    def refund(self) -> None:
        """Refund the charge; refuse if noise may have been drawn. The entry stays in the history."""
        self._move(RETURNED)

    def _move(self, state: str, *, only_if_possible: bool = False) -> None:
        """Change the state of the entry, if its current state allows that."""
        with self.ledger._writing() as connection:
            key, account = self.ledger._find(connection, self.entry.dataset)
            entry = tables.entry(connection, key, account, self.id)
            if entry is None or entry.token != self.entry.token:
                raise MilepostError(
                    f"charge {self.id} is no longer in {self.ledger.path}: another file, such as a backup, replaced "
                    "the ledger. Nothing may be released for this charge: charge again."
                )
            if entry.state in BEFORE[state]:
                tables.store_entry(connection, replace(entry, state=state, changed=_now()))
                if state == RETURNED:
                    tables.store(connection, key, account.with_charge(-entry.cost.nano, 0))
            elif entry.state != state and not only_if_possible:
                raise MilepostError(
                    f"charge {self.id} is {entry.state} and cannot become {state}. A charge can be refunded only "
                    "before noise is drawn, and a refunded charge cannot be used again."
                )


class UnrecordedCharge:
    """The charge of a release without a ledger, which nothing records."""

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
    """Charge a ledger as `Ledger.spending` does; without a ledger, run the block without a record.

    >>> with spending(None, None, Guarantee(1)) as charge:
    ...     charge.drawn()
    """
    if (ledger is None) != (dataset is None):
        given, missing = ("ledger=", "dataset=") if dataset is None else ("dataset=", "ledger=")
        raise MilepostError(
            f"{given} was given without {missing}. Give both: the ledger, and the name of a budget in it."
        )
    if ledger is None or dataset is None:
        return nullcontext(UnrecordedCharge())
    if not isinstance(ledger, Ledger):
        raise MilepostError(f"ledger= must be an mp.Ledger, got {ledger!r}; open its file with mp.Ledger(…)")
    return ledger.spending(dataset, guarantee, what, label=label, protects=protects)


def _refusal(account: Account, guarantees: tuple[Guarantee, ...], price: int) -> BudgetExceededError:
    request = " and ".join(map(str, guarantees))
    if account.accounting != PURE:
        request += f" ({account.spent.unit} = {price / NANO:g})"
    left = f"{account.remaining} is left" if account.remaining.nano else "nothing is left"
    return BudgetExceededError(
        f"the budget of {account.name!r} does not allow {request}. Of its cap, {account.cap}, {account.spent} is "
        f"spent and {left}. Nothing was read or charged."
    )


def _now() -> str:
    """Return the time, for people to read; the order of entries and all decisions depend on their numbers only."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
