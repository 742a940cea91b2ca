"""Tasks on Spark's executors: exact integers from private rows, and sums of the integers of partitions."""

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import metadata
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from milepost._typing import IntArray
from milepost.errors import MilepostError
from milepost.ingest.spark.bounding import bounded_blocks
from milepost.ingest.spark.rows import NUMBERS, Batches, RowReader
from milepost.statistics.partials import add_integers, decode_records, encode_integers, encode_records, record_bytes
from milepost.statistics.statistic_spec import RecordBlock, Statistic, StatisticSpec

CHUNK = 1 << 17  # integers that are sent as one row: 1 MB at most
SMALL = 4  # integers of a statistic for each byte of records that are sent uncounted: a tenth of its bytes
CHUNK_SCHEMA = pa.schema([("chunk", pa.int32()), ("content", pa.binary()), ("trouble", pa.string())])

Task: TypeAlias = Callable[[Batches, int], Batches]  # returns the output of a partition, from its rows and its number


class PartialStatistics:
    """The statistics of a part of a table: sums of chunks, and records that are counted when there are enough of them.

    A few records are far smaller than a statistic of millions of cells. They are counted once their bytes exceed a
    quarter of the number of the statistic's integers, about a tenth of its bytes: up to then, it takes the next task
    about as long to count them as to add up the integers of a statistic.
    """

    def __init__(self, specs: Sequence[StatisticSpec[Any]]) -> None:
        self._specs = specs
        self.sums = [spec.empty() for spec in specs]  # of the chunks that were added
        self._chunks = list(chunks(self.sums))
        self._filled: set[int] = set()  # chunks that are not all 0
        self._counted: list[Any] | None = None
        self._pending: list[RecordBlock] = []
        self._numbers = max(spec.numbers for spec in specs)
        self._size = sum(map(len, self._chunks))

    def add_records(self, block: RecordBlock) -> None:
        """Add records."""
        self._pending.append(block)
        if self._counted is not None or SMALL * sum(map(record_bytes, self._pending)) > self._size:
            self._count()

    def add_message(self, chunk: int, content: Any) -> None:
        """Add a chunk of integers, or records if the number of the chunk is negative."""
        if chunk < 0:
            self._pending.append(decode_records(content))
            if sum(len(block.points) for block in self._pending) * self._numbers >= NUMBERS:
                self._count()
            return
        add_integers(content, self._chunks[chunk])
        self._filled.add(chunk)

    def messages(self, partition: int | None = None) -> Batches:
        """Yield all integers in chunks, without chunks that are all 0; or a partition's records, if none is counted."""
        if partition is not None and self._pending and self._pending[0].points.dtype == np.float64:
            yield _row(-1 - partition, encode_records(_concatenate(self._pending)))
            return
        self._count()
        for number, integers in enumerate(chunks(self._counted or ())):
            if number in self._filled:
                self._chunks[number] += integers
            elif integers.any():
                yield _row(number, encode_integers(integers))
        for number in sorted(self._filled):
            yield _row(number, encode_integers(self._chunks[number]))

    def _count(self) -> None:
        """Count the pending records."""
        if not self._pending:
            return
        pending, self._pending = _concatenate(self._pending), []
        self._counted = self._counted or [spec.empty() for spec in self._specs]
        rows = max(1, NUMBERS // self._numbers)
        for start in range(0, len(pending.points), rows):
            block = pending.select(slice(start, start + rows))
            for statistic, spec in zip(self._counted, self._specs, strict=True):
                statistic.add(*spec.image(block))


def count_rows(
    rows: RowReader, specs: Sequence[StatisticSpec[Any]], bounded: bool, batches: Batches, partition: int
) -> Batches:
    """Yield the statistics of a partition. bounded: select the rows of each person, from rows sorted by person."""
    statistics = PartialStatistics(specs)
    numbers = max(spec.numbers for spec in specs)
    for block in bounded_blocks(rows, batches, numbers) if bounded else rows.blocks(batches, numbers):
        used = block.used()
        if len(used.points):
            statistics.add_records(used)
    yield from statistics.messages(partition)


def check_rows(rows: RowReader, batches: Batches, partition: int) -> Batches:  # noqa: ARG001
    """Read all rows of a partition, for the errors that this raises; yield nothing."""
    for _ in rows.blocks(batches, 1):
        pass
    yield from ()


def add_partials(specs: Sequence[StatisticSpec[Any]], batches: Batches, partition: int) -> Batches:  # noqa: ARG001
    """Yield the sums of the statistics of several partitions, whichever of their chunks this task has."""
    statistics = PartialStatistics(specs)
    for batch in raise_errors(batches):
        for chunk, content in zip(batch.column("chunk"), batch.column("content"), strict=True):
            statistics.add_message(chunk.as_py(), content.as_buffer())
    yield from statistics.messages()


def versions() -> dict[str, str]:
    """Return the versions that must be the same everywhere, so that the integers are."""
    return {name: _version(name) for name in ("milepost", "numpy", "scipy")}


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


def chunks(statistics: Iterable[Statistic]) -> Iterator[IntArray]:
    """Yield the integers of statistics in chunks that are views of them."""
    for statistic in statistics:
        for array in statistic.arrays:
            integers = array.reshape(-1)
            for start in range(0, len(integers), CHUNK):
                yield integers[start : start + CHUNK]


def _concatenate(blocks: Sequence[RecordBlock]) -> RecordBlock:
    """Return the records of several blocks, which all have the same attributes, without their persons."""
    if len(blocks) == 1:
        return blocks[0]
    points = np.concatenate([block.points for block in blocks])
    group = None if blocks[0].group is None else np.concatenate([block.groups for block in blocks])
    weight = None if blocks[0].weight is None else np.concatenate([block.weights for block in blocks])
    return RecordBlock(points, group, weight)


def _row(chunk: int, content: bytes) -> pa.RecordBatch:
    """Return a message as a row."""
    return pa.RecordBatch.from_pylist([{"chunk": chunk, "content": content}], schema=CHUNK_SCHEMA)
