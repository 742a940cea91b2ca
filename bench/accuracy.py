"""Measure the errors of every mechanism ÷ the error of one query answered alone at the same (ε, δ) or ε ("single").

single: the worst-placed query, of sensitivity diameter/n, with a Gaussian of deviation diameter/(n·μ), the least that
(ε, δ) allows (Balle and Wang 2018), or Laplace noise of scale diameter/(nε). Mechanisms release with OpenDP's noise.
Baselines are simulated and calibrated for replacing one record: one-way Gaussian histograms, a dyadic tree under pure ε
without consistency, and one Gaussian a query at k = 1000.

One given place has the noise of the range of its distances: `gaussian` ÷ a Gaussian of deviation range/(n·μ).
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

import milepost as mp
from bench.run import Bounds, chance_of, main, squares_of
from milepost._typing import FloatArray
from milepost.ingest.aggregation import read_sketch
from milepost.mechanisms.base import CoordinateMechanism, QueryMechanism
from milepost.mechanisms.coordinate.piecewise_linear import sum_at
from milepost.mechanisms.coordinate.slopes import Slopes, SlopesDesign
from milepost.mechanisms.query.cholesky import MAX_POINTS
from milepost.mechanisms.query.field import Field
from milepost.mechanisms.registry import MECHANISMS
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.base import Space
from milepost.spaces.embeddings.embedding import QUANTA
from milepost.spaces.geographic import EARTH_KM, GreatCircle
from milepost.spaces.lp import L1, L2
from milepost.spaces.queries import Queries

EPSILON, DELTA = 1.0, 1e-6
APPROXIMATE, PURE = mp.Guarantee(EPSILON, DELTA), mp.Guarantee(EPSILON)
QUERIES = 100
STEPS = 16
NOISE_ROWS = 1_000  # noise does not depend on rows
EXACT = 1.01  # bound on the deviation of slopes and field ÷ the analytic Gaussian's

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
    single = space.diameter / len(people) * (math.sqrt(2) / EPSILON if guarantee.pure else 1 / guarantee.mu)
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
    """Return the deviation of the analytic Gaussian mechanism at sensitivity 1, from its definition."""

    def excess(sigma: float) -> float:
        left = norm.cdf(0.5 / sigma - EPSILON * sigma)
        return float(left - math.exp(EPSILON) * norm.cdf(-0.5 / sigma - EPSILON * sigma) - DELTA)

    return float(brentq(excess, 1.0, 10.0, xtol=1e-14))


def claimed_deviations(dimension: int, accounting: str) -> dict[str, float]:
    """Return the deviations that slopes and field claim on a box, ÷ the analytic Gaussian's of its diameter."""
    guarantee, space, change = replace(APPROXIMATE, accounting=accounting), L1([(0, 1)] * dimension), ProtectedChange()
    design = Slopes().predict(space.embedding, NOISE_ROWS, change, guarantee)
    assert isinstance(design, SlopesDesign)
    slopes = design.noise_rms * NOISE_ROWS
    fields = {f"field, {k:,}": Field().noise(space, k, change, guarantee).deviation for k in (1, 100, MAX_POINTS)}
    single = analytic_gaussian() * space.diameter
    return {name: deviation / single for name, deviation in ({"slopes": slopes} | fields).items()}


def measured_deviation(check: bool) -> FloatArray:
    """Return squares of errors of slopes ÷ (the analytic Gaussian's)², one for each column of each release.

    The columns of a table have independent noise, with equal parts of the variance.
    """
    columns = 200
    space = L1([(0, 1)] * columns, step=1 / STEPS)
    sketch = read_sketch(np.full((NOISE_ROWS, columns), 5 / STEPS), space)
    design = Slopes().predict(space.embedding, NOISE_ROWS, ProtectedChange(), APPROXIMATE)
    position, truth = QUANTA * 11 / STEPS, 6 / STEPS
    single = analytic_gaussian() * space.diameter / NOISE_ROWS / math.sqrt(columns)
    errors = [
        [function.at(np.array([position]))[0] - truth for function in design.run(sketch).functions(raw=True)]
        for _ in range(100 if check else 1_000)
    ]
    return np.square(np.array(errors).ravel() / single)


def accounting_table(check: bool, bounds: Bounds) -> None:
    """Check that slopes and field have the noise of the analytic Gaussian, claimed and measured."""
    print(f"Deviation ÷ ({analytic_gaussian():.4f} × diameter/n), the least of one query at this (ε, δ): zCDP → now.")
    for dimension in (1, 2, 10, 50):
        before, now = (claimed_deviations(dimension, accounting) for accounting in ("zcdp", "gaussian"))
        for name, value in now.items():
            bounds.at_most(f"d = {dimension}, {name}", value, EXACT)
        cells = [f"{name} {before[name]:.4f} → {value:.4f}" for name, value in now.items()]
        print(f"  l1, d = {dimension:<3} " + "   ".join(cells))
    squares = measured_deviation(check)
    ratio, chance = math.sqrt(squares.mean()), chance_of(squares)
    bounds.at_most("slopes, measured", ratio, EXACT, math.sqrt(EXACT**2 + chance) - EXACT)
    bounds.at_most("slopes, measured: less noise than claimed", 1 - ratio, 0.0, 1 - math.sqrt(1 - chance))
    print(f"  measured: slopes {ratio:.4f}; noise that is {math.sqrt(1 + 2 * chance) - 1:.1%} off would be seen\n")


def baselines(people: FloatArray, releases: int) -> dict[str, float]:
    """Return RMSE ÷ single of common mechanisms (Gaussian ones ÷ Gaussian single, the tree ÷ Laplace single)."""
    n, dimension = people.shape
    rng = np.random.default_rng(2)
    queries = rng.random((QUERIES, dimension))
    truth = exact(people, queries)
    gaussian = dimension / n / APPROXIMATE.mu
    laplace = dimension / n * math.sqrt(2) / EPSILON
    result = {}
    for bins in (32, 256):
        counts = np.stack([np.bincount(np.minimum((c * bins).astype(int), bins - 1), minlength=bins) for c in people.T])
        centers = (np.arange(bins) + 0.5) / bins
        distances = np.abs(queries[:, :, None] - centers)  # queries × columns × bins
        noise = math.sqrt(2 * dimension) / APPROXIMATE.mu
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


@dataclass(frozen=True)
class Places:
    """A space, a function that maps a point of the unit square into it, places, and their largest distances."""

    name: str
    space: Space
    point: Callable[[float, float], tuple[float, float]]
    places: dict[str, tuple[tuple[float, float], float]]

    def noise(self, place: tuple[float, float]) -> float:
        """Return the standard deviation of gaussian's answer about one place alone."""
        mechanism = MECHANISMS["gaussian"]
        assert isinstance(mechanism, QueryMechanism)
        queries = Queries(self.space.clip_points(self.space.read_queries(np.array([place]))), self.space)
        rms = mechanism.predict(queries, PLACE_ROWS, ProtectedChange(), APPROXIMATE).rms
        assert rms is not None
        return rms


def in_disc(radius: float, turn: float) -> tuple[float, float]:
    """Return a point of the unit disc; uniform in area for uniform arguments."""
    angle = 2 * math.pi * turn
    return math.sqrt(radius) * math.cos(angle), math.sqrt(radius) * math.sin(angle)


def in_cap(radius: float, turn: float) -> tuple[float, float]:
    """Return a place within 100 km of (0, 0), about uniform in area for uniform arguments."""
    east, north = in_disc(radius, turn)
    return 100 / DEGREE_KM * north, 100 / DEGREE_KM * east


DEGREE_KM = math.pi / 180 * EARTH_KM
PLACE_ROWS, PLACE_BOUND, UNIFORM_PLACES = 10_000, 1.01, 400
PLACES = (
    Places(
        "L1, square",
        L1([(0, 1)] * 2),
        lambda x, y: (x, y),
        {"centre": ((0.5, 0.5), 1.0), "corner": ((0, 1), 2.0), "between": ((0.2, 0.6), 1.4)},
    ),
    Places(
        "L2, disc",
        L2(center=[0, 0], radius=1),
        in_disc,
        {"centre": ((0, 0), 1.0), "border": ((0, 1), 2.0), "between": ((0.3, -0.4), 1.5)},
    ),
    Places(
        "great circle, 100 km",
        GreatCircle((0, 0), 100),
        in_cap,
        {
            "centre": ((0, 0), 100.0),
            "border": ((100 / DEGREE_KM, 0), 200.0),
            "between": ((0, 50 / DEGREE_KM), 150.0),
        },
    ),
)


def place_rows(bounds: Bounds) -> None:
    """Print the noise of one given place ÷ that of its range, and over uniform places ÷ that of the diameter."""
    print(f"\nOne given place, n = {PLACE_ROWS:,}: noise of gaussian ÷ a Gaussian for the range of its distances.")
    print(f"{'space':<22}{'place':<10}{'range ÷ diameter':>17}{'noise':>8}")
    unit = analytic_gaussian() / PLACE_ROWS
    for case in PLACES:
        for name, (place, largest) in case.places.items():
            ratio = case.noise(place) / (unit * largest)
            cell = bounds.at_most(f"{case.name}, {name}: gaussian", ratio, PLACE_BOUND)
            print(f"{case.name:<22}{name:<10}{largest / case.space.diameter:>17.3g}{cell:>8}")
        places = np.random.default_rng(3).random((UNIFORM_PLACES, 2)).tolist()
        squares = [(case.noise(case.point(*place)) / (unit * case.space.diameter)) ** 2 for place in places]
        print(f"{case.name:<22}uniform, ÷ a Gaussian for the diameter: {math.sqrt(np.mean(squares)):.3g}")


def benchmark(check: bool, bounds: Bounds) -> None:
    """Check RMSE ≤ 1.05 for slopes and ≤ 2.2 for hats at d = 1, claimed and measured; default answers; one place."""
    print(f"ε = {EPSILON:g}, δ = {DELTA:g} (hats and the tree: pure ε). RMSE and mean largest error ÷ single.")
    accounting_table(check, bounds)
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
            single = space.diameter / n / APPROXIMATE.mu
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
    place_rows(bounds)


if __name__ == "__main__":
    main(benchmark, __doc__ or "")
