"""Largest and smallest noise along one coordinate, from tabulated simulations, for the band of all answers at once.

The tables are made by `tools/noise_tables.py`, with public seeds.
"""

import math
from functools import lru_cache

import numpy as np

from milepost._typing import FloatArray
from milepost.mechanisms.noise_quantiles import noise_tables

MAX_LEVELS = 10  # paths have up to 2^10 steps; finer ones are corrected for


def walk_extremes(steps: int, generator: np.random.Generator, draws: int) -> FloatArray:
    """Return maxima and minima of 2S_J − S_m over J = 0..m, S a walk of m normal steps with Var S_m = 1."""
    return _draw(_walk_pairs(steps), generator, draws)


def hat_extremes(levels: int, generator: np.random.Generator, draws: int) -> FloatArray:
    """Return maxima and minima of the noise of hats, at ε = 1 and width 1; levels above 10 add less than 1 %."""
    return _draw(_pairs("hats", min(levels, MAX_LEVELS)), generator, draws)


def _draw(pairs: FloatArray, generator: np.random.Generator, draws: int) -> FloatArray:
    """Return draws of (maximum, minimum), float64[draws, 2]: every row as often as another, or few random ones."""
    rows = len(pairs)
    return pairs[generator.permutation(draws) % rows if draws >= rows else generator.integers(rows, size=draws)]


@lru_cache(maxsize=64)
def _pairs(kind: str, level: int) -> FloatArray:
    """Return (maximum, minimum) of paths and of their mirror images: float64[2·rows, 2]."""
    table = np.asarray(noise_tables()[kind][level], dtype=np.float64)
    return np.asarray(np.concatenate([table, table[:, ::-1]]) * np.array([1.0, -1.0]))


@lru_cache(maxsize=64)
def _walk_pairs(steps: int) -> FloatArray:
    """Return the pairs of a walk: between tabulated numbers of steps, extremes are linear in 1/√steps.

    A finer walk goes further, by 0.5826 of a step's deviation (Broadie, Glasserman, Kou 1997).
    """
    if steps > 1 << MAX_LEVELS:
        return _pairs("walks", MAX_LEVELS) + np.array([1, -1]) * 0.5826 * 2 / math.sqrt(1 << MAX_LEVELS)
    level = steps.bit_length() - 1
    if steps == 1 << level:
        return _pairs("walks", level)
    coarse, fine, here = (number**-0.5 for number in (1 << level, 2 << level, steps))
    share = (coarse - here) / (coarse - fine)
    return np.asarray((1 - share) * _pairs("walks", level) + share * _pairs("walks", level + 1))
