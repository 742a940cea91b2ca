"""`milepost demo`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from milepost.cli.options import OUTPUT, PORT, Option, described, options
from milepost.cli.terminal import console
from milepost.errors import MilepostError

HOMES = Option(int, "How many homes the made-up table has.", section=None, default=200_000)


def demo(
    arguments: Annotated[dict[str, Any], options("n", n=HOMES)],
    output: Annotated[Path, described(OUTPUT, "The picture: .png, .svg or .pdf.")] = Path("demo.png"),
    serve: Annotated[bool, typer.Option("--serve", help="Serve it, and open the page in a browser.")] = False,
    port: Annotated[int, described(PORT, "With --serve: the port; 0 takes a free one.")] = 8000,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="With --serve: open the page.")] = True,
) -> None:
    """Find a place for a clinic from a made-up private table: a plan, a release, answers, a picture."""
    if serve:
        try:
            from milepost.service.server import serve_demo
        except ImportError:
            raise MilepostError("the page needs more packages: pip install 'milepost[serve]'") from None
        serve_demo(arguments["n"], port, console(), show=browser)
        return
    from milepost.demo.clinic import run

    run(output, arguments["n"], console())
