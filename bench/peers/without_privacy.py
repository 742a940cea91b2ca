"""No privacy: how long exact answers take with NumPy, SciPy's cdist and scikit-learn's BallTree."""

import importlib

import numpy as np

from bench.peers.job import FloatArray, Job, Outcome, Table, mean_distances
from bench.peers.stopwatch import timed

TOLERANCE = 1e-4  # relative, of the tree; 0 would visit every leaf


def plain(people: FloatArray, places: FloatArray, metric: str) -> FloatArray:
    """NumPy alone, a place at a time."""
    order = {"l1": 1, "l2": 2}[metric]
    return np.array([np.linalg.norm(people - place, order, axis=1).mean() for place in places])


def columns(people: FloatArray, places: FloatArray) -> FloatArray:
    """ℓ₁ alone: NumPy's sort and running sums, a coordinate at a time."""
    result = np.zeros(len(places))
    for column, place in zip(people.T, places.T, strict=True):
        ordered = np.sort(column)
        sums, below = np.concatenate([[0.0], np.cumsum(ordered)]), np.searchsorted(ordered, place)
        result += (sums[-1] - 2 * sums[below] + (2 * below - len(ordered)) * place) / len(ordered)
    return result


def ball_tree(people: FloatArray, places: FloatArray, metric: str, diameter: float) -> FloatArray:
    """A linear kernel as wide as the space adds up 1 - distance/width; one point at itself tells its constant."""
    tree = importlib.import_module("sklearn.neighbors").BallTree
    name = {"l1": "manhattan", "l2": "euclidean"}[metric]

    def density(points: FloatArray, at: FloatArray) -> FloatArray:
        found = tree(points, metric=name).kernel_density(at, diameter, kernel="linear", rtol=TOLERANCE)
        return np.asarray(found, dtype=np.float64)

    one = density(people[:1], people[:1])[0]
    return np.asarray(diameter * (1 - density(people, places) / one / len(people)), dtype=np.float64)


def answer(job: Job, table: Table) -> Outcome:
    """Seconds for k places by NumPy, cdist, BallTree and sorted columns, in this order; answers are of every 500th.

    Only those places are timed, and multiplied, but for sorted columns, whose time is not proportional to k.
    """
    some = table.places[: job.k : 500]
    ways = [
        lambda: plain(table.people, some, job.metric),
        lambda: mean_distances(table.people, some, job.metric),
        lambda: ball_tree(table.people, some, job.metric, job.diameter),
    ]
    pairs = [timed(way) for way in ways]
    seconds = [taken * job.k / len(some) for _, taken in pairs]
    if job.metric == "l1":
        seconds.append(timed(lambda: columns(table.people, table.places))[1])
    return Outcome(np.array([answers for answers, _ in pairs]), seconds)
