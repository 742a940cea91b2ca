"""The command line: `milepost demo | plan | bounds | release | query | ask | show | …`."""

import io
import sys
import warnings
from collections.abc import Sequence
from typing import Annotated

import typer

import milepost as mp
from milepost.cli.command_group import CommandGroup
from milepost.cli.examples import BEGIN
from milepost.cli.terminal import fail, note

app = typer.Typer(
    cls=CommandGroup,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    epilog=BEGIN,
)


def _version(show: bool) -> None:
    if show:
        from importlib import metadata  # takes longer than all the rest

        typer.echo(f"milepost {metadata.version('milepost')}")
        raise typer.Exit


@app.callback()
def milepost(
    _: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Average distances to the people in a private table, under differential privacy."""


def _in_options(message: str) -> str:
    from milepost.cli.options import in_options  # loads NumPy, which the list of commands does not need

    return in_options(message)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line: bad input becomes one line on stderr and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # ε and ± on a terminal that has neither
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always", mp.AccuracyWarning)
        try:
            app(args=None if arguments is None else list(arguments), prog_name="milepost")
        except mp.MilepostError as error:
            fail(_in_options(str(error)))
        except OSError as error:
            fail(f"{error.filename or 'a file'}: {error.strerror or error}")
        finally:
            for warning in records:
                note(_in_options(str(warning.message)))
