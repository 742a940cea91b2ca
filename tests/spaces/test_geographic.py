"""GreatCircle and Angular: distances, images that look at one record, a reach that no pair passes, releases."""

import math
import shlex
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import milepost as mp
from milepost import cli
from milepost._typing import FloatArray
from milepost.spaces.embeddings.embedding import QUANTA
from milepost.spaces.embeddings.trigonometry import angle, sine_cosine
from milepost.spaces.geographic import EARTH_KM, MAX_TERMS, QUARTER_KM
from milepost.spaces.registry import space_from_json
from tests.chance import FALSE_ALARM, assert_promised
from tests.mechanisms.contract import Transcript

CAPS = {
    "city": mp.GreatCircle((52.5, 13.4), 40, 64),
    "street": mp.GreatCircle((-33.9, 18.4), 0.05, 16),
    "north pole": mp.GreatCircle((90, 0), 2000, 31),
    "south pole": mp.GreatCircle((-90, 123), 5000, 8),
    "pole inside": mp.GreatCircle((85, -40), 1500, 64),
    "antimeridian": mp.GreatCircle((-17.7, 179.9), 900, 64),
    "continent": mp.GreatCircle((10, 20), 8000, 100),
    "half of the Earth": mp.GreatCircle((47, 8), QUARTER_KM, 64),
    "one direction": mp.GreatCircle((0, 0), 100, 1),
}
ANGLES = {
    "line": mp.Angular(1),
    "plane": mp.Angular(2, 32),
    "space": mp.Angular(3, 64),
    "embedding": mp.Angular(48, 96),
    "wide": mp.Angular(300, 300, random_state=4),
}
SPACES: dict[str, mp.GreatCircle | mp.Angular] = {**CAPS, **ANGLES}
every_cap = pytest.mark.parametrize("name", CAPS)
every_angle = pytest.mark.parametrize("name", ANGLES)
every_space = pytest.mark.parametrize("name", SPACES)


def haversine(a: Any, b: Any) -> float:
    """Another way to the same distance."""
    (lat, lon), (lat2, lon2) = ([math.radians(value) for value in point] for point in (a, b))
    share = math.sin((lat2 - lat) / 2) ** 2 + math.cos(lat) * math.cos(lat2) * math.sin((lon2 - lon) / 2) ** 2
    return 2 * EARTH_KM * math.atan2(math.sqrt(share), math.sqrt(max(1 - share, 0)))


def rows_of(space: mp.GreatCircle | mp.Angular, generator: np.random.Generator, count: int) -> FloatArray:
    """Raw rows in and around a space: the centre, its antipode, poles, borders, zeros, huge and tiny numbers."""
    if isinstance(space, mp.Angular):
        rows = generator.standard_normal((count, space.dim)) * np.exp2(generator.integers(-1000, 1000, (count, 1)))
        rows[::7] = np.rint(generator.standard_normal((len(rows[::7]), space.dim)))
        rows[: min(1, count)] = 0
        rows[5 : min(6, count), 0] = math.inf
        return np.asarray(rows)
    degrees = space.radius_km / 111.2
    rows = np.column_stack(
        [
            np.clip(generator.normal(space.latitude, degrees, count), -90, 90),
            generator.normal(space.longitude, 1.5 * degrees / max(0.05, math.cos(math.radians(space.latitude))), count),
        ]
    )
    rows[::5] = generator.uniform([-90, -180], [90, 180], (len(rows[::5]), 2))
    center = space.center
    fixed = np.array([center, [-center[0], center[1] + 180], [90, 0], [-90, 50], [center[0], center[1] + 360]])
    rows[: min(5, count)] = fixed[: min(5, count)]
    return rows


def queries_of(space: mp.GreatCircle, generator: np.random.Generator, count: int) -> FloatArray:
    """The same as public queries, whose longitudes must not be huge."""
    rows = rows_of(space, generator, count)
    rows[:, 1] %= 360
    return space.read_queries(rows)


def embedded_distance(space: mp.GreatCircle | mp.Angular, left: Any, right: Any) -> Fraction:
    """Στ|q − q′| in rational arithmetic."""
    return sum(
        (
            Fraction(t) * abs(int(x) - int(y))
            for t, x, y in zip(space.embedding.quantum.tolist(), left, right, strict=True)
        ),
        Fraction(0),
    )


# trigonometry


def test_sines_and_angles_are_right() -> None:
    """To the last bits, and exact at quarters of a turn."""
    degrees = np.random.default_rng(0).uniform(-720, 720, 5000)
    sine, cosine = sine_cosine(degrees)
    exact = np.radians(np.fmod(degrees, 360))
    assert np.abs(sine - np.sin(exact)).max() < 1.5e-15
    assert np.abs(cosine - np.cos(exact)).max() < 1.5e-15
    assert [part.tolist() for part in sine_cosine(np.array([-90.0, 0, 90, 180, 270]))] == [
        [-1, 0, 1, 0, -1],
        [0, 1, 0, -1, 0],
    ]
    expected = np.concatenate([np.geomspace(1e-12, 1, 1000), np.linspace(1, math.pi, 1000)])
    result = angle(4 * np.sin(expected / 2) ** 2, 4 * np.cos(expected / 2) ** 2)
    np.testing.assert_allclose(result, expected, rtol=2e-15)


@pytest.mark.parametrize("radius", [1e-3, 1.0, 40.0, 1500.0, 1700.0, 1800.0, 10_000.0])
def test_a_series_gives_the_distances_of_a_cap(radius: float) -> None:
    """Small caps have a series, large ones a quotient: the same to a micrometre, each query for itself."""
    space = mp.GreatCircle((50, 8), radius)
    assert (len(space._series) <= MAX_TERMS) == (radius <= 1700)
    rng = np.random.default_rng(0)
    away = np.concatenate([space.points_around(space.center, radius * share) for share in (1, 0.999, 0.5, 1e-6, 0)])
    outside = space.center + rng.uniform(-1, 1, (4, 2)) * [30, 90]
    records, queries = space.read(away), np.concatenate([space.clip_points(away), outside])
    distances = space.distance(records, queries)
    np.testing.assert_allclose(distances[:, :20], space.query_distances(away, queries[:20]), rtol=0, atol=1e-9)
    alone = np.concatenate([space.distance(records, queries[k : k + 1]) for k in range(len(queries))], axis=1)
    assert np.array_equal(distances, alone)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 17])
def test_trigonometry_is_the_same_in_any_batch(size: int) -> None:
    degrees = np.random.default_rng(1).uniform(-400, 400, 3 * 5 * 8 * 17)
    degrees[::50] = 1e15
    expected = np.array(sine_cosine(degrees))
    parts = [np.array(sine_cosine(degrees[k : k + size])) for k in range(0, len(degrees), size)]
    assert np.array_equal(np.concatenate(parts, axis=1), expected)
    shares = (expected[0] * 1.0) ** 2
    parts = [angle(shares[k : k + size], 1 - shares[k : k + size]) for k in range(0, len(shares), size)]
    assert np.array_equal(np.concatenate(parts), angle(shares, 1 - shares))


# images


@every_space
@pytest.mark.parametrize("count", [1, 2, 7, 300])
def test_an_image_depends_on_its_own_record_only(name: str, count: int) -> None:
    """Records, images and distances have the same bits at any batch size, memory order and place in the table."""
    space, generator = SPACES[name], np.random.default_rng(count)
    rows = rows_of(space, generator, count)
    queries = generator.uniform(-60, 60, (3, space.width))
    points = space.read(rows)
    images, distances = space.quantize(points), space.distance(points, queries)
    assert images.min() >= 0
    assert images.max() <= QUANTA
    order = generator.permutation(count)
    for batch, indices in (
        *[(rows[i : i + 1], [i]) for i in range(min(count, 30))],
        (np.asfortranarray(rows), list(range(count))),
        (rows[order], order.tolist()),
        (rows[: count // 2 + 1], list(range(count // 2 + 1))),
    ):
        records = space.read(batch)
        assert np.array_equal(records, points[indices])
        assert np.array_equal(space.quantize(records), images[indices])
        assert np.array_equal(space.quantize(np.asfortranarray(records)), images[indices])
        assert np.array_equal(space.distance(records, queries), distances[indices])


@every_space
@given(data=st.data())
@settings(max_examples=12)
def test_any_numbers_make_a_record(name: str, data: st.DataObject) -> None:
    """Infinite, huge and impossible values are clipped, without a word; only NaN is refused."""
    space = SPACES[name]
    row = data.draw(st.lists(st.floats(allow_nan=False), min_size=min(space.width, 4), max_size=min(space.width, 4)))
    points = space.read(np.array([row + [0.0] * (space.width - len(row))]))
    images = space.quantize(points)
    assert np.isfinite(points).all()
    assert ((images >= 0) & (images <= QUANTA)).all()
    distances = space.distance(points, np.full((1, space.width), 10.0))
    assert 0 <= distances[0, 0] <= math.pi * EARTH_KM
    with pytest.raises(mp.MilepostError, match="row 1"):
        space.read(np.full((1, space.width), math.nan))


@every_cap
def test_impossible_rows_have_a_public_place(name: str) -> None:
    """Beyond a pole is the pole, an infinite longitude is the centre's, and a finite one counts modulo 360."""
    space = CAPS[name]
    center, inf = space.center.tolist(), math.inf
    for row, equivalent in (
        ([inf, 3], [90, 3]),
        ([-91, 3], [-90, 3]),
        ([center[0], -inf], center),
        ([1e300, inf], [90, center[1]]),
        ([center[0], center[1] + 7 * 360], center),
    ):
        distances = space.distance(space.read(np.array([row])), space.clip_points(np.array([equivalent])))
        assert distances[0, 0] <= max(1e-8, 2e-6 * space.radius_km)


# reach


@every_space
@settings(max_examples=12)
@given(seed=st.integers(0, 2**32 - 1))
def test_no_pair_passes_the_reach(name: str, seed: int) -> None:
    """Pairs of all kinds in rational arithmetic."""
    space, generator = SPACES[name], np.random.default_rng(seed)
    images = space.quantize(space.read(rows_of(space, generator, 12)))
    for a, b in generator.integers(0, len(images), (5, 2)):
        assert embedded_distance(space, images[a], images[b]) <= Fraction(space.embedding.sensitivity_bound)


def border(space: mp.GreatCircle, turn: FloatArray, share: FloatArray) -> FloatArray:
    """Records at these turns around the centre, as vectors, and shares of the radius."""
    angles = share * min(space.radius_km / EARTH_KM, math.pi / 2)
    return np.column_stack([np.sin(angles) * np.cos(turn), np.sin(angles) * np.sin(turn), np.cos(angles)])


@every_cap
def test_no_pair_of_many_on_a_cap_passes_the_reach(name: str) -> None:
    """Opposite ends at all turns, and others; the farthest again in rational arithmetic, and some come near."""
    space, generator = CAPS[name], np.random.default_rng(0)
    turn = np.concatenate([np.linspace(0, math.pi, 2001), generator.uniform(0, 7, 2000)])
    ones = np.ones(len(turn))
    other_turns = generator.uniform(0, 7, len(turn))
    max_distance = 0.0
    for left, right in (
        (border(space, turn, ones), border(space, turn + math.pi, ones)),
        (border(space, turn, ones), border(space, turn + math.pi, 1 - 0.01 * generator.random(len(turn)))),
        (border(space, turn, ones), border(space, other_turns, generator.random(len(turn)) ** 0.1)),
    ):
        images = space.quantize(left), space.quantize(right)
        distances = np.abs(images[0] - images[1]) @ space.embedding.quantum
        for k in np.argsort(distances)[-3:]:
            exact = embedded_distance(space, images[0][k], images[1][k])
            assert exact <= Fraction(space.embedding.sensitivity_bound)
            max_distance = max(max_distance, float(exact))
    assert max_distance >= 0.97 * space.embedding.sensitivity_bound


@every_angle
def test_the_reach_of_angles_is_their_diameter(name: str) -> None:
    """A vector and its opposite differ on all sides, but for the plane's."""
    space = ANGLES[name]
    assert space.embedding.sensitivity_bound == pytest.approx(math.pi, rel=1e-12)
    rows = np.random.default_rng(0).standard_normal((5, space.dim))
    left, right = space.quantize(space.read(rows)), space.quantize(space.read(-rows))
    assert (np.abs(left - right) == QUANTA).all()
    assert embedded_distance(space, left[0], right[0]) <= Fraction(space.embedding.sensitivity_bound)


# distances


@pytest.mark.parametrize("radius", [0.01, 0.7, 1.3, math.pi / 2])
@pytest.mark.parametrize("count", [3, 16, 64, 4096])
def test_embedded_distances_are_an_isometry_up_to_the_proven_deviation(radius: float, count: int) -> None:
    """d = (π/2)·R·mean |u(x) − u(y)|, off by π·sin r/D or (π²/4D²)·tan r at most, which falls to nothing."""
    space = mp.GreatCircle((20, 30), min(radius * EARTH_KM, QUARTER_KM), count)
    generator = np.random.default_rng(count)
    size = 1500 if count < 1000 else 100
    left, right = (
        border(space, generator.uniform(0, 7, size), 1 - generator.random(size) ** 3 * generator.integers(0, 2, size))
        for _ in range(2)
    )
    right[: size // 3] = left[: size // 3] * [-1, -1, 1]
    embedded_distances = space._embedded_distances(left, right)
    exact = EARTH_KM * angle(((left - right) ** 2).sum(axis=1), ((left + right) ** 2).sum(axis=1))
    error = np.abs(embedded_distances - exact).max()
    assert error <= EARTH_KM * space._deviation
    assert error <= space.embedding.bias
    assert space.embedding.bias <= space.diameter * max(math.pi / 2 / count, 1e-5)


@every_cap
def test_great_circle_distances_match_the_haversine(name: str) -> None:
    """Inside the cap, to a micrometre; and a record that is the query is at distance 0."""
    space = CAPS[name]
    rows = space.clip_points(queries_of(space, np.random.default_rng(5), 40))
    distances = space.distance(space.read(rows), rows)
    exact = np.array([[haversine(a, b) for b in rows] for a in rows])
    near = exact < 0.99 * math.pi * EARTH_KM  # the haversine itself is coarse at antipodes
    np.testing.assert_allclose(distances[near], exact[near], atol=1e-8)
    assert np.abs(np.diag(distances)).max() < 1e-8
    assert distances.max() <= space.diameter + 1e-8


def test_known_distances() -> None:
    """Berlin to Paris, a degree along a meridian, and over a pole."""
    cap = mp.GreatCircle((52.52, 13.405), 9000)
    assert mp.exact_mean_distance([[52.52, 13.405]], cap, [48.8566, 2.3522]) == pytest.approx(877.5, abs=0.5)
    assert mp.exact_mean_distance([[51.52, 13.405]], cap, [52.52, 13.405]) == pytest.approx(EARTH_KM * math.pi / 180)
    pole = mp.GreatCircle((90, 0), 3000)
    assert mp.exact_mean_distance([[80, 10], [80, 190]], pole, [80, -170]) == pytest.approx(EARTH_KM * math.pi / 18)


def test_a_cap_may_cross_the_antimeridian() -> None:
    """The same table and cap, turned around the axis, gives the same distances; longitudes count modulo 360."""
    rows = np.random.default_rng(0).normal([-17, 0], 2, (200, 2))
    turned_rows = rows + np.array([0, 179.9])
    zero, other = mp.GreatCircle((-17, 0), 400, 32), mp.GreatCircle((-17, 179.9), 400, 32)
    expected = zero.distance(zero.read(rows), rows[:9])
    for shift in (0, -360, 360, -180 * 4):
        shifted_rows = turned_rows + np.array([0, shift])
        distances = other.distance(other.read(shifted_rows), other.read_queries(turned_rows[:9]))
        np.testing.assert_allclose(distances, expected, atol=1e-7)
        assert np.abs(other.quantize(other.read(shifted_rows)) - zero.quantize(zero.read(rows))).max() <= 2
    assert mp.GreatCircle((-17, 350), 400) == mp.GreatCircle((-17, -10), 400)


@every_cap
def test_rows_outside_move_to_the_border(name: str) -> None:
    """Along the great circle to the centre: at the radius, and as far from the row as they have moved."""
    space = CAPS[name]
    rows = np.random.default_rng(2).uniform([-90, -180], [90, 180], (200, 2))
    center_distances = space.distance(space.read(rows), space.center[None])[:, 0]
    for row, record, distance in zip(rows, space.read(rows), center_distances, strict=True):
        row_distance = haversine(row, space.center)
        assert distance == pytest.approx(min(row_distance, space.radius_km), abs=1e-7)
        if space.radius_km < row_distance < 0.99 * math.pi * EARTH_KM:
            assert space.distance(record[None], row[None])[0, 0] == pytest.approx(
                row_distance - space.radius_km, abs=1e-6
            )
    antipode = np.array([[-space.latitude, space.longitude + 180]])
    distance = space.distance(space.read(antipode), space.center[None])[0]
    assert distance == pytest.approx(space.radius_km, abs=1e-7)


@every_cap
def test_queries_outside_move_as_rows_do(name: str) -> None:
    """Once, and no further; inside they stay."""
    space = CAPS[name]
    queries = queries_of(space, np.random.default_rng(3), 60)
    inside = space.clip_points(queries)
    assert np.array_equal(space.clip_points(inside), inside)
    np.testing.assert_allclose(space.distance(space.read(queries), inside).diagonal(), 0, atol=2e-6 * space.radius_km)
    near = space.points_around(space.center, space.radius_km / 2)
    assert np.array_equal(space.clip_points(near), near)
    np.testing.assert_allclose([haversine(point, space.center) for point in near], space.radius_km / 2, rtol=1e-6)


def test_queries_outside_the_cap_are_continued() -> None:
    """Exactly so as directions grow many, up to a quarter of the circumference; beyond there is an error."""
    space = mp.GreatCircle((0, 0), 500, 32)
    people = np.random.default_rng(0).normal(0, 1, (5000, 2))
    with Transcript().listen():  # without noise
        synopsis = mp.release(people, space, epsilon=20, delta=1e-6, mechanism="slopes")
    for query in ([0, 30], [50, 20], [-60, -5]):
        assert synopsis.mean_distance(query) == pytest.approx(mp.exact_mean_distance(people, space, query), rel=5e-3)
    with pytest.raises(mp.MilepostError, match="quarter of the circumference"):
        synopsis.mean_distance([0, 100])
    assert mp.exact_mean_distance(people, space, [0, 180]) == pytest.approx(
        2 * QUARTER_KM - mp.exact_mean_distance(people, space, [0, 0])
    )


@every_angle
def test_angles_are_right(name: str) -> None:
    """Whatever the lengths: 0 along a ray, π against it, the arc cosine between."""
    space = ANGLES[name]
    generator = np.random.default_rng(0)
    rows = generator.standard_normal((30, space.dim))
    records = space.read(rows * np.exp2(generator.integers(-900, 900, (30, 1))))
    angles = space.distance(records, np.vstack([rows, -3 * rows]))
    units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    np.testing.assert_allclose(angles[:, :30], np.arccos(np.clip(units @ units.T, -1, 1)), atol=1e-6)
    np.testing.assert_allclose(np.diag(angles[:, :30]), 0, atol=1e-6)
    np.testing.assert_allclose(np.diag(angles[:, 30:]), math.pi, atol=1e-6)
    small = np.zeros((2, 48))
    small[:, 0], small[1, 1] = 1, 1e-4
    assert mp.Angular(48).distance(small[:1], small[1:])[0, 0] == pytest.approx(1e-4, rel=1e-3)


@every_angle
def test_sides_depend_on_the_direction_only(name: str) -> None:
    """A vector times a power of two has the same image, bit for bit; zeros and ties have a fixed one."""
    space = ANGLES[name]
    rows = np.random.default_rng(1).standard_normal((20, space.dim))
    images = space.quantize(space.read(rows))
    for power in (-900, -3, 800):
        assert np.array_equal(space.quantize(space.read(rows * 2.0**power)), images)
    axis = np.eye(1, space.dim)
    assert np.array_equal(space.quantize(space.read(0 * axis)), space.quantize(axis))
    assert np.array_equal(space.quantize(space.read(np.where(axis > 0, math.inf, axis))), space.quantize(axis))
    assert set(np.unique(images).tolist()) <= {0, QUANTA}
    if space.dim == 2:  # a vector on the plane of a direction is on its side
        across = space.thetas[:, ::-1] * [1, -1]
        assert (np.diag(space.quantize(space.read(across))) == QUANTA).all()


@pytest.mark.slow
def test_more_sides_are_closer_to_the_angle() -> None:
    """The deviation falls as √D, and pairs keep it 95 times in a hundred; in the plane it is π/D and certain."""
    generator = np.random.default_rng(7)
    errors = []
    for count in (64, 256, 1024):
        space = mp.Angular(16, count)
        left, right = generator.standard_normal((2, 2000, 16))
        embedded_distances = (np.abs(space.quantize(left) - space.quantize(right)) * space.embedding.quantum).sum(
            axis=1
        )
        unit = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in (left, right)]
        deviations = np.abs(embedded_distances - np.arccos((unit[0] * unit[1]).sum(axis=1)))
        assert np.mean(deviations <= space.embedding.relative_error * math.pi) >= 0.93
        assert space.embedding.relative_error == pytest.approx(0.98 / math.sqrt(count))  # as independent directions
        errors.append(space.embedding.relative_error)
    assert errors[0] / errors[2] == pytest.approx(4, rel=0.2)
    plane = mp.Angular(2, 50)
    turns = generator.uniform(0, 2 * math.pi, (500, 1))
    rows = np.hstack([np.cos(turns), np.sin(turns)])
    images = plane.quantize(rows)
    embedded_distances = (np.abs(images[:, None] - images[None]) * plane.embedding.quantum).sum(axis=2)
    assert np.abs(embedded_distances - plane.distance(rows, rows)).max() <= math.pi / 50 * 1.001


# the space itself


@every_space
def test_json_round_trip(name: str) -> None:
    """The card gives the same space back: the same images."""
    space = SPACES[name]
    loaded_space = space_from_json(space.to_json(), space.tensors())
    points = space.read(rows_of(space, np.random.default_rng(1), 20))
    assert loaded_space.to_json() == space.to_json()
    assert np.array_equal(loaded_space.quantize(points), space.quantize(points))


@every_cap
def test_noise_is_near_that_of_a_single_query(name: str) -> None:
    """std ÷ single of slopes is √(Σw·reach)/diameter: 1.25 for small caps, 1 for half of the Earth."""
    space = CAPS[name]
    ratio = math.sqrt(space.embedding.total_width * space.embedding.sensitivity_bound) / space.diameter
    assert ratio <= (1.3 if space.count > 8 else 1.6)


def test_noise_on_angles_is_that_of_a_single_query() -> None:
    assert math.sqrt(
        ANGLES["wide"].embedding.total_width * ANGLES["wide"].embedding.sensitivity_bound
    ) / math.pi == pytest.approx(1)


def test_directions_suit_the_table() -> None:
    """Unless their number was given, a release takes those with the smallest error."""
    assert len(mp.GreatCircle((0, 0), 10).size_variants(100)) > 3
    assert [space.count for space in mp.GreatCircle((0, 0), 10, 24).size_variants(100)] == [32]
    counts = [len(space.thetas) for space in mp.Angular(100).size_variants(100)]
    assert counts == [104, 208, 416, 800, 1600]
    assert mp.GreatCircle((0, 0), 10).distortion().product == pytest.approx(1, abs=1e-4)
    assert mp.Angular(1).distortion().product == 1
    assert mp.Angular(20, 100).distortion(200).likely < 1


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        ({"center": (13.4, 52.5), "radius_km": 0}, ["radius_km"]),
        ({"center": (13.4, 52.5), "radius_km": 10_100}, ["radius_km", "quarter"]),
        ({"center": (13.4, 52.5), "radius_km": math.nan}, ["radius_km"]),
        ({"center": (13.4, 52.5), "radius_km": "far"}, ["radius_km"]),
        ({"center": (139.7, 35.7), "radius_km": 1}, [r"\(lat, lon\)", r"\(lon, lat\), write \(35.7, 139.7\)"]),
        ({"center": (95, 95), "radius_km": 1}, [r"\(lat, lon\)"]),
        ({"center": (0, 361), "radius_km": 1}, ["360"]),
        ({"center": (math.nan, 0), "radius_km": 1}, ["lat nan"]),
        ({"center": "Berlin", "radius_km": 1}, ["center"]),
        ({"center": {"x": 1, "y": 2}, "radius_km": 1}, ["center"]),
        ({"center": {"1": 1, "2": 2}, "radius_km": 1}, ["center"]),
        ({"center": {"lat": 1, "lon": 2, "height": 3}, "radius_km": 1}, ["center"]),
        ({"center": (1, 2, 3), "radius_km": 1}, ["center"]),
        ({"center": (1, 2), "radius_km": 1, "directions": 0}, ["directions"]),
    ],
)
def test_bad_caps_are_refused(arguments: dict[str, Any], messages: list[str]) -> None:
    for message in messages:
        with pytest.raises(mp.MilepostError, match=message):
            mp.GreatCircle(**arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dim": 0}, "dim"),
        ({"dim": 5000}, "dim"),
        ({"dim": 2.5}, "dim"),
        ({"dim": 3, "directions": -1}, "directions"),
        ({"dim": 3, "random_state": -1}, "random_state="),
        ({"dim": 3, "columns": ["a", "b"]}, "columns"),
        ({"dim": 2, "columns": ["a", "a"]}, "columns"),
        ({"dim": 2, "columns": "ab"}, "columns"),
    ],
)
def test_bad_angles_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(mp.MilepostError, match=message):
        mp.Angular(**arguments)


def test_bad_queries_are_refused() -> None:
    """Public points: the error says what is wrong, and offers the other order."""
    cap, angles = CAPS["city"], ANGLES["embedding"]
    with pytest.raises(mp.MilepostError, match=r"\(lon, lat\), write \(35.7, 139.7\)"):
        cap.read_queries(np.array([[52.5, 13.4], [139.7, 35.7]]))
    with pytest.raises(mp.MilepostError, match="lat within"):
        cap.read_queries(np.array([[math.inf, 0]]))
    with pytest.raises(mp.MilepostError, match="point 2 is a vector of zeros"):
        angles.read_queries(np.eye(2, 48)[[0, 1]] * [[1], [0]])
    with pytest.raises(mp.MilepostError, match="infinite"):
        angles.read_queries(np.full((1, 48), math.inf))
    with pytest.raises(mp.MilepostError, match="no centre"):
        _ = angles.center
    for space in (cap, angles):
        with pytest.raises(mp.MilepostError, match="has no points for 1 embedding positions"):
            space.point(np.zeros((1, 64)))


# tables and releases


@pytest.mark.parametrize("names", [("lat", "lon"), ("Latitude", "Longitude"), ("LAT", "Lng"), ("latitude", "long")])
def test_columns_are_recognised_by_name(names: tuple[str, str], tmp_path: Path) -> None:
    """In frames and files, whatever stands beside them and in whichever order; queries, too."""
    space = CAPS["city"]
    rows = np.random.default_rng(0).normal([52.5, 13.4], 0.1, (50, 2))
    frame = pd.DataFrame({names[1]: rows[:, 1], "street": "Elm", names[0]: rows[:, 0], "latter": 7.0})
    frame.to_csv(tmp_path / "homes.csv", index=False)
    frame.to_parquet(tmp_path / "homes.parquet")
    expected = mp.exact_mean_distance(rows, space, rows[:3])
    for table in (frame, pl.from_pandas(frame), tmp_path / "homes.csv", tmp_path / "homes.parquet"):
        queries = frame[[names[1], names[0]]].head(3)
        assert list(mp.exact_mean_distance(table, space, queries)) == pytest.approx(expected, abs=1e-9)
    other = frame.rename(columns={names[0]: "y", names[1]: "x"})
    assert mp.exact_mean_distance(other, space, rows[:3], columns=["y", "x"]) == pytest.approx(expected)
    with pytest.raises(mp.MilepostError, match="no column 'lat'"):
        mp.exact_mean_distance(other, space, rows[:3])


def test_a_center_has_names_or_an_order() -> None:
    assert mp.GreatCircle({"lon": 13.4, "lat": 52.5}, 40) == mp.GreatCircle((52.5, 13.4), 40)
    assert mp.GreatCircle({"Longitude": 13.4, "latitude": 52.5}, 40) == mp.GreatCircle(np.array([52.5, 13.4]), 40)


def test_vectors_have_columns_by_name_or_position() -> None:
    rows = np.random.default_rng(0).standard_normal((20, 3))
    frame = pd.DataFrame(rows[:, ::-1], columns=["c", "b", "a"]).assign(text="x")
    space = mp.Angular(3, columns=["a", "b", "c"])
    assert space.names == ("a", "b", "c")
    assert mp.exact_mean_distance(frame, space, rows[:2]) == pytest.approx(
        mp.exact_mean_distance(rows, mp.Angular(3), rows[:2])
    )
    assert space_from_json(space.to_json(), {}).columns == ("a", "b", "c")


TABLES: dict[str, tuple[mp.GreatCircle | mp.Angular, FloatArray]] = {
    "cap": (
        mp.GreatCircle((-17.7, 179.9), 300, 12),
        np.random.default_rng(0).normal([-17.7, 179.9], [0.7, 0.9], (20_000, 2)),
    ),
    "angles": (mp.Angular(8, 128), np.random.default_rng(0).standard_normal((20_000, 8)) + np.arange(8) / 4),
}


TANGENTS = pytest.param("tangents", marks=pytest.mark.slow)


@pytest.mark.parametrize("mechanism", ["slopes", "hats", TANGENTS, "gaussian", "laplace"])
@pytest.mark.parametrize("table", TABLES)
def test_released_answers_are_near_the_truth(table: str, mechanism: str, tmp_path: Path) -> None:
    """Within the promised error, the embedding's part included, and after a file has kept them."""
    space, people = TABLES[table]
    queries = people[:5] if table == "angles" else space.clip_points(space.read_queries(people[:5]))
    delta = 0 if mechanism in ("hats", "laplace") else 1e-6
    release_queries = queries if mechanism in ("gaussian", "laplace") else None
    params: dict[str, Any] = {"mechanism": mechanism, "queries": release_queries, "failure_probability": FALSE_ALARM}
    synopsis = mp.release(people, space, epsilon=20, delta=delta, **params)
    exact = mp.exact_mean_distance(people, space, queries)
    # five sides of fixed public pairs: the embedding's part holds for 95 % of pairs, and F averages over 20,000
    assert_promised(synopsis, queries, exact, at_most=space.diameter / 2)
    synopsis.save(tmp_path / "a.milepost")
    loaded_synopsis = mp.load(tmp_path / "a.milepost")
    assert np.array_equal(loaded_synopsis.mean_distance(queries), synopsis.mean_distance(queries))
    assert loaded_synopsis.error() == synopsis.error()


@pytest.mark.parametrize("mechanism", ["slopes", TANGENTS])
@pytest.mark.parametrize("table", TABLES)
def test_sessions(table: str, mechanism: str) -> None:
    """Remark 8.2: no embedding here depends on queries."""
    space, people = TABLES[table]
    arguments: dict[str, Any] = {"epsilon": 50, "delta": 1e-6, "max_queries": 50, "failure_probability": FALSE_ALARM}
    # tangents promises at 1 − beta; slopes, for one answer at 95 %, is asked without noise
    noiseless = nullcontext() if mechanism == "tangents" else Transcript().listen()
    with noiseless, mp.interactive(people, space, mechanism=mechanism, **arguments) as session:
        for query in people[:3]:
            answer = session.ask(query)
            # the error of random directions is one of 95 % too, and is not taken away with the noise
            factor = 3 if table == "angles" and mechanism == "slopes" else 1
            error = abs(answer.value - mp.exact_mean_distance(people, space, query))
            assert error <= factor * max(answer.error, session.error)


def test_the_center_of_a_table_on_the_earth() -> None:
    """Found by walking; across the antimeridian, and over a pole."""
    for center, cap in (
        ([-17.3, -179.6], mp.GreatCircle((-17.7, 179.9), 300, 16)),
        ([89.5, 40], mp.GreatCircle((88, -140), 500, 16)),
    ):
        distances = np.abs(np.random.default_rng(0).normal(0, 20, 1000))
        people = np.concatenate([cap.points_around(np.array(center), distance) for distance in distances])
        with Transcript().listen():  # without noise
            synopsis = mp.release(people, cap, epsilon=50, delta=1e-6, mechanism="slopes")
        assert haversine(synopsis.center(), center) < 5


def test_queries_outside_are_answered_at_the_border() -> None:
    """Given queries: a warning, the same point when asked again, and one answer each in the file's own list."""
    space, people = TABLES["cap"]
    queries = [[-17.7, 179.9], [0.0, 170.0]]
    with pytest.warns(mp.AccuracyWarning, match="outside"):
        synopsis = mp.release(people, space, epsilon=50, delta=1e-6, mechanism="gaussian", queries=queries)
    assert synopsis.queries is not None
    user_points = [space.user_point(point) for point in synopsis.queries.points]
    assert np.array_equal(synopsis.mean_distance(user_points), synopsis.mean_distance(queries))


# the command line


def run(line: str) -> int:
    with pytest.raises(SystemExit) as stop:
        cli.main(shlex.split(line))
    return int(stop.value.code or 0)


@pytest.mark.slow
def test_the_command_line_knows_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(0)
    rows = generator.normal([-33.9, 18.4], 0.1, (2000, 2))
    pd.DataFrame({"Longitude": rows[:, 1], "Latitude": rows[:, 0]}).to_csv("homes.csv", index=False)
    cap = "--space great-circle --center -33.9,18.4 --radius-km 40"
    assert run(f"plan {cap} --directions 16 --n 20000 --epsilon 1 --delta 1e-6") == 0
    assert run(f"release homes.csv {cap} --directions 16 --epsilon 1 --delta 1e-6 -o homes.milepost") == 0
    assert mp.load("homes.milepost").space == mp.GreatCircle((-33.9, 18.4), 40, 16)
    assert run("query homes.milepost --at -33.8,18.5") == 0
    assert "lat" in capsys.readouterr().out
    Path("cap.toml").write_text('space = "great-circle"\ncenter = [-33.9, 18.4]\nradius_km = 40\n')
    assert run("plan --space cap.toml --n 20000 --epsilon 1 --delta 1e-6") == 0
    named = "--space great-circle --center lon=18.4 --center lat=-33.9 --radius-km 40"
    assert run(f"plan {named} --directions 16 --n 20000 --epsilon 1 --delta 1e-6") == 0
    np.savetxt("vectors.csv", generator.standard_normal((2000, 4)), delimiter=",", header="a,b,c,d", comments="")
    angles = "--space angular --dim 4 --directions 16"
    assert run(f"release vectors.csv {angles} --epsilon 1 --delta 1e-6 -o vectors.milepost") == 0
    assert run("query vectors.milepost --at 1,0,0,0") == 0
    capsys.readouterr()
    for line, message in (
        ("--space great-circle --center 52.5,13.4", "--radius-km 40"),
        ("--space great-circle --radius-km 4", "--center 52.5,13.4"),
        ("--space great-circle --center 139.7,35.7 --radius-km 4", "write (35.7, 139.7)"),
        ("--space angular", "--dim 64"),
        ("--space angular --dim 3 --radius-km 4", "no --radius-km"),
        ("--space cap.toml --radius-km 4", "--radius-km belongs"),
    ):
        assert run(f"plan {line} --n 100 --epsilon 1") == 2
        assert message in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("latitude", "radius"), [(0, 1), (52, 40), (89, 2000), (-45, 6000), (90, 10_000), (10, 10_007)]
)
@pytest.mark.parametrize("directions", [1, 5, 64])
def test_no_pair_of_many_in_a_cap_passes_the_reach(latitude: float, radius: float, directions: int) -> None:
    """10⁵ pairs: across the cap in every direction, border to border, near the centre, and anywhere."""
    space = mp.GreatCircle((latitude, 30), radius, directions=directions)
    generator = np.random.default_rng(0)
    count = 100_000
    turn = generator.uniform(0, 2 * np.pi, count)
    degrees = np.where(generator.random(count) < 0.5, 1.2, np.sqrt(generator.random(count))) * np.degrees(
        radius / EARTH_KM
    )
    left = np.column_stack(
        [latitude + degrees * np.cos(turn), 30 + degrees * np.sin(turn) / np.cos(np.radians(latitude))]
    )
    right = np.where(
        generator.random((count, 1)) < 0.5, 2 * np.array([latitude, 30]) - left, generator.permutation(left)
    )
    quanta = [space.quantize(space.read(rows)) for rows in (left, right)]
    distances = np.abs(quanta[0] - quanta[1]) @ space.embedding.quantum
    assert distances.max() <= space.embedding.sensitivity_bound
    assert distances.max() >= 0.6 * space.embedding.sensitivity_bound


@pytest.mark.slow
@pytest.mark.parametrize("dim", [1, 2, 16])
def test_no_pair_of_many_vectors_passes_the_reach(dim: int) -> None:
    """10⁵ pairs, opposite vectors among them: all sides change, which is the reach."""
    space = mp.Angular(dim, directions=32)
    generator = np.random.default_rng(0)
    left = generator.standard_normal((100_000, dim)) * 10.0 ** generator.integers(-200, 200, (100_000, 1))
    right = np.where(generator.random((100_000, 1)) < 0.2, -left, generator.permutation(left))
    quanta = [space.quantize(space.read(rows)) for rows in (left, right)]
    distances = np.abs(quanta[0] - quanta[1]) @ space.embedding.quantum
    assert 0.999 * space.embedding.sensitivity_bound <= distances.max() <= space.embedding.sensitivity_bound
