"""What docs/special-values.md says of a value, and what the library does with it."""

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
PLACES = np.random.default_rng(0).uniform((49.5, 9.5), (50.5, 10.5), (500, 2))
NUMBERS = [[1.0, 2.0], [9.0, 5.0], [4.0, 8.0]]
ASKED: dict[str, list[Any]] = {
    **dict.fromkeys(("L1", "L2", "Lp", "Gower", "Angular"), NUMBERS),
    "GreatCircle": [[50.0, 10.0], [50.3, 10.4], [49.8, 9.5]],
    "labels": [("a", True), ("1", True), ("other", False)],
    "Hamming": ["ACG", "AAA", "TTT"],
    "AnyMetric": ["colour", "color"],
    "universe": ["colour", "color"],
}
MUCH: dict[str, Any] = {"epsilon": 50, "delta": 1e-6}
Call = Callable[[Any], Any]


def value_of(text: str) -> Any:
    """A cell's Python."""
    return eval(text, {"__builtins__": {"object": object}}, NAMES)  # noqa: S307


def tables(text: str) -> dict[str, list[dict[str, str]]]:
    """Rows of each table by the heading above it, as the page has them."""
    found: dict[str, list[dict[str, str]]] = {}
    heading, columns = "", list[str]()
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("## "):
            heading, columns = line[3:], []
        elif line.startswith("|") and not columns:
            columns = cells
        elif line.startswith("|") and not set(line) <= set("|- "):
            found.setdefault(heading, []).append(dict(zip(columns, cells, strict=True)))
    return found


@cache
def spaces() -> dict[str, Space]:
    """Those of the page's own lines."""
    (block,) = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(block, names)  # noqa: S102
    result: dict[str, Space] = names["SPACES"]
    return result


def read(name: str, make: Call, value: Any) -> tuple[list[float], list[int]]:
    """A private row as a release reads it: its distances to some queries, and its image."""
    space = spaces()[name]
    (points,) = records(open_stream([make(value)]), space, None, 1)
    queries = space.read_queries((object_array if space.objects else np.array)(ASKED[name]))
    return space.distance(points, queries).ravel().tolist(), space.quantize(points).ravel().tolist()


def query(name: str, make: Call, value: Any) -> list[Any]:
    """A query as a space reads it."""
    batch = object_array([make(value)])
    result: list[Any] = (spaces()[name].read_queries(batch) + 0).tolist()
    return result


@cache
def synopsis(name: str, mechanism: str) -> mp.Synopsis:
    """A release of a made-up table."""
    delta = 0.0 if mechanism == "hats" else 1e-6
    data = PLACES if name == "GreatCircle" else TABLE
    return mp.release(data, spaces()[name], epsilon=50, delta=delta, mechanism=mechanism)


def answered(name: str, mechanism: str, value: Any) -> float:
    """At a point whose first column is the value; of places the second stays the centre's."""
    return float(synopsis(name, mechanism).mean_distance([[value, 10.0 if name == "GreatCircle" else 5.0]])[0])


def turned(value: Any) -> float:
    """At a longitude."""
    return float(synopsis("GreatCircle", "slopes").mean_distance([[50.0, value]])[0])


@cache
def session() -> mp.Session:
    """One by field."""
    return mp.interactive(TABLE, spaces()["L1"], **MUCH, max_queries=50, mechanism="field")


def given(mechanism: str, value: Any) -> list[list[int]]:
    """The distances to a given query that are summed, of some rows."""
    words: dict[str, Any] = {"mechanism": mechanism, "queries": [[value, 5], [1, 1]]}
    made = mp.release(TABLE, spaces()["L1"], epsilon=50, delta=0.0 if mechanism == "laplace" else 1e-6, **words)
    made.mean_distance([[value, 5]])
    assert made.queries is not None
    result: list[list[int]] = made.queries.quantize(spaces()["L1"].distance(TABLE[:50], made.queries.points)).tolist()
    return result


def grouped(roles: RowColumns, value: Any) -> int | str:
    """The group of a row."""
    group = roles.read({"groups": [value]}, 1).group
    assert group is not None
    return "nobody's" if group[0] < 0 else int(group[0])


def person(value: Any) -> bytes:
    """The name of a person."""
    return bytes(RowColumns(unit=0).read({"unit": [value]}, 1).person[0])


def weight(value: Any) -> int:
    """In steps."""
    steps = RowColumns(weights=0, max_weight=2.0).read({"weights": [value]}, 1).weight
    assert steps is not None
    return int(steps[0])


def found(value: Any) -> list[int]:
    """The cells of a value that `find_bounds` counts."""
    result: list[int] = np.flatnonzero(read_magnitudes([[value]])[1].counts).tolist()
    return result


def small(what: Callable[..., Any], words: dict[str, Any], rows: Any) -> str:
    """A table of so many rows, all alike."""
    listed = {role: [entry] * rows for role, entry in words.items() if role in ("groups", "weights")}
    what(np.full((rows, 1), 5.0), **words | listed)
    return "answered"


def far(name: str, value: Any) -> str | tuple[list[float], list[int]]:
    """As `read`, or that it is the diameter from all queries."""
    record = read(name, lambda one: one, value)
    return "far" if set(record[0]) == {spaces()[name].diameter} else record


def _calls() -> dict[tuple[str, str], list[Call]]:
    numbers, queries, labels = "Private numbers", "Queries that are numbers", "Labels and flags"
    objects, roles, few, public = (
        "Sequences and objects",
        "Groups, persons and weights",
        "Small tables",
        "Public arguments",
    )
    first, pair = (lambda one: [one, 5]), (lambda one: (one, True))
    line = {"space": mp.L1([(0, 10)]), "epsilon": 1, "delta": 1e-6}
    asked = line | {"max_queries": 3}
    either, labelled = {"neighbors": "add-remove"}, {"groups": "a", "labels": ["a"]}
    return {
        (numbers, "L1, L2, Lp"): [partial(read, name, first) for name in ("L1", "L2", "Lp")],
        (numbers, "Gower"): [partial(read, "Gower", first)],
        (numbers, "GreatCircle, lat"): [partial(read, "GreatCircle", lambda one: [one, 10.5])],
        (numbers, "GreatCircle, lon"): [partial(read, "GreatCircle", lambda one: [50.5, one])],
        (numbers, "Angular"): [partial(read, "Angular", first)],
        (numbers, "find_bounds"): [found],
        (queries, "L1 by slopes"): [partial(answered, "L1", "slopes")],
        (queries, "L1 by hats"): [partial(answered, "L1", "hats")],
        (queries, "L2, Lp, Gower by slopes"): [partial(answered, name, "slopes") for name in ("L2", "Lp", "Gower")],
        (queries, "L1 by tangents"): [partial(answered, "L1", "tangents")],
        (queries, "L1 by gaussian, laplace, net or field"): [
            partial(given, name) for name in ("gaussian", "laplace", "net", "field")
        ],
        (queries, "L1 in a session of field"): [lambda one: session().ask([one, 5]).value],
        (queries, "GreatCircle, lat"): [partial(answered, "GreatCircle", "slopes")],
        (queries, "GreatCircle, lon"): [turned],
        (queries, "Angular"): [partial(answered, "Angular", "slopes")],
        (labels, "category, private"): [partial(read, "labels", pair)],
        (labels, "category, query"): [partial(query, "labels", pair)],
        (labels, "flag, private"): [partial(read, "labels", lambda one: ("a", one))],
        (labels, "flag, query"): [partial(query, "labels", lambda one: ("a", one))],
        (objects, "Hamming, private"): [partial(read, "Hamming", lambda one: one)],
        (objects, "Hamming, query"): [partial(query, "Hamming", lambda one: one)],
        (objects, "AnyMetric, private"): [partial(far, "AnyMetric")],
        (objects, "AnyMetric, query"): [partial(query, "AnyMetric", lambda one: one)],
        (objects, "universe, private"): [partial(far, "universe")],
        (roles, "groups"): [partial(grouped, GROUPED)],
        (roles, "groups with other"): [partial(grouped, OTHERS)],
        (roles, "unit"): [person],
        (roles, "weights"): [weight],
        (few, "release"): [partial(small, mp.release, line)],
        (few, "release, add-remove"): [partial(small, mp.release, line | either)],
        (few, "release, groups"): [partial(small, mp.release, line | labelled)],
        (few, "release, weights"): [partial(small, mp.release, line | {"weights": 1.0, "max_weight": 1})],
        (few, "interactive"): [partial(small, mp.interactive, asked)],
        (few, "interactive, add-remove"): [partial(small, mp.interactive, asked | either)],
        (few, "find_bounds"): [partial(small, mp.find_bounds, {"epsilon": 1})],
        (few, "find_bounds, add-remove"): [partial(small, mp.find_bounds, {"epsilon": 1} | either)],
        (public, "epsilon"): [mp.Guarantee],
        (public, "delta"): [lambda one: mp.Guarantee(1, one).delta],
        (public, "bounds (0, value)"): [lambda one: mp.L1([(0, one)]).diameter],
    }


CALLS = _calls()


@cache
def alike(call: Call, text: str) -> Any:
    """What becomes of the value that another is said to be like."""
    return call(value_of(text))


def wrong(cell: str, call: Call, value: Any) -> str:
    """Why a cell is not true of a value; empty where it is."""
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
            return "" if result == alike(call, cell[3:]) else f"it is {result}"
    return f"it is {result}"


def faults(heading: str, row: dict[str, str], only: str = "") -> list[str]:
    """What is wrong with a row of the page, or with the cell of one column."""
    cells = list(row.items())
    (text,) = re.findall(r"`([^`]*)`", cells[0][1])
    result = []
    for column, cell in [(column, cell) for column, cell in cells[1:] if only in ("", column)]:
        for call in CALLS[heading, column]:
            why = wrong(cell, call, value_of(text))
            result += [f"{heading}, {text}, {column}: {cell!r}, but {why}"] if why else []
    return result
