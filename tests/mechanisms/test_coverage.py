"""Intervals cover at 95 %: measured over thousands of releases, with OpenDP's own noise.

Whether one interval covers is a coin of at least 0.95. Where noise is all there is (steps), it is 0.955, because a
tenth of the failure is kept for cells' masses; 0.955..0.9575 for hats, whose quantile is a little large, and 0.9525 for
a band, whose quantile is simulated. The mean over a group of points in one release is a number in 0..1 of that
expectation, and sums of such numbers have tails at most e times as heavy as those of coins (Bentkus 2004).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

import milepost as mp
from milepost._typing import FloatArray
from milepost.ingest.aggregation import read_sketch
from milepost.mechanisms.coordinate.hats import Hats, HatSags
from milepost.mechanisms.coordinate.slopes import SlopeCounts, Slopes
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.protected_change import ProtectedChange
from milepost.synopsis.synopsis import Synopsis
from tests.chance import assert_rate
from tests.mechanisms.contract import run_mechanism

MANY, ENOUGH = 4000, 900  # releases where noise is all there is, and elsewhere
STEPS = 10

TABLES: dict[str, Callable[[np.random.Generator, tuple[int, int]], FloatArray]] = {
    "smooth": lambda rng, shape: rng.beta(2, 3, shape),
    "uniform": lambda rng, shape: rng.random(shape),
    "clustered": lambda rng, shape: np.clip(rng.choice([0.2, 0.21, 0.77], shape) + rng.normal(0, 0.002, shape), 0, 1),
    "integer": lambda rng, shape: rng.binomial(20, 0.3, shape) / 20,
    "constant": lambda _, shape: np.full(shape, 0.337),
    "ends": lambda rng, shape: rng.integers(0, 2, shape).astype(np.float64),
    "steps": lambda rng, shape: rng.binomial(STEPS, 0.4, shape) / STEPS,
}


@dataclass(frozen=True)
class Coverage:
    """How many releases cover: on average over each group of points, at each point, and the whole curve."""

    releases: int
    groups: dict[str, float]
    points: FloatArray
    band: int

    def assert_covers(self, groups: float, band: float, at_most: float | None = None) -> None:
        """At 95 %; rates of `groups` and of `band` would be noticed, as would more than `at_most`."""
        means, comparisons = list(self.groups.values()), 3 * len(self.groups)
        print({name: round(count / self.releases, 4) for name, count in self.groups.items()}, self.band / self.releases)
        assert_rate(means, self.releases, at_least=0.95, at_most=at_most, against=groups, comparisons=comparisons)
        assert_rate(self.points, self.releases, at_least=0.95, against=0.85)
        assert_rate(self.band, self.releases, at_least=0.95, against=band)


@dataclass(frozen=True)
class Case:
    """A table and a mechanism to release it with."""

    table: str
    n: int
    dimension: int
    mechanism: str

    def __str__(self) -> str:
        return f"{self.mechanism}-{self.table}-{self.n}x{self.dimension}"

    def measure(self, releases: int) -> dict[bool, Coverage]:
        """Coverage of raw (True) and default answers.

        Default answers differ from raw ones by a move into the possible range, which never leads away from the truth,
        and for slopes of one column by more: only there both are measured.
        """
        rng = np.random.default_rng(5)
        people = TABLES[self.table](rng, (self.n, self.dimension))
        space = mp.L1([(0, 1)] * self.dimension, step=1 / STEPS if self.table == "steps" else None)
        mechanism: Slopes | Hats = Slopes() if self.mechanism == "slopes" else Hats()
        guarantee = Guarantee(1, 1e-6) if self.mechanism == "slopes" else Guarantee(1)
        sketch = read_sketch(people, space)
        first = run_mechanism(mechanism, sketch, space.embedding, ProtectedChange(), guarantee)
        sketch = sketch.coarsen(1 << (24 - min(first.bits)))  # exact, and quicker to coarsen again
        points = _points(rng, people, first.bits[0])
        all_points = np.concatenate(list(points.values()))
        exact = mp.exact_mean_distance(people, space, all_points)
        curves = [_half_cells(people[:, i], int(space.embedding.span[i]), first.bits[i]) for i in range(self.dimension)]
        raw_options = (True, False) if first.approaches and self.dimension == 1 else (True,)
        point_counts = {raw: np.zeros(len(all_points)) for raw in raw_options}
        band_counts = dict.fromkeys(point_counts, 0)
        for _ in range(releases):
            statistic = run_mechanism(mechanism, sketch, space.embedding, ProtectedChange(), guarantee)
            synopsis = Synopsis(space, statistic, guarantee, ProtectedChange(), self.n)
            band = synopsis.error(uniform=True)
            for raw in raw_options:
                low, high = synopsis.interval(all_points, raw=raw)
                point_counts[raw] += (low <= exact) & (exact <= high)
                band_counts[raw] += _largest_error(statistic, curves, raw) <= band
        ends = np.cumsum([0] + [len(group) for group in points.values()])
        return {
            raw: Coverage(
                releases,
                {name: float(counts[a:b].mean()) for name, a, b in zip(points, ends, ends[1:], strict=False)},
                counts,
                band_counts[raw],
            )
            for raw, counts in point_counts.items()
        }


NOISE_ONLY = [
    Case("steps", 100, 1, "slopes"),
    Case("steps", 100_000, 2, "slopes"),
    Case("steps", 1000, 1, "hats"),
]
SPREAD = [
    Case("smooth", 10_000, 1, "slopes"),
    Case("uniform", 1000, 1, "slopes"),
    Case("clustered", 1000, 1, "slopes"),
    Case("integer", 1000, 1, "slopes"),
    Case("constant", 1000, 1, "slopes"),
    Case("constant", 10_000, 1, "slopes"),
    Case("constant", 100, 2, "slopes"),
    Case("uniform", 1000, 1, "hats"),
    Case("clustered", 1000, 1, "hats"),
    Case("integer", 100, 1, "hats"),
    Case("constant", 100, 1, "hats"),
]
WIDE = [
    Case("smooth", 100_000, 1, "slopes"),
    Case("clustered", 1000, 2, "slopes"),
    Case("smooth", 100, 10, "slopes"),
    Case("constant", 100, 2, "hats"),
    Case("smooth", 100, 10, "hats"),
]


@pytest.mark.slow
@pytest.mark.parametrize("case", NOISE_ONLY, ids=str)
def test_where_noise_is_all_there_is_intervals_cover_and_are_not_wide(case: Case) -> None:
    """Steps leave no interpolation: raw intervals cover 95 to 95.75 %, default ones and bands at least 95 %.

    Noise that is claimed a fifth too small would be noticed: 88.3 % of a normal law, or 90.9 % of a Laplace one, would
    be covered.
    """
    for raw, coverage in case.measure(MANY).items():
        coverage.assert_covers(0.91, 0.912, at_most=0.9575 if raw else None)


@pytest.mark.slow
@pytest.mark.parametrize("case", [*SPREAD, *WIDE, Case("ends", 100, 1, "slopes")], ids=str)
def test_intervals_cover_whatever_the_table(case: Case) -> None:
    """Interpolation included: at a grid, at random points, at the records (atoms) and next to them."""
    for coverage in case.measure(ENOUGH).values():
        coverage.assert_covers(0.86, 0.865)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", ["slopes", "hats"])
def test_bands_hold_at_a_high_confidence(mechanism: str) -> None:
    """A uniform half-width at 1 − 1e-5 is passed by no more than so many of 200,000 simulated paths of its noise."""
    space = mp.L1([(0, 1)] * 10, step=1 / STEPS)
    people = TABLES["steps"](np.random.default_rng(0), (10_000, 10))
    epsilon, delta = (1, 1e-6) if mechanism == "slopes" else (1, 0)
    statistic = mp.release(people, space, epsilon=epsilon, delta=delta, mechanism=mechanism).statistic
    assert isinstance(statistic, SlopeCounts | HatSags)
    width, generator, exceedances = statistic.half_width(1 - 1e-5, uniform=True), np.random.default_rng(1), 0
    for _ in range(10):
        extremes = np.sum([noise.extremes(generator, 20_000) for noise in statistic._noise], axis=0)
        exceedances += int((np.abs(extremes).max(axis=1) > width).sum())
    assert_rate(exceedances, 200_000, at_most=1e-5, against=2e-4)


def _points(rng: np.random.Generator, people: FloatArray, bits: int) -> dict[str, FloatArray]:
    """Query points in the groups that matter."""
    dimension = people.shape[1]
    records = people[rng.integers(0, len(people), 20)]
    cell = 2.0 ** (bits - 24)
    return {
        "grid": np.repeat(np.linspace(0, 1, 41)[:, None], dimension, axis=1),
        "random": rng.random((30, dimension)),
        "records": records,
        "near": np.clip(records + rng.normal(0, cell, records.shape), 0, 1),
    }


def _half_cells(values: FloatArray, span: int, bits: int) -> tuple[FloatArray, FloatArray]:
    """All borders and middles of cells, in quanta, with the exact F there."""
    positions = np.arange(0, span + 1, (1 << bits) >> 1, dtype=np.float64)
    ordered = np.sort(values)
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    below = np.searchsorted(ordered, positions / span)
    fractions = positions / span
    return positions, (fractions * (2 * below - len(values)) + sums[-1] - 2 * sums[below]) / len(values)


def _largest_error(statistic: SlopeCounts | HatSags, curves: list[tuple[FloatArray, FloatArray]], raw: bool) -> float:
    """sup |F̂ − F| over the box: coordinates vary freely, so their extremes add up."""
    errors = [
        polygon.at(positions) - exact
        for polygon, (positions, exact) in zip(statistic.functions(raw), curves, strict=True)
    ]
    return float(max(sum(error.max() for error in errors), -sum(error.min() for error in errors)))
