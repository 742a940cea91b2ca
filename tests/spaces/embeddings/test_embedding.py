"""The range of mean distances at a position, and the part of it that is quick to compute."""

from typing import Any

import numpy as np
import pytest

import milepost as mp

SPACES: dict[str, mp.Space] = {
    "columns": mp.L1([(0, 1), (0, 3), (0, 2)], step=[0.25, 0, 0]),
    "directions": mp.L2([(0, 1), (0, 2)], directions=50),
    "globe": mp.GreatCircle((52.52, 13.4), 50, 40),
    "angles": mp.Angular(3, directions=20),
    "mixed": mp.Gower({"plan": mp.category(["a", "b", "c"]), "age": mp.number(18, 90), "member": mp.flag()}),
    "labels": mp.Hamming(["ACGT"] * 3),
}


def positions_of(space: mp.Space) -> Any:
    """Positions inside, which need not be those of points, and the ends and the middle."""
    span = space.embedding.span
    shares = np.random.default_rng(0).random((200, len(span)))
    shares[:3] = [[0.0], [1.0], [0.5]]
    return shares * span


@pytest.mark.parametrize("name", SPACES)
def test_an_inner_range_is_in_the_range_and_nearly_all_of_it(name: str) -> None:
    embedding = SPACES[name].embedding
    positions = positions_of(SPACES[name])
    low, high = embedding.range(positions)
    inner_low, inner_high = embedding.inner_range(positions.T)
    off = 3e-9 * embedding.total_width
    assert (low < inner_low).all()
    assert (inner_low <= low + off).all()
    assert (inner_high < high).all()
    assert (high - off <= inner_high).all()
    common_low, common_high = embedding.inner_range()
    assert (low < common_low).all()
    assert (common_high < high).all()


@pytest.mark.parametrize("name", SPACES)
def test_a_range_does_not_depend_on_the_other_positions(name: str) -> None:
    embedding = SPACES[name].embedding
    positions = positions_of(SPACES[name]) * 1.3 - 0.1
    ranges = np.array(embedding.range(positions))
    for k in range(0, 200, 17):
        assert np.array_equal(np.array(embedding.range(positions[k : k + 1]))[:, 0], ranges[:, k])


def test_a_range_holds_what_tables_have() -> None:
    space = mp.L1([(0, 1), (0, 3)])
    corners = np.array([[0.0, 0], [0, 3], [1, 0], [1, 3]])
    points = np.array([[0.2, 1.0], [1.5, -1.0], [0.5, 1.5]])
    low, high = space.embedding.range(space.position(points))
    distances = space.distance(corners, points)
    np.testing.assert_allclose(high, distances.max(axis=0))
    np.testing.assert_allclose(low, [0, 1.5, 0], atol=1e-12)
