"""Noise: the laws that OpenDP draws from are the ones that the margins assume."""

import os
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

from milepost import MilepostError
from milepost._typing import FloatArray, IntArray
from milepost.privacy import noise
from milepost.privacy.noise import (
    LaplaceStream,
    discrete_gaussian,
    gaussian,
    gaussian_each,
    gaussian_tail,
    laplace,
    laplace_each,
    laplace_tail,
)
from tests.chance import assert_fit, assert_scale


def law(name: str, scale: float, support: int) -> FloatArray:
    """Probabilities of −support..support, by definition."""
    x = np.arange(-support, support + 1)
    weight = np.exp(-np.abs(x) / scale) if name == "laplace" else np.exp(-(x**2) / (2 * scale**2))
    return np.asarray(weight / weight.sum())


@pytest.mark.parametrize("name", ["gaussian", "laplace"])
@pytest.mark.parametrize("scale", [0.7, 3.0, 50.0])
@pytest.mark.parametrize("failure", [0.5, 0.05, 1e-4, 1e-9])
def test_tails_hold_and_are_close(name: str, scale: float, failure: float) -> None:
    """Pr[|X| > t] ≤ failure by exact summation, and t is within 2 of the least such integer."""
    support = int(60 * scale) + 60
    p = law(name, scale, support)
    tail = {"gaussian": gaussian_tail, "laplace": laplace_tail}[name](scale, failure)

    def outside(t: int) -> float:
        return float(p[np.abs(np.arange(-support, support + 1)) > t].sum())

    assert outside(tail) <= failure * (1 + 1e-9)
    assert tail < 2 or outside(tail - 2) > failure


def assert_law(draws: IntArray, name: str, scale: float) -> None:
    """Draws fit the law in cells of an integer, and what is beyond 3 scales; one 10 % off would be noticed."""
    cut = int(3 * scale)

    def cells(scale: float) -> FloatArray:
        p = law(name, scale, 60 * cut)
        return np.append(p[59 * cut : 61 * cut + 1], p[: 59 * cut].sum() + p[61 * cut + 1 :].sum())

    inside = np.abs(draws) <= cut
    counts = np.append(np.bincount(draws[inside] + cut, minlength=2 * cut + 1), (~inside).sum())
    assert_fit(counts, cells(scale), against=[cells(1.1 * scale), cells(0.9 * scale)])


@pytest.mark.parametrize("name", ["gaussian", "laplace"])
def test_draws_follow_their_law(name: str) -> None:
    """A scale 10 % off would be noticed; `test_noise_laws` looks closer."""
    draw = {"gaussian": discrete_gaussian, "laplace": laplace}[name]
    assert_law(draw(np.zeros(60_000, dtype=np.int64), 8.0), name, 8.0)


def test_gaussian_noise_of_a_scale_has_a_larger_parameter() -> None:
    """√(σ² + η²) = 5 of σ = 4: noise without η would be noticed."""
    assert_law(gaussian(np.zeros(60_000, dtype=np.int64), 4.0), "gaussian", 5.0)
    scales = np.full(60_000, 4.0)
    scales[::2] = 4.5
    each = gaussian_each(np.zeros(60_000, dtype=np.int64), scales)
    assert_law(each[1::2], "gaussian", 5.0)


def test_a_stream_draws_the_same_law() -> None:
    """Blocks change the price of a draw, not its law."""
    stream = LaplaceStream(5.0)
    assert_law(np.array([stream.next() for _ in range(60_000)]), "laplace", 5.0)


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> int:
    """As on a machine of four processors."""
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    return 4


@pytest.mark.parametrize("draw", [gaussian, laplace])
def test_threads_draw_noise_of_their_own(threads: int, draw: Callable[[IntArray, float], IntArray]) -> None:
    """No draw comes twice: among 10⁴ of scale 2⁵⁵ one does with 10⁸/2 · 0.29/2⁵⁵ < 4e-10 at most."""
    draws = draw(np.zeros(10_000, dtype=np.int64), noise.MAX_SCALE)
    assert len(np.unique(draws)) == 10_000
    for quarter in draws.reshape(threads, -1) / noise.MAX_SCALE:
        assert_scale(quarter, law="laplace" if draw is laplace else "gaussian", against=1.3, comparisons=threads)


def fake_measurement(piece: IntArray, calls: list[int], wrong: int = -1) -> list[int]:
    calls.append(len(piece))
    if wrong in piece:
        raise RuntimeError("no entropy")
    return list(piece.tolist())


@pytest.mark.parametrize(
    ("rows", "pieces"), [(0, [0]), (2047, [2047]), (2048, [1024] * 2), (4095, [1365] * 3), (5001, [1251] + [1250] * 3)]
)
@pytest.mark.usefixtures("threads")
def test_pieces_of_a_vector_are_put_together_in_order(
    rows: int, pieces: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short vectors are drawn at once, long ones in as many pieces as there are processors."""
    calls: list[int] = []
    monkeypatch.setattr(noise, "_measurement", lambda *_: partial(fake_measurement, calls=calls))
    assert gaussian(np.arange(rows), 1.0).tolist() == list(range(rows))
    assert sorted(calls) == sorted(pieces)


@pytest.mark.parametrize("wrong", [0, 2500, 4999])
@pytest.mark.usefixtures("threads")
def test_a_piece_that_fails_fails_the_whole(wrong: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is answered with noise on a part."""
    monkeypatch.setattr(noise, "_measurement", lambda *_: partial(fake_measurement, calls=[], wrong=wrong))
    with pytest.raises(RuntimeError, match="no entropy"):
        laplace(np.arange(5000), 1.0)


@pytest.mark.parametrize("draw", [gaussian_each, laplace_each])
@pytest.mark.parametrize("long", [False, True])
@pytest.mark.usefixtures("threads")
def test_values_of_their_own_scales_get_one_call_a_scale_and_keep_their_order(
    long: bool, draw: Callable[[IntArray, FloatArray], IntArray], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the order of scales, and whether one of them has enough values for several threads."""
    calls: dict[float, list[int]] = {}
    values = np.arange(4096 if long else 300)
    scales = np.where(values % 3 == 0, 2.0, np.where(values > (4000 if long else 200), 5.0, 1.0))
    monkeypatch.setattr(
        noise, "_measurement", lambda _, scale: partial(fake_measurement, calls=calls.setdefault(scale, []))
    )
    assert draw(values, scales).tolist() == values.tolist()
    parameter = noise.gaussian_deviation if draw is gaussian_each else float
    drawn = {scale: parameter(scale) for scale in (1.0, 2.0, 5.0)}
    assert {scale: sum(calls[drawn[scale]]) for scale in drawn} == {
        scale: int((scales == scale).sum()) for scale in drawn
    }
    assert [len(calls[drawn[scale]]) for scale in drawn] == [2 if long else 1, 1, 1]


@pytest.mark.parametrize("draw", [gaussian_each, laplace_each])
def test_each_value_has_noise_of_its_own_scale(draw: Callable[[IntArray, FloatArray], IntArray]) -> None:
    """Of three scales in turn, and no draw twice."""
    scales = np.tile([2.0**40, 2.0**44, 2.0**50], 3000)
    draws = draw(np.zeros(len(scales), dtype=np.int64), scales)
    for first in range(3):
        own = draws[first::3] / scales[first]
        assert_scale(own, law="laplace" if draw is laplace_each else "gaussian", against=1.3, comparisons=3)
    assert len(np.unique(draws[2::3])) == 3000


@pytest.mark.parametrize("scale", [0.0, -1.0, np.nan, np.inf, 2.0**60])
def test_a_scale_that_does_not_fit_is_refused(scale: float) -> None:
    """Never a smaller scale in silence."""
    for draw in (laplace, gaussian, discrete_gaussian):
        with pytest.raises(MilepostError, match="epsilon"):
            draw(np.zeros(1, dtype=np.int64), scale)
    for draw_each in (laplace_each, gaussian_each):
        with pytest.raises(MilepostError, match="epsilon"):
            draw_each(np.zeros(2, dtype=np.int64), np.array([1.0, scale]))


def test_a_forked_process_draws_in_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Locks of native code that were held at the fork would stop another thread for ever."""
    assert noise.max_threads() == (os.cpu_count() or 1)
    monkeypatch.setattr(noise, "_IMPORTING_PROCESS", os.getpid() + 1)
    monkeypatch.setattr(noise, "ThreadPoolExecutor", None)
    assert noise.max_threads() == 1
    values = np.zeros(8 * noise.PIECE, dtype=np.int64)
    assert len(noise.laplace(values, 3.0)) == len(values)
    assert len(noise.laplace_each(values, np.resize(np.arange(1.0, 10.0), len(values)))) == len(values)
