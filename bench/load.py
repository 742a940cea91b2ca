"""Load: many clients of one server at once, in a separate process; `python -m bench.load` reads a plan as JSON.

The clients use plain streams and prepared bytes, so that they take little of the measured time.
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
    """The requests to send: `requests` bodies of `points` points each to one path, by `clients` open connections."""

    port: int
    key: str
    path: str
    points: int
    requests: int
    clients: int


@dataclass(frozen=True)
class Load:
    """The result. errors: answers other than 200, and broken connections. median, p99: quantiles of seconds."""

    seconds: float
    requests: int
    errors: int
    median: float
    p99: float

    @property
    def rate(self) -> float:
        """Return the requests a second."""
        return self.requests / self.seconds


def send(plan: Plan) -> Load:
    """Run a plan in another process."""
    line = [sys.executable, "-m", "bench.load"]
    process = subprocess.run(line, input=json.dumps(asdict(plan)), stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
    return Load(**json.loads(process.stdout))


def bodies(size: int, count: int) -> list[bytes]:
    """Return different bodies with points in a city."""
    points = np.random.default_rng(size).uniform((52.4, 13.2), (52.6, 13.6), (count, size, 2)).round(6)
    return [json.dumps({"points": batch.tolist()}).encode() for batch in points]


async def run(plan: Plan) -> Load:
    """Run all clients until every request is answered."""
    head = f"POST {plan.path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {plan.key}\r\n".encode()
    head += b"content-type: application/json\r\n"
    request_bodies = bodies(plan.points, max(1, min(256, 100_000 // plan.points)))
    texts = [head + b"content-length: %d\r\n\r\n" % len(body) + body for body in request_bodies]
    remaining = islice(cycle(texts), plan.requests)
    times: list[float] = []
    start = perf_counter()
    errors = sum(await asyncio.gather(*(_client(plan.port, remaining, times) for _ in range(plan.clients))))
    elapsed = perf_counter() - start
    median, p99 = np.quantile(times, (0.5, 0.99)).tolist() if times else (0.0, 0.0)
    return Load(elapsed, len(times), errors, median, p99)


async def _client(port: int, remaining: Iterator[bytes], times: list[float]) -> int:
    """Send requests from the shared iterator on one connection, and return the number of errors."""
    errors = 0
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for text in remaining:
            start = perf_counter()
            writer.write(text)
            head = await reader.readuntil(b"\r\n\r\n")
            _, _, rest = head.lower().partition(b"content-length:")
            await reader.readexactly(int(rest[: rest.index(b"\r")]))
            times.append(perf_counter() - start)
            errors += not head.startswith(b"HTTP/1.1 200 ")
    except (OSError, asyncio.IncompleteReadError, ValueError):
        errors += 1
    finally:
        writer.close()
    return errors


if __name__ == "__main__":
    print(json.dumps(asdict(asyncio.run(run(Plan(**json.load(sys.stdin)))))))
