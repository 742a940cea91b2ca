"""Random neighboring tables, and all that somebody outside can see of a release or a session on one of them."""

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
    """One row of a table: the point, and what other columns say."""

    point: Row
    group: Any
    weight: float


@dataclass(frozen=True)
class Pair:
    """Two tables that differ in one row, and how they are released."""

    kind: str
    container: str
    words: dict[str, Any]
    change: str
    first: list[Person]
    second: list[Person]

    @property
    def case(self) -> Case:
        """Its space."""
        return CASES[self.kind]


def person_of(random: np.random.Generator, kind: str, bad: float) -> Person:
    """Anybody: half of the cells are special. bad: how often one is of those that are refused."""
    case, cells = CASES[kind], list[Any]()
    for place in range(len(case.rows[0])):
        if (kind, place) in CELLS:
            pool = CELLS[kind, place]
            refused = 2 if (kind, place) == ("gower", 2) and random.random() >= bad else 0
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
    """A table of few rows and neighbors of it: somebody replaced, added, removed or moved to another place."""
    kind = kinds[int(random.integers(len(kinds)))]
    relation = ("replace", "add-remove")[int(random.integers(2))]
    words: dict[str, Any] = {"mechanism": mechanisms[int(random.integers(len(mechanisms)))], "neighbors": relation}
    if random.random() < 0.2:
        words["labels"] = ["x", "y"] if random.random() < 0.5 else ["x", "other"]
    if random.random() < 0.2:
        words["max_weight"] = 2.0
    if relation == "add-remove" and random.random() < 0.5:
        words["n"] = 20
    bad = 0.02 if random.random() < 0.3 else 0.0
    first = [person_of(random, kind, bad) for _ in range(int(random.integers(2, 8)))]
    container = "rows" if CASES[kind].space.objects else CONTAINERS[int(random.integers(len(CONTAINERS)))]
    changes = {"replace": ("replaced", "moved"), "add-remove": ("added", "removed", "replaced", "moved")}[relation]
    result = []
    for _ in range(count):
        change = changes[int(random.integers(len(changes)))]
        second = neighbor_of(random, first, change, person_of(random, kind, bad))
        result.append(Pair(kind, container, words, change, first, second))
    return result


def neighbor_of(random: np.random.Generator, first: list[Person], change: str, somebody: Person) -> list[Person]:
    place, at = (int(k) for k in random.integers(len(first), size=2))
    rest = [*first[:place], *first[place + 1 :]]
    return {
        "replaced": [*first[:place], somebody, *first[place + 1 :]],
        "moved": [*rest[:at], first[place], *rest[at:]],
        "added": [*first[:place], somebody, *first[place:]],
        "removed": rest,
    }[change]


def table_of(pair: Pair, people: Sequence[Person], folder: Path) -> Any:
    """Their points, in the pair's container."""
    rows = pair.case.table([person.point for person in people])
    if pair.container == "rows":
        return rows if pair.case.space.objects else [list(row) for row in rows]
    array = np.array(rows, dtype=np.float64).reshape(len(rows), pair.case.space.width)
    names = list(pair.case.space.columns or [f"c{place}" for place in range(array.shape[1])])
    columns = {name: array[:, place] for place, name in enumerate(names)}
    if pair.container == "csv":
        text = "\n".join([",".join(names), *(",".join(map(repr, row)) for row in array.tolist()), ""])
        (folder / "people.csv").write_text(text)
        return folder / "people.csv"
    make: Any = {"array": lambda _: array, "pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}
    return make[pair.container](columns)


@contextmanager
def in_memory(content: list[bytes]) -> Iterator[None]:
    """Files that are saved meanwhile come here."""

    @contextmanager
    def stream(_: Path) -> Iterator[BinaryIO]:
        with io.BytesIO() as result:
            yield result
            content.append(result.getvalue())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("milepost.synopsis.file_format.atomic_write", stream)
        yield


def released(pair: Pair, people: Sequence[Person], folder: Path) -> tuple[Any, ...]:
    """A release, and all that is public about it: the file with its card, statement, answers."""
    case, words = pair.case, dict(pair.words)
    if words["mechanism"] in NEED_QUERIES and case.space.known is None:
        words["queries"] = case.asked
    if "labels" in words:
        words["groups"] = [person.group for person in people]
    if "max_weight" in words:
        words["weights"] = [person.weight for person in people]
    synopsis = mp.release(table_of(pair, people, folder), case.space, epsilon=1, delta=1e-6, **words)
    content: list[bytes] = []
    with in_memory(content):
        synopsis.save("people.milepost")
    answers = [synopsis.interval(case.asked, group=label).tolist() for label in synopsis.labels[:1] or (None,)]
    return content[0], synopsis.statement(), repr(synopsis), answers


def asked(pair: Pair, people: Sequence[Person], folder: Path) -> tuple[Any, ...]:
    """A session, and all that is public about it: answers, transcript, what is left."""
    case = pair.case
    words = {word: value for word, value in pair.words.items() if word != "labels"}
    if "max_weight" in words:
        words["weights"] = [person.weight for person in people]
    table = table_of(pair, people, folder)
    with mp.interactive(table, case.space, epsilon=1, delta=1e-6, max_queries=5, **words) as session:
        answers = [session.ask(point, name=f"{place}") for place, point in enumerate(case.asked)]
        return answers, repr(session.transcript()), session.remaining, repr(session)


def seen(
    work: Any, pair: Pair, people: Sequence[Person], folder: Path, transcript: Transcript
) -> tuple[Any, list[str]]:
    """What comes of it, and what is warned of, when noise is the transcript's."""
    with transcript.listen(), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        result = outcome(work, pair, people, folder)
    return result, [str(one.message) for one in told]


def refusals(pair: Pair, people: Sequence[Person]) -> list[str]:
    """Of those rows that are refused, each read as a table of its own."""
    space, found = pair.case.space, list[str]()
    for person in people:
        if pair.case.refused(person.point):
            (row,) = pair.case.table([person.point])
            found.append(outcome(space.read, object_array([row]) if space.objects else np.array([row], dtype=object)))
    return found
