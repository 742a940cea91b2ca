"""Session: data that stays, queries that arrive one by one (the paper's interactive setting, Theorem 1)."""

from dataclasses import dataclass
from threading import Lock
from types import TracebackType
from typing import Any, NoReturn, Self

import numpy as np

from milepost import data
from milepost.arrays import FloatArray
from milepost.errors import MilepostError
from milepost.mechanisms.game import PrivateGame
from milepost.mechanisms.margins import Margins
from milepost.mechanisms.tangents import convex_learner, interactive_error
from milepost.privacy.change import Change
from milepost.privacy.guarantee import Guarantee
from milepost.spaces.base import QUANTA, Space
from milepost.statistics.sketch import Sketch
from milepost.synopsis import warn_outside


@dataclass(frozen=True)
class Answer:
    """One answer: |value − truth| ≤ error for all answers of a session at once, with probability 1 − beta.

    updated: whether the session learned from the data for this query. remaining: queries still allowed.
    tested: False once all updates are used and the hypothesis is final; the promise stays.
    """

    value: float
    error: float
    updated: bool
    remaining: int
    tested: bool = True


class Session:
    """Answers adaptively chosen queries from a table that stays where it is; made by `mp.interactive`.

    The whole transcript is private under `guarantee`, which was spent when the session began.
    """

    def __init__(self, sketch: Sketch, space: Space, guarantee: Guarantee, change: Change, margins: Margins) -> None:
        self.space, self.guarantee, self.change, self.margins = space, guarantee, change, margins
        self.error = min(interactive_error(space.hosts, margins), space.hosts.reach)
        self.asked = 0
        self._lock = Lock()  # one caller at a time: two would read the same budget twice
        self._cells = sketch.cells
        learner = convex_learner(space.hosts, margins)
        self._game: PrivateGame | None = PrivateGame(learner, sketch.borders(), space.hosts, margins)

    @property
    def mechanism(self) -> str:
        """The name of the mechanism that answers."""
        return "tangents"

    @property
    def remaining(self) -> int:
        """How many queries may still be asked."""
        return self.margins.queries - self.asked

    @property
    def updates(self) -> int:
        """How often the session has learned from the data, at most `margins.updates`."""
        return self._open_game().updates

    def ask(self, point: Any) -> Answer:
        """The average distance from one point to the people in the table."""
        positions = self._positions(point)
        if len(positions) != 1:
            raise MilepostError(f"ask takes one point, got {len(positions)}; use ask_many")
        return self._answer(positions)[0]

    def ask_many(self, points: Any) -> list[Answer]:
        """One answer a point, in order, as if asked one after another."""
        return self._answer(self._positions(points))

    def _positions(self, points: Any) -> FloatArray:
        batch, _, _ = data.points(points, self.space.width)
        return self.space.place(self.space.read_queries(batch))

    def _answer(self, positions: FloatArray) -> list[Answer]:
        with self._lock:
            return self._answer_alone(positions)

    def _answer_alone(self, positions: FloatArray) -> list[Answer]:
        game = self._open_game()
        if len(positions) > self.remaining:
            raise MilepostError(
                f"{len(positions)} queries asked, {self.remaining} of max_queries={self.margins.queries} left; "
                "none was answered"
            )
        warn_outside(positions, stacklevel=5)
        borders = np.clip(np.rint(positions * (self._cells / QUANTA)), 0, self._cells).astype(np.int64)
        answers = []
        for hypothesis, tested, updated in game.ask(borders):
            self.asked += 1
            value = min(max(hypothesis + self.margins.alpha / 2, 0.0), self.space.hosts.reach)
            answers.append(Answer(value, self.error, updated, self.remaining, tested))
        return answers

    def close(self) -> None:
        """Forget the data; nothing can be asked afterwards."""
        self._game = None

    def _open_game(self) -> PrivateGame:
        if self._game is None:
            raise MilepostError("the session is closed; its data is gone from memory")
        return self._game

    def __reduce__(self) -> NoReturn:
        raise MilepostError("a session holds private sums and a budget: it cannot be copied or pickled")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return (
            f"Session({self.space.kind}, n={self.margins.n:,}, {self.guarantee}, {self.mechanism}, ±{self.error:.4g}, "
            f"{self.asked:,} of {self.margins.queries:,} queries asked)"
        )
