"""A bad query is refused with its row, counted from the first of the whole file and not of a batch."""

import math
from typing import Any

import numpy as np
import pytest

import milepost as mp
from milepost.spaces.base import Space
from milepost.spaces.objects import object_array

GOWER = mp.Gower({"age": mp.number(0, 9), "plan": mp.category(["a"]), "member": mp.flag()})


@pytest.mark.parametrize(
    ("space", "good", "bad"),
    [
        *[(mp.L1([(0, 1), (0, 1)]), [0.5, 0.5], [0.5, value]) for value in (math.nan, math.inf, -math.inf)],
        (mp.L2(center=[0, 0], radius=1), [0.5, 0.5], [math.nan, 0]),
        *[(mp.GreatCircle((0, 0), 10), [0, 0], bad) for bad in ([91, 0], [0, 361], [math.nan, 0])],
        *[(mp.Angular(2, directions=8), [1, 0], bad) for bad in ([0, 0], [math.inf, 1], [math.nan, 1])],
        *[
            (GOWER, (3, "a", True), bad)
            for bad in ((None, "a", True), (math.inf, "a", True), (3, "b", True), (3, "a", "perhaps"), ("x", "a", True))
        ],
        (mp.Hamming(["ACGT"] * 3), "ACG", "ACN"),
        (mp.AnyMetric(mp.edit_distance, 3, ["a", "b"]), "a", "c"),
    ],
    ids=lambda value: getattr(value, "kind", None),
)
def test_the_row_is_named(space: Space, good: Any, bad: Any) -> None:
    rows = [good, good, bad, bad]
    batch = object_array(rows) if space.objects else np.array(rows, dtype=np.float64)
    for first in (0, 1000):
        with pytest.raises(mp.MilepostError, match=rf"\b(row|point) {first + 3}\b"):
            space.read_queries(batch, first)
    assert len(space.read_queries(batch[:2], 1000)) == 2
