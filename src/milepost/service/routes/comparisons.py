"""Routes that compare the tables of several releases. Only released files are read, so nothing is spent."""

from typing import Any

from fastapi import APIRouter
from fastapi.responses import Response

from milepost.service.errors import error_responses
from milepost.service.routes.dependencies import Caller
from milepost.service.schemas.base import Name
from milepost.service.schemas.requests import DifferenceRequest, DriftRequest
from milepost.service.schemas.responses import Difference, Drift
from milepost.service.state import ServiceState


def comparisons(state: ServiceState) -> APIRouter:
    """Return the routes that compare releases, for both roles."""
    router = APIRouter(prefix="/v1", tags=["releases"])
    releases, workers = state.releases, state.workers

    @router.post(
        "/releases/{release}/difference",
        response_model=Difference,
        responses=error_responses("not_found", "bad_group", "not_supported"),
    )
    async def ask_difference(release: Name, request: DifferenceRequest, _: Caller) -> Any:
        """Return how different the tables of two releases are: their energy distance, and where they differ."""
        return Response(await workers.run(releases.difference, release, request), media_type="application/json")

    @router.post("/drift", response_model=Drift, responses=error_responses("not_found", "bad_group", "not_supported"))
    async def ask_drift(request: DriftRequest, _: Caller) -> Any:
        """Return the differences of several releases to the first one and to the one before."""
        return Response(await workers.run(releases.drift, request), media_type="application/json")

    return router
