"""Adjust answers to values that mean distances of a metric can have. docs/proofs/net.md, section 5."""

import numpy as np

from milepost._typing import FloatArray


def lipschitz(values: FloatArray, distances: FloatArray, diameter: float) -> FloatArray:
    """Return values float64[k] that differ by at most their points' distances: the middle of both envelopes.

    If all values are within some error of a Lipschitz function, so are these (McShane 1934): the promise for all
    answers at once stays true. The promise for a single answer need not.
    """
    above = (values[None] + distances).min(axis=1)
    below = (values[None] - distances).max(axis=1)
    return np.asarray(np.clip((above + below) / 2, 0, diameter))
