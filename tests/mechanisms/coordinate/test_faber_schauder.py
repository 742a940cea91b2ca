"""The Faber–Schauder basis: exact integers, exact privacy loss, the variance that the proof page states."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milepost._typing import FloatArray, IntArray
from milepost.errors import MilepostError
from milepost.mechanisms.coordinate import faber_schauder
from milepost.spaces.embeddings.embedding import QUANTA
from milepost.statistics.sketch import Sketch

scale_lists = st.lists(st.floats(0.05, 20), min_size=1, max_size=5).map(np.array)
tables = st.lists(st.integers(0, QUANTA) | st.sampled_from([0, 1, QUANTA // 2, QUANTA]), min_size=1, max_size=30)


def sums(records: IntArray, levels: int, quanta: int = QUANTA) -> IntArray:
    """V at the borders for each row of records, from the definition."""
    borders = np.arange(2**levels + 1) * (quanta >> levels)
    return np.asarray(np.abs(records[..., None] - borders).sum(axis=-2))


def changes(pairs: IntArray, levels: int, quanta: int) -> IntArray:
    """Σ|change| of the coefficients of each scale when one of a pair replaces the other: int64[k, levels + 1]."""
    differences = np.abs(np.diff(faber_schauder.analyse(sums(pairs[..., None], levels, quanta)), axis=1))[:, 0]
    return np.stack([differences[:, part].sum(axis=1) for part in faber_schauder.parts(levels)], axis=1)


def all_pairs(quanta: int) -> IntArray:
    return np.stack(np.triu_indices(quanta + 1), axis=1)


def ratio(scales: FloatArray) -> float:
    """The largest standard deviation over that of one query alone at the same ε."""
    return float(np.sqrt(faber_schauder.variance(scales).max() / 2))


def synthesis(levels: int) -> FloatArray:
    """The matrix from coefficients to values at the borders, float64[m, m + 1], where the total is public."""
    return faber_schauder.synthesise(np.eye(2**levels, dtype=np.int64), total=0)


@given(tables, st.integers(0, 10))
def test_a_sketch_survives_the_round_trip_bit_for_bit(records: list[int], levels: int) -> None:
    sketch = Sketch(1, cells=2**levels)
    sketch.add(np.array(records)[:, None])
    values = sketch.borders().value[0]
    coefficients = faber_schauder.analyse(values)
    assert coefficients.dtype == np.int64
    assert coefficients.shape == (2**levels,)
    assert np.array_equal(faber_schauder.synthesise(coefficients, len(records)), values)


@given(tables, st.integers(0, 7))
def test_coefficients_are_the_integers_of_the_proof(records: list[int], levels: int) -> None:
    """V(0) is Σq and a sag is −Σ max(0, half − |q − mid|): nothing is rounded on the way to the lattice."""
    q = np.array(records)
    coefficients = faber_schauder.analyse(sums(q, levels))
    assert coefficients[0] == q.sum()
    for level, part in enumerate(faber_schauder.parts(levels)[1:]):
        half = QUANTA >> (level + 1)
        middles = (2 * np.arange(2**level) + 1) * half
        expected = -np.maximum(0, half - np.abs(q[:, None] - middles)).sum(axis=0)
        assert np.array_equal(coefficients[part], expected)


def test_coordinates_are_transformed_side_by_side() -> None:
    values = sums(np.random.default_rng(0).integers(0, QUANTA, (3, 20), endpoint=True), 4)
    together = faber_schauder.analyse(values)
    assert np.array_equal(together, [faber_schauder.analyse(row) for row in values])
    assert np.array_equal(faber_schauder.synthesise(together, 20), values)


def test_the_largest_tables_and_noise_do_not_overflow() -> None:
    total = 2**37
    coefficients = faber_schauder.analyse(sums(np.array([QUANTA]), 10) * total)
    exact = sums(np.array([QUANTA]), 10).astype(np.float64) * total
    assert np.allclose(faber_schauder.synthesise(coefficients, total), exact, rtol=2**-50, atol=0)
    assert np.all(np.isfinite(faber_schauder.synthesise(np.full(1024, -(2**63)), total)))


@settings(max_examples=60)
@given(scale_lists, st.integers(0, 2))
def test_loss_is_the_maximum_over_all_pairs_of_quanta(scales: FloatArray, extra: int) -> None:
    levels = len(scales) - 1
    quanta = 2 ** (levels + extra)
    brute_force = (changes(all_pairs(quanta), levels, quanta) / (scales * quanta)).sum(axis=1).max()
    assert faber_schauder.loss(scales) == pytest.approx(brute_force, rel=1e-12)


@pytest.mark.parametrize("levels", range(8))
def test_scales_keep_the_loss_below_one_in_exact_arithmetic(levels: int) -> None:
    """Every pair of dyadic points, in fractions; the slack is all that is given away."""
    scales = [Fraction(float(scale)) for scale in faber_schauder.scales(levels)]
    quanta = 2**levels
    worst = max(
        sum((Fraction(int(c), quanta) / b for c, b in zip(row, scales, strict=True)), Fraction(0))
        for row in np.unique(changes(all_pairs(quanta), levels, quanta), axis=0)
    )
    assert 1 - Fraction(1, 10**8) < worst < 1


@given(st.integers(0, 12), st.floats(1e-3, 1e3), st.data())
def test_no_pair_of_records_costs_more_than_epsilon(levels: int, epsilon: float, data: st.DataObject) -> None:
    borders = st.integers(0, 2**levels).map(lambda j: j * (QUANTA >> levels))
    position = borders | st.integers(0, QUANTA)
    third = round(2**levels / 3) * (QUANTA >> levels)  # where all levels move at once
    worst_pairs = [[0, QUANTA], [third, QUANTA - third], [0, third], [third, QUANTA]]
    pairs = np.array([[data.draw(position), data.draw(position)], *worst_pairs])
    costs = (changes(pairs, levels, QUANTA) / (faber_schauder.scales(levels) * QUANTA / epsilon)).sum(axis=1)
    assert (costs <= epsilon).all()
    assert costs.max() >= 0.8 * epsilon


@pytest.mark.parametrize("levels", range(1, 13))
def test_noise_is_at_most_twice_and_a_bit_that_of_one_query(levels: int) -> None:
    scales = faber_schauder.scales(levels)
    assert faber_schauder.loss(scales) == pytest.approx(1, rel=2e-9)
    assert ratio(scales) <= 2.2


@pytest.mark.parametrize(("levels", "figure"), [(1, 1.0), (4, 1.821), (7, 2.048), (10, 2.114), (12, 2.126)])
def test_the_figures_of_the_proof_page(levels: int, figure: float) -> None:
    assert round(ratio(faber_schauder.scales(levels)), 3) == figure


@pytest.mark.parametrize("levels", [5, 7, 10])
def test_no_single_scale_is_worth_changing(levels: int) -> None:
    """Moving one level's scale, at the same loss, gains less than half a percent."""
    for part in range(levels + 1):
        for factor in (0.8, 0.9, 1.1, 1.25):
            other = faber_schauder.scales(levels).copy()
            other[part] *= factor
            assert ratio(other * faber_schauder.loss(other)) > 0.995 * ratio(faber_schauder.scales(levels))


@given(scale_lists)
def test_variance_is_that_of_the_synthesis_at_and_between_borders(scales: FloatArray) -> None:
    levels = len(scales) - 1
    matrix = synthesis(levels)
    noise = np.concatenate(
        [np.full(p.stop - p.start, 2 * b * b) for p, b in zip(faber_schauder.parts(levels), scales, strict=True)]
    )
    assert np.allclose(faber_schauder.variance(scales), noise @ matrix**2, rtol=1e-12)
    for share in (0.5, 0.3):
        between = [(1 - share) * left + share * right for left, right in pairwise(matrix.T)]
        positions = (np.arange(2**levels) + share) / 2**levels
        assert np.allclose(faber_schauder.variance(scales, positions), np.square(between) @ noise, rtol=1e-9)
    assert np.array_equal(
        faber_schauder.variance(scales, np.array([-3.0, 7.0])), faber_schauder.variance(scales)[[0, -1]]
    )


@pytest.mark.parametrize("levels", [0, 2, 4, 5])
def test_a_simulated_error_is_a_synthesis_with_public_total(levels: int) -> None:
    """Both ends err by opposite amounts, and the error is the synthesis of Laplace noise of each coefficient's scale.

    So its variance is that of the test above, to the last digit, as is that of released integers.
    """
    scales = faber_schauder.scales(levels)
    errors = faber_schauder.simulate(scales, np.random.default_rng(1), 50)
    assert np.array_equal(errors[:, 0], -errors[:, -1])
    sizes = [part.stop - part.start for part in faber_schauder.parts(levels)]
    noise = np.random.default_rng(1).laplace(size=(50, 2**levels)) * np.repeat(scales, sizes)
    assert np.allclose(errors, noise @ synthesis(levels))


@pytest.mark.parametrize("levels", [-1, 25])
def test_levels_finer_than_a_quantum_are_refused(levels: int) -> None:
    with pytest.raises(MilepostError, match="levels"):
        faber_schauder.scales(levels)


@pytest.mark.parametrize("levels", [*range(9), *(pytest.param(k, marks=pytest.mark.slow) for k in (9, 10))])
def test_one_record_more_costs_as_much_as_single_says(levels: int) -> None:
    """Lemma 2 of docs/proofs/change.md by brute force over a small interval: 0.50 to 0.62 of a pair's cost."""
    quanta = 16 << levels
    borders = np.arange((1 << levels) + 1) * 16
    coefficients = faber_schauder.analyse(np.abs(np.arange(quanta + 1)[:, None] - borders))
    coefficients[:, 0] -= quanta // 2
    scales = (
        np.repeat(faber_schauder.scales(levels), [part.stop - part.start for part in faber_schauder.parts(levels)])
        * quanta
    )
    max_cost = float((np.abs(coefficients) / scales).sum(axis=1).max())
    assert max_cost == pytest.approx(faber_schauder.single(levels), rel=2e-9)
    assert 0.495 < max_cost < 0.625
