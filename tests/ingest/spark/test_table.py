"""The same folder of Parquet files gives the same integers through NumPy, streaming and Spark."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import milepost as mp
from milepost.ingest.row_attributes import RowColumns
from milepost.ingest.spark.table import SparkTable
from milepost.ingest.table import Table
from milepost.mechanisms.query.net import Net
from milepost.pipeline.find_bounds import read_magnitudes
from milepost.pipeline.open_table import open_table
from milepost.pipeline.private_ball import grid_of, squared_radii
from milepost.pipeline.selection import read_given_queries
from milepost.privacy import noise
from milepost.spaces.bounds_provenance import BallProvenance
from milepost.spaces.queries import Queries
from milepost.statistics.sketch import Sketch
from milepost.testing import exact_statistic_digest
from tests.chance import assert_close

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]

WORDS = ["colour", "color", "center"]
SPACES: dict[str, tuple[Any, Any, Any]] = {  # space, columns, queries
    "l1": (mp.L1({"x": (0, 10), "y": (0, 10)}), None, [[1, 2], [7, 3]]),
    "l2": (mp.L2([(0, 10), (0, 10)]), [0, "y"], [[1, 2], [7, 3]]),
    "great-circle": (mp.GreatCircle((52.5, 13.4), radius_km=20), None, [[52.5, 13.5]]),
    "gower": (
        mp.Gower({"x": mp.number(0, 10), "kind": mp.category(["a", "b"]), "on": mp.flag()}),
        None,
        [[1, "a", True], [2, "other", False]],
    ),
    "any": (mp.AnyMetric(lambda left, right: abs(len(left) - len(right)), diameter=8, queries=WORDS), "word", None),
}
QUERIES = Queries(np.array([[1.0, 2.0], [7.0, 3.0]]), SPACES["l1"][0])
GROUPS: dict[str, Any] = {"groups": "city", "labels": ["Bonn", "Ulm"]}
PERSONS: dict[str, Any] = {"privacy_unit": "person", "contributions": 2}
EVERYTHING = {**GROUPS, **PERSONS, "row_weights": "weight", "max_row_weight": 2.0}


def tables(here: Any, there: Any, kind: str, neighbors: str, roles: dict[str, Any]) -> tuple[Table, Table]:
    """The same rows twice, read in the same way."""
    space, columns, _ = SPACES[kind]
    row_columns = RowColumns(**roles)
    result = [open_table(data, space, row_columns.change(neighbors), columns, row_columns) for data in (here, there)]
    assert [type(table) for table in result] == [Table, SparkTable]
    return result[0], result[1]


READ = {
    "l1": ["x", "y"],
    "l2": ["x", "y"],
    "great-circle": ["latitude", "lon"],
    "gower": ["x", "kind", "on"],
    "any": ["word"],
}


def arrays(people: pa.Table, kind: str) -> Table:
    """The points as an array of NumPy's, and a list for each role."""
    options = EVERYTHING | {
        role: people[EVERYTHING[role]].to_pylist() for role in ("groups", "privacy_unit", "row_weights")
    }
    columns = [np.array(people[name].to_pylist(), dtype=object if kind == "gower" else None) for name in READ[kind]]
    roles = RowColumns(**options)
    points = columns[0] if kind == "any" else np.column_stack(columns)
    return Table(points, SPACES[kind][0], roles.change("add-remove"), None, roles)


@pytest.mark.parametrize("kind", SPACES)
def test_the_integers_are_the_same(kind: str, people: pa.Table, folder: Path, frame: Any) -> None:
    """Of NumPy's arrays, files, a stream and Spark, with groups, weights, and persons with more rows than are used."""
    here, there = tables(people, frame, kind, "add-remove", EVERYTHING)
    stream, files = (
        tables(data, frame, kind, "add-remove", EVERYTHING)[0] for data in (iter(people.to_batches(300)), folder)
    )
    variant = here.space.size_variants(4000)[-1]
    queries = read_given_queries(here.space, SPACES[kind][2])
    assert queries is not None
    sketch, sums = here.sketch(variant), here.sums(queries, Net().summands)
    assert sketch.totals.min() > 0
    for table in (there, arrays(people, kind), stream, files):
        same(sketch, table.sketch(variant))
        same(sums, table.sums(queries, Net().summands))


@pytest.mark.parametrize(
    "roles", [{}, {"privacy_unit": "person"}, PERSONS, GROUPS], ids=["rows", "one", "two", "groups"]
)
def test_the_totals_are_the_same(roles: dict[str, Any], people: pa.Table, frame: Any) -> None:
    """Public or private, and of a statistic without weights."""
    here, there = tables(people, frame, "l1", "replace", roles)
    assert there.total() == here.total() > 0
    same(here.sketch(here.space), there.sketch(here.space))


def same(here: Any, there: Any) -> None:
    """All arrays of two statistics."""
    assert type(here) is type(there)
    for name in ("counts", "offsets", "totals") if isinstance(here, Sketch) else ("values", "totals"):
        assert np.array_equal(getattr(here, name), getattr(there, name)), name
    assert here.totals.sum() > 0


def test_a_release_has_the_same_numbers(people: pa.Table, frame: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With noise of 0, all that is released."""
    monkeypatch.setattr(noise, "_add", lambda _law, values, _scale: values)
    space = SPACES["l2"][0]
    for options in ({}, {**GROUPS, "neighbors": "add-remove", "privacy_unit": "person", "contributions": 3}):
        here, there = (
            mp.release(data, space, epsilon=1, delta=1e-6, columns=["x", "y"], **options) for data in (people, frame)
        )
        assert (here.card, here.n) == (there.card, there.n)
        for name, tensor in here.statistic.tensors().items():
            assert np.array_equal(tensor, there.statistic.tensors()[name]), name


def test_the_order_of_rows_and_partitions_do_not_matter(people: pa.Table, frame: Any) -> None:
    """Nor that some partitions are empty."""
    shuffled = frame.repartition(5, "word").sortWithinPartitions("y")
    here, there = tables(people, shuffled, "l1", "replace", PERSONS)
    same(here.sums(QUERIES), there.sums(QUERIES))


@pytest.mark.parametrize("rows", [1, 3, 4000])
@pytest.mark.parametrize("kind", ["l1", "l2"])
def test_any_number_of_partitions(rows: int, kind: str, people: pa.Table, spark: Any) -> None:
    """More partitions than rows, most of them empty; with and without groups, weights and persons."""
    part = people.slice(0, rows)
    frame = spark.createDataFrame(part)
    for roles in ({}, EVERYTHING | {"labels": ["Bonn", "Ulm", "other"]}):
        for partitions in (1, 30):
            here, there = tables(part, frame.repartition(partitions), kind, "replace", roles)
            variant = here.space.size_variants(4000)[-1]
            same(here.sketch(variant), there.sketch(variant))


@pytest.mark.parametrize("roles", [{}, EVERYTHING], ids=["rows", "everything"])
def test_the_public_digest_is_the_same(roles: dict[str, Any], people: pa.Table, frame: Any) -> None:
    space, columns, _ = SPACES["l1"]
    here = exact_statistic_digest(people, space, columns=columns, **roles)
    assert exact_statistic_digest(frame.repartition(3), space, columns=columns, **roles) == here
    assert exact_statistic_digest(frame.where("x > 1"), space, columns=columns, **roles) != here


def test_persons_of_any_type(people: pa.Table, frame: Any) -> None:
    """Ids that are numbers, text, dates or bytes; 0 and −0 are the same number."""
    ids = {
        "cast(person as string)": people["person"].cast(pa.string()),
        "(person % 3 - 1) * cast(-0.5 as double)": pa.array((people["person"].to_numpy() % 3 - 1) * -0.5),
        "cast(person as decimal(9, 2))": people["person"].cast(pa.decimal128(21, 2)),
        "date_add(date '2020-01-01', cast(person as int))": pa.array(
            np.datetime64("2020-01-01") + people["person"].to_numpy()
        ),
        "cast(cast(person as string) as binary)": people["person"].cast(pa.string()).cast(pa.binary()),
    }
    for expression, column in ids.items():
        table = people.set_column(people.column_names.index("person"), "person", column)
        here, there = tables(table, frame.selectExpr("x", "y", f"{expression} as person"), "l1", "replace", PERSONS)
        same(here.sketch(here.space), there.sketch(here.space))


def test_columns_with_awkward_names(spark: Any, people: pa.Table) -> None:
    """Dots, backticks, and names that differ by their case only; the same name twice, where it is not read."""
    names = ["a.b", "A.B", "`tick`", "kind", "kind"]
    frame = spark.createDataFrame(people.select(["x", "y", "weight", "kind", "city"])).toDF(*names)
    table = people.select(["x", "y", "weight"]).rename_columns(names[:3])
    row_columns = RowColumns(row_weights="`tick`", max_row_weight=2)
    space = mp.L1({"A.B": (0, 10), "a.b": (0, 10)})
    here, there = (open_table(data, space, row_columns.change("replace"), None, row_columns) for data in (table, frame))
    same(here.sums(Queries(np.ones((1, 2)), space)), there.sums(Queries(np.ones((1, 2)), space)))


def test_the_bounds_are_found_in_the_same_counts(people: pa.Table, frame: Any) -> None:
    for roles in (RowColumns(), RowColumns(privacy_unit="person", contributions=2)):
        (names, here), (others, there) = (read_magnitudes(data, ["y", "x"], roles) for data in (people, frame))
        assert (names, here.total) == (others, there.total)
        assert np.array_equal(here.counts, there.counts)
    space = mp.find_bounds(frame, ["x"], epsilon=8)
    assert space.extent is not None
    assert space.extent[0][1] > 5


@pytest.mark.parametrize("roles", [{}, GROUPS, PERSONS, EVERYTHING], ids=["none", "groups", "persons", "everything"])
def test_a_ball_is_found_in_the_same_sums(roles: dict[str, Any], people: pa.Table, frame: Any) -> None:
    """And read in another space afterwards."""
    space, row_columns = mp.L2(center={"x": 5, "y": 5}, radius=5), RowColumns(**roles)
    grid, smaller = grid_of(space), mp.L2(center={"x": 4, "y": 4}, radius=2)
    here, there = (
        open_table(data, space, row_columns.change("replace"), None, row_columns) for data in (people, frame)
    )
    point, statistics = np.array([1000, -1000]), list[list[Any]]()
    for table in (here, there):
        sums = table.point_sums(grid)
        counts = table.distance_counts(grid, point, squared_radii())
        statistics.append([*sums.arrays, *counts.arrays])
    assert all(np.array_equal(a, b) for a, b in zip(*statistics, strict=True))
    same(here.in_space(smaller).sketch(smaller), there.in_space(smaller).sketch(smaller))


def test_a_ball_is_released_on_the_cluster(frame: Any) -> None:
    space = mp.L2(center=[5, 5], radius=70)
    synopsis = mp.release(frame, space, epsilon=30, delta=1e-6, ball_share=0.2, columns=["x", "y"])
    assert isinstance(synopsis.space, mp.L2)
    assert isinstance(synopsis.space.bounds_provenance, BallProvenance)


@pytest.mark.parametrize("mechanism", ["field", "slopes"])
def test_a_session_asks_the_cluster(mechanism: str, people: pa.Table, frame: Any) -> None:
    """Within an error that is far below a diameter of 14."""
    space = mp.L2(center=[5, 5], radius=7.1)
    exact = mp.exact_mean_distance(people, space, [2, 3], columns=["x", "y"])
    with mp.interactive(
        frame, space, epsilon=8, delta=1e-6, max_queries=10, mechanism=mechanism, columns=["x", "y"]
    ) as session:
        assert session.mechanism == mechanism
        assert session.error < 0.3
        # both have Gaussian noise, and an error of 1.96 standard deviations or more
        assert_close(session.ask([2, 3]).value, exact, session.error / 1.96)


def test_a_task_that_is_tried_again_counts_once(frame: Any, people: pa.Table, tmp_path: Path) -> None:
    """Each partition's first attempt fails after all of its rows have been handed on."""
    folder = str(tmp_path)

    def failing(batches: Any) -> Any:
        from pyspark import TaskContext

        yield from batches
        context = TaskContext.get()
        Path(folder, f"{context.partitionId()}-{context.attemptNumber()}").touch()
        if not context.attemptNumber():
            raise RuntimeError("the first attempt")

    flaky = frame.select("x", "y").repartition(3).mapInArrow(failing, "x double, y double")
    here, there = tables(people, flaky, "l1", "replace", {})
    same(here.sums(QUERIES), there.sums(QUERIES))
    assert {path.name for path in tmp_path.iterdir()} >= {
        f"{part}-{attempt}" for part in range(3) for attempt in (0, 1)
    }
