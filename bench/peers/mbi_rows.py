"""mbi (private-pgm): noisy marginals, a model that fits them, synthetic rows, and exact distances to these rows.

ℓ₁ needs one-way marginals. ℓ₂ in the plane and the great circle take the one two-way marginal, of the cells of the box
or of the cap's chart; a constraint of mbi says which cells are outside the cap. The noise is NumPy's, as in mbi's
examples: replacing a record takes √2 times the Gaussian noise, or twice the Laplace noise, of adding a record. Rows lie
in the middle of their cells. Distances to n such rows are distances to the cells with their counts, and are computed so
unless they are timed.
"""

import importlib
import math

import numpy as np

from bench.peers import cap
from bench.peers.job import SIDE, FloatArray, Job, Outcome, Table, brute_seconds, mean_distances
from bench.peers.pilot import best
from bench.peers.scale import relative
from bench.peers.stopwatch import timed

CELLS = (16, 32, 64, 128)  # an axis, for ℓ₁
# for ℓ₂ and the great circle, by the number of people; the best number is inside each range
PLANAR_CELLS = {1_000: (4, 6, 8, 12, 16), 10_000: (8, 12, 16, 24, 32), 100_000: (16, 24, 32, 48, 64)}
PILOT_RELEASES = 30  # errors of a release vary much, and near numbers of cells are about equally good
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
    round_earth = job.metric == "great-circle"
    positions, side = (cap.to_chart(people), cap.SIDE_KM) if round_earth else (people, SIDE)
    which = np.clip((positions * (cells / side)).astype(np.int64), 0, cells - 1)
    names = [f"x{i}" for i in range(job.width)]
    marginals = [(name,) for name in names] if job.metric == "l1" else [tuple(names)]
    measurements = []
    for marginal in marginals:
        columns = which[:, [names.index(name) for name in marginal]]
        flat = np.ravel_multi_index(tuple(columns.T), (cells,) * len(marginal))
        counts = np.bincount(flat, minlength=cells ** len(marginal))
        drawn = rng.normal(0, sigma, counts.shape) if gaussian else rng.laplace(0, sigma / math.sqrt(2), counts.shape)
        measurements.append(mbi.LinearMeasurement(counts + drawn, marginal, stddev=sigma))
    known = float(job.n) if job.neighbors == "replace" else None
    domain = mbi.Domain(names, [cells] * job.width)
    constraints = [mbi.Constraint(domain, invalid=cap.empty_cells(cells))] if round_earth else []
    model = mbi.estimation.MirrorDescent().estimate(
        domain, measurements, known_total=known, constraints=constraints, iters=ITERATIONS
    )
    rows = model.synthetic_data(rows=job.n if known else None).to_dict()
    return np.stack([np.asarray(rows[name], dtype=np.float64) for name in names], axis=1)


def middles_of(job: Job, rows: FloatArray, cells: int) -> FloatArray:
    """Return the middle of each row's cell, as a point of the space."""
    if job.metric == "great-circle":
        return cap.from_chart((rows + 0.5) * (cap.SIDE_KM / cells))
    return (rows + 0.5) * (SIDE / cells)


def mean_answers(job: Job, rows: FloatArray, cells: int, places: FloatArray) -> FloatArray:
    """Return mean distances to the rows, by counting equal rows."""
    if job.metric != "l1":
        alike, numbers = np.unique(rows, axis=0, return_counts=True)
        return mean_distances(middles_of(job, alike, cells), places, job.metric, numbers.astype(np.float64))
    result = np.zeros(len(places))
    for column, place in zip(rows.T, places.T, strict=True):
        counts = np.bincount(column.astype(np.int64), minlength=cells) / len(rows)
        result += np.abs(place[:, None] - (np.arange(cells) + 0.5) * (SIDE / cells)) @ counts
    return result


def answer(job: Job, table: Table) -> Outcome:
    """Answer with the best of a few numbers of cells; the choice costs no budget, which favors the peer."""
    noise = deviation(job, job.width if job.metric == "l1" else 1)

    def one(cells: int) -> FloatArray:
        return mean_answers(job, release(job, table.people, cells, noise), cells, table.places)

    cells = best(CELLS if job.metric == "l1" else PLANAR_CELLS[job.n], one, table.means, PILOT_RELEASES)
    pairs = [timed(lambda: release(job, table.people, cells, noise)) for _ in range(job.releases)]
    answering = 0.0
    if job.timed:
        answering = brute_seconds(middles_of(job, pairs[0][0], cells), table.places, job.metric)
    answers = np.array([mean_answers(job, rows, cells, table.places) for rows, _ in pairs])
    return Outcome(answers, [seconds for _, seconds in pairs], answering, f"{cells} cells an axis")
