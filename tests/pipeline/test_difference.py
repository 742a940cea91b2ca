"""difference and drift: what they take, what they refuse, and what they print."""

import json
from pathlib import Path

import numpy as np
import pytest

import milepost as mp
from tests.commands import Run, runner

SPACE = mp.L1({"age": (0, 100), "visits": (0, 40)}, distance_unit="years")
GENERATOR = np.random.default_rng(2)
TABLES = [GENERATOR.normal((age, 10), (10, 4), (2_000, 2)) for age in (40, 40, 60)]


@pytest.fixture(scope="module")
def releases() -> list[mp.Synopsis]:
    return [mp.release(table, SPACE, epsilon=50, delta=1e-6) for table in TABLES]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    return runner(capsys)


def test_a_shift_is_found_in_its_column(releases: list[mp.Synopsis]) -> None:
    difference = mp.difference(releases[0], releases[2], names=("spring", "autumn"))
    assert difference.p_tables < 0.001
    assert difference.p_population < 1e-6
    assert isinstance(difference.shares, dict)
    assert difference.shares["age"] > 0.99
    assert difference.low < difference.value < difference.high
    assert float(difference) == difference.value
    assert "spring" in str(difference)
    assert "age 100 %" in str(difference)
    assert "spring" in difference._repr_html_()


def test_a_public_table_has_no_noise_of_its_own(releases: list[mp.Synopsis]) -> None:
    same, other = (mp.difference(releases[0], table) for table in (TABLES[0], TABLES[2]))
    assert same.high < other.low
    assert same.sizes == (2_000, 2_000)


def test_files_are_read_by_their_names(releases: list[mp.Synopsis], tmp_path: Path) -> None:
    paths = [tmp_path / "old.milepost", tmp_path / "new.milepost"]
    for release, path in zip((releases[0], releases[2]), paths, strict=True):
        release.save(path)
    assert mp.difference(*paths).value == mp.difference(releases[0], releases[2]).value
    assert mp.drift([str(path) for path in paths]).labels == ("old", "new")


def test_releases_with_more_directions_are_brought_to_what_they_share() -> None:
    few, many = (mp.L2([(0, 1)] * 2, directions=count) for count in (32, 128))
    rows = GENERATOR.random((2_000, 2))
    left, right = (mp.release(rows, space, epsilon=500, delta=1e-6) for space in (few, many))
    difference = mp.difference(left, right)
    assert len(difference.parts) == left.space.embedding.dimension < right.space.embedding.dimension
    assert difference.value < 1e-3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda _: mp.difference([[1.0, 2.0]], [[1.0, 2.0]]), "got two tables"),
        (lambda a: mp.difference(a, a, names=("one",)), "two names"),
        (lambda a: mp.difference(a, a, confidence=1.5), "confidence"),
        (lambda a: mp.difference(a, [[1.0, float("nan")]]), "NaN"),
        (lambda a: mp.difference(a, [[1.0]]), "2"),
        (lambda a: mp.drift([a]), "two releases or more"),
        (lambda a: mp.drift([a, a], labels=["x"]), "got 1 labels"),
        (lambda _: mp.drift("folder"), "list of two"),
    ],
)
def test_bad_input_is_refused(releases: list[mp.Synopsis], make: object, message: str) -> None:
    assert callable(make)
    with pytest.raises(mp.MilepostError, match=message):
        make(releases[0])


def test_other_spaces_are_refused_with_what_differs(releases: list[mp.Synopsis]) -> None:
    other = mp.release(TABLES[0], mp.L1({"age": (0, 90), "visits": (0, 40)}), epsilon=1)
    with pytest.raises(mp.MilepostError, match=r"bounds: .*90.*distance_unit"):
        mp.difference(releases[0], other)


def test_releases_without_shares_are_refused_with_a_remedy() -> None:
    rows = GENERATOR.random((1_000, 2))
    quadtree = mp.release(rows, mp.L2([(0, 1)] * 2), epsilon=5, mechanism="quadtree")
    given = mp.release(rows, mp.L1([(0, 1)] * 2), epsilon=5, queries=[[0.5, 0.5]], mechanism="laplace")
    for synopsis in (quadtree, given):
        with pytest.raises(mp.MilepostError, match="mechanism='slopes'"):
            mp.difference(synopsis, synopsis)
        with pytest.raises(mp.MilepostError, match="mechanism='slopes'"):
            mp.difference(synopsis, rows)


def test_groups_are_named() -> None:
    synopsis = mp.release(
        TABLES[0], SPACE, epsilon=50, delta=1e-6, groups=["a", "b"] * 1_000, labels=["a", "b", "none"], n=2_000
    )
    assert mp.difference(synopsis.group("a"), synopsis.group("b")).p_population > 1e-9
    with pytest.raises(mp.MilepostError, match="group"):
        mp.difference(synopsis, synopsis.group("a"))


def test_drift_has_a_row_for_each_later_release(releases: list[mp.Synopsis]) -> None:
    drift = mp.drift(releases, labels=["one", "two", "three"])
    assert [difference.names for difference in drift.to_previous] == [("one", "two"), ("two", "three")]
    assert drift.to_arrow().num_rows == 2
    assert "three" in str(drift)
    assert drift.to_first[1].low > drift.to_first[0].high


def test_pictures(releases: list[mp.Synopsis]) -> None:
    difference = mp.difference(releases[0], releases[2])
    assert difference.plot().axes[0].get_xlabel() == "age"  # a map of two columns
    drift = mp.drift(releases)
    assert [tick.get_text() for tick in drift.plot().axes[0].get_xticklabels()] == ["2", "3"]
    line = mp.L1({"age": (0, 100)})
    sides = [mp.release(table[:, :1], line, epsilon=50) for table in TABLES[:2]]
    assert mp.difference(*sides).plot().axes[0].get_ylabel() == "share at or below"
    words = mp.Hamming(["abcd"] * 3)
    texts = [mp.release(["abc", "abd"] * 500, words, epsilon=50) for _ in range(2)]
    assert mp.difference(*texts).plot().axes[0].get_xlabel() == "part of the energy distance"


def test_the_command_line(releases: list[mp.Synopsis], run: Run) -> None:
    Path("weeks").mkdir()
    for name, release in zip("abc", releases, strict=True):
        release.save(f"weeks/{name}.milepost")
    np.savetxt("public.csv", TABLES[0], delimiter=",", header="age,visits", comments="", fmt="%.6g")
    assert "energy distance" in run("difference weeks/a.milepost weeks/c.milepost --plot map.png").out
    assert Path("map.png").stat().st_size > 0
    assert json.loads(run("difference weeks/a.milepost public.csv --json").out)["names"] == ["a", "public"]
    assert "a" in run("drift weeks --plot drift.png").out
    assert len(json.loads(run("drift weeks/a.milepost weeks/b.milepost --json").out)) == 1
    assert "second file" in run("difference weeks/a.milepost").err
    assert "two groups" in run("difference weeks/a.milepost --groups x").err
    assert "found none besides weeks/a.milepost" in run("drift weeks/a.milepost").err
