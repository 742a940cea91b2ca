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
    ColumnsOption,
    ForceOption,
    GroupOption,
    PointsArgument,
    SynopsisArgument,
    load_synopsis,
    split_names,
)
from milepost.cli.query_input import QueryPoints, first_points, known_points, parse_points, point_batches
from milepost.cli.query_output import MAX_ROWS, answer_batches, answer_table, answers, batch_size, comparisons, features
from milepost.cli.table_writer import check_suffix, table_file
from milepost.cli.terminal import check_output, console, note, progress
from milepost.errors import warn
from milepost.ingest.aggregation import known_count
from milepost.ingest.progress import ReadingProgress, reading
from milepost.reporting.description import error_text
from milepost.spaces.base import Space


def query(
    file: SynopsisArgument,
    points: PointsArgument = None,
    at: AtOption = None,
    columns: ColumnsOption = None,
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
    written = [path for path in (output, geojson_) if path is not None]
    for path in written:
        check_output(path, force)
    if nearest and group is not None:
        raise mp.MilepostError("--nearest compares all groups, --group asks about one: give one of these")
    if keep is not None and (points is None or output is None):
        raise mp.MilepostError("--keep copies columns of a file of points into one of answers: give it both of them")
    synopsis = load_synopsis(file, group, any_group=nearest)
    if geojson_ is not None:
        geojson.check(synopsis.space)
    most = batch_size(synopsis) if written else MAX_ROWS + 1
    batches = _asked(synopsis, at, points, split_names(columns), split_names(keep) or [], most)
    if not written:
        _print(synopsis, batches, nearest)
        return
    answer = partial(comparisons if nearest else answers, synopsis)
    with (
        progress("Answering"),
        reading("answering", lambda: None if points is None else known_count(points)) as told,
        _added_up(),
    ):
        _write(answer_batches(batches, answer), told, synopsis.space, output, geojson_)
    for path in written:
        typer.echo(f"wrote {path}: {told.rows:,} answers, each within {error_text(synopsis)}")


def _asked(
    synopsis: mp.Synopsis,
    at: Sequence[str] | None,
    points: Path | None,
    columns: Sequence[str] | None,
    keep: Sequence[str],
    most: int,
) -> Iterator[QueryPoints]:
    """Batches of points: those of a file, those on the command line, or all that are known."""
    space = synopsis.space
    if at and points is None:
        return iter([parse_points([space.parse(text) for text in at], space)])
    if points is not None and not at:
        return point_batches(points, space, columns, keep, most)
    known = None if at else known_points(synopsis)
    if known is None:
        raise mp.MilepostError("give the points to ask about either as a file, points.csv, or with --at 35,4")
    return iter([known])


def _print(synopsis: mp.Synopsis, batches: Iterator[QueryPoints], nearest: bool) -> None:
    """The first answers as a table; no more points are read than it needs."""
    with progress("Answering"):
        asked, more = first_points(batches, MAX_ROWS)
        table = compare_queries(synopsis, asked.queries).table() if nearest else answer_table(asked, synopsis)
    console(60 + 20 * len(synopsis.labels)).print(table)
    if more:
        note(f"these are the first {MAX_ROWS:,} answers, and there are more; -o answers.csv writes them all")


def _write(
    found: Iterator[tuple[QueryPoints, pa.Table]],
    told: ReadingProgress,
    space: Space,
    output: Path | None,
    drawn: Path | None,
) -> None:
    """Answers as they come; the files appear when all are there."""
    shapes: list[dict[str, Any]] = []
    with ExitStack() as stack:
        write = None if output is None else stack.enter_context(table_file(output))
        for asked, table in found:
            if write is not None:
                write(asked.table(table))
            if drawn is not None:
                shapes += features(asked, table, space)
            told.advance(len(asked))
        if drawn is not None:
            geojson.write(drawn, geojson.collection(shapes))


@contextmanager
def _added_up() -> Iterator[None]:
    """Notes once for all batches, those that count points with the sum of their counts."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", mp.PromiseWarning)
        yield
    sums: dict[str, tuple[int, int]] = {}
    for message in (str(warning.message) for warning in caught):
        counts = re.match(r"(\d+) of (\d+) ", message)
        words = message[counts.end() :] if counts else message
        some, of = sums.get(words, (0, 0))
        sums[words] = (some + int(counts[1]), of + int(counts[2])) if counts else (0, 0)
    for words, (some, of) in sums.items():
        warn(f"{some} of {of} {words}" if of else words)
