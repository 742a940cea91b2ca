"""Tasks on Spark's executors: exact integers from private rows, and sums of the integers of partitions."""

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from typing import Any, ClassVar, TypeAlias

import numpy as np
import pyarrow as pa

from milepost._typing import AnyArray, IntArray
from milepost.errors import MilepostError
from milepost.ingest.aggregation import DigestedStatistic, StatisticSpec
from milepost.ingest.contribution_bounding import NAME_BYTES, row_keys
from milepost.ingest.spark.rows import Batches, RowReader
from milepost.statistics.distance_sums import DistanceSums
from milepost.statistics.magnitudes import Magnitudes
from milepost.statistics.sketch import Sketch

NODES = 8  # partial sums in the first level of the tree
CHUNK = 1 << 17  # integers that are sent as one row: 1 MB at most
CHUNK_SCHEMA = pa.schema(
    [("node", pa.int32()), ("chunk", pa.int32()), ("content", pa.binary()), ("trouble", pa.string())]
)

ARRAYS: dict[type[Any], tuple[str, ...]] = {
    Sketch: ("counts", "offsets", "totals"),
    DistanceSums: ("values", "totals"),
    Magnitudes: ("counts",),  # from which its total follows
}


@dataclass(frozen=True, eq=False)
class CountTask:
    """Compute the statistic of the rows of a partition.

    keyed: whether the rows are the output of `RowKeysTask`.
    """

    rows: RowReader
    statistic: StatisticSpec[Any]
    keyed: bool = False
    schema: ClassVar[pa.Schema] = CHUNK_SCHEMA

    def run(self, batches: Batches, partition: int) -> Batches:
        """Yield the integers in chunks, without those that are all 0."""
        exact = self.statistic.empty()
        for block in self.rows.blocks(raise_errors(batches) if self.keyed else batches, self.statistic.numbers):
            exact.add(*self.statistic.image(block))
        for chunk, numbers in enumerate(chunks(exact)):
            if numbers.any():
                yield encode_chunk(partition % NODES, chunk, numbers)


@dataclass(frozen=True, eq=False)
class RowKeysTask:
    """Add the name of the person and the order key to each row that is in a group.

    passthrough: the columns of the output before these.
    """

    rows: RowReader
    passthrough: pa.Schema

    @property
    def schema(self) -> pa.Schema:
        """Return the schema of the output."""
        added = [("person", pa.binary()), ("place", pa.binary()), ("trouble", pa.string())]
        return pa.schema([*self.passthrough, *(pa.field(name, kind) for name, kind in added)])

    def run(self, batches: Batches, partition: int) -> Batches:  # noqa: ARG002
        """Yield the columns that pass through, and three more."""
        for batch, points, attributes in self.rows.parts(batches, 1):
            group = np.zeros(attributes.rows, dtype=np.int64) if attributes.group is None else attributes.group
            keys = row_keys(attributes.person, points, group, attributes.weights)[attributes.grouped]
            inputs = batch.filter(pa.array(attributes.grouped)).columns[: len(self.passthrough)]
            person, order_key = (_binary(part) for part in np.hsplit(keys, [NAME_BYTES]))
            columns = [*inputs, person, order_key, pa.nulls(len(keys), pa.string())]
            yield pa.RecordBatch.from_arrays(columns, names=self.schema.names)


@dataclass(frozen=True)
class AddTask:
    """Add up chunks of the same node and number, which are adjacent."""

    schema: ClassVar[pa.Schema] = CHUNK_SCHEMA

    def run(self, batches: Batches, partition: int) -> Batches:  # noqa: ARG002
        """Yield the sums as chunks of node 0."""
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


Task: TypeAlias = CountTask | RowKeysTask | AddTask


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
        yield from task.run(batches, partition)
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
