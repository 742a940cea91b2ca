"""What every benchmark has in common: an argument, a stopwatch, bounds that fail."""

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Bounds:
    """Named bounds; a missed one makes the benchmark exit 1."""

    missed: list[str] = field(default_factory=list)

    def at_most(self, name: str, value: float, most: float) -> str:
        """A cell of the printed table: the value, with its bound when missed."""
        kept = value <= most
        if not kept:
            self.missed.append(f"{name}: {value:.4g} is over {most:.4g}")
        return f"{value:.3g}" + ("" if kept else f" > {most:g}")


PEAK = """
import pathlib

def peak():  # megabytes; getrusage would have the parent's in it
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmHWM"))) / 1024
"""  # goes before what a process of its own runs


def seconds(function: Callable[[], object], repeat: int = 3) -> float:
    """The best time of a few calls."""
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - start)
    return best


def main(benchmark: Callable[[bool, Bounds], None], description: str) -> None:
    """Parse `--check`, run, and exit 1 when a bound was missed under it."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--check", action="store_true", help="a small size; exit 1 when a bound is missed")
    check = parser.parse_args().check
    bounds = Bounds()
    benchmark(check, bounds)
    for miss in bounds.missed:
        print("MISSED", miss)
    sys.exit(1 if check and bounds.missed else 0)
