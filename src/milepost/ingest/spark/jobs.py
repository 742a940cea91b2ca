"""Spark jobs: tasks on a cluster, sums of their results in a tree, and short errors for their failures."""

import platform
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from milepost.errors import MilepostError
from milepost.ingest.spark.rows import Batches
from milepost.ingest.spark.tasks import CHUNK_SCHEMA, PartialStatistics, Task, add_partials, chunks, versions
from milepost.statistics.statistic_spec import StatisticSpec

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Spark's error condition, where the text of an exception begins with one
CONDITION = re.compile(r"org\.apache\.spark\.[\w.$]*Exception: \[([A-Z0-9_.]+)\]")
LAYOUT = "chunk int, content binary, trouble string"
LARGE = 1 << 20  # integers of statistics that are added up in two rounds


def require_pyspark() -> None:
    """Refuse to go on without PySpark."""
    try:
        import pyspark.sql  # noqa: F401
    except ImportError:
        raise MilepostError("Spark frames need PySpark: pip install 'milepost[spark]'") from None


def map_partitions(frame: "DataFrame", task: Task) -> "DataFrame":
    """Return the results of a task on every partition, in rows of CHUNK_SCHEMA."""
    return frame.mapInArrow(portable_task(task), LAYOUT)


def portable_task(task: Task) -> Callable[[Batches], Batches]:
    """Return the task as a function that Spark sends to executors, and that reports if milepost is missing there."""
    payload, expected, schema = pickle_portably(task), versions(), CHUNK_SCHEMA

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
    """Return the statistics of all partitions, added up by tasks of a bounded size; about one copy is fetched.

    Each task sends on one sum of its chunks, and the driver adds up what remains.
    """
    size = sum(map(len, chunks(spec.empty() for spec in specs)))
    for _ in range(2 if size > LARGE else 1):
        parts = map_partitions(spread_chunks(parts), partial(add_partials, specs))
    table = parts.toArrow()
    raise_troubles(table)
    result = PartialStatistics(specs)
    for batch in table.to_batches():
        for chunk, content in zip(batch.column("chunk"), batch.column("content"), strict=True):
            result.add_message(chunk.as_py(), content.as_buffer())
    return result.sums


def spread_chunks(parts: "DataFrame") -> "DataFrame":
    """Return parts in partitions of a bounded size, each with equal chunks as far as they fit.

    Spark splits what is more than the size that it advises for a task, 64 MB by default, and merges what is less: more
    and larger parts make more tasks, not larger ones.
    """
    from pyspark.sql.functions import col

    return parts.hint("rebalance", col("chunk"))


def raise_troubles(table: pa.Table) -> None:
    """Raise the reason that tasks have reported, if there is one."""
    reasons = table.column("trouble").drop_null()
    if len(reasons):
        raise MilepostError(min(reasons.to_pylist()))


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
