"""Exact sums of products of large integers, by products of digits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from milepost.mechanisms.query.exact_products import exact_products, exact_squares

entries = st.one_of(
    st.integers(-(1 << 53) + 1, (1 << 53) - 1), st.sampled_from([0, 1, -1, (1 << 53) - 1, 1 << 36, 1 << 17])
)
numbers = st.one_of(st.integers(-(1 << 63), (1 << 63) - 1), st.sampled_from([-(1 << 63), (1 << 63) - 1, 1 << 18, -1]))


@given(st.data(), st.integers(0, 12), st.integers(0, 4))
def test_sums_of_products_are_those_of_integers(data: st.DataObject, length: int, count: int) -> None:
    rows = [data.draw(st.lists(entries, min_size=length, max_size=length)) for _ in range(count)]
    factors = data.draw(st.lists(numbers, min_size=length, max_size=length))
    array = np.array(rows, dtype=np.float64).reshape(count, length)
    assert exact_products(array, factors) == [sum(a * b for a, b in zip(row, factors, strict=True)) for row in rows]
    assert exact_squares(array) == [sum(a * a for a in row) for row in rows]


@pytest.mark.parametrize("entry", [(1 << 53) - 1, -(1 << 53) + 1, (1 << 35) + (1 << 17) - 1])
@pytest.mark.parametrize("number", [(1 << 63) - 1, -(1 << 63)])
def test_the_longest_sums_are_exact(entry: int, number: int) -> None:
    """As many products as a field has points, all of the largest digits."""
    length = 1 << 14
    rows = np.full((1, length), float(entry))
    assert exact_products(rows, [number] * length) == [length * entry * number]
    assert exact_squares(rows) == [length * entry**2]
