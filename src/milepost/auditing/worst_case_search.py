"""Search for the worst pair of neighboring tables among many tiny ones, and cases that audit this pair."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from milepost.auditing.case import MIN_SAMPLES, Case, Outcomes
from milepost.auditing.claims import Claim
from milepost.auditing.noise_trace import NoiseTrace, TracePair

MAX_NUMBERS = 2  # with up to this many differing numbers, a pair draws all requested samples; with more, fewer

Rows = tuple[Any, ...]


@dataclass(frozen=True)
class WorstPair:
    """A pair of tables, their traces, and the number of pairs tried."""

    rows: tuple[Rows, Rows]
    pair: TracePair
    pairs_tried: int


class Search:
    """A search over pairs of neighboring tables; each table is released once."""

    def __init__(self, release: Callable[[Rows], object], pairs: Iterable[tuple[Rows, Rows]]) -> None:
        self.release, self._pairs = release, list(pairs)

    @cached_property
    def worst(self) -> WorstPair:
        """Return the pair with the largest true loss."""
        traces: dict[Rows, NoiseTrace] = {}
        for rows in (side for pair in self._pairs for side in pair):
            if rows not in traces:
                traces[rows] = NoiseTrace.of(partial(self.release, rows))
        candidates = [
            WorstPair(rows, TracePair(traces[rows[0]], traces[rows[1]]), len(self._pairs)) for rows in self._pairs
        ]
        return max(candidates, key=lambda candidate: candidate.pair.loss)


@dataclass(frozen=True)
class SearchedCase(Case):
    """A case whose outcomes are drawn from the traces of the worst pair."""

    search: Search = field(kw_only=True)

    @classmethod
    def of(cls, mechanism: str, tables: str, claim: Claim, search: Search) -> "SearchedCase":
        """Return a case that searches when its outcomes are first drawn."""

        def side(index: int) -> Callable[[int], Outcomes]:
            return lambda samples: search.worst.pair.draw(samples)[index]

        return cls(mechanism, tables, claim, side(0), side(1), search=search)

    @property
    def worst_pair(self) -> WorstPair:
        """Return the pair with the largest true loss."""
        return self.search.worst

    @property
    def exact(self) -> float:
        """Return the true loss of the pair."""
        return self.worst_pair.pair.loss

    def samples(self, requested: int) -> int:
        """Return the requested number of samples, or fewer if many numbers differ."""
        count = max(1, len(self.worst_pair.pair.differing_indices))
        return min(requested, max(MIN_SAMPLES, requested * MAX_NUMBERS // count))

    def draw(self, samples: int) -> tuple[Outcomes, Outcomes]:
        """Draw outcomes on both tables with the same noise."""
        return self.worst_pair.pair.draw(samples)
