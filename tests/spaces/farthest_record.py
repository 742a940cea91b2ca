"""Spaces with queries in them, and for each query the records that are nearest to it and farthest from it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import milepost as mp
from milepost._typing import AnyArray
from milepost.auditing.check_space import default_records
from milepost.spaces.base import Space
from milepost.spaces.geographic import EARTH_KM, geographic
from milepost.spaces.objects import object_array
from milepost.spaces.queries import Queries

PATH = np.abs(np.subtract.outer(np.arange(12.0), np.arange(12.0)))
RANDOM = np.random.default_rng(0)


@dataclass(frozen=True)
class RangeCase:
    """A space, queries as a user writes them, other records, and the functions that find a query's extreme records."""

    space: Space
    points: Sequence[Any]
    farthest: Callable[[Any], Any]
    records: Sequence[Any]
    nearest: Callable[[Any], Any] = lambda query: query

    @property
    def queries(self) -> Queries:
        if self.space.given_queries is not None:
            return Queries(self.space.given_queries, self.space)
        return Queries(self.space.clip_points(self.space.read_queries(self.table(self.points))), self.space)

    def table(self, rows: Sequence[Any]) -> AnyArray:
        return object_array(list(rows)) if self.space.objects else np.array(rows, dtype=np.float64)

    def extremes(self, query: int) -> tuple[Any, Any]:
        """The records that are nearest to a query and farthest from it."""
        point = self.points[query]
        return self.nearest(point), self.farthest(point)

    def distances(self, rows: Sequence[Any]) -> AnyArray:
        return self.space.distance(self.space.read(self.table(rows)), self.queries.points)


def box(space: Any, shares: Sequence[float] = (0, 0.2, 0.5, 0.9, 1)) -> RangeCase:
    """Queries along the diagonal of a box, and at a corner of the others; corners, a grid and random records."""
    low, high = np.array(space.extent).T
    points = [low + share * (high - low) for share in shares]
    points.append(np.where(np.arange(len(low)) % 2, low, high))

    def farthest(query: Any) -> Any:
        return np.where(query - low > high - query, low, high)

    return RangeCase(space, points, farthest, [*default_records(space), *points])


def ball(space: Any) -> RangeCase:
    """Queries along a radius of a ball, and records of its box, which are moved into it."""
    side = np.ones(space.width) / np.sqrt(space.width)
    points = [space.center + share * space.radius * side for share in (0, 0.3, 0.999, -1)]

    def farthest(query: Any) -> Any:
        away = query - space.center
        length = np.linalg.norm(away)
        return space.center - space.radius * (away / length if length else side)

    return RangeCase(space, points, farthest, list(default_records(space)))


def cap(space: Any) -> RangeCase:
    """Queries to the north, and to the south-east, of the centre of a cap, and on its border."""

    def place(distance: float, turn: float) -> tuple[float, float]:
        angle = distance / EARTH_KM
        vector = [np.sin(angle) * np.sin(turn), np.sin(angle) * np.cos(turn), np.cos(angle)]
        return geographic(np.array(vector), space.latitude, space.longitude)

    turns = {0.0: 1.0, 0.25: 0.0, 0.7: 2.3, 1.0: -2.0}
    points = [place(share * space.radius_km, turn) for share, turn in turns.items()]
    opposite = {point: place(space.radius_km, turn + np.pi) for point, turn in zip(points, turns.values(), strict=True)}
    grid = [place(r * space.radius_km, t) for r in np.linspace(0, 1.2, 9) for t in np.linspace(0, 2 * np.pi, 24)]
    return RangeCase(space, points, lambda query: opposite[tuple(query)], grid)


def gower() -> RangeCase:
    """A number, a category and a flag of different weights."""
    columns = {"age": mp.number(10, 90, step=1), "plan": mp.category(["a", "b"]), "member": mp.flag()}
    points = [(30, "a", True), (50, "b", False), (90, "other", True)]
    records = [(age, plan, member) for age in (10, 31.5, 90, 1e9) for plan in "abz" for member in (True, False)]
    return RangeCase(
        mp.Gower(columns, weights={"age": 3, "plan": 1, "member": 0.5}),
        points,
        lambda query: (10 if query[0] > 50 else 90, "b" if query[1] == "a" else "a", not query[2]),
        records,
    )


def universe() -> RangeCase:
    """The nodes 4 to 9 of a path, asked about at nodes among them and outside."""
    points, nodes = [0, 4, 6, 11], list(range(4, 10))
    return RangeCase(
        mp.AnyMetric(mp.precomputed(PATH), 11, points, universe=nodes),
        points,
        lambda query: max(nodes, key=lambda node: abs(node - query)),
        [*nodes, "unknown", 11],
        lambda query: min(nodes, key=lambda node: abs(node - query)),
    )


RANGE_CASES: dict[str, Callable[[], RangeCase]] = {
    "line": lambda: box(mp.L1([(0, 1)])),
    "weights": lambda: box(mp.L1({"a": (0, 100), "b": (-1, 1), "c": (5, 5)}, weights={"a": 0.02, "b": 3})),
    "far from 0": lambda: box(mp.L1([(1e6, 1e6 + 3)] * 2)),
    "l2 box": lambda: box(mp.L2([(0, 1), (0, 5), (2, 3)])),
    "l2, products": lambda: box(mp.L2([(0, 1)] * 9)),
    "l2, many columns": lambda: box(mp.L2([(0, 1)] * 400)),
    "lp": lambda: box(mp.Lp(1.5, [(0, 1), (-1, 4)])),
    "disc": lambda: ball(mp.L2(center=[1, -2], radius=3)),
    "ball, products": lambda: ball(mp.L2(center=[3.0] * 10, radius=2)),
    "cap": lambda: cap(mp.GreatCircle((52.5, 13.4), 40)),
    "tiny cap": lambda: cap(mp.GreatCircle((0, 0), 1e-3)),
    "pole": lambda: cap(mp.GreatCircle((88, 170), 3000)),
    "hemisphere": lambda: cap(mp.GreatCircle((10, -20), 10_007)),
    "angles": lambda: RangeCase(
        mp.Angular(3), [(1, 0, 0), (-1, 2, 0.5)], lambda query: -np.array(query), list(RANDOM.normal(size=(64, 3)))
    ),
    "table": gower,
    "letters": lambda: RangeCase(
        mp.Hamming(["AB", "ACGT"]), ["AA", "BT"], lambda query: "BC" if query[0] == "A" else "AC", ["AA", "BG", "zz"]
    ),
    "words": lambda: RangeCase(
        mp.AnyMetric(mp.edit_distance, 9, ["mile", "post"]), ["mile", "post"], lambda _: "a" * 20, ["miles", 7, ""]
    ),
    "universe": universe,
}
