"""`milepost show`."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

import milepost as mp
from milepost.cli.options import PLOT, ForceOption, GroupOption, JsonOption, SynopsisArgument, load_synopsis
from milepost.cli.terminal import check_output, progress
from milepost.reporting.description import facts, text_table
from milepost.reporting.dp_registry import registry_entry
from milepost.reporting.plotting import style


def show(
    file: SynopsisArgument,
    statement: Annotated[
        bool, typer.Option("--statement", help="Print a page for the people in the table: who is protected, and how.")
    ] = False,
    registry: Annotated[
        bool,
        typer.Option(
            "--registry", help="Print a draft entry for the OpenDP deployments registry: JSON, which is YAML."
        ),
    ] = False,
    as_json: JsonOption = False,
    plot: Annotated[Path | None, PLOT] = None,
    group: GroupOption = None,
    force: ForceOption = False,
) -> None:
    """Print the public facts about a released file, or draw it."""
    if plot is not None:
        style.check_plot_path(plot)
        check_output(plot, force)
    synopsis = load_synopsis(file, group, any_group=plot is None)
    if plot is not None:
        with progress("Drawing"):
            style.save(synopsis.plot(), plot)
        typer.echo(f"wrote {plot}")
    if registry:
        typer.echo(_json_text(registry_entry(mp.load(file).describe())))
    elif statement:
        typer.echo(mp.load(file).statement())
    elif as_json:
        typer.echo(_json_text(synopsis.describe().to_json()))
    else:
        typer.echo(text_table(facts(synopsis.describe()) | {"size": f"{file.stat().st_size:,} bytes"}))


def _json_text(content: dict[str, Any]) -> str:
    return json.dumps(content, ensure_ascii=False, indent=2)
