"""OpenDP's exact discrete Gaussian and Laplace noise on vectors of integers, and bounds on their tails.

The noise cannot be seeded, and no other module of the library draws noise.
"""

import math
import os
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

import numpy as np
import scipy

from milepost._typing import IntArray
from milepost.errors import MilepostError

PIECE = 1 << 10  # draws per thread at least: about 20 ms
MAX_SCALE = 2.0**55  # noise leaves 64 bits with probability e^{-256} at most


_IMPORTING_PROCESS = os.getpid()


def max_threads() -> int:
    """Return how many threads may draw noise at once: one per processor, and only one in a forked process.

    A fork may copy locks of native code that a thread held while it ended; only another new thread waits for them.
    """
    return (os.cpu_count() or 1) if os.getpid() == _IMPORTING_PROCESS else 1


@lru_cache(maxsize=1024)
def _measurement(law: str, scale: float) -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    make, metric = {
        "gaussian": (dp.m.make_gaussian, dp.l2_distance(T=float)),
        "laplace": (dp.m.make_laplace, dp.l1_distance(T=float)),
    }[law]
    return make(dp.vector_domain(dp.atom_domain(T=dp.i64)), metric, scale=scale)


def _add(law: str, values: IntArray, scale: float) -> IntArray:
    """Return the values with independent noise on each; add noise to long vectors in pieces, in parallel.

    All draws are independent and have one law, so the pieces together have the law of the vector.
    """
    check_scale(scale)
    measurement, vector = _measurement(law, scale), np.asarray(values, dtype=np.int64)

    def noisy(piece: IntArray) -> IntArray:
        return np.asarray(measurement(piece.tolist()), dtype=np.int64)

    pieces = min(max_threads(), len(vector) // PIECE)
    if pieces < 2:
        return noisy(vector)
    with ThreadPoolExecutor(pieces) as pool:
        return np.concatenate(list(pool.map(noisy, np.array_split(vector, pieces))))


def check_scale(scale: float) -> None:
    """Refuse a scale whose noise would not fit 64 bits; mechanisms call this before they read data."""
    if not 0 < scale <= MAX_SCALE:
        raise MilepostError(
            f"epsilon= is too small for this space: noise of scale {scale:.2g} does not fit 64-bit integers. "
            "Use a larger epsilon or fewer columns."
        )


def gaussian(values: IntArray, scale: float) -> IntArray:
    """Add discrete Gaussian noise of parameter σ = `scale`; ρ = Δ₂²/(2σ²)."""
    return _add("gaussian", values, scale)


def laplace(values: IntArray, scale: float) -> IntArray:
    """Add discrete Laplace noise of parameter b = `scale`; ε = Δ₁/b."""
    return _add("laplace", values, scale)


class LaplaceStream:
    """A stream of discrete Laplace draws.

    It draws growing blocks, because a draw costs a tenth in a vector of what it costs alone.
    """

    def __init__(self, scale: float, block: int = 16) -> None:
        check_scale(scale)
        self._scale = scale
        self._block = block
        self._buffer: list[int] = []

    def next(self) -> int:
        """Return the next draw, and delete it from the buffer."""
        if not self._buffer:
            self._buffer = laplace(np.zeros(self._block, dtype=np.int64), self._scale).tolist()
            self._block = min(2 * self._block, 4096)
        return self._buffer.pop()


def gaussian_tail(scale: float, failure: float) -> int:
    """Return an integer t with Pr[|X| > t] ≤ failure for discrete Gaussian X.

    Pr[X ≥ m] ≤ Pr[N(0, σ²) ≥ m − 1] (Canonne, Kamath, Steinke 2020, Proposition 25), taken at m = t + 1.
    """
    return math.ceil(scale * math.sqrt(2) * float(scipy.special.erfcinv(failure)))


def laplace_tail(scale: float, failure: float) -> int:
    """Return the smallest integer t with Pr[|X| > t] ≤ failure for discrete Laplace X.

    Pr[|X| > t] = 2e^{−(t+1)/b}/(1 + e^{−1/b}).
    """
    return max(0, math.ceil(scale * math.log(2 / ((1 + math.exp(-1 / scale)) * failure)) - 1))
