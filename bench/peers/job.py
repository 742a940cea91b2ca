"""Job: what a peer is asked to do, and what it hands back; knows neither Milepost nor any peer."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

from bench.peers.stopwatch import least, timed

FloatArray = npt.NDArray[np.float64]
SIDE = 10.0  # of the box that people and places are in, from 0, along every axis; in the plane, kilometres
PLACES = 10_000  # that are asked about at most
BLOCK = 1 << 19  # distances at once


@dataclass(frozen=True)
class Job:
    """k places, some releases of a table, and a guarantee. timed: distances count, too."""

    metric: str  # "l1" or "l2"
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
        """The name of its people and places."""
        return f"{self.metric}-{self.width}-{self.n}"

    @property
    def diameter(self) -> float:
        """The largest distance in the box."""
        return SIDE * (self.width if self.metric == "l1" else self.width**0.5)

    def asked(self, release: int) -> npt.NDArray[np.int64]:
        """The places that a release is asked about: others in every release, as long as there are others."""
        return (release * self.k + np.arange(self.k)) % PLACES


@dataclass(frozen=True, eq=False)
class Table:
    """people, places, and the exact mean distance of each place, which a peer need not compute once more."""

    people: FloatArray
    places: FloatArray
    means: FloatArray


@dataclass(frozen=True, eq=False)
class Outcome:
    """answers: float64[releases, k]; seconds: of each release; answering: seconds for the k answers of one."""

    answers: FloatArray
    seconds: list[float] = field(default_factory=list)
    answering: float = 0.0
    note: str = ""


Answer = Callable[[Job, Table], Outcome]


def mean_distances(
    people: FloatArray, places: FloatArray, metric: str, weights: FloatArray | None = None
) -> FloatArray:
    """The mean distance of each place by brute force, in blocks that fit memory."""
    step = max(1, BLOCK // len(people))
    name = {"l1": "cityblock", "l2": "euclidean"}[metric]
    share = np.full(len(people), 1 / len(people)) if weights is None else weights / weights.sum()
    blocks = (cdist(places[i : i + step], people, name) @ share for i in range(0, len(places), step))
    return np.concatenate(list(blocks))


def farthest(places: FloatArray, metric: str) -> FloatArray:
    """How far anybody in the box can be from each place, which is the range of a distance to it."""
    corner = np.maximum(places, SIDE - places)
    return np.asarray(np.linalg.norm(corner, {"l1": 1, "l2": 2}[metric], axis=1), dtype=np.float64)


def brute_seconds(people: FloatArray, places: FloatArray, metric: str) -> float:
    """How long SciPy's cdist takes for all distances: those of every hundredth place, times what was left out."""
    some = places[:: min(100, len(places))]
    return least(lambda: mean_distances(people, some, metric)) * len(places) / len(some)


def each_release(job: Job, table: Table, release: Callable[[Job, FloatArray, FloatArray], FloatArray]) -> Outcome:
    """For peers that answer a query at a time: release(job, places, means) as often as wanted."""

    def one(number: int) -> FloatArray:
        asked = job.asked(number)
        return release(job, table.places[asked], table.means[asked])

    pairs = [timed(partial(one, number)) for number in range(job.releases)]
    before = brute_seconds(table.people, table.places[: job.k], job.metric) if job.timed else 0.0
    return Outcome(np.array([answers for answers, _ in pairs]), [seconds + before for _, seconds in pairs])
