"""`milepost bounds`."""

from pathlib import Path
from typing import Annotated

import typer

import milepost as mp
from milepost.cli.options import (
    ColumnsOption,
    ContributionsOption,
    DatasetOption,
    EpsilonOption,
    ForceOption,
    LedgerOption,
    NeighborsOption,
    PrivacyUnitOption,
    TableArgument,
    open_ledger,
    split_names,
)
from milepost.cli.terminal import check_output, progress
from milepost.pipeline.space_spec import options_of, toml_of
from milepost.storage.atomic_file import atomic_write


def bounds(
    table: TableArgument,
    epsilon: EpsilonOption,
    columns: ColumnsOption = None,
    space: Annotated[str, typer.Option("--space", help="The distance: l1 or l2.")] = "l1",
    neighbors: NeighborsOption = "replace",
    privacy_unit: PrivacyUnitOption = None,
    contributions: ContributionsOption = 1,
    coverage: Annotated[float, typer.Option("--coverage", help="The share of the rows to hold, roughly.")] = 0.99,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A space file to write, such as homes.toml.")
    ] = None,
    force: ForceOption = False,
    ledger: LedgerOption = None,
    dataset: DatasetOption = None,
) -> None:
    """Spend ε once to find bounds for columns of a private table that nobody knows any for."""
    metrics: dict[str, type[mp.L1] | type[mp.L2]] = {"l1": mp.L1, "l2": mp.L2}
    if space not in metrics:
        raise mp.MilepostError(f"--space must be one of {', '.join(metrics)}, got {space!r}")
    if output is not None:
        if output.suffix.lower() != ".toml":
            raise mp.MilepostError(f"--output must be a .toml file, which --space takes, got {output}")
        check_output(output, force)
    with progress(f"Reading {table} and finding bounds"):
        bounded_space = mp.find_bounds(
            table,
            split_names(columns),
            epsilon=epsilon,
            neighbors=neighbors,
            privacy_unit=privacy_unit,
            contributions=contributions,
            metric=metrics[space],
            coverage=coverage,
            ledger=open_ledger(ledger),
            dataset=dataset,
        )
    typer.echo(f"{bounded_space.bounds_provenance}; this adds to the guarantee of what is released with them")
    typer.echo(options_of(bounded_space))
    if output is not None:
        with atomic_write(output) as stream:
            stream.write(toml_of(bounded_space).encode())
        typer.echo(f"wrote {output}: --space {output} has these bounds, and keeps the record of how they were found")
