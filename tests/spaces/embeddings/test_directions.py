"""Directions: the tables of what is slow to measure are computed again."""

import math

import numpy as np
import pytest

import milepost as mp
from milepost.spaces.angular import DEVIATIONS
from milepost.spaces.embeddings.directions import SPACE_RANGES, compute_mean_range, mean_range, sphere, sphere_count

QUICK = {(64, 64), (100, 200)}


@pytest.mark.parametrize("count", SPACE_RANGES)
def test_tabulated_ranges_of_means_are_computed_again(count: int) -> None:
    """Rounded outwards at the ninth digit, so that they bound every pair."""
    minimum, maximum = compute_mean_range(3, count)
    low, high = mean_range(3, count)
    assert minimum - 1e-8 < low <= minimum
    assert maximum <= high < maximum + 1e-8


@pytest.mark.parametrize(
    ("dim", "count"),
    [
        pytest.param(dim, count, marks=[] if (dim, count) in QUICK else pytest.mark.slow)
        for dim, counts in DEVIATIONS.items()
        for count in counts
    ],
)
def test_tabulated_deviations_of_angles_are_measured_again(dim: int, count: int) -> None:
    """Rounded up at the seventh digit; other seeds are measured."""
    space = mp.Angular(dim, count)
    measured = space._measure(1000)[1]
    assert measured <= space.embedding.relative_error < measured + 1.1e-7


@pytest.mark.parametrize("dim", DEVIATIONS)
def test_every_number_of_directions_to_choose_from_is_tabulated(dim: int) -> None:
    assert {*DEVIATIONS[dim]} == {space.count for space in mp.Angular(dim).size_variants(1000)}


def test_another_seed_is_measured() -> None:
    space = mp.Angular(64, 64, random_state=1)
    assert space.embedding.relative_error == space._measurement[1] != DEVIATIONS[64][64]


@pytest.mark.parametrize(("dimension", "count"), [(4, 8), (5, 10), (8, 64), (64, 128)])
def test_fewer_random_directions_are_the_first_of_more(dimension: int, count: int) -> None:
    """Whichever are asked for first, and each block is a rotation."""
    more, fewer = sphere(dimension, 2 * count, 3), sphere(dimension, count, 3)
    assert np.array_equal(more[: len(fewer)], fewer)
    block = fewer[:dimension] / (1 << 17)
    assert block @ block.T == pytest.approx(np.eye(dimension), abs=1e-4)


@pytest.mark.parametrize("dimension", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("count", [1, 5, 8])
def test_the_number_of_directions_is_known_without_them(dimension: int, count: int) -> None:
    assert sphere_count(dimension, count) == len(sphere(dimension, count, 0))


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
