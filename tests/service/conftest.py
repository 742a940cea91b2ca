"""A house: a data directory with releases of several kinds, a session for each of two analysts, and a client a key."""

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
    "sides": {"space": PLANE, "groups": "side", "labels": ["west", "east"]},
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
MADE: dict[str, Any] = {
    "table": "people.parquet",
    "dataset": "people",
    "epsilon": 4.0,
    "delta": 1e-6,
    "mechanism": "slopes",
}
OPENED: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("annas", "anna", {"space": PLANE, "mechanism": "field"}),
    ("berts", "bert", {"space": SPACES["ages"]["space"], "mechanism": "slopes"}),
)


@dataclass(frozen=True)
class House:
    """A service in this process. keys: texts by name; nobody has none."""

    office: ServiceState
    app: FastAPI
    keys: dict[str, str]

    def client(self, name: str) -> "Client":
        """Of a person with a key; nobody has none."""
        return Client(self.app, {"authorization": f"Bearer {self.keys[name]}"} if name in self.keys else {})


@dataclass(frozen=True)
class Client:
    """Requests of one key, one after another."""

    app: FastAPI
    headers: dict[str, str]

    def request(self, method: str, path: str, **words: Any) -> httpx.Response:
        """As httpx has it."""

        async def answered() -> httpx.Response:
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://house") as client:
                return await client.request(method, path, headers=self.headers | words.pop("headers", {}), **words)

        with ThreadPoolExecutor(1) as pool:  # whatever loop this thread may have: a browser that is driven leaves one
            return pool.submit(asyncio.run, answered()).result()

    def get(self, path: str, **words: Any) -> httpx.Response:
        """GET."""
        return self.request("GET", path, **words)

    def post(self, path: str, content: Any = None, **words: Any) -> httpx.Response:
        """POST of JSON."""
        return self.request("POST", path, json=content, **words)


def wait_until_over(house: House, job: str) -> None:
    """Wait until a job has ended."""
    wait_until(lambda: house.office.jobs.shown(job)["state"] not in ("queued", "running"), "the end of a job")


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
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    result = furnished(tmp_path_factory.mktemp("house"))
    yield result
    result.office.close()


def furnished(
    root: Path, spaces: dict[str, dict[str, Any]] = SPACES, *, sessions: bool = True, **settings: Any
) -> House:
    """A house at this place, with releases of these spaces."""
    office = ServiceState(root, Settings(**{"clock": 0.02, "rate": 1e6, "burst": 10**6, "timeout": 3600.0} | settings))
    roles = {"carla": "curator", "anna": "analyst", "bert": "analyst"}
    keys = {name: create_key(office.database, name, role)[1] for name, role in roles.items()}
    pq.write_table(people(), office.directory.tables / "people.parquet")
    office.directory.ledger.create("people", rho=100.0)
    for name, words in spaces.items():
        building = ReleaseRequest(id=name, title=name.title(), **MADE | words)
        office.releases.build(building, space_from_spec(building.space), office.quota("carla"))
    for name, analyst, words in OPENED if sessions else ():
        opening = SessionRequest(id=name, analyst=analyst, max_queries=5, **MADE | words)
        office.sessions.reserve(opening, space_from_spec(opening.space))
        office.sessions.begin(opening, space_from_spec(opening.space), office.quota(analyst))
    return House(office, make_app(office), keys)
