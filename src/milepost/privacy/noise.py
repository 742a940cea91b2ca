"""OpenDP's exact discrete Gaussian and Laplace noise on vectors of integers, and bounds on their tails.

The noise cannot be seeded, and no other module of the library draws noise.
"""

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from typing import Any

import numpy as np
import scipy

from milepost._typing import FloatArray, IntArray
from milepost.errors import MilepostError

PIECE = 1 << 10  # draws per thread at least, of one scale: about 10 ms
MIN_DRAWS = 64  # draws per thread at least, of several scales, each of which is a separate call
ETA = 3.0  # Gaussian noise of scale σ has the parameter √(σ² + η²): docs/proofs/gaussian.md, Theorem 1
MAX_DRAWS = 1 << 40  # of one release or session, which Theorem 1 allows for
MAX_SCALE = 2.0**55  # noise leaves 64 bits with probability e^{-256} at most


_IMPORTING_PROCESS = os.getpid()


def max_threads() -> int:
    """Return how many threads may draw noise at once: one per processor, and only one in a forked process.

    A fork may copy locks of native code that a thread held while it ended; only another new thread waits for them.
    """
    return (os.cpu_count() or 1) if os.getpid() == _IMPORTING_PROCESS else 1


@lru_cache(maxsize=2)
def _maker(law: str) -> Callable[[float], Any]:
    """Return the function that makes OpenDP's measurement of a scale; made once, it costs a tenth of its parts."""
    from opendp.domains import atom_domain, vector_domain  # not opendp.prelude, which imports scikit-learn, too
    from opendp.measurements import make_gaussian, make_laplace
    from opendp.metrics import l1_distance, l2_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    make, metric = {"gaussian": (make_gaussian, l2_distance), "laplace": (make_laplace, l1_distance)}[law]
    return partial(make, vector_domain(atom_domain(T="i64")), metric(T="f64"))


@lru_cache(maxsize=1024)
def _measurement(law: str, scale: float) -> Any:
    return _maker(law)(scale)


def _add(law: str, values: IntArray, scale: float) -> IntArray:
    """Return the values with independent noise on each; add noise to long vectors in pieces, in parallel.

    All draws are independent and have one law, so the pieces together have the law of the vector.
    """
    measurement, vector = _measurement(law, scale), np.asarray(values, dtype=np.int64)

    def noisy(piece: IntArray) -> IntArray:
        return np.asarray(measurement(piece), dtype=np.int64)

    pieces = min(max_threads(), len(vector) // PIECE)
    if pieces < 2:
        return noisy(vector)
    with ThreadPoolExecutor(pieces) as pool:
        return np.concatenate(list(pool.map(noisy, np.array_split(vector, pieces))))


def _add_each(law: str, values: IntArray, scales: FloatArray) -> IntArray:
    """Return the values with independent noise, each of its own scale: one call for all values of a scale.

    Long vectors use all processors by themselves; the short ones are shared between threads.
    """
    vector = np.asarray(values, dtype=np.int64)
    distinct, index, counts = np.unique(scales, return_inverse=True, return_counts=True)
    if len(distinct) == 1:
        return _add(law, vector, float(distinct[0]))
    order = np.argsort(index, kind="stable")
    groups = list(zip(distinct.tolist(), np.split(vector[order], np.cumsum(counts)[:-1]), strict=True))
    noisy: list[IntArray] = [np.empty(0, dtype=np.int64)] * len(groups)

    def draw(chosen: Sequence[int]) -> None:
        for group in chosen:
            scale, part = groups[group]
            noisy[group] = _add(law, part, scale)

    long, short = [np.flatnonzero((counts >= 2 * PIECE) == flag).tolist() for flag in (True, False)]
    draw(long)
    threads = min(max_threads(), len(short), 1 + len(vector) // MIN_DRAWS)
    if threads < 2:
        draw(short)
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(draw, [short[start::threads] for start in range(threads)]))
    result = np.empty_like(vector)
    result[order] = np.concatenate(noisy)
    return result


def check_scale(scale: float) -> None:
    """Refuse a scale whose noise would not fit 64 bits; mechanisms call this before they read data."""
    if not 0 < scale <= MAX_SCALE:
        raise MilepostError(
            f"epsilon= is too small for this space: noise of scale {scale:.2g} does not fit 64-bit integers. "
            "Use a larger epsilon or fewer columns."
        )


def _check_scales(scales: FloatArray) -> None:
    """Refuse scales of which one does not fit, or is not a number."""
    for scale in (scales.min(initial=MAX_SCALE), scales.max(initial=1.0)):
        check_scale(float(scale))


def gaussian(values: IntArray, scale: float) -> IntArray:
    """Add discrete Gaussian noise that hides what Gaussian noise of σ = `scale` hides: μ = Δ₂/σ, and ρ = Δ₂²/(2σ²).

    Its parameter is `gaussian_deviation(scale)`.
    """
    check_scale(scale)
    return _add("gaussian", values, gaussian_deviation(scale))


def gaussian_deviation(scale: float) -> float:
    """Return √(σ² + η²), rounded up: the parameter of discrete noise that hides what Gaussian noise of σ hides."""
    return math.nextafter(math.hypot(scale, ETA), math.inf)


def gaussian_deviations(scales: FloatArray) -> FloatArray:
    """Return `gaussian_deviation` of many scales."""
    return np.asarray(np.nextafter(np.hypot(scales, ETA), math.inf))


def discrete_gaussian(values: IntArray, parameter: float) -> IntArray:
    """Add discrete Gaussian noise of this parameter s: ρ = Δ₂²/(2s²) of zCDP, and no μ where s is small."""
    check_scale(parameter)
    return _add("gaussian", values, parameter)


def laplace(values: IntArray, scale: float) -> IntArray:
    """Add discrete Laplace noise of parameter b = `scale`; ε = Δ₁/b."""
    check_scale(scale)
    return _add("laplace", values, scale)


def gaussian_each(values: IntArray, scales: FloatArray) -> IntArray:
    """Add noise as `gaussian` to values int64[m], each of its own scale σ; μ² = Σ Δ²/σ², and ρ = Σ Δ²/(2σ²)."""
    _check_scales(scales)
    return _add_each("gaussian", values, gaussian_deviations(scales))


def laplace_each(values: IntArray, scales: FloatArray) -> IntArray:
    """Add discrete Laplace noise to values int64[m], each of its own parameter b; ε = Σ |Δ|/b."""
    _check_scales(scales)
    return _add_each("laplace", values, scales)


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
    """Return an integer t with Pr[|X| > t] ≤ failure for discrete Gaussian X of parameter σ = `scale`.

    Pr[X ≥ m] ≤ Pr[N(0, σ²) ≥ m − 1] (Canonne, Kamath, Steinke 2020, Proposition 25), taken at m = t + 1.
    """
    return math.ceil(scale * math.sqrt(2) * float(scipy.special.erfcinv(failure)))


def laplace_tail(scale: float, failure: float) -> int:
    """Return the smallest integer t with Pr[|X| > t] ≤ failure for discrete Laplace X.

    Pr[|X| > t] = 2e^{−(t+1)/b}/(1 + e^{−1/b}).
    """
    return max(0, math.ceil(scale * math.log(2 / ((1 + math.exp(-1 / scale)) * failure)) - 1))
