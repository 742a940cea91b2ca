"""Universe: a public list of all records that there may be, and their distances to the queries.

docs/proofs/universe.md.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from milepost._typing import AnyArray, FloatArray
from milepost.errors import MilepostError, SuppressFailures
from milepost.spaces.embeddings.embedding import QUANTA
from milepost.spaces.kernels.covariance import Covariance, covariances
from milepost.spaces.kernels.kernel import SLACK, Kernel
from milepost.spaces.objects import key

MAX_RECORDS = 1 << 16
MAX_NUMBERS = 1 << 24  # distances of all records to all queries
MAX_QUERIES = 1 << 13  # for which a covariance is computed
SPELT = (str, int, float, tuple)
BLOCK = 1 << 22  # distances that the user's function is asked for at a time


@dataclass(frozen=True, eq=False)
class Universe:
    """Public records and their columns: float64[N, k], the distances of each to the queries, within 0..diameter.

    A private record is looked up, and has the column of its equal; a stranger has that of the first. So an image is one
    of N public ones, bit for bit, whatever the record is.
    """

    records: tuple[Any, ...]
    columns: FloatArray
    diameter: float

    @classmethod
    def of(
        cls,
        records: Sequence[Any],
        queries: Sequence[Any],
        diameter: float,
        matrix: Callable[[Sequence[Any]], FloatArray],
    ) -> Self:
        """matrix: distances of records to the queries, as the user's function gives them."""
        check_records(records, len(queries))
        rows = max(1, BLOCK // len(queries))
        parts = [_measured(records[start : start + rows], matrix) for start in range(0, len(records), rows)]
        columns = np.concatenate(parts)
        for what, wrong in (("not a number", np.isnan(columns)), ("negative", columns < 0)):
            if wrong.any():
                row, place = (int(k) for k in np.argwhere(wrong)[0])
                raise MilepostError(
                    f"the distance from {records[row]!r}, which is in universe=[…], to query {queries[place]!r} is "
                    f"{what}: {columns[row, place]:g}"
                )
        return cls(tuple(records), np.minimum(columns, diameter), diameter)

    def __getstate__(self) -> dict[str, Any]:
        """Covariances stay behind: whoever reads records elsewhere has no use for their k² numbers."""
        return {name: value for name, value in vars(self).items() if name != "kernels"}

    def read(self, records: Sequence[Any]) -> FloatArray:
        """Private records as their columns: float64[n, k]."""
        return np.asarray(self.columns[np.array([self.find(record) for record in records], dtype=np.int64)])

    def find(self, record: Any) -> int:
        """The place of a record; 0 for a stranger, whatever it is. Text and numbers are found by spelling, too."""
        with SuppressFailures():  # whatever a private object does when it is compared
            found = self._places.get(key(record))
            if found is None and isinstance(record, SPELT):
                found = self._spelt.get(str(record))
            return found or 0
        return 0

    @cached_property
    def _places(self) -> dict[Hashable, int]:
        return {key(record): place for place, record in enumerate(self.records)}

    @cached_property
    def _spelt(self) -> dict[str, int]:
        """As in a file, the first of those that are spelt alike."""
        spelt = [(str(record), place) for place, record in enumerate(self.records) if isinstance(record, SPELT)]
        return dict(reversed(spelt))

    @cached_property
    def kernels(self) -> tuple[Kernel, ...]:
        """Covariances that are optimised for the columns, as sums have them: in quanta."""
        if self.columns.shape[1] > MAX_QUERIES:
            raise MilepostError(
                f"field answers up to {MAX_QUERIES:,} queries of a universe, got {self.columns.shape[1]:,}"
            )
        quanta = np.clip(np.rint(self.columns * (QUANTA / self.diameter)), 0, QUANTA).astype(np.int64)
        return tuple(self._kernel(found) for found in covariances(quanta))

    def _kernel(self, found: Covariance) -> Kernel:
        halves, anchors = found.matrix.diagonal() / 2, found.middle * (self.diameter / QUANTA)

        def apart(left: AnyArray, right: AnyArray) -> FloatArray:
            return np.asarray((halves[left][:, None] + halves[right] - found.matrix[np.ix_(left, right)]) / 2)

        def half(points: AnyArray) -> FloatArray:
            return np.asarray(halves[points])

        def anchor(points: AnyArray) -> FloatArray:
            return np.asarray(anchors[points])

        pair, single = (square * self.diameter**2 * SLACK for square in (found.pair, found.single))
        return Kernel(half, apart, anchor, pair, single, highest=1.0, off=0.0, rough=0.0)


def check_records(records: Sequence[Any], queries: int) -> None:
    """Refuse a list that is too long, empty, or has a record twice."""
    most = min(MAX_RECORDS, MAX_NUMBERS // queries)
    if not 1 <= len(records) <= most:
        raise MilepostError(
            f"universe must be a list of 1 to {most:,} records for {queries:,} queries, got {len(records):,}; where "
            "there are more, leave it out, or ask about fewer points"
        )
    places: dict[Hashable, int] = {}
    for place, record in enumerate(records):
        try:
            first = places.setdefault(key(record), place)
        except MilepostError:
            raise MilepostError(
                "records of universe=[…] must be text, numbers, tuples, lists or arrays of numbers, or hashable "
                f"objects, got a {type(record).__name__}"
            ) from None
        if first != place:
            raise MilepostError(f"universe must have every record once, but {record!r} is there twice")


def _measured(records: Sequence[Any], matrix: Callable[[Sequence[Any]], FloatArray]) -> FloatArray:
    """Distances of a block of public records; a failure is that of a record with a name."""
    with SuppressFailures():
        return matrix(records)
    return np.concatenate([_alone(record, matrix) for record in records])


def _alone(record: Any, matrix: Callable[[Sequence[Any]], FloatArray]) -> FloatArray:
    try:
        return matrix([record])
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise MilepostError(
            f"distance fails on {record!r}, which is in universe=[…]: {type(error).__name__}: {error}"
        ) from error
