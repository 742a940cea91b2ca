"""Measure answers at many points against one `np.interp` a coordinate in the same run, and their peak memory.

On an idle core of 2 GHz `np.interp` takes about 70 ns a number where a coordinate has hundreds of cells, 10 ns where it
has one. It gets positions that are computed before and contiguous, of a twentieth of the points: its time is
proportional to their number.
"""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import milepost as mp
from bench.run import PEAK, Bounds, interleaved
from milepost._typing import FloatArray
from milepost.mechanisms.coordinate.slopes import SlopeCounts, Slopes
from milepost.mechanisms.totals import Total
from milepost.privacy.protected_change import ProtectedChange

PEOPLE, GUARANTEE = 100_000, mp.Guarantee(1, 1e-6)
CITY = (45.76, 4.85)
MEMORY = f"""{PEAK}
import sys
import numpy as np
import milepost as mp
synopsis = mp.load(sys.argv[1])
points = np.random.default_rng(0).uniform(0, 10, (int(sys.argv[2]), 2))
before = peak()
synopsis.mean_distance(points)
low, high = synopsis.interval(points)
print(peak() - before - (low.nbytes + high.nbytes) / 2**20)
"""


def benchmark(check: bool, bounds: Bounds) -> None:
    """Answer at 512 directions and columns, and at 32; few answers and many need the same memory."""
    rng, many = np.random.default_rng(0), 100_000 if check else 1_000_000
    wide = many // 10  # a point of hundreds of columns has as many numbers as its position
    plane = mp.L2([(0, 10)] * 2, directions=512)
    _time("L2 in the plane", plane, rng.uniform(0, 10, (many, 2)), 1, bounds)
    _time("GreatCircle", mp.GreatCircle(CITY, 50, 512), rng.normal(CITY, 0.1, (many // 2, 2)), 1, bounds)
    _time("L1 of columns", mp.L1([(0, 1)] * 512), rng.random((wide, 512)), 1, bounds)
    _time("Angular(384)", mp.Angular(384, directions=512), rng.standard_normal((wide, 384)), 3, bounds)
    _time("L1 of columns", mp.L1([(0, 1)] * 32), rng.random((many, 32)), 1, bounds)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plane.milepost"
        synopsis_of(plane).save(path)
        few_mb, many_mb = (_peak(path, count) for count in (many // 5, many))
    print(
        f"memory beyond points and answers, {plane.count} directions: {few_mb:.0f} MB for {many // 5:,}, "
        f"{many_mb:.0f} MB for {many:,}"
    )
    more = bounds.at_most("MB more for five times the points", many_mb - few_mb, 16)
    print(f"  more: {more} MB (bound 16; all positions would be {many * 512 * 8 * 4 / 5 / 2**20:,.0f})")


def _time(name: str, space: mp.Space, points: FloatArray, bound: float, bounds: Bounds) -> None:
    synopsis = synopsis_of(space)
    polygons = synopsis.coordinates.functions()
    part = points[: len(points) // 20]
    positions = np.asfortranarray(space.position(space.read_queries(part)))
    total = np.zeros(len(part))

    def interpolate() -> None:
        for i, polygon in enumerate(polygons):
            np.add(total, np.interp(positions[:, i], polygon.nodes, polygon.heights), out=total)

    times = interleaved({"interp": interpolate, "answers": lambda: synopsis.mean_distance(points)}, 3)
    numbers = len(points) * len(polygons)
    interp, answers = times["interp"] / positions.size, times["answers"] / numbers
    print(
        f"{len(points):,} answers, {name}, {len(polygons)} coordinates of {len(polygons[0].nodes) - 1} cells: "
        f"{answers * numbers:.2f} s, {1e9 * answers:.1f} ns a number; np.interp {1e9 * interp:.1f} ns"
    )
    ratio = bounds.time_at_most(f"answers ÷ interp, {name}, {len(polygons)} coordinates", answers / interp, bound)
    print(f"  ÷ interp {ratio} (bound {bound})")


def synopsis_of(space: mp.Space, bits: Sequence[int] | None = None) -> mp.Synopsis:
    """Return a synopsis of evenly spread people, of the size of a release; its noise would take seconds to draw.

    bits: of cells; by default those of a release without a model.
    """
    design = Slopes().design(space.embedding, PEOPLE, ProtectedChange(), GUARANTEE)
    bits, counts = design.bits if bits is None else bits, []
    for span, cell_bits in zip(space.embedding.span.tolist(), bits, strict=True):
        cells = span >> cell_bits
        counts.append((PEOPLE << cell_bits) // cells * np.arange(1, cells + 1) - (PEOPLE << cell_bits) // cells // 2)
    statistic = SlopeCounts("slopes", space.embedding, Total(PEOPLE), design.power, bits, counts)
    return mp.Synopsis(space, statistic, GUARANTEE, ProtectedChange(), PEOPLE)


def _peak(path: Path, count: int) -> float:
    """Return the megabytes that a process needs for answers and intervals, beyond points and results."""
    line = [sys.executable, "-c", MEMORY, str(path), str(count)]
    return float(subprocess.run(line, stdout=subprocess.PIPE, text=True, check=True).stdout)  # noqa: S603
