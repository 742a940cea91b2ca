"""The demo's release without noise, for comparison. NOT PRIVATE: for synthetic data only."""

from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from milepost._typing import AnyArray, FloatArray, IntArray
from milepost.ingest.aggregation import read_sketch
from milepost.mechanisms.base import CoordinateStatistic
from milepost.mechanisms.coordinate.piecewise_linear import PiecewiseLinear
from milepost.mechanisms.totals import Total
from milepost.spaces.embeddings.embedding import Embedding
from milepost.synopsis.synopsis import Synopsis


def without_privacy(people: FloatArray, synopsis: Synopsis) -> Synopsis:
    """Return the release without noise. NOT PRIVATE: for synthetic data only."""
    space = synopsis.space
    curves = ExactCurves(read_sketch(people, space).borders().value, space.embedding, len(people))
    return Synopsis(space, curves, synopsis.guarantee, synopsis.change, synopsis.n)


class ExactCurves(CoordinateStatistic):
    """The exact function of every embedding coordinate. NOT PRIVATE, so it is never stored."""

    mechanism = "exact"
    extends: ClassVar[bool] = True

    def __init__(self, sums: IntArray, embedding: Embedding, n: int) -> None:
        self.embedding, self._sums, self.total = embedding, sums, Total(n)

    @property
    def confidence(self) -> float:
        """Return 1: without noise any confidence holds."""
        return 1.0

    @cached_property
    def _polygons(self) -> tuple[PiecewiseLinear, ...]:
        borders = self._sums.shape[1] - 1
        nodes = [np.linspace(0, float(span), borders + 1) for span in self.embedding.span]
        heights = self._sums * (self.embedding.quantum[:, None] / self.total.size)
        return tuple(PiecewiseLinear(x, height) for x, height in zip(nodes, heights, strict=True))

    def functions(self, raw: bool = False) -> tuple[PiecewiseLinear, ...]:  # noqa: ARG002
        """Return piecewise linear functions through the exact sums at cell borders."""
        return self._polygons

    def half_width(self, confidence: float, uniform: bool = False) -> float:  # noqa: ARG002
        """Return the bias of the embedding, the only error."""
        return self.embedding.bias

    def half_widths(self, positions: AnyArray, confidence: float) -> FloatArray:
        """Return the half-width at each position; it is the same everywhere."""
        return np.full(len(positions), self.half_width(confidence))

    def tensors(self) -> dict[str, IntArray]:
        """Return an empty dict: exact sums must not be stored."""
        return {}

    def parameters(self) -> dict[str, Any]:
        """Return an empty dict: there is no file."""
        return {}
