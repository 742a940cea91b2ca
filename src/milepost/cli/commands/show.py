"""`milepost show`."""

import json
from pathlib import Path
from typing import Annotated

import typer

import milepost as mp
from milepost.cli.options import ForceOption, GroupOption, SynopsisArgument, load_synopsis
from milepost.cli.terminal import check_output, progress
from milepost.reporting.description import facts
from milepost.reporting.plotting import style


def show(
    file: SynopsisArgument,
    statement: Annotated[
        bool, typer.Option("--statement", help="One page for the people in the table: who is protected, and how.")
    ] = False,
    registry: Annotated[
        bool,
        typer.Option("--registry", help="A draft entry for the OpenDP deployments registry, as JSON, which is YAML."),
    ] = False,
    plot: Annotated[Path | None, typer.Option("--plot", help="Draw it too: .png, .svg or .pdf.")] = None,
    group: GroupOption = None,
    force: ForceOption = False,
) -> None:
    """Print what is public about a released file, or draw it."""
    if plot is not None:
        style.check_plot_path(plot)
        check_output(plot, force)
    synopsis = load_synopsis(file, group, any_group=plot is None)
    if plot is not None:
        with progress("Drawing"):
            style.save(synopsis.plot(), plot)
        typer.echo(f"wrote {plot}")
    if registry:
        from milepost.reporting.dp_registry import registry_entry as entry

        typer.echo(json.dumps(entry(mp.load(file)), ensure_ascii=False, indent=2))
        return
    if statement:
        typer.echo(mp.load(file).statement())
        return
    facts_and_size = facts(synopsis) | {"size": f"{file.stat().st_size:,} bytes"}
    width = max(len(name) for name in facts_and_size)
    for name, fact in facts_and_size.items():
        typer.echo(f"{name:<{width}}  {fact}")
