"""Private totals: intervals cover although the number of records is noisy, because they are wider for it."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import milepost as mp
from milepost._typing import AnyArray, IntArray
from milepost.ingest.aggregation import read_sketch, read_sums
from milepost.mechanisms.coordinate.count_origin import CountOrigin
from milepost.mechanisms.coordinate.hats import Hats
from milepost.mechanisms.coordinate.slopes import Slopes
from milepost.mechanisms.query.per_query import PerQuery
from milepost.mechanisms.totals import Total, check_total_scale
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.queries import Queries
from tests.chance import assert_rate, assert_scale, assert_wrong_rate
from tests.drawn_ahead import drawn_ahead
from tests.mechanisms.contract import SPACES, points, run_mechanism

ROWS, RELEASES = 100, 3000
LINE = mp.L1([(0, 1)])
QUERIES = np.array([[0.0], [0.1], [0.5], [1.0]])
APPROXIMATE, PURE = mp.Guarantee(1, 1e-6), mp.Guarantee(1)
ADD_REMOVE = ProtectedChange("add-remove")


def people() -> AnyArray:
    """All at one end, so that the ends' answers are as far from an anchor as can be and the total's noise counts."""
    return np.zeros((ROWS, 1))


def releases(name: str) -> tuple[Callable[[], Any], AnyArray]:
    """A way to release the table by a mechanism, and the positions of QUERIES in it."""
    if name in ("gaussian", "laplace"):
        queries = Queries(QUERIES, LINE)
        sums = read_sums(people(), LINE, queries)
        guarantee = APPROXIMATE if name == "gaussian" else PURE
        return lambda: run_mechanism(PerQuery(name), sums, queries, ADD_REMOVE, guarantee, n=ROWS), np.arange(
            len(QUERIES)
        )
    mechanism, guarantee = (Slopes(), APPROXIMATE) if name == "slopes" else (Hats(), PURE)
    sketch = read_sketch(people(), LINE)
    bits = min(run_mechanism(mechanism, sketch, LINE.embedding, ADD_REMOVE, guarantee, n=ROWS).bits)
    sketch = sketch.coarsen(1 << (24 - bits))
    return lambda: run_mechanism(mechanism, sketch, LINE.embedding, ADD_REMOVE, guarantee, n=ROWS), LINE.position(
        QUERIES
    )


def coverage(name: str) -> tuple[IntArray, int, int]:
    """How often intervals cover at each point, at all of them at once, and at the first without the total's noise.

    The last: a hundredth of the total's noise is claimed.
    """
    exact = mp.exact_mean_distance(people(), LINE, QUERIES)
    each, together, without = np.zeros(len(QUERIES), dtype=np.int64), 0, 0
    with drawn_ahead():
        release, positions = releases(name)
        for _ in range(RELEASES):
            statistic = release()
            off = np.abs(statistic.values(positions, raw=True) - exact)
            each += off <= statistic.half_widths(positions, 0.95)
            together += int((off <= statistic.half_width(0.95, uniform=True)).all())
            statistic.total = replace(statistic.total, scale=statistic.total.scale * 0.01)
            without += int(off[0] <= statistic.half_widths(positions, 0.95)[0])
    return each, together, without


@pytest.mark.slow
@pytest.mark.parametrize("name", ["laplace", "gaussian", "slopes", "hats"])
def test_intervals_cover_because_they_count_the_noise_of_the_total(name: str) -> None:
    """Whether one covers is a coin of at least 0.95; a rate of 0.9 would be noticed.

    Intervals that leave out the total's noise are a twin that is wrong: they cover 0.88 and less (laplace 0.877,
    gaussian and hats 0.834, slopes 0.75).
    """
    each, together, without = coverage(name)
    assert_rate(each, RELEASES, at_least=0.95, against=0.9)
    assert_rate(together, RELEASES, at_least=0.95, against=0.9)
    assert_wrong_rate(without, RELEASES, at_least=0.95, truth=0.885)


@pytest.mark.parametrize("off", [0.0, 0.2, -0.7])
@pytest.mark.parametrize("noisy", [8, 50, 1000])
def test_narrowed_half_widths_stay_valid(noisy: int, off: float) -> None:
    """For every true F within the bound of a table, the half-width holds whenever the noise is within its quantile."""
    total, deviation = Total(noisy, 4.0), 3.0

    def noise(far: AnyArray) -> AnyArray:
        return np.sqrt(deviation**2 + (4.0 * far) ** 2) * 1.96 / total.size

    (width,) = total.narrow_half_widths(noise, np.array([off]), np.zeros(1), 1.0)
    for true in np.linspace(-1, 1, 2001).tolist():
        if abs(off - true) * total.size <= 1.96 * np.hypot(deviation, 4.0 * true):
            assert abs(off - true) <= width + 1e-12


def test_an_unseen_group_has_no_interval() -> None:
    total = Total(-3, 4.0)
    assert not total.detectable
    assert np.isinf(total.narrow_half_widths(lambda far: far, np.zeros(2), np.zeros(2), 1.0)).all()


@pytest.mark.parametrize("name", SPACES)
def test_no_record_is_farther_from_the_anchor_than_its_radius(name: str) -> None:
    """Lemma 2, in whole numbers over 2^bits: corners and random records, for both kinds of anchors."""
    space = SPACES[name]
    embedding = space.embedding
    rng = np.random.default_rng(0)
    rows = np.vstack([rng.integers(0, 2, (200, space.width)), rng.random((200, space.width))])
    images = space.quantize(space.read(points(space, rows)))
    kinds = [CountOrigin(embedding, central=False)] + (
        [CountOrigin(embedding, central=True)] if embedding.symmetric else []
    )
    for anchor in kinds:
        costs = np.zeros(len(images))
        for i in range(embedding.dimension):
            bits = int(embedding.step[i]).bit_length() - 1 if embedding.step[i] > 1 else 14
            tops = (np.arange(int(embedding.span[i]) >> bits, dtype=np.int64) + 1) << bits
            marks = np.clip(tops[None] - images[:, i : i + 1], 0, 1 << bits)
            squares = ((marks - anchor.marks(i, bits)) / (1 << bits)) ** 2
            costs += embedding.quantum[i] * (1 << bits) * squares.sum(axis=1)
        assert costs.max() <= anchor.radius * (1 + 1e-9)


@pytest.mark.parametrize("sigma", [2.8, 11.0])
def test_a_noisy_total_costs_no_more_for_its_fineness(sigma: float) -> None:
    """It is drawn 64 times finer and rounded: η and rounding add 1 % at most, to what is stated."""
    stated = Total.of(1000, sigma, pure=False)
    assert sigma < stated.scale < 1.01 * sigma
    assert stated == Total(1000, stated.scale)
    assert Total.of(1000, sigma, pure=True) == Total(1000, sigma, True)
    assert Total.of(1000, 0.0, pure=False).public


def test_a_noisy_total_has_the_noise_that_it_states() -> None:
    draws = [Total.draw(1000, 11.0, pure=False) for _ in range(4000)]
    assert_scale(np.array([(total.value - 1000) / total.scale for total in draws]), against=1.15)


def test_a_total_whose_noise_does_not_fit_is_refused_before_it_is_drawn() -> None:
    for scale, pure in ((2.0**50, False), (2.0**56, True)):
        with pytest.raises(mp.MilepostError, match="epsilon= is too small"):
            check_total_scale(scale, pure)
    check_total_scale(2.0**49, pure=False)
    check_total_scale(0.0, pure=False)
