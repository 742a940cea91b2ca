"""Steps, which are the released answers of a session, and engines, which compute them."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from milepost._typing import AnyArray, FloatArray
from milepost.spaces.base import Space


@dataclass(frozen=True)
class Step:
    """One answer, and the numbers from which the engine continues; all of them are released.

    key: the key of the quantized position of the query. updated: whether the engine learned from the data. tested:
    whether it compared the answer with the data. opened: the number of threshold tests that it began for the query.
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
    """An engine answers the queries of a session, from private sums or from a synopsis.

    mechanism: its name. error: the bound on the error of any answer. limit: the number of different queries that it
    answers; None for any number. max_updates: the maximum number of times that it learns from the data.
    """

    mechanism: str
    error: float
    limit: int | None
    max_updates: int
    space: Space

    @abstractmethod
    def positions(self, queries: AnyArray) -> tuple[AnyArray, FloatArray]:
        """Return the positions at which queries are answered, and the error that each move adds; both are public."""

    @abstractmethod
    def key(self, position: AnyArray) -> bytes:
        """Return bytes that are equal for equal positions."""

    @abstractmethod
    def answer(self, positions: AnyArray) -> list[Step]:
        """Return a step for each of several new positions, in order."""

    @abstractmethod
    def replay(self, steps: Sequence[Step]) -> None:
        """Continue from steps that were released earlier, or by another process, as if this engine had made them."""
