"""The engine of Theorem 1: it tests every query and learns from a few.

All promises hold together, except with the failure probability.
"""

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from milepost._typing import FloatArray, IntArray
from milepost.errors import warn
from milepost.mechanisms.base import warn_outside
from milepost.mechanisms.paper.game import PrivateGame
from milepost.mechanisms.paper.margins import Margins
from milepost.mechanisms.paper.tangents import convex_learner, interactive_error
from milepost.sessions.engine import Engine, Step
from milepost.spaces.base import Space
from milepost.spaces.queries import Queries
from milepost.statistics.sketch import Sketch


class GameEngine(Engine):
    """The private game, at cell borders.

    A step's `released` holds the border, values and counts of an update: int64[3, D]. It does not hold a threshold test
    that this engine has begun: an engine that continues from its steps begins another. Once no tests remain because of
    that, the hypothesis may be worse than Theorem 1 makes it, and nothing is promised.
    """

    mechanism = "tangents"
    takes_weighted_distances = False

    def __init__(self, sketch: Sketch, space: Space, margins: Margins) -> None:
        self.space, self.margins = space, margins
        self.error = min(interactive_error(space.embedding, margins), space.embedding.sensitivity_bound)
        self.confidence = 1 - margins.failure_probability
        self.limit, self.max_updates = margins.queries, margins.updates
        self._bits = sketch.bits
        self._game = PrivateGame(convex_learner(space.embedding, margins), sketch.borders(), space.embedding, margins)

    def positions(self, queries: Queries) -> tuple[Queries, FloatArray]:
        """Return the queries as they are: the promise includes the distance to the nearest cell borders."""
        warn_outside(self.space.position(queries.points), self.space.embedding)
        return queries.at(queries.points), np.zeros(queries.count)

    def keys(self, queries: Queries) -> list[bytes]:
        """Return digests of the nearest borders, of which there may be thousands."""
        return [self._key(border) for border in self._borders(queries)]

    def _borders(self, queries: Queries) -> IntArray:
        """Return the nearest cell borders of points: int64[k, D]."""
        positions = self.space.position(queries.points)
        borders = np.clip(np.rint(positions / (1 << self._bits)), 0, self.space.embedding.span >> self._bits)
        return borders.astype(np.int64)

    @staticmethod
    def _key(border: IntArray) -> bytes:
        return blake2b(border.tobytes(), digest_size=16).digest()

    def answer(self, queries: Queries) -> list[Step]:
        """Test each query, and learn from those above the threshold."""
        steps, borders = [], self._borders(queries)
        for border, outcome in zip(borders, self._game.ask(borders), strict=True):
            hypothesis, tested, updated = outcome
            value = min(max(hypothesis + self.margins.alpha / 2, 0.0), self.space.embedding.sensitivity_bound)
            update = np.array([(line.border, line.value, line.count) for line in self._game.last], dtype=np.int64).T
            released = np.ascontiguousarray(update).tobytes() if updated else b""
            error = (
                self.error
                if tested or self._game.updates >= self.margins.updates
                else self.space.embedding.sensitivity_bound
            )
            steps.append(Step(self._key(border), value, error, updated, tested, self._game.new_epochs, released))
        if any(step.error > self.error for step in steps):
            warn(
                f"the session has begun all of its {self.margins.updates} tests, and was opened anew before some had "
                "ended: new answers are promised nothing; begin another session, which spends again"
            )
        return steps

    def replay(self, steps: Sequence[Step]) -> None:
        """Learn from the updates of other engines."""
        for step in steps:
            read = np.frombuffer(step.released, dtype=np.int64).reshape(3, -1) if step.updated else None
            self._game.replay(step.opened, read)
