"""Running: a service in this process, until it is told to stop."""

import signal
import socket
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from threading import current_thread, main_thread

import uvicorn

from milepost.errors import MilepostError, PromiseWarning
from milepost.service.app import make_app
from milepost.service.office import Office
from milepost.service.settings import Settings


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
    with Office(root, settings) as office:
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
