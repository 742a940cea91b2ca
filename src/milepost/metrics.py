"""Metrics: ready distances between objects, for `AnyMetric`."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from milepost.arrays import AnyArray, FloatArray
from milepost.errors import MilepostError

Matrix: TypeAlias = Callable[[Sequence[Any], Sequence[Any]], AnyArray]


@dataclass(frozen=True)
class Metric:
    """A distance between objects, a whole matrix at a time.

    matrix: distances of two batches, float64[len(x), len(y)].
    alone: the promise that a row depends on its own object only, to the last bit, whatever else is in the batch (a
    matrix product does not keep it). Private objects are handed over in batches then, and one by one otherwise.
    name: by which a file finds the metric again; None for one that only its maker has.

    >>> edit_distance("colour", "color")
    1.0
    """

    matrix: Matrix
    alone: bool = False
    name: str | None = None

    def __call__(self, x: Any, y: Any) -> float:
        """The distance of two objects."""
        return float(self.matrix([x], [y])[0, 0])


def pairwise(distance: Callable[[Any, Any], float]) -> Metric:
    """The metric of a function of two objects, called once a pair."""

    def matrix(x: Sequence[Any], y: Sequence[Any]) -> FloatArray:
        return np.array([[distance(left, right) for right in y] for left in x], dtype=np.float64).reshape(
            len(x), len(y)
        )

    return Metric(matrix, alone=True)


def precomputed(distances: Any, labels: Sequence[Hashable] | None = None) -> Metric:
    """The metric of a public matrix of distances; points are row numbers, or labels where they are given.

    distances: float64[N, N], of a universe of N objects that is itself public.

    >>> towns = precomputed([[0, 3], [3, 0]], labels=["here", "there"])
    >>> towns("here", "there")
    3.0
    """
    try:
        table = np.array(distances, dtype=np.float64)
    except (TypeError, ValueError):
        raise MilepostError("precomputed takes a square matrix of numbers") from None
    if table.ndim != 2 or table.shape[0] != table.shape[1] or not len(table):
        shape = " × ".join(str(size) for size in table.shape)
        raise MilepostError(f"precomputed takes a square matrix of distances, got an array of shape {shape}")
    names: Sequence[Hashable] = range(len(table)) if labels is None else list(labels)
    positions = {name: position for position, name in enumerate(names)}
    if len(positions) != len(table) or len(names) != len(table):
        raise MilepostError(f"precomputed needs one label a row, each once: {len(table)} rows, {len(names)} labels")

    def position(point: Any) -> int:
        if labels is None and not isinstance(point, int | np.integer):
            point = int(str(point))  # a row number that was read from a file
        return positions[point]

    def matrix(x: Sequence[Any], y: Sequence[Any]) -> FloatArray:
        return table[np.ix_([position(point) for point in x], [position(point) for point in y])]

    return Metric(matrix, alone=True)


def _edit_matrix(x: Sequence[Any], y: Sequence[Any]) -> AnyArray:
    try:
        from rapidfuzz.distance import Levenshtein
        from rapidfuzz.process import cdist
    except ImportError:
        raise MilepostError("edit_distance needs rapidfuzz: pip install 'milepost[text]'") from None
    for point in (*x, *y):
        if not isinstance(point, str):
            raise TypeError(f"edit_distance takes text, got {type(point).__name__}")
    return np.asarray(cdist(x, y, scorer=Levenshtein.distance, dtype=np.int32, workers=-1))


edit_distance = Metric(_edit_matrix, alone=True, name="edit")
NAMED = {"edit": edit_distance}
