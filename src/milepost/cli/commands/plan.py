"""`milepost plan`."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

import milepost as mp
from milepost.cli.options import OPTIONS, PLOT, REQUIRED, SpaceOptions, described, options
from milepost.cli.query_input import read_points
from milepost.cli.terminal import console, progress
from milepost.pipeline.space_spec import space_from_options
from milepost.reporting.plotting import style


def plan(
    space_options: SpaceOptions,
    arguments: Annotated[
        dict[str, Any],
        options(
            "queries",
            "n",
            "groups",
            "contributions",
            "epsilon",
            "error",
            "delta",
            "max_queries",
            "neighbors",
            "failure_probability",
            "accounting",
            "ball_share",
            "effort",
            "model",
            n=replace(OPTIONS["n"], help="How many rows the table has.", default=REQUIRED),
            groups=replace(
                OPTIONS["groups"], type=int, help="How many groups of about equal size the table has.", metavar=None
            ),
            epsilon=replace(OPTIONS["epsilon"], default=None),
            max_queries=replace(OPTIONS["max_queries"], help="Show an interactive session of this many queries too."),
        ),
    ],
    plot: Annotated[Path | None, described(PLOT, "Draw error against n: .png, .svg or .pdf.")] = None,
) -> None:
    """Print the error to expect, before any data is touched."""
    queries = arguments.pop("queries")
    space = space_from_options(space_options.pop("space"), space_options, queries)
    query_points = None if queries is None else read_points(queries, space)
    if plot is not None:
        style.check_plot_path(plot)
    with progress("Planning"):
        result = mp.plan(space, queries=query_points, **arguments)
        if plot is not None:
            style.save(result.plot(), plot)
    console().print(*result.tables(), sep="\n")
    for line in result.notes:
        typer.echo(line)
