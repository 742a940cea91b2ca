"""The sessions of a service, each opened by a curator for one analyst."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from threading import Lock
from typing import Any

from milepost.errors import ConflictError, LimitExceededError, MilepostError
from milepost.ingest.row_attributes import RowColumns
from milepost.pipeline.interactive import interactive, resume, stored_call
from milepost.privacy.accounting.ledger import Ledger
from milepost.privacy.guarantee import Guarantee
from milepost.service.data_directory import DataDirectory
from milepost.service.database import ServiceDatabase, SessionRecord, now
from milepost.service.errors import RefusedError
from milepost.service.schemas.requests import SessionRequest
from milepost.service.schemas.views import form_fields, guarantee_view, json_point, space_view
from milepost.service.settings import Settings
from milepost.sessions.session import Session
from milepost.sessions.store import Store
from milepost.spaces.base import Space

OPENING, OPEN, CLOSED, FAILED = ("opening", "open", "closed", "failed")


class SessionService:
    """Sessions by name. Every answer is on the disk before it is sent, and a session continues after a restart."""

    def __init__(self, directory: DataDirectory, database: ServiceDatabase, settings: Settings) -> None:
        self._directory, self._database = directory, database
        self._max_sessions, self._max_questions = settings.max_sessions, settings.max_questions
        self._records = {record.id: record for record in database.all(SessionRecord)}
        self._sessions: dict[str, Session] = {}
        self._locks: dict[str, Lock] = {}
        self._name_hashes: dict[str, set[int]] = {}  # hashes of the names of all questions
        self._published_counts: dict[str, int] = {}  # questions of a session, as far as sent answers reveal
        self._closed_records: dict[str, SessionRecord] = {}  # closed sessions, also before the clock reveals it
        for record in [record for record in self._records.values() if record.state == OPENING]:
            self._recover(record)
        # read tables before the first question: the time of reading would reveal to an analyst how large they are
        for record in [record for record in self._records.values() if record.state == OPEN]:
            with suppress(MilepostError, OSError):  # a table that is missing now may be there at the first question
                self._session(record)

    @property
    def open(self) -> int:
        """The number of sessions that are open or being opened."""
        return sum(record.state in (OPENING, OPEN) for record in list(self._records.values()))

    def exists(self, name: str) -> bool:
        """Return whether there is or was a session with this name."""
        return name in self._records

    def reserve(self, request: SessionRequest, space: Space) -> None:
        """Add the record of a session that is about to be opened."""
        if self.exists(request.id):
            raise RefusedError("exists")
        if self.open >= self._max_sessions:
            raise RefusedError(
                "busy",
                detail=f"{self._max_sessions} sessions are open, which is the limit max_sessions. Close one first.",
            )
        row_columns = RowColumns(
            None, (), request.privacy_unit, request.contributions, request.row_weights, request.max_row_weight
        )
        guarantee = guarantee_view(Guarantee(request.epsilon, request.delta), row_columns.change(request.neighbors))
        about = {"public": space_view(space) | guarantee, "fields": form_fields(space)}
        record = SessionRecord(
            request.id,
            request.title or request.id,
            request.analyst,
            request.dataset,
            request.table,
            request.model_dump_json(),
            now(),
            OPENING,
            json.dumps(about, ensure_ascii=False),
            "",
        )
        if not self._database.add(record):
            raise RefusedError("exists")
        self._records[record.id] = record

    def cancel(self, name: str) -> None:
        """Remove the record of a session that is not opened after all; nothing was read or spent."""
        self._database.remove(SessionRecord, name)
        self._records.pop(name, None)

    def begin(self, request: SessionRequest, space: Space, ledger: Ledger) -> None:
        """Open a session, which spends its guarantee and reads the table."""
        try:
            session = interactive(
                self._directory.table(request.table),
                space,
                **request.shared_options(),
                max_queries=request.max_queries,
                store=self._directory.session(request.id),
                ledger=ledger,
                dataset=request.dataset,
            )
        except BaseException:
            record = self._records[request.id] = replace(self._records[request.id], state=FAILED)
            with suppress(MilepostError):  # the database cannot be written: report the first error
                self._database.change(record)
            raise
        self._sessions[request.id] = session
        self._mark_open(self._records[request.id], session)

    def summaries(self, analyst: str | None) -> list[dict[str, Any]]:
        """Return what is public about the sessions of an analyst, or about all sessions for None."""
        return [self.summary(record) for record in list(self._records.values()) if _visible(record, analyst)]

    def find(self, name: str, analyst: str | None) -> SessionRecord:
        """Return the record of a session; refuse that of another analyst as not found."""
        record = self._records.get(name)
        if record is None or not _visible(record, analyst):
            raise RefusedError("not_found")
        return record

    def summary(self, record: SessionRecord) -> dict[str, Any]:
        """Return what is public about a session."""
        about = json.loads(record.about)
        limit = about.get("limit")
        count = None if limit is None else self._question_count(record)
        return {
            "id": record.id,
            "title": record.title,
            "analyst": record.analyst,
            "dataset": record.dataset,
            "created": record.created,
            "state": record.state,
            **about["public"],
            "mechanism": about.get("mechanism"),
            "error": about.get("error"),
            "limit": limit,
            "remaining": None if count is None else limit - count,
        }

    def description(self, record: SessionRecord) -> dict[str, Any]:
        """Return what is public about a session, with the columns of its points."""
        return self.summary(record) | {"fields": json.loads(record.about)["fields"]}

    def ask(self, record: SessionRecord, point: Any, name: str) -> dict[str, Any]:
        """Return the answer to one question, which is stored under its name first."""
        with self._locked(record) as record:
            session = self._session(record)
            self._question_count(record)  # store the count before this question changes it
            try:
                session.check(point)
            except MilepostError:
                raise RefusedError("bad_point", ["body", "point"]) from None
            hashes = self._name_hashes[record.id]
            if len(hashes) >= self._max_questions and hash(name) not in hashes:
                raise RefusedError("question_limit_reached")
            try:
                answer = session.ask(point, name=name)
            except LimitExceededError:
                raise RefusedError("question_limit_reached") from None
            except ConflictError:
                raise RefusedError("question_differs", ["header", "idempotency-key"]) from None
            hashes.add(hash(name))
        return {
            "value": answer.value,
            "error": answer.error,
            "remaining": answer.remaining,
            "distance_unit": session.space.distance_unit,
        }

    def publish_remaining(self, record: SessionRecord, remaining: int | None) -> None:
        """Publish how many questions are left when an answer is sent; answers that are ready later do not count yet."""
        limit = json.loads(record.about)["limit"]
        if limit is not None and remaining is not None:
            self._published_counts[record.id] = max(self._published_counts.get(record.id, 0), limit - remaining)

    def publish_closed(self, record: SessionRecord) -> None:
        """Publish at a moment of the clock that a session is closed, after the answers to all earlier questions."""
        self._records[record.id] = self._closed_records.get(record.id, self._records[record.id])

    def transcript(self, record: SessionRecord) -> dict[str, Any]:
        """Return all questions and answers, in order."""
        with self._locked(record) as record:
            return self._transcript(record)

    def close(self, record: SessionRecord) -> None:
        """Close a session and drop its table; the transcript stays, with every answer."""
        with self._locked(record) as record:
            if record.state != OPEN:
                raise RefusedError("session_closed")
            transcript = json.dumps(self._transcript(record), ensure_ascii=False, allow_nan=False)
            closed = replace(record, state=CLOSED, transcript=transcript)
            self._database.change(closed)
            self._closed_records[record.id] = closed
            self._name_hashes.pop(record.id, None)
            session = self._sessions.pop(record.id, None)
            if session is not None:
                session.close()

    def _transcript(self, record: SessionRecord) -> dict[str, Any]:
        if record.state == CLOSED:
            transcript: dict[str, Any] = json.loads(record.transcript)
            return transcript
        session = self._session(record)
        questions = [
            {"name": name, "point": json_point(point), "value": answer.value, "error": answer.error}
            for name, point, answer in session.transcript()
        ]
        return {"questions": questions, "remaining": session.remaining, "distance_unit": session.space.distance_unit}

    @contextmanager
    def _locked(self, record: SessionRecord) -> Iterator[SessionRecord]:
        """Lock a session against being closed, and return its current record."""
        with self._locks.setdefault(record.id, Lock()):
            yield self._closed_records.get(record.id, self._records[record.id])

    def _session(self, record: SessionRecord) -> Session:
        """Return an open session, and read its table now if it was missing when the service started."""
        if record.state != OPEN:
            raise RefusedError("session_closed")
        if record.id not in self._name_hashes:
            self._name_hashes[record.id] = {
                hash(question.name) for question in Store(self._directory.session(record.id)).questions()
            }
        if record.id not in self._sessions:
            request = SessionRequest.model_validate_json(record.words)
            self._sessions[record.id] = resume(
                self._directory.session(record.id),
                self._directory.table(record.source),
                columns=request.columns,
                privacy_unit=request.privacy_unit,
                row_weights=request.row_weights,
            )
        return self._sessions[record.id]

    def _question_count(self, record: SessionRecord) -> int | None:
        """Return the published number of questions, or None if the store is damaged."""
        if record.state == CLOSED:
            remaining = json.loads(record.transcript)["remaining"]
            return 0 if remaining is None else int(json.loads(record.about)["limit"] - remaining)
        if record.state != OPEN:
            return 0
        if record.id not in self._published_counts:
            try:
                count = Store(self._directory.session(record.id)).count()
            except MilepostError:
                return None
            self._published_counts.setdefault(record.id, count)
        return self._published_counts[record.id]

    def _mark_open(self, record: SessionRecord, session: Session) -> None:
        about = json.loads(record.about)
        about["public"] |= guarantee_view(session.guarantee, session.change)  # as the mechanism has spent it
        details = {"mechanism": session.mechanism, "error": session.error, "limit": session.limit}
        self._save(replace(record, state=OPEN, about=json.dumps(about | details, ensure_ascii=False)))

    def _recover(self, record: SessionRecord) -> None:
        """Recover a session that was being opened when the service ended: it is open if its store is complete.

        If its table cannot be read now, it waits for the next start: its budget is spent.
        """
        try:
            stored_call(self._directory.session(record.id))
        except MilepostError:
            self._save(replace(record, state=FAILED))
            return
        with suppress(MilepostError, OSError):
            self._mark_open(record, self._session(replace(record, state=OPEN)))

    def _save(self, record: SessionRecord) -> None:
        self._database.change(record)
        self._records[record.id] = record


def _visible(record: SessionRecord, analyst: str | None) -> bool:
    """Return whether an analyst may see a session: their own, once it is open. A failure may depend on the table."""
    return analyst is None or (analyst == record.analyst and record.state in (OPEN, CLOSED))
