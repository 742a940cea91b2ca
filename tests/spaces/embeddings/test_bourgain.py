"""Figure 3: equal to its definition, and its lemmas as equalities, certainties and frequencies."""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein
from scipy.special import bdtr

from milepost._typing import AnyArray, FloatArray, IntArray
from milepost.spaces.embeddings.bourgain import Subsets, draw, levels_of, paper_repetitions
from tests import chance
from tests.chance import FALSE_ALARM, assert_rate
from tests.quick import some_quick


def oracle(generator: np.random.Generator, count: int, repetitions: int, shift: int = 0) -> AnyArray:
    """Figure 3 as it is written: bool[K, L, k], set by set. A shift of s takes probabilities 2^{-(i-1+s)}."""
    levels = math.floor(math.log2(count)) + 1
    sets = np.ones((repetitions, levels, count), dtype=bool)
    for j in range(repetitions):
        for i in range(1, levels):
            sets[j, i] = generator.random(count) < 2.0 ** -min(max(i + shift, 0), 60)
    return sets


def oracle_differences(sets: AnyArray, to_x: FloatArray, to_y: FloatArray) -> FloatArray:
    """|d(x, S_ij) − d(y, S_ij)|: float64[K, L]. To the empty set all points have the same distance."""
    x, y = (np.where(sets, to, 1e15).min(axis=2) for to in (to_x, to_y))
    return np.asarray(np.abs(x - y))


def draw_counts(subsets: Subsets, count: int, repetitions: int) -> IntArray:
    """How often each set was drawn: weight·K·L, an integer."""
    values = subsets.weight * repetitions * levels_of(count)
    counts = np.rint(values).astype(np.int64)
    assert np.allclose(values, counts, rtol=1e-12)
    return counts


def differences(subsets: Subsets, to_x: FloatArray, to_y: FloatArray) -> FloatArray:
    """|d(x, S) − d(y, S)| for each set."""
    x, y = subsets.nearest(np.array([to_x, to_y], dtype=float))
    return np.asarray(np.abs(x - y))


def embedded_distances(subsets: Subsets, data: FloatArray, queries: FloatArray) -> FloatArray:
    """float64[n, k] from distances of the data float64[n, k] and of the queries float64[k, k] to the queries."""
    x, y = subsets.nearest(data), subsets.nearest(queries)
    return np.stack([np.abs(x - image) @ subsets.weight for image in y], axis=1)


# Finite metrics, all with whole numbers.


def closure(generator: np.random.Generator, count: int) -> FloatArray:
    """Shortest paths in a complete graph of random weights."""
    lengths = np.triu(generator.integers(1, 1000, (count, count)), 1).astype(float)
    lengths += lengths.T
    for via in range(count):
        lengths = np.minimum(lengths, lengths[:, via, None] + lengths[None, via])
    return lengths


def uniform(_: np.random.Generator, count: int) -> FloatArray:
    """All at distance 1."""
    return 1.0 - np.eye(count)


def tree(generator: np.random.Generator, count: int) -> FloatArray:
    """Paths in a random tree."""
    lengths = np.zeros((count, count))
    for child in range(1, count):
        lengths[child, :child] = lengths[generator.integers(child), :child] + generator.integers(1, 100)
        lengths[:child, child] = lengths[child, :child]
    return lengths


def grid(generator: np.random.Generator, count: int) -> FloatArray:
    """ℓ₁ on a grid of integers; some points coincide."""
    points = generator.integers(0, 8, (count, 2))
    return np.asarray(np.abs(points[:, None] - points[None]).sum(axis=2), dtype=float)


def scales(generator: np.random.Generator, count: int) -> FloatArray:
    """±2^j on a line: as many scales as points."""
    points = 2.0 ** np.minimum(np.arange(count), 40) * generator.choice([-1, 1], count)
    return np.asarray(np.abs(points[:, None] - points[None]))


def strings(generator: np.random.Generator, count: int) -> FloatArray:
    """Edit distance between random words."""
    words = ["".join(generator.choice(list("abc"), generator.integers(0, 9))) for _ in range(count)]
    return np.array([[float(Levenshtein.distance(a, b)) for b in words] for a in words])


METRICS: dict[str, Callable[[np.random.Generator, int], FloatArray]] = {
    metric.__name__: metric for metric in (closure, uniform, tree, grid, scales, strings)
}
every_metric = pytest.mark.parametrize("name", some_quick(METRICS, ["closure", "grid", "scales"]))


def pairs_of(name: str, n: int, count: int, seed: int) -> tuple[FloatArray, FloatArray]:
    """Distances of n records and of `count` queries to the queries; half of the queries are records."""
    generator = np.random.default_rng(seed)
    lengths = METRICS[name](generator, n + count)
    queries = np.concatenate([np.arange(n, n + count - count // 2), generator.choice(n, count // 2)])
    return lengths[:n][:, queries], lengths[queries][:, queries]


# The definition.


@every_metric
@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 8, 20])
def test_merged_sets_give_the_distances_of_figure_3(name: str, count: int) -> None:
    """The same draws set by set give the same sum, in whole numbers: merging and dropping empty sets lose nothing."""
    repetitions = 40
    data, queries = pairs_of(name, 6, count, seed=count)
    subsets = draw(count, repetitions, seed=5)
    counts = draw_counts(subsets, count, repetitions)
    sets = oracle(np.random.default_rng([5, count]), count, repetitions)
    embedded = embedded_distances(subsets, data, queries)
    for i, to_x in enumerate(data):
        for j, to_y in enumerate(queries):
            total = oracle_differences(sets, to_x, to_y).sum()
            assert np.sum(counts * differences(subsets, to_x, to_y)) == total
            assert embedded[i, j] == pytest.approx(total / (repetitions * levels_of(count)), rel=1e-12)


@pytest.mark.parametrize(("count", "levels"), [(1, 1), (2, 2), (3, 2), (4, 3), (7, 3), (8, 4), (1000, 10), (1024, 11)])
def test_levels_are_the_balls_that_queries_can_fill(count: int, levels: int) -> None:
    """L is the number of i with 2^{i-1} ≤ k, so two balls of 2^{L-1} queries have one in common."""
    assert levels_of(count) == levels
    assert 2 ** (levels - 1) <= count < 2 * 2 ** (levels - 1)


def test_the_papers_repetitions() -> None:
    """K = ⌈512(log₂k + log₂n)⌉, and one set for one query and one record."""
    assert paper_repetitions(1, 1) == 1
    assert paper_repetitions(2, 1) == 512
    assert paper_repetitions(8, 1024) == 512 * 13
    assert paper_repetitions(3, 5) == math.ceil(512 * math.log2(15))


@pytest.mark.parametrize("count", [1, 2, 3, 8, 40])
def test_sets_are_merged_and_never_empty(count: int) -> None:
    """A set appears once a level, level 1 is all queries with weight 1/L, and weights add up to 1 less empty sets."""
    repetitions, levels = 60, levels_of(count)
    subsets = draw(count, repetitions, seed=0)
    keys = [(int(level), *members.tolist()) for level, members in zip(subsets.level, subsets.members, strict=True)]
    assert len(set(keys)) == len(keys)
    assert all(len(members) for members in subsets.members)
    assert keys[0] == (1, *range(count))
    assert np.count_nonzero(subsets.level == 1) == 1
    assert subsets.weight[0] == 1 / levels
    counts = draw_counts(subsets, count, repetitions)
    assert counts.min() >= 1
    empty = int(np.count_nonzero(~oracle(np.random.default_rng([0, count]), count, repetitions).any(axis=2)))
    assert counts.sum() == repetitions * levels - empty
    assert all(counts[subsets.level == level].sum() <= repetitions for level in range(1, levels + 1))


def is_figure_3(inside: IntArray, both: IntArray, repetitions: int) -> bool:
    """Exact binomial tests that queries and pairs are members with probability p and p²."""
    levels, queries = inside.shape
    tests = 2 * levels * (queries + both.shape[1])
    for level in range(1, levels + 1):
        p = 2.0 ** (1 - level)
        for hits, rate in ((inside[level - 1], p), (both[level - 1], p * p)):
            low, high = chance.rate_limits(repetitions, rate, tests)
            if not (low <= hits.min() and hits.max() <= high):
                return False
    return True


def memberships(sets: AnyArray) -> tuple[IntArray, IntArray]:
    """How often a query, and two neighbors in the list, are in a set: int64[L, k], int64[L, k-1]."""
    return sets.sum(axis=0), (sets[:, :, 1:] & sets[:, :, :-1]).sum(axis=0)


@pytest.mark.slow
def test_queries_are_chosen_independently_with_halving_probabilities() -> None:
    """Level i holds a query with probability 2^{-(i-1)}, two with the square; one level too many is noticed."""
    count, repetitions = 12, 20_000
    subsets = draw(count, repetitions, seed=1)
    counts = draw_counts(subsets, count, repetitions)
    inside = np.zeros((levels_of(count), count), dtype=np.int64)
    both = np.zeros((levels_of(count), count - 1), dtype=np.int64)
    for level, members, multiplicity in zip(subsets.level, subsets.members, counts, strict=True):
        mask = np.isin(np.arange(count), members)
        inside[level - 1] += multiplicity * mask
        both[level - 1] += multiplicity * (mask[1:] & mask[:-1])
    assert is_figure_3(inside, both, repetitions)
    generator = np.random.default_rng(0)
    assert is_figure_3(*memberships(oracle(generator, count, repetitions)), repetitions)
    assert not is_figure_3(*memberships(oracle(generator, count, repetitions, shift=1)), repetitions)
    paired = oracle(generator, count, repetitions)
    paired[:, :, 1::2] = paired[:, :, ::2]  # right for each query, wrong for two
    assert not is_figure_3(*memberships(paired), repetitions)


# Certainties: privacy and expansion.


@pytest.mark.parametrize("count", [1, 2, 5, 30])
def test_an_image_depends_on_its_own_record_only(count: int) -> None:
    """nearest(D)[i] == nearest(D[i:i+1])[0], bit for bit, at any batch size and memory order."""
    distances = np.random.default_rng(count).random((200, count))
    subsets = draw(count, 50, seed=2)
    images = subsets.nearest(distances)
    assert images.shape == (200, len(subsets.members))
    assert np.array_equal(subsets.nearest(np.asfortranarray(distances)), images)
    assert np.array_equal(subsets.nearest(distances[::-1])[::-1], images)
    for i in range(0, 200, 7):
        assert np.array_equal(subsets.nearest(distances[i : i + 1])[0], images[i])
        assert np.array_equal(subsets.nearest(distances[i : i + 3]), images[i : i + 3])
    assert subsets.nearest(distances[:0]).shape == (0, len(subsets.members))


def test_sets_depend_on_public_numbers_only() -> None:
    """The same seed gives the same sets, another seed or another number of queries gives others."""
    first = draw(9, 30, seed=4)
    draw.cache_clear()
    second = draw(9, 30, seed=4)
    assert second is not first
    assert np.array_equal(second.weight, first.weight)
    assert np.array_equal(second.level, first.level)
    assert all(np.array_equal(a, b) for a, b in zip(second.members, first.members, strict=True))
    other = draw(9, 30, seed=5)
    assert len(other.members) != len(first.members) or any(
        not np.array_equal(a, b) for a, b in zip(other.members, first.members, strict=True)
    )


@pytest.mark.parametrize("count", [2, 3, 16, 33])
def test_more_repetitions_keep_the_sets_that_fewer_have(count: int) -> None:
    """In the same order, each drawn at least as often."""
    few, many = draw(count, 20, seed=3), draw(count, 90, seed=3)
    size = len(few.members)
    assert all(np.array_equal(a, b) for a, b in zip(few.members, many.members[:size], strict=True))
    assert np.array_equal(few.level, many.level[:size])
    assert (draw_counts(few, count, 20) <= draw_counts(many, count, 90)[:size]).all()


@given(seed=st.integers(0, 2**32 - 1), count=st.integers(1, 12))
def test_the_reach_needs_no_triangle_inequality(seed: int, count: int) -> None:
    """Numbers in [0, diameter] that are no metric move at most Σ weight·diameter ≤ diameter, in rational arithmetic."""
    diameter, repetitions = 1000, 25
    distances = np.random.default_rng(seed).integers(0, diameter + 1, (2, count)).astype(float)
    distances[0, seed % count], distances[1, seed % count] = 0, diameter
    subsets = draw(count, repetitions, seed % 10)
    counts = draw_counts(subsets, count, repetitions)
    extremes = np.array([[0.0] * count, [float(diameter)] * count])  # next to all queries, and far from all
    for pair in (distances, extremes):
        total = sum(
            int(multiplicity) * int(part)
            for multiplicity, part in zip(counts, differences(subsets, *pair), strict=True)
        )
        assert Fraction(total, repetitions * levels_of(count)) <= diameter
        assert total <= int(counts.sum()) * diameter
    assert total == int(counts.sum()) * diameter


@given(seed=st.integers(0, 2**32 - 1), count=st.integers(1, 12), name=st.sampled_from(list(METRICS)))
def test_expansion_is_at_most_1_with_certainty(seed: int, count: int, name: str) -> None:
    """Any repetitions, any seed, in whole numbers: Σ|d(x, S) − d(y, S)| ≤ K·L·d(x, y), between queries and records."""
    repetitions = 1 + seed % 9
    data, queries = pairs_of(name, 6, count, seed)
    subsets = draw(count, repetitions, seed % 10)
    counts = draw_counts(subsets, count, repetitions)
    for to_x, row in zip(data, data, strict=True):
        for to_y, exact in zip(queries, row, strict=True):
            assert np.sum(counts * differences(subsets, to_x, to_y)) <= repetitions * levels_of(count) * exact


# The lemmas.


@every_metric
@pytest.mark.parametrize("count", [1, 2, 3, 11])
def test_lemma_13(name: str, count: int) -> None:
    """Level 1 sees d(x, Q)/L, exactly."""
    data, queries = pairs_of(name, 30, count, seed=7)
    subsets = draw(count, 30, seed=0)
    first = subsets.level == 1
    counts = draw_counts(subsets, count, 30)[first]
    for to_x in data:
        for to_y in queries:
            part = counts * differences(subsets, to_x, to_y)[first]
            assert part.tolist() == [30 * to_x.min()]


def radii(to_x: FloatArray, to_y: FloatArray, distance: float) -> tuple[FloatArray, FloatArray]:
    """r_i and r′_i capped at d/2, i = 1..L: the i-th is the distance of the 2^{i-1}-th nearest query."""
    indices = 2 ** np.arange(levels_of(len(to_x))) - 1
    return np.minimum(np.sort(to_x)[indices], distance / 2), np.minimum(np.sort(to_y)[indices], distance / 2)


@given(seed=st.integers(0, 2**32 - 1), count=st.integers(1, 40), name=st.sampled_from(list(METRICS)))
def test_capped_radii_have_what_lemma_12_needs(seed: int, count: int, name: str) -> None:
    """They end at d/2; where they grow, a ball that few queries fill and one that many fill have none in common."""
    data, queries = pairs_of(name, 5, count, seed)
    for to_x, row in zip(data, data, strict=True):
        for to_y, exact in zip(queries, row, strict=True):
            of_x, of_y = radii(to_x, to_y, exact)
            both = np.maximum(of_x, of_y)
            assert both[-1] == exact / 2
            for i in range(1, len(both)):
                if both[i] > both[i - 1]:
                    few, many = (to_x, to_y) if of_x[i] == both[i] else (to_y, to_x)
                    inside, outside = few < both[i], many <= both[i - 1]
                    assert np.count_nonzero(inside) <= 2**i - 1
                    assert np.count_nonzero(outside) >= 2 ** (i - 1)
                    assert not (inside & outside).any()


LEVEL, QUERIES, SETS, SEEDS = 6, 64, 64, 200
FEW, MANY = 2 ** (LEVEL - 1) - 1, 2 ** (LEVEL - 2)  # the extreme of Lemma 12: queries at x, queries at y
TO_X = np.array([0.0] * FEW + [2.0] * MANY + [1.0] * (QUERIES - FEW - MANY))
TO_Y = np.array([2.0] * FEW + [0.0] * MANY + [1.0] * (QUERIES - FEW - MANY))


def few_fail(counts: IntArray) -> bool:
    """Whether so few of SEEDS counts are below K/32 as Lemma 12 allows."""
    return bool(np.count_nonzero(counts < SETS / 32) <= chance.rate_limits(SEEDS, 2 ** (-SETS / 10))[1])


def lemma_12_holds(counts: IntArray, rate: float) -> bool:
    """Of SEEDS counts of sets that see the growth, few are below K/32, and their sum is binomial."""
    low, high = chance.rate_limits(SEEDS * SETS, rate, 2)
    return few_fail(counts) and low <= int(counts.sum()) <= high


@pytest.mark.slow
def test_lemma_12() -> None:
    """The level where the radius grows sees it in a binomial number of sets; levels 3 or 6 away do not do instead."""
    r_x, r_y = radii(TO_X, TO_Y, 2)
    assert np.maximum(r_x, r_y).tolist() == [0] * (LEVEL - 1) + [1] * (levels_of(QUERIES) - LEVEL + 1)
    miss_x, miss_y = ((1 - 2.0 ** (1 - LEVEL)) ** size for size in (FEW, MANY))
    one_side = miss_x * (1 - miss_y)
    assert one_side > 1 / 7
    rate = one_side + miss_y * (1 - miss_x)
    counts = []
    for seed in range(SEEDS):
        subsets = draw(QUERIES, SETS, seed)
        mask = (subsets.level == LEVEL) & (differences(subsets, TO_X, TO_Y) >= 1)
        counts.append(draw_counts(subsets, QUERIES, SETS)[mask].sum())
    assert lemma_12_holds(np.array(counts), rate)
    generator = np.random.default_rng(0)
    for shift, right in ((0, True), (1, False), (-3, False), (6, False)):
        sets = oracle(generator, QUERIES, SEEDS * SETS, shift)[:, LEVEL - 1 : LEVEL]
        oracle_counts = (oracle_differences(sets, TO_X, TO_Y) >= 1).reshape(SEEDS, SETS).sum(axis=1)
        assert lemma_12_holds(oracle_counts, rate) == right
        if shift in (-3, 6):  # not only another law: the lemma itself fails
            assert not few_fail(oracle_counts)


def test_the_constants_of_lemma_12() -> None:
    """Below K/32 hits of chance 1/7: at most 2^{-K/10}; below K/10: 2^{-K/85}. The paper's 1/16 gives no 2^{-K/64}."""
    min_probability = min((1 - 1 / m) ** (m - 1) * (1 - (1 - 1 / m) ** (m / 2)) for m in 2.0 ** np.arange(1, 41))
    assert 1 / 7 < min_probability < math.exp(-1) * (1 - math.exp(-0.5)) * (1 + 1e-6)
    for k in [*range(1, 400), 512, 1000, 5000]:
        assert bdtr(math.ceil(k / 32) - 1, k, 1 / 7) <= 2 ** (-k / 10)
        assert bdtr(math.ceil(k / 10) - 1, k, 1 / 7) <= 2 ** (-k / 85)
    assert bdtr(8192 // 32 - 1, 8192, 1 / 16) > 2 ** (-8192 / 64)


def test_the_level_after_the_last_of_the_paper_is_needed() -> None:
    """A record near another query, all else far: i′ = 1, and level 1 sees less than d/(64L); level 2 sees the rest."""
    to_x, to_y, exact = np.array([1.0, 100, 300, 300]), np.array([100.0, 0, 300, 300]), 100
    first, second, third = np.maximum(np.sort(to_x), np.sort(to_y))[[0, 1, 3]]
    assert first <= exact < first + second <= second + third  # so i′ = 1
    subsets = draw(4, paper_repetitions(4, 4), seed=0)
    parts = subsets.weight * differences(subsets, to_x, to_y)
    level_sums = [float(parts[subsets.level == i].sum()) for i in (1, 2)]
    assert level_sums[0] == first / 3 < exact / (64 * 3) < level_sums[1]


# Theorem 11 and Corollary 14.


@pytest.mark.parametrize("count", [1, 2, 3, 4, 6, 17])
@every_metric
def test_theorem_11_with_the_papers_repetitions(name: str, count: int) -> None:
    """d/(64L) ≤ host ≤ d for all pairs, and d/(20L) ≤ host; for drawn sets but for n·k·L·(nk)^{-6}."""
    n = 40
    # nothing is drawn for one query: it is a member of all sets of its only level
    assert count == 1 or n * count * levels_of(count) * float(n * count) ** -6 <= FALSE_ALARM
    data, queries = pairs_of(name, n, count, seed=count + 1)
    embedded = embedded_distances(draw(count, paper_repetitions(count, n), seed=0), data, queries)
    assert (embedded <= data * (1 + 1e-9)).all()
    assert (embedded >= data / (20 * levels_of(count)) * (1 - 1e-9)).all()
    assert (embedded >= data / (64 * levels_of(count)) * (1 - 1e-9)).all()


@pytest.mark.slow
@every_metric
def test_theorem_11_with_many_queries(name: str) -> None:
    """The same for 64 queries and 60 records."""
    data, queries = pairs_of(name, 60, 64, seed=0)
    embedded = embedded_distances(draw(64, paper_repetitions(64, 60), seed=0), data, queries)
    assert (embedded <= data * (1 + 1e-9)).all()
    assert (embedded >= data / (20 * levels_of(64)) * (1 - 1e-9)).all()


def contracts(subsets: Subsets, data: FloatArray, queries: FloatArray) -> bool:
    """Whether a pair has a embedded distance below d/(64L)."""
    embedded = embedded_distances(subsets, data, queries)
    return bool((embedded < data / (64 * levels_of(len(queries))) * (1 - 1e-9)).any())


@pytest.mark.slow
@every_metric
def test_corollary_14(name: str) -> None:
    """K = 10·log₂(nkL/β) keeps all pairs in all but β of the draws; one set a level does not."""
    n, count, beta, seeds = 10, 8, 0.01, 150
    repetitions = math.ceil(10 * math.log2(n * count * levels_of(count) / beta))
    assert repetitions < paper_repetitions(count, n) / 20
    data, queries = pairs_of(name, n, count, seed=3)
    failures = [sum(contracts(draw(count, k, seed), data, queries) for seed in range(seeds)) for k in (repetitions, 1)]
    assert_rate(failures[0], seeds, at_most=beta, against=0.2)
    assert failures[1] > chance.rate_limits(seeds, beta)[1]


# Few queries, equal queries.


def test_one_query_is_exact() -> None:
    """k = 1: one level, one set, the distance itself."""
    subsets = draw(1, 7, seed=0)
    assert subsets.weight.tolist() == [1.0]
    data = np.array([[0.0], [0.3], [5.0]])
    assert embedded_distances(subsets, data, np.zeros((1, 1))).tolist() == data.tolist()


def test_two_queries_need_two_levels() -> None:
    """A record that is the other query: level 1 sees nothing (the paper's only level), level 2 half of its sets."""
    subsets = draw(2, 4096, seed=0)
    parts = subsets.weight * differences(subsets, np.array([0.0, 1.0]), np.array([1.0, 0.0]))
    assert parts[subsets.level == 1].tolist() == [0.0]
    hits = round(float(parts.sum()) * 2 * 4096)
    assert_rate(hits, 4096, at_least=0.5, at_most=0.5, against=0.6)


@pytest.mark.parametrize("count", [2, 3, 5])
def test_equal_queries_have_equal_images(count: int) -> None:
    """Copies of one query count as queries: distances between them are 0 and the bounds hold for the others."""
    lengths = closure(np.random.default_rng(count), 12)
    indices = np.repeat(np.arange(count), 3)
    data, queries = lengths[:, indices], lengths[indices][:, indices]
    subsets = draw(len(indices), paper_repetitions(len(indices), 12), seed=0)
    images = subsets.nearest(queries)
    embedded = embedded_distances(subsets, data, queries)
    for copy in (1, 2):
        assert np.array_equal(images[::3], images[copy::3])
        assert np.array_equal(embedded[:, ::3], embedded[:, copy::3])
    assert np.array_equal(subsets.nearest(data)[:count], images[::3])  # records that are queries
    assert (np.diag(embedded[:count, ::3]) == 0).all()
    assert (embedded <= data * (1 + 1e-9)).all()
    assert (embedded >= data / (64 * levels_of(len(indices)))).all()


def test_only_copies_of_one_query() -> None:
    """Only d(x, y) is left: the embedded distance is d times the share of sets that are not empty."""
    subsets = draw(6, 100, seed=0)
    data = np.repeat([[0.0], [2.0], [7.0]], 6, axis=1)
    embedded = embedded_distances(subsets, data, np.zeros((6, 6)))
    assert embedded == pytest.approx(data * subsets.weight.sum(), rel=1e-12)
    assert 1 / 3 < subsets.weight.sum() <= 1
