"""Gate: what every request passes: a key, its rate, the size of the body, the time, and headers on the way out."""

import asyncio
import math
import sys
import traceback
from collections.abc import Awaitable, Callable
from contextlib import suppress
from time import monotonic

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from milepost.service.auth import CURATOR, Keys
from milepost.service.errors import RefusedError, response
from milepost.service.settings import Settings
from milepost.service.telemetry import Telemetry
from milepost.service.workers import WHOSE

OPEN = ("/", "/v1/health")
ASSETS = "/static/"
HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "geolocation=(), camera=(), microphone=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}


class RequestMiddleware:
    """Around the whole application: what it does not let in reaches no other code."""

    def __init__(self, app: ASGIApp, keys: Keys, settings: Settings, measures: Telemetry) -> None:
        self._app, self._keys, self._settings, self._measures = app, keys, settings, measures
        self._rates = RateLimiter(settings.rate, settings.burst)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, sent, body = monotonic(), 0, RequestBody(receive, Headers(scope=scope))

        async def leave(message: Message) -> None:
            nonlocal sent
            if message["type"] == "http.response.start":
                if "key" in scope.get("state", {}):  # nobody is waited for who has no key
                    await body.drain(self._settings.timeout)
                sent = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-store")
            await send(message)

        try:
            async with asyncio.timeout(self._settings.timeout) as limit:
                answer = await self._let_in(scope, body.next, leave, limit)
        except TimeoutError:
            answer = response(RefusedError("timeout"))
        except RefusedError as problem:
            answer = response(problem)
        except Exception as error:  # noqa: BLE001
            report(error)
            answer = response(RefusedError("internal"))
        if answer is not None and not sent:
            await answer(scope, body.next, leave)
        route = scope.get("route")
        self._measures.answered(getattr(route, "path", ""), scope["method"], sent, monotonic() - begun)

    async def _let_in(self, scope: Scope, receive: Receive, send: Send, limit: asyncio.Timeout) -> JSONResponse | None:
        """The refusal, unless the request was handed on."""
        path, headers = scope["path"], Headers(scope=scope)
        if path not in OPEN and not path.startswith(ASSETS):
            kind, _, text = headers.get("authorization", "").partition(" ")
            key = self._keys.find(text.strip()) if kind.lower() == "bearer" else None
            if key is None:
                return response(RefusedError("unauthorized"), headers={"www-authenticate": "Bearer"})
            scope.setdefault("state", {})["key"] = key
            wait = self._rates.wait(key.id)
            if wait:
                return response(RefusedError("rate_limited"), headers={"retry-after": str(wait)})
            WHOSE.set(key.name)
            if scope["method"] == "PUT" and key.role == CURATOR:  # an upload, which is not held in memory
                limit.reschedule(None)
                await self._app(scope, receive, send)
                return None
            await self._app(scope, await _read(receive, headers, self._settings.max_body), send)
            return None
        await self._app(scope, _handed(b"", receive), send)  # nobody is waited for who has no key
        return None


class RequestBody:
    """The body that a client sends. An answer before its end would not arrive: the connection would be reset."""

    def __init__(self, receive: Receive, headers: Headers) -> None:
        self._receive, self._more = receive, True
        self._asked_first = headers.get("expect", "").lower() == "100-continue"  # nothing comes before it is asked for

    async def next(self) -> Message:
        """The next part."""
        self._asked_first = False
        message = await self._receive()
        self._more = self._more and message["type"] == "http.request" and message.get("more_body", False)
        return message

    async def drain(self, seconds: float) -> None:
        """Read and discard the rest of the body, for this many seconds at most."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._more and not self._asked_first:
                    await self.next()
        self._more = False


async def _read(receive: Receive, headers: Headers, most: int) -> Receive:
    """The body, read as a whole, to be handed on."""
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length[:20]) > most:
        raise RefusedError("too_large")
    body, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            break
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > most:
            raise RefusedError("too_large")
    return _handed(bytes(body), receive)


def _handed(body: bytes, receive: Receive) -> Callable[[], Awaitable[Message]]:
    given = False

    async def next_message() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return next_message


def report(error: BaseException) -> None:
    """Where it went wrong, to the log; not what was said, which may quote private values."""
    frames = traceback.extract_tb(error.__traceback__)
    where = " < ".join(f"{frame.name} ({frame.filename.rpartition('/')[2]}:{frame.lineno})" for frame in frames[:-4:-1])
    print(f"internal error: {type(error).__name__} in {where}", file=sys.stderr, flush=True)


class RateLimiter:
    """A bucket a key, which holds `burst` requests and is filled by `rate` a second."""

    def __init__(self, rate: float, burst: int) -> None:
        self._rate, self._burst = rate, burst
        self._buckets: dict[str, tuple[float, float]] = {}  # what is left, and when

    def wait(self, key: str) -> int:
        """0 where the request may go on; else in how many seconds it may."""
        now = monotonic()
        left, then = self._buckets.get(key, (float(self._burst), now))
        left = min(self._burst, left + (now - then) * self._rate)
        allowed = left >= 1
        self._buckets[key] = left - allowed, now
        return 0 if allowed else math.ceil((1 - left) / self._rate)
