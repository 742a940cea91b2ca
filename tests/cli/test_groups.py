"""Groups, people and weights from the command line, and the cards of such releases."""

import csv
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import milepost as mp
from milepost import cli
from milepost.mechanisms.totals import FALSE_DETECTION_RATE
from milepost.privacy.protected_change import WEIGHT_STEPS
from milepost.reporting.description import facts
from tests.chance import assert_close, tries
from tests.commands import Run, runner

SPACE = "--space l1 --bounds spend=0:300 --bounds visits=0:60 --distance-unit points"
MIDDLES = {"budget, plain": (20, 10), "family": (60, 25), "premium": (150, 8)}
LABELS = """--labels '"budget, plain",family,premium,empty' """
GROUPED = f"{SPACE} --epsilon 1 --delta 1e-6 --groups segment {LABELS}"


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with customers.csv and a grouped release of it."""
    folder = tmp_path_factory.mktemp("shop")
    generator, n = np.random.default_rng(5), 12_000
    segments = generator.choice(list(MIDDLES), n, p=[0.5, 0.3, 0.2]).tolist()
    rows = generator.normal([MIDDLES[segment] for segment in segments], [15, 4]).round(2).tolist()
    with (folder / "customers.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["spend", "visits", "segment", "customer_id", "share"])
        writer.writerows(
            [*row, segment, k // 3, 0.5] for k, (row, segment) in enumerate(zip(rows, segments, strict=True))
        )
    for _ in range(tries(FALSE_DETECTION_RATE)):
        with pytest.raises(SystemExit) as stop:
            cli.main(shlex.split(f"release {folder}/customers.csv {GROUPED} --force -o {folder}/groups.milepost"))
        assert not stop.value.code
        if not mp.load(folder / "groups.milepost").group("empty").statistic.total.detectable:
            return folder
    raise AssertionError(f"an empty group looks like one with people at a rate of {FALSE_DETECTION_RATE} only")


@pytest.fixture
def run(shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command line in a folder with links to the customers and their release."""
    monkeypatch.chdir(tmp_path)
    for name in ("customers.csv", "groups.milepost"):
        Path(name).symlink_to(shop / name)
    return runner(capsys)


def test_release_says_that_its_counts_are_noisy(run: Run) -> None:
    result = run(f"release customers.csv {GROUPED} -o new.milepost")
    assert result.code == 0
    match = re.search(r"about ([\d,]+) rows \(noisy\) in 4 groups, l1", result.out)
    assert match is not None
    synopsis = mp.load("new.milepost")
    assert int(match[1].replace(",", "")) == synopsis.n
    assert synopsis.labels == ("budget, plain", "family", "premium", "empty")
    small = not synopsis.group("empty").statistic.total.detectable
    assert result.out.rstrip().endswith("by group, 1 group too small" if small else "by group")


def test_every_role_reaches_the_library(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    params: dict[str, Any] = {}

    def release(*_: Any, **options: Any) -> Any:
        params.update(options)
        raise mp.MilepostError("enough")

    monkeypatch.setattr(mp, "release", release)
    roles = (
        "--neighbors add-remove --privacy-unit customer_id --contributions 3 "
        "--row-weights share --max-row-weight 5 --n 10000"
    )
    assert "enough" in run(f"release customers.csv {GROUPED} {roles} -o new.milepost").err
    expected = {"neighbors": "add-remove", "privacy_unit": "customer_id", "contributions": 3, "row_weights": "share"}
    expected |= {"max_row_weight": 5, "n": 10_000, "groups": "segment"}
    expected["labels"] = ["budget, plain", "family", "premium", "empty"]
    assert {word: params[word] for word in expected} == expected


def test_plan_prints_what_the_library_predicts(run: Run) -> None:
    result = run(f"plan {SPACE} --n 12000 --epsilon 1 --delta 1e-6 --neighbors add-remove --groups 4 --contributions 3")
    space = mp.L1({"spend": (0, 300), "visits": (0, 60)})
    planned = mp.plan(space, n=12_000, epsilon=1, delta=1e-6, neighbors="add-remove", groups=4, contributions=3)
    assert result.code == 0
    assert "in 4 groups" in result.out
    assert "protects the rows, 3 at most, of one person added or removed" in " ".join(result.out.split())
    assert f"{planned.best.error:.3g}" in result.out
    assert "tangents" in result.out


def test_nearest_prints_the_comparison(run: Run) -> None:
    result = run("query groups.milepost --at 25,10 --at 140,9 --nearest")
    family = mp.load("groups.milepost").group("family")
    assert result.code == 0
    rows = [line.rstrip() for line in result.out.splitlines() if "±" in line]
    assert re.search(r" – +budget, plain +[\d.]+ +< 0\.1 %$", rows[0])
    assert re.search(r" – +premium +[\d.]+ +< 0\.1 %$", rows[1])
    assert f"{family.mean_distance([25, 10]):.4g}" in result.out
    assert "to empty (too small)" in result.out
    assert "note: too small to tell from an empty group: 'empty'" in result.err


def test_nearest_is_written_with_its_points(run: Run) -> None:
    Path("new.csv").write_text("visits,spend\n10,25\n9,140\n")
    result = run("query groups.milepost new.csv --nearest -o out.csv --geojson out.geojson")
    assert result.code == 0
    assert result.out.count("2 answers") == 2
    with Path("out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["nearest"] for row in rows] == ["budget, plain", "premium"]
    assert [(row["spend"], row["visits"]) for row in rows] == [("25", "10"), ("140", "9")]
    family = mp.load("groups.milepost").group("family")
    assert [float(row["distance family"]) for row in rows] == list(family.mean_distance([[25, 10], [140, 9]]))
    features = json.loads(Path("out.geojson").read_text())["features"]
    assert [feature["properties"]["nearest"] for feature in features] == ["budget, plain", "premium"]
    assert features[0]["properties"]["distance_unit"] == "points"


def test_group_asks_one_group(run: Run) -> None:
    result = run("query groups.milepost --at 25,10 --group 'budget, plain'")
    value = mp.load("groups.milepost").mean_distance([25, 10], group="budget, plain")
    assert f"{value:.3f}"[:-1] in result.out


def test_groups_with_numbers_for_labels_are_named_by_text(run: Run) -> None:
    rows = np.random.default_rng(0).uniform(0, 60, (2000, 2))
    space = mp.L1({"spend": (0, 300), "visits": (0, 60)})
    mp.release(rows, space, epsilon=1, groups=[1, 2] * 1000, labels=[1, 2]).save("numbers.milepost")
    assert run("query numbers.milepost --at 1,2 --group 2").code == 0
    assert "there is no group '3'" in run("query numbers.milepost --at 1,2 --group 3").err


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "query groups.milepost --at 1,2",
            "Choose one with --group budget, plain, or compare all of them with `milepost query --nearest`",
        ),
        (
            "query groups.milepost --at 1,2 --group rich",
            "there is no group 'rich'; there are 'budget, plain', 'family'",
        ),
        ("query groups.milepost --at 1,2 --group family --nearest", "give one of these"),
        ("query groups.milepost --nearest", "either as a file"),
        ("show groups.milepost --plot map.png", "groups.milepost has groups (budget, plain, family, premium, empty)"),
        ("query plain.milepost --at 1,2 --nearest", "this release has no groups"),
        ("query plain.milepost --at 1,2 --group a", "this release has no groups"),
        (f"release customers.csv {SPACE} --epsilon 1 --groups segment -o new.milepost", "--groups needs --labels A,B"),
        (f"release customers.csv {SPACE} --epsilon 1 --labels a,b -o new.milepost", "which is not given"),
        (f"release customers.csv {SPACE} --epsilon 1 --groups segment --labels a,,b -o new.milepost", "--labels must"),
        (f"release customers.csv {SPACE} --epsilon 1 --groups segment --labels '\"a' -o new.milepost", "--labels must"),
        (f"release customers.csv {SPACE} --epsilon 1 --groups nope --labels a,b -o new.milepost", "'nope'"),
        (
            f"release customers.csv {SPACE} --epsilon 1 --contributions 3 -o new.milepost",
            "bounds the rows of each person",
        ),
        (
            f"release customers.csv {SPACE} --epsilon 1 --row-weights share -o new.milepost",
            "--row-weights needs --max-row-weight",
        ),
        (f"release customers.csv {SPACE} --epsilon 1 --row-weights spend=2 -o new.milepost", "--weights spend=2"),
        (f"release customers.csv {SPACE} --epsilon 1 --n 100 -o new.milepost", "leave it out"),
        (f"release customers.csv {SPACE} --epsilon 1 --neighbors none -o new.milepost", "--neighbors must be one of"),
        (f"release customers.csv {GROUPED} --mechanism tangents -o new.milepost", "tangents"),
        ("plan --space great-circle --distance-unit km --n 10 --epsilon 1", "no --distance-unit"),
    ],
)
def test_bad_input_is_one_line(run: Run, line: str, message: str) -> None:
    rows = np.random.default_rng(0).uniform(0, 60, (2000, 2))
    mp.release(rows, mp.L1({"spend": (0, 300), "visits": (0, 60)}), epsilon=1).save("plain.milepost")
    result = run(line)
    assert (result.code, len(result.err.splitlines()), result.out) == (2, 1, "")
    assert message in result.err
    assert not Path("new.milepost").exists()


def test_show_lists_the_groups(run: Run) -> None:
    facts_by_name = dict(re.split(r"\s{2,}", line, maxsplit=1) for line in run("show groups.milepost").out.splitlines())
    assert re.fullmatch(r"about [\d,]+ \(noisy\)", facts_by_name["rows"])
    assert re.fullmatch(
        r"budget, plain about [\d,]+, family about [\d,]+, premium about [\d,]+, "
        r"empty about \d+ \(too small to tell from empty\)",
        facts_by_name["groups"],
    )
    assert facts_by_name["released"].endswith("total of each group)")
    assert "premium about" in run("show groups.milepost --statement").out


@pytest.mark.slow
def test_show_draws_and_describes_one_group(run: Run) -> None:
    assert run("show groups.milepost --plot family.png --group family").code == 0
    assert Path("family.png").stat().st_size > 1000
    assert "one of 4" in run("show groups.milepost --group family").out


@pytest.fixture(scope="module")
def grouped() -> mp.Synopsis:
    rows = np.random.default_rng(0).uniform(0, 10, (3000, 2))
    return mp.release(rows, mp.L1([(0, 10), (0, 10)]), epsilon=1, groups=["a", "b", 3] * 1000, labels=["a", "b", 3])


@pytest.mark.parametrize(
    "ask",
    [
        lambda synopsis: synopsis.plot(),
        lambda synopsis: synopsis.plot(sites=[[1, 2]]),
        lambda synopsis: synopsis.center(),
        lambda synopsis: synopsis.mean_distance([1, 2]),
        lambda synopsis: synopsis.mean_distance([1], columns=[0]),
        lambda synopsis: synopsis.interval([1, 2]),
        lambda synopsis: synopsis.cdf(0, 1),
        lambda synopsis: synopsis.quantile(0, 0.5),
        lambda synopsis: synopsis.explain([1, 2]),
        lambda synopsis: synopsis.grid(),
        lambda synopsis: synopsis.contours(),
        lambda synopsis: synopsis.sites([[1, 2]]),
    ],
)
def test_a_question_about_no_group_names_the_groups(grouped: mp.Synopsis, ask: Callable[[mp.Synopsis], Any]) -> None:
    with pytest.raises(mp.MilepostError, match="this release has the groups 'a', 'b', 3: name one"):
        ask(grouped)


@pytest.mark.slow
def test_a_notebook_shows_the_card_without_a_picture(grouped: mp.Synopsis) -> None:
    assert "a about" in grouped._repr_html_()
    assert "<img" not in grouped._repr_html_()
    assert "<img" in grouped.group("a")._repr_html_()


def test_large_numbers_are_written_out() -> None:
    rows = np.random.default_rng(0).uniform(0, 1e6, (3000, 1))
    text = str(
        mp.release(rows, mp.L1([(0, 1e6)]), epsilon=0.5, groups=["a", "b"] * 1500, labels=["a", "b"]).compare([[3e5]])
    )
    assert re.search(r"\d{6} ± \d{4,5}", text)
    assert "e+" not in text


def test_labels_of_two_types_compare(grouped: mp.Synopsis) -> None:
    comparison = grouped.compare([[1, 2], [3, 4]])
    assert set(comparison.to_arrow()["nearest"].to_pylist()) <= {"a", "b", "3"}
    assert grouped.nearest([1, 2]) in ("a", "b", 3)
    assert grouped.nearest([1, 2]) == grouped.nearest([[1, 2]])[0]


@pytest.fixture(scope="module")
def releases() -> dict[str, mp.Synopsis]:
    """One of each kind of protection."""
    generator = np.random.default_rng(0)
    rows, people, weights = generator.uniform(0, 10, (3000, 2)), np.arange(3000) // 3, generator.uniform(0, 4, 3000)
    labels = generator.choice(["a", "b", "z"], 3000)
    roles: dict[str, dict[str, Any]] = {
        "plain": {},
        "added": {"neighbors": "add-remove"},
        "people": {"privacy_unit": people, "contributions": 3},
        "singles": {"privacy_unit": people},
        "weighted": {"row_weights": weights, "max_row_weight": 4},
        "grouped": {"groups": labels, "labels": ["a", "b"]},
        "all": {
            "neighbors": "add-remove",
            "privacy_unit": people,
            "contributions": 2,
            "row_weights": weights,
            "max_row_weight": 4,
            "groups": labels,
            "labels": ["a", "b", "other"],
            "n": 2000,
        },
    }
    space = mp.L1([(0, 10), (0, 10)])
    return {name: mp.release(rows, space, epsilon=2, delta=1e-6, **params) for name, params in roles.items()}


@pytest.mark.parametrize(
    ("name", "there", "absent"),
    [
        (
            "plain",
            ["Each single row of the table. A table with one row replaced by another would", "rows, 3,000"],
            ["Private", "Groups", "Weights"],
        ),
        (
            "added",
            ["and whether it is there at all. A table with one row added or removed would", "shows it with noise: "],
            ["rows, 3,000", "Groups", "Weights"],
        ),
        (
            "people",
            [
                "All rows of each single person of the table",
                "the rows, 3 at most, of one person",
                "the limit of 3 rows of one person",
            ],
            ["the number of rows, 3", "Each single row"],
        ),
        ("singles", ["the limit of 1 row of one person", "the number of rows used, 1,000"], ["Private"]),
        ("weighted", ["with its weight", "the largest weight, 4", "0 to 4, rounded to 1,024 steps"], ["Groups"]),
        ("grouped", ["with its group", "the labels of the groups", "not listed were left out"], ["Weights"]),
        (
            "all",
            [
                "with their group and weight, and whether they are there at all. A table with the rows",
                "the labels of the groups, the limit of 2 rows of one person, and the largest weight, 4.",
                "not listed count as other",
            ],
            ["the number of rows, "],
        ),
    ],
)
def test_the_statement_says_who_is_protected(
    releases: dict[str, mp.Synopsis], name: str, there: list[str], absent: list[str]
) -> None:
    text = releases[name].statement()
    for phrase in there:
        assert phrase in text
    for phrase in absent:
        assert phrase not in text
    assert len(text.splitlines()) <= 10


def test_weight_is_shown_in_the_users_unit(releases: dict[str, mp.Synopsis]) -> None:
    """3,000 weights of 2 on average, 70 off at most."""
    weighted = releases["weighted"]
    total = weighted.statistic.total
    match = re.search(r"about ([\d,]+) in all \(noisy\), at most 4 a row", facts(weighted.describe())["weight of rows"])
    assert match is not None
    weight, step = float(match[1].replace(",", "")), 4 / WEIGHT_STEPS
    assert weight == pytest.approx(total.value * step, abs=0.5)
    assert_close(weight, 6000, total.scale * step, law="laplace" if total.pure else "gaussian", slack=70)
    assert f"weight≈{match[1]}" in repr(weighted)
    assert "rows" not in facts(weighted.describe())
    assert f"the weight with noise: {match[1]}." in weighted.statement()


def test_an_exact_number_of_rows_stays_exact(releases: dict[str, mp.Synopsis]) -> None:
    assert facts(releases["plain"].describe())["rows"] == "3,000"
    assert facts(releases["singles"].describe())["rows"] == "1,000, at most 1 of each person"
    assert "n=3,000" in repr(releases["plain"])
    assert "n≈" in repr(releases["added"])


@pytest.mark.slow
def test_a_statement_with_many_groups_is_one_page() -> None:
    rows, labels = np.random.default_rng(0).uniform(0, 1, (400, 1)), list(range(200))
    text = mp.release(rows, mp.L1([(0, 1)]), epsilon=50, groups=labels * 2, labels=labels).statement()
    assert "… (200 in all)" in text
    assert len(text) < 2500
