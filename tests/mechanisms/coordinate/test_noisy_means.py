"""Means of functions that are linear in each cell: exact without noise, and with the law of noise that they claim."""

import math

import numpy as np
import pytest

import milepost as mp
from milepost._typing import FloatArray
from milepost.auditing.scripted_noise import NoiseScript
from milepost.mechanisms.coordinate import faber_schauder
from milepost.mechanisms.coordinate.curves import Curves
from milepost.mechanisms.coordinate.noisy_means import noisy_mean
from milepost.mechanisms.noise_quantiles import normal_quantile
from milepost.spaces.embeddings.embedding import QUANTA
from tests.chance import assert_scale
from tests.drawn_ahead import drawn_ahead

DELTAS = {"slopes": 1e-6, "hats": 0.0}
MECHANISMS = pytest.mark.parametrize("mechanism", DELTAS)
CHANGES = pytest.mark.parametrize("neighbors", ["replace", "add-remove"])


def released(people: FloatArray, space: mp.L1, mechanism: str, neighbors: str = "replace") -> Curves:
    synopsis = mp.release(people, space, epsilon=1, delta=DELTAS[mechanism], mechanism=mechanism, neighbors=neighbors)
    assert isinstance(synopsis.statistic, Curves)
    return synopsis.statistic


def borders(curves: Curves, i: int) -> FloatArray:
    """The values at the borders of cells of a column of bounds 0 and 1."""
    return np.arange(len(curves.heights[i])) / (len(curves.heights[i]) - 1)


def test_transposed_weights_give_the_same_sum() -> None:
    generator = np.random.default_rng(1)
    for levels in (0, 1, 5):
        weights = generator.normal(size=(1 << levels) + 1)
        coefficients = generator.integers(-99, 99, 1 << levels)
        expected = weights @ faber_schauder.synthesise(coefficients, 0, 1)
        assert math.isclose(faber_schauder.transpose(weights) @ coefficients, expected, rel_tol=1e-9, abs_tol=1e-9)


@MECHANISMS
@CHANGES
def test_without_noise_a_piecewise_linear_function_has_its_exact_mean(mechanism: str, neighbors: str) -> None:
    generator = np.random.default_rng(2)
    people = generator.uniform(0, 1, (700, 2))
    with NoiseScript().replacing_noise():
        curves = released(people, mp.L1([(0, 1), (0, 1)]), mechanism, neighbors)
    heights = {i: generator.normal(size=len(curves.heights[i])) for i in (0, 1)}
    expected = sum(float(np.interp(people[:, i], borders(curves, i), heights[i]).mean()) for i in (0, 1))
    result = noisy_mean(curves, heights, 0.05)
    assert abs(result.value - expected) < 1e-5  # records are rounded to 2⁻²⁴ of the width, and slopes are steep
    assert result.low < expected < result.high


@MECHANISMS
def test_a_distance_from_a_border_has_the_noise_of_its_curve(mechanism: str) -> None:
    curves = released(np.full((400, 2), 0.3), mp.L1([(0, 1), (0, 4)], weights=[1, 0.5]), mechanism)
    for i in (0, 1):
        width, last = float(curves.embedding.spread[i]), len(curves.heights[i]) - 1
        for border in (0, last // 2, last // 4 + 1, last):
            distances = np.abs(borders(curves, i) - border / last) * width
            position = np.array([border / last * QUANTA])
            result = noisy_mean(curves, {i: distances}, 0.05)
            assert math.isclose(result.value, curves.heights[i][border], rel_tol=1e-9, abs_tol=1e-9 * width)
            variance, kurtosis = curves.noises[i].share_moments(np.diff(distances))
            assert math.isclose(variance, curves.noises[i].variance(position)[0], rel_tol=1e-9)
            assert math.isclose(kurtosis, curves.noises[i].kurtosis(position)[0], rel_tol=1e-9, abs_tol=1e-12)
            assert math.isclose(result.variance, variance, rel_tol=1e-12)


def test_the_half_width_is_the_normal_quantile_of_gaussian_noise() -> None:
    curves = released(np.full((400, 1), 0.3), mp.L1([(0, 1)], step=0.125), "slopes")
    result = noisy_mean(curves, {0: borders(curves, 0)}, 0.05)
    assert math.isclose(result.half_width, normal_quantile(0.05) * math.sqrt(result.variance), rel_tol=1e-9)


def test_a_constant_function_has_no_noise() -> None:
    for mechanism in DELTAS:
        curves = released(np.full((400, 1), 0.3), mp.L1([(0, 1)], step=0.125), mechanism)
        assert noisy_mean(curves, {0: np.full(9, 3.0)}, 0.05).low == 3
        assert noisy_mean(curves, {0: np.full(9, 3.0)}, 0.05).high == 3


@pytest.mark.slow
@CHANGES
def test_the_noise_of_slopes_has_the_variance_that_it_claims(neighbors: str) -> None:
    people = np.random.default_rng(3).choice([0.0, 0.25, 1.0], (4000, 1))
    heights = np.array([0.0, 2.0, -1.0, 0.5, 3.0])
    expected = float(np.interp(people[:, 0], np.arange(5) / 4, heights).mean())
    draws = []
    with drawn_ahead():
        for _ in range(1500):
            curves = released(people, mp.L1([(0, 1)], step=0.25), "slopes", neighbors)
            result = noisy_mean(curves, {0: heights}, 0.05)
            draws.append((result.value - expected) / math.sqrt(result.variance))
    assert_scale(draws, against=1.2)


@pytest.mark.slow
def test_the_noise_of_hats_has_the_variance_that_it_claims() -> None:
    """The mean is the distance from the low end, a coefficient by itself: its noise is a Laplace draw."""
    people = np.full((400, 1), 0.25)
    draws = []
    with drawn_ahead():
        for _ in range(1500):
            curves = released(people, mp.L1([(0, 1)], step=0.25), "hats")
            result = noisy_mean(curves, {0: np.arange(5) / 4}, 0.05)
            draws.append((result.value - 0.25) / math.sqrt(result.variance / 2))
    assert_scale(draws, law="laplace", against=1.35)
