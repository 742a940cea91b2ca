"""Tree: one path from every query to the root, for Laplace noise, whose costs add up link by link. docs/proofs/net.md.

A link of length ℓ with noise of scale b costs 2ℓ/b, and an answer's variance is Σ2b² along its path. If the subtree
below a link costs C/b′ for a variance of 2b′², then with the link (ℓ^⅔ + C^⅔)^{3/2}/b′ is the minimum cost, and costs
of branches add up. So the best scales of a given tree follow from its leaves to the root; the tree itself is improved
query by query.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush

import numpy as np

from milepost._typing import AnyArray, FloatArray, IntArray
from milepost.mechanisms.query.links import MIDDLE, ROOT, Links, round_scales

STARS = 4  # stars, each with a central query as the parent of its neighbors, that the search also starts from
MAX_QUERIES_WITH_STARS = 64
SWEEPS = 6  # over all queries, each of which moves to the parent of minimum cost


@dataclass(frozen=True, eq=False)
class Tree:
    """Links with Laplace noise, from every query to its parent. order: int64[k], parents first.

    scales: float64[k], of each link's noise, relative to one another.
    """

    links: Links
    scales: FloatArray
    order: IntArray

    @classmethod
    def of(cls, lengths: IntArray, candidates: Links) -> "Tree":
        """Return a good tree of candidate links; every query may be linked to the root."""
        parents = np.array(_best(lengths, candidates))
        count = len(parents)
        own = np.where(parents == ROOT, MIDDLE, lengths[np.arange(count), parents]).astype(np.int64)
        order = _parents_first(parents.tolist())
        costs, below = _costs(parents.tolist(), (own / MIDDLE).tolist(), order)
        remaining = np.full(count + 1, below[ROOT] ** 2)  # of the variance, in 2b²; the root is the last
        squares = np.empty(count)
        for query in order:
            squares[query] = remaining[parents[query]] * (own[query] / MIDDLE / costs[query]) ** (2 / 3)
            remaining[query] = remaining[parents[query]] - squares[query]
        links = Links(np.arange(count), parents, own)
        return cls(links, round_scales(np.sqrt(squares)), np.array(order))

    @cached_property
    def variances(self) -> FloatArray:
        """Variances of the queries' sums, where every link has its scale: float64[k]."""
        return self._along(2 * self.scales**2)

    @cached_property
    def kurtoses(self) -> FloatArray:
        """Excess kurtoses: Σ12b⁴ along the path ÷ the square of the variance."""
        return np.asarray(self._along(12 * self.scales**4) / self.variances**2)

    def sums(self, noisy: IntArray) -> IntArray:
        """Return the sums int64[k], counted from the root: sums of noisy links along each path."""
        return self._along(noisy)

    def _along(self, values: AnyArray) -> AnyArray:
        result = np.append(values, np.zeros(1, dtype=values.dtype))  # the root is the last
        for query in self.order.tolist():
            result[query] += result[self.links.right[query]]
        return np.asarray(result[:-1])


def _cost(length: float, below: float) -> float:
    """Return the cost of a link with the subtree below it."""
    return float((length ** (2 / 3) + below ** (2 / 3)) ** 1.5)


def _costs(parents: Sequence[int], lengths: Sequence[float], order: Sequence[int]) -> tuple[list[float], list[float]]:
    """Return the cost of every link with its subtree, and of the subtree alone; the root is the last."""
    costs, below = [0.0] * len(parents), [0.0] * (len(parents) + 1)
    for query in reversed(order):
        costs[query] = _cost(lengths[query], below[query])
        below[parents[query]] += costs[query]
    return costs, below


def _parents_first(parents: Sequence[int]) -> list[int]:
    """Return all queries, each after its parent."""
    children: list[list[int]] = [[] for _ in range(len(parents) + 1)]
    for query, parent in enumerate(parents):
        children[parent].append(query)
    result = list(children[ROOT])
    for query in result:  # the list grows during the loop
        result += children[query]
    return result


def _star(first: int, neighbors: Sequence[Sequence[int]]) -> list[int]:
    """Return parents in which a query is the parent of all its neighbors."""
    parents = [ROOT] * len(neighbors)
    for other in neighbors[first]:
        parents[other] = first
    return parents


def _spanning(central: Sequence[int], lengths: IntArray, neighbors: Sequence[Sequence[int]]) -> list[int]:
    """Return parents in a tree of short links from a central query; one tree for each connected component."""
    parents: list[int | None] = [None] * len(neighbors)
    for first in central:
        heap = [(0, first, ROOT)]
        while heap:
            _, query, parent = heappop(heap)
            if parents[query] is None:
                parents[query] = parent
                for other in neighbors[query]:
                    if parents[other] is None:
                        heappush(heap, (int(lengths[query, other]), other, query))
    return [ROOT if parent is None else parent for parent in parents]


def _best(lengths: IntArray, candidates: Links) -> list[int]:
    """Return parents in the best improved tree; starts are trees of short links, stars, and the tree without links."""
    neighbors: list[list[int]] = [[] for _ in range(len(lengths))]
    for left, right in zip(candidates.left.tolist(), candidates.right.tolist(), strict=True):
        if right != ROOT:
            neighbors[left].append(right)
            neighbors[right].append(left)
    central = np.argsort(lengths.max(axis=1), kind="stable").tolist()
    starts = [_spanning(central, lengths, neighbors), [ROOT] * len(lengths)]
    starts += [_star(first, neighbors) for first in central[: STARS if len(lengths) <= MAX_QUERIES_WITH_STARS else 0]]
    return min((_improve(start, lengths, neighbors) for start in starts), key=lambda result: result[0])[1]


def _improve(start: list[int], lengths: IntArray, neighbors: Sequence[Sequence[int]]) -> tuple[float, list[int]]:
    """Move one query at a time to the parent of minimum total cost; return the cost, and parents."""
    parents = list(start)
    distances = [[int(lengths[query, other]) / MIDDLE for other in others] for query, others in enumerate(neighbors)]
    for sweep in range(SWEEPS + 1):
        order = _parents_first(parents)
        own = [1.0 if parent == ROOT else int(lengths[q, parent]) / MIDDLE for q, parent in enumerate(parents)]
        walk = _TreeSearch(parents, own, *_costs(parents, own, order))
        cost, sequence = walk.below[ROOT], order if sweep % 2 else order[::-1]
        if sweep == SWEEPS or not sum(walk.move(query, neighbors[query], distances[query]) for query in sequence):
            break
    return cost, parents


@dataclass
class _TreeSearch:
    """A tree that is being changed, with its costs as in `_costs`."""

    parents: list[int]
    lengths: list[float]
    costs: list[float]
    below: list[float]

    def move(self, query: int, others: Sequence[int], lengths: Sequence[float]) -> bool:
        """Move a query with its subtree to the best of others or the root; return whether its parent changed."""
        old_parent, subtree_cost = self.parents[query], self.below[query]
        self._add(old_parent, -self.costs[query])
        min_increase, parent, length = _cost(1.0, subtree_cost), ROOT, 1.0
        for other, other_length in zip(others, lengths, strict=True):
            increase = self._increase(query, other, _cost(other_length, subtree_cost))
            if increase < min_increase * (1 - 1e-9):
                min_increase, parent, length = increase, other, other_length
        self.parents[query], self.lengths[query], self.costs[query] = parent, length, _cost(length, subtree_cost)
        self._add(parent, self.costs[query])
        return parent != old_parent

    def _increase(self, query: int, node: int, cost: float) -> float:
        """Return how much the tree's cost would grow with `cost` added at a node; infinite in the query's subtree."""
        while node != ROOT:
            if node == query:
                return float("inf")
            cost = _cost(self.lengths[node], self.below[node] + cost) - self.costs[node]
            node = self.parents[node]
        return cost

    def _add(self, node: int, change: float) -> None:
        while node != ROOT:
            self.below[node] = max(self.below[node] + change, 0.0)
            cost = _cost(self.lengths[node], self.below[node])
            change, self.costs[node] = cost - self.costs[node], cost
            node = self.parents[node]
