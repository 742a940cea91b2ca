"""Energy distances between two private tables: error, false alarms, and the smallest shift that is found.

Both tables are samples of n people of a mixture of five clusters; all people of the second are moved by a shift. Errors
are to the exact energy distance, of all pairs of people, half of them with a shift of 0.05; directions differ from run
to run. False alarms are those of `p_tables` on equal tables and of `p_population` on samples of one population. A test
finds a shift if its p-value is below 5 % in four of five runs; all shifts are multiples of √2 of one another. Beside it
is the same statistic without privacy, which rejects above the 95 % point of its own values on pairs without a shift, as
a permutation test does. L2 and Angular have fewer directions here than a release takes by itself, to save time.

The second table is about tables of one column that cells may hide: tight clusters, atoms and combs.

--check takes few runs of two spaces at a small n. It fails where false alarms of 5 % or a coverage of 95 % are rejected
at a false-alarm rate of 10⁻⁹, or where a shift of a whole cluster is not found.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats

import milepost as mp
from bench.run import FALSE_ALARM, Bounds
from milepost._typing import FloatArray
from milepost.answers.energy_distance import energy_distance
from milepost.ingest.aggregation import read_sketch
from milepost.mechanisms.coordinate.cell_shares import CellShares
from milepost.mechanisms.coordinate.curves import Curves
from milepost.mechanisms.coordinate.slopes import Slopes, SlopesDesign
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.protected_change import ProtectedChange

SEED, EPSILON, DELTA = 31, 1.0, 1e-6
CONFIDENCE, LEVEL, POWER = 0.95, 0.05, 0.8
SHIFTS = 0.001 * 2.0 ** np.arange(0, 7.5, 0.5)
CLUSTERS, SPREAD, TRUTH_SHIFT = 5, 0.06, 0.05
FULL_N, POWER_RUNS = 20_000, 20
CHECK_N, CHECK_RUNS, CHECK_TRUTHS, CHECK_SHIFT = 4_000, 40, 20, 0.1
HARD_N, HARD_RUNS, HARD_CHECK_RUNS = 4_000, 100, 20


@dataclass(frozen=True)
class Case:
    """A space, by its random state; how often its distances are compared with those of all pairs, and its null run."""

    name: str
    space: Callable[[int], mp.Space]
    columns: int
    truths: int
    runs: int

    def people(self, generator: np.random.Generator, n: int, shift: float = 0.0) -> FloatArray:
        """Return people of a mixture, in a cube of side 1, moved along all columns."""
        centers = np.random.default_rng([SEED, self.columns]).uniform(0.3, 0.6, (CLUSTERS, self.columns))
        rows = centers[generator.integers(0, CLUSTERS, n)]
        rows += SPREAD * generator.standard_normal((n, self.columns), dtype=np.float32)
        rows += shift / math.sqrt(self.columns)
        return np.asarray(rows)


CASES = [
    Case("L1, 16 columns", lambda _: mp.L1([(0, 1)] * 16), 16, 6, 1_000),
    Case("L2, plane", lambda _: mp.L2([(0, 1)] * 2), 2, 20, 1_000),
    Case("L2, 64 columns", lambda state: mp.L2([(0, 1)] * 64, directions=256, random_state=state), 64, 6, 300),
    Case("Angular, 384 columns", lambda state: mp.Angular(384, directions=768, random_state=state), 384, 4, 300),
]


@dataclass(frozen=True, eq=False)
class Releases:
    """Releases of one space by slopes for n people, which are read once for several draws of noise."""

    space: mp.Space
    design: SlopesDesign

    @classmethod
    def of(cls, space: mp.Space, n: int) -> "Releases":
        """Return the releases without a model, which differences do not use."""
        first = mp.release(np.full((n, space.width), 0.5), space, epsilon=EPSILON, delta=DELTA, model=False)
        design = Slopes().predict(first.space.embedding, n, ProtectedChange(), Guarantee(EPSILON, DELTA))
        assert isinstance(design, SlopesDesign)
        return cls(first.space, design)

    def shares(self, rows: FloatArray) -> tuple[CellShares, CellShares]:
        """Return the released cell shares of a table, and the exact ones."""
        sketch = read_sketch(rows, self.space, cells=self.design.sketch_cells)
        released = self.design.run(sketch)
        assert isinstance(released, Curves)
        shares = released.cell_shares()
        return shares, CellShares.of_sketch(self.space.embedding, shares.bits, sketch)


def seen_energy(left: CellShares, right: CellShares) -> float:
    """Return the energy distance that the cells of two tables show."""
    area = 2 * left.embedding.quantum * np.exp2(np.array(left.bits))
    return float(np.repeat(area, left.lengths) @ (left.values - right.values) ** 2)


def exact_energy(space: mp.Space, left: FloatArray, right: FloatArray) -> float:
    """Return the energy distance of two tables from all pairs of people."""
    between, *within = (
        float(mp.exact_mean_distance(rows, space, points).mean())
        for rows, points in ((left, right), (left, left), (right, right))
    )
    return 2 * between - sum(within)


def difference_rows(check: bool, bounds: Bounds) -> None:
    """Print errors, false alarms, coverage and the smallest shift of every space; then the tables that are hard."""
    n, cases = (CHECK_N, CASES[:2]) if check else (FULL_N, CASES)
    print(__doc__)
    print(f"n = {n:,} each, ε = {EPSILON:g}, δ = {DELTA:g}")
    print(
        f"{'space':<22}{'truths':>8}{'rmse':>10}{'half-width':>12}{'covered':>14}{'nulls':>7}{'tables %':>10}"
        f"{'population %':>14}{'shift: tables':>15}{'population':>12}{'not private':>13}"
    )
    for case in cases:
        _row(case, n, check, bounds)
    _hard_rows(check, bounds)


def _limit(runs: int) -> float:
    return float(stats.binom.isf(FALSE_ALARM, runs, LEVEL))


def _row(case: Case, n: int, check: bool, bounds: Bounds) -> None:
    generator, releases = np.random.default_rng(SEED), Releases.of(case.space(0), n)
    size, count = (n // 4, CHECK_TRUTHS) if check else (n, case.truths)
    errors, widths, hits = _truths(case, size, count, generator)
    runs = CHECK_RUNS if check else case.runs
    same = population = 0
    exact = []
    for _ in range(runs):
        (left, exact_left), (right, exact_right) = (releases.shares(case.people(generator, n)) for _ in range(2))
        # the first table with the noise of the second release
        again = replace(right, values=right.values - exact_right.values + exact_left.values)
        same += energy_distance(left, again, CONFIDENCE).p_tables < LEVEL
        population += energy_distance(left, right, CONFIDENCE).p_population < LEVEL
        exact.append(seen_energy(exact_left, exact_right))
    bounds.at_most(f"{case.name}: false alarms of p_tables", float(same), _limit(runs))
    bounds.at_most(f"{case.name}: false alarms of p_population", float(population), _limit(runs))
    bounds.at_most(f"{case.name}: not covered", float(len(hits) - sum(hits)), _limit(len(hits)))
    critical = float(np.quantile(exact, 1 - LEVEL))
    shifts = np.array([CHECK_SHIFT]) if check else SHIFTS
    found = _smallest_shifts(case, releases, shifts, generator, critical, 10 if check else POWER_RUNS)
    if check:
        bounds.at_most(f"{case.name}: shift that is found", max(found[:2]), CHECK_SHIFT)
    rmse, error = math.sqrt(float(np.mean(np.square(errors)))), math.sqrt(LEVEL * (1 - LEVEL) / len(hits))
    print(
        f"{case.name:<22}{len(hits):>8}{rmse:>10.2g}{np.mean(widths):>12.2g}"
        f"{f'{100 * np.mean(hits):.0f} ± {100 * error:.0f}':>14}{runs:>7}"
        f"{100 * same / runs:>10.1f}{100 * population / runs:>14.1f}"
        + "".join(f"{shift:>{size}.3g}" for shift, size in zip(found, (15, 12, 13), strict=True)),
        flush=True,
    )


def _truths(
    case: Case, n: int, count: int, generator: np.random.Generator
) -> tuple[list[float], list[float], list[bool]]:
    """Return errors, half-widths and whether intervals cover, over releases with directions of their own."""
    errors, widths, hits = [], [], []
    for run in range(count):
        releases = Releases.of(case.space(run + 1), n)
        tables = [case.people(generator, n, shift) for shift in (0.0, TRUTH_SHIFT * (run % 2))]
        (left, _), (right, _) = (releases.shares(rows) for rows in tables)
        result, truth = energy_distance(left, right, CONFIDENCE), exact_energy(releases.space, tables[0], tables[1])
        errors.append(result.value - truth)
        widths.append((result.high - result.low) / 2)
        hits.append(result.low <= truth <= result.high)
    return errors, widths, hits


def _smallest_shifts(
    case: Case, releases: Releases, shifts: FloatArray, generator: np.random.Generator, critical: float, runs: int
) -> list[float]:
    """Return the smallest shift that is found with the wanted power: by both tests, and without privacy."""
    measured: dict[int, FloatArray] = {}

    def finds(index: int, test: int) -> bool:
        if index not in measured:
            counts = np.zeros(3)
            for _ in range(runs):
                rows = [case.people(generator, releases.design.n, shift) for shift in (0.0, float(shifts[index]))]
                (left, exact_left), (right, exact_right) = map(releases.shares, rows)
                energy, truth = energy_distance(left, right, CONFIDENCE), seen_energy(exact_left, exact_right)
                counts += [energy.p_tables < LEVEL, energy.p_population < LEVEL, truth > critical]
            measured[index] = counts
        return bool(measured[index][test] >= POWER * runs)

    result = []
    for test in range(3):
        low, high = -1, len(shifts)  # by bisection: power grows with the shift
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if finds(middle, test) else (middle, high)
        result.append(float(shifts[high]) if high < len(shifts) else math.inf)
    return result


def _hard_tables(generator: np.random.Generator) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Return pairs of tables of one column."""

    def normal(center: float, deviation: float) -> FloatArray:
        return np.asarray(np.clip(generator.normal(center, deviation, HARD_N), 0, 1))

    def uniform() -> FloatArray:
        return generator.random(HARD_N)

    def comb(shift: float) -> FloatArray:
        return np.asarray(np.clip(np.rint(64 * uniform()) / 64 + shift, 0, 1))

    half, atom = np.arange(HARD_N) % 2 == 0, np.full(HARD_N, 0.3)
    return {
        "the same": (spread := uniform(), spread),
        "samples": (uniform(), uniform()),
        "wider": (normal(0.5, 0.1), normal(0.5, 0.12)),
        "cluster, moved by half": (normal(0.3, 0.002), normal(0.301, 0.002)),
        "cluster in one cell": (normal(0.3, 0.0002), normal(0.3002, 0.0002)),
        "atom, moved in its cell": (atom, atom + 0.0005),
        "atom, moved": (atom, atom + 0.01),
        "half an atom": (np.where(half, 0.2, 0.8), np.where(half, 0.203, 0.8)),
        "half a cluster": (
            np.where(half, normal(0.3, 0.002), uniform()),
            np.where(half, normal(0.303, 0.002), uniform()),
        ),
        "comb, moved": (comb(0.0), comb(0.005)),
    }


def _line_energy(left: FloatArray, right: FloatArray) -> float:
    """Return the energy distance of two columns."""
    both = np.sort(np.concatenate([left, right]))
    shares = [np.searchsorted(np.sort(side), both, side="right") / len(side) for side in (left, right)]
    return float(2 * (shares[0] - shares[1])[:-1] ** 2 @ np.diff(both))


def _hard_rows(check: bool, bounds: Bounds) -> None:
    runs, space = HARD_CHECK_RUNS if check else HARD_RUNS, mp.L1([(0, 1)])
    print(
        f"\nOne column that cells may hide, n = {HARD_N:,}, {runs} releases, ε = {EPSILON:g}: covered % (by slopes with"
    )
    print(f"δ = {DELTA:g}, by hats with δ = 0), the errors' root mean square and the mean half-width")
    for name in _hard_tables(np.random.default_rng(SEED)):
        cells = []
        for mechanism, delta in (("slopes", DELTA), ("hats", 0.0)):
            generator, hits, errors, widths = np.random.default_rng(SEED), 0, [], []
            for _ in range(runs):
                tables = _hard_tables(generator)[name]
                sides = [
                    mp.release(rows[:, None], space, epsilon=EPSILON, delta=delta, mechanism=mechanism)
                    for rows in tables
                ]
                result, truth = mp.difference(*sides), _line_energy(*tables)
                hits += result.low <= truth <= result.high
                errors.append(result.value - truth)
                widths.append((result.high - result.low) / 2)
            bounds.at_most(f"{name}, {mechanism}: not covered", float(runs - hits), _limit(runs))
            rmse = math.sqrt(float(np.mean(np.square(errors))))
            cells.append(f"{100 * hits / runs:>8.1f}{rmse:>10.2g}{np.mean(widths):>10.2g}")
        print(f"{name:<26}{'   '.join(cells)}", flush=True)
