"""Queries: points given beforehand, the public side of a release that answers them and no others."""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from milepost._typing import AnyArray, FloatArray, IntArray
from milepost.errors import MilepostError, warn
from milepost.spaces.base import Space
from milepost.spaces.embeddings.embedding import QUANTA


@dataclass(frozen=True, eq=False)
class Queries:
    """k points of a space, as its `read_queries` gives them."""

    points: AnyArray
    space: Space

    @property
    def diameter(self) -> float:
        """The largest distance that a record can have to one."""
        return self.space.diameter

    @cached_property
    def for_queries(self) -> dict[str, Any]:
        """What mechanisms have found out about them, by name; copies have it, too."""
        return {}

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.points)

    @property
    def quantum(self) -> float:
        """The distance of one quantum, of which a distance has at most 2²⁴."""
        return self.diameter / QUANTA

    @property
    def bias(self) -> float:
        """How far rounding to quanta may move a mean distance."""
        return self.quantum / 2 * (1 + 1e-6)

    def quantize(self, distances: FloatArray) -> IntArray:
        """Distances float64[n, k] in whole quanta, each within 0..2²⁴ whatever came."""
        quanta = np.asarray(distances * (QUANTA / self.diameter))
        np.rint(quanta, out=quanta)
        np.fmin(quanta, QUANTA, out=quanta)  # of NaN, too
        return np.maximum(quanta, 0, out=quanta).astype(np.int64)

    def find(self, points: AnyArray) -> IntArray:
        """Positions of points among the queries; one that is not there is refused."""
        try:
            return np.array([self._positions[key_of(point)] for point in points], dtype=np.int64)
        except KeyError as missing:
            raise MilepostError(
                f"this release answers the {self.count:,} queries it was made for and no others; "
                f"{np.array(missing.args[0]).tolist()} is not among them"
            ) from None

    @cached_property
    def _positions(self) -> dict[Hashable, int]:
        return {key_of(point): position for position, point in reversed(list(enumerate(self.points)))}

    def to_json(self) -> list[Any]:
        """As the card stores them."""
        result: list[Any] = self.points.tolist()
        return result

    @classmethod
    def from_json(cls, space: Space, points: list[Any]) -> "Queries":
        """The inverse of `to_json`."""
        return cls(np.array(points, dtype=np.float64 if space.known is None else np.int64), space)


def key_of(point: AnyArray) -> Hashable:
    """Equal points have equal keys: 0.0 and −0.0 are the same."""
    return tuple(point.tolist()) if point.ndim else point.item()


def move_inside(space: Space, queries: AnyArray) -> AnyArray:
    """Queries moved into the space, with a warning where there is something to move."""
    inside = space.inside(queries)
    if moved := len(np.unique(np.nonzero(inside != queries)[0])):
        warn(f"{moved} of {len(queries)} queries lie outside the space; they are answered at its border")
    return inside
