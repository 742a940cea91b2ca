"""References: public measures ν around balls, boxes and caps, with r bounded from both sides. docs/proofs/field.md."""

import math
from collections.abc import Callable

import numpy as np
import scipy

from milepost._typing import AnyArray, FloatArray
from milepost.spaces.kernels.kernel import Reference

Between = Callable[[AnyArray, AnyArray], FloatArray]
RINGS = 256
CORNERS = 64  # pairs of opposite corners of a box
POINTS = 64  # on the border of a cap
TURNS = 32  # of a place between two of these, at which a cap's r is computed
ACCURACY = 1e-9  # of mean distances to a sphere, at least, in radii
SMOOTH = 10  # dimensions from which these are integrals of a smooth function, at so many nodes
NODES = 128


def around_ball(center: FloatArray, radius: float, between: Between, off: float) -> Reference:
    """ν uniform on the sphere around a Euclidean ball: r depends on the distance from the centre and grows with it."""
    dimension = len(center)
    mean = radius * float(_to_sphere(dimension, np.ones(1))[0]) / 2

    def height(points: AnyArray) -> FloatArray:
        share = between(points, center[None])[:, 0] / radius
        return np.asarray(radius * _to_sphere(dimension, share) - mean)

    share = np.linspace(0, 1, RINGS + 1)
    heights = radius * _to_sphere(dimension, share) - mean
    slack = ACCURACY * radius
    low, high = heights[:-1] - slack, heights[1:] + slack
    if dimension == 1:  # both ends of an interval: together they are as far from every point
        low = high = np.full(RINGS, radius / 2)
    return Reference(height, mean, between, 2 * radius, share * radius, low, high, off, off)


def _to_sphere(dimension: int, share: FloatArray) -> FloatArray:
    """The mean distance from a point, this share of a radius away from the centre, to the unit sphere."""
    inside = np.minimum(share, 1.0)
    if dimension < SMOOTH:
        return np.asarray(scipy.special.hyp2f1(-0.5, (1 - dimension) / 2, dimension / 2, inside**2))
    # the cosine t between the two has a density of (1 − t²)^((d − 3)/2), which is Gegenbauer's weight
    cosine, weight = scipy.special.roots_gegenbauer(NODES, dimension / 2 - 1)
    return np.asarray(np.sqrt(1 + inside[:, None] ** 2 - 2 * inside[:, None] * cosine) @ (weight / weight.sum()))


def corners(p: float, center: FloatArray, half: FloatArray, between: Between, off: float) -> Reference:
    """ν on pairs of opposite corners of a box, in ℓp.

    The mean distance to both corners of a pair is at least half of their own, and its mean over the pairs at most
    2^(1 − 1/p) times that: the power mean of order p, column by column.
    """
    generator = np.random.default_rng(len(center))
    signs = generator.integers(0, 2, (CORNERS, len(center))) * 2 - 1
    places = np.concatenate([center + signs * half, center - signs * half])
    radius = float((half**p).sum() ** (1 / p))
    mean = float(between(places, places).mean()) / 2

    def height(points: AnyArray) -> FloatArray:
        return np.asarray(between(points, places).mean(axis=1) - mean)

    most = 1.0 if np.count_nonzero(half) == 1 else 2 ** (1 - 1 / p)
    low, high = (np.array([value * radius - mean]) for value in (1.0, most))
    return Reference(height, mean, between, 2 * radius, np.array([0.0, math.inf]), low - off, high + off, off, off)


def around_cap(
    radius: float,
    places: AnyArray,
    grid: Callable[[FloatArray, FloatArray], AnyArray],
    between: Between,
    off: float,
    rough: float,
) -> Reference:
    """ν on equally spaced places on the border of a cap, of which `places` are the points.

    grid: the points at distances from the centre, and turns from the first place in radians.
    r changes by no more than the way between two points, so that it is known on each ring from a grid of them.
    """
    mean = float(between(places, places).mean()) / 2

    def height(points: AnyArray) -> FloatArray:
        return np.asarray(between(points, places).mean(axis=1) - mean)

    away = radius * np.linspace(0, 1, RINGS + 1)
    turns = math.pi / len(places) * np.arange(0.5, TURNS) / TURNS  # what follows is the same, mirrored and turned
    middles = (away[1:] + away[:-1]) / 2
    heights = height(grid(np.repeat(middles, TURNS), np.tile(turns, RINGS))).reshape(RINGS, TURNS)
    slack = (away[1] - away[0]) / 2 + radius * math.pi / len(places) / TURNS / 2 + rough
    low, high = heights.min(axis=1) - slack, heights.max(axis=1) + slack
    return Reference(height, mean, between, 2 * radius, away, low, high, off, rough)
