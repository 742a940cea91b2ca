"""`milepost plan`."""

from pathlib import Path
from typing import Annotated, Any

import typer

import milepost as mp
from milepost.cli.options import (
    AlphabetOption,
    BoundsOption,
    CategoryOption,
    CenterOption,
    ContributionsOption,
    DeltaOption,
    DiameterOption,
    DimOption,
    DirectionsOption,
    DistanceUnitOption,
    FailureProbabilityOption,
    FlagOption,
    LengthOption,
    NeighborsOption,
    NumberOption,
    PowerOption,
    QueriesOption,
    RadiusKmOption,
    RadiusOption,
    SpaceOption,
    StepOption,
    WeightsOption,
)
from milepost.cli.query_input import read_points
from milepost.cli.terminal import console, progress
from milepost.pipeline.space_spec import space_from_options
from milepost.reporting.plotting import style


def plan(
    space: SpaceOption,
    n: Annotated[int, typer.Option("--n", help="How many rows the table has.")],
    epsilon: Annotated[float | None, typer.Option("--epsilon", help="The ε of the guarantee.")] = None,
    error: Annotated[float | None, typer.Option("--error", help="Find the least ε with this error instead.")] = None,
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
    max_queries: Annotated[
        int | None, typer.Option("--max-queries", help="Show an interactive session of this many queries too.")
    ] = None,
    neighbors: NeighborsOption = "replace",
    groups: Annotated[
        int | None, typer.Option("--groups", help="How many groups of about equal size the table has.")
    ] = None,
    contributions: ContributionsOption = 1,
    failure_probability: FailureProbabilityOption = 0.05,
    plot: Annotated[Path | None, typer.Option("--plot", help="Draw error against n: .png, .svg or .pdf.")] = None,
) -> None:
    """Print the error to expect, before any data is touched."""
    space_options: dict[str, Any] = {"bounds": bounds, "weights": weights, "step": step}
    space_options |= {"center": center, "radius": radius, "p": p}
    space_options |= {"radius_km": radius_km, "dim": dim, "directions": directions}
    space_options |= {"distance_unit": distance_unit, "diameter": diameter}
    space_options |= {"number": number, "category": category, "flag": flag, "alphabet": alphabet, "length": length}
    parsed_space = space_from_options(space, space_options, queries)
    query_points = None if queries is None else read_points(queries, parsed_space)
    if plot is not None:
        style.check_plot_path(plot)
    with progress("Planning"):
        result = mp.plan(
            parsed_space,
            n=n,
            epsilon=epsilon,
            error=error,
            delta=delta,
            max_queries=max_queries,
            queries=query_points,
            failure_probability=failure_probability,
            neighbors=neighbors,
            groups=groups,
            contributions=contributions,
        )
        if plot is not None:
            style.save(result.plot(), plot)
    console().print(*result.tables(), sep="\n")
    for line in result.notes:
        typer.echo(line)
