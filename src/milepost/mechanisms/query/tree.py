"""Tree: one way from every query to the ground, for Laplace noise, whose costs add up link by link. docs/proofs/net.md.

A link of length ℓ with noise of scale b costs 2ℓ/b, and an answer's variance is Σ2b² along its way. If what hangs below
a link costs C/b′ for a variance of 2b′², then with it (ℓ^⅔ + C^⅔)^{3/2}/b′ is the least cost, and costs of branches add
up. So the best scales of a given tree follow from its leaves to the ground; the tree itself is improved query by query.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush

import numpy as np

from milepost._typing import AnyArray, FloatArray, IntArray
from milepost.mechanisms.query.links import MIDDLE, ROOT, Links, round_scales

STARS = 4  # central queries, each with all others on it, from which a tree of few queries is improved
FEW = 64
SWEEPS = 6  # over all queries, each of which moves to where it costs least


@dataclass(frozen=True, eq=False)
class Tree:
    """Links with Laplace noise, from every query to its parent. order: int64[k], parents first.

    scales: float64[k], of each link's noise, relative to one another.
    """

    links: Links
    scales: FloatArray
    order: IntArray

    @classmethod
    def of(cls, lengths: IntArray, among: Links) -> "Tree":
        """A good one of some links; every query may be linked to the ground."""
        parents = np.array(_best(lengths, among))
        count = len(parents)
        own = np.where(parents == ROOT, MIDDLE, lengths[np.arange(count), parents]).astype(np.int64)
        order = _ordered(parents.tolist())
        costs, below = _costs(parents.tolist(), (own / MIDDLE).tolist(), order)
        left = np.full(count + 1, below[ROOT] ** 2)  # of the variance, in 2b²; the ground is the last
        squares = np.empty(count)
        for query in order:
            squares[query] = left[parents[query]] * (own[query] / MIDDLE / costs[query]) ** (2 / 3)
            left[query] = left[parents[query]] - squares[query]
        links = Links(np.arange(count), parents, own)
        return cls(links, round_scales(np.sqrt(squares)), np.array(order))

    @cached_property
    def variances(self) -> FloatArray:
        """Of the queries' sums, where every link has its scale: float64[k]."""
        return self._along(2 * self.scales**2)

    @cached_property
    def kurtoses(self) -> FloatArray:
        """Σ12b⁴ along the way over the variance squared."""
        return np.asarray(self._along(12 * self.scales**4) / self.variances**2)

    def sums(self, noisy: IntArray) -> IntArray:
        """The sums int64[k], counted from the ground: those of noisy links along each way."""
        return self._along(noisy)

    def _along(self, values: AnyArray) -> AnyArray:
        result = np.append(values, np.zeros(1, dtype=values.dtype))  # the ground is the last
        for query in self.order.tolist():
            result[query] += result[self.links.right[query]]
        return np.asarray(result[:-1])


def _cost(length: float, below: float) -> float:
    """Of a link and what hangs below it."""
    return float((length ** (2 / 3) + below ** (2 / 3)) ** 1.5)


def _costs(parents: Sequence[int], lengths: Sequence[float], order: Sequence[int]) -> tuple[list[float], list[float]]:
    """Of every link with what hangs below it, and of that alone; the ground is the last."""
    costs, below = [0.0] * len(parents), [0.0] * (len(parents) + 1)
    for query in reversed(order):
        costs[query] = _cost(lengths[query], below[query])
        below[parents[query]] += costs[query]
    return costs, below


def _ordered(parents: Sequence[int]) -> list[int]:
    """Queries, each after its parent."""
    children: list[list[int]] = [[] for _ in range(len(parents) + 1)]
    for query, parent in enumerate(parents):
        children[parent].append(query)
    result = list(children[ROOT])
    for query in result:  # it grows
        result += children[query]
    return result


def _star(first: int, neighbors: Sequence[Sequence[int]]) -> list[int]:
    """Parents where all neighbors of a query hang on it."""
    parents = [ROOT] * len(neighbors)
    for other in neighbors[first]:
        parents[other] = first
    return parents


def _spanning(central: Sequence[int], lengths: IntArray, neighbors: Sequence[Sequence[int]]) -> list[int]:
    """Parents in a tree of short links, from a central query; one for each part that links hold together."""
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


def _best(lengths: IntArray, among: Links) -> list[int]:
    """Parents in the best tree that is found from some: of short links, of all links to one query, of none."""
    neighbors: list[list[int]] = [[] for _ in range(len(lengths))]
    for left, right in zip(among.left.tolist(), among.right.tolist(), strict=True):
        if right != ROOT:
            neighbors[left].append(right)
            neighbors[right].append(left)
    central = np.argsort(lengths.max(axis=1), kind="stable").tolist()
    starts = [_spanning(central, lengths, neighbors), [ROOT] * len(lengths)]
    starts += [_star(first, neighbors) for first in central[: STARS if len(lengths) <= FEW else 0]]
    return min((_improved(start, lengths, neighbors) for start in starts), key=lambda found: found[0])[1]


def _improved(start: list[int], lengths: IntArray, neighbors: Sequence[Sequence[int]]) -> tuple[float, list[int]]:
    """The cost, and parents: one query at a time moves to where the whole tree costs least."""
    parents = list(start)
    to = [[int(lengths[query, other]) / MIDDLE for other in others] for query, others in enumerate(neighbors)]
    for sweep in range(SWEEPS + 1):
        order = _ordered(parents)
        own = [1.0 if parent == ROOT else int(lengths[q, parent]) / MIDDLE for q, parent in enumerate(parents)]
        walk = _Walk(parents, own, *_costs(parents, own, order))
        cost, turned = walk.below[ROOT], order if sweep % 2 else order[::-1]
        if sweep == SWEEPS or not sum(walk.move(query, neighbors[query], to[query]) for query in turned):
            break
    return cost, parents


@dataclass
class _Walk:
    """A tree that is being changed, with its costs as in `_costs`."""

    parents: list[int]
    lengths: list[float]
    costs: list[float]
    below: list[float]

    def move(self, query: int, others: Sequence[int], lengths: Sequence[float]) -> bool:
        """Take a query with all below it to the best of others or the ground; whether it moved."""
        before, under = self.parents[query], self.below[query]
        self._add(before, -self.costs[query])
        best, place, length = _cost(1.0, under), ROOT, 1.0
        for other, far in zip(others, lengths, strict=True):
            more = self._more(query, other, _cost(far, under))
            if more < best * (1 - 1e-9):
                best, place, length = more, other, far
        self.parents[query], self.lengths[query], self.costs[query] = place, length, _cost(length, under)
        self._add(place, self.costs[query])
        return place != before

    def _more(self, query: int, at: int, more: float) -> float:
        """What the whole would cost more if `more` hung at a query; no way may lead back to the moving one."""
        while at != ROOT:
            if at == query:
                return float("inf")
            more = _cost(self.lengths[at], self.below[at] + more) - self.costs[at]
            at = self.parents[at]
        return more

    def _add(self, at: int, more: float) -> None:
        while at != ROOT:
            self.below[at] = max(self.below[at] + more, 0.0)
            cost = _cost(self.lengths[at], self.below[at])
            more, self.costs[at] = cost - self.costs[at], cost
            at = self.parents[at]
