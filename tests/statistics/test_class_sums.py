"""Sums of clipped points by class: no image is longer than the bound, each depends on its record, and sums add up."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import milepost as mp
from milepost._typing import AnyArray, IntArray
from milepost.statistics.ball_points import STEPS, BallGrid
from milepost.statistics.class_sums import ClippedPoints, class_sums
from milepost.statistics.statistic_spec import RecordBlock

SPACES: dict[str, tuple[mp.Space, Any]] = {
    "L1": (mp.L1([(0, 10), (5, 5), (-3, 1)], weights=[1, 1, 7]), lambda rng, n: rng.uniform(-5, 15, (n, 3))),
    "L2 box": (mp.L2([(1e6, 1e6 + 1)] * 5), lambda rng, n: 1e6 + rng.uniform(-1, 2, (n, 5))),
    "L2 ball": (mp.L2(center=[3.25] * 17, radius=2), lambda rng, n: rng.normal(3, 4, (n, 17))),
    "Lp": (mp.Lp(1.5, [(0, 1)] * 4), lambda rng, n: rng.uniform(-1, 2, (n, 4))),
    "Angular": (mp.Angular(6), lambda rng, n: rng.normal(size=(n, 6))),
    "GreatCircle": (
        mp.GreatCircle(center=(52.5, 13.4), radius_km=500),
        lambda rng, n: np.array([50.0, 10.0]) + rng.normal(size=(n, 2)) * 4,
    ),
    "Gower": (
        mp.Gower([mp.number(0, 9), mp.category(["a", "b"]), mp.flag()], weights=[1, 5, 2]),
        lambda rng, n: np.array(
            [[rng.uniform(-3, 12), rng.choice(["a", "b", "c"]), bool(rng.integers(2))] for _ in range(n)], dtype=object
        ),
    ),
    "Hamming": (
        mp.Hamming(["abc"] * 3),
        lambda rng, n: np.array(["".join(rng.choice(list("abcd"), 3)) for _ in range(n)]),
    ),
}


def lengths(integers: IntArray, taxicab: bool) -> list[int]:
    """Lengths in ℓ₁, or squared ones in ℓ₂, in whole numbers of any size."""
    rows = integers.astype(object)
    return [int(sum(abs(x) if taxicab else x * x for x in row)) for row in rows]


@pytest.mark.parametrize("name", SPACES)
def test_every_space_with_vectors_has_class_sums_by_record(name: str) -> None:
    """A record's image is the same alone, in any block and beside any others; and none is longer than the bound."""
    space, make = SPACES[name]
    rng = np.random.default_rng(3)
    points, classes = space.read(make(rng, 40)), rng.integers(0, 3, 40)
    ball = space.enclosing_ball
    assert ball is not None
    grid = BallGrid(*ball)
    for taxicab in (False, True):
        rule = ClippedPoints(grid, rng.integers(-STEPS // 3, STEPS // 3, grid.width), STEPS // 2, taxicab)
        spec = class_sums(space, rule, 3)
        together = spec.image(RecordBlock(points, classes))[1]
        alone = [spec.image(RecordBlock(points[k : k + 1], classes[k : k + 1]))[1] for k in range(40)]
        assert np.array_equal(together, np.vstack(alone))
        assert max(lengths(together, taxicab)) <= (rule.reach if taxicab else rule.reach**2)
        whole = spec.of(RecordBlock(points, classes))
        parts = [spec.of(RecordBlock(points[part], classes[part])) for part in np.array_split(np.arange(40)[::-1], 7)]
        assert np.array_equal(whole.sums, sum(part.sums for part in parts))
        assert np.array_equal(whole.counts, np.bincount(classes, minlength=3))
        assert np.array_equal(whole.sums[1], together[classes == 1].sum(axis=0))


@given(
    st.sampled_from([1, 2, 3, 64, 784]),
    st.integers(1, 2 * STEPS),
    st.integers(0, 99),
    st.booleans(),
)
def test_no_clipped_point_is_longer_than_the_reach(width: int, reach: int, seed: int, taxicab: bool) -> None:
    """Compared as integers; those within it stay as they are."""
    rng = np.random.default_rng(seed)
    grid = BallGrid(np.zeros(width), 1.0)
    points: AnyArray = rng.integers(-STEPS, STEPS, (20, width)) // rng.integers(1, 99, (20, 1))
    points[0], points[1] = 0, STEPS
    rule = ClippedPoints(grid, np.zeros(width, dtype=np.int64), reach, taxicab)
    clipped = rule.integers(points.copy())
    limit = reach if taxicab else reach**2
    assert max(lengths(clipped, taxicab)) <= limit
    inside = np.array(lengths(points, taxicab)) <= limit
    assert np.array_equal(clipped[inside], points[inside])
    assert np.array_equal(np.sign(clipped) * np.sign(points), np.sign(clipped) ** 2)


def test_a_border_that_is_a_float_multiple_is_met_exactly() -> None:
    """In one column the clipped point is the reach itself; for an axis too."""
    for taxicab in (False, True):
        for width in (1, 3):
            rule = ClippedPoints(BallGrid(np.zeros(width), 1.0), np.zeros(width, dtype=np.int64), 471_859, taxicab)
            rows = STEPS * np.eye(width, dtype=np.int64)[:1]
            clipped = rule.integers(np.vstack([rows, -rows]))
            assert np.abs(clipped[:, 0] - [471_859, -471_859]).max() <= 1
