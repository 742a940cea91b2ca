"""Run a service in this process until it is stopped."""

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
from milepost.errors import AccuracyWarning, MilepostError
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
    """The address to listen at. certificate, private_key: PEM files, for HTTPS."""

    host: str = "127.0.0.1"
    port: int = 8000
    certificate: Path | None = None
    private_key: Path | None = None

    @property
    def secret(self) -> bool:
        """Whether keys cannot be read in transit."""
        if self.certificate is not None or self.host == "localhost":
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False


def run(root: Path, address: Address, settings: Settings, ready: Callable[[str], None]) -> None:
    """Serve a data directory. ready: called with the URL of the page when the service accepts requests."""
    warnings.simplefilter("ignore", AccuracyWarning)  # warnings about queries: nobody reads them in a service
    if current_thread() is main_thread():  # uvicorn shuts down at this signal, and then raises it again
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    listener = _listen(address)
    with ServiceState(root, settings) as state:
        config = uvicorn.Config(
            make_app(state),
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
        scheme = "http" if address.certificate is None else "https"
        ready(f"{scheme}://{address.host}:{listener.getsockname()[1]}/")
        uvicorn.Server(config).run([listener])


def _listen(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address.host, address.port))
        listener.listen(1024)
    except (OSError, OverflowError) as error:
        listener.close()
        raise MilepostError(
            f"cannot listen at {address.host}:{address.port}: {error}. Choose another host or port."
        ) from None
    return listener


DEMO_USER = "you"
DEMO_CAP = 4.0  # ε of the demo dataset


def serve_demo(n: int, port: int, console: Console, *, show: bool) -> None:
    """Create demo data, serve it, and open the page; the data is removed at the end."""
    with TemporaryDirectory(prefix="milepost-demo-") as folder:
        with console.status("Creating made-up people, releases and a session …"):
            key = create_demo(Path(folder), n)

        def ready(url: str) -> None:
            page = f"{url}#key={key}&release=homes"
            console.print(f"Open the page:\n\n  {page}\n\nCtrl-C stops the service.", soft_wrap=True, markup=False)
            if show:
                webbrowser.open(page)

        run(Path(folder), Address(port=port), Settings(), ready)


def create_demo(root: Path, n: int) -> str:
    """Fill a data directory with demo data, and return the key of a curator."""
    directory = DataDirectory.create(root)
    _, key = create_key(ServiceDatabase(directory.database_path), DEMO_USER, CURATOR)
    people, ages = homes(n), np.random.default_rng(7).gamma(6, 7, n)
    side = np.where(people[:, 1] < REGION.longitude, "west", "east")
    table = {"lat": people[:, 0], "lon": people[:, 1], "age": ages, "side": side}
    pq.write_table(pa.table(table), directory.tables / "homes.parquet")
    directory.ledger.create("homes", epsilon=DEMO_CAP, delta=DELTA)
    common: dict[str, Any] = {"table": "homes.parquet", "dataset": "homes", "epsilon": EPSILON, "delta": DELTA}
    city = {"space": "great-circle", "center": [REGION.latitude, REGION.longitude], "radius_km": REGION.radius_km}
    age = {"space": "l1", "bounds": {"age": [0, 110]}, "distance_unit": "years"}
    with ServiceState(root, Settings()) as state:
        quota = state.quota(DEMO_USER)
        for request, space in (
            (ReleaseRequest(id="homes", title="Homes in and around a city", space=city, **common), REGION),
            (
                ReleaseRequest(id="ages", title="Ages", space=age, **common),
                L1({"age": (0, 110)}, distance_unit="years"),
            ),
            (
                ReleaseRequest(
                    id="sides",
                    title="Homes, west and east",
                    space=city,
                    groups="side",
                    labels=["west", "east"],
                    **common,
                ),
                REGION,
            ),
        ):
            state.releases.build(request, space, quota)
        session_request = SessionRequest(
            id="clinic", title="Where a clinic could stand", analyst=DEMO_USER, space=city, max_queries=50, **common
        )
        state.sessions.reserve(session_request, REGION)
        state.sessions.begin(session_request, REGION, quota)
    return key
