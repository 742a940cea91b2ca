"""PyDP (Google's C++ library), one query at a time: BoundedMean of the distances, pure ε, add-remove."""

import importlib
from functools import partial

import numpy as np

from bench.peers.job import FloatArray, Job, Outcome, Table, farthest
from bench.peers.stopwatch import timed

laplacian = importlib.import_module("pydp.algorithms.laplacian")


def release(job: Job, people: FloatArray, places: FloatArray) -> FloatArray:
    """Return one answer a place, each with ε/k; the library computes the mean from a list."""
    order = {"l1": 1, "l2": 2}[job.metric]
    answers = []
    for place, most in zip(places, farthest(places, job.metric).tolist(), strict=True):
        mean = laplacian.BoundedMean(
            epsilon=job.epsilon / job.k, lower_bound=0.0, upper_bound=most, l0_sensitivity=1, dtype="float"
        )
        answers.append(mean.quick_result(np.linalg.norm(people - place, order, axis=1).tolist()))
    return np.array(answers)


def answer(job: Job, table: Table) -> Outcome:
    """Answer each release; each one reads the table again."""
    pairs = [
        timed(partial(release, job, table.people, table.places[job.query_indices(r)])) for r in range(job.releases)
    ]
    return Outcome(np.array([answers for answers, _ in pairs]), [seconds for _, seconds in pairs])
