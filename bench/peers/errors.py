"""Errors: summaries of many answers of one peer."""

from dataclasses import dataclass

import numpy as np

from bench.peers.job import FloatArray

ENOUGH = 20  # with fewer values there is no 95th percentile


@dataclass(frozen=True)
class Errors:
    """Errors in the unit of the distance. typical: rms over places and releases. largest: of k places, on average."""

    releases: int
    typical: float
    typical_deviation: float  # standard error
    largest: float
    largest_deviation: float
    largest_95: float | None


def errors_of(errors: FloatArray, k: int) -> Errors:
    """Summarize errors float64[releases, places], taken k places at a time; standard errors are over releases."""
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
