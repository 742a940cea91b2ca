"""Blocks of labels: what a pair of rows of a mixed table costs, the noise of answers, and the coverage of intervals.

False alarms are computed in `test_false_alarms`. Whether one interval covers is a coin of at least the stated chance:
0.955 where noise is all there is (a tenth of the failure is kept for cells' masses) and 0.9525 for a band, whose
quantile is simulated; the mean over points of one release strays no further than the coin. Sums of squares of Gaussian
noise are χ² distributed.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from scipy.stats import binom, chi2

import milepost as mp
from milepost.arrays import FloatArray
from milepost.mechanisms import hats, slopes
from milepost.mechanisms.hats import Hats, HatSags
from milepost.mechanisms.slopes import SlopeCounts, Slopes
from milepost.privacy.change import Change
from milepost.reading import read_sketch
from milepost.spaces.columns import Category
from milepost.statistics.sketch import Sketch
from milepost.synopsis import Synopsis
from tests.mechanisms.contract import Transcript, pairs, patched
from tests.mechanisms.test_contract import times

MECHANISMS: dict[str, tuple[Slopes | Hats, mp.Guarantee]] = {
    "slopes": (Slopes(), mp.Guarantee(1, 1e-6)),
    "hats": (Hats(), mp.Guarantee(1)),
}
mechanisms = pytest.mark.parametrize("mechanism", MECHANISMS)
LESS_NOISE: dict[str, Callable[[float], Sequence[tuple[Any, str, Any]]]] = {
    "slopes": lambda factor: [(slopes, "scales_of", times(factor, slopes.scales_of))],
    "hats": lambda factor: [(hats, "_scales", times(factor, hats._scales))],
}

columns = st.one_of(
    st.builds(lambda count: mp.category(range(count)), st.integers(1, 9)),
    st.just(mp.flag()),
    st.just(mp.number(0, 1, step=1)),
    st.just(mp.number(0, 7, step=1)),
    st.builds(lambda low, width: mp.number(low, low + width), st.floats(-1e3, 1e3), st.floats(1e-3, 1e3)),
)
shares = st.lists(st.sampled_from([0.0, 1.0, 0.5, 0.25]) | st.floats(0, 1), min_size=4, max_size=4)


def row(space: mp.Gower | mp.Hamming, at: Sequence[float]) -> Sketch:
    """The statistic of one row at such shares of its columns, through the front door of the space."""
    cells: list[Any] = []
    for part, share in zip(space.parts, at, strict=False):
        if isinstance(part, Category):
            cells.append((*part.labels, "other")[min(int(share * part.size), part.size - 1)])
        elif part.kind == "flag":
            cells.append(share >= 0.5)
        else:
            cells.append(part.ends[0] + share * (part.ends[1] - part.ends[0]))
    sketch = Sketch(space.hosts.dimension)
    sketch.add(space.quantize(space.read(np.array([cells], dtype=object))))
    return sketch


def cost(space: mp.Gower | mp.Hamming, mechanism: str, left: Sequence[float], right: Sequence[float]) -> Fraction:
    """The share of the budget that a pair of rows costs, from the integers and scales handed to the noise functions."""
    chosen, guarantee = MECHANISMS[mechanism]
    first = Transcript()
    second = first.again()
    for transcript, at in ((first, left), (second, right)):
        with transcript.listen():
            chosen.run(row(space, at), space.hosts, Change(), guarantee)
    draws, epochs = pairs(first, second)
    assert not epochs
    return sum((a.cost(b, guarantee.pure) for a, b in draws), Fraction(0)) / Fraction(guarantee.budget)


def search(mechanism: str) -> None:
    """Let Hypothesis look for a table and two rows that cost more than the budget."""

    @settings(max_examples=60, phases=(Phase.generate,), database=None)
    @given(st.lists(st.tuples(columns, st.floats(0.01, 100)), min_size=1, max_size=4), shares, shares)
    def no_pair_costs_more(parts: list[tuple[Any, float]], left: list[float], right: list[float]) -> None:
        space = mp.Gower([part for part, _ in parts], weights=[weight for _, weight in parts])
        assert cost(space, mechanism, left, right) <= 1
        opposite = cost(space, mechanism, [0.0] * 4, [1.0] * 4)
        assert opposite <= 1
        if mechanism == "slopes" or all(space.hosts.step == space.hosts.span):  # no hats but the first coefficient
            assert opposite >= 1 - Fraction(1, 10**8)

    no_pair_costs_more()


@mechanisms
def test_no_pair_of_rows_costs_more_than_the_budget(mechanism: str) -> None:
    """ρ for slopes, ε for hats, in exact rational arithmetic; rows that differ in everything cost all of it."""
    search(mechanism)
    for space in (mp.Hamming(["ACGT"] * 3), mp.Hamming(["A"]), mp.Hamming([list(range(300)), "xy"])):
        for left, right in itertools.product(np.eye(space.width).tolist(), repeat=2):
            assert cost(space, mechanism, left, right) <= 1
        assert 1 - Fraction(1, 10**8) <= cost(space, mechanism, [0.0] * 8, [1.0] * 8) <= 1


@mechanisms
def test_a_change_of_label_costs_its_columns_part(mechanism: str) -> None:
    """However many labels there are: two coordinates move and no more."""
    for labels in (1, 2, 50):
        space = mp.Gower([mp.category(range(labels)), mp.flag()], weights=[3, 1])
        part = 3 / 4 if mechanism == "slopes" else 3 ** (2 / 3) / (3 ** (2 / 3) + 1)
        assert float(cost(space, mechanism, [0.0, 0.0], [1.0, 0.0])) == pytest.approx(part, rel=1e-8)
        assert float(cost(space, mechanism, [0.0, 0.0], [0.0, 1.0])) == pytest.approx(1 - part, rel=1e-8)


@mechanisms
@pytest.mark.parametrize("factor", [0.9, 0.5])
def test_less_noise_is_seen(mechanism: str, factor: float) -> None:
    """The search above fails when scales are a tenth too small."""
    with patched(LESS_NOISE[mechanism](factor)), pytest.raises(AssertionError):
        search(mechanism)


@mechanisms
def test_shares_of_labels_add_up_to_1(mechanism: str) -> None:
    """So that the answers at all A labels of one column add up to w(A − 1), noise or not."""
    chosen, guarantee = MECHANISMS[mechanism]
    space = mp.Gower({"plan": mp.category(["a", "b", "c"])})
    answerer = chosen.run(read_sketch(["a", "b", "b", "new"] * 20, space), space.hosts, Change(), guarantee)
    synopsis = Synopsis(space, answerer, guarantee, Change(), 80)
    assert synopsis.mean_distance(["a", "b", "c", "other"], raw=True).sum() == pytest.approx(3, rel=1e-12)


RELEASES = 2000
CORNERS = np.array([[1]])
for _ in range(3):
    CORNERS = np.block([[CORNERS, CORNERS], [CORNERS, -CORNERS]])  # Hadamard: rows are orthogonal


def errors(space: mp.Gower, rows: Sequence[Any], asked: Sequence[Any], mechanism: str) -> FloatArray:
    """Raw answers less exact ones, in units of one query's standard deviation alone: float64[releases, points]."""
    chosen, guarantee = MECHANISMS[mechanism]
    sketch, exact = read_sketch(rows, space), mp.exact(rows, space, asked)
    places = space.place(space.read_queries(np.array(asked, dtype=object)))
    first = chosen.run(sketch, space.hosts, Change(), guarantee)
    sketch = sketch.coarsen(1 << (24 - min(first.bits)))  # exact, and quicker to coarsen again
    found = np.empty((RELEASES, len(asked)))
    for k in range(RELEASES):
        found[k] = chosen.run(sketch, space.hosts, Change(), guarantee).values(places, raw=True) - exact
    single = 1 / math.sqrt(2 * guarantee.rho) if mechanism == "slopes" else math.sqrt(2) / guarantee.epsilon
    return found / (single * space.diameter / len(rows))


@pytest.mark.slow
def test_numbers_and_flags_have_the_noise_of_one_query() -> None:
    """slopes: RMSE ÷ single is 1, at most 1.05 (the corners are chosen so that their noises are independent)."""
    space = mp.Gower([mp.number(0, 1)] * 4 + [mp.flag()] * 4, weights=[1, 2, 3, 1, 1, 2, 3, 1])
    rows = [(0.0, 1.0, 0.0, 1.0, True, True, False, False)] * 500
    equal = mp.Gower([mp.number(0, 1)] * 4 + [mp.flag()] * 4)
    asked = [(*corner[:4], *(flag > 0 for flag in corner[4:])) for corner in np.maximum(CORNERS, 0).tolist()]
    squares = float((errors(equal, rows, asked, "slopes") ** 2).sum())
    freedom = RELEASES * len(asked)
    assert math.sqrt(squares / freedom) <= 1.05
    assert chi2.ppf(1e-7, freedom) < squares < chi2.isf(1e-7, freedom)
    assert math.sqrt((errors(space, rows, asked[:1], "slopes") ** 2).mean()) <= 1.15  # one answer, unequal weights


@pytest.mark.slow
@pytest.mark.parametrize(("mechanism", "labels"), [("slopes", 50), ("slopes", 1), ("hats", 50), ("hats", 2)])
def test_labels_have_the_noise_of_two_counts_less_their_mean(mechanism: str, labels: int) -> None:
    """slopes: √2·√(1 − 1/A) with `other` among the A labels, at most 1.45; hats: 2·√(1 − 1/A), about 2."""
    space = mp.Gower([mp.category(range(labels))])
    asked = [(k,) for k in range(labels)] + [("other",)]
    found = errors(space, [(0,)] * 300 + [("new",)] * 200, asked, mechanism)
    ratio, size = math.sqrt((found**2).mean()), labels + 1
    if mechanism == "slopes":
        assert ratio <= (1.45 if labels > 1 else 1.09)
        squares, freedom = float((found**2).sum() / 2), RELEASES * labels
        assert chi2.ppf(1e-7, freedom) < squares < chi2.isf(1e-7, freedom)
    else:
        # a square of Laplace noise has a standard deviation of √5 times its mean: 7 of these
        assert ratio**2 == pytest.approx(4 * (1 - 1 / size), rel=7 * math.sqrt(5 / (RELEASES * labels)))
        assert ratio <= 2.1


LEAST, MOST, LEAST_BAND = 0.93, 0.985, 0.925
STAY = mp.Gower(
    {"nights": mp.number(0, 4, step=1), "plan": mp.category(["a", "b", "c"]), "member": mp.flag()},
    weights={"nights": 1, "plan": 2, "member": 1},
)
GUESTS = [(0, "a", True), (1, "a", False), (4, "b", True), (2, "new", True), (2, "a", True)] * 60
EVERYWHERE = list(itertools.product(range(5), ["a", "b", "c", "other"], [True, False]))


def test_false_alarms() -> None:
    """Each comparison above and below fails by chance less than once in a million runs, if noise is right."""
    assert binom.cdf(math.ceil(LEAST * RELEASES) - 1, RELEASES, 0.955) < 1e-6
    assert 40 * binom.cdf(math.ceil((LEAST - 0.01) * RELEASES) - 1, RELEASES, 0.955) < 1e-6  # any of the points
    assert binom.cdf(math.ceil(LEAST_BAND * RELEASES) - 1, RELEASES, 0.9525) < 1e-6
    assert binom.sf(math.floor(MOST * RELEASES), RELEASES, 0.96) < 1e-6
    assert chi2.sf(1.05**2 * 8 * RELEASES, 8 * RELEASES) < 1e-6
    assert chi2.sf(1.15**2 * RELEASES, RELEASES) < 1e-6
    assert chi2.sf(1.45**2 / 2 * 51 * RELEASES, 50 * RELEASES) < 1e-6
    assert chi2.sf(1.09**2 / 2 * 2 * RELEASES, RELEASES) < 1e-6


@pytest.mark.slow
@mechanisms
def test_intervals_of_mixed_tables_cover(mechanism: str) -> None:
    """At every row of steps, labels and flags, and for all of them at once; deviation × 0.7 is rejected."""
    chosen, guarantee = MECHANISMS[mechanism]
    sketch, exact = read_sketch(GUESTS, STAY), mp.exact(GUESTS, STAY, EVERYWHERE)
    claims = (1.0, 0.7)
    covered, within = {claim: np.zeros(len(EVERYWHERE)) for claim in claims}, dict.fromkeys(claims, 0)
    for _ in range(RELEASES):
        answerer = chosen.run(sketch, STAY.hosts, Change(), guarantee)
        assert isinstance(answerer, SlopeCounts | HatSags)
        for claim in claims:
            synopsis = Synopsis(STAY, claimed(answerer, claim), guarantee, Change(), len(GUESTS))
            places = STAY.place(STAY.read_queries(np.array(EVERYWHERE, dtype=object)))
            off = np.abs(synopsis.answerer.values(places, raw=True) - exact)
            covered[claim] += off <= synopsis.answerer.half_widths(places, 0.95)
            within[claim] += off.max() <= synopsis.error(uniform=True)
    rates = {claim: float(counts.mean()) / RELEASES for claim, counts in covered.items()}
    assert LEAST <= rates[1.0] <= MOST, rates
    assert covered[1.0].min() / RELEASES >= LEAST - 0.01, covered
    assert within[1.0] / RELEASES >= LEAST_BAND, within
    assert rates[0.7] < LEAST, rates
    assert within[0.7] / RELEASES < LEAST_BAND, within


def claimed(answerer: SlopeCounts | HatSags, claim: float) -> SlopeCounts | HatSags:
    """The same release with a card that says its noise is `claim` times what it is."""
    if isinstance(answerer, SlopeCounts):
        return SlopeCounts(
            answerer.hosts, answerer.total, answerer.power * claim**2, list(answerer.bits), answerer.counts
        )
    epsilons = [epsilon / claim for epsilon in answerer.epsilons]
    return HatSags(answerer.hosts, answerer.total, epsilons, list(answerer.bits), answerer.sags)


@pytest.mark.parametrize("mechanism", ["slopes", "hats", "tangents"])
def test_a_prediction_is_what_a_release_says(mechanism: str) -> None:
    """Labels have no interpolation, so nothing about the table is left to guess."""
    space, delta = mp.Hamming(["ACGT"] * 3), 1e-6
    predicted = {p.mechanism: p for p in mp.plan(space, n=3000, epsilon=1, delta=delta).predictions}[mechanism]
    with pytest.warns(mp.PromiseWarning) if mechanism == "tangents" else nullcontext():
        synopsis = mp.release(["ACG", "TTT", "NNN"] * 1000, space, epsilon=1, delta=delta, mechanism=mechanism)
    assert synopsis.error() == pytest.approx(predicted.error, rel=1e-6)
    assert synopsis.error(uniform=True) == pytest.approx(predicted.uniform, rel=1e-6)
