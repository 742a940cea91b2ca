"""Streams and folders: read in one pass, a few batches at a time, to the same integers as the table at once."""

import itertools
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

import milepost as mp
from milepost._typing import FloatArray
from milepost.ingest import batches, files
from milepost.ingest.aggregation import read_sketch, read_sums
from milepost.ingest.batches import open_stream
from milepost.ingest.row_attributes import RowColumns
from milepost.ingest.stream import Stream
from milepost.ingest.table import Table
from milepost.pipeline.release import EXPECTED_ROWS
from milepost.pipeline.selection import read_given_queries
from milepost.spaces.base import Space
from milepost.statistics import sketch
from milepost.statistics.distance_sums import DistanceSums
from milepost.statistics.sketch import Sketch
from milepost.statistics.statistic_spec import StatisticSpec
from tests.chance import sure

ROWS = 3000
CITIES = ["Bonn", "Ulm", "Jena"]
BUDGET: dict[str, Any] = {"epsilon": 1, "delta": 1e-6}
PLANE = mp.L1({"east": (0, 10), "north": (0, 10)})
SPACES: dict[str, tuple[Space, list[str] | None, Any]] = {
    "l1": (PLANE, None, [[1, 2], [5, 5]]),
    "l2": (mp.L2({"east": (0, 10), "north": (0, 10)}, directions=16), None, [[1, 2], [5, 5]]),
    "great-circle": (mp.GreatCircle((5, 5), 1200, directions=16), ["north", "east"], [[5, 5], [6, 4]]),
    "gower": (mp.Gower({"east": mp.number(0, 10), "city": mp.category(CITIES)}), None, [[5.0, "Ulm"], [1.0, "other"]]),
    "any": (mp.AnyMetric(mp.edit_distance, 12, queries=["Bonn", "Rome"]), ["city"], None),
}
ROLES = {
    "plain": RowColumns(),
    "groups": RowColumns("city", [*CITIES, "other"]),
    "persons": RowColumns("city", CITIES, "person", 2, "weight", 1.5),
}


@pytest.fixture(scope="module")
def people() -> pa.Table:
    """Where people are, in which city, how often, and who they are."""
    rng = np.random.default_rng(0)
    return pa.table(
        {
            "person": rng.integers(0, ROWS // 3, ROWS),
            "east": rng.uniform(-1, 11, ROWS),
            "north": rng.uniform(0, 10, ROWS),
            "city": rng.choice([*CITIES, "Rome"], ROWS).tolist(),
            "weight": rng.uniform(0, 2, ROWS),
        }
    )


@pytest.fixture(scope="module")
def folder(people: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same in files of different sizes, an empty one among them, and what Spark leaves beside them."""
    path = tmp_path_factory.mktemp("people")
    for k, (start, end) in enumerate(itertools.pairwise([0, 1000, 1000, 1001, 2300, ROWS])):
        pq.write_table(people.slice(start, end - start), path / f"part-{k}.parquet", row_group_size=300)
    (path / "_SUCCESS").touch()
    (path / ".part-0.parquet.crc").write_bytes(b"\x00")
    (path / "_temporary").mkdir()
    (path / "_temporary" / "part-9.parquet").write_bytes(b"unfinished")
    return path


@pytest.fixture(scope="module")
def texts(people: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same as CSV files in two folders."""
    path = tmp_path_factory.mktemp("texts")
    for k, name in enumerate(("a", "b")):
        (path / name).mkdir()
        pa.csv.write_csv(people.slice(k * 1300, 1300 if k == 0 else ROWS), path / name / "people.csv")
    return path


SOURCES: dict[str, Callable[[pa.Table, Path, Path], Any]] = {
    "batches": lambda people, *_: iter(people.to_batches(max_chunksize=270)),
    "tables": lambda people, *_: (people.slice(start, 700) for start in range(0, ROWS, 700)),
    "pandas": lambda people, *_: (people.slice(start, 700).to_pandas() for start in range(0, ROWS, 700)),
    "polars": lambda people, *_: iter(pl.DataFrame(people).iter_slices(412)),
    "lazy": lambda people, *_: pl.DataFrame(people).lazy().collect_batches(chunk_size=400, maintain_order=True),
    "reader": lambda people, *_: pa.RecordBatchReader.from_batches(people.schema, people.to_batches(400)),
    "duckdb": lambda people, *_: duckdb.from_arrow(people),
    "dataset": lambda people, folder, _: pa.dataset.dataset(folder),  # noqa: ARG005
    "folder": lambda people, folder, _: folder,  # noqa: ARG005
    "pattern": lambda people, folder, _: str(folder / "part-*.parquet"),  # noqa: ARG005
    "csv": lambda people, folder, texts: texts,  # noqa: ARG005
    "csv pattern": lambda people, folder, texts: texts / "**" / "*.csv",  # noqa: ARG005
}


def same(left: Sketch | DistanceSums, right: Sketch | DistanceSums) -> bool:
    names = ("counts", "offsets", "totals") if isinstance(left, Sketch) else ("values", "totals")
    return all(np.array_equal(getattr(left, name), getattr(right, name)) for name in names)


FAST_CASES = [("l1", "plain"), ("l1", "groups"), ("gower", "persons")]


@pytest.mark.parametrize(
    ("kind", "role"),
    [
        pytest.param(kind, role, marks=[pytest.mark.slow] * ((kind, role) not in FAST_CASES))
        for kind in SPACES
        for role in ROLES
    ],
)
def test_every_way_gives_the_same_integers(kind: str, role: str, people: pa.Table, folder: Path, texts: Path) -> None:
    """In both statistics, with groups, weights and persons."""
    (space, columns, points), roles = SPACES[kind], ROLES[role]
    queries = read_given_queries(space, points)
    assert queries is not None
    sketch, sums = read_sketch(people, space, columns, roles), read_sums(people, space, queries, columns, roles)
    assert int(sketch.totals.sum()) > ROWS / 3
    for name, factory in SOURCES.items():

        def open_source(factory: Callable[..., Any] = factory) -> Any:
            source = open_stream(factory(people, folder, texts))
            return source.buffered() if isinstance(source, Stream) and roles.privacy_unit is not None else source

        assert same(read_sketch(open_source(), space, columns, roles), sketch), name
        assert same(read_sums(open_source(), space, queries, columns, roles), sums), name


@pytest.mark.parametrize("change", [{}, {"neighbors": "add-remove"}, {"groups": "city", "labels": CITIES}])
@pytest.mark.parametrize("space", [PLANE, mp.L2({"east": (0, 10), "north": (0, 10)}, directions=8)])
def test_an_iterator_is_released_like_the_table(space: mp.L1 | mp.L2, change: dict[str, Any], people: pa.Table) -> None:
    """Though it can be read once only; with a person's rows limited it is kept."""
    for unit in (None, "person"):
        options: dict[str, Any] = {"epsilon": 20, "delta": 1e-6, "mechanism": "slopes", "privacy_unit": unit} | change
        synopsis = mp.release(iter(people.to_batches(1000)), space, **options)
        group = synopsis.group("Bonn") if change.get("groups") else synopsis
        if not change and unit is None:
            assert synopsis.n == ROWS
        assert group.error(sure()) < 0.5
        assert abs(group.mean_distance([5, 5]) - mp.exact_mean_distance(people, space, [[5, 5]])[0]) < 1


class Batches:
    """An iterator of batches that knows how many of them are still in memory."""

    def __init__(self, count: int, rows: int = 1000) -> None:
        self._rng, self._count, self._rows = np.random.default_rng(0), count, rows
        self.alive, self.max_alive = 0, 0

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for _ in range(self._count):
            batch = pa.RecordBatch.from_arrays(list(self._rng.uniform(0, 10, (2, self._rows))), ["east", "north"])
            weakref.finalize(batch, self._gone)
            self.alive += 1
            self.max_alive = max(self.max_alive, self.alive)
            yield batch
            del batch

    def _gone(self) -> None:
        self.alive -= 1


@pytest.mark.slow
def test_few_batches_are_in_memory_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever their number, on a machine of four processors; a session, which reads them again, keeps them."""
    monkeypatch.setattr("milepost.ingest.parallel.processors", lambda: 4)
    release_batches = Batches(200)
    assert mp.release(iter(release_batches), PLANE, **BUDGET).n == 200_000
    assert release_batches.max_alive <= 12
    session_batches = Batches(50)
    assert (
        mp.interactive(iter(session_batches), PLANE, **BUDGET, mechanism="field", max_queries=2).ask([5, 5]).value > 0
    )
    assert session_batches.max_alive == 50


def test_a_csv_file_is_read_once(texts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where what is read does not depend on the number of rows, they are counted on the way."""
    passes: list[str] = []

    def wrap(name: str) -> Callable[..., Any]:
        original = getattr(files, name)

        def call(*args: Any) -> Any:
            passes.append(name)
            return original(*args)

        return call

    for name in ("read", "count"):
        monkeypatch.setattr(files, name, wrap(name))
    mp.release(texts, PLANE, **BUDGET)
    mp.release(texts, PLANE, **BUDGET, neighbors="add-remove")
    assert passes == ["read", "read"]
    mp.release(texts, mp.L2({"east": (0, 10), "north": (0, 10)}), **BUDGET, mechanism="slopes")
    assert passes[2:] == ["count", "read"]


@pytest.mark.slow
def test_n_says_for_how_many_rows_an_iterator_is_read(people: pa.Table) -> None:
    """Embedding coordinates are as many as suit so many; a million where nothing is said."""
    space = mp.L2({"east": (0, 10), "north": (0, 10)})
    budget: dict[str, Any] = {"epsilon": 0.01, "delta": 1e-6}  # draws of noise

    def directions(n: int | None) -> int:
        synopsis = mp.release(iter(people.to_batches(1000)), space, **budget, mechanism="slopes", n=n)
        assert synopsis.n == ROWS
        return synopsis.space.embedding.dimension

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mp.AccuracyWarning)
        assert directions(100) < directions(None) == directions(EXPECTED_ROWS)
    with pytest.raises(mp.MilepostError, match="leave it out"):
        mp.release(people, space, **BUDGET, n=100)


def test_names_of_folders_are_columns(people: pa.Table, tmp_path: Path) -> None:
    """As Spark and Arrow write tables in parts: city=Bonn/year=2020; they go before columns of the same name."""
    for city in CITIES:
        path = tmp_path / f"city={city}" / "year=2020"
        path.mkdir(parents=True)
        rows = people.filter(pa.compute.equal(people["city"], city))
        pq.write_table(rows.set_column(3, "city", pa.array(["nowhere"] * len(rows))), path / "part.parquet")
    roles = RowColumns("city", CITIES)
    assert same(read_sketch(tmp_path, PLANE, None, roles), read_sketch(people, PLANE, None, roles))
    years = mp.L1({"year": (2000, 2040)})
    assert mp.exact_mean_distance(tmp_path, years, 2023.0) == 3


@pytest.mark.parametrize("name", ["people.csv.gz", "people.txt.bz2", "PEOPLE.CSV.ZST"])
def test_a_compressed_csv_file_is_read_like_the_table(name: str, people: pa.Table, tmp_path: Path) -> None:
    path = tmp_path / "people" / name
    path.parent.mkdir()
    codec = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}[path.suffix.lower()]
    with pa.CompressedOutputStream(str(path), codec) as stream:
        pa.csv.write_csv(people, stream)
    roles = RowColumns("city", CITIES)
    for source in (path, path.parent, path.parent / f"*{path.suffix}"):
        assert same(read_sketch(source, PLANE, None, roles), read_sketch(people, PLANE, None, roles))
    assert batches.count(path) == ROWS
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(mp.MilepostError, match=f"{path.name} cannot be read: it is damaged|{path.name} holds") as error:
        mp.release(path, PLANE, **BUDGET)
    assert error.value.__cause__ is None
    path.rename(tmp_path / "people.parquet.gz")
    with pytest.raises(mp.MilepostError, match=r"people\.parquet\.gz cannot be read; only CSV"):
        mp.release(tmp_path / "people.parquet.gz", PLANE, **BUDGET)


def test_a_link_to_a_folder_above_repeats_no_row(folder: Path, tmp_path: Path) -> None:
    """A row that is read twice would be protected half as well."""
    (tmp_path / "a").mkdir()
    pq.write_table(pq.read_table(folder / "part-0.parquet"), tmp_path / "a" / "part.parquet")
    (tmp_path / "a" / "loop").symlink_to(tmp_path)
    assert batches.count(tmp_path) == 1000
    assert read_sketch(tmp_path, PLANE).totals.tolist() == [1000]


def test_a_csv_file_may_repeat_the_name_of_a_column_that_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("note,east,note,north\nx,1,y,2\n")
    assert read_sketch(path, PLANE).totals.tolist() == [1]


BAD: dict[str, tuple[Callable[[Path, pa.Table], Any], str]] = {}


def bad(message: str) -> Callable[[Callable[[Path, pa.Table], Any]], Callable[[Path, pa.Table], Any]]:
    """A broken copy of the folder, and what is said of it."""

    def register(make: Callable[[Path, pa.Table], Any]) -> Callable[[Path, pa.Table], Any]:
        BAD[make.__name__] = make, message
        return make

    return register


@bad(r"part-0\.parquet has double in its column 'east', part-1\.parquet has string in 'east'; files that are read")
def another_type(path: Path, people: pa.Table) -> Any:
    text = people["east"].cast(pa.string())
    pq.write_table(people, path / "part-0.parquet")
    pq.write_table(people.set_column(1, "east", text), path / "part-1.parquet")
    return path


@bad(r"part-1\.parquet: the table has no column 'east'|part-1\.parquet.*same columns")
def a_column_less(path: Path, people: pa.Table) -> Any:
    pq.write_table(people, path / "part-0.parquet")
    pq.write_table(people.drop_columns("east"), path / "part-1.parquet")
    return path


@bad("column 'east' has a missing value or NaN in row 3002")
def a_null(path: Path, people: pa.Table) -> Any:
    pq.write_table(people, path / "part-0.parquet")
    east = pa.array([1.0, None, 2.0])
    pq.write_table(people.slice(0, 3).set_column(1, "east", east), path / "part-1.parquet")
    return path


@bad(r"part-1\.parquet cannot be read: it is not a Parquet file, or is damaged")
def a_damaged_file(path: Path, people: pa.Table) -> Any:
    pq.write_table(people, path / "part-0.parquet")
    (path / "part-1.parquet").write_bytes((path / "part-0.parquet").read_bytes()[:-100])
    return path


@bad("has no CSV .* or Parquet .* files")
def an_empty_folder(path: Path, people: pa.Table) -> Any:  # noqa: ARG001
    (path / "_SUCCESS").touch()
    return path


@bad("has no CSV .* or Parquet .* files")
def an_unmatched_pattern(path: Path, people: pa.Table) -> Any:  # noqa: ARG001
    return path / "*.parquet"


@bad("the table is empty")
def empty_files(path: Path, people: pa.Table) -> Any:
    pq.write_table(people.slice(0, 0), path / "part-0.parquet")
    return path


@bad("with and without a folder city=")
def some_keys(path: Path, people: pa.Table) -> Any:
    (path / "city=Bonn").mkdir()
    pq.write_table(people, path / "part-0.parquet")
    pq.write_table(people, path / "city=Bonn" / "part-0.parquet")
    return path


@bad("batch 2 has other columns or types than the first")
def another_batch(path: Path, people: pa.Table) -> Any:  # noqa: ARG001
    return iter([people, people.set_column(1, "east", people["person"])])


@bad("batch 2 is a list; expected an Arrow batch")
def no_batch(path: Path, people: pa.Table) -> Any:  # noqa: ARG001
    return iter([people, [1, 2]])


@bad("the dataset cannot be read")
def a_broken_dataset(path: Path, people: pa.Table) -> Any:
    pq.write_table(people, path / "part-0.parquet")
    pq.write_table(people.set_column(1, "east", people["city"]), path / "part-1.parquet")
    return pa.dataset.dataset(path)


@bad("column 'east' must hold numbers, got string")
def text(path: Path, people: pa.Table) -> Any:  # noqa: ARG001
    return iter(people.set_column(1, "east", people["east"].cast(pa.string())).to_batches(1000))


@pytest.mark.parametrize("neighbors", ["replace", "add-remove"])
@pytest.mark.parametrize("case", BAD)
def test_what_is_bad_is_refused_and_nothing_is_spent(
    case: str, neighbors: str, people: pa.Table, tmp_path: Path
) -> None:
    """In words that say which file and what to do, and quote no row."""
    make, message = BAD[case]
    (tmp_path / "files").mkdir()
    ledger = mp.Ledger(tmp_path / "ledger.db")
    ledger.create("homes", epsilon=10, delta=1e-5)
    table = make(tmp_path / "files", people)
    if case == "empty_files" and neighbors == "add-remove":  # whether somebody is in the table at all is private
        mp.release(table, PLANE, **BUDGET, neighbors=neighbors, n=ROWS, ledger=ledger, dataset="homes")
        return
    with pytest.raises(mp.MilepostError, match=message):
        mp.release(table, PLANE, **BUDGET, neighbors=neighbors, ledger=ledger, dataset="homes")
    assert ledger.spent("homes").nano == 0


def test_an_error_of_the_iterator_is_its_own(people: pa.Table, tmp_path: Path) -> None:
    """And gives the charge back."""

    def broken() -> Iterator[pa.RecordBatch]:
        yield from people.to_batches(1000)
        raise ConnectionError("the database is gone")

    ledger = mp.Ledger(tmp_path / "ledger.db")
    ledger.create("homes", epsilon=10, delta=1e-5)
    with pytest.raises(ConnectionError, match="database"):
        mp.release(broken(), PLANE, **BUDGET, ledger=ledger, dataset="homes")
    assert ledger.spent("homes").nano == 0


def test_an_iterator_is_not_read_twice(people: pa.Table) -> None:
    """Half a table would be taken for the whole of it."""
    stream = open_stream(iter(people.to_batches(1000)))
    read_sketch(stream, PLANE)
    with pytest.raises(mp.MilepostError, match="can be read once only"):
        read_sketch(stream, PLANE)


def test_bounds_and_exact_means_of_an_iterator(people: pa.Table) -> None:
    """One pass each."""
    rows = people.select(["east", "north"])
    space = mp.find_bounds(iter(rows.to_batches(1000)), epsilon=5)
    assert space.names == ("east", "north")
    assert np.allclose(
        mp.exact_mean_distance(iter(rows.to_batches(1000)), PLANE, [[5, 5]]),
        mp.exact_mean_distance(rows, PLANE, [[5, 5]]),
    )


def test_a_users_function_is_never_called_by_two_threads(people: pa.Table) -> None:
    """It may not bear it."""
    lock = threading.Lock()

    def distance(left: str, right: str) -> float:
        assert lock.acquire(blocking=False)
        try:
            return float(left != right)
        finally:
            lock.release()

    space = mp.AnyMetric(distance, 1, queries=["Bonn", "Ulm"])
    cities = (batch.select(["city"]) for batch in people.to_batches(500))
    assert mp.release(cities, space, epsilon=1).n == ROWS


def test_threads_fail_like_one(people: pa.Table) -> None:
    """The first bad row in the order of the table is the one that is told."""
    values: FloatArray = people["east"].to_numpy().copy()
    values[[1500, 2700]] = np.nan
    table = people.set_column(1, "east", pa.array(values, from_pandas=False))
    for _ in range(10):
        with pytest.raises(mp.MilepostError, match="in row 1501"):
            read_sketch(Stream(table.to_batches(100)), PLANE)


class Tally:
    """A statistic whose parts check nothing themselves."""

    def add(self, rows: int) -> None:
        """Nothing to keep."""

    @property
    def arrays(self) -> tuple[()]:
        """No integers."""
        return ()

    def __add__(self, other: "Tally") -> "Tally":
        return self


TALLY = StatisticSpec(Tally, lambda block: (len(block.points),))


@pytest.mark.parametrize("weighted", [False, True])
def test_a_table_that_is_too_large_is_refused_when_that_shows(weighted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the weight of all threads' rows so far, and in rows; the rest is not read."""
    monkeypatch.setattr(sketch, "MAX_TOTAL", 4 * 1024)
    monkeypatch.setattr("milepost.ingest.parallel.processors", lambda: 2)
    batch_numbers: list[int] = []

    def weighted_batches() -> Iterator[Any]:
        for number in range(100):
            batch_numbers.append(number)
            yield np.ones((1 if weighted else 1024, 2))

    roles = RowColumns(row_weights=1, max_row_weight=1) if weighted else RowColumns()
    space = mp.L1([(0, 1)] * (1 if weighted else 2))
    table = Table(weighted_batches(), space, roles.change("add-remove"), None, roles, stream=True)
    reason = r"at most 4,096 rows, or a total weight of 4 times the largest; this table has more. Release it in parts"
    with pytest.raises(mp.MilepostError, match=reason):
        table._aggregate(TALLY)
    assert len(batch_numbers) <= 5 + 2 * 2 + 1  # the fifth is too much; two threads, and what is at hand for them


def test_a_number_of_rows_that_is_known_is_refused_before_any_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that would be refused is not looked at."""
    monkeypatch.setattr(sketch, "MAX_TOTAL", 10)
    with pytest.raises(mp.MilepostError, match="at most 10 rows"):
        mp.release(np.full((11, 1), np.nan), mp.L1([(0, 1)]), epsilon=1)


def test_chosen_rows_that_are_too_many_are_refused_before_they_are_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pass that chooses each person's rows has their total."""
    monkeypatch.setattr(sketch, "MAX_TOTAL", 10)
    rows, people = np.zeros((11, 1)), RowColumns(privacy_unit=list(range(11)))
    with pytest.raises(mp.MilepostError, match="at most 10 rows"):
        _ = Table(rows, mp.L1([(0, 1)]), people.change("replace"), None, people).bounded_rows
