"""`milepost ask`: a session that a file keeps, from the command line; and charges of `release` and `bounds`."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest

import milepost as mp
from tests.commands import Run, runner

SPACE = "--space l1 --bounds x=0:10 --bounds y=0:10"
BEGIN = f"ask homes.db homes.csv {SPACE} --epsilon 20 --delta 1e-6 --max-queries 50 --mechanism field"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command line in a folder with a private table."""
    monkeypatch.chdir(tmp_path)
    rows = np.random.default_rng(0).uniform(0, 10, (1000, 2))
    lines = [f"{x},{y},{index // 2},{1 + index % 2}" for index, (x, y) in enumerate(rows.tolist())]
    Path("homes.csv").write_text("\n".join(["x,y,who,visits", *lines, ""]))
    return runner(capsys)


def cells(text: str) -> list[list[str]]:
    """The rows of a printed table."""
    return [re.split(r"\s{2,}", line.strip()) for line in text.splitlines() if re.match(r"^\s+\S+\s{2,}\S", line)][1:]


def test_a_session_from_the_shell(run: Run) -> None:
    """Begun by one call, and gone on with by others, which give the same answers for free."""
    first = run(f"{BEGIN} --at 2,3 --at 5,5")
    assert first.code == 0, first.err
    assert "48 of 50 queries left; field, ε = 20, δ = 1e-06, answers within ± " in first.out
    (x, y, distance, error), _ = cells(first.out)
    session = mp.resume("homes.db", "homes.csv")
    answer = session.ask([2, 3])
    assert (x, y) == ("2", "3")
    assert float(distance) == pytest.approx(answer.value, abs=1e-2 * answer.error)
    assert float(error) == pytest.approx(answer.error, rel=0.01)
    again = run("ask homes.db homes.csv --at 2,3 --at 5,5")
    assert again.out == first.out
    assert "47 of 50 queries left" in run("ask homes.db homes.csv --at 1,1").out


def test_beginning_alone_tells_the_state(run: Run) -> None:
    """And so does a later call that asks nothing, with the questions that have names."""
    assert run(BEGIN).out.startswith("50 of 50 queries left; field")
    assert run("ask homes.db homes.csv").out.startswith("50 of 50 queries left; field")
    assert run("ask homes.db homes.csv --at 2,3 --name '[b]centre[/b]' --at 1,1 --name edge").code == 0
    output = run("ask homes.db homes.csv").out
    assert "48 of 50 queries left" in output
    assert [row[:3] for row in cells(output)] == [["[b]centre[/b]", "2", "3"], ["edge", "1", "1"]]


def test_points_and_answers_in_files(run: Run) -> None:
    Path("points.csv").write_text("y,x\n3,2\n5,5\n")
    result = run(f"{BEGIN} points.csv --name a --name b -o answers.csv")
    assert result.out.startswith("wrote answers.csv: 2 answers\n48 of 50 queries left")
    with Path("answers.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    answer = mp.resume("homes.db", "homes.csv").ask([2, 3], name="a")
    assert [row["name"] for row in rows] == ["a", "b"]
    assert [float(rows[0][word]) for word in ("x", "y", "mean_distance", "error")] == [2, 3, answer.value, answer.error]
    assert "exists already" in run("ask homes.db homes.csv --at 1,1 -o answers.csv").err
    for file_name in ("homes.csv", "homes.db"):
        assert "choose another output" in run(f"ask homes.db homes.csv --at 1,1 -o {file_name} --force").err
    assert mp.resume("homes.db", "homes.csv").remaining == 48


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--epsilon 19", "another guarantee"),
        ("--delta 1e-7", "another guarantee"),
        ("--max-queries 51", "another --max-queries"),
        ("--mechanism tangents", "another mechanism"),
        ("--failure-probability 0.01", "another --failure-probability"),
        ("--neighbors add-remove", "another change"),
        ("--privacy-unit who", "another change"),
        ("--row-weights visits --max-row-weight 2", "another change"),
        ("--n 1000", "another n"),
        ("--space l1 --bounds x=0:10 --bounds y=0:11", "another space"),
        ("--bounds x=0:10", "give --space too"),
        ("--columns y,x", "another table"),
    ],
)
def test_what_contradicts_the_session_is_refused(run: Run, options: str, message: str) -> None:
    assert run(BEGIN).code == 0
    result = run(f"ask homes.db homes.csv --at 1,1 {options}")
    assert (result.code, message in result.err) == (2, True), result.err
    assert "50 of 50" in run("ask homes.db homes.csv").out
    assert run(f"{BEGIN} --neighbors replace --contributions 1 --failure-probability 0.05").code == 0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("ask homes.db homes.csv --at 1,1", "no session yet; to begin one, give --space, --epsilon, --max-queries too"),
        (f"ask homes.db homes.csv {SPACE} --epsilon 1", "give --max-queries too"),
        (f"{BEGIN} --at 1,1 points.csv", "either as a file"),
        (f"{BEGIN} --at 1,1 --name a --name b", "once for each point, got 2 names for 1 points"),
        (f"{BEGIN} --at 1", "2 numbers"),
        (f"{BEGIN} --ledger ledger.db", "--ledger was given without --dataset."),
        (BEGIN.replace("homes.csv", "nowhere.csv"), "no file"),
        (BEGIN.replace("homes.db", "homes.csv"), "not a session store"),
    ],
)
def test_bad_words_begin_nothing(run: Run, line: str, message: str) -> None:
    result = run(line)
    assert (result.code, message in result.err) == (2, True), result.err
    assert "has no session yet" in run("ask homes.db homes.csv").err


@pytest.mark.parametrize(
    ("begin", "later"),
    [
        ("--privacy-unit who --contributions 2", ""),
        ("--row-weights visits --max-row-weight 2", "--row-weights visits"),
        ("--neighbors add-remove --n 900", ""),
        ("--mechanism slopes --columns y,x", "--columns y,x"),
    ],
)
def test_people_and_weights(run: Run, begin: str, later: str) -> None:
    first = run(f"{BEGIN} {begin} --at 2,3")
    assert first.code == 0, first.err
    again = run(f"ask homes.db homes.csv {later} --at 2,3")
    assert (again.code, again.out) == (0, first.out), again.err
    if "slopes" in begin:
        assert "any number of queries left; slopes" in again.out


def test_the_ledger_is_charged_once(run: Run) -> None:
    """By ask, release and bounds; refused beyond the cap before anything is read."""
    assert run("ledger create ledger.db homes --epsilon 40 --delta 1e-6").code == 0
    charged = "--ledger ledger.db --dataset homes"
    for _ in range(2):
        assert run(f"{BEGIN} {charged} --at 1,1").code == 0
    assert run(f"release homes.csv {SPACE} --epsilon 1 --delta 1e-6 -o homes.milepost {charged}").code == 0
    assert run(f"bounds homes.csv --columns x,y --epsilon 0.5 {charged}").code == 0
    assert [entry.what for entry in mp.Ledger("ledger.db").history("homes")] == ["field", "auto", "bounds"]
    for line in (
        f"{BEGIN.replace('homes.db', 'other.db')} --epsilon 40 {charged}",
        f"release homes.csv {SPACE} --epsilon 39 --delta 1e-6 -o other.milepost {charged}",
        f"bounds homes.csv --epsilon 40 {charged}",
    ):
        assert "does not allow" in run(line).err
    assert not Path("other.milepost").exists()
