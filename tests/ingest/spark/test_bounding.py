"""The rows of each person that a task selects are those that a local table selects; without Spark."""

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import milepost as mp
from milepost.ingest.aggregation import read_sketch
from milepost.ingest.row_attributes import RowColumns
from milepost.ingest.spark import bounding, rows
from milepost.ingest.spark.bounding import bounded_blocks, merge_whole_hashes
from milepost.ingest.spark.rows import RowReader
from milepost.statistics.sketch import Sketch

SPACE = mp.L1({"x": (0, 10)})
IDS: dict[str, Any] = {
    "whole": lambda person: person,
    "text": lambda person: [f"person {k}" for k in person],
    "float": lambda person: person / 4,
}


def people(kind: str) -> pa.Table:
    """300 rows of 40 persons, with groups and weights; some rows are equal."""
    rng, n = np.random.default_rng(3), 300
    return pa.table(
        {
            "x": rng.integers(0, 10, n).astype(float),
            "city": rng.choice(["Bonn", "Ulm", "Trier"], n),
            "weight": rng.uniform(0, 3, n),
            "person": IDS[kind](rng.integers(0, 40, n)),
        }
    )


def sorted_batches(table: pa.Table, hashes: Any, size: int) -> list[pa.RecordBatch]:
    """What Spark sends to a task: rows sorted by the hash, which is the last column."""
    sorted_table = table.append_column("hash", pa.array(hashes, pa.int64())).sort_by("hash")
    return list(sorted_table.combine_chunks().to_batches(max_chunksize=size))


@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize("distinct", [1, 3, 1000], ids=["one hash", "three hashes", "a hash each"])
@pytest.mark.parametrize("contributions", [1, 3])
def test_the_selected_rows_are_those_of_a_local_table(
    kind: str, distinct: int, contributions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where persons share a hash, and rows in no group are no contributions."""
    monkeypatch.setattr(rows, "NUMBERS", 16)
    table = people(kind)
    roles = RowColumns("city", ["Bonn", "Ulm"], "person", contributions, "weight", 2.0)
    schema = table.schema
    reader = RowReader(SPACE, roles, ("x",), ("groups", "row_weights", "privacy_unit"), schema)
    codes = table["person"].combine_chunks().dictionary_encode().indices.to_numpy() % distinct
    sketch = Sketch(1, 2, 64)
    for block in bounded_blocks(reader, iter(sorted_batches(table, codes, 11)), 1):
        sketch.add(SPACE.quantize(block.points), block.group, block.weight)
    exact = read_sketch(table, SPACE, None, roles, 64)
    assert 0 < sketch.totals.sum() < 1024 * 300
    for here, there in zip(exact.arrays, sketch.arrays, strict=True):
        assert np.array_equal(here, there)


def test_a_batch_has_all_rows_of_a_hash() -> None:
    hashes = [1, 1, 1, 2, 3, 3, 3, 3, 3, 3, 3, 4, 5, 5]
    table = pa.table({"x": np.arange(14.0)})
    merged = list(merge_whole_hashes(iter(sorted_batches(table, hashes, 1)), 2))
    assert sum(map(len, merged)) == 14
    firsts = [batch.column("hash")[0].as_py() for batch in merged]
    assert len(set(firsts)) == len(firsts)
    for before, after in pairwise(merged):
        assert before.column("hash")[-1].as_py() < after.column("hash")[0].as_py()


def test_order_keys_that_begin_alike_are_sorted_in_full() -> None:
    """The first bits of a key decide, unless two are equal."""
    owner = np.array([0, 0, 0, 1, 1], dtype=np.uint64)
    keys = np.array([9, 8, 7, 5, 4], dtype=np.uint64)  # which differ in their last bits only
    assert bounding._sort_within(owner, keys).tolist() == [2, 1, 0, 4, 3]
    assert bounding._sort_within(owner, keys << np.uint64(40)).tolist() == [2, 1, 0, 4, 3]


@pytest.mark.parametrize("ids", [[1, None], ["a", ""], ["a", None]], ids=["null", "empty", "null text"])
def test_a_missing_id_is_refused(ids: list[Any]) -> None:
    table = pa.table({"x": [1.0, 2.0], "person": pa.array(ids)})
    reader = RowReader(SPACE, RowColumns(privacy_unit="person"), ("x",), ("privacy_unit",), table.schema)
    with pytest.raises(mp.MilepostError, match="the id of row 2 in column 'person' is missing"):
        list(bounded_blocks(reader, iter(sorted_batches(table, [1, 2], 10)), 1))
