"""Queries: public points, or functions of the distances to some, each a question about every record."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from operator import mul
from typing import Any

import numpy as np

from milepost._typing import AnyArray, FloatArray, IntArray
from milepost.errors import MilepostError, warn
from milepost.spaces.base import Space, distance_range, metric_distances
from milepost.spaces.distances.functions import (
    FUNCTIONS,
    POINT,
    WEIGHT_BITS,
    WEIGHT_ONE,
    DistanceFunction,
    WeightedSum,
    weights_of,
)
from milepost.spaces.embeddings.embedding import QUANTA
from milepost.spaces.kernels.point_combinations import PointCombinations

# share of a ball's radius, or of half the width of a box, up to which a query is moved inside without a warning: the
# rounding of float32 leaves vectors of length 1 that far outside the unit ball
BORDER = 1e-6 * (1 + 1e-6)
FUNCTION_ERROR = 2.0**-42  # of a function's value, in diameters, by rounding of its weights and terms
MAX_FACTOR = 1e100  # of a function's values


@dataclass(frozen=True, eq=False)
class Queries:
    """k questions about a record: its distances to k points or, with functions, functions of its distances to some.

    points: as the space's `read_queries` returns them; with functions, those of all functions, one after the other.
    functions: k of them, or None where each query is the distance to its point. given_factors: float64[k], which
    answers are multiplied by; None for 1.
    """

    points: AnyArray
    space: Space
    functions: tuple[DistanceFunction, ...] | None = None
    given_factors: FloatArray | None = None

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
        return len(self.points) if self.functions is None else len(self.functions)

    @cached_property
    def factors(self) -> FloatArray:
        """The numbers that answers are multiplied by: float64[k]."""
        return np.ones(self.count) if self.given_factors is None else self.given_factors

    @cached_property
    def _starts(self) -> IntArray:
        """The index of the first point of each query, and the number of points: int64[k + 1]."""
        counts = [1] * self.count if self.functions is None else [function.count for function in self.functions]
        return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts, dtype=np.int64)])

    def _parts(self) -> list[tuple[DistanceFunction, slice]]:
        """Return the function of each query and the slice of its points."""
        functions = (POINT,) * self.count if self.functions is None else self.functions
        ends = self._starts.tolist()
        return [(function, slice(*ends[k : k + 2])) for k, function in enumerate(functions)]

    @cached_property
    def combinations(self) -> PointCombinations:
        """The queries as weighted sums of distances; refuse other functions."""
        if self.functions is None:
            return PointCombinations(self.points)
        return PointCombinations(self.points, weights_of(self.functions) / WEIGHT_ONE, np.diff(self._starts))

    @classmethod
    def of_sums(cls, sums: PointCombinations, space: Space) -> "Queries":
        """Return the queries of which `combinations` returned these sums."""
        if sums.weights is None:
            return cls(sums.points, space)
        weights = (sums.weights * WEIGHT_ONE).astype(np.int64).tolist()
        ends = sums.starts.tolist()
        functions = tuple(WeightedSum(tuple(weights[start:end])) for start, end in pairwise(ends))
        return cls(sums.points, space, functions)

    @cached_property
    def point_indices(self) -> IntArray:
        """The indices of the queries that are the distance to one point."""
        return np.array([k for k, (function, _) in enumerate(self._parts()) if function.is_point], dtype=np.int64)

    @cached_property
    def non_negative(self) -> AnyArray:
        """Whether each query has no negative values: bool[k]."""
        return np.array([function.non_negative for function, _ in self._parts()], dtype=bool)

    @property
    def single_points(self) -> AnyArray:
        """The points of the queries that are the distance to one point."""
        return self.points[self._starts[self.point_indices]]

    def select(self, indices: Sequence[int]) -> "Queries":
        """Return some of the queries, in this order."""
        factors = None if self.given_factors is None else self.given_factors[list(indices)]
        if self.functions is None:
            return replace(self, points=self.points[list(indices)], given_factors=factors)
        parts = [self._parts()[index] for index in indices]
        points = np.concatenate([self.points[:0], *(self.points[part] for _, part in parts)])
        return Queries(points, self.space, tuple(function for function, _ in parts), factors)

    def with_points_as_given(self) -> "Queries":
        """Return the queries of a release: those that are the distance to one point have no factor, as points have."""
        factors = self.factors.copy()
        factors[self.point_indices] = 1
        return self if self.functions is None else replace(self, given_factors=factors)

    def at(self, points: AnyArray) -> "Queries":
        """Return the same functions of the distances to other points, without factors."""
        return Queries(points, self.space, self.functions)

    def sum_errors(self, errors: FloatArray) -> FloatArray:
        """Return bounds of the errors of queries, float64[k], whose points' distances have errors float64[m]."""
        if self.functions is None:
            return errors
        return np.array([float(errors[part].max()) for _, part in self._parts()])

    @property
    def quantum(self) -> float:
        """The distance of one quantum, of which a distance has at most 2²⁴."""
        return self.diameter / QUANTA

    @property
    def bias(self) -> float:
        """The largest error of a mean distance by rounding of points and to quanta, before its factor."""
        more = 0.0 if self.functions is None else FUNCTION_ERROR * self.diameter
        return self.quantum / 2 * (1 + 1e-6) + self.space.distance_error + more

    @cached_property
    def _limits(self) -> FloatArray:
        """`low` and `high`, in two rows of whole numbers."""
        limits = self._point_limits()
        if self.functions is None:
            return limits
        ranges = []
        for function, part in self._parts():
            between = None if function.is_point else metric_distances(self.space, self.points[part])
            quanta = None if between is None else between / self.quantum + self.space.distance_error / self.quantum
            ranges.append(function.range(limits[0, part], limits[1, part], quanta))
        return np.asarray(np.clip(np.array(ranges).reshape(-1, 2).T, -QUANTA, QUANTA))

    def _point_limits(self) -> FloatArray:
        """Return the range of the distances to each point, in two rows of whole numbers."""
        ends = tuple(np.asarray(end, dtype=np.float64) for end in distance_range(self.space, self.points))
        if not (
            all(end.shape == (len(self.points),) for end in ends) and len(ends) == 2 and (ends[0] <= ends[1]).all()
        ):
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
        """The smallest value of any record for each query, in quanta and with one quantum of room: int64[k]."""
        return np.asarray(self._limits[0].astype(np.int64))

    @cached_property
    def high(self) -> IntArray:
        """The largest value of any record for each query, in quanta and with one quantum of room; above `low`."""
        return np.asarray(self._limits[1].astype(np.int64))

    @property
    def max_range(self) -> float:
        """The largest difference of the values that two records can have for one query, with its factor."""
        return float(((self.high - self.low) * self.factors).max() * self.quantum)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state with the range: other computers may round it otherwise, and must clip to the same one."""
        _ = self._limits
        return dict(vars(self))

    @cached_property
    def prepared(self) -> AnyArray:
        """The queries as the space's `distance_tiles` takes them."""
        return self.space.tiled_distance.prepare_queries(self.points)

    def evaluate(self, distances: FloatArray) -> IntArray:
        """Return the records' values int64[n, k] in whole quanta, from their distances float64[n, m] to the points.

        A value depends on its own record only, and is within ±2²⁴ whatever the distances are.
        """
        if self.functions is None:
            return self.quantize(distances)
        inside = np.maximum(np.fmin(distances, self.diameter), 0)  # the diameter for NaN
        result = np.empty((self.count, len(distances)), dtype=np.int64).T
        for k, (function, part) in enumerate(self._parts()):
            quanta = np.rint(function.evaluate(inside[:, part]) * (QUANTA / self.diameter))
            result[:, k] = np.clip(quanta, -QUANTA, QUANTA)
        return result

    def round_sums(self, sums: Sequence[int], bits: int) -> list[int]:
        """Return the sums of all records' values, in quanta, from exact sums of distances to the points × 2^bits.

        Weighted sums only: of other functions, the sum is none of sums. Each result is rounded once.
        """
        if self.functions is not None:
            weights, bits = weights_of(self.functions).tolist(), bits + WEIGHT_BITS
            products = list(map(mul, weights, sums))
            sums = [sum(products[part]) for _, part in self._parts()]
        half = 1 << (bits - 1)
        return [(total + half) >> bits for total in sums]

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
        return self.find_queries(Queries(points, self.space))

    def find_queries(self, queries: "Queries") -> IntArray:
        """Return the indices of other queries among these, whatever their factors; refuse one that is not there."""
        keys = queries.keys()
        missing = next((k for k, key in enumerate(keys) if key not in self._indices), None)
        if missing is None:
            return np.array([self._indices[key] for key in keys], dtype=np.int64)
        function, part = queries._parts()[missing]
        points = queries.points[part].tolist()
        what = points[0] if function.is_point else f"a function of the distances to {points}"
        raise MilepostError(
            f"this release answers the {self.count:,} queries it was made for and no others; {what} is not among them"
        )

    def __contains__(self, queries: "Queries") -> bool:
        return all(key in self._indices for key in queries.keys())  # noqa: SIM118

    def keys(self) -> list[Hashable]:
        """Return keys of the queries, the same for equal ones, whatever their factors: 0.0 and −0.0 are equal."""
        if self.functions is None:
            return [key_of(point) for point in self.points]
        points = [key_of(point) for point in self.points]
        return [
            points[part.start] if function.is_point else (function.key, *points[part])
            for function, part in self._parts()
        ]

    @cached_property
    def _indices(self) -> dict[Hashable, int]:
        return {key: index for index, key in reversed(list(enumerate(self.keys())))}

    def to_json(self) -> list[Any]:
        """Return the JSON that the card stores: points, and functions with their points."""
        points: list[Any] = self.points.tolist()
        if self.functions is None:
            return points
        factors = self.factors.tolist()
        return [
            points[part.start]
            if function.is_point
            else {"function": function.kind, "points": points[part], "of": function.parameters(), "factor": factor}
            for (function, part), factor in zip(self._parts(), factors, strict=True)
        ]

    @classmethod
    def from_json(cls, space: Space, items: list[Any]) -> "Queries":
        """Return the queries that `to_json` described; refuse those that the space does not have."""
        functions, factors, points = None, None, items
        if any(isinstance(item, dict) for item in items):
            parts = [_from_json(item) for item in items]
            functions = tuple(function for function, _, _ in parts)
            factors = np.array([factor for _, factor, _ in parts])
            points = [point for _, _, some in parts for point in some]
        given = space.given_queries
        array = np.array(points, dtype=np.float64 if given is None else np.int64)
        result = cls(array, space, functions, factors)
        if given is not None and not np.isin(result.points, given).all():
            raise MilepostError("the file's queries are not those of its space")
        _ = result.low  # refuse points that have no range
        return result


def _from_json(item: Any) -> tuple[DistanceFunction, float, list[Any]]:
    """Return the function, the factor and the points of a query in a card."""
    if not isinstance(item, dict):
        return POINT, 1.0, [item]
    function, factor = FUNCTIONS[item["function"]].from_parameters(item["of"]), item["factor"]
    if isinstance(factor, bool) or not isinstance(factor, int | float) or not 0 < factor <= MAX_FACTOR:
        raise MilepostError("the file has a query whose factor is wrong")
    if not isinstance(item["points"], list) or len(item["points"]) != function.count or function.is_point:
        raise MilepostError("the file has a query whose points do not fit its function")
    return function, float(factor), item["points"]


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
