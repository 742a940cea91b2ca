"""Theorem 7: a release over an embedding answers between the contracted and the expanded truth, ± the ℓ₁ promise.

Every space × every mechanism × every guarantee that it gives. The ℓ₁ promise is that of the embedding without its
error: noise, interpolation and rounding, for all asked queries together but for a false alarm. Each pair is also
compared with an oracle, the mean embedded distance of the table, straight from the images.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pytest

import milepost as mp
from milepost._typing import AnyArray, FloatArray, IntArray
from milepost.mechanisms.base import NoisyStatistic
from milepost.mechanisms.registry import MECHANISMS, mechanism_named
from milepost.privacy import noise
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.base import Space
from milepost.spaces.embeddings.projected import Projected
from milepost.spaces.objects import object_array
from milepost.spaces.queries import Queries
from milepost.statistics.distance_sums import DistanceSums
from milepost.statistics.sketch import Sketch
from tests import chance
from tests.mechanisms.contract import run_mechanism

BOUNDS = [(0.0, 1.0), (0.0, 2.0)]
WORDS = ["", "milepost", "millstone", "post", "outpost", "mile", "smile", "lamp"]
GUARANTEES = {"approximate": mp.Guarantee(1, 1e-6), "pure": mp.Guarantee(1)}
LARGE_GUARANTEES = {"approximate": mp.Guarantee(900, 1e-6), "pure": mp.Guarantee(900)}
GUARANTEE_KINDS = {
    "slopes": ("approximate",),
    "hats": ("approximate", "pure"),
    "tangents": ("approximate", "pure"),
    "gaussian": ("approximate",),
    "laplace": ("approximate", "pure"),
}
ROWS = {"slopes": 1 << 13, "hats": 1 << 13, "tangents": 1 << 22, "gaussian": 1 << 13, "laplace": 1 << 13}
QUERY_LEVEL = ("gaussian", "laplace")
QUICK = ("l1",)


def random_words(generator: np.random.Generator) -> list[str]:
    """Words some edits away from the queries, and none of them."""
    people = []
    for _ in range(64):
        letters = list(WORDS[generator.integers(len(WORDS))])
        for _ in range(generator.integers(1, 5)):
            letters.insert(int(generator.integers(len(letters) + 1)), "milepost"[generator.integers(8)])
        people.append("".join(letters))
    return people


def roads(generator: np.random.Generator, count: int) -> FloatArray:
    """Shortest paths in a complete graph of random lengths: a metric, of any shape, with a diameter of at most 1."""
    lengths = np.triu(generator.uniform(0.3, 1, (count, count)), 1)
    lengths += lengths.T
    for via in range(count):
        lengths = np.minimum(lengths, lengths[:, via, None] + lengths[None, via])
    return lengths


def edit(calibrate: bool) -> mp.AnyMetric:
    return mp.AnyMetric(mp.edit_distance, 12, WORDS, repetitions=3, calibrate=calibrate)


def towns(calibrate: bool) -> mp.AnyMetric:
    metric = mp.precomputed(roads(np.random.default_rng(3), 50))
    return mp.AnyMetric(metric, 1, list(range(6)), repetitions=3, calibrate=calibrate)


def rows(generator: np.random.Generator) -> FloatArray:
    return generator.beta(2, 3, (64, 2)) * [1, 2]


@dataclass(frozen=True, eq=False)
class Case:
    """A space, a table, and the points that are asked about; expands: False for an uncalibrated Figure 3."""

    space: Space
    people: Any
    raw_queries: Any
    expands: bool = True

    @property
    def queries(self) -> AnyArray:
        if self.space.given_queries is not None:
            return self.space.given_queries
        batch = object_array(list(self.raw_queries)) if self.space.objects else np.asarray(self.raw_queries)
        return self.space.read_queries(batch)

    @property
    def records(self) -> FloatArray:
        batch = object_array(list(self.people)) if self.space.objects else np.array(self.people, dtype=np.float64)
        return self.space.read(batch)

    def distances(self) -> FloatArray:
        """Exact, of every record to every query: what Theorem 7 speaks about."""
        return self.space.distance(self.records, self.queries)

    def embedded_distances(self) -> FloatArray:
        """The oracle: Σ τ|q(x) − position(y)| of every pair."""
        images, positions = self.space.quantize(self.records), self.space.position(self.queries)
        return np.array([np.abs(images - position) @ self.space.embedding.quantum for position in positions]).T

    def distortion(self) -> tuple[float, float]:
        """Expansion and contraction (Definition 5): of the projections over all directions, else of these pairs."""
        if self.space.kind == "l1":
            return 1.0, 1.0
        if isinstance(self.space, Projected):
            distortion = self.space.distortion()
            return distortion.expansion, distortion.contraction
        exact, embedded = self.distances(), self.embedded_distances()
        distinct = exact > 0
        ratios = embedded[distinct] / exact[distinct]
        rounding = float(np.sum(self.space.embedding.quantum))  # half a quantum on either side
        assert (embedded[~distinct] <= rounding).all()
        assert self.expands or (embedded <= exact + rounding).all()
        # two vectors on the same side of every hyperplane have the same image, however small the angle
        return float(ratios.max()), float(1 / ratios.min()) if ratios.min() > 0 else math.inf


def cases() -> Iterator[tuple[str, Callable[[], Case]]]:
    generator = np.random.default_rng(0)
    people, queries = rows(generator), generator.random((20, 2)) * [1, 2]
    disc = mp.L2(center=[0, 0], radius=1, directions=8)
    yield "l1", lambda: Case(mp.L1(BOUNDS, weights=[2, 0.5]), people, queries)
    yield "disc", lambda: Case(disc, people - [0.5, 1], disc.clip_points(queries - [0.5, 1]))
    yield "box", lambda: Case(mp.L2(BOUNDS, directions=8), people, queries)
    yield "lp", lambda: Case(mp.Lp(1.5, BOUNDS, directions=16), people, queries)
    cap = mp.GreatCircle((60, 179), 2000, directions=16)
    cap_rows = cap.center + (people - [0.5, 1]) * [20, 20]
    yield (
        "cap",
        lambda: Case(cap, cap_rows, cap.clip_points(cap.read_queries(cap.center + (queries - [0.5, 1]) * [15, 15]))),
    )
    vectors = generator.standard_normal((64, 3)), generator.standard_normal((20, 3))
    yield "angles", lambda: Case(mp.Angular(3, directions=24), *vectors)
    table = mp.Gower([mp.number(0, 1), mp.category(["a", "b", "c"]), mp.flag()], weights=[1, 2, 1])
    mixed_rows = [(float(x), "abcz"[int(4 * x)], bool(x < y)) for x, y in people]
    yield "table", lambda: Case(table, mixed_rows, [(0.1, "a", True), (0.7, "c", False), (0.5, "other", True)])
    letters = ["".join(generator.choice(list("ACGT"), 4)) for _ in range(64)]
    yield "letters", lambda: Case(mp.Hamming(["ACGT"] * 4), letters, ["ACGT", "AAAA", "TTCG"])
    misspellings = random_words(generator)
    yield "edit", lambda: Case(edit(False), misspellings, WORDS, expands=False)
    yield "edit, calibrated", lambda: Case(edit(True), misspellings, WORDS)
    yield "precomputed", lambda: Case(towns(False), list(range(6, 50)), range(6), expands=False)
    yield "precomputed, calibrated", lambda: Case(towns(True), list(range(6, 50)), range(6))


CASES = dict(cases())


@lru_cache(maxsize=16)
def case_of(name: str) -> Case:
    return CASES[name]()


def answer(case: Case, mechanism: str, guarantee: mp.Guarantee, n: int | None = None) -> tuple[FloatArray, FloatArray]:
    """The answers at the asked points, and how far the ℓ₁ release promises to be off at each (but for FALSE_ALARM)."""
    times = (n or ROWS[mechanism]) // len(case.people)
    confidence = chance.confidence(len(case.raw_queries))
    if mechanism in QUERY_LEVEL:
        queries = Queries(case.queries, case.space)
        sums = DistanceSums(queries.count)
        sums.add(queries.quantize(case.distances()))
        direct: NoisyStatistic = run_mechanism(
            MECHANISMS[mechanism], sums.repeat(times), queries, ProtectedChange(), guarantee
        )
        positions: AnyArray = np.arange(queries.count)
        return direct.values(positions), direct.half_widths(positions, confidence)
    embedding = dataclasses.replace(
        case.space.embedding, relative_error=0.0, clipping_error=0.0, rotations=None, anchor=None
    )
    sketch = Sketch(embedding.dimension)
    sketch.add(case.space.quantize(case.records))
    statistic = run_mechanism(
        mechanism_named(mechanism, chance.FALSE_ALARM), sketch.repeat(times), embedding, ProtectedChange(), guarantee
    )
    positions = case.space.position(case.queries)
    return statistic.values(positions), statistic.half_widths(positions, min(confidence, statistic.confidence))


def combinations(guarantees: dict[str, tuple[str, ...]], slow: Sequence[str]) -> pytest.MarkDecorator:
    """Every space × mechanism × guarantee; some mechanisms are slow but for ℓ₁."""
    params = [
        pytest.param(case, mechanism, kind, marks=[pytest.mark.slow] if mechanism in slow and case not in QUICK else [])
        for case in CASES
        for mechanism, kinds in guarantees.items()
        for kind in kinds
    ]
    return pytest.mark.parametrize(("name", "mechanism", "kind"), params)


def lies_between(case: Case, mechanism: str, answers: FloatArray, margin: FloatArray) -> bool:
    """Theorem 7, and that the ℓ₁ release itself is as near to the mean embedded distance."""
    exact = case.distances().mean(axis=0)
    expansion, contraction = (1.0, 1.0) if mechanism in QUERY_LEVEL else case.distortion()
    below, above = answers <= exact * expansion + margin, answers >= exact / contraction - margin
    return bool((below & above & (np.abs(answers - oracle(case, mechanism)) <= margin)).all())


def oracle(case: Case, mechanism: str) -> FloatArray:
    """The mean of embedded distances, or of exact ones where a mechanism works on these."""
    distances = case.distances() if mechanism in QUERY_LEVEL else case.embedded_distances()
    return np.asarray(distances.mean(axis=0))


@combinations(GUARANTEE_KINDS, slow=["tangents"])
def test_released_answers_lie_where_theorem_7_puts_them(name: str, mechanism: str, kind: str) -> None:
    """Between the contracted and the expanded exact answer, ± the promised error of the ℓ₁ release.

    The promise is at most a tenth of the diameter, so that the comparison says something.
    """
    case = case_of(name)
    answers, margin = answer(case, mechanism, GUARANTEES[kind])
    assert 0 < margin.max() <= 0.1 * case.space.diameter
    assert lies_between(case, mechanism, answers, margin)


@combinations({name: kinds[-1:] for name, kinds in GUARANTEE_KINDS.items()}, slow=["tangents", "hats"])
def test_answers_with_hardly_any_noise_are_the_mean_host_distance(name: str, mechanism: str, kind: str) -> None:
    """At ε = 900, to noise, rounding and interpolation: compared with the images themselves, not with promises.

    What the release promises is within the tolerance; a metric a hundredth too long would be seen, but for tangents.
    """
    case = case_of(name)
    tolerance = (0.05 if mechanism == "tangents" else 1e-3) * case.space.diameter
    answers, margin = answer(
        case, mechanism, LARGE_GUARANTEES[kind], ROWS[mechanism] >> (6 if mechanism == "tangents" else 0)
    )
    assert margin.max() <= tolerance
    assert np.abs(answers - oracle(case, mechanism)).max() <= tolerance
    if mechanism != "tangents":
        assert np.abs(answers - 1.01 * oracle(case, mechanism)).max() > tolerance


@pytest.mark.parametrize("name", ["l1", "edit"])
@pytest.mark.parametrize("mechanism", GUARANTEE_KINDS)
def test_noise_that_is_far_off_is_seen(name: str, mechanism: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison of Theorem 7 fails where every draw is a hundred times its scale: certain, no false alarm."""

    def far_off(_: str, values: IntArray, scale: float) -> IntArray:
        return np.asarray(values + round(100 * scale), dtype=np.int64)

    case = case_of(name)
    monkeypatch.setattr(noise, "_add", far_off)
    assert not lies_between(case, mechanism, *answer(case, mechanism, GUARANTEES[GUARANTEE_KINDS[mechanism][0]]))
