"""The engine that answers every new query from the data, with noise correlated to that of earlier queries."""

from collections.abc import Sequence

import numpy as np

from milepost._typing import FloatArray
from milepost.ingest.record_source import RecordSource, max_query_shift
from milepost.ingest.table import check_count
from milepost.mechanisms.query.field import Field, FieldNoise, Innovations, noisy_sums, session_prediction
from milepost.mechanisms.totals import Total
from milepost.sessions.engine import Engine, Step, query_bytes, read_query_bytes
from milepost.spaces.base import Space
from milepost.spaces.queries import Queries, move_inside


class FieldEngine(Engine):
    """An engine that releases noisy innovations of a source's sums.

    A step's `released` holds its query, as `query_bytes` writes it, its row of the factor and its noisy innovation,
    int64: to continue from it does not depend on the arithmetic of the computer that made it.
    """

    mechanism = Field.name
    confidence = 0.95

    def __init__(self, source: RecordSource, space: Space, noise: FieldNoise, total: Total) -> None:
        self.space, self.total = space, total
        self.error = session_prediction(noise, total.size, space.diameter, max_query_shift(space)).error
        self.limit = self.max_updates = noise.max_points
        self._source = source
        self._innovations = Innovations(noise, source.total)

    def positions(self, queries: Queries) -> tuple[Queries, FloatArray]:
        """Return the queries at points inside the space at which the source has sums, and the error that each adds."""
        points, shifts = self._source.shift_queries(move_inside(self.space, queries.points))
        return queries.at(points), queries.sum_errors(shifts)

    def keys(self, queries: Queries) -> list[bytes]:
        """Return the bytes of each query's numbers; 0.0 and −0.0 are the same."""
        return query_bytes(queries)

    def answer(self, queries: Queries) -> list[Step]:
        """Answer all queries at once."""
        innovations = self._innovations
        if len(innovations.unsynced_points):
            innovations.sync(self._sums(Queries.of_sums(innovations.unsynced_points, self.space)))
        first = len(innovations.noisy)
        sums = innovations.ask(queries.combinations, self._sums(queries))
        statistic = noisy_sums(queries, self.total, innovations.noise, *sums)
        indices = np.arange(queries.count)
        values = statistic.values(indices)
        errors = np.minimum(statistic.half_widths(indices, self.confidence), statistic.max_error)
        steps: list[Step] = []
        for key, value, error in zip(self.keys(queries), values.tolist(), errors.tolist(), strict=True):
            number = first + len(steps)
            integers = np.append(innovations.factor.row(number).astype(np.int64), innovations.noisy[number])
            steps.append(Step(key, value, error, True, True, 0, key + integers.astype(np.int64).tobytes()))
        return steps

    def replay(self, steps: Sequence[Step]) -> None:
        """Restore queries, rows and noisy innovations; exact ones are computed when they are needed."""
        for step in steps:
            count = len(self._innovations.noisy) + 2  # the row up to the diagonal, and the innovation
            query = read_query_bytes(self.space, step.released[: -8 * count])
            integers = np.frombuffer(step.released[-8 * count :], dtype=np.int64)
            row, noisy = [integers[:-1].astype(np.float64)], [int(integers[-1])]
            self._innovations.restore(query.combinations, row, noisy)

    def _sums(self, queries: Queries) -> list[int]:
        sums = self._source.sums(queries)
        check_count(int(sums.totals[0]), self._source.total)
        result: list[int] = sums.values[0].tolist()
        return result
