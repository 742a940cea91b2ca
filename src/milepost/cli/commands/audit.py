"""`milepost audit`."""

from pathlib import Path
from typing import Annotated, Any

import typer

import milepost as mp
from milepost.cli.options import PLOT, Option, described, options
from milepost.cli.terminal import console, progress
from milepost.reporting.plotting import style

MECHANISM = Option(
    str,
    "One of these: noise, sparse-vector, slopes, hats, quadtree, gaussian, laplace, net, basis, field, tangents, "
    "bounds, ball, model, class-means.",
    section=None,
)


def audit(
    arguments: Annotated[dict[str, Any], options("mechanism", mechanism=MECHANISM)],
    samples: Annotated[int, typer.Option("--samples", help="How many outcomes of each table are drawn.")] = 5000,
    plot: Annotated[Path | None, described(PLOT, "Draw the findings: .png, .svg or .pdf.")] = None,
) -> None:
    """Try to refute the privacy claims on made-up neighboring tables; exit code 1 when one is refuted."""
    if plot is not None:
        style.check_plot_path(plot)
    with progress("Auditing") as status:
        report = mp.audit(
            samples=samples,
            mechanism=arguments["mechanism"],
            progress=lambda case: status.update(f"Auditing {case.mechanism}: {case.pair} …"),
        )
    console(170).print(report.table())
    if plot is not None:
        style.save(report.plot(), plot)
    if report.violated:
        raise typer.Exit(1)
