"""OpenDP, a query at a time: the sum of distances to each place, with Gaussian or Laplace noise, whichever is less.

A distance to place y is between 0 and the farthest corner of the box, which is what replacing a record can change in
its sum. k places are one vector: its ℓ₂ sensitivity √ΣΔ² is what k Gaussian queries of equal noise compose to under
zCDP, its ℓ₁ sensitivity ΣΔ what k Laplace queries compose to. Under add-remove, distances count from the middle of
their range, which halves the sensitivity, and the number of rows is one more query. Sums are rounded to integers, on
which OpenDP's sampling is about ten times as fast. Answers are clipped into their range, which costs nothing.
"""

import math
from typing import Any

import numpy as np
import opendp.prelude as dp

from bench.peers.job import FloatArray, Job, Outcome, Table, each_release, farthest
from bench.peers.scale import gaussian, relative

UNIT = 2.0**-20  # what sums are rounded to


def noisy(values: FloatArray, l1: float, l2: float, job: Job) -> FloatArray:
    """Integers plus noise for ℓ₁ and ℓ₂ sensitivities, with OpenDP's own search for the scale."""
    whole = math.ceil(l1)
    measurement: Any
    if job.delta > 0 and relative(job.epsilon, job.delta) * l2 < math.sqrt(2) * whole / job.epsilon:
        measurement = gaussian(relative(job.epsilon, job.delta) * l2)
    else:
        integers = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
        measurement = dp.m.make_laplace(*integers, whole / job.epsilon * (1 + 2.0**-40))
        assert measurement.map(whole) <= job.epsilon
    return np.array(measurement(values.astype(np.int64).tolist()), dtype=np.float64)


def release(job: Job, places: FloatArray, means: FloatArray) -> FloatArray:
    """One answer a place."""
    most = farthest(places, job.metric)
    if job.neighbors == "replace":
        ranges = most / UNIT + 1
        sums = np.round(means * job.n / UNIT)
        answers = noisy(sums, ranges.sum(), float(np.linalg.norm(ranges)), job) * UNIT / job.n
    else:
        halves = most / 2 / UNIT + 1
        count = math.ceil(halves.mean())  # units in which the number of rows counts: as much as one place
        sums = np.append(np.round((means - most / 2) * job.n / UNIT), job.n * count)
        moved = np.append(halves, count)
        found = noisy(sums, moved.sum(), float(np.linalg.norm(moved)), job)
        answers = most / 2 + found[:-1] * UNIT / max(found[-1] / count, 1.0)
    return np.clip(answers, 0, most)


def answer(job: Job, table: Table) -> Outcome:
    """Noise for each release; a timed one computes the distances, too."""
    return each_release(job, table, release)
