"""`milepost query` with a file of points: read, answered and written batch by batch, whole or not at all."""

import csv
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import milepost as mp
from bench.query import COMMAND
from milepost.cli import query_output
from milepost.ingest import batches
from tests.commands import Run, runner

COUNT = 5000  # points, in batches of which a few are read and answered


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Releases and points, made once."""
    path = tmp_path_factory.mktemp("made")
    generator = np.random.default_rng(0)
    people, plane = generator.uniform(0, 10, (4000, 2)), mp.L1({"x": (0, 10), "y": (0, 10)})
    mp.release(people, plane, epsilon=5, delta=1e-6).save(path / "homes.milepost")
    mp.release(people, plane, epsilon=50, mechanism="tangents").save(path / "cut.milepost")
    mp.release(people, plane, epsilon=5, groups=["a", "b"] * 2000, labels=["a", "b"]).save(path / "groups.milepost")
    mp.release(people, plane, epsilon=5, queries=people[:9], mechanism="laplace").save(path / "sites.milepost")
    table = points()
    pq.write_table(table, path / "points.parquet")
    pa.csv.write_csv(table, path / "points.csv")
    return path


def points() -> pa.Table:
    coordinates = np.random.default_rng(1).uniform(0, 10, (COUNT, 2))
    ids = [f"{row:05}" for row in range(COUNT)]
    return pa.table({"y": coordinates[:, 1], "id": ids, "x": coordinates[:, 0]})


@pytest.fixture
def run(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command line in a folder with these files; batches are small."""
    for path in folder.iterdir():
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(batches, "BATCH_ROWS", 700)
    monkeypatch.setattr(query_output, "MAX_POINTS", 300)
    return runner(capsys)


def read_answers(name: str) -> pa.Table:
    """A file of answers."""
    if name.endswith(".parquet"):
        return pq.read_table(name)
    return pa.csv.read_csv(name, convert_options=pa.csv.ConvertOptions(column_types={"id": pa.string()}))


def new_files(folder: Path) -> set[str]:
    """What is there besides the releases and points."""
    return {path.name for path in folder.iterdir() if not path.is_symlink()}


@pytest.mark.parametrize("points_file", ["points.csv", "points.parquet"])
@pytest.mark.parametrize("output", ["answers.csv", "answers.txt", "answers.parquet"])
def test_points_are_answered_in_their_order(run: Run, tmp_path: Path, points_file: str, output: str) -> None:
    """As the library answers all at once, with the columns that were kept before them."""
    result = run(f"query homes.milepost {points_file} --keep id -o {output}")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith(f"wrote {output}: 5,000 answers, each within ± ")
    synopsis, queries, answers = mp.load("homes.milepost"), points(), read_answers(output)
    assert answers.column_names == ["id", "x", "y", "mean_distance", "error"]
    assert all(answers[name].to_pylist() == queries[name].to_pylist() for name in ("id", "x", "y"))
    expected = synopsis.mean_distance(np.column_stack([queries["x"], queries["y"]]))
    assert answers["mean_distance"].to_numpy().tolist() == expected.tolist()
    assert set(answers["error"].to_pylist()) == {synopsis.error()}
    assert new_files(tmp_path) == {output}


def test_batches_are_answered_one_after_another(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """None is larger than it may be, and the next one is read before the last is written."""
    sizes: list[int] = []
    monkeypatch.setattr(
        "milepost.cli.commands.query.answers",
        lambda synopsis, queries: sizes.append(len(queries)) or query_output.answers(synopsis, queries),  # type: ignore[func-returns-value]
    )
    assert run("query homes.milepost points.parquet -o answers.parquet").code == 0
    assert sum(sizes) == COUNT
    assert max(sizes) == 300
    assert pq.ParquetFile("answers.parquet").num_row_groups == len(sizes)


def test_points_of_many_coordinates_come_in_smaller_batches() -> None:
    def size(directions: int, labels: tuple[str, ...] = ()) -> int:
        space = mp.L2(center=[5, 5], radius=8, directions=directions)
        stand_in: Any = SimpleNamespace(queries=None, space=space, labels=labels)
        return query_output.batch_size(stand_in)

    assert size(8) == query_output.MAX_POINTS
    assert size(512) * 512 == size(64, ("a",) * 8) * 512 == query_output.MAX_NUMBERS


@pytest.mark.parametrize(("kind", "integers"), [(pa.float32(), False), (pa.int16(), True), (pa.int64(), True)])
def test_numbers_of_other_types_are_points_too(run: Run, kind: pa.DataType, integers: bool) -> None:
    coordinates = np.random.default_rng(1).uniform(0, 10, (COUNT, 2)).astype(np.int16 if integers else np.float32)
    pq.write_table(
        pa.table({"x": pa.array(coordinates[:, 0], kind), "y": pa.array(coordinates[:, 1], kind)}), "new.parquet"
    )
    assert run("query homes.milepost new.parquet -o answers.csv").code == 0
    expected = mp.load("homes.milepost").mean_distance(coordinates.astype(np.float64))
    assert read_answers("answers.csv")["mean_distance"].to_pylist() == expected.tolist()


def test_what_is_kept_stays_as_it_is(run: Run) -> None:
    """Columns of any type, in the order they are named; text of a CSV file is text."""
    table = points().select(["x", "y"])
    columns = {
        "day": pa.array(range(COUNT), pa.date32()),
        "town": pa.array(["Köln", None, "Bonn"] * COUNT).slice(0, COUNT).dictionary_encode(),
        "tags": pa.array([[index] for index in range(COUNT)]),
    }
    for name, column in columns.items():
        table = table.append_column(name, column)
    pq.write_table(table, "new.parquet")
    assert run("query homes.milepost new.parquet --keep tags,day,town -o answers.parquet").code == 0
    answers = read_answers("answers.parquet")
    assert answers.column_names[:3] == ["tags", "day", "town"]
    assert all(answers[name].to_pylist() == column.to_pylist() for name, column in columns.items())
    refusal = run("query homes.milepost new.parquet --keep tags -o answers.csv")
    assert "answers.csv cannot hold these columns: Unsupported Type:list" in refusal.err
    Path("few.csv").write_text('x,y,id\n1,2,007\n3,4,"a ""b"", c"\n5,6,\n')
    assert run("query homes.milepost few.csv --keep id -o few_answers.csv").code == 0
    with Path("few_answers.csv").open(newline="") as file:
        assert [row["id"] for row in csv.DictReader(file)] == ["007", 'a "b", c', ""]
    assert not Path("answers.csv").exists()


def test_a_space_without_names_takes_the_columns_that_are_not_kept(run: Run) -> None:
    rows = np.random.default_rng(0).uniform(0, 10, (4000, 2))
    mp.release(rows, mp.L1([(0, 10), (0, 10)]), epsilon=5).save("plain.milepost")
    Path("few.csv").write_text("east,id,north\n1,a,2\n")
    assert run("query plain.milepost few.csv --keep id -o answers.csv").code == 0
    assert Path("answers.csv").read_text().startswith('"id","0","1","mean_distance","error"\n"a",1,2,')


@pytest.mark.parametrize("output", ["answers.csv", "answers.parquet"])
def test_groups_are_compared_batch_by_batch(run: Run, output: str) -> None:
    assert run(f"query groups.milepost points.csv --nearest --keep id -o {output}").code == 0
    queries, answers = points(), read_answers(output)
    coordinates = np.column_stack([queries["x"], queries["y"]])
    expected = mp.load("groups.milepost").compare(coordinates).to_arrow()
    assert answers.column_names == ["id", "x", "y", *expected.column_names]
    assert all(answers[name].to_pylist() == expected[name].to_pylist() for name in expected.column_names)
    assert run(f"query groups.milepost points.csv --group b -o {output} --force").code == 0
    group = mp.load("groups.milepost").group("b")
    assert read_answers(output)["mean_distance"].to_pylist() == group.mean_distance(coordinates).tolist()


@pytest.mark.parametrize("source", ["parts", "'parts/*.parquet'"])
def test_points_may_be_a_folder_or_a_pattern(run: Run, source: str) -> None:
    Path("parts").mkdir()
    for index in range(3):
        pq.write_table(points().slice(index * 2000, 2000), f"parts/{index}.parquet")
    assert run(f"query homes.milepost {source} --keep id -o answers.csv").code == 0
    assert read_answers("answers.csv")["id"].to_pylist() == points()["id"].to_pylist()


def test_the_known_points_are_written(run: Run) -> None:
    assert run("query sites.milepost -o answers.parquet").code == 0
    synopsis = mp.load("sites.milepost")
    assert synopsis.given_queries is not None
    assert (
        read_answers("answers.parquet")["mean_distance"].to_pylist()
        == synopsis.mean_distance(synopsis.given_queries).tolist()
    )


MIXED = mp.Gower({"age": mp.number(0, 100), "plan": mp.category(["a", "b"]), "member": mp.flag()})


@pytest.mark.parametrize(
    ("space", "rows", "header", "lines"),
    [
        (MIXED, [(1, "a", True), (50.5, "other", False)], "age,plan,member", ["1,a,true", "50.5,other,false"]),
        (mp.Gower({"plan": mp.category(["a", "b"])}), ["a", "b"], "plan", ["a", "b"]),
        (mp.Hamming(["ACGT"] * 2), ["AC", "GT"], "query", ["AC", "GT"]),
        (mp.Hamming(["ACGT"] * 2), [("A", "C"), ("G", "T")], "0,1", ["A,C", "G,T"]),
        (mp.AnyMetric(mp.edit_distance, 5, ["ab", "ad"]), ["ab", "ad"], "query", ["ab", "ad"]),
    ],
    ids=["mixed", "label", "text", "letters", "words"],
)
def test_points_that_are_no_numbers(run: Run, space: Any, rows: list[Any], header: str, lines: list[str]) -> None:
    """All batches have columns of the same types, whatever stands in them."""
    mp.release(rows * 1000, space, epsilon=5).save("objects.milepost")
    all_lines = [lines[0]] * 800 + [lines[1]] * 800
    Path("new.csv").write_text("\n".join([header, *all_lines, ""]))
    for output in ("answers.csv", "answers.parquet"):
        assert run(f"query objects.milepost new.csv --columns {header} -o {output}").code == 0
        answers = read_answers(output)
        assert answers.column_names == [*header.split(","), "mean_distance", "error"]
        expected = mp.load("objects.milepost").mean_distance(
            [rows[0], rows[1]] if header != "plan" else [("a",), ("b",)]
        )
        assert answers["mean_distance"].to_pylist() == [expected[0]] * 800 + [expected[1]] * 800
    cells = [[str(cell).lower() for cell in column.to_pylist()[::800]] for column in answers.columns[:-2]]
    assert [",".join(row) for row in zip(*cells, strict=True)] == [line.lower().replace("1,", "1.0,") for line in lines]


@pytest.mark.slow
def test_a_table_has_the_first_points_and_no_others_are_read(run: Run) -> None:
    """A bad row after them is none of its business."""
    Path("new.csv").write_text("x,y\n" + "1,2\n" * 1001 + "1,\n")
    result = run("query homes.milepost new.csv")
    assert result.code == 0
    assert result.out.count("\n      1 ") + result.out.count("\n  1 ") == 1000
    assert result.err == "note: these are the first 1,000 answers, and there are more; -o answers.csv writes them all\n"
    Path("new.csv").write_text("x,y\n" + "1,2\n" * 1000)
    assert run("query homes.milepost new.csv").err == ""


LONG = "1." + "0" * 98 + ",2\n"  # of which Arrow reads ten thousand at a time
BAD = {
    "missing": ("x,y\n" + "1,2\n" * 3000 + "1,\n" + "1,2\n" * 9, r"row 3001\b"),
    "text": ("x,y\n" + LONG * 12_000 + "1,two\n", r"'y' of bad.csv holds .*\(after row \d\d,\d{3}\)"),
    "short": ("x,y\n" + LONG * 12_000 + "1\n", r"rows of different lengths.*\(after row \d\d,\d{3}\)"),
    "empty": ("x,y\n", "bad.csv has no points"),
    "nothing": ("", "bad.csv is empty"),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("output", ["answers.csv", "answers.parquet"])
@pytest.mark.parametrize("before", [None, b"before"])
def test_a_bad_file_leaves_nothing(run: Run, tmp_path: Path, name: str, output: str, before: bytes | None) -> None:
    """One line that says where; no file, no temporary one, and what was there before stays."""
    content, message = BAD[name]
    Path("bad.csv").write_text(content)
    if before is not None:
        Path(output).write_bytes(before)
    result = run(f"query homes.milepost bad.csv -o {output} --force")
    assert (result.code, result.out, len(result.err.splitlines())) == (2, "", 1)
    assert re.search(message, result.err)
    assert new_files(tmp_path) == {"bad.csv"} | ({output} if before else set())
    assert before is None or Path(output).read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("points.csv -o answers.xlsx", "answers.xlsx must end in .csv, .txt, .parquet"),
        ("points.csv -o answers", "must end in .csv"),
        ("points.csv -o points.csv", "exists already; give --force"),
        ("points.csv --keep id", "give it both of them"),
        ("--at 1,2 --keep id -o answers.csv", "give it both of them"),
        ("points.csv --keep nope -o answers.csv", "--keep: the table has no column 'nope'; it has y, id, x"),
        ("points.parquet --keep x -o answers.csv", "--keep x: the answers have a column of this name already"),
        ("error.csv --keep error -o answers.csv", "--keep error: the answers have a column of this name already"),
        ("points.csv --at 1,2", "either as a file, points.csv, or with --at 35,4"),
        ("-o answers.csv", "either as a file, points.csv, or with --at 35,4"),
        ("nowhere.parquet -o answers.csv", "there is no file nowhere.parquet"),
        ("points.doc -o answers.csv", "only CSV"),
    ],
)
def test_bad_words_are_one_line(run: Run, tmp_path: Path, arguments: str, message: str) -> None:
    Path("error.csv").write_text("x,y,error\n1,2,3\n")
    result = run(f"query homes.milepost {arguments}")
    assert (result.code, result.out, len(result.err.splitlines())) == (2, "", 1)
    assert message in result.err
    assert new_files(tmp_path) == {"error.csv"}


def test_force_replaces_the_answers_when_they_are_complete(run: Run) -> None:
    Path("answers.csv").write_text("before")
    assert run("query homes.milepost points.csv -o answers.csv").code == 2
    assert Path("answers.csv").read_text() == "before"
    assert run("query homes.milepost points.csv -o answers.csv --force").code == 0
    assert len(Path("answers.csv").read_text().splitlines()) == COUNT + 1


def test_points_outside_are_noted_once_with_their_number(run: Run) -> None:
    """However many batches they are in."""
    Path("new.csv").write_text("x,y\n" + "1,2\n11,2\n" * 1000)
    result = run("query cut.milepost new.csv -o answers.csv")
    assert result.err == "note: 1000 of 2000 query points lie outside the space; they are answered at its border\n"
    assert run("query cut.milepost points.csv -o answers.csv --force").err == ""


def test_geojson_and_a_table_at_once(run: Run) -> None:
    result = run("query homes.milepost points.csv -o answers.parquet --geojson answers.geojson")
    assert result.out.count(": 5,000 answers, each within") == 2
    assert Path("answers.geojson").read_text().count('"mean_distance"') == COUNT


PAUSED_COMMAND = """
import itertools, signal, sys
from milepost import cli
from milepost.cli import query_input
from milepost.ingest import batches

batches.BATCH_ROWS = 700
parts = query_input.space_batches

def held(*given, **words):
    yield from itertools.islice(parts(*given, **words), 4)
    print("held", flush=True)
    sys.stdin.read()
    raise AssertionError("a signal should have ended this")

query_input.space_batches = held
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job may ignore it
cli.main(sys.argv[1:])
"""


@pytest.mark.slow
@pytest.mark.parametrize("stop", ["SIGINT", "SIGKILL"])
@pytest.mark.parametrize("output", ["answers.csv", "answers.parquet"])
@pytest.mark.usefixtures("run")
def test_a_signal_in_the_middle_leaves_no_answers(tmp_path: Path, output: str, stop: str) -> None:
    """Ctrl-C leaves nothing at all; a kill no more than a temporary file; what was there before stays."""
    (tmp_path / output).write_text("before")
    line = [sys.executable, "-c", PAUSED_COMMAND, "query", "homes.milepost", "points.csv", "-o", output, "--force"]
    pipe = subprocess.PIPE
    with subprocess.Popen(line, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:  # noqa: S603
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        (temporary,) = new_files(tmp_path) - {output}
        process.send_signal(getattr(signal, stop))
        _, errors = process.communicate()
    assert process.returncode not in (0, None)
    assert (tmp_path / output).read_text() == "before"
    assert new_files(tmp_path) == {output} | ({temporary} if stop == "SIGKILL" else set())
    assert "Traceback" not in errors


@pytest.mark.slow
@pytest.mark.usefixtures("run")
@pytest.mark.parametrize("output", ["answers.csv", "answers.parquet"])
def test_memory_does_not_grow_with_the_number_of_points(output: str) -> None:
    """Thirty times as many take less than 1.5 times as much, all that Python itself needs included."""
    peaks = []
    for count in (100_000, 3_000_000):
        coordinates = np.random.default_rng(1).uniform(0, 10, (count, 2))
        pq.write_table(
            pa.table({"x": coordinates[:, 0], "y": coordinates[:, 1], "id": np.arange(count)}), "many.parquet"
        )
        arguments = ["query", "homes.milepost", "many.parquet", "--keep", "id", "-o", output, "--force"]
        process = subprocess.run(  # noqa: S603
            [sys.executable, "-c", COMMAND, *arguments], stdout=subprocess.PIPE, text=True, check=True
        )
        summary, peak = process.stdout.splitlines()
        assert f"{count:,} answers" in summary
        peaks.append(float(peak))
    assert peaks[1] < 1.5 * peaks[0]
