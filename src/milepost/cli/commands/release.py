"""`milepost release`."""

from pathlib import Path
from typing import Annotated, Any

import typer

import milepost as mp
from milepost.cli.options import (
    OUTPUT,
    ForceOption,
    SpaceOptions,
    TableArgument,
    check_row_weights,
    described,
    open_ledger,
    options,
    split_names,
)
from milepost.cli.query_input import read_points
from milepost.cli.terminal import check_output, progress
from milepost.pipeline.space_spec import space_from_options
from milepost.reporting.description import error_text, size_text
from milepost.spaces.fields import split_labels


def release(
    table: TableArgument,
    output: Annotated[Path, described(OUTPUT, "The file to write, such as homes.milepost.")],
    space_options: SpaceOptions,
    arguments: Annotated[
        dict[str, Any],
        options(
            "queries",
            "epsilon",
            "delta",
            "mechanism",
            "neighbors",
            "failure_probability",
            "ball_share",
            "effort",
            "model",
            "columns",
            "groups",
            "labels",
            "privacy_unit",
            "contributions",
            "row_weights",
            "max_row_weight",
            "n",
            "ledger",
            "dataset",
        ),
    ],
    force: ForceOption = False,
) -> None:
    """Spend (ε, δ) once on a private table and write a file that answers every query."""
    queries, labels = arguments.pop("queries"), arguments.pop("labels")
    space = space_from_options(space_options.pop("space"), space_options, queries)
    query_points = None if queries is None else read_points(queries, space)
    check_row_weights(arguments["row_weights"], arguments["max_row_weight"])
    check_output(output, force)
    if output.exists() and table.exists() and output.samefile(table):
        raise mp.MilepostError(f"{output} is the private table itself; choose another output")
    ledger, columns = open_ledger(arguments.pop("ledger")), split_names(arguments.pop("columns"))
    with progress(f"Reading {table} and releasing"):
        synopsis = mp.release(
            table,
            space,
            queries=query_points,
            columns=columns,
            labels=() if labels is None else split_labels("--labels", labels),
            ledger=ledger,
            **arguments,
        )
        synopsis.save(output)
    facts = synopsis.describe()
    typer.echo(
        f"wrote {output}: {size_text(facts)}, {facts.kind}, {facts.guarantee}, {facts.mechanism}, "
        f"answers within {error_text(facts)}"
    )
