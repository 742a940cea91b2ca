"""Interfaces of mechanisms and their results, predictions, and checks that several mechanisms share."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, Self, TypeAlias, TypeVar

import numpy as np

from milepost._typing import AnyArray, FloatArray, IntArray
from milepost.errors import MilepostError, warn
from milepost.mechanisms.coordinate.piecewise_linear import PiecewiseLinear, in_cache_blocks, sum_at
from milepost.mechanisms.totals import Total, check_total
from milepost.privacy.guarantee import Guarantee
from milepost.privacy.protected_change import ProtectedChange
from milepost.spaces.embeddings.embedding import QUANTUM_BITS, Embedding
from milepost.spaces.queries import Queries
from milepost.statistics.distance_sums import DistanceSums
from milepost.statistics.sketch import Sketch

Public = TypeVar("Public", contravariant=True)
Statistic = TypeVar("Statistic", contravariant=True)
Answers = TypeVar("Answers", covariant=True)


@dataclass(frozen=True)
class Prediction:
    """Errors and sizes that a mechanism would have, from public numbers only; errors are distances.

    error: 95 % half-width of one answer. rms: standard deviation of an answer. uniform: 95 % half-width of all answers
    at once. cells: number of cells of all coordinates together. size: approximate bytes of the file. details: more
    numbers, by name. coordinates: D, the number of embedding coordinates of the space.
    """

    mechanism: str
    error: float
    rms: float | None = None
    uniform: float | None = None
    cells: int | None = None
    size: int | None = None
    details: dict[str, float | int | str] = field(default_factory=dict)
    coordinates: int | None = None


def session_name(mechanism: str, queries: int) -> str:
    """Return the name that a plan gives to a session with this number of queries."""
    return f"{mechanism}, {queries:,} queries"


class NoisyStatistic(Protocol):
    """Noisy tensors and public numbers that give a value and its half-width.

    A query's position is its embedding position, float64[D] in quanta, or its index among given queries.
    """

    @property
    def mechanism(self) -> str:
        """The name of the mechanism that released it."""

    @property
    def total(self) -> Total:
        """The number of records, exact or noisy."""

    @property
    def confidence(self) -> float:
        """The largest confidence that `half_width` accepts."""

    @property
    def max_error(self) -> float:
        """The largest error that any answer can have, unless raw."""

    def values(self, positions: AnyArray, raw: bool = False) -> FloatArray:
        """Return the answers at positions; unless raw, clipped to the range of possible ones, which lowers errors."""

    def half_width(self, confidence: float, uniform: bool = False) -> float:
        """Return a half-width that is valid at every position; for all answers at once when uniform."""

    def half_widths(self, positions: AnyArray, confidence: float) -> FloatArray:
        """Return the half-width of each answer at positions."""

    def tensors(self) -> dict[str, AnyArray]:
        """Return the released integers, as the file stores them, and public numbers that go with them."""

    def parameters(self) -> dict[str, Any]:
        """Return the public numbers, as the card stores them."""


class CoordinateStatistic(ABC):
    """A statistic that estimates the function of every embedding coordinate."""

    mechanism: ClassVar[str]
    extends: ClassVar[bool]  # whether a query outside the space is answered by linear continuation
    embedding: Embedding
    total: Total

    @property
    @abstractmethod
    def confidence(self) -> float:
        """The largest confidence that `half_width` accepts."""

    @property
    def max_error(self) -> float:
        """The largest error of an answer, unless raw: the answer and the truth are in the range of possible ones."""
        return self.embedding.sensitivity_bound

    @abstractmethod
    def functions(self, raw: bool = False) -> tuple[PiecewiseLinear, ...]:
        """Return the estimate of each coordinate's function; without post-processing when raw."""

    def values(self, positions: AnyArray, raw: bool = False) -> FloatArray:
        """Return answers at positions float64[k, D] in quanta; unless raw, in the range that some table has there."""

        def block_values(block: FloatArray) -> FloatArray:
            result = self.sum_estimates(block, raw)
            return result if raw else np.asarray(np.clip(result, *self.embedding.range(block)))

        return in_cache_blocks(block_values, self.clip_positions(positions))

    def sum_estimates(self, positions: FloatArray, raw: bool) -> FloatArray:
        """Return the sum of all coordinates' estimates at positions float64[k, D]."""
        return sum_at(self.functions(raw), self.embedding, positions, self.extends)

    def parts(self, positions: AnyArray, only: Sequence[int], raw: bool = False) -> FloatArray:
        """Return the sum of the estimates of the coordinates `only`."""
        return sum_at(self.functions(raw), self.embedding, self.clip_positions(positions), self.extends, only)

    def clip_positions(self, positions: FloatArray) -> FloatArray:
        """Return positions, moved to the border of the space where estimates do not continue outside."""
        if self.extends:
            return positions
        warn_outside(positions, self.embedding)
        return np.clip(positions, 0, self.embedding.span)

    @abstractmethod
    def half_width(self, confidence: float, uniform: bool = False) -> float:
        """Return a half-width that is valid at every position; for all answers at once when uniform."""

    @abstractmethod
    def half_widths(self, positions: AnyArray, confidence: float) -> FloatArray:
        """Return the half-width of each answer at positions."""

    @abstractmethod
    def tensors(self) -> dict[str, IntArray]:
        """Return the released integers, as the file stores them."""

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """Return the public numbers, as the card stores them."""

    @classmethod
    @abstractmethod
    def load(cls, embedding: Embedding, n: int, parameters: dict[str, Any], tensors: dict[str, IntArray]) -> Self:
        """Return the statistic that `tensors` and `parameters` were taken from."""


class Mechanism(Protocol[Public, Statistic, Answers]):
    """A way to spend a guarantee on a statistic. Public: data known beforehand, an embedding or given queries."""

    @property
    def name(self) -> str:
        """The name by which users choose it."""

    @property
    def pure(self) -> bool:
        """Whether it spends pure ε whatever δ is, rather than ρ where δ > 0."""

    def check(self, change: ProtectedChange, guarantee: Guarantee) -> None:
        """Refuse a change or a guarantee that this mechanism cannot give."""

    def predict(self, public: Public, n: int, change: ProtectedChange, guarantee: Guarantee, /) -> Prediction:
        """Return the error it would have, without touching data."""

    def run(
        self,
        statistic: Statistic,
        public: Public,
        change: ProtectedChange,
        guarantee: Guarantee,
        /,
        n: int | None = None,
        group: int = 0,
    ) -> Answers:
        """Spend the guarantee on one of the groups that it covers together.

        n: the number of records to size the noise for, where the exact number is private.
        """


CoordinateMechanism: TypeAlias = Mechanism[Embedding, Sketch, CoordinateStatistic]


class QueryMechanism(Mechanism[Queries, DistanceSums, NoisyStatistic], Protocol):
    """A mechanism for given queries."""

    def summands(self, queries: Queries, quanta: IntArray, /) -> IntArray:
        """Return each record's summands int64[n, m], within ±2²⁴, from its distances int64[n, k] to the queries.

        Rows do not depend on each other; m follows from the queries.
        """


def warn_outside(positions: FloatArray, embedding: Embedding) -> None:
    """Warn that queries outside the space are answered at its border."""
    outside = np.any((positions < 0) | (positions > embedding.span), axis=1)
    if outside.any():
        warn(
            f"{int(outside.sum())} of {len(positions)} query points lie outside the space; "
            "they are answered at its border"
        )


def check_public_total(name: str, change: ProtectedChange) -> None:
    """Refuse a change under which the number of rows is private."""
    if not change.public_total:
        raise MilepostError(
            f"{name} needs a public number of rows, which it divides by and is sized from: neighbors='replace', one "
            "row a person, and neither groups nor weights; slopes and hats take all of these"
        )


def check_sketch(
    sketch: Sketch, embedding: Embedding, change: ProtectedChange, n: int | None = None, group: int = 0
) -> int:
    """Refuse a sketch of another embedding, before budget is spent; return the number of records to size noise for."""
    if sketch.dimension != embedding.dimension:
        raise MilepostError(
            f"the sketch has {sketch.dimension} coordinate{'s' * (sketch.dimension != 1)}, the space has "
            f"{embedding.dimension}"
        )
    check_groups(sketch.groups, change)
    return check_total(int(sketch.totals[group]), n, change)


def check_sums(sums: DistanceSums, count: int, change: ProtectedChange, n: int | None, group: int) -> int:
    """Refuse sums of another count of numbers, before budget is spent; return the exact total of the group."""
    if sums.count != count:
        raise MilepostError(f"sums of {sums.count} numbers do not fit these queries, which have {count}")
    check_groups(sums.groups, change)
    exact = int(sums.totals[group])
    check_total(exact, n, change)
    return exact


def check_groups(groups: int, change: ProtectedChange) -> None:
    """Refuse a statistic whose number of groups differs from the one that the budget covers."""
    if groups != (change.groups or 1):
        raise MilepostError(f"expected a statistic of {change.groups or 'one'} group, got {groups} groups")


def check_cells(sketch: Sketch, bits: int) -> None:
    """Refuse a sketch whose cells are coarser than 2^bits quanta."""
    if bits < sketch.bits:
        raise MilepostError(f"the sketch has {sketch.cells} cells, {1 << (QUANTUM_BITS - bits)} are needed")


def check_confidence(confidence: float) -> None:
    """Refuse a confidence that is not a probability strictly between 0 and 1."""
    if not isinstance(confidence, int | float) or not 0 < confidence < 1:
        raise MilepostError(f"confidence must lie strictly between 0 and 1, got {confidence!r}; 0.95 is usual")
