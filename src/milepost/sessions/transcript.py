"""Transcripts of sessions: their interface, and a transcript in memory; `sessions/store.py` has one in a file."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol

from milepost.sessions.engine import Step


@dataclass(frozen=True)
class Question:
    """A named query: the name that the analyst gave, the point, and the number of the step that answers it."""

    name: str
    point: bytes
    number: int


class TranscriptLog(Protocol):
    """A transcript in a transaction: no other process writes to it until the transaction ends."""

    def steps(self, after: int) -> list[Step]:
        """Return all steps except the first `after`, in order."""

    def find(self, name: str) -> Question | None:
        """Return the question with this name, or None."""

    def add(self, steps: Sequence[Step], questions: Sequence[Question]) -> None:
        """Add steps and questions; they are recorded when the transaction ends, and only then."""


class Transcript(Protocol):
    """The steps and named questions of a session. durable: whether they outlive the process."""

    durable: bool

    def writing(self) -> AbstractContextManager[TranscriptLog]:
        """Begin a transaction that reads and adds; the additions are recorded when the block ends."""

    def questions(self) -> list[Question]:
        """Return all named questions."""


class MemoryTranscript:
    """A transcript in memory, which is lost when the process ends."""

    durable = False

    def __init__(self) -> None:
        self._steps: list[Step] = []
        self._questions: dict[str, Question] = {}

    @contextmanager
    def writing(self) -> Iterator["MemoryTranscript"]:
        """Yield the transcript itself: a session admits one caller at a time."""
        yield self

    def steps(self, after: int) -> list[Step]:
        """Return all steps except the first `after`."""
        return self._steps[after:]

    def find(self, name: str) -> Question | None:
        """Return the question with this name, or None."""
        return self._questions.get(name)

    def add(self, steps: Sequence[Step], questions: Sequence[Question]) -> None:
        """Add steps and questions immediately."""
        self._steps += steps
        self._questions |= {question.name: question for question in questions}

    def questions(self) -> list[Question]:
        """Return all named questions."""
        return list(self._questions.values())
