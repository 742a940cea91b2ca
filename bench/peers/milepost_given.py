"""Milepost with places that are given in advance: `queries=`, and the mechanism that `auto` then chooses."""

from functools import partial

import numpy as np

import milepost as mp
from bench.peers.job import Job, Outcome, Table
from bench.peers.milepost_release import space_of
from bench.peers.stopwatch import timed


def answer(job: Job, table: Table) -> Outcome:
    """Release the table, each time for k places."""
    release = partial(
        mp.release, table.people, space_of(job), epsilon=job.epsilon, delta=job.delta, neighbors=job.neighbors
    )
    answers, taken, names = [], [], set()
    for number in range(job.releases):
        places = table.places[job.query_indices(number)]
        synopsis, seconds = timed(partial(release, queries=places))
        answers.append(synopsis.mean_distance(places))
        taken.append(seconds)
        names.add(synopsis.mechanism)
    return Outcome(np.array(answers), taken, note=", ".join(sorted(names)))
