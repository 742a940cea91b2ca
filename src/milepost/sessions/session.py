"""Sessions: queries that arrive one by one about data that stays (the paper's interactive setting)."""

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from types import TracebackType
from typing import Any, NoReturn, Self

import numpy as np

from milepost._typing import AnyArray
from milepost.errors import ConflictError, LimitExceededError, MilepostError
from milepost.ingest.query_points import query_points
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.protected_change import ProtectedChange
from milepost.sessions.engine import Engine, Step
from milepost.sessions.engines.synopsis import SynopsisEngine
from milepost.sessions.transcript import MemoryTranscript, Question, Transcript, TranscriptLog
from milepost.synopsis.synopsis import Synopsis


@dataclass(frozen=True)
class Answer:
    """One answer: |value − truth| ≤ error, at the session's confidence.

    updated: whether the session learned from the data for this query. remaining: queries still allowed, None without
    limit. tested: False where the answer comes from a final hypothesis, a synopsis or the transcript, with no look at
    the data.
    """

    value: float
    error: float
    updated: bool
    remaining: int | None
    tested: bool = True


class Session:
    """A session that answers adaptively chosen queries about a table; made by `mp.interactive`.

    The whole transcript is private under `guarantee`, which was spent when the session began. A query that was asked
    before, at the same position, has the same answer and is free.
    """

    def __init__(
        self,
        engine: Callable[[], Engine],
        guarantee: Guarantee,
        change: ProtectedChange,
        n: int,
        transcript: Transcript | None = None,
    ) -> None:
        self._make_engine, self._engine = engine, engine()
        self._transcript: Transcript = MemoryTranscript() if transcript is None else transcript
        self._steps: list[Step] = []
        self._numbers: dict[bytes, int] = {}  # of steps, by the keys of their positions
        self.space, self.mechanism, self.error = self._engine.space, self._engine.mechanism, self._engine.error
        self.guarantee, self.change, self.n = guarantee, change, n
        self.limit, self.max_updates = self._engine.limit, self._engine.max_updates
        self.asked = 0  # queries through this object, repeated ones included
        self.closed = False
        self._lock = Lock()  # one caller at a time: two would read the same budget twice
        self._process = os.getpid()

    @property
    def remaining(self) -> int | None:
        """Return how many different queries may still be asked; None without limit."""
        return None if self.limit is None else self.limit - len(self._steps)

    @property
    def updates(self) -> int:
        """Return how often the session has learned from the data."""
        return sum(step.updated for step in self._steps)

    @property
    def synopsis(self) -> Synopsis | None:
        """Return the synopsis that answers, if one does."""
        engine = None if self.closed else self._engine
        return engine.synopsis if isinstance(engine, SynopsisEngine) else None

    def ask(self, point: Any, *, name: str | None = None) -> Answer:
        """Return the average distance from one point to the people in the table.

        name: of the question. Asked again by the same name, it has the same answer; with another point it is refused.
        """
        queries = self._queries(point)
        if len(queries) != 1:
            raise MilepostError(f"ask takes one point, got {len(queries)}; use ask_many")
        return self._answer(queries, None if name is None else [name])[0]

    def ask_many(self, points: Any, *, names: Sequence[str] | None = None) -> list[Answer]:
        """Return one answer a point, in order, as if asked one after another. names: of the questions, one a point."""
        return self._answer(self._queries(points), names)

    def check(self, point: Any) -> None:
        """Refuse a point that `ask` would refuse; asks and spends nothing."""
        queries = self._queries(point)
        if len(queries) != 1:
            raise MilepostError(f"expected one point, got {len(queries)}")
        with self._lock:
            self._check_open()
            self._engine.positions(queries)

    def transcript(self) -> list[tuple[str, Any, Answer]]:
        """Return named questions with their points, as a user writes them, and their answers."""
        with self._lock:
            self._check_open()
            with self._transcript.writing() as log:
                self._catch_up(log)
            questions = self._transcript.questions()
            if not questions:
                return []
            points = np.array([np.frombuffer(question.point) for question in questions])
            _, shifts = self._engine.positions(points)
            return [
                (
                    question.name,
                    self.space.user_point(point),
                    self._make_answer(question.number, float(shift), False, len(self._steps)),
                )
                for question, point, shift in zip(questions, points, shifts, strict=True)
            ]

    def go_on(self, log: TranscriptLog) -> None:
        """Continue from the steps that the transcript has already."""
        with self._lock:
            self._catch_up(log)

    def close(self) -> None:
        """Forget the data; nothing can be asked afterwards."""
        with self._lock:
            self.closed, self._make_engine = True, _refuse_closed
            self.__dict__.pop("_engine", None)

    def _queries(self, points: Any) -> AnyArray:
        batch, _, _ = query_points(points, self.space)
        return self.space.read_queries(batch)

    def _check_open(self) -> None:
        if self.closed:
            raise MilepostError("the session is closed; its data is gone from memory")
        if os.getpid() != self._process and self.limit is not None:  # a fork, whose noise is the parent's too
            if not self._transcript.durable:
                raise MilepostError(
                    "this session belongs to another process, of which this one is a fork: both would spend its "
                    "budget; give it a store, which processes may share"
                )
            self._process = os.getpid()
            self._reset()

    def _answer(self, queries: AnyArray, names: Sequence[str] | None) -> list[Answer]:
        _check_names(names, len(queries))
        with self._lock:
            self._check_open()
            positions, shifts = self._engine.positions(queries)
            if names is None and self.limit is None and not self._transcript.durable:  # nothing is spent or recorded
                self.asked += len(queries)
                return [Answer(step.value, step.error, False, None, False) for step in self._engine.answer(positions)]
            count: int | None = None
            try:
                with self._transcript.writing() as log:
                    self._catch_up(log)
                    fresh = self._new(positions)
                    questions = self._new_questions(log, queries, names)
                    count = len(self._steps)
                    if fresh:
                        self._append(self._engine.answer(positions[list(fresh.values())]))
                    numbers = [self._numbers[self._engine.key(position)] for position in positions]
                    log.add(self._steps[count:], [Question(name, point, numbers[at]) for name, point, at in questions])
            except BaseException:
                if count is not None:
                    self._recover()
                raise
            self.asked += len(queries)
            new, answers = set(fresh.values()), []
            for index, (number, shift) in enumerate(zip(numbers, shifts.tolist(), strict=True)):
                count += index in new
                answers.append(self._make_answer(number, shift, index in new, count))
            return answers

    def _make_answer(self, number: int, shift: float, new: bool, count: int) -> Answer:
        """Return the answer of a step. new: whether this question made the step; count: of steps up to then."""
        step, left = self._steps[number], None if self.limit is None else self.limit - count
        error = min(step.error + shift, self.space.diameter)
        return Answer(step.value, error, new and step.updated, left, new and step.tested)

    def _new(self, positions: AnyArray) -> dict[bytes, int]:
        """Return the indices of positions that were not asked about before, by key, in order; refuse too many."""
        keys = [self._engine.key(position) for position in positions]
        first = {key: index for index, key in reversed(list(enumerate(keys))) if key not in self._numbers}
        fresh = dict(sorted(first.items(), key=lambda item: item[1]))
        if self.remaining is not None and len(fresh) > self.remaining:
            queries = "query" if len(fresh) == 1 else "queries"
            raise LimitExceededError(
                f"{len(fresh)} {queries} asked, {self.remaining} of max_queries={self.limit} left; none was answered"
            )
        return fresh

    def _new_questions(
        self, log: TranscriptLog, queries: AnyArray, names: Sequence[str] | None
    ) -> list[tuple[str, bytes, int]]:
        """Return new names with their points and query indices; refuse a name that another point has."""
        result: dict[str, tuple[bytes, int]] = {}
        for index, name in enumerate(names or ()):
            point = (queries[index] + 0.0).tobytes()
            question = log.find(name)
            earlier = result[name][0] if name in result else None if question is None else question.point
            if earlier is not None and earlier != point:
                raise ConflictError(f"the question {name!r} was asked about another point; give this one another name")
            if earlier is None:
                result[name] = point, index
        return [(name, point, index) for name, (point, index) in result.items()]

    def _catch_up(self, log: TranscriptLog) -> None:
        """Continue from what other processes answered since; refuse a transcript that lacks steps of this session."""
        count = len(self._steps)
        steps = log.steps(max(0, count - 1))
        if count and steps[:1] != self._steps[-1:]:
            raise MilepostError(
                "the session's store lacks answers that it had: another file, such as a backup, was put in its place; "
                "put back the one with all answers, or nothing can be asked"
            )
        try:
            self._engine.replay(steps[min(count, 1) :])
            self._append(steps[min(count, 1) :])
        except BaseException:
            self._reset()
            raise

    def _append(self, steps: Sequence[Step]) -> None:
        for step in steps:
            self._numbers[step.key] = len(self._steps)
            self._steps.append(step)

    def _recover(self) -> None:
        """Start again from the transcript after a failure that leaves open what was written; if that fails, later."""
        self._reset()
        with suppress(MilepostError), self._transcript.writing() as log:
            self._catch_up(log)

    def _reset(self) -> None:
        self._engine, self._steps, self._numbers = self._make_engine(), [], {}

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
            f"{len(self._steps):,}{limit} queries asked)"
        )


def _check_names(names: Sequence[str] | None, count: int) -> None:
    if names is None:
        return
    if isinstance(names, str) or len(names) != count:
        raise MilepostError(f"names must be a list of one name a point, for {count} points, got {names!r}")
    for name in names:
        if not isinstance(name, str) or not (1 <= len(name) <= 200 and name.isprintable()):
            raise MilepostError(f"the name of a question must be one line of 1 to 200 letters, got {name!r}")


def _refuse_closed() -> Engine:
    raise MilepostError("the session is closed; its data is gone from memory")
