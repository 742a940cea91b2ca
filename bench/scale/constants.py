"""Constants of the time that a table takes on one computer, and what they predict for 10⁹ and 10¹² rows."""

import math
import os
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

import milepost as mp
from bench.run import Bounds, interleaved, seconds
from bench.scale.fit import Work, check_prediction, fit_constants, predict
from milepost.ingest.aggregation import read_sketch, read_sums
from milepost.ingest.row_attributes import RowColumns
from milepost.ingest.table import NO_ROW_COLUMNS
from milepost.pipeline.selection import read_given_queries
from milepost.privacy.noise import gaussian, laplace

ROWS, CHECKED_ROWS = 1_000_000, 200_000
DIRECTIONS, QUERIES, WIDE = 64, 100, 32
ROW, COLUMN = "a row", "a row and column of ℓ₁"
L2_DIRECTION, GREAT_CIRCLE_DIRECTION = "a row and direction, ℓ₂", "a row and direction, great circle"
GROUP, WEIGHT, PERSON, QUERY = (
    "a row of ten groups, more",
    "a row with a weight, more",
    "a row of a person, more",
    "a row and query",
)
LABELS = [f"city {k}" for k in range(10)]
GROUPS = RowColumns("label", LABELS)


def example_table(rows: int) -> pa.Table:
    """Return random rows with columns for every role."""
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {
        "x": rng.random(rows),
        "y": rng.random(rows),
        "weight": rng.random(rows),
        "person": rng.integers(0, rows // 2, rows),
        "label": np.array(LABELS)[rng.integers(0, len(LABELS), rows)],
    }
    return pa.table(columns | {f"c{i}": rng.random(rows) for i in range(WIDE)})


def cube(dimension: int) -> mp.L1:
    """Return the space of the first columns c0, c1, … ."""
    return mp.L1({f"c{i}": (0, 1) for i in range(dimension)})


def measure_constants(rows: int, repeat: int) -> dict[str, float]:
    """Return the seconds that each kind of work takes, times the number of processors that share it."""
    table, rng = example_table(rows), np.random.default_rng(1)
    plane, box = mp.L1({"x": (0, 1), "y": (0, 1)}), {"x": (0, 1), "y": (0, 1)}
    cap = mp.GreatCircle((0.5, 0.5), 60, directions=DIRECTIONS)
    queries = read_given_queries(plane, rng.random((QUERIES, 2)))
    assert queries is not None

    def sketch(space: Any, row_columns: RowColumns = NO_ROW_COLUMNS, columns: Any = None) -> Callable[[], object]:
        return lambda: read_sketch(table, space, columns, row_columns)

    plane_work = {ROW: 1, COLUMN: 2}
    weights = RowColumns(row_weights="weight", max_row_weight=1.0)
    persons = RowColumns(privacy_unit="person", contributions=2)
    works: dict[str, tuple[Work, Callable[[], object]]] = {
        "two columns": (plane_work, sketch(plane)),
        "many columns": ({ROW: 1, COLUMN: WIDE}, sketch(cube(WIDE))),
        "ℓ₂": ({ROW: 1, L2_DIRECTION: DIRECTIONS}, sketch(mp.L2(box, directions=DIRECTIONS))),
        "great circle": ({ROW: 1, GREAT_CIRCLE_DIRECTION: DIRECTIONS}, sketch(cap, columns=["x", "y"])),
        "groups": (plane_work | {GROUP: 1}, sketch(plane, GROUPS)),
        "weights": (plane_work | {WEIGHT: 1}, sketch(plane, weights)),
        "persons": (plane_work | {PERSON: 1}, sketch(plane, persons)),
        "queries": ({ROW: 1, QUERY: QUERIES}, lambda: read_sums(table, plane, queries)),
    }
    times = interleaved({name: function for name, (_, function) in works.items()}, repeat)
    cores = os.cpu_count() or 1
    return fit_constants({name: (work, cores * times[name] / rows) for name, (work, _) in works.items()})


def measure_draws() -> dict[str, float]:
    """Return the seconds of a draw of noise."""
    zeros = np.zeros(20_000, dtype=np.int64)
    laws: dict[str, Any] = {"a draw, Gaussian": gaussian, "a draw, Laplace": laplace}
    return {name: seconds(partial(draw, zeros, 1e6), 2) / len(zeros) for name, draw in laws.items()}


def print_sizing(constants: dict[str, float]) -> None:
    """Print the estimated time for 10⁹ and 10¹² rows, from the constants."""
    cores = os.cpu_count() or 1
    print(f"\nsizing, from these ({cores} processors, and as many as read the table in an hour)")
    print(f"{'rows':>8} {'columns':>8} {'hours':>8} {'processors':>11} {'bytes read':>11}")
    for rows in (10**9, 10**12):
        for columns in (2, 32):
            hours = rows * predict(constants, {ROW: 1, COLUMN: columns}) / 3600
            print(
                f"{rows:>8.0e} {columns:>8} {hours / cores:>8.2f} {max(cores, math.ceil(hours)):>11,} "
                f"{8 * rows * columns / 1e12:>8.3g} TB"
            )


def benchmark(check: bool, bounds: Bounds) -> None:
    """Measure the constants, and predict a run that they were not measured from."""
    rows = CHECKED_ROWS if check else ROWS
    constants = measure_constants(rows, 3)
    print(f"\nnanoseconds of one processor, {rows:,} rows in memory")
    for name, value in (constants | ({} if check else measure_draws())).items():
        print(f"{name:>34} {value * 1e9:>10,.1f}")
    table = example_table(2 * rows)
    measured = seconds(lambda: read_sketch(table, cube(8), None, GROUPS))
    predicted = 2 * rows * predict(constants, {ROW: 1, COLUMN: 8, GROUP: 1}) / (os.cpu_count() or 1)
    check_prediction(f"{2 * rows:,} rows of ten groups, 8 columns", predicted, measured, bounds)
    if not check:
        print_sizing(constants)
