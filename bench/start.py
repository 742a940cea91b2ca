"""Measure the time of `import milepost` and `milepost --help` against an import of NumPy and Arrow in the same run.

Each time is the best of seven fresh interpreters, in turn, so that other load on the computer affects all equally. The
bounds are 2 and 4 times the import of NumPy and Arrow, so that they do not depend on the speed of the computer.
"""

import subprocess
import sys
import time

from bench.run import Bounds, main

ROUNDS = 7
BASELINE = "import numpy, pyarrow"
COMMANDS = {
    BASELINE: ["-c", BASELINE],
    "import milepost": ["-c", "import milepost"],
    "milepost --help": ["-m", "milepost.cli", "--help"],
    "from milepost import *": [
        "-c",
        "from milepost import *",
    ],  # every public name, so everything that a first call loads
}
BOUNDS = {"import milepost": 2, "milepost --help": 4}  # as multiples of the baseline


def benchmark(_: bool, bounds: Bounds) -> None:
    """Time all commands; --check changes nothing."""
    rounds = [{name: start_seconds(arguments) for name, arguments in COMMANDS.items()} for _ in range(ROUNDS + 1)]
    best = {name: min(times[name] for times in rounds[1:]) for name in COMMANDS}  # the first call fills caches
    print(f"best of {ROUNDS} starts of Python {sys.version.split()[0]}")
    for name, seconds in best.items():
        line = f"  {name:<24}{seconds:.2f} s{seconds / best[BASELINE]:>7.2f} × {BASELINE}"
        if name in BOUNDS:
            bounds.time_at_most(f"{name} ÷ {BASELINE}", seconds / best[BASELINE], BOUNDS[name])
            line += f"   (bound {BOUNDS[name]})"
        print(line)


def start_seconds(arguments: list[str]) -> float:
    """Return the seconds of one fresh interpreter."""
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)  # noqa: S603
    return time.perf_counter() - start


if __name__ == "__main__":
    main(benchmark, __doc__ or "")
