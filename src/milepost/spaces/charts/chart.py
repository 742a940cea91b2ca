"""Charts: a two-dimensional space as a square of the plane, on which public grids are laid. docs/proofs/quadtree.md."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from milepost._typing import AnyArray, FloatArray

MARGIN = 1e-9  # of the side of a square, for the rounding of positions and of the border of a space
MIN_STRETCH = 0.25  # of squared lengths in Lambert's projection, for which second derivatives are bounded


class InterpolationErrors(NamedTuple):
    """What interpolated distances to queries are more than the distances themselves: float64[m, k] each.

    low, high: bounds, anywhere in a cell of which the vertex is a corner. typical: about the mean of the error, where
    people are spread evenly.
    """

    low: FloatArray
    typical: FloatArray
    high: FloatArray


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
    def queries(self, positions: FloatArray) -> FloatArray:
        """Return the points at positions float64[n, 2] as `Space.read_queries` returns them."""

    @abstractmethod
    def interpolation_errors(
        self, positions: FloatArray, distances: FloatArray, width: float, queries: FloatArray
    ) -> InterpolationErrors:
        """Return the errors of bilinear interpolation in square cells of a width, with these vertices as corners.

        positions: of the vertices, float64[m, 2]. distances: of the vertices to queries, float64[m, k]. queries: as
        `Space.query_records` returns them.
        """

    def typical_errors(
        self,
        positions: FloatArray,  # noqa: ARG002
        distances: FloatArray,
        width: float,
        queries: FloatArray,  # noqa: ARG002
    ) -> FloatArray:
        """Return `typical` of `interpolation_errors` alone, in less time.

        Mixtures of a cell's corners have a variance of width²/3 on average, half of it across the direction to a query.
        """
        return np.asarray(np.sqrt(distances * distances + width * width / 6) - distances)

    @abstractmethod
    def gap(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Return how far the space is from rectangles with corners float64[m, 2]: 0 where a record can be inside."""

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
        """Return the points at positions."""
        return np.asarray(positions / np.array(self.weights) + np.array(self.low))

    def queries(self, positions: FloatArray) -> FloatArray:
        """Return the points themselves."""
        return self.points(positions)

    def gap(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Return the distance of the nearest point of a rectangle to the disc, or to the rectangle of the space."""
        if not self.disc:
            return np.asarray(np.maximum(low - np.array(self.widths), 0).max(axis=1))
        radius = self.side / 2
        nearest = np.clip(radius, low, high) - radius
        return np.asarray(np.maximum(np.hypot(nearest[:, 0], nearest[:, 1]) - radius, 0))

    def interpolation_errors(
        self, positions: FloatArray, distances: FloatArray, width: float, queries: FloatArray
    ) -> InterpolationErrors:
        """Return 0, since distances are convex, and the upper bound (Lemma 3 of the proof page)."""
        typical = self.typical_errors(positions, distances, width, queries)
        high = 4 * typical if self.taxicab else curved_error(np.maximum(distances - math.sqrt(2) * width, 0), width)
        return InterpolationErrors(np.zeros_like(high), typical, np.asarray(high * (1 + MARGIN)))

    def typical_errors(
        self, positions: FloatArray, distances: FloatArray, width: float, queries: FloatArray
    ) -> FloatArray:
        """Return a quarter of the bound for sums over columns, which are linear in most cells."""
        if not self.taxicab:
            return super().typical_errors(positions, distances, width, queries)
        # linear, except in the strips of cells that have a coordinate of the query inside
        apart = np.abs(positions[:, None] - self.positions(queries)[None]) / width
        return np.asarray(np.where(apart < 1, width / 2 * apart * (1 - apart), 0.0).sum(axis=2))


@dataclass(frozen=True)
class SphereChart(Chart):
    """The chart of a cap of a sphere around its centre: Lambert's equal-area projection, which needs square roots only.

    Records are unit vectors (east, north, up) as seen from the centre. sphere_radius: of the sphere. angle: of the cap,
    at most π/2. latitude, longitude: of the centre, in degrees.
    """

    sphere_radius: float
    angle: float
    latitude: float
    longitude: float

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

    def queries(self, positions: FloatArray) -> FloatArray:
        """Return (lat, lon) in degrees."""
        east, north, up = self.points(positions).T
        sine, cosine = math.sin(math.radians(self.latitude)), math.cos(math.radians(self.latitude))
        outward = up * cosine - north * sine
        longitude = self.longitude + np.degrees(np.arctan2(east, outward))
        latitude = np.degrees(np.arctan2(up * sine + north * cosine, np.hypot(outward, east)))
        return np.column_stack([latitude, longitude - 360 * np.rint(longitude / 360)])

    def gap(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Return the distance of the nearest point of a rectangle to the disc."""
        nearest = np.clip(self._radius, low, high) - self._radius
        return np.asarray(np.maximum(np.hypot(nearest[:, 0], nearest[:, 1]) - self._radius, 0))

    def interpolation_errors(
        self,
        positions: FloatArray,
        distances: FloatArray,
        width: float,
        queries: FloatArray,
    ) -> InterpolationErrors:
        """Return bounds from the second derivatives of a distance along the axes (Lemma 4 of the proof page)."""
        typical = self.typical_errors(positions, distances, width, queries)
        radius, reach = self.sphere_radius, self._radius + math.sqrt(2) * width  # cells reach a little beyond the cap
        stretch = 1 - reach * reach / (4 * radius * radius)
        if stretch < MIN_STRETCH:  # large cells of a hemisphere: no difference of distances is more than this
            largest = np.full_like(distances, math.pi * radius)
            return InterpolationErrors(-largest, typical, largest)
        bend = math.hypot(max(3, 1 / stretch), 1) * reach / (4 * radius * radius * math.sqrt(stretch))
        diagonal = width * math.sqrt(2 / stretch)
        nearest, farthest = np.maximum(distances - diagonal, 0), np.minimum(distances + diagonal, math.pi * radius)
        # beyond a quarter of the circumference distances are concave along circles around the query
        with np.errstate(divide="ignore"):
            concave = np.where(farthest < math.pi * radius, np.maximum(-1 / np.tan(farthest / radius), 0), np.inf)
        square, limit = width * width / 8, diagonal / 2
        with np.errstate(divide="ignore"):
            turn = 2 * diagonal * (bend + 1 / (stretch * nearest))  # of the direction to the query, within a cell
            high = square * ((1 / stretch + turn) / nearest + 2 * bend)
        high = np.minimum(high, limit)
        low = np.maximum(-2 * square * (concave / (radius * stretch) + bend), -limit)
        bounds = np.asarray(low * (1 + MARGIN)), np.asarray(high * (1 + MARGIN))
        return InterpolationErrors(bounds[0], typical, bounds[1])


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
