"""Measure releases of wide tables, by thousands of random directions, against the matrix product that they need.

The product is `table @ directions.T` in blocks of 1,024 rows, so that its memory is flat, too. A release also counts
the products, which takes half of the product's time, draws noise for each cell of each direction, at 15 to 30 µs a draw
of OpenDP, and buys a private model of the table, for which it reads the table four times more, and makes the curves of
public draws. --check measures the processor time of fewer rows and draws on one core, and adds up what the whole table
takes. Answers are compared with the products of points with directions, and with draws.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from time import perf_counter, process_time

import numpy as np

import milepost as mp
from bench.run import PEAK, Bounds, interleaved
from bench.speed.answers import synopsis_of
from milepost._typing import FloatArray
from milepost.ingest.table import Table
from milepost.mechanisms.coordinate.modeled_curves import DRAWS, with_model
from milepost.mechanisms.coordinate.slopes import Slopes, SlopesDesign
from milepost.mechanisms.table_model import MAX_AXES, STEPS
from milepost.pipeline.selection import coordinate_choice
from milepost.privacy.noise import gaussian_each
from milepost.privacy.protected_change import ProtectedChange
from milepost.statistics.model_sums import BASIS_BITS, Clusters

ROWS, CHECKED_ROWS, BLOCK = 100_000, 2_056, 1_024
WIDTH, DIRECTIONS, POINTS = 384, 8_192, 1_000
MAX_DRAWS = 1 << 13  # of noise, from which the time of all draws is computed
BOUND, ANSWERS_BOUND, MEMORY_BOUND = 4.0, 2.0, 1.3
SPACES = {
    "L2": f"mp.L2(center=[0] * {WIDTH}, radius=1, directions={{directions}})",
    "Angular": f"mp.Angular({WIDTH}, directions={{directions}})",
}
MEMORY = f"""{PEAK}
import sys, warnings
import numpy as np
import milepost as mp
from milepost.ingest.aggregation import read_sketch
warnings.simplefilter("ignore", mp.AccuracyWarning)
space, rows = eval(sys.argv[1]), int(sys.argv[2])
table = np.random.default_rng(0).random((rows, {WIDTH}), dtype=np.float32)
table /= {WIDTH} ** 0.5
before = peak()
if sys.argv[3] == "sketch":
    read_sketch(table, space, cells=256 if space.kind == "l2" else 1)
else:
    mp.release(table, space, epsilon=1, delta=1e-6, mechanism="slopes")
print(peak() - before)
"""


def benchmark(check: bool, bounds: Bounds) -> None:
    """Measure time and memory in both spaces, and the time of answers."""
    for name, expression in SPACES.items():
        times = _child(name) if check else measure(name, ROWS, perf_counter)
        ratio = bounds.time_at_most(f"{name}: release ÷ product", times["release"] / times["product"], BOUND)
        print(
            f"{name}, {ROWS:,} × {WIDTH}, {times['directions']:,} directions: product {times['product']:.1f} s, sketch "
            f"{times['sketch']:.1f} s, sums of a model {times['model']:.1f} s, noise of {times['draws']:,} draws "
            f"{times['noise']:.1f} s, curves of the model {times['curves']:.1f} s, release {times['release']:.1f} s: "
            f"÷ product {ratio} (bound {BOUND:g})"
        )
        answers, product = times["answers"], times["points"]
        ratio = bounds.time_at_most(f"{name}: answers ÷ products", answers / product, ANSWERS_BOUND)
        print(f"  {POINTS:,} answers {answers:.2f} s, products {product:.2f} s: ÷ {ratio} (bound {ANSWERS_BOUND:g})")
        few, many = (4_000, 16_000) if check else (50_000, 200_000)
        code = expression.format(directions=2_048 if check else DIRECTIONS)
        few_mb, many_mb = (_peak(code, rows, "sketch" if check else "release") for rows in (few, many))
        ratio = bounds.at_most(f"{name}: memory with four times the rows", many_mb / few_mb, MEMORY_BOUND)
        print(
            f"  memory beyond the table: {few_mb:.0f} MB for {few:,} rows, {many_mb:.0f} MB for {many:,}: ÷ {ratio} "
            f"(bound {MEMORY_BOUND})"
        )


def measure(name: str, rows: int, clock: Callable[[], float]) -> dict[str, float]:
    """Return the seconds of each part for ROWS rows, from a table of so many; with fewer, those of a release add up."""
    space = eval(SPACES[name].format(directions=DIRECTIONS), {"mp": mp})  # noqa: S307
    table, points = _vectors(rows), _vectors(POINTS)
    choice = coordinate_choice(Slopes(), space, ROWS, ProtectedChange(), mp.Guarantee(1, 1e-6))
    plan, design = choice.model, choice.design
    assert plan is not None
    assert isinstance(design, SlopesDesign)
    scales = np.repeat(design.scales[: len(design.cells)], design.cells)[:MAX_DRAWS]
    directions, synopsis = space.thetas.astype(np.float64), synopsis_of(space, design.bits)
    products, private = np.empty((BLOCK, len(directions))), Table(table, space, ProtectedChange())
    clusters = Clusters(
        plan.grid,
        np.eye(MAX_AXES, WIDTH, dtype=np.int64) << BASIS_BITS,
        np.zeros((plan.scales.components, MAX_AXES), dtype=np.int64),
        plan.grid.steps,
    )
    model = plan.fit(private, plan.read(private))
    answers = replace(synopsis, statistic=with_model(space, [synopsis.statistic], model)[0])
    draws = model.draws(DRAWS, 0)

    def multiply() -> None:
        for start in range(0, rows, BLOCK):
            part = table[start : start + BLOCK]
            np.matmul(part, directions.T, out=products[: len(part)])

    functions: dict[str, Callable[[], object]] = {
        "product": multiply,
        "sketch": lambda: private.sketch(space, design.sketch_cells),
        "moments": lambda: private.point_moments(plan.grid),
        "step": lambda: private.cluster_sums(clusters),
        "residuals": lambda: private.cluster_products(clusters),
        "curves": lambda: with_model(space, [synopsis.statistic], model),
        "noise": lambda: gaussian_each(np.zeros(len(scales), dtype=np.int64), scales),
        "points": lambda: (points @ directions.T, points @ draws.T),
        "answers": lambda: answers.mean_distance(points),
    }
    if rows == ROWS:
        functions["release"] = lambda: mp.release(table, space, epsilon=1, delta=1e-6, mechanism="slopes")
    times, count = interleaved(functions, 3 if rows == ROWS else 2, clock), choice.prediction.draws or 0
    times["model"] = times["moments"] + STEPS * times["step"] + times["residuals"]
    for part in ("product", "sketch", "model"):
        times[part] *= ROWS / rows
    times["noise"] *= count / len(scales)
    parts = ("sketch", "model", "noise", "curves")
    return {"release": sum(times[part] for part in parts)} | times | {"draws": count, "directions": len(directions)}


def _vectors(count: int) -> FloatArray:
    """Return vectors in all directions, just inside the unit ball."""
    result = np.random.default_rng(0).standard_normal((count, WIDTH))
    return np.asarray(result / (1.05 * np.linalg.norm(result, axis=1, keepdims=True)))


def _child(name: str) -> dict[str, float]:
    """Return what `measure` returns for fewer rows, in a separate process on one core."""
    line = [sys.executable, "-m", "bench.speed.wide", name]
    variables = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.run(line, env=variables, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603
    times: dict[str, float] = json.loads(process.stdout)
    return times


def _peak(space: str, rows: int, what: str) -> float:
    """Return the megabytes that a process needs beyond the table."""
    line = [sys.executable, "-c", MEMORY, space, str(rows), what]
    variables = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    return float(subprocess.run(line, env=variables, stdout=subprocess.PIPE, text=True, check=True).stdout)  # noqa: S603


if __name__ == "__main__":
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    print(json.dumps(measure(sys.argv[1], CHECKED_ROWS, process_time)))
