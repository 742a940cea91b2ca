"""Largest and smallest noise along one coordinate, from tabulated simulations, for the band of all answers at once.

The tables are made by `tools/noise_tables.py`, with public seeds.
"""

import math
from functools import lru_cache

import numpy as np

from milepost._typing import FloatArray
from milepost.mechanisms.noise_quantiles import noise_tables

MAX_LEVELS = 10  # paths have up to 2^10 steps; finer ones are corrected for
MAX_STEPS = 128  # of simulated paths
PATHS = 1 << 11
FURTHER = 0.5826  # of a step's deviation: a finer path goes further by it (Broadie, Glasserman, Kou 1997)


def walk_extremes(steps: int, generator: np.random.Generator, draws: int) -> FloatArray:
    """Return maxima and minima of 2S_J − S_m over J = 0..m, S a walk of m normal steps with Var S_m = 1."""
    return _draw(_walk_pairs(steps), generator, draws)


def anchored_extremes(mean_signs: FloatArray, generator: np.random.Generator, draws: int) -> FloatArray:
    """Return maxima and minima of 2S_J − Σ(1 + meanⱼ)Xⱼ over J, S a walk of steps X with Var S_m = 1.

    mean_signs: float64[m], a mean for each step.
    """
    return _draw(_anchored_pairs(mean_signs.tobytes(), len(mean_signs)), generator, draws)


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

    Finer walks than the tabulated ones are corrected for.
    """
    if steps > 1 << MAX_LEVELS:
        return _pairs("walks", MAX_LEVELS) + np.array([1, -1]) * FURTHER * 2 / math.sqrt(1 << MAX_LEVELS)
    level = steps.bit_length() - 1
    if steps == 1 << level:
        return _pairs("walks", level)
    coarse, fine, here = (number**-0.5 for number in (1 << level, 2 << level, steps))
    share = (coarse - here) / (coarse - fine)
    return np.asarray((1 - share) * _pairs("walks", level) + share * _pairs("walks", level + 1))


@lru_cache(maxsize=1024)
def _anchored_pairs(mean_signs: bytes, steps: int) -> FloatArray:
    """Return (maximum, minimum) of simulated paths and of their mirror images, with public seeds: float64[rows, 2]."""
    means = np.frombuffer(mean_signs)
    coarse = min(steps, MAX_STEPS)
    means = np.add.reduceat(means, np.arange(coarse) * steps // coarse) / np.diff(
        np.arange(coarse + 1) * steps // coarse
    )
    walk = np.random.default_rng(coarse).standard_normal((PATHS, coarse)) / math.sqrt(coarse)
    path = np.concatenate([np.zeros((PATHS, 1)), 2 * np.cumsum(walk, axis=1)], axis=1) - (walk @ (1 + means))[:, None]
    further = FURTHER * 2 * (1 / math.sqrt(coarse) - 1 / math.sqrt(steps))
    pairs = np.stack([path.max(axis=1) + further, path.min(axis=1) - further], axis=1)
    return np.concatenate([pairs, -pairs[:, ::-1]])
