import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from rich.console import Console

import milepost as mp
from milepost import cli
from milepost.auditing import report
from milepost.pipeline.space_spec import read_space, space_from_options
from tests import ROOT
from tests.auditing.bad_mechanisms import sparse_vectors
from tests.chance import sure
from tests.commands import Run, runner

SPACE = "--space l1 --bounds age=18:90 --bounds visits=0:40"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command line in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return runner(capsys)


@pytest.fixture(scope="session")
def release_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a private table and its release by the command line, made once."""
    folder = tmp_path_factory.mktemp("made")
    generator = np.random.default_rng(3)
    rows = np.column_stack([generator.uniform(18, 90, 60_000), generator.poisson(8, 60_000), np.zeros(60_000)])
    np.savetxt(folder / "homes.csv", rows, delimiter=",", header="age,visits,code", comments="", fmt="%.8g")
    line = (
        f"release {folder}/homes.csv {SPACE} --epsilon 1 --delta 1e-6 --mechanism tangents -o {folder}/homes.milepost"
    )
    with pytest.raises(SystemExit) as stop:
        cli.main(shlex.split(line))
    assert not stop.value.code
    return folder


@pytest.fixture
def released(run: Run, release_folder: Path, tmp_path: Path) -> mp.Synopsis:  # noqa: ARG001
    """homes.csv and homes.milepost in the folder of the test."""
    shutil.copytree(release_folder, tmp_path, dirs_exist_ok=True)
    return mp.load("homes.milepost")


def numbers(text: str) -> list[float]:
    return [float(word) for word in re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.])", text)]


def test_plan_prints_what_the_library_predicts(run: Run) -> None:
    result = run(f"plan {SPACE} --n 100000 --epsilon 1 --delta 1e-6 --max-queries 10000")
    space = mp.L1({"age": (18, 90), "visits": (0, 40)})
    assert result.code == 0
    for prediction in mp.plan(space, n=100_000, epsilon=1, delta=1e-6, max_queries=10_000).predictions:
        assert prediction.mechanism in result.out
        assert f"{prediction.error:.3g}" in result.out


def test_plan_keeps_its_numbers_whole_on_a_narrow_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("milepost.cli.commands.plan.console", lambda: Console(width=72))
    result = run(f"plan {SPACE} --n 1000000 --epsilon 1 --delta 1e-6")
    assert "…" not in result.out
    assert "paper's alpha" in result.out


def test_a_private_ball_is_planned_and_released(run: Run, tmp_path: Path) -> None:
    """With the words of the options, in errors as well."""
    ball = "--space l2 --center 0,0 --radius 100"
    result = run(f"plan {ball} --n 100000 --epsilon 1 --delta 1e-6 --ball-share 0.1")
    assert result.code == 0
    assert "10 % of the budget finds a centre" in result.out
    rows = 30 + np.random.default_rng(0).normal(size=(400, 2))
    np.savetxt(tmp_path / "people.csv", rows, delimiter=",", header="x,y", comments="")
    release = f"release {tmp_path / 'people.csv'} {ball} -o {tmp_path / 'people.milepost'}"
    result = run(f"{release} --epsilon 30 --delta 1e-6 --ball-share 0.2")
    assert result.code == 0, result.err
    result = run(f"show {tmp_path / 'people.milepost'}")
    assert "centre and radius found privately with 20 % of the budget" in result.out
    result = run(f"{release} --force --epsilon 30 --ball-share 0.2")
    assert result.code != 0
    assert "--ball-share needs --delta above 0" in result.err
    result = run(f"{release} --force --epsilon 30 --delta 1e-6 --ball-share 0.7")
    assert "--ball-share must be a share of the budget" in result.err


def test_release_writes_a_file_with_the_words_of_the_command(released: mp.Synopsis) -> None:
    assert released.space == mp.L1({"age": (18, 90), "visits": (0, 40)})
    assert released.guarantee == mp.Guarantee(1, 1e-6, accounting="zcdp")
    assert released.n == 60_000


def test_query_prints_the_librarys_answers(run: Run, released: mp.Synopsis) -> None:
    result = run("query homes.milepost --at 35,4 --at 50,10")
    rows = [numbers(line) for line in result.out.splitlines() if numbers(line)]
    assert [row[:2] for row in rows] == [[35, 4], [50, 10]]
    np.testing.assert_allclose([row[2] for row in rows], released.mean_distance([[35, 4], [50, 10]]), atol=0.01)
    np.testing.assert_allclose([row[3] for row in rows], released.error(), atol=0.01)
    assert result.err == ""


@pytest.mark.usefixtures("released")
def test_query_takes_negative_numbers_and_notes_a_point_outside(run: Run) -> None:
    for line in ("query homes.milepost --at -3,4", "query homes.milepost --at=-3,-4.5"):
        result = run(line)
        assert result.code == 0
        assert result.err.count("note: ") == len(result.err.splitlines()) == 1
        assert "outside the space" in result.err


def test_query_reads_points_and_writes_answers_as_csv(run: Run, released: mp.Synopsis) -> None:
    Path("points.csv").write_text("visits,label,age\n4,7,35\n10,8,50\n")
    result = run("query homes.milepost points.csv -o answers.csv")
    assert result.code == 0
    assert "2 answers" in result.out
    header, *rows = Path("answers.csv").read_text().splitlines()
    assert header.replace('"', "") == "age,visits,mean_distance,error"
    values = released.mean_distance([[35, 4], [50, 10]])
    expected = [[35, 4, values[0], released.error()], [50, 10, values[1], released.error()]]
    assert [[float(number) for number in row.split(",")] for row in rows] == expected


def test_query_renames_the_columns_of_a_points_file(run: Run, released: mp.Synopsis) -> None:
    Path("points.csv").write_text("v,a\n4,35\n")
    result = run("query homes.milepost points.csv --columns a,v")
    assert f"{released.mean_distance([35, 4]):.2f}" in result.out


def test_show_prints_the_card(run: Run, released: mp.Synopsis) -> None:
    facts = dict(re.split(r"\s{2,}", line, maxsplit=1) for line in run("show homes.milepost").out.splitlines())
    assert facts["bounds"] == "age 18:90, visits 0:40"
    assert facts["weights"] == "1, 1"
    assert facts["rows"] == "60,000"
    assert facts["guarantee"] == str(released.guarantee)
    assert facts["neighbors"].startswith("replace")
    assert f"{released.error():.3g}" in facts["error"]


def test_show_statement_prints_the_statement(run: Run, released: mp.Synopsis) -> None:
    assert run("show homes.milepost --statement").out == released.statement() + "\n"


@pytest.mark.usefixtures("released")
def test_a_release_with_a_large_failure_probability_shows_its_own_confidence(run: Run) -> None:
    assert (
        run(
            f"release homes.csv {SPACE} --epsilon 1 --delta 1e-6 --mechanism tangents "
            "--failure-probability 0.2 -o b.milepost"
        ).code
        == 0
    )
    assert "80 % confidence" in run("show b.milepost --statement").out
    assert "80 % confidence" in run("show b.milepost").out
    assert "± error" in run("query b.milepost --at 35,4").out
    assert "±" in repr(mp.load("b.milepost"))


@pytest.mark.parametrize(
    "content",
    [
        'space = "l1"\n[bounds]\nage = [18, 90]\nvisits = [0, 40]\n[weights]\nage = 2\n',
        'space = "l1"\nbounds = [[18, 90], [0, 40]]\nweights = [2, 1]\n',
    ],
)
@pytest.mark.usefixtures("released")
def test_a_toml_file_says_the_same_as_options(run: Run, content: str) -> None:
    has_names = "[bounds]" in content
    Path("space.toml").write_text(content)
    assert run("release homes.csv --space space.toml --columns age,visits --epsilon 1 -o toml.milepost").code == 0
    bounds = "--bounds age=18:90 --bounds visits=0:40 --weights age=2" if has_names else ""
    bounds = bounds or "--bounds 18:90 --bounds 0:40 --weights 2 --weights 1"
    assert run(f"release homes.csv --space l1 {bounds} --columns age,visits --epsilon 1 -o options.milepost").code == 0
    assert mp.load("toml.milepost").space == mp.load("options.milepost").space
    assert mp.load("toml.milepost").guarantee.pure


@pytest.mark.usefixtures("released")
def test_a_wide_error_is_noted(run: Run) -> None:
    result = run(f"release homes.csv {SPACE} --epsilon 0.01 --mechanism tangents -o wide.milepost")
    assert result.code == 0
    assert result.err.startswith("note: the predicted error")
    assert len(result.err.splitlines()) == 1


RELEASE = "release homes.csv --epsilon 1 -o new.milepost"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"release nowhere.csv {SPACE} --epsilon 1 -o new.milepost", "there is no file nowhere.csv"),
        (f"release homes.csv {SPACE} --epsilon -1 -o new.milepost", "--epsilon must be"),
        (f"release homes.csv {SPACE} --epsilon nan -o new.milepost", "--epsilon must be"),
        (f"{RELEASE} {SPACE} --mechanism magic", "unknown mechanism 'magic'"),
        (f"{RELEASE} {SPACE} --failure-probability 2", "--failure-probability must"),
        (f"{RELEASE} {SPACE} --columns age", "columns must name 2 columns"),
        (f"{RELEASE} {SPACE} --columns age,height", "no column 'height'"),
        (f"{RELEASE} --space l1", "needs --bounds"),
        (f"{RELEASE} --space l9 --bounds 0:1", "unknown space 'l9'"),
        (f"{RELEASE} --space l1 --bounds age=18", "must be name=low:high"),
        (f"{RELEASE} --space l1 --bounds age=18:x", "'x' is not a number"),
        (f"{RELEASE} --space l1 --bounds age=90:18", "reversed"),
        (f"{RELEASE} --space l1 --bounds age=18:90 --bounds 0:40", "--bounds must name every column or none"),
        (f"{RELEASE} --space l1 --bounds age=18:90 --bounds age=0:40", "'age' twice"),
        (f"{RELEASE} {SPACE} --weights height=2", "unknown column 'height'"),
        (f"{RELEASE} --space nowhere.toml", "there is no file nowhere.toml"),
        (f"{RELEASE} --space homes.milepost.toml --bounds 0:1", "belongs in homes.milepost.toml"),
        (f"{RELEASE} --space broken.toml", "not a TOML file"),
        (f"{RELEASE} --space nameless.toml", "must name its space"),
        (f"{RELEASE} --space strange.toml", "space l1 has no bound"),
        (f"{RELEASE} --space boundless.toml", "needs bounds"),
        ("query nowhere.milepost --at 1,2", "there is no file nowhere.milepost"),
        ("query homes.csv --at 1,2", "not a milepost file"),
        ("query homes.milepost", "either as a file"),
        ("query homes.milepost --at 1,2 homes.csv", "either as a file"),
        ("query homes.milepost --at 1", "--at must give 2 numbers (age, visits)"),
        ("query homes.milepost --at one,two", "--at must be numbers"),
        ("query homes.milepost --at nan,2", "NaN"),
        ("query homes.milepost nowhere.csv", "there is no file nowhere.csv"),
        ("query homes.milepost empty.csv", "has no points"),
        ("query homes.milepost --at 35,4 -o homes.csv", "exists already"),
        ("show nowhere.milepost", "there is no file"),
        (f"plan {SPACE} --n 0 --epsilon 1", "n must be"),
        (f"plan {SPACE} --n 10 --epsilon 1 --max-queries 0", "--max-queries must be"),
        ("audit --samples 3", "--samples must be"),
        ("audit --mechanism magic", "--mechanism must be one of noise, sparse-vector"),
        ("demo --output picture.doc", "must end in .png"),
        ("demo --output homes.csv/demo.png", "homes.csv"),
    ],
)
@pytest.mark.usefixtures("released")
def test_bad_input_is_one_line_and_exit_code_2(run: Run, line: str, message: str) -> None:
    Path("broken.toml").write_text("space = \n")
    Path("nameless.toml").write_text("bounds = [[0, 1]]\n")
    Path("strange.toml").write_text('space = "l1"\nbound = [[0, 1]]\n')
    Path("boundless.toml").write_text('space = "l1"\n')
    Path("empty.csv").write_text("age,visits\n")
    result = run(line)
    assert result.code == 2
    assert result.err.startswith("error: ")
    assert len(result.err.splitlines()) == 1
    assert message in result.err
    assert result.out == ""
    assert not Path("new.milepost").exists()


@pytest.mark.parametrize("line", ["", "fly", "show", "release --epsilon", f"plan {SPACE} --n many --epsilon 1"])
def test_a_usage_error_exits_with_2_and_has_no_traceback(run: Run, line: str) -> None:
    result = run(line)
    assert result.code == 2
    assert "Traceback" not in result.err + result.out


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("homes.milepost", "exists already"),
        ("homes.csv --force", "private table itself"),
        ("nowhere/new.milepost", "no folder nowhere"),
        (".", "is a folder"),
    ],
)
@pytest.mark.usefixtures("released")
def test_an_output_that_cannot_be_written_is_refused_before_anything_is_spent(
    run: Run, monkeypatch: pytest.MonkeyPatch, output: str, message: str
) -> None:
    def spend(*_: Any, **__: Any) -> None:
        pytest.fail("the budget was spent")

    monkeypatch.setattr(mp, "release", spend)
    before = {path: path.read_bytes() for path in Path().iterdir()}
    result = run(f"release homes.csv {SPACE} --epsilon 1 -o {output}")
    assert (result.code, len(result.err.splitlines())) == (2, 1)
    assert message in result.err
    assert {path: path.read_bytes() for path in Path().iterdir()} == before


def test_force_replaces_a_file(run: Run, released: mp.Synopsis) -> None:
    assert run(f"release homes.csv {SPACE} --epsilon 2 -o homes.milepost --force").code == 0
    assert mp.load("homes.milepost").guarantee != released.guarantee


@pytest.mark.parametrize(("name", "code"), [("Algorithm 1 is right", 0), ("Algorithm 5 adds no noise to queries", 1)])
def test_audit_prints_its_findings_and_exits_with_1_when_a_claim_is_refuted(
    run: Run, monkeypatch: pytest.MonkeyPatch, name: str, code: int
) -> None:
    case = sparse_vectors()[name].case
    monkeypatch.setattr(report, "shipped_cases", lambda: [case])
    result = run("audit --samples 2000")
    assert result.code == code
    assert name in result.out
    assert "2,000 samples" in result.out
    assert ["consistent", "violated"][code] in result.out


def test_audit_takes_one_mechanism(run: Run) -> None:
    result = run("audit --samples 500 --mechanism noise")
    assert result.code == 0
    assert "laplace" in result.out
    assert "sparse" not in result.out


def test_version(run: Run) -> None:
    assert re.fullmatch(r"milepost \d+\.\d+\.\d+\n", run("--version").out)


def test_every_command_and_option_is_documented() -> None:
    """docs/cli.md has a section for each command, and the section names each of its options."""
    parts = re.split(r"^## milepost (\w+)$", (ROOT / "docs" / "cli.md").read_text(), flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    group: Any = typer.main.get_command(cli.app)
    assert set(sections) == set(group.commands)
    for name, command in group.commands.items():
        for parameter in command.params:
            for option in parameter.opts:
                assert parameter.param_type_name == "argument" or option in sections[name], (name, option)


def test_importing_the_command_line_leaves_heavy_libraries_alone() -> None:
    code = "import sys, milepost.cli; print({'matplotlib', 'opendp', 'pandas'} & set(sys.modules))"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
    assert process.stdout.strip() == "set()"


def test_parquet_files_serve_as_table_and_as_points(run: Run) -> None:
    rows = np.random.default_rng(0).uniform(18, 40, (20_000, 2))
    pq.write_table(pa.table({"visits": rows[:, 1], "age": rows[:, 0]}), "homes.parquet")
    result = run(f"release homes.parquet {SPACE} --epsilon 1 --delta 1e-6 -o homes.milepost")
    assert (result.code, "20,000 rows" in result.out) == (0, True)
    pq.write_table(pa.table({"age": [30.0, 40.0], "visits": [20.0, 30.0]}), "points.parquet")
    assert "40" in run("query homes.milepost points.parquet").out
    assert "no file" in run(f"release nowhere.parquet {SPACE} --epsilon 1 -o other.milepost").err


@pytest.fixture
def words_folder(run: Run, tmp_path: Path) -> Path:  # noqa: ARG001
    """words.csv, a private column of text beside another one, and queries.csv."""
    rows = [f"{word},{k}" for k, word in enumerate(["colour", "color", "center", "table", "cat"] * 400)]
    (tmp_path / "words.csv").write_text("word,id\n" + "\n".join(rows) + "\n")
    (tmp_path / "queries.csv").write_text("word\ncolour\ncentre\n")
    return tmp_path


EDIT = "--space edit --queries queries.csv --diameter 12"


def test_text_by_edit_distance(run: Run, words_folder: Path) -> None:
    """From a CSV file to answers about the words of another, on the command line alone."""
    planned = run(f"plan {EDIT} --n 2000 --epsilon 1")
    assert planned.code == 0
    assert "laplace" in planned.out
    release = run(f"release words.csv {EDIT} --columns word --epsilon 1 -o words.milepost")
    assert re.search(r"wrote words.milepost: 2,000 rows, any, ε = 1, laplace, answers within ± 0\.0", release.out)
    synopsis = mp.load("words.milepost")
    space, noise = synopsis.space, synopsis.error(sure(2))
    assert noise < 0.5
    truth = {word: mp.exact_mean_distance("words.csv", space, word, columns="word") for word in ("colour", "centre")}
    for line in ("", "--at colour --at centre", "queries.csv"):
        result = run(f"query words.milepost {line}")
        answers = dict(re.findall(r"(colour|centre) +([\d.]+)", result.out))
        assert {word: float(value) for word, value in answers.items()} == pytest.approx(truth, abs=noise + 0.01)
    assert run("query words.milepost --at colour -o answers.csv").code == 0
    assert (words_folder / "answers.csv").read_text().startswith('"query","mean_distance","error"\n"colour",')
    assert "queries       colour, centre" in run("show words.milepost").out
    assert "the 2 queries" in run("show words.milepost --statement").out


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("release words.csv --space edit --diameter 12 --epsilon 1 -o x.milepost", "needs --queries"),
        ("release words.csv --space edit --queries queries.csv --epsilon 1 -o x.milepost", "needs --diameter"),
        (f"release words.csv {EDIT} --epsilon 1 -o x.milepost", "columns word, id; say"),
        (f"release words.csv {EDIT} --columns nope --epsilon 1 -o x.milepost", "no column 'nope'"),
        (f"release words.csv {EDIT} --bounds 0:1 --epsilon 1 -o x.milepost", "space edit has no --bounds"),
        ("plan --space edit --queries nowhere.csv --diameter 12 --n 10 --epsilon 1", "no file nowhere.csv"),
        ("plan --space edit --queries words.csv --diameter 12 --n 10 --epsilon 1", "columns word, id"),
        (f"plan {EDIT} --n 10 --epsilon 1 --max-queries 10", "no sessions"),
        (
            f"plan {SPACE} --queries queries.csv --n 10 --epsilon 1",
            "'word' of queries.csv holds something that is not a number",
        ),
        (
            f"release words.csv {SPACE} --mechanism laplace --epsilon 1 -o x.milepost",
            "laplace answers given points only",
        ),
    ],
)
def test_bad_words_about_given_queries(run: Run, words_folder: Path, line: str, message: str) -> None:
    """One line that says what is missing; nothing is written."""
    result = run(line)
    assert result.code == 2
    assert message in result.err
    assert not (words_folder / "x.milepost").exists()


def test_a_space_of_text_from_a_file(run: Run, words_folder: Path) -> None:
    """The same words in TOML, with the queries in the file or in a list."""
    (words_folder / "a.toml").write_text('space = "edit"\nqueries = "queries.csv"\ndiameter = 12\n')
    (words_folder / "b.toml").write_text('space = "edit"\nqueries = ["colour", "centre"]\ndiameter = 12\n')
    for name in ("a", "b"):
        assert run(f"release words.csv --space {name}.toml --columns word --epsilon 1 -o {name}.milepost").code == 0
        assert mp.load(f"{name}.milepost").space.to_json()["queries"] == ["colour", "centre"]


def test_given_sites_of_a_map(run: Run, released: mp.Synopsis, tmp_path: Path) -> None:  # noqa: ARG001
    """`--queries` with numeric spaces: one that lies outside is answered at the border, and a note says so."""
    (tmp_path / "sites.csv").write_text("age,visits\n30,5\n95,5\n")
    release = run(f"release homes.csv {SPACE} --queries sites.csv --mechanism laplace --epsilon 1 -o sites.milepost")
    assert release.code == 0
    assert "1 of 2 queries lie outside" in release.err
    result = run("query sites.milepost")
    assert len(re.findall(r"^ +(?:30|90) +5 ", result.out, re.MULTILINE)) == 2
    refusal = run("query sites.milepost --at 31,5")
    assert refusal.code == 2
    assert "[31.0, 5.0] is not among them" in refusal.err


GOWER = "--space gower --number age=18:90 --category plan=a,b --flag member --weights age=2 --step age=1"


@pytest.fixture
def guests(run: Run, tmp_path: Path) -> Path:  # noqa: ARG001
    """guests.csv, a private table of mixed columns in another order, with labels that nobody named."""
    rows = [f"{k},{plan},{18 + k % 70},{'yes' if k % 3 else 'no'}" for k, plan in enumerate(["a", "b", "", "zz"] * 500)]
    (tmp_path / "guests.csv").write_text("id,plan,age,member\n" + "\n".join(rows) + "\n")
    (tmp_path / "points.csv").write_text("member,age,plan\ntrue,40,a\nno,50,other\n")
    (tmp_path / "genes.csv").write_text("id,gene\n" + "\n".join(f"{k},{'ACGN'[k % 4]}CGT" for k in range(2000)) + "\n")
    return tmp_path


def test_mixed_tables(run: Run, guests: Path) -> None:
    """Numbers, categories and flags, from options to answers with one column each."""
    planned = run(f"plan {GOWER} --n 2000 --epsilon 1")
    assert planned.code == 0
    assert "hats" in planned.out
    assert run(f"release guests.csv {GOWER} --epsilon 20 -o guests.milepost").code == 0
    space = mp.Gower(
        {"age": mp.number(18, 90, step=1), "plan": mp.category(["a", "b"]), "member": mp.flag()}, weights={"age": 2}
    )
    assert mp.load("guests.milepost").space == space
    truth = mp.exact_mean_distance("guests.csv", space, [(40, "a", True), (50, "other", False)])
    noise = mp.load("guests.milepost").error(sure(2))
    assert noise < 0.01
    for line in ("--at 40,a,true --at 50,other,no", "points.csv"):
        rows = re.findall(
            r"^ +(40 +a +true|50 +other +false) +([\d.]+) ", run(f"query guests.milepost {line}").out, re.M
        )
        assert [re.sub(" +", ",", cells) for cells, _ in rows] == ["40,a,true", "50,other,false"]
        assert [float(value) for _, value in rows] == pytest.approx(list(truth), abs=noise + 0.001)
    assert run("query guests.milepost points.csv -o answers.csv").code == 0
    lines = (guests / "answers.csv").read_text().splitlines()
    assert lines[0] == '"age","plan","member","mean_distance","error"'
    assert lines[2].startswith('50,"other",false,')
    assert run("query guests.milepost --at 40,a,true").out.count("true") == 1
    assert "age number:18:90:1, plan category:a, b, member flag" in run("show guests.milepost").out


def test_mixed_tables_with_given_queries(run: Run, guests: Path) -> None:
    """The only rows to ask about come from a file, and are all answered when none is named."""
    line = (
        f"release guests.csv {GOWER} --queries points.csv --mechanism laplace --epsilon 20 -o {guests}/guests.milepost"
    )
    assert run(line).code == 0
    assert re.findall(r"40 +a +true|50 +other +false", run("query guests.milepost").out)


@pytest.mark.parametrize(
    ("content", "options"),
    [
        (
            """
            space = "gower"
            weights = {age = 2}
            [columns]
            age = {number = [18, 90], step = 1}
            plan = {category = ["a", "b"]}
            member = "flag"
            """,
            GOWER,
        ),
        (
            'space = "hamming"\nalphabets = ["ACGT", "ACGT", "ACGT", "ACGT"]\n',
            "--space hamming --alphabet ACGT --length 4",
        ),
        ('space = "hamming"\nalphabets = [["yes", "no"]]\n', "--space hamming --alphabet yes,no --length 1"),
    ],
)
def test_a_toml_file_of_a_table_says_the_same_as_options(content: str, options: str, tmp_path: Path) -> None:
    (tmp_path / "space.toml").write_text(content)
    group: Any = typer.main.get_command(cli.app)
    params = group.commands["plan"].make_context("plan", shlex.split(f"{options} --n 1")).params
    space_options = {name: params[name] for name in ("number", "category", "flag", "step", "alphabet", "length")}
    space_options["weights"] = params["weights"]
    assert read_space(tmp_path / "space.toml") == space_from_options(params["space"], space_options)


def test_columns_of_a_file_may_go_by_position(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('space = "gower"\ncolumns = [{number = [0, 1]}, "flag"]\nweights = [1, 2]\n')
    assert read_space(tmp_path / "a.toml") == mp.Gower([mp.number(0, 1), mp.flag()], weights=[1, 2])
    (tmp_path / "b.toml").write_text('space = "hamming"\n[alphabets]\nz = "AB"\na = ["one", "two"]\n')
    assert read_space(tmp_path / "b.toml") == mp.Hamming({"z": "AB", "a": ["one", "two"]})


@pytest.mark.usefixtures("guests")
def test_sequences(run: Run) -> None:
    """A column of text with one letter a place, asked about by text or by letters."""
    release = run(
        "release genes.csv --space hamming --alphabet ACGT --length 4 --columns gene --epsilon 20 -o g.milepost"
    )
    assert release.code == 0
    noise = mp.load("g.milepost").error(sure())
    assert noise < 0.1
    for at, pattern in (("ACGT", "ACGT"), ("A,C,G,T", "A +C +G +T")):
        match = re.search(rf"{pattern} +([\d.]+) ", run(f"query g.milepost --at {at}").out)
        assert match is not None
        assert float(match[1]) == pytest.approx(0.75, abs=noise + 0.01)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--space gower", "space gower needs --number, --category or --flag, such as --number age=18:90"),
        ("--space gower --bounds 0:1", "space gower has no --bounds; it has --number, --category, --flag"),
        ("--space gower --number 18:90", "--number must name its column, such as --number age=18:90"),
        ("--space gower --number age=90:18", "reversed"),
        ("--space gower --number age=18", "name=low:high"),
        ("--space gower --category a,b", "--category must name its column"),
        ("--space gower --category plan=a,,b", "--category must give labels separated by commas"),
        ("--space gower --category plan=a,a", "each label once"),
        ("--space gower --flag a --flag a", "'a' is named twice"),
        ("--space gower --flag a --number a=0:1", "'a' is named twice"),
        ("--space gower --flag a --step a=1", "--step names 'a', which is not a --number"),
        ("--space gower --flag a --weights b=1", "unknown column 'b'"),
        ("--space gower --flag a --weights a=0", "weights must be positive"),
        ("--space hamming --length 3", "space hamming needs --alphabet, such as --alphabet ACGT"),
        ("--space hamming --alphabet ACGT", "space hamming needs --length, such as --length 8"),
        ("--space hamming --alphabet ACGT --length -1", "--length must be"),
        ("--space hamming --alphabet AA --length 2", "each label once"),
        ("--space l1 --bounds 0:1 --flag a", "space l1 has no --flag"),
        ("--space kinds.toml", "column 'age' must be {number = [low, high]}"),
        ("--space pair.toml", "column 'age' must be {number = [low, high]}"),
        ("--space bare.toml", "space gower needs columns, such as age = {number = [18, 90]} under [columns]"),
        ("--space text.toml", "columns must be a table or a list"),
    ],
)
def test_bad_words_about_tables(run: Run, guests: Path, line: str, message: str) -> None:
    """One line that says what is missing; nothing is written."""
    (guests / "kinds.toml").write_text('space = "gower"\n[columns]\nage = "number"\n')
    (guests / "pair.toml").write_text('space = "gower"\n[columns]\nage = {number = 5}\n')
    (guests / "bare.toml").write_text('space = "gower"\n')
    (guests / "text.toml").write_text('space = "gower"\ncolumns = "age"\n')
    result = run(f"release guests.csv {line} --epsilon 1 -o x.milepost")
    assert (result.code, len(result.err.splitlines())) == (2, 1)
    assert message in result.err
    assert not (guests / "x.milepost").exists()


@pytest.mark.usefixtures("guests")
@pytest.mark.parametrize(
    ("at", "message"),
    [
        ("40,a", "--at must give 3 values (age, plan, member), got '40,a'"),
        ("40", "--at must give 3 values"),
        ("40,x,true", "column 'plan' has no label 'x'; it has a, b, other"),
        ("old,a,true", "column 'age' must hold numbers"),
        ("40,a,perhaps", "column 'member' must be true or false"),
    ],
)
def test_bad_rows_to_ask_about(run: Run, at: str, message: str) -> None:
    assert run(f"release guests.csv {GOWER} --epsilon 20 -o guests.milepost").code == 0
    result = run(f"query guests.milepost --at {at}")
    assert result.code == 2
    assert message in result.err


def test_bounds_are_found_printed_and_kept(run: Run, released: mp.Synopsis) -> None:  # noqa: ARG001
    """The printed options and the space file are the same space; only the file keeps the record."""
    result = run("bounds homes.csv --columns age,visits --epsilon 1 -o homes.toml")
    assert result.code == 0
    head, options, wrote = result.out.splitlines()
    assert "2 columns" in head
    assert "ε = 1 for one row replaced by another" in head
    assert "homes.toml" in wrote
    space = read_space(Path("homes.toml"))
    assert isinstance(space, mp.L1)
    typed = shlex.split(options)
    assert typed[:2] == ["--space", "l1"]
    plain = space_from_options("l1", {"bounds": typed[3::2]})
    assert (plain.columns, plain.extent) == (space.columns, space.extent)
    assert run("release homes.csv --space homes.toml --epsilon 1 -o found.milepost").code == 0
    assert "ε = 1 for one row replaced by another. This adds" in run("show found.milepost --statement").out
    assert "the bounds of 2 columns by a release of ε = 1 for one row" in run("show found.milepost").out
    assert run(f"release homes.csv {options} --epsilon 1 -o plain.milepost").code == 0
    assert "Bounds" not in run("show plain.milepost --statement").out


def test_bounds_of_another_space_and_relation(
    run: Run,
    released: mp.Synopsis,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And a table that is too small is said to be; without noise, which could show something that is not there."""
    monkeypatch.setattr("milepost.pipeline.find_bounds.laplace", lambda exact, _: exact)
    result = run("bounds homes.csv --columns age --epsilon 0.0001 --space l2 --neighbors add-remove --coverage 0.9")
    assert result.code == 0
    assert "--space l2 --bounds age=" in result.out
    assert "one row added or removed" in result.out
    assert "note: no bounds were found for 'age'" in result.err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("bounds homes.csv --epsilon 1 --space gower", "l1, l2"),
        ("bounds homes.csv --epsilon 1 -o homes.csv", ".toml"),
        ("bounds homes.csv --epsilon 1 -o there.toml", "exists already"),
        ("bounds homes.csv --epsilon 1 --columns height", "no column 'height'"),
        ("bounds homes.csv --epsilon 0", "--epsilon must"),
    ],
)
def test_bounds_refuses_bad_input(run: Run, released: mp.Synopsis, line: str, message: str) -> None:  # noqa: ARG001
    Path("there.toml").write_text("")
    result = run(line)
    assert (result.code, message in result.err) == (2, True)
