"""Nested grids: exact sums of coarse grids, and the least-squares estimate from all of them."""

import math
from fractions import Fraction

import numpy as np
import pytest

import milepost as mp
from milepost._typing import FloatArray
from milepost.mechanisms.planar.nested_grids import GridEstimate, NestedGrids
from milepost.spaces.base import require_chart

SQUARE, DISC = mp.L2([(0, 8), (0, 8)]), mp.L2(center=[0, 0], radius=4)
VARIANCES = (4.0, 9.0, 25.0)


def grids_of(space: mp.L2, sizes: tuple[int, ...] = (3, 5, 9)) -> NestedGrids:
    return NestedGrids(require_chart(space), sizes)


@pytest.mark.parametrize("space", [SQUARE, DISC], ids=["square", "disc"])
def test_hat_functions_add_up_to_one_and_are_interpolation(space: mp.L2) -> None:
    grids = grids_of(space)
    for level, hats in enumerate(grids.hats):
        steps = grids.steps(level)
        assert (np.asarray(hats.sum(axis=0)) == steps**2).all()
        assert hats.min() >= 0
        linear = grids.vertices @ np.array([3, -2])  # a linear function is interpolated exactly
        coarse = [linear[np.argmax(row)] for row in hats.toarray()]
        assert np.array_equal(hats.T @ np.array(coarse), linear * steps**2) or space is DISC


def test_only_vertices_of_cells_with_records_count() -> None:
    assert grids_of(SQUARE).counts == (9, 25, 81)
    counts = grids_of(DISC, (5, 17)).counts
    assert counts[1] < 17**2
    away = np.linalg.norm(grids_of(DISC, (5, 17)).positions - 4, axis=1)
    assert away.max() < 4 + math.sqrt(2) * 0.5
    assert (away <= 4).sum() > 190  # of about 201


def test_exact_sums_are_rounded_down_and_do_not_overflow() -> None:
    """Against rational arithmetic, with the largest sums that a table can have."""
    grids = grids_of(SQUARE, (3, 9, 65))
    generator = np.random.default_rng(0)
    values = generator.integers(0, 1 << 61, (65, 65)) >> generator.integers(0, 61, (65, 65))
    values //= 8  # all of them together are below 2⁶³, as those of a table are
    finest = [int(value) for value in values[grids.vertices[:, 0], grids.vertices[:, 1]]]
    for level, sums in enumerate(grids.exact_sums(values)[:-1]):
        hats = grids.hats[level].toarray()
        for row in range(0, len(sums), 7):
            exact = sum(int(weight) * value for weight, value in zip(hats[row], finest, strict=True) if weight)
            assert int(sums[row]) == math.floor(Fraction(exact, grids.steps(level) ** 2))
    assert grids.exact_sums(values)[-1].tolist() == finest


def dense(grids: NestedGrids) -> tuple[FloatArray, FloatArray]:
    """Return all hat functions as rows, and the precision of each row's noisy sum."""
    parts = [hats.toarray() / grids.steps(level) ** 2 for level, hats in enumerate(grids.hats)]
    rows = np.concatenate([*parts, np.eye(len(grids.vertices))])
    return rows, np.repeat(1 / np.array(VARIANCES), grids.counts)


@pytest.mark.parametrize("space", [SQUARE, DISC], ids=["square", "disc"])
def test_the_estimate_is_that_of_least_squares(space: mp.L2) -> None:
    """Against NumPy's, with its covariance, by a second method."""
    grids = grids_of(space)
    estimate, (rows, precisions) = GridEstimate(grids, VARIANCES), dense(grids)
    generator = np.random.default_rng(1)
    sums = [generator.integers(-100, 1000, count) for count in grids.counts]
    scaled = np.sqrt(precisions)[:, None]
    expected = np.linalg.lstsq(rows * scaled, np.concatenate(sums) / 10 * scaled[:, 0], rcond=None)[0]
    assert np.allclose(estimate.estimate(sums, 10.0), expected, rtol=1e-9, atol=1e-9)
    weights = generator.uniform(0, 8, (len(grids.vertices), 4))
    centered = weights - estimate.anchor @ weights
    covariance = np.linalg.inv(rows.T @ (rows * precisions[:, None]))
    variances, squares = estimate.moments(weights)
    assert np.allclose(variances, np.einsum("iq,ij,jq->q", centered, covariance, centered), rtol=1e-9)
    shares = (precisions[:, None] * (rows @ covariance @ centered)) ** 2 / precisions[:, None]
    assert np.allclose(variances, shares.sum(axis=0))
    assert np.allclose(squares, (shares**2).sum(axis=0))


def test_the_anchor_leaves_the_least_variance() -> None:
    grids = grids_of(SQUARE)
    estimate, (rows, precisions) = GridEstimate(grids, VARIANCES), dense(grids)
    covariance = np.linalg.inv(rows.T @ (rows * precisions[:, None]))
    weights = np.random.default_rng(2).uniform(0, 8, (len(grids.vertices), 1))
    assert math.isclose(estimate.anchor.sum(), 1)
    best = estimate.moments(weights)[0][0]
    for shift in (-0.01, 0.01):
        moved = weights[:, 0] - (estimate.anchor @ weights)[0] + shift
        assert moved @ covariance @ moved > best


def test_the_nonnegative_fit_is_the_best() -> None:
    """The gradient is the same wherever there are people, and no smaller elsewhere (Karush, Kuhn and Tucker)."""
    grids = grids_of(SQUARE)
    estimate, (rows, precisions) = GridEstimate(grids, VARIANCES), dense(grids)
    generator = np.random.default_rng(3)
    people = np.where(generator.random(81) < 0.3, generator.integers(0, 200, 81), 0)
    noise = generator.normal(0, 1, len(rows)) * np.repeat(np.sqrt(VARIANCES), grids.counts)
    sums = np.split(np.rint(rows @ people + noise), np.cumsum(grids.counts)[:-1])
    shares = estimate.nonnegative([part.astype(np.int64) for part in sums], 1.0)
    assert shares.min() >= 0
    assert math.isclose(shares.sum(), 1)
    total = estimate.estimate([part.astype(np.int64) for part in sums], 1.0).sum()
    gradient = rows.T @ (precisions * (rows @ (shares * total) - np.concatenate(sums)))
    level = gradient[shares > 1e-6].mean()
    spread = np.abs(gradient).max()
    assert np.abs(gradient[shares > 1e-4] - level).max() < 5e-3 * spread
    assert gradient[shares <= 1e-6].min() > level - 5e-3 * spread
