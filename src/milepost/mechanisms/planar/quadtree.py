"""quadtree: noise on the weights of people at the corners of a quadtree's cells. docs/proofs/quadtree.md.

Every person is spread over the four corners of a cell around them, by bilinear interpolation, at a few levels of a
quadtree over the chart of a two-dimensional space. Coarse levels have few corners and most of the budget; fine levels
show what coarse ones leave open near a query. An answer for any point is a fixed weighted sum of all noisy numbers, so
that its noise has a known law whatever the table, and the error of interpolation has a bound that is estimated with it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from milepost._typing import AnyArray, FloatArray, IntArray
from milepost.errors import MilepostError
from milepost.mechanisms.base import ChartDesign, ChartMechanism, NoisyStatistic, Prediction, check_confidence
from milepost.mechanisms.noise_quantiles import min_mixture_quantile, mixture_quantile
from milepost.mechanisms.planar.nested_grids import GridEstimate, NestedGrids
from milepost.mechanisms.totals import Total
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.noise import gaussian, gaussian_deviation, laplace
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.base import Space, require_chart
from milepost.spaces.charts.chart import Chart
from milepost.spaces.queries import Queries
from milepost.statistics.vertex_sums import POSITION_BITS, UNIT, VertexSums
from milepost.storage.file_limits import FLAG, INTEGERS, SCALES, NumberLimit, ParameterLimits, TensorLimits

RECORD = UNIT + 4  # the most that one record adds to all sums of a level: four of them are rounded down
RANGE_SHARE = 0.1  # of the failure probability, for the upper limit of the error of interpolation
PROBES = 80  # public points, beside the corners of the square, at which the largest half-width is found
PROBE_MARGIN = 1.05  # between these points half-widths may be a little larger
HEAVY_VERTICES = 16  # the vertices of the largest weight, which are probes, too
BLOCK = 1 << 21  # distances in memory at a time
QUANTILE, RANGE = 2.4, 0.45  # of half-widths: in standard deviations, and of interpolation, in width²/side
WORTH = 0.9  # a finer level is taken only for an error below this share of that without it
MAX_RATIO = 1 << 10  # of the scales of two levels in a file; those of `LEVELS` are within 16
MAX_CORNERS = 1 << 26  # of all groups together, with a given grid: 512 MB
MAX_DRAWS = 1 << 20  # of all groups together, drawn in about ten seconds
TYPICAL_OFFSET = 1 / 8  # of a mean distance from its anchor, in diameters: to share the budget with the total
PLANNED_FOR = "people who are spread evenly, as far as interpolation between corners goes"


class Levels(NamedTuple):
    """The levels of a quadtree that get noise, as corners along a side, and their shares of the budget.

    The shares minimise the mean variance of answers in a square (`python -m tools.quadtree_levels`). laplace: shares of
    ε. gaussian: shares of the sum of precisions. ratios: the standard deviation of an answer, as a multiple of that of
    one worst-placed query answered alone, with Laplace and with Gaussian noise.
    """

    sizes: tuple[int, ...]
    laplace: tuple[float, ...]
    gaussian: tuple[float, ...]
    ratios: tuple[float, float]


LEVELS = {
    levels.sizes[-1]: levels
    for levels in (
        Levels((3, 5), (0.68, 0.32), (0.7, 0.3), (2.04, 1.06)),
        Levels((3, 9), (0.63, 0.37), (0.68, 0.32), (2.48, 1.27)),
        Levels((5, 17), (0.78, 0.22), (0.86, 0.14), (2.76, 1.54)),
        Levels((5, 17, 33), (0.73, 0.2, 0.07), (0.84, 0.13, 0.03), (3.06, 1.58)),
        Levels((5, 17, 65), (0.71, 0.2, 0.09), (0.83, 0.13, 0.04), (3.19, 1.61)),
        Levels((5, 17, 129), (0.68, 0.2, 0.12), (0.8, 0.13, 0.07), (3.4, 1.66)),
        Levels((3, 9, 33, 257), (0.5, 0.3, 0.12, 0.08), (0.5, 0.3, 0.12, 0.08), (3.55, 1.7)),
    )
}


class QuadtreeSums(NoisyStatistic):
    """Noisy sums of people's weights at the corners of a quadtree's cells, in units of 2⁻²⁴ people.

    A query's position is the query itself. scales: of the noise of each level, b of Laplace noise if pure, else σ.
    """

    parameter_limits: ClassVar[ParameterLimits] = {
        "size": NumberLimit(min(LEVELS), max(LEVELS), whole=True),
        "scales": SCALES,
        "pure": FLAG,
        **Total.parameter_limits,
    }
    tensor_limits: ClassVar[TensorLimits] = {"sums": INTEGERS, **Total.tensor_limits}

    def __init__(
        self,
        mechanism: str,
        space: Space,
        total: Total,
        size: int,
        scales: Sequence[float],
        pure: bool,
        sums: Sequence[IntArray],
    ) -> None:
        self.mechanism, self.space, self.total, self.size = mechanism, space, total, size
        self.scales, self.pure, self.sums = tuple(scales), pure, tuple(sums)
        self._largest: dict[float, float] = {}  # half-widths, by confidence

    @property
    def confidence(self) -> float:
        """1: half-widths exist at any confidence, since the noise's law is known."""
        return 1.0

    @property
    def has_uniform_error(self) -> bool:
        """False: the law of the largest error of all answers together is not known."""
        return False

    @property
    def max_error(self) -> float:
        """The diameter, and the margins by which answers are clipped: no two records differ by more in distance."""
        return self.space.diameter + 2 * self._margin

    @property
    def _margin(self) -> float:
        """The distance across a cell of the finest grid."""
        return self._chart.lipschitz * math.sqrt(2) * self._grids.width

    def positions(self, space: Space, points: AnyArray) -> AnyArray:  # noqa: ARG002
        """Return the points themselves."""
        return points

    @property
    def _grids(self) -> NestedGrids:
        return nested_grids(self._chart, self.size)

    @property
    def _chart(self) -> Chart:
        return require_chart(self.space)

    @cached_property
    def _estimate(self) -> GridEstimate:
        deviations = [math.sqrt(2) * scale if self.pure else gaussian_deviation(scale) for scale in self.scales]
        return GridEstimate(self._grids, [(deviation / UNIT) ** 2 for deviation in deviations])

    @cached_property
    def weights(self) -> FloatArray:
        """The estimated shares float64[N] of people at the corners, which add up to 1; some may be negative."""
        shares = self._estimate.estimate(self.sums, UNIT) / self.total.size
        return np.asarray(shares + self._estimate.anchor * (1 - shares.sum()))

    @cached_property
    def nonnegative_weights(self) -> FloatArray:
        """The shares float64[N] of people at the corners that fit the noisy numbers best and are not negative."""
        return self._estimate.nonnegative(self.sums, UNIT)

    def weighted_points(self) -> tuple[FloatArray, FloatArray]:
        """Return the corners that have people, as queries, and their shares of all people."""
        shares = self.nonnegative_weights
        (used,) = np.nonzero(shares > 0)
        return self._chart.queries(self._grids.positions[used]), shares[used]

    @cached_property
    def _corners(self) -> FloatArray:
        """The corners, as prepared records."""
        return self.space.tiled_distance.prepare_records(self._chart.points(self._grids.positions))

    def _blocks(self, points: AnyArray) -> list[slice]:
        rows = max(1, BLOCK // len(self._grids.vertices))
        return [slice(start, start + rows) for start in range(0, len(points), rows)]

    def _distances(self, points: AnyArray) -> FloatArray:
        """Return distances of corners to points: float64[N, q]."""
        result = np.empty((len(self._grids.vertices), len(points)))
        tiled = self.space.tiled_distance
        for rows, some, part in tiled.distance_tiles(self._corners, tiled.prepare_queries(points)):
            result[rows, some] = part
        return result

    def _terms(self, points: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Return corrected distances of corners to points, float64[N, q], and bounds of their errors."""
        grids, chart, distances = self._grids, self._chart, self._distances(points)
        low, typical, high = chart.interpolation_errors(
            grids.positions, distances, grids.width, self.space.query_records(points)
        )
        rounding = chart.lipschitz * grids.width * 2.0 ** (-POSITION_BITS - 0.5)  # of a position, to its steps
        return distances - typical, np.maximum(high - typical, typical - low) + rounding

    def values(self, points: AnyArray, raw: bool = False) -> FloatArray:
        """Return the answers at points; unless raw, clipped to distances that records may have."""
        result, grids, chart = np.empty(len(points)), self._grids, self._chart
        for block in self._blocks(points):
            distances, queries = self._distances(points[block]), self.space.query_records(points[block])
            typical = chart.typical_errors(grids.positions, distances, grids.width, queries)
            values = self.weights @ distances - self.weights @ typical
            if not raw:
                nearest = distances.min(axis=0)
                farthest = np.minimum(distances.max(axis=0), nearest + self.space.diameter)
                values = np.clip(values, np.maximum(nearest - self._margin, 0), farthest + self._margin)
            result[block] = values
        return result

    def half_width(self, confidence: float, uniform: bool = False) -> float:
        """Return the largest half-width at public points all over the space, and at the corners of most weight."""
        check_confidence(confidence)
        if uniform:
            raise MilepostError(
                f"{self.mechanism} has no error for all answers at once; ask for the error of one answer, or release "
                "with queries=[…]"
            )
        if confidence not in self._largest:
            heavy = np.argsort(-self.weights)[:HEAVY_VERTICES]
            queries = self._chart.queries(self._grids.positions[heavy])
            points = np.concatenate([probe_points(self.space), self.space.clip_points(queries)])
            self._largest[confidence] = PROBE_MARGIN * float(self.half_widths(points, confidence).max())
        return self._largest[confidence]

    def half_widths(self, points: AnyArray, confidence: float) -> FloatArray:
        """Return noise and the error of interpolation at each of the points."""
        check_confidence(confidence)
        parts = [self._block_widths(points[block], 1 - confidence) for block in self._blocks(points)]
        return np.concatenate([np.empty(0), *parts])

    def _block_widths(self, points: AnyArray, failure: float) -> FloatArray:
        corrected, bounds = self._terms(points)
        noise, offsets = self._law(corrected, failure * (1 - RANGE_SHARE))
        bound_noise, bound_offsets = self._law(bounds, 2 * failure * RANGE_SHARE)  # one side only
        largest = np.abs(corrected).max(axis=0)
        margins = self.total.narrow_half_widths(bound_noise, bound_offsets, np.zeros(len(points)), bounds.max(axis=0))
        errors = np.clip(self.weights @ bounds + margins, 0, bounds.max(axis=0))
        return self.total.narrow_half_widths(noise, offsets, errors, largest)

    def _law(self, terms: FloatArray, failure: float) -> tuple[Callable[[FloatArray], FloatArray], FloatArray]:
        """Return the quantile of the noise of sums with terms float64[N, q], and sums minus their anchors."""
        variances, squares = self._estimate.moments(terms)
        own, cumulants = variances / self.total.size**2, (3.0 if self.pure else 0.0) * squares / self.total.size**4

        def noise(offset_bounds: FloatArray) -> FloatArray:
            total = (self.total.deviation / self.total.size * offset_bounds) ** 2
            variance = own + total
            squares = np.maximum(variance**2, np.finfo(np.float64).tiny)  # terms that are all alike have no noise
            kurtosis = np.minimum((cumulants + self.total.kurtosis * total**2) / squares, 3.0)
            return np.asarray(mixture_quantile(kurtosis, failure) * np.sqrt(variance))

        return noise, (self.weights - self._estimate.anchor) @ terms

    def deviation(self, points: AnyArray) -> float:
        """Return the root of the mean variance of the answers at points."""
        corrected, _ = self._terms(points)
        variances, _ = self._estimate.moments(corrected)
        offsets = (self.weights - self._estimate.anchor) @ corrected
        total = self.total.deviation * offsets
        return float(np.sqrt(np.mean(variances + total**2))) / self.total.size

    def tensors(self) -> dict[str, AnyArray]:
        """Return the noisy sums of all levels, one after the other."""
        return {"sums": np.concatenate(self.sums)} | self.total.tensors()

    def parameters(self) -> dict[str, Any]:
        """Return the finest level, and the law of the noise."""
        return {"size": self.size, "scales": list(self.scales), "pure": self.pure} | self.total.parameters()

    @classmethod
    def load(
        cls, mechanism: str, public: Space, n: int, parameters: dict[str, Any], tensors: dict[str, AnyArray]
    ) -> NoisyStatistic:
        """Return the sums of a file, checked against its card."""
        size, scales, sums = parameters["size"], parameters["scales"], tensors["sums"]
        if size not in LEVELS or len(scales) != len(LEVELS[size].sizes) or max(scales) > MAX_RATIO * min(scales):
            raise MilepostError("the file's levels are not those of a quadtree")
        counts = nested_grids(require_chart(public), size).counts
        if sums.shape != (sum(counts),):
            raise MilepostError("the file's sums do not fit its space")
        parts = np.split(sums, np.cumsum(counts)[:-1])
        return cls(mechanism, public, Total.load(n, parameters, tensors), size, scales, parameters["pure"], parts)


@dataclass(frozen=True, eq=False)
class QuadtreeDesign(ChartDesign):
    """Noise on the sums of every level. level_scales: of each level, b or σ, in units of 2⁻²⁴ people."""

    level_scales: tuple[float, ...]

    @property
    def scales(self) -> tuple[float, ...]:
        """The scales of all levels."""
        return self.level_scales

    @property
    def group_draws(self) -> int:
        """One for each corner of each level."""
        return sum(nested_grids(require_chart(self.space), self.size).counts)

    @cached_property
    def _planned(self) -> QuadtreeSums:
        """The statistic of people who are spread evenly."""
        grids = nested_grids(require_chart(self.space), self.size)
        even = np.full(len(grids.vertices), self.n * UNIT / len(grids.vertices))
        sums = [(hats @ even) / grids.steps(level) ** 2 for level, hats in enumerate(grids.hats)]
        total = Total.of(self.n, self.total_scale, self.pure)
        return QuadtreeSums(self.mechanism, self.space, total, self.size, self.level_scales, self.pure, [*sums, even])

    @cached_property
    def prediction(self) -> Prediction:
        """The error; the noise is known without data, the error of interpolation depends on the table a little."""
        points = probe_points(self.space)
        planned = self._planned
        error = min(float(planned.half_widths(points, 0.95).max()), self.space.diameter)
        size = 8 * self.group_draws + 2000
        return Prediction(self.mechanism, error, planned.deviation(points), size=size, planned_for=PLANNED_FOR)

    def add_noise(self, statistic: VertexSums, group: int, draw_total: Callable[[], Total]) -> QuadtreeSums:
        """Add the noise to the sums of every level; then that of the total."""
        exact = nested_grids(require_chart(self.space), self.size).exact_sums(statistic.values[group])
        add = laplace if self.pure else gaussian
        noisy = [add(sums, scale) for sums, scale in zip(exact, self.level_scales, strict=True)]
        return QuadtreeSums(self.mechanism, self.space, draw_total(), self.size, self.level_scales, self.pure, noisy)


@dataclass(frozen=True)
class Quadtree(ChartMechanism):
    """Noise on the weights of people at corners: Laplace with pure ε, Gaussian with δ > 0.

    A record changes the sums of every level by one person in all, wherever it is. grid_size: corners along a side of
    the finest level; None to choose it for the table.
    """

    name = "quadtree"
    pure = False
    all_gaussian = True
    statistic = QuadtreeSums

    grid_size: int | None = None

    @property
    def size(self) -> int | None:
        """The number of corners along a side, where that is fixed."""
        return self.grid_size

    def with_size(self, size: int) -> Self:
        """Return the mechanism for a table that was read with this many corners along a side."""
        return type(self)(size)

    def check(self, change: ProtectedChange, guarantee: Guarantee) -> None:  # noqa: ARG002
        """Refuse a size that is none of `LEVELS`, and grids of more groups than fit memory."""
        if self.grid_size is None:
            return
        if type(self.grid_size) is not int or self.grid_size not in LEVELS:
            raise MilepostError(f"grid_size must be one of {', '.join(map(str, LEVELS))}, got {self.grid_size!r}")
        groups = change.groups or 1
        if self.grid_size**2 * groups > MAX_CORNERS:
            raise MilepostError(
                f"{groups:,} groups of {self.grid_size} × {self.grid_size} corners do not fit memory; use fewer "
                "labels, or a smaller grid_size"
            )

    def is_automatic(self, space: Space, queries: Queries | None, guarantee: Guarantee) -> bool:  # noqa: ARG002
        """Return whether ε is pure and distances are no sums over columns: otherwise coordinates have less noise."""
        return guarantee.pure and space.embedding_columns is None

    def design(self, public: Space, n: int, change: ProtectedChange, guarantee: Guarantee) -> QuadtreeDesign:
        """Choose the levels, and share the budget between them and the total."""
        size = self.grid_size or best_size(require_chart(public), n, change, guarantee)
        levels, pure = LEVELS[size], guarantee.pure
        ratio = levels.ratios[0 if pure else 1]
        off = TYPICAL_OFFSET / (ratio / 2 if pure else ratio / math.sqrt(2))
        if pure:
            split = change.laplace(2 * RECORD, RECORD, guarantee.epsilon, off)
            scales = tuple(split.power / share for share in levels.laplace)
        else:
            split = change.gaussian(2 * RECORD**2, RECORD**2, guarantee.budget, off)
            scales = tuple(math.sqrt(split.power / 2 / share) for share in levels.gaussian)
        return QuadtreeDesign(self.name, n, change, split.total, pure, public, size, scales)

    def error_bound(self, public: Space, n: int, change: ProtectedChange, guarantee: Guarantee) -> float:
        """Return less than the noise of the fewest levels, whatever the shape of the space."""
        chart = require_chart(public)
        noise = min(noise_of(levels, chart, n, change, guarantee) for levels in LEVELS.values())
        return min(min_mixture_quantile(0.05) * noise / 2, public.diameter)


@lru_cache(maxsize=64)
def nested_grids(chart: Chart, size: int) -> NestedGrids:
    """Return the levels of a quadtree over a chart, with their cached matrices."""
    return NestedGrids(chart, LEVELS[size].sizes)


def probe_points(space: Space) -> AnyArray:
    """Return public points all over the space, as queries."""
    chart = require_chart(space)
    # not on the lines of any grid, where noise is smaller: a sequence that is spread evenly (Roberts 2018), and corners
    spread = np.arange(1, PROBES + 1)[:, None] * [0.7548776662466927, 0.5698402909980532] % 1
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    positions = chart.side * np.concatenate([spread, corners])
    return space.clip_points(chart.queries(positions))


def noise_of(levels: Levels, chart: Chart, n: int, change: ProtectedChange, guarantee: Guarantee) -> float:
    """Return about the standard deviation of an answer, from that of a Euclidean square."""
    deviation = math.sqrt(2) / guarantee.epsilon if guarantee.pure else 1 / math.sqrt(2 * guarantee.budget)
    single = deviation * change.multiple * (1.0 if change.replaces else 0.5) * math.sqrt(2) * chart.side / n
    return levels.ratios[0 if guarantee.pure else 1] * single


def best_size(chart: Chart, n: int, change: ProtectedChange, guarantee: Guarantee) -> int:
    """Return the finest level, for about the smallest half-widths where people are spread evenly.

    Each level has four times the corners of the one before, and must be worth it.
    """
    best, least = min(LEVELS), math.inf
    for size, levels in LEVELS.items():
        width = chart.lipschitz * chart.side / (size - 1)
        error = QUANTILE * noise_of(levels, chart, n, change, guarantee) + RANGE * width * width / chart.side
        if size**2 * (change.groups or 1) <= MAX_DRAWS and error < WORTH * least:
            best, least = size, error
    return best
