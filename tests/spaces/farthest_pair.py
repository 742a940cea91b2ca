"""The pair of records that is farthest apart in an embedding: where its sensitivity bound is attained, or nearly."""

import itertools
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from milepost._typing import FloatArray
from milepost.spaces.embeddings.projected import Projected

STARTS = 128
MAX_EXACT_COLUMNS = 12  # columns of a box, all of whose corners are tried


@lru_cache(maxsize=256)
def farthest_pair(space: Projected) -> FloatArray:
    """Opposite corners of a box, or both ends of a diameter of a ball, with the largest Σ|⟨θ, x − y⟩|: float64[2, d].

    Of a box of few columns that is the farthest of all. Else it is found by ascents, which end where no sign changes.
    """
    thetas, random = space.thetas.astype(np.float64), np.random.default_rng(0)
    if space.radius is None:
        if space.width <= MAX_EXACT_COLUMNS:
            starts = np.array(list(itertools.product([-1.0, 1.0], repeat=space.width)))
            signs = starts[np.abs(starts @ (thetas * space._corner).T).sum(axis=1).argmax()]
        else:
            starts = random.choice([-1.0, 1.0], (STARTS, space.width))
            ascents = (_ascend(thetas * space._corner, start, np.sign) for start in starts)
            signs = max(ascents, key=lambda ascent: ascent[0])[1]
        low, high = np.array(space.low), np.array(space.high)
        return np.stack([np.where(signs > 0, high, low), np.where(signs > 0, low, high)])
    starts = random.standard_normal((STARTS, space.width))
    vector = max((_ascend(thetas, start, _unit) for start in starts), key=lambda ascent: ascent[0])[1]
    return np.stack([space.center + space.radius * vector, space.center - space.radius * vector])


def _ascend(
    thetas: FloatArray, vector: FloatArray, project: Callable[[FloatArray], FloatArray]
) -> tuple[float, FloatArray]:
    """Σ|⟨θ, v⟩| where it grows no more, and that v."""
    vector = project(vector)
    for _ in range(50):
        step = project(thetas.T @ np.sign(thetas @ vector))
        vector = np.where(step == 0, vector, step)
    return float(np.abs(thetas @ vector).sum()), vector


def _unit(vector: FloatArray) -> FloatArray:
    return np.asarray(vector / np.linalg.norm(vector))


def beyond_the_border(space: Projected, along: FloatArray, width: int = 3000) -> FloatArray:
    """A record in a disc about 0, of radius 1, that rounding to integers takes the farthest beyond the border.

    along: where to look. Integer points there are half a step outwards of a record each, which is exact in floats.
    """
    ball, signs = float(1 << space._bits), np.where(along < 0, -1.0, 1.0)
    half = 0.5 - 2.0**-10  # so that the record is rounded outwards
    first, second = np.argsort(np.abs(along))
    rows = np.empty((2 * width + 1, 2))
    rows[:, first] = np.rint(along[first] * ball) + np.arange(-width, width + 1) - signs[first] * half
    rows[:, second] = signs[second] * (np.floor(np.sqrt(ball**2 - rows[:, first] ** 2) + half) - half)
    inside = rows[(rows**2).sum(axis=1) <= ball**2]
    return np.asarray(inside[np.argmax(np.rint(inside) @ along)] / ball)
