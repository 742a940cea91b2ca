"""Stacked products: exact, whatever the sizes of the small products."""

import numpy as np
import pytest

from milepost.spaces.embeddings import stacked_products
from milepost.spaces.embeddings.stacked_products import multiply_columns, multiply_rows


@pytest.mark.parametrize("one_thread", [1, 1000, stacked_products.ONE_THREAD])
@pytest.mark.parametrize(("count", "width"), [(1, 1), (5, 3), (16, 9), (64, 65), (700, 100), (9, 101), (7, 500)])
@pytest.mark.parametrize("n", [0, 1, 63, 64, 1000])
def test_products_are_exact(count: int, width: int, n: int, one_thread: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stacked_products, "ONE_THREAD", one_thread)
    generator = np.random.default_rng(n)
    few, many = (generator.integers(-(1 << 20), 1 << 20, (rows, width)) for rows in (count, n))
    left, right = few.astype(np.float64), many.astype(np.float64)
    for points in (right, np.asfortranarray(right)):
        columns, rows = np.empty((count, n)), np.empty((n, count))
        multiply_columns(left, points.T, columns)
        multiply_rows(points, left, rows)
        np.testing.assert_array_equal(columns, few @ many.T)
        np.testing.assert_array_equal(rows, columns.T)
