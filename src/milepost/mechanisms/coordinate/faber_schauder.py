"""The Faber–Schauder basis of one coordinate function: its integers, its privacy loss, its noise. docs/proofs/hats.md.

V(t) = Σ|q − t| on the m + 1 = 2^levels + 1 equidistant borders t of 0..quanta is written as V(0), then for every dyadic
interval, widest first, its sag V(mid) − (V(left) + V(right))/2. These are m integers, coefficients[..., m]: V(0) at 0
and the sags of level l, from left to right, at 2^l ≤ index < 2^(l+1). Scales are float64[levels + 1] in the same order:
one for V(0), one for each level. They have the unit of V; `loss` and `scales` assume an interval of width 1.
"""

from functools import lru_cache

import numpy as np

from milepost._typing import FloatArray, IntArray
from milepost.errors import MilepostError
from milepost.spaces.embeddings.embedding import QUANTA, QUANTUM_BITS

SLACK = 1 + 1e-9  # the float operations of `loss`, and a caller's few, are off by less than 1e-13


def parts(levels: int) -> list[slice]:
    """Return the slices of the coefficients of each scale: V(0), then level after level."""
    return [slice(0, 1)] + [slice(1 << level, 2 << level) for level in range(levels)]


def sizes(levels: int) -> list[int]:
    """Return the number of coefficients of each scale."""
    return [1] + [1 << level for level in range(levels)]


def analyse(values: IntArray) -> IntArray:
    """Return coefficients int64[..., m] of V at the borders, int64[..., m + 1]; every sag is exactly an integer."""
    cells = values.shape[-1] - 1
    result = np.empty((*values.shape[:-1], cells), dtype=np.int64)
    result[..., 0] = values[..., 0]
    for part in parts(_levels(cells))[1:]:
        step = cells // part.start
        ends = values[..., :-step:step] + values[..., step::step]  # even: see the proof's Lemma 1
        result[..., part] = values[..., step // 2 :: step] - (ends >> 1)
    return result


def synthesise(coefficients: IntArray, total: int, quanta: int = QUANTA) -> FloatArray:
    """Return V at the borders, float64[..., m + 1], from coefficients and V(0) + V(quanta) = total·quanta.

    Coefficients may be noisy. Without noise V is exact while total·quanta ≤ 2⁵³, and within a relative 2⁻⁵⁰ beyond.
    """
    noisy = coefficients.astype(np.float64)  # as floats, since noise may leave no room in 64-bit integers
    return _refine(noisy, total * quanta - noisy[..., 0])


def transpose(weights: FloatArray) -> FloatArray:
    """Return the weight of each coefficient, float64[m], in Σ weight·V over the borders, float64[m + 1]."""
    result, weights = np.empty(len(weights) - 1), weights.copy()
    for part in reversed(parts(_levels(len(result)))[1:]):
        step = len(result) // part.start
        middle = weights[step // 2 :: step]
        result[part] = middle
        weights[:-step:step] += middle / 2
        weights[step::step] += middle / 2
    result[0] = weights[0] - weights[-1]
    return result


def loss(scales: FloatArray) -> float:
    """Return the largest Σ|change of a coefficient|/scale from replacing one record, over all pairs of positions.

    Theorem 2: let level k be the first that tells q from q′, so that their distances u, u′ ≤ 2^−k to the middle of an
    interval of level k − 1 decide. The loss is (A + r)·u + G(u) + (A − r)·u′ + G(u′) for u ≥ u′, with A the rates above
    level k − 1, r its own and G the triangle waves from level k on; both maxima are at multiples of 2^−levels.
    """
    rates = 1 / scales
    levels = len(scales) - 1
    max_loss = float(rates[0])  # the two ends: no sag changes
    waves = np.zeros(2)
    for k in range(levels, 0, -1):
        distance = np.arange((1 << (levels - k)) + 1) / (1 << levels)
        if k < levels:
            triangle = np.minimum(distance, distance[-1] - distance)
            waves = np.concatenate([waves, waves[1:]]) + rates[k + 1] * triangle
        above, own = rates[:k].sum(), rates[k]
        far = ((above + own) * distance + waves).max()
        near = ((above - own) * distance + waves).max()
        max_loss = max(max_loss, float(far + near))
    return max_loss


@lru_cache(maxsize=32)
def single(levels: int) -> float:
    """Return the largest Σ|change of a coefficient|/scale from adding one record, at `scales`.

    V(0) is counted from the middle: a record at q adds |q − 1/2| and, at each level, its triangle wave to one sag. That
    is linear between the multiples of 2^−levels, so largest at one of them.
    """
    rates = 1 / scales(levels)
    positions = np.arange((1 << levels) + 1) / (1 << levels)
    losses = rates[0] * np.abs(positions - 0.5)
    for level in range(levels):
        width = 2.0**-level
        losses += rates[level + 1] * (width / 2 - np.abs(positions % width - width / 2))
    return float(losses.max()) * SLACK


@lru_cache(maxsize=32)
def scales(levels: int) -> FloatArray:
    """Return noise scales of loss at most 1, for ε = 1 and width 1; in quanta and for any ε they are scales·quanta/ε.

    The rates 1/scale grow by 2^(1/3) a level, which minimises Σ(width/scale) at a given Σscale². The largest standard
    deviation is within 0.5 % of the best rates' from 5 levels on (4 % below): 2.05 at 7 levels, 2.11 at 10, where one
    query alone has 1 (in √2). Privacy does not rest on that rule: `loss` normalises the scales, whatever they are.
    """
    if not 0 <= levels <= QUANTUM_BITS:
        raise MilepostError(f"levels must be in 0..{QUANTUM_BITS}, got {levels}")
    shape = np.exp2(-np.maximum(np.arange(-1, levels), 0) / 3)
    result: FloatArray = shape * (loss(shape) * SLACK)
    result.flags.writeable = False
    return result


def variance(scales: FloatArray, positions: FloatArray | None = None) -> FloatArray:
    """Return the variance of the synthesised V at positions in 0..1 of the width, by default the m + 1 borders.

    Between borders it is that of their linear interpolation, outside that of the end; discrete noise has a little less.
    """
    return 2 * _power_sum(scales, positions, 2)


def kurtosis(scales: FloatArray, positions: FloatArray | None = None) -> FloatArray:
    """Return the excess kurtosis: 3 where one Laplace draw contributes, less where several do, 0 without noise."""
    squares, fourths = (_power_sum(scales / scales[0], positions, power) for power in (2, 4))
    return 3 * np.divide(fourths, squares**2, out=np.zeros_like(squares), where=squares > 0)


def simulate(scales: FloatArray, generator: np.random.Generator, draws: int) -> FloatArray:
    """Simulate errors of the synthesised V at the borders, float64[draws, m + 1], from public numbers only.

    The noise is continuous; discrete noise differs by less than one unit a coefficient, so levels + 1 units at a
    border.
    """
    levels = len(scales) - 1
    noise = generator.laplace(size=(draws, 1 << levels)) * np.repeat(scales, sizes(levels))
    return _refine(noise, -noise[:, 0])


def _levels(cells: int) -> int:
    return cells.bit_length() - 1


def _power_sum(scales: FloatArray, positions: FloatArray | None, power: int) -> FloatArray:
    """Return Σ (scale × share of its draw at a position)^power."""
    levels = len(scales) - 1
    inside = np.arange((1 << levels) + 1) / (1 << levels) if positions is None else np.clip(positions, 0, 1)
    result: FloatArray = (scales[0] * (1 - 2 * inside)) ** power
    for level, scale in enumerate(scales[1:]):
        result += (scale * _hat(inside, level)) ** power
    return result


def _hat(positions: FloatArray, level: int) -> FloatArray:
    """Return the triangle wave of a level: 0 at the ends of its intervals, 1 in their middles."""
    phase = np.ldexp(positions, level)
    return np.asarray(2 * np.abs(phase - np.rint(phase)))


def _refine(coefficients: FloatArray, last: FloatArray) -> FloatArray:
    """Undo `analyse`: start from both ends, then add the sags level by level."""
    cells = coefficients.shape[-1]
    result = np.empty((*coefficients.shape[:-1], cells + 1))
    result[..., 0], result[..., -1] = coefficients[..., 0], last
    for part in parts(_levels(cells))[1:]:
        step = cells // part.start
        middle = (result[..., :-step:step] + result[..., step::step]) / 2
        result[..., step // 2 :: step] = middle + coefficients[..., part]
    return result
