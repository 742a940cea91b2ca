"""Metrics: ready distances between objects, for `AnyMetric`."""

import contextlib
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy

from milepost._typing import AnyArray, FloatArray
from milepost._validation import unmask
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


def check_distances(distances: FloatArray, points: Sequence[Any], diameter: float) -> None:
    """Refuse a matrix float64[m, m] that is none of distances between these public points, and name a pair."""
    for what, wrong in (
        ("not a number", np.isnan(distances)),
        ("negative", distances < 0),
        ("another one the other way round", ~np.isclose(distances, distances.T, rtol=1e-6, atol=1e-9)),
        ("not 0", np.eye(len(points), dtype=bool) & (distances > 1e-6 * diameter)),
    ):
        if wrong.any():
            i, j = (int(k) for k in np.argwhere(wrong)[0])
            raise MilepostError(
                f"the distance from query {points[i]!r} to query {points[j]!r} is {what}: {distances[i, j]:g}"
            )


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
        table = np.array(unmask(distances), dtype=np.float64)
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
        # a row number may have been read from a file; 3.0 is found as 3
        return positions[int(point) if labels is None and isinstance(point, str) else point]

    def matrix(x: Sequence[Any], y: Sequence[Any]) -> FloatArray:
        return table[np.ix_([position(point) for point in x], [position(point) for point in y])]

    return Metric(matrix, alone=True)


def shortest_path(graph: Any) -> Metric:
    """The metric of a public graph: the length of the shortest way between two nodes, which are the points.

    graph: an undirected NetworkX graph, whose edges have the length `weight` or 1; or a SciPy sparse matrix of edge
    lengths, which lead both ways, with row numbers for nodes. Text finds a node by its spelling, as in a file.
    What cannot be reached, or is no node, is infinitely far: AnyMetric counts it as the diameter.
    Ways are looked for from the second points only, the queries, once each; then a row is what its own node finds in
    their tables (a number for each query and node), whatever else is in the batch.

    >>> from scipy.sparse import csr_array
    >>> shortest_path(csr_array([[0, 2, 9], [0, 0, 3], [0, 0, 0]]))(0, 2)
    5.0
    """
    nodes, lengths = _edges(graph)
    positions = {node: position for position, node in enumerate(nodes)}
    spelt = {str(node): position for position, node in reversed(list(enumerate(nodes)))}
    tables: dict[int, FloatArray] = {}

    def position(point: Any) -> int | None:
        node = tuple(point) if isinstance(point, list) else point
        with contextlib.suppress(TypeError):  # an object that cannot be looked up is no node
            return positions.get(node, spelt.get(node) if isinstance(node, str) else None)
        return None

    def matrix(x: Sequence[Any], y: Sequence[Any]) -> FloatArray:
        to = [position(point) for point in y]
        found = [place for place in to if place is not None]
        if len(found) < len(to):
            raise MilepostError(f"{y[to.index(None)]!r} is no node of the graph")
        if new := sorted(set(found) - tables.keys()):
            tables.update(zip(new, scipy.sparse.csgraph.dijkstra(lengths, directed=False, indices=new), strict=True))
        places = [position(point) for point in x]
        rows = np.array([place is not None for place in places], dtype=bool)
        known = np.array([place for place in places if place is not None], dtype=np.int64)
        result = np.full((len(places), len(found)), np.inf)
        for column, place in enumerate(found):
            result[rows, column] = tables[place][known]
        return result

    return Metric(matrix, alone=True)


def _edges(graph: Any) -> tuple[list[Any], Any]:
    """Nodes, and a sparse matrix of the lengths of the edges between them; the shortest of parallel ones."""
    if scipy.sparse.issparse(graph):
        if graph.ndim != 2 or graph.shape[0] != graph.shape[1] or not graph.shape[0]:
            shape = " × ".join(str(size) for size in graph.shape)
            raise MilepostError(f"shortest_path takes a square matrix of edge lengths, got shape {shape}")
        lengths = graph.tocsr().astype(np.float64)
        nodes: list[Any] = list(range(graph.shape[0]))
    elif hasattr(graph, "is_directed") and hasattr(graph, "edges"):
        if graph.is_directed():
            raise MilepostError("shortest_path takes an undirected graph: a distance is the same both ways")
        nodes = list(graph)
        positions = {node: position for position, node in enumerate(nodes)}
        shortest: dict[tuple[int, int], float] = {}
        for left, right, length in graph.edges(data="weight", default=1):
            pair = positions[left], positions[right]
            shortest[pair] = min(float(length), shortest.get(pair, np.inf))
        places = np.array(list(shortest), dtype=np.int64).reshape(-1, 2).T
        lengths = scipy.sparse.coo_array(
            (list(shortest.values()), tuple(places)), shape=(len(nodes), len(nodes))
        ).tocsr()
        if not nodes:
            raise MilepostError("shortest_path takes a graph with nodes, got none")
    else:
        raise MilepostError(
            f"shortest_path takes a NetworkX graph or a SciPy sparse matrix of edge lengths, got {type(graph).__name__}"
        )
    if not ((lengths.data >= 0) & np.isfinite(lengths.data)).all():
        raise MilepostError("shortest_path takes edges whose lengths are finite and at least 0")
    return nodes, lengths


def _jaccard_matrix(x: Sequence[Iterable[Hashable]], y: Sequence[Iterable[Hashable]]) -> FloatArray:
    """Members in common are counted by looking each member up; counts are whole, and a pair takes one division."""
    queries = [_set(point) for point in y]
    holders: dict[Hashable, list[int]] = {}
    for place, query in enumerate(queries):
        for member in query:
            holders.setdefault(member, []).append(place)
    sizes = np.array([len(query) for query in queries], dtype=np.int64)
    result = np.empty((len(x), len(y)))
    for row, point in enumerate(x):
        members = _set(point)
        common = np.zeros(len(y), dtype=np.int64)
        for member in members:
            common[holders.get(member, [])] += 1
        union = len(members) + sizes - common
        result[row] = np.where(union > 0, (union - common) / np.maximum(union, 1), 0.0)
    return result


def _set(point: Iterable[Hashable]) -> set[Hashable]:
    if isinstance(point, str | bytes):
        raise TypeError("jaccard takes sets, such as a list of words, got text; split it first")
    return set(point)


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
# 1 − |A∩B|/|A∪B| for any iterables of hashable members; two empty sets are the same. It has no name because a file may
# have kept its sets by position only, from which nothing can be measured.
jaccard = Metric(_jaccard_matrix, alone=True)
NAMED = {"edit": edit_distance}
