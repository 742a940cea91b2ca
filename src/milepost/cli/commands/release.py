"""`milepost release`."""

from pathlib import Path
from typing import Annotated, Any

import typer

import milepost as mp
from milepost.cli.options import (
    AlphabetOption,
    BoundsOption,
    CategoryOption,
    CenterOption,
    ColumnsOption,
    ContributionsOption,
    DatasetOption,
    DeltaOption,
    DiameterOption,
    DimOption,
    DirectionsOption,
    DistanceUnitOption,
    EpsilonOption,
    FailureProbabilityOption,
    FlagOption,
    ForceOption,
    LedgerOption,
    LengthOption,
    MaxRowWeightOption,
    MechanismOption,
    NeighborsOption,
    NumberOption,
    PowerOption,
    PrivacyUnitOption,
    QueriesOption,
    RadiusKmOption,
    RadiusOption,
    RowsOption,
    RowWeightsOption,
    SpaceOption,
    StepOption,
    TableArgument,
    WeightsOption,
    check_row_weights,
    open_ledger,
    split_names,
)
from milepost.cli.query_input import read_points
from milepost.cli.terminal import check_output, progress
from milepost.pipeline.space_spec import space_from_options, split_labels
from milepost.reporting.description import error_text, size_text


def release(
    table: TableArgument,
    space: SpaceOption,
    epsilon: EpsilonOption,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write, such as homes.milepost.")],
    delta: DeltaOption = 0.0,
    bounds: BoundsOption = None,
    weights: WeightsOption = None,
    step: StepOption = None,
    center: CenterOption = None,
    radius: RadiusOption = None,
    radius_km: RadiusKmOption = None,
    p: PowerOption = None,
    dim: DimOption = None,
    directions: DirectionsOption = None,
    distance_unit: DistanceUnitOption = None,
    diameter: DiameterOption = None,
    number: NumberOption = None,
    category: CategoryOption = None,
    flag: FlagOption = None,
    alphabet: AlphabetOption = None,
    length: LengthOption = None,
    queries: QueriesOption = None,
    columns: ColumnsOption = None,
    mechanism: MechanismOption = "auto",
    neighbors: NeighborsOption = "replace",
    groups: Annotated[
        str | None, typer.Option("--groups", metavar="COLUMN", help="The column of each row's group.")
    ] = None,
    labels: Annotated[
        str | None, typer.Option("--labels", metavar="A,B", help="The public list of groups, CSV-quoted if need be.")
    ] = None,
    privacy_unit: PrivacyUnitOption = None,
    contributions: ContributionsOption = 1,
    row_weights: RowWeightsOption = None,
    max_row_weight: MaxRowWeightOption = None,
    n: RowsOption = None,
    failure_probability: FailureProbabilityOption = 0.05,
    ledger: LedgerOption = None,
    dataset: DatasetOption = None,
    force: ForceOption = False,
) -> None:
    """Spend (ε, δ) once on a private table and write a file that answers every query."""
    space_options: dict[str, Any] = {"bounds": bounds, "weights": weights, "step": step}
    space_options |= {"center": center, "radius": radius, "p": p}
    space_options |= {"radius_km": radius_km, "dim": dim, "directions": directions}
    space_options |= {"distance_unit": distance_unit, "diameter": diameter}
    space_options |= {"number": number, "category": category, "flag": flag, "alphabet": alphabet, "length": length}
    parsed_space = space_from_options(space, space_options, queries)
    query_points = None if queries is None else read_points(queries, parsed_space)
    check_row_weights(row_weights, max_row_weight)
    check_output(output, force)
    if output.exists() and table.exists() and output.samefile(table):
        raise mp.MilepostError(f"{output} is the private table itself; choose another output")
    with progress(f"Reading {table} and releasing"):
        synopsis = mp.release(
            table,
            parsed_space,
            epsilon=epsilon,
            delta=delta,
            mechanism=mechanism,
            columns=split_names(columns),
            queries=query_points,
            neighbors=neighbors,
            groups=groups,
            labels=() if labels is None else split_labels("--labels", labels),
            privacy_unit=privacy_unit,
            contributions=contributions,
            row_weights=row_weights,
            max_row_weight=max_row_weight,
            n=n,
            failure_probability=failure_probability,
            ledger=open_ledger(ledger),
            dataset=dataset,
        )
        synopsis.save(output)
    facts = synopsis.describe()
    typer.echo(
        f"wrote {output}: {size_text(facts)}, {facts.kind}, {facts.guarantee}, {facts.mechanism}, "
        f"answers within {error_text(facts)}"
    )
