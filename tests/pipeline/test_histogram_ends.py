"""Ends: noise alone is not taken for data, and data is not taken for noise."""

import numpy as np
import pytest
from scipy.stats import nbinom

from milepost._typing import IntArray
from milepost.pipeline.find_bounds import (
    detected_range,
    hidden_count,
    laplace_sum_tail,
    laplace_sum_tails,
    signal_range,
)
from milepost.privacy.noise import laplace
from tests.chance import assert_rate


@pytest.mark.parametrize("scale", [0.8, 4.4, 60.0])
@pytest.mark.parametrize("count", [1, 2, 16, 200])
@pytest.mark.parametrize("failure", [0.05, 1e-6])
def test_tails_of_sums_hold_and_are_close(scale: float, count: int, failure: float) -> None:
    """A sum of k draws is the difference of two negative binomial ones; its tail is summed exactly, a second method."""
    limit = laplace_sum_tail(scale, count, failure)
    success = -np.expm1(-1 / scale)
    support = np.arange(int(count * scale * 4 + 80 * scale))

    def beyond(t: float) -> float:
        return float(nbinom.pmf(support, count, success) @ nbinom.sf(support + np.floor(t), count, success))

    assert beyond(limit) <= failure * (1 + 1e-6)
    assert beyond(0.5 * limit - 2) > failure
    assert laplace_sum_tails(scale, count, failure)[-1] >= limit


def blank(count: int, scale: float) -> IntArray:
    return laplace(np.zeros(count, dtype=np.int64), scale)


def test_noise_alone_shows_nothing() -> None:
    """100 histograms at a failure of 0.05; noise that is twice as large as is said is seen in two of three."""
    false_alarms, wrong_scale_alarms = (
        sum(detected_range(blank(202, 5.0), scale, 0.05) is not None for _ in range(100)) for scale in (5.0, 2.5)
    )
    assert_rate(false_alarms, 100, at_most=0.05, against=0.5)
    assert_rate(wrong_scale_alarms, 100, at_least=0.5, against=0.05)


@pytest.mark.parametrize("width", [1, 5, 40, 150])
def test_what_is_there_is_seen_with_as_much_around_it(width: int) -> None:
    """A flat block of 4000 records, 80 times; noise moves an end with probability 0.01."""
    failures = 0
    for _ in range(80):
        exact = np.zeros(202, dtype=np.int64)
        exact[40 : 40 + width] = 4000 // width
        ends = signal_range(laplace(exact, 5.0), 5.0, 0, 0.01, zero=0)
        failures += ends is None or not 40 - 2 * width <= ends[0] <= 40 < 40 + width <= ends[1] <= 40 + 3 * width
    assert_rate(failures, 80, at_most=0.01, against=0.4)


def test_tails_are_cut_where_that_is_certain() -> None:
    """Of 500 records a cell 1300 may go on either side: two cells and a margin of less than 200 for noise.

    Another end needs noise of over 100 on two or three cells, at a scale of 1: less likely than e⁻³⁰ in all.
    """
    exact = np.full(200, 500, dtype=np.int64)
    for _ in range(50):
        assert signal_range(laplace(exact, 1.0), 1.0, 1300, 1e-8, zero=0) == (2, 198)


def test_an_end_does_not_pass_0_for_noise() -> None:
    exact = np.zeros(100, dtype=np.int64)
    exact[50:60] = 1000
    assert signal_range(exact, 1.0, 0, 1e-3, zero=0) == (49, 61)
    assert signal_range(exact, 1.0, 0, 1e-3, zero=50) == (50, 61)
    assert signal_range(exact, 1.0, 0, 1e-3, zero=60) == (49, 60)
    assert signal_range(exact, 1.0, 0, 1e-3, zero=55) == (49, 61)
    assert signal_range(exact, 1.0, 0, 1e-3, zero=50, spread=0.5) == (50, 67)
    assert signal_range(exact, 1.0, 0, 1e-3, zero=50, spread=1e300) == (50, 100)


def test_ends_never_meet() -> None:
    """Even where all that is seen could be cut."""
    exact = np.zeros(10, dtype=np.int64)
    exact[4] = 100
    assert signal_range(exact, 1.0, 1000, 1e-3, zero=0) == (3, 6)
    assert signal_range(exact * 0, 1.0, 1000, 1e-3, zero=0) is None
    assert 0 < hidden_count(1.0, 10, 1e-3) < 100
