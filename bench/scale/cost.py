"""Processor time of runs, and constants of a linear cost model from it, none of them below 0.

Processor time of all processes, Spark's included, varies little with other load on the machine.
"""

import math
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import nnls

from bench.run import Bounds

Work = Mapping[str, float]  # how often a run does what a constant is the time of

PREDICTED = 2.0  # bound: a measured time ÷ its prediction, and the other way round
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Cost:
    """The least processor seconds, and the least seconds, of a few runs."""

    processor: float
    seconds: float


def processor_times() -> dict[int, float]:
    """Return the processor seconds of this process and of each running process below it, by number."""
    parents: dict[int, int] = {}
    seconds: dict[int, float] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # the process has ended
            continue
        number = int(path.parent.name)
        parents[number] = int(fields[1])
        seconds[number] = sum(map(int, fields[11:13])) / TICKS

    def below(number: int) -> bool:
        while number in parents and number != os.getpid():
            number = parents[number]
        return number == os.getpid()

    return {number: seconds[number] for number in parents if below(number)} | {os.getpid(): time.process_time()}


def costs(functions: Mapping[str, Callable[[], object]], repeat: int) -> dict[str, Cost]:
    """Return the least cost of each of a few functions, called in turn; processes that end meanwhile do not count."""
    best = dict.fromkeys(functions, Cost(math.inf, math.inf))
    for _ in range(repeat):
        for name, function in functions.items():
            before, start = processor_times(), time.perf_counter()
            function()
            elapsed = time.perf_counter() - start
            used = sum(seconds - before.get(number, 0.0) for number, seconds in processor_times().items())
            best[name] = Cost(min(best[name].processor, used), min(best[name].seconds, elapsed))
    return best


def fit_constants(runs: Mapping[str, tuple[Work, float]]) -> dict[str, float]:
    """Return the seconds of each kind of work, at least 0, for runs with their work and their seconds.

    Non-negative least squares of relative errors: a constant that is too small to be seen becomes 0, and the others
    take its time.
    """
    names = list(dict.fromkeys(name for work, _ in runs.values() for name in work))
    seconds = np.array([time for _, time in runs.values()])
    matrix = np.array([[work.get(name, 0.0) for name in names] for work, _ in runs.values()]) / seconds[:, None]
    scale = matrix.max(axis=0)
    solution, _ = nnls(matrix / scale, np.ones(len(seconds)))
    return dict(zip(names, (solution / scale).tolist(), strict=True))


def predict(constants: Mapping[str, float], work: Work) -> float:
    """Return the predicted seconds of a run."""
    return sum(constants[name] * times for name, times in work.items())


def check_prediction(name: str, predicted: float, measured: float, bounds: Bounds) -> None:
    """Print a prediction beside a measured time, and check that each is at most twice the other."""
    ratio = bounds.time_at_most(f"{name}: measured ÷ predicted", measured / predicted, PREDICTED)
    inverse = bounds.time_at_most(f"{name}: predicted ÷ measured", predicted / measured, PREDICTED)
    print(f"  {name}: predicted {predicted:.2f}, measured {measured:.2f} processor seconds", end="; ")
    print(f"measured ÷ predicted {ratio}, predicted ÷ measured {inverse} (bound {PREDICTED:g})")
