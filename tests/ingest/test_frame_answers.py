"""A frame of points is answered by a Series of its library, with its index; a table of answers by a frame."""

from typing import Any

import geopandas as gpd
import numpy as np
import pandas as pd
import polars as pl
import pytest
from shapely.geometry import Point

import milepost as mp

POINTS = np.array([[2.0, 3.0], [5.0, 5.0], [9.0, 1.0]])
PEOPLE = np.random.default_rng(0).uniform(0, 10, (20_000, 2))
SPACE = mp.L1({"x": (0, 10), "y": (0, 10)})
FRAME = pd.DataFrame({"name": ["a", "b", "c"], "y": POINTS[:, 1], "x": POINTS[:, 0]}, index=["p", "q", "r"])
LABELS = ["low", "high"]


@pytest.fixture(scope="module")
def synopsis() -> mp.Synopsis:
    return mp.release(PEOPLE, SPACE, epsilon=1, delta=1e-6)


@pytest.fixture(scope="module")
def grouped() -> mp.Synopsis:
    groups = np.where(PEOPLE.sum(axis=1) < 10, "low", "high")
    return mp.release(PEOPLE, SPACE, epsilon=1, delta=1e-6, groups=groups, labels=LABELS)


@pytest.mark.parametrize("frame", [FRAME, pl.from_pandas(FRAME)], ids=["pandas", "polars"])
def test_answers_are_like_the_frame(frame: Any, synopsis: mp.Synopsis, grouped: mp.Synopsis) -> None:
    library = pd if isinstance(frame, pd.DataFrame) else pl
    cases = {
        "mean_distance": (synopsis.mean_distance(frame), synopsis.mean_distance(POINTS)),
        "exact": (mp.exact_mean_distance(PEOPLE, SPACE, frame), mp.exact_mean_distance(PEOPLE, SPACE, POINTS)),
        "nearest": (grouped.nearest(frame), grouped.nearest(POINTS)),
        "low": (synopsis.interval(frame)[0], synopsis.interval(POINTS)[0]),
        "high": (synopsis.interval(frame)[1], synopsis.interval(POINTS)[1]),
    }
    for name, (series, values) in cases.items():
        assert type(series) is library.Series
        assert series.name == name
        assert isinstance(values, np.ndarray)
        assert series.to_list() == values.tolist()
        if library is pd:
            assert series.index.equals(frame.index)
    comparison = grouped.compare(frame)
    assert isinstance(comparison.to_frame(), library.DataFrame)
    assert list(comparison.to_frame().columns) == comparison.to_arrow().column_names
    assert list(comparison.to_frame()["nearest"]) == comparison.nearest.tolist()
    part = synopsis.mean_distance(frame[["y"]], columns=["y"])
    assert type(part) is library.Series
    empty = synopsis.mean_distance(frame[:0])
    assert (type(empty), len(empty)) == (library.Series, 0)


def test_a_series_becomes_a_column(synopsis: mp.Synopsis) -> None:
    """Whatever the order of the rows; and that of a frame with one row, too."""
    shuffled = FRAME.iloc[[2, 0, 1]]
    table = shuffled.assign(far=synopsis.mean_distance(FRAME))
    assert table.far.loc["p"] == synopsis.mean_distance(POINTS[0])
    assert tuple(end.loc["q"] for end in synopsis.interval(FRAME)) == synopsis.interval(POINTS[1])
    assert type(synopsis.mean_distance(FRAME.head(1))) is pd.Series
    frame = pl.from_pandas(FRAME).with_columns(synopsis.mean_distance(pl.from_pandas(FRAME)))
    assert frame.columns == ["name", "y", "x", "mean_distance"]


def test_a_comparison_of_other_points_is_a_pandas_frame(grouped: mp.Synopsis) -> None:
    assert grouped.compare([2, 3]).to_frame().index.tolist() == [0]


def test_values_of_one_column() -> None:
    synopsis = mp.release(PEOPLE[:, 0], mp.L1([(0, 10)]), epsilon=1, delta=1e-6)
    for library, values in ((pd, [1.0, 2.0]), (pl, [1.0, 2.0]), (pd, [3.0]), (pl, [3.0])):
        answers = synopsis.mean_distance(library.Series(values))
        assert type(answers) is library.Series
        assert answers.to_list() == np.atleast_1d(synopsis.mean_distance(values)).tolist()


@pytest.mark.parametrize("library", [pd, pl])
def test_objects(library: Any) -> None:
    space = mp.AnyMetric(mp.edit_distance, diameter=5, queries=["table", "cable"])
    synopsis = mp.release(["table", "stable"] * 500, space, epsilon=1)
    series = synopsis.mean_distance(library.Series(["cable", "table"]))
    assert type(series) is library.Series
    assert series.to_list() == synopsis.mean_distance(["cable", "table"]).tolist()


def test_places_keep_their_index() -> None:
    space = mp.GreatCircle(center=(52.5, 13.4), radius_km=30)
    homes = np.random.default_rng(0).normal([52.5, 13.4], 0.05, (5_000, 2))
    synopsis = mp.release(homes, space, epsilon=1, delta=1e-6)
    sites = gpd.GeoDataFrame({"name": ["a", "b"]}, geometry=[Point(13.4, 52.5), Point(13.5, 52.6)], crs=4326)
    sites.index = pd.Index([7, 3])
    assert synopsis.mean_distance(sites).index.tolist() == synopsis.interval(sites)[0].index.tolist() == [7, 3]
