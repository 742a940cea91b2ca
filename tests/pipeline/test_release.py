"""release, interactive and exact: what goes in, and what is refused before anything is spent."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import milepost as mp
from milepost.ingest.batches import batches
from milepost.ingest.column_selection import ColumnSelection
from milepost.privacy import noise
from tests.chance import sure

SETTINGS: dict[str, Callable[..., Any]] = {
    "release": mp.release,
    "interactive": lambda *args, **kwargs: mp.interactive(*args, **{"max_queries": 10} | kwargs),
}


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """No noise may be drawn: what is refused has spent nothing."""

    def never(*_: Any) -> Any:
        pytest.fail("noise was drawn")

    monkeypatch.setattr(noise, "_add", never)


@pytest.mark.usefixtures("silent")
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize(
    ("change", "word"),
    [
        *[({"epsilon": value}, "epsilon") for value in (0, -1, np.nan, np.inf, "one", None)],
        *[({"delta": value}, "delta") for value in (1, 2, -0.1, np.nan)],
        ({"mechanism": "magic"}, "mechanism 'magic'"),
        ({"neighbors": "friends"}, "neighbors"),
        ({"neighbors": "add-remove", "mechanism": "tangents"}, "tangents needs a public number of rows"),
        ({"n": 100}, "n is for tables whose number of rows is private"),
        ({"neighbors": "add-remove", "n": 0}, "n= must be"),
        ({"contributions": 3}, "unit="),
        ({"privacy_unit": "person"}, "'person'"),
        ({"row_weights": "east"}, "max_row_weight"),
        ({"failure_probability": 0}, "failure_probability"),
        ({"failure_probability": 1}, "failure_probability"),
        ({"columns": ["east"]}, "columns"),
        ({"columns": ["east", "south"]}, "columns.*'south'"),
        ({"columns": ["east", "street"]}, "'north' must hold numbers|'street'"),
    ],
)
def test_bad_arguments_are_refused(
    setting: str, change: dict[str, Any], word: str, homes: pd.DataFrame, city: mp.L1
) -> None:
    """The error names the argument, and no noise was drawn."""
    with pytest.raises(mp.MilepostError, match=word):
        SETTINGS[setting](homes, city, **{"epsilon": 1, "delta": 1e-6} | change)


@pytest.mark.usefixtures("silent")
@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize(
    ("data", "word"),
    [
        (np.empty((0, 2)), "empty"),
        (pd.DataFrame({"east": [], "north": []}), "empty"),
        (np.array([[1.0, np.nan]]), "NaN in row 1"),
        (pd.DataFrame({"east": [1.0, None], "north": [1.0, 2.0]}), "'east'.*row 2"),
        (pd.DataFrame({"east": ["a", "b"], "north": [1.0, 2.0]}), "'east' must hold numbers"),
        (pd.DataFrame({"east": [1, "b"], "north": [1.0, 2.0]}), "'east'"),
        (pd.DataFrame({"x": [1.0], "y": [2.0]}), "no column 'east'"),
        (np.array([["a", "b"]]), "text"),
        (np.ones((3, 4)), "2 columns, got an array of shape 3 × 4"),
        (np.ones((2, 2, 2)), "2-D"),
        ([[1, 2], [3]], "different lengths"),
        ("nowhere.csv", "no file"),
        ("table.xlsx", "CSV"),
    ],
)
def test_bad_tables_are_refused(setting: str, data: Any, word: str, city: mp.L1) -> None:
    """What was expected, what came; no noise was drawn."""
    with pytest.raises(mp.MilepostError, match=word):
        SETTINGS[setting](data, city, epsilon=1, delta=1e-6)


@pytest.mark.usefixtures("silent")
@pytest.mark.parametrize("queries", [0, -5, 1.5, None, "ten"])
def test_bad_counts_of_queries_are_refused(queries: Any, homes: pd.DataFrame, city: mp.L1) -> None:
    """max_queries is a whole number of at least 1."""
    with pytest.raises(mp.MilepostError, match="max_queries"):
        mp.interactive(homes, city, epsilon=1, max_queries=queries)


def test_a_quoted_value_never_reaches_an_error(tmp_path: Path, city: mp.L1) -> None:
    """A CSV cell that is no number is refused by column; its text stays private."""
    table = tmp_path / "homes.csv"
    table.write_text("east,north\n1,2\n3,Mrs Miller\n")
    with pytest.raises(mp.MilepostError, match="'north'") as caught:
        mp.release(table, city, epsilon=1)
    assert "Miller" not in str(caught.value)
    assert caught.value.__suppress_context__


@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 1, 100, 1000])
@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.filterwarnings("ignore::milepost.AccuracyWarning")
def test_any_reasonable_epsilon_works(epsilon: float, delta: float) -> None:
    """Tiny and huge ε, one record, one dimension: an answer in range, with an honest error."""
    space = mp.L1([(0, 1)])
    for data in (np.array([[0.25]]), np.full((1000, 1), 0.25)):
        synopsis = mp.release(data, space, epsilon=epsilon, delta=delta)
        session = mp.interactive(data, space, epsilon=epsilon, delta=delta, max_queries=1)
        for value, error in [(synopsis.mean_distance([0.5]), synopsis.error()), session_answer(session)]:
            assert 0 <= value <= 1 + 1e-12
            assert 0 < error <= 1.0001


def session_answer(session: mp.Session) -> tuple[float, float]:
    answer = session.ask([0.5])
    return answer.value, answer.error


def test_a_constant_column_works() -> None:
    """A column in which everybody is equal, and one without width."""
    data = np.column_stack([np.full(300_000, 3.0), np.full(300_000, 7.0)])
    synopsis = mp.release(data, mp.L1([(0, 10), (7, 7)]), epsilon=1, delta=1e-6)
    assert synopsis.mean_distance([8, 7]) == pytest.approx(5, abs=synopsis.error(sure()))


def test_all_ways_to_bring_a_table_agree(tmp_path: Path, homes: pd.DataFrame, city: mp.L1) -> None:
    """Array, frame, Arrow, CSV, by name or position: the same exact answers."""
    path = tmp_path / "homes.csv"
    homes.to_csv(path, index=False)
    array = homes[["east", "north"]].to_numpy()
    points = [[2, 3], [9, 9]]
    expected = np.abs(np.clip(array, 0, 10)[:, None] - np.array(points)).sum(axis=2).mean(axis=0)
    positional = mp.L1([(0, 10), (0, 10)])
    for answer in (
        mp.exact_mean_distance(array, city, points),
        mp.exact_mean_distance(array.tolist(), positional, points),
        mp.exact_mean_distance(homes, city, points),
        mp.exact_mean_distance(homes, positional, points, columns=["east", "north"]),
        mp.exact_mean_distance(homes, positional, points, columns=[3, 1]),
        mp.exact_mean_distance(homes.rename(columns={"east": "x"}), city, points, columns=["x", "north"]),
        mp.exact_mean_distance(pa.Table.from_pandas(homes), city, points),
        mp.exact_mean_distance(path, city, points),
        mp.exact_mean_distance(str(path), city, points, columns=[3, 1]),
    ):
        np.testing.assert_allclose(answer, expected, rtol=1e-12)


def test_the_data_is_left_alone(homes: pd.DataFrame, city: mp.L1) -> None:
    """Clipping and reading happen on copies."""
    before = homes.copy()
    mp.release(homes, city, epsilon=1, delta=1e-6)
    pd.testing.assert_frame_equal(homes, before)
    array = homes[["east", "north"]].to_numpy()
    array_before = array.copy()
    mp.exact_mean_distance(array, city, [1, 1])
    np.testing.assert_array_equal(array, array_before)


def test_values_outside_are_clipped_to_the_bounds() -> None:
    """Infinities too; how many is nobody's business."""
    assert mp.exact_mean_distance(np.array([[np.inf], [-np.inf], [5.0]]), mp.L1([(0, 10)]), [0]) == pytest.approx(5)


def test_a_weak_promise_warns() -> None:
    """When the predicted error exceeds a quarter of the diameter, the user is told what would help."""
    with pytest.warns(mp.AccuracyWarning, match=r"quarter of the diameter.*rows|epsilon"):
        mp.release(np.zeros((10, 1)), mp.L1([(0, 1)]), epsilon=1)


def test_one_record_never_changes_how_others_are_read() -> None:
    """A column of objects is read one by one: the digits of one Decimal do not decide the rounding of another."""
    space = mp.L1({"x": (0, 10)})
    digits = Decimal("0.1000000000000000055511151231257827")
    images = []
    for last in (Decimal("5.0"), Decimal("5.0000000000000000000000001"), 5.0, 5, True):
        frame = pd.DataFrame({"x": pd.Series([digits] * 50 + [last], dtype=object)})
        batch = next(iter(batches(frame, ColumnSelection.of_space(space))))
        images.append(space.quantize(space.read(batch))[:50])
    assert all(np.array_equal(image, images[0]) for image in images)


def test_text_is_refused_even_where_it_looks_like_a_number() -> None:
    """In lists, object arrays and frames alike."""
    space = mp.L1([(0, 1)])
    for data in ([["0.5"]], np.array([["0.5"]], dtype=object), [[0.5], ["0.25"]], pd.DataFrame({"x": [0.5, "0.25"]})):
        with pytest.raises(mp.MilepostError, match="text"):
            mp.release(data, space, epsilon=1)
