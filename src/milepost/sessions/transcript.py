"""Transcript: what a session has answered, in memory. `sessions/store.py` has one that outlives the process."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol

from milepost.sessions.engine import Step


@dataclass(frozen=True)
class Question:
    """A point as it was asked, by the name that an analyst gave the question; number: of the step that answers it."""

    name: str
    point: bytes
    number: int


class TranscriptLog(Protocol):
    """A transcript while nobody else writes to it."""

    def steps(self, after: int) -> list[Step]:
        """All steps but the first so many, in order."""

    def find(self, name: str) -> Question | None:
        """The question of this name."""

    def add(self, steps: Sequence[Step], questions: Sequence[Question]) -> None:
        """What is answered now; it is kept when the block ends, and only then."""


class Transcript(Protocol):
    """Steps and named questions. durable: whether they outlive the process."""

    durable: bool

    def writing(self) -> AbstractContextManager[TranscriptLog]:
        """To look at it and add to it; what was added is kept, durably if at all, when the block ends."""

    def questions(self) -> list[Question]:
        """All named questions."""


class MemoryTranscript:
    """As long as the process lives."""

    durable = False

    def __init__(self) -> None:
        self._steps: list[Step] = []
        self._questions: dict[str, Question] = {}

    @contextmanager
    def writing(self) -> Iterator["MemoryTranscript"]:
        """Nobody else writes: a session lets one caller in at a time."""
        yield self

    def steps(self, after: int) -> list[Step]:
        """All steps but the first so many."""
        return self._steps[after:]

    def find(self, name: str) -> Question | None:
        """The question of this name."""
        return self._questions.get(name)

    def add(self, steps: Sequence[Step], questions: Sequence[Question]) -> None:
        """At once."""
        self._steps += steps
        self._questions |= {question.name: question for question in questions}

    def questions(self) -> list[Question]:
        """All named questions."""
        return list(self._questions.values())
