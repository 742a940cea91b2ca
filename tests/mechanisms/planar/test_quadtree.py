"""quadtree: privacy at its worst pairs, noise of the claimed law, intervals on hard tables, files and refusals."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import milepost as mp
from milepost._typing import FloatArray
from milepost.auditing.noise_trace import NoiseTrace, TracePair
from milepost.mechanisms.noise_quantiles import mixture_quantile
from milepost.mechanisms.planar import quadtree
from milepost.mechanisms.planar.quadtree import LEVELS, RECORD, Quadtree, QuadtreeSums
from milepost.privacy.noise import gaussian_deviations
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.base import Space, require_chart
from milepost.statistics.statistic_spec import RecordBlock
from milepost.statistics.vertex_sums import UNIT, VertexSums
from tests.chance import assert_rate, assert_scale

SQUARE = mp.L2([(0, 10), (0, 10)])
SPACES = {
    "square": SQUARE,
    "rectangle": mp.L2([(0, 10), (0, 3)]),
    "disc": mp.L2(center=[0, 0], radius=5),
    "l1": mp.L1([(0, 10), (0, 10)]),
    "cap": mp.GreatCircle((52.5, 13.4), 40),
}
every_space = pytest.mark.parametrize("space", SPACES.values(), ids=list(SPACES))
LAWS = {"pure": mp.Guarantee(1.0), "gaussian": mp.Guarantee(1.0, 1e-6)}
every_law = pytest.mark.parametrize("guarantee", LAWS.values(), ids=list(LAWS))


def places(space: Space, count: int, seed: int = 0) -> FloatArray:
    """Return places all over a space, as users write them."""
    chart = require_chart(space)
    positions = np.random.default_rng(seed).uniform(0, chart.side, (count, 2))
    return np.asarray(space.clip_points(chart.queries(positions)))


def sums_of(space: Space, rows: Any, size: int) -> VertexSums:
    return VertexSums.spec(require_chart(space), size).of(RecordBlock(space.read(np.array(rows, dtype=np.float64))))


# Privacy.


def test_levels_are_nested_and_share_one_budget() -> None:
    for size, levels in LEVELS.items():
        assert size == levels.sizes[-1]
        for shares in (levels.laplace, levels.gaussian):
            assert len(shares) == len(levels.sizes)
            assert sum(map(Fraction, shares)) <= 1 + Fraction(1, 10**12)
        for coarse, fine in zip(levels.sizes, levels.sizes[1:], strict=False):
            steps = (fine - 1) // (coarse - 1)
            assert (fine - 1) % (coarse - 1) == 0
            assert steps & (steps - 1) == 0  # a power of two, by which sums are divided exactly


@pytest.mark.parametrize("size", [5, pytest.param(33, marks=pytest.mark.slow)])
@every_law
@every_space
def test_no_pair_of_records_costs_more_than_the_budget(space: Space, guarantee: mp.Guarantee, size: int) -> None:
    """In rational arithmetic, at corners of every level, the middle of cells, borders, outside, and at random."""
    design = Quadtree(size).design(space, 1, ProtectedChange(), guarantee)
    chart = require_chart(space)
    along = np.linspace(0, chart.side, 5)
    corners = np.stack(np.meshgrid(along, along, indexing="ij"), axis=-1).reshape(-1, 2)
    half = corners + chart.side / (size - 1) / 2
    rows = np.concatenate([chart.queries(corners), chart.queries(half), places(space, 10), [[89.0, -80.0]]])
    traces = [NoiseTrace.of(lambda row=row: design.run(sums_of(space, [row], size))) for row in rows]  # type: ignore[misc]
    limit = guarantee.epsilon if guarantee.pure else guarantee.mu
    losses = [TracePair(left, right).loss for k, left in enumerate(traces) for right in traces[:k]]
    assert max(losses) <= limit * (1 + 1e-9)
    assert max(losses) > 0.999 * limit


@pytest.mark.parametrize("size", [5, 33])
def test_rounding_down_costs_four_units_at_most(size: int) -> None:
    """Between rows in the same cells, whatever other rows are in the table, and in sum over a level."""
    generator = np.random.default_rng(0)
    grids = quadtree.nested_grids(require_chart(SQUARE), size)
    for _ in range(20):
        rest = generator.uniform(0, 10, (3, 2))
        row = generator.uniform(0, 10, (1, 2))
        without, with_row = (sums_of(SQUARE, rows, size).values[0] for rows in (rest, np.concatenate([rest, row])))
        for left, right in zip(grids.exact_sums(without), grids.exact_sums(with_row), strict=True):
            change = np.abs(right - left)
            assert UNIT - 4 <= change.sum() <= RECORD
            assert np.count_nonzero(change) <= 4


# Noise and intervals.


@every_law
@every_space
def test_the_claimed_variance_is_that_of_the_weights_of_all_draws(space: Space, guarantee: mp.Guarantee) -> None:
    """An answer is linear in the noisy numbers: each is moved by itself, and the squares of the changes add up."""
    design, query = Quadtree(5).design(space, 1000, ProtectedChange(), guarantee), places(space, 1, seed=1)
    released = design.run(sums_of(space, places(space, 1000), 5))
    assert isinstance(released, QuadtreeSums)
    counts = [len(part) for part in released.sums]
    numbers, scales = np.concatenate(released.sums), np.repeat(released.scales, counts)
    step = 1 << 34

    def answer(moved: int) -> float:
        sums = np.split(numbers + step * (np.arange(len(numbers)) == moved), np.cumsum(counts)[:-1])
        statistic = QuadtreeSums("quadtree", space, released.total, 5, released.scales, released.pure, sums)
        return float(statistic.values(query, raw=True)[0])

    gains = (np.array([answer(k) for k in range(len(numbers))]) - answer(-1)) / step
    deviations = math.sqrt(2) * scales if guarantee.pure else gaussian_deviations(scales)
    parts = (gains * deviations) ** 2
    assert math.isclose(released.deviation(query), math.sqrt(parts.sum()), rel_tol=1e-6)
    noise, _ = released._law(released._terms(query)[0], 0.05)
    kurtosis = 3 * (parts**2).sum() / parts.sum() ** 2 if guarantee.pure else 0.0
    expected = mixture_quantile(np.array([kurtosis]), 0.05) * math.sqrt(parts.sum())
    assert math.isclose(noise(np.zeros(1))[0], expected[0], rel_tol=1e-6)


@every_law
def test_released_numbers_have_noise_of_their_level(guarantee: mp.Guarantee) -> None:
    design, people = Quadtree(5).design(SQUARE, 300, ProtectedChange(), guarantee), places(SQUARE, 300)
    sums = sums_of(SQUARE, people, 5)
    exact = quadtree.nested_grids(require_chart(SQUARE), 5).exact_sums(sums.values[0])
    runs = [design.run(sums) for _ in range(300)]
    for level, scale in enumerate(design.level_scales):
        noise = np.concatenate([run.sums[level] - exact[level] for run in runs])  # type: ignore[attr-defined]
        assert_scale(noise / scale, law="laplace" if guarantee.pure else "gaussian", against=1.25, comparisons=2)


def hard_tables(space: Space) -> dict[str, FloatArray]:
    """Return tables of 600 people, all of them within the space."""
    chart, generator = require_chart(space), np.random.default_rng(5)
    size = Quadtree().design(space, 600, ProtectedChange(), mp.Guarantee(1.0)).size
    width = chart.side / (size - 1)
    middle = np.floor(chart.side / 2 / width) * width + width / 2  # the middle of a cell, where interpolation is worst
    cluster = np.clip(generator.normal(chart.side / 2, chart.side / 50, (600, 2)), 0, chart.side)
    positions = {
        "even": generator.uniform(0.15 * chart.side, 0.85 * chart.side, (600, 2)),
        "cluster": cluster,
        "atom": np.full((600, 2), middle),
        "atom at a corner": np.full((600, 2), middle - width / 2),
        "two atoms": np.repeat([[middle, middle], [chart.side / 2, chart.side / 4]], 300, axis=0),
    }
    return {name: np.asarray(space.clip_points(chart.queries(part))) for name, part in positions.items()}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "table"),
    [
        *(("square", table) for table in ("even", "cluster", "atom", "atom at a corner", "two atoms")),
        ("disc", "cluster"),
        ("cap", "atom"),
    ],
)
def test_intervals_hold_on_hard_tables(name: str, table: str) -> None:
    """At a place that is among the people, where interpolation is worst."""
    space = SPACES[name]
    people = hard_tables(space)[table]
    query = people[:1]
    exact = mp.exact_mean_distance(people, space, query)[0]
    design = Quadtree().design(space, len(people), ProtectedChange(), mp.Guarantee(1.0))
    sums = sums_of(space, people, design.size)
    hits, releases = 0, 700
    for _ in range(releases):
        released = design.run(sums)
        hits += int(abs(released.values(query)[0] - exact) <= released.half_widths(query, 0.95)[0])
    assert_rate(hits, releases, at_least=0.95, against=0.85)


def test_without_noise_answers_are_exact_but_for_interpolation() -> None:
    people = places(SQUARE, 2000)
    queries = places(SQUARE, 50, seed=1)
    exact = mp.exact_mean_distance(people, SQUARE, queries)
    for size, off in ((9, 0.2), (33, 0.03), (129, 0.01)):
        synopsis = mp.release(people, SQUARE, epsilon=1000, mechanism=Quadtree(size))
        values = synopsis.mean_distance(queries)
        low, high = synopsis.interval(queries)
        assert np.abs(values - exact).max() < off
        assert ((low <= exact) & (exact <= high)).all()
    assert (high - low).max() < 0.02


@every_law
@every_space
def test_the_plan_is_what_a_release_reports(space: Space, guarantee: mp.Guarantee) -> None:
    people = places(space, 3000)
    options: dict[str, Any] = {"epsilon": guarantee.epsilon, "delta": guarantee.delta, "mechanism": "quadtree"}
    planned = mp.plan(space, n=3000, **options).best
    synopsis = mp.release(people, space, **options)
    assert planned.error / 1.5 < synopsis.error() < planned.error * 1.5
    assert planned.draws == len(synopsis.statistic.tensors()["sums"])
    assert "spread evenly" in planned.planned_for


def test_most_of_the_noise_is_gone_compared_with_blocks_and_hats() -> None:
    """In the plane under pure ε: 2.8 to 3.6 times a single query's noise, by formula, for all places and sizes."""
    for n in (1000, 10_000, 100_000):
        planned = mp.plan(SQUARE, n=n, epsilon=1)
        assert planned.best.mechanism == "quadtree"
        single = math.sqrt(2) * SQUARE.diameter / n
        assert planned.best.rms is not None
        assert planned.best.rms < 3.6 * single
        hats = next(p for p in planned.predictions if p.mechanism == "hats")
        assert hats.rms is not None
        assert planned.best.rms < hats.rms / 2


# Relations, files, other questions.


@pytest.mark.parametrize(
    "options",
    [
        {"neighbors": "add-remove"},
        {"neighbors": "add-remove", "n": 4000, "delta": 1e-6},
        {"groups": ["a", "b"] * 2000, "labels": ["a", "b"]},
        {"row_weights": [1.0] * 4000, "max_row_weight": 1.0},
        {"privacy_unit": list(range(2000)) * 2, "contributions": 2},
    ],
    ids=["add-remove", "add-remove, δ", "groups", "weights", "people"],
)
def test_every_relation_is_answered_and_saved(options: dict[str, Any], tmp_path: Any) -> None:
    """With an ε that leaves next to no noise."""
    people = places(SQUARE, 4000)
    synopsis = mp.release(people, SQUARE, mechanism=Quadtree(33), **({"epsilon": 300.0} | options))
    synopsis.save(tmp_path / "homes.milepost")
    loaded = mp.load(tmp_path / "homes.milepost")
    group: dict[str, Any] = {"group": "b"} if "groups" in options else {}
    rows = people[1::2] if group else people
    exact = mp.exact_mean_distance(rows, SQUARE, [5, 5])
    assert abs(synopsis.mean_distance([5, 5], **group) - exact) < 0.02
    assert loaded.mean_distance([5, 5], **group) == synopsis.mean_distance([5, 5], **group)
    assert loaded.interval([5, 5], **group) == synopsis.interval([5, 5], **group)
    points, weights = loaded.weighted_points(**group)
    assert np.abs(weights @ points - rows.mean(axis=0)).max() < 0.1


def test_batches_are_read_once() -> None:
    people = places(SQUARE, 4000)
    synopsis = mp.release(iter([people[:1000], people[1000:]]), SQUARE, epsilon=300, mechanism=Quadtree(33))
    assert abs(synopsis.mean_distance([5, 5]) - mp.exact_mean_distance(people, SQUARE, [5, 5])) < 0.01


def test_far_points_and_points_outside_are_answered() -> None:
    people = places(SQUARE, 4000)
    synopsis = mp.release(people, SQUARE, epsilon=300, mechanism=Quadtree(33))
    for point in ([-5.0, 20.0], [1000.0, 1000.0]):
        exact = mp.exact_mean_distance(people, SQUARE, point)
        assert abs(synopsis.mean_distance(point) - exact) < 0.01 * exact


@pytest.mark.parametrize("n", [1, 3])
def test_tiny_tables_and_budgets_are_answered(n: int) -> None:
    people = places(SQUARE, n)
    for epsilon in (1e-6, 1.0):
        with pytest.warns(mp.AccuracyWarning):
            synopsis = mp.release(people, SQUARE, epsilon=epsilon, mechanism="quadtree")
        low, high = synopsis.interval([5, 5])
        assert 0 <= low <= high <= 4 * SQUARE.diameter  # a cell of the coarsest grid is a quarter of the side


def test_the_centre_is_found() -> None:
    people = np.concatenate([places(SQUARE, 500), np.full((4000, 2), [2.0, 7.0])])
    for space in (SQUARE, SPACES["l1"]):
        center = mp.release(people, space, epsilon=100, mechanism=Quadtree(33)).center()
        assert np.abs(center - [2, 7]).max() < 0.3


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda s: s.error(uniform=True), "no error for all answers at once"),
        (lambda s: s.cdf(0, [1]), "no functions of single columns"),
        (lambda s: s.mean_distance([[1, 2, 3]]), "2"),
        (lambda s: s.mean_distance([np.nan, 1]), "finite|missing|NaN"),
        (lambda s: s.interval([1, 1], confidence=1.0), "confidence"),
    ],
)
def test_what_it_does_not_know_is_refused(ask: Any, message: str) -> None:
    synopsis = mp.release(places(SQUARE, 500), SQUARE, epsilon=10, mechanism="quadtree")
    with pytest.raises(mp.MilepostError, match=message):
        ask(synopsis)


def test_other_releases_have_no_weighted_points() -> None:
    synopsis = mp.release(places(SQUARE, 500), SQUARE, epsilon=10, mechanism="hats")
    with pytest.raises(mp.MilepostError, match="mechanism='quadtree'"):
        synopsis.weighted_points()


@pytest.mark.parametrize(
    ("space", "options", "message"),
    [
        (mp.L2([(0, 1)] * 3), {}, "two-dimensional space"),
        (mp.L1([(0, 1)]), {}, "two-dimensional space"),
        (SQUARE, {"model": True}, "no model"),
        (SQUARE, {"epsilon": 1e-9}, "noise"),
        (SQUARE, {"mechanism": Quadtree(7)}, "grid_size must be one of 5, 9"),
        (SQUARE, {"mechanism": Quadtree(257), "groups": [0] * 5, "labels": range(4096)}, "do not fit memory"),
    ],
)
def test_what_it_cannot_release_is_refused_before_data_is_read(
    space: Space, options: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("milepost.ingest.table.aggregate", lambda *_: pytest.fail("data was read"))
    arguments: dict[str, Any] = {"epsilon": 1, "mechanism": "quadtree"} | options
    with pytest.raises(mp.MilepostError, match=message):
        mp.release(np.zeros((5, space.width)), space, **arguments)


FAR_SCALES = {"size": 17, "scales": [2.0**-55, 2.0**55]}  # least squares would fail


def test_a_damaged_file_is_refused() -> None:
    synopsis = mp.release(places(SQUARE, 500), SQUARE, epsilon=10, mechanism="quadtree")
    tensors, parameters = synopsis.statistic.tensors(), synopsis.statistic.parameters()
    for change in ({"size": 6}, {"scales": [1.0]}, {"size": 65, "scales": [1.0, 1.0, 1.0]}, FAR_SCALES):
        with pytest.raises(mp.MilepostError, match=r"not those of a quadtree|do not fit"):
            QuadtreeSums.from_file("quadtree", SQUARE, 500, parameters | change, tensors)
