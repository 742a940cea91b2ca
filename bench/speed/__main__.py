"""Measure times as multiples of plain NumPy or SciPy in the same run: releases, plans, questions and answers."""

from bench.run import Bounds, main
from bench.speed import answers, counting, given_queries, planning, release, sessions, wide

PARTS = (counting, planning, release, answers, given_queries, sessions, wide)


def benchmark(check: bool, bounds: Bounds) -> None:
    """Run every part."""
    for part in PARTS:
        part.benchmark(check, bounds)


if __name__ == "__main__":
    main(benchmark, __doc__ or "")
