"""Gower and Hamming: mixed tables, read from anywhere, with exact distances between rows."""

import json
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import milepost as mp
from milepost.spaces.columns import MAX_LABELS
from milepost.spaces.embeddings.embedding import Embedding
from milepost.spaces.mixed import MixedTable
from milepost.spaces.registry import space_from_json
from tests.chance import FALSE_ALARM, assert_promised
from tests.mechanisms.contract import Transcript

NAMES = ("plan", "age", "member", "kids")  # not in alphabetical order
PARTS = (mp.category(["a", "b", 3]), mp.number(18, 90), mp.flag(), mp.number(0, 10, step=1))
PEOPLE = mp.Gower(dict(zip(NAMES, PARTS, strict=True)), weights={"age": 2, "kids": 0.5})
ROWS = [
    ("a", 20.5, True, 1),
    ("b", 95.0, False, 3),
    ("3", 44.25, True, 0),
    ("zz", 18.0, False, 12),
    ("a", 7.0, True, 2),
]
QUERIES = [("a", 40.0, True, 2), ("b", 18.0, False, 10), ("other", 90.0, True, 0)]
DNA = mp.Hamming(["ACGT"] * 5)


def gower(left: Sequence[Any], right: Sequence[Any]) -> float:
    """Of two rows of PEOPLE, from the definition: weights 1, 2, 1, ½."""
    plan = [row[0] if row[0] in ("a", "b", "3") else "other" for row in (left, right)]
    age, kids = (np.clip([left[k], right[k]], *ends) for k, ends in ((1, (18, 90)), (3, (0, 10))))
    parts = (plan[0] != plan[1]) + 2 * abs(age[0] - age[1]) / 72 + (left[2] != right[2]) + abs(kids[0] - kids[1]) / 20
    return float(parts / 4.5)


def hamming(left: Sequence[Any], right: Sequence[Any], labels: str = "ACGT") -> int:
    """Places in which two sequences differ; letters that are no labels are all the same."""
    return sum((a if a in labels else "") != (b if b in labels else "") for a, b in zip(left, right, strict=True))


def means(rows: Sequence[Any], queries: Sequence[Any], distance: Callable[[Any, Any], float]) -> list[float]:
    return [float(np.mean([distance(row, point) for row in rows])) for point in queries]


def people(n: int, seed: int = 0) -> list[tuple[Any, ...]]:
    """Rows of PEOPLE, some of them outside its bounds and labels."""
    rng = np.random.default_rng(seed)
    plans = rng.choice(["a", "b", "3", "other", "new"], n).tolist()
    flags = (rng.random(n) < 0.3).tolist()
    return list(zip(plans, rng.uniform(0, 110, n).tolist(), flags, rng.integers(-2, 13, n).tolist(), strict=True))


def frame(rows: Sequence[Any] = ROWS) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(NAMES))


def release(**params: Any) -> mp.Synopsis:
    """Of 5,000 people, with little noise."""
    return mp.release(people(5000), PEOPLE, **dict[str, Any](epsilon=20, delta=1e-6, mechanism="slopes") | params)


class TestDistances:
    """The metric itself, against brute force."""

    def test_gower_is_the_weighted_mean_of_differences(self) -> None:
        """Numbers, steps, categories and flags, with weights; rows outside are moved inside, queries are not."""
        rows, queries = people(300), [*QUERIES, *people(20, seed=1)]
        queries = [(plan if plan != "new" else "other", *rest) for plan, *rest in queries]
        inside = [
            (plan, *np.clip([age], 18, 90), member, *np.clip([kids], 0, 10)) for plan, age, member, kids in queries
        ]
        assert mp.exact_mean_distance(rows, PEOPLE, inside) == pytest.approx(means(rows, inside, gower), rel=1e-12)
        assert PEOPLE.diameter == pytest.approx(1)
        difference = mp.exact_mean_distance(rows, PEOPLE, ("a", 90 + 72, True, 2)) - mp.exact_mean_distance(
            rows, PEOPLE, ("a", 90, True, 2)
        )
        assert difference == pytest.approx(2 / 4.5)

    @pytest.mark.parametrize("alphabets", [["ACGT"] * 5, [list("ACGT")] * 5, dict.fromkeys("vwxyz", "ACGT")])
    def test_hamming_counts_places(self, alphabets: Any) -> None:
        """Text, tuples, frames and arrays; letters that no alphabet has count as one and the same."""
        rng = np.random.default_rng(0)
        texts = ["".join(row) for row in rng.choice(list("ACGTNX"), (200, 5))]
        queries = ["".join(row) for row in rng.choice(list("ACGT"), (7, 5))]
        space, exact = mp.Hamming(alphabets), means(texts, queries, hamming)
        letters = [tuple(text) for text in texts]
        table = pd.DataFrame(letters, columns=space.columns)
        for rows in (texts, letters, [list(row) for row in letters], np.array(letters), pd.Series(texts)):
            assert mp.exact_mean_distance(rows, space, queries) == pytest.approx(exact)
        for columns in (table, pl.from_pandas(table.rename(columns=str)), pa.Table.from_pandas(table)):
            assert mp.exact_mean_distance(columns, space, queries, columns=range(5)) == pytest.approx(exact)
        query_forms: list[Any] = [
            queries,
            [tuple(text) for text in queries],
            np.array([list(text) for text in queries]),
        ]
        if space.columns:
            query_forms.append(pd.DataFrame(query_forms[1], columns=space.columns))
        for points in query_forms:
            assert list(mp.exact_mean_distance(texts, space, points)) == pytest.approx(exact)
        assert mp.exact_mean_distance(texts, space, queries[0]) == pytest.approx(exact[0])
        assert space.diameter == 5

    def test_embedded_distances_are_the_metrics(self) -> None:
        """Σ τ|q − q′| is the distance but for rounding to quanta."""
        rows = PEOPLE.read(np.array(people(60), dtype=object))
        images = PEOPLE.quantize(rows)
        embedded = (np.abs(images[:, None] - images[None]) * PEOPLE.embedding.quantum).sum(axis=2)
        np.testing.assert_allclose(embedded, PEOPLE.distance(rows, rows), atol=2 * PEOPLE.embedding.bias)
        assert PEOPLE.distortion().largest == 0

    def test_a_matrix_in_blocks_is_the_same(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """However few pairs are in memory at a time."""
        rows = PEOPLE.read(np.array(people(50), dtype=object))
        expected = PEOPLE.distance(rows, rows[:7])
        for name, size in (("TILE_NUMBERS", 20), ("TILE_ROWS", 6)):
            monkeypatch.setattr(f"milepost.spaces.distances.tiles.{name}", size)
        assert np.array_equal(PEOPLE.distance(rows, rows[:7]), expected)

    @pytest.mark.parametrize("size", [1, 2, 7, 50])
    def test_images_do_not_depend_on_their_batch(self, size: int) -> None:
        """Bit for bit, whatever else is in the batch and whatever type its columns have there."""
        rows = people(50)
        expected = PEOPLE.quantize(PEOPLE.read(np.array(rows, dtype=object)))
        table = pa.Table.from_pandas(frame(rows))
        for start in range(0, len(rows), size):
            part = slice(start, start + size)
            for batch in (
                np.array(rows[part], dtype=object),
                pa.RecordBatch.from_pandas(frame(rows[part])),
                table.slice(start, size).to_batches()[0],
                pa.RecordBatch.from_pandas(frame(rows[part]).astype(str)),
            ):
                assert np.array_equal(PEOPLE.quantize(PEOPLE.read(batch)), expected[part])


columns = st.one_of(
    st.builds(lambda low, width: mp.number(low, low + width), st.floats(-1e6, 1e6), st.floats(1, 1e6)),
    st.builds(lambda count: mp.number(0, count, step=1), st.sampled_from([1, 2, 3, 72, 1000])),
    st.builds(lambda count: mp.category(range(count)), st.integers(1, 9)),
    st.just(mp.flag()),
)
tables = st.lists(st.tuples(columns, st.floats(1e-3, 1e3)), min_size=1, max_size=6).map(
    lambda parts: mp.Gower([part for part, _ in parts], weights=[weight for _, weight in parts])
)


def rows_of(space: MixedTable, shares: Sequence[float]) -> list[Any]:
    """A row at such shares of each column, whatever it holds."""
    row: list[Any] = []
    for part, share in zip(space.parts, shares, strict=False):
        if isinstance(part, type(PARTS[0])):
            row.append(min(int(share * part.size), part.size - 1))
        else:
            row.append(part.ends[0] + share * (part.ends[1] - part.ends[0]))
        if isinstance(part, type(PARTS[2])):
            row[-1] = share >= 0.5
    return row


def images(space: MixedTable, rows: Sequence[Sequence[Any]]) -> Any:
    batch = np.empty((len(rows), space.width), dtype=object)
    for k, row in enumerate(rows):
        batch[k] = row
    return space.quantize(space.read(batch))


def embedded_distance(embedding: Embedding, left: Any, right: Any) -> Fraction:
    """Σ τᵢ|qᵢ − q′ᵢ|, exactly."""
    differences = np.abs(left - right).tolist()
    return sum(
        (Fraction(t) * m for t, m in zip(embedding.quantum.tolist(), differences, strict=True) if m), Fraction(0)
    )


def extremes(space: MixedTable) -> tuple[list[Any], list[Any]]:
    """Two rows that differ as much as can be in every column."""
    return rows_of(space, [0.0] * space.width), rows_of(space, [1.0] * space.width)


shares = st.lists(st.sampled_from([0.0, 1.0, 0.5, 1 / 3]) | st.floats(-0.1, 1.1), min_size=6, max_size=6)


@settings(max_examples=100)
@given(tables, shares, shares)
def test_no_pair_of_records_passes_the_reach(space: mp.Gower, left: list[float], right: list[float]) -> None:
    """In exact arithmetic, rounding included; rows that differ in everything come up to it."""
    first, second, low, high = images(space, [rows_of(space, left), rows_of(space, right), *extremes(space)])
    bound = Fraction(space.embedding.sensitivity_bound)
    assert embedded_distance(space.embedding, first, second) <= bound
    assert (1 - Fraction(1, 10**12)) * bound <= embedded_distance(space.embedding, low, high) <= bound
    assert space.embedding.sensitivity_bound == pytest.approx(space.diameter, rel=1e-12)


@pytest.mark.slow
def test_no_pair_of_many_passes_the_reach() -> None:
    """A hundred thousand pairs of rows in a hundred tables with awkward weights."""
    rng = np.random.default_rng(0)
    for _ in range(100):
        kinds = rng.integers(0, 4, 6)
        parts = [
            (mp.number(0, rng.uniform(0.1, 99)), mp.number(0, 7, step=1), mp.category(range(5)), mp.flag())[kind]
            for kind in kinds
        ]
        space = mp.Gower(parts, weights=rng.uniform(0.01, 10, 6).tolist())
        quanta = images(space, [rows_of(space, rng.choice([0, 1, rng.random()], 6).tolist()) for _ in range(2000)])
        bound = Fraction(space.embedding.sensitivity_bound)
        assert all(embedded_distance(space.embedding, quanta[k], quanta[k + 1]) <= bound for k in range(0, 2000, 2))


class TestReading:
    """Private rows and queries, from whatever holds them."""

    @pytest.mark.parametrize(
        "table",
        [
            ROWS,
            [list(row) for row in ROWS],
            [dict(zip(NAMES, row, strict=True)) | {"id": 7} for row in ROWS],
            np.array(ROWS, dtype=object),
            frame(),
            frame()[["kids", "member", "age", "plan"]],
            frame().assign(id=1),
            frame().astype({"plan": "category"}),
            frame().convert_dtypes(),
            frame().astype(str),
            pl.from_pandas(frame()),
            pl.from_pandas(frame()).select("id" if name == "id" else name for name in sorted(NAMES)),
            pa.Table.from_pandas(frame()),
            pa.Table.from_pandas(frame()[["kids", "member", "age", "plan"]]).to_batches()[0],
            pa.table(
                {
                    "member": pa.array([row[2] for row in ROWS]),
                    "age": pa.array([str(row[1]) for row in ROWS]).dictionary_encode(),
                    "plan": pa.array([row[0] for row in ROWS]).dictionary_encode(),
                    "kids": pa.array([str(row[3]) for row in ROWS], pa.large_string()),
                }
            ),
            iter(ROWS),
        ],
        ids=lambda table: f"{type(table).__module__}.{type(table).__name__}",
    )
    def test_tables_by_name_and_by_position(self, table: Any) -> None:
        """Lists, dicts, arrays, frames and Arrow tables are the same table, whatever the order of their columns."""
        assert mp.exact_mean_distance(table, PEOPLE, QUERIES) == pytest.approx(means(ROWS, QUERIES, gower))

    def test_files(self, tmp_path: Path) -> None:
        """CSV and Parquet, with other columns, in another order, or under other names."""
        table = frame().assign(id=range(len(ROWS)))[["id", "kids", "plan", "member", "age"]]
        exact = means(ROWS, QUERIES, gower)
        table.to_csv(tmp_path / "people.csv", index=False)
        pq.write_table(pa.Table.from_pandas(table), tmp_path / "people.parquet")
        table.rename(columns={"age": "years"}).to_csv(tmp_path / "other.csv", index=False)
        for name, selection in (
            ("people.csv", None),
            ("people.parquet", None),
            ("people.csv", NAMES),
            ("other.csv", ["plan", "years", "member", "kids"]),
            ("people.parquet", [2, 4, 3, 1]),
        ):
            assert mp.exact_mean_distance(tmp_path / name, PEOPLE, QUERIES, columns=selection) == pytest.approx(exact)
        unnamed = mp.Gower(list(PARTS), weights=[1, 2, 1, 0.5])
        frame().to_csv(tmp_path / "plain.csv", index=False)
        for data in (tmp_path / "plain.csv", frame(), pa.Table.from_pandas(frame()), pl.from_pandas(frame())):
            assert mp.exact_mean_distance(data, unnamed, QUERIES, columns=range(4)) == pytest.approx(exact)

    def test_one_column_needs_no_rows(self) -> None:
        """A list of values is a table of one column; one value is a point."""
        plans = mp.Gower({"plan": mp.category(["a", "b"])})
        assert mp.exact_mean_distance(["a", "b", "b", "c"], plans, ["a", "b", "other"]) == pytest.approx(
            [0.75, 0.5, 0.75]
        )
        assert mp.exact_mean_distance(["a", "b", "b", "c"], plans, "b") == 0.5
        ages = mp.Gower([mp.number(0, 10)])
        assert mp.exact_mean_distance([1, 2, "3"], ages, [0, 10]) == pytest.approx([0.2, 0.8])

    def test_unknown_and_missing_labels_are_other(self) -> None:
        """None, NaN, empty text and labels that nobody named are one and the same."""
        plans = mp.Gower({"plan": mp.category(["a", 1])})
        strange = [None, math.nan, "", "A", "new", pd.NA, pd.NaT, 2, b"a", "other"]
        assert plans.read(np.array([[cell] for cell in strange], dtype=object)).ravel().tolist() == [2.0] * 10
        assert plans.read(np.array([["a"], [1], [1.0], ["1"], [np.int8(1)]], dtype=object)).ravel().tolist() == [
            *(0, 1, 1, 1, 1)
        ]
        assert mp.exact_mean_distance(
            pd.DataFrame({"plan": ["a", None, "x", 1]}), plans, ["other", "a"]
        ) == pytest.approx([0.5, 0.75])
        assert mp.exact_mean_distance(pl.DataFrame({"plan": ["a", None, "x", "1"]}), plans, "other") == 0.5

    @pytest.mark.parametrize("cell", ["new", None, math.nan, 7, "A"])
    def test_an_unknown_label_in_a_query_is_refused(self, cell: Any) -> None:
        """With the labels that there are."""
        with pytest.raises(mp.MilepostError, match=r"column 'plan' has no label .*; it has a, b, 3, other"):
            mp.exact_mean_distance(ROWS, PEOPLE, (cell, 40, True, 2))
        with pytest.raises(mp.MilepostError, match=r"column '0' has no label 'N'; it has A, C, G, T, other"):
            mp.exact_mean_distance(["AAAAA"], DNA, "NAAAA")

    def test_long_lists_of_labels_are_cut(self) -> None:
        """An error is one line."""
        space = mp.Gower({"plan": mp.category(range(1000))})
        with pytest.raises(mp.MilepostError, match=r"it has 0, 1, .* 19, … \(1,001 in all\)$"):
            mp.exact_mean_distance([1], space, ["x"])

    @pytest.mark.parametrize(
        ("row", "message"),
        [
            (("a", None, True, 1), "column 'age' has a missing value or NaN in row 6"),
            (("a", math.nan, True, 1), "column 'age' has a missing value or NaN in row 6"),
            (("a", 30, True, pd.NA), "column 'kids' has a missing value or NaN in row 6"),
            (("a", "", True, 1), "column 'age' has a missing value or NaN in row 6"),
            (("a", "secret", True, 1), "column 'age' must hold numbers, which row 6 does not"),
            (("a", 30, True, ("secret",)), "column 'kids' must hold numbers, which row 6 does not"),
            (("a", 30, "secret", 1), "column 'member' must be true or false, which row 6 is not"),
            (("a", 30, None, 1), "column 'member' must be true or false, which row 6 is not"),
            (("a", 30, 0.5, 1), "column 'member' must be true or false, which row 6 is not"),
            (("secret", 30, True), r"rows of 4 values \(plan, age, member, kids\), which row 6 is not"),
            ("secret", "expected rows of 4 values"),
            ({"plan": "secret", "age": 30, "member": True}, "row 6 has no value for 'kids'"),
            (30, "expected rows of 4 values"),
        ],
    )
    def test_bad_rows_are_refused_without_quoting_them(self, row: Any, message: str, tmp_path: Path) -> None:
        """Column and row, never the value, in lists, frames and files."""
        tables: list[Any] = [[*ROWS, row]]
        if isinstance(row, tuple) and len(row) == 4:
            tables += [frame([*ROWS, row]), tmp_path / "people.csv"]
            frame([*ROWS, row]).to_csv(tmp_path / "people.csv", index=False)
        for table in tables:
            with pytest.raises(mp.MilepostError, match=message) as error:
                mp.release(table, PEOPLE, epsilon=1)
            assert "secret" not in str(error.value)

    def test_rows_are_counted_over_batches(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A row's number is that of the whole table."""
        monkeypatch.setattr("milepost.ingest.batches.BATCH_ROWS", 2)
        for bad, message in ((("a", "x", True, 1), "row 6 does not"), (("a",), "row 6 is not")):
            with pytest.raises(mp.MilepostError, match=message):
                mp.release([*ROWS, bad], PEOPLE, epsilon=1)

    def test_numbers_outside_are_moved_to_the_bounds(self) -> None:
        """Infinite ones and integers beyond all floats too; text that spells a number is one."""
        ages = mp.Gower({"age": mp.number(18, 90)})
        cells = [7, 95, math.inf, -math.inf, 10**400, -(10**400), " 30 ", "1e3", True, np.float32(30), np.int64(99)]
        values = ages.read(np.array([[cell] for cell in cells], dtype=object))
        assert values.ravel().tolist() == [18, 90, 90, 18, 90, 18, 30, 90, 18, 30, 90]

    def test_flags_are_words_too(self) -> None:
        """Booleans, 0 and 1, yes and no, in any case."""
        member = mp.Gower({"member": mp.flag()})
        cells = [True, "yes", "TRUE", 1, 1.0, "1", "t", "Y", np.True_, False, "no", "False", 0, 0.0, "0", "f", "N"]
        assert member.read(np.array([[cell] for cell in cells], dtype=object)).ravel().tolist() == [1.0] * 9 + [0.0] * 8

    def test_a_missing_column_is_named(self) -> None:
        """By the Arrow table that does not have it."""
        with pytest.raises(mp.MilepostError, match="no column 'age'; it has plan, years, member, kids"):
            mp.exact_mean_distance(pa.Table.from_pandas(frame().rename(columns={"age": "years"})), PEOPLE, QUERIES)


class TestAnswers:
    """What a release of a mixed table can say."""

    def test_answers_have_the_shape_of_the_question(self) -> None:
        """A dict, a tuple or a row of a frame gives a float, a frame a Series with its index, a list an array."""
        synopsis = release()
        queries = pd.DataFrame(QUERIES, columns=list(NAMES), index=["x", "y", "z"])
        answers = synopsis.mean_distance(queries)
        assert list(answers.index) == ["x", "y", "z"]
        for points in (QUERIES, queries.to_dict("records"), np.array(QUERIES, dtype=object)):
            assert isinstance(result := synopsis.mean_distance(points), np.ndarray)
            assert np.array_equal(result, answers)
        assert synopsis.mean_distance(pl.from_pandas(queries)).to_list() == answers.to_list()
        for point in (QUERIES[1], list(QUERIES[1]), queries.to_dict("records")[1], queries.iloc[1]):
            assert isinstance(value := synopsis.mean_distance(point), float)
            assert value == answers["y"]
            low, high = synopsis.interval(point)
            assert low <= value <= high
        assert synopsis.mean_distance([]).shape == (0,)
        assert synopsis.mean_distance(QUERIES[:1]).shape == (1,)
        assert list(synopsis.mean_distance(queries[["kids", "age", "plan", "member"]])) == list(answers)

    def test_as_many_texts_as_places_are_sequences(self) -> None:
        """Unless each of them is a label of its place."""
        sequence_space = mp.Hamming(["ACG"] * 3)
        assert mp.exact_mean_distance(["ACG"], sequence_space, ["ACG", "AAA", "CCC"]) == pytest.approx([0, 2, 2])
        assert mp.exact_mean_distance(["ACG"], sequence_space, ["A", "A", "A"]) == 2
        assert mp.exact_mean_distance(["ACG"], sequence_space, {"0": "A", "1": "C", "2": "A"}) == 1
        label_space = mp.Hamming({"plan": ["ab", "cd"], "city": ["xy", "zw"]})
        assert mp.exact_mean_distance([("ab", "xy"), ("cd", "xy")], label_space, ("ab", "xy")) == 0.5
        with pytest.raises(mp.MilepostError, match="no label 'q'"):
            mp.exact_mean_distance([("ab", "xy")], label_space, ("q", "xy"))

    @pytest.mark.parametrize(
        ("point", "message"),
        [
            (("a", None, True, 1), "column 'age' has a missing value"),
            (("a", "old", True, 1), "query points: column 'age' must hold numbers"),
            (("a", math.inf, True, 1), "query points must be finite, got an infinite 'age'"),
            (("a", 30, "perhaps", 1), "query points: column 'member' must be true or false"),
            ({"plan": "a", "age": 30}, "no value for 'member'; the columns are plan, age, member, kids"),
            ([("a", 30)], "expected rows of 4 values"),
            (5, "expected rows of 4 values"),
        ],
    )
    def test_a_bad_query_is_refused(self, point: Any, message: str) -> None:
        """What was expected and where."""
        with pytest.raises(mp.MilepostError, match=message):
            mp.exact_mean_distance(ROWS, PEOPLE, point)

    @pytest.mark.parametrize("mechanism", ["slopes", "hats", pytest.param("tangents", marks=pytest.mark.slow)])
    def test_the_centre_has_the_commonest_labels_and_the_medians(self, mechanism: str) -> None:
        """As a dict that can be asked about, or a tuple where columns have no names."""
        # tangents needs noisy tests, and promises at 1 − beta; the others are asked without noise
        noisy = mechanism == "tangents"
        rows = [("b", 30.0, True, 4), ("b", 30.0, True, 4), ("zz", 70.0, False, 9)] * (20_000 if noisy else 2000)
        with no_context() if noisy else Transcript().listen():
            synopsis = mp.release(
                rows, PEOPLE, epsilon=50, delta=1e-6, mechanism=mechanism, failure_probability=FALSE_ALARM
            )
        center = synopsis.center()
        assert tuple(center) == NAMES
        if noisy:  # its mean distance is within twice the promise of the least, and with another label it is not
            minimum, mean_distance = mp.exact_mean_distance(
                rows, PEOPLE, [("b", 30.0, True, 4), tuple(center.values())]
            )
            tolerance = 2 * synopsis.error(synopsis.statistic.confidence, uniform=True)
            assert mean_distance <= minimum + tolerance
            assert (
                mp.exact_mean_distance(rows, PEOPLE, [("a", 30.0, True, 4), ("b", 30.0, False, 4)]).min()
                > minimum + tolerance
            )
        else:
            assert center["age"] == pytest.approx(30, abs=1)
            assert center["kids"] == pytest.approx(4, abs=0.5)
        assert (center["plan"], center["member"]) == ("b", True)
        with Transcript().listen():  # without noise
            sequences = mp.release(["AC", "AC", "GC"] * 900, mp.Hamming(["ACG"] * 2), epsilon=50, mechanism="hats")
        assert sequences.center() == ("A", "C")

    @pytest.mark.parametrize("mechanism", ["slopes", "hats"])
    def test_explain_adds_up(self, mechanism: str) -> None:
        """To the mean distance, with one number a column, near the truth."""
        synopsis = release(mechanism=mechanism)
        for point in QUERIES:
            parts = synopsis.explain(point)
            assert tuple(parts) == NAMES
            assert sum(parts.values()) == pytest.approx(synopsis.mean_distance(point), rel=1e-12)
        with Transcript().listen():  # without noise
            exact = release(mechanism=mechanism)
        others = np.mean([row[0] not in ("a", "b", "3") for row in people(5000)])
        assert exact.explain(QUERIES[2])["plan"] == pytest.approx((1 - others) / 4.5, abs=1e-6)

    def test_shares_and_quantiles_of_numbers_and_flags(self) -> None:
        """From the curve of the column; labels have no order, and the error says what there is instead."""
        with Transcript().listen():  # without noise
            synopsis = release(epsilon=50)
        rows = [(np.clip(age, 18, 90), member, np.clip(kids, 0, 10)) for _, age, member, kids in people(5000)]
        ages, flags, kids = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
        assert synopsis.cdf("age", [30, 60]) == pytest.approx([np.mean(ages <= at) for at in (30, 60)], abs=0.03)
        assert synopsis.quantile("age", 0.5) == pytest.approx(np.median(ages), abs=2)
        assert synopsis.cdf("kids", [0, 4, 10]) == pytest.approx([np.mean(kids <= k) for k in (0, 4, 10)], abs=0.03)
        assert synopsis.quantile("kids", 0.5) == np.median(kids)
        assert synopsis.cdf("member", [0, 1]) == pytest.approx([1 - flags.mean(), 1], abs=0.03)
        for call in (synopsis.cdf, synopsis.quantile):
            with pytest.raises(mp.MilepostError, match="'plan' has labels, which have no order; use mean_distance"):
                call("plan", 0.5)

    def test_a_number_outside_is_continued(self) -> None:
        """Beyond the bounds a distance grows by what the column counts."""
        synopsis = release()
        at_bound, outside = (synopsis.mean_distance(("a", age, True, 2)) for age in (90, 126))
        assert outside - at_bound == pytest.approx(36 / 72 * 2 / 4.5)

    @pytest.mark.parametrize("mechanism", ["slopes", "hats", "tangents", "gaussian", "laplace", "auto"])
    @pytest.mark.parametrize("delta", [0, 1e-6])
    @pytest.mark.parametrize("space", [PEOPLE, DNA], ids=["gower", "hamming"])
    def test_every_mechanism_under_every_guarantee(self, mechanism: str, delta: float, space: MixedTable) -> None:
        """Answers are within the promised error; where noise is Gaussian, δ = 0 is refused."""
        letters = np.random.default_rng(1).choice(list("AACGTN"), (1500, 5))
        rows: list[Any] = people(1500) if space is PEOPLE else ["".join(row) for row in letters]
        queries: list[Any] = QUERIES if space is PEOPLE else ["AAAAA", "ACGTA"]
        distance: Callable[[Any, Any], float] = gower if space is PEOPLE else hamming
        release_queries = queries if mechanism in ("gaussian", "laplace", "auto") else None
        params = dict[str, Any](
            epsilon=8, delta=delta, mechanism=mechanism, queries=release_queries, failure_probability=FALSE_ALARM
        )
        if mechanism in ("slopes", "gaussian") and not delta:
            with pytest.raises(mp.MilepostError, match="delta > 0"):
                mp.release(rows, space, **params)
            return
        with pytest.warns(mp.AccuracyWarning) if mechanism == "tangents" else no_context():
            synopsis = mp.release(rows, space, **params)
        max_error = math.inf if mechanism == "tangents" else space.diameter / 4  # of so few rows tangents says little
        assert_promised(synopsis, queries, means(rows, queries, distance), at_most=max_error)
        if mechanism in ("gaussian", "laplace"):
            with pytest.raises(mp.MilepostError, match="not among them"):
                synopsis.mean_distance("TTTTT" if space is DNA else ("a", 41, True, 2))

    @pytest.mark.slow
    @pytest.mark.parametrize("mechanism", ["auto", "tangents", "hats"])
    def test_sessions_answer_rows(self, mechanism: str) -> None:
        """Dicts, tuples and text, one after another."""
        params = dict[str, Any](epsilon=9, max_queries=10, mechanism=mechanism, failure_probability=FALSE_ALARM)
        # tangents promises at 1 − beta; the others, for one answer at 95 %, are asked without noise
        with no_context() if mechanism == "tangents" else Transcript().listen():
            with pytest.warns(mp.AccuracyWarning) if mechanism == "tangents" else no_context():
                session = mp.interactive(people(5000), PEOPLE, **params)
            with session:
                answer = session.ask(QUERIES[0])
                assert abs(answer.value - means(people(5000), QUERIES, gower)[0]) <= answer.error
                assert session.ask(dict(zip(NAMES, QUERIES[1], strict=True))).error > 0
                assert len(session.ask_many(QUERIES)) == 3
        with Transcript().listen(), mp.interactive(["ACGTA"] * 5000, DNA, epsilon=9, max_queries=10) as session:
            assert session.ask("ACGTA").value == pytest.approx(0, abs=0.1)

    def test_a_plan_names_every_mechanism(self) -> None:
        """Without data, and with the error that a release then has."""
        plan = mp.plan(PEOPLE, n=5000, epsilon=1, delta=1e-6, queries=QUERIES)
        assert {p.mechanism for p in plan.predictions} >= {"slopes", "hats", "tangents", "gaussian", "laplace"}
        errors = {p.mechanism: p.error for p in plan.predictions}
        for mechanism in ("slopes", "hats"):
            with Transcript().listen():  # without noise
                synopsis = release(epsilon=1, mechanism=mechanism)
            assert synopsis.error() == pytest.approx(errors[mechanism], rel=0.2)


class TestFiles:
    """The card and the file."""

    @pytest.mark.parametrize(
        "space",
        [
            PEOPLE,
            mp.Gower(list(PARTS)),
            mp.Gower({"z": mp.flag(), "a": mp.number(-1.5, 1e6), "m": mp.category(["ü", "x, y"])}),
            DNA,
            mp.Hamming({"z": ["one", "two"], "a": "xy"}),
        ],
    )
    def test_json_gives_the_space_back(self, space: MixedTable) -> None:
        """Names stay in their order, which need not be the alphabet's; host numbers are the same to the bit."""
        loaded_space = space_from_json(json.loads(json.dumps(space.to_json())), {})
        assert loaded_space == space
        assert loaded_space.columns == space.columns
        for name in ("weight", "low", "high", "span", "step", "quantum"):
            assert np.array_equal(getattr(loaded_space.embedding, name), getattr(space.embedding, name))
        assert (loaded_space.embedding.sensitivity_bound, loaded_space.embedding.blocks) == (
            space.embedding.sensitivity_bound,
            space.embedding.blocks,
        )

    @pytest.mark.parametrize("mechanism", ["slopes", "hats", "gaussian", "laplace"])
    def test_a_file_answers_to_the_bit(self, mechanism: str, tmp_path: Path) -> None:
        """Answers, intervals, errors and, where the whole curve is known, centre and explanation."""
        queries = QUERIES if mechanism in ("gaussian", "laplace") else None
        synopsis = release(mechanism=mechanism, queries=queries)
        synopsis.save(tmp_path / "one.milepost")
        loaded_synopsis = mp.load(tmp_path / "one.milepost")
        loaded_synopsis.save(tmp_path / "two.milepost")
        assert (tmp_path / "one.milepost").read_bytes() == (tmp_path / "two.milepost").read_bytes()
        assert np.array_equal(loaded_synopsis.mean_distance(QUERIES), synopsis.mean_distance(QUERIES))
        assert np.array_equal(loaded_synopsis.interval(QUERIES), synopsis.interval(QUERIES))
        assert loaded_synopsis.error(uniform=True) == synopsis.error(uniform=True)
        assert loaded_synopsis.center() == synopsis.center()
        if queries is None:
            assert loaded_synopsis.explain(QUERIES[0]) == synopsis.explain(QUERIES[0])
        assert mp.exact_mean_distance(ROWS, loaded_synopsis.space, QUERIES) == pytest.approx(
            means(ROWS, QUERIES, gower)
        )


def no_context() -> Any:
    from contextlib import nullcontext

    return nullcontext()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mp.Gower({}), "at least one column"),
        (lambda: mp.Gower([]), "at least one column"),
        (lambda: mp.Gower(None), "columns must be a dict by name or a list, got None"),
        (lambda: mp.Gower("abc"), "columns must be a dict"),
        (lambda: mp.Gower({1: mp.flag(), "1": mp.flag()}), "each column once, got 1, 1"),
        (lambda: mp.Gower({"age": (18, 90)}), r"column 'age' must be mp\.number.*got \(18, 90\)"),
        (lambda: mp.Gower(["flag"]), r"column 0 must be mp\.number.*got 'flag'"),
        (lambda: mp.Gower({"a": mp.flag()}, weights={"b": 1}), "unknown column 'b'"),
        (lambda: mp.Gower([mp.flag()], weights=[1, 2]), "one number for each of the 1 columns, got 2"),
        (lambda: mp.Gower([mp.flag()], weights=[0]), "weights must be positive"),
        (lambda: mp.Gower([mp.flag()], weights=[-1]), "weights must be finite and at least 0"),
        (lambda: mp.Gower([mp.flag()], weights=[math.nan]), "weights must be finite"),
        (lambda: mp.Gower([mp.flag()] * 2, weights=[1e-300, 1]), "at least 1e-09 of their sum"),
        (lambda: mp.Gower([mp.flag()] * 2, weights=[1e308, 1e308]), "of their sum"),
        (lambda: mp.Gower([mp.number(0, 1 << 16, step=1)] * 100), "column '0' has more than the 32,768 steps"),
        (lambda: mp.number(90, 18), "reversed"),
        (lambda: mp.number(18, 18), "low below high"),
        (lambda: mp.number(0, 5e-324), "low below high"),
        (lambda: mp.number(-1e308, 1e308), "low below high"),
        (lambda: mp.number(0, math.inf), "finite"),
        (lambda: mp.number(0, math.nan), "finite"),
        (lambda: mp.number("a", 3), "pair of numbers"),  # type: ignore[arg-type]
        (lambda: mp.number(0, 10, step=3), "whole steps, got 3.33"),
        (lambda: mp.number(0, 10, step=0), "step must be a positive number"),
        (lambda: mp.number(0, 10, step=True), "step must be a positive number"),
        (lambda: mp.number(0, 10, step=math.nan), "step must be a positive number"),
        (lambda: mp.number(0, 1e6, step=1), "1 to 65,536 whole steps"),
        (lambda: mp.number(0, 10, step=20), "whole steps"),
        (lambda: mp.category([]), "list of 1 to 4,096 labels"),
        (lambda: mp.category("abc"), "list of 1 to 4,096 labels"),
        (lambda: mp.category({"a", "b"}), "list of 1 to 4,096 labels"),  # type: ignore[arg-type]
        (lambda: mp.category(range(MAX_LABELS + 1)), "list of 1 to 4,096 labels"),
        (lambda: mp.category(["a", "b", "a"]), "each label once"),
        (lambda: mp.category(["1", 1]), "each label once"),
        (lambda: mp.category(["a", "other", "other"]), "each label once"),
        (lambda: mp.category(["other"]), "a label besides 'other'"),
        (lambda: mp.Hamming([]), "at least one column"),
        (lambda: mp.Hamming("ACGT"), "alphabets must be a list with one alphabet for each position"),
        (lambda: mp.Hamming(5), "alphabets must be a list with one alphabet for each position"),
        (lambda: mp.Hamming([5]), "list of 1 to 4,096 labels"),
        (lambda: mp.Hamming([""]), "list of 1 to 4,096 labels"),
        (lambda: mp.Hamming(["AA"]), "each label once"),
        (lambda: mp.Hamming([{"A", "B"}]), "list of 1 to 4,096 labels"),
    ],
)
def test_bad_arguments_are_refused(make: Callable[[], Any], message: str) -> None:
    """When the space is made, by name."""
    with pytest.raises(mp.MilepostError, match=message):
        make()


def test_a_label_may_be_named_other() -> None:
    """It is the one that every category has."""
    assert mp.category(["a", "other", "b"]) == mp.category(["a", "b"])


def test_a_large_table_of_labels_is_read() -> None:
    """As many labels as a category may have, in several columns."""
    space = mp.Hamming([list(range(MAX_LABELS))] * 2)
    assert space.embedding.dimension == 2 * (MAX_LABELS + 1)
    assert mp.exact_mean_distance([(5, 7), (5, 8)], space, (5, 7)) == 0.5


def test_columns_are_found_or_missed_by_name() -> None:
    """A frame that lacks a column is refused, not read by position; lists have no columns to pick."""
    space = mp.Gower({"age": mp.number(0, 100), "plan": mp.category(["a", "b"])})
    frame = pd.DataFrame({"plan": ["a", "b"], "years": [3, 4]})
    with pytest.raises(mp.MilepostError, match="no column 'age'; it has plan, years"):
        mp.exact_mean_distance(frame, space, [(3, "a")])
    assert mp.exact_mean_distance(frame, space, [(3, "a")], columns=["years", "plan"]) == pytest.approx([0.2525])
    array = np.array([["x", 3, "a"], ["y", 4, "b"]], dtype=object)
    assert mp.exact_mean_distance(array, space, [(3, "a")], columns=[1, 2]) == pytest.approx([0.2525])
    with pytest.raises(mp.MilepostError, match="selects columns of a table"):
        mp.exact_mean_distance([(3, "a")], space, [(3, "a")], columns=["age", "plan"])


def test_tables_by_position_and_arrow_queries() -> None:
    """As many columns as the space has are its columns; Arrow tables may ask, too."""
    space = mp.Gower([mp.number(0, 100), mp.category(["a", "b"])])
    frame = pd.DataFrame({"years": [3, 4], "plan": ["a", "b"]})
    assert list(mp.exact_mean_distance(frame, space, frame.head(1))) == pytest.approx([0.2525])
    assert mp.exact_mean_distance(
        pa.Table.from_pandas(frame), space, pa.table({"y": [3], "p": ["a"]})
    ) == pytest.approx([0.2525])
    synopsis = mp.release(pd.concat([frame] * 500), space, epsilon=100)
    with pytest.raises(mp.MilepostError, match="explain"):
        synopsis.mean_distance([[3]], columns=["0"])
