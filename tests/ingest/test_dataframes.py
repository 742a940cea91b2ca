"""Frames: hidden entries are missing ones, and what has names for its columns is never read by position."""

from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import milepost as mp
from milepost._validation import unmask
from milepost.ingest.dataframes import to_readable
from milepost.ingest.row_attributes import RowColumns
from milepost.ingest.table import Table

SPACE = mp.L1({"x": (0, 10), "y": (0, 1000)})
ROWS = np.array([[1.0, 500.0], [2.0, 600.0], [3.0, 700.0]])
MASK = [[False, False], [False, True], [False, False]]
MASKED = np.ma.array(ROWS, mask=MASK)
FIELDS: Any = np.ma.array(
    [tuple(row) for row in ROWS], mask=[tuple(row) for row in MASK], dtype=[("x", float), ("y", float)]
)
Point = namedtuple("Point", "y x")


class Shown:
    """A table of some library that has names for its columns, and can become an array."""

    columns = ("y", "x")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return ROWS[:, ::-1]

    def __len__(self) -> int:
        return len(ROWS)

    def compute(self) -> pd.DataFrame:
        """As Dask has it."""
        return pd.DataFrame(ROWS[:, ::-1], columns=list(self.columns))


class Interchanged:
    """A table with the interchange protocol alone."""

    def __dataframe__(self, **kwargs: Any) -> Any:
        return pa.Table.from_pandas(Shown().compute()).__dataframe__(**kwargs)


class Streamed:
    """A table with Arrow's C stream alone."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return pl.DataFrame(Shown().compute()).__arrow_c_stream__(requested_schema)


class Labelled:
    """An array with labels along its last dimension, as xarray has it."""

    dims = ("row", "column")

    def __init__(self, labels: Any) -> None:
        self.coords = {"column": np.array(labels)}

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return ROWS


class Frame(pd.DataFrame):
    """A frame of a class of one's own."""

    @property
    def _constructor(self) -> Any:
        return Frame


class PolarsFrame(pl.DataFrame):
    """The same of Polars."""


TABLES: dict[str, Callable[[], Any]] = {
    "array": lambda: MASKED,
    "whole numbers": lambda: np.ma.array(ROWS.astype(int), mask=MASK),
    "objects": lambda: np.ma.array(ROWS.astype(object), mask=MASK),
    "rows": lambda: list(MASKED),
    "cells": lambda: [[1.0, 500.0], [2.0, np.ma.masked]],
    "batches": lambda: iter([MASKED]),
    "fields": lambda: FIELDS,
    "records": lambda: FIELDS.view(np.ma.mrecords.MaskedRecords) if hasattr(np.ma, "mrecords") else FIELDS,
}


@pytest.mark.filterwarnings("ignore:Warning. converting a masked element")
@pytest.mark.parametrize("kind", TABLES)
def test_a_hidden_entry_is_refused_as_missing(kind: str) -> None:
    """As NaN is, by its row and column."""
    reason = "column 'y' has a missing value or NaN in row 2"
    with pytest.raises(mp.MilepostError, match=f"private rows must be numbers, but {reason}"):
        mp.exact_mean_distance(TABLES[kind](), SPACE, [5, 5])
    if kind != "batches":
        with pytest.raises(mp.MilepostError, match=f"query points must be numbers, but {reason}"):
            mp.exact_mean_distance(ROWS, SPACE, TABLES[kind]())


def test_a_mask_that_hides_nothing_is_no_mask() -> None:
    """The table is read as it is."""
    for data in (np.ma.array(ROWS), np.ma.array(ROWS, mask=False), FIELDS[:1]):
        assert mp.exact_mean_distance(data, SPACE, [0, 0]) == mp.exact_mean_distance(ROWS[: len(data)], SPACE, [0, 0])
    assert type(unmask(np.ma.array(ROWS))) is np.ndarray


@pytest.mark.parametrize("values", [np.array([1, 1, 2]), np.array([1.0, 1.0, 2.0]), np.array(["1", "1", "2"], object)])
@pytest.mark.parametrize("as_list", [False, True])
def test_a_hidden_entry_of_a_role_is_missing(values: Any, as_list: bool) -> None:
    """A weight or an id is refused by its row; a group is none, as where None stands."""
    hidden = np.ma.array(values, mask=[False, True, False])
    column = list(hidden) if as_list else hidden
    options: dict[str, Any] = {"epsilon": 1, "mechanism": "hats"}
    with pytest.raises(mp.MilepostError, match="id of row 2 in column 'privacy_unit' is missing"):
        mp.release(ROWS, SPACE, privacy_unit=column, **options)
    if values.dtype != object:
        with pytest.raises(mp.MilepostError, match="column 'row_weights' has a missing value or NaN in row 2"):
            mp.release(ROWS, SPACE, row_weights=column, max_row_weight=2, **options)
    row_columns = RowColumns(groups=column, labels=[1, 2])
    group = row_columns.block(np.zeros((3, 1)), row_columns.sequences()).group
    assert group is not None
    assert group.tolist() == [0, -1, 1]


def test_hidden_entries_of_objects_and_labels() -> None:
    """What None is: a record is refused, a label is other, a number of a table of columns is refused."""
    words = np.ma.array(np.array(["color", "colour"], dtype=object), mask=[False, True])
    space = mp.AnyMetric(mp.edit_distance, diameter=8, queries=["color"])
    for data in (words, list(words), np.ma.array(["color", "colour"], mask=[False, True])):
        with pytest.raises(mp.MilepostError, match="row 2 is missing"):
            mp.exact_mean_distance(data, space, "color")
    table = mp.Gower({"kind": mp.category(["a", "--"]), "size": mp.number(0, 1)})
    cells = np.array([["a", 0.5], ["--", 0.5]], dtype=object)
    hidden = np.ma.array(cells, mask=[[False, False], [True, False]])
    cells_with_none = cells.copy()
    cells_with_none[1, 0] = None
    for rows in (hidden, [("a", 0.5), (np.ma.masked, 0.5)]):
        assert (
            mp.exact_mean_distance(rows, table, ("--", 0.5))
            == mp.exact_mean_distance(cells_with_none, table, ("--", 0.5))
            == 0.5
        )
    hidden.mask = [[False, True], [False, False]]
    with pytest.raises(mp.MilepostError, match="column 'size' has a missing value or NaN in row 1"):
        mp.exact_mean_distance(hidden, table, ("a", 0.5))


def test_fields_are_read_by_name() -> None:
    """Whatever their order."""
    reversed_fields = np.array([(y, x) for x, y in ROWS], dtype=[("y", float), ("x", float)])
    assert mp.exact_mean_distance(reversed_fields, SPACE, [0, 0]) == mp.exact_mean_distance(ROWS, SPACE, [0, 0])
    assert (
        mp.exact_mean_distance(ROWS, SPACE, reversed_fields).tolist()
        == mp.exact_mean_distance(ROWS, SPACE, ROWS).tolist()
    )
    with pytest.raises(mp.MilepostError, match="no column 'x'; it has y, z"):
        mp.exact_mean_distance(reversed_fields.astype([("y", float), ("z", float)]), SPACE, [0, 0])
    for data, reason in (
        (reversed_fields.reshape(3, 1), "one dimension"),
        (np.zeros(2, [("x", float, 2)]), "'x' has several"),
    ):
        with pytest.raises(mp.MilepostError, match=reason):
            to_readable(data)


@pytest.mark.parametrize("make", [Frame, PolarsFrame, Interchanged, Streamed])
def test_tables_of_other_libraries_are_read_by_name(make: Any) -> None:
    """A class that is derived from a frame's, and what has a protocol, as a table and as points."""
    data = make(Shown().compute()) if make in (Frame, PolarsFrame) else make()
    assert mp.exact_mean_distance(data, SPACE, [0, 0]) == mp.exact_mean_distance(ROWS, SPACE, [0, 0])
    assert list(mp.exact_mean_distance(ROWS, SPACE, data)) == mp.exact_mean_distance(ROWS, SPACE, ROWS).tolist()


@pytest.mark.parametrize(("data", "remedy"), [(Shown(), r"give what its compute\(\) has"), (Labelled("yx"), "make a ")])
def test_names_that_cannot_be_read_are_refused(data: Any, remedy: str) -> None:
    """Rather than that columns are taken for each other."""
    data = Labelled(["y", "x"]) if isinstance(data, Labelled) else data
    reason = f"not read by position: got {__name__}.{type(data).__name__}; {remedy}"
    for table, points in ((data, [0, 0]), (ROWS, data)):
        with pytest.raises(mp.MilepostError, match=reason):
            mp.exact_mean_distance(table, SPACE, points)
    assert mp.exact_mean_distance(Labelled([0, 1]), SPACE, [0, 0]) == mp.exact_mean_distance(ROWS, SPACE, [0, 0])


def test_rows_with_names_are_in_the_order_of_the_space() -> None:
    """Named tuples and Series in lists are refused in another order; the column of a role may be among them."""
    frame = pd.DataFrame(ROWS[:, ::-1], columns=["y", "x"])
    reversed_tables: list[Any] = [[Point(y, x) for x, y in ROWS], [row for _, row in frame.iterrows()]]
    for rows in reversed_tables:
        for data, points in ((rows, [0, 0]), (ROWS, rows)):
            with pytest.raises(mp.MilepostError, match="rows have the names y, x, the space has x, y"):
                mp.exact_mean_distance(data, SPACE, points)
    with pytest.raises(mp.MilepostError, match="rows have the names y, x"):
        mp.exact_mean_distance(ROWS, SPACE, reversed_tables[0][0])
    assert mp.exact_mean_distance(reversed_tables[0], mp.L1([(0, 1000), (0, 10)]), [0, 0]) == mp.exact_mean_distance(
        ROWS, SPACE, [0, 0]
    )
    ordered_rows = list(frame[["x", "y"]].itertuples(index=False))
    assert mp.exact_mean_distance(ordered_rows, SPACE, [0, 0]) == mp.exact_mean_distance(ROWS, SPACE, [0, 0])
    rows_with_id = list(frame.assign(who=[1, 2, 3])[["who", "x", "y"]].itertuples(index=False))
    assert (
        Table(
            rows_with_id, SPACE, RowColumns(privacy_unit=0).change("replace"), row_columns=RowColumns(privacy_unit=0)
        ).total()
        == 3
    )
    table = mp.Gower({"x": mp.number(0, 10), "y": mp.number(0, 1000)})
    assert mp.exact_mean_distance(reversed_tables[0], table, [0, 0]) == mp.exact_mean_distance(ROWS, table, [0, 0])
