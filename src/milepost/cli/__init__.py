"""The command line: `milepost demo | plan | bounds | release | query | ask | show | audit | ledger | serve | keys`."""

import io
import sys
import warnings
from collections.abc import Sequence
from importlib import metadata
from typing import Annotated

import typer

import milepost as mp
from milepost.cli import ask, audit, bounds, demo, keys, ledger, plan, query, release, serve, show
from milepost.cli.examples import BEGIN, epilog
from milepost.terminal import fail, note

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    epilog=BEGIN,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"milepost {metadata.version('milepost')}")
        raise typer.Exit


@app.callback()
def milepost(
    _: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Average distances to the people in a private table, under differential privacy."""


COMMANDS = {  # in the words of `milepost --help`, where a line is short
    demo.demo: "See it all with made-up people, and draw a map.",
    plan.plan: "Print the error to expect; no data is touched.",
    bounds.bounds: "Find bounds that nobody knows; spends ε.",
    release.release: "Write a file that answers; spends (ε, δ) once.",
    query.query: "Answer from a released file; asking is free.",
    ask.ask: "Ask a session that a file keeps, point by point.",
    show.show: "Print what is public about a file, or draw it.",
    audit.audit: "Try to refute the privacy claims.",
    serve.serve: "Serve releases and sessions over HTTP.",
}
for command, line in COMMANDS.items():
    app.command(epilog=epilog(command.__name__), short_help=line)(command)
app.add_typer(ledger.app, name="ledger")
app.add_typer(keys.app, name="keys")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line: bad input becomes one line on stderr and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # ε and ± on a terminal that has neither
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", mp.PromiseWarning)
        try:
            app(args=None if arguments is None else list(arguments), prog_name="milepost")
        except mp.MilepostError as error:
            fail(str(error))
        except OSError as error:
            fail(f"{error.filename or 'a file'}: {error.strerror or error}")
        finally:
            for warning in caught:
                note(str(warning.message))
