"""What tasks do with batches, without Spark."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import milepost as mp
from milepost.ingest.aggregation import read_sketch
from milepost.ingest.row_attributes import RowColumns
from milepost.ingest.spark import rows
from milepost.ingest.spark.rows import RowReader
from milepost.ingest.spark.tasks import (
    CHUNK_SCHEMA,
    add_chunks,
    add_row_keys,
    chunks,
    count_rows,
    decode_chunk,
    encode_chunk,
    error_row,
    keyed_schema,
    raise_errors,
)
from milepost.statistics.sketch import Sketch

SPACE = mp.L1([(0, 10), (0, 10)])
POINTS = np.random.default_rng(2).uniform(0, 10, (1000, 2))
ROWS = RowReader(SPACE, RowColumns(), ("x", "y"), (), pa.schema([("c0", pa.float64()), ("c1", pa.float64())]))


def batches(points: Any, size: int) -> Iterator[pa.RecordBatch]:
    for start in range(0, len(points), size):
        yield pa.RecordBatch.from_arrays([pa.array(column) for column in points[start : start + size].T], ["c0", "c1"])


@pytest.mark.parametrize("edge", [0, 127, 128, -128, -129, 2**15, -(2**15) - 1, 2**31, -(2**31), 2**63 - 1, -(2**63)])
def test_a_chunk_arrives_as_it_was_sent(edge: int) -> None:
    """In as few bytes as hold its largest integer."""
    numbers = np.array([edge, 0, 1], dtype=np.int64)
    content = encode_chunk(3, 5, numbers).column("content")[0]
    assert np.array_equal(decode_chunk(content), numbers)
    fitting = (size for size in (1, 2, 4, 8) if -(2 ** (8 * size - 1)) <= edge < 2 ** (8 * size - 1))
    assert len(content.as_py()) == 1 + 3 * next(fitting)


def test_parts_add_up_along_the_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many small chunks, whatever batches rows come in; a part without rows sends nothing."""
    monkeypatch.setattr("milepost.ingest.spark.tasks.CHUNK", 50)
    monkeypatch.setattr(rows, "NUMBERS", 64)
    specs = [Sketch.spec(SPACE, 1, 64)]
    parts: list[pa.RecordBatch] = []
    for partition, (start, stop) in enumerate([(0, 300), (300, 300), (300, 310), (310, 1000)]):
        parts += count_rows(ROWS, specs, False, batches(POINTS[start:stop], 7), partition)
    assert {batch.column("node")[0].as_py() for batch in parts} == {0, 2, 3}
    ordered = pa.Table.from_batches(parts).sort_by([("node", "ascending"), ("chunk", "ascending")])
    sums = list(add_chunks(iter(ordered.to_batches(max_chunksize=5)), 0))
    assert len(sums) == len(parts)
    ordered = pa.Table.from_batches(sums).sort_by([("node", "ascending"), ("chunk", "ascending")])
    sketch = specs[0].empty()
    views = list(chunks([sketch]))
    for batch in add_chunks(iter(ordered.to_batches()), 0):
        views[batch.column("chunk")[0].as_py()] += decode_chunk(batch.column("content")[0])
    exact = read_sketch(POINTS, SPACE, cells=64)
    for name in ("counts", "offsets", "totals"):
        assert np.array_equal(getattr(sketch, name), getattr(exact, name))


def test_rows_are_counted_from_one_batch_to_the_next() -> None:
    points = POINTS.copy()
    points[57, 1] = np.nan
    with pytest.raises(mp.MilepostError, match="column '1' has a missing value or NaN in row 58;"):
        list(count_rows(ROWS, [Sketch.spec(SPACE, 1, 64)], False, batches(points, 10), 0))


def test_rows_in_no_group_have_no_keys() -> None:
    """They are none of the person's contributions."""
    roles = RowColumns(groups="city", labels=["Ulm"], privacy_unit="id")
    batch = pa.RecordBatch.from_pydict({"c0": [1.0, 2.0, 2.0], "c1": ["Ulm", "Bonn", "Ulm"], "c2": ["a", "a", "a"]})
    reader = RowReader(mp.L1([(0, 10)]), roles, ("x",), ("groups", "privacy_unit"), batch.schema)
    (key_batch,) = add_row_keys(reader, iter([batch]), 0)
    assert key_batch.schema.names == keyed_schema(reader).names == ["c0", "c1", "person", "place", "trouble"]
    assert key_batch.column("c0").to_pylist() == [1.0, 2.0]
    assert len(set(key_batch.column("person").to_pylist())) == 1
    assert len(set(key_batch.column("place").to_pylist())) == 2


def test_a_reason_goes_on_alone() -> None:
    with pytest.raises(mp.MilepostError, match=r"^first$"):
        list(raise_errors(iter([error_row(CHUNK_SCHEMA, "first"), error_row(CHUNK_SCHEMA, "second")])))
