"""Groups, persons and weights of the rows of a private table, and the columns that hold them."""

import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from milepost._typing import FloatArray, IntArray
from milepost._validation import check_whole
from milepost.errors import MilepostError
from milepost.ingest.batches import Cells, column_cells
from milepost.ingest.column_selection import NUMBER_ROLES, ExtraColumn, extra_position
from milepost.ingest.contribution_bounding import person_names
from milepost.privacy.protected_change import WEIGHT_STEPS, ProtectedChange
from milepost.spaces import numeric
from milepost.spaces.columns import MAX_LABELS, OTHER, Category
from milepost.statistics.statistic_spec import RecordBlock

MAX_WEIGHT = sys.float_info.max
ROLES = ("groups", "privacy_unit", "row_weights")

Role: TypeAlias = Any  # a column's name or position, one entry a row in a list, an array or a Series, or None


@dataclass(frozen=True, eq=False)
class RowColumns:
    """The columns that hold the group, the person and the weight of each row of a private table.

    Each is a column's name or position, or a sequence with one entry a row.

    groups: the group of a row, one of the public `labels`, matched as a `category` matches its own. Rows with another
    label, or none, are in the group "other" where `labels` has it; else they add nothing anywhere.
    privacy_unit: the person that a row belongs to. At most `contributions` rows of one person are used: of their rows
    in a group, those that come first by a hash of point, group and weight, whatever the order and other people's rows.
    Ids are the same when they are spelled alike: the numbers 7 and 7.0 and the text "7" are one person's, "07" is not.
    row_weights: between 0 and the public `max_row_weight`, in 1024 steps of it, rounded; others are moved to the
    nearest end.

    >>> RowColumns(groups="city", labels=["Bonn", "Ulm", "other"], privacy_unit="person", contributions=3).group_count
    3
    """

    groups: Role = None
    labels: Sequence[Any] = ()
    privacy_unit: Role = None
    contributions: int = 1
    row_weights: Role = None
    max_row_weight: float | None = None

    def __post_init__(self) -> None:
        for role in ROLES:
            _check_role(role, getattr(self, role))
        object.__setattr__(self, "labels", _labels(self.labels, self.groups is not None))
        check_whole("contributions", self.contributions, 1)
        if self.contributions > 1 and self.privacy_unit is None:
            raise MilepostError(
                f"contributions={self.contributions} bounds the rows of each person, and privacy_unit=… is not given; "
                "name the column that holds the person of each row"
            )
        _check_max_weight(self.max_row_weight, self.row_weights is not None)
        roles: dict[str | int, str] = {}
        for role, column in self.extra_columns:
            other = roles.setdefault(column, role)
            if other != role:
                raise MilepostError(f"{other} and {role} are both the column {column!r}; give each a separate column")

    def change(self, neighbors: str) -> ProtectedChange:
        """Return the protected change: what one person can alter."""
        unit = (
            None if self.privacy_unit is None else self.privacy_unit if isinstance(self.privacy_unit, str) else "person"
        )
        groups = len(self.labels) if self.groups is not None else None
        return ProtectedChange(neighbors, self.contributions, unit, self.max_row_weight, groups)

    @property
    def roles(self) -> tuple[str, ...]:
        """Return the roles that are not None."""
        return tuple(role for role in ROLES if getattr(self, role) is not None)

    @property
    def group_count(self) -> int:
        """Return the number of groups."""
        return max(1, len(self.labels))

    @property
    def extra_columns(self) -> tuple[ExtraColumn, ...]:
        """Return the roles that are columns of the table."""
        columns = ((role, getattr(self, role)) for role in self.roles)
        return tuple((role, value) for role, value in columns if _is_column(value))

    def sequences(self) -> dict[str, Cells]:
        """Return the cells of the roles that are sequences, by role."""
        values = {role: getattr(self, role) for role in self.roles}
        return {
            role: column_cells(value, role, role in NUMBER_ROLES)
            for role, value in values.items()
            if not _is_column(value)
        }

    def with_columns_of(self, frame: Any) -> "RowColumns":
        """Return a copy that holds the columns of a pandas frame, for rows that are read from another table."""
        present = [str(name) for name in frame.columns] if frame.ndim == 2 else []
        columns = {role: extra_position(present, role, column) for role, column in self.extra_columns}
        return replace(self, **{role: frame.iloc[:, position] for role, position in columns.items()})

    def block(self, points: FloatArray, cells: Mapping[str, Cells], first_row: int = 0) -> RecordBlock:
        """Return records with the attributes that their cells hold, by role; a record depends on its own cells only."""
        group = self._group(cells["groups"]) if "groups" in cells else None
        weight = self._weight(cells["row_weights"], first_row) if "row_weights" in cells else None
        person = None
        if "privacy_unit" in cells:
            person = person_names(cells["privacy_unit"], _name("privacy_unit", self.privacy_unit), first_row)
        return RecordBlock(points, group, weight, person)

    @cached_property
    def _category(self) -> tuple[Category, IntArray]:
        """Return the labels as a category, and the group of each label index of that category."""
        names = [str(label) for label in self.labels]
        categories = [name for name in names if name != OTHER]
        groups = [names.index(name) for name in categories] + [names.index(OTHER) if OTHER in names else -1]
        return Category(tuple(categories)), np.array(groups, dtype=np.int64)

    def _group(self, cells: Cells) -> IntArray:
        category, groups = self._category
        name = _name("groups", self.groups)
        label_indices = category.read(cells, name, False, 0)
        return np.asarray(groups[label_indices.astype(np.int64)])

    def _weight(self, cells: Cells, first_row: int) -> IntArray:
        name = _name("row_weights", self.row_weights)
        values = _numbers(cells, name, first_row)
        numeric.refuse_missing(values[:, None], [name], "private rows", first_row)
        with np.errstate(over="ignore", under="ignore"):
            shares = np.clip(values / float(self.max_row_weight or 1), 0, 1)
        return np.rint(shares * WEIGHT_STEPS).astype(np.int64)


def _numbers(cells: Cells, name: str, first_row: int) -> FloatArray:
    """Return cells as float64; convert objects one by one, so that no row depends on the type of another."""
    if isinstance(cells, pa.Array):
        return numeric.from_column(cells, name)
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "iufb":
        return cells.astype(np.float64)
    result = np.empty(len(cells))
    for row, cell in enumerate(cells):
        try:
            result[row] = numeric.number(cell)
        except MilepostError:
            raise MilepostError(
                f"private rows: column {name!r} must hold numbers, which row {first_row + row + 1} does not"
            ) from None
    return result


def _is_column(role: Role) -> bool:
    return isinstance(role, str | int)


def _name(role: str, value: Role) -> str:
    """Return the name of a role in errors: its column, or the role itself."""
    return str(value) if _is_column(value) else role


def _check_role(role: str, value: Any) -> None:
    is_sequence = (
        hasattr(value, "__len__") and hasattr(value, "__iter__") and not isinstance(value, bytes | Mapping | set)
    )
    if isinstance(value, bool) or not (value is None or _is_column(value) or is_sequence):
        raise MilepostError(
            f"{role} must be a column's name or position, or a list with one entry a row, got {type(value).__name__}"
        )


def _labels(labels: Any, grouped: bool) -> tuple[Any, ...]:
    """Return public labels as a tuple; refuse bad ones."""
    if isinstance(labels, str | bytes | Mapping) or not (labels is None or isinstance(labels, Iterable)):
        raise MilepostError(f"labels must be a list of the groups' labels, got {labels!r}")
    result = tuple(
        label.item() if isinstance(label, np.generic) else label for label in (() if labels is None else labels)
    )
    if result and not grouped:
        raise MilepostError("labels=[…] needs groups=…, which is not given; name the column that holds the groups")
    if grouped and not 1 <= len(result) <= MAX_LABELS:
        raise MilepostError(
            f"groups needs labels=[…], a public list of 1 to {MAX_LABELS:,} labels, got {len(result) or 'none'}; "
            "labels that are read from the table would reveal who is in it"
        )
    for label in result:
        if not isinstance(label, str | int) or label == "":
            raise MilepostError(f"labels must be text, whole numbers, True or False, got {label!r}")
    names = Counter(str(label) for label in result)
    if len(names) < len(result):
        raise MilepostError(f"labels must have each label once, got {names.most_common(1)[0][0]!r} twice")
    return result


def _check_max_weight(maximum: Any, weighted: bool) -> None:
    if not weighted:
        if maximum is not None:
            raise MilepostError(
                "max_row_weight needs row_weights=…, which is not given; name the column that holds the weights"
            )
        return
    if isinstance(maximum, bool) or not isinstance(maximum, int | float) or not 0 < maximum <= MAX_WEIGHT:
        raise MilepostError(
            f"row_weights needs max_row_weight, a public number above 0 that larger weights are cut to, got {maximum!r}"
        )
