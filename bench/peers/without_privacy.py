"""No privacy: the time of exact answers with NumPy, SciPy's cdist and scikit-learn's BallTree."""

import importlib
from collections.abc import Callable

import numpy as np

from bench.peers import cap
from bench.peers.job import FloatArray, Job, Outcome, Table, distances_to, mean_distances
from bench.peers.stopwatch import min_seconds, timed

TOLERANCE = 1e-4  # the relative tolerance of the tree; 0 would visit every leaf


def plain(people: FloatArray, places: FloatArray, metric: str) -> FloatArray:
    """Answer with NumPy alone, one place at a time."""
    return np.array([distances_to(people, place, metric).mean() for place in places])


def columns(people: FloatArray, places: FloatArray) -> FloatArray:
    """Answer ℓ₁ with NumPy's sort and running sums, one coordinate at a time."""
    result = np.zeros(len(places))
    for column, place in zip(people.T, places.T, strict=True):
        ordered = np.sort(column)
        sums, below = np.concatenate([[0.0], np.cumsum(ordered)]), np.searchsorted(ordered, place)
        result += (sums[-1] - 2 * sums[below] + (2 * below - len(ordered)) * place) / len(ordered)
    return result


def ball_tree(people: FloatArray, metric: str, diameter: float) -> Callable[[FloatArray], FloatArray]:
    """Answer with a linear kernel, which sums 1 - distance/width; one point at itself gives its constant."""
    kind = importlib.import_module("sklearn.neighbors").BallTree
    round_earth = metric == "great-circle"
    name = {"l1": "manhattan", "l2": "euclidean", "great-circle": "haversine"}[metric]
    people = np.radians(people) if round_earth else people
    tree, one = (kind(points, metric=name) for points in (people, people[:1]))
    wide = {"h": diameter / cap.EARTH_KM if round_earth else diameter, "kernel": "linear", "rtol": TOLERANCE}
    constant = float(one.kernel_density(people[:1], **wide)[0])

    def answers(places: FloatArray) -> FloatArray:
        found = tree.kernel_density(np.radians(places) if round_earth else places, **wide) / constant / len(people)
        return np.asarray(diameter * (1 - found), dtype=np.float64)

    return answers


def answer(job: Job, table: Table) -> Outcome:
    """Return the seconds for k places by NumPy, cdist, BallTree and sorted columns, in this order, and some answers.

    Only every 500th place is answered and timed, and the time is multiplied; sorted columns answer all places, because
    their time is not proportional to k.
    """
    some, people = table.places[: job.k : 500], table.people
    tree, built = timed(lambda: ball_tree(people, job.metric, job.diameter))
    ways: list[Callable[[], FloatArray]] = [
        lambda: plain(people, some, job.metric),
        lambda: mean_distances(people, some, job.metric),
        lambda: tree(some),
    ]
    answers = np.array([way() for way in ways])
    seconds = [min_seconds(way) * job.k / len(some) for way in ways]
    seconds[-1] += built
    if job.metric == "l1":
        seconds.append(min_seconds(lambda: columns(people, table.places)))
    return Outcome(answers, seconds)
