"""Benchmarks: `python -m bench.NAME` prints results; `--check` runs a small size and exits 1 if a bound is missed."""
