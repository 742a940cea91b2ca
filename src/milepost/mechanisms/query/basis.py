"""basis: Laplace noise on the principal components of the distances to given queries, for pure ε. docs/proofs/basis.md.

The distances of a record to k queries follow from few numbers: a place in a plane has two. So the columns that records
can have vary much along few principal directions, and hardly along the others. Noise on sums along these directions,
each of its own scale, is calibrated to what one record changes in all of them together, which is far less than the sum
of what it can change in each.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from milepost._typing import FloatArray, IntArray
from milepost.errors import MilepostError
from milepost.mechanisms.base import Prediction, QueryDesign, QueryMechanism
from milepost.mechanisms.noise_quantiles import min_mixture_quantile
from milepost.mechanisms.query.exact_products import exact_products
from milepost.mechanisms.query.l1_diameter import far_pairs, farthest_from, l1_diameter
from milepost.mechanisms.query.links import round_scales
from milepost.mechanisms.query.noisy_sums import NoisySums
from milepost.mechanisms.totals import Total
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.noise import laplace_each
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.base import Space, representative_columns
from milepost.spaces.queries import Queries
from milepost.statistics.distance_sums import DistanceSums

MAX_QUERIES = 1 << 10
MAX_AUTOMATIC_QUERIES = 64, 256  # of a space that fills its chart, for which others have less noise; of others
MAX_NUMBERS = 1 << 23  # of representative columns, about
FRACTION_BITS = 30  # of the entries of principal directions
ROUNDING = 1.01  # of a component to whole units, by a record that is replaced: 1, and the rounding of floats
QUANTIZATION = 3.0  # quanta: half of one, and less than one each for the rounding of a record and of a corner
SLACK = 1 + 1e-9  # rounding of floats, always to the private side
PLAIN_DIRECTIONS, SUBSET_ROWS = 8, 1000  # directions that are not rotated; columns to which others are rotated
SUBSET, MAX_PAIR_NUMBERS = 96, 1 << 21  # columns whose pairs rates are optimised for, and numbers of these pairs
SUBSET_COMPONENTS = 12  # in which the subset is spread
SEARCHED = 1 << 12  # columns among which more pairs are searched for
CUTS, STEPS, EXPONENT = 3, 40, 5.0  # rounds of such a search, and steps of the optimisation between them
CLOSE_RATIO = 1.003  # rates within this factor of the best are good enough
NEW_WEIGHT, MIN_WEIGHT_SHARE = 0.1, 1e-4  # of new pairs together, and of a pair as a share of an equal weight
MIDDLE_STEPS = 48
ERROR_CUTS = (2.0, 8.0, 32.0)  # times the middle error of a column: larger errors are added up one by one
BLOCK = 1 << 20


@dataclass(frozen=True, eq=False)
class Columns:
    """Representative columns in quanta, float64[N, k], and errors of mixtures of them, float64[N, k] or None."""

    values: FloatArray
    errors: FloatArray | None

    @classmethod
    def of(cls, queries: Queries) -> "Columns":
        """Return the columns of the space, with the rounding of records' distances; refuse a space without them."""
        found = representative_columns(queries.space, queries.points, MAX_NUMBERS)
        if found is None:
            raise MilepostError(
                f"basis needs two columns of L1 or L2, GreatCircle, or AnyMetric with universe=[…], got space "
                f"{queries.space.kind!r}; use another mechanism, such as field"
            )
        if found.errors is None:
            return cls(queries.quantize(found.columns).astype(np.float64), None)
        unit = queries.quantum
        more = QUANTIZATION + 2 * queries.space.distance_error / unit
        return cls(found.columns / unit, found.errors / unit * SLACK + more)

    @property
    def typical_error(self) -> float:
        """The middle length of the columns' errors."""
        return 0.0 if self.errors is None else float(np.median(np.linalg.norm(self.errors, axis=1)))

    def weighted(self, matrix: FloatArray, reference: FloatArray) -> FloatArray:
        """Return rate times component of each column, counted from a reference: float64[N, k]."""
        return np.asarray((self.values - reference) @ matrix.T)

    def slacks(self, matrix: FloatArray) -> FloatArray:
        """Return bounds of the ℓ₁ norms of matrix·error over all errors of each column: float64[N].

        A large error counts with the sum of its column of the matrix. The others count together, with the norms of
        the error and of the matrix, by the inequality of Cauchy and Schwarz, component by component.
        """
        if self.errors is None:
            return np.zeros(len(self.values))
        sums = np.abs(matrix).sum(axis=0)
        lengths = np.sqrt(np.square(matrix).sum(axis=1))
        norm = float(np.linalg.norm(matrix / lengths[:, None], 2)) * math.sqrt(float(np.square(lengths).sum()))
        result = np.empty(len(self.errors))
        rows = max(1, BLOCK // self.errors.shape[1])
        for start in range(0, len(result), rows):
            part = self.errors[start : start + rows]
            middle = np.median(part, axis=1, keepdims=True)
            bounds = [part @ sums]
            for cut in ERROR_CUTS:
                large = part > cut * middle
                far = np.sqrt(np.square(np.where(large, 0, part)).sum(axis=1))
                bounds.append(np.where(large, part, 0) @ sums + norm * far)
            result[start : start + rows] = np.min(bounds, axis=0) * SLACK
        return result


@dataclass(frozen=True, eq=False)
class Components:
    """Principal components of the columns, and the rate of each: its noise has a scale in proportion to 1/rate.

    directions: whole numbers float64[k, k], a direction in each row. bits: a component is the product of its direction
    and a column in quanta, divided by 2^bits and rounded to whole units. rates: float64[k]. pair: at least
    Σ rateᵢ·|difference of component i| for any two records, rounding included.
    """

    directions: FloatArray
    bits: int
    rates: FloatArray
    pair: float

    @classmethod
    def of(cls, queries: Queries) -> "Components":
        """Return the components, computed once for each list of queries."""
        if Basis.name not in queries.mechanism_cache:
            queries.mechanism_cache[Basis.name] = cls._computed(queries)
        result: Components = queries.mechanism_cache[Basis.name]
        return result

    @classmethod
    def _computed(cls, queries: Queries) -> "Components":
        if queries.count > MAX_QUERIES:
            raise MilepostError(
                f"basis answers up to {MAX_QUERIES:,} queries, got {queries.count:,}; ask fewer, or use another "
                "mechanism, such as hats or net"
            )
        columns = Columns.of(queries)
        centered = columns.values - columns.values.mean(axis=0)
        directions = np.rint(principal_directions(centered) * 2.0**FRACTION_BITS)
        # sums of 2³⁷ columns, each at most √k·2²⁴ long, are then below 2⁶² units
        bits = FRACTION_BITS + math.ceil(math.log2(queries.count) / 2)
        rates = optimal_rates(
            centered @ (directions.T / 2.0**bits), columns.typical_error * 2.0 ** (FRACTION_BITS - bits)
        )
        matrix = directions * (rates / 2.0**bits)[:, None]
        weighted = columns.weighted(matrix, columns.values.mean(axis=0))
        pair = l1_diameter(weighted, columns.slacks(matrix)) + ROUNDING * math.fsum(rates)
        return cls(directions, bits, rates, pair * SLACK)

    def middle(self, queries: Queries) -> "Middle":
        """Return the column that others are counted from where the total is private, computed once."""
        name = f"{Basis.name}, middle"
        if name not in queries.mechanism_cache:
            columns = Columns.of(queries)
            matrix = self.directions * (self.rates / 2.0**self.bits)[:, None]
            queries.mechanism_cache[name] = Middle.of(columns, matrix, queries, ROUNDING * math.fsum(self.rates))
        result: Middle = queries.mechanism_cache[name]
        return result

    @cached_property
    def inverse(self) -> FloatArray:
        """The matrix that turns components into sums in quanta: float64[k, k]."""
        return np.asarray(np.linalg.inv(self.directions / 2.0**self.bits))

    @cached_property
    def squares(self) -> FloatArray:
        """The squared scales of the noise of each component in each sum, where the component's scale is 1/rate."""
        return np.asarray(np.square(self.inverse / self.rates))

    @cached_property
    def deviations(self) -> FloatArray:
        """The standard deviations of the noise of the sums, where that of component i has scale 1/rateᵢ."""
        return np.asarray(np.sqrt(2 * self.squares.sum(axis=1)))

    @cached_property
    def kurtoses(self) -> FloatArray:
        """The excess kurtoses of the noise of the sums."""
        return np.asarray(3 * np.square(self.squares).sum(axis=1) / np.square(self.squares.sum(axis=1)))

    @cached_property
    def roundings(self) -> FloatArray:
        """How far sums may be off by rounding of components to whole units, and to whole quanta."""
        return np.asarray(np.abs(self.inverse).sum(axis=1) * (0.5 * SLACK) + 1)

    def totals(self, sums: IntArray) -> IntArray:
        """Return the components of sums int64[k], in whole units."""
        half = 1 << (self.bits - 1)
        products = exact_products(self.directions, sums.tolist())
        return np.array([(product + half) >> self.bits for product in products], dtype=np.int64)

    def sums(self, totals: IntArray) -> IntArray:
        """Return the sums in quanta whose components are given, rounded to whole ones: the inverse of `totals`.

        Floats are not precise enough for sums of many records, so what their result misses is solved for again.
        """
        sums = _whole(self.inverse @ totals)
        found = exact_products(self.directions, sums.tolist())
        missing = [(value << self.bits) - product for value, product in zip(totals.tolist(), found, strict=True)]
        return sums + _whole(self.inverse @ np.array([float(value) / 2.0**self.bits for value in missing]))


def _whole(values: FloatArray) -> IntArray:
    return np.clip(np.rint(values), -(2.0**61.5), 2.0**61.5).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Middle:
    """A column int64[k] in quanta, and `single`: at least Σ rateᵢ·|difference of component i| from it to any record."""

    anchors: IntArray
    single: float

    @classmethod
    def of(cls, columns: Columns, matrix: FloatArray, queries: Queries, rounding: float) -> "Middle":
        """Return a middle that is about as near as possible to the farthest column.

        It starts half way between two that are far apart and goes a step to the farthest, smaller with each step
        (Bădoiu and Clarkson 2003).
        """
        mean = columns.values.mean(axis=0)
        weighted, slacks = columns.weighted(matrix, mean), columns.slacks(matrix)
        far = max(far_pairs(weighted.astype(np.float32), slacks), key=lambda pair: pair.length)
        place, column = (array[[far.left, far.right]].mean(axis=0) for array in (weighted, columns.values))
        best, best_column = math.inf, column
        for step in range(MIDDLE_STEPS):
            farthest, length = farthest_from(weighted, slacks, place)
            if length < best:
                best, best_column = length, column
            place = place + (weighted[farthest] - place) / (step + 3)
            column = column + (columns.values[farthest] - column) / (step + 3)
        anchors = np.clip(np.rint(best_column).astype(np.int64), queries.low, queries.high)
        # float64 sums of k numbers are off by far less than SLACK, and products are part of `rounding`
        _, length = farthest_from(weighted, slacks, (anchors - mean) @ matrix.T)
        return cls(anchors, (length + rounding) * SLACK)


def principal_directions(columns: FloatArray) -> FloatArray:
    """Return orthonormal directions float64[k, k] of centred columns float64[N, k], a direction in each row.

    A distance has a kink at its query, so that a column's components along the minor directions are local: some
    rotation of these has few large ones for each column, and noise in ℓ₁ is calibrated to their sum. Each doubling of
    the number of directions is rotated to the columns of some points (Damle, Lin and Ying 2015).
    """
    _, vectors = np.linalg.eigh(columns.T @ columns)
    directions = vectors[:, ::-1]
    count = len(directions)
    some = columns[:: max(1, len(columns) // max(SUBSET_ROWS, 2 * count))]
    start = PLAIN_DIRECTIONS
    while start < count - 1:
        band = slice(start, 2 * start)
        scores = some @ directions[:, band]
        scores /= np.maximum(np.linalg.norm(scores, axis=0), 1.0)
        _, _, pivots = scipy.linalg.qr(scores.T, mode="economic", pivoting=True, check_finite=False)
        left, _, right = np.linalg.svd(scores[pivots[: scores.shape[1]]].T, full_matrices=False)
        directions[:, band] = directions[:, band] @ (left @ right)
        start *= 2
    return np.asarray(directions.T)


def optimal_rates(components: FloatArray, error: float) -> FloatArray:
    """Return rates float64[k] for components float64[N, k] in units, with about the smallest mean variance Σ 1/rate².

    The largest Σ rateᵢ·|difference of component i| of two rows, with errors of this length and rounding, is about 1.
    Pairs of rows come from a subset of them, and from a search for those that cost most. Nothing but accuracy rests on
    the result.
    """
    rows = _spread_rows(components)
    lefts, rights = np.triu_indices(len(rows), min(1, len(rows) - 1))
    differences = _differences(components, rows[lefts], rows[rights])
    weights = np.full(len(differences), 1 / len(differences))
    searched = components[:: 1 + len(components) // SEARCHED]
    for cut in range(CUTS + 1):
        rates, weights = _balance(differences, weights, 2 * error)
        far = far_pairs((searched * rates).astype(np.float32), np.zeros(len(searched))) if cut < CUTS else []
        lefts, rights = np.array(sorted({(pair.left, pair.right) for pair in far}), dtype=np.int64).reshape(-1, 2).T
        differences = np.concatenate([differences, _differences(searched, lefts, rights)])
        weights = np.concatenate([(1 - NEW_WEIGHT) * weights, np.full(len(lefts), NEW_WEIGHT / max(len(lefts), 1))])
    return 1 / round_scales(1 / rates)


def _spread_rows(components: FloatArray) -> IntArray:
    """Return the indices of some rows that are spread over all of them, each far from those before."""
    leading = components[:, :SUBSET_COMPONENTS]
    most = max(2, min(SUBSET, math.isqrt(2 * MAX_PAIR_NUMBERS // components.shape[1])))
    rows, nearest = [0], np.full(len(leading), np.inf)
    while len(rows) < min(most, len(leading)):
        nearest = np.minimum(nearest, np.square(leading - leading[rows[-1]]).sum(axis=1))
        rows.append(int(nearest.argmax()))
    return np.array(rows)


def _differences(components: FloatArray, left: IntArray, right: IntArray) -> FloatArray:
    """Return what pairs of rows change in each component, with rounding."""
    return np.asarray(np.abs(components[left] - components[right]) + 1)


def _balance(differences: FloatArray, weights: FloatArray, error: float) -> tuple[FloatArray, FloatArray]:
    """Return the best rates for pairs with these differences float64[m, k], and weights of pairs.

    For weights of pairs and a direction of the error the best rates are in proportion to (mean difference)^(−1/3), and
    (Σ mean^(2/3))^(3/2) is a lower bound of the objective (Lemma 3 of the proof page). Pairs that cost much get more
    weight, and the error points to large rates.
    """
    count = differences.shape[1]
    rates, best_rates, best_weights = np.ones(count), np.ones(count), weights
    best, bound = math.inf, 0.0
    for _ in range(STEPS):
        means = weights @ differences + error * rates / np.linalg.norm(rates)
        rates = means ** (-1 / 3)
        costs = differences @ rates + error * np.linalg.norm(rates)
        value = float(costs.max() * np.linalg.norm(1 / rates))
        bound = max(bound, float(np.sum(means ** (2 / 3)) ** 1.5))
        if value < best:
            best, best_rates, best_weights = value, rates / costs.max(), weights
        if best <= CLOSE_RATIO * bound:
            break
        weights = weights * (costs / costs.max()) ** EXPONENT
        weights = np.maximum(weights / weights.sum(), MIN_WEIGHT_SHARE / len(weights))
        weights /= weights.sum()
    return best_rates, best_weights


@dataclass(frozen=True, eq=False)
class BasisDesign(QueryDesign):
    """Noise on every component. unit: the scale of component i is unit/rateᵢ. anchors: distances are counted from."""

    components: Components
    unit: float
    anchors: IntArray

    @property
    def component_scales(self) -> FloatArray:
        """The scale of each component's noise, in its units: float64[k]."""
        return np.asarray(self.unit / self.components.rates)

    @property
    def scales(self) -> tuple[float, float]:
        """The largest and the smallest scale of a component."""
        return float(self.component_scales.max()), float(self.component_scales.min())

    @cached_property
    def prediction(self) -> Prediction:
        """The error; the noise is known without data, so that the release will report the same."""
        total = Total.of(self.n, self.total_scale, self.pure)
        return self.noisy_sums(total, total.size * ((self.queries.high - self.queries.low) // 4)).prediction()

    def add_noise(self, statistic: DistanceSums, group: int, draw_total: Callable[[], Total]) -> NoisySums:
        """Add the noise to the components, and solve for the sums of distances."""
        total, exact = draw_total(), int(statistic.totals[group])
        counted = statistic.values[group] - exact * self.anchors
        noisy = laplace_each(self.components.totals(counted), self.component_scales)
        return self.noisy_sums(total, self.components.sums(noisy))

    def noisy_sums(self, total: Total, sums: IntArray) -> NoisySums:
        """Return sums together with the law of their noise; roundings count eight times, for small confidences."""
        deviations = self.unit * self.components.deviations + 8 * self.components.roundings
        return NoisySums(self.mechanism, self.queries, total, sums, self.anchors, deviations, self.components.kurtoses)


@dataclass(frozen=True)
class Basis(QueryMechanism):
    """Laplace noise on principal components, calibrated to what one record changes in all of them together."""

    name = "basis"
    pure = True
    statistic = NoisySums

    def check(self, change: ProtectedChange, guarantee: Guarantee) -> None:  # noqa: ARG002
        """Refuse δ > 0, with which other mechanisms have less noise; accept any change."""
        if not guarantee.pure:
            raise MilepostError(
                f"{self.name} gives pure ε, got delta={guarantee.delta:g}; leave delta out, or use field"
            )

    def is_automatic(self, space: Space, queries: Queries | None, guarantee: Guarantee) -> bool:  # noqa: ARG002
        """Return whether queries are few, or the space has no chart: else others have less noise, for every point.

        Mechanisms on a chart have noise in proportion to its diagonal, which is longer than a disc or a narrow box.
        """
        chart = space.chart
        if chart is None or queries is None:
            return True
        fills = chart.lipschitz * math.sqrt(2) * chart.side < 1.2 * space.diameter
        return queries.count <= MAX_AUTOMATIC_QUERIES[0 if fills else 1]

    def error_bound(self, public: Queries, n: int, change: ProtectedChange, guarantee: Guarantee) -> float:
        """Return the error of the query with the widest range, if it were answered alone.

        A sum follows the components with some shares, and one record can change it by its range. So some component
        has a share times a scale of at least range/ε, which is a lower bound of the sum's scale. Half of the range
        counts where only adding is protected.
        """
        widest = max(public.max_range - 4 * public.quantum, 0.0) * (1.0 if change.replaces else 0.5)
        deviation = math.sqrt(2) * widest * change.multiple / guarantee.epsilon / n
        return min(min_mixture_quantile(0.05) * deviation, public.max_range)

    def design(self, public: Queries, n: int, change: ProtectedChange, guarantee: Guarantee) -> BasisDesign:
        """Share the budget between components and the total."""
        components = Components.of(public)
        single, anchors = components.pair, np.zeros(public.count, dtype=np.int64)
        if not change.public_total:
            middle = components.middle(public)
            single, anchors = middle.single, middle.anchors
        typical = math.sqrt(np.mean(np.square((public.high - public.low) / 4.0)))  # of answers, from the anchors
        deviation = math.sqrt(np.mean(np.square(components.deviations)) / 2)
        split = change.laplace(components.pair, single, guarantee.epsilon, typical / deviation / single)
        unit = split.power * SLACK
        return BasisDesign(self.name, n, change, split.total, self.pure, public, components, unit, anchors)
