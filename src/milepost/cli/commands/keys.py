"""`milepost keys create | revoke | list`."""

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.box import SIMPLE
from rich.markup import escape
from rich.table import Table

from milepost.cli.examples import epilog
from milepost.cli.options import DATA_DIR
from milepost.cli.terminal import console
from milepost.service.auth import create_key, revoke_key
from milepost.service.data_directory import DataDirectory
from milepost.service.database import ApiKey, ServiceDatabase

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Keys of people and programs who use a service.",
)

DataDirOption = Annotated[Path, DATA_DIR]


@app.command(epilog=epilog("keys create"))
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whose key it is.")],
    data_dir: DataDirOption,
    role: Annotated[str, typer.Option("--role", help="analyst, who asks, or curator, who releases.")] = "analyst",
    share: Annotated[
        float, typer.Option("--share", help="The share of each dataset's cap that may be spent for this person.")
    ] = 1.0,
) -> None:
    """Make a key, and print it: it is kept nowhere, and a service takes it at once."""
    _, text = create_key(_open_database(data_dir), name, role, share)
    typer.echo(text)


@app.command(epilog=epilog("keys revoke"))
def revoke(
    name: Annotated[
        str, typer.Argument(metavar="KEY", help="The id of a key, or the name of a person for all theirs.")
    ],
    data_dir: DataDirOption,
) -> None:
    """Take keys back, at once."""
    revoked_keys = revoke_key(_open_database(data_dir), name)
    typer.echo(f"revoked {len(revoked_keys)} key{'s' * (len(revoked_keys) != 1)}")


@app.command(name="list", epilog=epilog("keys list"))
def show(data_dir: DataDirOption) -> None:
    """Print all keys, without their secrets."""
    table = Table(box=SIMPLE)
    for heading in ("id", "name", "role", "share", "created", "revoked"):
        table.add_column(heading)
    for key in _open_database(data_dir).all(ApiKey):
        table.add_row(key.id, escape(key.name), key.role, f"{key.share:.0%}", key.created, key.revoked)
    console().print(table)


def _open_database(data_dir: Path) -> ServiceDatabase:
    os.umask(0o077)  # only the owner may read what is written
    return ServiceDatabase(DataDirectory.create(data_dir).database_path)
