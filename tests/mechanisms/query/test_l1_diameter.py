"""l1_diameter: never less than the largest distance of two points, and hardly more."""

from typing import Any

import numpy as np
import pytest

from milepost._typing import AnyArray, FloatArray
from milepost.mechanisms.query import l1_diameter as module
from milepost.mechanisms.query.l1_diameter import TOLERANCE, far_pairs, farthest_from, l1_diameter


def exact_diameter(points: AnyArray, slacks: FloatArray) -> float:
    """The largest of all pairs, a point and itself included."""
    return max(
        float((np.abs(points - point).sum(axis=1) + slacks).max() + slack)
        for point, slack in zip(points, slacks, strict=True)
    )


def cloud(kind: str, count: int, width: int) -> FloatArray:
    random = np.random.default_rng([count, width])
    normal = random.standard_normal((count, width))
    if kind == "surface":  # smooth functions of two numbers, as distances are
        return np.asarray(np.cos(random.random((count, 2)) @ random.standard_normal((2, width)) * 3))
    if kind == "outlier":
        normal[0] *= 50
    if kind == "equal":
        normal[:] = normal[0]
    return normal * 2.0 ** -np.arange(width)


@pytest.mark.parametrize("slack", [0.0, 0.3])
@pytest.mark.parametrize("kind", ["surface", "normal", "outlier", "equal"])
@pytest.mark.parametrize(("count", "width"), [(1, 3), (2, 1), (65, 2), (700, 12)])
def test_the_bound_is_certain_and_close(kind: str, count: int, width: int, slack: float) -> None:
    points = cloud(kind, count, width)
    slacks = slack * np.random.default_rng(1).random(count)
    exact = exact_diameter(points, slacks)
    rounding = (width + 8) * 2.0**-21 * float(np.abs(points).sum(axis=1).max())
    assert exact <= l1_diameter(points, slacks) <= exact * (1 + TOLERANCE) + 2 * rounding + 1e-12


@pytest.mark.parametrize("work", [0, 1 << 14, 1 << 18])
def test_a_search_that_stops_early_has_a_larger_bound(work: int, monkeypatch: pytest.MonkeyPatch) -> None:
    points, slacks = cloud("surface", 900, 20), np.zeros(900)
    monkeypatch.setattr(module, "WORK", work)
    assert exact_diameter(points, slacks) <= l1_diameter(points, slacks) < 4 * exact_diameter(points, slacks)


@pytest.mark.parametrize("work", [0, 1 << 12, 1 << 33])
@pytest.mark.parametrize("kind", ["surface", "normal", "outlier"])
def test_the_bound_does_not_rest_on_the_pairs_that_were_found_before(
    kind: str, work: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    points, slacks = cloud(kind, 700, 12).astype(np.float32), np.linspace(0, 0.1, 700)
    monkeypatch.setattr(module, "WORK", work)
    assert module._search(points, slacks, 0.0) > exact_diameter(points, slacks) * (1 - 1e-5)


def test_pairs_are_as_far_apart_as_they_say() -> None:
    points, slacks = cloud("surface", 300, 9), np.linspace(0, 1, 300)
    pairs = far_pairs(points, slacks)
    for pair in pairs:
        distance = np.abs(points[pair.left] - points[pair.right]).sum()
        assert pair.length == pytest.approx(distance + slacks[pair.left] + slacks[pair.right])
    assert max(pair.length for pair in pairs) > 0.9 * exact_diameter(points, slacks)


def test_the_farthest_point_is_found() -> None:
    points, slacks = cloud("normal", 50, 4), np.zeros(50)
    index, length = farthest_from(points, slacks, np.zeros(4))
    lengths: Any = np.abs(points).sum(axis=1)
    assert index == lengths.argmax()
    assert length == pytest.approx(lengths.max())
