"""Reading of numeric tables: columns by name or position become float64 points, with clear errors."""

import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from milepost._typing import AnyArray, FloatArray
from milepost.errors import MilepostError
from milepost.spaces.objects import MISSING, join_names

Aliases: TypeAlias = Mapping[str, tuple[str, ...]]  # other names of a column, in lower case
NO_ALIASES: Aliases = MappingProxyType({})
MAX_DISTANCE = 1e100  # of a query from the bounds, in widths of the bounds
HALF_ULP = 2.0**-53  # the largest relative error of rounding to a float
MAX_OFFSET = 1 << 22  # of a space from 0, in diameters: rounding of a point is then below 2⁻³¹ of the diameter
TRANSPOSED_NUMBERS = 1 << 12  # of rows turned into columns at a time, so that they stay in the fastest cache


def find_column(present: Sequence[str], name: str, aliases: Aliases) -> int | None:
    """Return the index of a column among those present: by name, else by an alias in any case; None if absent."""
    lowercase = [text.lower() for text in present] if name in aliases else present
    for alias in (name, *aliases.get(name, ())):
        for names in (present, lowercase):
            if alias in names:
                return list(names).index(alias)
    return None


def read_matrix(
    batch: "pa.RecordBatch | AnyArray",
    columns: tuple[str, ...] | None,
    width: int,
    aliases: Aliases = NO_ALIASES,
    clipper: "ColumnClipper | None" = None,
) -> FloatArray:
    """Return the float64[n, width] matrix of a batch: columns by name where both sides have names, else by position.

    It is a copy with contiguous columns. clipper: clips each of them.
    """
    if isinstance(batch, np.ndarray):
        result = _from_array(batch, width)
        if clipper is not None:
            for column in range(width):
                clipper.clip(column, result[:, column])
        return result
    names = list(batch.schema.names)
    if columns is None:
        if len(names) != width:
            raise MilepostError(
                f"the space has {_columns(width)}, the table has {_columns(len(names))} ({join_names(names)}); "
                "name the ones to use with columns=[…]"
            )
        columns = tuple(names)
    result = np.empty((batch.num_rows, width), order="F")
    for column, name in enumerate(columns):
        index = find_column(names, name, aliases)
        if index is None:
            raise MilepostError(
                f"the table has no column {name!r}; it has {join_names(names) or 'no columns'}. "
                "Rename them, or name the ones of a private table with columns=[…], in the order of the space"
            )
        result[:, column] = from_column(batch.column(index), names[index])
        if clipper is not None:  # while the column is in the cache
            clipper.clip(column, result[:, column])
    return result


@dataclass
class ColumnClipper:
    """Clips columns to their bounds; `inside` stays true while no value is outside of them or missing.

    Most columns are inside, which their smallest and largest values show in half of the time that clipping takes.
    """

    low: Sequence[float]
    high: Sequence[float]
    inside: bool = True

    def clip(self, index: int, column: FloatArray) -> None:
        """Clip a column in place."""
        with np.errstate(invalid="ignore"):
            least, most = column.min(initial=np.inf), column.max(initial=-np.inf)  # both NaN if a value is missing
            if not (self.low[index] <= least and most <= self.high[index]):
                np.clip(column, self.low[index], self.high[index], out=column)
                self.inside = False


def refuse_missing(points: FloatArray, names: Sequence[str], what: str, first_row: int = 0) -> None:
    """Refuse NaN; infinities are ordinary values outside the space."""
    with np.errstate(invalid="ignore"):
        complete = not np.isnan(points.max(initial=-np.inf))  # NaN is the maximum where there is one
    if not complete:
        row, column = (int(k) for k in np.argwhere(np.isnan(points))[0])
        raise MilepostError(
            f"{what} must be numbers, but column {names[column]!r} has a missing value or NaN in row "
            f"{first_row + row + 1}; drop or fill such rows first"
        )


def refuse_infinite(points: FloatArray, names: Sequence[str], first_row: int = 0) -> None:
    """Refuse infinities in query points."""
    infinite = np.isinf(points)
    if infinite.any():
        row, column = (int(k) for k in np.argwhere(infinite)[0])
        raise MilepostError(
            f"query points must be finite, got an infinite {names[column]!r} in row {first_row + row + 1}"
        )


def refuse_far(
    points: FloatArray, low: Sequence[float], high: Sequence[float], names: Sequence[str], first_row: int = 0
) -> None:
    """Refuse query points whose distances would overflow: infinite and absurdly distant ones.

    low, high: the bounds of each column; where they are the same, those of the widest column count.
    """
    width = np.minimum(np.subtract(high, low), 1e200)  # so that the limit is a float
    limit = np.maximum(np.abs(low), np.abs(high)) + MAX_DISTANCE * np.where(width > 0, width, width.max())
    near = np.abs(points) <= limit
    if not near.all():
        refuse_infinite(points, names, first_row)
        row, column = (int(k) for k in np.argwhere(~near)[0])
        raise MilepostError(
            f"query points must be within {MAX_DISTANCE:g} times the width of the bounds, got a {names[column]!r} that "
            f"is farther in row {first_row + row + 1}"
        )


def too_far(column: str, low: float, high: float) -> MilepostError:
    """Return the error for bounds so far from 0 that points between them are lost to rounding."""
    return MilepostError(
        f"bounds of {column} are too far from 0 for their width: got ({low!r}, {high!r}). Beyond {MAX_OFFSET:,} "
        f"diameters from 0 distances are lost to rounding; subtract an offset, such as {low!r}, from the values and "
        "from the bounds first"
    )


def _columns(count: int) -> str:
    return "1 column" if count == 1 else f"{count} columns"


def _from_array(array: AnyArray, width: int) -> FloatArray:
    if array.dtype.kind == "O":
        array = np.array([number(value) for value in array.flat], dtype=np.float64).reshape(array.shape)
    if array.dtype.kind not in "iufb":
        raise MilepostError(
            f"points must be numbers, got text or other objects ({array.dtype}); convert them, such as by astype(float)"
        )
    if array.ndim != 2 or array.shape[1] != width:
        shape = " × ".join(str(size) for size in array.shape)
        got = f"an array of shape {shape}" if shape else "one value alone"
        raise MilepostError(f"expected points with {_columns(width)}, got {got}")
    result = np.empty(array.shape, order="F")
    rows = max(1, TRANSPOSED_NUMBERS // max(1, width))
    for start in range(0, len(array), rows):
        result[start : start + rows] = array[start : start + rows]
    return result


def number(value: Any) -> float:
    """Return an object as a float, independently of its neighbors in a column; a missing value is NaN."""
    if type(value).__name__ in MISSING:
        return math.nan
    if isinstance(value, numbers.Real | Decimal | np.bool_):
        real: Any = value
        try:
            return float(real)
        except OverflowError:  # a whole number beyond all floats
            return -math.inf if real < 0 else math.inf
        except ValueError:  # a signalling NaN
            return math.nan
    raise MilepostError("points must be numbers, got text or another object among them; convert it, or leave it out")


def from_column(column: Any, name: str) -> FloatArray:
    """Return an Arrow column as float64; each result depends on its own value only."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.dictionary_decode(), kind.value_type
    if pa.types.is_decimal(kind):
        # one by one: Arrow's own cast rounds by the column's scale, which another record's digits may have set
        return np.array([number(value) for value in column.to_pylist()], dtype=np.float64)
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        column = column.cast(pa.float64(), safe=False)
    elif not (pa.types.is_floating(kind) or pa.types.is_null(kind)):
        raise MilepostError(f"column {name!r} must hold numbers, got {kind}; convert it or leave it out")
    if kind != pa.float64():
        column = column.cast(pa.float64())
    result: FloatArray = column.to_numpy(zero_copy_only=False)
    return result


def unit_of(unit: Any) -> str:
    """Return a unit of distances for labels; refuse anything but a short text."""
    if not isinstance(unit, str) or len(unit) > 20:
        raise MilepostError(f"distance_unit must be a text of at most 20 characters such as km, got {unit!r}")
    return unit


def named_pairs(bounds: Any) -> tuple[tuple[str, ...] | None, list[tuple[float, float]]]:
    """Return the names (None for positions) and the (low, high) pairs of bounds, each checked."""
    named = isinstance(bounds, Mapping)
    items = (
        list(bounds.items()) if named else list(enumerate(bounds if isinstance(bounds, Sequence | np.ndarray) else ()))
    )
    if not items:
        raise MilepostError(
            f"bounds must be a dict or a list with a (low, high) pair for at least one column, got {bounds!r}"
        )
    pairs = []
    for key, pair in items:
        try:
            low, high = (float(value) for value in pair)
        except (TypeError, ValueError):
            alone = not named and isinstance(pair, int | float)
            hint = "; bounds of one column are a list of one pair, [(0, 10)]" if alone else ""
            raise MilepostError(
                f"bounds of column {key!r} must be a pair of numbers (low, high), got {pair!r}{hint}"
            ) from None
        if not np.isfinite([low, high]).all():
            raise MilepostError(f"bounds of column {key!r} must be finite, got ({low:g}, {high:g})")
        if not low <= high:
            raise MilepostError(
                f"bounds of column {key!r} are reversed: low {low:g} is above high {high:g}; write ({high:g}, {low:g})"
            )
        pairs.append((low, high))
    return (tuple(str(key) for key, _ in items) if named else None), pairs


def named_numbers(
    what: str, values: Any, columns: tuple[str, ...] | None, width: int, default: float
) -> tuple[float, ...]:
    """Return one finite number of at least 0 per column, from values by name, by position or one for all columns.

    A column without a value has the default.
    """
    if values is None:
        return (default,) * width
    if isinstance(values, Mapping):
        unknown = [key for key in values if columns is None or key not in columns]
        if unknown:
            raise MilepostError(f"{what} names the unknown column {unknown[0]!r}; bounds name {columns}")
        values = [values.get(name, default) for name in columns or ()]
    elif isinstance(values, int | float):
        values = [values] * width
    try:
        result = tuple(float(default if value is None else value) for value in values)
    except (TypeError, ValueError):
        raise MilepostError(f"{what} must be numbers, one for each column, got {values!r}") from None
    if len(result) != width:
        raise MilepostError(f"{what} must have one number for each of the {width} columns, got {len(result)}")
    if not all(math.isfinite(value) and value >= 0 for value in result):
        raise MilepostError(f"{what} must be finite and at least 0, got {result}")
    return result
