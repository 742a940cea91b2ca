"""Chunks: the integers of a statistic as Arrow rows that are sent between tasks."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from milepost._typing import IntArray
from milepost.ingest.aggregation import DigestedStatistic
from milepost.statistics.distance_sums import DistanceSums
from milepost.statistics.magnitudes import Magnitudes
from milepost.statistics.sketch import Sketch

CHUNK = 1 << 17  # integers that are sent as one row: 1 MB at most
CHUNK_SCHEMA = pa.schema(
    [("node", pa.int32()), ("chunk", pa.int32()), ("content", pa.binary()), ("trouble", pa.string())]
)

ARRAYS: dict[type[Any], tuple[str, ...]] = {
    Sketch: ("counts", "offsets", "totals"),
    DistanceSums: ("values", "totals"),
    Magnitudes: ("counts",),  # from which its total follows
}


def chunks(exact: Sketch | DistanceSums | Magnitudes | DigestedStatistic) -> Iterator[IntArray]:
    """Yield the integers of a statistic in chunks that are views of it."""
    if isinstance(exact, DigestedStatistic):
        yield from chunks(exact.exact)
        yield exact.digest.values
        return
    for name in ARRAYS[type(exact)]:
        numbers = getattr(exact, name).reshape(-1)
        for start in range(0, len(numbers), CHUNK):
            yield numbers[start : start + CHUNK]


def encode_chunk(node: int, chunk: int, numbers: IntArray) -> pa.RecordBatch:
    """Return a chunk as a row with as few bytes per integer as hold the largest: counts of a partition are small."""
    size = max(np.min_scalar_type(edge).itemsize for edge in (-1 - int(numbers.max()), min(int(numbers.min()), -1)))
    content = bytes([size]) + numbers.astype(f"<i{size}").tobytes()
    return pa.RecordBatch.from_pylist([{"node": node, "chunk": chunk, "content": content}], schema=CHUNK_SCHEMA)


def decode_chunk(content: Any) -> IntArray:
    """Return the integers of a chunk from an Arrow cell, whose first byte is the size of an integer."""
    buffer = content.as_buffer()
    return np.frombuffer(buffer, dtype=f"<i{buffer[0]}", offset=1).astype(np.int64)
