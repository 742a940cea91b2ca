"""Sets by Jaccard's distance and nodes of a graph by the shortest way, against brute force."""

import itertools
import math
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from scipy.sparse import coo_array, csgraph, csr_array, csr_matrix

import milepost as mp
from tests.chance import sure

BASKETS: list[Any] = [{1, 2, 3}, [3, 3, 4], (), frozenset("ab"), {"a": 1, 3: 2}.keys(), range(2, 5), [("a", 1), 3]]


def jaccard_distance(left: Any, right: Any) -> float:
    """Jaccard's distance from its definition."""
    left, right = set(left), set(right)
    return 1 - len(left & right) / len(left | right) if left | right else 0.0


class TestJaccard:
    """Sets of hashable members."""

    def test_against_the_definition(self) -> None:
        """Sets, lists with repetitions, tuples, ranges and views; two empty ones are the same."""
        matrix = mp.jaccard.matrix(BASKETS, BASKETS)
        exact = [[jaccard_distance(left, right) for right in BASKETS] for left in BASKETS]
        np.testing.assert_allclose(matrix, exact, atol=1e-15)
        assert np.array_equal(matrix, matrix.T)
        assert mp.jaccard(set(), []) == 0
        assert mp.jaccard({1}, []) == 1
        assert mp.jaccard({1, 2}, {2, 3}) == 2 / 3
        assert mp.jaccard.matrix([], BASKETS).shape == (0, len(BASKETS))
        assert mp.jaccard.matrix(BASKETS, []).shape == (len(BASKETS), 0)

    def test_a_row_stands_alone(self) -> None:
        """Bit for bit the same in any batch, as it promises."""
        assert mp.jaccard.row_independent
        rng = np.random.default_rng(0)
        sets = [set(rng.integers(0, 40, rng.integers(0, 30)).tolist()) for _ in range(60)]
        expected = mp.jaccard.matrix(sets, sets[:9])
        for size in (1, 7):
            parts = [mp.jaccard.matrix(sets[start : start + size], sets[:9]) for start in range(0, 60, size)]
            assert np.array_equal(np.concatenate(parts), expected)

    def test_triangle_inequality(self) -> None:
        """It is a metric: checked on all subsets of four members."""
        sets = [set(members) for size in range(5) for members in itertools.combinations(range(4), size)]
        matrix = mp.jaccard.matrix(sets, sets)
        assert (matrix[:, None] <= matrix[:, :, None] + matrix[None] + 1e-12).all()

    def test_a_release_of_baskets(self) -> None:
        """From lists of purchases to answers about some baskets; text is no set, and as far away as can be."""
        queries = [["bread", "milk"], ["tea"], []]
        rows = [["milk", "bread"], {"tea", "milk"}, [], ["tea"]] * 300
        space = mp.AnyMetric(mp.jaccard, diameter=1, queries=queries)
        exact = [np.mean([jaccard_distance(row, query) for row in rows]) for query in queries]
        assert mp.exact_mean_distance(rows, space, queries) == pytest.approx(exact)
        synopsis = mp.release(rows, space, epsilon=100)
        assert synopsis.error(sure(3)) < 0.02
        assert synopsis.mean_distance(queries) == pytest.approx(exact, abs=synopsis.error(sure(3)))
        assert mp.exact_mean_distance([["tea"], "tea", 5], space, [["tea"]]) == pytest.approx(2 / 3)
        with pytest.raises(mp.MilepostError, match=r"jaccard takes sets.*split it first"):
            mp.AnyMetric(mp.jaccard, diameter=1, queries=["tea"])


def town(seed: int = 0, size: int = 40) -> nx.Graph:
    """A random graph with lengths, in two parts that do not meet."""
    rng = np.random.default_rng(seed)
    graph = nx.Graph()
    graph.add_nodes_from(range(size))
    for left, right in rng.integers(0, size - 5, (2 * size, 2)).tolist():
        graph.add_edge(left, right, weight=float(rng.uniform(0.1, 3)))
    nx.add_cycle(graph, range(size - 5, size))
    return graph


class TestShortestPath:
    """Nodes of a public graph."""

    def test_against_networkx(self) -> None:
        """Weighted edges, edges of length 1, and parts that cannot be reached."""
        graph = town()
        distances = mp.shortest_path(graph).matrix(range(40), range(40))
        lengths = dict(nx.all_pairs_dijkstra_path_length(graph))
        exact = [[lengths[left].get(right, math.inf) for right in range(40)] for left in range(40)]
        np.testing.assert_allclose(distances, exact)
        assert np.isinf(distances[0, 39])
        assert distances[35, 37] == 2

    @pytest.mark.parametrize("kind", [csr_array, csr_matrix, coo_array])
    def test_a_sparse_matrix_is_the_same_graph(self, kind: Any) -> None:
        """Edges lead both ways, whichever triangle they stand in."""
        graph = town()
        lengths = np.triu(nx.to_numpy_array(graph))
        distances = mp.shortest_path(kind(lengths)).matrix(range(40), [3, 36])
        np.testing.assert_allclose(distances, mp.shortest_path(graph).matrix(range(40), [3, 36]))

    def test_nodes_of_any_kind(self) -> None:
        """Text, tuples, and lists of a tuple's entries; a file's text finds the number."""
        graph = nx.grid_2d_graph(3, 4)
        metric = mp.shortest_path(graph)
        assert metric((0, 0), (2, 3)) == 5
        assert metric([0, 0], (2, 3)) == 5
        roads = mp.shortest_path(nx.Graph([("home", "school"), ("school", "shop")]))
        assert roads("home", "shop") == 2
        assert mp.shortest_path(nx.path_graph(5))("0", 4) == 4

    def test_the_shortest_of_parallel_edges_and_edges_of_no_length(self) -> None:
        graph = nx.MultiGraph()
        graph.add_edge("a", "b", weight=5)
        graph.add_edge("b", "a", weight=2)
        graph.add_edge("b", "c", weight=0)
        graph.add_edge("c", "c", weight=7)
        metric = mp.shortest_path(graph)
        assert metric("a", "c") == 2
        assert metric("c", "c") == 0

    def test_ways_are_looked_for_from_queries_only_and_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """However many private records there are."""
        sources: list[int] = []
        search = csgraph.dijkstra

        def record_search(*args: Any, **kwargs: Any) -> Any:
            sources.extend(kwargs["indices"])
            return search(*args, **kwargs)

        monkeypatch.setattr(csgraph, "dijkstra", record_search)
        space = mp.AnyMetric(mp.shortest_path(town()), diameter=10, queries=[3, 7, 36])
        rows = list(range(40)) * 50
        synopsis = mp.release(rows, space, epsilon=100)
        assert sorted(sources) == [3, 7, 36]
        assert synopsis.error(sure(2)) < 0.1
        exact = mp.exact_mean_distance(rows, space, [3, 36])
        assert synopsis.mean_distance([3, 36]) == pytest.approx(exact, abs=synopsis.error(sure(2)))

    def test_a_row_stands_alone(self) -> None:
        """Bit for bit the same in any batch and after any other question, as it promises."""
        metric = mp.shortest_path(town())
        assert metric.row_independent
        expected = metric.matrix(range(40), [5, 1, 5, 38])
        second_metric = mp.shortest_path(town())
        second_metric.matrix([0], [38])
        assert np.array_equal(np.concatenate([second_metric.matrix([k], [5, 1, 5, 38]) for k in range(40)]), expected)

    def test_what_cannot_be_reached_counts_as_the_diameter(self, tmp_path: Path) -> None:
        """Another part of the graph, a record that is no node, and one that cannot be looked up."""
        space = mp.AnyMetric(mp.shortest_path(nx.Graph([(0, 1), (2, 3)])), diameter=4, queries=[0, 3])
        assert mp.exact_mean_distance([1, 2, 9, {}, "far", [1]], space, [0]) == pytest.approx((1 + 4 * 5) / 6)
        (tmp_path / "nodes.csv").write_text("node\n1\n0\n2\n")
        assert mp.exact_mean_distance(tmp_path / "nodes.csv", space, [0]) == pytest.approx((1 + 0 + 4) / 3)

    def test_a_query_that_is_no_node_is_refused(self) -> None:
        with pytest.raises(mp.MilepostError, match="9 is not a node of the graph"):
            mp.AnyMetric(mp.shortest_path(nx.path_graph(3)), diameter=4, queries=[0, 9])

    @pytest.mark.parametrize(
        ("graph", "message"),
        [
            (nx.DiGraph([(0, 1)]), "undirected"),
            (nx.Graph(), "with nodes"),
            (nx.Graph([(0, 1, {"weight": -1})]), "finite and at least 0"),
            (nx.Graph([(0, 1, {"weight": math.nan})]), "finite and at least 0"),
            (nx.Graph([(0, 1, {"weight": math.inf})]), "finite and at least 0"),
            (csr_array([[0, 1]]), "square matrix of edge lengths, got shape 1 × 2"),
            (csr_array((0, 0)), "square"),
            (csr_array([[0.0, -1.0], [0.0, 0.0]]), "finite and at least 0"),
            ([[0, 1], [1, 0]], "SciPy sparse matrix of edge lengths, got list"),
            (np.eye(2), "got ndarray"),
            (None, "got NoneType"),
        ],
    )
    def test_a_bad_graph_is_refused(self, graph: Any, message: str) -> None:
        """What was expected and what came."""
        with pytest.raises(mp.MilepostError, match=message):
            mp.shortest_path(graph)
