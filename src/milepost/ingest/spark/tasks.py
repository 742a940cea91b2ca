"""Tasks: what runs on Spark's executors, from private rows to exact integers, and from those of parts to their sum."""

import pickle
from dataclasses import dataclass
from importlib import metadata
from typing import Any, ClassVar, TypeAlias

import numpy as np
import pyarrow as pa

from milepost._typing import AnyArray
from milepost.errors import MilepostError
from milepost.ingest.aggregation import StatisticSpec
from milepost.ingest.contribution_bounding import NAME_BYTES, row_keys
from milepost.ingest.spark.chunks import SENT, chunks, decode_chunk, encode_chunk
from milepost.ingest.spark.rows import Batches, RowReader

NODES = 8  # sums of parts that are made first, then added up themselves


@dataclass(frozen=True, eq=False)
class CountTask:
    """From the rows of a partition to its statistic. keyed: they are what `Keys` passed on."""

    rows: RowReader
    statistic: StatisticSpec[Any]
    keyed: bool = False
    schema: ClassVar[pa.Schema] = SENT

    def run(self, batches: Batches, partition: int) -> Batches:
        """Its integers in chunks, without those that are all 0."""
        exact = self.statistic.empty()
        for block in self.rows.blocks(raise_errors(batches) if self.keyed else batches, self.statistic.numbers):
            exact.add(*self.statistic.image(block))
        for chunk, numbers in enumerate(chunks(exact)):
            if numbers.any():
                yield encode_chunk(partition % NODES, chunk, numbers)


@dataclass(frozen=True, eq=False)
class RowKeysTask:
    """To each row that is in a group, the name of its person and its place among theirs. passed: columns that go on."""

    rows: RowReader
    passed: pa.Schema

    @property
    def schema(self) -> pa.Schema:
        """Of what it gives."""
        more = [("person", pa.binary()), ("place", pa.binary()), ("trouble", pa.string())]
        return pa.schema([*self.passed, *(pa.field(*one) for one in more)])

    def run(self, batches: Batches, partition: int) -> Batches:  # noqa: ARG002
        """These columns, and three more."""
        for batch, points, marks in self.rows.parts(batches, 1):
            group = np.zeros(marks.rows, dtype=np.int64) if marks.group is None else marks.group
            keys = row_keys(marks.person, points, group, marks.weights)[marks.grouped]
            kept = batch.filter(pa.array(marks.grouped)).columns[: len(self.passed)]
            person, place = (_binary(part) for part in np.hsplit(keys, [NAME_BYTES]))
            columns = [*kept, person, place, pa.nulls(len(keys), pa.string())]
            yield pa.RecordBatch.from_arrays(columns, names=self.schema.names)


@dataclass(frozen=True)
class AddTask:
    """Chunks of the same node and number, which come one after another, become one."""

    schema: ClassVar[pa.Schema] = SENT

    def run(self, batches: Batches, partition: int) -> Batches:  # noqa: ARG002
        """All of node 0."""
        key: tuple[int, int] | None = None
        added = np.empty(0, dtype=np.int64)
        for batch in raise_errors(batches):
            for node, chunk, content in zip(*(batch.column(name) for name in SENT.names[:3]), strict=True):
                now, numbers = (node.as_py(), chunk.as_py()), decode_chunk(content)
                if now == key:
                    added += numbers
                    continue
                if key is not None:
                    yield encode_chunk(0, key[1], added)
                key, added = now, numbers
        if key is not None:
            yield encode_chunk(0, key[1], added)


Task: TypeAlias = CountTask | RowKeysTask | AddTask


def versions() -> dict[str, str]:
    """What has to be the same everywhere, for integers to be."""
    return {name: _version(name) for name in ("milepost", "numpy")}


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:  # a package that was sent along rather than installed
        return "of an unknown version"


def run(expected: dict[str, str], payload: bytes, schema: pa.Schema, batches: Batches) -> Batches:
    """Do a task on a partition. What cannot be done gives a row that says why, rather than a failure to be retried."""
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
    """What another task said already."""


def error_row(schema: pa.Schema, text: str) -> pa.RecordBatch:
    """A row of nothing but a reason, which stands in the last column."""
    columns = [pa.nulls(1, kind) for kind in schema.types[:-1]]
    return pa.RecordBatch.from_arrays([*columns, pa.array([text])], names=schema.names)


def raise_errors(batches: Batches) -> Batches:
    """Batches without their last column, where no reason stands."""
    for batch in batches:
        reasons = batch.column(batch.num_columns - 1).drop_null()
        if len(reasons):
            raise ReportedError(min(reasons.to_pylist()))
        yield batch.select(list(range(batch.num_columns - 1)))


def _binary(rows: AnyArray) -> pa.Array:
    """Bytes uint8[n, k] as cells."""
    buffers = [None, pa.py_buffer(np.ascontiguousarray(rows))]
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(rows.shape[1]), len(rows), buffers).cast(pa.binary())
