"""GeoDataFrames and GeoSeries of points as plain columns, after a check of their reference system."""

from typing import Any

from milepost.errors import MilepostError
from milepost.spaces.base import Space
from milepost.spaces.objects import package


def to_columns(data: Any, space: Space) -> Any:
    """Return points with a reference system as a frame with the space's columns, and other data as it is.

    A space in degrees (`GreatCircle`) takes EPSG:4326; a plane one of two columns takes projected systems, whose x and
    y become its columns in this order.
    """
    if package(data) != "geopandas":
        return data
    if data.crs is None:
        raise MilepostError("the geometry has no reference system; say which with set_crs(4326) or another number")
    name = data.crs.name
    if space.geographic:
        if data.crs.to_epsg() != 4326:
            raise MilepostError(f"space {space.kind} takes EPSG:4326, the geometry is in {name}; use to_crs(4326)")
    elif space.extent is None or len(space.extent) != 2:
        raise MilepostError(f"space {space.kind} takes no geometry; GreatCircle does in EPSG:4326, L2 when projected")
    elif not data.crs.is_projected:
        raise MilepostError(
            f"space {space.kind} measures in a plane, the geometry is in {name}; project it with to_crs(…) to a "
            "system in metres, or use GreatCircle for degrees"
        )
    geometry = data.geometry
    if not (geometry.geom_type.dropna() == "Point").all():
        raise MilepostError("the geometry must be points; take their centroid or representative_point() first")
    import pandas as pd

    x, y = geometry.x, geometry.y
    first, second = (y, x) if space.geographic else (x, y)
    return pd.DataFrame({space.names[0]: first, space.names[1]: second})
