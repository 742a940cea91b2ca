"""Spaces over mixed tables: Gower's distance over numbers, categories and flags, and Hamming's over categories."""

import csv
import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa

from milepost._typing import AnyArray, FloatArray, IntArray
from milepost.errors import MilepostError
from milepost.spaces.box import STEP, WEIGHTS
from milepost.spaces.columns import Category, Column, Flag, Number, category, column_from_json, column_from_spec
from milepost.spaces.distances.tiles import Tile, gather, sum_over_columns
from milepost.spaces.embeddings.embedding import (
    CategoryBlock,
    Distortion,
    Embedding,
    NumberBlock,
    default_cells,
    round_up,
)
from milepost.spaces.embeddings.quantization import CoordinatePositions, CoordinateSpace
from milepost.spaces.fields import (
    ALPHABETS,
    COLUMN_TYPES,
    INTEGER,
    INTERVALS,
    LABELS,
    NAMES,
    TEXT,
    SpaceField,
    split_labels,
)
from milepost.spaces.kernels.kernel import ROUNDING, Kernel, level
from milepost.spaces.numeric import HALF_ULP, MAX_OFFSET, named_numbers
from milepost.spaces.objects import cells_of, is_series, join_names

MIN_SHARE = 1e-9  # of the weight of a column in the sum of all weights


@dataclass(frozen=True, init=False)
class MixedTable(CoordinateSpace):
    """Columns of different kinds, each with a weight; the distance is the weighted sum of their differences."""

    objects: ClassVar[bool] = True
    thread_safe: ClassVar[bool] = True

    columns: tuple[str, ...] | None
    parts: tuple[Column, ...]
    weights: tuple[float, ...]

    def _set_fields(self, columns: Any, weights: Any) -> None:
        """Check the arguments and set the fields."""
        if isinstance(columns, str) or not isinstance(columns, Mapping | Sequence):
            raise MilepostError(f"columns must be a dict by name or a list, got {columns!r}")
        named = isinstance(columns, Mapping)
        parts: tuple[Any, ...] = tuple(columns.values() if isinstance(columns, Mapping) else columns)
        names = tuple(str(name) for name in columns) if named else None
        if not parts:
            raise MilepostError("a table needs at least one column")
        if names and len(set(names)) < len(names):
            raise MilepostError(f"a table needs each column once, got {', '.join(names)}")
        for name, part in zip(names or range(len(parts)), parts, strict=True):
            if not isinstance(part, Number | Category | Flag):
                raise MilepostError(
                    f"column {name!r} must be mp.number(low, high), mp.category(labels) or mp.flag(), got {part!r}"
                )
        numbers = named_numbers("weights", weights, names, len(parts), 1.0)
        if not all(weight > 0 for weight in numbers):
            raise MilepostError(f"weights must be positive, got {numbers}; leave a column out instead")
        if not min(numbers) > MIN_SHARE * sum(numbers) > 0:
            raise MilepostError(f"every weight must be at least {MIN_SHARE:g} of their sum, got {numbers}")
        fields = {"columns": names, "parts": parts, "weights": self._scale_weights(numbers)}
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        max_steps = default_cells(self.embedding.dimension)
        for name, part in zip(self.names, parts, strict=True):
            if isinstance(part, Number) and part.step and part.span[0] // part.span[1] > max_steps:
                raise MilepostError(
                    f"column {name!r} has more than the {max_steps:,} steps that fit with this many columns"
                )

    @staticmethod
    @abstractmethod
    def _scale_weights(weights: tuple[float, ...]) -> tuple[float, ...]:
        """Return the weights that the distance uses."""

    @property
    def clipping_rule(self) -> str:
        """The rule for private values outside the space."""
        return (
            "numbers outside their bounds were moved to the nearest bound, and labels that are not listed are `other`"
        )

    @property
    def width(self) -> int:
        """The number of columns of a point."""
        return len(self.parts)

    @property
    def diameter(self) -> float:
        """The distance between points that differ as much as possible in every column."""
        return sum(self.weights)

    @property
    def center(self) -> FloatArray:
        """Numbers in the middle, first labels, false."""
        halves = [sum(part.ends) / 2 if isinstance(part, Number) else 0.0 for part in self.parts]
        return np.array(halves)

    @cached_property
    def _slices(self) -> tuple[slice, ...]:
        """The embedding coordinates of each column."""
        stops = np.cumsum([part.size for part in self.parts]).tolist()
        return tuple(slice(stop - part.size, stop) for stop, part in zip(stops, self.parts, strict=True))

    @cached_property
    def embedding_columns(self) -> IntArray:
        """The column of each embedding coordinate."""
        return np.repeat(np.arange(self.width), [part.size for part in self.parts])

    @cached_property
    def embedding(self) -> Embedding:
        """One coordinate per number or flag, and one per label, of half the weight: a change of label moves two."""
        blocks = tuple(
            CategoryBlock(where.start, part.size) if isinstance(part, Category) else NumberBlock(where.start)
            for part, where in zip(self.parts, self._slices, strict=True)
        )
        weight, low, high, span, step = (np.empty(len(self.embedding_columns)) for _ in range(5))
        for part, block, own in zip(self.parts, blocks, self.weights, strict=True):
            where = block.coordinates
            low[where], high[where] = part.ends
            weight[where] = own / (part.ends[1] - part.ends[0]) / block.ends_moved
            span[where], step[where] = part.span
        spread = weight * (high - low) * (1 + 2**-51)
        return Embedding(
            weight,
            low,
            high,
            round_up(np.array([block.width(float(spread[block.start])) for block in blocks])),
            span=span.astype(np.int64),
            step=step.astype(np.int64),
            blocks=blocks,
        )

    def distortion(self) -> Distortion:
        """Return no distortion: embedded distances are those of the metric."""
        return Distortion.of(np.empty(0))

    def is_point(self, point: Any) -> bool:
        """Return whether an object is a single point: a dict, a row of a frame, or a list of one value per column."""
        if isinstance(point, Mapping) or (is_series(point) and {*self.names} <= {*map(str, point.index)}):
            return True
        plain = isinstance(point, list | tuple | np.ndarray) and len(point) == self.width
        return plain and not any(isinstance(cell, list | tuple | Mapping | np.ndarray) for cell in point)

    def read(self, batch: pa.RecordBatch | AnyArray, first_row: int = 0) -> FloatArray:
        """Return private rows as numbers: float64[n, columns]."""
        return self._read(batch, False, first_row)

    def read_queries(self, batch: pa.RecordBatch | AnyArray, first_row: int = 0) -> FloatArray:
        """Return public queries as numbers, which may lie outside their bounds."""
        return self._read(batch, True, first_row)

    def _read(self, batch: pa.RecordBatch | AnyArray, query: bool, first_row: int) -> FloatArray:
        columns = cells_of(batch, self.names, self.columns is not None, first_row)
        pairs = zip(self.parts, self.names, columns, strict=True)
        return np.column_stack([part.read(cells, name, query, first_row) for part, name, cells in pairs])

    def clip_points(self, queries: AnyArray) -> FloatArray:
        """Return queries with numbers clipped to their bounds."""
        result: FloatArray = np.array(queries)
        for i, part in enumerate(self.parts):
            if isinstance(part, Number):
                result[:, i] = np.clip(result[:, i], part.low, part.high)
        return result

    def points_around(self, point: AnyArray, distance: float) -> FloatArray:
        """Raise an error: the centre of a table is found column by column."""
        raise MilepostError(f"a table has no points {distance:g} around {point.tolist()}")

    def user_point(self, query: AnyArray) -> Any:
        """Return a dict of the columns' values, or a tuple where columns have no names."""
        values = [part.user_point(float(value)) for part, value in zip(self.parts, query, strict=True)]
        return dict(zip(self.columns, values, strict=True)) if self.columns else tuple(values)

    def parse(self, text: str) -> Any:
        """Return the values of a comma-separated text, one per column; a sequence of letters stays text."""
        cells = [cell.strip() for cell in next(csv.reader([text]), [])]
        if len(cells) == self.width:
            return tuple(cells)
        if not (len(cells) == 1 and self.is_point(text)):
            raise MilepostError(f"--at must give {self.width} values ({join_names(self.names)}), got {text!r}")
        return text

    def column_values(self, query: Any) -> tuple[Any, ...]:
        """Return the values of a query."""
        return tuple(query.values() if isinstance(query, Mapping) else query)

    def position(self, queries: AnyArray) -> FloatArray:
        """Return embedding positions in quanta."""
        result = np.empty((len(queries), self.embedding.dimension), order="F")
        for i, (part, where) in enumerate(zip(self.parts, self._slices, strict=True)):
            result[:, where] = part.position(queries[:, i])
        return result

    def point(self, positions: FloatArray) -> FloatArray:
        """Return the points nearest to embedding positions."""
        rows = [
            [part.value(row[where]) for part, where in zip(self.parts, self._slices, strict=True)] for row in positions
        ]
        return np.array(rows).reshape(len(positions), self.width)

    def record_positions(self, points: FloatArray) -> CoordinatePositions:
        """Return a function for the positions of records."""
        all_positions = self.position(points).T
        return lambda coordinates, out: np.copyto(out, all_positions[coordinates])

    def distance_tiles(self, records: FloatArray, queries: AnyArray) -> Iterator[Tile]:
        """Yield the weighted sum of differences for every pair."""
        return sum_over_columns(records, queries, lambda i, x, y, _: self.weights[i] * self.parts[i].difference(x, y))

    def distance(self, records: FloatArray, queries: AnyArray) -> FloatArray:
        """Return the weighted sum of differences for every pair."""
        return gather(self.distance_tiles(records, queries), len(records), len(queries))

    def distance_range(self, queries: AnyArray) -> tuple[FloatArray, FloatArray]:
        """Return 0 and the weighted sum of the largest differences of each column."""
        columns = zip(self.weights, self.parts, queries.T, strict=True)
        largest = sum((w * part.max_difference(y) for w, part, y in columns), np.zeros(len(queries)))
        return np.zeros(len(queries)), np.minimum(largest + self._rounding, self.diameter)

    @property
    def enclosing_ball(self) -> tuple[FloatArray, float]:
        """The ball around numbers between 0 and their weight, and labels at the corners of a simplex."""
        center, square = np.empty(len(self.embedding_columns)), 0.0
        for part, where, weight in zip(self.parts, self._slices, self.weights, strict=True):
            if isinstance(part, Category):
                center[where] = weight / math.sqrt(2) / part.size
                square += weight**2 / 2 * (1 - 1 / part.size)
            else:
                center[where] = weight / 2
                square += weight**2 / 4
        return center, math.sqrt(square)

    def vectors(self, points: FloatArray) -> FloatArray:
        """Return numbers and flags as shares of their weight, and a column for each label.

        Two points that differ in one column only are as far apart as in the metric: the column of a label is 1/√2 of
        the weight for that label, and 0 for the others.
        """
        return np.asarray(self.position(points) * self._vector_scale)

    @cached_property
    def _vector_scale(self) -> FloatArray:
        """The length of one quantum of each embedding coordinate, as `vectors` have it."""
        scales = [
            weight / (math.sqrt(2) if isinstance(part, Category) else 1.0) / part.span[0]
            for part, weight in zip(self.parts, self.weights, strict=True)
        ]
        return np.asarray(scales)[self.embedding_columns]

    @property
    def _rounding(self) -> float:
        """An upper bound on the error of a computed distance, as far from 0 as `number` allows bounds to be."""
        return (ROUNDING + 2 * HALF_ULP * MAX_OFFSET) * self.diameter

    @cached_property
    def kernels(self) -> tuple[Kernel, ...]:
        """Covariances with ν on both ends of every number and flag, and evenly on all labels of a category."""
        shares = [(1 - 1 / part.size) / 2 if isinstance(part, Category) else 1 / 4 for part in self.parts]
        height = sum(share * weight for share, weight in zip(shares, self.weights, strict=True))
        return level(height, self.query_distances, self.diameter, self._rounding).kernels()

    def to_json(self) -> dict[str, Any]:
        """Return the JSON that the card stores."""
        return {
            "kind": self.kind,
            "columns": self.by_column(part.to_json() for part in self.parts),
            "weights": list(self.weights),
        }

    @classmethod
    def from_json(cls, card: dict[str, Any], tensors: dict[str, AnyArray]) -> Self:  # noqa: ARG003
        """Return the space that `to_json` described."""
        columns = card["columns"]
        result = object.__new__(cls)
        object.__setattr__(result, "columns", tuple(columns) if isinstance(columns, dict) else None)
        parts = columns.values() if isinstance(columns, dict) else columns
        object.__setattr__(result, "parts", tuple(column_from_json(part) for part in parts))
        object.__setattr__(result, "weights", _read_weights(card["weights"], len(result.parts)))
        return result


@dataclass(frozen=True, init=False)
class Gower(MixedTable):
    """Gower's distance: the weighted mean of the columns' differences, between 0 and 1.

    Parameters
    ----------
    columns : dict or list
        The type of each column, by name or in order: `number(18, 90)`, `category(["a", "b"])` or `flag()`.
    weights : dict, list or float, optional
        The weight of each column, by name or position; 1 by default.

    Examples
    --------
    >>> import milepost as mp
    >>> mp.Gower({"age": mp.number(18, 90), "plan": mp.category(["a", "b"]), "member": mp.flag()}).diameter
    1.0
    """

    kind: ClassVar[str] = "gower"
    fields: ClassVar[tuple[SpaceField, ...]] = (
        SpaceField(
            "columns",
            COLUMN_TYPES,
            "The type of each column: its interval, its labels, or flag.",
            {"age": {"number": [18, 90]}, "plan": {"category": ["a", "b"]}, "member": "flag"},
            required=True,
            on_command_line=False,
        ),
        SpaceField(
            "number",
            INTERVALS,
            "A column of numbers, and its public interval.",
            {"age": [18, 90]},
            required=True,
            or_else=("category", "flag"),
            in_files=False,
        ),
        SpaceField(
            "category", LABELS, "A column of labels, and their public list.", {"plan": ["a", "b"]}, in_files=False
        ),
        SpaceField("flag", NAMES, "A column that is true or false.", "member", in_files=False),
        replace(STEP, in_files=False),
        WEIGHTS,
    )

    def __init__(self, columns: Any, weights: Any = None) -> None:
        self._set_fields(columns, weights)

    @classmethod
    def from_fields(cls, values: Mapping[str, Any]) -> Self:
        """Return the space of columns such as `{"age": {"number": [18, 90]}, "pays": "flag"}`."""
        columns = values["columns"]
        if isinstance(columns, Mapping):
            typed: Any = {name: column_from_spec(name, spec) for name, spec in columns.items()}
        elif isinstance(columns, list):
            typed = [column_from_spec(str(index), spec) for index, spec in enumerate(columns)]
        else:
            raise MilepostError(f"columns must be a table or a list, got {columns!r}")
        return cls(**{**values, "columns": typed})

    @classmethod
    def from_options(cls, values: Mapping[str, Any]) -> Self:
        """Return the space of columns by type: numbers, then categories, then flags."""
        by_type = {name: values.get(name, {}) for name in ("number", "category", "step")}
        for field in cls.fields:
            if not isinstance(by_type.get(field.name, {}), Mapping):
                raise MilepostError(f"{field.option} must name its column, such as {field.option_example}")
        flags = values.get("flag", [])
        names = [*by_type["number"], *by_type["category"], *flags]
        for name in (*names, *by_type["step"]):
            if names.count(name) > 1:
                raise MilepostError(f"the column {name!r} is named twice")
            if name in by_type["step"] and name not in by_type["number"]:
                raise MilepostError(f"--step names {name!r}, which is not a --number")
        columns: dict[str, Any] = {name: {"number": pair} for name, pair in by_type["number"].items()}
        for name, step in by_type["step"].items():
            columns[name]["step"] = step
        columns |= {name: {"category": labels} for name, labels in by_type["category"].items()}
        return cls.from_fields({"columns": columns | dict.fromkeys(flags, "flag"), "weights": values.get("weights")})

    @staticmethod
    def _scale_weights(weights: tuple[float, ...]) -> tuple[float, ...]:
        return tuple(weight / sum(weights) for weight in weights)


@dataclass(frozen=True, init=False)
class Hamming(MixedTable):
    """Hamming's distance: the number of positions at which two sequences of labels differ.

    Sequences are rows of a table, tuples, or text with one letter per position.

    Parameters
    ----------
    alphabets : dict or list
        The labels of each position, by name or in order: `["ACGT"] * 8`, `{"plan": ["a", "b"], "city": […]}`.

    Examples
    --------
    >>> import milepost as mp
    >>> mp.Hamming(["ACGT"] * 8).diameter
    8.0
    """

    kind: ClassVar[str] = "hamming"
    fields: ClassVar[tuple[SpaceField, ...]] = (
        SpaceField(
            "alphabets",
            ALPHABETS,
            "The labels of each position, as letters of a text or as a list.",
            ["ACGT", "ACGT"],
            required=True,
            on_command_line=False,
        ),
        SpaceField(
            "alphabet", TEXT, "The letters of every position, or labels with commas.", "ACGT", True, in_files=False
        ),
        SpaceField("length", INTEGER, "The number of positions of a sequence.", 8, required=True, in_files=False),
    )

    def __init__(self, alphabets: Any) -> None:
        if isinstance(alphabets, str) or not isinstance(alphabets, Mapping | Sequence):
            raise MilepostError(f"alphabets must be a list with one alphabet for each position, got {alphabets!r}")
        if isinstance(alphabets, Mapping):
            self._set_fields({name: _alphabet(labels) for name, labels in alphabets.items()}, None)
        else:
            self._set_fields([_alphabet(labels) for labels in alphabets], None)

    @classmethod
    def from_options(cls, values: Mapping[str, Any]) -> Self:
        """Return the space of sequences over one alphabet: letters, or labels separated by commas."""
        alphabet, length = values["alphabet"], values["length"]
        if not length > 0:
            raise MilepostError(f"--length must be a whole number of at least 1, got {length}")
        return cls([split_labels("--alphabet", alphabet) if "," in alphabet else alphabet] * length)

    @staticmethod
    def _scale_weights(weights: tuple[float, ...]) -> tuple[float, ...]:
        return weights

    def is_point(self, point: Any) -> bool:
        """Return whether an object is one sequence: text, or labels rather than as many sequences as positions."""
        if isinstance(point, str):
            return True
        if not super().is_point(point) or isinstance(point, Mapping) or self.width == 1:
            return super().is_point(point)
        texts = all(isinstance(cell, str) and len(cell) == self.width for cell in point)
        return not texts or all(
            label in part.labels for label, part in zip(point, self.parts, strict=True) if isinstance(part, Category)
        )


def _alphabet(labels: Any) -> Category:
    """Return the labels of a position: letters of a text, or a list."""
    return category(list(labels) if isinstance(labels, str) else labels)


def _read_weights(weights: Any, width: int) -> tuple[float, ...]:
    """Return the weights of a card, unchanged to the last bit; refuse those that no space can have."""
    result = named_numbers("weights", weights, None, width, 1.0)
    if not (result and MIN_SHARE / 2 * sum(result) <= min(result) and 1e-100 < sum(result) < 1e100):
        raise MilepostError("weights of the card must be positive numbers, one for each column")
    return result
