"""Load: many clients of one server at once, from a process of its own; `python -m bench.load` reads a plan as JSON.

Plain streams and bytes made beforehand, so that the clients take little of the time that is measured.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import cycle, islice
from time import perf_counter

import numpy as np


@dataclass(frozen=True)
class Plan:
    """What to send: `requests` bodies of `points` points each to one path, by so many clients that keep connected."""

    port: int
    key: str
    path: str
    points: int
    requests: int
    clients: int


@dataclass(frozen=True)
class Load:
    """What came of it. errors: answers but 200, and connections that broke; longest: of 99 % and of 50 %, seconds."""

    seconds: float
    requests: int
    errors: int
    median: float
    longest: float

    @property
    def rate(self) -> float:
        """Requests a second."""
        return self.requests / self.seconds


def send(plan: Plan) -> Load:
    """Run a plan in another process."""
    line = [sys.executable, "-m", "bench.load"]
    done = subprocess.run(line, input=json.dumps(asdict(plan)), stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
    return Load(**json.loads(done.stdout))


def bodies(points: int, count: int) -> list[bytes]:
    """Different ones, of points in a city."""
    places = np.random.default_rng(points).uniform((52.4, 13.2), (52.6, 13.6), (count, points, 2)).round(6)
    return [json.dumps({"points": one.tolist()}).encode() for one in places]


async def run(plan: Plan) -> Load:
    """All clients, until every request is answered."""
    head = f"POST {plan.path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {plan.key}\r\n".encode()
    head += b"content-type: application/json\r\n"
    different = bodies(plan.points, max(1, min(256, 100_000 // plan.points)))
    texts = [head + b"content-length: %d\r\n\r\n" % len(body) + body for body in different]
    left = islice(cycle(texts), plan.requests)
    times: list[float] = []
    begun = perf_counter()
    errors = sum(await asyncio.gather(*(_client(plan.port, left, times) for _ in range(plan.clients))))
    whole = perf_counter() - begun
    median, longest = np.quantile(times, (0.5, 0.99)).tolist() if times else (0.0, 0.0)
    return Load(whole, len(times), errors, median, longest)


async def _client(port: int, left: Iterator[bytes], times: list[float]) -> int:
    """One connection, which takes of what is left to be sent; how much went wrong."""
    errors = 0
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for text in left:
            begun = perf_counter()
            writer.write(text)
            head = await reader.readuntil(b"\r\n\r\n")
            _, _, rest = head.lower().partition(b"content-length:")
            await reader.readexactly(int(rest[: rest.index(b"\r")]))
            times.append(perf_counter() - begun)
            errors += not head.startswith(b"HTTP/1.1 200 ")
    except (OSError, asyncio.IncompleteReadError, ValueError):
        errors += 1
    finally:
        writer.close()
    return errors


if __name__ == "__main__":
    print(json.dumps(asdict(asyncio.run(run(Plan(**json.load(sys.stdin)))))))
