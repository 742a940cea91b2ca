"""The real `milepost serve` in its own process, on a free port."""

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
class ServerProcess:
    """A running server. log: the file of its standard error."""

    process: subprocess.Popen[str]
    url: str
    log: Path

    def client(self, key: str) -> httpx.Client:
        """Return a client that sends this key."""
        return httpx.Client(base_url=self.url, headers={"authorization": f"Bearer {key}"}, timeout=300)

    def kill(self) -> None:
        """Kill the process, as a crash would."""
        self.process.kill()
        self.process.wait()

    def stop(self, signal_number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal, as a supervisor would, and return the exit code."""
        self.process.send_signal(signal_number)
        return self.process.wait(timeout=300)


def start_server(root: Path, *settings: str) -> ServerProcess:
    """Serve a data directory and return once requests are accepted. settings: more limits, such as max_body=2000."""
    log = root.parent / f"{root.name}.log"
    options = [option for text in (*SETTINGS, *settings) for option in ("--setting", text)]
    with log.open("a") as stderr:
        process = subprocess.Popen(  # noqa: S603
            [*COMMAND, "--data-dir", str(root), *options], stdout=subprocess.PIPE, stderr=stderr, text=True
        )
    assert process.stdout is not None
    match = re.search(r"http://\S+:\d+", process.stdout.readline())
    if match is None:
        process.wait()
        process.stdout.close()
        raise AssertionError(log.read_text())
    return ServerProcess(process, match[0], log)


@contextmanager
def run_server(root: Path, *settings: str) -> Iterator[ServerProcess]:
    """Serve a data directory until the block ends."""
    server = start_server(root, *settings)
    try:
        yield server
    finally:
        stop_server(server)


def stop_server(server: ServerProcess) -> None:
    """Kill the server, running or not, and close its output."""
    server.kill()
    assert server.process.stdout is not None
    server.process.stdout.close()
