"""The coverage of 95 % intervals over releases and public rotations, and their half-widths ÷ the measured error.

Each run has a table, queries and a rotation of its own, so that a run is one draw: the coverage of a row is the mean of
its runs' shares, with its standard error. --check fails only where 93 % is rejected at a false-alarm rate of 10⁻⁹, or
where half-widths are more than 3 times the 95 % point of the errors.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import stats
from sklearn.datasets import load_digits

import milepost as mp
from bench.run import FALSE_ALARM, Bounds
from milepost._typing import FloatArray
from milepost.spaces.base import Space

QUERIES = 24
SEED = 23
MIN_COVERAGE, MAX_RATIO = 0.93, 3.0

MakeTable = Callable[[np.random.Generator, int, int], FloatArray]


def mixture(generator: np.random.Generator, n: int, dimension: int) -> FloatArray:
    """Return five clusters of people in the unit ball."""
    spread = 0.25 * generator.standard_normal((n, dimension)) / math.sqrt(dimension)
    return atoms(generator, n, dimension) + spread


def atoms(generator: np.random.Generator, n: int, dimension: int) -> FloatArray:
    """Return people at five places."""
    centers = generator.standard_normal((5, dimension))
    centers *= 0.6 / np.linalg.norm(centers, axis=1, keepdims=True)
    return np.asarray(centers[generator.integers(0, 5, n)])


def far_cluster(generator: np.random.Generator, n: int, dimension: int) -> FloatArray:
    """Return people in one small cluster near the border."""
    center = generator.standard_normal(dimension)
    center *= 0.9 / np.linalg.norm(center)
    return np.asarray(center + 0.02 * generator.standard_normal((n, dimension)) / math.sqrt(dimension))


def digits(generator: np.random.Generator, n: int, dimension: int) -> FloatArray:
    """Return images of handwritten digits, drawn with replacement and centred, in the unit ball."""
    images = load_digits().data[:, :dimension]
    images = images - images.mean(axis=0)
    return np.asarray(images[generator.integers(0, len(images), n)] / np.linalg.norm(images, axis=1).max())


def ball(dimension: int, seed: int) -> Space:
    """Return the unit ball."""
    return mp.L2(center=[0] * dimension, radius=1, random_state=seed)


def angles(dimension: int, seed: int) -> Space:
    """Return angles between vectors."""
    return mp.Angular(dimension, random_state=seed)


@dataclass(frozen=True)
class Row:
    """A space, a table, its size and a guarantee; runs with --check and without."""

    space: Callable[[int, int], Space]
    table: MakeTable
    dimension: int
    n: int
    epsilon: float
    checked: int
    runs: int


# a large ε stands for many rows: noise is then small beside the error of directions
ROWS = (
    Row(ball, mixture, 3, 1000, 1, 12, 100),
    Row(ball, atoms, 3, 1000, 1, 12, 100),
    Row(ball, mixture, 8, 1000, 1, 8, 100),
    Row(ball, atoms, 8, 1000, 1, 0, 100),
    Row(ball, far_cluster, 8, 1000, 1, 8, 100),
    Row(ball, mixture, 8, 1000, 30, 4, 100),
    Row(ball, atoms, 8, 1000, 30, 0, 100),
    Row(ball, far_cluster, 8, 1000, 30, 0, 100),
    Row(ball, digits, 64, 1000, 1, 6, 100),
    Row(ball, mixture, 64, 1000, 1, 0, 100),
    Row(ball, atoms, 64, 1000, 1, 6, 100),
    Row(ball, far_cluster, 64, 1000, 1, 0, 100),
    Row(ball, digits, 64, 1000, 30, 0, 100),
    Row(ball, mixture, 384, 1000, 1, 0, 40),
    Row(ball, far_cluster, 384, 1000, 1, 0, 40),
    Row(angles, mixture, 8, 1000, 1, 20, 200),
    Row(angles, atoms, 8, 1000, 30, 20, 200),
    Row(angles, digits, 64, 1000, 1, 20, 200),
    Row(angles, digits, 64, 1000, 30, 20, 200),
    Row(angles, far_cluster, 64, 1000, 30, 20, 200),
    Row(angles, mixture, 384, 1000, 1, 8, 100),
    Row(angles, mixture, 384, 1000, 30, 8, 100),
)


def coverage_rows(check: bool, bounds: Bounds) -> None:
    """Print a line for each row."""
    print("Coverage of 95 % intervals over releases and rotations; half-width and error() ÷ the errors' 95 % point")
    print(
        f"  {'space':<9}{'table':<13}{'d':>4}{'ε':>4}{'D':>6}{'cells':>7}{'coverage':>16}{'width':>7}{'error()':>9}"
        f"{'plan':>6}{'rms':>6}"
    )
    for row in ROWS:
        runs = row.checked if check else row.runs
        if runs:
            _print_row(row, runs, "faster" if check else "balanced", bounds)


def _print_row(row: Row, runs: int, effort: str, bounds: Bounds) -> None:
    """Print coverage, half-widths and plans ÷ measured errors. plan: the planned error; rms: the planned rms ÷ rms."""
    shares, errors, widths, promised = [], [], [], []
    for run in range(runs):
        generator = np.random.default_rng([SEED, run, row.dimension])
        people = row.table(generator, row.n, row.dimension)
        space = row.space(row.dimension, run)
        queries = _queries(generator, people, row.dimension)
        truth = np.asarray(mp.exact_mean_distance(people, space, queries))
        synopsis = mp.release(people, space, epsilon=row.epsilon, delta=1e-6, mechanism="slopes", effort=effort)
        low, high = synopsis.interval(queries)
        shares.append(float(((low <= truth) & (truth <= high)).mean()))
        errors.append(np.asarray(synopsis.mean_distance(queries)) - truth)
        widths.append((high - low) / 2)
        promised.append(synopsis.error())
    point = float(np.quantile(np.abs(errors), 0.95))
    coverage, deviation = float(np.mean(shares)), float(np.std(shares, ddof=1)) / math.sqrt(runs)
    name = f"{row.table.__name__.replace('_', ' ')}, {space.kind}, d = {row.dimension}, ε = {row.epsilon:g}"
    # runs are independent, and each has at least half of the spread of a fair coin where coverage is at the bound
    allowance = float(stats.t.isf(FALSE_ALARM, runs - 1)) * max(deviation, 0.5 / QUERIES / math.sqrt(runs))
    bounds.at_most(f"{name}: missed", 1 - coverage, 1 - MIN_COVERAGE, allowance)
    width = bounds.at_most(f"{name}: half-width ÷ error", float(np.median(widths)) / point, MAX_RATIO)
    first = row.space(row.dimension, 0)
    prediction = mp.plan(first, n=row.n, epsilon=row.epsilon, delta=1e-6, mechanism="slopes", effort=effort).best
    embedding, bits = synopsis.space.embedding, synopsis.statistic.parameters()["bits"][0]
    rms = float(np.sqrt(np.mean(np.square(errors))))
    print(
        f"  {space.kind:<9}{row.table.__name__.replace('_', ' '):<13}{row.dimension:>4}{row.epsilon:>4g}"
        f"{embedding.dimension:>6}{int(embedding.span[0]) >> bits:>7}{100 * coverage:>9.1f} ± {100 * deviation:.1f}"
        f"{width:>8}{float(np.median(promised)) / point:>8.2f}{prediction.error / point:>7.2f}"
        f"{(prediction.rms or math.nan) / rms:>6.2f}",
        flush=True,
    )


def _queries(generator: np.random.Generator, people: FloatArray, dimension: int) -> FloatArray:
    """Return points spread over the unit ball, and some near people."""
    points = generator.standard_normal((QUERIES, dimension))
    points *= (generator.random(QUERIES) ** (1 / dimension) / np.linalg.norm(points, axis=1))[:, None]
    near = people[: QUERIES // 4] + 0.05 * generator.standard_normal((QUERIES // 4, dimension)) / math.sqrt(dimension)
    points[: QUERIES // 4] = near
    return np.asarray(points / np.maximum(np.linalg.norm(points, axis=1, keepdims=True), 1))
