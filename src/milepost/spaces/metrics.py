"""Ready-made distances between objects, for `AnyMetric`."""

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
    """A distance between objects, computed a matrix at a time.

    Parameters
    ----------
    matrix : callable
        Returns the distances of two lists of objects: float64[len(x), len(y)].
    row_independent : bool, default False
        The promise that a row depends on its own object only, to the last bit, whatever else is in the list (a matrix
        product breaks it). Private objects then come in batches, and otherwise one by one.
    name : str, optional
        The name of the metric in a file; None for a metric that a file cannot name.

    Examples
    --------
    >>> import milepost as mp
    >>> mp.edit_distance("colour", "color")
    1.0
    """

    matrix: Matrix
    row_independent: bool = False
    name: str | None = None

    def __call__(self, x: Any, y: Any) -> float:
        """Return the distance of two objects."""
        return float(self.matrix([x], [y])[0, 0])


def check_distances(distances: FloatArray, points: Sequence[Any], diameter: float) -> None:
    """Refuse a matrix float64[m, m] that cannot be the distances between public points, naming a wrong pair."""
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
    """Return the metric of a function of two objects, called once per pair."""

    def matrix(x: Sequence[Any], y: Sequence[Any]) -> FloatArray:
        return np.array([[distance(left, right) for right in y] for left in x], dtype=np.float64).reshape(
            len(x), len(y)
        )

    return Metric(matrix, row_independent=True)


def precomputed(distances: Any, labels: Sequence[Hashable] | None = None) -> Metric:
    """Return the metric of a public matrix of distances.

    Parameters
    ----------
    distances : array of float, N × N
        The distances between all objects of a public list.
    labels : list, optional
        The objects; by default the numbers of rows.

    Returns
    -------
    Metric
        The distance of two labels.

    Raises
    ------
    MilepostError
        If the matrix is not square, or if there is not one different label for each row.

    Examples
    --------
    >>> import milepost as mp
    >>> towns = mp.precomputed([[0, 3], [3, 0]], labels=["here", "there"])
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
    indices = {name: index for index, name in enumerate(names)}
    if len(indices) != len(table) or len(names) != len(table):
        raise MilepostError(
            f"precomputed needs a different label for each row, got {len(names)} labels for {len(table)} rows"
        )

    def index_of(point: Any) -> int:
        # a row number may have been read from a file; 3.0 finds 3
        return indices[int(point) if labels is None and isinstance(point, str) else point]

    def matrix(x: Sequence[Any], y: Sequence[Any]) -> FloatArray:
        return table[np.ix_([index_of(point) for point in x], [index_of(point) for point in y])]

    return Metric(matrix, row_independent=True)


def shortest_path(graph: Any) -> Metric:
    """Return the metric of a public graph: the length of the shortest path between two nodes.

    A point that cannot be reached, or is not a node, is infinitely far: `AnyMetric` counts it as the diameter. Paths
    are computed from the second points only, the queries, once for each. A row then depends on its own node and on the
    tables of the queries (a number for each query and node), whatever else is in the batch.

    Parameters
    ----------
    graph : networkx.Graph or sparse array
        An undirected NetworkX graph, whose edges have the length `weight` or 1; or a SciPy sparse matrix of edge
        lengths, which lead both ways, with row numbers for nodes. Text finds a node by its spelling, as in a file.

    Returns
    -------
    Metric
        The distance of two nodes.

    Examples
    --------
    >>> import milepost as mp
    >>> from scipy.sparse import csr_array
    >>> mp.shortest_path(csr_array([[0, 2, 9], [0, 0, 3], [0, 0, 0]]))(0, 2)
    5.0
    """
    nodes, lengths = _edges(graph)
    indices = {node: index for index, node in enumerate(nodes)}
    indices_by_text = {str(node): index for index, node in reversed(list(enumerate(nodes)))}
    tables: dict[int, FloatArray] = {}

    def index_of(point: Any) -> int | None:
        node = tuple(point) if isinstance(point, list) else point
        with contextlib.suppress(TypeError):  # an object that is not hashable is not a node
            return indices.get(node, indices_by_text.get(node) if isinstance(node, str) else None)
        return None

    def matrix(x: Sequence[Any], y: Sequence[Any]) -> FloatArray:
        query_indices = [index_of(point) for point in y]
        sources = [index for index in query_indices if index is not None]
        if len(sources) < len(query_indices):
            raise MilepostError(f"{y[query_indices.index(None)]!r} is not a node of the graph")
        if new := sorted(set(sources) - tables.keys()):
            tables.update(zip(new, scipy.sparse.csgraph.dijkstra(lengths, directed=False, indices=new), strict=True))
        row_indices = [index_of(point) for point in x]
        is_node = np.array([index is not None for index in row_indices], dtype=bool)
        targets = np.array([index for index in row_indices if index is not None], dtype=np.int64)
        result = np.full((len(row_indices), len(sources)), np.inf)
        for column, source in enumerate(sources):
            result[is_node, column] = tables[source][targets]
        return result

    return Metric(matrix, row_independent=True)


def _edges(graph: Any) -> tuple[list[Any], Any]:
    """Return the nodes and a sparse matrix of the lengths of edges; of parallel edges, the shortest."""
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
        indices = {node: index for index, node in enumerate(nodes)}
        shortest: dict[tuple[int, int], float] = {}
        for left, right, length in graph.edges(data="weight", default=1):
            pair = indices[left], indices[right]
            shortest[pair] = min(float(length), shortest.get(pair, np.inf))
        ends = np.array(list(shortest), dtype=np.int64).reshape(-1, 2).T
        lengths = scipy.sparse.coo_array((list(shortest.values()), tuple(ends)), shape=(len(nodes), len(nodes))).tocsr()
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
    """Return Jaccard distances from exact counts of common members, with one division per pair."""
    queries = [_set(point) for point in y]
    queries_with: dict[Hashable, list[int]] = {}
    for index, query in enumerate(queries):
        for member in query:
            queries_with.setdefault(member, []).append(index)
    sizes = np.array([len(query) for query in queries], dtype=np.int64)
    result = np.empty((len(x), len(y)))
    for row, point in enumerate(x):
        members = _set(point)
        common = np.zeros(len(y), dtype=np.int64)
        for member in members:
            common[queries_with.get(member, [])] += 1
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


edit_distance = Metric(_edit_matrix, row_independent=True, name="edit")
# 1 − |A∩B|/|A∪B| for any iterables of hashable members; two empty sets are equal. It has no name because a file may
# store its sets by index only, from which no distance can be computed.
jaccard = Metric(_jaccard_matrix, row_independent=True)
NAMED = {"edit": edit_distance}
