"""Errors of the service, as a table of public codes.

An analyst reads a code and its fixed message: never the text of an exception, and nothing that depends on data.
"""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from starlette.responses import JSONResponse


@dataclass(frozen=True)
class Code:
    """The HTTP status and the message of one kind of error."""

    status: int
    message: str


CODES = {
    "unauthorized": Code(401, "A valid key is needed: send it as `Authorization: Bearer KEY`."),
    "forbidden": Code(403, "This is for curators; your key is an analyst's."),
    "not_found": Code(404, "There is nothing here, or it is not for your key."),
    "method_not_allowed": Code(405, "This address does not take this method."),
    "exists": Code(409, "This name is taken; choose another one."),
    "question_differs": Code(409, "This Idempotency-Key stands for another point already; send a new one."),
    "question_limit_reached": Code(
        409, "The session has answered as many questions as it may; earlier ones can be repeated."
    ),
    "session_closed": Code(409, "The session is not open; its transcript stays."),
    "budget_exceeded": Code(409, "The budget of the dataset does not allow this; nothing was spent."),
    "quota_exceeded": Code(409, "The key's share of the dataset's budget does not allow this; nothing was spent."),
    "too_large": Code(413, "The request is too large; send fewer points at a time."),
    "invalid": Code(422, "The request is not as the interface describes it; `path` says where."),
    "bad_point": Code(
        422, "A point does not fit: the release or session says which columns it has, and in which order."
    ),
    "bad_group": Code(422, "The release has groups and `group` is none of its labels, or it has none."),
    "not_supported": Code(422, "This release cannot answer this kind of question."),
    "refused": Code(422, "This cannot be done as it was asked for; `detail` says why."),
    "rate_limited": Code(429, "Too many requests; wait as long as Retry-After says."),
    "internal": Code(
        500, "Something went wrong here. What was spent stays spent, what was answered can be asked again."
    ),
    "busy": Code(503, "Too much is going on; try again in a moment."),
    "timeout": Code(503, "This took too long. A question of a session may have been answered: ask it again."),
}
BY_STATUS = {404: "not_found", 405: "method_not_allowed", 413: "too_large"}


class RefusedError(Exception):
    """A refused request. path: the field of the request at fault; detail: a text that only curators read."""

    def __init__(self, code: str, path: list[str | int] | None = None, detail: str = "") -> None:
        super().__init__(code)
        self.code, self.path, self.detail = code, path, detail


def response(problem: RefusedError, *, trusted: bool = False, headers: dict[str, str] | None = None) -> JSONResponse:
    """Return the HTTP response to a refused request. trusted: whether a curator reads it."""
    code = CODES[problem.code]
    content: dict[str, Any] = {"code": problem.code, "status": code.status, "message": code.message}
    if problem.path is not None:
        content["path"] = problem.path
    if trusted and problem.detail:
        content["detail"] = problem.detail
    return JSONResponse({"error": content}, code.status, headers)


def error_responses(*codes: str) -> dict[int | str, dict[str, Any]]:
    """Return the error responses for OpenAPI: those of every request, and these codes."""
    from milepost.service.schemas.responses import ErrorResponse

    all_codes = ("unauthorized", "too_large", "invalid", "rate_limited", "internal", "busy", "timeout", *codes)
    result: dict[int | str, dict[str, Any]] = {}
    for status in sorted({CODES[code].status for code in all_codes}):
        codes_of_status = [code for code in all_codes if CODES[code].status == status]
        example = {
            "error": {"code": codes_of_status[0], "status": status, "message": CODES[codes_of_status[0]].message}
        }
        summary = f"{HTTPStatus(status).phrase}: {', '.join(codes_of_status)}"
        content = {"application/json": {"example": example}}
        result[status] = {"model": ErrorResponse, "description": summary, "content": content}
    return result
