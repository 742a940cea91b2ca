"""Measure the speed of `milepost query` on a file of points against one call in memory, and its peak memory."""

import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

import milepost as mp
from bench.run import PEAK, Bounds, main, seconds

COMMAND = f"""{PEAK}
import sys
from milepost import cli
try:
    cli.main(sys.argv[1:])
finally:
    print(peak())
"""
FEW, MANY, MANY_CHECKED = 500_000, 5_000_000, 2_000_000
SPACE = mp.L1({"x": (0, 10), "y": (0, 10)})


def benchmark(check: bool, bounds: Bounds) -> None:
    """Query points of two columns and copy their id; read and write CSV and Parquet."""
    many = MANY_CHECKED if check else MANY
    rng = np.random.default_rng(0)
    synopsis = mp.release(rng.uniform(0, 10, (50_000, 2)), SPACE, epsilon=1, delta=1e-6)
    points = rng.uniform(0, 10, (many, 2))
    in_memory = seconds(lambda: synopsis.mean_distance(points), 3)
    print(f"one call in memory: {many / in_memory:,.0f} points/s of {many:,}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        synopsis.save(folder / "homes.milepost")
        for kind in ("parquet", "csv"):
            for count in (FEW, many):
                _write(points[:count], folder / f"{count}.{kind}")
            for output in ("parquet", "csv"):
                (few_seconds, few_memory), (many_seconds, many_memory) = (
                    _query(folder, f"{count}.{kind}", output) for count in (FEW, many)
                )
                rate = (many - FEW) / (many_seconds - few_seconds)
                print(
                    f"query {kind} → {output}: {many_seconds:.1f} s, {rate:,.0f} points/s beyond the first {FEW:,}",
                    end="; ",
                )
                ratio = bounds.at_most(
                    f"memory of {kind} → {output} with many times the points", many_memory / few_memory, 1.3
                )
                print(f"{few_memory:,.0f} MB and {many_memory:,.0f} MB, ÷ {ratio} (bound 1.3)")


def _write(points: np.ndarray, path: Path) -> None:
    table = pa.table({"id": np.arange(len(points)), "x": points[:, 0], "y": points[:, 1]})
    (pa.parquet.write_table if path.suffix == ".parquet" else pa.csv.write_csv)(table, path)


def _query(folder: Path, points: str, output: str) -> tuple[float, float]:
    """Return the seconds and peak megabytes of the command."""
    arguments = ["homes.milepost", points, "--keep", "id", "-o", f"answers.{output}", "--force"]
    line = [sys.executable, "-c", COMMAND, "query", *arguments]
    start = perf_counter()
    process = subprocess.run(line, cwd=folder, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
    return perf_counter() - start, float(process.stdout.splitlines()[-1])


if __name__ == "__main__":
    main(benchmark, __doc__ or "")
