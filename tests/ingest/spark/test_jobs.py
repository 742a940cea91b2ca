"""Parts of statistics are added up by tasks of a bounded size, however many parts there are."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from milepost.ingest.spark.jobs import LAYOUT, spread_chunks
from milepost.ingest.spark.tasks import CHUNK_SCHEMA

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]

PART, ADVISED = 100_000, 1_000_000  # bytes of a part, and those that Spark advises for a task


@pytest.fixture
def session(spark: Any) -> Iterator[Any]:
    """With tasks of a megabyte rather than of 64."""
    name = "spark.sql.adaptive.advisoryPartitionSizeInBytes"
    spark.conf.set(name, str(ADVISED))
    yield spark
    spark.conf.unset(name)


@pytest.mark.parametrize("parts", [4, 64])
@pytest.mark.parametrize("chunks", [1, 3])
def test_more_parts_make_more_tasks_not_larger_ones(parts: int, chunks: int, session: Any) -> None:
    """Of random bytes, which Spark cannot compress."""

    def send(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                content = np.random.default_rng(number).bytes(PART)
                yield pa.RecordBatch.from_pylist([{"chunk": number % chunks, "content": content}], CHUNK_SCHEMA)

    def measure(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        sizes = [len(content) for batch in batches for content in batch.column("content").to_pylist()]
        yield pa.RecordBatch.from_pydict({"bytes": [sum(sizes)], "parts": [len(sizes)]})

    sent = session.range(0, parts, 1, parts).mapInArrow(send, LAYOUT)
    received = spread_chunks(sent).mapInArrow(measure, "bytes long, parts long").toArrow()
    assert sum(received["parts"].to_pylist()) == parts
    assert max(received["bytes"].to_pylist()) <= 2 * ADVISED
