"""`milepost serve`."""

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE
from rich.table import Table

from milepost.cli.options import DATA_DIR, PORT
from milepost.cli.terminal import console, note
from milepost.errors import MilepostError


def serve(
    data_dir: Annotated[Path | None, DATA_DIR] = None,
    host: Annotated[str, typer.Option("--host", help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, PORT] = 8000,
    certificate: Annotated[
        Path | None, typer.Option("--certificate", help="The certificate for HTTPS, a PEM file.")
    ] = None,
    private_key: Annotated[
        Path | None, typer.Option("--private-key", help="The key of the certificate, a PEM file.")
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--setting",
            metavar="NAME=VALUE",
            help="A limit other than its default, such as clock=1; may be given many times.",
        ),
    ] = None,
    settings: Annotated[bool, typer.Option("--settings", help="Print all settings and their defaults.")] = False,
) -> None:
    """Serve releases and sessions of a data directory over HTTP, with a page."""
    from milepost.service.settings import Settings

    if settings:
        table = Table(box=SIMPLE)
        for name in ("setting", "default", "what it limits"):
            table.add_column(name)
        for row in Settings.table():
            table.add_row(*row)
        console().print(table)
        return
    if data_dir is None:
        raise MilepostError(
            "--data-dir is missing; give the folder of keys, budgets, releases and tables, which may be new"
        )
    if (certificate is None) != (private_key is None):
        raise MilepostError("HTTPS needs both --certificate and --private-key")
    try:
        from milepost.service.server import Address, run
    except ImportError:
        raise MilepostError("the service needs more packages: pip install 'milepost[serve]'") from None
    address = Address(host, port, certificate, private_key)
    if not address.secret:
        note("keys can be read on their way: give --certificate and --private-key, or put a proxy with HTTPS before it")

    def ready(url: str) -> None:
        typer.echo(f"serving {data_dir} at {url}")

    os.umask(0o077)  # only the owner may read what is written
    run(data_dir, address, Settings.of(setting or ()), ready)
