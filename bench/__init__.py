"""Benchmarks: `python -m bench.NAME` prints, `--check` runs a small size and exits 1 when a bound is missed."""
