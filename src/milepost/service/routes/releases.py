"""Releases: what there is, and what they answer."""

from functools import partial
from typing import Any

from fastapi import APIRouter
from fastapi.responses import FileResponse, JSONResponse, Response

from milepost.service.errors import RefusedError, documented
from milepost.service.routes.dependencies import Caller
from milepost.service.schemas import views
from milepost.service.schemas.base import Name
from milepost.service.schemas.requests import CenterRequest, CompareRequest, DistanceRequest, GridRequest
from milepost.service.schemas.responses import (
    CenterPoint,
    DistanceGrid,
    Distances,
    GroupDistances,
    ReleaseDescription,
    ReleaseList,
    Statement,
)
from milepost.service.state import ServiceState
from milepost.synopsis.synopsis import Synopsis

QUICK = 1024  # numbers of points that are answered at once, rather than by a thread


def releases(office: ServiceState) -> APIRouter:
    """For both roles: releases are public within the house."""
    router = APIRouter(prefix="/v1/releases", tags=["releases"])
    catalog, workers, settings = office.releases, office.workers, office.settings

    async def found(name: str) -> Synopsis:
        loaded = catalog.loaded(name)
        return (await workers.run(catalog.find, name))[1] if loaded is None else loaded

    def check(points: list[Any]) -> None:
        if len(points) > settings.max_points or max(map(len, points)) > settings.max_dimension:
            raise RefusedError("too_large", ["body", "points"])

    @router.get("", response_model=ReleaseList, responses=documented())
    async def list_releases(_: Caller) -> Any:
        """All releases."""
        return JSONResponse({"releases": await workers.run(catalog.summaries)})

    @router.get("/{release}", response_model=ReleaseDescription, responses=documented("not_found"))
    async def show_release(release: Name, _: Caller) -> Any:
        """One release with its card."""
        return JSONResponse(views.description(*await workers.run(catalog.find, release)))

    @router.get("/{release}/statement", response_model=Statement, responses=documented("not_found"))
    async def show_statement(release: Name, _: Caller) -> Any:
        """Who is protected, how much, and what was treated as public."""
        return JSONResponse(views.statement(await found(release)))

    @router.get(
        "/{release}/file",
        response_class=FileResponse,
        responses=documented("not_found")
        | {200: {"description": "The file.", "content": {"application/octet-stream": {}}}},
    )
    async def download_release(release: Name, _: Caller) -> Any:
        """The file itself, for `mp.load`."""
        await found(release)
        return FileResponse(
            office.directory.release(release), media_type="application/octet-stream", filename=f"{release}.milepost"
        )

    @router.post(
        "/{release}/distances",
        response_model=Distances,
        responses=documented("not_found", "bad_point", "bad_group", "not_supported"),
    )
    async def ask_distances(release: Name, asking: DistanceRequest, _: Caller) -> Any:
        """The mean distance of each point, and its error."""
        check(asking.points)
        synopsis = views.part_of(await found(release), asking.group)
        answer = partial(views.distances, synopsis, asking.points, asking.confidence)
        if len(asking.points) * max(map(len, asking.points)) <= QUICK:
            return JSONResponse(answer())
        return await workers.run(lambda: JSONResponse(answer()))

    @router.post(
        "/{release}/nearest",
        response_model=GroupDistances,
        responses=documented("not_found", "bad_point", "not_supported"),
    )
    async def ask_nearest(release: Name, asking: CompareRequest, _: Caller) -> Any:
        """How far each point is from every group, and which group is nearest."""
        check(asking.points)
        synopsis = await found(release)
        return await workers.run(lambda: JSONResponse(views.nearest(synopsis, asking.points)))

    @router.post("/{release}/center", response_model=CenterPoint, responses=documented("not_found", "bad_group"))
    async def ask_center(release: Name, asking: CenterRequest, _: Caller) -> Any:
        """The point with the least mean distance."""
        return Response(await workers.run(catalog.center, release, asking.group), media_type="application/json")

    @router.post(
        "/{release}/field", response_model=DistanceGrid, responses=documented("not_found", "bad_group", "not_supported")
    )
    async def ask_field(release: Name, asking: GridRequest, _: Caller) -> Any:
        """Mean distances on a grid, for maps and curves."""
        content = await workers.run(catalog.field, release, asking.steps, asking.group)
        return Response(content, media_type="application/json")

    return router
