"""Spark jobs: tasks on a cluster, sums of their results in a tree, and short errors for their failures."""

import platform
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from milepost.errors import MilepostError
from milepost.ingest.spark.rows import Batches
from milepost.ingest.spark.tasks import CHUNK_SCHEMA, Task, add_chunks, chunks, decode_chunk, versions
from milepost.statistics.statistic_spec import StatisticSpec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

# Spark's error condition, where the text of an exception begins with one
CONDITION = re.compile(r"org\.apache\.spark\.[\w.$]*Exception: \[([A-Z0-9_.]+)\]")
LAYOUT = "node int, chunk int, content binary, trouble string"


def require_pyspark() -> None:
    """Refuse to go on without PySpark."""
    try:
        import pyspark.sql  # noqa: F401
    except ImportError:
        raise MilepostError("Spark frames need PySpark: pip install 'milepost[spark]'") from None


def map_partitions(
    frame: "DataFrame", task: Task, schema: pa.Schema = CHUNK_SCHEMA, layout: "StructType | str" = LAYOUT
) -> "DataFrame":
    """Return the results of a task on every partition, in rows of this schema, which Spark calls layout."""
    return frame.mapInArrow(portable_task(task, schema), layout)


def portable_task(task: Task, schema: pa.Schema = CHUNK_SCHEMA) -> Callable[[Batches], Batches]:
    """Return the task as a function that Spark sends to executors, and that reports if milepost is missing there."""
    payload, expected = pickle_portably(task), versions()

    def run_on_executor(batches: Batches) -> Batches:
        try:
            from milepost.ingest.spark.tasks import run
        except ImportError:
            text = "an executor has no milepost, or an old one; install there what the driver has"
            columns = [pa.nulls(1, kind) for kind in schema.types[:-1]]
            yield pa.RecordBatch.from_arrays([*columns, pa.array([text])], names=schema.names)
            return
        yield from run(expected, payload, schema, batches)

    return run_on_executor


def pickle_portably(content: Any) -> bytes:
    """Return the content as bytes for the executors."""
    from pyspark import cloudpickle

    try:
        result: bytes = cloudpickle.dumps(content)
    except Exception as reason:  # noqa: BLE001  # whatever the user's objects raise
        raise MilepostError(
            f"the space cannot be sent to Spark's executors: {type(reason).__name__}: {reason}; a distance must be a "
            "function that can be pickled"
        ) from None
    return result


def tree_sum(parts: "DataFrame", specs: Sequence[StatisticSpec[Any]]) -> list[Any]:
    """Return the statistics of all partitions: sums within a node, then between nodes; one copy is fetched."""
    for _ in ("within a node", "between nodes"):
        parts = map_partitions(parts.repartition("node", "chunk").sortWithinPartitions("node", "chunk"), add_chunks)
    table = parts.toArrow()
    reasons = table.column("trouble").drop_null()
    if len(reasons):
        raise MilepostError(min(reasons.to_pylist()))
    statistics = [spec.empty() for spec in specs]
    views = list(chunks(statistics))
    for batch in table.to_batches():
        for chunk, content in zip(batch.column("chunk"), batch.column("content"), strict=True):
            views[chunk.as_py()] += decode_chunk(content)
    return statistics


@contextmanager
def spark_errors() -> Iterator[None]:
    """Turn Spark's errors into ones that do not quote their text, which may hold private values."""
    from pyspark.errors import PySparkException

    try:
        from py4j.protocol import Py4JError
    except ImportError:  # a client of Spark Connect alone
        Py4JError = PySparkException  # noqa: N806

    try:
        yield
    except (PySparkException, Py4JError, OSError) as reason:
        raise MilepostError(f"{_describe(reason)}; this step has spent nothing") from None


def _describe(reason: Exception) -> str:
    """Return the public description of a failure: its class and Spark's error condition."""
    text = str(reason)
    absent = re.search(r"No module named '([\w.]+)'", text)
    if absent or "PYTHON_VERSION_MISMATCH" in text:
        what = f"whose Python has no {absent[1]}" if absent else "whose Python has another version"
        return (
            f"there is an executor {what}; set PYSPARK_PYTHON, or spark.pyspark.python, to one like the driver's, "
            f"{platform.python_version()}, with the same packages"
        )
    names = [type(reason).__name__]
    if condition := (reason.getCondition() if hasattr(reason, "getCondition") else None):
        names.append(condition)
    elif match := CONDITION.search(text):
        names.append(match[1])
    return f"Spark could not read the frame ({': '.join(names)}); its log says why, and may quote private values"
