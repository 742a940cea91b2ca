"""One small case of every space, and special float values, for the tests of this folder."""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import milepost as mp
from milepost.spaces.base import Space

SPECIAL: dict[str, Any] = {
    "nan": math.nan,
    "inf": math.inf,
    "-inf": -math.inf,
    "-0.0": -0.0,
    "subnormal": 5e-324,
    "-subnormal": -5e-324,
    "smallest": 2.2250738585072014e-308,
    "1e308": 1e308,
    "-1e308": -1e308,
    "largest": 1.7976931348623157e308,
    "beyond": 10**400,
    "missing": None,
}
Row = tuple[Any, ...]


@dataclass(frozen=True)
class Case:
    """A space, ordinary rows, others at its ends, and ordinary queries. single: whether a row is one object."""

    space: Space
    rows: Sequence[Row]
    ends: Sequence[Row]
    queries: Sequence[Row]
    single: bool = False

    def table(self, rows: Sequence[Row]) -> list[Any]:
        """Return rows as `release` takes them."""
        return [row[0] for row in rows] if self.single else list(rows)

    @property
    def user_queries(self) -> list[Any]:
        """Queries as a user writes them."""
        return self.table(self.queries)

    def with_value(self, row: Row, value: Any) -> Iterator[Row]:
        """Yield the row with the value in each of its columns, and in all of them."""
        for index in range(len(row)):
            yield (*row[:index], value, *row[index + 1 :])
        if len(row) > 1:
            yield (value,) * len(row)

    def refused(self, row: Row) -> bool:
        """Return whether a private row must be refused, from the documentation alone."""
        if self.space.kind == "hamming":
            return False
        if self.space.kind == "gower":  # a number, a category that has `other` for the rest, a flag
            return missing(row[0]) or row[2] not in (0, 1, "yes", "no")
        return any(map(missing, row))


def missing(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


def rows_of(width: int, low: float, high: float, count: int = 24) -> list[Row]:
    return [tuple(row) for row in np.random.default_rng(width).uniform(low, high, (count, width)).tolist()]


def apart(x: float, y: float) -> float:
    """A metric on numbers, as a user writes one."""
    return abs(x - y)


CASES: dict[str, Case] = {
    "l1": Case(mp.L1([(0, 10), (-1, 1)]), rows_of(2, -1, 1), [(0, -1), (10, 1)], [(1, 0), (9, 0.5)]),
    "l2": Case(mp.L2([(0, 10), (0, 5)], directions=4), rows_of(2, 0, 5), [(0, 0), (10, 5)], [(1, 0), (9, 0.5)]),
    "lp": Case(mp.Lp(1.5, [(0, 1), (-1, 4)], directions=4), rows_of(2, 0, 1), [(0, -1), (1, 4)], [(1, 0), (0.2, 3)]),
    "great-circle": Case(
        mp.GreatCircle((52, 13), 300, directions=4), rows_of(2, 10, 60), [(90, 0), (-90, 180)], [(52, 13), (53, 12)]
    ),
    "angular": Case(mp.Angular(3, directions=6), rows_of(3, -1, 1), [(0, 0, 0), (0, 0, -1)], [(1, 0, 0), (0, 1, 1)]),
    "gower": Case(
        mp.Gower([mp.number(0, 9), mp.category(["a", "b"]), mp.flag()]),
        [(float(k % 9), "abc"[k % 3], k % 2 == 0) for k in range(24)],
        [(0, "", False), (9, "zz", "yes")],
        [(1.5, "a", True), (9, "other", False)],
    ),
    "hamming": Case(
        mp.Hamming(["ACGT", "AB"]),
        [("ACGT"[k % 4], "AB"[k % 2]) for k in range(24)],
        [("N", ""), ("", "N")],
        [("A", "B"), ("T", "A")],
    ),
    "any": Case(
        mp.AnyMetric(apart, 10, [0.0, 3.0, 7.5], repetitions=2),
        [(float(k % 10),) for k in range(24)],
        [(1e9,), ("text",)],
        [(0.0,), (7.5,)],
        single=True,
    ),
}
NEED_QUERIES = ("field", "gaussian", "laplace", "net", "basis")


def outcome(call: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """Return the result of a call, or the text of its refusal; any other exception fails the test."""
    try:
        return call(*args, **options)
    except mp.MilepostError as refusal:
        return str(refusal)


def without_row(text: str) -> str:
    """Return a refusal without the number of the row that it is about."""
    return re.sub(r"\brow [\d,]+", "row …", text)


def finite(values: Any) -> bool:
    """Return whether all answers are numbers."""
    return bool(np.isfinite(np.asarray(values, dtype=np.float64)).all())
