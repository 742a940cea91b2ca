"""GeoDataFrames, and real places: airports from vega_datasets."""

import json
from pathlib import Path
from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import pytest
from pyproj import Geod
from shapely.geometry import LineString, Point
from vega_datasets import local_data

import milepost as mp
from milepost.spaces.geographic import EARTH_KM
from tests.chance import sure

SPHERE = Geod(a=EARTH_KM * 1000, b=EARTH_KM * 1000)
MAINLAND = mp.GreatCircle((39.0, -97.0), 3000, directions=64)
SITES = {"Denver": (39.86, -104.67), "Atlanta": (33.64, -84.43), "Chicago": (41.98, -87.9), "Seattle": (47.45, -122.3)}


@pytest.fixture(scope="module")
def airports() -> pd.DataFrame:
    """3,376 airports of the United States, by latitude and longitude."""
    return pd.DataFrame(local_data.airports())[["name", "latitude", "longitude"]]


def frame(airports: pd.DataFrame, crs: Any = 4326) -> Any:
    points = gpd.points_from_xy(airports["longitude"], airports["latitude"])
    return gpd.GeoDataFrame(airports[["name"]], geometry=points, crs=crs)


@pytest.mark.parametrize(
    ("center", "radius"), [((52.5, 13.4), 40), ((0, 179.9), 5000), ((90, 0), 10_000), ((-89, 30), 2000), ((10, 20), 1)]
)
def test_distances_are_those_of_a_sphere(center: tuple[float, float], radius: float) -> None:
    """An independent geodesic library agrees on a sphere, rim and poles and antimeridian included."""
    space = mp.GreatCircle(center, radius)
    generator = np.random.default_rng(0)
    azimuth = generator.uniform(0, 360, 400)
    lengths = radius * 1000 * np.r_[np.sqrt(generator.random(300)), np.ones(100)]
    lon, lat, _ = SPHERE.fwd(np.full(400, center[1]), np.full(400, center[0]), azimuth, lengths)
    points = np.column_stack([lat, lon])
    _, _, metres = SPHERE.inv(lon[:200], lat[:200], lon[200:], lat[200:])
    distances = space.distance(space.read(points[:200]), space.read_queries(points[200:])).diagonal()
    assert distances == pytest.approx(metres / 1000, rel=1e-9, abs=1e-6)


@pytest.mark.slow
def test_real_airports_are_released_and_sites_ranked(airports: pd.DataFrame) -> None:
    """Columns are found by their names; the ranking of four sites, over 90 km apart, is the true one, within errors."""
    synopsis = mp.release(airports, MAINLAND, epsilon=50, delta=1e-6, mechanism="slopes")
    sites = list(SITES.values())
    exact = mp.exact_mean_distance(airports, MAINLAND, sites)
    answers = synopsis.mean_distance(sites)
    bound = synopsis.error(sure(len(sites)))
    assert np.abs(answers - exact).max() <= bound
    assert 2 * bound < np.diff(np.sort(exact)).min()
    assert list(np.argsort(answers)) == list(np.argsort(exact))
    center_mean = mp.exact_mean_distance(airports, MAINLAND, [synopsis.center()])[0]
    assert center_mean <= mp.exact_mean_distance(airports, MAINLAND, [[39.5, -93.0]])[0] + 2 * synopsis.error(
        sure(), uniform=True
    )


def test_geometry_in_degrees(airports: pd.DataFrame) -> None:
    """Points in EPSG:4326 are latitudes and longitudes, as data and as queries; a frame of them keeps its index."""
    geometry = frame(airports)
    assert mp.exact_mean_distance(geometry, MAINLAND, [[39, -97]]) == pytest.approx(
        mp.exact_mean_distance(airports, MAINLAND, [[39, -97]])
    )
    synopsis = mp.release(geometry, MAINLAND, epsilon=5, delta=1e-6, mechanism="slopes")
    queries = geometry.iloc[[5, 9]]
    answers = synopsis.mean_distance(queries)
    assert list(answers.index) == [5, 9]
    plain = airports.iloc[[5, 9]][["latitude", "longitude"]]
    assert answers.to_numpy() == pytest.approx(synopsis.mean_distance(plain).to_numpy())
    assert synopsis.mean_distance(queries.geometry).to_numpy() == pytest.approx(answers.to_numpy())


def test_projected_geometry(airports: pd.DataFrame) -> None:
    """Metres of a projected system are the columns of a plane space; L2 then agrees with the sphere within 2 %."""
    subset = frame(airports[(airports["longitude"].between(-100, -90)) & airports["latitude"].between(35, 42)])
    projected = subset.to_crs(5070)
    space = mp.L2({"x": (-1e6, 1e6), "y": (1e6, 3e6)})
    query = gpd.GeoSeries([Point(-96, 38)], crs=4326)
    metres = mp.exact_mean_distance(projected, space, query.to_crs(5070))
    kilometres = mp.exact_mean_distance(subset, MAINLAND, query)
    assert metres[0] / 1000 == pytest.approx(kilometres[0], rel=0.02)


@pytest.mark.parametrize(
    ("crs", "space", "message"),
    [
        (None, MAINLAND, "no reference system"),
        (5070, MAINLAND, r"takes EPSG:4326.*to_crs\(4326\)"),
        (4267, MAINLAND, "takes EPSG:4326"),
        (4326, mp.L2([(0, 1), (0, 1)]), r"measures in a plane.*GreatCircle"),
        (5070, mp.L2([(0, 1)] * 3), "takes no geometry"),
        (4326, mp.Angular(2), "takes no geometry"),
    ],
)
def test_other_reference_systems_are_refused(airports: pd.DataFrame, crs: Any, space: Any, message: str) -> None:
    """With what to do; nothing is spent."""
    with pytest.raises(mp.MilepostError, match=message):
        mp.release(frame(airports[:20], crs), space, epsilon=1, delta=1e-6, mechanism="slopes")


def test_only_points_are_places() -> None:
    """A line has no single place; a missing point is a missing value."""
    line = gpd.GeoSeries([LineString([(0, 0), (1, 1)])], crs=4326)
    with pytest.raises(mp.MilepostError, match="must be points"):
        mp.exact_mean_distance(line, MAINLAND, [[39, -97]])
    points = gpd.GeoSeries([Point(-96, 38), None], crs=4326)
    with pytest.raises(mp.MilepostError, match=r"'lat' has a missing value or NaN in row 2"):
        mp.exact_mean_distance(points, MAINLAND, [[39, -97]])


def test_a_release_of_places_is_a_file(airports: pd.DataFrame, tmp_path: Path) -> None:
    """Saved and loaded, with its centre in the card."""
    synopsis = mp.release(airports, MAINLAND, epsilon=5, delta=1e-6, mechanism="slopes")
    synopsis.save(tmp_path / "airports.milepost")
    loaded_synopsis = mp.load(tmp_path / "airports.milepost")
    assert loaded_synopsis.mean_distance([39, -97]) == synopsis.mean_distance([39, -97])
    assert json.loads(json.dumps(loaded_synopsis.card))["space"]["kind"] == "great-circle"
