"""Answers to query points, as a printed table, an Arrow table, or GeoJSON."""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa
from rich.box import SIMPLE
from rich.markup import escape
from rich.table import Table

from milepost.answers import geojson
from milepost.answers.comparison import compare_queries
from milepost.answers.evaluation import as_read, evaluate
from milepost.answers.text import with_unit
from milepost.cli.query_input import QueryPoints
from milepost.sessions.session import Answer
from milepost.spaces.base import Space
from milepost.synopsis.synopsis import Synopsis

MAX_ROWS = 1000  # rows of a printed table; a file has no limit
MAX_POINTS, MAX_NUMBERS = 1 << 15, 1 << 21  # limits of a batch: points, and embedding coordinates of all groups


def batch_size(synopsis: Synopsis) -> int:
    """Return the number of points to answer at a time, small enough for the processor's cache."""
    numbers = 1 if synopsis.queries is not None else synopsis.space.embedding.dimension
    return max(1, min(MAX_POINTS, MAX_NUMBERS // (numbers * max(1, len(synopsis.labels)))))


def answers(synopsis: Synopsis, points: QueryPoints) -> pa.Table:
    """Return mean distances with their errors."""
    (values,) = evaluate(synopsis, points.queries, lambda positions: (synopsis.statistic.values(positions),), as_read)
    return pa.table({"mean_distance": values, "error": np.full(len(points), synopsis.error(synopsis.confidence))})


def comparisons(synopsis: Synopsis, points: QueryPoints) -> pa.Table:
    """Return every group's distance and error, the nearest group, its margin, and the probability of a flip."""
    return compare_queries(synopsis, points.queries).to_arrow()


def session_answers(answers: Sequence[Answer], names: Sequence[str] | None = None) -> pa.Table:
    """Return mean distances of a session with their errors, and the names of the questions if they have any."""
    columns = {"mean_distance": [answer.value for answer in answers], "error": [answer.error for answer in answers]}
    return pa.table(columns if names is None else {**columns, "name": list(names)})


def answer_batches(
    batches: Iterable[QueryPoints], answer: Callable[[QueryPoints], pa.Table]
) -> Iterator[tuple[QueryPoints, pa.Table]]:
    """Yield batches and their answers; a batch is answered while the next one is read."""
    with ThreadPoolExecutor(1) as pool:
        previous: tuple[QueryPoints, Future[pa.Table]] | None = None
        for points in batches:
            current = points, pool.submit(answer, points)
            if previous is not None:
                yield previous[0], previous[1].result()
            previous = current
        if previous is not None:
            yield previous[0], previous[1].result()


def answer_table(points: QueryPoints, synopsis: Synopsis) -> Table:
    """Return a printable table of points, answers and errors."""
    values = answers(synopsis, points)["mean_distance"].to_pylist()
    return _table(points, values, itertools.repeat(synopsis.error(synopsis.confidence)), synopsis.space)


def session_table(
    points: QueryPoints, answers: Sequence[Answer], space: Space, names: Sequence[str] | None = None
) -> Table:
    """Return a printable table of a session's answers, each with its error and perhaps its name."""
    return _table(points, [answer.value for answer in answers], [answer.error for answer in answers], space, names)


def _table(
    points: QueryPoints,
    values: Sequence[float],
    errors: Iterable[float],
    space: Space,
    names: Sequence[str] | None = None,
) -> Table:
    table = Table(box=SIMPLE)
    name_column = [] if names is None else ["name"]
    for name in [*name_column, *points.rows.column_names, with_unit("mean distance", space.distance_unit), "± error"]:
        table.add_column(escape(name), justify="right")
    rows = zip(*(column.to_pylist() for column in points.rows.columns), strict=True)
    for index, (row, value, error) in enumerate(zip(rows, values, errors, strict=False)):
        decimals = min(max(0, 2 - math.floor(math.log10(error))), 15)
        cells = [*([] if names is None else [names[index]]), *map(_cell_text, row)]
        table.add_row(*map(escape, cells), f"{value:.{decimals}f}", f"{error:.{decimals}f}")
    return table


def features(points: QueryPoints, answers: pa.Table, space: Space) -> Iterator[dict[str, Any]]:
    """Yield points and answers as GeoJSON Features, with null for infinity."""
    for point, row in zip(points.queries.tolist(), answers.to_pylist(), strict=True):
        properties = {name: _finite(cell) for name, cell in row.items()} | {"distance_unit": space.distance_unit}
        yield geojson.point(point, space.geographic, properties)


def _finite(cell: Any) -> Any:
    return None if cell == math.inf else cell


def _cell_text(cell: Any) -> str:
    if isinstance(cell, bool):
        return str(cell).lower()
    return cell if isinstance(cell, str) else f"{cell:.10g}"
