"""Running: a service in this process, until it is told to stop."""

import signal
import socket
import sys
import warnings
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import current_thread, main_thread
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import uvicorn
from rich.console import Console

from milepost.demo.clinic import DELTA, EPSILON, REGION, homes
from milepost.errors import MilepostError, PromiseWarning
from milepost.service.app import make_app
from milepost.service.auth import CURATOR, create_key
from milepost.service.data_directory import DataDirectory
from milepost.service.database import ServiceDatabase
from milepost.service.schemas.requests import ReleaseRequest, SessionRequest
from milepost.service.settings import Settings
from milepost.service.state import ServiceState
from milepost.spaces.lp import L1


@dataclass(frozen=True)
class Address:
    """Where to listen. certificate, private_key: PEM files, for HTTPS."""

    host: str = "127.0.0.1"
    port: int = 8000
    certificate: Path | None = None
    private_key: Path | None = None

    @property
    def secret(self) -> bool:
        """Whether keys cannot be read on their way."""
        if self.certificate is not None or self.host == "localhost":
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False


def run(root: Path, address: Address, settings: Settings, ready: Callable[[str], None]) -> None:
    """Serve a data directory. ready: called with the address of the page, once requests are taken."""
    warnings.simplefilter("ignore", PromiseWarning)  # about queries, to nobody
    if current_thread() is main_thread():  # uvicorn ends by it in order, and then raises it again
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    listening = _listening(address)
    with ServiceState(root, settings) as office:
        config = uvicorn.Config(
            make_app(office),
            log_level="warning",
            access_log=False,
            ws="none",
            server_header=False,
            limit_concurrency=settings.max_connections,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=10,
            ssl_certfile=address.certificate,
            ssl_keyfile=address.private_key,
        )
        kind = "http" if address.certificate is None else "https"
        ready(f"{kind}://{address.host}:{listening.getsockname()[1]}/")
        uvicorn.Server(config).run([listening])


def _listening(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((address.host, address.port))
        listening.listen(1024)
    except (OSError, OverflowError) as error:
        listening.close()
        raise MilepostError(f"{address.host}:{address.port} cannot be listened at: {error}") from None
    return listening


WHO = "you"
CAP = 4.0  # ε of the made-up dataset


def serve_demo(n: int, port: int, console: Console, *, show: bool) -> None:
    """Make everything up, serve it, and open the page; all of it is gone afterwards."""
    with TemporaryDirectory(prefix="milepost-demo-") as folder:
        with console.status("Making up people, releases and a session …"):
            key = create_demo(Path(folder), n)

        def ready(url: str) -> None:
            page = f"{url}#key={key}&release=homes"
            console.print(f"The page is at\n\n  {page}\n\nand stays until Ctrl-C.", soft_wrap=True, markup=False)
            if show:
                webbrowser.open(page)

        run(Path(folder), Address(port=port), Settings(), ready)


def create_demo(root: Path, n: int) -> str:
    """A data directory with something to look at, and the key of a curator for it."""
    home = DataDirectory.made(root)
    _, key = create_key(ServiceDatabase(home.register), WHO, CURATOR)
    people, ages = homes(n), np.random.default_rng(7).gamma(6, 7, n)
    side = np.where(people[:, 1] < REGION.longitude, "west", "east")
    table = {"lat": people[:, 0], "lon": people[:, 1], "age": ages, "side": side}
    pq.write_table(pa.table(table), home.tables / "homes.parquet")
    home.ledger.create("homes", epsilon=CAP, delta=DELTA)
    made: dict[str, Any] = {"table": "homes.parquet", "dataset": "homes", "epsilon": EPSILON, "delta": DELTA}
    city = {"space": "great-circle", "center": [REGION.latitude, REGION.longitude], "radius_km": REGION.radius_km}
    age = {"space": "l1", "bounds": {"age": [0, 110]}, "unit": "years"}
    with ServiceState(root, Settings()) as office:
        paying = office.quota(WHO)
        for words, space in (
            (ReleaseRequest(id="homes", title="Homes in and around a city", space=city, **made), REGION),
            (ReleaseRequest(id="ages", title="Ages", space=age, **made), L1({"age": (0, 110)}, unit="years")),
            (
                ReleaseRequest(
                    id="sides", title="Homes, west and east", space=city, groups="side", labels=["west", "east"], **made
                ),
                REGION,
            ),
        ):
            office.releases.build(words, space, paying)
        opening = SessionRequest(
            id="clinic", title="Where a clinic could stand", analyst=WHO, space=city, max_queries=50, **made
        )
        office.sessions.reserve(opening, REGION)
        office.sessions.begin(opening, REGION, paying)
    return key
