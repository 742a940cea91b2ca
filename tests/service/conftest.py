"""A service with releases of several kinds, a session for each of two analysts, and a client for each key."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from fastapi import FastAPI

from milepost.pipeline.space_spec import space_from_spec
from milepost.service.app import make_app
from milepost.service.auth import create_key
from milepost.service.schemas.requests import ReleaseRequest, SessionRequest
from milepost.service.settings import Settings
from milepost.service.state import ServiceState
from tests.events import wait_until

CITY = {"space": "great-circle", "center": [52.52, 13.405], "radius_km": 30, "directions": 16}
PLANE = {"space": "l2", "bounds": {"x": [0, 10], "y": [0, 10]}, "directions": 16}
SPACES: dict[str, dict[str, Any]] = {
    "city": {"space": CITY, "columns": ["lat", "lon"]},
    "ages": {"space": {"space": "l1", "bounds": {"age": [0, 100]}}},
    "sides": {"space": {"space": "l1", "bounds": PLANE["bounds"]}, "groups": "side", "labels": ["west", "east"]},
    "given": {"space": PLANE, "queries": [[1, 2], [5, 5]], "mechanism": "gaussian"},
    "mixed": {
        "space": {"space": "gower", "columns": {"age": {"number": [0, 100]}, "side": {"category": ["west", "east"]}}}
    },
    "words": {
        "space": {"space": "edit", "queries": ["west", "east"], "diameter": 6},
        "columns": ["side"],
        "mechanism": "auto",
    },
}
BUILD_PARAMS: dict[str, Any] = {
    "table": "people.parquet",
    "dataset": "people",
    "epsilon": 4.0,
    "delta": 1e-6,
    "mechanism": "slopes",
}
SESSIONS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("annas", "anna", {"space": PLANE, "mechanism": "field"}),
    ("berts", "bert", {"space": SPACES["ages"]["space"], "mechanism": "slopes"}),
)


@dataclass(frozen=True)
class ServiceFixture:
    """A service in this process. keys: the text of each key by the name of its owner; "nobody" has no key."""

    state: ServiceState
    app: FastAPI
    keys: dict[str, str]

    def client(self, name: str) -> "Client":
        """Return the client of a person; "nobody" sends no key."""
        return Client(self.app, {"authorization": f"Bearer {self.keys[name]}"} if name in self.keys else {})


@dataclass(frozen=True)
class Client:
    """A client that sends requests with one key, one after another."""

    app: FastAPI
    headers: dict[str, str]

    def request(self, method: str, path: str, **options: Any) -> httpx.Response:
        """Send a request; options are those of httpx."""

        async def send_request() -> httpx.Response:
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:
                return await client.request(method, path, headers=self.headers | options.pop("headers", {}), **options)

        with ThreadPoolExecutor(1) as pool:  # this thread may have an event loop already: Playwright leaves one
            return pool.submit(asyncio.run, send_request()).result()

    def get(self, path: str, **options: Any) -> httpx.Response:
        """Send a GET request."""
        return self.request("GET", path, **options)

    def post(self, path: str, content: Any = None, **options: Any) -> httpx.Response:
        """Send a POST request with a JSON body."""
        return self.request("POST", path, json=content, **options)


def wait_for_job(service: ServiceFixture, job: str) -> None:
    """Wait until a job has ended."""
    wait_until(lambda: service.state.jobs.status(job)["state"] not in ("queued", "running"), "the end of a job")


def people(n: int = 2_000) -> pa.Table:
    generator = np.random.default_rng(0)
    x, y = generator.uniform(0, 10, (2, n))
    return pa.table(
        {
            "lat": generator.normal(52.52, 0.05, n),
            "lon": generator.normal(13.405, 0.1, n),
            "age": generator.uniform(0, 90, n),
            "x": x,
            "y": y,
            "side": np.where(x < 5, "west", "east"),
        }
    )


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceFixture]:
    result = create_service(tmp_path_factory.mktemp("service"))
    yield result
    result.state.close()


def create_service(
    root: Path, spaces: dict[str, dict[str, Any]] = SPACES, *, sessions: bool = True, **settings: Any
) -> ServiceFixture:
    """Create a data directory with releases of these spaces, and the service on it."""
    state = ServiceState(root, Settings(**{"clock": 0.02, "rate": 1e6, "burst": 10**6, "timeout": 3600.0} | settings))
    roles = {"carla": "curator", "anna": "analyst", "bert": "analyst"}
    keys = {name: create_key(state.database, name, role)[1] for name, role in roles.items()}
    pq.write_table(people(), state.directory.tables / "people.parquet")
    state.directory.ledger.create("people", rho=100.0)
    for name, params in spaces.items():
        release_request = ReleaseRequest(id=name, title=name.title(), **BUILD_PARAMS | params)
        state.releases.build(release_request, space_from_spec(release_request.space), state.quota("carla"))
    for name, analyst, params in SESSIONS if sessions else ():
        session_request = SessionRequest(id=name, analyst=analyst, max_queries=5, **BUILD_PARAMS | params)
        state.sessions.reserve(session_request, space_from_spec(session_request.space))
        state.sessions.begin(session_request, space_from_spec(session_request.space), state.quota(analyst))
    return ServiceFixture(state, make_app(state), keys)
