"""Data: every way to bring a table gives the same integers, one batch at a time, and quotes nothing private."""

import tracemalloc
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import milepost as mp
from milepost._typing import FloatArray
from milepost.ingest import batches
from milepost.ingest.aggregation import read_sketch
from milepost.ingest.column_selection import ColumnSelection
from milepost.statistics.sketch import Sketch

NAMES = ["east", "north"]
FORMATS = ["array", "rows", "pandas", "polars", "arrow", "batch", "csv", "parquet"]


@pytest.fixture
def bring(tmp_path: Path) -> Callable[[str, pd.DataFrame], Any]:
    """A table in one of the formats; files have small blocks of rows."""

    def make(kind: str, frame: pd.DataFrame) -> Any:
        arrow = pa.Table.from_pandas(frame, preserve_index=False)
        if kind == "csv":
            frame.to_csv(tmp_path / "homes.csv", index=False)
        elif kind == "parquet":
            pq.write_table(arrow, tmp_path / "homes.parquet", row_group_size=1500)
        tables = {
            "array": frame[NAMES].to_numpy(),
            "rows": frame[NAMES].to_numpy().tolist(),
            "pandas": frame,
            "polars": pl.from_pandas(frame),
            "arrow": arrow,
            "batch": arrow.combine_chunks().to_batches()[0],
            "csv": str(tmp_path / "homes.csv"),
            "parquet": tmp_path / "homes.parquet",
        }
        return tables[kind]

    return make


def same(left: Sketch, right: Sketch) -> bool:
    return all(np.array_equal(getattr(left, name), getattr(right, name)) for name in ("counts", "offsets", "totals"))


@pytest.mark.parametrize("rows", [1, 700, batches.BATCH_ROWS])
def test_every_format_gives_the_same_sketch(
    rows: int,
    bring: Callable[[str, pd.DataFrame], Any],
    homes: pd.DataFrame,
    city: mp.L1,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """To the bit, whatever the size of batches; columns are found by name."""
    monkeypatch.setattr(batches, "BATCH_ROWS", rows)
    frame = homes.head(50 if rows == 1 else 5000)
    expected = Sketch(2)
    expected.add(city.quantize(np.clip(frame[NAMES].to_numpy(), 0, 10)))
    for kind in FORMATS:
        assert same(read_sketch(bring(kind, frame), city), expected), kind


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "csv", "parquet"])
def test_columns_are_chosen_by_name_or_position(
    kind: str, bring: Callable[[str, pd.DataFrame], Any], homes: pd.DataFrame, city: mp.L1
) -> None:
    """In the order of the space; the same column may serve twice."""
    frame = homes.head(1000)
    table = bring(kind, frame)
    expected = read_sketch(frame[NAMES].to_numpy(), city)
    choices: list[batches.Columns] = [NAMES, [3, 1], ["east", 1]]
    for columns in choices:
        assert same(read_sketch(table, city, columns), expected)
    twice = read_sketch(frame[["east", "east"]].to_numpy(), city)
    assert same(read_sketch(table, city, ["east", 3]), twice)
    with pytest.raises(mp.MilepostError, match=r"'south'.*id, north, street, east"):
        read_sketch(table, city, ["east", "south"])
    with pytest.raises(mp.MilepostError, match="columns"):
        read_sketch(table, city, ["east"])


@pytest.mark.parametrize("kind", FORMATS)
def test_batches_are_smaller_than_the_table(
    kind: str, bring: Callable[[str, pd.DataFrame], Any], homes: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And together they are the table; CSV comes in blocks of bytes."""
    monkeypatch.setattr(batches, "BATCH_ROWS", 1000)
    sizes = [len(batch) for batch in batches.batches(bring(kind, homes), ColumnSelection(names=("east", "north")))]
    assert sum(sizes) == len(homes)
    if kind not in {"csv", "batch"}:
        assert max(sizes) <= 1000


@pytest.mark.parametrize("group", [1 << 14, 1 << 20])
def test_a_parquet_file_is_in_memory_one_batch_at_a_time(
    group: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the wanted columns are read, and less than half of them held at once, with small row groups or one big.

    What is held does not grow with the file: a batch, and of each column a page and a dictionary of up to 1 MB.
    """
    monkeypatch.setattr(batches, "BATCH_ROWS", 1 << 14)
    rows = 1 << 20
    path = tmp_path / "wide.parquet"
    numbers = np.random.default_rng(0).random(rows)
    pq.write_table(pa.table({f"c{k}": numbers for k in range(3)}), path, row_group_size=group)
    baseline, peak, row_count = pa.total_allocated_bytes(), 0, 0
    tracemalloc.start()
    for batch in batches.batches(path, ColumnSelection(["c2", "c1"], ("x", "y"))):
        assert isinstance(batch, pa.RecordBatch)
        assert batch.schema.names == ["x", "y"]
        peak = max(peak, pa.total_allocated_bytes() - baseline + tracemalloc.get_traced_memory()[1])
        row_count += len(batch)
    tracemalloc.stop()
    assert row_count == rows
    assert 0 < peak < 2 * 8 * rows / 2


def test_a_frame_of_points_is_answered(homes: pd.DataFrame, city: mp.L1) -> None:
    """Of Polars: by a Series; a Polars Series is one point."""
    synopsis = mp.release(pl.from_pandas(homes), city, epsilon=1, delta=1e-6)
    points = np.array([[2.0, 3.0], [5.0, 5.0]])
    frame = pl.DataFrame({"name": ["a", "b"], "north": points[:, 1], "east": points[:, 0]})
    values = synopsis.mean_distance(frame)
    assert (type(values), values.name, values.dtype) == (pl.Series, "mean_distance", pl.Float64)
    assert np.array_equal(values, synopsis.mean_distance(points))
    assert synopsis.mean_distance(pl.Series([2.0, 3.0])) == values[0]
    assert np.array_equal(mp.exact_mean_distance(homes, city, frame), mp.exact_mean_distance(homes, city, points))
    assert synopsis.mean_distance(frame[["north"]], columns=["north"]).shape == (2,)
    assert synopsis.mean_distance(frame.clear()).shape == (0,)


def test_a_series_is_a_table_of_one_column() -> None:
    """In pandas, Polars and NumPy alike."""
    space = mp.L1([(0, 4)])
    sketches = [read_sketch(table, space) for table in (np.arange(5), pd.Series(range(5)), pl.Series(range(5)))]
    assert same(sketches[0], sketches[1])
    assert same(sketches[0], sketches[2])


BAD: dict[str, tuple[dict[str, list[Any]], str]] = {
    "text": ({"east": ["1", "Miller"], "north": [1.0, 2.0]}, "'east'"),
    "null": ({"east": [1.0, None], "north": [1.0, 2.0]}, "'east'.*row 2"),
    "NaN": ({"east": [1.0, 2.0], "north": [float("nan"), 77.25]}, "'north'.*row 1"),
    "whole": ({"east": [None, 77], "north": [1, 2]}, "'east'.*row 1"),
    "missing": ({"east": [77.25], "south": [1.0]}, "no column 'north'; it has east, south"),
    "empty": ({"east": [], "north": []}, "empty"),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "csv", "parquet"])
def test_bad_tables_are_refused_in_the_same_words(kind: str, case: str, tmp_path: Path, city: mp.L1) -> None:
    """The column and the row are named; no cell is quoted."""
    columns, message = BAD[case]
    arrow = pa.table({name: pa.array(values, from_pandas=False) for name, values in columns.items()})
    path = tmp_path / f"bad.{kind}"
    if kind == "csv":
        pd.DataFrame(columns).to_csv(path, index=False)
    else:
        pq.write_table(arrow, path)
    table = {"pandas": pd.DataFrame(columns), "polars": pl.DataFrame(columns), "arrow": arrow}.get(kind, path)
    with pytest.raises(mp.MilepostError, match=message) as error:
        mp.release(table, city, epsilon=1)
    assert not any(cell in str(error.value) for cell in ("Miller", "77"))
    assert error.value.__cause__ is None


def test_kinds_that_are_not_tables_are_refused(tmp_path: Path, city: mp.L1) -> None:
    """Lazy frames, objects, columns of other kinds, foreign and damaged files: what came, and what to do."""
    frame = pl.DataFrame({"east": [1.0, 2.0], "north": [3.0, 4.0]})
    wide = pl.Series([1, 2], dtype=pl.Int128)
    path = tmp_path / "homes.parquet"
    frame.write_parquet(path)
    content = path.read_bytes()
    damaged, foreign, twice = (tmp_path / f"{name}.parquet" for name in ("damaged", "foreign", "twice"))
    damaged.write_bytes(content[:4] + bytes(40) + content[44:])
    foreign.write_text("east,north\n1,2\n")
    pq.write_table(pa.table([pa.array([1.0]), pa.array([2.0])], names=["east", "east"]), twice)
    (tmp_path / "twice.csv").write_text("east,east\n1,2\n")
    cases: list[tuple[Any, str]] = [
        (frame.lazy(), r"LazyFrame; collect\(\)"),
        (frame.with_columns(east=wide), "'east' must hold numbers that Arrow has, got Int128"),
        (frame.with_columns(east=pl.Series([object(), 1], dtype=pl.Object)), "'east' must hold numbers"),
        (frame.with_columns(east=pl.Series(["a", "b"], dtype=pl.Categorical)), "'east' must hold numbers"),
        (frame.with_columns(east=pl.Series([[1.0], [2.0]])), "'east' must hold numbers"),
        (tmp_path / "nowhere.parquet", "no file"),
        (damaged, r"damaged\.parquet"),
        (foreign, r"foreign\.parquet.*not a Parquet file"),
        (tmp_path, "CSV and Parquet files"),
    ]
    for table, message in cases:
        with pytest.raises(mp.MilepostError, match=message):
            mp.release(table, city, epsilon=1)
    for path in (twice, tmp_path / "twice.csv"):
        with pytest.raises(mp.MilepostError, match="2 columns with the name 'east'"):
            mp.release(path, city, epsilon=1, columns=[0, 1])


def test_one_decimal_never_changes_how_another_is_read() -> None:
    """Arrow and Polars give a column of decimals one scale, set by its longest record: values are read one by one."""
    space = mp.L1({"x": (0, 10)})
    values = [Decimal(k).scaleb(-5) for k in range(0, 1_000_000, 777)]
    images: list[FloatArray] = []
    for last in (Decimal(5), Decimal("5." + "0" * 29 + "1")):
        for table in (pa.table({"x": [*values, last]}), pl.DataFrame({"x": [*values, last]})):
            batch = next(iter(batches.batches(table, ColumnSelection.of_space(space))))
            images.append(space.read(batch)[:-1, 0])
    assert all(np.array_equal(image, [float(value) for value in values]) for image in images)


def test_no_two_readers_of_a_csv_file_share_a_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that is closed may still be reading ahead in its thread, and would take the next one's bytes."""
    open_csv, streams = pa.csv.open_csv, list[object]()

    def record_stream(stream: object, **options: Any) -> Any:
        streams.append(stream)
        return open_csv(stream, **options)

    monkeypatch.setattr(pa.csv, "open_csv", record_stream)
    rows = np.random.default_rng(0).random((100_000, 4)).round(6)
    pa.csv.write_csv(pa.table({f"c{i}": rows[:, i] for i in range(4)}), tmp_path / "people.csv")
    assert batches.count(tmp_path / "people.csv") == len(rows)
    assert np.array_equal(np.concatenate(list(batches.batches(tmp_path / "people.csv", ColumnSelection()))), rows)
    assert len(streams) == len(set(streams)) == 4
    selection = ColumnSelection(["c2", "c1"], ("x", "y"), extra=(("groups", "c3"), ("row_weights", 0)))
    pairs = list(batches.batches_with_cells(tmp_path / "people.csv", selection))
    assert len(streams) == len(set(streams)) == 6  # one for the names, one for all columns
    assert all(batch.schema.names == ["x", "y"] for batch, _ in pairs if isinstance(batch, pa.RecordBatch))
    texts = [text for _, (cells, _) in pairs for text in cells]
    assert [float(str(text)) for text in texts] == rows[:, 3].tolist()
    assert np.array_equal(np.concatenate([cells for _, (_, cells) in pairs]), rows[:, 0])


@pytest.mark.parametrize("kind", FORMATS)
def test_columns_without_a_role_are_the_points(
    kind: str, bring: Callable[[str, pd.DataFrame], Any], homes: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where neither the space nor anybody names them, in their order; cells beside them are the same rows'."""
    monkeypatch.setattr(batches, "BATCH_ROWS", 700)
    frame = homes[NAMES].head(2000)
    for role in ("privacy_unit", "row_weights"):
        pairs = list(batches.batches_with_cells(bring(kind, frame), ColumnSelection(extra=((role, 0),))))
        points = np.concatenate(
            [np.column_stack([*batch]) if isinstance(batch, pa.RecordBatch) else batch for batch, _ in pairs]
        )
        assert points.astype(float).tolist() == frame[["north"]].to_numpy().tolist()
        cells = [float(str(cell)) for _, [column] in pairs for cell in column]
        assert cells == frame["east"].tolist()
    with pytest.raises(mp.MilepostError, match=r"unit: the table has no column 'who'; it has (east, north|0, 1)"):
        list(batches.batches_with_cells(bring(kind, frame), ColumnSelection(extra=(("privacy_unit", "who"),))))
