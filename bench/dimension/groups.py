"""Errors of groups in many dimensions, which share one private model: images of digits, a group for each digit.

Components of the model are those of all groups together, and each group has its own weights of them. The error without
a model is that of directions for the most part. --check fails where noise of groups within BOUND of that error would
fail once in 10⁹ checks: groups have independent noise, and each counts as one draw.
"""

import math
import time

import numpy as np
from sklearn.datasets import load_digits

import milepost as mp
from bench.dimension.tables import DELTA, EPSILON, JITTER, QUERIES, SEED, ball, into_ball, uniform
from bench.run import Bounds, main
from milepost._typing import FloatArray, IntArray

GROUPS = 4
N, DIRECTIONS = 100_000, 1_024
CHECK_N, CHECK_DIRECTIONS = 25_000, 256
BOUND = 0.2  # RMSE with the model ÷ without


def group_rows(check: bool, bounds: Bounds) -> None:
    """Print the errors of groups with a model and without, and check their ratio."""
    n, directions = (CHECK_N, CHECK_DIRECTIONS) if check else (N, DIRECTIONS)
    print(f"\nGroups of digits, d = 64, n = {n:,} in {GROUPS} groups, {directions:,} directions: RMSE of one group")
    generator = np.random.default_rng([SEED, GROUPS])
    rows, labels = grouped_digits(generator, n)
    queries = np.concatenate([rows[:QUERIES], uniform(generator, QUERIES, 64)])
    space = ball(64, directions, 0)
    squares = []
    for model in (False, None):
        start = time.process_time()
        synopsis = mp.release(
            rows, space, epsilon=EPSILON, delta=DELTA, groups=labels.tolist(), labels=list(range(GROUPS)), model=model
        )
        taken = time.process_time() - start
        errors = []
        for group in range(GROUPS):
            exact = np.asarray(mp.exact_mean_distance(rows[labels == group], space, queries))
            errors.append(np.asarray(synopsis.group(group).mean_distance(queries)) - exact)
        squares.append(np.square(errors).mean(axis=1))
        used = "without a model" if synopsis.model is None else f"with {synopsis.model.components} components"
        print(f"  {used}: {math.sqrt(squares[-1].mean()):.2g}, {taken:.0f} CPU s", flush=True)
    ratio = bounds.gaussian_rms_at_most("groups: with a model ÷ without", squares[1] / squares[0].mean(), BOUND)
    print(f"  ÷ {ratio} (bound {BOUND})")


def grouped_digits(generator: np.random.Generator, n: int) -> tuple[FloatArray, IntArray]:
    """Return images of the first digits, resampled and moved a little, in the unit ball, and the digit of each."""
    images, digits = load_digits(return_X_y=True)
    images, digits = images[digits < GROUPS], digits[digits < GROUPS]
    images = images - images.mean(axis=0)
    images /= np.linalg.norm(images, axis=1).max()
    chosen = generator.integers(0, len(images), n)
    return into_ball(images[chosen] + generator.standard_normal((n, 64)) * (JITTER / 8)), digits[chosen]


if __name__ == "__main__":
    main(group_rows, __doc__ or "")
