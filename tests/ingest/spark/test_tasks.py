"""What tasks do with batches, without Spark."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import milepost as mp
from milepost.ingest.aggregation import read_sketch
from milepost.ingest.row_attributes import RowColumns
from milepost.ingest.spark import rows, tasks
from milepost.ingest.spark.rows import RowReader, merge_batches
from milepost.ingest.spark.tasks import (
    CHUNK_SCHEMA,
    PartialStatistics,
    add_partials,
    check_rows,
    count_rows,
    error_row,
    raise_errors,
)
from milepost.statistics.sketch import Sketch

SPACE = mp.L1([(0, 10), (0, 10)])
POINTS = np.random.default_rng(2).uniform(0, 10, (1000, 2))
ROWS = RowReader(SPACE, RowColumns(), ("x", "y"), (), pa.schema([("c0", pa.float64()), ("c1", pa.float64())]))


def batches(points: Any, size: int) -> Iterator[pa.RecordBatch]:
    for start in range(0, len(points), size):
        yield pa.RecordBatch.from_arrays([pa.array(column) for column in points[start : start + size].T], ["c0", "c1"])


def driver_sum(messages: list[pa.RecordBatch], specs: Any) -> Any:
    """What the driver adds up."""
    result = PartialStatistics(specs)
    for batch in messages:
        result.add_message(batch.column("chunk")[0].as_py(), batch.column("content")[0].as_buffer())
    return result.sums[0]


@pytest.mark.parametrize("records", [False, True], ids=["integers", "records"])
def test_parts_add_up_along_the_tree(records: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many small chunks, whatever batches rows come in, and whichever task adds a chunk up; no rows, no message."""
    monkeypatch.setattr(tasks, "CHUNK", 50)
    monkeypatch.setattr(tasks, "SMALL", 4 if records else 1000)
    monkeypatch.setattr(rows, "NUMBERS", 64)
    specs = [Sketch.spec(SPACE, 1, 64)]
    parts: list[pa.RecordBatch] = []
    for partition, (start, stop) in enumerate([(0, 300), (300, 300), (300, 301), (301, 1000)]):
        messages = list(count_rows(ROWS, specs, False, batches(POINTS[start:stop], 7), partition))
        assert bool(messages) == (stop > start)
        parts += messages
    assert any(batch.column("chunk")[0].as_py() < 0 for batch in parts) == records
    sums = [message for task in range(3) for message in add_partials(specs, iter(parts[task::3]), task)]
    sums = [message for task in range(2) for message in add_partials(specs, iter(sums[task::2]), task)]
    exact = read_sketch(POINTS, SPACE, cells=64)
    for here, there in zip(exact.arrays, driver_sum(sums, specs).arrays, strict=True):
        assert np.array_equal(here, there)


@pytest.mark.parametrize("directions", [64, 512])
def test_a_part_is_about_as_large_as_its_rows(directions: int) -> None:
    """While a statistic of the same space has 8 million integers, and a part with many rows at most so many bytes."""
    space = mp.L2([(0, 10), (0, 10)], directions=directions)
    specs = [Sketch.spec(space, 1, space.embedding.cells())]
    reader = RowReader(space, ROWS.row_columns, ROWS.names, (), ROWS.schema)
    for count in (1, 1000):
        (message,) = count_rows(reader, specs, False, batches(POINTS[:count], 100), 0)
        assert len(message.column("content")[0].as_py()) <= 16 * count + 64
        assert driver_sum(list(add_partials(specs, iter([message]), 0)), specs).totals.tolist() == [count]


def test_few_places_take_few_bytes() -> None:
    """However many rows are there."""
    specs = [Sketch.spec(SPACE, 1, 1 << 16)]
    points = np.tile(POINTS[:10], (10_000, 1))
    messages = list(count_rows(ROWS, specs, False, batches(points, 10_000), 0))
    assert sum(len(batch.column("content")[0].as_py()) for batch in messages) < 500


def test_batches_are_merged_to_one_size() -> None:
    """Whatever sizes they come in; the last one has the rest."""
    merged = list(merge_batches(batches(POINTS, 7), 64))
    assert [len(batch) for batch in merged] == [64] * 15 + [40]
    assert np.array_equal(np.concatenate([batch.column("c0").to_numpy() for batch in merged]), POINTS[:, 0])


@pytest.mark.parametrize("task", ["count", "check"])
def test_rows_are_counted_from_one_batch_to_the_next(task: str) -> None:
    points = POINTS.copy()
    points[57, 1] = np.nan
    data = batches(points, 10)
    specs = [Sketch.spec(SPACE, 1, 64)]
    with pytest.raises(mp.MilepostError, match="column '1' has a missing value or NaN in row 58;"):
        list(count_rows(ROWS, specs, False, data, 0) if task == "count" else check_rows(ROWS, data, 0))


def test_a_reason_goes_on_alone() -> None:
    with pytest.raises(mp.MilepostError, match=r"^first$"):
        list(raise_errors(iter([error_row(CHUNK_SCHEMA, "first"), error_row(CHUNK_SCHEMA, "second")])))
