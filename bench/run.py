"""Shared parts of all benchmarks: the `--check` argument, timing, and bounds that fail.

A bound on a noisy number is checked twice: the claim of the mechanism, which does not depend on noise, against the
bound; and the measured number against the bound plus an allowance for chance, so that a true claim fails once in 10⁹
checks.
"""

import argparse
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy import stats

from milepost._typing import FloatArray

FALSE_ALARM = 1e-9  # the probability that noise makes one true claim fail
TIME_SHARE = 0.5  # by which the best of a few times may differ between runs on a computer that others use, too


@dataclass
class Bounds:
    """Named bounds; a missed bound makes the benchmark exit 1."""

    missed: list[str] = field(default_factory=list)

    def at_most(self, name: str, value: float, bound: float, chance: float = 0.0) -> str:
        """Return a table cell: the value, with its bound if missed. chance: the allowance for noise."""
        holds = value <= bound + chance
        if not holds:
            self.missed.append(f"{name}: {value:.4g} is over {bound:.4g}" + f" + {chance:.4g}" * (chance > 0))
        return f"{value:.3g}" + ("" if holds else f" > {bound + chance:.4g}")

    def time_at_most(self, name: str, ratio: float, bound: float) -> str:
        """Return the table cell of a ratio of times; --check fails if it is over the bound by more than TIME_SHARE."""
        return self.at_most(name, ratio, bound, TIME_SHARE * bound)

    def rms_at_most(self, name: str, squares: FloatArray, bound: float) -> str:
        """Return the table cell of the root of a mean of squares, one for each independent release."""
        return self.at_most(name, math.sqrt(squares.mean()), bound, math.sqrt(bound**2 + chance_of(squares)) - bound)

    def gaussian_rms_at_most(self, name: str, squares: FloatArray, bound: float) -> str:
        """Return the table cell of the root of a mean of squares, of few independent releases with Gaussian errors."""
        return self.at_most(name, math.sqrt(squares.mean()), bound, (gaussian_factor(len(squares)) - 1) * bound)


def chance_of(values: FloatArray) -> float:
    """Return the amount by which a mean of independent values exceeds its expectation with probability FALSE_ALARM.

    The amount follows Student's law. Squares of errors are skewed to the right: if their mean is high by chance, so is
    the deviation in which it is measured, and they exceed the limit less often than normal values do. 20 values are
    enough for that; with very few values, Student's limit is so large that nothing is checked.
    """
    return float(stats.t.isf(FALSE_ALARM, len(values) - 1) * values.std(ddof=1) / math.sqrt(len(values)))


def gaussian_factor(releases: int) -> float:
    """Return the factor by which a measured rms exceeds the true one with probability FALSE_ALARM at most.

    Errors of a release are Gaussian and may depend on each other. Their mean square is a sum of λᵢχ²₁ with Σλᵢ = 1,
    whose far tail is heaviest where all errors are one (Székely and Bakirov 2003): a release is one draw.
    """
    return math.sqrt(stats.chi2.isf(FALSE_ALARM, releases) / releases)


def squares_of(errors: FloatArray) -> FloatArray:
    """Return the mean square of each release, of errors float64[releases, queries]: its queries share the noise."""
    return np.asarray(np.mean(np.square(errors), axis=1))


PEAK = """
import pathlib

def peak():  # megabytes; getrusage would have the parent's in it
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmHWM"))) / 1024
"""  # the beginning of the code of a separate process


def seconds(function: Callable[[], object], repeat: int = 3) -> float:
    """Return the best time of a few calls."""
    return interleaved({"": function}, repeat)[""]


def interleaved(
    functions: dict[str, Callable[[], object]], repeat: int = 5, clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """Return the best time of each of a few functions, called in turn, so that other load affects all equally.

    clock: `time.process_time` for work of one thread; other load does not count there.
    """
    best = dict.fromkeys(functions, math.inf)
    for _ in range(repeat):
        for name, function in functions.items():
            start = clock()
            function()
            best[name] = min(best[name], clock() - start)
    return best


def main(benchmark: Callable[[bool, Bounds], None], description: str) -> None:
    """Parse `--check`, run the benchmark, and exit 1 if a bound is missed with `--check`."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--check", action="store_true", help="a small size; exit 1 when a bound is missed")
    check = parser.parse_args().check
    bounds = Bounds()
    benchmark(check, bounds)
    for miss in bounds.missed:
        print("MISSED", miss)
    sys.exit(1 if check and bounds.missed else 0)
