"""Asked: points to ask about from the command line, and answers or comparisons as a table, CSV or GeoJSON file."""

import itertools
import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
from rich.box import SIMPLE
from rich.markup import escape
from rich.table import Table

from milepost import geojson
from milepost.arrays import FloatArray
from milepost.card import labelled
from milepost.data import batches
from milepost.errors import MilepostError
from milepost.sessions.session import Answer
from milepost.spaces.base import Space
from milepost.spaces.objects import object_array, objects_of
from milepost.synopsis import Synopsis

MOST_ROWS = 1000  # of a printed table; --csv writes any number


def read_points(path: Path, space: Space, columns: Sequence[str] | None = None) -> list[Any]:
    """The points of a CSV or Parquet file."""
    rows: list[Any] = []
    for batch in batches(path, columns, space.columns, aliases=space.aliases, objects=space.objects, width=space.width):
        rows += objects_of(batch) if space.objects else space.read_queries(batch).tolist()
    if space.objects and space.known is None and space.width == 1:
        rows = [(cell,) for cell in rows]  # a list of one value would be one point
    if not rows:
        raise MilepostError(f"{path} has no points")
    return rows


def known_points(synopsis: Synopsis) -> list[Any] | None:
    """All points that a synopsis answers, where these were given; None where it answers any."""
    return None if synopsis.known is None else [synopsis.space.written(point) for point in synopsis.known]


def answer_table(asked: Sequence[Any], values: FloatArray, synopsis: Synopsis, most: int) -> Table:
    """Points, answers and the error of one answer, of the first points only."""
    return _table(asked[:most], values[:most], itertools.repeat(synopsis.error(synopsis.confidence)), synopsis.space)


def session_table(
    asked: Sequence[Any], said: Sequence[Answer], space: Space, most: int, names: Sequence[str] | None = None
) -> Table:
    """The same of a session, whose answers have errors of their own and perhaps names."""
    values, errors = np.array([answer.value for answer in said[:most]]), [answer.error for answer in said[:most]]
    return _table(asked[:most], values, errors, space, names)


def _table(
    asked: Sequence[Any], values: FloatArray, errors: Iterable[float], space: Space, called: Sequence[str] | None = None
) -> Table:
    table = Table(box=SIMPLE)
    names, rows = _rows(asked, space)
    for name in [*["name"] * (called is not None), *names, labelled("mean distance", space.unit), "± error"]:
        table.add_column(escape(name), justify="right")
    for place, (row, value, error) in enumerate(zip(rows, values, errors, strict=False)):
        places = min(max(0, 2 - math.floor(math.log10(error))), 15)
        cells = [*([] if called is None else [called[place]]), *map(_spelt, row)]
        table.add_row(*map(escape, cells), f"{value:.{places}f}", f"{error:.{places}f}")
    return table


def session_answers(said: Sequence[Answer], names: Sequence[str] | None = None) -> pa.Table:
    """Mean distances of a session with their errors, and the names of the questions if they have any."""
    found = {"mean_distance": [answer.value for answer in said], "error": [answer.error for answer in said]}
    return pa.table(found if names is None else {**found, "name": list(names)})


def answers(values: FloatArray, synopsis: Synopsis) -> pa.Table:
    """Mean distances with their errors, as a table for programs."""
    errors = np.full(len(values), synopsis.error(synopsis.confidence))
    return pa.table({"mean_distance": values, "error": errors})


def write_answers(path: Path, asked: Sequence[Any], found: pa.Table, space: Space) -> None:
    """Points and what was found about each as a CSV file."""
    names, rows = _rows(asked, space)
    columns = [list(column) for column in zip(*rows, strict=True)]
    pa.csv.write_csv(pa.table([*columns, *found.columns], names=[*names, *found.column_names]), path)


def answer_features(asked: Sequence[Any], found: pa.Table, space: Space) -> dict[str, Any]:
    """The same as a GeoJSON FeatureCollection, in which what is infinite is null."""
    rows = zip(asked, found.to_pylist(), strict=True)
    return geojson.collection(
        geojson.point(
            point, space.geographic, {word: _finite(cell) for word, cell in row.items()} | {"unit": space.unit}
        )
        for point, row in rows
    )


def group_of(synopsis: Synopsis, label: str) -> Synopsis:
    """The group with this label, which the command line always has as text."""
    known = {str(one): one for one in synopsis.labels}
    return synopsis.group(known.get(label, label))


def _finite(cell: Any) -> Any:
    return None if cell == math.inf else cell


def _rows(asked: Sequence[Any], space: Space) -> tuple[Sequence[str], list[Any]]:
    """Points as rows of a table, and the names of its columns."""
    if space.objects and all(isinstance(point, str) for point in asked):
        return ("query",), [(point,) for point in asked]
    if space.objects:
        asked = [space.written(point) for point in space.read_queries(object_array(list(asked)))]
    return space.names, [space.cells(point) for point in asked]


def _spelt(cell: Any) -> str:
    if isinstance(cell, bool):
        return str(cell).lower()
    return cell if isinstance(cell, str) else f"{cell:.10g}"
