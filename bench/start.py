"""How long `import milepost` and `milepost --help` take, beside an import of NumPy and Arrow in the same run.

Each is the best of seven fresh interpreters, in turn, so that whatever else the computer does meets all of them alike.
The bounds are 2 and 4 times the import of NumPy and Arrow: a slow or busy computer is no fault of the package.
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
    "from milepost import *": ["-c", "from milepost import *"],  # every public name, so all that a first call loads
}
BOUNDS = {"import milepost": 2, "milepost --help": 4}  # times the baseline


def benchmark(_: bool, bounds: Bounds) -> None:
    """The same in both sizes."""
    rounds = [{name: started(words) for name, words in COMMANDS.items()} for _ in range(ROUNDS + 1)]
    best = {name: min(times[name] for times in rounds[1:]) for name in COMMANDS}  # the first fills caches
    print(f"best of {ROUNDS} starts of Python {sys.version.split()[0]}")
    for name, seconds in best.items():
        line = f"  {name:<24}{seconds:.2f} s{seconds / best[BASELINE]:>7.2f} × {BASELINE}"
        if name in BOUNDS:
            bounds.at_most(f"{name} ÷ {BASELINE}", seconds / best[BASELINE], BOUNDS[name])
            line += f"   (bound {BOUNDS[name]})"
        print(line)


def started(words: list[str]) -> float:
    """Seconds of one fresh interpreter."""
    begun = time.perf_counter()
    subprocess.run([sys.executable, *words], check=True, stdout=subprocess.DEVNULL)  # noqa: S603
    return time.perf_counter() - begun


if __name__ == "__main__":
    main(benchmark, __doc__ or "")
