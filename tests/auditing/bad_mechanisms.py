"""Mechanisms that are known to be wrong, with their true losses: the auditor has to see them.

The sparse vectors are Algorithms 3–6 of Lyu, Su and Li, "Understanding the Sparse Vector Technique" (2017), on
integers and with one pair of streams each. `true_loss` is that of the pair: the largest |ln(Pr[outcome]/Pr′[outcome])|,
from probabilities summed exactly over the threshold's noise. Simulations are seeded NumPy: they test the auditor, and
release nothing.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial

import numpy as np
from scipy.special import ndtri

from milepost._typing import AnyArray, FloatArray, IntArray
from milepost.auditing import Case, Claim, Gaussian, Outcomes, Pure, fixtures
from milepost.auditing import cases as bounds_search
from milepost.auditing.case import Draw, gaussian_ratio, sketch_of
from milepost.auditing.case_matrix import APPROXIMATE
from milepost.auditing.noise_trace import NoiseTrace, TracePair
from milepost.ingest.aggregation import read_sums
from milepost.ingest.query_points import read_queries
from milepost.mechanisms.class_means import SumNoise
from milepost.mechanisms.coordinate.slopes import Slopes
from milepost.mechanisms.paper.game import PrivateGame
from milepost.mechanisms.paper.tangents import convex_learner, interactive_margins
from milepost.mechanisms.planar.quadtree import Quadtree
from milepost.mechanisms.query.basis import Basis, Columns, Components
from milepost.mechanisms.query.cholesky import CholeskyFactor
from milepost.mechanisms.query.field import FRACTION_BITS, Field, Innovations
from milepost.mechanisms.query.links import Links
from milepost.mechanisms.query.net import Net
from milepost.mechanisms.query.per_query import PerQuery
from milepost.mechanisms.table_model import GROUP_SHARE, SHARES, STEPS, noisy_group_weights, noisy_moments, noisy_step
from milepost.pipeline.find_bounds import Scales
from milepost.pipeline.private_ball import CENTER_SHARE, COMPARISONS, BallScales, grid_of
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.protected_change import ProtectedChange
from milepost.privacy.sparse_vector import noise_scales
from milepost.spaces.base import require_chart
from milepost.spaces.distances.functions import WEIGHT_ONE, WeightedDistances, WeightedSum
from milepost.spaces.embeddings.anchor import Anchor
from milepost.spaces.embeddings.embedding import QUANTA
from milepost.spaces.kernels.point_combinations import PointCombinations
from milepost.spaces.lp import L1
from milepost.spaces.queries import Queries
from milepost.statistics.ball_points import STEPS as STEPS_OF_BALL
from milepost.statistics.ball_points import BallGrid, grid_center
from milepost.statistics.class_sums import ClippedPoints
from milepost.statistics.model_sums import BASIS_BITS, MODEL_STEPS, Clusters, PointMoments, model_grid
from milepost.statistics.sketch import Sketch
from milepost.statistics.statistic_spec import RecordBlock
from milepost.statistics.vertex_sums import UNIT, VertexSums


@dataclass(frozen=True)
class KnownCase:
    """A case and its true loss, in the units of its claim."""

    case: Case
    true_loss: float


def case_from_traces(
    mechanism: str, name: str, claim: Claim, left: Callable[[], object], right: Callable[[], object]
) -> KnownCase:
    """Return a case drawn from the noise traces of two runs of changed library code, with their exact loss."""
    pair = TracePair(NoiseTrace.of(left), NoiseTrace.of(right))
    case = Case(mechanism, name, claim, lambda runs: pair.draw(runs)[0], lambda runs: pair.draw(runs)[1])
    return KnownCase(case, pair.loss)


# --- laws, by summation ---------------------------------------------------------------------------------------------


def laplace_law(scale: float, support: IntArray) -> FloatArray:
    r = math.exp(-1 / scale)
    return np.asarray((1 - r) / (1 + r) * r ** np.abs(support))


def laplace_tail(scale: float, minimum: AnyArray) -> FloatArray:
    """Return Pr[X ≥ minimum] of the discrete Laplace law; scale 0 is no noise."""
    if scale == 0:
        return (minimum <= 0).astype(np.float64)
    r = math.exp(-1 / scale)
    return np.where(minimum > 0, r ** np.maximum(minimum, 0) / (1 + r), 1 - r ** np.maximum(1 - minimum, 0) / (1 + r))


def gaussian_law(scale: float, support: IntArray) -> FloatArray:
    law = np.exp(-(support**2) / (2 * scale**2))
    return np.asarray(law / law.sum())


def max_log_ratio(left: FloatArray, right: FloatArray) -> float:
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.nanmax(np.abs(np.log(left) - np.log(right))))


def draw_laplace(generator: np.random.Generator, scale: float, shape: tuple[int, ...]) -> IntArray:
    if scale == 0:
        return np.zeros(shape, dtype=np.int64)
    success = -math.expm1(-1 / scale)
    return generator.geometric(success, shape) - generator.geometric(success, shape)


# --- sparse vectors -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SparseVector:
    """A sparse vector of threshold 0: its noise scales, its limit of "above", whether it shows the noisy value."""

    threshold_scale: float
    query_scale: float
    max_above: int
    shows_value: bool = False

    def flag_law(self, values: Sequence[int]) -> FloatArray:
        """Return Pr[flags] of all flags in the order of their binary numbers; after `max_above` ones, the rest is 0."""
        support = np.arange(-int(40 * self.threshold_scale) - 40, int(40 * self.threshold_scale) + 41)
        weight = laplace_law(self.threshold_scale, support)
        above = [laplace_tail(self.query_scale, support - float(value)) for value in values]
        law = []
        for flags in itertools.product((0, 1), repeat=len(values)):
            chance, left = weight, self.max_above
            for flag, up in zip(flags, above, strict=True):
                chance = chance * ((up if flag else 1 - up) if left else 1.0 - flag)
                left -= flag if left else 0
            law.append(float(chance.sum()))
        return np.array(law)

    def value_law(self, values: Sequence[int], noisy_values: IntArray) -> FloatArray:
        """Return Pr["above" first at the last query, with this noisy value]."""
        support = np.arange(-int(40 * self.threshold_scale) - 40, int(40 * self.threshold_scale) + 41)
        weight = laplace_law(self.threshold_scale, support)
        for value in values[:-1]:
            weight = weight * (1 - laplace_tail(self.query_scale, support - float(value)))
        threshold_law = np.cumsum(weight)[np.clip(noisy_values - support[0], 0, len(support) - 1)]
        return np.asarray(laplace_law(self.query_scale, noisy_values - values[-1]) * threshold_law)

    def draw(self, generator: np.random.Generator, values: Sequence[int], runs: int) -> Outcomes:
        threshold = draw_laplace(generator, self.threshold_scale, (runs, 1))
        noisy = np.array(values) + draw_laplace(generator, self.query_scale, (runs, len(values)))
        flags = noisy >= threshold
        flags &= np.cumsum(flags, axis=1) <= self.max_above
        kinds = flags @ (1 << np.arange(len(values)))
        if self.shows_value:
            first = np.take_along_axis(noisy, np.argmax(flags, axis=1)[:, None], axis=1)[:, 0]
            kinds = kinds * 1000 + np.where(flags.any(axis=1), np.clip(first, -400, 400) // 2, 0)
        return Outcomes.of(kinds=kinds)


def sparse_vectors(epsilon: float = 1.0, sensitivity: int = 4) -> dict[str, KnownCase]:
    """Return the four wrong algorithms, and Algorithm 1, the right one, on the worst of their streams."""
    d, half = sensitivity, 2 / epsilon * sensitivity
    up_then_down = [0] * 4 + [2 * d] * 3, [d] * 4 + [d] * 3
    short = [0, d], [d, 0]
    rising = [0] * 6 + [0], [d] * 6 + [0]
    table: dict[str, tuple[SparseVector, tuple[list[int], list[int]]]] = {
        "Algorithm 3 shows the noisy value": (SparseVector(half, half, 1, shows_value=True), rising),
        "Algorithm 4 does not scale query noise by the count": (
            SparseVector(4 * d / epsilon, 4 / 3 * d / epsilon, 3),
            up_then_down,
        ),
        "Algorithm 5 adds no noise to queries": (SparseVector(half, 0, 2), short),
        "Algorithm 6 never stops": (SparseVector(half, half, 7), up_then_down),
        "Algorithm 1 is right": (SparseVector(half, 2 * 3 * half, 3), up_then_down),
    }
    cases = {}
    for number, (name, (mechanism, (left, right))) in enumerate(table.items()):
        if mechanism.shows_value:
            noisy_values = np.arange(-20 * d, 20 * d)
            loss = max_log_ratio(mechanism.value_law(left, noisy_values), mechanism.value_law(right, noisy_values))
        else:
            loss = max_log_ratio(mechanism.flag_law(left), mechanism.flag_law(right))
        draws = [
            partial(mechanism.draw, np.random.default_rng([number, side]), v) for side, v in enumerate((left, right))
        ]
        cases[name] = KnownCase(Case("sparse-vector", name, Pure(epsilon), *draws), loss)
    return cases


# --- noise ----------------------------------------------------------------------------------------------------------


def additive(name: str, claim: Claim, values: tuple[int, int], scale: float, seed: int) -> KnownCase:
    """Return the case of Laplace (for a Gaussian claim, Gaussian) noise of some scale on one of two integers."""
    normal = isinstance(claim, Gaussian)

    support = np.arange(-int(60 * scale), int(60 * scale) + 1)
    laws = [(gaussian_law if normal else laplace_law)(scale, support - value) for value in values]

    def draw(side: int) -> Callable[[int], Outcomes]:
        generator = np.random.default_rng([seed, side])

        def outcomes(runs: int) -> Outcomes:
            return Outcomes.of(score=-generator.choice(support, size=runs, p=laws[side] / laws[side].sum()))

        return outcomes

    if normal:
        tails = [np.cumsum(law) for law in laws]
        inside = (np.minimum(*tails) > 1e-6) & (np.maximum(*tails) < 1 - 1e-6)
        loss = float(np.max(np.abs(ndtri(tails[0][inside]) - ndtri(tails[1][inside]))))
    else:
        loss = max_log_ratio(*(law[np.abs(support) < 10 * scale] for law in laws))
    return KnownCase(Case("noise", name, claim, draw(0), draw(1)), loss)


def noises() -> dict[str, KnownCase]:
    """Return noise too small, by half and by a sixth, and a sensitivity that ignores rounding of the statistic."""
    rounding = 1.2, (math.floor(0.9), math.floor(0.9 + 1.2))  # a mean that moves by 1.2 steps moves its floor by 2
    return {
        "half the Laplace noise": additive("half the Laplace noise", Pure(1.0), (0, 20), 10, 11),
        "a sixth less Laplace noise": additive("a sixth less Laplace noise", Pure(2.0), (0, 20), 10 / 1.2, 12),
        "half the Gaussian noise": additive("half the Gaussian noise", Gaussian(0.6), (0, 24), 20, 13),
        "a sixth less Gaussian noise": additive("a sixth less Gaussian noise", Gaussian(1.0), (0, 24), 20, 14),
        "sensitivity without rounding": additive(
            "sensitivity without rounding", Pure(1.0), rounding[1], rounding[0] / 1.0, 15
        ),
    }


def without_eta() -> KnownCase:
    """Return discrete Gaussian noise whose parameter is σ itself, as if it were continuous, at a small σ."""
    return additive("Gaussian noise without η", Gaussian(1 / 0.6), (0, 1), 0.6, 16)


# --- net ------------------------------------------------------------------------------------------------------------


class Uncut(Links):
    """Differences as they come, however long the link is."""

    def differences(self, quanta: IntArray) -> IntArray:
        ends = np.concatenate([quanta, np.full((len(quanta), 1), QUANTA // 2)], axis=1)
        return np.asarray(ends[:, self.left] - ends[:, self.right])


def uncut(epsilon: float = 1.0) -> KnownCase:
    """Two queries at a tenth of the diameter, and a "metric" that puts a record next to either and far from the other.

    The triangle inequality allows their distances to differ by a tenth; here they differ by one and a half.
    """
    queries = Queries(np.array([[0.4], [0.5]]), L1([(0, 1)]))
    design = Net().design(queries, 1, ProtectedChange(), Guarantee(epsilon))
    links = Uncut(design.shape.links.left, design.shape.links.right, design.shape.links.lengths)
    designs = replace(design.designs)
    vars(designs)["tree"] = replace(design.designs.tree, links=links)
    noise = replace(design, designs=designs)
    movers = np.array([0, QUANTA * 3 // 4]), np.array([QUANTA, QUANTA // 4])
    runs = [partial(noise.noisy_links, links.differences(mover[None])[0]) for mover in movers]
    return case_from_traces("net", "differences that are not cut", Pure(epsilon), *runs)


# --- anchored slopes --------------------------------------------------------------------------------------------------


class Unpaid(Anchor):
    """An anchor whose sum is released, too, while the budget is divided as if it were not."""

    def pair(self, constant: float) -> float:  # noqa: ARG002
        return self.sensitivity_bound


def unpaid_anchor(guarantee: Guarantee = APPROXIMATE) -> KnownCase:
    """A record moves from the border of a disc to its middle: the counts alone cost half of the budget."""
    space = fixtures.disc().space()
    anchor = space.embedding.anchor
    unpaid = Unpaid(**{field.name: getattr(anchor, field.name) for field in fields(Anchor)})
    design = Slopes().design(replace(space.embedding, anchor=unpaid), 1, ProtectedChange(), guarantee)
    sketches = [sketch_of(space, [point], design.sketch_cells) for point in ([1.0, 0.0], [0.0, 0.0])]
    runs = [partial(design.run, sketch) for sketch in sketches]
    return case_from_traces("slopes", "an anchor without its share of the budget", Gaussian(guarantee.mu), *runs)


# --- quadtree -------------------------------------------------------------------------------------------------------


def unshared_levels(epsilon: float = 1.0) -> KnownCase:
    """A record moves from corner to corner of a square, where every level spends the whole of ε."""
    guarantee = Guarantee(epsilon)
    space = fixtures.plane().space()
    design = Quadtree().design(space, 1, ProtectedChange(), guarantee)
    unshared = replace(design, level_scales=(2 * UNIT / guarantee.epsilon,) * len(design.level_scales))
    spec = VertexSums.spec(require_chart(space), design.size)
    sums = [spec.of(RecordBlock(space.read(np.array([corner])))) for corner in ([0.0, 0.0], [2.0, 2.0])]
    runs = [partial(unshared.run, exact) for exact in sums]
    return case_from_traces("quadtree", "levels that each spend ε", Pure(guarantee.epsilon), *runs)


# --- bounds ---------------------------------------------------------------------------------------------------------


def forgotten_cell(epsilon: float = 1.0) -> KnownCase:
    """The rough histogram of find_bounds on a replaced row, with the noise of a row that is added or removed."""
    exact = [bounds_search.table(rows).between(0, bounds_search.GRID.rough) for rows in ([1.0], [-np.inf])]
    scale = 1 / epsilon

    def draw(side: int) -> Callable[[int], Outcomes]:
        generator = np.random.default_rng([16, side])

        def outcomes(runs: int) -> Outcomes:
            noisy = exact[side] + draw_laplace(generator, scale, (runs, len(exact[side])))
            return Outcomes.of(score=(np.abs(noisy - exact[1]) - np.abs(noisy - exact[0])).sum(axis=1) / scale)

        return outcomes

    loss = float(np.abs(exact[0] - exact[1]).sum()) / scale
    return KnownCase(Case("bounds", "a histogram that forgets one of two cells", Pure(epsilon), draw(0), draw(1)), loss)


def exact_total(epsilon: float = 2.0) -> KnownCase:
    """The shipped search, but with noise on the number of rows that is always 0: add-remove is then seen at once."""
    pair = [bounds_search.table(rows) for rows in ([1.0], [])]
    scales = replace(Scales.of(Guarantee(epsilon), ProtectedChange("add-remove"), 1), total=1e-3)
    draws = [bounds_search.draw(side, pair, scales) for side in pair]
    loss = max_log_ratio(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    return KnownCase(Case("bounds", "exact number of rows", Pure(epsilon), *draws), loss)


# --- ball -----------------------------------------------------------------------------------------------------------


def wrong_ball(name: str, exact: list[IntArray], scale: float, claim: float) -> KnownCase:
    """Numbers of the search for a ball, on a row from pole to pole, with noise that is too small."""

    def draw(side: int) -> Callable[[int], Outcomes]:
        generator = np.random.default_rng([17, side])

        def outcomes(runs: int) -> Outcomes:
            noisy = exact[side] + np.rint(generator.normal(0, scale, (runs, len(exact[side]))))
            return Outcomes.of(score=(noisy * (exact[0] - exact[1])).sum(axis=1))

        return outcomes

    loss = float(np.linalg.norm(exact[0] - exact[1])) / scale
    return KnownCase(Case("ball", name, Gaussian(claim), draw(0), draw(1)), loss)


def ball_scales(neighbors: str) -> tuple[list[bounds_search.BallTable], Guarantee, BallScales]:
    guarantee = Guarantee(7.0, 1e-6)
    pair = [bounds_search.BallTable((place,)) for place in (1.0, -1.0)]
    return pair, guarantee, BallScales.of(guarantee, ProtectedChange(neighbors), grid_of(bounds_search.BALL))


def forgotten_pole() -> KnownCase:
    """Noise on the sums for a record that is added, and moves them by the radius: one that is replaced moves by two."""
    pair, guarantee, scales = ball_scales("add-remove")
    claim = guarantee.with_share(CENTER_SHARE).mu
    return wrong_ball("a centre that forgets the other pole", [side.sums.values for side in pair], scales.sums, claim)


def forgotten_counts() -> KnownCase:
    """Each of seven counts has the noise of one that is alone; the row is beyond all of the radii or none."""
    pair, guarantee, scales = ball_scales("replace")
    center = grid_center(pair[0].sums.values, int(pair[0].sums.totals[0]))
    exact = [np.full(COMPARISONS, side.counts(center).beyond(0)) for side in pair]
    claim = guarantee.with_share(1 - CENTER_SHARE).mu
    scale = scales.count / math.sqrt(COMPARISONS)
    return wrong_ball("a radius whose counts each take all", exact, scale, claim)


# --- model ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Unclipped(BallGrid):
    """Points as they come, however far from the ball they are."""

    def integers(self, points: FloatArray) -> IntArray:
        return np.rint((points - self.center) * (self.steps / self.radius)).astype(np.int64)


def unclipped_moments() -> KnownCase:
    """A row at twice the radius moves to an orthogonal direction: products move by four times their bound."""
    guarantee, grid = Guarantee(7.0, 1e-6), Unclipped(np.zeros(2), 1.0, MODEL_STEPS)
    scales = bounds_search.model_scales(guarantee, "replace")

    def run(point: list[float]) -> object:
        moments = PointMoments(grid.width)
        moments.add(grid.integers(np.array([point])))
        return noisy_moments(moments, scales, 1)

    claim = Gaussian(guarantee.with_share(SHARES["sums"] + SHARES["products"]).mu)
    runs = [partial(run, point) for point in ([2.0, 0.0], [0.0, 2.0])]
    return case_from_traces("model", "moments of rows that are not clipped", claim, *runs)


def forgotten_cluster() -> KnownCase:
    """Noise on a step of k-means for a row that leaves a cluster, and that enters no other one."""
    guarantee, grid = Guarantee(7.0, 1e-6), model_grid(bounds_search.DISC)
    scales = bounds_search.model_scales(guarantee, "replace")
    wrong = replace(scales, clusters=scales.clusters / math.sqrt(2))
    centers = np.array([[MODEL_STEPS // 2, 0], [0, MODEL_STEPS // 2]])
    clusters = Clusters(grid, np.eye(2, dtype=np.int64) << BASIS_BITS, centers, MODEL_STEPS // 2)
    pair = [bounds_search.ModelTable((point,)) for point in ((1.0, 0.0), (0.0, 1.0))]
    runs = [partial(noisy_step, side.cluster_sums(clusters), clusters, wrong) for side in pair]
    claim = Gaussian(guarantee.with_share(SHARES["clusters"] / STEPS).mu)
    return case_from_traces("model", "a row that changes its cluster, counted once", claim, *runs)


def forgotten_group() -> KnownCase:
    """Noise on the counts of groups for a row that leaves a group, and that enters no other one."""
    guarantee, grid = Guarantee(7.0, 1e-6), model_grid(bounds_search.DISC)
    scale = bounds_search.model_scales(guarantee, "replace", groups=2).groups
    assert scale is not None
    clusters = Clusters(grid, np.eye(2, dtype=np.int64) << BASIS_BITS, np.zeros((1, 2), dtype=np.int64), MODEL_STEPS)
    counts = [bounds_search.ModelTable(((1.0, 0.0),), group).cluster_counts(clusters) for group in (0, 1)]
    runs = [partial(noisy_group_weights, side, scale / math.sqrt(2), np.ones(1)) for side in counts]
    claim = Gaussian(guarantee.with_share(GROUP_SHARE).mu)
    return case_from_traces("model", "a row that changes its group, counted once", claim, *runs)


# --- class means ----------------------------------------------------------------------------------------------------


def forgotten_class() -> KnownCase:
    """Noise on the sums and sizes of classes for a row that stays in its class: one that leaves it enters another."""
    guarantee = Guarantee(7.0, 1e-6)
    wrong = SumNoise.of(ProtectedChange(groups=1), STEPS_OF_BALL, 1, guarantee.budget, pure=False)
    rule = ClippedPoints(grid_of(bounds_search.BALL), np.zeros(1, dtype=np.int64), STEPS_OF_BALL, taxicab=False)
    pair = [bounds_search.ClassTable((mover,)).class_sums(rule) for mover in ((1.0, 0), (-1.0, 1))]
    runs = [partial(wrong.draw, side.sums, side.counts.tolist()) for side in pair]
    return case_from_traces("class-means", "a row that changes its class, counted once", Gaussian(guarantee.mu), *runs)


def rounded_last() -> KnownCase:
    """Rows that are clipped first and rounded to a coarse grid afterwards, which makes them twice as long."""
    guarantee, width = Guarantee(3.0), 4
    reach = round(0.51 * width)  # steps, in ℓ₁: all coordinates of a clipped row are 0.51, and are rounded to 1
    noise = SumNoise.of(ProtectedChange("add-remove", groups=1), reach, width, guarantee.budget, pure=True)
    clipped = np.full(width, 10.0) * (0.51 * width / 10.0 / width)
    pair = [(np.rint(clipped).astype(np.int64)[None], [1]), (np.zeros((1, width), dtype=np.int64), [0])]
    runs = [partial(noise.draw, *side) for side in pair]
    return case_from_traces("class-means", "rows rounded after they are clipped", Pure(guarantee.epsilon), *runs)


# --- the choice of coordinate ---------------------------------------------------------------------------------------


class ExactChoice(PrivateGame):
    """The shipped game, but "any learner on which a mistake is made" (Lemma 6) is decided from exact values."""

    def _read(self, border: IntArray) -> None:
        exact = self._borders.value[np.arange(len(border)), border] * self._embedding.quantum / self.margins.n
        erring = exact > exact.mean()
        super()._read(border)
        self.lines = [line for line in self.lines if erring[line.coordinate]]


def exact_choice(epsilon: float = 3.0) -> KnownCase:
    """One record moves between two corners that are equally far from the query: only the choice tells them apart."""
    embedding = L1([(0, 1), (0, 1)]).embedding
    solved = interactive_margins(embedding, 1, Guarantee(epsilon), 1, 0.5)
    # the tested value, 1 a unit of distance, is at the threshold; lines are not lowered
    margins = replace(solved, updates=1, threshold=round(1 / solved.lattice), margin=np.zeros(2))
    query = np.zeros((1, 2), dtype=np.int64)

    def draw(record: list[int]) -> Callable[[int], Outcomes]:
        sketch = Sketch(2, cells=2)
        sketch.add(np.array([record]) * QUANTA)

        def coordinate() -> int:
            game = ExactChoice(convex_learner(embedding, margins), sketch.borders(), embedding, margins)
            list(game.ask(query))
            return game.lines[0].coordinate if game.lines else -1

        return lambda runs: Outcomes.of(kinds=np.array([coordinate() for _ in range(runs)]))

    # Pr[a line of coordinate 0] is Pr["above"] on one table and 0 on the other
    above = 1 - SparseVector(*noise_scales(margins.sensitivity, margins.epsilon_test), 1).flag_law([0])[0]
    loss = max_log_ratio(np.array([above, 0]), np.array([0, above]))
    claim = Pure(margins.cost(embedding))
    return KnownCase(Case("tangents", "exact choice of coordinate", claim, draw([1, 0]), draw([0, 1])), loss)


# --- field ----------------------------------------------------------------------------------------------------------


class AgainstNoisy(Innovations):
    """Each innovation is taken against the noisy answers so far, which an analyst has, instead of the exact sums."""

    def ask(self, points: AnyArray | PointCombinations, sums: Sequence[int]) -> tuple[IntArray, FloatArray, FloatArray]:
        """Run the shipped step, then take the noisy sums for exact ones."""
        answers = super().ask(points, sums)
        self.exact = list(self.noisy)
        return answers


def against_noisy(kind: type[Innovations] = AgainstNoisy) -> KnownCase:
    """A field session on two points that are near each other: the second answer has the innovation's noise alone.

    Answers are then independent, of deviations σ·ℓ_kk, and far too exact where ℓ_kk is small.
    """
    space, guarantee, points = L1([(0, 1)]), Guarantee(6.0, 1e-6), np.array([[0.0], [0.05]])
    noise = Field().noise(space, len(points), ProtectedChange(), guarantee)
    queries = Queries(points, space)
    pair = [read_sums([[mover], [0.5]], space, queries).values[0] for mover in (0, 1)]
    factor = CholeskyFactor(noise.kernel, len(points), noise.unit)
    factor.extend(points)
    scales = np.diag(factor.rows(0, len(points))) * noise.scale / (1 << FRACTION_BITS)
    exact = [sums - 2 * noise.anchors(points) for sums in pair]

    def draw(sums: IntArray) -> Draw:
        def score() -> float:
            session = kind(noise, 2)
            answers = [session.ask(points[k : k + 1], [int(sums[k])])[0][0] for k in range(len(points))]
            return gaussian_ratio(np.array(answers), exact[0], exact[1], scales)

        return lambda runs: Outcomes.of(score=np.array([score() for _ in range(runs)]))

    loss = float(np.linalg.norm((pair[0] - pair[1]) / scales))
    return KnownCase(Case("field", "innovations against noisy answers", Gaussian(guarantee.mu), *map(draw, pair)), loss)


def equal_steps(count: int) -> FloatArray:
    """Return points of the line 0..1, float64[count, 1], whose innovations change alike if a record moves from 0 to 1.

    Distances change by 1 − 2y, and the covariance of a field is 1 − 2|y − y′|. The changes' squares add up to the
    squared norm of 1 − 2y at the points so far: each point raises it by 1/count, and the last one is 0.
    """

    def squared_norm(points: list[float]) -> float:
        places = np.array(points)
        change = 1 - 2 * places
        return float(change @ np.linalg.solve(1 - 2 * np.abs(places[:, None] - places), change))

    points: list[float] = []
    for number in range(1, count):
        low, high = 0.0, points[-1] if points else 0.5
        while high - low > 1e-12:
            middle = (low + high) / 2
            low, high = (middle, high) if squared_norm([*points, middle]) > number / count else (low, middle)
        points.append(low)
    return np.array([*points, 0.0])[:, None]


def forgotten_root(epsilon: float = 1.0, count: int = 4) -> KnownCase:
    """A field whose Laplace noise is that for one point, while several are asked: √k times too little."""
    space, points = L1([(0, 1)]), equal_steps(count)
    noise = replace(Field().noise(space, 1, ProtectedChange(), Guarantee(epsilon)), max_points=count)
    queries = Queries(points, space)

    def run(mover: float) -> object:
        sums = read_sums([[mover], [0.5]], space, queries).values[0].tolist()
        return Innovations(noise, 2).ask(points, sums)

    runs = [partial(run, mover) for mover in (0.0, 1.0)]
    return case_from_traces("field", "several queries with the Laplace noise of one", Pure(epsilon), *runs)


class ForgottenCrossTerms(CholeskyFactor):
    """A factor that takes the values at the points of a weighted sum to be independent."""

    def _covariance(self, left: PointCombinations, *_: FloatArray | PointCombinations) -> FloatArray:
        own = PointCombinations(left.points, np.square(left.filled_weights), left.counts)
        return np.diag(2 * own.halves(self.kernel)) / self.unit**2


def forgotten_cross_terms() -> KnownCase:
    """A mean distance to four points that are near each other, with the noise of four independent answers."""
    space, guarantee = L1([(0, 1)]), Guarantee(6.0, 1e-6)
    noise = Field().noise(space, 1, ProtectedChange(), guarantee)
    queries, _ = read_queries([WeightedDistances([[0.0], [0.01], [0.02], [0.03]], [1, 1, 1, 1])], space)

    def run(mover: float) -> object:
        innovations = Innovations(noise, 2)
        innovations.factor = ForgottenCrossTerms(noise.kernel, 1, noise.unit)
        sums = read_sums([[mover], [0.5]], space, queries).values[0].tolist()
        return innovations.ask(queries.combinations, sums)

    runs = [partial(run, mover) for mover in (0.0, 1.0)]
    return case_from_traces("field", "a sum of answers that are taken to be independent", Gaussian(guarantee.mu), *runs)


# --- gaussian and laplace -------------------------------------------------------------------------------------------


class DifferenceOfRanges(WeightedSum):
    """A difference of distances whose range is taken to be the difference of their ranges, |r − r′|."""

    def range(self, low: FloatArray, high: FloatArray, between: FloatArray | None) -> tuple[float, float]:  # noqa: ARG002
        """Return the weighted sum of the low ends, and that of the high ends."""
        ends = sorted((float(self.shares @ low), float(self.shares @ high)))
        return math.floor(ends[0]), math.ceil(ends[1])


def difference_of_ranges(epsilon: float = 3.0) -> KnownCase:
    """d(x, 0) − d(x, ½) changes by 1 from one end of a line to the other, and the ranges of both differ by ½.

    The values are not cut to the range that is taken to be theirs.
    """
    space = L1([(0, 1)])
    right, _ = read_queries([WeightedDistances([[0.0], [0.5]], [1, -1])], space)
    queries = replace(right, functions=(DifferenceOfRanges((WEIGHT_ONE // 2, -WEIGHT_ONE // 2)),))

    def run(record: list[float]) -> object:
        design = PerQuery("laplace").predict(queries, 1, ProtectedChange(), Guarantee(epsilon))
        return design.run(read_sums([record], space, queries))

    runs = [partial(run, record) for record in ([0.0], [1.0])]
    return case_from_traces("laplace", "a range that is a difference of ranges", Pure(epsilon), *runs)


# --- basis ----------------------------------------------------------------------------------------------------------


def one_component() -> KnownCase:
    """Each component has the noise of its own range, as if a record could change only one of them."""
    fixture, guarantee = fixtures.square(), Guarantee(3.0)
    space = fixture.space()
    queries = Queries(np.array(fixture.queries), space)
    right = Components.of(queries)
    ranges = np.ptp(Columns.of(queries).values @ (right.directions.T / 2.0**right.bits), axis=0)
    queries.mechanism_cache[Basis.name] = replace(right, rates=1 / ranges, pair=1.0)

    def run(record: list[float]) -> object:
        design = Basis().predict(queries, 1, ProtectedChange(), guarantee)
        return design.run(read_sums([record], space, queries))

    runs = [partial(run, record) for record in ([0.0, 0.0], [1.0, 1.0])]
    return case_from_traces("basis", "components that count as one", Pure(guarantee.epsilon), *runs)
