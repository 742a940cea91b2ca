"""CholeskyFactor: an integer triangular matrix whose square covers a kernel at points. docs/proofs/field.md."""

from collections.abc import Sequence

import numpy as np
import scipy

from milepost._typing import AnyArray, FloatArray
from milepost.errors import MilepostError
from milepost.spaces.kernels.kernel import Kernel

MAX_POINTS = 1 << 13  # their factor takes half a gigabyte
BLOCK = 128
NUGGET = 2.0**-9  # of the largest variance: λ, which covers every rounding below
EPSILON = 2.0**-52


class CholeskyFactor:
    """ℓ int64[k, k], lower triangular, with unit²·ℓℓᵀ ⪰ C + (λ/2)·I at k public points, to which more can be added.

    Rows come from a Cholesky factorisation of C + λI in floats and are rounded to integers; λ/2 is larger than this
    rounding and the kernel's together (Lemma 2 of the proof page).
    """

    def __init__(self, kernel: Kernel, max_points: int, unit: float) -> None:
        check_points(kernel, max_points, unit)
        self.kernel, self.unit, self.max_points = kernel, unit, max_points
        self.count = 0
        self._rows = np.zeros((max_points, max_points))  # integers below 2⁵³; memory is allocated as rows are written
        self._halves = np.zeros(max_points)
        self.points: AnyArray = np.empty(0)

    def extend(self, points: AnyArray) -> FloatArray:
        """Add new points and return their rows, integers in float64[b, k + b], with zeros after the diagonal."""
        if self.count + len(points) > self.max_points:
            raise MilepostError(f"a field for {self.max_points} points cannot take {self.count + len(points)}")
        first = self.count
        try:
            for start in range(0, len(points), BLOCK):
                self._extend(points[start : start + BLOCK])
        except BaseException:
            self.truncate(first)
            raise
        return self._rows[first : self.count, : self.count]

    def _extend(self, points: AnyArray) -> None:
        before, after = self.count, self.count + len(points)
        halves = self.kernel.half(points)
        rows = np.zeros((len(points), before))
        if before:
            covariance = self._covariance(
                halves, self._halves[:before], self.kernel.apart(points, self.points[:before])
            )
            rows = np.rint(self._solve(np.ascontiguousarray(covariance.T))).T
        own = self._covariance(halves, halves, self.kernel.apart(points, points))
        own[np.diag_indices(len(points))] = (2 * halves + NUGGET * self.kernel.max_variance) / self.unit**2
        try:
            corner = np.rint(np.linalg.cholesky(own - rows @ rows.T))
        except np.linalg.LinAlgError:
            raise MilepostError("these points have no covariance: their distances are not of negative type") from None
        min_diagonal = np.ceil(np.sqrt(NUGGET * self.kernel.max_variance / 2) / self.unit)
        corner[np.diag_indices(len(points))] = np.maximum(corner.diagonal(), min_diagonal)
        self._rows[before:after, :before], self._rows[before:after, before:after] = rows, corner
        self._add(points, halves)

    def restore(self, points: AnyArray, rows: Sequence[FloatArray]) -> None:
        """Add rows that `extend` returned before, for the same points in the same order."""
        for index, row in enumerate(rows, self.count):
            self._rows[index, : index + 1] = row
        self._add(points, self.kernel.half(points))

    def truncate(self, count: int) -> None:
        """Drop all points after the first `count`."""
        self.count, self.points = count, self.points[:count]

    def row(self, index: int) -> FloatArray:
        """Return the row of a point, up to the diagonal."""
        return self._rows[index, : index + 1]

    def _add(self, points: AnyArray, halves: FloatArray) -> None:
        before, after = self.count, self.count + len(points)
        self._halves[before:after] = halves
        self.points = np.concatenate([self.points[:before], points]) if before else points
        self.count = after

    def _covariance(self, left: FloatArray, right: FloatArray, apart: FloatArray) -> FloatArray:
        return np.asarray((left[:, None] + right[None] - 2 * apart) / self.unit**2)

    def _solve(self, right: FloatArray) -> FloatArray:
        """Return X with ℓX = right, computed block by block."""
        result = np.empty_like(right)
        for start in range(0, self.count, BLOCK):
            part = slice(start, min(start + BLOCK, self.count))
            rest = right[part] - self._rows[part, :start] @ result[:start]
            result[part] = scipy.linalg.solve_triangular(self._rows[part, part], rest, lower=True, check_finite=False)
        return result


def check_points(kernel: Kernel, max_points: int, unit: float) -> None:
    """Refuse more points than fit in memory, or than the nugget covers the rounding of."""
    if max_points > MAX_POINTS:
        raise MilepostError(f"field answers up to {MAX_POINTS:,} different queries, got {max_points:,}")
    deviation = np.sqrt(kernel.max_variance * (1 + NUGGET))
    entry = (
        8 * (max_points + 4) * EPSILON * kernel.max_variance
        + 2 * np.sqrt(max_points) * unit * deviation
        + 8 * kernel.between_error
    )
    if max_points * entry > NUGGET * kernel.max_variance / 2:
        raise MilepostError(
            f"field cannot answer {max_points:,} queries in this space: rounding of distances would be more than its "
            "noise covers; ask fewer, or take a larger space"
        )
