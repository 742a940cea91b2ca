"""Noise: the laws that OpenDP draws from are the ones that the margins assume."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from scipy.stats import chisquare

from milepost import MilepostError
from milepost.arrays import FloatArray, IntArray
from milepost.privacy import noise
from milepost.privacy.noise import LaplaceStream, gaussian, gaussian_tail, laplace, laplace_tail


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


def p_value(draws: np.ndarray[tuple[int], np.dtype[np.int64]], name: str, scale: float) -> float:
    cut = int(3 * scale)
    p = law(name, scale, 60 * cut)
    middle = 60 * cut
    expected = np.append(p[middle - cut : middle + cut + 1], 0) * len(draws)
    expected[-1] = len(draws) - expected.sum()
    inside = np.abs(draws) <= cut
    observed = np.append(np.bincount(draws[inside] + cut, minlength=2 * cut + 1), (~inside).sum())
    return float(chisquare(observed, expected).pvalue)


@pytest.mark.parametrize("name", ["gaussian", "laplace"])
def test_draws_follow_their_law(name: str) -> None:
    """A χ² test with false-alarm rate 1e-7, which rejects a scale 10 % off; `test_noise_laws` looks closer."""
    draw = {"gaussian": gaussian, "laplace": laplace}[name]
    draws = draw(np.zeros(60_000, dtype=np.int64), 8.0)
    assert p_value(draws, name, 8.0) > 1e-7
    assert p_value(draws, name, 8.8) < 1e-7
    assert p_value(draws, name, 7.2) < 1e-7


def test_a_stream_draws_the_same_law() -> None:
    """Blocks change the price of a draw, not its law."""
    stream = LaplaceStream(5.0)
    draws = np.array([stream.next() for _ in range(60_000)])
    assert p_value(draws, "laplace", 5.0) > 1e-7
    assert p_value(draws, "laplace", 5.5) < 1e-7
    assert p_value(draws, "laplace", 4.5) < 1e-7


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> int:
    """As on a machine of four processors."""
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    return 4


@pytest.mark.parametrize("draw", [gaussian, laplace])
def test_threads_draw_noise_of_their_own(threads: int, draw: Callable[[IntArray, float], IntArray]) -> None:
    """No draw comes twice: among 10⁴ of the largest scale that happens by chance in fewer than one of 10⁹ vectors."""
    draws = draw(np.zeros(10_000, dtype=np.int64), noise.LARGEST_SCALE)
    assert len(np.unique(draws)) == 10_000
    quarters = draws.reshape(threads, -1) / noise.LARGEST_SCALE
    assert (np.abs(quarters).mean(axis=1) > 0.5).all()  # about 0.8 and 1


def measured(piece: list[int], calls: list[int], wrong: int = -1) -> list[int]:
    calls.append(len(piece))
    if wrong in piece:
        raise RuntimeError("no entropy")
    return piece


@pytest.mark.parametrize(
    ("rows", "pieces"), [(0, [0]), (2047, [2047]), (2048, [1024] * 2), (4095, [1365] * 3), (5001, [1251] + [1250] * 3)]
)
@pytest.mark.usefixtures("threads")
def test_pieces_of_a_vector_are_put_together_in_order(
    rows: int, pieces: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short vectors are drawn at once, long ones in as many pieces as there are processors."""
    calls: list[int] = []
    monkeypatch.setattr(noise, "_measurement", lambda *_: partial(measured, calls=calls))
    assert gaussian(np.arange(rows), 1.0).tolist() == list(range(rows))
    assert sorted(calls) == sorted(pieces)


@pytest.mark.parametrize("wrong", [0, 2500, 4999])
@pytest.mark.usefixtures("threads")
def test_a_piece_that_fails_fails_the_whole(wrong: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is answered with noise on a part."""
    monkeypatch.setattr(noise, "_measurement", lambda *_: partial(measured, calls=[], wrong=wrong))
    with pytest.raises(RuntimeError, match="no entropy"):
        laplace(np.arange(5000), 1.0)


@pytest.mark.parametrize("scale", [0.0, -1.0, np.nan, np.inf, 2.0**60])
def test_a_scale_that_does_not_fit_is_refused(scale: float) -> None:
    """Never a smaller scale in silence."""
    with pytest.raises(MilepostError, match="epsilon"):
        laplace(np.zeros(1, dtype=np.int64), scale)
