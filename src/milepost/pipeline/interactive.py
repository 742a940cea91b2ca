"""Sessions on a private table, begun or resumed: in memory, or in a store that outlives the process."""

import json
import os
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from milepost.errors import MilepostError
from milepost.ingest.batches import Columns
from milepost.ingest.row_attributes import Role, RowColumns
from milepost.ingest.table import Table
from milepost.mechanisms.paper.margins import check_game
from milepost.mechanisms.registry import AUTO, AnyMechanism, mechanism_named
from milepost.pipeline.open_table import open_table
from milepost.pipeline.private_ball import as_given
from milepost.pipeline.release import Size, accounting_of, charges, run_release, size_release, warn_large_error
from milepost.pipeline.selection import (
    ANY_POINT,
    SESSIONS,
    Candidates,
    SessionChoice,
    StartedSession,
    accounted,
    candidates,
    check_oblivious,
    mechanism_name,
    no_choice,
    session_choices,
)
from milepost.privacy.accounting.ledger import Charge, Ledger, UnrecordedCharge, spending
from milepost.privacy.guarantee import Guarantee
from milepost.sessions.engine import Engine
from milepost.sessions.engines.synopsis import SynopsisEngine
from milepost.sessions.fingerprint import store_fingerprint, store_key
from milepost.sessions.session import Session
from milepost.sessions.store import Store, StoredSession, StoreLog
from milepost.spaces.base import Space, require_space
from milepost.spaces.registry import space_from_json
from milepost.statistics.row_digest import CHANGED_SESSION, Fingerprint
from milepost.storage.formats import check_format
from milepost.synopsis.serialization import load
from milepost.synopsis.synopsis import Synopsis

FORMAT = 3  # of a session's card
OLDER_FORMATS = {  # the last version that reads each
    1: "a version before 0.1.0 (commit 42d2854)",
    2: "a version before 0.1.0 (commit cb0f754)",
}


def interactive(
    data: Any,
    space: Space,
    *,
    epsilon: float,
    delta: float = 0.0,
    max_queries: int,
    failure_probability: float = 0.05,
    mechanism: str | AnyMechanism = "auto",
    neighbors: str = "replace",
    columns: Columns = None,
    privacy_unit: Role = None,
    contributions: int = 1,
    row_weights: Role = None,
    max_row_weight: float | None = None,
    n: int | None = None,
    store: str | os.PathLike[str] | None = None,
    ledger: Ledger | None = None,
    dataset: str | None = None,
) -> Session:
    """Begin a session that answers queries which are chosen one after another; spend (epsilon, delta) once.

    ``"tangents"`` answers up to `max_queries` of them by the interactive game of Theorem 1, and ``"field"`` this many
    different ones with noise that is correlated as the metric is. Other mechanisms make a synopsis that answers any
    number. ``"auto"`` takes the one with the smallest predicted error, where a synopsis may have 5 % more.

    Parameters
    ----------
    data, space, epsilon, delta
        As for `release`.
    max_queries : int
        The largest number of different queries.
    failure_probability, mechanism, neighbors, columns, privacy_unit, contributions, row_weights, max_row_weight, n
        As for `release`. A mechanism object must answer every point.
    store : path, optional
        The file that keeps the session. Every answer is on the disk before it is returned, and the same call with the
        same table resumes the session, in this process or another.
    ledger, dataset
        As for `release`. A resumed session is not charged again, and is refused if the ledger has lost its charge.

    Returns
    -------
    Session
        Ask it with `Session.ask`.

    Raises
    ------
    MilepostError
        If an argument or a row is bad, or the stored session is another one. Nothing is spent then.

    Examples
    --------
    >>> import milepost as mp
    >>> people, city = [[2.0, 3.0], [8.0, 5.0]] * 50_000, mp.L1([(0, 10), (0, 10)])
    >>> with mp.interactive(people, city, epsilon=1, delta=1e-6, max_queries=100) as session:
    ...     abs(session.ask([5, 5]).value - 4) < 0.1
    True
    """
    require_space(space)
    space = as_given(space)
    check_oblivious(space)
    row_columns = RowColumns(None, (), privacy_unit, contributions, row_weights, max_row_weight)
    guarantee = Guarantee(epsilon, delta, accounting=accounting_of(ledger, dataset))
    change = row_columns.change(neighbors)
    check_game(max_queries, failure_probability)
    sessions = tuple(name for name in SESSIONS if mechanism in (AUTO, name))
    possible = candidates(space, None, AUTO if sessions else mechanism, failure_probability)
    if sessions:
        possible = possible.only(possible.any_point - set(SESSIONS) if mechanism == AUTO else ())
    if ledger is not None and mechanism == AUTO and not guarantee.pure:
        possible = possible.charged_as(guarantee)
        sessions = tuple(
            name for name in sessions if mechanism_named(name, failure_probability).accounted(guarantee) == guarantee
        )
    table = open_table(data, space, change, columns, row_columns)
    opening = SessionOpening(
        table, guarantee, max_queries, failure_probability, sessions, *possible.feasible(change, guarantee)
    )
    session_store = None if store is None else Store(store)
    if session_store is not None:
        session_store.create_file()
    with _log(session_store) as log:
        stored = None if log is None else log.stored_session()
        if session_store is not None and log is not None and stored is not None:
            check_card(stored.card, session_store.path)
            check_charge(stored.card, session_store.path, ledger, dataset)
            begun = Guarantee.from_json(stored.card["guarantee"])
            if begun.pure == guarantee.pure:  # else `resume` refuses
                opening = replace(opening, guarantee=replace(guarantee, accounting=begun.accounting))
            session = opening.resume(session_store, stored, mechanism_name(mechanism), n)
            session.go_on(log)
            return session
        if session_store is not None:
            store_key(session_store.path, create=True)
        cost = charges(opening.accounted, change, n)
        with spending(ledger, dataset, cost, mechanism_name(mechanism), protects=change.protects) as charge:
            return opening.begin(session_store, log, n, charge)


def resume(
    store: str | os.PathLike[str],
    data: Any,
    *,
    columns: Columns = None,
    privacy_unit: Role = None,
    row_weights: Role = None,
    ledger: Ledger | None = None,
) -> Session:
    """Resume the session of a store, on the table with which it was begun. The store has its other arguments.

    Parameters
    ----------
    store : path
        The file of the session, with its key beside it.
    data : table
        The same table as at the beginning.
    columns, privacy_unit, row_weights
        As they were given at the beginning.
    ledger : Ledger, optional
        The ledger that was charged, if its path relative to the store has changed.

    Returns
    -------
    Session
        It has answered what the store holds, and costs nothing more.

    Raises
    ------
    MilepostError
        If there is no session in the store, or the table is another one.

    Examples
    --------
    >>> import tempfile
    >>> import milepost as mp
    >>> people, city = [[2.0, 3.0], [8.0, 5.0]] * 500, mp.L1([(0, 10), (0, 10)])
    >>> store = tempfile.mkdtemp() + "/visits.db"
    >>> session = mp.interactive(people, city, epsilon=9, delta=1e-6, max_queries=9, mechanism="field", store=store)
    >>> session.ask([5, 5]).value == mp.resume(store, people).ask([5, 5]).value
    True
    """
    space, arguments = stored_call(store)
    arguments |= {"columns": columns, "row_weights": row_weights} | (
        {} if privacy_unit is None else {"privacy_unit": privacy_unit}
    )
    return interactive(data, space, **arguments, store=store, ledger=ledger)


def stored_call(store: str | os.PathLike[str]) -> tuple[Space, dict[str, Any]]:
    """Return the space of a store's session, and the other arguments of `interactive` that it was begun with."""
    card = stored_card(store)
    check_card(card, Path(store))
    change = card["change"]
    arguments = {name: card["guarantee"][name] for name in ("epsilon", "delta")} | {
        "max_queries": card["max_queries"],
        "failure_probability": card["failure_probability"],
    }
    for name in ("neighbors", "privacy_unit", "contributions", "max_row_weight"):
        if name in change:
            arguments[name] = change[name]
    return space_from_json(card["space"], {}), arguments


def stored_card(store: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the public card of a store's session, of any format: its charge is checked whatever version wrote it."""
    stored = Store(store).stored_session()
    if stored is None:
        raise MilepostError(f"{store} has no session yet; begin one with mp.interactive(…, store=…)")
    return stored.card


def check_card(card: dict[str, Any], store: Path) -> None:
    """Refuse a session whose card has another format; call this before anything else of the card is read."""
    remedy = "begin another session in another store, which spends again"
    check_format(store, card.get("format"), FORMAT, OLDER_FORMATS, remedy)


def check_charge(card: dict[str, Any], store: Path, ledger: Ledger | None = None, dataset: str | None = None) -> None:
    """Refuse to resume a session whose ledger lacks its charge: the ledger would grant the same budget again.

    ledger: None for the one that the card names.
    """
    charge = card.get("charge")
    if charge is None:
        if ledger is not None and "charge" in card:  # cards of older versions do not say
            raise MilepostError(
                f"{store} holds a session that was begun without a ledger, so none was charged; leave ledger= out, or "
                "begin another session in another store"
            )
        return
    if dataset not in (None, charge["dataset"]):
        raise MilepostError(f"{store} holds a session that was charged to {charge['dataset']!r}, not {dataset!r}")
    path = store.parent / charge["ledger"] if ledger is None else ledger.path
    if not path.exists():
        raise MilepostError(
            f"{store} holds a session that was charged to {charge['dataset']!r} in {path}, and there is no such "
            "ledger. Put it back from its backup; or give ledger=, if it is elsewhere."
        )
    charged_ledger = Ledger(path)
    datasets = {account.name for account in charged_ledger.datasets()}
    entries = charged_ledger.history(charge["dataset"]) if charge["dataset"] in datasets else ()
    if not any(entry.counts and charge["token"] in (entry.token, entry.label) for entry in entries):
        raise MilepostError(
            f"{path} does not know charge {charge['id']} to {charge['dataset']!r}, which paid for the session in "
            f"{store}. Put the ledger back that has it; or charge it again, with the label {charge['token']!r}."
        )


def _charge_record(charge: Charge | UnrecordedCharge, store: Path) -> dict[str, Any] | None:
    """Return the charge of a session as its card holds it; the ledger's path is relative to the store's folder."""
    if isinstance(charge, UnrecordedCharge):
        return None
    path = str(charge.ledger.path)
    with suppress(ValueError):  # on another drive
        path = os.path.relpath(path, store.parent)
    return {"ledger": path, "dataset": charge.entry.dataset, "id": charge.id, "token": charge.entry.token}


def _log(store: Store | None) -> AbstractContextManager[StoreLog | None]:
    """Open a store for writing, alone, and create its file if there is none; without a store, do nothing."""
    return nullcontext() if store is None else store.writing(create=True)


@dataclass(frozen=True)
class SessionOpening:
    """The inputs of a session. sessions: mechanisms that query the data; feasible: those that make a synopsis."""

    table: Table
    guarantee: Guarantee
    max_queries: int
    failure_probability: float
    sessions: tuple[str, ...]
    feasible: Candidates
    refused: dict[str, str]

    @property
    def accounted(self) -> Guarantee:
        """Return the guarantee as the mechanisms that may be chosen spend it."""
        if not self.sessions:
            return self.feasible.accounted(self.guarantee)
        mechanisms = [mechanism_named(name, self.failure_probability) for name in self.sessions]
        return accounted(mechanisms, self.guarantee)

    def choose(self, n: int, guarantee: Guarantee) -> SessionChoice | None:
        """Return the session with the smallest error; None where a synopsis is better."""
        sessions, unfit = self._choices(self.table.space, n, guarantee, self.sessions)
        synopsis, unfit_synopses = self.feasible.best(n, self.table.change, guarantee)
        if not sessions and synopsis is None:
            others = self.feasible.others(self.table.change, guarantee)
            raise no_choice(self.refused | unfit | unfit_synopses, others)
        if synopsis is None or (sessions and sessions[0].error < ANY_POINT * synopsis.error):
            return sessions[0]
        return None

    def _choices(
        self, space: Space, n: int, guarantee: Guarantee, names: tuple[str, ...]
    ) -> tuple[list[SessionChoice], dict[str, str]]:
        return session_choices(
            space, n, self.table.change, guarantee, self.max_queries, self.failure_probability, names
        )

    def begin(
        self, store: Store | None, log: StoreLog | None, n: int | None, charge: Charge | UnrecordedCharge
    ) -> Session:
        """Return a new session; with a store, it is begun when the transaction ends."""
        table, drawing = self.table, charge.drawn
        arguments: dict[str, Any] = {"n": n}
        fingerprint = Fingerprint(CHANGED_SESSION) if store is None else store_fingerprint(store.path)
        if store is not None or table.fingerprint is not None:
            table = table.with_fingerprint(fingerprint)
        if store is not None:
            arguments["charge"] = _charge_record(charge, store.path)
        size = size_release(table, self.choose, self.guarantee, n, drawing)
        choice = self.choose(size.total, size.left)
        if choice is None:
            synopsis = run_release(table, self.feasible, size, self.guarantee, drawing)
            session = self._synopsis_session(synopsis, store)
            card, content = self._card(synopsis.mechanism, size) | arguments | {"total": synopsis.n}, _bytes(synopsis)
        else:
            warn_large_error(choice, table, size.total, size.left)
            started = choice.begin(table, size.total, drawing)
            session = self._session(started, store, choice)
            details = {"total": started.total, "variant": choice.space.to_json(), "numbers": choice.numbers}
            card, content = self._card(session.mechanism, size) | arguments | details, None
        if log is not None:
            card |= {"accounting": session.guarantee.accounting}  # as it is spent; the guarantee is as it was asked for
            log.begin(StoredSession(card, fingerprint.expected, content))
        return session

    def resume(self, store: Store, stored: StoredSession, mechanism: str, n: int | None) -> Session:
        """Return the session of a store; refuse one that was begun with other arguments."""
        card, path = stored.card, store.path
        for name, (now, then) in self._arguments(card, mechanism, n).items():
            if now != then:
                raise MilepostError(
                    f"{path} holds a session with another {name}: {then}, not {now}; say the same again, or begin "
                    "another session in another store, which spends again"
                )
        table = self.table.with_fingerprint(store_fingerprint(path, stored.fingerprint))
        if stored.synopsis is not None:
            table.total()  # reads all rows, to compare the table's fingerprint
            return self._synopsis_session(_synopsis(stored.synopsis), store)
        left = Guarantee.from_json(card["left"])
        variant = space_from_json(card["variant"], {})  # with the number of directions chosen then
        choices, refused = self._choices(variant, card["size"], left, (card["mechanism"],))
        if not choices:
            raise no_choice(refused)
        if json.loads(json.dumps(choices[0].numbers)) != card["numbers"]:
            raise MilepostError(
                f"{path} holds a session of another version of milepost, or of a computer that calculates otherwise: "
                "its noise would not be the same; go on with that one"
            )
        choice = choices[0]
        return self._session(choice.begin(table, card["size"], _no_noise, card["total"]), store, choice)

    def _card(self, mechanism: str, size: Size) -> dict[str, Any]:
        """Return all that is public about the session."""
        return {
            "format": FORMAT,
            "space": self.table.space.to_json(),
            "guarantee": self.guarantee.to_json(),
            "change": self.table.change.to_json(),
            "max_queries": self.max_queries,
            "failure_probability": self.failure_probability,
            "mechanism": mechanism,
            "size": size.total,
            "left": size.left.to_json(),
        }

    def _arguments(self, card: dict[str, Any], mechanism: str, n: int | None) -> dict[str, tuple[Any, Any]]:
        """Return each argument as it is now and as the card has it; those left out now count as equal."""
        table = self.table
        now = {
            "space": json.loads(json.dumps(table.space.to_json())),
            "guarantee": self.guarantee,
            "change": table.change.to_json(),
            "max_queries": self.max_queries,
            "failure_probability": self.failure_probability,
            "mechanism": card["mechanism"] if mechanism == AUTO else mechanism,
            "n": card["n"] if n is None else n,
        }
        then = card | {"guarantee": Guarantee.from_json(card["guarantee"])}
        return {name: (value, then[name]) for name, value in now.items()}

    def _session(self, started: StartedSession, store: Store | None, choice: SessionChoice) -> Session:
        spent = choice.mechanism.accounted(self.guarantee)
        return Session(started.engine, spent, self.table.change, started.n, store)

    def _synopsis_session(self, synopsis: Synopsis, store: Store | None) -> Session:
        def engine() -> Engine:
            return SynopsisEngine(synopsis)

        return Session(engine, synopsis.guarantee, self.table.change, synopsis.n, store)


def _no_noise() -> None:
    """Do nothing: a session that is resumed draws no noise before its next query."""


def _bytes(synopsis: Synopsis) -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "session.milepost"
        synopsis.save(path)
        return path.read_bytes()


def _synopsis(content: bytes) -> Synopsis:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "session.milepost"
        path.write_bytes(content)
        return load(path)
