"""Mesh: the links between queries that Gaussian noise is best spent on, more of them than queries. docs/proofs/net.md.

A link of length ℓ with precision w (1 over the variance of its noise) costs w·(2ℓ)²/2. The variance of a query's answer
is the resistance between the query and the root in a network of conductances w. Minimising the largest resistance over
w is a convex problem, and a few multiplicative rounds come within some percent of the optimum.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from milepost._typing import FloatArray, IntArray
from milepost.mechanisms.query.links import MIDDLE, ROOT, Links, round_scales

CORE = 1 << 10  # queries between which all links are candidates; the other queries have one link each
CLOSE = MIDDLE >> 10  # a query this near to one of the core needs no more links
ROUNDS = 32  # of the optimisation
LINKS_AFTER_ROUND = {3: 20, 7: 10, 15: 5}  # links a query that remain after a round, besides those to the root
MIN_PRECISION = 1e-6  # of the largest share of the cost; no link has a smaller share
LEAF = 64  # size of a matrix that is inverted at once
SOLVER_ROUNDS = 3  # each multiplies the error of the one before by 1e-8 or less


@dataclass(frozen=True, eq=False)
class Mesh:
    """Links with Gaussian noise, `inner` of them within the core, then one for each other query.

    scales: float64[m], of each link's noise, relative to one another. core: int64[c].
    """

    count: int
    links: Links
    scales: FloatArray
    core: IntArray
    inner: int

    @classmethod
    def of(cls, lengths: IntArray) -> "Mesh":
        """Return a good mesh for lengths int[k, k]."""
        core, nearest = _core(lengths)
        rest = np.setdiff1d(np.arange(len(lengths)), core)
        targets = nearest[rest]
        targets[lengths[rest, targets] >= MIDDLE] = ROOT
        design = _design(lengths[np.ix_(core, core)] / MIDDLE)
        left = np.concatenate([core[design.left], rest])
        right = np.concatenate([np.append(core, ROOT)[design.right], targets])
        links = Links(left, right, np.where(right == ROOT, MIDDLE, lengths[left, right]).astype(np.int64))
        # at cost 1 the core's variance is K², and queries linked to it add F²; with the cost split between both, the
        # variance is (K + F)², which queries linked to the root have as well
        on_core = targets != ROOT
        outer_deviation = float(np.sqrt(np.sum((lengths[rest[on_core], targets[on_core]] / MIDDLE) ** 2)))
        deviation = design.max_deviation + outer_deviation
        outer = np.where(on_core, outer_deviation * deviation, deviation**2)
        inner = deviation / design.max_deviation / design.precision
        return cls(len(lengths), links, round_scales(np.sqrt(np.concatenate([inner, outer]))), core, len(inner))

    @cached_property
    def _ends(self) -> tuple[IntArray, IntArray]:
        """Both ends of the core's links, as indices into the core; the root is the last index."""
        index = np.full(self.count + 1, len(self.core))
        index[self.core] = np.arange(len(self.core))
        return index[self.links.left[: self.inner]], index[self.links.right[: self.inner]]

    @cached_property
    def _precisions(self) -> FloatArray:
        """The inverse covariance of the core's sums."""
        return _matrix(len(self.core), *self._ends, self.scales[: self.inner] ** -2)

    @cached_property
    def _factor(self) -> Any:
        return scipy.linalg.cho_factor(self._precisions, lower=True)

    @cached_property
    def variances(self) -> FloatArray:
        """Variances of the queries' sums, where every link has its scale: float64[k]."""
        result = np.zeros(self.count + 1)  # the root is the last
        result[self.core] = _inverse(self._precisions).diagonal()
        result[self.links.left[self.inner :]] = result[self.links.right[self.inner :]] + self.scales[self.inner :] ** 2
        return result[:-1]

    @property
    def kurtoses(self) -> FloatArray:
        """Zeros: sums of normal noises are normal."""
        return np.zeros(self.count)

    def sums(self, noisy: IntArray) -> IntArray:
        """Return the sums int64[k], counted from the root, that fit noisy links int64[m] by least squares."""
        left, right = self._ends
        weights, size = self.scales[: self.inner] ** -2, len(self.core)
        estimates = np.zeros(size + 1, dtype=np.int64)
        for _ in range(SOLVER_ROUNDS):
            residuals = weights * (noisy[: self.inner] - (estimates[left] - estimates[right]))  # of exact integers
            gradient = np.bincount(left, residuals, size + 1) - np.bincount(right, residuals, size + 1)
            estimates[:-1] += np.rint(scipy.linalg.cho_solve(self._factor, gradient[:-1])).astype(np.int64)
        result = np.zeros(self.count + 1, dtype=np.int64)
        result[self.core] = estimates[:-1]
        result[self.links.left[self.inner :]] = result[self.links.right[self.inner :]] + noisy[self.inner :]
        return result[:-1]


@dataclass(frozen=True, eq=False)
class _Design:
    """Links by core indices, their precisions at a cost of 1, and the largest deviation of an answer at this cost."""

    left: IntArray
    right: IntArray
    precision: FloatArray
    max_deviation: float


def _core(lengths: IntArray) -> tuple[IntArray, IntArray]:
    """Return queries far from one another, each the farthest from those before, and every query's nearest of them."""
    first = int(np.argmin(lengths.max(axis=1)))
    core, nearest = [first], np.full(len(lengths), first)
    distances = lengths[first].copy()
    distances[first] = 0
    while len(core) < CORE:
        farthest = int(np.argmax(distances))
        if distances[farthest] <= CLOSE:
            break
        core.append(farthest)
        closer = lengths[farthest] < distances
        closer[farthest] = True
        nearest[closer], distances[closer] = farthest, lengths[farthest][closer]
        distances[core] = 0
    return np.array(core), nearest


def _design(lengths: FloatArray) -> _Design:
    """Return precisions of links of lengths float64[c, c], in half diameters, with a small maximum variance of answers.

    Multiplicative rounds: a link's share of the cost grows with its reduction of the variances, and a query's
    importance with its variance. At the optimum both are stationary. Links of low leverage are pruned on the way.
    """
    size = len(lengths)
    left, right = np.nonzero(np.triu(lengths < 1, 1))  # longer ones are no better than the root
    left, right = np.concatenate([np.arange(size), left]), np.concatenate([np.full(size, ROOT), right])
    squares = np.where(right == ROOT, 1.0, lengths[left, right] ** 2)
    share, importance = np.sqrt(squares) / np.sqrt(squares).sum(), np.full(size, 1 / size)
    designs = []
    for iteration in range(ROUNDS):
        precision = share / squares
        covariance = _inverse(_matrix(size, left, right, precision))
        variances = covariance.diagonal()
        if iteration > max(LINKS_AFTER_ROUND):
            designs.append(_Design(left, right, precision, float(np.sqrt(variances.max()))))
        half = covariance * np.sqrt(importance)
        share = share * _along(half @ half.T, left, right) / squares
        importance = importance * variances / (importance @ variances)
        if iteration in LINKS_AFTER_ROUND:
            leverage = precision * _along(covariance, left, right)  # 1 for the only link of a query
            leverage = np.where(right == ROOT, np.inf, leverage * (1 + _tie_breakers(left, right)))
            keep = np.sort(np.argsort(-leverage, kind="stable")[: (1 + LINKS_AFTER_ROUND[iteration]) * size])
            left, right, squares, share = left[keep], right[keep], squares[keep], share[keep]
        share = np.maximum(share, MIN_PRECISION * share.max())
        share /= share.sum()
    return min(designs, key=lambda design: design.max_deviation)


def _tie_breakers(left: IntArray, right: IntArray) -> FloatArray:
    """Return pseudorandom numbers in 0..½, so that of links with equal leverage some remain everywhere."""
    return np.asarray((left * 0.6180339887498949 + right * right * 0.4142135623730951) % 1 / 2)


def _along(covariance: FloatArray, left: IntArray, right: IntArray) -> FloatArray:
    """Return the variance of the difference of each link's ends; the root's variance is 0."""
    padded = np.pad(covariance, ((0, 1), (0, 1)))
    variances = padded.diagonal()
    return np.asarray(variances[left] + variances[right] - 2 * padded[left, right])


def _matrix(size: int, left: IntArray, right: IntArray, precision: FloatArray) -> FloatArray:
    """Return Σ w(e_left − e_right)(e_left − e_right)ᵀ without the root, which is last: float64[size, size]."""
    result = np.zeros((size + 1, size + 1))
    result[left, right] = result[right, left] = -precision  # two queries have at most one link
    result[np.diag_indices(size + 1)] = -result.sum(axis=1)
    return result[:-1, :-1]


def _inverse(matrix: FloatArray) -> FloatArray:
    """Return the inverse of a symmetric positive definite matrix, by halves.

    Products of blocks take a third of the time that LAPACK takes for a factor and its inverse.
    """
    half = len(matrix) // 2
    if len(matrix) <= LEAF:
        inverse = np.linalg.inv(matrix)
        return np.asarray((inverse + inverse.T) / 2)
    first, across = _inverse(matrix[:half, :half]), matrix[:half, half:]
    solved = first @ across
    second = _inverse(matrix[half:, half:] - across.T @ solved)
    product = solved @ second
    result = np.empty_like(matrix)
    result[:half, :half] = first + product @ solved.T
    result[:half, half:], result[half:, :half], result[half:, half:] = -product, -product.T, second
    return result
