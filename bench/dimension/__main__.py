"""Print noise, coverage, plans and total errors in any dimension; `--check` exits 1 when a bound is missed."""

from bench.dimension.coverage import coverage_rows
from bench.dimension.groups import group_rows
from bench.dimension.model import model_rows
from bench.dimension.noise import noise_rows
from bench.dimension.plans import plan_rows
from bench.run import Bounds, main


def benchmark(check: bool, bounds: Bounds) -> None:
    """Print all tables."""
    noise_rows(check, bounds)
    coverage_rows(check, bounds)
    plan_rows(check, bounds)
    model_rows(check, bounds)
    group_rows(check, bounds)


if __name__ == "__main__":
    main(benchmark, __doc__ or "")
