"""SynopsisEngine: all queries answered from one synopsis: no limit, and nothing of the table is kept."""

from collections.abc import Sequence

import numpy as np

from milepost._typing import AnyArray, FloatArray
from milepost.sessions.engine import Engine, Step
from milepost.synopsis.synopsis import Synopsis


class SynopsisEngine(Engine):
    """Answers are the synopsis's."""

    limit = None
    max_updates = 0

    def __init__(self, synopsis: Synopsis) -> None:
        self.synopsis, self.space, self.mechanism = synopsis, synopsis.space, synopsis.mechanism
        self.error = synopsis.error(synopsis.confidence)

    def positions(self, queries: AnyArray) -> tuple[AnyArray, FloatArray]:
        """As they are."""
        return queries, np.zeros(len(queries))

    def key(self, place: AnyArray) -> bytes:
        """The query's numbers."""
        return (place + 0.0).tobytes()

    def replay(self, steps: Sequence[Step]) -> None:
        """There is nothing to learn from them."""

    def answer(self, places: AnyArray) -> list[Step]:
        """No look at the data."""
        statistic, positions = self.synopsis.statistic, self.space.position(places)
        values, errors = statistic.values(positions), statistic.half_widths(positions, self.synopsis.confidence)
        found = zip(places, values.tolist(), np.minimum(errors, statistic.max_error).tolist(), strict=True)
        return [Step(self.key(place), value, error) for place, value, error in found]
