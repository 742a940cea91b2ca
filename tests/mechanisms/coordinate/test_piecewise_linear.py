"""Even: the same as one interpolation after another, and the same in any company."""

import numpy as np
import pytest

import milepost as mp
from milepost.mechanisms.coordinate.piecewise_linear import CACHE_NUMBERS, UniformPiecewiseLinear, in_cache_blocks


def test_all_coordinates_at_once_are_as_one_by_one() -> None:
    generator = np.random.default_rng(0)
    bits = [3, 5, 0]
    heights = [generator.normal(size=count) for count in (9, 2, 33)]
    ends = np.array([8 << 3, 1 << 5, 32 << 0])
    positions = generator.uniform(0, 1, (500, 3)) * ends
    positions[0], positions[1], positions[2] = 0, ends, [8, 16, 4]
    expected = sum(
        np.interp(positions[:, i], np.arange(len(heights[i])) * 2.0 ** bits[i], heights[i]) for i in range(3)
    )
    assert UniformPiecewiseLinear(heights, bits).total(positions) == pytest.approx(expected, abs=1e-13)
    cell, fraction = UniformPiecewiseLinear(heights, bits).cells(positions)
    assert np.array_equal((cell + fraction) * 2.0 ** np.array(bits), positions)
    assert cell[1].tolist() == [7, 0, 31]


@pytest.mark.parametrize("mechanism", ["slopes", "hats"])
def test_answers_are_the_same_in_any_company(mechanism: str) -> None:
    """Bit for bit, whatever the size and the order of what is asked together."""
    rows = np.random.default_rng(0).normal([52.52, 13.4], 0.1, (2_000, 2))
    synopsis = mp.release(rows, mp.GreatCircle((52.52, 13.4), 50, 16), epsilon=50, delta=1e-6, mechanism=mechanism)
    points = rows[: CACHE_NUMBERS // 16 + 500]
    answers, intervals = synopsis.mean_distance(points), np.array(synopsis.interval(points))
    for selection in (slice(0, 1), slice(7, 8), slice(3, 90), slice(None, None, -1)):
        assert np.array_equal(synopsis.mean_distance(points[selection]), answers[selection])
        assert np.array_equal(synopsis.interval(points[selection]), intervals[:, selection])


def test_no_rows() -> None:
    assert in_cache_blocks(lambda rows: rows.sum(axis=1), np.empty((0, 3))).shape == (0,)
