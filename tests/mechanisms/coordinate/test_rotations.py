"""Intervals from the spread of rotations: they cover over releases and rotations, and need what rotations share."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import milepost as mp
from milepost._typing import FloatArray
from milepost.mechanisms.coordinate import curves
from milepost.mechanisms.coordinate.curves import Curves
from milepost.mechanisms.coordinate.hats import Hats
from milepost.mechanisms.coordinate.slopes import SlopeCounts, Slopes
from milepost.mechanisms.totals import Total
from milepost.privacy.protected_change import ProtectedChange
from milepost.statistics.sketch import Sketch
from milepost.statistics.statistic_spec import RecordBlock
from tests.chance import assert_rate, assert_wrong_rate
from tests.mechanisms.contract import patched

WIDTH, DIRECTIONS = 8, 64
QUERY = np.full((1, WIDTH), 0.1)


def people(count: int, radius: float) -> FloatArray:
    """Spread over a ball around the query, independently of directions."""
    generator = np.random.default_rng(count)
    vectors = generator.standard_normal((count, WIDTH))
    lengths = radius * generator.random((count, 1)) ** (1 / WIDTH)
    return np.asarray(QUERY + vectors / np.linalg.norm(vectors, axis=1, keepdims=True) * lengths)


@contextmanager
def law_alone() -> Iterator[None]:
    """Half-widths without the bounds that are added, which would hide what is missing from the law."""
    with patched(
        [
            (Curves, "_interpolation", lambda _, bends, *__: np.zeros(len(bends))),
            (Curves, "_bias", 0.0),
        ]
    ):
        yield


@contextmanager
def without_shared() -> Iterator[None]:
    """Half-widths from the spread of rotations alone."""
    with patched([(SlopeCounts, "shared_variance", 0.0), (Total, "deviation", 0.0)]):
        yield


def hits(table: FloatArray, change: ProtectedChange, guarantee: mp.Guarantee, draws: int) -> tuple[int, int]:
    """How often intervals cover the exact mean, and how often those do that forget what rotations share.

    Each release has rotations and noise of its own, so that draws are independent.
    """
    honest = wrong = 0
    for seed in range(draws):
        space = mp.L2(center=[0] * WIDTH, radius=1, directions=DIRECTIONS, random_state=seed)
        points = space.read(table)
        design = Slopes().design(space.embedding, len(table), change, guarantee)
        spec = Sketch.spec(space, 1, design.sketch_cells)
        sketch = spec.empty()
        sketch.add(*spec.image(RecordBlock(points)))
        released: Any = design.run(sketch)
        assert released.anchored
        positions = space.position(QUERY)
        error = abs(float(released.values(positions, raw=True)[0]) - float(space.distance(points, QUERY).mean()))
        with law_alone():
            honest += error <= float(released.half_widths(positions, 0.95)[0])
            with without_shared():
                wrong += error <= float(released.half_widths(positions, 0.95)[0])
    return honest, wrong


@pytest.mark.parametrize(
    ("space", "mechanism", "delta"),
    [
        (mp.L2([(0, 1), (0, 2), (0, 3), (0, 9)], directions=512), Slopes(), 1e-6),
        (mp.Lp(1.5, bounds=[(0, 1), (0, 4), (0, 1), (0, 1)], directions=512), Slopes(), 1e-6),
        (mp.L2([(0, 1), (0, 2), (0, 3), (0, 9)], directions=512), Hats(), 0.0),
    ],
    ids=["box", "lp", "hats"],
)
def test_a_plan_from_some_coordinates_is_that_from_all(space: mp.Space, mechanism: Any, delta: float) -> None:
    """Random directions are much alike, so the interpolation of a sample of them stands for that of all."""
    guarantee = mp.Guarantee(1, delta)
    some = mechanism.predict(space.embedding, 10_000, ProtectedChange(), guarantee)
    with patched([(curves, "SAMPLED_COORDINATES", 1 << 20)]):
        every = mechanism.predict(space.embedding, 10_000, ProtectedChange(), guarantee)
        interpolation = every.interpolation
    assert list(some.bits) == list(every.bits)
    assert some.interpolation == pytest.approx(interpolation, rel=0.1)
    assert some.interpolation != interpolation


@pytest.mark.slow
def test_intervals_that_forget_what_rotations_share_are_rejected() -> None:
    """People near the query, whose number is private: much of the error is that of the total, which groups share."""
    draws = 600
    honest, wrong = hits(people(40, 0.1), ProtectedChange("add-remove"), mp.Guarantee(1, 1e-6), draws)
    print(f"{honest} and {wrong} of {draws}")
    assert_rate(honest, draws, at_least=0.93, against=0.8)
    assert_wrong_rate(wrong, draws, at_least=0.95, truth=0.79)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [1.0, 1000.0])
def test_intervals_cover_over_rotations(epsilon: float) -> None:
    """Where noise dominates, and where the directions do: each release has rotations of its own."""
    draws = 150
    honest, _ = hits(people(400, 0.8), ProtectedChange(), mp.Guarantee(epsilon, 1e-6), draws)
    print(f"{honest} of {draws}")
    assert_rate(honest, draws, at_least=0.93, against=0.6)
