"""Messages, progress and tables on the terminal, and a check of output files."""

import sys
import tempfile
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import typer

from milepost.errors import MilepostError
from milepost.ingest.progress import ReadingProgress
from milepost.ingest.progress import progress as show_progress
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


def console(min_width: int = 0) -> "Console":
    """Return the console for tables. min_width: their width where the output is not a terminal."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else max(150, min_width))


def progress(what: str) -> AbstractContextManager[ReadingProgress]:
    """Show the progress of a task on stderr while it runs."""
    return show_progress(f"{what} …")


def note(message: str) -> None:
    """Print a note on stderr."""
    typer.echo(f"note: {message}", err=True)


def fail(message: str) -> NoReturn:
    """Print an error in one line, and exit with code 2."""
    typer.echo("error: " + " ".join(message.split()), err=True)
    sys.exit(2)
