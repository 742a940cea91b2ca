"""Routes of sessions: questions, answers and transcripts."""

from typing import Annotated, Any

from fastapi import APIRouter, Header, Response
from fastapi.responses import JSONResponse

from milepost.service.errors import RefusedError, error_responses
from milepost.service.routes.dependencies import Caller, Curator, visible_owner
from milepost.service.schemas.base import Name
from milepost.service.schemas.requests import QuestionRequest
from milepost.service.schemas.responses import Answer, SessionDescription, SessionList, Transcript
from milepost.service.sessions import CLOSED
from milepost.service.state import ServiceState

IdempotencyKey = Annotated[str, Header(min_length=1, max_length=200, pattern=r"^[ -~]+$", examples=["9f0c2d"])]


def sessions(state: ServiceState) -> APIRouter:
    """Return the routes of sessions: an analyst uses their own; a curator sees all, and asks only in their own."""
    router = APIRouter(prefix="/v1/sessions", tags=["sessions"])
    sessions, workers, clock = state.sessions, state.workers, state.clock

    @router.get("", response_model=SessionList, responses=error_responses())
    async def list_sessions(key: Caller) -> Any:
        """Return the sessions of an analyst, or all sessions for a curator."""
        return JSONResponse({"sessions": await workers.run(sessions.summaries, visible_owner(key))})

    @router.get("/{session}", response_model=SessionDescription, responses=error_responses("not_found"))
    async def show_session(session: Name, key: Caller) -> Any:
        """Return a session with the fields of its points."""
        return JSONResponse(await workers.run(sessions.description, sessions.find(session, visible_owner(key))))

    @router.post(
        "/{session}/ask",
        response_model=Answer,
        responses=error_responses(
            "not_found", "bad_point", "question_limit_reached", "question_differs", "session_closed"
        ),
    )
    async def ask_session(
        session: Name, question: QuestionRequest, key: Caller, idempotency_key: IdempotencyKey
    ) -> Any:
        """Return the mean distance of one point. The same Idempotency-Key returns the same answer again, at no cost.

        The service sends answers at fixed moments, so that the response time reveals nothing about the data.
        """
        record = sessions.find(session, key.name)
        if len(question.point) > state.settings.max_dimension:
            raise RefusedError("too_large", ["body", "point"])
        async with clock.answering(session):
            answer = await workers.run_for(session, sessions.ask, record, question.point, idempotency_key)
        sessions.publish_remaining(record, answer["remaining"])
        return JSONResponse(answer)

    @router.get(
        "/{session}/transcript", response_model=Transcript, responses=error_responses("not_found", "session_closed")
    )
    async def show_transcript(session: Name, key: Caller) -> Any:
        """Return all questions and answers, in order.

        The service answers earlier questions first, and sends the transcript at a fixed moment. For a closed session,
        it sends the transcript at once.
        """
        record = sessions.find(session, visible_owner(key))
        if record.state == CLOSED:
            return await workers.run(lambda: JSONResponse(sessions.transcript(record)))
        async with clock.answering(session):
            return await workers.run_for(session, lambda: JSONResponse(sessions.transcript(record)))

    @router.post(
        "/{session}/close",
        status_code=204,
        response_class=Response,
        responses=error_responses("forbidden", "not_found", "session_closed"),
    )
    async def close_session(session: Name, _: Curator) -> None:
        """Close a session. The service drops the table and keeps the transcript."""
        record = sessions.find(session, None)
        try:
            async with clock.answering(session):
                await workers.run_for(session, sessions.close, record)
        finally:
            sessions.publish_closed(record)

    return router
