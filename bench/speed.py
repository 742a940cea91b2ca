"""What a release and its answers cost, against sorting the table and against `np.interp`; and the memory they need."""

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import milepost as mp
from bench.run import Bounds, main, seconds
from milepost.release import read_sketch

N, DIMENSION = 1_000_000, 32
STREAM = {True: (200_000, 800_000), False: (1_000_000, 8_000_000)}  # rows of two columns
CHILD = """
import resource, sys
import milepost as mp
mp.release(sys.argv[1], mp.L1({"x": (0, 1), "y": (0, 1)}), epsilon=1, delta=1e-6, mechanism="slopes")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def benchmark(check: bool, bounds: Bounds) -> None:
    """10⁶ × 32 floats in both sizes: the bounds are on this table. --check streams smaller files."""
    rng = np.random.default_rng(0)
    people = rng.random((N, DIMENSION))
    space = mp.L1([(0, 1)] * DIMENSION)
    mp.release(people[:1000], space, epsilon=1, delta=1e-6, mechanism="slopes")  # imports
    before = _peak()
    release_speed(people, space, bounds)
    print(
        f"peak memory of it: {_peak() - before:.0f} MB over the table's own {people.nbytes / 1e6:.0f} MB, and a sort's copy"
    )
    answer_speed(people, space, bounds)
    streaming(STREAM[check], bounds)


def release_speed(people: np.ndarray, space: mp.L1, bounds: Bounds) -> None:
    """Sorting reads every number about log n times, a sketch once; noise does not depend on n."""

    def release() -> object:
        return mp.release(people, space, epsilon=1, delta=1e-6, mechanism="slopes")

    sort = seconds(lambda: np.sort(people, axis=0))
    whole, sketch = seconds(release), seconds(lambda: read_sketch(people, space))
    ratio = bounds.at_most("release ÷ sort", whole / sort, 1.5)
    print(f"table {len(people):,} × {people.shape[1]}; np.sort(axis=0) {sort:.2f} s")
    print(f"release {whole:.2f} s, ÷ sort {ratio} (bound 1.5)")
    print(f"  of it the sketch {100 * sketch / whole:.0f} %, noise and the rest {100 * (1 - sketch / whole):.0f} %")


def answer_speed(points: np.ndarray, space: mp.L1, bounds: Bounds) -> None:
    """The same tables through one `np.interp` a coordinate."""
    synopsis = mp.release(points, space, epsilon=1, delta=1e-6, mechanism="slopes")
    polygons = synopsis.answerer.polygons()
    tables = [(polygon.nodes / polygon.nodes[-1], polygon.heights) for polygon in polygons]

    def interpolate() -> None:
        result = np.zeros(len(points))
        for i, (nodes, heights) in enumerate(tables):
            result += np.interp(points[:, i], nodes, heights)

    baseline, answers = seconds(interpolate), seconds(lambda: synopsis.mean_distance(points))
    ratio = bounds.at_most("answers ÷ np.interp", answers / baseline, 3)
    print(f"{len(points):,} answers, {len(tables[0][0]) - 1} cells a coordinate; np.interp {baseline:.2f} s")
    print(f"mean_distance {answers:.2f} s, ÷ np.interp {ratio} (bound 3)")


def streaming(rows: tuple[int, int], bounds: Bounds) -> None:
    """The peak of a process that releases a CSV file, for two lengths of it."""
    rng = np.random.default_rng(1)
    peaks = []
    with tempfile.TemporaryDirectory() as folder:
        for count in rows:
            path = Path(folder) / f"{count}.csv"
            with path.open("w") as file:
                file.write("x,y\n")
                for _ in range(0, count, 100_000):
                    np.savetxt(file, rng.random((100_000, 2)), fmt="%.9f", delimiter=",")
            child = subprocess.run(  # noqa: S603
                [sys.executable, "-c", CHILD, str(path)], capture_output=True, text=True, check=True
            )
            peaks.append(int(child.stdout) / 1024)
    growth = bounds.at_most("peak memory, longer file ÷ shorter", peaks[1] / peaks[0], 1.2)
    for count, peak in zip(rows, peaks, strict=True):
        print(f"release of a CSV file of {count:,} rows: peak {peak:.0f} MB")
    print(f"  {rows[1] / rows[0]:g} times the rows, memory × {growth} (bound 1.2)")


def _peak() -> float:
    """MB that this process has ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main(benchmark, __doc__ or "")
