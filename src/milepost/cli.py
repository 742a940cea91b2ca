"""The command line: `milepost demo | plan | bounds | release | query | show | audit`, thin over the library."""

import io
import sys
import warnings
from collections.abc import Sequence
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

import milepost as mp
from milepost import geojson, plots
from milepost.asked import (
    MOST_ROWS,
    answer_features,
    answer_table,
    answers,
    group_of,
    known_points,
    read_points,
    write_answers,
)
from milepost.card import counted, facts, promise
from milepost.options import (
    AlphabetOption,
    BetaOption,
    BoundsOption,
    CategoryOption,
    CenterOption,
    ColumnsOption,
    ContributionsOption,
    DeltaOption,
    DiameterOption,
    DimOption,
    DirectionsOption,
    DistanceUnitOption,
    DistanceWeightsOption,
    EpsilonOption,
    FlagOption,
    ForceOption,
    GroupOption,
    NeighborsOption,
    NumberOption,
    PlacesOption,
    PowerOption,
    QueriesOption,
    RadiusKmOption,
    RadiusOption,
    SpaceOption,
    StepOption,
    SynopsisArgument,
    TableArgument,
    UnitOption,
)
from milepost.spaces.words import labels_of, options_of, space_from_options, toml_of
from milepost.terminal import check_output, console, fail, note, progress

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"milepost {metadata.version('milepost')}")
        raise typer.Exit


@app.callback()
def milepost(
    _: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Average distances to the people in a private table, under differential privacy."""


@app.command()
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="The picture: .png, .svg or .pdf.")] = Path("demo.png"),
    n: Annotated[int, typer.Option("--n", help="How many homes the made-up table has.")] = 200_000,
) -> None:
    """Find a place for a clinic from a made-up private table: a plan, a release, answers, a picture."""
    from milepost.demo import run

    run(output, n, console())


@app.command()
def plan(
    space: SpaceOption,
    n: Annotated[int, typer.Option("--n", help="How many rows the table has.")],
    epsilon: Annotated[float | None, typer.Option("--epsilon", help="The ε of the guarantee.")] = None,
    error: Annotated[float | None, typer.Option("--error", help="Find the least ε with this error instead.")] = None,
    delta: DeltaOption = 0.0,
    bounds: BoundsOption = None,
    distance_weights: DistanceWeightsOption = None,
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
    places: PlacesOption = None,
    queries: QueriesOption = None,
    max_queries: Annotated[
        int | None, typer.Option("--max-queries", help="Show an interactive session of this many queries too.")
    ] = None,
    neighbors: NeighborsOption = "replace",
    groups: Annotated[
        int | None, typer.Option("--groups", help="How many groups of about equal size the table has.")
    ] = None,
    contributions: ContributionsOption = 1,
    beta: BetaOption = 0.05,
    plot: Annotated[Path | None, typer.Option("--plot", help="Draw error against n: .png, .svg or .pdf.")] = None,
) -> None:
    """Print the error to expect, before any data is touched."""
    words: dict[str, Any] = {"bounds": bounds, "weights": distance_weights, "step": step}
    words |= {"center": center, "radius": radius, "p": p}
    words |= {"radius_km": radius_km, "dim": dim, "directions": directions}
    words |= {"unit": distance_unit, "diameter": diameter}
    words |= {"number": number, "category": category, "flag": flag, "alphabet": alphabet, "places": places}
    chosen = space_from_options(space, words, queries)
    given = None if queries is None else read_points(queries, chosen)
    if plot is not None:
        plots.check_picture(plot)
    with progress("Planning"):
        planned = mp.plan(
            chosen,
            n=n,
            epsilon=epsilon,
            error=error,
            delta=delta,
            max_queries=max_queries,
            queries=given,
            beta=beta,
            neighbors=neighbors,
            groups=groups,
            contributions=contributions,
        )
        if plot is not None:
            plots.save(planned.plot(), plot)
    _print_plan(planned)


@app.command()
def bounds(
    table: TableArgument,
    epsilon: EpsilonOption,
    columns: ColumnsOption = None,
    space: Annotated[str, typer.Option("--space", help="The distance: l1 or l2.")] = "l1",
    neighbors: NeighborsOption = "replace",
    unit: UnitOption = None,
    contributions: ContributionsOption = 1,
    coverage: Annotated[float, typer.Option("--coverage", help="The share of the rows to hold, roughly.")] = 0.99,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A space file to write, such as homes.toml.")
    ] = None,
    force: ForceOption = False,
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
        found = mp.find_bounds(
            table,
            _names(columns),
            epsilon=epsilon,
            neighbors=neighbors,
            unit=unit,
            contributions=contributions,
            metric=metrics[space],
            coverage=coverage,
        )
    typer.echo(f"{found.found}; this adds to the guarantee of what is released with them")
    typer.echo(options_of(found))
    if output is not None:
        output.write_text(toml_of(found), encoding="utf-8")
        typer.echo(f"wrote {output}: --space {output} has these bounds, and keeps the record of how they were found")


@app.command()
def release(
    table: TableArgument,
    space: SpaceOption,
    epsilon: EpsilonOption,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write, such as homes.milepost.")],
    delta: DeltaOption = 0.0,
    bounds: BoundsOption = None,
    distance_weights: DistanceWeightsOption = None,
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
    places: PlacesOption = None,
    queries: QueriesOption = None,
    columns: ColumnsOption = None,
    mechanism: Annotated[
        str, typer.Option("--mechanism", help="auto, slopes, hats, tangents, gaussian or laplace.")
    ] = "auto",
    neighbors: NeighborsOption = "replace",
    groups: Annotated[
        str | None, typer.Option("--groups", metavar="COLUMN", help="The column of each row's group.")
    ] = None,
    labels: Annotated[
        str | None, typer.Option("--labels", metavar="A,B", help="The public list of groups, CSV-quoted if need be.")
    ] = None,
    unit: UnitOption = None,
    contributions: ContributionsOption = 1,
    weights: Annotated[
        str | None, typer.Option("--weights", metavar="COLUMN", help="The column of each row's weight.")
    ] = None,
    max_weight: Annotated[
        float | None, typer.Option("--max-weight", help="The public maximum that larger weights are cut to.")
    ] = None,
    n: Annotated[
        int | None, typer.Option("--n", help="About how many rows there are, where that is private but roughly known.")
    ] = None,
    beta: BetaOption = 0.05,
    force: ForceOption = False,
) -> None:
    """Spend (ε, δ) once on a private table and write a file that answers every query."""
    words: dict[str, Any] = {"bounds": bounds, "weights": distance_weights, "step": step}
    words |= {"center": center, "radius": radius, "p": p}
    words |= {"radius_km": radius_km, "dim": dim, "directions": directions}
    words |= {"unit": distance_unit, "diameter": diameter}
    words |= {"number": number, "category": category, "flag": flag, "alphabet": alphabet, "places": places}
    chosen = space_from_options(space, words, queries)
    given = None if queries is None else read_points(queries, chosen)
    if weights is not None and "=" in weights and max_weight is None:
        raise mp.MilepostError(
            f"--weights is the column of rows' weights, with --max-weight; what a column counts in the distance is "
            f"--distance-weights {weights}"
        )
    check_output(output, force)
    if output.exists() and table.exists() and output.samefile(table):
        raise mp.MilepostError(f"{output} is the private table itself; choose another output")
    with progress(f"Reading {table} and releasing"):
        synopsis = mp.release(
            table,
            chosen,
            epsilon=epsilon,
            delta=delta,
            mechanism=mechanism,
            columns=_names(columns),
            queries=given,
            neighbors=neighbors,
            groups=groups,
            labels=() if labels is None else labels_of("--labels", labels),
            unit=unit,
            contributions=contributions,
            weights=weights,
            max_weight=max_weight,
            n=n,
            beta=beta,
        )
        synopsis.save(output)
    typer.echo(
        f"wrote {output}: {counted(synopsis)}, {synopsis.space.kind}, {synopsis.guarantee}, {synopsis.mechanism}, "
        f"answers within {promise(synopsis)}"
    )


@app.command()
def query(
    file: SynopsisArgument,
    at: Annotated[
        list[str] | None, typer.Option("--at", metavar="X,Y", help="One point; may be given many times.")
    ] = None,
    points: Annotated[Path | None, typer.Option("--points", help="A CSV or Parquet file of points.")] = None,
    columns: ColumnsOption = None,
    nearest: Annotated[
        bool, typer.Option("--nearest", help="Compare the groups of a file that has some: which is nearest?")
    ] = False,
    group: GroupOption = None,
    csv: Annotated[Path | None, typer.Option("--csv", help="Write the answers to this file.")] = None,
    geojson_: Annotated[
        Path | None, typer.Option("--geojson", help="Write points of two columns and their answers to this file.")
    ] = None,
    force: ForceOption = False,
) -> None:
    """Answer from a released file; asking is free."""
    written = [path for path in (csv, geojson_) if path is not None]
    for path in written:
        check_output(path, force)
    if nearest and group is not None:
        raise mp.MilepostError("--nearest compares all groups, --group asks about one: give one of these")
    synopsis = _loaded(file, group, any_group=nearest)
    if geojson_ is not None:
        geojson.check(synopsis.space)
    asked = None if at or points else known_points(synopsis)
    if asked is None and bool(at) == bool(points):
        raise mp.MilepostError("give the points to ask about either with --at 35,4 or with --points points.csv")
    with progress("Answering"):
        if points is not None:
            asked = read_points(points, synopsis.space, _names(columns))
        elif asked is None:
            asked = [synopsis.space.parse(text) for text in at or []]
        if nearest:
            compared = synopsis.compare(asked)
            found, table = compared.arrow(), compared.table
        else:
            values = synopsis.mean_distance(asked)
            found, table = answers(values, synopsis), partial(answer_table, asked, values, synopsis)
    if csv is not None:
        write_answers(csv, asked, found, synopsis.space)
    if geojson_ is not None:
        geojson.write(geojson_, answer_features(asked, found, synopsis.space))
    for path in written:
        typer.echo(f"wrote {path}: {len(asked):,} answers, each within {promise(synopsis)}")
    if written:
        return
    console(60 + 20 * len(synopsis.labels)).print(table(most=MOST_ROWS))
    if len(asked) > MOST_ROWS:
        note(f"these are the first {MOST_ROWS:,} of {len(asked):,} answers; --csv answers.csv writes them all")


@app.command()
def show(
    file: SynopsisArgument,
    statement: Annotated[
        bool, typer.Option("--statement", help="One page for the people in the table: who is protected, and how.")
    ] = False,
    plot: Annotated[Path | None, typer.Option("--plot", help="Draw it too: .png, .svg or .pdf.")] = None,
    group: GroupOption = None,
    force: ForceOption = False,
) -> None:
    """Print what is public about a released file, or draw it."""
    if plot is not None:
        plots.check_picture(plot)
        check_output(plot, force)
    synopsis = _loaded(file, group, any_group=plot is None)
    if plot is not None:
        with progress("Drawing"):
            plots.save(synopsis.plot(), plot)
        typer.echo(f"wrote {plot}")
    if statement:
        typer.echo(mp.load(file).statement())
        return
    known = facts(synopsis) | {"size": f"{file.stat().st_size:,} bytes"}
    width = max(len(word) for word in known)
    for word, fact in known.items():
        typer.echo(f"{word:<{width}}  {fact}")


@app.command()
def audit(
    runs: Annotated[int, typer.Option("--runs", help="How often each mechanism runs on each table.")] = 5000,
    mechanism: Annotated[
        str | None,
        typer.Option(
            "--mechanism",
            help="Only this one: noise, sparse-vector, slopes, hats, gaussian, laplace, private-total, tangents or "
            "bounds.",
        ),
    ] = None,
) -> None:
    """Try to refute the privacy claims on made-up neighboring tables; exit code 1 when one is refuted."""
    with progress("Auditing") as status:
        report = mp.audit(
            runs=runs,
            mechanism=mechanism,
            progress=lambda case: status.update(escape(f"Auditing {case.mechanism}: {case.pair} …")),
        )
    console().print(report.table())
    if report.violated:
        raise typer.Exit(1)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line: bad input becomes one line on stderr and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # ε and ± on a terminal that has neither
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", mp.PromiseWarning)
        try:
            app(args=None if arguments is None else list(arguments), prog_name="milepost")
        except mp.MilepostError as error:
            fail(str(error))
        except OSError as error:
            fail(f"{error.filename or 'a file'}: {error.strerror or error}")
        finally:
            for warning in caught:
                note(str(warning.message))


def _print_plan(planned: mp.Plan) -> None:
    console().print(*planned.tables(), sep="\n")
    for line in planned.notes:
        typer.echo(line)


def _loaded(file: Path, group: str | None, *, any_group: bool) -> mp.Synopsis:
    """A synopsis, or the group of it that is asked about; any_group: whether none has to be."""
    synopsis = mp.load(file)
    if group is not None:
        return group_of(synopsis, group)
    if synopsis.labels and not any_group:
        listed = ", ".join(map(str, synopsis.labels))
        raise mp.MilepostError(
            f"{file} has groups ({listed}): say which with --group {synopsis.labels[0]}; "
            "`milepost query --nearest` compares all of them"
        )
    return synopsis


def _names(columns: str | None) -> list[str] | None:
    return None if columns is None else [name.strip() for name in columns.split(",")]


if __name__ == "__main__":
    main()
