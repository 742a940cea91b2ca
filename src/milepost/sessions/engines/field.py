"""FieldEngine: every new query is answered from the data, with noise correlated to that of the ones before."""

from collections.abc import Sequence

import numpy as np

from milepost._typing import AnyArray, FloatArray
from milepost.ingest.aggregation import check_count
from milepost.ingest.record_source import RecordSource, max_query_shift
from milepost.mechanisms.query.field import Field, FieldNoise, Innovations, noisy_sums, session_prediction
from milepost.mechanisms.totals import Total
from milepost.sessions.engine import Engine, Step
from milepost.spaces.base import Space
from milepost.spaces.queries import Queries, move_inside

CONFIDENCE = 0.95  # of an answer's error


class FieldEngine(Engine):
    """Innovations of a source's sums.

    A step's `released` holds its point, float64[columns], its row of the factor and its noisy innovation, int64: no
    other computer's arithmetic is needed to go on from it.
    """

    mechanism = Field.name

    def __init__(self, source: RecordSource, space: Space, noise: FieldNoise, total: Total) -> None:
        self.space, self.total = space, total
        self.error = session_prediction(noise, total.size, space.diameter, max_query_shift(space)).error
        self.limit = self.max_updates = noise.max_points
        self._source = source
        self._innovations = Innovations(noise, source.total)

    def positions(self, queries: AnyArray) -> tuple[AnyArray, FloatArray]:
        """Inside the space, and where the source has sums."""
        return self._source.shifted(move_inside(self.space, queries))

    def key(self, place: AnyArray) -> bytes:
        """The point's numbers; 0.0 and −0.0 are the same."""
        return (place + 0.0).tobytes()

    def answer(self, places: AnyArray) -> list[Step]:
        """All at once."""
        innovations = self._innovations
        if len(innovations.behind):
            innovations.sync(self._sums(innovations.behind))
        first = len(innovations.noisy)
        found = innovations.ask(places, self._sums(places))
        statistic = noisy_sums(Queries(places, self.space), self.total, innovations.noise, *found)
        every = np.arange(len(places))
        values, errors = (
            statistic.values(every),
            np.minimum(statistic.half_widths(every, CONFIDENCE), statistic.max_error),
        )
        steps: list[Step] = []
        for place, value, error in zip(places, values.tolist(), errors.tolist(), strict=True):
            number = first + len(steps)
            whole = np.append(innovations.factor.row(number).astype(np.int64), innovations.noisy[number])
            released = place.astype(np.float64).tobytes() + whole.astype(np.int64).tobytes()
            steps.append(Step(self.key(place), value, error, True, True, 0, released))
        return steps

    def replay(self, steps: Sequence[Step]) -> None:
        """Take over points, rows and noisy innovations; exact ones are worked out when they are needed."""
        for step in steps:
            width = self.space.width
            point = np.frombuffer(step.released, dtype=np.float64, count=width)
            whole = np.frombuffer(step.released, dtype=np.int64, offset=8 * width)
            self._innovations.restore(point[None], [whole[:-1].astype(np.float64)], [int(whole[-1])])

    def _sums(self, points: AnyArray) -> list[int]:
        sums = self._source.sums(Queries(points, self.space))
        check_count(int(sums.totals[0]), self._source.total)
        result: list[int] = sums.values[0].tolist()
        return result
