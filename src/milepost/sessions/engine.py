"""Step: one answer as it was released, and Engine: what makes them."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from milepost._typing import AnyArray, FloatArray
from milepost.spaces.base import Space


@dataclass(frozen=True)
class Step:
    """One answer and what the engine needs to go on from it: all of it is released, and private nothing.

    key: of the place where it was asked, after quantizing. opened: threshold tests that were begun for it.
    released: what else was, as the engine writes it.
    """

    key: bytes
    value: float
    error: float
    updated: bool = False
    tested: bool = False
    opened: int = 0
    released: bytes = b""


class Engine(ABC):
    """Answers queries from private sums that it keeps, or from a synopsis.

    mechanism: its name. error: how far any answer may be off. limit: how many different queries it answers; None for
    any number. max_updates: how often it learns from the data at most.
    """

    mechanism: str
    error: float
    limit: int | None
    max_updates: int
    space: Space

    @abstractmethod
    def positions(self, queries: AnyArray) -> tuple[AnyArray, FloatArray]:
        """Where queries are answered, and how far an answer may be off for that; public."""

    @abstractmethod
    def key(self, place: AnyArray) -> bytes:
        """Equal for equal places."""

    @abstractmethod
    def answer(self, places: AnyArray) -> list[Step]:
        """A step for each of several new places, in turn."""

    @abstractmethod
    def replay(self, steps: Sequence[Step]) -> None:
        """Go on from steps that were released before, or elsewhere, as if by this engine."""
