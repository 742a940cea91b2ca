"""Steps, which are the released answers of a session, and engines, which compute them."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from milepost._typing import FloatArray
from milepost.errors import MilepostError
from milepost.spaces.base import Space
from milepost.spaces.distances.functions import FUNCTIONS
from milepost.spaces.queries import Queries

KIND_BYTES = 8  # of the name of a function


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

    mechanism: its name. error: the bound on the error of any answer about a point. confidence: with which bounds hold.
    limit: the number of different queries that it answers; None for any number. max_updates: the maximum number of
    times that it learns from the data. takes_weighted_distances: whether it answers weighted sums of distances.
    """

    mechanism: str
    takes_weighted_distances: bool = True
    error: float
    confidence: float
    limit: int | None
    max_updates: int
    space: Space

    @abstractmethod
    def positions(self, queries: Queries) -> tuple[Queries, FloatArray]:
        """Return the queries that are answered instead, and the error that each move adds; both are public.

        Neither has the factors of the queries: steps are about queries whose weights have sizes that add up to 1.
        """

    @abstractmethod
    def keys(self, queries: Queries) -> list[bytes]:
        """Return bytes of each query, that are equal for equal ones."""

    @abstractmethod
    def answer(self, queries: Queries) -> list[Step]:
        """Return a step for each of several new queries, in order."""

    @abstractmethod
    def replay(self, steps: Sequence[Step]) -> None:
        """Continue from steps that were released earlier, or by another process, as if this engine had made them."""


def query_bytes(queries: Queries) -> list[bytes]:
    """Return each query as bytes: a point's numbers, or a function's kind, factor, parameters and points.

    0.0 and −0.0 are the same. No function has as many numbers as a point.
    """
    result = []
    for index in range(queries.count):
        query = queries.select([index])
        points, factor = (query.points + 0.0).astype(np.float64).tobytes(), float(query.factors[0])
        if query.functions is None or (query.functions[0].is_point and factor == 1):
            result.append(points)
        else:
            (function,) = query.functions
            kind = function.kind.encode().ljust(KIND_BYTES)
            parameters = np.array(function.parameters(), dtype=np.int64).tobytes()
            result.append(kind + np.float64(factor).tobytes() + parameters + points)
    return result


def read_query_bytes(space: Space, content: bytes) -> Queries:
    """Return the query that `query_bytes` wrote."""
    if len(content) == 8 * space.width:
        return Queries(np.frombuffer(content)[None], space)
    kind = content[:KIND_BYTES].rstrip().decode(errors="replace")
    numbers, rest = divmod(len(content) - KIND_BYTES - 8, 8 * (space.width + 1))
    if kind not in FUNCTIONS or rest:
        raise MilepostError("the session has a query that this version of milepost does not know; use a newer one")
    start = KIND_BYTES + 8
    parameters = np.frombuffer(content, dtype=np.int64, count=numbers, offset=start).tolist()
    points = np.frombuffer(content, offset=start + 8 * numbers).reshape(numbers, space.width)
    factor = np.frombuffer(content, count=1, offset=KIND_BYTES)
    return Queries(points, space, (FUNCTIONS[kind].from_parameters(parameters),), factor)
