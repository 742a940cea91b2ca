"""The tree and the mesh of net: their noise is as they say, and near the least there is."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from milepost._typing import FloatArray, IntArray
from milepost.mechanisms.query import mesh, tree
from milepost.mechanisms.query.links import MIDDLE, ROOT, Links
from milepost.mechanisms.query.mesh import Mesh
from milepost.mechanisms.query.tree import Tree
from tests.mechanisms.contract import patched

HALF = float(MIDDLE)


def planar(count: int, seed: int = 0) -> IntArray:
    """Lengths between random points of a square."""
    points = np.random.default_rng(seed).random((count, 2))
    apart = np.sqrt(np.square(points[:, None] - points).sum(axis=2) / 2)
    return np.asarray(np.rint(apart * 2 * MIDDLE).astype(np.int64) + 1)


def uniform(count: int, length: float) -> IntArray:
    return np.full((count, count), round(length * MIDDLE)) * (1 - np.eye(count, dtype=np.int64)) + 1


def every_link(count: int) -> Links:
    left, right = np.triu_indices(count, 1)
    return Links(left, right, np.zeros(len(left), dtype=np.int64))


def tree_loss(link_tree: Tree) -> float:
    """The largest deviation of an answer ÷ that of one query alone."""
    return float(np.sum(link_tree.links.lengths / HALF / link_tree.scales) * np.sqrt(link_tree.variances.max() / 2))


def mesh_loss(link_mesh: Mesh) -> float:
    return float(np.sqrt(np.sum((link_mesh.links.lengths / HALF / link_mesh.scales) ** 2) * link_mesh.variances.max()))


def min_tree_cost(lengths: FloatArray, parents: tuple[int, ...]) -> float:
    """By a general optimiser: the least cost of scales whose squares add up to at most 1 on every way."""
    count = len(parents)
    ways = []
    for query in range(count):
        way, node = [], query
        while node != ROOT:
            way.append(node)
            node = parents[node]
        ways.append(way)
    link_lengths = np.array([1.0 if parent == ROOT else lengths[query, parent] for query, parent in enumerate(parents)])

    def cost(logs: FloatArray) -> float:
        squares = np.exp(logs)
        longest = max(sum(squares[step] for step in way) for way in ways)
        return float(np.sum(link_lengths / np.sqrt(squares)) * math.sqrt(longest))

    options = {"maxiter": 20_000, "maxfev": 20_000, "xatol": 1e-9, "fatol": 1e-12}
    starts = [np.zeros(count), np.log(link_lengths)]
    return min(float(minimize(cost, start, method="Nelder-Mead", options=options).fun) for start in starts)


def trees(count: int) -> list[tuple[int, ...]]:
    """All parents without a cycle."""
    result = []
    for parents in itertools.product(range(-1, count), repeat=count):
        nodes = list(range(count))
        for _ in range(count):
            nodes = [ROOT if node == ROOT else parents[node] for node in nodes]
        if set(nodes) == {ROOT}:
            result.append(parents)
    return result


@pytest.mark.parametrize("parents", [(-1, 0, 1, 0), (-1, 0, 0, -1), (-1, 0, 1, 2), (-1, -1, -1, -1)])
def test_the_best_scales_of_a_tree_follow_from_its_leaves(parents: tuple[int, ...]) -> None:
    """A general optimiser finds none that cost less."""
    lengths = planar(4) / HALF
    link_lengths = [1.0 if parent == ROOT else lengths[query, parent] for query, parent in enumerate(parents)]
    _, below = tree._costs(parents, link_lengths, tree._parents_first(parents))
    assert min_tree_cost(lengths, parents) == pytest.approx(below[ROOT], rel=1e-4)


@pytest.mark.parametrize("seed", range(20))
def test_small_trees_are_the_best_there_are(seed: int) -> None:
    """Of all 125 trees of four queries, but for the rounding of scales to powers of 2^(1/16)."""
    lengths, costs = planar(4, seed), []
    for parents in trees(4):
        link_lengths = [
            1.0 if parent == ROOT else lengths[query, parent] / HALF for query, parent in enumerate(parents)
        ]
        costs.append(tree._costs(parents, link_lengths, tree._parents_first(parents))[1][ROOT])
    assert 1 - 1e-6 < tree_loss(Tree.of(lengths, every_link(4))) / min(costs) < 1.03


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(st.integers(1, 30), st.integers(0, 10**6))
def test_every_way_leads_to_the_ground_and_variances_add_up_along_it(count: int, seed: int) -> None:
    """And the largest is what the cost of the tree says, up to the rounding of scales."""
    lengths = planar(count, seed)
    link_tree = Tree.of(lengths, Mesh.of(lengths).links)
    assert sorted(link_tree.order.tolist()) == list(range(count))
    fourth = 12 * link_tree.scales**4
    for query in range(count):
        variance, moment, node, steps = 0.0, 0.0, query, 0
        while node != ROOT:
            variance, moment = variance + 2 * link_tree.scales[node] ** 2, moment + fourth[node]
            node, steps = int(link_tree.links.right[node]), steps + 1
            assert steps <= count
        assert link_tree.variances[query] == pytest.approx(variance)
        assert link_tree.kurtoses[query] == pytest.approx(moment / variance**2)
    leaves = np.setdiff1d(np.arange(count), link_tree.links.right)
    assert link_tree.variances[leaves] == pytest.approx(link_tree.variances.max(), rel=0.1)


def mesh_lower_bound(lengths: FloatArray) -> float:
    """A bound from below of the largest deviation at cost 1, by many plain rounds on all pairs (weak duality).

    For any importances p, no precisions w of cost 1 have Σp·variance under (Σp·variance)² ÷ max over links of
    gain/length²: the mean is convex and homogeneous of degree −1 in w.
    """
    count = len(lengths)
    left, right = np.triu_indices(count, 1)
    ends = np.zeros((count + len(left), count))
    ends[np.arange(count), np.arange(count)] = 1
    ends[count + np.arange(len(left)), left], ends[count + np.arange(len(left)), right] = 1, -1
    squares = np.concatenate([np.ones(count), lengths[left, right] ** 2])
    share, weight, best = np.full(len(squares), 1 / len(squares)), np.full(count, 1 / count), 0.0
    for _ in range(1500):
        covariance = np.linalg.inv((ends.T * (share / squares)) @ ends)
        gains = np.einsum("ij,jk,ik->i", ends, (covariance * weight) @ covariance, ends) / squares
        mean = float(weight @ covariance.diagonal())
        best = max(best, mean**2 / float(gains.max()))
        share = share * gains / float(share @ gains)
        weight = weight * covariance.diagonal() ** 0.3
        weight /= weight.sum()
    return math.sqrt(best)


@pytest.mark.parametrize(
    "lengths",
    [
        planar(1),
        planar(2),
        planar(12),
        pytest.param(planar(30, 1), marks=pytest.mark.slow),
        uniform(9, 0.5),
        uniform(9, 1.5),
        uniform(6, 1e-2),
    ],
    ids=["one", "two", "plane, 12", "plane, 30", "uniform", "far", "near"],
)
def test_a_mesh_is_near_the_best_there_is(lengths: IntArray) -> None:
    """Within 6 % of a lower bound for every choice of links and precisions: rounds, pruning and rounding of scales."""
    lower_bound = mesh_lower_bound(lengths / HALF)
    assert lower_bound * (1 - 1e-6) <= mesh_loss(Mesh.of(lengths)) <= 1.06 * lower_bound


@pytest.mark.slow
def test_a_mesh_beats_every_tree() -> None:
    """With Gaussian noise: averages over many ways, where a tree has one."""
    lengths = planar(200)
    link_tree = Tree.of(lengths, every_link(200))
    costs = np.zeros(201)
    for query in link_tree.order[::-1].tolist():
        costs[link_tree.links.right[query]] += (link_tree.links.lengths[query] / HALF + math.sqrt(costs[query])) ** 2
    assert mesh_loss(Mesh.of(lengths)) < 0.75 * math.sqrt(costs[ROOT])


@pytest.mark.parametrize("core", [1, 3, 10, 100])
def test_queries_outside_the_core_hang_on_it(core: int) -> None:
    """Each on one link, near queries on the nearest of the core and far ones on the ground; none has more noise."""
    for lengths in (planar(30), uniform(30, 1.5), uniform(30, 1e-4)):
        with patched([(mesh, "CORE", core)]):
            link_mesh = Mesh.of(lengths)
        outer = link_mesh.links.left[link_mesh.inner :]
        assert sorted([*link_mesh.core, *outer]) == list(range(30))
        assert len(link_mesh.core) <= core
        assert (
            link_mesh.variances.max()
            <= 1.1 * np.median(link_mesh.variances) + link_mesh.variances[link_mesh.core].max()
        )
    with patched([(mesh, "CORE", core)]):
        assert mesh_loss(Mesh.of(uniform(30, 1.5))) == pytest.approx(math.sqrt(30), rel=0.05)


def test_scales_are_few() -> None:
    """So that noise is drawn in long vectors."""
    lengths = planar(300)
    link_mesh = Mesh.of(lengths)
    assert len(np.unique(link_mesh.scales)) < 200 < len(link_mesh.scales)
    assert len(np.unique(Tree.of(lengths, link_mesh.links).scales)) < 60


def test_shapes_are_the_same_every_time() -> None:
    """Nothing in them is random."""
    for lengths in (planar(50), uniform(50, 0.3)):
        first_mesh, second_mesh = Mesh.of(lengths), Mesh.of(lengths.copy())
        assert np.array_equal(first_mesh.links.left, second_mesh.links.left)
        assert np.array_equal(first_mesh.scales, second_mesh.scales)
        first, second = (Tree.of(lengths, link_mesh.links) for link_mesh in (first_mesh, second_mesh))
        assert np.array_equal(first.links.right, second.links.right)
