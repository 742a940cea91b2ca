"""Answered: what is found about points, as a table to read or for programs, or as GeoJSON."""

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
from milepost.answers.text import with_unit
from milepost.cli.query_input import QueryPoints
from milepost.sessions.session import Answer
from milepost.spaces.base import Space
from milepost.synopsis.synopsis import Synopsis

MAX_ROWS = 1000  # of a printed table; a file takes any number
MAX_POINTS, MAX_NUMBERS = 1 << 15, 1 << 21  # of a batch: points, and their embedding coordinates for all groups


def batch_size(synopsis: Synopsis) -> int:
    """How many points to answer at a time: few enough to stay in the processor's cache."""
    numbers = 1 if synopsis.queries is not None else synopsis.space.embedding.dimension
    return max(1, min(MAX_POINTS, MAX_NUMBERS // (numbers * max(1, len(synopsis.labels)))))


def answers(synopsis: Synopsis, asked: QueryPoints) -> pa.Table:
    """Mean distances with their errors."""
    values = synopsis.statistic.values(synopsis.positions(asked.queries))
    return pa.table({"mean_distance": values, "error": np.full(len(asked), synopsis.error(synopsis.confidence))})


def comparisons(synopsis: Synopsis, asked: QueryPoints) -> pa.Table:
    """Every group's distance and error, the nearest one, its margin, and how likely noise alone would change it."""
    return compare_queries(synopsis, asked.queries).arrow()


def session_answers(said: Sequence[Answer], names: Sequence[str] | None = None) -> pa.Table:
    """Mean distances of a session with their errors, and the names of the questions if they have any."""
    found = {"mean_distance": [answer.value for answer in said], "error": [answer.error for answer in said]}
    return pa.table(found if names is None else {**found, "name": list(names)})


def answer_batches(
    batches: Iterable[QueryPoints], answer: Callable[[QueryPoints], pa.Table]
) -> Iterator[tuple[QueryPoints, pa.Table]]:
    """Batches and what is found about their points; one is answered while the next is read."""
    with ThreadPoolExecutor(1) as pool:
        begun: tuple[QueryPoints, Future[pa.Table]] | None = None
        for asked in batches:
            next_one = asked, pool.submit(answer, asked)
            if begun is not None:
                yield begun[0], begun[1].result()
            begun = next_one
        if begun is not None:
            yield begun[0], begun[1].result()


def answer_table(asked: QueryPoints, synopsis: Synopsis) -> Table:
    """Points, answers and the error of one answer."""
    values = answers(synopsis, asked)["mean_distance"].to_pylist()
    return _table(asked, values, itertools.repeat(synopsis.error(synopsis.confidence)), synopsis.space)


def session_table(
    asked: QueryPoints, said: Sequence[Answer], space: Space, names: Sequence[str] | None = None
) -> Table:
    """The same of a session, whose answers have errors of their own and perhaps names."""
    return _table(asked, [answer.value for answer in said], [answer.error for answer in said], space, names)


def _table(
    asked: QueryPoints,
    values: Sequence[float],
    errors: Iterable[float],
    space: Space,
    called: Sequence[str] | None = None,
) -> Table:
    table = Table(box=SIMPLE)
    named = [] if called is None else ["name"]
    for name in [*named, *asked.rows.column_names, with_unit("mean distance", space.unit), "± error"]:
        table.add_column(escape(name), justify="right")
    rows = zip(*(column.to_pylist() for column in asked.rows.columns), strict=True)
    for place, (row, value, error) in enumerate(zip(rows, values, errors, strict=False)):
        places = min(max(0, 2 - math.floor(math.log10(error))), 15)
        cells = [*([] if called is None else [called[place]]), *map(_spelt, row)]
        table.add_row(*map(escape, cells), f"{value:.{places}f}", f"{error:.{places}f}")
    return table


def features(asked: QueryPoints, found: pa.Table, space: Space) -> Iterator[dict[str, Any]]:
    """Points and what was found as GeoJSON Features, in which what is infinite is null."""
    for point, row in zip(asked.queries.tolist(), found.to_pylist(), strict=True):
        properties = {word: _finite(cell) for word, cell in row.items()} | {"unit": space.unit}
        yield geojson.point(point, space.geographic, properties)


def _finite(cell: Any) -> Any:
    return None if cell == math.inf else cell


def _spelt(cell: Any) -> str:
    if isinstance(cell, bool):
        return str(cell).lower()
    return cell if isinstance(cell, str) else f"{cell:.10g}"
