"""Specifications of statistics: an empty statistic, and what it adds for a block of records."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np

from milepost._typing import AnyArray, FloatArray, IntArray


class Statistic(Protocol):
    """Exact integers that do not depend on the order of records; those of parts of a table add up."""

    @property
    def arrays(self) -> tuple[IntArray, ...]:
        """Return all its integers, as arrays that are views of it."""

    def __add__(self, other: Self) -> Self:
        """Return the statistic of both tables together."""


Exact = TypeVar("Exact", bound=Statistic)


@dataclass(frozen=True, eq=False)
class RecordBlock:
    """Records as the space reads them, with their groups, weights and persons. Private.

    group: int64[n], −1 for a record in no group; None where all are in group 0. weight: int64[n], in steps; None where
    all have weight 1. person: names of ids, uint8[n, 16]; None where they are not needed.
    """

    points: FloatArray
    group: IntArray | None = None
    weight: IntArray | None = None
    person: AnyArray | None = None

    @property
    def total(self) -> int:
        """Return the total weight of the records."""
        return len(self.points) if self.weight is None else int(self.weight.sum())

    @property
    def grouped(self) -> AnyArray:
        """Return which records are in a group: bool[n]."""
        return np.ones(len(self.points), dtype=bool) if self.group is None else np.asarray(self.group >= 0)

    @property
    def groups(self) -> IntArray:
        """Return the group of each record: int64[n]."""
        return np.zeros(len(self.points), dtype=np.int64) if self.group is None else self.group

    @property
    def weights(self) -> IntArray:
        """Return the weight of each record: int64[n]."""
        return np.ones(len(self.points), dtype=np.int64) if self.weight is None else self.weight

    def select(self, rows: Any) -> "RecordBlock":
        """Return the records of a slice or a mask, without their persons."""
        group, weight = (None if part is None else part[rows] for part in (self.group, self.weight))
        return RecordBlock(self.points[rows], group, weight)

    def used(self, mask: AnyArray | None = None) -> "RecordBlock":
        """Return the records that are in a group and, if a mask is given, in the mask: bool[n]."""
        if mask is None and self.group is None:
            return self
        keep = self.grouped if mask is None else self.grouped & mask
        return self if keep.all() else self.select(keep)


@dataclass(frozen=True, eq=False, repr=False)
class StatisticSpec(Generic[Exact]):
    """Specification of a statistic that is computed from blocks of records; it can be pickled.

    empty: returns the statistic of no records. image: returns the arguments of its method `add` for a block; the image
    of a record depends on that record only. numbers: how many numbers a record takes in memory meanwhile.
    uses_all_processors: whether the work on one block does, so that one block is read at a time.
    """

    empty: Callable[[], Exact]
    image: Callable[[RecordBlock], tuple[Any, ...]]
    numbers: int = 1
    uses_all_processors: bool = False

    def of(self, block: RecordBlock) -> Exact:
        """Return the statistic of one block."""
        result: Any = self.empty()
        result.add(*self.image(block))
        exact: Exact = result
        return exact
