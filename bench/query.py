"""How fast `milepost query` answers a file of points, against one call in memory, and how much memory it takes."""

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
    """Points of two columns with an id that is kept; CSV and Parquet, in and out."""
    many = MANY_CHECKED if check else MANY
    rng = np.random.default_rng(0)
    synopsis = mp.release(rng.uniform(0, 10, (50_000, 2)), SPACE, epsilon=1, delta=1e-6)
    points = rng.uniform(0, 10, (many, 2))
    alone = seconds(lambda: synopsis.mean_distance(points), 3)
    print(f"one call in memory: {many / alone:,.0f} points/s of {many:,}")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        synopsis.save(folder / "homes.milepost")
        for kind in ("parquet", "csv"):
            for count in (FEW, many):
                _write(points[:count], folder / f"{count}.{kind}")
            for output in ("parquet", "csv"):
                (start, least), (whole, most) = (_query(folder, f"{count}.{kind}", output) for count in (FEW, many))
                rate = (many - FEW) / (whole - start)
                print(
                    f"query {kind} → {output}: {whole:.1f} s, {rate:,.0f} points/s beyond the first {FEW:,}", end="; "
                )
                ratio = bounds.at_most(f"memory of {kind} → {output} with many times the points", most / least, 1.3)
                print(f"{least:,.0f} MB and {most:,.0f} MB, ÷ {ratio} (bound 1.3)")


def _write(points: np.ndarray, path: Path) -> None:
    table = pa.table({"id": np.arange(len(points)), "x": points[:, 0], "y": points[:, 1]})
    (pa.parquet.write_table if path.suffix == ".parquet" else pa.csv.write_csv)(table, path)


def _query(folder: Path, points: str, output: str) -> tuple[float, float]:
    """Seconds and peak megabytes of the command, from its start to its end."""
    words = ["homes.milepost", points, "--keep", "id", "-o", f"answers.{output}", "--force"]
    line = [sys.executable, "-c", COMMAND, "query", *words]
    begun = perf_counter()
    done = subprocess.run(line, cwd=folder, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
    return perf_counter() - begun, float(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    main(benchmark, __doc__ or "")
