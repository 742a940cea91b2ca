"""How fast `milepost serve` answers 64 clients at once ÷ the same app returning a constant; its memory stays flat."""

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
from milepost.demo import REGION, homes
from milepost.service.home import Home
from milepost.service.keys import ANALYST, create_key
from milepost.service.register import Register, Release, now

SERVER = """
import sys
from pathlib import Path
from starlette.responses import JSONResponse
from milepost.service import running
from milepost.service.access import Caller
from milepost.service.settings import Settings
from milepost.service.shapes import Asking

made = running.make_app
answer = {"distances": [10.676612312356], "errors": [0.031312312356], "confidence": 0.95, "unit": "km"}

def make_app(office):  # the same, and an address that takes the same requests and computes nothing
    app = made(office)

    @app.post("/v1/constant")
    async def constant(asking: Asking, _: Caller):
        return JSONResponse(answer)

    return app

running.make_app = make_app
running.run(Path(sys.argv[1]), running.Address(port=0), Settings.of(sys.argv[2:]), lambda url: print(url, flush=True))
"""
SETTINGS = ("rate=1e9", "burst=1000000000")
CLIENTS, ROUNDS = 64, 3
DISTANCES, CONSTANT = "/v1/releases/homes/distances", "/v1/constant"
SIZES = {1: (3_000, 1_000), 100: (1_000, 320), 10_000: (128, 64)}  # points: requests a round, under --check
BOUNDS = {1: 0.4, 100: 0.3, 10_000: 0.2}  # least throughput ÷ constant
WARM, MANY, MANY_CHECKED = 10_000, 100_000, 20_000
SLACK = 4.0  # megabytes, beside 5 %


@dataclass(frozen=True)
class Server:
    """A service that runs."""

    process: int
    port: int
    key: str

    def load(self, path: str, points: int, requests: int) -> Load:
        """Of all clients."""
        return send(Plan(self.port, self.key, path, points, requests, CLIENTS))

    @property
    def memory(self) -> float:
        """Megabytes that it has now."""
        lines = Path(f"/proc/{self.process}/status").read_text().splitlines()
        return int(next(line.split()[1] for line in lines if line.startswith("VmRSS"))) / 1024


def benchmark(check: bool, bounds: Bounds) -> None:
    """A release of 10⁵ made-up homes; ratios are the medians of a few rounds, each with its own constant beside it."""
    synopsis = mp.release(homes(100_000), REGION, epsilon=1, delta=1e-6)
    with tempfile.TemporaryDirectory() as name, serving(Path(name), synopsis) as server:
        check_answer(server, synopsis)
        for points, (whole, small) in SIZES.items():
            compare(server, points, small if check else whole, bounds)
        flat(server, MANY_CHECKED if check else MANY, bounds)


@contextmanager
def serving(root: Path, synopsis: mp.Synopsis) -> Iterator[Server]:
    """The service on a data directory with this release, in a process of its own."""
    home = Home.made(root)
    register = Register(home.register)
    synopsis.save(home.release("homes"))
    register.add(Release("homes", "Homes", "", now()))
    _, key = create_key(register, "anna", ANALYST)
    line = [sys.executable, "-c", SERVER, str(root), *SETTINGS]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:  # noqa: S603
        try:
            assert process.stdout is not None
            found = re.search(r":(\d+)/", process.stdout.readline())
            assert found is not None, "the service has not started"
            yield Server(process.pid, int(found[1]), key)
        finally:
            process.terminate()


def check_answer(server: Server, synopsis: mp.Synopsis) -> None:
    """What is measured is the right answer."""
    (body,) = bodies(100, 1)
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    headers = {"authorization": f"Bearer {server.key}", "content-type": "application/json"}
    connection.request("POST", DISTANCES, body, headers)
    answer = json.load(connection.getresponse())
    connection.close()
    assert answer["distances"] == synopsis.mean_distance(np.array(json.loads(body)["points"])).tolist()


def compare(server: Server, points: int, requests: int, bounds: Bounds) -> None:
    """One size of batches."""
    pairs = []
    for path in (DISTANCES, CONSTANT):
        server.load(path, points, CLIENTS)
    for _ in range(ROUNDS):
        pairs.append((server.load(DISTANCES, points, requests), server.load(CONSTANT, points, requests)))
    failed(bounds, [load for pair in pairs for load in pair], requests)
    rate = median(asked.rate for asked, _ in pairs)
    slower = median(constant.rate / asked.rate for asked, constant in pairs)
    later = median(asked.longest / constant.longest for asked, constant in pairs)
    middle, longest = (median(getattr(asked, name) for asked, _ in pairs) for name in ("median", "longest"))
    cell = bounds.at_most(f"constant's requests/s ÷ those of {points:,} points", slower, 1 / BOUNDS[points])
    print(
        f"{points:6,} points: {rate:7,.0f} requests/s, {rate * points:9,.0f} points/s, p50 {middle * 1e3:6.1f} ms, "
        f"p99 {longest * 1e3:6.1f} ms; constant ÷ this: requests/s {cell} (bound {1 / BOUNDS[points]:.3g}); "
        f"p99 ÷ constant's {later:.2f}",
        flush=True,
    )


def flat(server: Server, many: int, bounds: Bounds) -> None:
    """Memory after the first requests, and after many more."""
    failed(bounds, [server.load(DISTANCES, 1, WARM)], WARM)
    before = server.memory
    failed(bounds, [server.load(DISTANCES, 1, many - WARM)], many - WARM)
    after = server.memory
    cell = bounds.at_most(f"megabytes after {many:,} requests", after, 1.05 * before + SLACK)
    print(
        f"memory: {before:.1f} MB after {WARM:,} requests, {cell} MB after {many:,} (bound 5 % and {SLACK:g} MB more)"
    )


def failed(bounds: Bounds, loads: list[Load], requests: int) -> None:
    """None may be an error, and all are answered."""
    bounds.at_most("errors", sum(load.errors for load in loads), 0)
    bounds.at_most("requests without answer", sum(requests - load.requests for load in loads), 0)


if __name__ == "__main__":
    main(benchmark, __doc__ or "")
