"""Universe: a public list of all possible records, and their distances to the queries.

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
TEXT_TYPES = (str, int, float, tuple)  # records that are also found by their text
BLOCK = 1 << 22  # distances that are computed at a time


@dataclass(frozen=True, eq=False)
class Universe:
    """Public records and their columns: float64[N, k], the distances of each to the queries, within 0..diameter.

    A private record has the column of the equal public record, or of the first where none is equal. So an image is one
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
        """Return the universe of records. matrix: the user's distances of records to the queries."""
        check_records(records, len(queries))
        rows = max(1, BLOCK // len(queries))
        parts = [_distances(records[start : start + rows], matrix) for start in range(0, len(records), rows)]
        columns = np.concatenate(parts)
        for what, wrong in (("not a number", np.isnan(columns)), ("negative", columns < 0)):
            if wrong.any():
                row, column = (int(k) for k in np.argwhere(wrong)[0])
                raise MilepostError(
                    f"the distance from {records[row]!r}, which is in universe=[…], to query {queries[column]!r} is "
                    f"{what}: {columns[row, column]:g}"
                )
        return cls(tuple(records), np.minimum(columns, diameter), diameter)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without covariances: a process that reads records does not need their k² numbers."""
        return {name: value for name, value in vars(self).items() if name != "kernels"}

    def read(self, records: Sequence[Any]) -> FloatArray:
        """Return the columns of private records: float64[n, k]."""
        return np.asarray(self.columns[np.array([self.find(record) for record in records], dtype=np.int64)])

    def find(self, record: Any) -> int:
        """Return the index of a record, 0 for any unknown object. Text and numbers are also found by their text."""
        with SuppressFailures():  # anything that a private object raises when it is compared
            index = self._indices.get(key(record))
            if index is None and isinstance(record, TEXT_TYPES):
                index = self._indices_by_text.get(str(record))
            return index or 0
        return 0

    @cached_property
    def _indices(self) -> dict[Hashable, int]:
        return {key(record): index for index, record in enumerate(self.records)}

    @cached_property
    def _indices_by_text(self) -> dict[str, int]:
        """Indices of records by their text, as a file has them; the first of records with the same text."""
        pairs = [(str(record), index) for index, record in enumerate(self.records) if isinstance(record, TEXT_TYPES)]
        return dict(reversed(pairs))

    @cached_property
    def kernels(self) -> tuple[Kernel, ...]:
        """Covariances that are optimised for the columns in quanta, which sums consist of."""
        if self.columns.shape[1] > MAX_QUERIES:
            raise MilepostError(
                f"field answers up to {MAX_QUERIES:,} queries of a universe, got {self.columns.shape[1]:,}"
            )
        quanta = np.clip(np.rint(self.columns * (QUANTA / self.diameter)), 0, QUANTA).astype(np.int64)
        return tuple(self._kernel(covariance) for covariance in covariances(quanta))

    def _kernel(self, covariance: Covariance) -> Kernel:
        matrix = covariance.matrix
        halves, anchors = matrix.diagonal() / 2, covariance.middle * (self.diameter / QUANTA)

        def apart(left: AnyArray, right: AnyArray) -> FloatArray:
            return np.asarray((halves[left][:, None] + halves[right] - matrix[np.ix_(left, right)]) / 2)

        def half(points: AnyArray) -> FloatArray:
            return np.asarray(halves[points])

        def anchor(points: AnyArray) -> FloatArray:
            return np.asarray(anchors[points])

        pair, single = (square * self.diameter**2 * SLACK for square in (covariance.pair, covariance.single))
        rounding = 0.51 * self.diameter / QUANTA  # weighted sums are computed from columns that are not in quanta
        return Kernel(half, apart, anchor, pair, single, 1.0, 0.0, 0.0, combination_error=rounding)


def check_records(records: Sequence[Any], queries: int) -> None:
    """Refuse a list that is too long, empty, or has a record twice."""
    max_records = min(MAX_RECORDS, MAX_NUMBERS // queries)
    if not 1 <= len(records) <= max_records:
        raise MilepostError(
            f"universe must be a list of 1 to {max_records:,} records for {queries:,} queries, got {len(records):,}; "
            "where there are more, leave it out, or ask about fewer points"
        )
    indices: dict[Hashable, int] = {}
    for index, record in enumerate(records):
        try:
            first = indices.setdefault(key(record), index)
        except MilepostError:
            raise MilepostError(
                "records of universe=[…] must be text, numbers, tuples, lists or arrays of numbers, or hashable "
                f"objects, got a {type(record).__name__}"
            ) from None
        if first != index:
            raise MilepostError(f"universe must have every record once, but {record!r} is there twice")


def _distances(records: Sequence[Any], matrix: Callable[[Sequence[Any]], FloatArray]) -> FloatArray:
    """Return the distances of a block of public records; an error names the record."""
    with SuppressFailures():
        return matrix(records)
    return np.concatenate([_record_distances(record, matrix) for record in records])


def _record_distances(record: Any, matrix: Callable[[Sequence[Any]], FloatArray]) -> FloatArray:
    try:
        return matrix([record])
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise MilepostError(
            f"distance fails on {record!r}, which is in universe=[…]: {type(error).__name__}: {error}"
        ) from error
