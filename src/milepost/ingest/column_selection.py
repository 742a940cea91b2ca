"""Selection of the columns of a table: those of the points, and extra columns."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from milepost.errors import MilepostError
from milepost.spaces.base import Space
from milepost.spaces.numeric import NO_ALIASES, Aliases, find_column
from milepost.spaces.objects import join_names

NUMBER_ROLES = ("row_weights",)  # extra columns with these roles hold numbers, others hold objects

# the role, for errors, and the name or position of a column that is read in addition to those of the points
ExtraColumn: TypeAlias = tuple[str, str | int]


@dataclass(frozen=True)
class ColumnSelection:
    """The columns of a table to read: those of the points, by name or position, and extra ones.

    columns: those of the points, in the order of the space; they then get the space's names. names, aliases: of the
    space's columns, looked up where `columns` is None. width: the number of object columns, 0 for numbers; which
    columns hold objects is not guessed.
    """

    columns: Sequence[str | int] | str | int | None = None
    names: tuple[str, ...] | None = None
    aliases: Aliases = field(default_factory=lambda: NO_ALIASES)
    width: int = 0
    extra: tuple[ExtraColumn, ...] = ()

    def __post_init__(self) -> None:
        columns, names = self.selected, self.names
        if columns is not None and names is not None and len(columns) != len(names):
            raise MilepostError(f"columns must name {len(names)} columns for {', '.join(names)}, got {list(columns)}")

    @classmethod
    def of_space(
        cls,
        space: Space,
        columns: Sequence[str | int] | str | int | None = None,
        extra: tuple[ExtraColumn, ...] = (),
    ) -> "ColumnSelection":
        """Return the selection of a space's columns."""
        return cls(columns, space.columns, space.aliases, space.width if space.objects else 0, extra)

    @property
    def selected(self) -> Sequence[str | int] | None:
        """Return `columns` as a sequence."""
        return [self.columns] if isinstance(self.columns, str | int) else self.columns

    def others(self, present: Sequence[str]) -> list[int]:
        """Return the positions of the extra columns."""
        positions = [extra_position(present, role, column) for role, column in self.extra]
        for k, position in enumerate(positions):
            if position in positions[:k]:
                roles = f"{self.extra[positions.index(position)][0]} and {self.extra[k][0]}"
                raise MilepostError(f"{roles} are both the column {present[position]!r}; give each a separate column")
        return positions

    def points(self, present: Sequence[str]) -> list[int]:
        """Return the positions of the points' columns: those with the space's names, if any, else all but the extra."""
        if self.selected is not None:
            return [_selected_position(present, column) for column in self.selected]
        apart, names = self.others(present), self.names
        free = [position for position in range(len(present)) if position not in apart]
        if self.width and names is None and len(free) != self.width:
            raise MilepostError(
                f"the table has the columns {join_names([present[position] for position in free])}; say with "
                "columns=[…] which one holds the objects, or which ones, for tuples of them"
            )
        absent = [name for name in names or () if find_column(present, name, self.aliases) is None]
        if self.width and absent:
            raise MilepostError(f"the table has no column {absent[0]!r}; it has {join_names(present) or 'no columns'}")
        positions = [
            position for name in names or () if (position := find_column(present, name, self.aliases)) is not None
        ]
        return positions if names is not None and len(positions) == len(names) else free


def extra_position(present: Sequence[str], role: str, column: str | int) -> int:
    """Return the position of an extra column among the columns of a table."""
    position = _position(present, column)
    if position is None:
        raise MilepostError(f"{role}: the table has no column {column!r}; it has {join_names(present) or 'no columns'}")
    return position


def _selected_position(present: Sequence[str], column: str | int) -> int:
    position = _position(present, column)
    if position is None:
        raise MilepostError(f"columns: the table has no column {column!r}; it has {join_names(present)}")
    return position


def _position(present: Sequence[str], column: str | int) -> int | None:
    """Return the position of a column, given by its name or position; None if there is no such column."""
    if isinstance(column, str):
        return list(present).index(column) if column in present else None
    exists = isinstance(column, int) and not isinstance(column, bool) and 0 <= column < len(present)
    return column if exists else None
