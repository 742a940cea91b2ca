"""Means over records of piecewise linear functions of the coordinates, which are linear in the released numbers.

Between borders t₀ < … < t_m of cells, a function g that is linear in each cell has the mean
E g(x) = g(t_m) − Σⱼ (g(tⱼ₊₁) − g(tⱼ))·shareⱼ, with shareⱼ the share of records at or below a position, averaged over
cell j. It has no error of interpolation, and its noise has a law that is public.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from milepost._typing import FloatArray
from milepost.mechanisms.coordinate.curves import Curves, sum_quantile

ROUNDING = 0.5 * (1 + 1e-6)  # quanta by which a record is moved, at most


@dataclass(frozen=True)
class NoisyMean:
    """A mean with noise: its estimate, the variance of that, and a half-width for the exact one.

    Each end alone fails with half the probability of both.
    """

    value: float
    variance: float
    half_width: float

    @property
    def low(self) -> float:
        """The low end of the interval."""
        return self.value - self.half_width

    @property
    def high(self) -> float:
        """The high end of the interval."""
        return self.value + self.half_width


def noisy_mean(curves: Curves, functions: Mapping[int, FloatArray], failure: float) -> NoisyMean:
    """Return the mean over records of a sum of functions, each of one coordinate and linear in each of its cells.

    functions: from a coordinate to the values at the borders of its cells, float64[cells + 1]. failure: the probability
    that the exact mean is not within the half-width.
    """
    total, shares = curves.total, curves.cell_shares()
    value = origin = lowest = highest = rounding = 0.0
    moments = []
    for i, heights in functions.items():
        rises, cells = np.diff(heights), shares.cells_of(i)
        value += float(heights[-1] - rises @ shares.values[cells])
        if shares.offsets is not None:
            origin += float(heights[-1] - rises @ (shares.values[cells] - shares.offsets[cells]))
        moments.append(curves.noises[i].share_moments(rises))
        lowest, highest = lowest + float(heights.min()), highest + float(heights.max())
        if curves.embedding.step[i] == 1:
            rounding += ROUNDING * float(np.abs(rises).max()) / (1 << curves.bits[i])
    variances, kurtoses = np.array(moments).T

    def law(offset_bounds: FloatArray) -> FloatArray:
        if total.public:
            return sum_quantile(variances[None], kurtoses[None], failure)
        of_total = (total.deviation / total.size * offset_bounds) ** 2
        return sum_quantile(np.append(variances, of_total)[None], np.append(kurtoses, total.kurtosis)[None], failure)

    offset = value - origin  # by which the noise of a private total is multiplied
    farthest = max(highest - origin, origin - lowest)
    width = total.narrow_half_widths(law, np.array([offset]), np.array([rounding]), farthest)
    variance = float(variances.sum())
    if not total.public:
        variance += (total.deviation / total.size * offset) ** 2
    return NoisyMean(value, variance, float(width[0]))
