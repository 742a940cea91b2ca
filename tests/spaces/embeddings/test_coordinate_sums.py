"""Sums over coordinates have the bits of NumPy's sum of a row, for any number of points."""

import numpy as np
import pytest

from milepost.spaces.embeddings.coordinate_sums import CACHE_NUMBERS, sum_coordinates


@pytest.mark.parametrize("dimension", [1, 2, 7, 8, 9, 16, 127, 128, 129, 136, 200, 257, 512, 513, 1000])
def test_a_sum_does_not_depend_on_the_other_points(dimension: int) -> None:
    generator = np.random.default_rng(dimension)
    points = CACHE_NUMBERS // dimension + 50  # more than are added by rows
    rows = generator.normal(size=(points, dimension)) * 10.0 ** generator.integers(-5, 5, (points, dimension))
    columns = np.ascontiguousarray(rows.T)
    expected = rows.sum(axis=1)
    for count in (1, 2, 5, points):
        result = sum_coordinates(lambda part: columns[part, :count], dimension, count)  # noqa: B023
        assert np.array_equal(result, expected[:count])


def test_terms_may_be_one_array_that_is_written_again() -> None:
    terms, buffer = np.random.default_rng(0).random((300, 200)), np.empty((300, 200))

    def in_buffer(part: slice) -> np.ndarray:
        result = buffer[: part.stop - part.start]
        result[:] = terms[part]
        return result

    assert np.array_equal(sum_coordinates(in_buffer, *terms.shape), np.ascontiguousarray(terms.T).sum(axis=1))


def test_no_points() -> None:
    assert sum_coordinates(lambda part: np.empty((3, 0))[part], 3, 0).shape == (0,)
