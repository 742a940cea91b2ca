"""`python -m tools.quadtree_levels`: the best shares of a quadtree's levels, and the noise of answers with them.

Prints, for each entry of `LEVELS`, the shares of the budget that give answers in a Euclidean square the smallest mean
variance, with Laplace and with Gaussian noise, and the standard deviation of answers as a multiple of that of one
worst-placed query answered alone: the numbers that `mechanisms/planar/quadtree.py` has, to two digits. For comparison,
it prints the same for counts of people in the cells of nested blocks. `--sizes 5,17,65` tries other levels.
"""

import argparse
import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
from scipy.optimize import minimize

from milepost._typing import FloatArray
from milepost.mechanisms.planar.nested_grids import GridEstimate, NestedGrids
from milepost.mechanisms.planar.quadtree import LEVELS
from milepost.spaces.base import require_chart
from milepost.spaces.lp import L2

SQUARE = L2([(0, 1), (0, 1)])
QUERIES = np.random.default_rng(1).uniform(0, 1, (100, 2))
BLOCKS = ((4, 16), (4, 16, 32), (4, 16, 64))  # of a tree of counts


def variances(shares: FloatArray, pure: bool) -> FloatArray:
    """Return the variance of each level's noise for a budget of 1: ε, or Σ (change/σ)²."""
    return 8 / shares**2 if pure else 2 / shares


def single(pure: bool) -> float:
    """Return the standard deviation of one worst-placed query answered alone, for a budget of 1."""
    return (math.sqrt(2) if pure else 1.0) * SQUARE.diameter


def corner_noise(sizes: Sequence[int], pure: bool) -> Callable[[FloatArray], float]:
    """Return a function for the root mean variance of answers, ÷ single, of the corners of nested grids."""
    grids = NestedGrids(require_chart(SQUARE), tuple(sizes))
    distances = SQUARE.distance(grids.chart.points(grids.positions), QUERIES)

    def noise(shares: FloatArray) -> float:
        own, _ = GridEstimate(grids, variances(shares, pure).tolist()).moments(distances)
        return math.sqrt(float(own.mean())) / single(pure)

    return noise


def block_noise(sizes: Sequence[int], pure: bool) -> Callable[[FloatArray], float]:
    """Return the same for counts in blocks: details between two levels are known from all levels below."""
    size = sizes[-1]
    middles = (np.arange(size) + 0.5) / size
    points = np.stack(np.meshgrid(middles, middles, indexing="ij"), axis=-1).reshape(-1, 2)
    distances = SQUARE.distance(points, QUERIES).T.reshape(-1, size, size)

    def means(blocks: int) -> FloatArray:
        side = size // blocks
        pooled = distances.reshape(-1, blocks, side, blocks, side).mean(axis=(2, 4))
        return np.asarray(np.repeat(np.repeat(pooled, side, axis=1), side, axis=2))

    levels = [means(1), *map(means, sizes)]
    details = [((fine - coarse) ** 2).sum(axis=(1, 2)).mean() for coarse, fine in itertools.pairwise(levels)]

    def noise(shares: FloatArray) -> float:
        precisions = (size / np.array(sizes)) ** 2 / variances(shares, pure)
        return math.sqrt(sum(detail / precisions[k:].sum() for k, detail in enumerate(details))) / single(pure)

    return noise


def best_shares(noise: Callable[[FloatArray], float], levels: int) -> FloatArray:
    """Return the shares of least noise, which add up to 1."""

    def shares(logarithms: FloatArray) -> FloatArray:
        parts = np.exp(logarithms)
        return np.asarray(parts / parts.sum())

    options = {"maxiter": 60, "xatol": 1e-2, "fatol": 1e-4}
    start = np.linspace(0.7, -0.7, levels)
    found = minimize(lambda x: math.log(noise(shares(x))), start, method="Nelder-Mead", options=options)
    return shares(found.x)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m tools.quadtree_levels", description=__doc__)
    parser.add_argument("--sizes", action="append", help="corners along a side of each level, such as 5,17,65")
    options = parser.parse_args()
    given = [tuple(map(int, sizes.split(","))) for sizes in options.sizes or ()]
    for sizes in given or [levels.sizes for levels in LEVELS.values()]:
        for pure in (True, False):
            noise = corner_noise(sizes, pure)
            shares = best_shares(noise, len(sizes))
            stored = LEVELS.get(sizes[-1])
            used = ""
            if stored is not None and stored.sizes == sizes:
                used = f", with the stored shares {noise(np.array(stored.laplace if pure else stored.gaussian)):.3f}"
            law = "Laplace" if pure else "Gaussian"
            print(f"corners {sizes}, {law}: shares {shares.round(3).tolist()}, noise {noise(shares):.3f}{used}")
    for sizes in () if given else BLOCKS:
        noise = block_noise(sizes, pure=True)
        print(f"blocks {sizes}, Laplace: noise {noise(best_shares(noise, len(sizes))):.3f}")


if __name__ == "__main__":
    main()
