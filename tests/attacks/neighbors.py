"""Random neighboring tables, and all that an outsider can see of a release or a session on one of them."""

import io
import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import milepost as mp
from milepost.spaces.objects import object_array
from tests.attacks.cases import CASES, NEED_QUERIES, SPECIAL, Case, Row, outcome
from tests.mechanisms.contract import Transcript

NUMBERS = [value for name, value in SPECIAL.items() if name not in ("nan", "missing", "beyond")]
CELLS: dict[tuple[str, int], list[Any]] = {  # of columns that are no numbers; the last two are refused
    ("gower", 1): ["a", "b", "zz", "", None, 5, math.nan, "other"],
    ("gower", 2): [True, False, "yes", 0, -0.0, 1, "no", "perhaps", None],
    ("hamming", 0): ["A", "C", "G", "T", "N", "", None, 7],
    ("hamming", 1): ["A", "B", "Z", "", None, math.inf],
}
CONTAINERS = ("rows", "array", "pandas", "polars", "arrow", "csv")
WEIGHTS = [0.0, -0.0, 0.3, 1.0, 2.0, -1.0, math.inf, -math.inf, 5e-324, 1e308]


@dataclass(frozen=True)
class Person:
    """One row of a table: the point, and the other columns."""

    point: Row
    group: Any
    weight: float


@dataclass(frozen=True)
class Pair:
    """Two tables that differ in one row, and how they are released."""

    kind: str
    container: str
    params: dict[str, Any]
    change: str
    first: list[Person]
    second: list[Person]

    @property
    def case(self) -> Case:
        """Its space."""
        return CASES[self.kind]


def person_of(random: np.random.Generator, kind: str, bad: float) -> Person:
    """Return a random person: half of the cells are special. bad: the rate of cells that are refused."""
    case, cells = CASES[kind], list[Any]()
    for column in range(len(case.rows[0])):
        if (kind, column) in CELLS:
            pool = CELLS[kind, column]
            refused = 2 if (kind, column) == ("gower", 2) and random.random() >= bad else 0
            cells.append(pool[int(random.integers(len(pool) - refused))])
        elif random.random() < bad:
            cells.append(math.nan)
        elif random.random() < 0.5:
            cells.append(NUMBERS[int(random.integers(len(NUMBERS)))])
        else:
            cells.append(float(random.uniform(-2, 12)))
    group = ["x", "y", "z", None][int(random.integers(4))]
    return Person(tuple(cells), group, WEIGHTS[int(random.integers(len(WEIGHTS)))])


def pairs_of(random: np.random.Generator, kinds: Sequence[str], mechanisms: Sequence[str], count: int) -> list[Pair]:
    """Return a table of few rows with neighbors: a row replaced, added, removed or moved to another index."""
    kind = kinds[int(random.integers(len(kinds)))]
    relation = ("replace", "add-remove")[int(random.integers(2))]
    params: dict[str, Any] = {"mechanism": mechanisms[int(random.integers(len(mechanisms)))], "neighbors": relation}
    if random.random() < 0.2:
        params["labels"] = ["x", "y"] if random.random() < 0.5 else ["x", "other"]
    if random.random() < 0.2:
        params["max_row_weight"] = 2.0
    if relation == "add-remove" and random.random() < 0.5:
        params["n"] = 20
    bad = 0.02 if random.random() < 0.3 else 0.0
    first = [person_of(random, kind, bad) for _ in range(int(random.integers(2, 8)))]
    container = "rows" if CASES[kind].space.objects else CONTAINERS[int(random.integers(len(CONTAINERS)))]
    changes = {"replace": ("replaced", "moved"), "add-remove": ("added", "removed", "replaced", "moved")}[relation]
    result = []
    for _ in range(count):
        change = changes[int(random.integers(len(changes)))]
        second = neighbor_of(random, first, change, person_of(random, kind, bad))
        result.append(Pair(kind, container, params, change, first, second))
    return result


def neighbor_of(random: np.random.Generator, first: list[Person], change: str, person: Person) -> list[Person]:
    index, new_index = (int(k) for k in random.integers(len(first), size=2))
    rest = [*first[:index], *first[index + 1 :]]
    return {
        "replaced": [*first[:index], person, *first[index + 1 :]],
        "moved": [*rest[:new_index], first[index], *rest[new_index:]],
        "added": [*first[:index], person, *first[index:]],
        "removed": rest,
    }[change]


def table_of(pair: Pair, people: Sequence[Person], folder: Path) -> Any:
    """Return the points of people in the pair's container."""
    rows = pair.case.table([person.point for person in people])
    if pair.container == "rows":
        return rows if pair.case.space.objects else [list(row) for row in rows]
    array = np.array(rows, dtype=np.float64).reshape(len(rows), pair.case.space.width)
    names = list(pair.case.space.columns or [f"c{index}" for index in range(array.shape[1])])
    columns = {name: array[:, index] for index, name in enumerate(names)}
    if pair.container == "csv":
        text = "\n".join([",".join(names), *(",".join(map(repr, row)) for row in array.tolist()), ""])
        (folder / "people.csv").write_text(text)
        return folder / "people.csv"
    make: Any = {"array": lambda _: array, "pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}
    return make[pair.container](columns)


@contextmanager
def saved_to(content: list[bytes]) -> Iterator[None]:
    """Append the files that are saved within the block to content."""

    @contextmanager
    def stream(_: Path) -> Iterator[BinaryIO]:
        with io.BytesIO() as result:
            yield result
            content.append(result.getvalue())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("milepost.synopsis.file_format.atomic_write", stream)
        yield


def release_outputs(pair: Pair, people: Sequence[Person], folder: Path) -> tuple[Any, ...]:
    """Release a table, and return all that is public about it: the file with its card, statement, answers."""
    case, params = pair.case, dict(pair.params)
    if params["mechanism"] in NEED_QUERIES and case.space.given_queries is None:
        params["queries"] = case.user_queries
    if "labels" in params:
        params["groups"] = [person.group for person in people]
    if "max_row_weight" in params:
        params["row_weights"] = [person.weight for person in people]
    synopsis = mp.release(table_of(pair, people, folder), case.space, epsilon=1, delta=1e-6, **params)
    content: list[bytes] = []
    with saved_to(content):
        synopsis.save("people.milepost")
    answers = [
        np.array(synopsis.interval(case.user_queries, group=label)).tolist() for label in synopsis.labels[:1] or (None,)
    ]
    return content[0], synopsis.statement(), repr(synopsis), answers


def session_outputs(pair: Pair, people: Sequence[Person], folder: Path) -> tuple[Any, ...]:
    """Ask a session, and return all that is public about it: answers, transcript, remaining questions."""
    case = pair.case
    params = {param: value for param, value in pair.params.items() if param != "labels"}
    if "max_row_weight" in params:
        params["row_weights"] = [person.weight for person in people]
    table = table_of(pair, people, folder)
    with mp.interactive(table, case.space, epsilon=1, delta=1e-6, max_queries=5, **params) as session:
        answers = [session.ask(point, name=f"{index}") for index, point in enumerate(case.user_queries)]
        return answers, repr(session.transcript()), session.remaining, repr(session)


def observe(
    work: Any, pair: Pair, people: Sequence[Person], folder: Path, transcript: Transcript
) -> tuple[Any, list[str]]:
    """Return the outcome and the warnings of the work with the noise of the transcript."""
    with transcript.listen(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = outcome(work, pair, people, folder)
    return result, [str(warning.message) for warning in caught]


def refusals(pair: Pair, people: Sequence[Person]) -> list[str]:
    """Return the refusals of all rows that must be refused, each read as a separate table."""
    space, texts = pair.case.space, list[str]()
    for person in people:
        if pair.case.refused(person.point):
            (row,) = pair.case.table([person.point])
            texts.append(outcome(space.read, object_array([row]) if space.objects else np.array([row], dtype=object)))
    return texts
