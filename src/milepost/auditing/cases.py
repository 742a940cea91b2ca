"""Shipped audit cases: noise, sparse vector, tangents, sessions, bounds, balls, models, class means, `case_matrix`."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from milepost._typing import IntArray
from milepost.auditing import case_matrix
from milepost.auditing.case import SLOW_SAMPLES, Case, Draw, Outcomes, gaussian_ratio, laplace_ratio, sketch_of
from milepost.auditing.claims import Claim, Gaussian, Pure, concentrated
from milepost.auditing.scripted_noise import NoiseScript
from milepost.mechanisms.class_means import ClassMeansDesign
from milepost.mechanisms.paper.margins import Margins
from milepost.mechanisms.paper.tangents import Tangents, interactive_margins
from milepost.mechanisms.table_model import ModelScales, TableModel, fit_model
from milepost.mechanisms.totals import Total
from milepost.pipeline.find_bounds import Grid, Scales, Search
from milepost.pipeline.private_ball import BallScales, BallSearch, grid_of, squared_radii
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.noise import gaussian, gaussian_deviation, laplace
from milepost.privacy.protected_change import ProtectedChange
from milepost.privacy.sparse_vector import AboveThreshold, noise_scales
from milepost.sessions.engines.game import GameEngine
from milepost.spaces.arbitrary import AnyMetric
from milepost.spaces.base import Space
from milepost.spaces.lp import L1, L2
from milepost.spaces.metrics import precomputed
from milepost.spaces.queries import Queries
from milepost.statistics.ball_points import BallGrid, DistanceCounts, PointSums
from milepost.statistics.class_sums import ClippedPoints, class_sums
from milepost.statistics.magnitudes import MAX_VALUE, Magnitudes
from milepost.statistics.model_sums import (
    ClusterCounts,
    ClusterProducts,
    Clusters,
    ClusterSums,
    PointMoments,
    model_grid,
)
from milepost.statistics.sketch import CellBorders, Sketch
from milepost.statistics.statistic_spec import RecordBlock


def noise_cases() -> Iterator[Case]:
    """Yield cases of one integer that moves by 20; every run is one coordinate of a vector draw."""
    sensitivity = 20

    def draw(add: Callable[[IntArray, float], IntArray], value: int, scale: float) -> Draw:
        return lambda runs: Outcomes.of(score=-add(np.full(runs, value, dtype=np.int64), scale))

    for name, add, claim in (("laplace", laplace, Pure(2.5)), ("gaussian", gaussian, Gaussian(1.25))):
        scale = sensitivity / claim.loss
        pair = f"{name} on 0 and {sensitivity}"
        yield Case("noise", pair, claim, draw(add, 0, scale), draw(add, sensitivity, scale))


def sparse_vector_cases() -> Iterator[Case]:
    """Yield a case of five values that grow and one that falls; the outcome is the index of the first "above"."""
    sensitivity, claim = 16, Pure(3.0)
    width = noise_scales(sensitivity, claim.loss)[1]
    low, high = round(-width / 2), round(width)
    left = [low] * 5 + [high]
    right = [low + sensitivity] * 5 + [high - sensitivity]

    def draw(values: list[int]) -> Draw:
        def first_above() -> int:
            epoch = AboveThreshold(0, sensitivity, claim.loss)
            return next((k for k, value in enumerate(values) if epoch.above(value)), len(values))

        return lambda runs: Outcomes.of(kinds=np.array([first_above() for _ in range(runs)]))

    yield Case("sparse-vector", "5 values up, 1 down", claim, draw(left), draw(right), every=10)


def tangents_cases() -> Iterator[Case]:
    """Yield cases of the offline release; the outcome is all lines together, including their number.

    One record moves from corner to corner; the other records, half of them in each, put all grid points near the
    threshold.
    """
    for guarantee, dimension, n in ((Guarantee(12.0), 2, 205), (Guarantee(24.0, 1e-6), 1, 71)):
        space = L1([(0, 1)] * dimension)
        others = [[0] * dimension, [1] * dimension] * (n // 2)
        pair = [sketch_of(space, [[mover] * dimension, *others], cells=2) for mover in (0, 1)]
        claim: Claim = Pure(guarantee.epsilon) if guarantee.pure else concentrated(guarantee.rho)
        left, right = (_release(space, sketch, pair, guarantee) for sketch in pair)
        tables = f"lines, one of {n} records from corner to corner, d = {dimension}"
        yield Case(Tangents.name, tables, claim, left, right, every=SLOW_SAMPLES)
    yield _any_metric_case(Guarantee(24.0), 101)


def _any_metric_case(guarantee: Guarantee, n: int) -> Case:
    """Return a case of an AnyMetric with two points and the same query twice: a record moves in all coordinates."""
    space = AnyMetric(precomputed([[0, 1], [1, 0]]), diameter=1, queries=[0, 0], repetitions=1)
    points = [[0.0, 0.0], [1.0, 1.0]]  # as distances to the queries
    pair = [sketch_of(space, [mover, *points * (n // 2)], cells=2) for mover in points]
    left, right = (_release(space, sketch, pair, guarantee) for sketch in pair)
    tables = f"lines, one of {n} records from one of two points to the other"
    return Case(Tangents.name, tables, Pure(guarantee.epsilon), left, right, every=SLOW_SAMPLES)


def _release(space: Space, sketch: Sketch, pair: list[Sketch], guarantee: Guarantee) -> Draw:
    mechanism = Tangents(failure_probability=0.9, max_cells=sketch.cells)
    design = mechanism.design(space.embedding, int(sketch.totals[0]), ProtectedChange(), guarantee)
    scans = design.scans
    exact = [[side.only(i).coarsen(scan.cells).borders() for side in pair] for i, scan in enumerate(scans)]

    def release() -> tuple[list[int], float]:
        tensors = design.run(sketch).tensors()
        kinds, score = [0] * len(scans), 0.0  # the borders of each coordinate's lines, as digits
        for i, border, value, count in zip(*(tensors[name].tolist() for name in tensors), strict=True):
            kinds[i] = kinds[i] * (scans[i].cells + 2) + border + 1
            score += _line_score(exact[i], scans[i].margins, border, value, count)
        return kinds, score

    return partial(_repeat, release)


def _repeat(run: Callable[[], tuple[int | list[int], float]], runs: int) -> Outcomes:
    kinds, scores = zip(*(run() for _ in range(runs)), strict=True)
    return Outcomes.of(kinds=np.array(kinds), score=np.array(scores))


def _line_score(exact: list[CellBorders], margins: Margins, border: int, value: float, count: float) -> float:
    left, right = (np.array([side.value[0, border], side.below[0, border]], dtype=np.float64) for side in exact)
    scale = np.array([margins.value_scale[0], margins.slope_scale[0]])
    return (laplace_ratio if margins.pure else gaussian_ratio)(np.array([value, count]), left, right, scale)


def session_cases() -> Iterator[Case]:
    """Yield cases of a session with one epoch; the outcome is its answers and its flags together.

    Five queries lie near one end, where the distance to the moving record falls, and one query lies near the other end,
    where it grows. This is the worst stream for the sparse vector, and it changes both value and slope of a tangent.
    The threshold leaves both ends in doubt, and lines are not lowered, so that answers show them: privacy must not
    depend on these public numbers.
    """
    space, cells = L1([(0, 1)]), 16
    table = [[0.0]] * 11 + [[1.0]] * 8
    near, far = 1 / cells, 1 - 1 / cells
    queries = [near] * 5 + [far, near]
    pair = [sketch_of(space, [[mover], *table], cells) for mover in (0, 1)]
    for guarantee in (Guarantee(12.0), Guarantee(24.0, 1e-6)):
        full_margins = interactive_margins(space.embedding, len(table) + 1, guarantee, len(queries), 0.9)
        width = noise_scales(full_margins.sensitivity, full_margins.epsilon_test)[1]
        low = float(pair[0].borders().value[0, 1]) * space.embedding.quantum[0] / full_margins.n / full_margins.lattice
        margins = replace(full_margins, updates=1, threshold=round(low + width / 2), margin=np.zeros(1), alpha=0.0)
        cost = margins.cost(space.embedding)
        claim: Claim = Pure(cost) if guarantee.pure else concentrated(cost)
        left, right = (_session(space, sketch, pair, margins, queries) for sketch in pair)
        yield Case(Tangents.name, "session, one of 20 records from end to end", claim, left, right, every=SLOW_SAMPLES)


def _session(space: L1, sketch: Sketch, pair: list[Sketch], margins: Margins, queries: list[float]) -> Draw:
    exact = [side.borders() for side in pair]
    points = Queries(np.array(queries)[:, None], space)

    def transcript() -> tuple[int, float]:
        engine = GameEngine(sketch, space, margins)
        answers = engine.answer(points)
        update = next((k for k, answer in enumerate(answers) if answer.updated), len(queries))
        later = next((k for k in range(update + 1, len(queries)) if queries[k] != queries[update]), None)
        if later is None:
            return update, 0.0
        # the first answer after the update is the tangent's value, and the one at the other end tells its slope
        value = answers[update].value
        slope = (answers[later].value - value) / (queries[later] - queries[update])
        sums = value * margins.n / space.embedding.quantum[0], (slope + 1) * margins.n / 2
        return update, _line_score(exact, margins, round(queries[update] * sketch.cells), *sums)

    return partial(_repeat, transcript)


# a coarser public grid than the default, for speed: the code is the same
GRID = Grid(np.array([-(2.0**MAX_VALUE), 0.0, 1.0, 2.0, 2.0**MAX_VALUE]), cells=4)
OTHER_ROWS = 30  # rows besides the moving one, so that the search finds bounds


def bounds_cases() -> Iterator[Case]:
    """Yield cases of the search for bounds.

    A row moves from 1 to −∞, which changes two counts of both histograms; or a row at 1 is present or absent, which
    changes one count of both and the number of rows.

    The search refines the cells that its rough histogram selects, so the likelihood of an outcome is the likelihood of
    the rough counts times the likelihood of the counts of refined cells.
    """
    guarantee = Guarantee(4.0)
    for neighbors, rows in (("replace", ([1.0], [-np.inf])), ("add-remove", ([1.0], []))):
        pair = [table(mover) for mover in rows]
        scales = Scales.of(guarantee, ProtectedChange(neighbors), 1)
        claim: Claim = Pure(guarantee.epsilon)
        draws = [draw(magnitudes, pair, scales) for magnitudes in pair]
        names = {"replace": "one of 31 rows from 1 to −∞", "add-remove": "one of 31 rows, or 30"}
        yield Case("bounds", names[neighbors], claim, *draws, every=SLOW_SAMPLES)


def table(mover: list[float]) -> Magnitudes:
    """Return a table of rows at 1.5, with or without one row elsewhere."""
    result = Magnitudes(1)
    result.add(np.array([1.5] * OTHER_ROWS + mover)[:, None])
    return result


def draw(magnitudes: Magnitudes, pair: list[Magnitudes], scales: Scales) -> Draw:
    """Return a function that runs the search on a table and reduces each run to ln of its likelihood ratio."""

    def score() -> float:
        search = Search.run(magnitudes, scales, 0.9, GRID)
        column = search.columns[0]
        left, right = (np.array([side.total]) for side in pair)
        result = laplace_ratio(np.array([search.total]), left, right, scales.total)
        for noisy, borders in ((column.rough, GRID.rough), (column.fine, column.borders)):
            if len(borders):
                left, right = (side.between(0, borders) for side in pair)
                result += laplace_ratio(noisy, left, right, scales.counts)
        return result

    return lambda runs: Outcomes.of(score=np.array([score() for _ in range(runs)]))


BALL = L2(center=[0], radius=1)
OTHER_WEIGHT = 3000  # of the rows besides the moving one, so that the centre is next to them


@dataclass(frozen=True)
class BallTable:
    """Many rows at one pole of a ball, which are one record of that weight, and one row elsewhere, or none."""

    mover: tuple[float, ...]

    @cached_property
    def _block(self) -> RecordBlock:
        points = BALL.read(np.array([[1.0], *([place] for place in self.mover)]))
        return RecordBlock(points, weight=np.array([OTHER_WEIGHT, *[1] * len(self.mover)]))

    @cached_property
    def sums(self) -> PointSums:
        """Return the exact sums."""
        return PointSums.spec(BALL, grid_of(BALL)).of(self._block)

    def counts(self, center: IntArray) -> DistanceCounts:
        """Return the exact counts around a centre."""
        return DistanceCounts.spec(grid_of(BALL), center, squared_radii()).of(self._block)


def ball_cases() -> Iterator[Case]:
    """Yield cases of the search for a ball.

    A row moves from one pole to the other, from inside to outside of every radius that is tested; or a row at the other
    pole is present or absent. The centre is chosen by the noisy sums, and every radius by the noisy counts before, so
    the likelihood of an outcome is the product of the likelihoods of its steps.
    """
    guarantee = Guarantee(7.0, 1e-6)
    for neighbors, rows in (("replace", ((1.0,), (-1.0,))), ("add-remove", ((-1.0,), ()))):
        pair = [BallTable(mover) for mover in rows]
        scales = BallScales.of(guarantee, ProtectedChange(neighbors), grid_of(BALL))
        draws = [ball_draw(side, pair, scales) for side in pair]
        names = {"replace": "one row from pole to pole", "add-remove": "one row at a pole, or none"}
        yield Case("ball", names[neighbors], Gaussian(guarantee.mu), *draws, every=SLOW_SAMPLES)


def ball_draw(table: BallTable, pair: list[BallTable], scales: BallScales) -> Draw:
    """Return a function that runs the search on a table and reduces each run to ln of its likelihood ratio."""
    sums_scale, total_scale, count_scale = (
        gaussian_deviation(scales.sums),
        Total.of(0, scales.total, pure=False).scale,
        Total.of(0, scales.count, pure=False).scale,
    )

    def score() -> float:
        search = BallSearch.run(table.sums, table.counts, scales)
        left, right = (side.sums for side in pair)
        result = gaussian_ratio(search.sums, left.values, right.values, sums_scale)
        if scales.total:
            result += gaussian_ratio(np.array([search.total.value]), left.totals, right.totals, total_scale)
        counts = [side.counts(search.center) for side in pair]
        for radius, noisy in search.counts:
            before, after = (np.array([side.beyond(radius)]) for side in counts)
            result += gaussian_ratio(np.array([noisy]), before, after, count_scale)
        return result

    return lambda runs: Outcomes.of(score=np.array([score() for _ in range(runs)]))


DISC = L2(center=[0, 0], radius=1)
CLUSTER_WEIGHT = 100_000  # of the rows of each cluster, so that centres are next to them


@dataclass(frozen=True)
class ModelTable:
    """Two clusters of many rows, each of which is one record of that weight, and one row elsewhere, or none.

    group: of that row, which is 0 or 1 as those of the clusters are.
    """

    mover: tuple[tuple[float, float], ...]
    group: int = 0

    @cached_property
    def _block(self) -> RecordBlock:
        points = DISC.read(np.array([[0.3, 0.0], [0.0, 0.3], *self.mover]))
        groups = np.array([0, 1, *[self.group] * len(self.mover)])
        return RecordBlock(points, groups, np.array([CLUSTER_WEIGHT, CLUSTER_WEIGHT, *[1] * len(self.mover)]))

    @cached_property
    def moments(self) -> PointMoments:
        """Return the exact moments."""
        return PointMoments.spec(DISC, model_grid(DISC)).of(self._block)

    def cluster_sums(self, clusters: Clusters) -> ClusterSums:
        """Return the exact sums of residuals, by cluster."""
        return ClusterSums.spec(DISC, clusters).of(self._block)

    def cluster_products(self, clusters: Clusters) -> ClusterProducts:
        """Return the exact products of residuals, by cluster."""
        return ClusterProducts.spec(DISC, clusters).of(self._block)

    def cluster_counts(self, clusters: Clusters) -> ClusterCounts:
        """Return the exact weight of records, by group and cluster."""
        return ClusterCounts.spec(DISC, clusters, 2).of(self._block)

    def fit(self, scales: ModelScales) -> TableModel:
        """Draw all noise of a model."""
        return fit_model(self, self.moments, scales, model_grid(DISC), 2 * CLUSTER_WEIGHT)


def model_cases() -> Iterator[Case]:
    """Yield cases of the model of a table, without and with groups.

    A row moves from a point of the border to an orthogonal one, and from one cluster to the other, farther from both
    centres than residuals are clipped; with groups, from one group to the other, too. Axes, centres and the clipping
    depend on the noisy numbers before, so the likelihood of an outcome is the product of the likelihoods of its steps.
    """
    guarantee = Guarantee(7.0, 1e-6)
    for name, groups in (("one row from cluster to cluster", None), ("and from group to group", 2)):
        pair = [ModelTable((place,), group) for group, place in enumerate(((1.0, 0.0), (0.0, 1.0)))]
        scales = model_scales(guarantee, "replace", groups)
        draws = replayed_draws(*(partial(side.fit, scales) for side in pair))
        yield Case("model", name, Gaussian(guarantee.mu), *draws, every=4 * SLOW_SAMPLES)


def model_scales(guarantee: Guarantee, neighbors: str, groups: int | None = None) -> ModelScales:
    """Return the scales of a model with two components."""
    change = ProtectedChange(neighbors, groups=groups)
    scales = ModelScales.of(guarantee, change, model_grid(DISC), 2 * CLUSTER_WEIGHT)
    return replace(scales, components=2)


def replayed_draws(left: Callable[[], object], right: Callable[[], object]) -> list[Draw]:
    """Return functions that run a mechanism on each of two tables, and reduce each run to ln of its likelihood ratio.

    The other table gets the noisy numbers of the first, which shows what it would have added noise to.
    """

    def score(run: Callable[[], object], other: Callable[[], object], sign: int) -> float:
        drawn = NoiseScript.drawn(run)
        replayed = drawn.again()
        with replayed.replacing_noise():
            other()
        return sign * drawn.log_ratio(replayed)

    def draw(run: Callable[[], object], other: Callable[[], object], sign: int) -> Draw:
        return lambda runs: Outcomes.of(score=np.array([score(run, other, sign) for _ in range(runs)]))

    return [draw(left, right, 1), draw(right, left, -1)]


@dataclass(frozen=True)
class ClassTable:
    """Two classes of many rows at the middle of a ball, each one record of that weight, and one row elsewhere, or none.

    mover: the place and the class of that row.
    """

    mover: tuple[tuple[float, int], ...]

    @cached_property
    def _block(self) -> RecordBlock:
        points = BALL.read(np.array([[0.0], [0.0], *([place] for place, _ in self.mover)]))
        classes = np.array([0, 1, *(label for _, label in self.mover)])
        return RecordBlock(points, classes, np.array([OTHER_WEIGHT, OTHER_WEIGHT, *[1] * len(self.mover)]))

    def point_sums(self, grid: BallGrid) -> PointSums:
        """Return the exact sums of all points."""
        return PointSums.spec(BALL, grid).of(self._block)

    def class_sums(self, rule: ClippedPoints) -> ClusterSums:
        """Return the exact sums and sizes of classes."""
        return class_sums(BALL, rule, 2).of(self._block)


def class_means_cases() -> Iterator[Case]:
    """Yield cases of the means of classes, with Gaussian and with Laplace noise.

    A row moves from pole to pole and from one class to the other; or a row at a pole is present or absent. The rows
    are clipped around a noisy centre, so the likelihood of an outcome is the product of the likelihoods of its steps.
    """
    moves = {
        "replace": (((1.0, 0),), ((-1.0, 1),), "one row from pole to pole and from class to class"),
        "add-remove": (((1.0, 0),), (), "one row at a pole, or none"),
    }
    for guarantee in (Guarantee(7.0, 1e-6), Guarantee(3.0)):
        for neighbors, (left, right, name) in moves.items():
            design = class_means_design(guarantee, neighbors)
            claim: Claim = Pure(guarantee.epsilon) if guarantee.pure else Gaussian(guarantee.mu)
            draws = replayed_draws(*(partial(design.run, ClassTable(mover)) for mover in (left, right)))
            law = "Laplace" if guarantee.pure else "Gaussian"
            yield Case("class-means", f"{law}, {name}", claim, *draws, every=SLOW_SAMPLES)


def class_means_design(guarantee: Guarantee, neighbors: str) -> ClassMeansDesign:
    """Return the design for two classes."""
    return ClassMeansDesign.of(guarantee, ProtectedChange(neighbors, groups=2), grid_of(BALL), 2 * OTHER_WEIGHT)


def shipped_cases() -> list[Case]:
    """Return all shipped cases, in the order of the report."""
    return [
        *noise_cases(),
        *sparse_vector_cases(),
        *case_matrix.slopes_cases(),
        *case_matrix.hats_cases(),
        *case_matrix.quadtree_cases(),
        *case_matrix.gaussian_cases(),
        *case_matrix.laplace_cases(),
        *case_matrix.net_cases(),
        *case_matrix.basis_cases(),
        *case_matrix.field_cases(),
        *tangents_cases(),
        *session_cases(),
        *bounds_cases(),
        *ball_cases(),
        *model_cases(),
        *class_means_cases(),
    ]
