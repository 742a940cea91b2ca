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
    DistanceWeightsOption,
    FlagOption,
    ForceOption,
    LedgerOption,
    MaxWeightOption,
    NumberOption,
    PlacesOption,
    PointsArgument,
    PowerOption,
    RadiusKmOption,
    RadiusOption,
    RowsOption,
    StepOption,
    TableArgument,
    UnitOption,
    WeightsOption,
    check_weights,
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
    columns: ColumnsOption = None,
    mechanism: Annotated[
        str | None,
        typer.Option("--mechanism", help="auto (the smallest predicted error), field, tangents, slopes or hats."),
    ] = None,
    neighbors: Annotated[str | None, typer.Option("--neighbors", help="replace or add-remove.")] = None,
    unit: UnitOption = None,
    contributions: Annotated[
        int | None, typer.Option("--contributions", help="How many rows of one person are used at most.")
    ] = None,
    weights: WeightsOption = None,
    max_weight: MaxWeightOption = None,
    n: RowsOption = None,
    beta: Annotated[
        float | None, typer.Option("--beta", help="The probability with which the promised error may fail.")
    ] = None,
    ledger: LedgerOption = None,
    dataset: DatasetOption = None,
) -> None:
    """Begin a session that a file keeps, or go on with it: ask about points, one call after another."""
    if at and points is not None:
        raise mp.MilepostError("give the points to ask about either as a file, points.csv, or with --at 35,4")
    if output is not None:
        check_output(output, force)
        if any(output.exists() and place.exists() and output.samefile(place) for place in (store, table)):
            raise mp.MilepostError(f"{output} is the session or the private table itself; choose another output")
        check_suffix(output)
    words: dict[str, Any] = {"bounds": bounds, "weights": distance_weights, "step": step}
    words |= {"center": center, "radius": radius, "p": p}
    words |= {"radius_km": radius_km, "dim": dim, "directions": directions}
    words |= {"unit": distance_unit, "diameter": diameter}
    words |= {"number": number, "category": category, "flag": flag, "alphabet": alphabet, "places": places}
    chosen = None if space is None else space_from_options(space, words)
    if chosen is None and any(value not in (None, []) for value in words.values()):
        raise mp.MilepostError("these options say what --space is like; give --space too, or none of them")
    said = {"epsilon": epsilon, "delta": delta, "max_queries": max_queries, "mechanism": mechanism, "beta": beta}
    said |= {"neighbors": neighbors, "unit": unit, "contributions": contributions}
    said |= {"weights": weights, "max_weight": max_weight, "n": n}
    given: dict[str, Any] = {word: value for word, value in said.items() if value is not None}
    check_weights(weights, max_weight)
    used, call = _call(store, chosen, given)
    asked = [used.parse(text) for text in at or []] if points is None else read_points(points, used)
    if name and len(name) != len(asked):
        raise mp.MilepostError(f"--name is given once a point: {len(asked)} points, {len(name)} names")
    with progress(f"Reading {table}"):
        session = mp.interactive(
            table, used, columns=split_names(columns), store=store, ledger=open_ledger(ledger), dataset=dataset, **call
        )
        answers = session.ask_many(asked, names=name or None) if asked else []
    _tell(session, asked, answers, name or None, output)


def _call(store: Path, space: Space | None, given: dict[str, Any]) -> tuple[Space, dict[str, Any]]:
    """What is said now, and before that when the session was begun: the library refuses what contradicts it."""
    if not Store(store).empty:
        then, call = stored_call(store)
        return then if space is None else space, call | given
    missing = [f"--{word.replace('_', '-')}" for word in ("epsilon", "max_queries") if word not in given]
    if space is None or missing:
        words = ", ".join(["--space"] * (space is None) + missing)
        raise mp.MilepostError(f"{store} has no session yet; to begin one, give {words} too")
    return space, given


def _tell(
    session: mp.Session, asked: list[Any], answers: list[Any], names: list[str] | None, output: Path | None
) -> None:
    """Answers, or all questions that have a name where nothing was asked, and what is left."""
    if not asked:
        found = session.transcript()
        names, asked, answers = [one for one, _, _ in found], [point for _, point, _ in found], [a for _, _, a in found]
    if output is not None and asked:
        with table_file(output) as write:
            write(parse_points(asked, session.space).table(session_answers(answers, names)))
        typer.echo(f"wrote {output}: {len(asked):,} answers")
    elif asked:
        shown = parse_points(asked[:MAX_ROWS], session.space)
        console(60).print(session_table(shown, answers[:MAX_ROWS], session.space, names))
        if len(asked) > MAX_ROWS:
            note(f"these are the first {MAX_ROWS:,} of {len(asked):,} answers; -o answers.csv writes them all")
    left = "any number of queries" if session.limit is None else f"{session.remaining:,} of {session.limit:,} queries"
    typer.echo(f"{left} left; {session.mechanism}, {session.guarantee}, answers within ± {session.error:.3g}")
