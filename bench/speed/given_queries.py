"""Measure the exact pass for given queries against SciPy's distances of the same points.

`cdist(records, queries)` takes 0.035 s in the plane, 0.047 s at 8 and 0.24 s at 64 columns for 10⁵ records and 100
queries on an idle core.
"""

import numpy as np
from scipy.spatial.distance import cdist

import milepost as mp
from bench.run import Bounds, interleaved
from milepost._typing import FloatArray
from milepost.ingest.aggregation import read_sums
from milepost.spaces.base import Space
from milepost.spaces.queries import Queries

# SciPy measures a chord, in one compiled loop; an angle takes a series of the chord besides, one call of NumPy a term
BOUND, ANGLE_BOUND = 1.5, 3.0
CAP = mp.GreatCircle((52.5, 13.4), 100)


def benchmark(check: bool, bounds: Bounds) -> None:
    """Measure 10⁵ records and 100 queries; at the full size also 1,000 queries."""
    rng = np.random.default_rng(0)
    rows = 100_000
    for count in (100,) if check else (100, 1_000):
        for width in (2, 8, 64):
            records, points = rng.random((rows, width)), rng.random((count, width))
            _measure(f"L2, d = {width}", mp.L2([(0, 1)] * width), records, points, records, points, bounds, BOUND)
        records, points = (np.column_stack([52 + rng.random(size), 13 + rng.random(size)]) for size in (rows, count))
        vectors = CAP.read(records), CAP.read(points)
        _measure("great circle", CAP, records, points, *vectors, bounds, ANGLE_BOUND)


def _measure(
    name: str,
    space: Space,
    records: FloatArray,
    points: FloatArray,
    left: FloatArray,
    right: FloatArray,
    bounds: Bounds,
    bound: float,
) -> None:
    """Compare the pass over records with the distances of `left` to `right`, which are the same points."""
    queries = Queries(space.read_queries(points), space)
    left, right = np.ascontiguousarray(left), np.ascontiguousarray(right)
    times = interleaved({"cdist": lambda: cdist(left, right), "pass": lambda: read_sums(records, space, queries)})
    ratio = bounds.time_at_most(f"{name}, {len(points)} queries: pass ÷ cdist", times["pass"] / times["cdist"], bound)
    print(
        f"{name}, {len(records):,} records, {len(points):,} queries: {1e3 * times['pass']:.0f} ms, "
        f"cdist {1e3 * times['cdist']:.0f} ms, ÷ {ratio} (bound {bound:g})"
    )
