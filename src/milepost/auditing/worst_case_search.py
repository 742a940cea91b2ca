"""Searched: a release of tiny tables, with the worst pair of neighbors among many."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from milepost.auditing.case import MIN_SAMPLES, Case, Outcomes
from milepost.auditing.claims import Claim
from milepost.auditing.noise_trace import NoiseTrace, TracePair

MAX_NUMBERS = 2  # with noise in a run of all samples that are asked for; where more differ, fewer runs are drawn

Rows = tuple[Any, ...]


@dataclass(frozen=True)
class WorstPair:
    """A pair of tables, what is said of it, and how many were tried."""

    rows: tuple[Rows, Rows]
    pair: TracePair
    tried: int


class Search:
    """All pairs of neighboring tables that are tried; each table is released once."""

    def __init__(self, release: Callable[[Rows], object], pairs: Iterable[tuple[Rows, Rows]]) -> None:
        self.release, self._pairs = release, list(pairs)

    @cached_property
    def worst(self) -> WorstPair:
        """The pair of the largest true loss."""
        tapes: dict[Rows, NoiseTrace] = {}
        for rows in (side for pair in self._pairs for side in pair):
            if rows not in tapes:
                tapes[rows] = NoiseTrace.of(partial(self.release, rows))
        found = [WorstPair(rows, TracePair(tapes[rows[0]], tapes[rows[1]]), len(self._pairs)) for rows in self._pairs]
        return max(found, key=lambda one: one.pair.loss)


@dataclass(frozen=True)
class SearchedCase(Case):
    """A case whose outcomes are drawn from the tapes of the worst pair."""

    search: Search = field(kw_only=True)

    @classmethod
    def of(cls, mechanism: str, tables: str, claim: Claim, search: Search) -> "SearchedCase":
        """The search is made when the case is drawn."""

        def side(place: int) -> Callable[[int], Outcomes]:
            return lambda samples: search.worst.pair.draw(samples)[place]

        return cls(mechanism, tables, claim, side(0), side(1), search=search)

    @property
    def found(self) -> WorstPair:
        """The worst pair."""
        return self.search.worst

    @property
    def exact(self) -> float:
        """The pair's true loss."""
        return self.found.pair.loss

    def samples(self, asked: int) -> int:
        """All that are asked for, unless many numbers differ."""
        numbers = max(1, len(self.found.pair.moved))
        return min(asked, max(MIN_SAMPLES, asked * MAX_NUMBERS // numbers))

    def draw(self, samples: int) -> tuple[Outcomes, Outcomes]:
        """Of both tables, with the same noise."""
        return self.found.pair.draw(samples)
