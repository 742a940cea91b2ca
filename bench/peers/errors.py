"""Errors: what is said about many answers of one peer."""

from dataclasses import dataclass

import numpy as np

from bench.peers.job import FloatArray

ENOUGH = 20  # values, below which no 95th percentile is given


@dataclass(frozen=True)
class Errors:
    """In the unit of the distance. typical: rms over places and releases; largest: of k places, mean over releases."""

    releases: int
    typical: float
    typical_deviation: float  # standard error
    largest: float
    largest_deviation: float
    largest_95: float | None


def errors_of(errors: FloatArray, k: int) -> Errors:
    """errors: float64[releases, places], which are taken k at a time; standard errors are over releases."""
    releases = len(errors)
    parts = np.abs(errors[:, : errors.shape[1] // k * k]).reshape(releases, -1, k)
    squares = np.mean(np.square(parts), axis=(1, 2))
    typical = float(np.sqrt(squares.mean()))
    largest = parts.max(axis=2)
    return Errors(
        releases,
        typical,
        _deviation(squares) / (2 * typical) if typical else 0.0,
        float(largest.mean()),
        _deviation(largest.mean(axis=1)),
        float(np.quantile(largest, 0.95)) if largest.size >= ENOUGH and releases > 1 else None,
    )


def _deviation(values: FloatArray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
