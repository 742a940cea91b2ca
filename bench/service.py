"""Measure how fast `milepost serve` answers 64 clients ÷ the same app returning a constant, and check its memory."""

import http.client
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

import milepost as mp
from bench.load import Load, Plan, bodies, send
from bench.run import Bounds, main
from milepost.demo.clinic import REGION, homes
from milepost.service.auth import ANALYST, create_key
from milepost.service.data_directory import DataDirectory
from milepost.service.database import ReleaseRecord, ServiceDatabase, now

SERVER = """
import sys
from pathlib import Path
from starlette.responses import JSONResponse
from milepost.service import server
from milepost.service.routes.dependencies import Caller
from milepost.service.schemas.requests import DistanceRequest
from milepost.service.settings import Settings

make_real_app = server.make_app
answer = {"distances": [10.676612312356], "errors": [0.031312312356], "confidence": 0.95, "unit": "km"}

def make_app(state):  # with an address more that takes the same requests and computes nothing
    app = make_real_app(state)

    @app.post("/v1/constant")
    async def constant(request: DistanceRequest, _: Caller):
        return JSONResponse(answer)

    return app

server.make_app = make_app
server.run(Path(sys.argv[1]), server.Address(port=0), Settings.of(sys.argv[2:]), lambda url: print(url, flush=True))
"""
SETTINGS = ("rate=1e9", "burst=1000000000", "timeout=600")
DISTANCES, CONSTANT = "/v1/releases/homes/distances", "/v1/constant"
CLIENTS, ROUNDS = 64, 5
SLACK = 4.0  # megabytes, in addition to 5 %


@dataclass(frozen=True)
class Size:
    """One size of batches, and its bound.

    requests, checked: the requests of a round, and with --check. slower: requests/s of the constant ÷ its own. The
    bounds are at least twice the values on two shared cores, of which clients and other programs use a part.
    """

    points: int
    requests: int
    checked: int
    slower: float


SIZES = (Size(1, 3_000, 320, 6), Size(100, 1_000, 96, 12), Size(10_000, 128, 8, 24))
WARM, MANY = 10_000, 100_000
WARM_CHECKED, MANY_CHECKED = 1_500, 5_000


@dataclass(frozen=True)
class Server:
    """A running service."""

    process: int
    port: int
    key: str

    def load(self, path: str, points: int, requests: int) -> Load:
        """Send requests by all clients."""
        return send(Plan(self.port, self.key, path, points, requests, min(CLIENTS, requests)))

    @property
    def memory(self) -> float:
        """Return the megabytes of memory now."""
        lines = Path(f"/proc/{self.process}/status").read_text().splitlines()
        return int(next(line.split()[1] for line in lines if line.startswith("VmRSS"))) / 1024


def benchmark(check: bool, bounds: Bounds) -> None:
    """Query a release of 10⁵ synthetic homes; ratios use the best of a few rounds, each next to the constant."""
    synopsis = mp.release(homes(100_000), REGION, epsilon=1, delta=1e-6)
    with tempfile.TemporaryDirectory() as name, run_server(Path(name), synopsis) as server:
        check_answer(server, synopsis)
        for size in SIZES:
            compare(server, size, size.checked if check else size.requests, bounds)
        check_memory(server, *((WARM_CHECKED, MANY_CHECKED) if check else (WARM, MANY)), bounds)


@contextmanager
def run_server(root: Path, synopsis: mp.Synopsis) -> Iterator[Server]:
    """Serve a data directory with this release, in a separate process."""
    directory = DataDirectory.create(root)
    database = ServiceDatabase(directory.database_path)
    synopsis.save(directory.release("homes"))
    database.add(ReleaseRecord("homes", "Homes", "", now()))
    _, key = create_key(database, "anna", ANALYST)
    line = [sys.executable, "-c", SERVER, str(root), *SETTINGS]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        try:
            assert process.stdout is not None
            match = re.search(r":(\d+)/", process.stdout.readline())
            assert match is not None, "the service has not started"
            yield Server(process.pid, int(match[1]), key)
        finally:
            process.terminate()


def check_answer(server: Server, synopsis: mp.Synopsis) -> None:
    """Check that the measured answer is correct."""
    (body,) = bodies(100, 1)
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    headers = {"authorization": f"Bearer {server.key}", "content-type": "application/json"}
    connection.request("POST", DISTANCES, body, headers)
    answer = json.load(connection.getresponse())
    connection.close()
    assert answer["distances"] == synopsis.mean_distance(np.array(json.loads(body)["points"])).tolist()


def compare(server: Server, size: Size, requests: int, bounds: Bounds) -> None:
    """Measure one size of batches, and the constant right after it."""
    pairs, points = [], size.points
    for _ in range(ROUNDS):
        pairs.append((server.load(DISTANCES, points, requests), server.load(CONSTANT, points, requests)))
    check_errors(bounds, [load for pair in pairs for load in pair], requests)
    rate, middle, p99 = (median(getattr(load, name) for load, _ in pairs) for name in ("rate", "median", "p99"))
    slower = max(constant.rate for _, constant in pairs) / max(load.rate for load, _ in pairs)
    later = median(load.p99 / constant.p99 for load, constant in pairs)
    cell = bounds.time_at_most(f"constant's requests/s ÷ those of {points:,} points", slower, size.slower)
    print(
        f"{points:6,} points: {rate:7,.1f} requests/s, {rate * points:9,.0f} points/s, p50 {middle * 1e3:6,.0f} ms, "
        f"p99 {p99 * 1e3:6,.0f} ms; constant's requests/s ÷ this: {cell} (bound {size.slower:g}), "
        f"p99 ÷ constant's: {later:.2f}",
        flush=True,
    )


def check_memory(server: Server, few: int, many: int, bounds: Bounds) -> None:
    """Compare memory after the first requests and after many more."""
    check_errors(bounds, [server.load(DISTANCES, 1, few)], few)
    before = server.memory
    check_errors(bounds, [server.load(DISTANCES, 1, many - few)], many - few)
    after = server.memory
    cell = bounds.at_most(f"megabytes after {many:,} requests", after, 1.05 * before + SLACK)
    print(f"memory: {before:.1f} MB after {few:,} requests, {cell} MB after {many:,} (bound 5 % and {SLACK:g} MB more)")


def check_errors(bounds: Bounds, loads: list[Load], requests: int) -> None:
    """Check that all requests were answered without an error."""
    bounds.at_most("errors", sum(load.errors for load in loads), 0)
    bounds.at_most("requests without answer", sum(requests - load.requests for load in loads), 0)


if __name__ == "__main__":
    main(benchmark, __doc__ or "")
