"""Covariance: noise for k public queries in which no record of a public universe weighs much. docs/proofs/universe.md.

Columns are the distances of one record to the queries. A convex programme finds a covariance that is small on its
diagonal and large in the direction of every difference of columns; what they weigh in it is then computed with
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
MIN_WEIGHT = 2.0**-12  # that a pair weighs, in squared diameters: of noise that would be too small to be drawn in steps
CLOSE = 1.02  # a covariance within this of the least that any could have is good enough
STEPS, PAIR_STEPS = 200, 64
WORK = 1 << 38  # multiplications, about ten seconds
MAX_PAIRED = 1 << 11  # columns and queries, up to which pairs of columns have weights of their own
BLOCK = 1 << 10
LIGHT = 0.02  # the least weight, as a share of an equal one
RANK = 1e-14  # an eigenvalue that counts, as a share of the largest


@dataclass(frozen=True, eq=False)
class Covariance:
    """C float64[k, k], at most 1 on the diagonal, and what columns weigh in it.

    middle: int64[k], in quanta. pair, single: at least δᵀC⁻¹δ, in squared diameters, for the difference δ of any two
    columns, and of any column and the middle.
    """

    matrix: FloatArray
    middle: IntArray
    pair: float
    single: float


@dataclass(frozen=True, eq=False)
class Design:
    """Σ = Q^−½(Q^½AQ^½)^½Q^−½: for moments A of the columns and weights Q of the queries the best on average.

    roots: float64[r], eigenvalues of (Q^½AQ^½)^½ that are not 0. basis: float64[k, r].
    """

    queries: FloatArray
    roots: FloatArray
    basis: FloatArray

    @property
    def bound(self) -> float:
        """No covariance has less for its largest variance times the largest weight of a column."""
        return float(self.roots.sum()) ** 2

    @cached_property
    def variances(self) -> FloatArray:
        """Σ's diagonal."""
        return np.asarray((self.basis**2 @ self.roots) / self.queries)

    def matrix(self) -> FloatArray:
        """Σ itself: float64[k, k]."""
        half = self.basis * np.sqrt(self.roots) / np.sqrt(self.queries)[:, None]
        return np.asarray(half @ half.T)

    def whitened(self, columns: FloatArray) -> FloatArray:
        """Columns float64[k, N] whose squared lengths are what they weigh in Σ."""
        return np.asarray((self.basis / np.sqrt(self.roots)).T @ (columns * np.sqrt(self.queries)[:, None]))


@dataclass(frozen=True, eq=False)
class Balance:
    """A design for weights of queries, float64[k], and of columns, float64[N], or of pairs of them, float64[N, N].

    heavy: what each column, or pair, weighs in the design's covariance.
    """

    design: Design
    weights: FloatArray
    heavy: FloatArray

    @property
    def value(self) -> float:
        """The largest variance times the largest weight, which is what noise is made for."""
        return float(self.design.variances.max() * self.heavy.max())


Look: TypeAlias = Callable[[FloatArray, FloatArray], Balance]


def covariances(columns: IntArray) -> tuple[Covariance, ...]:
    """For columns int64[N, k] in quanta: one that is good for single records and, if few enough, one for pairs."""
    distinct = np.stack(list({column.tobytes(): column for column in columns}.values()))
    if len(distinct) == 1:
        return (weighed(np.eye(columns.shape[1]), distinct, distinct[0]),)
    shares = distinct.T / QUANTA
    best, _ = centred(shares)
    found = [best] if max(shares.shape) > MAX_PAIRED else [best, paired(shares, best)[0]]
    middle = np.rint(distinct.T @ best.weights).astype(np.int64)
    return tuple(weighed(one.design.matrix(), distinct, middle) for one in found)


def centred(shares: FloatArray) -> tuple[Balance, float]:
    """Columns float64[k, N] within 0..1, of which the farthest from a common centre counts; and a bound.

    No covariance has a lower value than the bound.
    """
    count, columns = shares.shape

    def look(weights: FloatArray, queries: FloatArray) -> Balance:
        away = shares - (shares @ weights)[:, None]
        design = _thin_design(away * np.sqrt(weights), queries)
        return Balance(design, weights, np.square(design.whitened(away)).sum(axis=0))

    steps = _steps(STEPS, 20 * min(count, columns) ** 3 + 4 * shares.size * min(count, columns))
    return _balanced(look, look(np.full(columns, 1 / columns), np.full(count, 1 / count)), steps, 1.5)


def paired(shares: FloatArray, start: Balance) -> tuple[Balance, float]:
    """The same for the two columns that are farthest apart. start: what was found for single ones."""
    count, columns = shares.shape

    def look(weights: FloatArray, queries: FloatArray) -> Balance:
        ends = weights.sum(axis=1)
        away = shares - (shares @ ends)[:, None]
        design = _design(2 * ((away * ends) @ away.T - away @ weights @ away.T), queries)
        return Balance(design, weights, _apart(design.whitened(away).T))

    steps = _steps(PAIR_STEPS, 20 * count**3 + 4 * shares.size * (count + columns))
    return _balanced(look, look(np.outer(start.weights, start.weights), start.design.queries), steps, 1.0)


def _balanced(look: Look, start: Balance, steps: int, exponent: float) -> tuple[Balance, float]:
    """Weights rise with what columns weigh, and with variances of queries: towards the maximum of the bound.

    The bound is concave in the weights, and at its maximum a design's value is no more (Lemma 3 of the proof page).
    """
    last = best = start
    bound = start.design.bound
    for _ in range(steps):
        if best.value <= CLOSE * bound:
            break
        queries = _raised(last.design.queries, last.design.variances, exponent)
        last = look(_raised(last.weights, last.heavy, exponent), queries)
        if last.value < best.value:
            best = last
        if last.design.bound < bound:  # long steps are fast, unless they overshoot
            exponent = 1.0
        bound = max(bound, last.design.bound)
    return best, bound


def _steps(most: int, each: int) -> int:
    return min(most, WORK // each)


def _raised(weights: FloatArray, gains: FloatArray, exponent: float) -> FloatArray:
    raised = weights * (gains / gains.max()) ** exponent
    raised = np.maximum(raised / raised.sum(), LIGHT / raised.size)
    return np.asarray(raised / raised.sum())


def _design(moments: FloatArray, queries: FloatArray) -> Design:
    """For moments A float64[k, k]."""
    roots = np.sqrt(queries)
    values, vectors = np.linalg.eigh(moments * roots[:, None] * roots)
    chosen = values > RANK * values.max()
    return Design(queries, np.sqrt(values[chosen]), vectors[:, chosen])


def _thin_design(spread: FloatArray, queries: FloatArray) -> Design:
    """For A = spread·spreadᵀ, float64[k, N]; on the side of the columns where these are fewer."""
    if spread.shape[1] >= spread.shape[0]:
        return _design(spread @ spread.T, queries)
    scaled = spread * np.sqrt(queries)[:, None]
    values, vectors = np.linalg.eigh(scaled.T @ scaled)
    chosen = values > RANK * values.max()
    return Design(queries, np.sqrt(values[chosen]), scaled @ vectors[:, chosen] / np.sqrt(values[chosen]))


def weighed(design: FloatArray, columns: IntArray, middle: IntArray) -> Covariance:
    """A covariance with the diagonal's largest entry 1, and what columns int64[N, k] weigh in it, with certainty.

    C ⪰ L·Lᵀ for the computed factor L of C less half of the ridge, whatever floats make of it, and L⁻¹ of a column is
    computed up to an error that the rest of the ridge covers (Theorem 1 of the proof page).
    """
    count = columns.shape[1]
    matrix = np.rint(design / design.diagonal().max() * ((1 - RIDGE) * GRID)) / GRID
    matrix = np.tril(matrix) + np.tril(matrix, -1).T
    matrix[np.diag_indices(count)] += RIDGE
    factor = np.linalg.cholesky(matrix - RIDGE / 2 * np.eye(count))
    away = (columns - middle) / QUANTA  # exact
    whitened = scipy.linalg.solve_triangular(factor, away.T, lower=True, check_finite=False).T
    lengths = np.square(whitened).sum(axis=1)
    longest = float(lengths.max()) * SLACK
    rounding, solving = (count + 4) * 2.0**-49 * longest, count**1.5 * 2.0**-43 * np.sqrt(longest)
    pair, single = (
        max(float((np.sqrt(square + rounding) + solving) * SLACK) ** 2, MIN_WEIGHT)
        for square in (_farthest(whitened, lengths), longest)
    )
    return Covariance(matrix, middle, pair, single)


def _apart(points: FloatArray) -> FloatArray:
    """Squared distances between the rows of float64[N, r]."""
    lengths = np.square(points).sum(axis=1)
    return np.asarray(np.maximum(lengths[:, None] + lengths - 2 * points @ points.T, 0))


def _farthest(points: FloatArray, lengths: FloatArray) -> float:
    """The largest squared distance between two rows; long rows first, and only those that may be as far apart."""
    order = np.argsort(-lengths)
    points, lengths, reach = points[order], lengths[order], np.sqrt(lengths[order])
    best = 0.0
    for start in range(0, len(points), BLOCK):
        stop = int(np.searchsorted(-reach, reach[start] - np.sqrt(best), side="right"))
        if stop <= start:
            break
        for other in range(start, stop, BLOCK):
            left, right = slice(start, start + BLOCK), slice(other, min(other + BLOCK, stop))
            products = points[left] @ points[right].T
            best = max(best, float((lengths[left, None] + lengths[right] - 2 * products).max()))
    return best
