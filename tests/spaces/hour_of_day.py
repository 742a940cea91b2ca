"""A space from outside the package, with nine members and no more: hours of the day, and the shorter way around."""

from typing import Any

import numpy as np

import milepost as mp
from milepost.spaces.embeddings.embedding import QUANTA, box_sensitivity_bound
from milepost.spaces.numeric import read_matrix, refuse_infinite, refuse_missing

ONES = np.ones(12)


class HourOfDay(mp.Space):
    """Whole hours, 0 to 23. Two of them are in different halves of the day for as many of 12 halves as hours apart."""

    diameter = 12.0
    embedding = mp.Embedding(ONES, 0 * ONES, ONES, box_sensitivity_bound(ONES / QUANTA, np.full(12, QUANTA)))

    def read(self, batch: Any, first_row: int = 0) -> Any:
        hours = read_matrix(batch, None, 1)
        refuse_missing(hours, ["hour"], "private rows", first_row)
        return np.rint(np.clip(hours, 0, 23))

    def read_queries(self, batch: Any, first_row: int = 0) -> Any:
        hours = read_matrix(batch, None, 1)
        refuse_missing(hours, ["hour"], "query points", first_row)
        refuse_infinite(hours, ["hour"], first_row)
        return np.rint(hours) % 24

    def distance(self, records: Any, queries: Any) -> Any:
        apart = np.abs(records - queries.T)
        return np.minimum(apart, 24 - apart)

    def position(self, queries: Any) -> Any:
        return np.where((queries - np.arange(12)) % 24 < 12, float(QUANTA), 0.0)

    def quantize(self, points: Any) -> Any:
        return self.position(points).astype(np.int32)

    def to_json(self) -> dict[str, Any]:
        return {"kind": self.kind}

    @classmethod
    def from_json(cls, card: dict[str, Any], tensors: dict[str, Any]) -> "HourOfDay":  # noqa: ARG003
        return cls()
