"""Measure what a first release of 1,000 rows and a first plan take in a fresh process, besides imports and noise.

Every figure is the processor time of the best of a few fresh processes, which import the library, then call it once,
with one thread for matrix products. The baseline of the same process is NumPy's product of two matrices of 1,024²
numbers and its sort of a million: about 0.042 s on an idle core. The bounds are multiples of it, for 0.15 s of a
release without its noise, 0.3 s of a plan, and 3 s of a plan or a release with 1,000 given queries.
"""

import json
import os
import subprocess
import sys

from bench.run import Bounds

ROWS = 1000
QUERIES = 1000
BASELINE_SECONDS = 0.042  # on an idle core of a small virtual machine
BOUNDS = {"release": 0.15, "plan": 0.3, "plan, queries": 3.0, "release, queries": 3.0}  # in seconds there

SPACES = {
    "L1, d = 2": "mp.L1([(0, 1)] * 2)",
    "L1, d = 32": "mp.L1([(0, 1)] * 32)",
    "L2, d = 2": "mp.L2([(0, 1)] * 2)",
    "L2, d = 8": "mp.L2([(0, 1)] * 8)",
    "L2, d = 64": "mp.L2([(0, 1)] * 64)",
    "GreatCircle": "mp.GreatCircle((52.5, 13.4), 40)",
    "Angular(384)": "mp.Angular(384)",
    "Gower": "mp.Gower({'a': mp.number(0, 1), 'b': mp.category(list('xyz')), 'c': mp.flag()})",
    "Hamming": "mp.Hamming({'a': list('ACGT'), 'b': list('xy')})",
}
MANY_DIRECTIONS = {"Angular(384)": 2.0}  # 1,536 coordinates, whose random rotations take as long as the rest: times 2
QUERIED = ("L1, d = 2", "L2, d = 2")

PROGRAM = """
import json, sys, time, warnings
import numpy as np
import milepost as mp
from milepost.pipeline import plan, release
from milepost.privacy import noise

warnings.simplefilter("ignore", mp.AccuracyWarning)
space, call, rows, queries = eval(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
rng = np.random.default_rng(0)
if space.kind in ("gower", "hamming"):
    labels = [(0.5, "x", True), (0.1, "y", False)] if space.kind == "gower" else [("A", "x"), ("T", "y")]
    people = [labels[row % 2] for row in range(rows)]
elif space.extent is None:
    people = rng.standard_normal((rows, space.width))
else:
    low, high = np.array(space.extent).T
    people = low + rng.random((rows, space.width)) * (high - low)
points = None if "queries" not in call else rng.random((queries, space.width))
spent = {"seconds": 0.0, "draws": 0}

def timed(draw):
    def add(law, values, scales):
        start = time.process_time()
        result = draw(law, values, scales)
        spent["seconds"] += time.process_time() - start
        spent["draws"] += len(values)
        return result
    return add

def baseline():
    matrix, numbers = rng.random((1024, 1024)), rng.random(1 << 20)
    start = time.process_time()
    matrix @ matrix
    np.sort(numbers)
    return time.process_time() - start

before = min(baseline() for _ in range(2))
budget = {"epsilon": 1, "delta": 1e-6}
noise._add_each = timed(noise._add_each)
start = time.process_time()
if call.startswith("release"):
    mp.release(people, space, queries=points, **budget)
else:
    mp.plan(space, n=rows, queries=points, **budget)
seconds = time.process_time() - start
print(json.dumps({
    "seconds": seconds, "noise": spent["seconds"], "draws": spent["draws"], "baseline": min(before, baseline())
}))
"""


def benchmark(check: bool, bounds: Bounds) -> None:
    """Time releases and plans of every space, and those with given queries."""
    repeat = 2 if check else 5
    limits = {call: seconds / BASELINE_SECONDS for call, seconds in BOUNDS.items()}
    print(f"first call in a process, {ROWS:,} rows, as multiples of the baseline (bound)")
    for name, space in SPACES.items():
        release, plan = _best(space, "release", repeat), _best(space, "plan", repeat)
        rest = release["seconds"] - release["noise"]
        cells = [
            bounds.time_at_most(
                f"{call} of {name} ÷ baseline",
                seconds / result["baseline"],
                limits[call] * MANY_DIRECTIONS.get(name, 1),
            )
            for call, seconds, result in (("release", rest, release), ("plan", plan["seconds"], plan))
        ]
        share = release["noise"] / release["seconds"]
        print(
            f"  {name:<14}release {rest:.3f} s + noise of {release['draws']:,.0f} draws {release['noise']:.3f} s "
            f"({share:.0%}): {cells[0]} ({limits['release']:.1f}); "
            f"plan {plan['seconds']:.3f} s: {cells[1]} ({limits['plan']:.1f})"
        )
    for name in QUERIED:
        for call in ("plan, queries", "release, queries"):
            result = _best(SPACES[name], call, 1 if check else 3)
            cell = bounds.time_at_most(
                f"{call} of {name} ÷ baseline", result["seconds"] / result["baseline"], limits[call]
            )
            print(f"  {name:<14}{call:<17} {result['seconds']:.2f} s: {cell} ({limits[call]:.0f})")


def _best(space: str, call: str, repeat: int) -> dict[str, float]:
    """Return the figures of the process with the smallest multiple of its own baseline."""
    results = [_run(space, call) for _ in range(repeat)]
    return min(results, key=lambda result: (result["seconds"] - result["noise"]) / result["baseline"])


def _run(space: str, call: str) -> dict[str, float]:
    line = [sys.executable, "-c", PROGRAM, space, call, str(ROWS), str(QUERIES)]
    variables = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.run(line, env=variables, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
    return dict(json.loads(process.stdout))
