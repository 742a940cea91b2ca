"""Public reference measures ν around balls, boxes and caps, with r bounded from both sides. docs/proofs/field.md."""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import scipy

from milepost._typing import AnyArray, FloatArray
from milepost.spaces.kernels.kernel import Reference

Between = Callable[[AnyArray, AnyArray], FloatArray]
RINGS = 256
CORNERS = 64  # pairs of opposite corners of a box
POINTS = 64  # on the border of a cap
TURNS = 32  # angles between two of these points, at which r of a cap is computed
ACCURACY = 1e-9  # of mean distances to a sphere, at least, in radii
SMOOTH = 10  # dimensions from which these are integrals of a smooth function, with NODES nodes
NODES = 128


def around_ball(
    center: FloatArray, radius: float, between: Between, off: float, rough: float | None = None
) -> Reference:
    """Return ν uniform on the sphere around a Euclidean ball: r grows with the distance from the centre.

    off, rough: how far computed distances of records, and of public points, may be from the metric's.
    """
    rough = off if rough is None else rough
    dimension = len(center)
    mean = radius * float(_to_sphere(dimension, np.ones(1))[0]) / 2

    def height(points: AnyArray) -> FloatArray:
        share = between(points, center[None])[:, 0] / radius
        return np.asarray(radius * _to_sphere(dimension, share) - mean)

    share = np.linspace(0, 1, RINGS + 1)
    heights = radius * _to_sphere(dimension, share) - mean
    slack = ACCURACY * radius
    low, high = heights[:-1] - slack, heights[1:] + slack
    if dimension == 1:  # both ends of an interval: their distances to any point have the same sum
        low = high = np.full(RINGS, radius / 2)
    return Reference(height, mean, between, 2 * radius, share * radius, low, high, off, rough)


def _to_sphere(dimension: int, share: FloatArray) -> FloatArray:
    """Return the mean distance to the unit sphere from a point at a distance `share` from the centre."""
    inside = np.minimum(share, 1.0)
    if dimension < SMOOTH:
        return np.asarray(scipy.special.hyp2f1(-0.5, (1 - dimension) / 2, dimension / 2, inside**2))
    # the cosine t between the two has a density of (1 − t²)^((d − 3)/2), which is Gegenbauer's weight
    cosine, weight = _gegenbauer(dimension)
    return np.asarray(np.sqrt(1 + inside[:, None] ** 2 - 2 * inside[:, None] * cosine) @ (weight / weight.sum()))


@lru_cache(maxsize=16)
def _gegenbauer(dimension: int) -> tuple[FloatArray, FloatArray]:
    """Return nodes and weights; a session needs them for every question."""
    cosine, weight = scipy.special.roots_gegenbauer(NODES, dimension / 2 - 1)
    return cosine, weight


def corners(p: float, center: FloatArray, half: FloatArray, between: Between, off: float) -> Reference:
    """Return ν on pairs of opposite corners of a box, in ℓp.

    The mean distance to both corners of a pair is at least half of their own, and its mean over the pairs at most
    2^(1 − 1/p) times that: the power mean of order p, column by column.
    """
    generator = np.random.default_rng(len(center))
    signs = generator.integers(0, 2, (CORNERS, len(center))) * 2 - 1
    points_of_measure = np.concatenate([center + signs * half, center - signs * half])
    radius = float((half**p).sum() ** (1 / p))
    mean = float(between(points_of_measure, points_of_measure).mean()) / 2

    def height(points: AnyArray) -> FloatArray:
        return np.asarray(between(points, points_of_measure).mean(axis=1) - mean)

    max_ratio = 1.0 if np.count_nonzero(half) == 1 else 2 ** (1 - 1 / p)
    low, high = (np.array([value * radius - mean]) for value in (1.0, max_ratio))
    return Reference(height, mean, between, 2 * radius, np.array([0.0, math.inf]), low - off, high + off, off, off)


def around_cap(
    radius: float,
    border: AnyArray,
    grid: Callable[[FloatArray, FloatArray], AnyArray],
    between: Between,
    off: float,
    rough: float,
) -> Reference:
    """Return ν on equally spaced points of the border of a cap.

    border: these points. grid: returns the points at distances from the centre, and angles from the first of them in
    radians. r changes by no more than the distance of two points, so that a grid of points bounds it on each ring.
    """
    mean = float(between(border, border).mean()) / 2

    def height(points: AnyArray) -> FloatArray:
        return np.asarray(between(points, border).mean(axis=1) - mean)

    away = radius * np.linspace(0, 1, RINGS + 1)
    turns = math.pi / len(border) * np.arange(0.5, TURNS) / TURNS  # other angles are reflections and rotations
    middles = (away[1:] + away[:-1]) / 2
    heights = height(grid(np.repeat(middles, TURNS), np.tile(turns, RINGS))).reshape(RINGS, TURNS)
    slack = (away[1] - away[0]) / 2 + radius * math.pi / len(border) / TURNS / 2 + rough
    low, high = heights.min(axis=1) - slack, heights.max(axis=1) + slack
    return Reference(height, mean, between, 2 * radius, away, low, high, off, rough)
