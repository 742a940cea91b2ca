"""Functions of a record's distances to several public points: the queries that are no single point.

The value of a function depends on its own record only: it is computed term after term, elementwise, and rounded to
quanta once. docs/proofs/per-query.md, section 6, and docs/proofs/field.md, section 7.
"""

import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from milepost._typing import FloatArray, IntArray
from milepost.errors import MilepostError

MAX_POINTS = 512  # of one function: a sum of that many floats is off by less than 2⁻⁴³ of the largest distance
WEIGHT_BITS = 52
WEIGHT_ONE = 1 << WEIGHT_BITS  # the sum of all weights' sizes; floats hold every weight exactly
ROOM = 2  # quanta besides distances between points: their rounding, and that of the value


class DistanceFunction(ABC):
    """A function of a record's distances to some points, float64[m], with values within ± the largest distance.

    count: m. kind: its name in files. non_negative: whether its values are.
    """

    kind: ClassVar[str]

    @property
    @abstractmethod
    def count(self) -> int:
        """The number of points."""

    @property
    @abstractmethod
    def non_negative(self) -> bool:
        """Whether no value is negative."""

    @property
    @abstractmethod
    def is_point(self) -> bool:
        """Whether it is the distance to its only point."""

    @abstractmethod
    def evaluate(self, distances: FloatArray) -> FloatArray:
        """Return the values of records at distances float64[n, m]: float64[n], each from its own row."""

    @abstractmethod
    def range(self, low: FloatArray, high: FloatArray, between: FloatArray | None) -> tuple[float, float]:
        """Return bounds of the values of all records, given bounds of their distances: float64[m] each.

        between: the distances of the points to each other, float64[m, m], in a metric that is known to satisfy the
        triangle inequality; else None. All numbers are quanta.
        """

    @abstractmethod
    def parameters(self) -> list[int]:
        """Return the whole numbers that `from_parameters` makes it from."""

    @classmethod
    @abstractmethod
    def from_parameters(cls, parameters: list[Any]) -> "DistanceFunction":
        """Return the function of `parameters`; refuse what no function has."""

    @property
    def key(self) -> Hashable:
        """What equal functions have in common."""
        return self.kind, *self.parameters()


@dataclass(frozen=True)
class WeightedSum(DistanceFunction):
    """Σ wⱼ·d(·, yⱼ), with weights that are whole numbers of 2⁻⁵², not 0, whose sizes add up to 1 at most."""

    weights: tuple[int, ...]
    kind: ClassVar[str] = "weighted"

    @classmethod
    def of(cls, weights: Sequence[Fraction]) -> tuple["WeightedSum", list[int], float]:
        """Return the sum with weights divided by the sum of their sizes, the indices of its points, and that sum.

        Weights are rounded towards 0, so that the sizes of the rounded ones do not exceed 1. Some may become 0, and
        have no point in the result.
        """
        total = sum(map(abs, weights), Fraction(0))
        whole = [int(weight / total * WEIGHT_ONE) for weight in weights]
        used = [index for index, weight in enumerate(whole) if weight]
        return cls(tuple(whole[index] for index in used)), used, float(total)

    @property
    def count(self) -> int:
        """The number of points."""
        return len(self.weights)

    @property
    def non_negative(self) -> bool:
        """Whether no weight is negative."""
        return min(self.weights) >= 0

    @property
    def is_point(self) -> bool:
        """Whether there is one point, of weight 1."""
        return self.weights == (WEIGHT_ONE,)

    @cached_property
    def shares(self) -> FloatArray:
        """The weights as floats, which hold them exactly."""
        return np.array(self.weights, dtype=np.float64) / WEIGHT_ONE

    def evaluate(self, distances: FloatArray) -> FloatArray:
        """Return the weighted sums, term after term: no product of matrices, whose last bits depend on other rows."""
        result = distances[:, 0] * self.shares[0]
        for term, share in zip(distances.T[1:], self.shares[1:].tolist(), strict=True):
            result += term * share
        return np.asarray(result)

    def range(self, low: FloatArray, high: FloatArray, between: FloatArray | None) -> tuple[float, float]:
        """Return the sum of the points' ranges or, where it is narrower, what the triangle inequality leaves of it.

        |d(x, a) − d(x, b)| ≤ d(a, b): weight of opposite signs is paired, near points first.
        """
        if self.is_point:
            return float(low[0]), float(high[0])
        smallest, largest = self._ends(self.shares, low, high)
        if between is not None and not (self.non_negative or max(self.weights) < 0):
            rest, width = self._paired(between)
            ends = self._ends(rest, low, high)
            smallest, largest = max(smallest, ends[0] - width - ROOM), min(largest, ends[1] + width + ROOM)
        return math.floor(smallest), math.ceil(largest)

    @staticmethod
    def _ends(shares: FloatArray, low: FloatArray, high: FloatArray) -> tuple[float, float]:
        up, down = np.maximum(shares, 0), np.minimum(shares, 0)
        return math.fsum(up * low + down * high), math.fsum(up * high + down * low)

    def _paired(self, between: FloatArray) -> tuple[FloatArray, float]:
        """Return the weights that are left when opposite signs are paired, and Σ weight·distance of the pairs."""
        rest, width = self.shares.copy(), 0.0
        up, down = np.flatnonzero(rest > 0), np.flatnonzero(rest < 0)
        order = np.argsort(between[np.ix_(up, down)], axis=None, kind="stable")
        for index in order.tolist():
            i, j = up[index // len(down)], down[index % len(down)]
            share = min(rest[i], -rest[j])
            if share > 0:
                rest[i], rest[j], width = rest[i] - share, rest[j] + share, width + share * float(between[i, j])
        return rest, width

    def parameters(self) -> list[int]:
        """Return the weights."""
        return list(self.weights)

    @classmethod
    def from_parameters(cls, parameters: list[Any]) -> "WeightedSum":
        """Return the sum of these weights; refuse those that `of` does not make."""
        whole = all(isinstance(weight, int) and not isinstance(weight, bool) and weight for weight in parameters)
        if not (1 <= len(parameters) <= MAX_POINTS and whole and sum(map(abs, parameters)) <= WEIGHT_ONE):
            raise MilepostError("the file's weights are not those of weighted distances")
        return cls(tuple(parameters))


POINT = WeightedSum((WEIGHT_ONE,))
FUNCTIONS: dict[str, type[DistanceFunction]] = {WeightedSum.kind: WeightedSum}


class GivenQuery(ABC):
    """A query of users that is no single point: a function of the distances to some points.

    points: as users write them; the space reads them.
    """

    points: Any

    @abstractmethod
    def function(self, distinct: Sequence[int]) -> tuple[DistanceFunction, list[int], float]:
        """Return the function, the indices of the distinct points that it takes, and the factor that its values have.

        distinct: for each point its index among the distinct points, whose order depends on them alone: equal queries
        then have equal functions.
        """


@dataclass(frozen=True, eq=False)
class WeightedDistances(GivenQuery):
    """A weighted sum of distances to several points, averaged over people: the query Σ wⱼ·d(x, yⱼ).

    `release` takes it among its ``queries``, `Synopsis.estimate` and a session of ``"field"`` answer it. With weights
    of both signs it is a difference of mean distances, which has much less noise than either if the points are near.

    Parameters
    ----------
    points : list of points
        The public points y₁, y₂, …, at most 512. A point outside the space is moved into it, with a warning.
    weights : list of float
        A weight for each point, which may be negative. Points of weight 0 are left out, and the weights of equal points
        are added. Noise is in proportion to the weights: those of one query are divided by the sum of their sizes, and
        its answer is multiplied by it.

    Raises
    ------
    MilepostError
        If there are no weights, if one is not a finite number, or if all are 0.

    Examples
    --------
    >>> import milepost as mp
    >>> people = [[2.0, 3.0], [8.0, 5.0]] * 5000
    >>> space = mp.L1({"east": (0, 10), "north": (0, 10)})
    >>> farther = mp.WeightedDistances([[1, 1], [9, 9]], weights=[1, -1])
    >>> synopsis = mp.release(people, space, epsilon=5, delta=1e-6, queries=[farther])
    >>> abs(synopsis.estimate(farther).value + 2) < 0.1
    True
    """

    points: Any
    weights: Sequence[float] | FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", _read_weights(self.weights))

    def function(self, distinct: Sequence[int]) -> tuple[DistanceFunction, list[int], float]:
        """Return the weighted sum; refuse weights that do not fit the points, or cancel each other."""
        if len(distinct) != len(self.weights):
            raise MilepostError(
                f"WeightedDistances needs one weight for each point, got {len(distinct)} points and "
                f"{len(self.weights)} weights"
            )
        sums = [Fraction(0)] * (max(distinct) + 1)
        for index, weight in zip(distinct, self.weights, strict=True):
            sums[index] += Fraction(weight)
        if not any(sums):
            raise MilepostError(
                "the weights of WeightedDistances cancel each other, since equal points have opposite weights: the "
                "answer is 0"
            )
        return WeightedSum.of(sums)


def _read_weights(weights: Any) -> tuple[float, ...]:
    given = weights.tolist() if isinstance(weights, np.ndarray) else weights
    try:
        items = list(given)
    except TypeError:
        raise MilepostError(f"weights must be a list of numbers, one for each point, got {weights!r}") from None
    if not items:
        raise MilepostError("WeightedDistances needs at least one point, got no weights")
    for item in items:
        if isinstance(item, bool) or not isinstance(item, numbers.Real) or not math.isfinite(item):
            raise MilepostError(f"weights must be finite numbers, got {item!r}")
    if not any(items):
        raise MilepostError("weights must not all be 0: the answer would be 0 for any table")
    if len(items) > MAX_POINTS:
        raise MilepostError(f"WeightedDistances takes up to {MAX_POINTS} points, got {len(items)} weights")
    return tuple(float(item) for item in items)


def weights_of(functions: Sequence[DistanceFunction]) -> IntArray:
    """Return the weights of all points of weighted sums, one after the other, over 2⁵²; refuse other functions."""
    sums = [function for function in functions if isinstance(function, WeightedSum)]
    if len(sums) != len(functions):
        raise MilepostError("this mechanism answers weighted sums of distances, and no other functions of them")
    return np.array([weight for item in sums for weight in item.weights], dtype=np.int64)
