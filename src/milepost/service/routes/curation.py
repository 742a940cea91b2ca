"""Curation: what curators do: plan, budgets, uploads, releases and sessions to be made."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse

from milepost.errors import ExhaustedError, MilepostError
from milepost.pipeline.plan import plan
from milepost.pipeline.space_spec import space_from_spec
from milepost.service.auth import QuotaError
from milepost.service.errors import RefusedError, documented
from milepost.service.releases import cost_of, load_uploaded, receive_upload
from milepost.service.routes.dependencies import Curator
from milepost.service.schemas import views
from milepost.service.schemas.base import Line, Name
from milepost.service.schemas.requests import CreateRequest, PlanRequest, ReleaseRequest, SessionRequest
from milepost.service.schemas.responses import JobList, JobStatus, Plan, ReleaseSummary, TableList
from milepost.service.state import ServiceState
from milepost.spaces.base import Space


def curation(office: ServiceState) -> APIRouter:
    """For curators only."""
    router = APIRouter(prefix="/v1", tags=["curation"])
    catalog, desk, jobs, workers = office.releases, office.sessions, office.jobs, office.workers

    def space_of(words: dict[str, Any]) -> Space:
        if isinstance(words.get("queries"), str):
            raise MilepostError("queries must be a list here, not the name of a file")
        dim, most = words.get("dim", 0), office.settings.max_dimension
        if isinstance(dim, int) and dim > most:
            raise RefusedError("too_large", ["body", "space", "dim"])
        space = space_from_spec(words)
        if space.width > most:
            raise RefusedError("too_large", ["body", "space"])
        return space

    def settled(words: CreateRequest) -> Space:
        """The space, once nothing that can be known before stands against it."""
        office.directory.table(words.table)
        if office.ledger is None:
            raise MilepostError("there is no dataset yet; POST /v1/datasets creates one with its budget")
        office.ledger.account(words.dataset)
        return space_of(words.space)

    @router.get("/tables", response_model=TableList, responses=documented("forbidden"))
    async def list_tables(_: Curator) -> Any:
        """Files and folders in the data directory's `tables`, of which releases and sessions can be made."""
        return JSONResponse({"tables": await workers.run(office.directory.table_names)})

    @router.post("/plan", response_model=Plan, responses=documented("forbidden", "refused"))
    async def make_plan(words: PlanRequest, _: Curator) -> Any:
        """What each mechanism would promise; no data is touched and nothing is spent."""

        def planned() -> dict[str, Any]:
            with refusing():
                found = plan(space_of(words.space), **words.model_dump(exclude={"space"}))
            predictions = [
                {
                    "mechanism": one.mechanism,
                    "error": one.error,
                    "rms": one.rms,
                    "uniform": one.uniform,
                    "coordinates": one.coordinates,
                    "cells": one.cells,
                    "bytes": one.size,
                }
                for one in found.predictions
            ]
            return found.guarantee.to_json() | {"predictions": predictions, "refused": found.refused}

        return JSONResponse(await workers.run(planned))

    @router.post(
        "/releases",
        status_code=202,
        response_model=JobStatus,
        responses=documented("forbidden", "exists", "refused"),
    )
    async def build_release(words: ReleaseRequest, key: Curator) -> Any:
        """Make a release from a table of the data directory; the job says how far it is."""

        def begun() -> dict[str, Any]:
            with refusing():
                space, ledger = settled(words), office.quota(key.name)
            if catalog.taken(words.id):
                raise RefusedError("exists")
            return jobs.begin("release", words, key.name, lambda: catalog.build(words, space, ledger))

        return JSONResponse(await workers.run(begun), 202)

    @router.post(
        "/sessions",
        status_code=202,
        response_model=JobStatus,
        responses=documented("forbidden", "exists", "refused"),
    )
    async def open_session(words: SessionRequest, key: Curator) -> Any:
        """Open a session for an analyst; the job says how far it is."""

        def begun() -> dict[str, Any]:
            with refusing():
                space, ledger = settled(words), office.quota(words.analyst)
                desk.reserve(words, space)
            try:
                return jobs.begin("session", words, key.name, lambda: desk.begin(words, space, ledger))
            except RefusedError:
                desk.give_up(words.id)
                raise

        return JSONResponse(await workers.run(begun), 202)

    @router.get("/jobs", response_model=JobList, responses=documented("forbidden"))
    async def list_jobs(_: Curator) -> Any:
        """What is being made, and what was."""
        return JSONResponse({"jobs": jobs.all()})

    @router.get("/jobs/{job}", response_model=JobStatus, responses=documented("forbidden", "not_found"))
    async def show_job(job: Name, _: Curator) -> Any:
        """One job, and how far it is."""
        return JSONResponse(jobs.shown(job))

    @router.put(
        "/releases/{release}",
        status_code=201,
        response_model=ReleaseSummary,
        responses=documented("forbidden", "exists", "refused", "budget_exceeded", "quota_exceeded"),
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
        paid: Annotated[bool, Query(description="Whether the dataset's budget was charged already.")] = False,
    ) -> Any:
        """Store a file that `milepost release` wrote. With a dataset, its guarantee is charged to that budget."""
        if catalog.taken(release) or jobs.taken("release", release):
            raise RefusedError("exists")
        path = await receive_upload(request, office.directory.releases, office.settings.max_upload)

        def stored() -> dict[str, Any]:
            with catalog.claiming(release):
                return paid_and_stored()

        def paid_and_stored() -> dict[str, Any]:
            with path.open("rb") as stream:
                os.fsync(stream.fileno())
            synopsis = load_uploaded(path)
            if dataset is not None:
                with refusing():
                    if office.ledger is None:
                        raise MilepostError("there is no dataset yet; POST /v1/datasets creates one with its budget")
                    office.ledger.account(dataset)
                    if not paid:
                        charge = office.quota(key.name).charge(
                            dataset, cost_of(synopsis), synopsis.mechanism, protects=synopsis.change.protects
                        )
                        charge.settle()
            return views.summary(catalog.store(path, release, title or release, dataset or ""), synopsis)

        try:
            return JSONResponse(await workers.run(stored), 201)
        finally:
            with suppress(FileNotFoundError):
                path.unlink()

    @router.delete(
        "/releases/{release}", status_code=204, response_class=Response, responses=documented("forbidden", "not_found")
    )
    async def remove_release(release: Name, _: Curator) -> None:
        """Take a release away. What was spent on it stays spent, and copies of it may be anywhere."""
        await workers.run(catalog.remove, release)

    return router


@contextmanager
def refusing() -> Iterator[None]:
    """What the library refuses, as a refusal of the service, with its reason for curators."""
    try:
        yield
    except QuotaError as error:
        raise RefusedError("quota_exceeded", detail=str(error)) from None
    except ExhaustedError as error:
        raise RefusedError("budget_exceeded", detail=str(error)) from None
    except MilepostError as error:
        raise RefusedError("refused", detail=str(error)) from None
