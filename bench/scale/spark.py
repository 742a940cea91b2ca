"""Measure the cost of Spark beyond an empty task and its own groupBy, and constants that predict the time of a job."""

import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import milepost as mp
from bench.run import Bounds
from bench.scale.cost import Work, check_prediction, costs, fit_constants, predict
from milepost.errors import MilepostError
from milepost.ingest.aggregation import read_sketch
from milepost.ingest.row_attributes import RowColumns
from milepost.ingest.spark.rows import RowReader
from milepost.ingest.spark.session import check_java
from milepost.ingest.spark.tasks import PartialStatistics
from milepost.ingest.table import NO_ROW_COLUMNS
from milepost.pipeline.open_table import open_table
from milepost.statistics.sketch import Sketch

ARROW_ROWS = 10_000  # of a batch, as Spark sends them
SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # Java compiles little, for a check
ROWS, CHECKED_ROWS, FEW_ROWS = 10_000_000, 250_000, 1_000
WIDE, CORES = 6, 2
BEYOND_EMPTY, BOUNDING = 2.0, 1.5  # bounds: beyond an empty task ÷ local, and beyond a job without persons ÷ groupBy
PLANE = mp.L1({"c0": (0, 1), "c1": (0, 1)})
CUBE = mp.L1({f"c{i}": (0, 1) for i in range(WIDE)})
DISC, SMALL_DISC = (mp.L2({"c0": (0, 1), "c1": (0, 1)}, directions=count) for count in (64, 16))
PERSONS = RowColumns(privacy_unit="person", contributions=2)
JOB, INTEGERS, ROW = "a job", "a million integers of a statistic", "a row"
COLUMN, DIRECTION, PERSON = "a row and column of ℓ₁", "a row and direction, ℓ₂", "a row of a person, more"


def sketch(data: Any, space: Any, row_columns: RowColumns = NO_ROW_COLUMNS) -> Sketch:
    """Return the exact sketch of a Spark frame or of a local table."""
    return open_table(data, space, row_columns.change("replace"), None, row_columns).sketch(space)


def run_empty(frame: Any) -> None:
    """Send all rows to tasks that do nothing with them."""

    def read(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            pass
        yield from ()

    frame.mapInArrow(read, "nothing int").toArrow()


def run_group_by(frame: Any) -> None:
    """Run Spark's own groupBy of the same columns."""
    frame.groupBy("person").agg({"c0": "max", "c1": "max"}).write.format("noop").mode("overwrite").save()


@contextmanager
def spark_session(check: bool) -> Iterator[Any]:
    """Yield a Spark session on this computer."""
    from milepost.spark import session

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of PySpark about pandas
        java = {"spark.driver.extraJavaOptions": SHORT_LIVED} if check else {}
        running = session(CORES, **{"spark.driver.memory": "3g", "spark.log.level": "OFF"} | java)
        try:
            yield running
        finally:
            running.stop()


def write_tables(folder: Path, rows: int) -> None:
    """Write random rows, and a few of them."""
    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {f"c{i}": rng.random(rows) for i in range(WIDE)}
    table = pa.table(columns | {"person": rng.integers(0, rows // 2, rows)})
    pq.write_table(table, folder / "rows.parquet", row_group_size=1 << 18)
    pq.write_table(table.slice(0, FEW_ROWS), folder / "few.parquet")


def task_ratio(path: Path, space: Any) -> float:
    """Return the processor time of a task on Arrow batches ÷ that of a local table, both in this process."""
    table = pq.read_table(path, columns=["c0", "c1"]).combine_chunks()
    batches = table.to_batches(max_chunksize=ARROW_ROWS)
    reader = RowReader(space, NO_ROW_COLUMNS, ("c0", "c1"), (), table.schema)
    specs = [Sketch.spec(space, 1, space.embedding.cells())]

    def run_task() -> None:
        statistics = PartialStatistics(specs)
        for block in reader.blocks(iter(batches), specs[0].numbers):
            statistics.add_records(block)

    measured = costs({"task": run_task, "local": lambda: read_sketch(table, space)}, 5)
    return measured["task"].processor / measured["local"].processor


def benchmark(check: bool, bounds: Bounds) -> None:
    """Run jobs on 10⁷ rows; 10⁶ with --check. Without Java, say so and measure nothing."""
    try:
        check_java()
        import pyspark  # noqa: F401
    except (MilepostError, ImportError) as reason:
        print(f"\nSpark is not measured: {reason}")
        return
    rows = CHECKED_ROWS if check else ROWS
    with tempfile.TemporaryDirectory() as name, spark_session(check) as session:
        folder = Path(name)
        write_tables(folder, rows)
        measure(session, folder, rows, check, bounds)


def measure(session: Any, folder: Path, rows: int, check: bool, bounds: Bounds) -> None:
    """Measure all jobs in turn, after one round that starts the workers and lets Java compile; print and check."""
    frame, few = (session.read.parquet(str(folder / name)) for name in ("rows.parquet", "few.parquet"))
    disc, middle = SMALL_DISC if check else DISC, mp.L1({f"c{i}": (0, 1) for i in range(4)})

    def work(space: Any, count: int, **more: float) -> Work:
        dimension = space.embedding.dimension
        per_row = {ROW: 1.0, DIRECTION if space is disc else COLUMN: dimension} | more
        integers = 2 * dimension * space.embedding.cells() / 1e6
        return {JOB: 1, INTEGERS: integers} | {name: count * times for name, times in per_row.items()}

    jobs: dict[str, tuple[Work, Callable[[], object]]] = {
        "few rows, ℓ₁": (work(PLANE, FEW_ROWS), partial(sketch, few, PLANE)),
        "few rows, ℓ₂": (work(disc, FEW_ROWS), partial(sketch, few, disc)),
        "ℓ₁": (work(PLANE, rows), partial(sketch, frame, PLANE)),
        "wide": (work(CUBE, rows), partial(sketch, frame, CUBE)),
        "ℓ₂": (work(disc, rows), partial(sketch, frame, disc)),
        "persons": (work(PLANE, rows, **{PERSON: 1}), partial(sketch, frame, PLANE, PERSONS)),
    }
    functions: dict[str, Callable[[], object]] = {name: function for name, (_, function) in jobs.items()} | {
        "groupBy": partial(run_group_by, frame),
        "unseen": partial(sketch, frame, middle, PERSONS),
    }
    if not check:
        local = str(folder / "rows.parquet")
        functions |= {
            "empty": partial(run_empty, frame.select("c0", "c1")),
            "few rows, empty": partial(run_empty, few.select("c0", "c1")),
            "local ℓ₁": partial(sketch, local, PLANE),
            "local ℓ₂": partial(sketch, local, disc),
        }
    repeat = 2 if check else 3
    costs(functions, 1)
    measured = costs(functions, repeat)
    print(f"\nSpark, {rows:,} rows, local[{CORES}], the least of {repeat}: processor seconds, seconds")
    for name, cost in measured.items():
        print(f"{name:>18} {cost.processor:>7.2f} {cost.seconds:>7.2f}")
    used = {name: cost.processor for name, cost in measured.items()}
    for name, space in (("ℓ₁", PLANE), ("ℓ₂", disc)):
        if not check:  # fewer rows take less than Java's own work varies
            few_rows = used[f"few rows, {name}"] - used["few rows, empty"]  # does not grow with the rows
            beyond = (used[name] - used["empty"] - few_rows) / used[f"local {name}"]
            cell = bounds.time_at_most(f"Spark, {name}: beyond an empty task ÷ local", beyond, BEYOND_EMPTY)
            print(f"  {name}: rows beyond an empty mapInArrow ÷ a local table {cell} (bound {BEYOND_EMPTY:g})")
        ratio = task_ratio(folder / "rows.parquet", space)
        cell = bounds.time_at_most(f"Spark, {name}: a task ÷ local", ratio, BEYOND_EMPTY)
        print(f"  {name}: rows of a task alone, in this process, ÷ a local table {cell} (bound {BEYOND_EMPTY:g})")
    bounding = bounds.time_at_most(
        "Spark, persons ÷ groupBy", (used["persons"] - used["ℓ₁"]) / used["groupBy"], BOUNDING
    )
    print(f"  bounding of persons ÷ groupBy of the same columns {bounding} (bound {BOUNDING:g})", end="; ")
    print(f"the whole job ÷ groupBy {used['persons'] / used['groupBy']:.2f}")
    constants = fit_constants({name: (job, used[name]) for name, (job, _) in jobs.items()})
    print("constants: processor seconds of a job and of a million integers, nanoseconds of the others")
    for name, value in constants.items():
        print(f"{name:>38} {value if name in (JOB, INTEGERS) else value * 1e9:>10,.3g}")
    predicted = predict(constants, work(middle, rows, **{PERSON: 1}))
    check_prediction(f"{rows:,} rows of persons, 4 columns, on Spark", predicted, used["unseen"], bounds)
