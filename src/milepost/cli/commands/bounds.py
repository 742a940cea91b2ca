"""`milepost bounds`."""

from pathlib import Path
from typing import Annotated, Any

import typer

import milepost as mp
from milepost.cli.options import (
    OUTPUT,
    SPACE,
    ForceOption,
    Option,
    TableArgument,
    described,
    open_ledger,
    options,
    split_names,
)
from milepost.cli.terminal import check_output, progress
from milepost.pipeline.space_spec import options_of, toml_of
from milepost.storage.atomic_file import atomic_write

METRICS: dict[str, type[mp.L1] | type[mp.L2]] = {space.kind: space for space in (mp.L1, mp.L2)}


def bounds(
    table: TableArgument,
    arguments: Annotated[
        dict[str, Any],
        options(
            "space",
            "epsilon",
            "neighbors",
            "columns",
            "privacy_unit",
            "contributions",
            "ledger",
            "dataset",
            space=Option(str, f"The distance: {' or '.join(METRICS)}.", SPACE, default="l1"),
        ),
    ],
    coverage: Annotated[float, typer.Option("--coverage", help="The share of the rows to hold, roughly.")] = 0.99,
    output: Annotated[Path | None, described(OUTPUT, "A space file to write, such as homes.toml.")] = None,
    force: ForceOption = False,
) -> None:
    """Spend ε once to find bounds for columns of a private table that nobody knows any for."""
    kind = arguments.pop("space")
    if kind not in METRICS:
        raise mp.MilepostError(f"--space must be one of {', '.join(METRICS)}, got {kind!r}")
    if output is not None:
        if output.suffix.lower() != ".toml":
            raise mp.MilepostError(f"--output must be a .toml file, which --space takes, got {output}")
        check_output(output, force)
    columns, ledger = split_names(arguments.pop("columns")), open_ledger(arguments.pop("ledger"))
    with progress(f"Reading {table} and finding bounds"):
        bounded_space = mp.find_bounds(
            table, columns, metric=METRICS[kind], coverage=coverage, ledger=ledger, **arguments
        )
    typer.echo(f"{bounded_space.bounds_provenance}; this adds to the guarantee of what is released with them")
    typer.echo(options_of(bounded_space))
    if output is not None:
        with atomic_write(output) as stream:
            stream.write(toml_of(bounded_space).encode())
        typer.echo(f"wrote {output}: --space {output} has these bounds, and keeps the record of how they were found")
