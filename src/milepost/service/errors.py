"""Errors of the service, as a table of public codes.

An analyst reads a code and its fixed message: never the text of an exception, and nothing that depends on data.
"""

import re
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
    "unauthorized": Code(401, "The request has no valid key. Send a key as `Authorization: Bearer KEY`."),
    "forbidden": Code(403, "Only curators may do this. Your key has the role of an analyst."),
    "not_found": Code(404, "This address does not exist, or your key has no access to it."),
    "method_not_allowed": Code(405, "This address does not support this HTTP method."),
    "exists": Code(409, "This id exists already. Choose another id."),
    "question_differs": Code(
        409, "This Idempotency-Key belongs to a question about another point. Send a new Idempotency-Key."
    ),
    "question_limit_reached": Code(
        409,
        "The session has reached its limit of questions. "
        "You can still send earlier questions again, each with its Idempotency-Key.",
    ),
    "session_closed": Code(409, "The session is not open. If it was closed, you can still read its transcript."),
    "budget_exceeded": Code(409, "The dataset's remaining budget is too small for this request. Nothing was spent."),
    "quota_exceeded": Code(
        409, "The remaining share of the dataset's budget is too small for this request. Nothing was spent."
    ),
    "too_large": Code(
        413, "The request exceeds a limit of the service. Send less at a time; `GET /v1/me` lists the limits."
    ),
    "invalid": Code(422, "The request does not match the interface. `path` names the part that is wrong."),
    "bad_point": Code(
        422,
        "A point does not belong to the space. "
        "Send the values of all `columns` in their order; `GET` the release or session to see them.",
    ),
    "bad_group": Code(
        422, "`group` must be one of the release's `labels`. If the release has no labels, leave `group` out."
    ),
    "bad_column": Code(
        422,
        "A column must be one of the release's `columns`. Numbers have shares between `low` and `high`, labels have "
        "shares of a `label`.",
    ),
    "not_supported": Code(422, "The release cannot answer this kind of request."),
    "refused": Code(422, "The service refuses this request. `detail` gives the reason."),
    "rate_limited": Code(429, "This key sends too many requests. Wait for the seconds that Retry-After gives."),
    "internal": Code(
        500,
        "The service failed to answer. What was spent stays spent. "
        "If you asked a session, send the question again with the same Idempotency-Key.",
    ),
    "busy": Code(503, "The service has too much to do. Try again in a moment."),
    "timeout": Code(
        503,
        "The request took too long. "
        "If you asked a session, send the question again with the same Idempotency-Key: it may have an answer.",
    ),
}
CODE_BY_STATUS = {404: "not_found", 405: "method_not_allowed", 413: "too_large"}

PYTHON_ARGUMENT = re.compile(r"\b([a-z]\w*)=(?:\[…\]|…)?(?![\w'\"\[({=…-]|\.\d)")  # without a value
PYTHON_FUNCTION = re.compile(r"\bmp\.(plan|release|interactive)\b(?!\()")
ADDRESSES = {"plan": "POST /v1/plan", "release": "POST /v1/releases", "interactive": "POST /v1/sessions"}


class RefusedError(Exception):
    """A refused request. path: the wrong part of the request; detail: a text that only curators read."""

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
        content["detail"] = http_text(problem.detail)
    return JSONResponse({"error": content}, code.status, headers)


def http_text(message: str) -> str:
    """Return a message of the library with the names of request fields and addresses instead of Python's.

    >>> http_text("the table has 3 columns; name the ones to use with columns=[…]")
    'the table has 3 columns; name the ones to use with columns'
    """
    text = PYTHON_FUNCTION.sub(lambda match: ADDRESSES[match[1]], message)
    return PYTHON_ARGUMENT.sub(r"\1", text)


def error_responses(*codes: str) -> dict[int | str, dict[str, Any]]:
    """Return the error responses of an address for OpenAPI: these codes, and those that every address has."""
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
