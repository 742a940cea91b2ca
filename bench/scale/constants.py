"""Constants of the time that a table takes on one computer, and what they predict for 10⁹ and 10¹² rows."""

import math
import os
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

import milepost as mp
from bench.run import Bounds
from bench.scale.cost import Work, check_prediction, costs, fit_constants, predict
from milepost.ingest.aggregation import read_sketch, read_sums
from milepost.ingest.row_attributes import RowColumns
from milepost.ingest.table import NO_ROW_COLUMNS
from milepost.pipeline.selection import read_given_queries
from milepost.privacy.noise import gaussian, laplace

ROWS, CHECKED_ROWS = 1_000_000, 100_000
DIRECTIONS, QUERIES, WIDE = 64, 100, 32
ROW, COLUMN = "a row", "a row and column of ℓ₁"
L2_DIRECTION, GREAT_CIRCLE_DIRECTION = "a row and direction, ℓ₂", "a row and direction, great circle"
LABEL, GROUPED = "the label of a row", "a row and column of ten groups, more"
WEIGHT, PERSON, QUERY = "a row with a weight, more", "a row of a person, more", "a row and query"
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


def sketch(table: pa.Table, space: Any, row_columns: RowColumns = NO_ROW_COLUMNS, columns: Any = None) -> object:
    """Return the exact sketch of a table."""
    return read_sketch(table, space, columns, row_columns)


def measure_constants(rows: int, repeat: int, bounds: Bounds) -> dict[str, float]:
    """Return the processor seconds of each kind of work; check what they predict for a run that they are not from."""
    table = example_table(rows)
    plane, box = mp.L1({"x": (0, 1), "y": (0, 1)}), {"x": (0, 1), "y": (0, 1)}
    cap = mp.GreatCircle((0.5, 0.5), 60, directions=DIRECTIONS)
    queries = read_given_queries(plane, np.random.default_rng(1).random((QUERIES, 2)))
    assert queries is not None
    weights = RowColumns(row_weights="weight", max_row_weight=1.0)
    persons = RowColumns(privacy_unit="person", contributions=2)
    two = {ROW: 1, COLUMN: 2}
    runs: dict[str, tuple[Work, Callable[[], object]]] = {
        "two columns": (two, partial(sketch, table, plane)),
        "many columns": ({ROW: 1, COLUMN: WIDE}, partial(sketch, table, cube(WIDE))),
        "ℓ₂": ({ROW: 1, L2_DIRECTION: DIRECTIONS}, partial(sketch, table, mp.L2(box, directions=DIRECTIONS))),
        "cap": ({ROW: 1, GREAT_CIRCLE_DIRECTION: DIRECTIONS}, partial(sketch, table, cap, columns=["x", "y"])),
        "groups": (two | {LABEL: 1, GROUPED: 2}, partial(sketch, table, plane, GROUPS)),
        "many columns, groups": (
            {ROW: 1, COLUMN: WIDE, LABEL: 1, GROUPED: WIDE},
            partial(sketch, table, cube(WIDE), GROUPS),
        ),
        "weights": (two | {WEIGHT: 1}, partial(sketch, table, plane, weights)),
        "persons": (two | {PERSON: 1}, partial(sketch, table, plane, persons)),
        "queries": ({ROW: 1, QUERY: QUERIES}, partial(read_sums, table, plane, queries)),
    }
    unseen = {ROW: 1, COLUMN: 8, LABEL: 1, GROUPED: 8}
    functions = {name: function for name, (_, function) in runs.items()}
    functions["unseen"] = partial(sketch, pa.concat_tables([table] * 2).combine_chunks(), cube(8), GROUPS)
    measured = costs(functions, repeat)
    constants = fit_constants({name: (work, measured[name].processor / rows) for name, (work, _) in runs.items()})
    print(f"\nnanoseconds of one processor, {rows:,} rows in memory")
    for name, value in constants.items():
        print(f"{name:>38} {value * 1e9:>10,.1f}")
    predicted = 2 * rows * predict(constants, unseen)
    check_prediction(f"{2 * rows:,} rows of ten groups, 8 columns", predicted, measured["unseen"].processor, bounds)
    return constants


def measure_draws() -> dict[str, float]:
    """Return the processor seconds of a draw of noise."""
    zeros = np.zeros(20_000, dtype=np.int64)
    laws: dict[str, Any] = {"a draw, Gaussian": gaussian, "a draw, Laplace": laplace}
    measured = costs({name: partial(draw, zeros, 1e6) for name, draw in laws.items()}, 3)
    return {name: cost.processor / len(zeros) for name, cost in measured.items()}


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
    """Measure the constants and check a prediction; also print what they mean for 10⁹ rows, without --check."""
    constants = measure_constants(CHECKED_ROWS if check else ROWS, 3 if check else 5, bounds)
    if not check:
        for name, value in measure_draws().items():
            print(f"{name:>38} {value * 1e9:>10,.1f}")
        print_sizing(constants)
