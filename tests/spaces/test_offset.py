"""Spaces far from 0: refused when they are made, by one rule, and private as far as they are accepted."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import milepost as mp
from milepost.mechanisms.coordinate.count_origin import CountOrigin
from milepost.spaces.box import Box
from milepost.spaces.numeric import MAX_OFFSET

SPACES: dict[str, Callable[[float, float], Any]] = {
    "l1": lambda low, high: mp.L1({"x": (low, high), "y": (low, high)}),
    "l1, weighted": lambda low, high: mp.L1([(low, high), (0, 1)], weights=[1, 0.01 * (high - low)]),
    "l2 box": lambda low, high: mp.L2([(low, high)] * 8, directions=64),
    "l2 ball": lambda low, high: mp.L2(center=[(low + high) / 2] * 3, radius=(high - low) / 2),
    "lp": lambda low, high: mp.Lp(1.5, [(low, high)] * 4, directions=64),
    "gower": lambda low, high: mp.Gower({"x": mp.number(low, high), "y": mp.flag()}),
}
every_space = pytest.mark.parametrize("name", SPACES)


@every_space
@pytest.mark.parametrize("low", [1e16, -1e16 - 2, 2.0**53 + 6, 1e12])
def test_a_space_far_from_0_is_refused_when_it_is_made(name: str, low: float) -> None:
    """The error says which bounds, and what to do."""
    with pytest.raises(mp.MilepostError, match=r"too far from 0.*subtract an offset, such as"):
        SPACES[name](low, low + 6)


@every_space
def test_the_same_space_near_0_is_accepted(name: str) -> None:
    SPACES[name](0, 6)
    SPACES[name](MAX_OFFSET, MAX_OFFSET + 6)


def test_constant_columns_may_be_anywhere() -> None:
    """Points do not differ in them."""
    for value in (1e16, 1e308, -1.7e308):
        for space in (
            mp.L1([(0, 1), (value, value)]),
            mp.L2([(0, 1), (value, value)]),
            mp.Lp(1.5, [(0, 1), (value,) * 2]),
        ):
            images = space.quantize(space.read(np.array([[0.0, value], [0.25, value], [1.0, value]])))
            assert (images[0] != images[2]).any()
            assert (np.abs(2 * images[1].astype(int) - images[0] - images[2]) <= abs(images[2] - images[0])).all()


def test_a_column_too_narrow_for_floats_is_refused() -> None:
    """Whatever the table holds: positions in it would be infinite, or not a number."""
    with pytest.raises(mp.MilepostError, match="column '0' must be 1e-100 to 1e"):
        mp.L1([(0, 1e-310)], weights=[1e300])


def cost_of_one(space: Any, rows: Any) -> Fraction:
    """The largest Στ|q − middle| of some records, in exact arithmetic."""
    embedding = space.embedding
    offsets = np.abs(space.quantize(space.read(rows)).astype(np.int64) - (embedding.span // 2))
    quantum = [Fraction(value) for value in embedding.quantum.tolist()]
    return max(sum((t * a for t, a in zip(quantum, row, strict=True)), Fraction(0)) for row in offsets.tolist())


@pytest.mark.parametrize("bounds", [(0.0, 2.0), (1e16, 1e16 + 2), (2.0**53 + 6, 2.0**53 + 12), (2.0**22, 2.0**22 + 1)])
@pytest.mark.parametrize("make", [mp.L2, lambda pairs, **options: mp.Lp(1.5, pairs, **options)])
def test_no_record_is_farther_from_the_middle_than_half_of_the_reach(
    make: Callable[..., Any], bounds: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lemma 2(c) of change.md, wherever the centre is rounded to: the integers themselves are counted.

    Spaces that the rule refuses are tried as well: the reach does not rest on it.
    """
    monkeypatch.setattr(Box, "check_offset", lambda self: None)  # noqa: ARG005
    space = make([bounds] * 8, directions=64)
    signs = np.array([[(k >> j) & 1 for j in range(8)] for k in range(256)])
    assert cost_of_one(space, np.where(signs, *bounds[::-1])) <= Fraction(
        CountOrigin(space.embedding, central=True).radius
    )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::milepost.AccuracyWarning")
@pytest.mark.parametrize(
    "space",
    [
        mp.L2([(0, 1), (0, 0)], directions=9),
        mp.Lp(1.05, [(0, 1)] + [(0, 0)] * 9, directions=16),
        mp.L2([(0, 1), (3, 3), (0, 1e-12)], directions=12),
    ],
    ids=["l2", "lp", "thin"],
)
def test_columns_in_which_nothing_differs_are_no_error(space: Any) -> None:
    """Directions across which no record moves; plan and release with every coordinate mechanism."""
    table = np.tile(space.low, (500, 1))
    table[:, 0] = np.linspace(0, 1, 500)
    mp.plan(space, n=500, epsilon=1, delta=1e-6)
    for mechanism, delta in (("slopes", 1e-6), ("hats", 0.0), ("tangents", 1e-6)):
        synopsis = mp.release(table, space, epsilon=100, delta=delta, mechanism=mechanism)
        assert np.isfinite(synopsis.mean_distance(table[:1])).all()
