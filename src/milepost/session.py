"""Session: data that stays, queries that arrive one by one (the paper's interactive setting)."""

from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass
from threading import Lock
from types import TracebackType
from typing import Any, NoReturn, Self

import numpy as np

from milepost import data
from milepost.arrays import AnyArray
from milepost.errors import MilepostError
from milepost.mechanisms.base import warn_outside
from milepost.mechanisms.field import Field, Innovations, Noise, noisy_sums, session_prediction
from milepost.mechanisms.game import PrivateGame
from milepost.mechanisms.margins import Margins
from milepost.mechanisms.tangents import convex_learner, interactive_error
from milepost.mechanisms.totals import Total, check_total
from milepost.privacy.change import Change
from milepost.privacy.guarantee import Guarantee
from milepost.reading import check_count
from milepost.source import Source
from milepost.spaces.base import Space
from milepost.spaces.queries import Queries, key_of, moved_inside
from milepost.statistics.sketch import Sketch
from milepost.synopsis import Synopsis

CONFIDENCE = 0.95  # of an answer's error


@dataclass(frozen=True)
class Answer:
    """One answer: |value − truth| ≤ error, at the session's confidence.

    updated: whether the session learned from the data for this query. remaining: queries still allowed, None without
    limit. tested: False where the answer comes from a final hypothesis or a synopsis, with no look at the data.
    """

    value: float
    error: float
    updated: bool
    remaining: int | None
    tested: bool = True


class Session(ABC):
    """Answers adaptively chosen queries from a table that stays where it is; made by `mp.interactive`.

    The whole transcript is private under `guarantee`, which was spent when the session began.
    """

    def __init__(
        self, space: Space, guarantee: Guarantee, change: Change, n: int, mechanism: str, error: float
    ) -> None:
        self.space, self.guarantee, self.change, self.n = space, guarantee, change, n
        self.mechanism, self.error = mechanism, error
        self.asked = 0
        self.updates = self.most_updates = 0  # how often it has learned from the data, and may at most
        self.limit: int | None = None  # of queries, those that were asked before not counted where they are free
        self.closed = False
        self._lock = Lock()  # one caller at a time: two would read the same budget twice

    @property
    @abstractmethod
    def remaining(self) -> int | None:
        """How many queries may still be asked; None without limit."""

    def ask(self, point: Any) -> Answer:
        """The average distance from one point to the people in the table."""
        queries = self._queries(point)
        if len(queries) != 1:
            raise MilepostError(f"ask takes one point, got {len(queries)}; use ask_many")
        return self._answer(queries)[0]

    def ask_many(self, points: Any) -> list[Answer]:
        """One answer a point, in order, as if asked one after another."""
        return self._answer(self._queries(points))

    def close(self) -> None:
        """Forget the data; nothing can be asked afterwards."""
        self.closed = True

    def _queries(self, points: Any) -> AnyArray:
        batch, _, _ = data.points(points, self.space)
        return self.space.read_queries(batch)

    def _answer(self, queries: AnyArray) -> list[Answer]:
        with self._lock:
            if self.closed:
                raise MilepostError("the session is closed; its data is gone from memory")
            return self._answer_alone(queries)

    @abstractmethod
    def _answer_alone(self, queries: AnyArray) -> list[Answer]: ...

    def _check_left(self, asked: int) -> None:
        """Refuse more queries than are left."""
        if self.remaining is not None and asked > self.remaining:
            raise MilepostError(
                f"{asked} queries asked, {self.remaining} of max_queries={self.limit} left; none was answered"
            )

    def __reduce__(self) -> NoReturn:
        raise MilepostError("a session holds a budget and perhaps private sums: it cannot be copied or pickled")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        limit = "" if self.limit is None else f" of {self.limit:,}"
        about = "n=" if self.change.public_total else "n≈"
        return (
            f"Session({self.space.kind}, {about}{self.n:,}, {self.guarantee}, {self.mechanism}, ±{self.error:.4g}, "
            f"{self.asked:,}{limit} queries asked)"
        )


class TangentSession(Session):
    """Theorem 1: every query is tested, a few are learned from; all promises hold at once with probability 1 − beta."""

    def __init__(self, sketch: Sketch, space: Space, guarantee: Guarantee, change: Change, margins: Margins) -> None:
        error = min(interactive_error(space.hosts, margins), space.hosts.reach)
        super().__init__(space, guarantee, change, margins.n, "tangents", error)
        self.margins = margins
        self.limit = margins.queries
        self.most_updates = margins.updates
        self._bits = sketch.bits
        learner = convex_learner(space.hosts, margins)
        self._game: PrivateGame | None = PrivateGame(learner, sketch.borders(), space.hosts, margins)

    @property
    def remaining(self) -> int:
        """How many queries may still be asked."""
        return self.margins.queries - self.asked

    def close(self) -> None:
        """Forget the data; nothing can be asked afterwards."""
        super().close()
        self._game = None

    def _answer_alone(self, queries: AnyArray) -> list[Answer]:
        self._check_left(len(queries))
        positions = self.space.place(queries)
        warn_outside(positions, self.space.hosts)
        borders = np.clip(np.rint(positions / (1 << self._bits)), 0, self.space.hosts.span >> self._bits)
        answers = []
        for hypothesis, tested, updated in self._game.ask(borders.astype(np.int64)) if self._game else ():
            self.asked += 1
            self.updates += updated
            value = min(max(hypothesis + self.margins.alpha / 2, 0.0), self.space.hosts.reach)
            answers.append(Answer(value, self.error, updated, self.remaining, tested))
        return answers


class FieldSession(Session):
    """Every new query is answered from the data, with noise that the ones before have made smaller.

    A query asked before, at the same place, has the same answer and is free.
    """

    def __init__(
        self, source: Source, space: Space, guarantee: Guarantee, change: Change, noise: Noise, n: int
    ) -> None:
        exact = source.total
        check_total(exact, n, change)
        total = Total.draw(exact, noise.split.total, pure=False)
        error = session_prediction(noise, total.size, space.diameter).error
        super().__init__(space, guarantee, change, total.size, Field.name, error)
        self.limit = self.most_updates = noise.most
        self._source: Source | None = source
        self._total = total
        self._innovations: Innovations | None = Innovations(noise, exact)
        self._answers: dict[Hashable, tuple[float, float]] = {}

    @property
    def remaining(self) -> int:
        """How many different queries may still be asked."""
        return self.most_updates - self.updates

    def close(self) -> None:
        """Forget the data; nothing can be asked afterwards."""
        super().close()
        self._source = self._innovations = None

    def _answer_alone(self, queries: AnyArray) -> list[Answer]:
        source, innovations = self._source, self._innovations
        if source is None or innovations is None:
            return []
        points, away = source.moved(moved_inside(self.space, queries))
        keys = [key_of(point) for point in points]
        places = {key: place for place, key in reversed(list(enumerate(keys))) if key not in self._answers}
        fresh = dict.fromkeys(sorted(places.values()))
        self._check_left(len(fresh))
        if fresh:
            asked = Queries(points[list(fresh)], self.space)
            sums = source.sums(asked)
            check_count(int(sums.totals[0]), source.total)
            found = innovations.ask(asked.points, sums.values[0].tolist())
            answerer = noisy_sums(asked, self._total, innovations.noise, *found)
            every = np.arange(len(fresh))
            widths = np.minimum(answerer.half_widths(every, CONFIDENCE), answerer.most)
            pairs = zip(answerer.values(every).tolist(), widths.tolist(), strict=True)
            self._answers |= dict(zip((keys[place] for place in fresh), pairs, strict=True))
        answers = []
        for place, key in enumerate(keys):
            value, noise = self._answers[key]
            error, new = min(noise + float(away[place]), self.space.diameter), place in fresh
            self.asked += 1
            self.updates += new
            answers.append(Answer(value, error, new, self.remaining, new))
        return answers


class SynopsisSession(Session):
    """All queries answered from one synopsis: no limit, and nothing of the table is kept."""

    def __init__(self, synopsis: Synopsis) -> None:
        error = synopsis.error(synopsis.confidence)
        super().__init__(synopsis.space, synopsis.guarantee, synopsis.change, synopsis.n, synopsis.mechanism, error)
        self.synopsis = synopsis

    @property
    def remaining(self) -> None:
        """Without limit."""
        return

    def _answer_alone(self, queries: AnyArray) -> list[Answer]:
        positions = self.space.place(queries)
        values = self.synopsis.answerer.values(positions)
        errors = self.synopsis.answerer.half_widths(positions, self.synopsis.confidence)
        errors = np.minimum(errors, self.synopsis.answerer.most)
        self.asked += len(positions)
        pairs = zip(values.tolist(), errors.tolist(), strict=True)
        return [Answer(value, error, False, None, tested=False) for value, error in pairs]
