"""Plan for a wanted error, release with the ε of the plan, and count the runs in which the error is kept.

A run keeps the wanted error e if the release reports at most e. Of the real errors at random queries, 95 % must be at
most e, too; the answers of one release share noise, so that is a rate over all releases. The plan reads no data and
cannot know how people are spread: it has a margin, `CONCENTRATION`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from vega_datasets import local_data

import milepost as mp
from bench.run import FALSE_ALARM, Bounds
from milepost._typing import FloatArray
from milepost.spaces.base import Space

RATE = 0.95  # of runs that keep the wanted error, and of real errors within it, at least
RUNS, CHECKED = 40, 4  # releases of each table
QUERIES = 200
DELTA = 1e-6


@dataclass(frozen=True)
class PlanCase:
    """A table, its space, the wanted error, and where to ask. real: whether the rows were measured in the world."""

    name: str
    space: Space
    rows: Callable[[], FloatArray | pd.DataFrame]
    error: float
    queries: Callable[[np.random.Generator], FloatArray | pd.DataFrame]
    real: bool = True
    delta: float = DELTA


def in_box(*ends: tuple[float, float]) -> Callable[[np.random.Generator], FloatArray]:
    """Return a function that draws queries evenly from a box."""
    low, high = np.array(ends).T
    return lambda generator: np.asarray(generator.uniform(low, high, (QUERIES, len(ends))))


def in_circle(latitude: float, longitude: float, radius_km: float) -> Callable[[np.random.Generator], FloatArray]:
    """Return a function that draws queries from a circle on the map, about evenly."""

    def draw(generator: np.random.Generator) -> FloatArray:
        radius = radius_km / 111.2 * np.sqrt(generator.random(QUERIES))
        turn = 2 * math.pi * generator.random(QUERIES)
        north = radius * np.sin(turn)
        east = radius * np.cos(turn) / np.cos(np.radians(latitude + north))
        return np.column_stack([latitude + north, longitude + east])

    return draw


def airports() -> FloatArray:
    """Return the airports of the 48 states: latitude and longitude."""
    table = local_data.airports()
    inside = table.latitude.between(24, 50) & table.longitude.between(-125, -66)
    return np.asarray(table.loc[inside, ["latitude", "longitude"]], dtype=np.float64)


def weather() -> FloatArray:
    """Return the lowest and highest temperature of 1,461 days in Seattle."""
    return np.asarray(local_data.seattle_weather()[["temp_min", "temp_max"]], dtype=np.float64)


def hours() -> FloatArray:
    """Return the temperatures of 8,759 hours in Seattle, in °F."""
    return np.asarray(local_data.seattle_temps()[["temp"]], dtype=np.float64)


def cars() -> pd.DataFrame:
    """Return horsepower, weight and origin of 400 cars."""
    return pd.DataFrame(local_data.cars()[["Horsepower", "Weight_in_lbs", "Origin"]].dropna())


def made(*parts: tuple[tuple[float, float], float, int]) -> Callable[[], FloatArray]:
    """Return a function that makes up a table in the unit square: centers, deviations and numbers of rows."""

    def rows() -> FloatArray:
        generator = np.random.default_rng(4)
        clusters = [generator.normal(center, deviation, (count, 2)) for center, deviation, count in parts]
        return np.clip(np.concatenate(clusters), 0, 1)

    return rows


def even() -> FloatArray:
    """Return 5,000 evenly spread rows of the unit square."""
    return np.random.default_rng(4).random((5_000, 2))


CAR_QUERIES = 50  # a frame of mixed columns


def car_queries(generator: np.random.Generator) -> pd.DataFrame:
    """Return made-up cars."""
    return pd.DataFrame(
        {
            "Horsepower": generator.uniform(0, 250, CAR_QUERIES),
            "Weight_in_lbs": generator.uniform(1000, 6000, CAR_QUERIES),
            "Origin": generator.choice(["USA", "Japan", "Europe"], CAR_QUERIES),
        }
    )


CAR_SPACE = mp.Gower(
    {
        "Horsepower": mp.number(0, 250),
        "Weight_in_lbs": mp.number(1000, 6000),
        "Origin": mp.category(["USA", "Japan", "Europe"]),
    }
)
SQUARE = [(0.0, 1.0)] * 2
CLUSTERS = made(((0.2, 0.3), 0.05, 1_500), ((0.8, 0.7), 0.05, 1_500))
FAR = made(((0.3, 0.3), 0.1, 1_900), ((0.95, 0.95), 0.01, 100))
ATOM = made(((0.3, 0.6), 0.0, 500), ((0.5, 0.5), 0.2, 500))


def images() -> FloatArray:
    """Return 1,797 images of handwritten digits, centred, in the unit ball."""
    rows = load_digits().data
    centred = rows - rows.mean(axis=0)
    return np.asarray(centred / np.linalg.norm(centred, axis=1).max())


def in_ball(generator: np.random.Generator) -> FloatArray:
    """Return points on spheres in the unit ball of 64 columns."""
    points = generator.standard_normal((QUERIES, 64))
    return np.asarray(points * (generator.random((QUERIES, 1)) / np.linalg.norm(points, axis=1, keepdims=True)))


CASES = (  # one line adds a table
    PlanCase("digits, L2 of 64", mp.L2(center=[0] * 64, radius=1), images, 0.05, in_ball),
    PlanCase("digits, angles of 64", mp.Angular(64), images, 0.07, in_ball),
    PlanCase("airports, great circle", mp.GreatCircle((39, -96), 2700), airports, 80, in_circle(39, -96, 2700)),
    PlanCase("weather, L2", mp.L2([(-10, 40)] * 2), weather, 1.5, in_box(*[(-10, 40)] * 2)),
    PlanCase("hours, L1, δ = 0", mp.L1([(20, 100)]), hours, 0.1, in_box((20, 100)), delta=0),
    PlanCase("cars, Gower", CAR_SPACE, cars, 0.08, car_queries),
    PlanCase(
        "diabetes, L1 of 10",
        mp.L1([(-0.2, 0.2)] * 10),
        lambda: load_diabetes().data,
        0.15,
        in_box(*[(-0.2, 0.2)] * 10),
    ),
    PlanCase(
        "tumours, L2",
        mp.L2([(5, 30), (5, 40)]),
        lambda: load_breast_cancer().data[:, :2],
        2.0,
        in_box((5, 30), (5, 40)),
    ),
    PlanCase(
        "wine, L2 of 3",
        mp.L2([(11, 15), (0, 6), (0, 2)]),
        lambda: load_wine().data[:, [0, 6, 10]],
        1.0,
        in_box((11, 15), (0, 6), (0, 2)),
    ),
    PlanCase("evenly spread, L2", mp.L2(SQUARE), even, 0.01, in_box(*SQUARE), real=False),
    PlanCase("two clusters, L2", mp.L2(SQUARE), CLUSTERS, 0.015, in_box(*SQUARE), real=False),
    PlanCase("far cluster, L2", mp.L2(SQUARE), FAR, 0.02, in_box(*SQUARE), real=False),
    PlanCase("half at one place, L2", mp.L2(SQUARE), ATOM, 0.03, in_box(*SQUARE), real=False),
    PlanCase("half at one place, L1", mp.L1(SQUARE), ATOM, 0.03, in_box(*SQUARE), real=False),
)


@dataclass(frozen=True)
class PlanMeasurement:
    """What was planned, and the reported error and real errors of each run."""

    epsilon: float
    rms: float | None
    reported: FloatArray  # float64[runs]
    errors: FloatArray  # float64[runs, queries]


def measure(case: PlanCase, rows: FloatArray | pd.DataFrame, runs: int) -> PlanMeasurement:
    """Plan once, and release many times."""
    planned = mp.plan(case.space, n=len(rows), error=case.error, delta=case.delta)
    queries = case.queries(np.random.default_rng(5))
    exact = np.asarray(mp.exact_mean_distance(rows, case.space, queries))
    reported, errors = [], []
    for _ in range(runs):
        epsilon = planned.guarantee.epsilon
        synopsis = mp.release(rows, case.space, epsilon=epsilon, delta=case.delta)
        reported.append(float(synopsis.error()))
        errors.append(np.abs(np.asarray(synopsis.mean_distance(queries)) - exact))
    return PlanMeasurement(planned.guarantee.epsilon, planned.best.rms, np.array(reported), np.array(errors))


def plan_rows(check: bool, bounds: Bounds) -> None:
    """Print one row a table, and check that 95 % of all runs together keep the error that was planned."""
    runs = CHECKED if check else RUNS
    print(
        f"\nPlans for a wanted error, {runs} releases of each table. kept: releases that report no more; within: real"
    )
    print(f"errors at {QUERIES} queries that are no larger, and their 95 % point. * made-up rows; all others are real.")
    head = f"{'table':<26}{'n':>6}{'wanted':>8}{'ε':>7}{'kept':>12}{'reported ÷ wanted':>20}{'within':>8}"
    print(head + f"{'95 % ÷ wanted':>15}{'rms planned':>13}{'measured':>10}{'÷':>6}")
    kept, within, strictly = 0, 0.0, 0
    for case in CASES:
        rows = case.rows()
        found = measure(case, rows, runs)
        keeps, hits = found.reported <= case.error, found.errors <= case.error
        kept, within = kept + int(keeps.sum()), within + float(hits.mean(axis=1).sum())
        strictly += int((keeps & (hits.mean(axis=1) >= RATE)).sum())
        deviation = math.sqrt(max(keeps.mean() * (1 - keeps.mean()), 1 / runs) / runs)
        ratios = np.median(found.reported) / case.error, found.reported.max() / case.error
        measured = math.sqrt(np.mean(found.errors**2))
        print(
            f"{case.name + ' *' * (not case.real):<26}{len(rows):>6,}{case.error:>8.3g}{found.epsilon:>7.2g}"
            f"{f'{keeps.mean():.0%} ± {deviation:.0%}':>12}{f'{ratios[0]:.2f}, at most {ratios[1]:.2f}':>20}"
            f"{hits.mean():>8.1%}{np.quantile(found.errors, RATE) / case.error:>15.2f}"
            + ("" if found.rms is None else f"{found.rms:>13.3g}{measured:>10.3g}{measured / found.rms:>6.2f}"),
            flush=True,
        )
    total = runs * len(CASES)
    spare = total - int(stats.binom.ppf(FALSE_ALARM, total, RATE))
    bounds.at_most("plans: releases that report more than wanted", total - kept, spare)
    # a share of one release's queries is a number in 0..1: such sums have tails at most e times those of coins
    spare = total - int(stats.binom.ppf(FALSE_ALARM / math.e, total, RATE))
    bounds.at_most("plans: real errors larger than wanted, in releases", total - within, spare)
    print(
        f"{kept} of {total} releases report no more than wanted ({kept / total:.1%}); {within / total:.1%} of all real"
    )
    print(f"errors are within it. Releases that keep it with 95 % of their own answers: {strictly / total:.1%}")
