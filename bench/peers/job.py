"""Job: the task of a peer, and its results. This module imports neither Milepost nor any peer."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from bench.peers import cap
from bench.peers.stopwatch import min_seconds, timed

FloatArray = npt.NDArray[np.float64]
SIDE = 10.0  # the side of the box, which begins at 0 along every axis; in the plane, in kilometers
PLACES = 10_000  # the maximum number of places
BLOCK = 1 << 19  # distances in one block


@dataclass(frozen=True)
class Job:
    """The task: k places, some releases of a table, and a guarantee. timed: the time of distances counts, too."""

    metric: str  # "l1", "l2" or "great-circle"
    width: int
    n: int
    k: int
    epsilon: float
    delta: float
    neighbors: str  # "replace" or "add-remove"
    releases: int
    timed: bool = False

    @property
    def table(self) -> str:
        """Return the name of its people and places."""
        return f"{self.metric}-{self.width}-{self.n}"

    @property
    def diameter(self) -> float:
        """Return the largest distance in the box or the cap."""
        if self.metric == "great-circle":
            return 2 * cap.RADIUS_KM
        return SIDE * (self.width if self.metric == "l1" else self.width**0.5)

    def query_indices(self, release: int) -> npt.NDArray[np.int64]:
        """Return the places that a release is asked about: different ones in every release, while there are enough."""
        return (release * self.k + np.arange(self.k)) % PLACES


@dataclass(frozen=True, eq=False)
class Table:
    """People, places, and the exact mean distance of each place, which peers need not compute again."""

    people: FloatArray
    places: FloatArray
    means: FloatArray


@dataclass(frozen=True, eq=False)
class Outcome:
    """The results: answers, float64[releases, k]; seconds of each release; answering, seconds for k answers."""

    answers: FloatArray
    seconds: list[float] = field(default_factory=list)
    answering: float = 0.0
    note: str = ""


Answer = Callable[[Job, Table], Outcome]


def distances_to(people: FloatArray, place: FloatArray, metric: str) -> FloatArray:
    """Return the distances of people to one place, with NumPy alone."""
    if metric == "great-circle":
        return cap.haversine(people, place)
    return np.asarray(np.linalg.norm(people - place, {"l1": 1, "l2": 2}[metric], axis=1))


def mean_distances(
    people: FloatArray, places: FloatArray, metric: str, weights: FloatArray | None = None
) -> FloatArray:
    """Return the mean distance of each place by brute force, in blocks that fit memory."""
    step = max(1, BLOCK // len(people))
    share = np.full(len(people), 1 / len(people)) if weights is None else weights / weights.sum()
    if metric == "great-circle":
        people, places = cap.unit_vectors(people), cap.unit_vectors(places)

    def block(some: FloatArray) -> FloatArray:
        found = cdist(some, people, "cityblock" if metric == "l1" else "euclidean")
        return np.asarray((cap.lengths_of(found) if metric == "great-circle" else found) @ share)

    return np.concatenate([block(places[i : i + step]) for i in range(0, len(places), step)])


def farthest(places: FloatArray, metric: str) -> FloatArray:
    """Return the largest distance of each place to a point of the space, which is the range of distances to it."""
    if metric == "great-circle":
        return cap.haversine(places, np.array(cap.CENTER)) + cap.RADIUS_KM
    corner = np.maximum(places, SIDE - places)
    return np.asarray(np.linalg.norm(corner, {"l1": 1, "l2": 2}[metric], axis=1), dtype=np.float64)


def brute_seconds(people: FloatArray, places: FloatArray, metric: str) -> float:
    """Return the seconds of SciPy's cdist for all distances, extrapolated from every hundredth place."""
    some = places[:: min(100, len(places))]
    return min_seconds(lambda: mean_distances(people, some, metric)) * len(places) / len(some)


def each_release(job: Job, table: Table, release: Callable[[Job, FloatArray, FloatArray], FloatArray]) -> Outcome:
    """Run release(job, places, means) for every release, for peers that answer one query at a time."""

    def one(number: int) -> FloatArray:
        indices = job.query_indices(number)
        return release(job, table.places[indices], table.means[indices])

    pairs = [timed(partial(one, number)) for number in range(job.releases)]
    before = brute_seconds(table.people, table.places[: job.k], job.metric) if job.timed else 0.0
    return Outcome(np.array([answers for answers, _ in pairs]), [seconds + before for _, seconds in pairs])
