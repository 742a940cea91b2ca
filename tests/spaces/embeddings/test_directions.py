"""Directions: they nest, and the tables of what is slow to measure are computed again."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

import milepost as mp
from milepost._typing import IntArray
from milepost.spaces.embeddings.directions import (
    MAX_DIRECTIONS,
    ROTATIONS,
    SPACE_RANGES,
    UNIT,
    _rotations,
    compute_mean_range,
    direction_counts,
    equal_angles,
    mean_range,
    rotation_groups,
    sphere,
    sphere_count,
    stable,
)


@pytest.mark.parametrize(
    "count", [pytest.param(count, marks=[pytest.mark.slow] if count > 512 else []) for count in SPACE_RANGES]
)
def test_tabulated_ranges_of_means_are_computed_again(count: int) -> None:
    """Rounded outwards at the ninth digit, so that they bound every pair."""
    minimum, maximum = compute_mean_range(3, count)
    low, high = mean_range(3, count)
    assert minimum - 1e-8 < low <= minimum
    assert maximum <= high < maximum + 1e-8


NESTED: dict[str, Callable[[int], IntArray]] = {
    **{f"l2, d = {d}": partial(lambda d, count: l2(d, count).thetas, d) for d in (1, 2, 3, 4, 10, 40)},
    **{f"lp, d = {d}": partial(lambda d, count: lp(d, count).thetas, d) for d in (1, 2, 5, 100)},
    **{f"angular, d = {d}": partial(lambda d, count: mp.Angular(d, count, 3).thetas, d) for d in (1, 2, 3, 7, 150)},
}


def l2(dimension: int, count: int) -> mp.L2:
    return mp.L2([(0, 1)] * dimension, directions=count, random_state=3)


def lp(dimension: int, count: int) -> mp.Lp:
    return mp.Lp(1.4, [(0, 1)] * dimension, directions=count, random_state=3)


@pytest.mark.parametrize(("fewer", "more"), [(1, 2), (5, 8), (24, 100), (64, 65), (100, 1000), (320, 700)])
@pytest.mark.parametrize("name", NESTED)
def test_fewer_directions_are_the_first_of_more(name: str, fewer: int, more: int) -> None:
    """Whichever are made first, integer by integer."""
    sphere.cache_clear()
    stable.cache_clear()
    _rotations.cache_clear()
    first = NESTED[name](fewer)
    all_directions = NESTED[name](more)
    assert np.array_equal(all_directions[: len(first)], first)
    sphere.cache_clear()
    stable.cache_clear()
    _rotations.cache_clear()
    assert np.array_equal(NESTED[name](more), all_directions)
    assert np.array_equal(NESTED[name](fewer), first)


@pytest.mark.parametrize(("fewer", "more"), [(1, 2), (5, 8), (24, 100), (64, 512)])
def test_fewer_angles_of_a_cap_are_the_first_of_more(fewer: int, more: int) -> None:
    """So are the images of a place."""
    small, large = (mp.GreatCircle((50, 10), 100, count) for count in (fewer, more))
    for some, all_turns in zip(small._turns, large._turns, strict=True):
        assert np.array_equal(all_turns[: small.count], some)
    places = small.read(np.random.default_rng(0).uniform([49, 9], [51, 11], (50, 2)))
    assert np.array_equal(large.quantize(places)[:, : small.count], small.quantize(places))


def test_a_power_of_two_has_equal_angles() -> None:
    """Starting at 0, in the order of reversed bits."""
    sine, cosine = equal_angles(8)
    turns = np.array([0, 4, 2, 6, 1, 5, 3, 7]) * math.pi / 8
    assert np.column_stack([sine, cosine]) == pytest.approx(np.column_stack([np.sin(turns), np.cos(turns)]), abs=1e-15)


def test_no_two_directions_of_space_are_the_same() -> None:
    """Up to the largest number; none lies at the pole or on the rim, where its opposite would be another one."""
    thetas = sphere(3, MAX_DIRECTIONS, 0)
    assert len(np.unique(thetas, axis=0)) == MAX_DIRECTIONS
    assert thetas[:, 2].min() > 0
    assert np.linalg.norm(thetas[:, :2], axis=1).min() > 0


@pytest.mark.parametrize(("dimension", "count"), [(4, 8), (5, 160), (10, 24), (70, 1120), (150, 600)])
def test_directions_of_a_rotation_are_orthonormal(dimension: int, count: int) -> None:
    """Each of the independent rotations has as many directions as any other of its eight."""
    thetas, groups = sphere(dimension, count, 3) / UNIT, rotation_groups(dimension, count)
    assert len(groups) == len(thetas)
    for group in range(groups.max() + 1):
        rows = thetas[groups == group]
        assert len(rows) == min(dimension, len(thetas) // ROTATIONS)
        assert rows @ rows.T == pytest.approx(np.eye(len(rows)), abs=1e-4)


def test_rotations_are_interleaved() -> None:
    """Eight at a time, row by row."""
    groups = rotation_groups(5, 120)
    assert groups.shape == (120,)
    assert groups[:10].tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 0, 1]
    assert np.bincount(groups).tolist() == [5] * 24
    assert groups[39:42].tolist() == [7, 8, 9]
    assert rotation_groups(5, 17).tolist() == [*range(8)] * 3


@pytest.mark.parametrize("dimension", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("count", [1, 5, 8, 33, 57])
def test_the_number_of_directions_is_known_without_them(dimension: int, count: int) -> None:
    """It stands for itself."""
    rounded = sphere_count(dimension, count)
    assert rounded == len(sphere(dimension, count, 0)) == sphere_count(dimension, rounded)


@pytest.mark.parametrize(
    ("dimension", "count", "expected"),
    [(2, 12, 16), (3, 12, 12), (10, 12, 16), (10, 80, 80), (10, 81, 160), (1000, 16_000, 16_000)],
)
def test_numbers_of_directions_are_rounded_up(dimension: int, count: int, expected: int) -> None:
    """A space has the rounded number, and so has its card."""
    assert sphere_count(dimension, count) == expected
    space = mp.L2([(0, 1)] * dimension, directions=count)
    assert space.count == space.directions == space.to_json()["directions"] == expected
    assert space == mp.L2([(0, 1)] * dimension, directions=expected)


@pytest.mark.parametrize("dimension", [2, 3, 4, 9, 63, 700, 1500, 4096])
def test_no_number_of_directions_passes_the_largest(dimension: int) -> None:
    """A multiple of 8·d that would is rounded down, so that a card can be read again."""
    count = sphere_count(dimension, MAX_DIRECTIONS)
    assert count <= MAX_DIRECTIONS
    assert sphere_count(dimension, count) == count


@pytest.mark.parametrize(
    ("dimension", "max_count", "expected"),
    [
        (1, 1, [1]),
        (2, 64, [8, 16, 32, 64]),
        (3, 100, [8, 16, 32, 64, 100]),
        (10, 640, [16, 32, 64, 80, 160, 320, 640]),
        (10, 512, [16, 32, 64, 80, 160, 320, 560]),
        (600, 4096, [600, 1200, 2400, 4096]),
    ],
)
def test_numbers_of_directions_to_choose_from(dimension: int, max_count: int, expected: list[int]) -> None:
    """Doublings; above three columns of 8·d, and of a multiple of 8 below."""
    assert direction_counts(dimension, 8, max_count) == expected
    assert [sphere_count(dimension, count) for count in expected] == expected


@pytest.mark.parametrize("width", [4, 5])
def test_distortion_of_nested_directions_is_that_of_all_products(width: int) -> None:
    """However many smaller numbers of directions were measured before."""
    for space in mp.L2([(0, 1 + column) for column in range(width)]).size_variants(1000)[:4]:
        vectors = space._public_pairs(2000)
        embedded = np.abs(vectors @ space.thetas.T / (1 << 17)).mean(axis=1) * space.factor
        ratios = embedded / np.linalg.norm(vectors, axis=1)
        distortion = space.distortion(2000)
        assert distortion.expansion == pytest.approx(ratios.max(), rel=1e-12)
        assert distortion.contraction == pytest.approx(1 / ratios.min(), rel=1e-12)
        assert distortion.likely == pytest.approx(np.quantile(np.abs(ratios - 1), 0.95), rel=1e-9)
        assert not math.isnan(distortion.likely)
