"""Running: the real `milepost serve` in a process of its own, on a free port."""

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

COMMAND = [sys.executable, "-c", "from milepost.cli import main; main()", "serve", "--port", "0"]
SETTINGS = ("clock=0.02", "rate=1e9", "burst=1000000000", "timeout=3600")  # machines may be slow


@dataclass(frozen=True)
class Service:
    """A service that runs. log: what it has said on standard error."""

    process: subprocess.Popen[str]
    url: str
    log: Path

    def client(self, key: str) -> httpx.Client:
        """For the owner of a key."""
        return httpx.Client(base_url=self.url, headers={"authorization": f"Bearer {key}"}, timeout=300)

    def kill(self) -> None:
        """As a crash would."""
        self.process.kill()
        self.process.wait()

    def stop(self, sent: signal.Signals = signal.SIGTERM) -> int:
        """As a supervisor would; its exit code."""
        self.process.send_signal(sent)
        return self.process.wait(timeout=300)


def begin(root: Path, *settings: str) -> Service:
    """A service of a data directory, once it takes requests. settings: more limits, such as max_body=2000."""
    log = root.parent / f"{root.name}.log"
    words = [word for text in (*SETTINGS, *settings) for word in ("--setting", text)]
    with log.open("a") as stderr:
        process = subprocess.Popen(  # noqa: S603
            [*COMMAND, "--data-dir", str(root), *words], stdout=subprocess.PIPE, stderr=stderr, text=True
        )
    assert process.stdout is not None
    found = re.search(r"http://\S+:\d+", process.stdout.readline())
    if found is None:
        process.wait()
        process.stdout.close()
        raise AssertionError(log.read_text())
    return Service(process, found[0], log)


@contextmanager
def running(root: Path, *settings: str) -> Iterator[Service]:
    """The same, until the block ends."""
    service = begin(root, *settings)
    try:
        yield service
    finally:
        end(service)


def end(service: Service) -> None:
    """Whatever has become of it."""
    service.kill()
    assert service.process.stdout is not None
    service.process.stdout.close()
