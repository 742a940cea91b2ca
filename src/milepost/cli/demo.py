"""`milepost demo`."""

from pathlib import Path
from typing import Annotated

import typer

from milepost.terminal import console


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="The picture: .png, .svg or .pdf.")] = Path("demo.png"),
    n: Annotated[int, typer.Option("--n", help="How many homes the made-up table has.")] = 200_000,
) -> None:
    """Find a place for a clinic from a made-up private table: a plan, a release, answers, a picture."""
    from milepost.demo import run

    run(output, n, console())
