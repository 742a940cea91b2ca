"""Questions about single columns: their noise ÷ that of the same question asked alone, and the coverage of intervals.

Alone, a question has Gaussian noise for the range of its function, at the same budget; the variance, for the range of
the squared difference from the middle, W²/4. With several columns, it is the sum over all of them. Ratios are analytic:
they follow from the law of the released noise. One row ties them to measurement: the errors of the mean over
independent releases, in their claimed deviations. Coverage is that of 95 % intervals, over independent releases, with
its standard error.

--check takes fewer releases. It fails where the mean's ratio is over 1.1 or the variance's over 3, where measured
errors are not of the claimed scale, or where a coverage of 95 % is rejected, at a false-alarm rate of 10⁻⁹.
"""

import math
from collections.abc import Callable

import numpy as np
from scipy import stats

import milepost as mp
from bench.run import FALSE_ALARM, Bounds
from milepost._typing import FloatArray
from milepost.mechanisms.coordinate.curves import Curves
from milepost.mechanisms.coordinate.noisy_means import noisy_mean

N, EPSILON, DELTA, SEED = 20_000, 1.0, 1e-6, 5
RUNS, FEW_RUNS = 400, 60
MAX_MEAN, MAX_VARIANCE = 1.1, 3.0

Question = Callable[[mp.Synopsis], mp.Estimate]
HINGE = 0.3


def tables(generator: np.random.Generator) -> dict[str, FloatArray]:
    """Return hard tables of one column: people anywhere, in less than a cell, at few places, and at the border."""
    return {
        "uniform": generator.random(N),
        "cluster": 0.4 + 0.0005 * generator.standard_normal(N),
        "atoms": generator.choice([0.1, 0.3004, 0.9], N),
        "border": np.ones(N),
    }


def column_rows(check: bool, bounds: Bounds) -> None:
    """Print ratios and coverage."""
    print(__doc__)
    print(f"{'columns':>8}{'mean':>8}{'variance':>10}{'hinge':>8}{'share':>8}")
    for columns in (1, 4):
        mean, variance, hinge, share = ratios(columns)
        cells = [
            bounds.at_most(f"mean, {columns} columns", mean, MAX_MEAN),
            bounds.at_most(f"variance, {columns} columns", variance, MAX_VARIANCE),
            f"{hinge:.3g}",
            f"{share:.3g}",
        ]
        print(f"{columns:>8}" + "".join(f"{cell:>{size}}" for cell, size in zip(cells, (8, 10, 8, 8), strict=True)))
    coverage_rows(FEW_RUNS if check else RUNS, bounds)


def released(rows: FloatArray) -> mp.Synopsis:
    """Return a release by slopes."""
    space = mp.L1([(0, 1)] * rows.shape[1])
    return mp.release(rows, space, epsilon=EPSILON, delta=DELTA, mechanism="slopes")


def ratios(columns: int) -> list[float]:
    """Return the noise of each question of all columns together ÷ that of the question alone."""
    curves = released(np.random.default_rng(SEED).random((N, columns))).statistic
    assert isinstance(curves, Curves)
    borders = np.linspace(0, 1, len(curves.heights[0]))
    single = 1 / mp.Guarantee(EPSILON, DELTA).mu / N  # of a function with a range of 1
    share = np.clip((HINGE - borders) * (len(borders) - 1) + 1, 0, 1)  # falls within the cell after HINGE
    functions = {  # heights at the borders of cells, and the change of the mean by one record
        "mean": (borders, 1.0),
        "variance": ((borders - 0.5) ** 2, 0.25),
        "hinge": (np.maximum(borders - HINGE, 0), 1 - HINGE),
        "share": (share, 1.0),
    }
    return [
        math.sqrt(noisy_mean(curves, dict.fromkeys(range(columns), heights), 0.05).variance)
        / (single * change * columns)
        for heights, change in functions.values()
    ]


def coverage_rows(runs: int, bounds: Bounds) -> None:
    """Print how many intervals hold the exact number, for each table and question."""
    questions: dict[str, tuple[Question, Callable[[FloatArray], float]]] = {
        "mean": (lambda s: s.mean(0), lambda x: float(x.mean())),
        "variance": (lambda s: s.variance(0), lambda x: float(x.var())),
        "hinge": (
            lambda s: s.expectation({0: lambda x: np.maximum(x - HINGE, 0)}),
            lambda x: float(np.maximum(x - HINGE, 0).mean()),
        ),
        "share": (lambda s: s.share(0, HINGE, 0.77), lambda x: float(((x >= HINGE) & (x <= 0.77)).mean())),
    }
    print(f"\ncovered %, {runs} releases, ± {100 * math.sqrt(0.05 * 0.95 / runs):.1f}; width: mean half-width")
    print(f"{'table':<10}" + "".join(f"{name:>20}" for name in questions))
    missed_limit = float(stats.binom.isf(FALSE_ALARM, runs, 0.05))
    errors: list[float] = []
    for table, values in tables(np.random.default_rng(SEED)).items():
        exact = {name: truth(values) for name, (_, truth) in questions.items()}
        hits, widths = dict.fromkeys(questions, 0), dict.fromkeys(questions, 0.0)
        for _ in range(runs):
            synopsis = released(values[:, None])
            for name, (ask, _) in questions.items():
                estimate = ask(synopsis)
                hits[name] += estimate.low - 1e-12 <= exact[name] <= estimate.high + 1e-12
                widths[name] += (estimate.high - estimate.low) / 2 / runs
            if table == "uniform":
                assert isinstance(synopsis.statistic, Curves)
                borders = np.linspace(0, 1, len(synopsis.statistic.heights[0]))
                mean = noisy_mean(synopsis.statistic, {0: borders}, 0.05)
                errors.append((mean.value - exact["mean"]) / math.sqrt(mean.variance))
        for name, count in hits.items():
            bounds.at_most(f"{table}, {name}: not covered", float(runs - count), missed_limit)
        print(f"{table:<10}" + "".join(f"{100 * hits[k] / runs:>10.1f}{f'({widths[k]:.2g})':>10}" for k in questions))
    size = float(np.sum(np.square(errors)))
    low, high = stats.chi2.ppf(FALSE_ALARM, runs), stats.chi2.isf(FALSE_ALARM, runs)
    bounds.at_most("errors of the mean in their deviations, squared", size, float(high))
    bounds.at_most("errors of the mean, too small", float(low), size)
    print(f"errors of the mean ÷ their claimed deviation: {math.sqrt(size / runs):.3f} rms")
