"""Measure questions of a `field` session against the matrix product of the table with the same points.

One question is compared with `table @ point` and the square roots of its results: 12 ms on an idle core. 200 questions
are compared with one product with 200 columns: 0.16 s.
"""

import numpy as np

import milepost as mp
from bench.run import Bounds, interleaved
from milepost._typing import FloatArray

ROWS, DIMENSION, MANY, LATE = 50_000, 384, 200, 3_000
SPACES = {"L2": mp.L2([(0, 1)] * DIMENSION), "Angular": mp.Angular(DIMENSION)}
ONE_BOUND, LATE_FACTOR = 3.0, 2.0
MANY_BOUND = {
    "L2": 1.5,
    "Angular": 3.0,
}  # an angle takes roots and an arcsine besides, which cost more than the product


def benchmark(check: bool, bounds: Bounds) -> None:
    """Ask about 50,000 × 384 numbers in both sizes, because the bounds are on this table.

    --check repeats less, and asks the 3,000 questions in L2 only.
    """
    repeat = 3 if check else 5
    rng = np.random.default_rng(0)
    table = rng.random((ROWS, DIMENSION))
    for name, space in SPACES.items():
        count = repeat * (MANY + 1)
        with mp.interactive(
            table, space, epsilon=1, delta=1e-6, max_queries=LATE + count, mechanism="field"
        ) as session:
            _measure(name, session, table, repeat, bounds)
            if check and name != "L2":
                continue
            session.ask_many(rng.random((LATE - count, DIMENSION)))
            _measure(name, session, table, repeat, bounds, LATE_FACTOR)


def _measure(
    name: str, session: mp.Session, table: FloatArray, repeat: int, bounds: Bounds, factor: float = 1.0
) -> None:
    """Measure one question and many questions, all of them new."""
    asked = session.asked
    rng = np.random.default_rng(1 + asked)
    points = iter(rng.random((repeat * (MANY + 1), DIMENSION)))
    point, columns = rng.random(DIMENSION), rng.random((DIMENSION, MANY))
    times = interleaved(
        {
            "product": lambda: np.sqrt(table @ point),
            "ask": lambda: session.ask(next(points)),
            "products": lambda: table @ columns,
            "ask_many": lambda: session.ask_many([next(points) for _ in range(MANY)]),
        },
        repeat,
    )
    for what, baseline, bound in (("ask", "product", ONE_BOUND), ("ask_many", "products", MANY_BOUND[name])):
        where = f"{name} after {asked:,} questions: {what}"
        ratio = bounds.time_at_most(f"{where} ÷ {baseline}", times[what] / times[baseline], bound * factor)
        print(
            f"{where} {1e3 * times[what]:.1f} ms, {baseline} {1e3 * times[baseline]:.1f} ms, ÷ {ratio} "
            f"(bound {bound * factor:g})"
        )
