"""Columns of a mixed table: numbers, categories and flags, as float64 points and as embedding coordinates."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import pyarrow as pa

from milepost._typing import FloatArray
from milepost.errors import MilepostError
from milepost.spaces import numeric
from milepost.spaces.embeddings.embedding import QUANTA
from milepost.spaces.objects import encode_cells, is_missing, join_names, normalize_cell, to_python_objects

OTHER = "other"
MAX_LABELS = 1 << 12
TRUE, FALSE = ("true", "yes", "1", "t", "y"), ("false", "no", "0", "f", "n")


class Column(Protocol):
    """The type of a column; the largest difference of two values is 1."""

    kind: ClassVar[str]

    @property
    def size(self) -> int:
        """The number of embedding coordinates."""

    @property
    def span(self) -> tuple[int, int]:
        """Quanta of an embedding coordinate, and between two neighboring positions of records."""

    @property
    def ends(self) -> tuple[float, float]:
        """The interval of an embedding coordinate."""

    def read(self, cells: Any, name: str, query: bool, first_row: int) -> FloatArray:
        """Return cells as numbers float64[n]; private cells outside the column are moved into it."""

    def position(self, values: FloatArray) -> FloatArray:
        """Return the embedding positions of numbers, float64[n, size] in quanta."""

    def value(self, positions: FloatArray) -> float:
        """Return the number nearest to embedding positions float64[size]."""

    def user_point(self, value: float) -> Any:
        """Return a number as a user writes it."""

    def difference(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Return the differences of numbers, 0..1, element by element."""

    def max_difference(self, values: FloatArray) -> FloatArray:
        """Return the largest difference of any value of the column to each number."""

    def to_json(self) -> list[Any]:
        """Return the JSON that the card stores."""


@dataclass(frozen=True)
class Number:
    """A number within public bounds; a difference is a share of their distance."""

    kind: ClassVar[str] = "number"
    low: float
    high: float
    step: float = 0.0

    size: ClassVar[int] = 1

    @property
    def span(self) -> tuple[int, int]:
        """All quanta and 1, or whole steps."""
        if not self.step:
            return QUANTA, 1
        count = round((self.high - self.low) / self.step)
        step = QUANTA >> (count - 1).bit_length()
        return count * step, step

    @property
    def ends(self) -> tuple[float, float]:
        """The bounds."""
        return self.low, self.high

    def read(self, cells: Any, name: str, query: bool, first_row: int) -> FloatArray:
        """Return numbers, from numbers or text; refuse missing ones."""
        what = "query points" if query else "private rows"
        values = _numbers(cells, name, what, first_row)
        numeric.refuse_missing(values[:, None], [name], what, first_row)
        if query:
            numeric.refuse_far(values[:, None], [self.low], [self.high], [name], first_row)
        return values if query else np.clip(values, self.low, self.high)

    def position(self, values: FloatArray) -> FloatArray:
        """Return positions between the bounds."""
        return ((values - self.low) * (self.span[0] / (self.high - self.low)))[:, None]

    def value(self, positions: FloatArray) -> float:
        """Return the number at a position between the bounds."""
        return self.low + float(positions[0]) / self.span[0] * (self.high - self.low)

    def user_point(self, value: float) -> float:
        """Return the number itself."""
        return float(value)

    def difference(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Return differences as shares of the width of the bounds."""
        return np.asarray(np.abs(left - right) / (self.high - self.low))

    def max_difference(self, values: FloatArray) -> FloatArray:
        """Return the difference to the farther bound."""
        return np.maximum(*(self.difference(values, np.array(end)) for end in self.ends))

    def to_json(self) -> list[Any]:
        """Return the JSON that the card stores."""
        return [self.kind, self.low, self.high, self.step]


@dataclass(frozen=True)
class Category:
    """One of some labels, or `other` for any other value; two labels differ by 1 or not at all."""

    kind: ClassVar[str] = "category"
    labels: tuple[str, ...]  # without `other`, which comes after them

    @property
    def size(self) -> int:
        """One for each label and one for `other`."""
        return len(self.labels) + 1

    span: ClassVar[tuple[int, int]] = (QUANTA, QUANTA)
    ends: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def read(self, cells: Any, name: str, query: bool, first_row: int) -> FloatArray:
        """Return indices of labels; an unknown or missing label is `other`, or refused in a query."""
        positions = {label: float(k) for k, label in enumerate((*self.labels, OTHER))}
        values, codes = encode_cells(cells, name)
        labels = [_label(cell) for cell in values]
        if query and not positions.keys() >= set(labels):
            row = next(row for row, label in enumerate(labels) if label not in positions)
            raise MilepostError(
                f"query points, row {first_row + row + 1}: column {name!r} has no label {labels[row]!r}; it has "
                f"{join_names(list(positions))}"
            )
        other = float(len(self.labels))
        return np.array([positions.get(label, other) for label in labels], dtype=np.float64)[codes]

    def position(self, values: FloatArray) -> FloatArray:
        """Return positions at the far end of the label's coordinate and at the near end of the others."""
        return np.where(values[:, None] == np.arange(self.size), float(QUANTA), 0.0)

    def value(self, positions: FloatArray) -> float:
        """Return the index of the label whose coordinate is nearest to its far end."""
        return float(np.argmax(positions))

    def user_point(self, value: float) -> str:
        """Return the label."""
        return (*self.labels, OTHER)[int(value)]

    def difference(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Return 1 where two labels differ, else 0."""
        return np.asarray(left != right, dtype=np.float64)

    def max_difference(self, values: FloatArray) -> FloatArray:
        """Return 1: there is always another label."""
        return np.ones(len(values))

    def to_json(self) -> list[Any]:
        """Return the JSON that the card stores."""
        return [self.kind, list(self.labels)]


@dataclass(frozen=True)
class Flag:
    """True or false."""

    kind: ClassVar[str] = "flag"
    size: ClassVar[int] = 1
    span: ClassVar[tuple[int, int]] = (QUANTA, QUANTA)
    ends: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def read(self, cells: Any, name: str, query: bool, first_row: int) -> FloatArray:
        """Return 0 and 1 for booleans, 0 and 1, or texts such as yes and no; refuse anything else."""
        numbers = dict.fromkeys(TRUE, 1.0) | dict.fromkeys(FALSE, 0.0)
        values, codes = encode_cells(cells, name)
        result = np.array([numbers.get(_label(cell).lower(), math.nan) for cell in values], dtype=np.float64)[codes]
        wrong = np.flatnonzero(np.isnan(result))
        if len(wrong):
            what = "query points" if query else "private rows"
            raise MilepostError(
                f"{what}: column {name!r} must be true or false, which row {first_row + int(wrong[0]) + 1} is not"
            )
        return result

    def position(self, values: FloatArray) -> FloatArray:
        """Return positions at one end or the other."""
        return (values * QUANTA)[:, None]

    def value(self, positions: FloatArray) -> float:
        """Return the nearer end, 0 or 1."""
        return float(positions[0] > QUANTA / 2)

    def user_point(self, value: float) -> bool:
        """Return True or False."""
        return bool(value)

    def difference(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Return 1 where two flags differ, else 0."""
        return np.asarray(np.abs(left - right))

    def max_difference(self, values: FloatArray) -> FloatArray:
        """Return 1: the other flag."""
        return np.ones(len(values))

    def to_json(self) -> list[Any]:
        """Return the JSON that the card stores."""
        return [self.kind]


def number(low: float, high: float, *, step: float | None = None) -> Number:
    """Return a column of numbers with public bounds, for `Gower`.

    Parameters
    ----------
    low, high : float
        The public bounds; a private number outside them is moved to the nearest bound.
    step : float, optional
        The step of values that are whole steps. Answers then have no interpolation error.

    Returns
    -------
    Number
        The type of a column, for `Gower`.

    Examples
    --------
    >>> import milepost as mp
    >>> mp.number(18, 90, step=1)
    Number(low=18.0, high=90.0, step=1.0)
    """
    _, [(low, high)] = numeric.named_pairs([(low, high)])
    if not (low < high and 1e-100 < high - low < 1e100):
        raise MilepostError(
            f"a number needs low below high, and a distance between them of 1e-100 to 1e100, got ({low:g}, {high:g})"
        )
    if max(abs(low), abs(high)) > numeric.MAX_OFFSET * (high - low):
        raise numeric.too_far("a number", low, high)
    if step is None:
        return Number(low, high)
    if isinstance(step, bool) or not isinstance(step, int | float) or not step > 0:
        raise MilepostError(f"step must be a positive number, got {step!r}")
    count = (high - low) / step
    if not (1 <= round(count) <= 1 << 16 and abs(count - round(count)) < 1e-9 * count):
        raise MilepostError(
            f"step {step:g} must divide ({low:g}, {high:g}) into 1 to {1 << 16:,} whole steps, got {count:g}"
        )
    return Number(low, high, float(step))


def category(labels: Sequence[Any]) -> Category:
    """Return a column of labels, for `Gower`.

    Parameters
    ----------
    labels : list
        The public labels; any other value counts as `other`.

    Returns
    -------
    Category
        The type of a column, for `Gower`.

    Examples
    --------
    >>> import milepost as mp
    >>> mp.category(["a", "b"])
    Category(labels=('a', 'b'))
    """
    if isinstance(labels, str) or not isinstance(labels, Sequence) or not 1 <= len(labels) <= MAX_LABELS:
        raise MilepostError(f"a category needs a list of 1 to {MAX_LABELS:,} labels, got {labels!r}")
    names = [_label(label) for label in labels]
    if len(set(names)) < len(names):
        raise MilepostError(f"a category needs each label once, got {list(labels)}")
    if names == [OTHER]:
        raise MilepostError(f"a category needs a label besides {OTHER!r}, which every category has")
    return Category(tuple(name for name in names if name != OTHER))


def flag() -> Flag:
    """Return a column that is true or false, for `Gower`.

    Returns
    -------
    Flag
        The type of a column, for `Gower`.

    Examples
    --------
    >>> import milepost as mp
    >>> mp.flag()
    Flag()
    """
    return Flag()


_FROM_JSON: dict[str, Callable[..., Column]] = {
    Number.kind: lambda low, high, step: number(low, high, step=step or None),
    Category.kind: category,
    Flag.kind: flag,
}


def column_from_json(card: Sequence[Any]) -> Column:
    """Return the column that `to_json` described."""
    kind, *params = card
    return _FROM_JSON[kind](*params)


def column_from_spec(name: str, spec: Any) -> Column:
    """Return a column as TOML and JSON write it: `{number = [18, 90]}`, `{category = ["a", "b"]}` or `"flag"`."""
    if spec == Flag.kind:
        return flag()
    params = dict(spec) if isinstance(spec, Mapping) else {}
    if params.keys() == {Category.kind}:
        return category(params[Category.kind])
    pair = params.get(Number.kind)
    if isinstance(pair, list | tuple) and len(pair) == 2 and params.keys() <= {Number.kind, "step"}:
        return number(*pair, step=params.get("step"))
    raise MilepostError(
        f'column {name!r} must be {{number = [low, high]}}, {{category = ["a", "b"]}} or "flag", got {spec!r}'
    )


def _label(cell: Any) -> str:
    """Return a cell as a label: 1 and 1.0 have the same label, and a missing cell has the empty one."""
    if isinstance(cell, str):
        return cell
    if is_missing(cell):
        return ""
    if isinstance(cell, np.generic):
        cell = cell.item()
    try:
        return str(normalize_cell(cell))
    except ValueError:  # a whole number of more digits than Python spells out
        return ""


def _numbers(cells: Any, name: str, what: str, first_row: int) -> FloatArray:
    """Return cells as float64; text and objects one by one, so that no row depends on another's type."""
    if isinstance(cells, pa.Array):
        kind = cells.type.value_type if pa.types.is_dictionary(cells.type) else cells.type
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)):
            return numeric.from_column(cells, name)
    values = to_python_objects(cells, name)
    result = np.empty(len(values))
    for row, cell in enumerate(values):
        try:
            result[row] = _number(cell)
        except (MilepostError, ValueError):  # its reason would quote a private value
            raise MilepostError(
                f"{what}: column {name!r} must hold numbers, which row {first_row + row + 1} does not"
            ) from None
    return result


def _number(cell: Any) -> float:
    """Return a cell, a number or text, as a float; empty text is a missing value."""
    if isinstance(cell, str):
        return float(cell) if cell.strip() else math.nan
    return math.nan if is_missing(cell) else numeric.number(cell)
