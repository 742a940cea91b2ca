"""What one row says never changes how another row is read: types, parsing, indexes."""

import math
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import milepost as mp
from milepost.ingest.aggregation import read_sums, records
from milepost.pipeline.selection import read_given_queries
from milepost.spaces.base import Space
from tests.spaces.farthest_pair import farthest_pair

LINE = np.abs(np.subtract.outer(np.arange(4), np.arange(4))).astype(float)
TOWNS = mp.AnyMetric(mp.precomputed(LINE), diameter=3, queries=[0, 3])
DOSES = mp.Gower({"x": mp.category([1, 2])})
FLAGS = mp.Gower({"x": mp.flag()})


def read(data: Any, space: Space, columns: Any = None) -> list[list[float]]:
    return [row for block in records(data, space, columns, 1) for row in block.tolist()]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, lambda columns: columns["x"]])
@pytest.mark.parametrize("other", [1, 1.5, 2.0, np.inf])
def test_a_float_among_row_numbers_leaves_the_others(make: Any, other: float) -> None:
    """A column that one value has made float still has its row numbers."""
    alone = read(make({"x": np.array([0, 0, 3])}), TOWNS)
    assert read(make({"x": np.array([0, 0, 3, other])}), TOWNS)[:3] == alone == [[0, 3], [0, 3], [3, 0]]


@pytest.mark.parametrize("space", [DOSES, FLAGS], ids=["labels", "flags"])
@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_decimal_with_more_digits_leaves_the_others(make: Any, space: mp.Gower) -> None:
    """A column's scale is set by its longest number; a label is its value."""
    alone = read(make({"x": [Decimal("1"), Decimal("0")]}), space) if space is FLAGS else None
    for other in ("1", "1.000", "0.0"):
        result = read(make({"x": [Decimal("1"), Decimal("0"), Decimal(other)]}), space)
        assert alone is None or result[:2] == alone
        assert result[0] == [0.0 if space is DOSES else 1.0]


def test_vectors_are_float_rows_whatever_the_others_are() -> None:
    """An array of whole numbers and one with a half in it have the same other rows."""
    dtypes: list[Any] = []

    def distance(x: Any, y: Any) -> float:
        dtypes.append(np.asarray(x).dtype)
        return float(np.abs(np.asarray(x) - np.asarray(y)).sum())

    space = mp.AnyMetric(distance, 9, [[0.0, 0.0]])
    dtypes.clear()
    read(np.array([[1, 2], [3, 4]]), space)
    assert set(dtypes) == {np.dtype(np.float64)}


@pytest.mark.parametrize("filler", [569, 570, 571])
def test_a_line_break_in_a_cell_is_no_new_row(filler: int, tmp_path: Path) -> None:
    """Wherever a block of the file ends, which the length of an earlier row decides."""
    path = tmp_path / "words.csv"
    rows = ["w" * filler, *["abcdefg"] * 131_000, "q\nz", *["abcdefg"] * 3000]
    pd.DataFrame({"word": rows}).to_csv(path, index=False)
    space = mp.AnyMetric(mp.edit_distance, 9, ["abcdefg", "qz"])
    queries = read_given_queries(space, None)
    assert queries is not None
    sums = read_sums(path, space, queries)
    assert sums.totals[0] == len(rows)
    assert sums.values[0] * queries.quantum == pytest.approx([9 + 7, 9 + 7 * 134_000 + 1], rel=1e-6)


@pytest.mark.parametrize("text", ["x\n1\n\n3\n", 'x\n1\n""\n3\n'])
def test_an_empty_cell_of_a_single_column_is_a_row(text: str, tmp_path: Path) -> None:
    """However it is written: refused where numbers are needed, an empty word otherwise."""
    path = tmp_path / "x.csv"
    path.write_text(text)
    with pytest.raises(mp.MilepostError, match=r"missing value or NaN in row 2|not a number"):
        mp.release(path, mp.L1({"x": (0, 9)}), epsilon=1)
    assert len(read(path, mp.AnyMetric(mp.edit_distance, 9, ["1"]))) == 3


@pytest.mark.parametrize("index", [np.linspace(1e5, 3e5, 2000), np.arange(2000.0)[::-1], list("ab") * 1000])
@pytest.mark.parametrize("space", [mp.Gower({"x": mp.number(0, 9)}), mp.L1({"x": (0, 9)})], ids=["objects", "numbers"])
def test_an_index_is_not_part_of_the_table(index: Any, space: Space) -> None:
    """Rows are taken by position."""
    frame = pd.DataFrame({"x": np.arange(2000) % 9.0}, index=index)
    assert [row[0] for row in read(frame, space)] == frame["x"].tolist()


def test_numbers_beyond_all_floats_are_infinite() -> None:
    """Clipped like other outliers, with no word of their own; a signalling NaN is missing."""
    for space in (mp.L1([(0, 9)]), mp.Gower([mp.number(0, 9)])):
        assert read([[10**5000], [-(10**5000)], [3]], space) == [[9], [0], [3]]
        with pytest.raises(mp.MilepostError, match="row 1"):
            read([[Decimal("sNaN")]], space)
    assert read([[10**5000], [1]], DOSES) == [[2], [0]]


def test_a_table_that_changes_while_it_is_read_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of rows that was planned with is the one that is released."""
    monkeypatch.setattr(sys.modules["milepost.ingest.table"], "count", lambda _: 7)
    with pytest.raises(mp.MilepostError, match="changed while it was read"):
        mp.release(np.zeros((8, 1)), mp.L1([(0, 9)]), epsilon=900)


@pytest.mark.parametrize("dimension", [1, 2, 5, 40])
def test_a_ball_far_from_zero_keeps_its_reach(dimension: int) -> None:
    """As far as is allowed; farther is refused, as rounding would move records by more than the reach allows."""
    offset = 0.99 * (1 << 23) / math.sqrt(dimension)
    space = mp.L2(center=[offset] * dimension, radius=1.0, directions=16)
    directions = np.random.default_rng(1).standard_normal((400, dimension))
    directions = np.vstack([directions, -directions]) / np.linalg.norm(
        np.vstack([directions, directions]), axis=1, keepdims=True
    )
    quanta = space.quantize(space.read(np.vstack([farthest_pair(space), offset + 3 * directions])))
    max_distance = max((np.abs(quanta - row) @ space.embedding.quantum).max() for row in quanta)
    assert max_distance <= space.embedding.sensitivity_bound
    with pytest.raises(mp.MilepostError, match="subtract an offset"):
        mp.L2(center=[1.02 * offset] * dimension, radius=1.0)
