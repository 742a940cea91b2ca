"""interactive: a session on a private table, in memory or in a store that outlives the process."""

import json
import os
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from milepost.errors import MilepostError
from milepost.ingest.batches import Columns
from milepost.ingest.row_attributes import Role, RowColumns
from milepost.ingest.table import Table
from milepost.mechanisms.paper.margins import check_game
from milepost.pipeline.open_table import open_table
from milepost.pipeline.release import Size, charges, run_release, size_release, warn_large_error
from milepost.pipeline.selection import (
    ANY_POINT,
    SESSIONS,
    Candidates,
    SessionChoice,
    StartedSession,
    candidates,
    check_oblivious,
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
from milepost.synopsis.serialization import load
from milepost.synopsis.synopsis import Synopsis

FORMAT = 1


def interactive(
    data: Any,
    space: Space,
    *,
    epsilon: float,
    delta: float = 0.0,
    max_queries: int,
    beta: float = 0.05,
    mechanism: str = "auto",
    neighbors: str = "replace",
    columns: Columns = None,
    unit: Role = None,
    contributions: int = 1,
    weights: Role = None,
    max_weight: float | None = None,
    n: int | None = None,
    store: str | os.PathLike[str] | None = None,
    ledger: Ledger | None = None,
    dataset: str | None = None,
) -> Session:
    """A session that answers queries chosen one after another; spends (epsilon, delta) once.

    "tangents" answers up to `max_queries` of them by the interactive game of Theorem 1, and "field" as many different
    ones with noise that is correlated as the metric is. Other mechanisms make a synopsis that answers any number;
    "auto" takes whichever has the smallest predicted error, where a synopsis may have 5 % more. What else can be said
    about the table is as for `release`.
    store: the path of a file that keeps the session: every answer is on the disk before it is returned, and the same
    call, with the same table, goes on where the session was, in this process or another.
    ledger, dataset: as for `release`; a session that goes on is not charged again, and is refused where the ledger has
    lost its charge.
    """
    require_space(space)
    check_oblivious(space)
    roles = RowColumns(None, (), unit, contributions, weights, max_weight)
    guarantee, change = Guarantee(epsilon, delta), roles.change(neighbors)
    check_game(max_queries, beta)
    sessions = SESSIONS if mechanism == "auto" else tuple({mechanism} & set(SESSIONS))
    possible = candidates(space, None, "auto" if sessions else mechanism, beta)
    possible = possible.only(set(possible.coordinate) - set(SESSIONS) if mechanism == "auto" or not sessions else ())
    if ledger is not None and mechanism == "auto" and not guarantee.pure:
        possible = possible.spending_rho
    table = open_table(data, space, change, columns, roles)
    opening = SessionOpening(table, guarantee, max_queries, beta, sessions, *possible.feasible(change, guarantee))
    kept = None if store is None else Store(store)
    if kept is not None:
        kept.make()
    with _log(kept) as log:
        stored = None if log is None else log.begun()
        if kept is not None and log is not None and stored is not None:
            check_charge(stored.card, kept.path, ledger, dataset)
            session = opening.resume(kept, stored, mechanism, n)
            session.go_on(log)
            return session
        if kept is not None:
            store_key(kept.path, create=True)
        cost = charges(guarantee, change, n, opening.pure)
        with spending(ledger, dataset, cost, mechanism, protects=change.protects) as charge:
            return opening.begin(kept, log, n, charge)


def resume(
    store: str | os.PathLike[str],
    data: Any,
    *,
    columns: Columns = None,
    unit: Role = None,
    weights: Role = None,
    ledger: Ledger | None = None,
) -> Session:
    """Go on with the session of a store, on the table it was begun with; what else was said then is in the store.

    columns, unit, weights: as they were said when it was begun. ledger: the one that was charged, where it is not in
    the same place beside the store any more.
    """
    space, said = stored_call(store)
    given = {"columns": columns, "weights": weights} | ({} if unit is None else {"unit": unit})
    return interactive(data, space, **said | given, store=store, ledger=ledger)


def stored_call(store: str | os.PathLike[str]) -> tuple[Space, dict[str, Any]]:
    """The space of a store's session, and what else was said when it was begun, as `interactive` takes it."""
    card = stored_card(store)
    change = card["change"]
    said = card["guarantee"] | {"max_queries": card["max_queries"], "beta": card["beta"]}
    for word in ("neighbors", "unit", "contributions", "max_weight"):
        if word in change:
            said[word] = change[word]
    return space_from_json(card["space"], {}), said


def stored_card(store: str | os.PathLike[str]) -> dict[str, Any]:
    """All that is public about the session of a store."""
    stored = Store(store).begun()
    if stored is None:
        raise MilepostError(f"{store} has no session yet; begin one with mp.interactive(…, store=…)")
    return stored.card


def check_charge(card: dict[str, Any], store: Path, ledger: Ledger | None = None, dataset: str | None = None) -> None:
    """Refuse to go on with a session whose ledger does not know its charge: what it spent would be granted again.

    ledger: None for the one that the card names.
    """
    paid = card.get("charge")
    if paid is None:
        if ledger is not None and "charge" in card:  # cards of older versions do not say
            raise MilepostError(
                f"{store} holds a session that was begun without a ledger, so none was charged; leave ledger= out, or "
                "begin another session in another store"
            )
        return
    if dataset not in (None, paid["dataset"]):
        raise MilepostError(f"{store} holds a session that was charged to {paid['dataset']!r}, not {dataset!r}")
    place = store.parent / paid["ledger"] if ledger is None else ledger.path
    if not place.exists():
        raise MilepostError(
            f"{store} holds a session that was charged to {paid['dataset']!r} in {place}, and there is no such ledger. "
            "Put it back from its backup; or give ledger=, if it is elsewhere."
        )
    known = Ledger(place)
    charges = known.history(paid["dataset"]) if paid["dataset"] in {one.name for one in known.datasets()} else ()
    if not any(entry.counts and paid["token"] in (entry.token, entry.label) for entry in charges):
        raise MilepostError(
            f"{place} does not know charge {paid['id']} to {paid['dataset']!r}, which paid for the session in {store}. "
            f"Put the ledger back that has it; or charge it again, with the label {paid['token']!r}."
        )


def _paid(charge: Charge | UnrecordedCharge, store: Path) -> dict[str, Any] | None:
    """How a card tells the charge of its session; the ledger's path begins at the store's folder."""
    if isinstance(charge, UnrecordedCharge):
        return None
    path = charge.ledger.path
    try:
        place = os.path.relpath(path, store.parent)
    except ValueError:  # on another drive
        place = str(path)
    return {"ledger": place, "dataset": charge.entry.dataset, "id": charge.id, "token": charge.entry.token}


def _log(store: Store | None) -> AbstractContextManager[StoreLog | None]:
    """Alone with the store, which is made where there is none."""
    return nullcontext() if store is None else store.writing(create=True)


@dataclass(frozen=True)
class SessionOpening:
    """All that a session is made from. sessions: mechanisms that ask the data; fitting: those that make a synopsis."""

    table: Table
    guarantee: Guarantee
    max_queries: int
    beta: float
    sessions: tuple[str, ...]
    fitting: Candidates
    refused: dict[str, str]

    @property
    def pure(self) -> bool:
        """Whether all that may be taken spend ε whatever δ is."""
        return self.fitting.pure and not self.sessions

    def choose(self, n: int, guarantee: Guarantee) -> SessionChoice | None:
        """The session with the smallest error; None where a synopsis is better."""
        found, unfit = self._choices(self.table.space, n, guarantee, self.sessions)
        others, unfit_others = self.fitting.choices(n, self.table.change, guarantee)
        if not found and not others:
            raise no_choice(self.refused | unfit | unfit_others)
        if not others or (found and found[0].prediction.error < ANY_POINT * others[0].prediction.error):
            return found[0]
        return None

    def _choices(
        self, space: Space, n: int, guarantee: Guarantee, names: tuple[str, ...]
    ) -> tuple[list[SessionChoice], dict[str, str]]:
        return session_choices(space, n, self.table.change, guarantee, self.max_queries, self.beta, names)

    def begin(
        self, store: Store | None, log: StoreLog | None, n: int | None, charge: Charge | UnrecordedCharge
    ) -> Session:
        """A new session; with a store, begun when the transaction ends."""
        table, drawing = self.table, charge.drawn
        said: dict[str, Any] = {"n": n}
        fingerprint = Fingerprint(CHANGED_SESSION) if store is None else store_fingerprint(store.path)
        if store is not None or table.fingerprint is not None:
            table = table.with_fingerprint(fingerprint)
        if store is not None:
            said["charge"] = _paid(charge, store.path)
        size = size_release(table, self.choose, self.guarantee, n, drawing)
        choice = self.choose(size.total, size.left)
        if choice is None:
            synopsis = run_release(table, self.fitting, size, self.guarantee, drawing)
            session = self._of_synopsis(synopsis, store)
            card, content = self._card(synopsis.mechanism, size) | said | {"total": synopsis.n}, _bytes(synopsis)
        else:
            warn_large_error(choice.prediction.error, choice.bias, table.space, table.change.rows(size.total))
            begun = choice.begin(table, size.total, drawing)
            session = self._of(begun, store)
            more = {"total": begun.total, "variant": choice.space.to_json(), "numbers": choice.numbers}
            card, content = self._card(session.mechanism, size) | said | more, None
        if log is not None:
            log.begin(StoredSession(card, fingerprint.expected, content))
        return session

    def resume(self, store: Store, stored: StoredSession, mechanism: str, n: int | None) -> Session:
        """The session of a store, which must have been begun by the same call."""
        card, path = stored.card, store.path
        if card.get("format") != FORMAT:
            raise MilepostError(f"{path} has format {card.get('format')!r}, this version goes on from {FORMAT}")
        for name, (now, then) in self._said(card, mechanism, n).items():
            if now != then:
                raise MilepostError(
                    f"{path} holds a session with another {name}: {then}, not {now}; say the same again, or begin "
                    "another session in another store, which spends again"
                )
        table = self.table.with_fingerprint(store_fingerprint(path, stored.fingerprint))
        if stored.synopsis is not None:
            table.total()  # reads all rows, to know the table
            return self._of_synopsis(_synopsis(stored.synopsis), store)
        left = Guarantee(**card["left"])
        variant = space_from_json(card["variant"], {})  # with as many directions as suited it then
        found, refused = self._choices(variant, card["size"], left, (card["mechanism"],))
        if not found:
            raise no_choice(refused)
        if json.loads(json.dumps(found[0].numbers)) != card["numbers"]:
            raise MilepostError(
                f"{path} holds a session of another version of milepost, or of a computer that calculates otherwise: "
                "its noise would not be the same; go on with that one"
            )
        return self._of(found[0].begin(table, card["size"], _nothing, card["total"]), store)

    def _card(self, mechanism: str, size: Size) -> dict[str, Any]:
        """All that is public about the session."""
        return {
            "format": FORMAT,
            "space": self.table.space.to_json(),
            "guarantee": self.guarantee.to_json(),
            "change": self.table.change.to_json(),
            "max_queries": self.max_queries,
            "beta": self.beta,
            "mechanism": mechanism,
            "size": size.total,
            "left": size.left.to_json(),
        }

    def _said(self, card: dict[str, Any], mechanism: str, n: int | None) -> dict[str, tuple[Any, Any]]:
        """What was said now, and when the session was begun; n: if at all."""
        table = self.table
        now = {
            "space": json.loads(json.dumps(table.space.to_json())),
            "guarantee": self.guarantee.to_json(),
            "change": table.change.to_json(),
            "max_queries": self.max_queries,
            "beta": self.beta,
            "mechanism": card["mechanism"] if mechanism == "auto" else mechanism,
            "n": card["n"] if n is None else n,
        }
        return {name: (value, card[name]) for name, value in now.items()}

    def _of(self, begun: StartedSession, store: Store | None) -> Session:
        return Session(begun.engine, self.guarantee, self.table.change, begun.n, store)

    def _of_synopsis(self, synopsis: Synopsis, store: Store | None) -> Session:
        def engine() -> Engine:
            return SynopsisEngine(synopsis)

        return Session(engine, self.guarantee, self.table.change, synopsis.n, store)


def _nothing() -> None:
    """No noise is drawn for a session that goes on."""


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
