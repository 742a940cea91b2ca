"""Measure how time and memory grow with the table, on one computer and with Spark, and constants that predict both."""

from bench.run import Bounds, main
from bench.scale import constants, growth, spark

PARTS = (growth, constants, spark)


def benchmark(check: bool, bounds: Bounds) -> None:
    """Run every part."""
    for part in PARTS:
        part.benchmark(check, bounds)


if __name__ == "__main__":
    main(benchmark, __doc__ or "")
