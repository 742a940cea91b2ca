"""A service with all that the page can show: releases of every kind, sessions and keys."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from http.client import HTTPConnection
from io import StringIO
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import numpy as np
import pandas as pd
import pytest

import milepost as mp
from milepost import cli
from tests.events import PATIENCE, wait_until

CLOCK = 0.2  # seconds; the page is tested, not the clock
FJORDS = {"space": "great-circle", "center": [55.9, 10.6], "radius_km": 260}
QUESTIONS = 3  # limit of the session that is exhausted
WIDTH = 18  # of the vectors: more numbers than a form has boxes for
PEOPLE = {"anna": "analyst", "bert": "analyst", "carla": "curator"}


@dataclass(frozen=True)
class ServiceFixture:
    """A running service. keys: the key of each person by name."""

    url: str
    keys: dict[str, str]

    def send(self, who: str, method: str, path: str, body: Any = None) -> Any:
        """Send a request and return the JSON of the response."""
        parts = urlsplit(self.url)
        connection = HTTPConnection(parts.hostname or "", parts.port, timeout=PATIENCE)
        raw = isinstance(body, bytes)
        kind = "application/octet-stream" if raw else "application/json"
        text = body if raw or body is None else json.dumps(body)
        headers = {"Authorization": f"Bearer {self.keys[who]}", "Content-Type": kind}
        try:
            connection.request(method, path, text, headers)
            response = connection.getresponse()
            content = response.read()
        finally:
            connection.close()
        assert response.status < 400, (path, response.status, content)
        return json.loads(content) if content else None

    def distance(self, name: str, point: Any, **options: Any) -> tuple[float, float]:
        """Return one answer of a release and its error, from the interface."""
        response = self.send("anna", "POST", f"/v1/releases/{name}/distances", {"points": [point]} | options)
        return response["distances"][0], response["errors"][0]


def towns(count: int, seed: int = 5) -> pd.DataFrame:
    """Return made-up homes around five towns by the sea."""
    rng = np.random.default_rng(seed)
    centers = np.array([[55.68, 12.5], [56.16, 10.2], [55.4, 10.39], [57.05, 9.92], [55.47, 8.45]])
    town = rng.choice(len(centers), size=count, p=[0.46, 0.2, 0.14, 0.12, 0.08])
    return pd.DataFrame(centers[town] + rng.normal(0, 0.12, size=(count, 2)), columns=["lat", "lon"])


def releases() -> dict[str, tuple[str, mp.Synopsis]]:
    """Return, by name, a title and a release for each view of the page."""
    rng = np.random.default_rng(7)
    count = 20_000
    plane = pd.DataFrame({"east": rng.beta(2, 3, count) * 10, "north": rng.beta(3, 2, count) * 6})
    plane["side"] = np.where(plane["east"] + plane["north"] < 7, "south-west", "north-east")
    patients = pd.DataFrame(
        {
            "age": rng.integers(18, 91, count),
            "plan": rng.choice(["basic", "plus", "none"], count),
            "smokes": rng.random(count) < 0.3,
        }
    )
    mixed = mp.Gower(
        {"age": mp.number(18, 90, step=1), "plan": mp.category(["basic", "plus", "none"]), "smokes": mp.flag()}
    )
    spellings = ["color", "colour", "colors", "collar", "cooler", "kolor", "caller", "dollar"]
    answers = list(rng.choice(spellings, count, p=[0.3, 0.3, 0.1, 0.05, 0.05, 0.1, 0.05, 0.05]))
    vectors = rng.normal(size=(2_000, WIDTH)) + np.linspace(0, 2, WIDTH)
    region = mp.GreatCircle(center=(55.9, 10.6), radius_km=260, directions=64)
    return {
        "fjords": ("Homes by the sea", mp.release(towns(50_000), region, epsilon=1, delta=1e-6)),
        "streets": (
            "Walks by quarter",
            mp.release(
                plane,
                mp.L1({"east": (0, 10), "north": (0, 6)}),
                epsilon=1,
                delta=1e-6,
                groups="side",
                labels=["south-west", "north-east", "island"],
            ),
        ),
        "ages": ("Ages of patients", mp.release(patients[["age"]][:2_000], mp.L1({"age": (18, 90)}), epsilon=0.2)),
        "patients": ("Patients like this one", mp.release(patients, mixed, epsilon=1, delta=1e-6)),
        "spelling": (
            "How people spell it",
            mp.release(answers, mp.AnyMetric(mp.edit_distance, diameter=8, queries=spellings), epsilon=1),
        ),
        "vectors": ("Embeddings of notes", mp.release(vectors, mp.Angular(WIDTH), epsilon=2, delta=1e-6)),
    } | later_releases(region, mixed)


def later_releases(region: mp.GreatCircle, mixed: mp.Gower) -> dict[str, tuple[str, mp.Synopsis]]:
    """Return releases to compare with others: of the same spaces, at a later time."""
    rng = np.random.default_rng(8)
    count = 20_000
    ages = [rng.normal(mean, 12, (count, 1)) for mean in (50, 54)]
    patients = pd.DataFrame(
        {
            "age": rng.integers(18, 91, count),
            "plan": rng.choice(["basic", "none"], count),
            "smokes": rng.random(count) < 0.2,
        }
    )
    moved = towns(count, seed=6) + np.array([0.2, 0])
    years = zip(("2026", "2027"), ages, strict=True)
    return {
        "harbours": ("Homes by the sea, later", mp.release(moved, region, epsilon=1, delta=1e-6)),
        **{
            f"ages-{year}": (f"Clinic in {year}", mp.release(table, mp.L1({"age": (18, 90)}), epsilon=1))
            for year, table in years
        },
        "patients-later": ("Patients, a year later", mp.release(patients, mixed, epsilon=1, delta=1e-6)),
    }


def create_data_directory(folder: Path) -> dict[str, str]:
    """Create a data directory with all of it, as a curator would, and return the keys of people by name."""
    keys = {
        name: _run_command("keys", "create", name, "--role", role, "--data-dir", str(folder))
        for name, role in PEOPLE.items()
    }
    towns(20_000).to_csv(folder / "tables" / "homes.csv", index=False)
    with run_service(folder, keys) as service:
        for name, epsilon in (("homes", 12), ("clinic", 4)):
            service.send("carla", "POST", "/v1/datasets", {"name": name, "epsilon": epsilon, "delta": 1e-4})
        params = {"table": "homes.csv", "space": FJORDS, "dataset": "homes", "epsilon": 0.5, "delta": 1e-6}
        for name, limit in (("short", QUESTIONS), ("long", 200)):
            session_params = {"id": name, "title": f"A {name} talk", "analyst": "anna", "max_queries": limit}
            service.send("carla", "POST", "/v1/sessions", params | session_params)
        for name, (title, synopsis) in releases().items():
            path = folder / f"{name}.upload"
            synopsis.save(path)
            dataset = "clinic" if name in ("ages", "patients") else "homes"
            service.send(
                "carla", "PUT", f"/v1/releases/{name}?title={quote(title)}&dataset={dataset}", path.read_bytes()
            )
            path.unlink()

        def jobs_are_over() -> bool:
            jobs = service.send("carla", "GET", "/v1/jobs")["jobs"]
            return not any(job["state"] in ("queued", "running") for job in jobs)

        wait_until(jobs_are_over, "the end of all jobs")
    return keys


@contextmanager
def run_service(folder: Path, keys: dict[str, str]) -> Iterator[ServiceFixture]:
    """Serve a data directory on a free port."""
    command = [sys.executable, "-m", "milepost.cli", "serve", "--data-dir", str(folder), "--port", "0"]
    log = folder / "log.txt"
    with (
        log.open("a") as errors,
        subprocess.Popen(  # noqa: S603
            [*command, "--setting", f"clock={CLOCK}"], stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert " at http" in line, (line, log.read_text())
            yield ServiceFixture(line.rsplit(" at ", 1)[1].strip().rstrip("/"), keys)
        finally:
            process.terminate()
            process.wait(PATIENCE)


def _run_command(*arguments: str) -> str:
    """Run a command of `milepost` and return what it prints."""
    output = StringIO()
    with redirect_stdout(output), pytest.raises(SystemExit) as stop:
        cli.main(list(arguments))
    assert not stop.value.code, output.getvalue()
    return output.getvalue().strip()
