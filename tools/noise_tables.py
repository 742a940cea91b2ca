"""Compute the tables of noise that the package ships: `python -m tools.noise_tables` writes them, in about a minute.

`mechanisms/noise_quantiles.py` and `mechanisms/coordinate/path_extremes.py` read them, and
`tests/mechanisms/test_noise_tables.py` computes them again. All of it is public: nothing depends on private data.
"""

import math

import numpy as np

from milepost._typing import FloatArray
from milepost.mechanisms import noise_quantiles
from milepost.mechanisms.coordinate import faber_schauder
from milepost.mechanisms.coordinate.path_extremes import MAX_LEVELS
from milepost.mechanisms.noise_quantiles import FAILURES, TABLES

DRAWS = 1 << 18  # simulated paths of a level
CHUNK = 1 << 22  # numbers at a time
STRATA, PARTS = 256, 4  # of pairs by their larger extreme, and of each by the smaller one
SECOND_DIFFERENCE_LEVELS, SECOND_DIFFERENCE_DRAWS = 16, 200


def mixture() -> FloatArray:
    """Return quantiles of sums of normal and Laplace noises, by failure probability and kurtosis."""
    return np.array([noise_quantiles.compute_quantiles(failure) for failure in FAILURES.tolist()])


def walk_paths(level: int, generator: np.random.Generator, draws: int) -> FloatArray:
    """Simulate 2S_J − S_m over J = 0..m, S a walk of m = 2^level normal steps, Var S_m = 1: float64[draws, m + 1]."""
    walk = np.cumsum(generator.standard_normal((draws, 1 << level)), axis=1)
    return np.asarray((2 * np.concatenate([np.zeros((draws, 1)), walk], axis=1) - walk[:, -1:]) / math.sqrt(1 << level))


def hat_paths(level: int, generator: np.random.Generator, draws: int) -> FloatArray:
    """Simulate the noise of hats at the borders, at ε = 1 and width 1: float64[draws, 2^level + 1]."""
    return faber_schauder.simulate(faber_schauder.scales(level), generator, draws)


PATHS = {"walks": walk_paths, "hats": hat_paths}


def extremes(kind: str, level: int) -> FloatArray:
    """Return pairs of a path's larger and smaller extreme, on either side of 0: float64[STRATA·PARTS, 2].

    Each is the mean of as many simulated pairs, which are next to each other; a path and its mirror image have one law.
    """
    generator, rows = np.random.default_rng(level), max(1, CHUNK >> level)
    pairs = []
    for start in range(0, DRAWS, rows):
        paths = PATHS[kind](level, generator, min(rows, DRAWS - start))
        pairs.append(np.sort(np.stack([-paths.min(axis=1), paths.max(axis=1)], axis=1), axis=1))
    small, big = np.concatenate(pairs).T
    by_big = np.argsort(big, kind="stable").reshape(STRATA, -1)
    by_both = np.take_along_axis(by_big, np.argsort(small[by_big], axis=1, kind="stable"), axis=1)
    parts = by_both.reshape(STRATA * PARTS, -1)
    return np.stack([big[parts].mean(axis=1), small[parts].mean(axis=1)], axis=1)


def second_difference(levels: int) -> float:
    """Return the standard deviation of V_{j+2} − V_{j+1} − V_j + V_{j−1}, ε = 1, width 1, at the noisiest cells."""
    generator = np.random.default_rng(levels)
    paths = faber_schauder.simulate(faber_schauder.scales(levels), generator, SECOND_DIFFERENCE_DRAWS)
    steps = np.diff(paths, axis=1, prepend=paths[:, :1], append=paths[:, -1:])
    return float(np.max((steps[:, 2:] - steps[:, :-2]).std(axis=0))) * 1.1  # a margin for the error of the simulation


def compute() -> dict[str, FloatArray]:
    """Return all tables by name."""
    pools = {kind: np.array([extremes(kind, level) for level in range(MAX_LEVELS + 1)]) for kind in PATHS}
    differences = np.array([second_difference(levels) for levels in range(SECOND_DIFFERENCE_LEVELS + 1)])
    return {
        "mixture": mixture().astype(np.float32),
        **{kind: pool.astype(np.float16) for kind, pool in pools.items()},
        "second_differences": differences,
    }


if __name__ == "__main__":
    np.savez_compressed(TABLES, allow_pickle=False, **compute())
    print(f"{TABLES.name}: {TABLES.stat().st_size:,} bytes")
