"""Mesh: the links between queries that Gaussian noise is best spent on, more of them than queries. docs/proofs/net.md.

A link of length ℓ that is known to a precision w (1 over the variance of its noise) costs w·(2ℓ)²/2. A query's answer
has as its variance the resistance of a network of conductances w between it and the ground. Which w make the largest
resistance smallest is a convex problem, and a few rounds of weighing come within some percent of it.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from milepost._typing import FloatArray, IntArray
from milepost.mechanisms.query.links import MIDDLE, ROOT, Links, round_scales

CORE = 1 << 10  # queries between which all links are weighed; the others have one each
CLOSE = MIDDLE >> 10  # a query this near to one of the core has no need of more
ROUNDS = 32  # of weighing
PRUNED = {3: 20, 7: 10, 15: 5}  # after which rounds how many links a query are kept, besides those to the ground
MIN_PRECISION = 1e-6  # of the largest share of the cost, which no link falls below
REFINED = 3  # rounds of solving; each takes the error of the one before to its share of 1e-8 or less


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
        """A good one for lengths int[k, k]."""
        core, nearest = _core(lengths)
        rest = np.setdiff1d(np.arange(len(lengths)), core)
        to = nearest[rest]
        to[lengths[rest, to] >= MIDDLE] = ROOT
        design = _design(lengths[np.ix_(core, core)] / MIDDLE)
        left = np.concatenate([core[design.left], rest])
        right = np.concatenate([np.append(core, ROOT)[design.right], to])
        links = Links(left, right, np.where(right == ROOT, MIDDLE, lengths[left, right]).astype(np.int64))
        # at cost 1 the core has K², and what hangs on it F² more; shared out (K + F)², and so have those alone
        hung = to != ROOT
        near = float(np.sqrt(np.sum((lengths[rest[hung], to[hung]] / MIDDLE) ** 2)))
        whole = design.largest + near
        outer = np.where(hung, near * whole, whole**2)
        inner = whole / design.largest / design.precision
        return cls(len(lengths), links, round_scales(np.sqrt(np.concatenate([inner, outer]))), core, len(inner))

    @cached_property
    def _ends(self) -> tuple[IntArray, IntArray]:
        """Where the links of the core lead, as positions in it; the ground is the last."""
        place = np.full(self.count + 1, len(self.core))
        place[self.core] = np.arange(len(self.core))
        return place[self.links.left[: self.inner]], place[self.links.right[: self.inner]]

    @cached_property
    def _factor(self) -> Any:
        return scipy.linalg.cho_factor(
            _matrix(len(self.core), *self._ends, self.scales[: self.inner] ** -2), lower=True
        )

    @cached_property
    def variances(self) -> FloatArray:
        """Of the queries' sums, where every link has its scale: float64[k]."""
        result = np.zeros(self.count + 1)  # the ground is the last
        result[self.core] = _inverse(self._factor[0]).diagonal()
        result[self.links.left[self.inner :]] = result[self.links.right[self.inner :]] + self.scales[self.inner :] ** 2
        return result[:-1]

    @property
    def kurtoses(self) -> FloatArray:
        """Sums of normal noises are normal."""
        return np.zeros(self.count)

    def sums(self, noisy: IntArray) -> IntArray:
        """The sums int64[k], counted from the ground, that fit noisy links int64[m] best: least squares."""
        left, right = self._ends
        weights, size = self.scales[: self.inner] ** -2, len(self.core)
        found = np.zeros(size + 1, dtype=np.int64)
        for _ in range(REFINED):
            off = weights * (noisy[: self.inner] - (found[left] - found[right]))  # of exact integers
            pulls = np.bincount(left, off, size + 1) - np.bincount(right, off, size + 1)
            found[:-1] += np.rint(scipy.linalg.cho_solve(self._factor, pulls[:-1])).astype(np.int64)
        result = np.zeros(self.count + 1, dtype=np.int64)
        result[self.core] = found[:-1]
        result[self.links.left[self.inner :]] = result[self.links.right[self.inner :]] + noisy[self.inner :]
        return result[:-1]


@dataclass(frozen=True, eq=False)
class _Design:
    """Links by positions, their precisions for a cost of 1, and the largest deviation of an answer then."""

    left: IntArray
    right: IntArray
    precision: FloatArray
    largest: float


def _core(lengths: IntArray) -> tuple[IntArray, IntArray]:
    """Queries far from one another, each the farthest from those before, and for every query the nearest of them."""
    first = int(np.argmin(lengths.max(axis=1)))
    chosen, nearest = [first], np.full(len(lengths), first)
    apart = lengths[first].copy()
    apart[first] = 0
    while len(chosen) < CORE:
        farthest = int(np.argmax(apart))
        if apart[farthest] <= CLOSE:
            break
        chosen.append(farthest)
        closer = lengths[farthest] < apart
        closer[farthest] = True
        nearest[closer], apart[closer] = farthest, lengths[farthest][closer]
        apart[chosen] = 0
    return np.array(chosen), nearest


def _design(lengths: FloatArray) -> _Design:
    """Precisions for links of lengths float64[c, c], in half diameters: the largest variance of an answer is small.

    Multiplicative rounds: a link's share of the cost grows with what it takes off the variances, and a query's
    importance with its variance. At the optimum neither moves. Links that hardly hold their ends together are left out
    on the way.
    """
    size = len(lengths)
    left, right = np.nonzero(np.triu(lengths < 1, 1))  # longer ones are no better than the ground
    left, right = np.concatenate([np.arange(size), left]), np.concatenate([np.full(size, ROOT), right])
    squares = np.where(right == ROOT, 1.0, lengths[left, right] ** 2)
    share, importance = np.sqrt(squares) / np.sqrt(squares).sum(), np.full(size, 1 / size)
    found = []
    for turn in range(ROUNDS):
        precision = share / squares
        covariance = _inverse(
            scipy.linalg.cho_factor(_matrix(size, left, right, precision), lower=True, check_finite=False)[0]
        )
        variances = covariance.diagonal()
        if turn > max(PRUNED):
            found.append(_Design(left, right, precision, float(np.sqrt(variances.max()))))
        half = covariance * np.sqrt(importance)
        share = share * _along(half @ half.T, left, right) / squares
        importance = importance * variances / (importance @ variances)
        if turn in PRUNED:
            held = precision * _along(covariance, left, right)  # 1 for the only link of a query
            held = np.where(right == ROOT, np.inf, held * (1 + _spread(left, right)))
            kept = np.sort(np.argsort(-held, kind="stable")[: (1 + PRUNED[turn]) * size])
            left, right, squares, share = left[kept], right[kept], squares[kept], share[kept]
        share = np.maximum(share, MIN_PRECISION * share.max())
        share /= share.sum()
    return min(found, key=lambda design: design.largest)


def _spread(left: IntArray, right: IntArray) -> FloatArray:
    """Numbers in 0..½, of no order: of links that count the same, some are kept everywhere."""
    return np.asarray((left * 0.6180339887498949 + right * right * 0.4142135623730951) % 1 / 2)


def _along(covariance: FloatArray, left: IntArray, right: IntArray) -> FloatArray:
    """The variance of the difference of a link's ends; the ground has none."""
    known = np.pad(covariance, ((0, 1), (0, 1)))
    own = known.diagonal()
    return np.asarray(own[left] + own[right] - 2 * known[left, right])


def _matrix(size: int, left: IntArray, right: IntArray, precision: FloatArray) -> FloatArray:
    """Σ w(e_left − e_right)(e_left − e_right)ᵀ without the ground, which is last: float64[size, size]."""
    result = np.zeros((size + 1, size + 1))
    result[left, right] = result[right, left] = -precision  # there is one link at most between two
    result[np.diag_indices(size + 1)] = -result.sum(axis=1)
    return result[:-1, :-1]


def _inverse(factor: FloatArray) -> FloatArray:
    """Of a matrix, from its Cholesky factor's lower half."""
    lower, _ = scipy.linalg.lapack.dpotri(factor, lower=1)
    lower = np.tril(lower)
    return np.asarray(lower + np.tril(lower, -1).T)
