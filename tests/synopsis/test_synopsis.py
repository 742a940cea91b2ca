"""Synopsis: answers, files, and what damaged files get."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import safetensors.numpy

import milepost as mp
from milepost.synopsis import file_format
from tests.chance import FALSE_ALARM


@pytest.fixture
def synopsis(homes: pd.DataFrame, city: mp.L1) -> mp.Synopsis:
    return mp.release(homes, city, epsilon=3, delta=1e-6, mechanism="tangents")


@pytest.mark.slow
def test_a_million_unseen_points_lie_within_alpha() -> None:
    """Theorem 2 and Remark 2.1: one release, 10⁶ points nobody announced, all within the promise."""
    rng = np.random.default_rng(0)
    people = rng.beta(2, 3, (2_000_000, 2)) * [1, 2]
    space = mp.L1([(0, 1), (0, 2)])
    release = mp.release(people, space, epsilon=1, delta=1e-6, mechanism="tangents", failure_probability=FALSE_ALARM)
    assert release.error() < 0.05 * space.diameter
    points = rng.random((1_000_000, 2)) * [1, 2]
    exact = sum(_curve(people[:, i], points[:, i]) for i in range(2))
    assert np.abs(release.mean_distance(points) - exact).max() <= release.error()


def _curve(
    values: "np.ndarray[tuple[int], np.dtype[np.float64]]", at: "np.ndarray[tuple[int], np.dtype[np.float64]]"
) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    ordered = np.sort(values)
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    below = np.searchsorted(ordered, at)
    return np.asarray((sums[-1] - 2 * sums[below] + (2 * below - len(ordered)) * at) / len(ordered))


def test_answers_have_the_shape_of_the_question(synopsis: mp.Synopsis) -> None:
    """One point: a float. Points: an array. A frame: a Series with its index, columns found by name."""
    answer = synopsis.mean_distance([2, 3])
    assert isinstance(answer, float)
    answers = synopsis.mean_distance([[2, 3], [5, 5]])
    assert answers.shape == (2,)
    assert answers[0] == answer
    frame = pd.DataFrame({"north": [3.0, 5.0], "name": ["a", "b"], "east": [2.0, 5.0]}, index=[10, 20])
    series = synopsis.mean_distance(frame)
    assert series.index.tolist() == [10, 20]
    np.testing.assert_array_equal(series, answers)
    assert synopsis.mean_distance(frame.loc[10, ["east", "north"]].astype(float)) == answer
    assert synopsis.mean_distance(np.empty((0, 2))).shape == (0,)


@pytest.mark.parametrize(
    ("points", "word"),
    [
        ([1, 2, 3], "2 columns"),
        ([[1], [2]], "2 columns"),
        (5, "2 columns"),
        ([[1, np.nan]], "NaN"),
        ([[1, np.inf]], "finite"),
        ([["a", "b"]], "text"),
        ([[1, 2], [3]], "different lengths"),
        ({"east": 1}, "dict"),
        (pd.DataFrame({"a": [1.0]}), "no column 'east'"),
    ],
)
def test_bad_points_are_refused(synopsis: mp.Synopsis, points: object, word: str) -> None:
    """What was expected, what came."""
    with pytest.raises(mp.MilepostError, match=word):
        synopsis.mean_distance(points)


def test_a_query_outside_is_answered_at_the_border(synopsis: mp.Synopsis) -> None:
    """tangents clips, and says so."""
    with pytest.warns(mp.AccuracyWarning, match="1 of 2 query points"):
        inside, outside = synopsis.mean_distance([[10, 5], [12, 5]])
    assert inside == outside


def test_error_is_a_promise_for_all_queries(synopsis: mp.Synopsis) -> None:
    """Pointwise and uniform are one; more confidence than the release has is refused."""
    assert synopsis.error() == synopsis.error(uniform=True) == synopsis.error(confidence=0.5)
    for confidence in (0.99, 0, 1, np.nan, 2):
        with pytest.raises(mp.MilepostError, match="confidence"):
            synopsis.error(confidence=confidence)


def test_a_file_answers_the_same_in_another_process(synopsis: mp.Synopsis, tmp_path: Path) -> None:
    """Bit for bit."""
    path = tmp_path / "homes.milepost"
    synopsis.save(path)
    code = f"import milepost as mp; print(mp.load({str(path)!r}).mean_distance([[2, 3], [5.1, 5]]).tolist())"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout  # noqa: S603
    assert json.loads(output) == synopsis.mean_distance([[2, 3], [5.1, 5]]).tolist()
    loaded_synopsis = mp.load(path)
    assert loaded_synopsis.card == synopsis.card
    assert loaded_synopsis.error() == synopsis.error()
    assert "Each single row" in loaded_synopsis.statement()
    assert repr(loaded_synopsis) == repr(synopsis)


def test_damaged_files_are_refused(synopsis: mp.Synopsis, tmp_path: Path) -> None:
    """Every kind of damage gets a MilepostError that names the file: cut short, bits flipped, foreign, newer."""
    path = tmp_path / "homes.milepost"
    synopsis.save(path)
    content = path.read_bytes()
    bad_path = tmp_path / "bad.milepost"

    def load_error(replacement: bytes) -> str:
        bad_path.write_bytes(replacement)
        with pytest.raises(mp.MilepostError, match=r"bad\.milepost") as error:
            mp.load(bad_path)
        return str(error.value)

    for length in (0, 4, 8, 100, len(content) // 2, len(content) - 1):
        assert "damaged" in load_error(content[:length])
    rng = np.random.default_rng(0)
    for position in [*range(8), *rng.integers(8, len(content), 60).tolist()]:
        flipped = bytearray(content)
        flipped[position] ^= 1 << int(rng.integers(8))
        load_error(bytes(flipped))
    assert "not a milepost" in load_error(b"east,north\n1,2\n")
    assert "no 'milepost' card" in load_error(safetensors.numpy.save({"x": np.zeros(3)}))
    tensors = synopsis.statistic.tensors()
    file_format.write(bad_path, synopsis.card | {"format": synopsis.card["format"] + 1}, tensors)
    assert "newer" in load_error(bad_path.read_bytes())
    file_format.write(bad_path, {key: value for key, value in synopsis.card.items() if key != "space"}, tensors)
    assert "space" in load_error(bad_path.read_bytes())
    file_format.write(bad_path, synopsis.card | {"mechanism": "magic"}, tensors)
    load_error(bad_path.read_bytes())
    with pytest.raises(mp.MilepostError, match="no file"):
        mp.load(tmp_path / "nowhere.milepost")


def test_a_file_appears_whole_or_not_at_all(synopsis: mp.Synopsis, tmp_path: Path) -> None:
    """A folder that is not there is a clear error, and a failed write leaves nothing behind."""
    with pytest.raises(mp.MilepostError, match="cannot be written"):
        synopsis.save(tmp_path / "missing" / "homes.milepost")
    synopsis.save(tmp_path / "homes.milepost")
    assert [path.name for path in tmp_path.iterdir()] == ["homes.milepost"]


def test_every_released_number_is_an_integer_on_its_lattice(synopsis: mp.Synopsis) -> None:
    """The file holds noisy integers; floats are made from them and the card when it is read."""
    tensors = synopsis.statistic.tensors()
    assert all(tensor.dtype == np.int64 for tensor in tensors.values())
    assert len({len(tensor) for tensor in tensors.values()}) == 1


@pytest.mark.parametrize("columns", [("z", "a"), ("a", "z")])
def test_columns_keep_their_order_in_a_file(columns: tuple[str, str], tmp_path: Path) -> None:
    """Whatever the names are: tensors go by the order of the space."""
    people = np.random.default_rng(0).random((500, 2)) * [1, 10]
    space = mp.L1(dict(zip(columns, [(0, 1), (0, 10)], strict=True)))
    synopsis = mp.release(people, space, epsilon=100, delta=1e-6)
    synopsis.save(tmp_path / "a.milepost")
    loaded_synopsis = mp.load(tmp_path / "a.milepost")
    assert loaded_synopsis.space == space
    assert loaded_synopsis.mean_distance([0.1, 9]) == synopsis.mean_distance([0.1, 9])


@pytest.mark.parametrize(
    ("space", "rows", "rule"),
    [
        (mp.L1([(0, 1)], distance_unit="km"), [[0.5]], "moved to the nearest bound"),
        (mp.L2(center=[0, 0], radius=1, directions=8), [[0.5, 0]], "outside the ball were moved to its border"),
        (mp.GreatCircle((0, 0), 10, directions=8), [[0, 0]], "outside the cap were moved to its border"),
        (mp.Angular(2, directions=8), [[1, 0]], "a vector of zeros counts as the first axis"),
        (mp.Gower([mp.category(["a"])]), [["a"]], "labels that are not listed are `other`"),
        (mp.AnyMetric(mp.edit_distance, 3, ["a"]), ["b"], "count as the diameter"),
    ],
    ids=lambda value: getattr(value, "kind", ""),
)
def test_the_statement_and_the_card_name_the_rule_for_outliers(space: Any, rows: list[Any], rule: str) -> None:
    """What became of private values outside the space, and in which unit errors are; never how many there were."""
    synopsis = mp.release(rows * 2000, space, epsilon=100)
    assert rule.lower() in synopsis.statement().lower()
    assert rule in synopsis.card["outside"]
    assert (f" {space.distance_unit} of the truth" in synopsis.statement()) == bool(space.distance_unit)
