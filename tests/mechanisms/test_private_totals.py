"""Private totals: intervals cover although the number of records is noisy, and noise that is claimed too small is seen.

False alarms. Whether an interval covers is a coin of at least 0.95 (0.955 where noise is all there is); of 1500 coins
fewer than 0.915 cover with probability 4e-8 (`test_false_alarms`). There are 16 points and 4 bands, so 1e-6 in all.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import milepost as mp
from milepost.arrays import AnyArray
from milepost.mechanisms.anchors import Anchor
from milepost.mechanisms.hats import Hats
from milepost.mechanisms.per_query import PerQuery
from milepost.mechanisms.slopes import Slopes
from milepost.mechanisms.totals import Total
from milepost.privacy.change import Change
from milepost.reading import read_sketch, read_sums
from milepost.spaces.queries import Queries
from tests.mechanisms.contract import SPACES, points

ROWS, RELEASES, LEAST, TOO_FEW = 100, 1500, 0.915, 0.93
LINE = mp.L1([(0, 1)])
ASKED = np.array([[0.0], [0.1], [0.5], [1.0]])
APPROXIMATE, PURE = mp.Guarantee(1, 1e-6), mp.Guarantee(1)
ADDED = Change("add-remove")


def people() -> AnyArray:
    """Most of them near one end, so that answers are far from any anchor and the total's noise counts."""
    return np.random.default_rng(1).beta(1, 8, (ROWS, 1))


def releases(name: str) -> tuple[Callable[[], Any], AnyArray]:
    """A way to release the table by a mechanism, and the places of ASKED in it."""
    if name in ("gaussian", "laplace"):
        queries = Queries(ASKED, LINE)
        sums = read_sums(people(), LINE, queries)
        guarantee = APPROXIMATE if name == "gaussian" else PURE
        return lambda: PerQuery(name).run(sums, queries, ADDED, guarantee, n=ROWS), np.arange(len(ASKED))
    mechanism, guarantee = (Slopes(), APPROXIMATE) if name == "slopes" else (Hats(), PURE)
    sketch = read_sketch(people(), LINE)
    bits = min(mechanism.run(sketch, LINE.hosts, ADDED, guarantee, n=ROWS).bits)
    sketch = sketch.coarsen(1 << (24 - bits))
    return lambda: mechanism.run(sketch, LINE.hosts, ADDED, guarantee, n=ROWS), LINE.place(ASKED)


def coverage(name: str, total: float = 1.0) -> tuple[AnyArray, float]:
    """How often intervals cover at each point, and all of them at once; the total's noise claimed so many times."""
    exact = mp.exact(people(), LINE, ASKED)
    release, places = releases(name)
    each, together = np.zeros(len(ASKED)), 0.0
    for _ in range(RELEASES):
        answerer = release()
        answerer.total = replace(answerer.total, scale=answerer.total.scale * total)
        off = np.abs(answerer.values(places, raw=True) - exact)
        each += off <= answerer.half_widths(places, 0.95)
        together += (off <= answerer.half_width(0.95, uniform=True)).all()
    return each / RELEASES, together / RELEASES


@pytest.mark.parametrize(
    "name",
    [
        "gaussian",
        "laplace",
        pytest.param("slopes", marks=pytest.mark.slow),
        pytest.param("hats", marks=pytest.mark.slow),
    ],
)
def test_intervals_cover(name: str) -> None:
    each, together = coverage(name)
    assert each.min() > LEAST
    assert together > LEAST


@pytest.mark.parametrize("name", ["laplace", pytest.param("hats", marks=pytest.mark.slow)])
def test_a_total_without_noise_would_be_seen(name: str) -> None:
    """Intervals that leave out the total's noise fail where answers are far from the anchor.

    They cover 0.89 there, and so more than TOO_FEW with probability 1e-6 at most; right ones seldom cover so few.
    """
    assert coverage(name, total=0.01)[0].min() < TOO_FEW


def test_false_alarms() -> None:
    assert binom.cdf(LEAST * RELEASES, RELEASES, 0.95) < 5e-8
    assert binom.sf(TOO_FEW * RELEASES - 1, RELEASES, 0.89) < 1e-6
    assert binom.cdf(TOO_FEW * RELEASES, RELEASES, 0.95) < 1e-3


@pytest.mark.parametrize("off", [0.0, 0.2, -0.7])
@pytest.mark.parametrize("noisy", [8, 50, 1000])
def test_narrowed_half_widths_stay_valid(noisy: int, off: float) -> None:
    """For every true F within the bound of a table, the half-width holds whenever the noise is within its quantile."""
    total, deviation = Total(noisy, 4.0), 3.0

    def noise(far: AnyArray) -> AnyArray:
        return np.sqrt(deviation**2 + (4.0 * far) ** 2) * 1.96 / total.size

    (width,) = total.narrowed(noise, np.array([off]), np.zeros(1), 1.0)
    for true in np.linspace(-1, 1, 2001).tolist():
        if abs(off - true) * total.size <= 1.96 * np.hypot(deviation, 4.0 * true):
            assert abs(off - true) <= width + 1e-12


def test_an_unseen_group_has_no_interval() -> None:
    total = Total(-3, 4.0)
    assert not total.seen
    assert np.isinf(total.narrowed(lambda far: far, np.zeros(2), np.zeros(2), 1.0)).all()


@pytest.mark.parametrize("name", SPACES)
def test_no_record_is_farther_from_the_anchor_than_its_radius(name: str) -> None:
    """Lemma 2, in whole numbers over 2^bits: corners and random records, for both kinds of anchors."""
    space = SPACES[name]
    hosts = space.hosts
    rng = np.random.default_rng(0)
    rows = np.vstack([rng.integers(0, 2, (200, space.width)), rng.random((200, space.width))])
    images = space.quantize(space.read(points(space, rows)))
    kinds = [Anchor(hosts, central=False)] + ([Anchor(hosts, central=True)] if hosts.symmetric else [])
    for anchor in kinds:
        spent = np.zeros(len(images))
        for i in range(hosts.dimension):
            bits = int(hosts.step[i]).bit_length() - 1 if hosts.step[i] > 1 else 14
            tops = (np.arange(int(hosts.span[i]) >> bits, dtype=np.int64) + 1) << bits
            marks = np.clip(tops[None] - images[:, i : i + 1], 0, 1 << bits)
            moved = ((marks - anchor.marks(i, bits)) / (1 << bits)) ** 2
            spent += hosts.quantum[i] * (1 << bits) * moved.sum(axis=1)
        assert spent.max() <= anchor.radius * (1 + 1e-9)
