"""The engine that answers all queries from one synopsis, without limit; it holds nothing of the table."""

from collections.abc import Sequence

import numpy as np

from milepost._typing import AnyArray, FloatArray
from milepost.sessions.engine import Engine, Step
from milepost.synopsis.synopsis import Synopsis


class SynopsisEngine(Engine):
    """An engine whose answers are those of a synopsis."""

    limit = None
    max_updates = 0

    def __init__(self, synopsis: Synopsis) -> None:
        self.synopsis, self.space, self.mechanism = synopsis, synopsis.space, synopsis.mechanism
        self.error = synopsis.error(synopsis.confidence)

    def positions(self, queries: AnyArray) -> tuple[AnyArray, FloatArray]:
        """Return the queries as they are."""
        return queries, np.zeros(len(queries))

    def key(self, position: AnyArray) -> bytes:
        """Return the bytes of the query's numbers."""
        return (position + 0.0).tobytes()

    def replay(self, steps: Sequence[Step]) -> None:
        """Do nothing: there is nothing to learn from steps."""

    def answer(self, positions: AnyArray) -> list[Step]:
        """Answer without a look at the data."""
        statistic, embedded = self.synopsis.statistic, self.synopsis.positions(positions)
        values, errors = statistic.values(embedded), statistic.half_widths(embedded, self.synopsis.confidence)
        answers = zip(positions, values.tolist(), np.minimum(errors, statistic.max_error).tolist(), strict=True)
        return [Step(self.key(position), value, error) for position, value, error in answers]
