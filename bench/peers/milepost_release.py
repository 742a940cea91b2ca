"""Milepost with its defaults: one release that answers every place, by the mechanism that it chooses."""

from functools import partial

import numpy as np

import milepost as mp
from bench.peers import cap
from bench.peers.job import SIDE, Job, Outcome, Table
from bench.peers.stopwatch import timed
from milepost.spaces.base import Space


def space_of(job: Job) -> Space:
    """Return the box with the job's metric, or the cap."""
    if job.metric == "great-circle":
        return mp.GreatCircle(cap.CENTER, cap.RADIUS_KM)
    box = [(0.0, SIDE)] * job.width
    return mp.L1(box) if job.metric == "l1" else mp.L2(box)


def answer(job: Job, table: Table, mechanism: str = "auto") -> Outcome:
    """Release the table; every release answers all places."""
    release = partial(
        mp.release,
        table.people,
        space_of(job),
        epsilon=job.epsilon,
        delta=job.delta,
        mechanism=mechanism,
        neighbors=job.neighbors,
    )
    answers, taken, answering, name = [], [], 0.0, ""
    for _ in range(job.releases):
        synopsis, seconds = timed(release)
        values, answering = timed(partial(synopsis.mean_distance, table.places))
        answers.append(values)
        taken.append(seconds)
        name = synopsis.mechanism
    return Outcome(np.array(answers), taken, answering, name)
