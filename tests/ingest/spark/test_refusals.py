"""What cannot be read is refused in a sentence that holds no private value, and nothing is spent."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import milepost as mp
from milepost.ingest.spark import jobs, table
from tests.mechanisms.contract import silent

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]

SPACE = mp.L1({"x": (0, 10), "y": (0, 10)})
REASON = (
    "private rows must be numbers, but column 'x' has a missing value or NaN in row 2; drop or fill such rows first"
)
OPTIONS: dict[str, dict[str, Any]] = {
    "rows": {},
    "persons": {"privacy_unit": "id"},
}


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[mp.Ledger]:
    """With a budget for `people`, of which nothing is spent in the end, though it was charged for."""
    budget_ledger = mp.Ledger(tmp_path / "ledger.db")
    budget_ledger.create("people", epsilon=8)
    yield budget_ledger
    assert budget_ledger.spent("people").nano == 0
    assert all(entry.state == "returned" for entry in budget_ledger.history("people"))


def refusal(frame: Any, ledger: mp.Ledger, space: mp.L1 | mp.L2 = SPACE, **options: Any) -> str:
    """Why a release was; no noise was drawn for it."""
    with silent(), pytest.raises(mp.MilepostError) as error:
        mp.release(frame, space, epsilon=1, ledger=ledger, dataset="people", **options)
    assert error.value.__cause__ is None
    return str(error.value)


@pytest.mark.parametrize("options", OPTIONS)
def test_a_bad_row_is_named_within_its_partition(options: str, spark: Any, ledger: mp.Ledger) -> None:
    """In the words that are used of any table."""
    rows = [(1.0, 1.0, "a"), (2.0, 2.0, "b"), (3.0, 3.0, "c"), (None, 4.0, "d")]
    frame = spark.createDataFrame(rows, "x double, y double, id string").repartitionByRange(2, "y")
    text = refusal(frame, ledger, **OPTIONS[options])
    assert text == f"{REASON} (rows are counted within their partition, here number 1)"


def test_what_fails_in_spark_is_not_quoted(spark: Any, ledger: mp.Ledger) -> None:
    frame = spark.createDataFrame([("1.5", 2.0), ("of Ada Lovelace", 3.0)], "name string, y double")
    text = refusal(frame.selectExpr("cast(name as double) as x", "y"), ledger)
    assert "Ada" not in text
    assert text == (
        "Spark could not read the frame (NumberFormatException: CAST_INVALID_INPUT); its log says why, and may "
        "quote private values; this step has spent nothing"
    )


def test_a_partition_that_fails_every_time(frame: Any, ledger: mp.Ledger) -> None:
    def failing(batches: Any) -> Any:
        yield from batches
        raise RuntimeError("Ada Lovelace is at fault")

    text = refusal(frame.select("x", "y").mapInArrow(failing, "x double, y double"), ledger)
    assert "Ada" not in text
    assert "Spark could not read the frame (PythonException" in text


def test_files_of_different_types(spark: Any, tmp_path: Path, ledger: mp.Ledger) -> None:
    """Spark itself finds out, when it is at the second one."""
    for name, column in {"a": pa.array([1.0, 2.0]), "b": pa.array(["Ada", "Bob"])}.items():
        (tmp_path / "people").mkdir(exist_ok=True)
        pq.write_table(pa.table({"x": column, "y": [1.0, 2.0]}), tmp_path / "people" / f"{name}.parquet")
    text = refusal(spark.read.schema("x double, y double").parquet(str(tmp_path / "people")), ledger)
    assert "Ada" not in text
    assert "Py4JJavaError: FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH" in text


def test_types_and_names_are_refused_at_once(frame: Any, ledger: mp.Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the words that are used of any table, and before a task is sent."""
    monkeypatch.setattr(table, "map_partitions", None)
    text = refusal(frame.selectExpr("word as x", "y"), ledger)
    assert text == "column 'x' must hold numbers, got string; convert it or leave it out"
    assert refusal(frame.select("x", "word"), ledger).startswith("the table has no column 'y'; it has x, word")
    assert "columns must name 2 columns for x, y" in refusal(frame, ledger, columns=["x"])
    text = refusal(frame, ledger, row_weights="nowhere", max_row_weight=1)
    assert text.startswith("row_weights: the table has no column 'nowhere'")


def test_no_rows(frame: Any, ledger: mp.Ledger) -> None:
    assert refusal(frame.where("x > 99"), ledger) == "the table is empty; at least one row is needed"


def test_rows_that_differ_from_one_pass_to_the_next(frame: Any, ledger: mp.Ledger, tmp_path: Path) -> None:
    def growing(batches: Any) -> Any:
        yield from batches
        marker = tmp_path / "seen"
        if marker.exists():
            yield pa.RecordBatch.from_pydict({"x": [1.0], "y": [1.0]})
        marker.touch()

    growing_frame = frame.select("x", "y").coalesce(1).mapInArrow(growing, "x double, y double")
    counting_space = mp.L2({"x": (0, 10), "y": (0, 10)})  # to choose how many directions it has
    assert "changed while it was read" in refusal(growing_frame, ledger, counting_space)


def test_an_executor_with_another_version(frame: Any, ledger: mp.Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "versions", lambda: {"milepost": "9.9", "numpy": "1"})
    text = refusal(frame, ledger)
    assert text.startswith("the driver has milepost 9.9, an executor has")
    assert "install the same version there" in text


def test_a_stream_has_no_end(spark: Any) -> None:
    with pytest.raises(mp.MilepostError, match="with an end"):
        mp.release(spark.readStream.format("rate").load(), SPACE, epsilon=1)
