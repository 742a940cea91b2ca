"""The service as one ASGI application."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from importlib import metadata
from importlib.resources import files
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, Response
from starlette.exceptions import HTTPException

from milepost.errors import MilepostError
from milepost.service.auth import CURATOR
from milepost.service.errors import CODE_BY_STATUS, RefusedError, error_responses, response
from milepost.service.middleware import RequestMiddleware, report
from milepost.service.routes.budgets import budgets
from milepost.service.routes.comparisons import comparisons
from milepost.service.routes.curation import curation
from milepost.service.routes.dependencies import Caller, Curator
from milepost.service.routes.releases import releases
from milepost.service.routes.sessions import sessions
from milepost.service.schemas.responses import Health, Me
from milepost.service.state import ServiceState

STATIC = (Path(str(files("milepost.service"))) / "static").resolve()
MEDIA_TYPES = {".js": "text/javascript", ".css": "text/css", ".json": "application/json", ".svg": "image/svg+xml"}


def make_app(state: ServiceState) -> FastAPI:
    """Return the application that serves a data directory, and closes its state on shutdown."""
    version = metadata.version("milepost")

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        state.close()

    app = FastAPI(
        title="Milepost",
        version=version,
        summary="Mean distances to the people in private tables, with differential privacy.",
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        redirect_slashes=False,
    )

    @app.get("/v1/health", response_model=Health, tags=["service"])
    async def health() -> Any:
        """Report that the service runs. This address needs no key."""
        return JSONResponse({"status": "ok"})

    @app.get("/v1/me", response_model=Me, responses=error_responses(), tags=["service"])
    async def me(key: Caller) -> Any:
        """Return the name and the role of your key, and the limits of the service."""
        return JSONResponse({"name": key.name, "role": key.role, "version": version, "limits": asdict(state.settings)})

    @app.get(
        "/v1/metrics",
        response_class=Response,
        responses=error_responses("forbidden")
        | {200: {"content": {"text/plain": {}}, "description": "Metrics in the text format of Prometheus."}},
        tags=["service"],
    )
    async def metrics(_: Curator) -> Any:
        """Return metrics for Prometheus: requests, response times, open sessions, jobs and spent budgets."""

        def render() -> bytes:
            accounts = state.ledger.datasets() if state.ledger else ()
            spent = {account.name: account.spent.nano / account.cap.nano for account in accounts}
            return state.telemetry.render(state.sessions.open, state.jobs.waiting, spent)

        return Response(await state.workers.run(render), media_type="text/plain; version=0.0.4")

    @app.get("/v1/openapi.json", include_in_schema=False)
    async def interface(_: Caller) -> Any:
        return JSONResponse(openapi_document(app))

    @app.get("/", include_in_schema=False)
    async def page() -> Any:
        return FileResponse(STATIC / "index.html")

    @app.get("/static/{name:path}", include_in_schema=False)
    async def asset(name: str) -> Any:
        try:
            path = (STATIC / name).resolve()
            exists = path.is_relative_to(STATIC) and path.is_file()
        except (OSError, ValueError):  # not a valid file name
            exists = False
        if not exists:
            raise RefusedError("not_found")
        return FileResponse(path, media_type=MEDIA_TYPES.get(path.suffix), headers={"cache-control": "no-cache"})

    for routes in (releases, comparisons, sessions, budgets, curation):
        app.include_router(routes(state))
    _add_error_handlers(app)
    app.add_middleware(RequestMiddleware, keys=state.keys, settings=state.settings, telemetry=state.telemetry)
    return app


def openapi_document(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document, which requires a key at every address except `/v1/health`."""
    document = app.openapi()
    document["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{"key": []}]
    document["paths"]["/v1/health"]["get"]["security"] = []
    return document


def _add_error_handlers(app: FastAPI) -> None:
    """Make every exception an error response of the same form."""

    @app.exception_handler(RefusedError)
    async def refuse(request: Request, problem: RefusedError) -> JSONResponse:
        key = getattr(request.state, "key", None)
        return response(problem, trusted=key is not None and key.role == CURATOR)

    @app.exception_handler(MilepostError)
    async def report_library_error(request: Request, error: MilepostError) -> JSONResponse:
        """Report an error of the library, such as a damaged data directory; only curators read its text."""
        if request.state.key.role == CURATOR:
            return response(RefusedError("refused", detail=str(error)), trusted=True)
        report(error)
        return response(RefusedError("internal"))

    @app.exception_handler(RequestValidationError)
    async def refuse_invalid_request(_: Request, error: RequestValidationError) -> JSONResponse:
        return response(RefusedError("invalid", list(error.errors()[0]["loc"])))

    @app.exception_handler(HTTPException)
    async def refuse_http_error(_: Request, error: HTTPException) -> JSONResponse:
        return response(RefusedError(CODE_BY_STATUS.get(error.status_code, "invalid")))
