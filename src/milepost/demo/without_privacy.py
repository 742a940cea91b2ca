"""The release of a demo without noise, to compare with. NOT PRIVATE: for made-up data only."""

from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from milepost._typing import AnyArray, FloatArray, IntArray
from milepost.ingest.aggregation import read_sketch
from milepost.mechanisms.base import CoordinateStatistic
from milepost.mechanisms.coordinate.piecewise_linear import PiecewiseLinear
from milepost.mechanisms.totals import Total
from milepost.spaces.embeddings.embedding import Embedding
from milepost.synopsis.synopsis import Synopsis


def without_privacy(people: FloatArray, synopsis: Synopsis) -> Synopsis:
    """The same release without noise. NOT PRIVATE: for made-up data."""
    space = synopsis.space
    curves = ExactCurves(read_sketch(people, space).borders().value, space.embedding, len(people))
    return Synopsis(space, curves, synopsis.guarantee, synopsis.change, synopsis.n)


class ExactCurves(CoordinateStatistic):
    """The exact function of every embedding coordinate. NOT PRIVATE, so there is nothing to be stored."""

    mechanism: ClassVar[str] = "exact"
    extends: ClassVar[bool] = True

    def __init__(self, sums: IntArray, embedding: Embedding, n: int) -> None:
        self.embedding, self._sums, self.total = embedding, sums, Total(n)

    @property
    def confidence(self) -> float:
        """Any."""
        return 1.0

    @cached_property
    def _polygons(self) -> tuple[PiecewiseLinear, ...]:
        borders = self._sums.shape[1] - 1
        nodes = [np.linspace(0, float(span), borders + 1) for span in self.embedding.span]
        heights = self._sums * (self.embedding.quantum[:, None] / self.total.size)
        return tuple(PiecewiseLinear(place, height) for place, height in zip(nodes, heights, strict=True))

    def functions(self, raw: bool = False) -> tuple[PiecewiseLinear, ...]:  # noqa: ARG002
        """Through the exact sums at cell borders."""
        return self._polygons

    def half_width(self, confidence: float, uniform: bool = False) -> float:  # noqa: ARG002
        """What the embedding may be off by."""
        return self.embedding.bias

    def half_widths(self, places: AnyArray, confidence: float) -> FloatArray:
        """The same everywhere."""
        return np.full(len(places), self.half_width(confidence))

    def tensors(self) -> dict[str, IntArray]:
        """Nothing that may leave."""
        return {}

    def parameters(self) -> dict[str, Any]:
        """Nothing that may leave."""
        return {}

    @classmethod
    def load(cls, embedding: Embedding, n: int, parameters: dict[str, Any], tensors: dict[str, IntArray]) -> Self:
        """There is no such file."""
        raise NotImplementedError
