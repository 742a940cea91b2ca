"""`milepost audit`."""

from typing import Annotated

import typer

import milepost as mp
from milepost.terminal import console, progress


def audit(
    runs: Annotated[int, typer.Option("--runs", help="How often each mechanism runs on each table.")] = 5000,
    mechanism: Annotated[
        str | None,
        typer.Option(
            "--mechanism",
            help="Only this one: noise, sparse-vector, slopes, hats, gaussian, laplace, field, net, private-total, "
            "tangents or bounds.",
        ),
    ] = None,
) -> None:
    """Try to refute the privacy claims on made-up neighboring tables; exit code 1 when one is refuted."""
    with progress("Auditing") as status:
        report = mp.audit(
            runs=runs,
            mechanism=mechanism,
            progress=lambda case: status.update(f"Auditing {case.mechanism}: {case.pair} …"),
        )
    console().print(report.table())
    if report.violated:
        raise typer.Exit(1)
