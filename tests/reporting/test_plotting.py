"""What is drawn, and what a map is made of: grids, contours, sites, GeoJSON."""

import base64
import json
import math
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.contour import ContourSet
from matplotlib.figure import Figure
from matplotlib.text import Annotation, Text

import milepost as mp
from milepost import cli
from milepost.answers import geojson
from milepost.answers.grid import border_of, level_values
from milepost.privacy import noise

SITES = {"Town Hall": (4.4, 5.0), "Harbour": (7.6, 2.4), "Hill": (2.0, 9.4)}
Break = Callable[[str], None]


class Degrees(mp.L2):
    """Columns lat and lon, as a map has them; distances are called km, whatever they are."""

    geographic: ClassVar[bool] = True


def release(space: Any, n: int = 4000, **options: Any) -> mp.Synopsis:
    """Points around the lower third of every column, slopes unless said otherwise."""
    rng = np.random.default_rng(5)
    low, high = np.asarray(space.low), np.asarray(space.high)
    rows = np.clip(rng.normal(low + (high - low) / 3, (high - low) / 8, (n, space.width)), low, high)
    defaults: dict[str, Any] = {"epsilon": 1, "delta": 1e-6, "mechanism": "slopes"}
    return mp.release(rows, space, **defaults | options)


@pytest.fixture(scope="module")
def town() -> mp.Synopsis:
    return release(mp.L1({"east": (0, 10), "north": (0, 8)}, distance_unit="km"))


@pytest.fixture(scope="module")
def disc() -> mp.Synopsis:
    return release(mp.L2(center=[1, 2], radius=5, directions=16))


@pytest.fixture(scope="module")
def chart() -> mp.Synopsis:
    """A map across the antimeridian."""
    return release(Degrees({"lat": (-20, -10), "lon": (172, 188)}, directions=16, distance_unit="km"))


@pytest.fixture(scope="module")
def ages() -> mp.Synopsis:
    return release(mp.L1({"age": (18, 90)}))


@pytest.fixture(scope="module")
def words() -> mp.Synopsis:
    queries = ["colour", "color", *(f"word{i}" for i in range(40))]
    space = mp.AnyMetric(mp.edit_distance, diameter=8, queries=queries)
    return mp.release(["colour", "color", "kolor"] * 2000, space, epsilon=1, delta=1e-6)


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Break:
    """Make a module fail to import."""
    return lambda name: monkeypatch.setitem(sys.modules, name, None)


# grids


def test_a_grid_has_the_answers_at_its_points(town: mp.Synopsis) -> None:
    grid = town.grid()
    assert grid.y is not None
    assert (len(grid.x), len(grid.y)) == (101, 101)
    assert (grid.x[0], grid.x[-1], grid.y[0], grid.y[-1]) == (0, 10, 0, 8)
    assert (grid.axis_names, grid.distance_unit) == (("east", "north"), "km")
    np.testing.assert_array_equal(grid.values.ravel(), town.mean_distance(grid.points))
    assert grid.values[7, 31] == town.mean_distance([grid.x[31], grid.y[7]])


@pytest.mark.parametrize(
    ("step", "x", "y"), [(2.5, [0, 2.5, 5, 7.5, 10], [0, 2.5, 5, 7.5]), ([5, 4], [0, 5, 10], [0, 4, 8]), (20, [0], [0])]
)
def test_a_step_is_in_the_units_of_the_columns(town: mp.Synopsis, step: Any, x: list[float], y: list[float]) -> None:
    grid = town.grid(step)
    np.testing.assert_allclose(grid.x, x)
    assert grid.y is not None
    np.testing.assert_allclose(grid.y, y)


def test_a_step_that_divides_the_interval_up_to_rounding_reaches_its_end(town: mp.Synopsis) -> None:
    assert town.grid(0.1).values.shape == (81, 101)
    assert not np.isnan(town.grid(0.1).values).any()


def test_outside_a_ball_there_is_nothing(disc: mp.Synopsis) -> None:
    grid = disc.grid(0.25)
    distances = np.linalg.norm(grid.points - [1, 2], axis=1)
    values = grid.values.ravel()
    assert np.isnan(values[distances > 5 + 1e-9]).all()
    inside = distances < 5 - 1e-9
    np.testing.assert_allclose(values[inside], disc.mean_distance(grid.points[inside]))
    assert grid.axis_names == ("0", "1")


def test_on_a_map_x_is_the_longitude(chart: mp.Synopsis) -> None:
    grid = chart.grid(1)
    assert grid.y is not None
    assert (grid.axis_names, grid.distance_unit, grid.geographic) == (("lon", "lat"), "km", True)
    assert (grid.x[0], grid.x[-1], grid.y[0], grid.y[-1]) == (172, 188, -20, -10)
    assert grid.values[3, 5] == pytest.approx(chart.mean_distance([-17, 177]))
    np.testing.assert_allclose(grid.values.ravel(), chart.mean_distance(grid.points))


def test_the_border_of_a_ball_is_a_circle_and_of_a_box_its_sides(disc: mp.Synopsis, town: mp.Synopsis) -> None:
    border = border_of(disc.space, disc.grid())
    np.testing.assert_allclose(np.linalg.norm(border - [1, 2], axis=1), 5, atol=1e-4)
    around = np.linalg.norm(np.diff(border, axis=0, append=border[:1]), axis=1)
    assert around.max() < 0.5
    assert around.sum() == pytest.approx(10 * math.pi, rel=1e-3)
    assert border_of(town.space, town.grid()).tolist() == [[0, 0], [10, 0], [10, 8], [0, 8]]


def test_one_column_has_a_grid_without_y(ages: mp.Synopsis) -> None:
    grid = ages.grid(1)
    assert grid.y is None
    np.testing.assert_array_equal(grid.x, np.arange(18, 91))
    np.testing.assert_array_equal(grid.values, ages.mean_distance(np.arange(18, 91)))


@pytest.mark.parametrize("step", [0, -1, math.nan, math.inf, "wide", [1, 2, 3], 1e-5])
def test_bad_steps_are_refused(town: mp.Synopsis, step: Any) -> None:
    with pytest.raises(mp.MilepostError, match="step"):
        town.grid(step)


@pytest.mark.slow
def test_spaces_without_a_plane_have_no_grid(words: mp.Synopsis) -> None:
    with pytest.raises(mp.MilepostError, match="one or two numeric columns"):
        release(mp.L1([(0, 1)] * 3)).grid()
    with pytest.raises(mp.MilepostError, match="its given queries only"):
        words.grid()
    mixed = mp.Gower({"age": mp.number(0, 1), "old": mp.flag()})
    with pytest.raises(mp.MilepostError, match="one or two numeric columns"):
        mp.release([(0.5, True)] * 2000, mixed, epsilon=1).grid()


# contours


def test_on_a_contour_the_mean_distance_is_its_level(disc: mp.Synopsis) -> None:
    contours = disc.contours([2.5, 4])
    assert [level for level, _ in contours] == [2.5, 4]
    for level, lines in contours:
        assert lines
        for line in lines:
            assert (np.linalg.norm(line - [1, 2], axis=1) <= 5).all()
            np.testing.assert_allclose(disc.mean_distance(line), level, atol=0.03)  # a cell is 0.1 wide


@pytest.mark.parametrize(
    ("low", "high", "count", "expected"),
    [
        (4.1, 10.2, 8, [5, 6, 7, 8, 9, 10]),
        (0.11, 0.13, 4, [0.11, 0.115, 0.12, 0.125, 0.13]),
        (0.2, 1.3, 5, [0.25, 0.5, 0.75, 1.0, 1.25]),
        (12_000, 61_000, 3, [20_000, 40_000, 60_000]),
        (3, 3, 8, [3]),
    ],
)
def test_levels_are_round(low: float, high: float, count: int, expected: list[float]) -> None:
    assert level_values(np.array([low, np.nan, high]), count) == expected


@pytest.mark.parametrize("levels", [0, -3, "many", [], [math.nan], True, [1, "x"]])
def test_bad_levels_are_refused(town: mp.Synopsis, levels: Any) -> None:
    with pytest.raises(mp.MilepostError, match="levels"):
        town.contours(levels)


def test_contours_need_two_columns_and_the_extra(town: mp.Synopsis, ages: mp.Synopsis, without: Break) -> None:
    with pytest.raises(mp.MilepostError, match="two columns"):
        ages.contours()
    without("contourpy")
    with pytest.raises(mp.MilepostError, match=r"milepost\[plots\]"):
        town.contours()


# sites


def test_sites_are_ranked_with_their_own_errors(town: mp.Synopsis) -> None:
    sites = town.sites(SITES)
    assert len(sites) == 3
    assert [site.rank for site in sites] == [1, 2, 3]
    assert sites[0].mean_distance < sites[1].mean_distance < sites[2].mean_distance
    for site in sites:
        assert site.point == SITES[site.name]
        assert site.mean_distance == town.mean_distance(site.point)
        assert site.mean_distance + site.error == pytest.approx(town.interval(site.point)[1])
    text = str(sites)
    assert re.findall("Town Hall|Harbour|Hill", text) == [site.name for site in sites]
    assert "mean distance (km)" in text


def test_a_difference_counts_when_intervals_that_hold_together_do_not_meet() -> None:
    """Over many points around the noise, the verdict is that of the intervals at an equal share of the failure."""
    synopsis = release(mp.L1([(0, 10), (0, 10)]), n=300)
    points = np.column_stack([np.full(50, 3.3), np.linspace(3.3, 9, 50)])
    low, high = synopsis.interval(points, 1 - 0.05 / 50)
    best = int(np.argmin(synopsis.mean_distance(points)))
    expected = {tuple(point) for point in points[low > high[best]].tolist()}
    sites = synopsis.sites(points)
    assert {site.point for site in sites if site.beyond_noise} == expected
    assert 0 < len(expected) < 49
    low, high = synopsis.interval(points)
    assert (low > high[best]).sum() > len(expected)  # alone, intervals would claim more
    assert not sites[0].beyond_noise


def test_a_promise_about_all_answers_compares_any_number_of_sites() -> None:
    """tangents promise with 1 − beta and no more, but for all answers at once."""
    synopsis = release(mp.L1([(0, 10)]), n=20_000, mechanism="tangents", failure_probability=0.2)
    sites = synopsis.sites([3.0, 3.1, 9.0])
    assert sites.confidence == pytest.approx(0.8)
    assert [site.beyond_noise for site in sites] == [False, False, True]


def test_names_come_from_a_list_a_dict_a_frame_or_the_points(town: mp.Synopsis) -> None:
    points = list(SITES.values())
    frame = pd.DataFrame(points, columns=["east", "north"], index=list(SITES))
    expected = [site.name for site in town.sites(SITES)]
    assert [site.name for site in town.sites(points, list(SITES))] == expected
    assert [site.name for site in town.sites(frame)] == expected
    assert [site.name for site in town.sites(points, range(3))] != expected
    assert {site.name for site in town.sites(points)} == {"4.4, 5", "7.6, 2.4", "2, 9.4"}
    assert town.sites((4.4, 5))[0].point == (4.4, 5)


def test_sites_of_other_spaces(words: mp.Synopsis) -> None:
    sites = words.sites(["word7", "colour"])
    assert [(site.name, site.point) for site in sites] == [("colour", "colour"), ("word7", "word7")]
    mixed = mp.Gower({"age": mp.number(0, 1), "old": mp.flag()})
    synopsis = mp.release([(0.5, True)] * 2000, mixed, epsilon=1)
    assert synopsis.sites([{"age": 0, "old": False}, {"age": 0.5, "old": True}])[0].name == "age 0.5, old True"


@pytest.mark.parametrize("names", [["one"], "abc", ["a", "b", "c", "d"]])
def test_names_must_fit(town: mp.Synopsis, names: Any) -> None:
    with pytest.raises(mp.MilepostError, match="a name for each of the 3 sites"):
        town.sites(list(SITES.values()), names)


def test_no_sites_are_refused(town: mp.Synopsis) -> None:
    with pytest.raises(mp.MilepostError, match="at least one point"):
        town.sites(np.empty((0, 2)))


# GeoJSON


def positions(collection: dict[str, Any]) -> list[list[float]]:
    """All positions of a collection, which is checked against RFC 7946 on the way."""
    assert set(collection) == {"type", "features"}
    assert collection["type"] == "FeatureCollection"
    json.dumps(collection, allow_nan=False)
    result = []
    for feature in collection["features"]:
        assert set(feature) == {"type", "geometry", "properties"}
        assert feature["type"] == "Feature"
        kind, coordinates = feature["geometry"]["type"], feature["geometry"]["coordinates"]
        assert kind in {"Point", "MultiLineString"}
        lines = [[coordinates]] if kind == "Point" else coordinates
        assert all(kind == "Point" or len(line) >= 2 for line in lines)
        result += [position for line in lines for position in line]
    assert all(len(position) == 2 and all(isinstance(number, float) for number in position) for position in result)
    return result


def test_geojson_of_sites_has_x_and_y_in_a_plane_and_longitude_first_on_a_map(
    town: mp.Synopsis, chart: mp.Synopsis
) -> None:
    sites = town.sites(SITES)
    assert positions(sites.to_geojson()) == [list(site.point) for site in sites]
    first = sites.to_geojson()["features"][0]["properties"]
    assert first == {
        "rank": 1,
        "name": sites[0].name,
        "mean_distance": sites[0].mean_distance,
        "error": sites[0].error,
        "beyond_noise": False,
        "distance_unit": "km",
    }
    assert positions(chart.sites([(-18, 178)]).to_geojson()) == [[178, -18]]
    assert positions(chart.sites([(-18, 184)]).to_geojson()) == [[-176, -18]]


def test_geojson_of_contours_follows_the_field_and_is_cut_at_the_antimeridian(
    town: mp.Synopsis, chart: mp.Synopsis
) -> None:
    collection = town.contours([4]).to_geojson()
    np.testing.assert_allclose(town.mean_distance(positions(collection)), 4, atol=0.02)
    assert collection["features"][0]["properties"] == {"mean_distance": 4.0, "distance_unit": "km"}

    contours = chart.contours([4])
    coordinates = np.array(positions(contours.to_geojson()))
    assert (np.abs(coordinates[:, 0]) <= 180).all()
    assert {-180.0, 180.0} <= set(coordinates[:, 0].tolist())
    (feature,) = contours.to_geojson()["features"]
    for line in feature["geometry"]["coordinates"]:  # no line leaps around the Earth
        assert np.abs(np.diff(np.array(line)[:, 0])).max(initial=0) < 1
    points = np.column_stack([coordinates[:, 1], coordinates[:, 0] % 360])
    np.testing.assert_allclose(chart.mean_distance(points), 4, atol=0.02)
    assert chart.contours([1e6]).to_geojson()["features"] == []


def test_a_line_is_cut_where_it_crosses() -> None:
    first, second = geojson.split_at_antimeridian(np.array([[179.0, 0], [181, 2], [183, 2]]))
    assert first.tolist() == [[179, 0], [180, 1]]
    assert second.tolist() == [[-180, 1], [-179, 2], [-177, 2]]
    (line,) = geojson.split_at_antimeridian(np.array([[5.0, 0], [6, 0]]))
    assert line.tolist() == [[5, 0], [6, 0]]
    (touching,) = geojson.split_at_antimeridian(np.array([[179.0, 0], [180, 0]]))
    assert touching.tolist() == [[179, 0], [180, 0]]


def test_geojson_needs_two_numbers(ages: mp.Synopsis, words: mp.Synopsis) -> None:
    for sites in (ages.sites([30]), words.sites(["color"])):
        with pytest.raises(mp.MilepostError, match="GeoJSON needs points of two numbers"):
            sites.to_geojson()


# pictures


def texts(figure: Figure) -> str:
    """Everything that is written on a figure."""
    lines = [text.get_text() for axes in figure.axes for text in [axes.title, axes._left_title, *axes.texts]]  # type: ignore[attr-defined]
    for axes in figure.axes:
        lines += [axes.get_xlabel(), axes.get_ylabel()]
        legend = axes.get_legend()
        lines += [] if legend is None else [text.get_text() for text in legend.get_texts()]
    return "\n".join(lines)


def dot_positions(figure: Figure) -> Any:
    """Where the dots of sites are."""
    (dots,) = [part for part in figure.axes[0].collections if part.get_gid() == "sites"]
    return np.asarray(dots.get_offsets())


def test_a_map_shows_levels_centre_and_sites(town: mp.Synopsis) -> None:
    figure = town.plot(SITES)
    axes, bar = figure.axes[0], figure.axes[0].child_axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("east", "north")
    assert bar.get_ylabel() == "mean distance (km)"
    assert axes.get_aspect() == 1
    labels = texts(figure)
    for fact in ("n = 4,000", "ε = 1, δ = 1e-06", "slopes", f"± {town.error():.3g} km with 95 % confidence"):
        assert fact in axes.get_title(loc="left")

    filled, lines = [part for part in axes.collections if isinstance(part, ContourSet)]
    assert filled.filled
    assert not lines.filled
    for level, path in zip(lines.levels, lines.get_paths(), strict=True):
        np.testing.assert_allclose(town.mean_distance(path.vertices), level, atol=0.02)
    np.testing.assert_array_equal(bar.get_yticks(), lines.levels)

    sites = town.sites(SITES)
    np.testing.assert_array_equal(dot_positions(figure), [site.point for site in sites])
    badges = [text for text in axes.texts if isinstance(text, Annotation)]
    assert [text.get_text() for text in badges] == ["1", "2", "3"]
    np.testing.assert_array_equal([text.xy for text in badges], [site.point for site in sites])
    for site in sites:
        assert re.search(rf"^{site.rank}  {site.name}  [\d.]+ ± [\d.]+ km$", labels, flags=re.MULTILINE)
    (star,) = [part for part in axes.collections if str(part.get_label()).startswith("centre")]
    np.testing.assert_array_equal(np.asarray(star.get_offsets()), [town.center()])


def test_the_centre_was_chosen_for_its_answer_so_its_error_is_that_of_all(town: mp.Synopsis) -> None:
    line = next(line for line in texts(town.plot()).splitlines() if line.startswith("centre"))
    value, error = (float(number) for number in re.findall(r"([\d.]+) ± ([\d.]+) km", line)[0])
    assert value == pytest.approx(town.mean_distance(town.center()), abs=0.01)
    assert error == pytest.approx(town.error(uniform=True), rel=0.1)


@pytest.mark.slow
def test_numbers_and_levels_cover_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve sites on a spot of the map, without noise, which would put them in another order each time."""
    monkeypatch.setattr(noise, "_add", lambda _law, values, _scale: values)
    rng = np.random.default_rng(0)
    synopsis = release(mp.L2(center=[1, 2], radius=5, directions=16), epsilon=1000)
    figure = synopsis.plot(rng.normal([1.5, 1], 0.3, (12, 2)))
    figure.draw_without_rendering()
    axes = figure.axes[0]
    boxes = [Text.get_window_extent(text) for text in axes.texts]  # without the line to the dot
    assert sum(isinstance(text, Annotation) for text in axes.texts) == 12
    assert len(boxes) > 12
    for i, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:i])


@pytest.mark.slow
def test_a_map_in_degrees_is_true_to_scale_and_turns_longitudes(chart: mp.Synopsis) -> None:
    figure = chart.plot([(-18, -176), (-15, 175)])
    axes = figure.axes[0]
    assert axes.get_aspect() == pytest.approx(1 / math.cos(math.radians(15)))
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("longitude (°)", "latitude (°)")
    assert sorted(dot_positions(figure).tolist()) == [[175, -15], [184, -18]]
    figure.draw_without_rendering()
    ticks = {
        float(tick): label.get_text() for tick, label in zip(axes.get_xticks(), axes.get_xticklabels(), strict=True)
    }
    assert ticks[184] == "−176"


@pytest.mark.slow
def test_weights_are_seen_and_strips_are_stretched() -> None:
    weighted = release(mp.L1([(0, 10), (0, 10)], weights=[1, 2]))
    assert weighted.plot().axes[0].get_aspect() == 2
    strip = release(mp.L1({"age": (18, 90), "income": (0, 200_000)}))
    assert strip.plot().axes[0].get_aspect() == "auto"


def test_a_column_without_weight_or_width_is_no_obstacle() -> None:
    weightless = release(mp.L1([(0, 10), (0, 10)], weights=[1, 0]))
    assert weightless.plot().axes[0].get_aspect() == "auto"
    narrow = release(mp.L1({"east": (0, 10), "north": (5, 5)}))
    assert set(bars(narrow.plot())) == {"east", "north"}
    with pytest.raises(mp.MilepostError, match="two points along each"):
        narrow.contours()


def test_one_column_is_a_curve_with_its_uniform_band(ages: mp.Synopsis) -> None:
    figure = ages.plot([30, 60])
    (axes,) = figure.axes
    (curve,) = axes.lines
    x, y = np.asarray(curve.get_xdata()), np.asarray(curve.get_ydata())
    np.testing.assert_array_equal(y, ages.mean_distance(x))
    assert (x[0], x[-1]) == (18, 90)
    (band,) = [part for part in axes.collections if isinstance(part, PolyCollection)]
    corners = {tuple(corner) for corner in np.asarray(band.get_paths()[0].vertices).tolist()}
    half = ages.error(uniform=True)
    assert {(x[40], y[40] + half), (x[40], y[40] - half)} <= corners
    assert axes.get_xlabel() == "age"
    assert axes.get_ylabel() == "mean distance"
    assert "band of all answers at once, 95 %" in texts(figure)
    assert dot_positions(figure).tolist() == [[30, ages.mean_distance(30)], [60, ages.mean_distance(60)]]


def bars(figure: Figure) -> dict[str, float]:
    axes = figure.axes[0]
    names = [label.get_text() for label in axes.get_yticklabels()]
    return dict(zip(names, [patch.get_width() for patch in axes.patches], strict=True))  # type: ignore[attr-defined]


def test_more_columns_are_bars_of_their_parts() -> None:
    synopsis = release(mp.L1({name: (0, k) for k, name in enumerate("abc", start=1)}))
    figure = synopsis.plot()
    bar_lengths, parts = bars(figure), synopsis.explain(synopsis.center())
    assert bar_lengths == pytest.approx(parts)
    assert list(bar_lengths) == sorted(parts, key=lambda name: -parts[name])
    assert "part of the centre's mean distance" in texts(figure)


def test_projected_columns_are_bars_of_what_their_ends_add() -> None:
    synopsis = release(mp.L2({name: (0, k) for k, name in enumerate("abc", start=1)}, directions=64))
    axes = synopsis.plot().axes[0]
    names = [label.get_text() for label in axes.get_yticklabels()]
    low, high = axes.containers
    center_mean = synopsis.mean_distance([0.5, 1, 1.5])
    index = names.index("c")
    assert low.patches[index].get_width() == pytest.approx(synopsis.mean_distance([0.5, 1, 0]) - center_mean)  # type: ignore[attr-defined]
    assert high.patches[index].get_width() == pytest.approx(synopsis.mean_distance([0.5, 1, 3]) - center_mean)  # type: ignore[attr-defined]


def test_given_queries_are_bars_the_nearest_thirty(words: mp.Synopsis) -> None:
    figure = words.plot()
    bar_lengths = bars(figure)
    expected = sorted(words.mean_distance(list(words.space.queries)))[:30]  # type: ignore[attr-defined]
    assert list(bar_lengths.values()) == pytest.approx(expected)
    assert bar_lengths["colour"] == words.mean_distance("colour")
    assert "the 30 nearest of 42" in texts(figure)
    (whiskers,) = [part for part in figure.axes[0].collections if hasattr(part, "get_segments")]
    start, stop = whiskers.get_segments()[5][:, 0]
    sixth = words.space.queries.index(list(bar_lengths)[5])  # type: ignore[attr-defined]
    assert (stop - start) / 2 == pytest.approx(words.statistic.half_widths(np.array([sixth]), 0.95)[0])
    assert set(bars(words.plot(["word1", "color"]))) == {"word1", "color"}


def test_given_queries_of_a_plane_are_bars_too() -> None:
    synopsis = release(mp.L1([(0, 10), (0, 10)]), mechanism="gaussian", queries=list(SITES.values()))
    bar_lengths = bars(synopsis.plot())
    assert bar_lengths["4.4, 5"] == synopsis.mean_distance([4.4, 5])
    named_lengths = bars(synopsis.plot(synopsis.sites(SITES)))
    assert named_lengths["Town Hall"] == bar_lengths["4.4, 5"]


def test_a_picture_is_drawn_where_axes_are_given(town: mp.Synopsis) -> None:
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert town.plot(axes=right) is figure
    assert right.get_xlabel() == "east"
    assert left.get_xlabel() == ""


@pytest.mark.slow
def test_names_with_dollars_and_lines_are_only_names() -> None:
    synopsis = release(mp.L1({"$a_{": (0, 10), "b\nc": (0, 10)}))
    figure = synopsis.plot({"5 $ shop $x^$": (4, 5), "a" * 60: (5, 5)})
    figure.draw_without_rendering()
    assert figure.axes[0].get_ylabel() == "b c"
    assert r"5 \$ shop \$x^\$" in texts(figure)
    assert "a" * 27 + "…" in texts(figure)


def test_without_matplotlib_there_is_no_picture(town: mp.Synopsis, without: Break) -> None:
    without("matplotlib.figure")
    with pytest.raises(mp.MilepostError, match=r"milepost\[plots\]"):
        town.plot()


# notebooks


@pytest.mark.slow
def test_a_notebook_shows_card_and_picture(town: mp.Synopsis, without: Break) -> None:
    html = town._repr_html_()
    for fact in ("4,000", "ε = 1, δ = 1e-06", "slopes", "east 0:10, north 0:8"):
        assert fact in html
    (picture,) = re.findall(r'src="data:image/png;base64,([^"]+)"', html)
    assert base64.b64decode(picture).startswith(b"\x89PNG")
    without("matplotlib.figure")
    assert town._repr_html_() == re.sub(r"<img[^>]*>", "", html)


def test_a_notebook_shows_names_as_text() -> None:
    html = release(mp.L1({"<script>alert(1)</script>": (0, 1)}))._repr_html_()
    assert "&lt;script&gt;" in html
    assert "<script>" not in html


def test_a_synopsis_says_its_unit(town: mp.Synopsis) -> None:
    assert repr(town).endswith(" km)")


# the command line


def run(line: str) -> int:
    with pytest.raises(SystemExit) as stop:
        cli.main(shlex.split(line))
    return int(stop.value.code or 0)


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> mp.Synopsis:
    monkeypatch.chdir(tmp_path)
    release(mp.L1({"east": (0, 10), "north": (0, 8)})).save("homes.milepost")
    return mp.load("homes.milepost")


@pytest.mark.slow
def test_show_draws_the_file(saved: mp.Synopsis, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show homes.milepost --plot homes.png") == 0
    assert Path("homes.png").read_bytes().startswith(b"\x89PNG")
    out = capsys.readouterr().out
    assert "wrote homes.png" in out
    assert f"{saved.n:,}" in out
    assert run("show homes.milepost --plot homes.png") == 2
    assert "--force" in capsys.readouterr().err
    assert run("show homes.milepost --plot homes.png --force") == 0
    assert run("show homes.milepost --plot homes.doc") == 2


def test_query_writes_geojson(saved: mp.Synopsis, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("query homes.milepost --at 4.4,5 --at 3,7 --geojson out.geojson -o out.csv") == 0
    content = json.loads(Path("out.geojson").read_text(encoding="utf-8"))
    assert positions(content) == [[4.4, 5], [3, 7]]
    for feature, point in zip(content["features"], [[4.4, 5], [3, 7]], strict=True):
        assert feature["properties"] == {
            "mean_distance": saved.mean_distance(point),
            "error": saved.error(),
            "distance_unit": "",
        }
    assert Path("out.csv").exists()
    assert capsys.readouterr().out.count("wrote out.") == 2


def test_query_refuses_geojson_of_one_column(
    saved: mp.Synopsis,  # noqa: ARG001
    ages: mp.Synopsis,
    capsys: pytest.CaptureFixture[str],
) -> None:
    ages.save("ages.milepost")
    assert run("query ages.milepost --at 30 --geojson out.geojson") == 2
    assert "two numbers" in capsys.readouterr().err
    assert not Path("out.geojson").exists()
