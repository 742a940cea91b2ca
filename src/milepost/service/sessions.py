"""Desk: the sessions of a service, each opened by a curator for one analyst."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from threading import Lock
from typing import Any

from milepost.errors import ConflictError, ExhaustedError, MilepostError
from milepost.ingest.row_attributes import RowColumns
from milepost.pipeline.interactive import interactive, resume, stored_call
from milepost.privacy.accounting.ledger import Ledger
from milepost.privacy.guarantee import Guarantee
from milepost.service.data_directory import DataDirectory
from milepost.service.database import ServiceDatabase, SessionRecord, now
from milepost.service.errors import RefusedError
from milepost.service.schemas.requests import SessionRequest
from milepost.service.schemas.views import entries, guaranteed, of_space, plain
from milepost.service.settings import Settings
from milepost.sessions.session import Session
from milepost.sessions.store import Store
from milepost.spaces.base import Space

OPENING, OPEN, CLOSED, FAILED = ("opening", "open", "closed", "failed")


class SessionService:
    """Sessions by name. Every answer is on the disk before it leaves, and a session goes on after a restart."""

    def __init__(self, home: DataDirectory, register: ServiceDatabase, settings: Settings) -> None:
        self._home, self._register = home, register
        self._most, self._most_questions = settings.max_sessions, settings.max_questions
        self._opened = {one.id: one for one in register.all(SessionRecord)}
        self._sessions: dict[str, Session] = {}
        self._locks: dict[str, Lock] = {}
        self._names: dict[str, set[int]] = {}  # of questions, by their hashes
        self._told: dict[str, int] = {}  # how many questions are known to be asked
        self._closed: dict[str, SessionRecord] = {}  # those that are closed, also before the clock has told it
        for one in [one for one in self._opened.values() if one.state == OPENING]:
            self._recover(one)
        # tables are read before anybody asks: how long that takes would tell an analyst how large they are
        for one in [one for one in self._opened.values() if one.state == OPEN]:
            with suppress(MilepostError, OSError):  # a table that is not there now may be when somebody asks
                self._session(one)

    @property
    def open(self) -> int:
        """How many are open, or about to be."""
        return sum(one.state in (OPENING, OPEN) for one in list(self._opened.values()))

    def taken(self, name: str) -> bool:
        """Whether there is or was a session of this name."""
        return name in self._opened

    def reserve(self, words: SessionRequest, space: Space) -> None:
        """A place for a session that is about to be opened."""
        if self.taken(words.id):
            raise RefusedError("exists")
        if self.open >= self._most:
            raise RefusedError("busy", detail=f"{self._most} sessions are open, the most by max_sessions; close one")
        roles = RowColumns(None, (), words.unit, words.contributions, words.weights, words.max_weight)
        promised = guaranteed(Guarantee(words.epsilon, words.delta), roles.change(words.neighbors))
        about = {"public": of_space(space) | promised, "fields": entries(space)}
        one = SessionRecord(
            words.id,
            words.title or words.id,
            words.analyst,
            words.dataset,
            words.table,
            words.model_dump_json(),
            now(),
            OPENING,
            json.dumps(about, ensure_ascii=False),
            "",
        )
        if not self._register.add(one):
            raise RefusedError("exists")
        self._opened[one.id] = one

    def give_up(self, name: str) -> None:
        """The place of a session that is not opened after all; nothing was read or spent."""
        self._register.remove(SessionRecord, name)
        self._opened.pop(name, None)

    def begin(self, words: SessionRequest, space: Space, ledger: Ledger) -> None:
        """Open it, which spends its guarantee and reads the table."""
        try:
            session = interactive(
                self._home.table(words.table),
                space,
                **words.said(),
                max_queries=words.max_queries,
                store=self._home.session(words.id),
                ledger=ledger,
                dataset=words.dataset,
            )
        except BaseException:
            failed = self._opened[words.id] = replace(self._opened[words.id], state=FAILED)
            with suppress(MilepostError):  # of a register that cannot be written: the first error is the reason
                self._register.change(failed)
            raise
        self._sessions[words.id] = session
        self._settle(self._opened[words.id], session)

    def listed(self, name: str | None) -> list[dict[str, Any]]:
        """Those of an analyst; of all for None."""
        return [self.shown(one) for one in list(self._opened.values()) if _visible(one, name)]

    def find(self, name: str, analyst: str | None) -> SessionRecord:
        """One session; that of another analyst is not found."""
        one = self._opened.get(name)
        if one is None or not _visible(one, analyst):
            raise RefusedError("not_found")
        return one

    def shown(self, one: SessionRecord) -> dict[str, Any]:
        """What is public of a session."""
        about = json.loads(one.about)
        limit = about.get("limit")
        asked = None if limit is None else self._asked(one)
        return {
            "id": one.id,
            "title": one.title,
            "analyst": one.analyst,
            "dataset": one.dataset,
            "created": one.created,
            "state": one.state,
            **about["public"],
            "mechanism": about.get("mechanism"),
            "error": about.get("error"),
            "limit": limit,
            "remaining": None if asked is None else limit - asked,
        }

    def described(self, one: SessionRecord) -> dict[str, Any]:
        """The same with the columns of its points."""
        return self.shown(one) | {"fields": json.loads(one.about)["fields"]}

    def ask(self, one: SessionRecord, point: Any, name: str) -> dict[str, Any]:
        """The answer to one question, kept under its name before it is returned."""
        with self._held(one) as one:
            session = self._session(one)
            self._asked(one)  # noted before there is one more
            try:
                session.check(point)
            except MilepostError:
                raise RefusedError("bad_point", ["body", "point"]) from None
            asked = self._names[one.id]
            if len(asked) >= self._most_questions and hash(name) not in asked:
                raise RefusedError("session_exhausted")
            try:
                answer = session.ask(point, name=name)
            except ExhaustedError:
                raise RefusedError("session_exhausted") from None
            except ConflictError:
                raise RefusedError("question_differs", ["header", "idempotency-key"]) from None
            asked.add(hash(name))
        return {
            "value": answer.value,
            "error": answer.error,
            "remaining": answer.remaining,
            "unit": session.space.unit,
        }

    def tell(self, one: SessionRecord, remaining: int | None) -> None:
        """What an answer says is left, at its moment of the clock; a later answer may be ready, and is not told yet."""
        limit = json.loads(one.about)["limit"]
        if limit is not None and remaining is not None:
            self._told[one.id] = max(self._told.get(one.id, 0), limit - remaining)

    def tell_closed(self, one: SessionRecord) -> None:
        """That a session is closed, at a moment of the clock: it was when all questions before were answered."""
        self._opened[one.id] = self._closed.get(one.id, self._opened[one.id])

    def transcript(self, one: SessionRecord) -> dict[str, Any]:
        """All questions and answers, in order."""
        with self._held(one) as one:
            return self._transcript(one)

    def close(self, one: SessionRecord) -> None:
        """Forget the table; the transcript stays, and has every answer that was given."""
        with self._held(one) as one:
            if one.state != OPEN:
                raise RefusedError("session_closed")
            kept = json.dumps(self._transcript(one), ensure_ascii=False, allow_nan=False)
            closed = replace(one, state=CLOSED, transcript=kept)
            self._register.change(closed)
            self._closed[one.id] = closed
            self._names.pop(one.id, None)
            session = self._sessions.pop(one.id, None)
            if session is not None:
                session.close()

    def _transcript(self, one: SessionRecord) -> dict[str, Any]:
        if one.state == CLOSED:
            found: dict[str, Any] = json.loads(one.transcript)
            return found
        session = self._session(one)
        questions = [
            {"name": name, "point": plain(point), "value": answer.value, "error": answer.error}
            for name, point, answer in session.transcript()
        ]
        return {"questions": questions, "remaining": session.remaining, "unit": session.space.unit}

    @contextmanager
    def _held(self, one: SessionRecord) -> Iterator[SessionRecord]:
        """The session as it is at this moment, which nobody closes meanwhile."""
        with self._locks.setdefault(one.id, Lock()):
            yield self._closed.get(one.id, self._opened[one.id])

    def _session(self, one: SessionRecord) -> Session:
        """The session itself; its table was read when the service began, or is now if it was not there then."""
        if one.state != OPEN:
            raise RefusedError("session_closed")
        if one.id not in self._names:
            self._names[one.id] = {hash(asked.name) for asked in Store(self._home.session(one.id)).questions()}
        if one.id not in self._sessions:
            words = SessionRequest.model_validate_json(one.words)
            self._sessions[one.id] = resume(
                self._home.session(one.id),
                self._home.table(one.source),
                columns=words.columns,
                unit=words.unit,
                weights=words.weights,
            )
        return self._sessions[one.id]

    def _asked(self, one: SessionRecord) -> int | None:
        """As far as the clock has told it; None where a damaged store does not tell."""
        if one.state == CLOSED:
            left = json.loads(one.transcript)["remaining"]
            return 0 if left is None else int(json.loads(one.about)["limit"] - left)
        if one.state != OPEN:
            return 0
        if one.id not in self._told:
            try:
                count = Store(self._home.session(one.id)).count()
            except MilepostError:
                return None
            self._told.setdefault(one.id, count)
        return self._told[one.id]

    def _settle(self, one: SessionRecord, session: Session) -> None:
        about = json.loads(one.about)
        more = {"mechanism": session.mechanism, "error": session.error, "limit": session.limit}
        self._change(replace(one, state=OPEN, about=json.dumps(about | more, ensure_ascii=False)))

    def _recover(self, one: SessionRecord) -> None:
        """A session that was being opened when the service ended: it is open if its store says so.

        One that is, but whose table cannot be read now, waits for the next start: it is paid for.
        """
        try:
            stored_call(self._home.session(one.id))
        except MilepostError:
            self._change(replace(one, state=FAILED))
            return
        with suppress(MilepostError, OSError):
            self._settle(one, self._session(replace(one, state=OPEN)))

    def _change(self, one: SessionRecord) -> None:
        self._register.change(one)
        self._opened[one.id] = one


def _visible(one: SessionRecord, analyst: str | None) -> bool:
    """Whether an analyst may see it: their own, once it is open. That one failed may be due to what the table holds."""
    return analyst is None or (analyst == one.analyst and one.state in (OPEN, CLOSED))
