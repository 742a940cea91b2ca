"""Routes for curators: plans, jobs, uploads, and new releases and sessions."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse

from milepost.errors import BudgetExceededError, MilepostError
from milepost.pipeline.plan import plan
from milepost.pipeline.space_spec import space_from_spec
from milepost.service.auth import QuotaError
from milepost.service.errors import RefusedError, error_responses, http_text
from milepost.service.releases import cost_of, load_uploaded, receive_upload
from milepost.service.routes.dependencies import Curator
from milepost.service.schemas import views
from milepost.service.schemas.base import Line, Name
from milepost.service.schemas.requests import CreateRequest, PlanRequest, ReleaseRequest, SessionRequest
from milepost.service.schemas.responses import JobList, JobStatus, Plan, ReleaseSummary, TableList
from milepost.service.state import ServiceState
from milepost.spaces.base import Space


def curation(state: ServiceState) -> APIRouter:
    """Return the routes for curators."""
    router = APIRouter(prefix="/v1", tags=["curation"])
    releases, sessions, jobs, workers = state.releases, state.sessions, state.jobs, state.workers

    def space_of(spec: dict[str, Any]) -> Space:
        if isinstance(spec.get("queries"), str):
            raise MilepostError("queries must be a list, got the name of a file. Send the points themselves.")
        dim, max_dimension = spec.get("dim", 0), state.settings.max_dimension
        if isinstance(dim, int) and dim > max_dimension:
            raise RefusedError("too_large", ["body", "space", "dim"])
        space = space_from_spec(spec)
        if space.width > max_dimension:
            raise RefusedError("too_large", ["body", "space"])
        return space

    def check_dataset(name: str) -> None:
        if state.ledger is None:
            raise MilepostError("there is no dataset yet. Create one with POST /v1/datasets.")
        state.ledger.account(name)

    def check_request(request: CreateRequest) -> Space:
        """Return the space of a request; refuse one whose table or dataset does not exist."""
        state.directory.table(request.table)
        check_dataset(request.dataset)
        return space_of(request.space)

    @router.get("/tables", response_model=TableList, responses=error_responses("forbidden"))
    async def list_tables(_: Curator) -> Any:
        """Return the names of the tables in the data directory, for releases and sessions."""
        return JSONResponse({"tables": await workers.run(state.directory.table_names)})

    @router.post("/plan", response_model=Plan, responses=error_responses("forbidden", "refused"))
    async def make_plan(request: PlanRequest, _: Curator) -> Any:
        """Predict the error of each mechanism. This reads no data and spends nothing."""

        def predict() -> dict[str, Any]:
            with refuse_library_errors():
                result = plan(space_of(request.space), **request.model_dump(exclude={"space"}))
            predictions = [
                {
                    "mechanism": prediction.mechanism,
                    "error": prediction.error,
                    "rms": prediction.rms,
                    "uniform": prediction.uniform,
                    "coordinates": prediction.coordinates,
                    "cells": prediction.cells,
                    "draws": prediction.draws,
                    "bytes": prediction.size,
                    "accounting": prediction.accounting,
                }
                for prediction in result.predictions
            ]
            return {
                "epsilon": result.guarantee.epsilon,
                "delta": result.guarantee.delta,
                "predictions": predictions,
                "refused": {name: http_text(reason) for name, reason in result.refused.items()},
                "ball": None if result.ball_note is None else http_text(result.ball_note),
            }

        return JSONResponse(await workers.run(predict))

    @router.post(
        "/releases",
        status_code=202,
        response_model=JobStatus,
        responses=error_responses("forbidden", "exists", "refused"),
    )
    async def build_release(request: ReleaseRequest, key: Curator) -> Any:
        """Create a release from a table. The response is a job; its address reports the progress."""

        def start() -> dict[str, Any]:
            with refuse_library_errors():
                space, ledger = check_request(request), state.quota(key.name)
            if releases.exists(request.id):
                raise RefusedError("exists")
            return jobs.begin("release", request, key.name, lambda: releases.build(request, space, ledger))

        return JSONResponse(await workers.run(start), 202)

    @router.post(
        "/sessions",
        status_code=202,
        response_model=JobStatus,
        responses=error_responses("forbidden", "exists", "refused"),
    )
    async def open_session(request: SessionRequest, key: Curator) -> Any:
        """Open a session for an analyst. The response is a job; its address reports the progress."""

        def start() -> dict[str, Any]:
            with refuse_library_errors():
                space, ledger = check_request(request), state.quota(request.analyst)
                sessions.reserve(request, space)
            try:
                return jobs.begin("session", request, key.name, lambda: sessions.begin(request, space, ledger))
            except RefusedError:
                sessions.cancel(request.id)
                raise

        return JSONResponse(await workers.run(start), 202)

    @router.get("/jobs", response_model=JobList, responses=error_responses("forbidden"))
    async def list_jobs(_: Curator) -> Any:
        """Return the latest jobs, the newest first."""
        return JSONResponse({"jobs": jobs.all()})

    @router.get("/jobs/{job}", response_model=JobStatus, responses=error_responses("forbidden", "not_found"))
    async def show_job(job: Name, _: Curator) -> Any:
        """Return the state and the progress of a job."""
        return JSONResponse(jobs.status(job))

    @router.put(
        "/releases/{release}",
        status_code=201,
        response_model=ReleaseSummary,
        responses=error_responses("forbidden", "exists", "refused", "budget_exceeded", "quota_exceeded"),
        openapi_extra={
            "requestBody": {
                "required": True,
                "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
            }
        },
    )
    async def upload_release(
        release: Name,
        key: Curator,
        request: Request,
        title: Annotated[Line | None, Query()] = None,
        dataset: Annotated[str | None, Query(min_length=1, max_length=64)] = None,
        paid: Annotated[bool, Query(description="Whether the dataset's budget was charged earlier.")] = False,
    ) -> Any:
        """Store a file that `milepost release` wrote. With `dataset`, this charges the guarantee to its budget."""
        if releases.exists(release) or jobs.in_progress("release", release):
            raise RefusedError("exists")
        path = await receive_upload(request, state.directory.releases, state.settings.max_upload)

        def store() -> dict[str, Any]:
            with releases.claiming(release):
                return charge_and_store()

        def charge_and_store() -> dict[str, Any]:
            with path.open("rb") as stream:
                os.fsync(stream.fileno())
            synopsis = load_uploaded(path)
            if dataset is not None:
                with refuse_library_errors():
                    check_dataset(dataset)
                    if not paid:
                        charge = state.quota(key.name).charge(
                            dataset, cost_of(synopsis), synopsis.mechanism, protects=synopsis.change.protects
                        )
                        charge.settle()
            return views.summary(releases.store(path, release, title or release, dataset or ""), synopsis)

        try:
            return JSONResponse(await workers.run(store), 201)
        finally:
            with suppress(FileNotFoundError):
                path.unlink()

    @router.delete(
        "/releases/{release}",
        status_code=204,
        response_class=Response,
        responses=error_responses("forbidden", "not_found"),
    )
    async def remove_release(release: Name, _: Curator) -> None:
        """Remove a release. What was spent on it stays spent, and copies of the file may exist elsewhere."""
        await workers.run(releases.remove, release)

    return router


@contextmanager
def refuse_library_errors() -> Iterator[None]:
    """Make errors of the library refusals of the service, with a reason that curators read."""
    try:
        yield
    except QuotaError as error:
        raise RefusedError("quota_exceeded", detail=str(error)) from None
    except BudgetExceededError as error:
        raise RefusedError("budget_exceeded", detail=str(error)) from None
    except MilepostError as error:
        raise RefusedError("refused", detail=str(error)) from None
