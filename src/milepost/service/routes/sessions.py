"""Sessions: what an analyst asks of a table that stays, and what was answered."""

from typing import Annotated, Any

from fastapi import APIRouter, Header, Response
from fastapi.responses import JSONResponse

from milepost.service.errors import RefusedError, documented
from milepost.service.routes.dependencies import Caller, Curator, visible_owner
from milepost.service.schemas.base import Name
from milepost.service.schemas.requests import QuestionRequest
from milepost.service.schemas.responses import Answer, SessionDescription, SessionList, Transcript
from milepost.service.sessions import CLOSED
from milepost.service.state import ServiceState

IdempotencyKey = Annotated[str, Header(min_length=1, max_length=200, pattern=r"^[ -~]+$", examples=["9f0c2d"])]


def sessions(office: ServiceState) -> APIRouter:
    """An analyst reaches their own; a curator sees all, and asks none but their own."""
    router = APIRouter(prefix="/v1/sessions", tags=["sessions"])
    desk, workers, clock = office.sessions, office.workers, office.clock

    @router.get("", response_model=SessionList, responses=documented())
    async def list_sessions(key: Caller) -> Any:
        """The sessions that were opened for you; all of them for a curator."""
        return JSONResponse({"sessions": await workers.run(desk.listed, visible_owner(key))})

    @router.get("/{session}", response_model=SessionDescription, responses=documented("not_found"))
    async def show_session(session: Name, key: Caller) -> Any:
        """One session."""
        return JSONResponse(await workers.run(desk.described, desk.find(session, visible_owner(key))))

    @router.post(
        "/{session}/ask",
        response_model=Answer,
        responses=documented("not_found", "bad_point", "session_exhausted", "question_differs", "session_closed"),
    )
    async def ask_session(
        session: Name, question: QuestionRequest, key: Caller, idempotency_key: IdempotencyKey
    ) -> Any:
        """The mean distance of one point. Sent again with the same Idempotency-Key, it has the same answer, free.

        Answers leave at fixed moments: how long one takes tells nothing.
        """
        one = desk.find(session, key.name)
        if len(question.point) > office.settings.max_dimension:
            raise RefusedError("too_large", ["body", "point"])
        async with clock.answering(session):
            answer = await workers.run_for(session, desk.ask, one, question.point, idempotency_key)
        desk.tell(one, answer["remaining"])
        return JSONResponse(answer)

    @router.get("/{session}/transcript", response_model=Transcript, responses=documented("not_found", "session_closed"))
    async def show_transcript(session: Name, key: Caller) -> Any:
        """All questions and answers, in order.

        It comes after the questions that were sent before it, and leaves as they do; of a closed session, at once.
        """
        one = desk.find(session, visible_owner(key))
        if one.state == CLOSED:
            return await workers.run(lambda: JSONResponse(desk.transcript(one)))
        async with clock.answering(session):
            return await workers.run_for(session, lambda: JSONResponse(desk.transcript(one)))

    @router.post(
        "/{session}/close",
        status_code=204,
        response_class=Response,
        responses=documented("forbidden", "not_found", "session_closed"),
    )
    async def close_session(session: Name, _: Curator) -> None:
        """Forget the table; the transcript stays."""
        one = desk.find(session, None)
        try:
            async with clock.answering(session):
                await workers.run_for(session, desk.close, one)
        finally:
            desk.tell_closed(one)

    return router
