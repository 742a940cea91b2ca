"""The engine that answers all queries from one synopsis, without limit; it holds nothing of the table."""

from collections.abc import Sequence

import numpy as np

from milepost._typing import FloatArray
from milepost.answers.query_answers import query_answers
from milepost.sessions.engine import Engine, Step, query_bytes
from milepost.spaces.queries import Queries
from milepost.synopsis.synopsis import Synopsis


class SynopsisEngine(Engine):
    """An engine whose answers are those of a synopsis."""

    limit = None
    max_updates = 0

    def __init__(self, synopsis: Synopsis) -> None:
        self.synopsis, self.space, self.mechanism = synopsis, synopsis.space, synopsis.mechanism
        self.confidence = synopsis.confidence
        self.error = synopsis.error(self.confidence)

    def positions(self, queries: Queries) -> tuple[Queries, FloatArray]:
        """Return the queries as they are."""
        return queries.at(queries.points), np.zeros(queries.count)

    def keys(self, queries: Queries) -> list[bytes]:
        """Return the bytes of each query's numbers."""
        return query_bytes(queries)

    def replay(self, steps: Sequence[Step]) -> None:
        """Do nothing: there is nothing to learn from steps."""

    def answer(self, queries: Queries) -> list[Step]:
        """Answer without a look at the data."""
        values, errors = query_answers(self.synopsis, queries, self.confidence)
        answers = zip(self.keys(queries), values.tolist(), errors.tolist(), strict=True)
        return [Step(key, value, error) for key, value, error in answers]
