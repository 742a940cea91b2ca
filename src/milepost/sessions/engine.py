"""Steps, the released answers of a session, and engines, which make them."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from milepost._typing import AnyArray, FloatArray
from milepost.spaces.base import Space


@dataclass(frozen=True)
class Step:
    """One answer and what the engine needs to continue from it; all of it is released.

    key: of the position that was asked about, after quantizing. opened: threshold tests that were begun for it.
    released: the other released numbers, as the engine writes them.
    """

    key: bytes
    value: float
    error: float
    updated: bool = False
    tested: bool = False
    opened: int = 0
    released: bytes = b""


class Engine(ABC):
    """Something that answers queries, from private sums or from a synopsis.

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
        """Return the positions at which queries are answered, and the error that each adds; both are public."""

    @abstractmethod
    def key(self, position: AnyArray) -> bytes:
        """Return bytes that are equal for equal positions."""

    @abstractmethod
    def answer(self, positions: AnyArray) -> list[Step]:
        """Return a step for each of several new positions, in order."""

    @abstractmethod
    def replay(self, steps: Sequence[Step]) -> None:
        """Continue from steps that were released before, or by another process, as if by this engine."""
