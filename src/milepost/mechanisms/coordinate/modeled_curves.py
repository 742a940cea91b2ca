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

from milepost._typing import AnyArray, FloatArray, IntArray
from milepost.errors import MilepostError
from milepost.mechanisms.base import NoisyStatistic, check_confidence
from milepost.mechanisms.coordinate.cell_shares import CellShares
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
MIX_STEPS = 1 << 16  # of the share of a component in a group: sums of weighted draws are whole numbers, too


@dataclass(frozen=True, eq=False)
class ControlVariate:
    """Public draws of a model, as records of a space.

    With groups, the draws of each component are a part, and a group weighs the parts; without, all are one part.
    """

    space: Space
    model: TableModel

    @cached_property
    def draws(self) -> FloatArray:
        """The draws, as the space reads records."""
        return self.space.read(self.model.draws(DRAWS, DRAW_SEED))

    @cached_property
    def _prepared(self) -> AnyArray:
        return self.space.tiled_distance.prepare_records(self.draws)

    @cached_property
    def labels(self) -> IntArray:
        """The part of each draw, in order: int64[draws]."""
        return self.model.labels(DRAWS) if self.model.grouped else np.zeros(DRAWS, dtype=np.int64)

    @cached_property
    def parts(self) -> int:
        """The number of parts."""
        return self.model.components if self.model.grouped else 1

    @cached_property
    def sizes(self) -> IntArray:
        """The number of draws of each part: int64[parts]."""
        return np.bincount(self.labels, minlength=self.parts)

    def mix(self, model: TableModel) -> IntArray:
        """Return the weight of each draw of a part, for the model of one group or, without groups, of the table."""
        return np.rint(model.weights * MIX_STEPS).astype(np.int64) if self.model.grouped else np.ones(1, dtype=np.int64)

    def sketch(self, cells: int) -> Sketch:
        """Return the exact sketch of each part, which pass through all that records pass through."""
        return Sketch.spec(self.space, self.parts, cells).of(RecordBlock(self.draws, self.labels))

    def extend(self, positions: FloatArray, points: AnyArray, near: float) -> FloatArray:
        """Return positions with two more columns a part: mean distances of points to its draws, and their nearness.

        near: the distance from which on a draw is not near; nearness is the mean of (1 − distance ÷ near)².
        """
        sums, tiled = np.zeros((2, self.parts, len(points))), self.space.tiled_distance
        unit, ends = self.space.diameter / EXACT_STEPS, np.concatenate([[0], np.cumsum(self.sizes)]).tolist()
        for rows, some, distances in tiled.distance_tiles(self._prepared, tiled.prepare_queries(points)):
            for part in range(self.labels[rows.start], self.labels[rows.start + len(distances) - 1] + 1):
                inside = distances[max(ends[part] - rows.start, 0) : ends[part + 1] - rows.start]
                # whole numbers, whose sums do not depend on the order, nor on the other points
                sums[0, part, some] += np.rint(inside * (1 / unit)).sum(axis=0)
                if near > 0:
                    nearness = np.maximum(1 - inside / near, 0)
                    sums[1, part, some] += np.rint(nearness * nearness * EXACT_STEPS).sum(axis=0)
        means = sums / np.maximum(self.sizes, 1)[:, None]
        return np.column_stack([positions, unit * means[0].T, means[1].T / EXACT_STEPS])


class ModeledCurves(Curves):
    """The curves of a release, less those of the draws of its model.

    Positions have more columns, as `ControlVariate.extend` adds them. model: of the group that the curves are of, or of
    the table. sketch: that of the control variate, with cells as fine as those of the curves.
    """

    def __init__(self, base: SlopeCounts, control: ControlVariate, model: TableModel, sketch: Sketch) -> None:
        self.base, self.control, self.model = base, control, model
        mix = control.mix(model)
        modeled = curves_of(base, sketch.mix(mix))
        self._shares = (mix * control.sizes / int(mix @ control.sizes)).tolist()  # of each part
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

    def cell_shares(self) -> CellShares:
        """Return the cell shares of the table, not those of its difference to the model."""
        return self.base.cell_shares()

    def positions(self, space: Space, points: AnyArray) -> FloatArray:
        """Return positions of points with the columns of the model."""
        return self.control.extend(space.position(points), points, self._near)

    @cached_property
    def _near(self) -> float:
        """The distance below which the projections of two points are often less than NEAR_CELLS cells apart."""
        if not self._bends.any():
            return 0.0
        cell = float(np.mean(self._bends / self.embedding.weight))
        return NEAR_CELLS * cell * math.sqrt(self.control.space.width)

    def _block_values(self, positions: FloatArray, raw: bool) -> FloatArray:
        """Return the answers of a block of points; what is outside of intervals is the same for the model."""
        columns = columns_of(positions[:, : self.embedding.dimension])
        inside, outside = self._inside(columns)
        result = self._uniform.total(inside) + self._mixed(positions, 0)
        if raw:
            return result
        rows = self._near_ends(result, columns, outside)
        if len(rows):
            result[rows] = np.clip(result[rows], *self.embedding.range(columns.take(rows, axis=1).T))
        return result

    def _mixed(self, positions: FloatArray, kind: int) -> FloatArray:
        """Return the mean over all parts of one of the columns that `ControlVariate.extend` adds for each of them."""
        first = self.embedding.dimension + kind * len(self._shares)
        return np.asarray(sum(positions[:, first + k] * share for k, share in enumerate(self._shares)))

    def half_width(self, confidence: float, uniform: bool = False) -> float:
        """Return a half-width that PROBE_SHARE of public points of the space do not exceed."""
        check_confidence(confidence)
        if uniform:
            return super().half_width(confidence, uniform)  # which refuses
        positions = self.positions(self.control.space, self.control.space.probe_points())
        return float(np.quantile(self.half_widths(positions, confidence), PROBE_SHARE, method="higher"))

    def half_widths(self, positions: FloatArray, confidence: float) -> FloatArray:
        """Return noise, the spread of rotations and interpolation at each of the `positions` of points."""
        check_confidence(confidence)

        def block_widths(block: FloatArray) -> FloatArray:
            columns = columns_of(block[:, : self.embedding.dimension])
            inside, _ = self._inside(columns)
            offsets = np.zeros(len(block))
            if self.base.uniform_offsets is not None:
                offsets = self.base.uniform_offsets.total(inside)
            interpolation = self._interpolation_bound(inside, self._mixed(block, 1))
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


def with_model(
    space: Space, statistics: Sequence[NoisyStatistic], model: TableModel | None
) -> Sequence[NoisyStatistic]:
    """Return the released statistic of each group, with answers that use the model of all groups, if there is one."""
    if model is None:
        return statistics
    bases = [s for s in statistics if isinstance(s, SlopeCounts) and s.embedding.rotations is not None]
    if len(bases) < len(statistics):
        raise MilepostError("the file's model does not fit its mechanism")
    models = [model]  # of one group alone, or of a table without groups
    if len(bases) == len(model.group_weights):
        models = [model.of_group(index) for index in range(len(bases))]
    if len(models) != len(bases):
        raise MilepostError("the file's model does not fit its groups")
    control, spans = ControlVariate(space, model), space.embedding.span
    cells = max(int(span) >> bits for base in bases for span, bits in zip(spans, base.bits, strict=True))
    sketch = control.sketch(cells)
    return [ModeledCurves(base, control, part, sketch) for base, part in zip(bases, models, strict=True)]
