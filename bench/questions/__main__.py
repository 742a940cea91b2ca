"""Print the errors of further questions of a released file; `--check` exits 1 when a bound is missed."""

from bench.questions.columns import column_rows
from bench.questions.differences import difference_rows
from bench.run import Bounds, main


def benchmark(check: bool, bounds: Bounds) -> None:
    """Print all tables."""
    column_rows(check, bounds)
    difference_rows(check, bounds)


if __name__ == "__main__":
    main(benchmark, __doc__ or "")
