"""Queries: public points that are fixed before a release, which answers these and no others."""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from milepost._typing import AnyArray, FloatArray, IntArray
from milepost.errors import MilepostError, warn
from milepost.spaces.base import Space, distance_range
from milepost.spaces.embeddings.embedding import QUANTA

# share of a ball's radius, or of half the width of a box, up to which a query is moved inside without a warning: the
# rounding of float32 leaves vectors of length 1 that far outside the unit ball
BORDER = 1e-6 * (1 + 1e-6)


@dataclass(frozen=True, eq=False)
class Queries:
    """k points of a space, as its `read_queries` returns them."""

    points: AnyArray
    space: Space

    @property
    def diameter(self) -> float:
        """The largest distance of a record to a query."""
        return self.space.diameter

    @cached_property
    def mechanism_cache(self) -> dict[str, Any]:
        """A cache of what mechanisms computed for these queries, by name of the mechanism; copies share it."""
        return {}

    @property
    def count(self) -> int:
        """The number of queries."""
        return len(self.points)

    @property
    def quantum(self) -> float:
        """The distance of one quantum, of which a distance has at most 2²⁴."""
        return self.diameter / QUANTA

    @property
    def bias(self) -> float:
        """The largest error of a mean distance by rounding of points and to quanta."""
        return self.quantum / 2 * (1 + 1e-6) + self.space.distance_error

    @cached_property
    def _limits(self) -> FloatArray:
        """`low` and `high`, in two rows of whole numbers."""
        ends = tuple(np.asarray(end, dtype=np.float64) for end in distance_range(self.space, self.points))
        if not (all(end.shape == (self.count,) for end in ends) and len(ends) == 2 and (ends[0] <= ends[1]).all()):
            raise MilepostError(
                f"distance_range of space {self.space.kind} must return the smallest and the largest distance to each "
                "query: two arrays of one length, the first nowhere above the second"
            )
        low, high = np.clip(ends, 0, self.diameter)
        error = self.space.distance_error
        quanta = np.floor((low - error) / self.quantum) - 1, np.ceil((high + error) / self.quantum) + 1
        return np.asarray(np.clip(quanta, 0, QUANTA))

    @cached_property
    def low(self) -> IntArray:
        """The smallest distance of any record to each query, in quanta and with one quantum of room: int64[k]."""
        return np.asarray(self._limits[0].astype(np.int64))

    @cached_property
    def high(self) -> IntArray:
        """The largest distance of any record to each query, in quanta and with one quantum of room; above `low`."""
        return np.asarray(self._limits[1].astype(np.int64))

    @property
    def max_range(self) -> float:
        """The largest difference of the distances that two records can have to one query."""
        return float((self.high - self.low).max() * self.quantum)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state with the range: other computers may round it otherwise, and must clip to the same one."""
        _ = self._limits
        return dict(vars(self))

    @cached_property
    def prepared(self) -> AnyArray:
        """The queries as the space's `distance_tiles` takes them."""
        return self.space.tiled_distance.prepare_queries(self.points)

    def quantize(self, distances: FloatArray) -> IntArray:
        """Return distances float64[n, k] in whole quanta, each within 0..2²⁴ whatever the input."""
        return self.whole_quanta(distances).astype(np.int64)

    def whole_quanta(self, distances: FloatArray, out: FloatArray | None = None) -> FloatArray:
        """Return `quantize` of distances as float64."""
        quanta = np.multiply(distances, QUANTA / self.diameter, out=out)
        np.rint(quanta, out=quanta)
        if not (quanta.min(initial=0) >= 0 and quanta.max(initial=0) <= QUANTA):  # rare, and true of NaN
            np.fmin(quanta, QUANTA, out=quanta)  # of NaN, too
            np.maximum(quanta, 0, out=quanta)
        return quanta

    def find(self, points: AnyArray) -> IntArray:
        """Return the indices of points among the queries; refuse a point that is not one of them."""
        try:
            return np.array([self._indices[key_of(point)] for point in points], dtype=np.int64)
        except KeyError as missing:
            raise MilepostError(
                f"this release answers the {self.count:,} queries it was made for and no others; "
                f"{np.array(missing.args[0]).tolist()} is not among them"
            ) from None

    @cached_property
    def _indices(self) -> dict[Hashable, int]:
        return {key_of(point): index for index, point in reversed(list(enumerate(self.points)))}

    def to_json(self) -> list[Any]:
        """Return the JSON that the card stores."""
        result: list[Any] = self.points.tolist()
        return result

    @classmethod
    def from_json(cls, space: Space, points: list[Any]) -> "Queries":
        """Return the queries that `to_json` described; refuse those that the space does not have."""
        given = space.given_queries
        result = cls(np.array(points, dtype=np.float64 if given is None else np.int64), space)
        if given is not None and not np.isin(result.points, given).all():
            raise MilepostError("the file's queries are not those of its space")
        _ = result.low  # refuse points that have no range
        return result


def key_of(point: AnyArray) -> Hashable:
    """Return a hashable key, the same for equal points: 0.0 and −0.0 are equal."""
    return tuple(point.tolist()) if point.ndim else point.item()


def move_inside(space: Space, queries: AnyArray) -> AnyArray:
    """Return queries moved into the space, with a warning where some lie farther outside than rounding leaves them."""
    inside = space.clip_points(queries)
    if count := _count_moved(space, queries, inside):
        warn(f"{count} of {len(queries)} queries lie outside the space; they are answered at its border")
    return inside


def _count_moved(space: Space, queries: AnyArray, inside: AnyArray) -> int:
    """Return how many queries were moved by more than `BORDER`; by anything, where the space has no extent."""
    moved = np.unique(np.nonzero(queries != inside)[0])
    extent = space.extent
    if not len(moved) or extent is None or queries.shape[1:] != (len(extent),):
        return len(moved)
    low, high = np.array(extent).T
    with np.errstate(all="ignore"):  # a column without width has 0/0 where a query was not moved
        shares = (queries[moved] - inside[moved]) / ((high - low) / 2)
        shares[queries[moved] == inside[moved]] = 0
        return int(np.count_nonzero(~(np.sqrt((shares * shares).sum(axis=1)) <= BORDER)))
