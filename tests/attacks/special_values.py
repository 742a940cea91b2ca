"""The claims of docs/special-values.md about special values, and calls of the library that check them."""

import math
import re
import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

import milepost as mp
from milepost.ingest.aggregation import records
from milepost.ingest.batches import open_stream
from milepost.ingest.row_attributes import RowColumns
from milepost.pipeline.find_bounds import read_magnitudes
from milepost.spaces.base import Space
from milepost.spaces.objects import object_array
from tests import ROOT

PAGE = ROOT / "docs" / "special-values.md"
GROUPED, OTHERS = RowColumns(groups=0, labels=["a", 1]), RowColumns(groups=0, labels=["a", 1, "other"])
NAMES: dict[str, Any] = {"nan": math.nan, "inf": math.inf}
TABLE = np.random.default_rng(0).uniform(0, 10, (500, 2))
POSITIONS = np.random.default_rng(0).uniform((49.5, 9.5), (50.5, 10.5), (500, 2))
NUMBERS = [[1.0, 2.0], [9.0, 5.0], [4.0, 8.0]]
QUERIES: dict[str, list[Any]] = {
    **dict.fromkeys(("L1", "L2", "Lp", "Gower", "Angular"), NUMBERS),
    "GreatCircle": [[50.0, 10.0], [50.3, 10.4], [49.8, 9.5]],
    "labels": [("a", True), ("1", True), ("other", False)],
    "Hamming": ["ACG", "AAA", "TTT"],
    "AnyMetric": ["colour", "color"],
    "universe": ["colour", "color"],
}
BUDGET: dict[str, Any] = {"epsilon": 50, "delta": 1e-6}
Call = Callable[[Any], Any]


def value_of(text: str) -> Any:
    """Return the value of a cell that holds Python."""
    return eval(text, {"__builtins__": {"object": object}}, NAMES)  # noqa: S307


def tables(text: str) -> dict[str, list[dict[str, str]]]:
    """Return the rows of each table of the page, by the heading above it."""
    result: dict[str, list[dict[str, str]]] = {}
    heading, columns = "", list[str]()
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("## "):
            heading, columns = line[3:], []
        elif line.startswith("|") and not columns:
            columns = cells
        elif line.startswith("|") and not set(line) <= set("|- "):
            result.setdefault(heading, []).append(dict(zip(columns, cells, strict=True)))
    return result


@cache
def spaces() -> dict[str, Space]:
    """Return the spaces that the code of the page defines."""
    (block,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(block, names)  # noqa: S102
    result: dict[str, Space] = names["SPACES"]
    return result


def read_row(name: str, make: Call, value: Any) -> tuple[list[float], list[int]]:
    """Read a private row as a release does; return its distances to some queries, and its image."""
    space = spaces()[name]
    (points,) = records(open_stream([make(value)]), space, None, 1)
    queries = space.read_queries((object_array if space.objects else np.array)(QUERIES[name]))
    return space.distance(points, queries).ravel().tolist(), space.quantize(points).ravel().tolist()


def read_query(name: str, make: Call, value: Any) -> list[Any]:
    """Read a query as a space does."""
    batch = object_array([make(value)])
    result: list[Any] = (spaces()[name].read_queries(batch) + 0).tolist()
    return result


@cache
def synopsis(name: str, mechanism: str) -> mp.Synopsis:
    """Return a release of a made-up table."""
    delta = 0.0 if mechanism == "hats" else 1e-6
    data = POSITIONS if name == "GreatCircle" else TABLE
    return mp.release(data, spaces()[name], epsilon=50, delta=delta, mechanism=mechanism)


def answer_at(name: str, mechanism: str, value: Any) -> float:
    """Return the answer at a point whose first column is the value; a longitude stays that of the centre."""
    return float(synopsis(name, mechanism).mean_distance([[value, 10.0 if name == "GreatCircle" else 5.0]])[0])


def answer_at_longitude(value: Any) -> float:
    """Return the answer at a longitude."""
    return float(synopsis("GreatCircle", "slopes").mean_distance([[50.0, value]])[0])


@cache
def session() -> mp.Session:
    """Return a session by field."""
    return mp.interactive(TABLE, spaces()["L1"], **BUDGET, max_queries=50, mechanism="field")


def given_query_distances(mechanism: str, value: Any) -> list[list[int]]:
    """Return the distances of some rows to given queries, as they are summed."""
    params: dict[str, Any] = {"mechanism": mechanism, "queries": [[value, 5], [1, 1]]}
    synopsis = mp.release(TABLE, spaces()["L1"], epsilon=50, delta=0.0 if mechanism == "laplace" else 1e-6, **params)
    synopsis.mean_distance([[value, 5]])
    assert synopsis.queries is not None
    result: list[list[int]] = synopsis.queries.quantize(
        spaces()["L1"].distance(TABLE[:50], synopsis.queries.points)
    ).tolist()
    return result


def group_of(row_columns: RowColumns, value: Any) -> int | str:
    """Return the group of a row."""
    group = row_columns.block(np.zeros((1, 1)), {"groups": [value]}).group
    assert group is not None
    return "nobody's" if group[0] < 0 else int(group[0])


def person_name(value: Any) -> bytes:
    """Return the name of a person."""
    person = RowColumns(privacy_unit=0).block(np.zeros((1, 1)), {"privacy_unit": [value]}).person
    assert person is not None
    return bytes(person[0])


def weight_steps(value: Any) -> int:
    """Return a weight in steps."""
    row_columns = RowColumns(row_weights=0, max_row_weight=2.0)
    steps = row_columns.block(np.zeros((1, 1)), {"row_weights": [value]}).weight
    assert steps is not None
    return int(steps[0])


def magnitude_cells(value: Any) -> list[int]:
    """Return the cells of a value that `find_bounds` counts."""
    result: list[int] = np.flatnonzero(read_magnitudes([[value]])[1].counts).tolist()
    return result


def run_on_equal_rows(function: Callable[..., Any], params: dict[str, Any], rows: Any) -> str:
    """Run a function on a table of equal rows."""
    columns = {param: [entry] * rows for param, entry in params.items() if param in ("groups", "row_weights")}
    function(np.full((rows, 1), 5.0), **params | columns)
    return "answered"


def read_or_far(name: str, value: Any) -> str | tuple[list[float], list[int]]:
    """Read a row as `read_row`, or return "far" where it is the diameter away from all queries."""
    record = read_row(name, lambda value: value, value)
    return "far" if set(record[0]) == {spaces()[name].diameter} else record


def _calls() -> dict[tuple[str, str], list[Call]]:
    numbers, queries, labels = "Private numbers", "Queries that are numbers", "Labels and flags"
    objects, row_columns, few, public = (
        "Sequences and objects",
        "Groups, persons and weights",
        "Small tables",
        "Public arguments",
    )
    point, pair = (lambda value: [value, 5]), (lambda value: (value, True))
    release_params = {"space": mp.L1([(0, 10)]), "epsilon": 1, "delta": 1e-6}
    session_params = release_params | {"max_queries": 3}
    add_remove, grouped_rows = {"neighbors": "add-remove"}, {"groups": "a", "labels": ["a"]}
    return {
        (numbers, "L1, L2, Lp"): [partial(read_row, name, point) for name in ("L1", "L2", "Lp")],
        (numbers, "Gower"): [partial(read_row, "Gower", point)],
        (numbers, "GreatCircle, lat"): [partial(read_row, "GreatCircle", lambda value: [value, 10.5])],
        (numbers, "GreatCircle, lon"): [partial(read_row, "GreatCircle", lambda value: [50.5, value])],
        (numbers, "Angular"): [partial(read_row, "Angular", point)],
        (numbers, "find_bounds"): [magnitude_cells],
        (queries, "L1 by slopes"): [partial(answer_at, "L1", "slopes")],
        (queries, "L1 by hats"): [partial(answer_at, "L1", "hats")],
        (queries, "L2, Lp, Gower by slopes"): [partial(answer_at, name, "slopes") for name in ("L2", "Lp", "Gower")],
        (queries, "L1 by tangents"): [partial(answer_at, "L1", "tangents")],
        (queries, "L1 by gaussian, laplace, net or field"): [
            partial(given_query_distances, name) for name in ("gaussian", "laplace", "net", "field")
        ],
        (queries, "L1 in a session of field"): [lambda value: session().ask([value, 5]).value],
        (queries, "GreatCircle, lat"): [partial(answer_at, "GreatCircle", "slopes")],
        (queries, "GreatCircle, lon"): [answer_at_longitude],
        (queries, "Angular"): [partial(answer_at, "Angular", "slopes")],
        (labels, "category, private"): [partial(read_row, "labels", pair)],
        (labels, "category, query"): [partial(read_query, "labels", pair)],
        (labels, "flag, private"): [partial(read_row, "labels", lambda value: ("a", value))],
        (labels, "flag, query"): [partial(read_query, "labels", lambda value: ("a", value))],
        (objects, "Hamming, private"): [partial(read_row, "Hamming", lambda value: value)],
        (objects, "Hamming, query"): [partial(read_query, "Hamming", lambda value: value)],
        (objects, "AnyMetric, private"): [partial(read_or_far, "AnyMetric")],
        (objects, "AnyMetric, query"): [partial(read_query, "AnyMetric", lambda value: value)],
        (objects, "universe, private"): [partial(read_or_far, "universe")],
        (row_columns, "groups"): [partial(group_of, GROUPED)],
        (row_columns, "groups with other"): [partial(group_of, OTHERS)],
        (row_columns, "privacy_unit"): [person_name],
        (row_columns, "row_weights"): [weight_steps],
        (few, "release"): [partial(run_on_equal_rows, mp.release, release_params)],
        (few, "release, add-remove"): [partial(run_on_equal_rows, mp.release, release_params | add_remove)],
        (few, "release, groups"): [partial(run_on_equal_rows, mp.release, release_params | grouped_rows)],
        (few, "release, weights"): [
            partial(run_on_equal_rows, mp.release, release_params | {"row_weights": 1.0, "max_row_weight": 1})
        ],
        (few, "interactive"): [partial(run_on_equal_rows, mp.interactive, session_params)],
        (few, "interactive, add-remove"): [partial(run_on_equal_rows, mp.interactive, session_params | add_remove)],
        (few, "find_bounds"): [partial(run_on_equal_rows, mp.find_bounds, {"epsilon": 1})],
        (few, "find_bounds, add-remove"): [partial(run_on_equal_rows, mp.find_bounds, {"epsilon": 1} | add_remove)],
        (public, "epsilon"): [mp.Guarantee],
        (public, "delta"): [lambda value: mp.Guarantee(1, value).delta],
        (public, "bounds (0, value)"): [lambda value: mp.L1([(0, value)]).diameter],
    }


CALLS = _calls()


@cache
def result_for(call: Call, text: str) -> Any:
    """Return the result for the value that another is said to be like."""
    return call(value_of(text))


def mismatch(cell: str, call: Call, value: Any) -> str:
    """Return why a cell is not true of a value; empty where it is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = call(value)
        except mp.MilepostError as error:
            return "" if cell == "refused" else f"it is refused: {error}"
        if cell == "itself" or cell == result:
            return ""
        if cell == "continued":
            return "" if math.isclose(result, call(10) + 10, rel_tol=1e-6) else f"it is {result}"
        if cell.startswith("as "):
            return "" if result == result_for(call, cell[3:]) else f"it is {result}"
    return f"it is {result}"


def faults(heading: str, row: dict[str, str], only: str = "") -> list[str]:
    """Return what is wrong with a row of the page, or with the cell of one column."""
    cells = list(row.items())
    (text,) = re.findall(r"`([^`]*)`", cells[0][1])
    result = []
    for column, cell in [(column, cell) for column, cell in cells[1:] if only in ("", column)]:
        for call in CALLS[heading, column]:
            why = mismatch(cell, call, value_of(text))
            result += [f"{heading}, {text}, {column}: {cell!r}, but {why}"] if why else []
    return result
