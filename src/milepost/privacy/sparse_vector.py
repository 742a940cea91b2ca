"""The sparse vector technique on integers: `AboveThreshold`. See docs/proofs/sparse-vector.md."""

import math

from milepost.errors import MilepostError
from milepost.privacy.noise import LaplaceStream, laplace_tail

QUERY_SHARE = 2 ** (2 / 3) / (1 + 2 ** (2 / 3))  # of ε: the split 1 : 2^{2/3} minimises the sum of both variances


class AboveThreshold:
    """One epoch of the sparse vector technique: it answers "below" any number of times, and "above" once.

    Input: integers that one protected unit changes by at most `sensitivity` each, in either direction.
    Output: booleans only; the compared values are never released.
    Guarantee: the whole sequence of answers is `epsilon`-differentially private.
    """

    def __init__(self, threshold: int, sensitivity: int, epsilon: float) -> None:
        threshold_scale, query_scale = noise_scales(sensitivity, epsilon)
        self._queries = LaplaceStream(query_scale)
        self._threshold = threshold + LaplaceStream(threshold_scale, block=1).next()
        self._spent = False

    def above(self, value: int) -> bool:
        """Return whether the noisy value reaches the noisy threshold; True ends the epoch."""
        if self._spent:
            raise MilepostError("this epoch has answered 'above' once and is over; start a new AboveThreshold")
        self._spent = value + self._queries.next() >= self._threshold
        return self._spent


def noise_scales(sensitivity: int, epsilon: float) -> tuple[float, float]:
    """Return the Laplace scales Δ/ε₁ of the threshold and 2Δ/ε₂ of each query, rounded up; ε₁ : ε₂ = 1 : 2^{2/3}."""
    return (
        math.nextafter(sensitivity / (epsilon * (1 - QUERY_SHARE)) * (1 + 1e-12), math.inf),
        math.nextafter(2 * sensitivity / (epsilon * QUERY_SHARE) * (1 + 1e-12), math.inf),
    )


def margin(sensitivity: int, epsilon: float, epochs: int, queries: int, failure: float) -> int:
    """Return an integer that |noise of threshold| + |noise of query| exceeds with probability at most `failure`.

    The bound holds for all tests together: half of `failure` is for the `epochs` thresholds, half for the `queries`.
    """
    threshold_scale, query_scale = noise_scales(sensitivity, epsilon)
    return laplace_tail(threshold_scale, failure / 2 / epochs) + laplace_tail(query_scale, failure / 2 / queries)
