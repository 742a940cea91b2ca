"""Remark 8.1: embedding in which one record changes s images at once get s times the noise, and pay for all s."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from milepost import L1, Guarantee
from milepost._typing import IntArray
from milepost.mechanisms.base import CoordinateMechanism
from milepost.mechanisms.coordinate.curves import cell_bits
from milepost.mechanisms.coordinate.hats import Hats
from milepost.mechanisms.coordinate.slopes import Slopes, deviation_of, scales_of
from milepost.mechanisms.paper import margins
from milepost.mechanisms.paper.tangents import Tangents, interactive_margins
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.embeddings.embedding import Embedding
from tests.mechanisms.contract import Transcript, pairs, points, run_mechanism, sketch_of

SPACE = L1({"age": (18, 90), "height": (0, 2.2)}, weights={"height": 10}, step={"age": 1, "height": 0.1})
ONE_IMAGE = SPACE.embedding
TWO_IMAGES = replace(ONE_IMAGE, images_per_record=2)
PURE, APPROXIMATE = Guarantee(1), Guarantee(1, 1e-6)
N, QUERIES, BETA = 1000, 100, 0.05

every_mechanism = pytest.mark.parametrize(
    ("mechanism", "guarantee"),
    [(Slopes(), APPROXIMATE), (Hats(), PURE), (Tangents(), PURE), (Tangents(), APPROXIMATE)],
    ids=["slopes", "hats", "tangents, pure", "tangents"],
)


def run_with_transcript(
    mechanism: CoordinateMechanism, embedding: Embedding, guarantee: Guarantee, transcript: Transcript, position: float
) -> None:
    """Run on a table in which two records stand at one end of every column, or at the other when position is 1."""
    rest = sketch_of(SPACE, points(SPACE, [[0.2, 0.6], [0.9, 0.1]]), N // 2)
    with transcript.listen():
        run_mechanism(
            mechanism,
            sketch_of(SPACE, points(SPACE, [[position, position]] * 2)) + rest,
            embedding,
            ProtectedChange(),
            guarantee,
        )


@pytest.mark.parametrize("images", [1, 2, 3, 7])
def test_a_guarantee_is_shared_between_images(images: int) -> None:
    """ε/s of pure ε, which adds up, and ρ/s² of zCDP, whose root does; what is promised in all stays."""
    assert PURE.for_each(images).budget == PURE.epsilon / images
    assert APPROXIMATE.for_each(images).budget == pytest.approx(APPROXIMATE.budget / images**2, rel=1e-15)
    assert APPROXIMATE.for_each(images).rho == APPROXIMATE.rho / images**2
    assert APPROXIMATE.for_each(images).to_json() == APPROXIMATE.to_json()


@pytest.mark.parametrize(("mechanism", "guarantee"), [(Slopes(), APPROXIMATE), (Hats(), PURE)], ids=["slopes", "hats"])
def test_noise_scales_double(mechanism: CoordinateMechanism, guarantee: Guarantee) -> None:
    """σ of slopes and b of hats: every number is drawn with twice the scale (columns of steps keep their cells)."""
    scales = []
    for embedding in (ONE_IMAGE, TWO_IMAGES):
        transcript = Transcript()
        run_with_transcript(mechanism, embedding, guarantee, transcript, 0.0)
        scales.append([draw.scale for draw in transcript.draws])
    assert scales[1] == pytest.approx([2 * scale for scale in scales[0]], rel=1e-9)


@pytest.mark.parametrize("guarantee", [PURE, APPROXIMATE], ids=["pure", "approximate"])
def test_a_game_has_the_noise_of_half_the_guarantee(guarantee: Guarantee) -> None:
    """Session and lines are those of one image at ε/2 or ρ/4.

    At a given number of updates that is twice the noise of values and slopes, and half the ε of a test. How a round is
    shared between them shifts a little, as tails are whole numbers.
    """
    pure = guarantee.pure
    whole, budget = (shared.epsilon_each if pure else shared.rho for shared in (guarantee, guarantee.for_each(2)))
    expected = margins.solve(margins.CONVEX, ONE_IMAGE, N, budget, pure, QUERIES, BETA)
    assert interactive_margins(TWO_IMAGES, N, guarantee, QUERIES, BETA).to_json() == expected.to_json()
    if pure:
        half_scans = Tangents().scans(ONE_IMAGE, N, Guarantee(guarantee.epsilon / 2))
        scans = Tangents().scans(TWO_IMAGES, N, guarantee)
        assert [scan.margins.to_json() for scan in scans] == [scan.margins.to_json() for scan in half_scans]

    single, double = (
        margins._with_updates(margins.CONVEX, ONE_IMAGE, N, part, pure, QUERIES, BETA, updates=20)
        for part in (whole, budget)
    )
    assert double.value_scale == pytest.approx(2 * single.value_scale, rel=0.02)
    assert double.slope_scale == pytest.approx(2 * single.slope_scale, rel=0.02)
    assert double.epsilon_test == pytest.approx(single.epsilon_test / 2, rel=0.02)


@every_mechanism
def test_two_images_pay_from_one_budget(mechanism: CoordinateMechanism, guarantee: Guarantee) -> None:
    """Two records go from corner to corner: within the budget with changes = 2, and over it with changes = 1.

    Costs are those of everything that was drawn, in rational arithmetic: of a test by how far its value has moved.
    """
    shares = []
    for embedding in (TWO_IMAGES, ONE_IMAGE):
        first = Transcript([False, True] * 20)
        second = first.again()
        for transcript, position in ((first, 0.0), (second, 1.0)):
            run_with_transcript(mechanism, embedding, guarantee, transcript, position)
        draws, epochs = pairs(first, second)
        spent = mechanism.accounted(guarantee)
        cost = sum((a.cost(b, spent.accounting) for a, b in draws), Fraction(0))
        cost += sum((a.cost(b, spent.accounting) for a, b in epochs), Fraction(0))
        shares.append(cost / Fraction(spent.budget))
    assert shares[0] <= 1
    assert shares[1] > 1


def marks(position: int, bits: int, span: int) -> IntArray:
    """a_j(q) = clip((j + 1)·2ᵇ − q, 0, 2ᵇ) of slopes."""
    tops = (np.arange(span >> bits, dtype=np.int64) + 1) << bits
    result: IntArray = np.clip(tops - position, 0, 1 << bits)
    return result


def cost(embedding: Embedding, rho: float, bits: list[int], moves: list[tuple[list[int], list[int]]]) -> Fraction:
    """Σᵢ ‖Σ over moves of aᵢ(q) − aᵢ(q′)‖₂²/(2sᵢ²): the cost of all moves at once."""
    total = Fraction(0)
    for i, scale in enumerate(scales_of(embedding, embedding.sensitivity_bound / rho, bits)):
        span = int(embedding.span[i])
        parts = [marks(left[i], bits[i], span) - marks(right[i], bits[i], span) for left, right in moves]
        squares = sum(int(change) ** 2 for change in np.sum(parts, axis=0).tolist() if change)
        total += Fraction(squares) / (2 * Fraction(scale) ** 2)
    return total


@settings(max_examples=60, phases=(Phase.generate,))
@given(
    st.lists(st.tuples(st.floats(1e-3, 1e3), st.floats(0.01, 100)), min_size=1, max_size=3),
    st.floats(0.01, 30),
    st.integers(1, 4),
    st.data(),
)
def test_no_images_at_once_cost_slopes_more_than_rho(
    box: list[tuple[float, float]], epsilon: float, images: int, data: st.DataObject
) -> None:
    """s moves at once, in exact rational arithmetic; s moves from corner to corner use the budget up."""
    embedding = L1([(0, width) for width, _ in box], weights=[weight for _, weight in box]).embedding
    guarantee = Guarantee(epsilon, 1e-6)
    image_budget = guarantee.for_each(images).budget
    bits = cell_bits(embedding, deviation_of(embedding, N, embedding.sensitivity_bound / image_budget), N)
    spans = embedding.span.tolist()
    quanta = st.tuples(
        *(
            st.integers(0, span) | st.sampled_from([0, span, 1 << b, (1 << b) + 1])
            for span, b in zip(spans, bits, strict=True)
        )
    ).map(list)
    random_moves = [(data.draw(quanta), data.draw(quanta)) for _ in range(images)]
    corners = [([0] * len(spans), spans)] * images
    for moves in (random_moves, corners):
        assert cost(embedding, image_budget, bits, moves) <= Fraction(guarantee.budget)
    assert cost(embedding, image_budget, bits, corners) >= Fraction(guarantee.budget) * (1 - Fraction(1, 10**9))
    if images > 1:
        assert cost(embedding, guarantee.budget, bits, corners) > Fraction(guarantee.budget)
