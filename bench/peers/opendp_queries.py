"""OpenDP, one query at a time: the sum of distances to each place, with the smaller of Gaussian and Laplace noise.

A distance to place y lies between 0 and the distance of the farthest corner of the box, which is how much replacing a
record can change its sum. k places are one vector: k Gaussian queries of equal noise compose under zCDP to its ℓ₂
sensitivity √ΣΔ², and k Laplace queries to its ℓ₁ sensitivity ΣΔ. Under add-remove, distances count from the middle of
their range, which halves the sensitivity, and the number of rows is one more query. Sums are rounded to integers, for
which OpenDP's sampling is about ten times as fast. Answers are clipped to their range, which costs nothing.
"""

import math
from typing import Any

import numpy as np
import opendp.prelude as dp

from bench.peers.job import FloatArray, Job, Outcome, Table, each_release, farthest
from bench.peers.scale import gaussian, relative

UNIT = 2.0**-20  # sums are rounded to multiples of this


def noisy(values: FloatArray, l1: float, l2: float, job: Job) -> FloatArray:
    """Add noise to integers for ℓ₁ and ℓ₂ sensitivities, with OpenDP's own search for the scale."""
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
    """Return one answer a place."""
    most = farthest(places, job.metric)
    if job.neighbors == "replace":
        ranges = most / UNIT + 1
        sums = np.round(means * job.n / UNIT)
        answers = noisy(sums, ranges.sum(), float(np.linalg.norm(ranges)), job) * UNIT / job.n
    else:
        halves = most / 2 / UNIT + 1
        count = math.ceil(halves.mean())  # the weight of the number of rows: that of one place
        sums = np.append(np.round((means - most / 2) * job.n / UNIT), job.n * count)
        moved = np.append(halves, count)
        found = noisy(sums, moved.sum(), float(np.linalg.norm(moved)), job)
        answers = most / 2 + found[:-1] * UNIT / max(found[-1] / count, 1.0)
    return np.clip(answers, 0, most)


def answer(job: Job, table: Table) -> Outcome:
    """Draw noise for each release; compute the distances, too, if the job is timed."""
    return each_release(job, table, release)
