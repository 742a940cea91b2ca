"""Measure the time of one interactive query against a brute-force mean distance over the same table."""

import numpy as np

import milepost as mp
from bench.run import Bounds, interleaved, main

N, DIMENSION = 1_000_000, 8


def benchmark(check: bool, bounds: Bounds) -> None:
    """Ask about a table of 10⁶ × 8 in both sizes, because the bound is on this table. --check asks fewer queries."""
    rng = np.random.default_rng(0)
    people = rng.beta(2, 3, (N, DIMENSION))
    space = mp.L1([(0, 1)] * DIMENSION)
    point = rng.random(DIMENSION)
    queries = 2_000 if check else 20_000
    with mp.interactive(
        people, space, epsilon=1, delta=1e-6, max_queries=10 * queries, mechanism="tangents"
    ) as session:
        points = rng.random((queries, DIMENSION))
        session.ask_many(points)  # learn now, so that the queries below need no update
        updates = session.updates
        few_points = points[: queries // 10]
        times = interleaved(
            {
                "brute": lambda: np.abs(people - point).sum(axis=1).mean(),
                "ask": lambda: [session.ask(point) for point in few_points],
                "ask_many": lambda: session.ask_many(points),
            }
        )
        late_updates = session.updates - updates
    brute = times["brute"]
    print(f"table {N:,} × {DIMENSION}; brute force {1e3 * brute:.1f} ms a query; {late_updates} late updates")
    for name, cost in (("ask", times["ask"] / len(few_points)), ("ask_many", times["ask_many"] / queries)):
        share = bounds.time_at_most(f"{name} ÷ brute force", cost / brute, 1 / 100)
        print(f"{name:<9} {1e6 * cost:7.1f} µs a query, ÷ brute force {share} (bound 0.01)")


if __name__ == "__main__":
    main(benchmark, __doc__ or "")
