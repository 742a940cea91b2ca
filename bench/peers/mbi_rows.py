"""mbi (private-pgm): noisy marginals, a model that fits them, synthetic rows, and exact distances to these rows.

ℓ₁ needs one-way marginals; ℓ₂ in the plane takes the one two-way marginal. The noise is NumPy's, as in mbi's examples:
replacing a record takes √2 times the Gaussian noise, or twice the Laplace noise, of adding a record. Rows lie in the
middle of their cells. Distances to n such rows are distances to the cells with their counts, and are computed so unless
they are timed.
"""

import importlib
import math

import numpy as np

from bench.peers.job import SIDE, FloatArray, Job, Outcome, Table, brute_seconds, mean_distances
from bench.peers.pilot import best
from bench.peers.scale import relative
from bench.peers.stopwatch import timed

CELLS = {"l1": (16, 32, 64, 128), "l2": (16, 32)}
ITERATIONS = 1000  # mbi's default

jax = importlib.import_module("jax")
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_enable_compilation_cache", False)
mbi = importlib.import_module("mbi")


def deviation(job: Job, marginals: int) -> tuple[bool, float]:
    """Return whether the noise is Gaussian, and its deviation: the smaller of the two."""
    moved = 2 if job.neighbors == "replace" else 1
    laplace = math.sqrt(2) * moved * marginals / job.epsilon
    if job.delta == 0:
        return False, laplace
    gaussian = math.sqrt(moved * marginals) * relative(job.epsilon, job.delta)
    return gaussian < laplace, min(gaussian, laplace)


def release(job: Job, people: FloatArray, cells: int, noise: tuple[bool, float]) -> FloatArray:
    """Return synthetic rows, as numbers of cells: float64[rows, width]."""
    rng = np.random.default_rng()
    gaussian, sigma = noise
    which = np.minimum((people * (cells / SIDE)).astype(np.int64), cells - 1)
    names = [f"x{i}" for i in range(job.width)]
    marginals = [tuple(names)] if job.metric == "l2" else [(name,) for name in names]
    measurements = []
    for marginal in marginals:
        columns = which[:, [names.index(name) for name in marginal]]
        flat = np.ravel_multi_index(tuple(columns.T), (cells,) * len(marginal))
        counts = np.bincount(flat, minlength=cells ** len(marginal))
        drawn = rng.normal(0, sigma, counts.shape) if gaussian else rng.laplace(0, sigma / math.sqrt(2), counts.shape)
        measurements.append(mbi.LinearMeasurement(counts + drawn, marginal, stddev=sigma))
    known = float(job.n) if job.neighbors == "replace" else None
    model = mbi.estimation.MirrorDescent().estimate(
        mbi.Domain(names, [cells] * job.width), measurements, known_total=known, iters=ITERATIONS
    )
    rows = model.synthetic_data(rows=job.n if known else None).to_dict()
    return np.stack([np.asarray(rows[name], dtype=np.float64) for name in names], axis=1)


def mean_answers(job: Job, rows: FloatArray, cells: int, places: FloatArray) -> FloatArray:
    """Return mean distances to the rows, by counting equal rows."""
    middle = SIDE / cells
    if job.metric == "l2":
        alike, numbers = np.unique(rows, axis=0, return_counts=True)
        return mean_distances((alike + 0.5) * middle, places, "l2", numbers.astype(np.float64))
    result = np.zeros(len(places))
    for column, place in zip(rows.T, places.T, strict=True):
        counts = np.bincount(column.astype(np.int64), minlength=cells) / len(rows)
        result += np.abs(place[:, None] - (np.arange(cells) + 0.5) * middle) @ counts
    return result


def answer(job: Job, table: Table) -> Outcome:
    """Answer with the best of a few numbers of cells; the choice costs no budget, which favors the peer."""
    noise = deviation(job, 1 if job.metric == "l2" else job.width)

    def one(cells: int) -> FloatArray:
        return mean_answers(job, release(job, table.people, cells, noise), cells, table.places)

    cells = best(CELLS[job.metric], one, table.means)
    pairs = [timed(lambda: release(job, table.people, cells, noise)) for _ in range(job.releases)]
    answering = 0.0
    if job.timed:
        rows = (pairs[0][0] + 0.5) * (SIDE / cells)
        answering = brute_seconds(rows, table.places, job.metric)
    answers = np.array([mean_answers(job, rows, cells, table.places) for rows, _ in pairs])
    return Outcome(answers, [seconds for _, seconds in pairs], answering, f"{cells} cells an axis")
