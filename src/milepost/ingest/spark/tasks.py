"""Tasks on Spark's executors: exact integers from private rows, and sums of the integers of partitions."""

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import metadata
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from milepost._typing import AnyArray, IntArray
from milepost.errors import MilepostError
from milepost.ingest.contribution_bounding import NAME_BYTES, block_keys
from milepost.ingest.spark.rows import Batches, RowReader
from milepost.statistics.statistic_spec import Statistic, StatisticSpec

NODES = 8  # partial sums in the first level of the tree
CHUNK = 1 << 17  # integers that are sent as one row: 1 MB at most
CHUNK_SCHEMA = pa.schema(
    [("node", pa.int32()), ("chunk", pa.int32()), ("content", pa.binary()), ("trouble", pa.string())]
)

Task: TypeAlias = Callable[[Batches, int], Batches]  # returns the output of a partition, from its rows and its number


def count_rows(
    rows: RowReader, specs: Sequence[StatisticSpec[Any]], keyed: bool, batches: Batches, partition: int
) -> Batches:
    """Yield the integers of the statistics of a partition in chunks, without those that are all 0.

    keyed: whether the rows are the output of `add_row_keys`.
    """
    statistics = [spec.empty() for spec in specs]
    numbers = max(spec.numbers for spec in specs)
    for _, block in rows.blocks(raise_errors(batches) if keyed else batches, numbers):
        used = block.used()
        for statistic, spec in zip(statistics, specs, strict=True):
            statistic.add(*spec.image(used))
    for chunk, integers in enumerate(chunks(statistics)):
        if integers.any():
            yield encode_chunk(partition % NODES, chunk, integers)


def keyed_schema(rows: RowReader) -> pa.Schema:
    """Return the schema of `add_row_keys`: the columns of the rows without the last, the person's, and three more."""
    added = [("person", pa.binary()), ("place", pa.binary()), ("trouble", pa.string())]
    return pa.schema([*list(rows.schema)[:-1], *(pa.field(name, kind) for name, kind in added)])


def add_row_keys(rows: RowReader, batches: Batches, partition: int) -> Batches:  # noqa: ARG001
    """Yield each row that is in a group, with the name of the person and the order key."""
    schema = keyed_schema(rows)
    for batch, block in rows.blocks(batches, 1):
        keys = block_keys(block)
        inputs = batch.filter(pa.array(block.grouped)).columns[: len(rows.schema) - 1]
        person, order_key = (_binary(part) for part in np.hsplit(keys, [NAME_BYTES]))
        columns = [*inputs, person, order_key, pa.nulls(len(keys), pa.string())]
        yield pa.RecordBatch.from_arrays(columns, names=schema.names)


def add_chunks(batches: Batches, partition: int) -> Batches:  # noqa: ARG001
    """Add up chunks of the same node and number, which are adjacent; yield the sums as chunks of node 0."""
    key: tuple[int, int] | None = None
    total = np.empty(0, dtype=np.int64)
    for batch in raise_errors(batches):
        for node, chunk, content in zip(*(batch.column(name) for name in CHUNK_SCHEMA.names[:3]), strict=True):
            next_key, numbers = (node.as_py(), chunk.as_py()), decode_chunk(content)
            if next_key == key:
                total += numbers
                continue
            if key is not None:
                yield encode_chunk(0, key[1], total)
            key, total = next_key, numbers
    if key is not None:
        yield encode_chunk(0, key[1], total)


def versions() -> dict[str, str]:
    """Return the versions that must be the same everywhere, so that the integers are."""
    return {name: _version(name) for name in ("milepost", "numpy")}


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:  # a package that was sent along rather than installed
        return "of an unknown version"


def run(expected: dict[str, str], payload: bytes, schema: pa.Schema, batches: Batches) -> Batches:
    """Run a task on a partition; an error becomes a row with its reason, so that Spark does not retry."""
    from pyspark import TaskContext

    partition = TaskContext.get().partitionId()
    for name, version in versions().items():
        if version != expected[name]:
            yield error_row(
                schema,
                f"the driver has {name} {expected[name]}, an executor has {version}; install the same version there",
            )
            return
    try:
        task: Task = pickle.loads(payload)  # noqa: S301
    except ImportError as reason:
        yield error_row(
            schema,
            f"an executor has no module {reason.name!r}, which the space needs; install it there, or send it with "
            "--py-files or addArtifacts",
        )
        return
    try:
        yield from task(batches, partition)
    except ReportedError as reason:
        yield error_row(schema, str(reason))
    except MilepostError as reason:
        yield error_row(schema, f"{reason} (rows are counted within their partition, here number {partition})")


class ReportedError(MilepostError):
    """An error that another task has reported."""


def error_row(schema: pa.Schema, text: str) -> pa.RecordBatch:
    """Return a row with a reason in the last column and nulls elsewhere."""
    columns = [pa.nulls(1, kind) for kind in schema.types[:-1]]
    return pa.RecordBatch.from_arrays([*columns, pa.array([text])], names=schema.names)


def raise_errors(batches: Batches) -> Batches:
    """Yield batches without the last column; raise the reason if that column holds one."""
    for batch in batches:
        reasons = batch.column(batch.num_columns - 1).drop_null()
        if len(reasons):
            raise ReportedError(min(reasons.to_pylist()))
        yield batch.select(list(range(batch.num_columns - 1)))


def _binary(rows: AnyArray) -> pa.Array:
    """Return bytes uint8[n, k] as binary cells."""
    buffers = [None, pa.py_buffer(np.ascontiguousarray(rows))]
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(rows.shape[1]), len(rows), buffers).cast(pa.binary())


def chunks(statistics: Iterable[Statistic]) -> Iterator[IntArray]:
    """Yield the integers of statistics in chunks that are views of them."""
    for statistic in statistics:
        for array in statistic.arrays:
            integers = array.reshape(-1)
            for start in range(0, len(integers), CHUNK):
                yield integers[start : start + CHUNK]


def encode_chunk(node: int, chunk: int, numbers: IntArray) -> pa.RecordBatch:
    """Return a chunk as a row with as few bytes per integer as hold the largest: counts of a partition are small."""
    size = max(np.min_scalar_type(edge).itemsize for edge in (-1 - int(numbers.max()), min(int(numbers.min()), -1)))
    content = bytes([size]) + numbers.astype(f"<i{size}").tobytes()
    return pa.RecordBatch.from_pylist([{"node": node, "chunk": chunk, "content": content}], schema=CHUNK_SCHEMA)


def decode_chunk(content: Any) -> IntArray:
    """Return the integers of a chunk from an Arrow cell, whose first byte is the size of an integer."""
    buffer = content.as_buffer()
    return np.frombuffer(buffer, dtype=f"<i{buffer[0]}", offset=1).astype(np.int64)
