"""The engine of Theorem 1: it tests every query and learns from a few.

All promises hold together, except with the failure probability.
"""

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from milepost._typing import AnyArray, FloatArray
from milepost.errors import warn
from milepost.mechanisms.base import warn_outside
from milepost.mechanisms.paper.game import PrivateGame
from milepost.mechanisms.paper.margins import Margins
from milepost.mechanisms.paper.tangents import convex_learner, interactive_error
from milepost.sessions.engine import Engine, Step
from milepost.spaces.base import Space
from milepost.statistics.sketch import Sketch


class GameEngine(Engine):
    """The private game, at cell borders.

    A step's `released` holds the border, values and counts of an update: int64[3, D]. It does not hold a threshold test
    that this engine has begun: an engine that continues from its steps begins another. Once no tests remain because of
    that, the hypothesis may be worse than Theorem 1 makes it, and nothing is promised.
    """

    mechanism = "tangents"

    def __init__(self, sketch: Sketch, space: Space, margins: Margins) -> None:
        self.space, self.margins = space, margins
        self.error = min(interactive_error(space.embedding, margins), space.embedding.sensitivity_bound)
        self.limit, self.max_updates = margins.queries, margins.updates
        self._bits = sketch.bits
        self._game = PrivateGame(convex_learner(space.embedding, margins), sketch.borders(), space.embedding, margins)

    def positions(self, queries: AnyArray) -> tuple[AnyArray, FloatArray]:
        """Return the nearest cell borders; the promise includes the distance to them."""
        positions = self.space.position(queries)
        warn_outside(positions, self.space.embedding)
        borders = np.clip(np.rint(positions / (1 << self._bits)), 0, self.space.embedding.span >> self._bits)
        return borders.astype(np.int64), np.zeros(len(queries))

    def key(self, position: AnyArray) -> bytes:
        """Return a digest of the borders, of which there may be thousands."""
        return blake2b(position.tobytes(), digest_size=16).digest()

    def answer(self, positions: AnyArray) -> list[Step]:
        """Test each position, and learn from those above the threshold."""
        steps = []
        for position, outcome in zip(positions, self._game.ask(positions), strict=True):
            hypothesis, tested, updated = outcome
            value = min(max(hypothesis + self.margins.alpha / 2, 0.0), self.space.embedding.sensitivity_bound)
            update = np.array([(line.border, line.value, line.count) for line in self._game.last], dtype=np.int64).T
            released = np.ascontiguousarray(update).tobytes() if updated else b""
            error = (
                self.error
                if tested or self._game.updates >= self.margins.updates
                else self.space.embedding.sensitivity_bound
            )
            steps.append(Step(self.key(position), value, error, updated, tested, self._game.new_epochs, released))
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
