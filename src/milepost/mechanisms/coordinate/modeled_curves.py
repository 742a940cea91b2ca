"""Curves less those of a model of the table: what directions get wrong about the model is known, and taken away.

An answer is that of the curves, plus the exact mean distance to public draws of the model, less that of the draws' own
curves. Over random rotations it is unbiased whatever the model is; only the difference between the table and the model
has an error of directions. docs/proofs/model.md.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from milepost._typing import AnyArray, FloatArray
from milepost.errors import MilepostError
from milepost.mechanisms.base import NoisyStatistic, check_confidence
from milepost.mechanisms.coordinate.curves import PROBE_SHARE, Curves
from milepost.mechanisms.coordinate.piecewise_linear import (
    PiecewiseLinear,
    UniformPiecewiseLinear,
    in_cache_blocks,
)
from milepost.mechanisms.coordinate.slopes import SlopeCounts, curves_of
from milepost.mechanisms.table_model import TableModel
from milepost.spaces.base import Space
from milepost.spaces.embeddings.coordinate_sums import columns_of
from milepost.statistics.sketch import Sketch
from milepost.statistics.statistic_spec import RecordBlock

DRAWS = 1 << 13  # public draws of a model
DRAW_SEED = 1  # no seed of directions, so that draws do not depend on them
EXACT_STEPS = 2.0**36  # of a distance: sums over all draws are whole numbers below 2⁵³
NEAR_CELLS = 1.25  # standard deviations of a projection in cells, below which a draw is near a query
COLUMNS = 2  # of a position, after those of embedding coordinates: mean distance to the draws, and nearness


@dataclass(frozen=True, eq=False)
class ControlVariate:
    """Public draws of a model, as records of a space."""

    space: Space
    model: TableModel

    @cached_property
    def draws(self) -> FloatArray:
        """The draws, as the space reads records."""
        return self.space.read(self.model.draws(DRAWS, DRAW_SEED))

    @cached_property
    def _prepared(self) -> AnyArray:
        return self.space.tiled_distance.prepare_records(self.draws)

    def sketch(self, cells: int) -> Sketch:
        """Return the exact sketch of the draws, which pass through all that records pass through."""
        return Sketch.spec(self.space, 1, cells).of(RecordBlock(self.draws))

    def extend(self, positions: FloatArray, points: AnyArray, near: float) -> FloatArray:
        """Return positions with two more columns: the mean distance of points to the draws, and their nearness.

        near: the distance from which on a draw is not near; nearness is the mean of (1 − distance ÷ near)².
        """
        sums, tiled = np.zeros((COLUMNS, len(points))), self.space.tiled_distance
        unit = self.space.diameter / EXACT_STEPS
        for _, some, distances in tiled.distance_tiles(self._prepared, tiled.prepare_queries(points)):
            # whole numbers, whose sums do not depend on the order, nor on the other points
            sums[0, some] += np.rint(distances * (1 / unit)).sum(axis=0)
            if near > 0:
                nearness = np.maximum(1 - distances / near, 0)
                sums[1, some] += np.rint(nearness * nearness * EXACT_STEPS).sum(axis=0)
        means = sums / len(self.draws)
        return np.column_stack([positions, unit * means[0], means[1] / EXACT_STEPS])


class ModeledCurves(Curves):
    """The curves of a release, less those of the draws of its model.

    Positions have two more columns, as `ControlVariate.extend` adds them.
    """

    def __init__(self, base: SlopeCounts, control: ControlVariate) -> None:
        self.base, self.control, self.model = base, control, control.model
        cells = max(int(span) >> bits for span, bits in zip(base.embedding.span, base.bits, strict=True))
        modeled = curves_of(base, control.sketch(cells))
        residual = [height - part for height, part in zip(base.heights, modeled, strict=True)]
        super().__init__(base.mechanism, base.embedding, base.total, base.bits, residual, base.noises)

    @property
    def anchored(self) -> bool:
        """Whether curves are counted from their means over the embedding's anchor."""
        return self.base.anchored

    @property
    def shared_variance(self) -> float:
        """The variance of noise that is common to all coordinates, besides that of the total."""
        return self.base.shared_variance

    def extend(self, positions: FloatArray, points: AnyArray) -> FloatArray:
        """Return positions of points with the columns of the model."""
        return self.control.extend(positions, points, self._near)

    @cached_property
    def _near(self) -> float:
        """The distance below which the projections of two points are often less than NEAR_CELLS cells apart."""
        if not self._bends.any():
            return 0.0
        cell = float(np.mean(self._bends / self.embedding.weight))
        return NEAR_CELLS * cell * math.sqrt(self.control.space.width)

    def _block_values(self, positions: FloatArray, raw: bool) -> FloatArray:
        """Return the answers of a block of points; what is outside of intervals is the same for the model."""
        columns = columns_of(positions[:, :-COLUMNS])
        inside, outside = self._inside(columns)
        result = self._uniform.total(inside) + positions[:, -COLUMNS]
        if raw:
            return result
        rows = self._near_ends(result, columns, outside)
        if len(rows):
            result[rows] = np.clip(result[rows], *self.embedding.range(columns.take(rows, axis=1).T))
        return result

    def half_width(self, confidence: float, uniform: bool = False) -> float:
        """Return a half-width that PROBE_SHARE of public points of the space do not exceed."""
        check_confidence(confidence)
        if uniform:
            return super().half_width(confidence, uniform)  # which refuses
        points = self.control.space.probe_points()
        positions = self.extend(self.control.space.position(points), points)
        return float(np.quantile(self.half_widths(positions, confidence), PROBE_SHARE, method="higher"))

    def half_widths(self, positions: FloatArray, confidence: float) -> FloatArray:
        """Return noise, the spread of rotations and interpolation at each of the positions float64[k, D + 2]."""
        check_confidence(confidence)

        def block_widths(block: FloatArray) -> FloatArray:
            columns = columns_of(block[:, :-COLUMNS])
            inside, _ = self._inside(columns)
            offsets = np.zeros(len(block))
            if self.base.uniform_offsets is not None:
                offsets = self.base.uniform_offsets.total(inside)
            interpolation = self._interpolation_bound(inside, block[:, -1])
            law = self._rotation_law(self._rotation_variances(inside))
            return self._widths(law, offsets, interpolation, 1 - confidence)

        return in_cache_blocks(block_widths, positions)

    def _interpolation_bound(self, inside: FloatArray, nearness: FloatArray) -> FloatArray:
        """Return a bound of the interpolation error of the difference between table and model.

        It is that of curves with nodes twice as far apart, and what atoms nearer than a cell hide: those that the
        model has not, by nodes four times as far apart, and as much as there may be at the model's own.
        """
        if not self._bends.any():
            return np.zeros(len(nearness))
        fine, wide, widest = (curves.total(inside) for curves in self._nested_curves)
        atoms = (5 * wide - widest - 4 * fine) / 2
        hidden = float(self._bends.sum()) / 3 * nearness
        return np.asarray(np.abs(wide - fine) + np.maximum(atoms, 0) + hidden)

    @cached_property
    def _nested_curves(self) -> Sequence[UniformPiecewiseLinear]:
        """The curves, and those through every second and every fourth of their nodes."""
        return [
            UniformPiecewiseLinear([heights[:: 1 << k] for heights in self.heights], [bits + k for bits in self.bits])
            for k in range(3)
        ]

    @property
    def _offsets(self) -> tuple[PiecewiseLinear, ...]:
        return self.base._offsets

    @property
    def _max_offset(self) -> float:
        return self.base._max_offset

    def tensors(self) -> dict[str, Any]:
        """Return the tensors of the curves alone; the model has its own."""
        return self.base.tensors()

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the curves alone."""
        return self.base.parameters()


def with_model(space: Space, statistic: NoisyStatistic, model: TableModel | None) -> NoisyStatistic:
    """Return a released statistic that answers with the help of a model, if there is one."""
    if model is None:
        return statistic
    if not isinstance(statistic, SlopeCounts) or statistic.embedding.rotations is None:
        raise MilepostError("the file's model does not fit its mechanism")
    return ModeledCurves(statistic, ControlVariate(space, model))
