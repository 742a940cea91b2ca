"""L1: bounds, quantization that sees one record only, and a reach that rounding cannot pass."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from milepost import L1, MilepostError
from milepost.spaces.embeddings.embedding import QUANTA
from milepost.spaces.registry import space_from_json

sizes = st.floats(-1e6, 1e6, allow_subnormal=False)
boxes = st.lists(
    st.tuples(sizes, st.floats(1, 1e6)).map(lambda pair: (pair[0], pair[0] + pair[1])), min_size=1, max_size=5
)


@given(boxes, st.integers(0, 2**32 - 1), st.integers(1, 40))
def test_an_image_depends_on_its_own_record_only(bounds: list[tuple[float, float]], seed: int, n: int) -> None:
    """quantize(P)[i] == quantize(P[i:i+1])[0], bit for bit."""
    space = L1(bounds)
    low, high = np.array(bounds).T
    points = space.read(np.random.default_rng(seed).uniform(low - 1, high + 1, (n, len(bounds))))
    images = space.quantize(points)
    assert images.min() >= 0
    assert images.max() <= QUANTA
    for i in range(n):
        assert np.array_equal(space.quantize(points[i : i + 1])[0], images[i])


@given(boxes, st.data())
def test_no_pair_passes_the_reach(bounds: list[tuple[float, float]], data: st.DataObject) -> None:
    """Σ τᵢ|qᵢ − q′ᵢ| ≤ reach in exact rational arithmetic, opposite corners included."""
    embedding = L1(bounds).embedding
    quanta = st.lists(st.sampled_from([0, 1, QUANTA - 1, QUANTA]), min_size=len(bounds), max_size=len(bounds))
    for left, right in [(data.draw(quanta), data.draw(quanta)), ([0] * len(bounds), [QUANTA] * len(bounds))]:
        embedded_distance = sum(
            Fraction(t) * abs(a - b) for t, a, b in zip(embedding.quantum.tolist(), left, right, strict=True)
        )
        assert embedded_distance <= Fraction(embedding.sensitivity_bound)


@given(boxes, st.integers(0, 2**32 - 1))
def test_hosts_reproduce_the_distance(bounds: list[tuple[float, float]], seed: int) -> None:
    """Σ τᵢ|qᵢ − q′ᵢ| is the distance up to the declared rounding (of both ends)."""
    space = L1(bounds)
    low, high = np.array(bounds).T
    points = np.random.default_rng(seed).uniform(low, high, (20, len(bounds)))
    quanta = space.quantize(points)
    embedded = (np.abs(quanta[:, None] - quanta[None]) * space.embedding.quantum).sum(axis=2)
    tolerance = 2 * space.embedding.bias + 1e-9 * np.abs([low, high]).max()
    assert embedded == pytest.approx(space.distance(points, points), abs=tolerance)


def test_weights_and_names() -> None:
    """Weights by name; columns are read by name, whatever their order."""
    space = L1({"age": (0, 100), "visits": (0, 10)}, weights={"visits": 5})
    assert space.columns == ("age", "visits")
    assert space.diameter == 150
    assert space.distance(np.array([[0.0, 0]]), np.array([[1.0, 1]]))[0, 0] == 6


def test_columns_without_width_or_weight_have_no_host() -> None:
    """They add nothing to the distance and cost nothing."""
    space = L1([(0, 1), (3, 3), (0, 5)], weights=[1, 1, 0])
    assert space.embedding.dimension == 1
    assert space.quantize(space.read(np.array([[0.5, 3, 2]]))).tolist() == [[QUANTA // 2]]


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ([(1, 0)], "reversed"),
        ({"x": (5, 2)}, "'x'.*reversed"),
        ([(0, math.inf)], "finite"),
        ([(math.nan, 1)], "finite"),
        ([], "bounds"),
        ({}, "bounds"),
        (5, "bounds"),
        ([(0, 1, 2)], "pair"),
        ([3], "pair"),
        ([("a", "b")], "pair"),
        ([(1, 1)], "positive width"),
        ([(-1e308, 1e308)], "diameter"),
    ],
)
def test_bad_bounds_are_refused(bounds: object, message: str) -> None:
    """The error says which column and why."""
    with pytest.raises(MilepostError, match=message):
        L1(bounds)


@pytest.mark.parametrize("weights", [[1], [1, -1], [1, math.nan], ["a", 1], {"z": 1}, "x"])
def test_bad_weights_are_refused(weights: object) -> None:
    """One finite number of at least 0 a column."""
    with pytest.raises(MilepostError, match="weights"):
        L1({"a": (0, 1), "b": (0, 1)}, weights=weights)


@given(boxes)
def test_json_round_trip(bounds: list[tuple[float, float]]) -> None:
    """The card gives the same space back, named or not."""
    for space in (L1(bounds), L1({f"c{k}": pair for k, pair in enumerate(bounds)})):
        assert space_from_json(space.to_json(), space.tensors()) == space
