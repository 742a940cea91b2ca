"""Charts: a two-dimensional space as a square of the plane, on which public grids are laid. docs/proofs/quadtree.md."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from milepost._typing import AnyArray, FloatArray

MARGIN = 1e-9  # of the side of a square, for the rounding of positions and of the border of a space
MAX_BEND = math.sqrt(10)  # of straight lines of Lambert's projection, in units of their distance from the centre


class Chart(ABC):
    """A square that covers a space. Positions in it are in the unit of distances, from 0 to `side` along both axes.

    A chart is public. It can be pickled, and is the same on every computer.
    """

    @property
    @abstractmethod
    def side(self) -> float:
        """The side of the square."""

    @property
    @abstractmethod
    def lipschitz(self) -> float:
        """The largest ratio of the distance of two points of the space to the distance of their positions."""

    @abstractmethod
    def positions(self, records: FloatArray) -> FloatArray:
        """Return the positions of records, float64[n, 2]; each row depends on its own record only, bit for bit."""

    @abstractmethod
    def points(self, positions: FloatArray) -> FloatArray:
        """Return the points at positions float64[n, 2] as records; they may lie in the square but outside the space."""

    @abstractmethod
    def gap(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Return how far the space is from rectangles with corners float64[m, 2]: 0 where a record can be inside."""

    @abstractmethod
    def interpolation_errors(self, low: FloatArray, width: float, queries: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return bounds on the error of bilinear interpolation in square cells: float64[m, k], float64[m, k].

        The distance to a query is known at the corners of a cell and interpolated inside. What this is more than the
        distance itself lies between the two bounds, anywhere in the cell. low: the low corners of cells, float64[m, 2].
        queries: as `Space.query_records` returns them.
        """

    def inside(self, low: FloatArray, width: float) -> AnyArray:
        """Return which square cells can have a record: bool[m], of cells with these low corners."""
        return np.asarray(self.gap(low, low + width) <= MARGIN * self.side)


@dataclass(frozen=True)
class PlaneChart(Chart):
    """The chart of a rectangle or a disc in the plane: columns are moved to 0 and multiplied by their weights.

    low: of each column. weights: of each column. widths: of the rectangle, in the unit of distances. taxicab: whether
    distances are sums over columns, rather than Euclidean. disc: whether the space is the disc inside the square.
    """

    low: tuple[float, float]
    weights: tuple[float, float]
    widths: tuple[float, float]
    taxicab: bool = False
    disc: bool = False

    @property
    def side(self) -> float:
        """The larger side of the rectangle."""
        return max(self.widths)

    @property
    def lipschitz(self) -> float:
        """1, or √2 for sums over columns."""
        return math.sqrt(2) if self.taxicab else 1.0

    def positions(self, records: FloatArray) -> FloatArray:
        """Return records moved and scaled."""
        return np.asarray((records - np.array(self.low)) * np.array(self.weights))

    def points(self, positions: FloatArray) -> FloatArray:
        """Return the points at positions; in a column without weight, its lower bound."""
        weights = np.array(self.weights)
        return np.asarray(np.divide(positions, weights, out=np.zeros_like(positions), where=weights > 0) + self.low)

    def gap(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Return the distance of the nearest point of a rectangle to the disc, or to the rectangle of the space."""
        if not self.disc:
            return np.asarray(np.maximum(low - np.array(self.widths), 0).max(axis=1))
        radius = self.side / 2
        nearest = np.clip(radius, low, high) - radius
        return np.asarray(np.maximum(np.hypot(nearest[:, 0], nearest[:, 1]) - radius, 0))

    def interpolation_errors(self, low: FloatArray, width: float, queries: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return 0, since distances are convex, and the upper bound (Lemma 2 of the proof page)."""
        places = self.positions(queries)[None]
        first = low[:, None]
        if self.taxicab:  # linear, except in a strip of cells that has a coordinate of the query inside
            share = np.clip((places - first) / width, 0, 1)
            high = (2 * width * share * (1 - share)).sum(axis=2)
        else:
            outside = np.maximum(np.maximum(first - places, places - first - width), 0)
            high = curved_error(np.hypot(outside[..., 0], outside[..., 1]), width)
        return np.zeros_like(high), np.asarray(high * (1 + MARGIN))


@dataclass(frozen=True)
class SphereChart(Chart):
    """The chart of a cap of a sphere around its centre: Lambert's equal-area projection, which needs square roots only.

    Records are unit vectors (east, north, up). sphere_radius: of the sphere. angle: of the cap, at most π/2.
    """

    sphere_radius: float
    angle: float

    @property
    def _radius(self) -> float:
        """The radius of the disc that the cap becomes."""
        return 2 * self.sphere_radius * math.sin(self.angle / 2)

    @property
    def side(self) -> float:
        """The diameter of the disc that the cap becomes."""
        return 2 * self._radius

    @property
    def lipschitz(self) -> float:
        """1/cos(angle/2): at the border of the cap, distances outwards are that much longer than in the chart."""
        return 1 / math.cos(self.angle / 2)

    def positions(self, records: FloatArray) -> FloatArray:
        """Return (east, north)·√(2/(1 + up)), by operations that are rounded one way only."""
        factor = np.sqrt(2 / (1 + records[:, 2])) * self.sphere_radius
        return np.asarray(records[:, :2] * factor[:, None] + self._radius)

    def points(self, positions: FloatArray) -> FloatArray:
        """Return unit vectors."""
        plane = (positions - self._radius) / self.sphere_radius
        squares = (plane * plane).sum(axis=1)
        return np.column_stack([plane * np.sqrt(np.maximum(1 - squares / 4, 0))[:, None], 1 - squares / 2])

    def gap(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Return the distance of the nearest point of a rectangle to the disc."""
        nearest = np.clip(self._radius, low, high) - self._radius
        return np.asarray(np.maximum(np.hypot(nearest[:, 0], nearest[:, 1]) - self._radius, 0))

    def interpolation_errors(self, low: FloatArray, width: float, queries: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return bounds from the second derivative of a distance along the axes (Lemma 3 of the proof page)."""
        radius, reach = self.sphere_radius, self._radius + math.sqrt(2) * width
        stretch = max(1 - reach * reach / (4 * radius * radius), 0.25)  # a cell may reach a little beyond the cap
        bend = MAX_BEND * reach / (4 * radius * radius * math.sqrt(stretch))
        centers = self.points(low + width / 2)
        half_chords = np.linalg.norm(centers[:, None] - queries[None], axis=2) / 2
        away = 2 * radius * np.arcsin(np.minimum(half_chords, 1))
        half_diagonal = width / math.sqrt(2 * stretch)
        nearest, farthest = np.maximum(away - half_diagonal, 0), np.minimum(away + half_diagonal, math.pi * radius)
        # beyond a quarter of the circumference distances are concave along circles around the query
        with np.errstate(divide="ignore"):
            concave = np.maximum(-1 / np.tan(farthest / radius), 0) / radius
            concave = np.where(farthest >= math.pi * radius, np.inf, concave)
        square, limit = width * width / 8, half_diagonal
        curved = curved_error(nearest, width) / stretch
        high = np.minimum(curved + 2 * square * bend * (1 + math.sqrt(8) * width / np.maximum(nearest, width)), limit)
        low_bound = np.maximum(-2 * square * (concave / stretch + bend), -limit)
        return np.asarray(low_bound * (1 + MARGIN)), np.asarray(high * (1 + MARGIN))


def curved_error(nearest: FloatArray, width: float) -> FloatArray:
    """Return the largest error of interpolating a Euclidean distance in a square cell, at this distance from it.

    A mixture of the corners has a variance of at most width²/2 around its mean, so that its mean distance is at most
    √(r² + width²/2), where r is that of the mean. Far from the query, the second derivatives along both axes add up to
    1/r at every place, and differ within the cell by the angle at which the query sees it.
    """
    square = width * width
    anywhere = np.sqrt(nearest * nearest + square / 2) - nearest
    with np.errstate(divide="ignore", invalid="ignore"):
        far = square / (8 * nearest) * (1 + math.sqrt(2) * width / nearest)
    return np.asarray(np.fmin(anywhere, far))
