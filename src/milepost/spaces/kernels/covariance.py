"""Covariance of noise for k public queries, optimised for the records of a public universe. docs/proofs/universe.md.

A column has the distances of one record to the queries. A convex programme finds a covariance that is small on its
diagonal and large in the direction of every difference of columns. The weight of columns in it is then computed with
certainty, however good the programme's result is.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import scipy

from milepost._typing import FloatArray, IntArray
from milepost.spaces.embeddings.embedding import QUANTA

RIDGE = 2.0**-10  # of the largest variance, on the diagonal: it makes up for every rounding
GRID = 2.0**40  # covariances are whole numbers of its inverse, so that sums of them are exact
SLACK = 1 + 1e-9  # rounding of floats, always to the private side
MIN_WEIGHT = 2.0**-12  # of a pair, in squared diameters; below it, noise would be too small to be drawn in steps
CLOSE_RATIO = 1.02  # a covariance within this factor of the lower bound is good enough
STEPS, PAIR_STEPS = 200, 64
WORK = 1 << 38  # multiplications, about ten seconds
MAX_PAIR_COLUMNS = 1 << 11  # columns and queries, up to which pairs of columns have separate weights
BLOCK = 1 << 10
MIN_WEIGHT_SHARE = 0.02  # the smallest weight, as a share of an equal one
MIN_EIGENVALUE = 1e-14  # of those that count, as a share of the largest


@dataclass(frozen=True, eq=False)
class Covariance:
    """C float64[k, k], at most 1 on the diagonal, and the weights of columns in it.

    middle: int64[k], in quanta. pair, single: at least δᵀC⁻¹δ, in squared diameters, for the difference δ of any two
    columns, and of any column and the middle.
    """

    matrix: FloatArray
    middle: IntArray
    pair: float
    single: float


@dataclass(frozen=True, eq=False)
class Design:
    """Σ = Q^−½(Q^½AQ^½)^½Q^−½: the best on average for moments A of the columns and weights Q of the queries.

    roots: float64[r], eigenvalues of (Q^½AQ^½)^½ that are not 0. basis: float64[k, r].
    """

    queries: FloatArray
    roots: FloatArray
    basis: FloatArray

    @property
    def bound(self) -> float:
        """A lower bound on the largest variance times the largest weight of a column, for any covariance."""
        return float(self.roots.sum()) ** 2

    @cached_property
    def variances(self) -> FloatArray:
        """The diagonal of Σ."""
        return np.asarray((self.basis**2 @ self.roots) / self.queries)

    def matrix(self) -> FloatArray:
        """Return Σ: float64[k, k]."""
        half = self.basis * np.sqrt(self.roots) / np.sqrt(self.queries)[:, None]
        return np.asarray(half @ half.T)

    def whitened(self, columns: FloatArray) -> FloatArray:
        """Return columns float64[k, N] whose squared lengths are the weights of `columns` in Σ."""
        return np.asarray((self.basis / np.sqrt(self.roots)).T @ (columns * np.sqrt(self.queries)[:, None]))


@dataclass(frozen=True, eq=False)
class Balance:
    """A design for weights of queries, float64[k], and of columns, float64[N], or of pairs of them, float64[N, N].

    squared_norms: the weight of each column, or pair, in the design's covariance.
    """

    design: Design
    weights: FloatArray
    squared_norms: FloatArray

    @property
    def value(self) -> float:
        """The largest variance times the largest weight, which the noise is scaled to."""
        return float(self.design.variances.max() * self.squared_norms.max())


Evaluate: TypeAlias = Callable[[FloatArray, FloatArray], Balance]


def covariances(columns: IntArray) -> tuple[Covariance, ...]:
    """Return covariances for columns int64[N, k] in quanta: one for single records and, if few, one for pairs."""
    distinct = np.stack(list({column.tobytes(): column for column in columns}.values()))
    if len(distinct) == 1:
        return (certified_covariance(np.eye(columns.shape[1]), distinct, distinct[0]),)
    shares = distinct.T / QUANTA
    best, _ = balance_single(shares)
    balances = [best] if max(shares.shape) > MAX_PAIR_COLUMNS else [best, balance_pairs(shares, best)[0]]
    middle = np.rint(distinct.T @ best.weights).astype(np.int64)
    return tuple(certified_covariance(balance.design.matrix(), distinct, middle) for balance in balances)


def balance_single(shares: FloatArray) -> tuple[Balance, float]:
    """Return the best balance for the column farthest from a common centre, and a lower bound on any value.

    shares: columns float64[k, N] within 0..1.
    """
    count, columns = shares.shape

    def evaluate(weights: FloatArray, queries: FloatArray) -> Balance:
        centered = shares - (shares @ weights)[:, None]
        design = _thin_design(centered * np.sqrt(weights), queries)
        return Balance(design, weights, np.square(design.whitened(centered)).sum(axis=0))

    steps = _step_count(STEPS, 20 * min(count, columns) ** 3 + 4 * shares.size * min(count, columns))
    return _optimize(evaluate, evaluate(np.full(columns, 1 / columns), np.full(count, 1 / count)), steps, 1.5)


def balance_pairs(shares: FloatArray, start: Balance) -> tuple[Balance, float]:
    """Return the best balance for the two columns that are farthest apart, and a lower bound on any value.

    start: the best balance for single columns.
    """
    count, columns = shares.shape

    def evaluate(weights: FloatArray, queries: FloatArray) -> Balance:
        column_weights = weights.sum(axis=1)
        centered = shares - (shares @ column_weights)[:, None]
        design = _design(2 * ((centered * column_weights) @ centered.T - centered @ weights @ centered.T), queries)
        return Balance(design, weights, _squared_distances(design.whitened(centered).T))

    steps = _step_count(PAIR_STEPS, 20 * count**3 + 4 * shares.size * (count + columns))
    return _optimize(evaluate, evaluate(np.outer(start.weights, start.weights), start.design.queries), steps, 1.0)


def _optimize(evaluate: Evaluate, start: Balance, steps: int, exponent: float) -> tuple[Balance, float]:
    """Return the best balance and the bound, raising weights of heavy columns and of queries of high variance.

    The bound is concave in the weights, and at its maximum a design's value is no more (Lemma 3 of the proof page).
    """
    last = best = start
    bound = start.design.bound
    for _ in range(steps):
        if best.value <= CLOSE_RATIO * bound:
            break
        queries = _reweight(last.design.queries, last.design.variances, exponent)
        last = evaluate(_reweight(last.weights, last.squared_norms, exponent), queries)
        if last.value < best.value:
            best = last
        if last.design.bound < bound:  # long steps are fast, unless they overshoot
            exponent = 1.0
        bound = max(bound, last.design.bound)
    return best, bound


def _step_count(max_steps: int, step_work: int) -> int:
    return min(max_steps, WORK // step_work)


def _reweight(weights: FloatArray, gains: FloatArray, exponent: float) -> FloatArray:
    result = weights * (gains / gains.max()) ** exponent
    result = np.maximum(result / result.sum(), MIN_WEIGHT_SHARE / result.size)
    return np.asarray(result / result.sum())


def _design(moments: FloatArray, queries: FloatArray) -> Design:
    """Return the design for moments A float64[k, k]."""
    roots = np.sqrt(queries)
    values, vectors = np.linalg.eigh(moments * roots[:, None] * roots)
    positive = values > MIN_EIGENVALUE * values.max()
    return Design(queries, np.sqrt(values[positive]), vectors[:, positive])


def _thin_design(spread: FloatArray, queries: FloatArray) -> Design:
    """Return the design for A = spread·spreadᵀ, spread float64[k, N], computed on the smaller side."""
    if spread.shape[1] >= spread.shape[0]:
        return _design(spread @ spread.T, queries)
    scaled = spread * np.sqrt(queries)[:, None]
    values, vectors = np.linalg.eigh(scaled.T @ scaled)
    positive = values > MIN_EIGENVALUE * values.max()
    return Design(queries, np.sqrt(values[positive]), scaled @ vectors[:, positive] / np.sqrt(values[positive]))


def certified_covariance(design: FloatArray, columns: IntArray, middle: IntArray) -> Covariance:
    """Return a covariance with largest diagonal entry 1, and certain bounds on the weights of columns int64[N, k].

    C ⪰ L·Lᵀ for the computed factor L of C less half of the ridge, despite float rounding, and L⁻¹ of a column is
    computed up to an error that the rest of the ridge covers (Theorem 1 of the proof page).
    """
    count = columns.shape[1]
    matrix = np.rint(design / design.diagonal().max() * ((1 - RIDGE) * GRID)) / GRID
    matrix = np.tril(matrix) + np.tril(matrix, -1).T
    matrix[np.diag_indices(count)] += RIDGE
    factor = np.linalg.cholesky(matrix - RIDGE / 2 * np.eye(count))
    centered = (columns - middle) / QUANTA  # exact
    whitened = scipy.linalg.solve_triangular(factor, centered.T, lower=True, check_finite=False).T
    lengths = np.square(whitened).sum(axis=1)
    longest = float(lengths.max()) * SLACK
    rounding, solving = (count + 4) * 2.0**-49 * longest, count**1.5 * 2.0**-43 * np.sqrt(longest)
    pair, single = (
        max(float((np.sqrt(square + rounding) + solving) * SLACK) ** 2, MIN_WEIGHT)
        for square in (_max_squared_distance(whitened, lengths), longest)
    )
    return Covariance(matrix, middle, pair, single)


def _squared_distances(points: FloatArray) -> FloatArray:
    """Return squared distances between the rows of float64[N, r]."""
    lengths = np.square(points).sum(axis=1)
    return np.asarray(np.maximum(lengths[:, None] + lengths - 2 * points @ points.T, 0))


def _max_squared_distance(points: FloatArray, lengths: FloatArray) -> float:
    """Return the largest squared distance between two rows, trying long rows first and skipping hopeless pairs."""
    order = np.argsort(-lengths)
    points, lengths, norms = points[order], lengths[order], np.sqrt(lengths[order])
    best = 0.0
    for start in range(0, len(points), BLOCK):
        stop = int(np.searchsorted(-norms, norms[start] - np.sqrt(best), side="right"))
        if stop <= start:
            break
        for other in range(start, stop, BLOCK):
            left, right = slice(start, start + BLOCK), slice(other, min(other + BLOCK, stop))
            products = points[left] @ points[right].T
            best = max(best, float((lengths[left, None] + lengths[right] - 2 * products).max()))
    return best
