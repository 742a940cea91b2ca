"""City: seeded people in a box or a cap, places to ask about, and exact mean distances, for each metric and size."""

from pathlib import Path

import numpy as np

from bench.peers import cap
from bench.peers.job import PLACES, SIDE, FloatArray, Job, Table, distances_to, mean_distances
from bench.peers.without_privacy import columns

TOWNS, SPREAD, OUTSIDE = 4, 0.8, 0.25  # the number of towns, their deviation, and the share of people outside towns


def people_of(n: int, width: int, metric: str) -> FloatArray:
    """Return synthetic people: most in a few towns, some anywhere. In a cap, towns are those of the box, enlarged."""
    rng = np.random.default_rng([n, width])
    towns = rng.uniform(0.2 * SIDE, 0.8 * SIDE, (TOWNS, width))
    people = rng.normal(towns[rng.integers(TOWNS, size=n)], SPREAD)
    anywhere = rng.random(n) < OUTSIDE
    if metric == "great-circle":
        people *= cap.SIDE_KM / SIDE
        people[anywhere] = cap.in_disc(rng, int(anywhere.sum()))
        return cap.from_chart(people)
    people[anywhere] = rng.uniform(0, SIDE, (int(anywhere.sum()), width))
    return np.clip(people, 0, SIDE)


def places_of(width: int, metric: str) -> FloatArray:
    """Return places anywhere in the box or the cap."""
    rng = np.random.default_rng(1)
    return (
        cap.from_chart(cap.in_disc(rng, PLACES)) if metric == "great-circle" else rng.uniform(0, SIDE, (PLACES, width))
    )


def table_of(job: Job) -> Table:
    """Return the people of a job, the places, and the exact mean distances."""
    people, places = people_of(job.n, job.width, job.metric), places_of(job.width, job.metric)
    exact = columns(people, places) if job.metric == "l1" else mean_distances(people, places, job.metric)
    return Table(people, places, exact)


def sampling(people: FloatArray, places: FloatArray, metric: str) -> float:
    """Return the sampling error of such a table as a sample of a larger population, rms over places: deviation/√n."""
    variances = [np.var(distances_to(people, place, metric)) for place in places[:: len(places) // 100]]
    return float(np.sqrt(np.mean(variances) / len(people)))


def write(folder: Path, job: Job, table: Table) -> None:
    """Write a table for the processes of peers."""
    for part, values in (("people", table.people), ("places", table.places), ("means", table.means)):
        np.save(folder / f"{job.table}-{part}.npy", values)
