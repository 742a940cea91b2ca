"""Fixtures of the audit: tiny spaces, one of each kind, with record positions that include the worst ones."""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from milepost.spaces.angular import Angular
from milepost.spaces.arbitrary import AnyMetric
from milepost.spaces.base import Space
from milepost.spaces.distances.functions import WeightedDistances
from milepost.spaces.embeddings.embedding import QUANTA
from milepost.spaces.geographic import GreatCircle
from milepost.spaces.lp import L1, L2
from milepost.spaces.metrics import precomputed
from milepost.spaces.mixed import Hamming


@dataclass(frozen=True)
class Fixture:
    """A space, positions of records, and query points.

    positions: the ends of the space, a border between cells, a point next to the border, and points outside.
    rows: a function that makes the table of a release from positions.
    """

    name: str
    space: Callable[[], Space]
    positions: Sequence[Hashable]
    queries: Any = None
    rows: Callable[[Sequence[Any]], Any] = lambda points: np.array(points, dtype=np.float64).reshape(len(points), -1)


def steps() -> Fixture:
    """Return the integers from 0 to 2, which are two cells; 9 lies outside and counts as 2."""
    return Fixture("steps", lambda: L1([(0, 2)], step=1), (0, 1, 2, 9), queries=[[0]])


def line() -> Fixture:
    """Return an interval of 16 cells: its ends, the middle border, one quantum before it, and the middle of a cell."""
    positions = (0.0, 1.0, 0.5, 0.5 - 1 / QUANTA, 1 / 32, 1 / 16)
    return Fixture("line", lambda: L1([(0, 1)]), positions, queries=[[0.0], [0.1]])


def middle() -> Fixture:
    """Return an interval that is asked about in its middle, from which no record is farther than half of its length."""
    return Fixture("middle", lambda: L1([(0, 1)]), (0.5, 0.0, 1.0, 0.25), queries=[[0.5], [0.5]])


def sums() -> Fixture:
    """Return an interval that is asked about the difference of its ends, that of near points, a sum, and an end."""
    ends, near = [[0.0], [1.0]], [[0.0], [0.1]]
    queries = [
        WeightedDistances(ends, [1, -1]),
        WeightedDistances(near, [3, -3]),
        WeightedDistances([[0.0], [0.25], [0.5]], [2, 1, 1]),
        [0.0],
    ]
    return Fixture("weighted sums", lambda: L1([(0, 1)]), (0.0, 1.0, 0.5, 0.25), queries=queries)


def difference() -> Fixture:
    """Return an interval that is asked about the difference of its ends alone, where the ends differ most."""
    queries = [WeightedDistances([[0.0], [1.0]], [1, -1])]
    return Fixture("difference", lambda: L1([(0, 1)]), (0.0, 1.0, 0.5, 0.25), queries=queries)


def plane() -> Fixture:
    """Return two columns of steps with different weights: all corners, and the middle."""
    positions = ((0, 0), (0, 2), (2, 0), (2, 2), (1, 1))
    return Fixture("plane", lambda: L1([(0, 2), (0, 2)], weights=[1, 3], step=[1, 1]), positions, queries=[[0, 0]])


def square() -> Fixture:
    """Return a square with Euclidean distances, asked about at three places: three corners, and a query."""
    positions = ((0.0, 0.0), (1.0, 1.0), (0.0, 1.0), (0.75, 0.25))
    queries = [[0.0, 0.0], [0.75, 0.25], [0.5, 1.0]]
    return Fixture("square", lambda: L2([(0, 1), (0, 1)], directions=2), positions, queries=queries)


def disc() -> Fixture:
    """Return a disc: points at the rim, between two directions and on one, the center, and one outside."""
    between = math.sqrt(0.5)
    positions = ((-between, -between), (between, between), (1.0, 0.0), (0.0, 0.0), (9.0, -9.0))
    queries = [[-between, -between]]
    return Fixture("disc", lambda: L2(center=[0, 0], radius=1, directions=2), positions, queries=queries)


def ball() -> Fixture:
    """Return a ball of four columns: the ends of a diameter that 32 directions lengthen most, the center, and one half.

    The ends lie outside and move to the border, where their projections are scaled down.
    """
    end = (0.2604825850308715, 0.6159080696095779, -0.7237119509020813, 0.17043205334367606)
    farthest, opposite, half = (tuple(share * value for value in end) for share in (2, -2, 0.5))
    positions = (farthest, opposite, half, (0.0,) * 4)
    return Fixture("ball", lambda: L2(center=[0] * 4, radius=1, directions=32), positions, queries=[[0] * 4])


def earth() -> Fixture:
    """Return a circle on the earth: both ends of a diameter, its east end and its center, as latitude and longitude.

    The first two lie outside and move to the rim, between two of the eight directions, where they are farthest apart.
    """
    north, east = (turn(math.pi / 16) for turn in (math.sin, math.cos))
    positions = ((2 * north, 2 * east), (-2 * north, -2 * east), (0.0, 1.0), (0.0, 0.0))
    queries = [[0.998 * north, 0.998 * east]]
    return Fixture("earth", lambda: GreatCircle(center=(0, 0), radius_km=111, directions=8), positions, queries=queries)


def angles() -> Fixture:
    """Return two opposite vectors in the plane, on other sides of both directions, a right angle, and half of one."""
    positions = ((1.0, 1.0), (-1.0, -1.0), (-1.0, 1.0), (0.0, 1.0))
    return Fixture("angles", lambda: Angular(2, directions=2), positions, queries=[[1, 1]])


def letters() -> Fixture:
    """Return words of one letter."""
    return Fixture("letters", lambda: Hamming(["abc"]), ("a", "b", "c"), queries=[["a"], ["b"]], rows=list)


def objects() -> Fixture:
    """Return four objects whose distance violates the triangle inequality.

    Object 0 is near 2 and far from 3; object 1 is far from 2 and near 3. The queries are 2 and 3, which are near each
    other: their distances to a record should be similar, and are not.
    """
    table = [[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 0.1], [1, 0, 0.1, 0]]

    def space() -> Space:
        return AnyMetric(precomputed(table), diameter=1, queries=[2, 3], repetitions=1)

    return Fixture("objects", space, (0, 1, 2, 3), rows=list)


def universe() -> Fixture:
    """Return the objects of `objects` as a public universe; "stranger" is none of them, and counts as the first."""
    table = [[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 0.1], [1, 0, 0.1, 0]]

    def space() -> Space:
        return AnyMetric(precomputed(table), diameter=1, queries=[2, 3, 0], repetitions=1, universe=[0, 1, 2, 3])

    return Fixture("universe", space, (0, 1, 2, 3, "stranger"), rows=list)
