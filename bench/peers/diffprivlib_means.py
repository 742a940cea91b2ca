"""diffprivlib, a query at a time: the noise of its `tools.mean` for pure ε, its analytic Gaussian for δ > 0.

`tools.mean` puts truncated Laplace noise of sensitivity range/n on a mean and is composed by adding up ε, so each of k
places gets ε/k. The analytic Gaussian (Balle and Wang 2018) is calibrated to the ℓ₂ sensitivity of all k means. For
δ > 0 the one with less noise is taken. Both protect the replacement of a record; n is public.
"""

import importlib

import numpy as np

from bench.peers.job import FloatArray, Job, Outcome, Table, each_release, farthest

mechanisms = importlib.import_module("diffprivlib.mechanisms")


def release(job: Job, places: FloatArray, means: FloatArray) -> FloatArray:
    """Return one answer a place."""
    most = farthest(places, job.metric)
    if job.delta > 0:
        norm = float(np.linalg.norm(most)) / job.n
        gaussian = mechanisms.GaussianAnalytic(epsilon=job.epsilon, delta=job.delta, sensitivity=norm)
        if gaussian.variance(0.0) < 2 * (job.k * most.mean() / job.n / job.epsilon) ** 2:
            return np.array([gaussian.randomise(mean) for mean in means.tolist()]).clip(0, most)
    share = job.epsilon / job.k
    return np.array(
        [
            mechanisms.LaplaceTruncated(
                epsilon=share, delta=0.0, sensitivity=upper / job.n, lower=0.0, upper=upper
            ).randomise(mean)
            for mean, upper in zip(means.tolist(), most.tolist(), strict=True)
        ]
    )


def answer(job: Job, table: Table) -> Outcome:
    """Draw noise for each release; compute the distances, too, if the job is timed."""
    return each_release(job, table, release)
