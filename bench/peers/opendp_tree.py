"""OpenDP's tree: for each coordinate, noisy counts of a b-ary tree of intervals, made consistent; ℓ₁ only.

Pure ε uses OpenDP's own chain of tree, Laplace noise and consistency, with its own privacy map. For δ > 0 this map has
no √ for ℓ₂ and would require far too much noise. So Gaussian noise is added to the nodes of all coordinates as one
vector, whose ℓ₂ sensitivity is √(2 · layers · coordinates) for replacing a record, and 1/√2 of that for adding one. The
consistent leaves give a cumulative count, which is made monotone at no cost; it is the slope.
"""

import math
from typing import Any

import numpy as np
import opendp.prelude as dp
from scipy.optimize import isotonic_regression

from bench.peers.job import SIDE, FloatArray, Job, Outcome, Table
from bench.peers.pilot import best
from bench.peers.scale import gaussian, relative
from bench.peers.stopwatch import timed

SHAPES = ((64, 4), (64, 8), (256, 4), (256, 16), (1024, 4), (1024, 32))  # leaves and branches


def leaves_of(counts: FloatArray, branches: int, job: Job) -> FloatArray:
    """Return noisy and consistent leaves of every coordinate: float64[width, leaves]."""
    moved = 2 if job.neighbors == "replace" else 1
    leaves = counts.shape[1]
    consistent = dp.t.make_consistent_b_ary_tree(branches)
    integers = dp.vector_domain(dp.atom_domain(T=int))
    tree: Any = dp.t.make_b_ary_tree(integers, dp.l1_distance(T=int), leaves, branches)
    rows = counts.astype(np.int64).tolist()

    if job.delta == 0:
        share = job.epsilon / job.width
        chain = tree >> dp.m.then_laplace(tree.map(moved) / share * (1 + 2.0**-40))
        assert chain.map(moved) <= share
        return np.array([consistent(chain(row)) for row in rows])
    nodes = [tree(row) for row in rows]
    layers = round(math.log(leaves, branches)) + 1

    scale = relative(job.epsilon, job.delta) * math.sqrt(moved * layers * job.width)
    noisy = np.array(gaussian(scale)([node for row in nodes for node in row])).reshape(job.width, -1)
    return np.array([consistent(row) for row in noisy.tolist()])


def heights_of(leaves: FloatArray, job: Job) -> FloatArray:
    """Return each coordinate's mean distance at the borders of its leaves: float64[width, leaves + 1]."""
    total = np.full(job.width, float(job.n)) if job.neighbors == "replace" else np.maximum(leaves.sum(axis=1), 1.0)
    leaves = leaves + ((total - leaves.sum(axis=1)) / leaves.shape[1])[:, None]
    below = np.cumsum(leaves, axis=1)[:, :-1] / total[:, None]
    below = np.array([np.clip(isotonic_regression(row).x, 0, 1) for row in below])
    below = np.hstack([np.zeros((job.width, 1)), below, np.ones((job.width, 1))])
    step = SIDE / leaves.shape[1]
    rises = np.cumsum((below[:, :-1] + below[:, 1:] - 1) * step, axis=1)  # the slope is 2 · below - 1
    heights = np.hstack([np.zeros((job.width, 1)), rises])
    heights += (SIDE - heights[:, -1:]) / 2  # the distances to both ends add up to the side
    return np.asarray(heights, dtype=np.float64)


def mean_answers(heights: FloatArray, places: FloatArray) -> FloatArray:
    """Return the sums over coordinates."""
    borders = np.linspace(0, SIDE, heights.shape[1])
    result = np.zeros(len(places))
    for column, row in zip(places.T, heights, strict=True):
        result += np.interp(column, borders, row)
    return result


def release(job: Job, people: FloatArray, leaves: int, branches: int) -> FloatArray:
    """Return heights that answer every place."""
    which = np.minimum((people * (leaves / SIDE)).astype(np.int64), leaves - 1)
    counts = np.array([np.bincount(column, minlength=leaves) for column in which.T], dtype=np.float64)
    return heights_of(leaves_of(counts, branches, job), job)


def answer(job: Job, table: Table) -> Outcome:
    """Answer with the best of a few shapes; the choice costs no budget, which favors the peer."""

    def one(shape: tuple[int, int]) -> FloatArray:
        return mean_answers(release(job, table.people, *shape), table.places)

    leaves, branches = best(SHAPES, one, table.means)
    pairs = [timed(lambda: release(job, table.people, leaves, branches)) for _ in range(job.releases)]
    answering = timed(lambda: mean_answers(pairs[0][0], table.places))[1]
    answers = np.array([mean_answers(heights, table.places) for heights, _ in pairs])
    return Outcome(answers, [s for _, s in pairs], answering, f"{leaves} leaves, {branches} branches")
