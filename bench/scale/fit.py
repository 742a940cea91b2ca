"""Constants of a linear cost model from timed runs, none of them below 0."""

from collections.abc import Mapping

import numpy as np
from scipy.optimize import nnls

from bench.run import Bounds

Work = Mapping[str, float]  # how often a run does what a constant is the time of

PREDICTED = 2.0  # bound: a measured time ÷ its prediction, and the other way round


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
    ratio = bounds.at_most(f"{name}: measured ÷ predicted", measured / predicted, PREDICTED)
    inverse = bounds.at_most(f"{name}: predicted ÷ measured", predicted / measured, PREDICTED)
    print(f"  predicted for {name}: {predicted:.2f} s, measured {measured:.2f} s", end="; ")
    print(f"measured ÷ predicted {ratio}, predicted ÷ measured {inverse} (bound {PREDICTED:g})")
