"""`milepost columns`, and what `milepost difference` and `milepost drift` say about groups, folders and other files."""

import json
from pathlib import Path

import numpy as np
import pytest

import milepost as mp
from milepost.answers.column_estimates import column_estimates, share_estimate
from milepost.answers.cumulative_shares import MAX_POINTS, cumulative_shares
from tests.commands import Run, runner

SPACE = mp.L1({"age": (0, 100), "visits": (0, 40)}, step={"visits": 1})
MIXED = mp.Gower({"age": mp.number(0, 100, step=1), "plan": mp.category(["basic", "plus"]), "member": mp.flag()})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Releases, made once."""
    path = tmp_path_factory.mktemp("made")
    people = np.random.default_rng(3).normal((40, 10), (12, 4), (4_000, 2))
    rows = [(age, ("basic", "plus")[k % 2], k % 4 == 0) for k, age in enumerate(people[:, 0].clip(0, 100))]
    sides = ["north", "south"]
    releases = {
        "homes": mp.release(people, SPACE, epsilon=50, delta=1e-6),
        "later": mp.release(people + 5, SPACE, epsilon=50, delta=1e-6),
        "patients": mp.release(rows, MIXED, epsilon=50, delta=1e-6),
        "fewer": mp.release([(age, "plus", False) for age, *_ in rows], MIXED, epsilon=50, delta=1e-6),
        "districts": mp.release(people, SPACE, epsilon=50, delta=1e-6, groups=sides * 2_000, labels=sides),
        "words": mp.release(["ab", "ba"] * 50, mp.Hamming(["ab"] * 2), epsilon=50, delta=1e-6),
        "plane": mp.release(people, mp.L2([(0, 100), (0, 40)], directions=16), epsilon=50, delta=1e-6),
        "given": mp.release(people, SPACE, epsilon=5, queries=[[40, 10], [50, 12]], mechanism="laplace"),
    }
    for name, synopsis in releases.items():
        synopsis.save(path / f"{name}.milepost")
    (path / "weeks").mkdir()
    for name in ("homes", "later"):
        releases[name].save(path / "weeks" / f"{name}.milepost")
    (path / "weeks" / "readme.txt").write_text("no release")
    (path / "empty").mkdir()
    return path


@pytest.fixture
def run(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(folder)
    return runner(capsys)


def test_all_columns(run: Run, folder: Path) -> None:
    out = run("columns homes.milepost").out
    lines = [line.split() for line in out.splitlines() if line.startswith(("  age", "  visits"))]
    names = [["age", "mean"], ["age", "variance"], ["age", "standard"], ["visits", "mean"]]
    assert [line[:2] for line in lines][:4] == names
    synopsis = mp.load(folder / "homes.milepost")
    assert float(lines[0][2]) == pytest.approx(synopsis.mean("age").value, abs=0.01)
    assert float(lines[2][3]) == pytest.approx(synopsis.variance("age").value ** 0.5, abs=0.01)
    assert "95 % confidence" in out


def test_labels_and_flags(run: Run, folder: Path) -> None:
    rows = json.loads(run("columns patients.milepost --json").out)
    assert [(row["column"], row["statistic"], row["label"]) for row in rows] == [
        ("age", "mean", None),
        ("age", "variance", None),
        *(("plan", "share", label) for label in ("basic", "plus", "other")),
        ("member", "mean", None),
        ("member", "variance", None),
    ]
    expected = mp.load(folder / "patients.milepost").share("plan", "plus")
    assert {name: rows[3][name] for name in ("value", "low", "high", "confidence")} == expected.to_json()
    letters = json.loads(run("columns words.milepost 1 --json").out)
    assert [(row["column"], row["label"]) for row in letters] == [("1", "a"), ("1", "b"), ("1", "other")]


def test_shares(run: Run, folder: Path) -> None:
    rows = json.loads(
        run("columns patients.milepost --share-of age=18:65 --share-of age=30: --share-of plan=basic --json").out
    )
    synopsis = mp.load(folder / "patients.milepost")
    assert [row["between"] for row in rows] == [[18, 65], [30, None], None]
    assert rows[0]["value"] == synopsis.share("age", 18, 65).value
    assert rows[1]["value"] == synopsis.share("age", 30, np.inf).value
    assert rows[2]["value"] == synopsis.share("plan", "basic").value
    out = run(
        "columns patients.milepost age --share-of age=18:65 --share-of age=:30 --share-of age=: --confidence 0.5"
    ).out
    for text in ("mean", "share from 18 to 65", "share of 30 or less", "share of all", "50 % confidence"):
        assert text in out, text


def test_groups_are_all_listed_or_one(run: Run, folder: Path) -> None:
    rows = json.loads(run("columns districts.milepost age --json").out)
    assert [(row["group"], row["statistic"]) for row in rows] == [
        (group, statistic) for group in ("north", "south") for statistic in ("mean", "variance")
    ]
    assert rows[2]["value"] == mp.load(folder / "districts.milepost").mean("age", group="south").value
    assert "south" not in run("columns districts.milepost age --group north").out


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("columns plane.milepost", "such as --space l1 or --space gower"),
        ("columns given.milepost", "release with one of slopes, hats"),
        ("columns homes.milepost height", "the space has no column 'height'; it has age, visits"),
        ("columns homes.milepost --share-of height=1:2", "the space has no column 'height'"),
        ("columns homes.milepost --share-of age", "--share-of must be name=low:high or name=label, got 'age'"),
        ("columns homes.milepost --share-of age=old", "column 'age' has numbers: --share-of must be age=low:high"),
        ("columns homes.milepost --share-of age=60:20", "low must not be above high"),
        ("columns patients.milepost --share-of plan=gold", "no label 'gold'; it has basic, plus, other"),
        ("columns homes.milepost --confidence 1", "confidence must lie strictly between 0 and 1"),
        ("columns districts.milepost --group east", "there is no group 'east'"),
        ("columns nothing.milepost", "there is no file nothing.milepost"),
        ("difference homes.milepost districts.milepost", "with --groups A,B"),
        ("difference districts.milepost --groups north", "--groups must name two groups"),
        ("difference districts.milepost --groups north,east", "there is no group 'east'"),
        ("difference homes.milepost weeks/readme.txt --groups ,x", "has no group 'x'"),
        ("difference homes.milepost plane.milepost", "'homes' and 'plane' must have the same space"),
        ("difference given.milepost given.milepost", "with --mechanism slopes, which needs delta above 0"),
        ("difference weeks/readme.txt weeks/readme.txt", "with `milepost release`"),
        ("drift homes.milepost", "found none besides homes.milepost"),
        ("drift empty", "found none that ends in .milepost"),
        ("drift nothing", "there is no file nothing"),
        ("drift districts.milepost districts.milepost", "Choose one with --group north"),
    ],
)
def test_errors_are_in_words_of_the_command_line(run: Run, line: str, message: str) -> None:
    result = run(line)
    assert result.code == 2
    assert message in result.err
    assert "mp." not in result.err


def test_groups_of_files_are_compared(run: Run) -> None:
    names = {
        "difference districts.milepost --groups north,south": ["north", "south"],
        "difference districts.milepost districts.milepost --groups north,north": ["districts: north"] * 2,
        "difference homes.milepost districts.milepost --groups ,south": ["homes", "districts: south"],
    }
    for line, expected in names.items():
        assert json.loads(run(f"{line} --json").out)["names"] == expected
    assert "districts" in run("drift districts.milepost districts.milepost --group south").out


def test_a_folder_stands_for_its_released_files(run: Run) -> None:
    lines = [line.split() for line in run("drift weeks").out.splitlines() if line.strip()]
    assert lines[0][:3] == ["release", "compared", "to"]
    assert [line[:2] for line in lines[2:]] == [["later", "homes"]]


def test_pictures_show_what_differs(folder: Path) -> None:
    """Labels have no curves, and curves of many cells have few points."""
    patients, fewer, homes, later = (
        mp.load(folder / f"{name}.milepost") for name in ("patients", "fewer", "homes", "later")
    )
    by_labels = mp.difference(patients, fewer)
    assert cumulative_shares(by_labels.tables, 4) == []
    assert next(label.get_text() for label in by_labels.plot().axes[0].get_yticklabels()) == "plan"
    curves = cumulative_shares(mp.difference(homes, later).tables, 4)
    assert {curve.name for curve in curves} == {"age", "visits"}
    for curve in curves:
        assert len(curve.positions) == len(curve.left) == len(curve.right) <= MAX_POINTS
        assert np.diff(curve.positions).min() > 0
        assert all(np.diff(shares).min() >= 0 for shares in (curve.left, curve.right))


def test_labels_of_other_columns_are_refused(folder: Path) -> None:
    synopsis = mp.load(folder / "patients.milepost")
    with pytest.raises(mp.MilepostError, match="column 'age' has no label 'x'; it has numbers"):
        share_estimate(synopsis, "age", None, None, "x", 0.95)
    assert column_estimates(synopsis, [1], 0.95)[0].question == "share of basic"
