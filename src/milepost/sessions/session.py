"""Sessions: queries that arrive one by one about a fixed private table (the paper's interactive setting)."""

import math
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from threading import Lock
from types import TracebackType
from typing import Any, NoReturn, Self

from milepost.answers.estimate import Estimate
from milepost.errors import ConflictError, LimitExceededError, MilepostError
from milepost.ingest.query_points import read_queries
from milepost.mechanisms.query.field import Field
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.protected_change import ProtectedChange
from milepost.sessions.engine import Engine, Step, query_bytes, read_query_bytes
from milepost.sessions.engines.synopsis import SynopsisEngine
from milepost.sessions.transcript import MemoryTranscript, Question, Transcript, TranscriptLog
from milepost.spaces.base import Space
from milepost.spaces.distances.functions import WeightedDistances
from milepost.spaces.queries import Queries
from milepost.synopsis.synopsis import Synopsis

CLOSED = "the session is closed, and its data is deleted from memory. Begin or resume a session."


@dataclass(frozen=True)
class Answer(Estimate):
    """The answer to one query, an `Estimate`: |value − truth| ≤ error, with the session's confidence.

    Attributes
    ----------
    value : float
        The private average distance, or weighted sum of distances.
    low, high : float
        The ends of the interval value ± error; a distance has none below 0.
    confidence : float
        The probability that the interval holds the exact number; with `tangents`, that all intervals do.
    error : float
        The bound on the error of `value`.
    updated : bool
        Whether the session learned from the data for this query.
    remaining : int or None
        How many more queries the session allows; None without a limit.
    tested : bool
        False if the answer comes from a final hypothesis, a synopsis or the transcript, and the data was not read.

    Examples
    --------
    >>> import milepost as mp
    >>> space = mp.L1([(0, 10)])
    >>> session = mp.interactive([[4.0]] * 10_000, space, epsilon=5, delta=1e-6, max_queries=10, mechanism="field")
    >>> answer = session.ask([1.0])
    >>> abs(answer.value - 3) < 1, answer.remaining
    (True, 9)
    """

    error: float = math.inf  # as a field, since low may be cut at 0
    updated: bool = False
    remaining: int | None = None
    tested: bool = True


class Session:
    """A session that answers queries about a private table one by one; made by `mp.interactive` and `mp.resume`.

    The whole transcript is private under `guarantee`, which was spent when the session began; queries may depend on
    earlier answers. A query at the position of an earlier query gets the same answer and is free.

    Attributes
    ----------
    space : Space
        The space of the table and the queries.
    mechanism : str
        The mechanism that answers.
    error : float
        The bound on the error of every answer, without the error of moving a query into the space.
    guarantee : Guarantee
        The guarantee of the whole transcript.
    change : ProtectedChange
        The change of the table that the guarantee protects.
    n : int
        The number of rows, with noise if it is private.
    limit : int or None
        How many different queries the session answers; None for any number.
    max_updates : int
        The maximum number of times that the session learns from the data.
    asked : int
        How many queries were asked through this object, repeated ones included.
    closed : bool
        Whether the session is closed.

    Examples
    --------
    >>> import milepost as mp
    >>> space = mp.L1([(0, 10)])
    >>> rows = [[4.0]] * 10_000
    >>> with mp.interactive(rows, space, epsilon=5, delta=1e-6, max_queries=10, mechanism="field") as session:
    ...     answer = session.ask([1.0])
    >>> abs(answer.value - 3) < 1
    True
    """

    space: Space
    mechanism: str
    error: float
    guarantee: Guarantee
    change: ProtectedChange
    n: int
    limit: int | None
    max_updates: int
    asked: int
    closed: bool

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
        self._numbers: dict[bytes, int] = {}  # the numbers of steps, by the keys of their positions
        self.space, self.mechanism, self.error = self._engine.space, self._engine.mechanism, self._engine.error
        self.guarantee, self.change, self.n = guarantee, change, n
        self.limit, self.max_updates = self._engine.limit, self._engine.max_updates
        self.asked = 0
        self.closed = False
        self._lock = Lock()  # one caller at a time: two callers could spend the same query twice
        self._process = os.getpid()

    @property
    def remaining(self) -> int | None:
        """Return how many more different queries the session allows; None without a limit."""
        return None if self.limit is None else self.limit - len(self._steps)

    @property
    def updates(self) -> int:
        """Return how many times the session has learned from the data."""
        return sum(step.updated for step in self._steps)

    @property
    def synopsis(self) -> Synopsis | None:
        """Return the synopsis that answers the queries; None if the session answers from the data, or is closed."""
        engine = None if self.closed else self._engine
        return engine.synopsis if isinstance(engine, SynopsisEngine) else None

    def ask(self, point: Any, *, name: str | None = None) -> Answer:
        """Return the average distance from one point to the people in the table, or a weighted sum of such averages.

        Parameters
        ----------
        point : point of the space, or WeightedDistances
            The query. If it lies outside the space, it is moved to the nearest point inside, and the error grows.
            Weighted distances count as one query, whatever the number of their points; the same weights, in another
            order or multiplied by a number, are the same query.
        name : str, optional
            A name for the query in the transcript. A name stands for one point: use another name for another point.

        Returns
        -------
        Answer
            The private average distance and its error.

        Raises
        ------
        LimitExceededError
            If no queries are left; nothing is answered.
        ConflictError
            If `name` stands for another point.
        MilepostError
            If `point` is not one point of the space, or the session is closed.

        Examples
        --------
        >>> import milepost as mp
        >>> space = mp.L1([(0, 10)])
        >>> session = mp.interactive([[4.0]] * 10_000, space, epsilon=5, delta=1e-6, max_queries=10, mechanism="field")
        >>> answer = session.ask([1.0], name="north")
        >>> session.ask([1.0]).value == answer.value
        True
        """
        queries = self._queries(point)
        if queries.count != 1:
            raise MilepostError(f"ask takes one point, got {queries.count}; use ask_many for several points")
        return self._answer(queries, None if name is None else [name])[0]

    def ask_many(self, points: Any, *, names: Sequence[str] | None = None) -> list[Answer]:
        """Return the answers for several points, in order, as if they were asked one after another.

        Parameters
        ----------
        points : points of the space
            The queries, as `Synopsis.mean_distance` takes them, or a list of points and `WeightedDistances`.
        names : sequence of str, optional
            A name for each query, as in `ask`.

        Returns
        -------
        list of Answer
            One answer a point.

        Raises
        ------
        LimitExceededError
            If fewer queries are left than the points need; nothing is answered.
        ConflictError
            If a name stands for another point; nothing is answered.
        MilepostError
            If the points are not points of the space, or the session is closed.

        Examples
        --------
        >>> import milepost as mp
        >>> space = mp.L1([(0, 10)])
        >>> session = mp.interactive([[4.0]] * 10_000, space, epsilon=5, delta=1e-6, max_queries=10, mechanism="field")
        >>> [answer.remaining for answer in session.ask_many([[1.0], [9.0], [1.0]])]
        [9, 8, 8]
        """
        return self._answer(self._queries(points), names)

    def check(self, point: Any) -> None:
        """Refuse a point that `ask` would refuse, without asking about it.

        Parameters
        ----------
        point : point of the space
            The query to check.

        Raises
        ------
        MilepostError
            If `point` is not one point of the space, or the session is closed.

        Examples
        --------
        >>> import milepost as mp
        >>> space = mp.L1([(0, 10)])
        >>> session = mp.interactive([[4.0]] * 10_000, space, epsilon=5, delta=1e-6, max_queries=10, mechanism="field")
        >>> session.check([1.0])
        >>> session.remaining
        10
        """
        queries = self._queries(point)
        if queries.count != 1:
            raise MilepostError(f"check takes one point, got {queries.count}")
        with self._lock:
            self._check_open()
            self._engine.positions(queries)

    def transcript(self) -> list[tuple[str, Any, Answer]]:
        """Return the named queries with their answers, in the order in which they were asked.

        Returns
        -------
        list of (str, point, Answer)
            The name of each query, its point as a user writes it, and its answer.

        Raises
        ------
        MilepostError
            If the session is closed, or its store cannot be read.

        Examples
        --------
        >>> import milepost as mp
        >>> space = mp.L1([(0, 10)])
        >>> session = mp.interactive([[4.0]] * 10_000, space, epsilon=5, delta=1e-6, max_queries=10, mechanism="field")
        >>> _ = session.ask([1.0], name="north")
        >>> [(name, point.tolist()) for name, point, _ in session.transcript()]
        [('north', [1.0])]
        """
        with self._lock:
            self._check_open()
            with self._transcript.writing() as log:
                self._catch_up(log)
            questions = self._transcript.questions()
            if not questions:
                return []
            result = []
            for question in questions:
                query = read_query_bytes(self.space, question.point)
                _, shifts = self._engine.positions(query)
                answer = self._recorded_answer(question.number, query, float(shifts[0]), False, len(self._steps))
                result.append((question.name, _user_query(query), answer))
            return result

    def go_on(self, log: TranscriptLog) -> None:
        """Continue from the steps that are already in the transcript."""
        with self._lock:
            self._catch_up(log)

    def close(self) -> None:
        """Delete the data from memory; later calls of `ask` are refused.

        Examples
        --------
        >>> import milepost as mp
        >>> space = mp.L1([(0, 10)])
        >>> session = mp.interactive([[4.0]] * 10_000, space, epsilon=5, delta=1e-6, max_queries=10, mechanism="field")
        >>> session.close()
        >>> session.closed
        True
        """
        with self._lock:
            self.closed, self._make_engine = True, _refuse_closed
            self.__dict__.pop("_engine", None)

    def _queries(self, points: Any) -> Queries:
        queries, _ = read_queries(points, self.space)
        if queries.functions is not None and not (self.closed or self._engine.takes_weighted_distances):
            raise MilepostError(
                f"a session of {self.mechanism} answers points only; begin one with mechanism={Field.name!r} for "
                "weighted distances"
            )
        return queries

    def _check_open(self) -> None:
        if self.closed:
            raise MilepostError(CLOSED)
        # A fork would draw the same noise as its parent.
        if os.getpid() != self._process and self.limit is not None:
            if not self._transcript.durable:
                raise MilepostError(
                    "this session belongs to the parent process, and this process is a fork: both would spend its "
                    "budget. Begin the session with store=, which processes may share."
                )
            self._process = os.getpid()
            self._reset()

    def _answer(self, queries: Queries, names: Sequence[str] | None) -> list[Answer]:
        _check_names(names, queries.count)
        with self._lock:
            self._check_open()
            positions, shifts = self._engine.positions(queries)
            # A synopsis answers: there is nothing to count or record.
            if names is None and self.limit is None and not self._transcript.durable:
                self.asked += queries.count
                return [
                    _make_answer(step, self._engine, queries.select([index]), 0.0, False, None, False)
                    for index, step in enumerate(self._engine.answer(positions))
                ]
            count: int | None = None
            try:
                with self._transcript.writing() as log:
                    self._catch_up(log)
                    keys = self._engine.keys(positions)
                    fresh = self._new(keys)
                    questions = self._new_questions(log, queries, names)
                    count = len(self._steps)
                    if fresh:
                        self._append(self._engine.answer(positions.select(list(fresh.values()))))
                    numbers = [self._numbers[key] for key in keys]
                    log.add(self._steps[count:], [Question(name, point, numbers[at]) for name, point, at in questions])
            except BaseException:
                if count is not None:
                    self._recover()
                raise
            self.asked += queries.count
            new, answers = set(fresh.values()), []
            for index, (number, shift) in enumerate(zip(numbers, shifts.tolist(), strict=True)):
                count += index in new
                answers.append(self._recorded_answer(number, queries.select([index]), shift, index in new, count))
            return answers

    def _recorded_answer(self, number: int, query: Queries, shift: float, new: bool, count: int) -> Answer:
        """Return the answer of a step. new: whether this query made the step. count: the number of steps by then."""
        step, left = self._steps[number], None if self.limit is None else self.limit - count
        return _make_answer(step, self._engine, query, shift, new and step.updated, left, new and step.tested)

    def _new(self, keys: Sequence[bytes]) -> dict[bytes, int]:
        """Return the indices of new queries by key, in order; refuse more than are left."""
        first = {key: index for index, key in reversed(list(enumerate(keys))) if key not in self._numbers}
        fresh = dict(sorted(first.items(), key=lambda item: item[1]))
        if self.remaining is not None and len(fresh) > self.remaining:
            queries = "1 new query was" if len(fresh) == 1 else f"{len(fresh)} new queries were"
            left = f"{self.remaining} of max_queries={self.limit} {'is' if self.remaining == 1 else 'are'} left"
            raise LimitExceededError(f"{queries} asked, and {left}. None was answered.")
        return fresh

    def _new_questions(
        self, log: TranscriptLog, queries: Queries, names: Sequence[str] | None
    ) -> list[tuple[str, bytes, int]]:
        """Return new names with their points and query indices; refuse a name that stands for another point."""
        result: dict[str, tuple[bytes, int]] = {}
        points = query_bytes(queries) if names else []
        for index, name in enumerate(names or ()):
            point = points[index]
            question = log.find(name)
            earlier = result[name][0] if name in result else None if question is None else question.point
            if earlier is not None and earlier != point:
                raise ConflictError(
                    f"the question {name!r} was asked about another point; give this point another name"
                )
            if earlier is None:
                result[name] = point, index
        return [(name, point, index) for name, (point, index) in result.items()]

    def _catch_up(self, log: TranscriptLog) -> None:
        """Continue from the answers of other processes; refuse a transcript that lacks steps of this session."""
        count = len(self._steps)
        steps = log.steps(max(0, count - 1))
        if count and steps[:1] != self._steps[-1:]:
            raise MilepostError(
                "the store of this session lacks answers that it had: another file, such as a backup, replaced it. "
                "Restore the file with all answers."
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
        """Reload the transcript after a failure, because it is unknown what was written; if this fails, do it later."""
        self._reset()
        with suppress(MilepostError), self._transcript.writing() as log:
            self._catch_up(log)

    def _reset(self) -> None:
        self._engine, self._steps, self._numbers = self._make_engine(), [], {}

    def __reduce__(self) -> NoReturn:
        raise MilepostError("a session cannot be copied or pickled: it holds a budget, and may hold private sums")

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


def _make_answer(
    step: Step, engine: Engine, query: Queries, shift: float, updated: bool, remaining: int | None, tested: bool
) -> Answer:
    """Return the answer of a step to a query, which has a factor. shift: the error that moving it adds."""
    factor = float(query.factors[0])
    value, error = step.value * factor, min(step.error + shift, engine.space.diameter) * factor
    low = max(value - error, 0.0) if query.non_negative[0] else value - error
    return Answer(value, low, value + error, engine.confidence, error, updated, remaining, tested)


def _user_query(query: Queries) -> Any:
    """Return a query of a transcript as a user writes it."""
    points = [query.space.user_point(point) for point in query.points]
    if len(query.point_indices) and query.factors[0] == 1:
        return points[0]
    weights = query.combinations.filled_weights * query.factors[0]
    return WeightedDistances(points, [float(f"{weight:.15g}") for weight in weights.tolist()])


def _check_names(names: Sequence[str] | None, count: int) -> None:
    if names is None:
        return
    if isinstance(names, str) or len(names) != count:
        raise MilepostError(f"names= must be a list with one name for each of the {count} points, got {names!r}")
    for name in names:
        if not isinstance(name, str) or not (1 <= len(name) <= 200 and name.isprintable()):
            raise MilepostError(f"the name of a query must be one line of 1 to 200 characters, got {name!r}")


def _refuse_closed() -> Engine:
    raise MilepostError(CLOSED)
