"""The time to embed and count records against `np.bincount` with weights, for one core.

The first ratio is that of reading an Arrow table into the sketch that a release of `slopes` adds noise to, per record
and embedding coordinate, to `np.bincount(cells, weights=…)` with the same number of cells. In the second ratio, which
has the bound, the baseline also has NumPy's time for what no way of counting saves: to copy a column and find its ends,
where every column is one coordinate; a matrix product with random directions; or a square root and a division. A table
has a fixed cost of about a millisecond, so tables of fewer than a million coordinates have no bound.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pyarrow as pa

import milepost as mp
from bench.run import Bounds, interleaved
from milepost._typing import AnyArray
from milepost.ingest.parallel import processors
from milepost.ingest.table import Table
from milepost.mechanisms.coordinate.slopes import Slopes
from milepost.privacy.protected_change import ProtectedChange

BOUND, MIN_NUMBERS, BLOCK = 2.2, 1_000_000, 1 << 17
SORTED, ROUNDS = 1 << 15, 120  # numbers in the cache, whose sorting takes tens of milliseconds: other load shows on it
PARALLEL_BOUND = 1.5  # time on all cores ÷ on one, where there are at least two, against that of sorting
CHECKED, FULL, MANY = 6e7, 6e8, 1e8  # coordinates of the largest table; from MANY on it is read fewer times
SIZES = (1_000, 100_000, 1_000_000)


@dataclass(frozen=True)
class Case:
    """A space, a function that makes a table of n rows, and what its embedding needs besides counting.

    work: "read", "product" or "root"; empty where counting is all.
    """

    space: Any
    table: Callable[[int], pa.Table]
    work: str = ""
    bounded: bool = True


def _columns(width: int) -> Callable[[int], pa.Table]:
    generator = np.random.default_rng(width)
    return lambda n: pa.table({f"c{i}": generator.random(n) for i in range(width)})


def _box(width: int) -> dict[str, tuple[float, float]]:
    return {f"c{i}": (0.0, 1.0) for i in range(width)}


def _places(n: int) -> pa.Table:
    lat, lon = np.random.default_rng(0).uniform(-0.2, 0.2, (2, n))
    return pa.table({"lat": 52.5 + lat, "lon": 13.4 + lon})


def _people(n: int) -> pa.Table:
    generator = np.random.default_rng(0)
    flags = {f"f{i}": generator.random(n) < 0.5 for i in range(4)}
    numbers = {f"c{i}": generator.random(n) for i in range(4)}
    return pa.table({**numbers, **flags, "plan": np.array(["a", "b", "c"])[generator.integers(0, 3, n)]})


CASES = {
    "L1, d = 2": Case(mp.L1(_box(2)), _columns(2), "read"),
    "L1, d = 32": Case(mp.L1(_box(32)), _columns(32), "read"),
    "L2, d = 2": Case(mp.L2(_box(2), directions=512), _columns(2)),
    "L2, d = 8": Case(mp.L2(_box(8), directions=512), _columns(8), "product"),
    "L2, d = 64": Case(mp.L2(_box(64), directions=512), _columns(64), "product"),
    "great circle": Case(mp.GreatCircle((52.5, 13.4), 60, directions=512), _places, "root"),
    "Angular, d = 384": Case(mp.Angular(384, 768, columns=list(_box(384))), _columns(384), "product"),
    "Gower, 4 numbers, 4 flags, 3 labels": Case(
        mp.Gower(
            {
                **{f"c{i}": mp.number(0, 1) for i in range(4)},
                **{f"f{i}": mp.flag() for i in range(4)},
                "plan": mp.category(["a", "b", "c"]),
            }
        ),
        _people,
        bounded=False,  # reading labels takes most of the time
    ),
}


def measure(case: Case, n: int, clock: Callable[[], float]) -> dict[str, float]:
    """Return nanoseconds of each part per record and coordinate, the draws of noise, and the noise's share."""
    space, table = case.space, case.table(n)
    dimension = space.embedding.dimension
    design = Slopes().predict(space.embedding, n, ProtectedChange(), mp.Guarantee(1, 1e-6))
    generator = np.random.default_rng(0)
    items = min(n * dimension, 1 << 20)
    cells, weights = generator.integers(0, design.sketch_cells, items), generator.random(items)
    records = space.read(table.slice(0, min(n, 1024)).to_batches()[0])
    functions: dict[str, Callable[[], object]] = {
        "sorts": lambda: _sorts(ROUNDS),
        "threaded": lambda: list(pool.map(_sorts, [ROUNDS // processors()] * processors())),
        "bincount": lambda: np.bincount(cells, weights=weights, minlength=design.sketch_cells),
        "sketch": lambda: _read(table, space).sketch(space, design.sketch_cells),
    }
    if case.work == "product":
        thetas = space.thetas.astype(np.float64)
        functions["work"] = lambda: thetas @ records.T
    elif case.work:
        numbers, work = generator.random(BLOCK) + 1, {"root": _root, "read": _copy}[case.work]
        functions["work"] = lambda: work(numbers)
    with ThreadPoolExecutor(processors()) as pool:
        best = interleaved(functions, 3 if n * dimension > MANY else 7, clock)
    count = {
        "sorts": 1,
        "threaded": 1,
        "bincount": items,
        "sketch": n * dimension,
        "work": len(records) * dimension if case.work == "product" else BLOCK,
    }
    result = {name: seconds / count[name] * 1e9 for name, seconds in best.items()}
    sketch = _read(table, space).sketch(space, design.sketch_cells)
    noise = interleaved({"noise": lambda: design.run(sketch)}, 1, clock)["noise"]
    draws = sum(int(span) >> bits for span, bits in zip(space.embedding.span, design.bits, strict=True))
    return result | {"draws": draws, "share": noise / (noise + best["sketch"])}


def _read(table: pa.Table, space: mp.Space) -> Table:
    return Table(table, space, ProtectedChange())


def _sorts(rounds: int) -> int:
    numbers = np.random.default_rng(0).random(SORTED)
    for _ in range(rounds):
        np.sort(numbers)
    return rounds


def _root(numbers: AnyArray) -> None:
    root = np.sqrt(numbers)
    np.divide(numbers, root, out=root)


def _copy(numbers: AnyArray) -> None:
    column = numbers.copy()
    column.min(), column.max()


def benchmark(check: bool, bounds: Bounds) -> None:
    """Measure every space and size on one core, then one of them on all cores, each in a separate process."""
    print("embedding and counting on one core, nanoseconds per record and embedding coordinate")
    print(f"{'':36} {'rows':>10} {'D':>5} {'bincount':>9} {'+ work':>7} {'sketch':>7} {'÷ bincount':>10}", end=" ")
    print(f"{'÷ both':>7} {'draws':>8} {'noise':>6}")
    for name, case in CASES.items():
        for n in SIZES:
            numbers = n * case.space.embedding.dimension
            bounded = case.bounded and numbers >= MIN_NUMBERS
            if numbers > (CHECKED if check else FULL) or (check and not bounded):
                continue
            row = _child(name, n, one_core=True)
            work = row.get("work", 0.0)
            ratio = row["sketch"] / (row["bincount"] + work)
            cell = bounds.time_at_most(f"{name}, {n:,} rows: ÷ baseline", ratio, BOUND) if bounded else f"({ratio:.3g})"
            print(
                f"{name:36} {n:>10,} {case.space.embedding.dimension:>5} {row['bincount']:>9.2f} {work:>7.2f} "
                f"{row['sketch']:>7.2f} {row['sketch'] / row['bincount']:>10.2f} {cell:>7} "
                f"{row['draws']:>8,.0f} {row['share']:>6.0%}"
            )
    print(f"  bound {BOUND:g}, for at least {MIN_NUMBERS:,} coordinates")
    if processors() > 1:
        name, n = "L2, d = 2", 200_000 if check else 1_000_000
        one, all_cores = (_child(name, n, one_core=one_core) for one_core in (True, False))  # process time, and time
        counting, sorting = all_cores["sketch"] / one["sketch"], all_cores["threaded"] / one["sorts"]
        share = bounds.time_at_most("time on all cores ÷ on one, ÷ sorting", counting / sorting, PARALLEL_BOUND)
        print(
            f"  {name}, {n:,} rows: time on {processors()} cores ÷ on one {counting:.2f}, of sorting {sorting:.2f}, "
            f"÷ {share} (bound {PARALLEL_BOUND})"
        )


def _child(name: str, n: int, *, one_core: bool) -> dict[str, float]:
    """Return what `measure` returns in a separate process, on one core or on all."""
    line = [sys.executable, "-m", "bench.speed.counting", name, str(n), "one" if one_core else "all"]
    variables = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.run(line, env=variables, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
    row: dict[str, float] = json.loads(process.stdout)
    return row


if __name__ == "__main__":
    case_name, rows, cores = sys.argv[1:]
    if cores == "one":
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    print(json.dumps(measure(CASES[case_name], int(rows), process_time if cores == "one" else perf_counter)))
