"""Cap: the places within a radius of a centre on the Earth, their chart, and great-circle distances in kilometers.

The chart is Lambert's equal-area projection: it makes the cap a disc, here inside the square [0, SIDE_KM]². This module
imports neither Milepost nor any peer.
"""

import math

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
CENTER = (52.5, 13.4)  # latitude and longitude in degrees
RADIUS_KM = 40.0
EARTH_KM = 6371.0088  # the mean radius of the Earth
SIDE_KM = 4 * EARTH_KM * math.sin(RADIUS_KM / EARTH_KM / 2)  # the diameter of the disc


def unit_vectors(points: FloatArray) -> FloatArray:
    """Return points (lat, lon) in degrees as unit vectors float64[n, 3]."""
    latitude, longitude = np.radians(points).T
    along = np.cos(latitude)
    return np.column_stack([along * np.cos(longitude), along * np.sin(longitude), np.sin(latitude)])


def lengths_of(chords: FloatArray) -> FloatArray:
    """Return great-circle distances from straight distances between unit vectors."""
    return np.asarray(2 * EARTH_KM * np.arcsin(np.minimum(chords / 2, 1.0)))


def haversine(points: FloatArray, place: FloatArray) -> FloatArray:
    """Return the distances of points to one place, all (lat, lon) in degrees."""
    latitude, longitude = np.radians(points).T
    other, turn = np.radians(place)
    square = np.sin((latitude - other) / 2) ** 2
    square += np.cos(latitude) * math.cos(other) * np.sin((longitude - turn) / 2) ** 2
    return np.asarray(2 * EARTH_KM * np.arcsin(np.sqrt(np.minimum(square, 1.0))))


def _axes() -> FloatArray:
    """Return the directions east, north and up at the centre, as rows."""
    longitude = math.radians(CENTER[1])
    east = [-math.sin(longitude), math.cos(longitude), 0.0]
    (up,) = unit_vectors(np.array([CENTER]))
    return np.array([east, np.cross(up, east), up])


def to_chart(points: FloatArray) -> FloatArray:
    """Return the positions of points (lat, lon) in the square: kilometers from its south-western corner."""
    east, north, up = _axes() @ unit_vectors(points).T
    factor = EARTH_KM * np.sqrt(2 / (1 + up))
    return np.column_stack([east * factor, north * factor]) + SIDE_KM / 2


def from_chart(positions: FloatArray) -> FloatArray:
    """Return the points (lat, lon) at positions in the square; positions outside the disc are moved to its border."""
    plane = positions - SIDE_KM / 2
    away = np.hypot(plane[:, 0], plane[:, 1])
    plane = plane * (SIDE_KM / 2 / np.maximum(away, SIDE_KM / 2))[:, None] / EARTH_KM
    squares = (plane * plane).sum(axis=1)
    local = np.column_stack([plane * np.sqrt(1 - squares / 4)[:, None], 1 - squares / 2])
    x, y, z = _axes().T @ local.T
    return np.asarray(np.degrees(np.column_stack([np.arctan2(z, np.hypot(x, y)), np.arctan2(y, x)])))


def in_disc(rng: np.random.Generator, size: int) -> FloatArray:
    """Return positions that are uniform in the disc; their points are uniform in the cap."""
    turns, away = rng.uniform(0, 2 * math.pi, size), SIDE_KM / 2 * np.sqrt(rng.random(size))
    return np.column_stack([away * np.cos(turns), away * np.sin(turns)]) + SIDE_KM / 2


def empty_cells(cells: int) -> npt.NDArray[np.int64]:
    """Return which of cells × cells cells of the square have no place of the cap: int64[m, 2], their numbers."""
    low = np.arange(cells) * (SIDE_KM / cells)
    nearest = np.clip(SIDE_KM / 2, low, low + SIDE_KM / cells) - SIDE_KM / 2
    return np.argwhere(np.hypot(nearest[:, None], nearest) >= SIDE_KM / 2 * (1 + 1e-9))
