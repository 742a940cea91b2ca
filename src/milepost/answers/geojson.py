"""GeoJSON (RFC 7946): points and lines as dicts that `json` writes.

Positions are longitude, latitude in spaces of degrees. In planar spaces they are x, y, in the order of the columns; the
standard does not cover this, but most programs draw it.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from milepost._typing import FloatArray
from milepost.errors import MilepostError
from milepost.spaces.base import Space
from milepost.storage.atomic_file import atomic_write

DECIMALS = 7  # of a longitude or latitude: about a centimetre


def collection(features: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return a FeatureCollection."""
    return {"type": "FeatureCollection", "features": list(features)}


def point(coordinates: Sequence[float], geographic: bool, properties: dict[str, Any]) -> dict[str, Any]:
    """Return a point of a space, given in the order of its columns, as a Feature."""
    first, second = (float(number) for number in coordinates)
    position = [_wrap_longitude(second), first] if geographic else [first, second]
    return _feature("Point", position, properties)


def lines(parts: Iterable[FloatArray], geographic: bool, properties: dict[str, Any]) -> dict[str, Any]:
    """Return lines float64[k, 2] of x and y (longitude and latitude) as one Feature, cut at the antimeridian."""
    pieces = [piece for part in parts for piece in (split_at_antimeridian(part) if geographic else [part])]
    return _feature("MultiLineString", [piece.tolist() for piece in pieces], properties)


def check(space: Space) -> None:
    """Refuse a space whose points are not positions in the plane or on the earth."""
    if space.objects or space.width != 2:
        raise MilepostError(
            f"GeoJSON needs points of two numbers, such as longitude and latitude; those of this space "
            f"({space.kind}) have {', '.join(space.names)}"
        )


def write(path: Path, content: dict[str, Any]) -> None:
    """Write JSON as one line, without NaN; the file appears complete or not at all."""
    line = json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n"
    with atomic_write(path) as stream:
        stream.write(line.encode())


def split_at_antimeridian(line: FloatArray) -> list[FloatArray]:
    """Split a line whose longitudes continue beyond ±180 into lines within ±180 (RFC 7946, 3.1.9)."""
    turns = np.floor((line[:, 0] + 180) / 360)
    pieces, piece = [], [line[0]]
    for before, after, turn, next_turn in zip(line[:-1], line[1:], turns[:-1], turns[1:], strict=True):
        if turn != next_turn:
            border = 360 * max(turn, next_turn) - 180
            share = (border - before[0]) / (after[0] - before[0])
            crossing = np.array([border, before[1] + share * (after[1] - before[1])])
            pieces.append((turn, [*piece, crossing]))
            piece = [crossing]
        piece.append(after)
    pieces.append((turns[-1], piece))
    wrapped = [np.round(np.array(part) - [360 * turn, 0], DECIMALS) for turn, part in pieces]
    return [part for part in wrapped if len(np.unique(part, axis=0)) > 1]


def _wrap_longitude(longitude: float) -> float:
    return longitude - 360 * round(longitude / 360)


def _feature(kind: str, coordinates: list[Any], properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Feature", "geometry": {"type": kind, "coordinates": coordinates}, "properties": properties}
