"""`milepost ask`."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

import milepost as mp
from milepost.cli.options import (
    OPTIONS,
    AnswersOption,
    AtOption,
    ForceOption,
    OptionalSpaceOptions,
    PointsArgument,
    TableArgument,
    check_row_weights,
    open_ledger,
    option_name,
    options,
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
    space_options: OptionalSpaceOptions,
    options_given: Annotated[
        dict[str, Any],
        options(
            "epsilon",
            "delta",
            "max_queries",
            "mechanism",
            "neighbors",
            "failure_probability",
            "columns",
            "privacy_unit",
            "contributions",
            "row_weights",
            "max_row_weight",
            "n",
            "ledger",
            "dataset",
            optional=True,
            mechanism=replace(
                OPTIONS["mechanism"],
                help="auto (the smallest predicted error), field, tangents, slopes, hats or quadtree.",
            ),
        ),
    ],
    points: PointsArgument = None,
    at: AtOption = None,
    name: Annotated[
        list[str] | None,
        typer.Option(
            "--name", metavar="NAME", help="A name for the question, once for each point; it has one answer forever."
        ),
    ] = None,
    output: AnswersOption = None,
    force: ForceOption = False,
) -> None:
    """Begin a session that a file keeps, or go on with it: ask about points, one call after another.

    A new session needs --space, --epsilon and --max-queries; a later call takes what the file has.
    """
    if at and points is not None:
        raise mp.MilepostError("give the points to ask about either as a file, points.csv, or with --at 35,4")
    if output is not None:
        check_output(output, force)
        if any(output.exists() and path.exists() and output.samefile(path) for path in (store, table)):
            raise mp.MilepostError(f"{output} is the session or the private table itself; choose another output")
        check_suffix(output)
    kind = space_options.pop("space")
    new_space = None if kind is None else space_from_options(kind, space_options)
    if new_space is None and any(value not in (None, []) for value in space_options.values()):
        given = next(option_name(name) for name, value in space_options.items() if value not in (None, []))
        raise mp.MilepostError(f"{given} describes a space; give --space too, or leave it out")
    ledger, columns = open_ledger(options_given.pop("ledger")), split_names(options_given.pop("columns"))
    dataset = options_given.pop("dataset")
    check_row_weights(options_given["row_weights"], options_given["max_row_weight"])
    arguments = {option: value for option, value in options_given.items() if value is not None}
    session_space, call_arguments = _session_arguments(store, new_space, arguments)
    query_points = (
        [session_space.parse(text) for text in at or []] if points is None else read_points(points, session_space)
    )
    if name and len(name) != len(query_points):
        raise mp.MilepostError(
            f"--name must be given once for each point, got {len(name)} names for {len(query_points)} points"
        )
    with progress(f"Reading {table}"):
        session = mp.interactive(
            table,
            session_space,
            columns=columns,
            store=store,
            ledger=ledger,
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
    missing = [option_name(option) for option in ("epsilon", "max_queries") if option not in arguments]
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
