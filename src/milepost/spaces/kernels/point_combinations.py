"""PointCombinations: values of functions at points, and weighted sums of such values, with their covariances."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from milepost._typing import AnyArray, FloatArray, IntArray
from milepost.spaces.kernels.kernel import Kernel

BLOCK_NUMBERS = 1 << 22  # distances between points that are in memory at a time


@dataclass(frozen=True, eq=False)
class PointCombinations:
    """k sums Σ wⱼ·f(yⱼ) of the values of a function; without weights, k values f(y).

    points: those of all sums, one after the other. weights: float64[m], whose sizes add up to 1 at most in each sum.
    counts: int64[k], the number of points of each sum.
    """

    points: AnyArray
    weights: FloatArray | None = None
    counts: IntArray | None = None

    @classmethod
    def of(cls, points: "AnyArray | PointCombinations") -> "PointCombinations":
        """Return the values at points, or weighted sums as they are."""
        return points if isinstance(points, PointCombinations) else cls(points)

    def __len__(self) -> int:
        return len(self.points) if self.counts is None else len(self.counts)

    @cached_property
    def starts(self) -> IntArray:
        """The index of the first point of each sum, and the number of points: int64[k + 1]."""
        counts = np.ones(len(self), dtype=np.int64) if self.counts is None else self.counts
        return np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)])

    def __getitem__(self, part: slice) -> "PointCombinations":
        first, last, _ = part.indices(len(self))
        if self.weights is None or self.counts is None:
            return PointCombinations(self.points[part])
        points = slice(self.starts[first], self.starts[max(first, last)])
        return PointCombinations(self.points[points], self.weights[points], self.counts[part])

    @property
    def filled_weights(self) -> FloatArray:
        """The weights, 1 where there are none: float64[m]."""
        return np.ones(len(self.points)) if self.weights is None else self.weights

    def sums(self, values: FloatArray) -> FloatArray:
        """Return the weighted sums of values float64[m] or float64[m, …] at the points, along the first axis."""
        if self.weights is None or not len(self):
            return values
        weighted = values * self.weights.reshape(-1, *[1] * (values.ndim - 1))
        return np.asarray(np.add.reduceat(weighted, self.starts[:-1], axis=0))

    @cached_property
    def totals(self) -> FloatArray:
        """The sum of each sum's weights: float64[k]."""
        return self.sums(np.ones(len(self.points)))

    def halves(self, kernel: Kernel) -> FloatArray:
        """Return the weighted sums of a kernel's `half`."""
        return self.sums(kernel.half(self.points))

    def apart(self, other: "PointCombinations", kernel: Kernel) -> FloatArray:
        """Return ΣΣ w·w′·apart(y, y′) for every pair of sums: float64[k, k′]."""
        if self.weights is None and other.weights is None:
            return kernel.apart(self.points, other.points)
        result = np.empty((len(self), len(other)))
        first = 0
        while first < len(self):
            limit = self.starts[first] + max(1, BLOCK_NUMBERS // max(1, len(other.points)))
            last = max(first + 1, int(np.searchsorted(self.starts, limit, side="right")) - 1)
            part = self[first:last]
            result[first:last] = part.sums(other.sums(kernel.apart(part.points, other.points).T).T)
            first = last
        return result

    def covariance(
        self, halves: FloatArray, other: "PointCombinations", other_halves: FloatArray, kernel: Kernel
    ) -> FloatArray:
        """Return the covariances of the sums for noise of the kernel's covariance: float64[k, k′].

        halves, other_halves: `halves` of both.
        """
        left, right = halves[:, None], other_halves[None]
        if self.weights is not None or other.weights is not None:
            left, right = left * other.totals, self.totals[:, None] * right
        return np.asarray(left + right - 2 * self.apart(other, kernel))

    def variances(self, kernel: Kernel) -> FloatArray:
        """Return the variances of the sums for noise of the kernel's covariance: float64[k]."""
        halves = self.halves(kernel)
        if self.weights is None:
            return 2 * halves
        sums = [(self[k : k + 1], halves[k : k + 1]) for k in range(len(self))]
        return np.array([one.covariance(half, one, half, kernel)[0, 0] for one, half in sums])
