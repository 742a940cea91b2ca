"""`milepost ask`."""

from pathlib import Path
from typing import Annotated, Any

import typer

import milepost as mp
from milepost.cli.options import (
    AlphabetOption,
    AnswersOption,
    AtOption,
    BoundsOption,
    CategoryOption,
    CenterOption,
    ColumnsOption,
    DatasetOption,
    DiameterOption,
    DimOption,
    DirectionsOption,
    DistanceUnitOption,
    FlagOption,
    ForceOption,
    LedgerOption,
    LengthOption,
    MaxRowWeightOption,
    NumberOption,
    PointsArgument,
    PowerOption,
    PrivacyUnitOption,
    RadiusKmOption,
    RadiusOption,
    RowsOption,
    RowWeightsOption,
    StepOption,
    TableArgument,
    WeightsOption,
    check_row_weights,
    open_ledger,
    split_names,
)
from milepost.cli.query_input import parse_points, read_points
from milepost.cli.query_output import MAX_ROWS, session_answers, session_table
from milepost.cli.table_writer import check_suffix, table_file
from milepost.cli.terminal import check_output, console, note, progress
from milepost.pipeline.interactive import stored_call
from milepost.pipeline.space_spec import space_from_options
from milepost.sessions.store import Store
from milepost.spaces.base import Space


def ask(
    store: Annotated[Path, typer.Argument(metavar="STORE", help="The session's file, such as homes.db.")],
    table: TableArgument,
    points: PointsArgument = None,
    at: AtOption = None,
    name: Annotated[
        list[str] | None,
        typer.Option(
            "--name", metavar="NAME", help="A name for the question, once a point; a name has one answer for good."
        ),
    ] = None,
    output: AnswersOption = None,
    force: ForceOption = False,
    space: Annotated[
        str | None, typer.Option("--space", help="To begin: the distance, in the words of `release`.")
    ] = None,
    epsilon: Annotated[float | None, typer.Option("--epsilon", help="To begin: the ε of the guarantee.")] = None,
    delta: Annotated[float | None, typer.Option("--delta", help="The δ of the guarantee; 0 is pure ε.")] = None,
    max_queries: Annotated[
        int | None, typer.Option("--max-queries", help="To begin: how many different points may be asked.")
    ] = None,
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
    columns: ColumnsOption = None,
    mechanism: Annotated[
        str | None,
        typer.Option("--mechanism", help="auto (the smallest predicted error), field, tangents, slopes or hats."),
    ] = None,
    neighbors: Annotated[str | None, typer.Option("--neighbors", help="replace or add-remove.")] = None,
    privacy_unit: PrivacyUnitOption = None,
    contributions: Annotated[
        int | None, typer.Option("--contributions", help="How many rows of one person are used at most.")
    ] = None,
    row_weights: RowWeightsOption = None,
    max_row_weight: MaxRowWeightOption = None,
    n: RowsOption = None,
    failure_probability: Annotated[
        float | None,
        typer.Option("--failure-probability", help="The probability with which the promised error may fail."),
    ] = None,
    ledger: LedgerOption = None,
    dataset: DatasetOption = None,
) -> None:
    """Begin a session that a file keeps, or go on with it: ask about points, one call after another."""
    if at and points is not None:
        raise mp.MilepostError("give the points to ask about either as a file, points.csv, or with --at 35,4")
    if output is not None:
        check_output(output, force)
        if any(output.exists() and path.exists() and output.samefile(path) for path in (store, table)):
            raise mp.MilepostError(f"{output} is the session or the private table itself; choose another output")
        check_suffix(output)
    space_options: dict[str, Any] = {"bounds": bounds, "weights": weights, "step": step}
    space_options |= {"center": center, "radius": radius, "p": p}
    space_options |= {"radius_km": radius_km, "dim": dim, "directions": directions}
    space_options |= {"distance_unit": distance_unit, "diameter": diameter}
    space_options |= {"number": number, "category": category, "flag": flag, "alphabet": alphabet, "length": length}
    new_space = None if space is None else space_from_options(space, space_options)
    if new_space is None and any(value not in (None, []) for value in space_options.values()):
        raise mp.MilepostError("these options say what --space is like; give --space too, or none of them")
    options = {
        "epsilon": epsilon,
        "delta": delta,
        "max_queries": max_queries,
        "mechanism": mechanism,
        "failure_probability": failure_probability,
    }
    options |= {"neighbors": neighbors, "privacy_unit": privacy_unit, "contributions": contributions}
    options |= {"row_weights": row_weights, "max_row_weight": max_row_weight, "n": n}
    arguments: dict[str, Any] = {option: value for option, value in options.items() if value is not None}
    check_row_weights(row_weights, max_row_weight)
    session_space, call_arguments = _session_arguments(store, new_space, arguments)
    query_points = (
        [session_space.parse(text) for text in at or []] if points is None else read_points(points, session_space)
    )
    if name and len(name) != len(query_points):
        raise mp.MilepostError(f"--name is given once a point: {len(query_points)} points, {len(name)} names")
    with progress(f"Reading {table}"):
        session = mp.interactive(
            table,
            session_space,
            columns=split_names(columns),
            store=store,
            ledger=open_ledger(ledger),
            dataset=dataset,
            **call_arguments,
        )
        answers = session.ask_many(query_points, names=name or None) if query_points else []
    _print_answers(session, query_points, answers, name or None, output)


def _session_arguments(store: Path, space: Space | None, arguments: dict[str, Any]) -> tuple[Space, dict[str, Any]]:
    """Return the space and arguments of the call: those now, and those stored when the session began.

    The library refuses arguments that contradict the stored ones.
    """
    if not Store(store).empty:
        stored_space, stored_arguments = stored_call(store)
        return stored_space if space is None else space, stored_arguments | arguments
    missing = [f"--{option.replace('_', '-')}" for option in ("epsilon", "max_queries") if option not in arguments]
    if space is None or missing:
        options = ", ".join(["--space"] * (space is None) + missing)
        raise mp.MilepostError(f"{store} has no session yet; to begin one, give {options} too")
    return space, arguments


def _print_answers(
    session: mp.Session, query_points: list[Any], answers: list[Any], names: list[str] | None, output: Path | None
) -> None:
    """Print or write the answers, or the transcript if there are no points, and how many queries are left."""
    if not query_points:
        transcript = session.transcript()
        names = [name for name, _, _ in transcript]
        query_points = [point for _, point, _ in transcript]
        answers = [answer for _, _, answer in transcript]
    if output is not None and query_points:
        with table_file(output) as write:
            write(parse_points(query_points, session.space).table(session_answers(answers, names)))
        typer.echo(f"wrote {output}: {len(query_points):,} answers")
    elif query_points:
        first_points = parse_points(query_points[:MAX_ROWS], session.space)
        console(60).print(session_table(first_points, answers[:MAX_ROWS], session.space, names))
        if len(query_points) > MAX_ROWS:
            note(f"these are the first {MAX_ROWS:,} of {len(query_points):,} answers; -o answers.csv writes them all")
    left = "any number of queries" if session.limit is None else f"{session.remaining:,} of {session.limit:,} queries"
    typer.echo(f"{left} left; {session.mechanism}, {session.guarantee}, answers within ± {session.error:.3g}")
