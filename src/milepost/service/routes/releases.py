"""Routes of releases: their descriptions, files and answers."""

from functools import partial
from typing import Any

from fastapi import APIRouter
from fastapi.responses import FileResponse, JSONResponse, Response

from milepost.service.errors import RefusedError, error_responses
from milepost.service.routes.dependencies import Caller
from milepost.service.schemas import views
from milepost.service.schemas.base import Name
from milepost.service.schemas.requests import (
    CenterRequest,
    ColumnsRequest,
    CompareRequest,
    DistanceRequest,
    GridRequest,
)
from milepost.service.schemas.responses import (
    CenterPoint,
    ColumnEstimates,
    DistanceGrid,
    Distances,
    GroupDistances,
    ReleaseDescription,
    ReleaseList,
    Statement,
)
from milepost.service.state import ServiceState
from milepost.synopsis.synopsis import Synopsis

MAX_INLINE_NUMBERS = 1024  # numbers in a request that is answered without a thread


def releases(state: ServiceState) -> APIRouter:
    """Return the routes of releases, for both roles: every key may read all releases."""
    router = APIRouter(prefix="/v1/releases", tags=["releases"])
    releases, workers, settings = state.releases, state.workers, state.settings

    async def synopsis_of(name: str) -> Synopsis:
        synopsis = releases.cached_synopsis(name)
        return (await workers.run(releases.find, name))[1] if synopsis is None else synopsis

    def check(points: list[Any]) -> None:
        if len(points) > settings.max_points or max(map(len, points)) > settings.max_dimension:
            raise RefusedError("too_large", ["body", "points"])

    @router.get("", response_model=ReleaseList, responses=error_responses())
    async def list_releases(_: Caller) -> Any:
        """Return a summary of every release."""
        return JSONResponse({"releases": await workers.run(releases.summaries)})

    @router.get("/{release}", response_model=ReleaseDescription, responses=error_responses("not_found"))
    async def show_release(release: Name, _: Caller) -> Any:
        """Return a release with its card and the fields of its points."""
        return JSONResponse(views.description(*await workers.run(releases.find, release)))

    @router.get("/{release}/statement", response_model=Statement, responses=error_responses("not_found"))
    async def show_statement(release: Name, _: Caller) -> Any:
        """Return the privacy statement: who is protected, how strongly, and which facts are public."""
        return JSONResponse(views.statement(await synopsis_of(release)))

    @router.get(
        "/{release}/file",
        response_class=FileResponse,
        responses=error_responses("not_found")
        | {200: {"description": "The file of the release.", "content": {"application/octet-stream": {}}}},
    )
    async def download_release(release: Name, _: Caller) -> Any:
        """Return the file of a release, for `mp.load`."""
        await synopsis_of(release)
        return FileResponse(
            state.directory.release(release), media_type="application/octet-stream", filename=f"{release}.milepost"
        )

    @router.post(
        "/{release}/distances",
        response_model=Distances,
        responses=error_responses("not_found", "bad_point", "bad_group", "not_supported"),
    )
    async def ask_distances(release: Name, request: DistanceRequest, _: Caller) -> Any:
        """Return the mean distance of each point, and its error."""
        check(request.points)
        synopsis = views.select_group(await synopsis_of(release), request.group)
        answer = partial(views.distances, synopsis, request.points, request.confidence)
        if len(request.points) * max(map(len, request.points)) <= MAX_INLINE_NUMBERS:
            return JSONResponse(answer())
        return await workers.run(lambda: JSONResponse(answer()))

    @router.post(
        "/{release}/nearest",
        response_model=GroupDistances,
        responses=error_responses("not_found", "bad_point", "not_supported"),
    )
    async def ask_nearest(release: Name, request: CompareRequest, _: Caller) -> Any:
        """Return the mean distance from each point to every group, and the nearest group."""
        check(request.points)
        synopsis = await synopsis_of(release)
        return await workers.run(lambda: JSONResponse(views.nearest(synopsis, request.points)))

    @router.post("/{release}/center", response_model=CenterPoint, responses=error_responses("not_found", "bad_group"))
    async def ask_center(release: Name, request: CenterRequest, _: Caller) -> Any:
        """Return the point with the smallest mean distance."""
        return Response(await workers.run(releases.center, release, request.group), media_type="application/json")

    @router.post(
        "/{release}/grid",
        response_model=DistanceGrid,
        responses=error_responses("not_found", "bad_group", "not_supported"),
    )
    async def ask_grid(release: Name, request: GridRequest, _: Caller) -> Any:
        """Return mean distances on a grid, for maps and curves."""
        content = await workers.run(releases.grid, release, request.steps, request.group)
        return Response(content, media_type="application/json")

    @router.post(
        "/{release}/columns",
        response_model=ColumnEstimates,
        responses=error_responses("not_found", "bad_column", "bad_group", "not_supported"),
    )
    async def ask_columns(release: Name, request: ColumnsRequest, _: Caller) -> Any:
        """Return means, variances and shares of single columns, each with its interval."""
        synopsis = views.select_group(await synopsis_of(release), request.group)
        return await workers.run(lambda: JSONResponse(views.columns(synopsis, request)))

    return router
