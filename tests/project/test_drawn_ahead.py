"""Noise that is drawn ahead: handed out once, of its own law, and only while it is asked for."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from milepost._typing import IntArray
from milepost.errors import MilepostError
from milepost.privacy import noise
from tests.chance import assert_scale, scale_draws
from tests.drawn_ahead import LARGEST, drawn_ahead


def test_a_draw_is_handed_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of the sampler, whatever is asked at once, from many threads, by law and scale apart."""
    counts: dict[tuple[str, float], int] = {}

    def count(law: str, values: IntArray, scale: float) -> IntArray:
        start = counts.get((law, scale), 0)
        counts[law, scale] = start + len(values)
        return np.asarray(values + np.arange(start, start + len(values)))

    monkeypatch.setattr(noise, "_add", count)
    with drawn_ahead(), ThreadPoolExecutor(4) as pool:
        sizes = [1, 0, 3, 100, 2 * LARGEST, 1, 7] * 20
        parts = list(pool.map(lambda size: noise.laplace(np.zeros(size, dtype=np.int64), 9.0), sizes))
        assert noise.gaussian(np.array([5, 5]), 9.0).tolist() == [5, 6]
        assert noise.laplace(np.array([-5]), 8.0).tolist() == [-5]
    draws = np.sort(np.concatenate(parts))
    assert np.array_equal(draws, np.arange(sum(sizes)))
    assert noise._add is count


def test_its_law_is_that_of_the_sampler() -> None:
    """Of many small calls on any numbers; a scale a tenth off would be noticed."""
    draws, values = scale_draws(0.9, law="laplace"), np.array([0, 10**9, -(10**9)])
    with drawn_ahead():
        errors = [noise.laplace(values, 50.0) - values for _ in range(-(-draws // 3))]
    assert_scale(np.concatenate(errors) / 50, law="laplace", against=1.1)


def test_the_sampler_comes_back_after_an_error() -> None:
    before = noise._add
    with pytest.raises(MilepostError, match="epsilon= is too small"), drawn_ahead():
        noise.gaussian(np.zeros(1, dtype=np.int64), 2.0**60)
    assert noise._add is before
