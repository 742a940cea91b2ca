"""Quantiles of sums of Laplace and normal noises, against their characteristic function."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milepost._typing import FloatArray
from milepost.mechanisms.noise_quantiles import mixture_quantile

FREQUENCIES = np.linspace(1e-6, 80, 80_001)


def tail_probability(z: float, scales: FloatArray, deviation: float) -> float:
    """Pr[|X| > z] for X = Σ Laplace(scales) + N(0, deviation²), by Gil-Pelaez inversion."""
    law = np.exp(-((deviation * FREQUENCIES) ** 2) / 2)
    for scale in scales:
        law /= 1 + (scale * FREQUENCIES) ** 2
    return 1 - 2 / np.pi * float(np.trapezoid(np.sin(FREQUENCIES * z) / FREQUENCIES * law, FREQUENCIES))


@pytest.mark.slow
@settings(max_examples=60)
@given(
    scales=st.lists(st.floats(0.05, 1), min_size=1, max_size=12),
    normal=st.floats(0.02, 2),
    failure=st.sampled_from([0.2, 0.09, 0.045, 0.009, 0.0009]),
)
def test_no_sum_passes_its_quantile_more_often(scales: list[float], normal: float, failure: float) -> None:
    """Nor much less often: the quantile is for the kurtosis, which leaves a few percent open."""
    weights = np.array(scales)
    variance = 2 * np.sum(weights**2) + normal**2
    weights, deviation = weights / np.sqrt(variance), normal / np.sqrt(variance)
    kurtosis = 12 * np.sum(weights**4)
    probability = tail_probability(float(mixture_quantile(np.array(kurtosis), failure)), weights, deviation)
    assert 0.85 * failure <= probability <= 1.01 * failure


@pytest.mark.parametrize("failure", [0.05, 0.01, 0.05 / 8192, 1e-9])
def test_one_laplace_draw_has_the_largest_quantile(failure: float) -> None:
    """Of all sums of the same variance, at the failures for which a session of pure ε makes its promise."""
    quantiles = mixture_quantile(np.linspace(0, 3, 301), failure)
    assert quantiles.max() == quantiles[-1]


@pytest.mark.parametrize("failure", [0.5, 0.045, 1e-4, 1e-8])
def test_the_ends_are_a_normal_law_and_one_laplace_draw(failure: float) -> None:
    """2Φ(−z) at kurtosis 0, e^(−z√2) at kurtosis 3, and what lies between is monotone there or nearly so."""
    from scipy.special import ndtr

    first, last = mixture_quantile(np.array([0.0, 3.0]), failure)
    assert 2 * ndtr(-first) == pytest.approx(failure)
    assert np.exp(-last * np.sqrt(2)) == pytest.approx(failure)
    between = mixture_quantile(np.linspace(0, 3, 50), failure)
    assert between.max() <= max(first, last) * 1.01
    assert between.min() >= min(first, last) * 0.99
