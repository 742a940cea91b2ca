"""Energy distances between two private tables: error, false alarms, and the smallest shift that is found.

Both tables are samples of n people of a mixture of five clusters; all people of the second are moved by a shift. Errors
are to the exact energy distance of the two tables. A test finds a shift if its p-value is below 5 % in four of five
runs. Beside it is the same statistic without privacy, which rejects above the 95 % point of its own values on pairs
without a shift, as a permutation test does. L2 and Angular have fewer directions here than a release takes by itself,
to save time.

--check takes few runs of two spaces at a small n. It fails where a rate of 5 % of false alarms of `p_tables` on equal
tables, or of `p_population` on samples of one population, is rejected at a false-alarm rate of 10⁻⁹, where the
coverage of 95 % is, or where a shift of a whole cluster is not found.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

import milepost as mp
from bench.run import FALSE_ALARM, Bounds
from milepost._typing import FloatArray
from milepost.answers.energy_distance import energy_distance
from milepost.mechanisms.coordinate.cell_shares import CellShares
from milepost.mechanisms.coordinate.curves import Curves

SEED, EPSILON, DELTA = 31, 1.0, 1e-6
CONFIDENCE, LEVEL, POWER = 0.95, 0.05, 0.8
SHIFTS = np.geomspace(0.001, 0.128, 15)
CLUSTERS, SPREAD = 5, 0.06
FULL_N, FULL_RUNS, POWER_RUNS = 20_000, 1_000, 40
CHECK_N, CHECK_RUNS, CHECK_SHIFT = 4_000, 40, 0.1


@dataclass(frozen=True)
class Case:
    """A space, and how often its null is measured at full size."""

    name: str
    space: mp.Space
    columns: int
    runs: int = FULL_RUNS

    def people(self, generator: np.random.Generator, n: int, shift: float = 0.0) -> FloatArray:
        """Return people of a mixture, in a cube of side 1, moved along all columns."""
        centers = np.random.default_rng([SEED, self.columns]).uniform(0.3, 0.6, (CLUSTERS, self.columns))
        rows = centers[generator.integers(0, CLUSTERS, n)] + SPREAD * generator.standard_normal((n, self.columns))
        return np.asarray(rows + shift / math.sqrt(self.columns))


CASES = [
    Case("L1, 16 columns", mp.L1([(0, 1)] * 16), 16),
    Case("L2, plane", mp.L2([(0, 1)] * 2), 2),
    Case("L2, 64 columns", mp.L2([(0, 1)] * 64, directions=512), 64, 100),
    Case("Angular, 384 columns", mp.Angular(384, directions=1536), 384, 100),
]


def released(case: Case, rows: FloatArray) -> mp.Synopsis:
    """Return a release by slopes, without a model, which differences do not use."""
    return mp.release(rows, case.space, epsilon=EPSILON, delta=DELTA, mechanism="slopes", model=False)


def exact_shares(synopsis: mp.Synopsis, rows: FloatArray) -> CellShares:
    """Return the exact cell shares of a table, in the cells of a release."""
    return mp.difference(synopsis, rows).tables.right


def exact_energy(left: CellShares, right: CellShares) -> float:
    """Return the energy distance that the cells of two tables show."""
    area = 2 * left.embedding.quantum * np.exp2(np.array(left.bits))
    return float(np.repeat(area, left.lengths) @ (left.values - right.values) ** 2)


def shares(synopsis: mp.Synopsis) -> CellShares:
    """Return the cell shares of a release."""
    assert isinstance(synopsis.statistic, Curves)
    return synopsis.statistic.cell_shares()


def difference_rows(check: bool, bounds: Bounds) -> None:
    """Print errors, false alarms, coverage and the smallest shift of every space."""
    n, cases = (CHECK_N, CASES[:2]) if check else (FULL_N, CASES)
    print(__doc__)
    print(f"n = {n:,} each, ε = {EPSILON:g}, δ = {DELTA:g}")
    print(
        f"{'space':<22}{'runs':>6}{'rmse':>10}{'width':>10}{'covered':>16}{'tables %':>10}{'population %':>14}"
        f"{'shift: tables':>15}{'population':>12}{'not private':>13}"
    )
    for case in cases:
        _row(case, n, check, bounds)


def _row(case: Case, n: int, check: bool, bounds: Bounds) -> None:
    generator, runs = np.random.default_rng(SEED), CHECK_RUNS if check else case.runs
    errors, widths, hits, exact = [], [], [], []
    same = population = 0
    for _ in range(runs):
        left_rows, right_rows = (case.people(generator, n) for _ in range(2))
        left, again, right = (released(case, rows) for rows in (left_rows, left_rows, right_rows))
        same += energy_distance(shares(left), shares(again), CONFIDENCE).p_tables < LEVEL
        truth = exact_energy(exact_shares(left, left_rows), exact_shares(left, right_rows))
        result = energy_distance(shares(left), shares(right), CONFIDENCE)
        population += result.p_population < LEVEL
        errors.append(result.value - truth)
        widths.append((result.high - result.low) / 2)
        hits.append(result.low <= truth <= result.high)
        exact.append(truth)
    limit = float(stats.binom.isf(FALSE_ALARM, runs, LEVEL))
    covered, error = float(np.mean(hits)), math.sqrt(0.05 * 0.95 / runs)
    bounds.at_most(f"{case.name}: false alarms of p_tables", float(same), limit)
    bounds.at_most(f"{case.name}: false alarms of p_population", float(population), limit)
    bounds.at_most(f"{case.name}: not covered", float(runs - sum(hits)), limit)
    critical = float(np.quantile(exact, 1 - LEVEL))
    shifts = np.array([CHECK_SHIFT]) if check else SHIFTS
    found = _smallest(case, n, shifts, generator, critical, 10 if check else POWER_RUNS)
    if check:
        bounds.at_most(f"{case.name}: shift that is found", max(found[:2]), CHECK_SHIFT)
    rmse, width = math.sqrt(float(np.mean(np.square(errors)))), float(np.mean(widths))
    print(
        f"{case.name:<22}{runs:>6}{rmse:>10.2g}{width:>10.2g}{f'{100 * covered:.1f} ± {100 * error:.1f}':>16}"
        f"{100 * same / runs:>10.1f}{100 * population / runs:>14.1f}"
        + "".join(f"{shift:>{size}.3g}" for shift, size in zip(found, (15, 12, 13), strict=True)),
        flush=True,
    )


def _smallest(
    case: Case, n: int, shifts: FloatArray, generator: np.random.Generator, critical: float, runs: int
) -> list[float]:
    """Return the smallest shift that is found with the wanted power: by both tests, and without privacy."""
    result = [math.inf] * 3
    for shift in shifts[::-1].tolist():
        counts = np.zeros(3)
        for _ in range(runs):
            left_rows, right_rows = case.people(generator, n), case.people(generator, n, shift)
            left, right = released(case, left_rows), released(case, right_rows)
            energy = energy_distance(shares(left), shares(right), CONFIDENCE)
            truth = exact_energy(exact_shares(left, left_rows), exact_shares(left, right_rows))
            counts += [energy.p_tables < LEVEL, energy.p_population < LEVEL, truth > critical]
        passed = counts >= POWER * runs
        result = [shift if ok else best for ok, best in zip(passed, result, strict=True)]
        if not passed.any():
            break
    return result
