"""Measure how time and memory grow with the table: releases of Parquet folders, against a bare scan and NumPy's sort.

Each measurement is one pass in a separate process. Folders have files of a million rows; after half a gigabyte of
different files, the same files repeat under other names, so that all of them are read.
"""

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from bench.run import PEAK, Bounds, seconds

FILE_ROWS, GROUP_ROWS = 1_000_000, 1 << 18
DIFFERENT = 64  # different columns of a million rows: 512 MB
SIZES = (100_000, 1_000_000, 10_000_000, 100_000_000)
DIMENSIONS = (2, 32)
# dimensions and sizes: a release that held its table would need 1.5 times the memory with the most rows
CHECKED = {2: (1_000_000, 10_000_000), 16: (1_000_000, 3_000_000)}
ROUNDS, CHECKED_ROUNDS = 5, 3
# bounds: memory of the most rows ÷ memory of 10⁶ rows, the same for time a row, rows beyond 10⁶ ÷ their scan, and the
# whole release of 10⁸ rows ÷ its scan
MEMORY, LINEAR, SCAN, WHOLE_SCAN = 1.2, 1.3, 3.0, 4.0
CHILD = f"""{PEAK}
import json, sys, time
import pyarrow.dataset

what, folder, names = sys.argv[1:]
if what == "release":
    sys.modules["polars"] = sys.modules["sklearn"] = None  # nothing here needs them; OpenDP would load them
    import milepost as mp
    mp.release([[0.5]] * 100, mp.L1([(0, 1)]), epsilon=100, delta=1e-6, mechanism="slopes")  # loads OpenDP
before, start = peak(), time.perf_counter()
if what == "release":
    mp.release(folder, mp.L1({{name: (0, 1) for name in names.split(",")}}), epsilon=1, delta=1e-6, mechanism="slopes")
else:
    for batch in pyarrow.dataset.dataset(folder).to_batches():
        pass
print(json.dumps([time.perf_counter() - start, before, peak()]))
"""


@dataclass(frozen=True)
class Run:
    """The seconds of a release and of a bare scan, and the megabytes before the release and at its peak."""

    rows: int
    seconds: float
    scan: float
    before: float
    peak: float


@contextmanager
def folder(rows: int, dimension: int) -> Iterator[Path]:
    """Write random rows as Parquet files; enough files differ to exceed the caches of a processor."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        rng, size = np.random.default_rng(0), min(rows, FILE_ROWS)
        different = max(1, min(rows // size, DIFFERENT // dimension))
        for k in range(rows // size):
            path = root / f"part-{k}.parquet"
            if k < different:
                table = pa.table({f"c{i}": rng.random(size) for i in range(dimension)})
                pa.parquet.write_table(table, path, row_group_size=GROUP_ROWS)
            else:
                os.link(root / f"part-{k % different}.parquet", path)
        yield root


def run_once(what: str, path: Path, names: str) -> tuple[float, float, float]:
    """Return the seconds and megabytes of one pass in a separate process."""
    arguments = [sys.executable, "-c", CHILD, what, str(path), names]
    process = subprocess.run(arguments, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
    seconds, before, peak = json.loads(process.stdout)
    return seconds, before, peak


def run(rows: int, dimension: int, repeat: int) -> Run:
    """Release a folder and scan it in turn, and return the best times. A single release is run without a scan."""
    with folder(rows, dimension) as path:
        names = ",".join(f"c{i}" for i in range(dimension))
        if repeat == 1:  # only for its memory
            seconds, before, peak = run_once("release", path, names)
            return Run(rows, seconds, math.nan, before, peak)
        pairs = [(run_once("release", path, names), run_once("scan", path, names)) for _ in range(repeat)]
    released, scanned = min(pair[0] for pair in pairs), min(pair[1] for pair in pairs)
    return Run(rows, released[0], scanned[0], released[1], max(pair[0][2] for pair in pairs))


def print_growth(sizes: tuple[int, ...], dimension: int, repeat: int, bounds: Bounds) -> None:
    """Release tables of growing size. Times of one pass vary too much: only repeated passes have bounds."""
    print(f"\nd = {dimension}: release of a Parquet folder, ℓ₁, slopes, ε = 1, δ = 1e-6")
    print(f"{'rows':>12} {'seconds':>8} {'M rows/s':>9} {'÷ scan':>7} {'÷ sort':>7} {'peak MB':>8} {'above start':>12}")
    people = np.random.default_rng(0).random((FILE_ROWS, dimension))
    sort = seconds(lambda: np.sort(people, axis=0), 2) / FILE_ROWS
    runs = [run(rows, dimension, repeat) for rows in sizes]
    for result in runs:
        share = "–" if math.isnan(result.scan) else f"{result.seconds / result.scan:.2f}"
        sort_ratio = result.seconds / result.rows / sort
        speed, above = result.rows / result.seconds / 1e6, result.peak - result.before
        print(f"{result.rows:>12,} {result.seconds:>8.2f} {speed:>9.1f} {share:>7} {sort_ratio:>7.2f}", end=" ")
        print(f"{result.peak:>8.0f} {above:>12.0f}")
    million, last = next(result for result in runs if result.rows == FILE_ROWS), runs[-1]
    name = f"d = {dimension}, {last.rows:,} rows"
    memory = bounds.at_most(f"{name}: memory ÷ that of a million", last.peak / million.peak, MEMORY)
    linear = last.seconds / last.rows / (million.seconds / million.rows)
    print(f"  most rows ÷ a million: memory {memory} (bound {MEMORY})", end="")
    if repeat == 1:
        print(f", time a row {linear:.3g}")
        return
    cell = bounds.time_at_most(f"{name}: time a row ÷ that of a million", linear, LINEAR)
    print(f", time a row {cell} (bound {LINEAR})")
    if dimension == 2:
        # the cost of rows: noise takes a few tenths of a second for any number of rows, and a scan has none
        per_scan = (last.seconds - million.seconds) / (last.scan - million.scan)
        scanned = bounds.time_at_most(f"{name}: rows beyond a million ÷ their scan", per_scan, SCAN)
        print(f"  rows beyond a million ÷ their bare scan {scanned} (bound {SCAN:g})")
        if last.rows == SIZES[-1]:
            whole = bounds.time_at_most(f"{name}: release ÷ scan", last.seconds / last.scan, WHOLE_SCAN)
            print(f"  release of {last.rows:,} rows ÷ a bare scan {whole} (bound {WHOLE_SCAN:g})")


def benchmark(check: bool, bounds: Bounds) -> None:
    """Release 10⁵ to 10⁸ rows; 10⁶ and some more with --check."""
    for dimension, sizes in (CHECKED if check else dict.fromkeys(DIMENSIONS, SIZES)).items():
        rounds = (1 if dimension > 2 else CHECKED_ROUNDS) if check else ROUNDS
        print_growth(sizes, dimension, rounds, bounds)
