"""The engine that answers every new query from the data, with noise correlated to that of earlier queries."""

from collections.abc import Sequence

import numpy as np

from milepost._typing import AnyArray, FloatArray
from milepost.ingest.record_source import RecordSource, max_query_shift
from milepost.ingest.table import check_count
from milepost.mechanisms.query.field import Field, FieldNoise, Innovations, noisy_sums, session_prediction
from milepost.mechanisms.totals import Total
from milepost.sessions.engine import Engine, Step
from milepost.spaces.base import Space
from milepost.spaces.queries import Queries, move_inside

CONFIDENCE = 0.95  # of an answer's error


class FieldEngine(Engine):
    """An engine that releases noisy innovations of a source's sums.

    A step's `released` holds its point, float64[columns], its row of the factor and its noisy innovation, int64: to
    continue from it does not depend on the arithmetic of the computer that made it.
    """

    mechanism = Field.name

    def __init__(self, source: RecordSource, space: Space, noise: FieldNoise, total: Total) -> None:
        self.space, self.total = space, total
        self.error = session_prediction(noise, total.size, space.diameter, max_query_shift(space)).error
        self.limit = self.max_updates = noise.max_points
        self._source = source
        self._innovations = Innovations(noise, source.total)

    def positions(self, queries: AnyArray) -> tuple[AnyArray, FloatArray]:
        """Return the positions inside the space at which the source has sums, and the error that each adds."""
        return self._source.shift_queries(move_inside(self.space, queries))

    def key(self, position: AnyArray) -> bytes:
        """Return the bytes of the point's numbers; 0.0 and −0.0 are the same."""
        return (position + 0.0).tobytes()

    def answer(self, positions: AnyArray) -> list[Step]:
        """Answer all positions at once."""
        innovations = self._innovations
        if len(innovations.unsynced_points):
            innovations.sync(self._sums(innovations.unsynced_points))
        first = len(innovations.noisy)
        sums = innovations.ask(positions, self._sums(positions))
        statistic = noisy_sums(Queries(positions, self.space), self.total, innovations.noise, *sums)
        indices = np.arange(len(positions))
        values = statistic.values(indices)
        errors = np.minimum(statistic.half_widths(indices, CONFIDENCE), statistic.max_error)
        steps: list[Step] = []
        for position, value, error in zip(positions, values.tolist(), errors.tolist(), strict=True):
            number = first + len(steps)
            integers = np.append(innovations.factor.row(number).astype(np.int64), innovations.noisy[number])
            released = position.astype(np.float64).tobytes() + integers.astype(np.int64).tobytes()
            steps.append(Step(self.key(position), value, error, True, True, 0, released))
        return steps

    def replay(self, steps: Sequence[Step]) -> None:
        """Restore points, rows and noisy innovations; exact ones are computed when they are needed."""
        for step in steps:
            width = self.space.width
            point = np.frombuffer(step.released, dtype=np.float64, count=width)
            integers = np.frombuffer(step.released, dtype=np.int64, offset=8 * width)
            self._innovations.restore(point[None], [integers[:-1].astype(np.float64)], [int(integers[-1])])

    def _sums(self, points: AnyArray) -> list[int]:
        sums = self._source.sums(Queries(points, self.space))
        check_count(int(sums.totals[0]), self._source.total)
        result: list[int] = sums.values[0].tolist()
        return result
