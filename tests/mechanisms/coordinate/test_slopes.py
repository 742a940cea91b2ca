"""slopes: the cost of a pair from the definition of the marks, in exact rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from milepost import L1, L2, Guarantee
from milepost.mechanisms.coordinate import slopes
from milepost.mechanisms.coordinate.count_origin import CountOrigin
from milepost.mechanisms.coordinate.curves import cell_bits
from milepost.mechanisms.coordinate.slopes import deviation_of, scales_of
from milepost.spaces.embeddings.embedding import QUANTA, Embedding
from tests.spaces.farthest_pair import farthest_pair

columns = st.tuples(st.floats(-1e3, 1e3), st.floats(1e-3, 1e3), st.floats(0.01, 100), st.sampled_from([0, 1, 3, 72]))


def mark_change(left: int, right: int, bits: int, span: int) -> int:
    """‖a(q) − a(q′)‖₂², with a_j(q) = clip((j + 1)·2ᵇ − q, 0, 2ᵇ): an integer."""
    tops = (np.arange(span >> bits, dtype=np.int64) + 1) << bits
    marks = [np.clip(tops - q, 0, 1 << bits) for q in (left, right)]
    return sum(int(change) ** 2 for change in (marks[0] - marks[1]).tolist() if change)


def cost(embedding: Embedding, rho: float, bits: list[int], left: list[int], right: list[int]) -> Fraction:
    """Σᵢ ‖aᵢ(q) − aᵢ(q′)‖₂²/(2sᵢ²) with the scales that the mechanism draws with."""
    total = Fraction(0)
    for i, scale in enumerate(slopes.scales_of(embedding, embedding.sensitivity_bound / rho, bits)):
        difference = mark_change(left[i], right[i], bits[i], int(embedding.span[i]))
        total += Fraction(difference) / (2 * Fraction(scale) ** 2)
    return total


@settings(max_examples=80, phases=(Phase.generate,))
@given(
    st.lists(columns, min_size=1, max_size=4),
    st.floats(0.01, 30),
    st.sampled_from([1e-3, 1e-6, 1e-12]),
    st.sampled_from([1, 1000, 10**5]),
    st.data(),
)
def test_no_pair_costs_more_than_rho(
    box: list[tuple[float, float, float, int]], epsilon: float, delta: float, n: int, data: st.DataObject
) -> None:
    """Lemma 1 and Theorem 2: random pairs, opposite corners, pairs inside one cell and around a border."""
    space = L1(
        [(low, low + width) for low, width, _, _ in box],
        weights=[weight for _, _, weight, _ in box],
        step=[width / steps if steps else 0 for _, width, _, steps in box],
    )
    embedding, budget = space.embedding, Guarantee(epsilon, delta).budget
    bits = cell_bits(embedding, deviation_of(embedding, n, embedding.sensitivity_bound / budget), n)
    spans = embedding.span.tolist()
    quanta = st.tuples(
        *(
            st.integers(0, span) | st.sampled_from([0, 1, span - 1, span, 1 << b, (1 << b) - 1, (1 << b) + 1])
            for span, b in zip(spans, bits, strict=True)
        )
    )
    pair = [list(data.draw(quanta)), list(data.draw(quanta))]
    inside = [np.minimum(q, spans).tolist() for q in pair]
    corners = [0] * len(spans), spans
    for left, right in (inside, corners):
        assert cost(embedding, budget, bits, left, right) <= Fraction(budget)
    assert cost(embedding, budget, bits, *corners) >= Fraction(budget) * (1 - Fraction(1, 10**9))


@pytest.mark.parametrize("factor", [0.9, 0.5])
def test_less_noise_is_seen(factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above fails when scales are a tenth too small."""
    monkeypatch.setattr(slopes, "scales_of", lambda *args: [factor * scale for scale in scales_of(*args)])
    with pytest.raises(AssertionError):
        test_no_pair_costs_more_than_rho()


def test_marks_are_what_the_proof_says() -> None:
    """Lemma 1: the bound is met by whole cells, and a pair inside one cell stays below it."""
    bits = 20
    assert mark_change(0, QUANTA, bits, QUANTA) == QUANTA << bits
    assert mark_change(5, 105, bits, QUANTA) == 100**2 < 100 << bits


def test_no_record_counted_from_the_middle_moves_marks_by_more_than_it_says() -> None:
    """Of a space that counts from the middle: its records cannot be far from it in all coordinates."""
    space = L2(center=[0] * 10, radius=1, directions=80)
    embedding, bits = space.embedding, 16
    origin = CountOrigin.of(embedding)
    assert origin.central
    worst = Fraction(0)
    for quanta in space.quantize(space.read(farthest_pair(space))).tolist():
        moves = [
            mark_change(q, int(embedding.span[i]) // 2, bits, int(embedding.span[i])) for i, q in enumerate(quanta)
        ]
        terms = zip(embedding.quantum.tolist(), moves, strict=True)
        worst = max(worst, sum((Fraction(quantum) * move / (1 << bits) for quantum, move in terms), Fraction(0)))
    assert 0.8 * origin.radius < worst <= Fraction(origin.radius)
