"""pure: errors ÷ single under pure ε, for given places and for all of them; coverage of quadtree; what auto takes.

single: one worst-placed query answered alone, a Laplace draw of deviation √2·diameter/(n·ε). Errors are measured on
people in towns (`bench.peers.city`) at places anywhere, over independent releases; in brackets stands the deviation
that the plan claims. --check is smaller: fewer places, sizes and releases.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import milepost as mp
from bench.accuracy import DELTA, EPSILON
from bench.peers.city import people_of
from bench.run import Bounds, chance_of, main, squares_of
from milepost._typing import FloatArray
from milepost.mechanisms.base import Prediction
from milepost.spaces.base import Space, require_chart

PLACES_BOUND = 4.0  # of the best mechanism for 100 given places of the plane
ALL_BOUND = 4.6  # of all places of the plane; a disc has a smaller diameter than the square around it
WRONG_CHOICE = 1.15  # of what auto takes, ÷ the best mechanism there
NEAR = 8  # mechanisms are measured whose claimed deviation is at most this many times the smallest
CONFIDENCE, COVERAGE_PLACES = 0.95, 40


@dataclass(frozen=True)
class Plane:
    """A two-dimensional space, or one of several columns, and people and places in it."""

    name: str
    space: Space

    def people(self, n: int) -> FloatArray:
        """Return people in a few towns, and some anywhere, as rows of a table."""
        rows = people_of(n, self.space.width, "l1")
        return rows if self.space.chart is None else self._in_chart(rows / 10)

    def places(self, count: int, seed: int = 1) -> FloatArray:
        """Return places anywhere."""
        rows = np.random.default_rng(seed).uniform(0, 1, (count, self.space.width))
        return 10 * rows if self.space.chart is None else self._in_chart(rows)

    def _in_chart(self, shares: FloatArray) -> FloatArray:
        """Return points at shares of the side of the chart's square, moved into the space."""
        chart = require_chart(self.space)
        return np.asarray(self.space.clip_points(chart.queries(shares * chart.side)))


SQUARE = Plane("L2 square", mp.L2([(0, 10), (0, 10)]))
DISC = Plane("L2 disc", mp.L2(center=[0, 0], radius=5))
CAP = Plane("great circle, 40 km", mp.GreatCircle((52.5, 13.4), 40))
TAXICAB = Plane("L1 square", mp.L1([(0, 10), (0, 10)]))
COLUMNS = Plane("L1, 8 columns", mp.L1([(0, 10)] * 8))


def single_of(space: Space, n: int, delta: float = 0.0) -> float:
    """Return the standard deviation of one worst-placed query answered alone."""
    relative = math.sqrt(2) / EPSILON if delta == 0 else 1 / mp.Guarantee(EPSILON, delta).mu
    return relative * space.diameter / n


def measured(plane: Plane, n: int, places: FloatArray, releases: int, given: bool, **options: Any) -> FloatArray:
    """Return the mean square of the errors ÷ single of each release."""
    people = plane.people(n)
    exact = np.asarray(mp.exact_mean_distance(people, plane.space, places))
    if given:
        options["queries"] = places
    answers = [
        mp.release(people, plane.space, epsilon=EPSILON, **options).mean_distance(places) for _ in range(releases)
    ]
    return squares_of((np.array(answers) - exact) / single_of(plane.space, n, options.get("delta", 0.0)))


def rms(squares: FloatArray) -> str:
    """Format a root mean square with its standard error."""
    value = math.sqrt(squares.mean())
    return f"{value:.2f} ± {squares.std(ddof=1) / math.sqrt(len(squares)) / (2 * value):.2f}"


def given_places(check: bool, bounds: Bounds) -> None:
    """Print the errors of every mechanism for k given places of the plane."""
    n, releases = 10_000, 10 if check else 24
    print(f"k given places, L2 square, n = {n:,}, pure ε = {EPSILON:g}: rms of errors ÷ single (claimed)")
    for k in (10, 100) if check else (10, 30, 100, 1000):
        places = SQUARE.places(k)
        planned = mp.plan(SQUARE.space, n=n, epsilon=EPSILON, queries=places)
        cells = []
        for prediction in planned.predictions:
            if prediction.rms is None:
                continue
            claimed = prediction.rms / single_of(SQUARE.space, n)
            squares = measured(SQUARE, n, places, releases, given=True, mechanism=prediction.mechanism)
            cells.append(f"{prediction.mechanism} {rms(squares)} ({claimed:.2f})")
            if k == 100 and prediction is planned.best:
                bounds.at_most(f"auto, {k} given places, claimed", claimed, PLACES_BOUND)
                bounds.rms_at_most(f"auto, {k} given places", squares, PLACES_BOUND)
        print(f"  k = {k:5,}  auto takes {planned.best.mechanism}:  {'  '.join(cells)}", flush=True)


def all_places(check: bool, bounds: Bounds) -> None:
    """Print the errors of auto for all places."""
    print(f"all places, pure ε = {EPSILON:g}: rms of errors ÷ single (claimed; half-width ÷ single)")
    for plane, bound in ((SQUARE, ALL_BOUND), (DISC, ALL_BOUND * math.sqrt(2)), (CAP, ALL_BOUND * math.sqrt(2))):
        for n in (1000, 10_000) if check else (1000, 10_000, 100_000, 1_000_000):
            releases = 16 if check else 24 if n <= 10_000 else 12
            single = single_of(plane.space, n)
            best = mp.plan(plane.space, n=n, epsilon=EPSILON).best
            assert best.rms is not None
            squares = measured(plane, n, plane.places(200 if check else 1000), releases, given=False)
            what = f"{plane.name}, n = {n:,}, all places"
            bounds.at_most(f"{what}, claimed", best.rms / single, bound)
            cell = bounds.rms_at_most(what, squares, bound)
            print(
                f"  {what}: {best.mechanism} {rms(squares)} ({best.rms / single:.2f}; {best.error / single:.1f}), "
                f"bound {bound:.2f}: {cell}",
                flush=True,
            )


def uniform(n: int, generator: np.random.Generator) -> FloatArray:
    """Return people anywhere."""
    return generator.uniform(0, 10, (n, 2))


def clustered(n: int, generator: np.random.Generator) -> FloatArray:
    """Return people in three small places, which are narrower than a cell."""
    centers = np.array([[2.1, 3.3], [7.7, 6.2], [5.4, 8.8]])
    return np.asarray(np.clip(generator.normal(centers[generator.integers(3, size=n)], 0.02), 0, 10))


def atomic(n: int, generator: np.random.Generator) -> FloatArray:
    """Return people at one point."""
    return np.tile(generator.uniform(3, 7, 2), (n, 1))


def empty(n: int, generator: np.random.Generator) -> FloatArray:
    """Return people on the border only: most cells are empty."""
    along = generator.uniform(0, 10, n)
    return np.column_stack([along, np.where(generator.random(n) < 0.5, 0.0, 10.0)])


TABLES: Sequence[Callable[[int, np.random.Generator], FloatArray]] = (uniform, clustered, atomic, empty)


def coverage(check: bool, bounds: Bounds) -> None:
    """Print how often intervals of quadtree hold the exact mean distance, half of them at people, and their widths.

    A release is one draw: its answers share noise. The bound is on the share of all answers, with the spread of the
    releases' own shares as the allowance for chance.
    """
    print("coverage of quadtree's 95 % intervals (standard error); half-width ÷ the 95 % point of errors")
    for make in TABLES:
        cells = []
        for n in (100, 10_000) if check else (100, 1000, 10_000, 100_000, 1_000_000):
            generator = np.random.default_rng(n)
            people = make(n, generator)
            near = people[generator.integers(n, size=COVERAGE_PLACES // 2)]
            places = np.concatenate([near, uniform(COVERAGE_PLACES // 2, generator)])
            exact = np.asarray(mp.exact_mean_distance(people, SQUARE.space, places))
            shares, widths, errors = [], [], []
            for _ in range(36 if check else 400 if n <= 10_000 else 100 if n <= 100_000 else 30):
                synopsis = mp.release(people, SQUARE.space, epsilon=EPSILON, mechanism="quadtree")
                low, high = synopsis.interval(places)
                shares.append(np.mean((low <= exact) & (exact <= high)))
                widths.append((high - low) / 2)
                errors.append(np.abs(synopsis.mean_distance(places) - exact))
            missing = 1 - np.array(shares)
            ratio = float(np.mean(widths)) / float(np.quantile(errors, CONFIDENCE))
            what = f"{make.__name__}, n = {n:,}, share of answers outside"
            bounds.at_most(what, float(missing.mean()), 1 - CONFIDENCE, chance_of(missing))
            deviation = missing.std(ddof=1) / math.sqrt(len(missing))
            cells.append(f"n = {n:,}: {100 - 100 * missing.mean():.1f} ± {100 * deviation:.1f} %, {ratio:.2f}")
        print(f"  {make.__name__}:  {'   '.join(cells)}", flush=True)


def near_best(predictions: Sequence[Prediction]) -> list[str]:
    """Return the mechanisms whose claimed deviation is near the smallest."""
    claimed = {p.mechanism: p.rms for p in predictions if p.rms is not None}
    least = min(claimed.values())
    return [name for name, value in claimed.items() if value <= NEAR * least]


def choices(check: bool, bounds: Bounds) -> None:
    """Print what auto takes, and its measured error ÷ that of the best mechanism."""
    print(f"what auto takes: its rms ÷ that of the best mechanism (bound {WRONG_CHOICE})")
    planes = (SQUARE,) if check else (SQUARE, CAP, TAXICAB, COLUMNS)
    for plane in planes:
        for n in (1000,) if check else (1000, 10_000, 100_000):
            for delta in (0.0, DELTA):
                for k in (100, None) if check else (1, 100, None):
                    _choice(plane, n, delta, k, 12 if check or n > 10_000 else 24, bounds)


def _choice(plane: Plane, n: int, delta: float, k: int | None, releases: int, bounds: Bounds) -> None:
    places = plane.places(100 if k is None else k, seed=2)
    planned = mp.plan(plane.space, n=n, epsilon=EPSILON, delta=delta, queries=None if k is None else places)
    names = near_best(planned.predictions)
    taken = planned.best.mechanism
    squares = {
        name: measured(plane, n, places, releases, given=k is not None, mechanism=name, delta=delta)
        for name in {*names, taken}
    }
    best = min(squares, key=lambda name: float(squares[name].mean()))
    ratio = math.sqrt(squares[taken].mean() / squares[best].mean())
    allowed = WRONG_CHOICE**2 * squares[best].mean()
    chance = chance_of(squares[taken]) + WRONG_CHOICE**2 * chance_of(squares[best]) if taken != best else 0.0
    what = f"{plane.name}, n = {n:,}, δ = {delta:g}, {'all places' if k is None else f'{k} given'}"
    cell = bounds.at_most(
        what, ratio, WRONG_CHOICE, math.sqrt((allowed + chance) / squares[best].mean()) - WRONG_CHOICE
    )
    others = "  ".join(f"{name} {rms(squares[name])}" for name in sorted(squares, key=lambda x: squares[x].mean()))
    print(f"  {what}: {taken}, {cell}:  {others}", flush=True)


def benchmark(check: bool, bounds: Bounds) -> None:
    """Print all tables."""
    given_places(check, bounds)
    all_places(check, bounds)
    coverage(check, bounds)
    choices(check, bounds)


if __name__ == "__main__":
    main(benchmark, __doc__)
