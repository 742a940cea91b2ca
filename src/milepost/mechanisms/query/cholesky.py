"""CholeskyFactor: an integer triangular matrix whose square covers a kernel at queries. docs/proofs/field.md."""

from collections.abc import Sequence

import numpy as np
import scipy

from milepost._typing import AnyArray, FloatArray
from milepost.errors import MilepostError
from milepost.spaces.distances.functions import MAX_POINTS as MAX_TERMS
from milepost.spaces.kernels.kernel import Kernel
from milepost.spaces.kernels.point_combinations import PointCombinations

MAX_POINTS = 1 << 13  # queries, each a point or a weighted sum of several
MAX_SUMMED_POINTS = 1 << 15  # points of all weighted sums together
BLOCK = 512  # rows in one product: many, as a library may divide each product among threads
NUGGET = 2.0**-9  # of the largest variance: λ, which covers every rounding below
EPSILON = 2.0**-52


class CholeskyFactor:
    """ℓ int64[k, k], lower triangular, with unit²·ℓℓᵀ ⪰ C + (λ/2)·I at k public points, to which more can be added.

    In place of a point there may be a weighted sum of points, whose covariances are those of C, summed. Rows come
    from a Cholesky factorisation of C + λI in floats and are rounded to integers; λ/2 is larger than this rounding and
    the kernel's together (Lemma 2 of the proof page).
    """

    def __init__(self, kernel: Kernel, max_points: int, unit: float) -> None:
        check_points(kernel, max_points, unit)
        self.kernel, self.unit, self.max_points = kernel, unit, max_points
        self.count = 0
        self._blocks: list[FloatArray] = []  # rows up to the last diagonal entry among them: integers below 2⁵³
        self._halves = np.zeros(max_points)
        self._points = _PointBuffer(max_points)

    @property
    def points(self) -> PointCombinations:
        """The points, or weighted sums of points, so far."""
        return self._points.first(self.count)

    def extend(self, points: AnyArray | PointCombinations) -> None:
        """Add new points, or weighted sums of points."""
        added = PointCombinations.of(points)
        if self.count + len(added) > self.max_points:
            raise MilepostError(f"a field for {self.max_points} points cannot take {self.count + len(added)}")
        used = len(self.points.points) + len(added.points)
        if used > max(self.max_points, MAX_SUMMED_POINTS):
            raise MilepostError(
                f"field answers weighted distances to {MAX_SUMMED_POINTS:,} points in all, got {used:,}; ask about "
                "fewer points"
            )
        first = self.count
        try:
            for start in range(0, len(added), BLOCK):
                self._extend(added[start : start + BLOCK])
        except BaseException:
            self.truncate(first)
            raise

    def _extend(self, points: PointCombinations) -> None:
        before, halves = self.count, points.halves(self.kernel)
        rows = np.zeros((len(points), before))
        if before:
            covariance = self._covariance(points, halves, self.points, self._halves[:before])
            rows = np.rint(self._solve(np.ascontiguousarray(covariance.T))).T
        own = self._covariance(points, halves, points, halves)
        variances = 2 * halves if points.weights is None else own.diagonal() * self.unit**2
        own[np.diag_indices(len(points))] = (variances + NUGGET * self.kernel.max_variance) / self.unit**2
        try:
            corner = np.rint(np.linalg.cholesky(own - rows @ rows.T))
        except np.linalg.LinAlgError:
            raise MilepostError("these points have no covariance: their distances are not of negative type") from None
        min_diagonal = np.ceil(np.sqrt(NUGGET * self.kernel.max_variance / 2) / self.unit)
        corner[np.diag_indices(len(points))] = np.maximum(corner.diagonal(), min_diagonal)
        for index, (row, last) in enumerate(zip(rows, corner, strict=True)):
            self._set_row(before + index, np.concatenate([row, last[: index + 1]]))
        self._add(points, halves)

    def restore(self, points: AnyArray | PointCombinations, rows: Sequence[FloatArray]) -> None:
        """Add rows that `extend` returned before, for the same points in the same order."""
        for index, row in enumerate(rows, self.count):
            self._set_row(index, row)
        restored = PointCombinations.of(points)
        self._add(restored, restored.halves(self.kernel))

    def truncate(self, count: int) -> None:
        """Drop all points after the first `count`."""
        self.count = count

    def row(self, index: int) -> FloatArray:
        """Return the row of a point, up to the diagonal."""
        return self._blocks[index // BLOCK][index % BLOCK, : index + 1]

    def rows(self, first: int, last: int) -> FloatArray:
        """Return the rows of points from `first` to `last` − 1, with zeros after the diagonal: float64[b, last]."""
        result = np.zeros((last - first, last))
        for index in range(first, last):
            result[index - first, : index + 1] = self.row(index)
        return result

    def _set_row(self, index: int, row: FloatArray) -> None:
        block = index // BLOCK
        if block == len(self._blocks):
            self._blocks.append(np.zeros((BLOCK, (block + 1) * BLOCK)))
        self._blocks[block][index % BLOCK, : index + 1] = row

    def _add(self, points: PointCombinations, halves: FloatArray) -> None:
        self._points.write(self.count, points)
        self._halves[self.count : self.count + len(points)] = halves
        self.count += len(points)

    def _covariance(
        self, left: PointCombinations, left_halves: FloatArray, right: PointCombinations, right_halves: FloatArray
    ) -> FloatArray:
        return left.covariance(left_halves, right, right_halves, self.kernel) / self.unit**2

    def _solve(self, right: FloatArray) -> FloatArray:
        """Return X with ℓX = right, computed block by block."""
        result = np.empty_like(right)
        for start, block in zip(range(0, self.count, BLOCK), self._blocks, strict=False):
            end = min(start + BLOCK, self.count)
            rows = block[: end - start]
            rest = right[start:end] - rows[:, :start] @ result[:start]
            result[start:end] = scipy.linalg.solve_triangular(rows[:, start:end], rest, lower=True, check_finite=False)
        return result


class _PointBuffer:
    """Points and weighted sums of points, in arrays that grow; there are no weights before the first weighted sum."""

    def __init__(self, max_points: int) -> None:
        self._points: AnyArray = np.empty(0)
        self._weights: FloatArray | None = None
        self._counts = np.ones(max_points, dtype=np.int64)

    def first(self, count: int) -> PointCombinations:
        """Return the first `count`."""
        if self._weights is None:
            return PointCombinations(self._points[:count])
        counts = self._counts[:count]
        used = int(counts.sum())
        return PointCombinations(self._points[:used], self._weights[:used], counts)

    def write(self, index: int, added: PointCombinations) -> None:
        """Write more after the first `index`, in place of those that are there."""
        start = len(self.first(index).points)
        end = start + len(added.points)
        if not len(self._points):  # memory is used as points are written
            self._points = np.empty((len(self._counts), *added.points.shape[1:]), dtype=added.points.dtype)
        if end > len(self._points):
            self._points = np.resize(self._points, (2 * end, *self._points.shape[1:]))
        if self._weights is not None or added.weights is not None:
            self._weights = np.resize(np.ones(1) if self._weights is None else self._weights, len(self._points))
            self._weights[start:end] = added.filled_weights
        self._points[start:end] = added.points
        self._counts[index : index + len(added)] = np.diff(added.starts)


def check_points(kernel: Kernel, max_points: int, unit: float) -> None:
    """Refuse more points than fit in memory, or than the nugget covers the rounding of."""
    if max_points > MAX_POINTS:
        raise MilepostError(
            f"field answers up to {MAX_POINTS:,} different queries, for which a session takes "
            f"{session_bytes(MAX_POINTS) / 1e9:.1f} GB, got {max_points:,}"
        )
    deviation = np.sqrt(kernel.max_variance * (1 + NUGGET))
    entry = (
        8 * (max_points + MAX_TERMS + 4) * EPSILON * kernel.max_variance
        + 2 * np.sqrt(max_points) * unit * deviation
        + 8 * kernel.between_error
    )
    if max_points * entry > NUGGET * kernel.max_variance / 2:
        raise MilepostError(
            f"field cannot answer {max_points:,} queries in this space: rounding of distances would be more than its "
            "noise covers; ask fewer, or take a larger space"
        )


def session_bytes(points: int) -> int:
    """Return the memory of a session's factor for a number of points, and of the rows that its transcript keeps."""
    return 2 * 8 * points * (points + BLOCK) // 2
