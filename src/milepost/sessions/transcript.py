"""Transcripts of sessions: their interface, and one in memory; `sessions/store.py` has one in a file."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol

from milepost.sessions.engine import Step


@dataclass(frozen=True)
class Question:
    """A point as it was asked about, and the analyst's name of the question. number: of the step that answers it."""

    name: str
    point: bytes
    number: int


class TranscriptLog(Protocol):
    """A transcript that no other process writes to now."""

    def steps(self, after: int) -> list[Step]:
        """Return all steps except the first `after`, in order."""

    def find(self, name: str) -> Question | None:
        """Return the question of this name."""

    def add(self, steps: Sequence[Step], questions: Sequence[Question]) -> None:
        """Add steps and questions, which are recorded when the block ends, and only then."""


class Transcript(Protocol):
    """Steps and named questions. durable: whether they outlive the process."""

    durable: bool

    def writing(self) -> AbstractContextManager[TranscriptLog]:
        """Open the transcript to read and add; the additions are recorded when the block ends."""

    def questions(self) -> list[Question]:
        """Return all named questions."""


class MemoryTranscript:
    """A transcript in memory, which lives as long as the process."""

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
        """Return the question of this name."""
        return self._questions.get(name)

    def add(self, steps: Sequence[Step], questions: Sequence[Question]) -> None:
        """Add steps and questions at once."""
        self._steps += steps
        self._questions |= {question.name: question for question in questions}

    def questions(self) -> list[Question]:
        """Return all named questions."""
        return list(self._questions.values())
