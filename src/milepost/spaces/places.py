"""Places: latitude and longitude in degrees, as people write them."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from milepost._typing import FloatArray
from milepost.errors import MilepostError, warn
from milepost.spaces.numeric import Aliases, find

COLUMNS = ("lat", "lon")
WIDE = 10.0  # degrees, about 1,100 km
ALIASES: Aliases = {"lat": ("latitude",), "lon": ("lng", "long", "longitude")}


def geographic(vector: FloatArray, latitude: float, longitude: float) -> tuple[float, float]:
    """(lat, lon) of a public vector (east, north, up), seen from a place."""
    east, north, up = vector.tolist()
    sine, cosine = math.sin(math.radians(latitude)), math.cos(math.radians(latitude))
    outward = up * cosine - north * sine
    turned = longitude + math.degrees(math.atan2(east, outward))
    return (
        math.degrees(math.atan2(up * sine + north * cosine, math.hypot(outward, east))),
        turned - 360 * round(turned / 360),
    )


def named_place(center: Any) -> tuple[float, float]:
    """A centre by name or in order; one that is none is refused."""
    if isinstance(center, Mapping):
        names = [str(name) for name in center]
        found = [find(names, name, ALIASES) for name in COLUMNS]
        known = [list(center.values())[position] for position in found if position is not None]
        center = known if len(names) == 2 else names
    try:
        latitude, longitude = (float(value) for value in center)
    except (TypeError, ValueError):
        raise MilepostError(f"center must be a place (lat, lon) in degrees, got {center!r}") from None
    if not (abs(latitude) <= 90 and abs(longitude) <= 360):
        raise impossible("center", latitude, longitude)
    return latitude, longitude


def impossible(what: str, latitude: float, longitude: float) -> MilepostError:
    """That there is no such place, and the other order where that would be one."""
    swapped = abs(longitude) <= 90 and abs(latitude) <= 360
    return MilepostError(
        f"{what} must be (lat, lon) in degrees, lat within ±90 and lon within ±360, got lat {latitude:g} and lon "
        f"{longitude:g}" + (f"; if that is (lon, lat), write ({longitude:g}, {latitude:g})" if swapped else "")
    )


def warn_swapped(points: FloatArray, latitude: float, longitude: float, radius: float) -> None:
    """Say when all queries are out of a cap, of this radius in degrees, but would be in it the other way around.

    Not of a cap that is so wide that this may well be meant.
    """
    if radius > WIDE or not len(points):
        return
    lat, lon = points[:, 0], points[:, 1]
    narrow = math.cos(math.radians(latitude))
    if np.all((np.abs(lat - latitude) > radius) & (np.hypot(lon - latitude, narrow * (lat - longitude)) <= radius)):
        warn("the query points lie outside the cap but inside as (lon, lat): milepost takes (lat, lon)")
