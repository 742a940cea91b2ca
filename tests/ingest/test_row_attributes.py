"""Roles: groups, persons and weights are read alike from every table, and say what a few lines of Python say."""

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, fields
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import geopandas as gpd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import milepost as mp
from milepost.ingest import batches
from milepost.ingest import table as table_module
from milepost.ingest.aggregation import read_sketch, read_sums
from milepost.ingest.column_selection import ColumnSelection
from milepost.ingest.row_attributes import RowColumns
from milepost.ingest.stream import Stream
from milepost.ingest.table import NO_ROW_COLUMNS, Table
from milepost.pipeline.selection import read_given_queries
from milepost.privacy.protected_change import WEIGHT_STEPS
from milepost.spaces.embeddings.embedding import QUANTA
from milepost.spaces.queries import Queries
from milepost.statistics.distance_sums import DistanceSums
from milepost.statistics.sketch import Sketch
from tests.quick import examples
from tests.strategies import Visit, visits

CITY = mp.L1({"east": (0, 10), "north": (0, 10)})
POINTS = mp.L1([(0, 10), (0, 10)])
NAMES = [field.name for field in fields(Visit)]
MAX_WEIGHT = 4.0
ROLES: dict[str, Any] = {"groups": "label", "privacy_unit": "person", "row_weights": "weight"}
FORMATS = ["array", "rows", "pandas", "polars", "arrow", "batch", "csv", "parquet"]
LABELS: list[tuple[Any, ...]] = [(1, 2), (1, "other", 2), ("2",), ("other",)]
QUERY_POINTS = [[2.0, 3.0], [9.5, 0.0]]
UsedRow = tuple[tuple[float, float], int, int]  # point, group, steps


def queries(space: mp.L1 = CITY) -> Queries:
    result = read_given_queries(space, QUERY_POINTS)
    assert result is not None
    return result


def total(data: Any, space: Any, row_columns: RowColumns = NO_ROW_COLUMNS) -> int:
    """Of a table whose number of rows is private."""
    return table_of(data, space, row_columns).total()


def table_of(data: Any, space: Any, row_columns: RowColumns = NO_ROW_COLUMNS, columns: Any = None) -> Table:
    return Table(data, space, row_columns.change("add-remove"), columns, row_columns)


def frame_of(rows: Sequence[Visit]) -> pd.DataFrame:
    kinds = {"person": "int64", "label": "int64", "weight": "float64", "east": "float64", "north": "float64"}
    return pd.DataFrame([astuple(row) for row in rows], columns=NAMES).astype(kinds)


def splitmix64(content: bytes) -> int:
    """SplitMix64 of one number after another, in whole numbers."""
    result = 0
    for (number,) in struct.iter_unpack("<Q", content):
        result = ((result ^ number) + 0x9E3779B97F4A7C15) % 2**64
        result = (result ^ result >> 30) * 0xBF58476D1CE4E5B9 % 2**64
        result = (result ^ result >> 27) * 0x94D049BB133111EB % 2**64
        result ^= result >> 31
    return result


def oracle(
    rows: Sequence[Visit], labels: Sequence[Any] = (), contributions: int = 0, weighted: bool = False
) -> list[UsedRow]:
    """The rows that are used, one by one; 0 contributions: all."""
    texts = [str(label) for label in labels]
    rows_by_person: dict[int, list[tuple[int, UsedRow]]] = {}
    for index, row in enumerate(rows):
        label = str(row.label) if str(row.label) in texts else "other"
        if labels and label not in texts:
            continue
        group = texts.index(label) if labels else 0
        steps = min(max(round(row.weight / MAX_WEIGHT * WEIGHT_STEPS), 0), WEIGHT_STEPS) if weighted else 1
        x, y = (min(max(value, 0.0), 10.0) + 0.0 for value in (row.east, row.north))
        sort_key = splitmix64(struct.pack("<ddqq", x, y, group, steps))
        rows_by_person.setdefault(row.person if contributions else index, []).append((sort_key, ((x, y), group, steps)))
    return [used for candidates in rows_by_person.values() for _, used in sorted(candidates)[: contributions or None]]


def brute_force_sketch(used: Sequence[UsedRow], cells: int, groups: int) -> Any:
    """Total weights, and C of each coordinate: Σ weight · clip((j+1)·2^b − q, 0, 2^b)."""
    size = QUANTA // cells
    totals = [sum(steps for _, group, steps in used if group == g) for g in range(groups)]
    cumulative = np.zeros((groups, 2, cells), dtype=np.int64)
    for point, group, steps in used:
        for i in range(2):
            quantum = round(point[i] / 10 * QUANTA)
            for j in range(cells):
                cumulative[group, i, j] += steps * min(max((j + 1) * size - quantum, 0), size)
    return totals, cumulative


def same(left: Sketch | DistanceSums, right: Sketch | DistanceSums) -> bool:
    assert type(left) is type(right)
    names = ("counts", "offsets", "totals") if isinstance(left, Sketch) else ("values", "totals")
    return all(np.array_equal(getattr(left, name), getattr(right, name)) for name in names)


@settings(max_examples=examples(50))
@given(
    rows=visits,
    labels=st.sampled_from([(), *LABELS]),
    contributions=st.sampled_from([0, 1, 3, 10]),
    weighted=st.booleans(),
)
def test_statistics_are_those_of_a_few_lines_of_python(
    rows: list[Visit], labels: tuple[Any, ...], contributions: int, weighted: bool
) -> None:
    """Groups, weights and contributions, each alone and together; an empty table is no error where that is private."""
    frame = frame_of(rows)
    roles = RowColumns(
        groups="label" if labels else None,
        labels=labels,
        privacy_unit="person" if contributions else None,
        contributions=max(1, contributions),
        row_weights="weight" if weighted else None,
        max_row_weight=MAX_WEIGHT if weighted else None,
    )
    used, groups = oracle(rows, labels, contributions, weighted), max(1, len(labels))
    sketch = read_sketch(frame, CITY, row_columns=roles, cells=8, empty=True)
    totals, cumulative = brute_force_sketch(used, 8, groups)
    assert sketch.totals.tolist() == totals
    assert np.array_equal([sketch.cumulative(g) for g in range(groups)], cumulative)
    sums, expected = (
        read_sums(frame, CITY, queries(), row_columns=roles, empty=True),
        DistanceSums(len(QUERY_POINTS), groups),
    )
    for point, group, steps in used:
        distances = [[abs(point[0] - x) + abs(point[1] - y) for x, y in QUERY_POINTS]]
        expected.add(queries().quantize(np.array(distances)), np.array([group]), np.array([steps]))
    assert same(sums, expected)
    assert total(frame, CITY, row_columns=roles) == sum(totals)


@pytest.fixture(scope="module")
def many() -> list[Visit]:
    """2,000 rows of about 300 persons, in more than one batch; weights and labels also outside."""
    rng = np.random.default_rng(5)
    integers = zip(rng.integers(0, 300, 2000).tolist(), rng.integers(0, 4, 2000).tolist(), strict=True)
    numbers = rng.uniform([-1, -2, -2], [6, 12, 12], (2000, 3)).round(3).tolist()
    return [Visit(*ids, *values) for ids, values in zip(integers, numbers, strict=True)]


def bring(kind: str, frame: pd.DataFrame, folder: Path) -> Any:
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    folder.mkdir(exist_ok=True)
    if kind == "csv":
        frame.to_csv(folder / "visits.csv", index=False)
    if kind == "parquet":
        pq.write_table(arrow, folder / "visits.parquet", row_group_size=300)
    loaders: dict[str, Callable[[], Any]] = {
        "array": frame.to_numpy,
        "rows": lambda: [list(row) for row in frame.itertuples(index=False)],
        "pandas": lambda: frame.set_index(np.linspace(7, 3, len(frame))),
        "polars": lambda: pl.from_pandas(frame),
        "arrow": lambda: arrow,
        "batch": lambda: arrow.combine_chunks().to_batches()[0],
        "csv": lambda: str(folder / "visits.csv"),
        "parquet": lambda: folder / "visits.parquet",
    }
    return loaders[kind]()


def role_variants(frame: pd.DataFrame) -> dict[str, dict[str, Any]]:
    """Columns with a role by name and position, and the same cells as sequences."""
    cells = {role: frame[name].to_list() for role, name in ROLES.items()}
    return {
        "named": ROLES,
        "numbered": {role: NAMES.index(name) for role, name in ROLES.items()},
        "lists": cells,
        "arrays": {role: np.array(column) for role, column in cells.items()},
        "pandas": {role: frame[name] for role, name in ROLES.items()},
        "polars": {role: pl.Series(column) for role, column in cells.items()},
        "arrow": {role: pa.chunked_array([column[:7], column[7:]]) for role, column in cells.items()},
    }


@pytest.mark.parametrize(
    ("size", "space"),
    [
        (700, POINTS),
        pytest.param(1, CITY, marks=pytest.mark.slow),
        pytest.param(1, POINTS, marks=pytest.mark.slow),
        pytest.param(700, CITY, marks=pytest.mark.slow),
        pytest.param(batches.BATCH_ROWS, CITY, marks=pytest.mark.slow),
        pytest.param(batches.BATCH_ROWS, POINTS, marks=pytest.mark.slow),
    ],
)
def test_every_format_gives_the_same_integers(
    size: int, space: mp.L1, many: list[Visit], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the size of batches and blocks, and whether roles are named, numbered or given as sequences."""
    monkeypatch.setattr(batches, "BATCH_ROWS", size)
    monkeypatch.setattr(table_module, "BLOCK", 640)
    rows = many[:20] if size == 1 else many[:800]
    frame, labels = frame_of(rows), (1, "other", 2)
    totals, cumulative = brute_force_sketch(oracle(rows, labels, 3, True), 4, 3)
    tables = {
        (kind, width): bring(kind, columns, tmp_path / f"{width}")
        for kind in FORMATS
        for width, columns in ((5, frame), (2, frame[["east", "north"]]))
    }
    for kind in FORMATS:
        for variant, columns in role_variants(frame).items():
            if variant == "named" and kind in {"array", "rows"}:
                continue
            table = tables[kind, 5 if variant in {"named", "numbered"} else 2]
            roles = RowColumns(**columns, labels=labels, contributions=3, max_row_weight=MAX_WEIGHT)
            sketch = read_sketch(table, space, row_columns=roles, cells=4)
            assert sketch.totals.tolist() == totals, (kind, variant)
            assert np.array_equal([sketch.cumulative(g) for g in range(3)], cumulative), (kind, variant)
            assert total(table, space, row_columns=roles) == sum(totals), (kind, variant)


@pytest.mark.parametrize("kind", [kind for kind in FORMATS if kind != "array"])
def test_text_ids_and_labels_are_read_from_every_format(kind: str, many: list[Visit], tmp_path: Path) -> None:
    """Lists of rows with text among them, too; columns of points are those that are asked for."""
    frame = frame_of(many).assign(
        person=[f"P-{row.person:04}" for row in many], label=[["", "Köln", "Ulm", "é,\n"][row.label] for row in many]
    )
    table = bring(kind, frame, tmp_path)
    numbered = {role: NAMES.index(name) for role, name in ROLES.items()}
    roles = RowColumns(**numbered, labels=["Köln", "Ulm"], contributions=2, max_row_weight=MAX_WEIGHT)
    expected, _ = brute_force_sketch(oracle(many, (1, 2), 2, True), 2, 2)
    for columns in (None, [3, 4]):
        assert read_sketch(table, CITY, columns, roles, 2).totals.tolist() == expected
    repeated_points = [block.points for block in table_of(table, CITY, roles, [4, 4]).blocks()]
    assert all(np.array_equal(points[:, 0], points[:, 1]) for points in repeated_points)


@pytest.mark.parametrize("contributions", [3, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 10))])
def test_a_persons_rows_alone_decide_which_are_used(contributions: int, many: list[Visit]) -> None:
    """Not their order, not other people's rows, nor how their ids are numbered."""
    roles = RowColumns(groups="label", labels=(0, 1, 2), privacy_unit="person", contributions=contributions)

    def used_rows(rows: Sequence[Visit]) -> list[list[float]]:
        result: list[list[float]] = []
        for block in table_of(frame_of(rows), CITY, roles).blocks():
            assert block.group is not None
            result += np.column_stack([block.points, block.group]).tolist()
        return sorted(result)

    frame = frame_of(many)
    table = table_of(frame, CITY, roles)
    assert same(table.sketch(CITY, 64), read_sketch(frame, CITY, row_columns=roles, cells=64))
    assert same(table.sums(queries()), read_sums(frame, CITY, queries(), row_columns=roles))
    assert same(table.sums(queries()), table.in_memory().sums(queries()))
    assert table.total() == table.in_memory().total()
    order = np.random.default_rng(1).permutation(len(many))
    assert used_rows([many[k] for k in order]) == used_rows(many)
    subset = [row for row in many if row.person < 60]
    rows_by_person = [used_rows([row for row in subset if row.person == person]) for person in range(60)]
    assert sorted(row for rows in rows_by_person for row in rows) == used_rows(subset)
    assert max(len(rows) for rows in rows_by_person) <= contributions
    counts = [sum(row.person == person and row.label < 3 for row in subset) for person in range(60)]
    assert [len(rows) for rows in rows_by_person] == [min(count, contributions) for count in counts]


def test_zeros_of_either_sign_are_one_point() -> None:
    """Equal rows come at the same place."""
    rows = [Visit(1, 0, 1.0, east, 2.0) for east in (0.0, -0.0)] + [Visit(1, 0, 1.0, 5.0, 5.0)]
    firsts = {
        next(table_of(frame_of(order), CITY, RowColumns(privacy_unit="person")).blocks()).points[0, 0]
        for order in (rows, rows[::-1])
    }
    assert len(firsts) == 1


IDS: list[tuple[list[Any], int]] = [
    ([1, 1.0, "1", Decimal("1.00"), np.int8(1), np.float32(1)], 1),
    (["1", "01", "1.0", "1 "], 4),
    ([True, False, True], 2),
    ([1.5, Decimal("1.5"), "1.5"], 1),
    ([10**5000, 10**5000, 10**5000 + 1], 2),
    ([date(2020, 1, 1), date(2020, 1, 1), UUID(int=1), UUID(int=1), b"a", b"a", "\ud800"], 4),
]


@pytest.mark.parametrize(("ids", "persons"), IDS)
def test_ids_that_are_spelled_alike_are_one_person(ids: list[Any], persons: int) -> None:
    """Numbers by their value, whatever type a column has given them."""
    points = np.arange(2.0 * len(ids)).reshape(-1, 2)
    assert total(points, POINTS, row_columns=RowColumns(privacy_unit=ids)) == persons


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_type_that_another_row_has_set_changes_nothing(make: Callable[[dict[str, Any]], Any]) -> None:
    """Whole numbers in a column of floats or decimals are the same labels and ids."""
    for last in (3, 3.5, Decimal("3.25")):
        kind = float if isinstance(last, float) else Decimal if isinstance(last, Decimal) else int
        cells = [*(kind(value) for value in (1, 2, 1, 2)), last]
        table = make({"east": [1.0, 2.0, 3.0, 4.0, 5.0], "north": [0.0] * 5, "plan": cells, "who": cells})
        roles = RowColumns(groups="plan", labels=("1", 2))
        assert read_sketch(table, CITY, row_columns=roles, cells=2).totals.tolist() == [2, 2]
        assert total(table, CITY, row_columns=RowColumns(privacy_unit="who")) == 3


@pytest.mark.parametrize("last", ["8", "8.5", "x"])
def test_a_csv_file_has_text_ids_and_labels_and_numeric_weights(last: str, tmp_path: Path) -> None:
    """Whatever stands in other rows, in the same block or a later one."""
    path, filler = tmp_path / "visits.csv", "7,7,1,3,4\n" * 150_000
    path.write_text(f"who,plan,w,east,north\n007,07,1,1,2\n7,7,0.5,1,2\n{filler}{last},{last},1,5,6\n")
    assert len(list(batches.batches(path, ColumnSelection.of_space(CITY)))) > 1
    roles = RowColumns(groups="plan", labels=(7, "07"), row_weights="w", max_row_weight=1)
    assert read_sketch(path, CITY, row_columns=roles).totals.tolist() == [150_000 * 1024 + 512, 1024]
    assert total(path, CITY, row_columns=RowColumns(privacy_unit="who")) == 3


def test_weights_are_rounded_to_steps_and_moved_to_the_ends() -> None:
    """Each alone; infinite ones and those beyond all floats, too."""
    weights = [-1, 0, 1e-9, 0.5, 1, 1.0005, 2, 2.5, np.inf, -np.inf, 10**400, Decimal("0.5"), True, 5e-324]
    expected = [0, 0, 0, 256, 512, 512, 1024, 1024, 1024, 0, 1024, 256, 512, 0]
    points = np.zeros((len(weights), 2))
    [block] = table_of(points, POINTS, RowColumns(row_weights=weights, max_row_weight=2)).blocks()
    assert block.weight is not None
    assert block.weight.tolist() == expected
    [block] = table_of(points[:2], POINTS, RowColumns(row_weights=[1e308, 1e-310], max_row_weight=1e-308)).blocks()
    assert block.weight is not None
    assert block.weight.tolist() == [1024, 10]


@pytest.mark.parametrize("labels", LABELS)
def test_unknown_and_missing_labels_are_other_or_nobodys(labels: tuple[Any, ...]) -> None:
    """And a row in no group is none of a person's contributions."""
    cells = [1, "2", 2.0, None, np.nan, "", "3", "Other", pd.NA, True]
    points = np.column_stack([np.linspace(0, 10, 10), np.zeros(10)])
    expected_totals = {
        "1": 1,
        "2": 2,
        "other": 10 - len({"1", "2"} & set(map(str, labels))) - ("2" in map(str, labels)),
    }
    sketch = read_sketch(points, POINTS, row_columns=RowColumns(groups=cells, labels=labels), cells=2)
    assert sketch.totals.tolist() == [expected_totals[str(label)] for label in labels]
    row_columns = RowColumns(groups=cells, labels=labels, privacy_unit=["me"] * 10, contributions=3)
    assert total(points, POINTS, row_columns=row_columns) == min(3, int(sketch.totals.sum()))


def test_objects_have_roles() -> None:
    """Lists of words, rows of a mixed table, vectors in an array."""
    word_space = mp.AnyMetric(mp.edit_distance, 9, ["abc", "xyz"])
    roles = RowColumns(privacy_unit=["a", "a", "b", "b"], row_weights=[1, 1, 2, 2], max_row_weight=2)
    query_set = read_given_queries(word_space, None)
    assert query_set is not None
    sums = read_sums(["abc", "abc", "xyz", "xyz"], word_space, query_set, row_columns=roles)
    assert (sums.values[0] * query_set.quantum).tolist() == pytest.approx([3 * 1024, 3 * 512], rel=1e-6)
    frame = pd.DataFrame({"word": ["abc", "abc", "xyz", "xyz"], "who": list("aabb"), "w": [1, 1, 2, 2]})
    named_roles = RowColumns(privacy_unit="who", row_weights="w", max_row_weight=2)
    for table in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        assert same(read_sums(table, word_space, query_set, row_columns=named_roles), sums)
    mixed = mp.Gower({"word": mp.category(["abc", "xyz"])})
    assert read_sketch(frame, mixed, row_columns=RowColumns(groups="word", labels=["xyz"])).totals.tolist() == [2]
    vectors = mp.AnyMetric(lambda x, y: float(np.abs(np.asarray(x) - np.asarray(y)).sum()), 9, [(0.0, 0.0)])
    query_set = read_given_queries(vectors, None)
    assert query_set is not None
    sums = read_sums(np.array([[7, 1, 2], [7, 0, 1]]), vectors, query_set, row_columns=RowColumns(groups=0, labels=[7]))
    assert (sums.values * query_set.quantum).tolist() == [[pytest.approx(4, rel=1e-6)]]


def test_places_have_roles() -> None:
    """Columns of a GeoDataFrame, beside its geometry."""
    points = gpd.GeoSeries.from_xy([13.4, 13.5, 13.6], [52.5, 52.6, 52.4], crs=4326)
    frame = gpd.GeoDataFrame({"who": ["a", "b", "a"], "plan": [1, 2, 1]}, geometry=points)
    berlin = mp.GreatCircle((52.5, 13.4), 40)
    for roles in (
        RowColumns(groups="plan", labels=(1, 2), privacy_unit="who"),
        RowColumns(groups=1, labels=(1, 2), privacy_unit=list("aba")),
    ):
        assert read_sketch(frame, berlin, row_columns=roles).totals.tolist() == [1, 1]
    with pytest.raises(mp.MilepostError, match=r"unit: the table has no column 'id'; it has who, plan, geometry"):
        read_sketch(frame, berlin, row_columns=RowColumns(privacy_unit="id"))
    with pytest.raises(mp.MilepostError, match="no columns"):
        read_sketch(points, berlin, row_columns=RowColumns(privacy_unit="id"))


def test_an_empty_table_is_no_error_where_its_size_is_private(tmp_path: Path) -> None:
    """Nor one in which no row counts; by default both are refused."""
    empty, roles = frame_of([]), RowColumns(groups="label", labels=(1, 2), privacy_unit="person")
    for kind in FORMATS[2:]:
        if kind != "batch":
            table = bring(kind, empty, tmp_path)
            assert read_sketch(table, CITY, row_columns=roles, cells=2, empty=True).totals.tolist() == [0, 0]
            assert read_sums(table, CITY, queries(), row_columns=roles, empty=True).totals.tolist() == [0, 0]
            assert total(table, CITY, row_columns=roles) == total(table, CITY) == 0
            assert read_sketch(table, CITY, empty=True).totals.tolist() == [0]
    no_group_rows = frame_of([Visit(1, 9, 1.0, 1.0, 1.0)])
    for table in (empty, no_group_rows):
        assert read_sketch(table, CITY, row_columns=roles, empty=True).totals.tolist() == [0, 0]
        with pytest.raises(mp.MilepostError, match="empty"):
            read_sketch(table, CITY, row_columns=roles)
        with pytest.raises(mp.MilepostError, match="empty"):
            read_sums(table, CITY, queries(), row_columns=roles)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"groups": "a"}, r"groups needs labels=\[…\].*got none"),
    ({"groups": "a", "labels": []}, "got none"),
    ({"groups": "a", "labels": range(5000)}, "1 to 4,096 labels, got 5000"),
    ({"labels": ["x"]}, "groups=…, which is not given"),
    ({"groups": "a", "labels": "xyz"}, "labels must be a list.*'xyz'"),
    ({"groups": "a", "labels": 3}, "labels must be a list"),
    ({"groups": "a", "labels": ["x", None]}, "labels must be text.*None"),
    ({"groups": "a", "labels": [1.5]}, "labels must be text.*1.5"),
    ({"groups": "a", "labels": [""]}, "labels must be text.*''"),
    ({"groups": "a", "labels": ["x", "x"]}, "each label once, got 'x' twice"),
    ({"groups": "a", "labels": [1, "1"]}, "each label once, got '1' twice"),
    ({"groups": True, "labels": [1]}, "groups must be a column's name.*got bool"),
    ({"privacy_unit": 1.5}, "privacy_unit must be a column's name.*got float"),
    ({"privacy_unit": iter([1])}, "privacy_unit must be a column's name"),
    ({"row_weights": {"a": 1}, "max_row_weight": 1}, "row_weights must be a column's name.*got dict"),
    ({"privacy_unit": "a", "contributions": 0}, "contributions= must be a whole number of at least 1, got 0"),
    ({"privacy_unit": "a", "contributions": 2.0}, "contributions= must be a whole number"),
    ({"contributions": 3}, "contributions=3 bounds the rows of each person, and privacy_unit=… is not given"),
    ({"row_weights": "a"}, "row_weights needs max_row_weight.*got None"),
    ({"row_weights": "a", "max_row_weight": 0}, "max_row_weight.*got 0"),
    ({"row_weights": "a", "max_row_weight": float("nan")}, "max_row_weight.*got nan"),
    ({"row_weights": "a", "max_row_weight": float("inf")}, "max_row_weight.*got inf"),
    ({"row_weights": "a", "max_row_weight": 10**400}, "max_row_weight"),
    ({"row_weights": "a", "max_row_weight": True}, "max_row_weight.*got True"),
    ({"row_weights": "a", "max_row_weight": "2"}, "max_row_weight.*got '2'"),
    ({"max_row_weight": 2}, "weights=…, which is not given"),
    ({"groups": "a", "labels": [1], "privacy_unit": "a"}, "groups and privacy_unit are both the column 'a'"),
    ({"privacy_unit": 2, "row_weights": 2, "max_row_weight": 1}, "privacy_unit and row_weights are both the column 2"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_bad_roles_are_refused(options: dict[str, Any], message: str) -> None:
    """What was expected, and what came."""
    with pytest.raises(mp.MilepostError, match=message):
        RowColumns(**options)


BAD: dict[str, tuple[dict[str, list[Any]], str]] = {
    "no id": ({"who": ["Miller", None]}, "id of row 2 in column 'who' is missing; drop"),
    "empty id": ({"who": ["", "Miller"]}, "id of row 1 in column 'who' is missing"),
    "no weight": ({"w": [None, 77.25]}, "'w' has a missing value or NaN in row 1"),
    "NaN": ({"w": [77.25, float("nan")]}, "'w' has a missing value or NaN in row 2"),
    "text": ({"w": ["77.25", "Miller"]}, "'w'.*number"),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("kind", [*FORMATS[2:], "lists"])
def test_bad_cells_are_refused_and_not_quoted(kind: str, case: str, tmp_path: Path) -> None:
    """The column and the row are named."""
    columns, message = BAD[case]
    frame = pd.DataFrame({"east": [1.0, 2.0], "north": [1.0, 2.0], "who": ["a", "b"], "w": [1.0, 1.0]} | columns)
    table: Any = frame if kind == "lists" else bring(kind, frame, tmp_path)
    roles = RowColumns(privacy_unit="who", row_weights="w", max_row_weight=100)
    if kind == "lists":
        roles = RowColumns(privacy_unit=frame["who"].tolist(), row_weights=frame["w"].tolist(), max_row_weight=100)
        message = message.replace("'who'", "'privacy_unit'").replace("'w'", "'row_weights'")
    for read in (total, read_sketch):
        with pytest.raises(mp.MilepostError, match=message) as error:
            read(table, CITY, row_columns=roles)
        assert not any(cell in str(error.value) for cell in ("Miller", "77"))
        assert error.value.__cause__ is None


def test_what_does_not_fit_the_table_is_refused(tmp_path: Path) -> None:
    """Columns that are not there, sequences of another length, one column in two parts."""
    frame = frame_of([Visit(1, 1, 1.0, 1.0, 1.0), Visit(2, 1, 1.0, 1.0, 1.0)])
    path = tmp_path / "visits.csv"
    frame.to_csv(path, index=False)
    cases: list[tuple[Any, RowColumns, str]] = [
        (
            frame,
            RowColumns(privacy_unit="id"),
            "unit: the table has no column 'id'; it has person, label, weight, east, north",
        ),
        (
            path,
            RowColumns(privacy_unit="id"),
            "unit: the table has no column 'id'; it has person, label, weight, east, north",
        ),
        (frame.to_numpy(), RowColumns(privacy_unit="id"), "unit: the table has no column 'id'; it has 0, 1, 2, 3, 4"),
        (frame, RowColumns(row_weights=5, max_row_weight=1), "weights: the table has no column 5"),
        (frame, RowColumns(privacy_unit=-1), "unit: the table has no column -1"),
        (
            frame,
            RowColumns(privacy_unit=[1]),
            "privacy_unit must have one entry a row, got 1 for a table with more rows",
        ),
        (
            frame,
            RowColumns(privacy_unit=[1, 2, 3]),
            "privacy_unit must have one entry a row, got 3 for a table with fewer rows",
        ),
        (path, RowColumns(row_weights=np.ones(3), max_row_weight=1), "row_weights must have one entry a row, got 3"),
        (
            frame,
            RowColumns(privacy_unit=np.ones((2, 1))),
            "privacy_unit must be a column's name or a list.*several columns",
        ),
        (frame, RowColumns(privacy_unit=frame), "privacy_unit must be a column's name or a list.*several columns"),
        (
            frame,
            RowColumns(privacy_unit="person", row_weights=0, max_row_weight=1),
            "privacy_unit and row_weights are both the column 'person'",
        ),
        (
            frame,
            RowColumns(privacy_unit=[object(), 1]),
            "id of row 1 in column 'privacy_unit' is neither text nor a number.*convert",
        ),
        (path, RowColumns(groups="east", labels=[1]), "'east' of visits.csv cannot be read as numbers and as text"),
    ]
    for table, roles, message in cases:
        with pytest.raises(mp.MilepostError, match=message):
            read_sketch(table, CITY, row_columns=roles)
    with pytest.raises(mp.MilepostError, match="a list of objects has no columns; give privacy_unit="):
        read_sketch(["a"], mp.AnyMetric(mp.edit_distance, 9, ["a"]), row_columns=RowColumns(privacy_unit=0))
    path.write_bytes(b"east,north,who\n1,2,\xff\n")
    with pytest.raises(mp.MilepostError, match=r"'who' of visits.csv holds text that is not in UTF-8"):
        read_sketch(path, CITY, row_columns=RowColumns(privacy_unit="who"))


class Passes:
    """One table after another, one for each pass."""

    def __init__(self, *tables: pd.DataFrame) -> None:
        self._tables = list(tables)

    def __iter__(self) -> Iterator[pd.DataFrame]:
        return iter([self._tables.pop(0)])


@pytest.mark.parametrize("row_count", [3, 5])
def test_a_table_that_changes_between_passes_is_refused(row_count: int) -> None:
    """Rows that came or went since the persons' rows were chosen."""
    frames = [frame_of([Visit(k, 1, 1.0, 1.0, 1.0) for k in range(rows)]) for rows in (row_count, 4)]
    with pytest.raises(mp.MilepostError, match="changed while it was read"):
        read_sketch(Stream(Passes(*frames)), CITY, row_columns=RowColumns(privacy_unit="person"))
