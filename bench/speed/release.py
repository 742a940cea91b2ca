"""Measure the time of a release against NumPy's sort in the same run, and its peak memory."""

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

import milepost as mp
from bench.run import PEAK, Bounds, interleaved, seconds
from milepost.ingest.aggregation import read_sketch
from milepost.mechanisms.coordinate.slopes import Slopes
from milepost.privacy.protected_change import ProtectedChange

N, DIMENSION = 1_000_000, 32
MEMORY = f"""{PEAK}
import sys
import milepost as mp
mp.release(sys.argv[1], mp.L1([(0, 1)] * 8), epsilon=1, delta=1e-6, mechanism="slopes")
print(peak())
"""


def benchmark(check: bool, bounds: Bounds) -> None:
    """Release a table of 10⁶ × 32 in both sizes, because the bounds are on this table."""
    rng = np.random.default_rng(0)
    people = rng.random((N, DIMENSION))
    space, guarantee = mp.L1([(0, 1)] * DIMENSION), mp.Guarantee(1, 1e-6)
    _ = guarantee.budget, space.embedding

    def release_people() -> mp.Synopsis:
        return mp.release(people, space, epsilon=1, delta=1e-6, mechanism="slopes")

    times = interleaved({"sort": lambda: np.sort(people, axis=0), "release": release_people})
    sort, release = times["sort"], times["release"]
    sketch = read_sketch(people, space)
    reading = seconds(lambda: read_sketch(people, space), 1)
    design = Slopes().predict(space.embedding, len(people), ProtectedChange(), guarantee)
    noise = seconds(lambda: design.run(sketch), 1)
    print(f"release of {N:,} × {DIMENSION}: {release:.2f} s; np.sort(axis=0) {sort:.2f} s")
    print(f"  ÷ sort {bounds.time_at_most('release ÷ sort', release / sort, 1.5)} (bound 1.5)")
    print(f"  sketch {reading / release:.0%}, noise {noise / release:.0%} of the release")

    peaks = [_peak(rows) for rows in ((200_000, 1_600_000) if check else (400_000, 3_200_000))]
    print(f"peak memory streaming a CSV file: {peaks[0]:,.0f} MB, and {peaks[1]:,.0f} MB with many times the rows")
    print(f"  ÷ {bounds.at_most('memory with many times the rows', peaks[1] / peaks[0], 1.3)} (bound 1.3)")
    print(f"peak memory of this run: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MB")


def _peak(rows: int) -> float:
    """Return the peak megabytes of a process that releases a CSV file of this many rows."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.csv"
        values = np.random.default_rng(0).random((rows, 8)).round(6)
        pa.csv.write_csv(pa.table({f"c{i}": values[:, i] for i in range(8)}), path)
        line = [sys.executable, "-c", MEMORY, str(path)]
        process = subprocess.run(line, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
    return float(process.stdout)
