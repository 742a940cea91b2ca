"""Measure the errors of every mechanism ÷ the error of one query answered alone at the same ρ or ε ("single").

single: the worst-placed query, of sensitivity diameter/n, with a Gaussian of deviation diameter/(n√(2ρ)) or Laplace
noise of scale diameter/(nε). Mechanisms release with OpenDP's noise. Baselines are simulated and calibrated for
replacing one record: one-way Gaussian histograms, a dyadic tree under pure ε without consistency, and one Gaussian a
query at k = 1000.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

import milepost as mp
from bench.run import Bounds, chance_of, main, squares_of
from milepost._typing import FloatArray
from milepost.ingest.aggregation import read_sketch
from milepost.mechanisms.base import CoordinateMechanism
from milepost.mechanisms.coordinate.piecewise_linear import sum_at
from milepost.mechanisms.registry import MECHANISMS
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.lp import L1

EPSILON, DELTA = 1.0, 1e-6
APPROXIMATE, PURE = mp.Guarantee(EPSILON, DELTA), mp.Guarantee(EPSILON)
QUERIES = 100
STEPS = 16

FULL = [(d, n) for d in (1, 2, 10, 50) for n in (1_000, 10_000, 100_000, 1_000_000)]
SMALL = [(1, 100), (1, 1_000), (1, 10_000), (2, 1_000), (10, 100), (50, 100)]
# releases where a bound is checked, and with --check, which allows more for chance; large tables get few
ASSERTED, CHECKED, FEW, BASELINE = 2_000, 200, 50, 100
SLOPES, HATS, DEFAULT = (
    1.05,
    2.2,
    1.01,
)  # bounds on RMSE ÷ single, on the same for hats at d = 1, and on default answers ÷ raw answers


def tables(n: int, dimension: int) -> Iterator[tuple[str, L1, FloatArray]]:
    """Yield a name, a space and a table: smooth, clustered and constant data, and integer data with steps."""
    rng = np.random.default_rng([n, dimension])
    box, shape = [(0.0, 1.0)] * dimension, (n, dimension)
    yield "smooth", L1(box), rng.beta(2, 3, shape)
    yield "clustered", L1(box), np.clip(rng.choice([0.2, 0.7], shape) + rng.normal(0, 0.01, shape), 0, 1)
    yield "integer", L1(box, step=1 / STEPS), rng.binomial(STEPS, 0.4, shape) / STEPS
    yield "constant", L1(box, step=1 / STEPS), np.full(shape, 5 / STEPS)


def exact(people: FloatArray, queries: FloatArray) -> FloatArray:
    """Return mean distances by sorting each column."""
    result = np.zeros(len(queries))
    for i in range(people.shape[1]):
        ordered = np.sort(people[:, i])
        sums, below = np.concatenate([[0.0], np.cumsum(ordered)]), np.searchsorted(ordered, queries[:, i])
        result += (sums[-1] - 2 * sums[below] + (2 * below - len(ordered)) * queries[:, i]) / len(ordered)
    return result


@dataclass(frozen=True, eq=False)
class Measurement:
    """Errors over uniform queries, as ratios to single: the mean squares of raw and default answers, one a release.

    claimed: the deviation of an answer that the mechanism claims. max_error: the mean largest error of raw answers.
    """

    claimed: float
    raw: FloatArray
    default: FloatArray
    max_error: float

    @property
    def rms(self) -> float:
        """Return the root of the mean square of raw answers."""
        return math.sqrt(self.raw.mean())


def measure(name: str, space: L1, people: FloatArray, releases: int) -> Measurement:
    """Measure many releases of one table."""
    guarantee = PURE if name == "hats" else APPROXIMATE
    sketch = read_sketch(people, space)
    mechanism = MECHANISMS[name]
    assert isinstance(mechanism, CoordinateMechanism)
    design = mechanism.predict(space.embedding, len(people), ProtectedChange(), guarantee)
    prediction = design.prediction
    cells = prediction.cells or 1
    sketch = sketch.coarsen(
        min(sketch.cells, 1 << (cells // space.embedding.dimension * 2).bit_length())
    )  # exact and fast
    queries = np.random.default_rng(1).random((QUERIES, space.width))
    truth, positions = exact(people, queries), space.position(queries)
    single = space.diameter / len(people) * (math.sqrt(2) / EPSILON if guarantee.pure else (2 * guarantee.rho) ** -0.5)
    errors: dict[str, list[FloatArray]] = {"raw": [], "default": []}
    for _ in range(releases):
        statistic = design.run(sketch)
        for kind, error_rows in errors.items():
            error_rows.append(sum_at(statistic.functions(raw=kind == "raw"), space.embedding, positions, True) - truth)
    raw, default = (np.array(errors[kind]) / single for kind in ("raw", "default"))
    assert prediction.rms is not None
    claimed, max_error = prediction.rms / single, float(np.abs(raw).max(axis=1).mean())
    return Measurement(claimed, squares_of(raw), squares_of(default), max_error)


def analytic_gaussian() -> float:
    """Return the deviation of the analytic Gaussian mechanism (Balle and Wang 2018) ÷ that of zCDP accounting."""

    def excess(sigma: float) -> float:
        left = norm.cdf(0.5 / sigma - EPSILON * sigma)
        return float(left - math.exp(EPSILON) * norm.cdf(-0.5 / sigma - EPSILON * sigma) - DELTA)

    return float(brentq(excess, 1.0, 10.0)) * math.sqrt(2 * APPROXIMATE.rho)


def baselines(people: FloatArray, releases: int) -> dict[str, float]:
    """Return RMSE ÷ single of common mechanisms (Gaussian ones ÷ Gaussian single, the tree ÷ Laplace single)."""
    n, dimension = people.shape
    rng = np.random.default_rng(2)
    queries = rng.random((QUERIES, dimension))
    truth = exact(people, queries)
    gaussian = dimension / n / math.sqrt(2 * APPROXIMATE.rho)
    laplace = dimension / n * math.sqrt(2) / EPSILON
    result = {}
    for bins in (32, 256):
        counts = np.stack([np.bincount(np.minimum((c * bins).astype(int), bins - 1), minlength=bins) for c in people.T])
        centers = (np.arange(bins) + 0.5) / bins
        distances = np.abs(queries[:, :, None] - centers)  # queries × columns × bins
        noise = math.sqrt(2 * dimension) / math.sqrt(2 * APPROXIMATE.rho)
        errors = [
            np.einsum("qdb,db->q", distances, counts + rng.normal(0, noise, counts.shape)) / n - truth
            for _ in range(releases)
        ]
        result[f"histogram {bins}"] = float(np.sqrt(np.mean(np.square(errors)))) / gaussian
    levels = 8
    scale = 2 * levels * dimension / EPSILON
    errors = [_tree(people, queries, levels, scale, rng) - truth for _ in range(max(1, releases // 4))]
    result["tree"] = float(np.sqrt(np.mean(np.square(errors)))) / laplace
    result["per query"] = math.sqrt(1000)
    return result


def _tree(people: FloatArray, queries: FloatArray, levels: int, scale: float, rng: np.random.Generator) -> FloatArray:
    """Return F from noisy prefix counts; each is the sum of at most `levels` noisy nodes."""
    n, dimension = people.shape
    leaves = 1 << levels
    result = np.zeros(len(queries))
    for i in range(dimension):
        leaf = np.minimum((people[:, i] * leaves).astype(int), leaves - 1)
        prefix = np.zeros(leaves + 1)
        for level in range(1, levels + 1):
            width = leaves >> level
            nodes = np.bincount(leaf // width, minlength=1 << level) + rng.laplace(0, scale, 1 << level)
            ends = np.arange(leaves + 1)
            in_prefix = (ends // width) % 2 == 1  # the left sibling at this level is part of the prefix
            prefix[in_prefix] += nodes[ends[in_prefix] // width - 1]
        prefix[-1] = n  # public
        middle = (prefix[:-1] + prefix[1:]) / 2 / n
        heights = np.concatenate([[0.0], np.cumsum(2 * middle - 1) / leaves])
        heights += (1 - heights[-1]) / 2
        result += np.interp(queries[:, i], np.arange(leaves + 1) / leaves, heights)
    return result


def cells_of(name: str, measurement: Measurement, bound: float | None, bounds: Bounds) -> list[str]:
    """Return the table cells of the RMSE and the mean largest error. bound: a bound on the RMSE, if any."""
    if bound is None:
        return [f"{measurement.rms:.3g}", f"{measurement.max_error:.3g}"]
    bounds.at_most(f"{name}, claimed", measurement.claimed, bound)
    return [bounds.rms_at_most(name, measurement.raw, bound), f"{measurement.max_error:.3g}"]


def default_cell(measurement: Measurement, name: str = "", bounds: Bounds | None = None) -> str:
    """Return the table cell of the RMSE of default answers ÷ the RMSE of raw answers with the same noise."""
    mean = float(measurement.raw.mean())
    ratio = math.sqrt(measurement.default.mean() / mean)
    if bounds is None:
        return f"{ratio:.3g}"
    more = chance_of(measurement.default - DEFAULT**2 * measurement.raw)  # a difference of squares with expectation 0
    return bounds.at_most(name, ratio, DEFAULT, math.sqrt(DEFAULT**2 + more / mean) - DEFAULT)


def benchmark(check: bool, bounds: Bounds) -> None:
    """Check RMSE ≤ 1.05 for slopes and ≤ 2.2 for hats at d = 1, claimed and measured; check default answers."""
    print(f"ε = {EPSILON:g}, δ = {DELTA:g} (hats and the tree: pure ε). RMSE and mean largest error ÷ single.")
    print(f"One query by the analytic Gaussian: {analytic_gaussian():.3f} of single.\n")
    header = f"{'d':>3} {'n':>9} {'table':<10}{'slopes':>8}{'largest':>8}{'default':>8}{'hats':>8}{'largest':>8}"
    print(header + f"{'hist 32':>9}{'hist 256':>9}{'tree':>8}{'a query':>8}{'tangents α':>11}")
    for dimension, n in SMALL if check else FULL:
        for table, space, people in tables(n, dimension):
            if check and dimension > 1 and table not in {"smooth", "integer"}:
                continue
            asserted = n * dimension <= 20_000
            releases = FEW if not asserted else CHECKED if check else ASSERTED
            name = f"d = {dimension}, n = {n:,}, {table}"
            slopes = measure("slopes", space, people, releases)
            hats = measure("hats", space, people, releases if dimension == 1 else FEW) if dimension <= 10 else None
            others = baselines(people, 20 if check or n > 100_000 else BASELINE)
            alpha = next(
                p for p in mp.plan(space, n=n, epsilon=EPSILON, delta=DELTA).predictions if p.mechanism == "tangents"
            )
            single = space.diameter / n / math.sqrt(2 * APPROXIMATE.rho)
            cells = [*cells_of(f"{name}: slopes", slopes, SLOPES if asserted else None, bounds), default_cell(slopes)]
            if asserted:
                cells[-1] = default_cell(slopes, f"{name}: default ÷ raw", bounds)
            if hats is None:
                cells += ["", ""]
            else:
                cells += cells_of(f"{name}: hats", hats, HATS if asserted and dimension == 1 else None, bounds)
            print(
                f"{dimension:>3} {n:>9,} {table:<10}"
                + "".join(f"{cell:>8}" for cell in cells)
                + f"{others['histogram 32']:>9.3g}{others['histogram 256']:>9.3g}{others['tree']:>8.3g}"
                + f"{others['per query']:>8.3g}{float(alpha.details['alpha']) / single:>11.3g}",
                flush=True,
            )


if __name__ == "__main__":
    main(benchmark, __doc__ or "")
