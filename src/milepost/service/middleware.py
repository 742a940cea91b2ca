"""Middleware for every request: key, rate limit, size limit, timeout, and response headers."""

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
from milepost.service.workers import CALLER

PUBLIC_PATHS = ("/", "/v1/health")
STATIC_PREFIX = "/static/"
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
    """ASGI middleware around the whole application: a request that it refuses reaches no other code."""

    def __init__(self, app: ASGIApp, keys: Keys, settings: Settings, telemetry: Telemetry) -> None:
        self._app, self._keys, self._settings, self._telemetry = app, keys, settings, telemetry
        self._rate_limiter = RateLimiter(settings.rate, settings.burst)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        start_time, status, body = monotonic(), 0, RequestBody(receive, Headers(scope=scope))

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                if "key" in scope.get("state", {}):  # do not wait for a client without a key
                    await body.drain(self._settings.timeout)
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-store")
            await send(message)

        try:
            async with asyncio.timeout(self._settings.timeout) as limit:
                error_response = await self._authorize(scope, body.next, send_with_headers, limit)
        except TimeoutError:
            error_response = response(RefusedError("timeout"))
        except RefusedError as problem:
            error_response = response(problem)
        except Exception as error:  # noqa: BLE001
            report(error)
            error_response = response(RefusedError("internal"))
        if error_response is not None and not status:
            await error_response(scope, body.next, send_with_headers)
        route = scope.get("route")
        self._telemetry.record_request(getattr(route, "path", ""), scope["method"], status, monotonic() - start_time)

    async def _authorize(
        self, scope: Scope, receive: Receive, send: Send, limit: asyncio.Timeout
    ) -> JSONResponse | None:
        """Check the key and the rate, and pass the request on; return the error response if it is refused."""
        path, headers = scope["path"], Headers(scope=scope)
        if path not in PUBLIC_PATHS and not path.startswith(STATIC_PREFIX):
            kind, _, text = headers.get("authorization", "").partition(" ")
            key = self._keys.find(text.strip()) if kind.lower() == "bearer" else None
            if key is None:
                return response(RefusedError("unauthorized"), headers={"www-authenticate": "Bearer"})
            scope.setdefault("state", {})["key"] = key
            wait = self._rate_limiter.wait(key.id)
            if wait:
                return response(RefusedError("rate_limited"), headers={"retry-after": str(wait)})
            CALLER.set(key.name)
            if scope["method"] == "PUT" and key.role == CURATOR:  # an upload, which is not read into memory
                limit.reschedule(None)
                await self._app(scope, receive, send)
                return None
            await self._app(scope, await _read_body(receive, headers, self._settings.max_body), send)
            return None
        await self._app(scope, _replay(b"", receive), send)  # do not wait for a client without a key
        return None


class RequestBody:
    """The body of a request. A response before its end would be lost, because the connection would be reset."""

    def __init__(self, receive: Receive, headers: Headers) -> None:
        self._receive, self._more = receive, True
        # with this header, a client sends nothing before the service reads the body
        self._expects_continue = headers.get("expect", "").lower() == "100-continue"

    async def next(self) -> Message:
        """Return the next message."""
        self._expects_continue = False
        message = await self._receive()
        self._more = self._more and message["type"] == "http.request" and message.get("more_body", False)
        return message

    async def drain(self, seconds: float) -> None:
        """Read and discard the rest of the body, for at most `seconds`."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._more and not self._expects_continue:
                    await self.next()
        self._more = False


async def _read_body(receive: Receive, headers: Headers, max_bytes: int) -> Receive:
    """Read the whole body, and return a `receive` function that replays it; refuse a body that is too large."""
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length[:20]) > max_bytes:
        raise RefusedError("too_large")
    body, more = bytearray(), True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            break
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > max_bytes:
            raise RefusedError("too_large")
    return _replay(bytes(body), receive)


def _replay(body: bytes, receive: Receive) -> Callable[[], Awaitable[Message]]:
    """Return a `receive` function that delivers the body first."""
    delivered = False

    async def next_message() -> Message:
        nonlocal delivered
        if delivered:
            return await receive()
        delivered = True
        return {"type": "http.request", "body": body, "more_body": False}

    return next_message


def report(error: BaseException) -> None:
    """Log the type and the place of an error, but not its message, which may quote private values."""
    frames = traceback.extract_tb(error.__traceback__)
    where = " < ".join(f"{frame.name} ({frame.filename.rpartition('/')[2]}:{frame.lineno})" for frame in frames[:-4:-1])
    print(f"internal error: {type(error).__name__} in {where}", file=sys.stderr, flush=True)


class RateLimiter:
    """A token bucket for each key: at most `burst` requests at once, refilled by `rate` a second."""

    def __init__(self, rate: float, burst: int) -> None:
        self._rate, self._burst = rate, burst
        self._buckets: dict[str, tuple[float, float]] = {}  # requests left, and the time of the last update

    def wait(self, key: str) -> int:
        """Return 0 if a request is allowed now, else the seconds to wait."""
        now = monotonic()
        left, last_time = self._buckets.get(key, (float(self._burst), now))
        left = min(self._burst, left + (now - last_time) * self._rate)
        allowed = left >= 1
        self._buckets[key] = left - allowed, now
        return 0 if allowed else math.ceil((1 - left) / self._rate)
