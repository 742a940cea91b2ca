"""`milepost query`."""

import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import typer

import milepost as mp
from milepost.answers import geojson
from milepost.answers.comparison import compare_queries
from milepost.cli.options import (
    AnswersOption,
    AtOption,
    ForceOption,
    GroupOption,
    PointsArgument,
    SynopsisArgument,
    load_synopsis,
    options,
    split_names,
)
from milepost.cli.query_input import QueryPoints, first_points, known_points, parse_points, point_batches
from milepost.cli.query_output import MAX_ROWS, answer_batches, answer_table, answers, batch_size, comparisons, features
from milepost.cli.table_writer import check_suffix, table_file
from milepost.cli.terminal import check_output, console, note, progress
from milepost.errors import warn
from milepost.ingest.batches import known_count
from milepost.ingest.progress import ReadingProgress, reading
from milepost.reporting.description import error_text
from milepost.spaces.base import Space


def query(
    file: SynopsisArgument,
    arguments: Annotated[dict[str, Any], options("columns")],
    points: PointsArgument = None,
    at: AtOption = None,
    keep: Annotated[
        str | None, typer.Option("--keep", metavar="A,B", help="Columns of POINTS to write beside the answers.")
    ] = None,
    nearest: Annotated[
        bool, typer.Option("--nearest", help="Compare the groups of a file that has some: which is nearest?")
    ] = False,
    group: GroupOption = None,
    output: AnswersOption = None,
    geojson_: Annotated[
        Path | None, typer.Option("--geojson", help="Write points of two columns and their answers to this file.")
    ] = None,
    force: ForceOption = False,
) -> None:
    """Answer from a released file; asking is free."""
    if output is not None:
        check_suffix(output)
    outputs = [path for path in (output, geojson_) if path is not None]
    for path in outputs:
        check_output(path, force)
    if nearest and group is not None:
        raise mp.MilepostError("--nearest compares all groups, --group asks about one: give one of these")
    if keep is not None and (points is None or output is None):
        raise mp.MilepostError("--keep copies columns of a file of points into one of answers: give it both of them")
    synopsis = load_synopsis(file, group, any_group=nearest)
    if geojson_ is not None:
        geojson.check(synopsis.space)
    max_points = batch_size(synopsis) if outputs else MAX_ROWS + 1
    batches = _point_batches(
        synopsis, at, points, split_names(arguments["columns"]), split_names(keep) or [], max_points
    )
    if not outputs:
        _print(synopsis, batches, nearest)
        return
    answer = partial(comparisons if nearest else answers, synopsis)
    with (
        progress("Answering"),
        reading("answering", lambda: None if points is None else known_count(points)) as reading_progress,
        _merged_warnings(),
    ):
        _write(answer_batches(batches, answer), reading_progress, synopsis.space, output, geojson_)
    for path in outputs:
        typer.echo(f"wrote {path}: {reading_progress.rows:,} answers, each within {error_text(synopsis.describe())}")


def _point_batches(
    synopsis: mp.Synopsis,
    at: Sequence[str] | None,
    points: Path | None,
    columns: Sequence[str] | None,
    keep: Sequence[str],
    max_points: int,
) -> Iterator[QueryPoints]:
    """Return batches of points: of a file, of the command line, or all points that the synopsis answers."""
    space = synopsis.space
    if at and points is None:
        return iter([parse_points([space.parse(text) for text in at], space)])
    if points is not None and not at:
        return point_batches(points, space, columns, keep, max_points)
    all_points = None if at else known_points(synopsis)
    if all_points is None:
        raise mp.MilepostError("give the points to ask about either as a file, points.csv, or with --at 35,4")
    return iter([all_points])


def _print(synopsis: mp.Synopsis, batches: Iterator[QueryPoints], nearest: bool) -> None:
    """Print the first answers as a table; read no more points than it needs."""
    with progress("Answering"):
        batch, more = first_points(batches, MAX_ROWS)
        table = compare_queries(synopsis, batch.queries) if nearest else answer_table(batch, synopsis)
    console(60 + 20 * len(synopsis.labels)).print(table)
    if more:
        note(f"these are the first {MAX_ROWS:,} answers, and there are more; -o answers.csv writes them all")


def _write(
    batches: Iterator[tuple[QueryPoints, pa.Table]],
    reading_progress: ReadingProgress,
    space: Space,
    output: Path | None,
    geojson_path: Path | None,
) -> None:
    """Write answers batch by batch; the files appear when all are complete."""
    geojson_features: list[dict[str, Any]] = []
    with ExitStack() as stack:
        write = None if output is None else stack.enter_context(table_file(output))
        for batch, table in batches:
            if write is not None:
                write(batch.table(table))
            if geojson_path is not None:
                geojson_features += features(batch, table, space)
            reading_progress.advance(len(batch))
        if geojson_path is not None:
            geojson.write(geojson_path, geojson.collection(geojson_features))


@contextmanager
def _merged_warnings() -> Iterator[None]:
    """Merge the warnings of all batches into one each, and add up the counts of points in them."""
    with warnings.catch_warnings(record=True) as records:
        warnings.simplefilter("always", mp.AccuracyWarning)
        yield
    totals: dict[str, tuple[int, int]] = {}
    for message in (str(warning.message) for warning in records):
        counts = re.match(r"(\d+) of (\d+) ", message)
        text = message[counts.end() :] if counts else message
        count, total = totals.get(text, (0, 0))
        totals[text] = (count + int(counts[1]), total + int(counts[2])) if counts else (0, 0)
    for text, (count, total) in totals.items():
        warn(f"{count} of {total} {text}" if total else text)
