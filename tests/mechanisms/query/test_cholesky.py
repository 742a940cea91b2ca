"""Factor: an integer triangular matrix whose square covers the kernel, whatever the points and however they arrive."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import milepost as mp
from milepost._typing import AnyArray, FloatArray
from milepost.mechanisms.query import cholesky
from milepost.mechanisms.query.cholesky import NUGGET, CholeskyFactor, check_points
from milepost.mechanisms.query.field import Field
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.kernels.kernel import Kernel
from tests.mechanisms.contract import APPROXIMATE, SPACES, inside, patched

SHAPES = ["random", "clustered", "equal", "in a line", "at corners"]


def fractions(shape: str, width: int, count: int) -> FloatArray:
    """Points in fractions of the columns' widths."""
    rng = np.random.default_rng(count)
    random_points = rng.random((count, width))
    return {
        "random": random_points,
        "clustered": random_points[rng.integers(0, 3, count)] + 1e-9 * rng.random((count, width)),
        "equal": np.repeat(random_points[:1], count, axis=0),
        "in a line": np.linspace(0, 1, count)[:, None].repeat(width, axis=1),
        "at corners": rng.integers(0, 2, (count, width)).astype(np.float64),
    }[shape]


def extended(factor: CholeskyFactor, points: AnyArray) -> FloatArray:
    """The rows of points that are added."""
    factor.extend(points)
    return factor.rows(factor.count - len(points), factor.count)


def make_factor(space: Any, max_points: int) -> CholeskyFactor:
    noise = Field().noise(space, max_points, ProtectedChange(), APPROXIMATE)
    return CholeskyFactor(noise.kernel, max_points, noise.unit)


def points_at(space: Any, rows: FloatArray) -> AnyArray:
    points = inside(space, rows)
    return points if points.dtype == np.float64 else np.asarray(space.clip_points(space.read_queries(points)))


def square(rows: FloatArray) -> FloatArray:
    """ℓℓᵀ of whole numbers below 2⁴⁰, by halves whose products are exact; the sum is rounded a few times."""
    high = np.rint(rows / 2.0**20)
    low = rows - high * 2.0**20
    cross = high @ low.T
    return np.asarray(high @ high.T * 2.0**40 + (cross + cross.T) * 2.0**20 + low @ low.T)


def excess(factor: CholeskyFactor, rows: FloatArray, points: AnyArray) -> tuple[float, float]:
    """The least and largest eigenvalue of unit²ℓℓᵀ − C − (λ/2)I, in λ; computed to 1e-9 of it and better."""
    kernel, nugget = factor.kernel, NUGGET * factor.kernel.max_variance
    half = kernel.half(points)
    covariance = half[:, None] + half[None] - 2 * kernel.apart(points, points)
    covariance[np.diag_indices(len(points))] = 2 * half
    values = np.linalg.eigvalsh(square(rows) * factor.unit**2 - covariance)
    return float(values.min() / nugget - 0.5), float(values.max() / nugget - 0.5)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", [name for name in SPACES if name != "towns"])
def test_its_square_covers_the_kernel(name: str, shape: str) -> None:
    """In blocks of several sizes, one by one among them; and by λ/2 at most, so that no noise is wasted."""
    space = SPACES[name]
    points = points_at(space, fractions(shape, space.width, 40))
    factor = make_factor(space, len(points))
    parts = [extended(factor, points[a:b]) for a, b in ((0, 1), (1, 2), (2, 3), (3, 20), (20, 40))]
    rows = np.zeros((40, 40))
    for start, part in zip((0, 1, 2, 3, 20), parts, strict=True):
        rows[start : start + len(part), : part.shape[1]] = part
    assert np.array_equal(rows, np.rint(rows))
    assert np.array_equal(rows, np.tril(rows))
    assert (np.diag(rows) > 0).all()
    assert np.abs(rows).max() < 2.0**40
    smallest, largest = excess(factor, rows, points)
    assert smallest >= 0
    assert largest <= 0.51


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["unequal weights", "disc", "lp", "cap", "angles"])
@pytest.mark.parametrize("at_once", [1, 97, 600])
def test_its_square_covers_the_kernel_at_many_points(name: str, shape: str, at_once: int) -> None:
    space = SPACES[name]
    points = points_at(space, fractions(shape, space.width, 600))
    factor = make_factor(space, 600)
    for start in range(0, 600, at_once):
        factor.extend(points[start : start + at_once])
    smallest, largest = excess(factor, factor.rows(0, 600), points)
    assert smallest >= 0
    assert largest <= 0.51


def test_too_small_a_nugget_would_be_seen() -> None:
    """The check above fails for a diagonal that is one part in 500 too small."""
    space = SPACES["disc"]
    points = points_at(space, fractions("random", 2, 40))
    factor = make_factor(space, 40)
    rows = extended(factor, points)
    rows[np.diag_indices(40)] *= 0.998
    assert excess(factor, rows, points)[0] < 0


def test_one_by_one_and_at_once_are_the_same_to_rounding() -> None:
    space = SPACES["cap"]
    points = points_at(space, fractions("random", 2, 30))
    single, at_once = make_factor(space, 30), make_factor(space, 30)
    for index in range(30):
        single.extend(points[index : index + 1])
    rows = extended(at_once, points)
    assert np.abs(single.rows(0, 30) - rows).max() <= 64


def test_more_points_than_were_promised_are_refused() -> None:
    space = SPACES["disc"]
    points = points_at(space, fractions("random", 2, 11))
    factor = make_factor(space, 10)
    factor.extend(points[:8])
    with pytest.raises(mp.MilepostError, match="10 points cannot take 11"):
        factor.extend(points[8:])
    assert factor.count == 8
    assert extended(factor, points[8:10]).shape == (2, 10)
    with pytest.raises(mp.MilepostError):
        factor.extend(points[10:])


class Broken(Exception):  # noqa: N818
    """What may go wrong within a metric."""


@pytest.mark.parametrize("fails", range(1, 8))
def test_a_failure_leaves_it_as_it_was(fails: int) -> None:
    """Wherever the metric fails among three blocks: what follows is as if these points had never come."""
    space = SPACES["disc"]
    points = points_at(space, fractions("random", 2, 60))
    with patched([(cholesky, "BLOCK", 16)]):
        plain = make_factor(space, 60)
        plain.extend(points[:10])
        expected = extended(plain, points[50:])
        factor = make_factor(space, 60)
        factor.extend(points[:10])
        kernel, calls = factor.kernel, 0

        def apart(left: AnyArray, right: AnyArray) -> FloatArray:
            nonlocal calls
            calls += 1
            if calls == fails:
                raise Broken
            return kernel.apart(left, right)

        factor.kernel = replace(kernel, apart=apart)
        if fails <= 6:  # two distances a block
            with pytest.raises(Broken):
                factor.extend(points[10:50])
            assert factor.count == 10
        factor.kernel = kernel
        assert np.array_equal(extended(factor, points[50:]), expected)


def graph(left: AnyArray, right: AnyArray) -> FloatArray:
    """Steps in the graph of 2 and 3 nodes, all of the one side joined to all of the other: not of negative type."""
    side = np.array([0, 0, 1, 1, 1])
    a, b = left.astype(int)[:, 0], right.astype(int)[:, 0]
    return np.where(a[:, None] == b[None], 0.0, np.where(side[a][:, None] == side[b][None], 2.0, 1.0))


def test_distances_that_are_not_of_negative_type_are_refused() -> None:
    """With words, at once or when the last point comes; what was there before stays."""

    def constant(points: AnyArray) -> FloatArray:
        return np.full(len(points), 2.0)

    kernel = Kernel(constant, graph, constant, 2.0, 1.0, 4.0, 0.0, 0.0)
    nodes = np.arange(5.0)[:, None]
    with pytest.raises(mp.MilepostError, match="negative type"):
        CholeskyFactor(kernel, 5, 2.0**-38).extend(nodes)
    factor = CholeskyFactor(kernel, 5, 2.0**-38)
    factor.extend(nodes[:4])
    with pytest.raises(mp.MilepostError, match="negative type"):
        factor.extend(nodes[4:])
    assert factor.count == 4


LIMITS: list[tuple[Callable[[Kernel], Kernel], int, str]] = [
    (lambda kernel: kernel, 8193, r"up to 8,192 different queries, for which a session takes 0\.6 GB, got 8,193"),
    (
        lambda kernel: replace(kernel, between_error=1e-6 * kernel.max_variance),
        8192,
        "ask fewer, or take a larger space",
    ),
    (lambda kernel: replace(kernel, between_error=1e-3 * kernel.max_variance), 1, "rounding of distances"),
]


@pytest.mark.parametrize(("change", "max_points", "message"), LIMITS)
def test_limits_are_said_beforehand(change: Callable[[Kernel], Kernel], max_points: int, message: str) -> None:
    noise = Field().noise(SPACES["disc"], 10, ProtectedChange(), APPROXIMATE)
    with pytest.raises(mp.MilepostError, match=message):
        check_points(change(noise.kernel), max_points, noise.unit)
    with pytest.raises(mp.MilepostError, match=message):
        CholeskyFactor(change(noise.kernel), max_points, noise.unit)
    check_points(noise.kernel, 8192, noise.unit)


@pytest.mark.parametrize("radius", [1e-3, 1e-2, 1.0])
def test_rounding_that_is_allowed_for_is_covered(radius: float) -> None:
    """Distances off by all that a small cap says they may be, in the worst direction: still covered at the limit."""
    space = mp.GreatCircle((50, 8), radius)
    noise = Field().noise(space, 200, ProtectedChange(), APPROXIMATE)
    kernel = noise.kernel
    points = points_at(space, fractions("random", 2, 200))
    sign = np.where(np.arange(200) % 2, 1.0, -1.0)
    off = kernel.distance_error * sign[:, None] * sign[None]
    np.fill_diagonal(off, 0)
    wrong = replace(kernel, apart=lambda left, right: kernel.apart(left, right) + off[: len(left), : len(right)])
    with patched([(cholesky, "BLOCK", 200)]):
        factor = CholeskyFactor(wrong, 200, noise.unit)
        rows = extended(factor, points)
    factor.kernel = kernel
    assert excess(factor, rows, points)[0] >= 0
