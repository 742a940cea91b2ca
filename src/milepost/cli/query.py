"""`milepost query`."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

import milepost as mp
from milepost import geojson
from milepost.asked import (
    MOST_ROWS,
    answer_features,
    answer_table,
    answers,
    known_points,
    read_points,
    write_answers,
)
from milepost.card import promise
from milepost.cli.words import loaded, names_of
from milepost.options import (
    AnswersOption,
    AtOption,
    ColumnsOption,
    ForceOption,
    GroupOption,
    PointsOption,
    SynopsisArgument,
)
from milepost.terminal import check_output, console, note, progress


def query(
    file: SynopsisArgument,
    at: AtOption = None,
    points: PointsOption = None,
    columns: ColumnsOption = None,
    nearest: Annotated[
        bool, typer.Option("--nearest", help="Compare the groups of a file that has some: which is nearest?")
    ] = False,
    group: GroupOption = None,
    csv: AnswersOption = None,
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
    synopsis = loaded(file, group, any_group=nearest)
    if geojson_ is not None:
        geojson.check(synopsis.space)
    asked = None if at or points else known_points(synopsis)
    if asked is None and bool(at) == bool(points):
        raise mp.MilepostError("give the points to ask about either with --at 35,4 or with --points points.csv")
    with progress("Answering"):
        if points is not None:
            asked = read_points(points, synopsis.space, names_of(columns))
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
