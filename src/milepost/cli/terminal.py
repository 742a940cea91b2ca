"""Terminal: what the command line writes besides answers, and where it may write files."""

import sys
import tempfile
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import typer

from milepost.errors import MilepostError
from milepost.ingest.progress import Display
from milepost.ingest.progress import progress as shown
from milepost.storage.paths import WRITE_REMEDY, local_path

if TYPE_CHECKING:
    from rich.console import Console


def check_output(path: Path, force: bool) -> None:
    """Refuse a file that cannot or should not be written, before anything is spent."""
    path = local_path(path, WRITE_REMEDY)
    if path.is_dir():
        raise MilepostError(f"{path} is a folder; give the name of a file")
    if path.exists() and not force:
        raise MilepostError(f"{path} exists already; give --force to replace it")
    if not path.parent.is_dir():
        raise MilepostError(f"{path} cannot be written: there is no folder {path.parent}")
    try:
        tempfile.TemporaryFile(dir=path.parent).close()
    except OSError as error:
        raise MilepostError(f"{path} cannot be written: {error.strerror}") from None


def console(wide: int = 0) -> "Console":
    """Where tables are printed; as wide as they need where nobody looks."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else max(150, wide))


def progress(what: str) -> AbstractContextManager[Display]:
    """Say what takes a while, and how far it is, on stderr while it lasts."""
    return shown(f"{what} …")


def note(message: str) -> None:
    """One line beside the output."""
    typer.echo(f"note: {message}", err=True)


def fail(message: str) -> NoReturn:
    """One line, and exit code 2."""
    typer.echo("error: " + " ".join(message.split()), err=True)
    sys.exit(2)
