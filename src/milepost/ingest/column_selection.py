"""Wanted: which columns of a table are read, the points' and others beside them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from milepost.errors import MilepostError
from milepost.spaces.numeric import NO_ALIASES, Aliases, find
from milepost.spaces.objects import listed


@dataclass(frozen=True)
class ExtraColumn:
    """A column that is read along with those of the points: as numbers, or cell by cell as what it holds.

    role: what it is for, in errors.
    """

    role: str
    column: str | int
    numbers: bool = False

    def position(self, present: Sequence[str]) -> int:
        """Where it stands among the columns of a table."""
        found = _position(present, self.column)
        if found is None:
            raise MilepostError(
                f"{self.role}: the table has no column {self.column!r}; it has {listed(present) or 'no columns'}"
            )
        return found


@dataclass(frozen=True)
class ColumnSelection:
    """Which columns of a table to read: those of the points, by name or position, and others beside them.

    width: of objects, 0 for numbers; which columns hold objects is not guessed.
    """

    columns: Sequence[str | int] | None = None
    names: tuple[str, ...] | None = None
    aliases: Aliases = field(default_factory=lambda: NO_ALIASES)
    width: int = 0
    extra: tuple[ExtraColumn, ...] = ()

    def others(self, present: Sequence[str]) -> list[int]:
        """Positions of the columns beside the points."""
        found = [other.position(present) for other in self.extra]
        for k, position in enumerate(found):
            if position in found[:k]:
                roles = f"{self.extra[found.index(position)].role} and {self.extra[k].role}"
                raise MilepostError(f"{roles} are both the column {present[position]!r}; give each one of its own")
        return found

    def points(self, present: Sequence[str]) -> list[int]:
        """Positions of the points' columns: the space's own where it has names, else all that are not beside."""
        if self.columns is not None:
            return [self._asked(present, column) for column in self.columns]
        apart, names = self.others(present), self.names
        free = [position for position in range(len(present)) if position not in apart]
        if self.width and names is None and len(free) != self.width:
            raise MilepostError(
                f"the table has the columns {listed([present[position] for position in free])}; say with columns=[…] "
                "which one holds the objects, or which ones, for tuples of them"
            )
        absent = [name for name in names or () if find(present, name, self.aliases) is None]
        if self.width and absent:
            raise MilepostError(f"the table has no column {absent[0]!r}; it has {listed(present) or 'no columns'}")
        found = [position for name in names or () if (position := find(present, name, self.aliases)) is not None]
        return found if names is not None and len(found) == len(names) else free

    @staticmethod
    def _asked(present: Sequence[str], column: str | int) -> int:
        found = _position(present, column)
        if found is None:
            raise MilepostError(f"columns: the table has no column {column!r}; it has {listed(present)}")
        return found


def _position(present: Sequence[str], column: str | int) -> int | None:
    """Where a column stands, given by its name or position."""
    if isinstance(column, str):
        return list(present).index(column) if column in present else None
    known = isinstance(column, int) and not isinstance(column, bool) and 0 <= column < len(present)
    return column if known else None
