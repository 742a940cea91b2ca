"""Errors of every mechanism, divided by that of one worst-placed query answered alone at the same privacy ("single").

single = diameter/n/√(2ρ) at ε = 1, δ = 1e-6, and √2·diameter/(nε) at pure ε = 1. rms: over uniform queries and all
releases. max: the largest error of the queries, on average over releases. Bounds hold where interpolation is no issue:
on smooth tables and on tables of steps.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

import milepost as mp
from bench.run import Bounds, main
from milepost.arrays import FloatArray
from milepost.mechanisms.hats import Hats, HatSags
from milepost.mechanisms.polygon import total
from milepost.mechanisms.slopes import SlopeCounts, Slopes
from milepost.mechanisms.tangents import Tangents
from milepost.privacy.change import Change
from milepost.privacy.guarantee import Guarantee
from milepost.release import read_sketch

ZCDP, PURE = Guarantee(1, 1e-6), Guarantee(1)
QUERIES = 100
ASSERTED = 2000  # releases from which on a ratio is asserted; at d = 1 rms has a standard error of 0.9 % then
DRAWS = 8_000_000  # noise draws a row, at full size
TABLES: dict[str, Callable[[np.random.Generator, tuple[int, int]], FloatArray]] = {
    "smooth": lambda rng, shape: rng.beta(2, 3, shape),
    "steps": lambda rng, shape: rng.binomial(steps(shape[1]), 0.3, shape) / steps(shape[1]),
    "integer": lambda rng, shape: rng.binomial(20, 0.3, shape) / 20,
    "clustered": lambda rng, shape: np.clip(rng.choice([0.2, 0.21, 0.77], shape) + rng.normal(0, 0.002, shape), 0, 1),
    "constant": lambda _, shape: np.full(shape, 0.337),
    "two ends": lambda rng, shape: rng.integers(0, 2, shape).astype(np.float64),
}
BOUNDED = ("smooth", "steps")


def steps(dimension: int) -> int:
    """How many steps each column of the table of steps has."""
    return 16 if dimension <= 2 else 4


@dataclass(frozen=True)
class Row:
    """A table of n records in d columns of [0, 1]; `steps` says so to the space."""

    table: str
    dimension: int
    n: int

    @cached_property
    def people(self) -> FloatArray:
        """The records."""
        return TABLES[self.table](np.random.default_rng(self.n + self.dimension), (self.n, self.dimension))

    @cached_property
    def space(self) -> mp.L1:
        """Its diameter is d."""
        return mp.L1([(0, 1)] * self.dimension, step=1 / steps(self.dimension) if self.table == "steps" else None)

    def single(self, guarantee: Guarantee) -> float:
        """The standard deviation of one query alone."""
        sensitivity = self.dimension / self.n
        return sensitivity * (math.sqrt(2) if guarantee.pure else 1 / math.sqrt(2 * guarantee.rho))

    def __str__(self) -> str:
        return f"{self.table:<9} {self.dimension:>3} {self.n:>9,}"


@dataclass(frozen=True)
class Errors:
    """Ratios to single: rms and largest error of raw answers, rms of default ones."""

    cells: int
    releases: int
    rms: float
    largest: float
    default: float


def measure(row: Row, mechanism: Slopes | Hats, guarantee: Guarantee, check: bool) -> Errors:
    """Release again and again from one sketch."""
    space, hosts = row.space, row.space.hosts
    sketch = read_sketch(row.people, space)
    first = mechanism.run(sketch, hosts, Change(), guarantee)
    sketch = sketch.coarsen(1 << (24 - min(first.bits)))  # exact, and quicker to coarsen again
    cells = sum(int(span) >> bits for span, bits in zip(hosts.span, first.bits, strict=True))
    points = np.random.default_rng(0).random((QUERIES, row.dimension))
    positions, exact = space.place(points), mp.exact(row.people, space, points)
    wanted = 3000 if row.dimension == 1 and row.n <= 1000 and row.table in BOUNDED else ASSERTED
    releases = wanted if check else max(50, min(wanted, DRAWS // cells))
    squares, largest, defaults = 0.0, 0.0, 0.0
    for _ in range(releases):
        answerer: SlopeCounts | HatSags = mechanism.run(sketch, hosts, Change(), guarantee)
        error = total(answerer.polygons(raw=True), hosts, positions, True) - exact
        squares += float(np.mean(error**2))
        largest += float(np.abs(error).max())
        if row.dimension == 1:
            value = total(answerer.polygons(), hosts, positions, True)
            error = np.clip(value, *hosts.range(positions)) - exact
            defaults += float(np.mean(error**2))
    single = row.single(guarantee)
    rms, default = (math.sqrt(value / releases) / single for value in (squares, defaults))
    return Errors(cells // row.dimension, releases, rms, largest / releases / single, default)


def slopes_table(rows: list[Row], check: bool, bounds: Bounds) -> None:
    """The slopes rows, with default answers beside raw ones at d = 1 and the promise of tangents in the last column."""
    print(f"slopes, {ZCDP}; ÷ single. rms ≤ 1.05 on smooth and steps; default ≤ 1.01 × raw at d = 1 on all")
    print("table       d         n  cells  releases   rms   max  default ÷ raw  bounds  tangents α")
    for row in rows:
        found = measure(row, Slopes(), ZCDP, check)
        asserted = found.releases >= ASSERTED
        names = []
        rms, ratio = f"{found.rms:.3f}", ""
        if asserted and row.table in BOUNDED:
            rms = bounds.at_most(f"slopes rms, {row}", found.rms, 1.05)
            names.append("rms")
        if row.dimension == 1:
            ratio = f"{found.default / found.rms:.3f}"
            if asserted:
                ratio = bounds.at_most(f"slopes default ÷ raw, {row}", found.default / found.rms, 1.01)
                names.append("default")
        alpha = float(Tangents().predict(row.space.hosts, row.n, Change(), ZCDP).details["alpha"])
        print(
            f"{row} {found.cells:>6} {found.releases:>9} {rms:>5} {found.largest:>5.2f} {ratio:>14}"
            f"  {'+'.join(names):<11} {alpha / row.single(ZCDP):>6.1f}",
            flush=True,
        )


def hats_table(rows: list[Row], check: bool, bounds: Bounds) -> None:
    """The hats rows, with the standard deviation at the worst place from its formula."""
    print(f"\nhats, {PURE}; ÷ single. rms and worst place ≤ 2.2 at d = 1 on smooth and steps")
    print("table       d         n  cells  releases   rms   max  worst place  tangents α")
    for row in rows:
        found = measure(row, Hats(), PURE, check)
        prediction = Hats().run(read_sketch(row.people, row.space), row.space.hosts, Change(), PURE)
        worst = math.sqrt(sum(noise.largest[0] for noise in prediction._noise)) / row.single(PURE)
        cells = [f"{found.rms:.3f}", f"{worst:.3f}"]
        if row.dimension == 1 and row.table in BOUNDED and found.releases >= ASSERTED:
            cells = [
                bounds.at_most(f"hats {name}, {row}", value, 2.2)
                for name, value in (("rms", found.rms), ("worst place", worst))
            ]
        alpha = float(Tangents().predict(row.space.hosts, row.n, Change(), PURE).details["alpha"])
        print(
            f"{row} {found.cells:>6} {found.releases:>9} {cells[0]:>5} {found.largest:>5.2f} {cells[1]:>12}"
            f"  {alpha / row.single(PURE):>9.1f}",
            flush=True,
        )


def others_table(rows: list[Row]) -> None:
    """Other ways to the same answers, at the same privacy under replace-one; nothing is asserted."""
    print("\nothers: rms ÷ single at the same privacy, nothing asserted")
    print("  bins: a histogram of each column, Gaussian noise at the same ρ, scaled to n records")
    print(
        "  tree: binary counts of each column to 256 leaves, Laplace noise at ε/d, made consistent (÷ single Laplace)"
    )
    print("  1000 queries: Gaussian noise on each, √1000")
    print("  analytic: one query by the analytic Gaussian mechanism (Balle, Wang 2018) instead of zCDP")
    print("table       d         n  32 bins  256 bins    tree  1000 queries  analytic")
    analytic = analytic_gaussian(ZCDP.epsilon, ZCDP.delta) * math.sqrt(2 * ZCDP.rho)
    for row in rows:
        figures = [histogram_rms(row, bins) for bins in (32, 256)] + [tree_rms(row, 8), math.sqrt(1000), analytic]
        print(f"{row} {figures[0]:>8.2f} {figures[1]:>9.2f} {figures[2]:>7.1f} {figures[3]:>13.1f} {figures[4]:>9.3f}")


def histogram_rms(row: Row, bins: int, releases: int = 200) -> float:
    """A replaced record moves two counts of each column: ℓ₂ sensitivity √(2d)."""
    rng = np.random.default_rng(1)
    deviation = math.sqrt(2 * row.dimension) / math.sqrt(2 * ZCDP.rho)
    noisy = [_counts(column, bins) + rng.normal(0, deviation, (releases, bins)) for column in row.people.T]
    scaled = [counts + (row.n - counts.sum(axis=1, keepdims=True)) / bins for counts in noisy]
    return _rms(row, scaled) / row.single(ZCDP)


def tree_rms(row: Row, levels: int, releases: int = 200) -> float:
    """A replaced record moves two counts of each level of each column: ℓ₁ sensitivity 2·levels at ε/d."""
    rng = np.random.default_rng(2)
    scale = 2 * levels * row.dimension / PURE.epsilon
    columns = []
    for column in row.people.T:
        exact = [_counts(column, 1 << level) for level in range(levels + 1)]
        noisy = [counts + rng.laplace(0, scale, (releases, len(counts))) for counts in exact]
        columns.append(consistent(noisy, row.n))
    return _rms(row, columns) / row.single(PURE)


def consistent(noisy: list[FloatArray], n: int) -> FloatArray:
    """Least squares for a binary tree of equally noisy counts whose root is known (Hay et al. 2010): the leaves."""
    best = noisy[-1]
    up = [best]
    for level in range(len(noisy) - 2, 0, -1):
        height = len(noisy) - level  # 2 for the parents of leaves
        weight = (2**height - 2 ** (height - 1)) / (2**height - 1)
        best = weight * noisy[level] + (1 - weight) * (best[:, ::2] + best[:, 1::2])
        up.insert(0, best)
    down = np.full((len(best), 1), float(n))
    for counts in up:
        rest = (down - counts[:, ::2] - counts[:, 1::2]) / 2
        down = counts + np.repeat(rest, 2, axis=1)
    return down


def analytic_gaussian(epsilon: float, delta: float) -> float:
    """σ of the analytic Gaussian mechanism at sensitivity 1 (Balle and Wang 2018, Theorem 8)."""

    def excess(sigma: float) -> float:
        a, b = 1 / (2 * sigma), epsilon * sigma
        return float(ndtr(a - b) - math.exp(epsilon) * ndtr(-a - b)) - delta

    return float(brentq(excess, 1e-3, 1e6))


def _counts(column: FloatArray, bins: int) -> FloatArray:
    return np.bincount(np.minimum((column * bins).astype(np.int64), bins - 1), minlength=bins).astype(np.float64)


def _rms(row: Row, columns: list[FloatArray]) -> float:
    """Of mean distances from bin counts float64[releases, bins], each bin's records spread evenly over it."""
    points = np.random.default_rng(0).random((QUERIES, row.dimension))
    estimate = np.zeros((len(columns[0]), QUERIES))
    for counts, at in zip(columns, points.T, strict=True):
        width = 1 / counts.shape[1]
        away = np.abs(at[None, :] - (np.arange(counts.shape[1])[:, None] + 0.5) * width)
        inside = away < width / 2
        estimate += counts @ np.where(inside, (width**2 / 4 + away**2) / width, away) / row.n
    return float(np.sqrt(np.mean((estimate - mp.exact(row.people, row.space, points)) ** 2)))


def benchmark(check: bool, bounds: Bounds) -> None:
    """--check: small tables. All sizes otherwise, with fewer releases (and no bound) where each has many cells."""
    sizes = (1000, 10_000, 100_000, 1_000_000)
    if check:
        small = [Row(table, 1, n) for n in (100, 1000) for table in TABLES]
        large = [Row(table, 1, 10_000) for table in ("smooth", "constant", "two ends")]
        rows = small + large + [Row(t, d, n) for d, n in ((2, 1000), (10, 100), (50, 100)) for t in BOUNDED]
        pure = [Row(table, 1, 1000) for table in BOUNDED]
    else:
        rows = [Row(table, 1, 100) for table in TABLES]
        rows += [Row(table, d, n) for d in (1, 2, 10, 50) for n in sizes for table in TABLES]
        pure = [Row(table, d, n) for d in (1, 2, 10) for n in sizes[:3] for table in TABLES]
    slopes_table(rows, check, bounds)
    hats_table(pure, check, bounds)
    others_table([Row("smooth", d, 10_000 if check else n) for d in (1, 2, 10, 50) for n in sizes[: 1 if check else 3]])


if __name__ == "__main__":
    main(benchmark, __doc__ or "")
