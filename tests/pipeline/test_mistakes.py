"""Typical mistakes: the error says what was expected, what came and what to do, and no budget is spent."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import milepost as mp
from milepost._validation import did_you_mean

FRAME = pd.DataFrame({"id": range(40), "x": [1.0, 2.0] * 20, "y": [3.0, 4.0] * 20, "g": ["a", "b"] * 20})
SPACE = mp.L1({"x": (0, 10), "y": (0, 10)})
PLAIN = mp.L1([(0, 10), (0, 10)])
CAP = mp.GreatCircle(center=(52.5, 13.4), radius_km=30)
mp_: Any = mp  # wrong calls are what is tried here


def release(**params: Any) -> Any:
    return mp_.release(**{"data": FRAME, "space": SPACE, "epsilon": 1, "delta": 1e-6} | params)


CALLS: list[tuple[Callable[[], Any], str]] = [
    (lambda: mp_.release(FRAME, SPACE, eps=1), r"release\(\) got an unexpected keyword argument 'eps'"),
    (lambda: mp_.release(FRAME, SPACE), r"release\(\) missing 1 required keyword-only argument: 'epsilon'"),
    (lambda: mp_.release(FRAME, epsilon=1), r"release\(\) missing 1 required positional argument: 'space'"),
    (lambda: mp_.release(FRAME, SPACE, 1, 1e-6), "takes 2 positional arguments"),
    (lambda: mp_.plan(SPACE, epsilon=1), "missing 1 required .*: 'n'"),
    (lambda: mp_.interactive(FRAME, SPACE, epsilon=1), "missing 1 required .*: 'max_queries'"),
    (mp_.L1, "missing 1 required .*: 'bounds'"),
    (lambda: mp_.Lp([(0, 1)], p=1.5), "multiple values for argument 'p'"),
    (lambda: mp_.GreatCircle(center=(52, 13), radius=3), "unexpected keyword argument 'radius'"),
    (lambda: mp_.AnyMetric(mp.edit_distance, diameter=8), "missing 1 required .*: 'queries'"),
]

VALUES: list[tuple[Callable[[], Any], str]] = [
    (
        lambda: mp_.release(SPACE, FRAME, epsilon=1),
        r"space must be .*mp\.L1.* got a DataFrame; the order is mp\.release",
    ),
    (lambda: release(space=[(0, 10), (0, 10)]), r"space must be .*mp\.L1.* got a list"),
    (lambda: release(space=mp.L1), "got the class L1"),
    (lambda: mp_.plan(FRAME, n=10, epsilon=1), "got a DataFrame"),
    (lambda: mp_.exact_mean_distance(FRAME, FRAME, [1, 2]), "got a DataFrame"),
    (lambda: release(epsilon="1"), "epsilon= must be a number, got '1'"),
    (lambda: release(delta=2), "delta= must be at least 0 and less than 1, got 2"),
    (lambda: release(mechanism="slope"), "choose from auto, slopes.*; did you mean 'slopes'"),
    (lambda: release(mechanism="Gauss"), "did you mean 'gaussian'"),
    (lambda: release(neighbors="add_remove"), "did you mean 'add-remove'"),
    (lambda: release(queries=100), "queries must be a list of points, got 100; max_queries= of mp.interactive"),
    (lambda: release(ledger="ledger.db", dataset="homes"), r"ledger= must be an mp\.Ledger, got 'ledger\.db'"),
    (lambda: release(data=None), "data must be a 2-D array, .* got NoneType"),
    (lambda: release(data={"x": [1.0], "y": [2.0]}), r"got dict; make a frame of it, pd\.DataFrame\(data\)"),
    (lambda: release(data="nowhere.csv"), r"there is no file nowhere\.csv"),
    (lambda: release(data=FRAME.rename(columns={"x": "X"})), r"no column 'x'; it has id, X, y, g\. Rename .*columns="),
    (lambda: release(data=FRAME, space=PLAIN), r"the table has 4 columns \(id, x, y, g\); name .* columns="),
    (lambda: release(data=FRAME.assign(x="1")), "column 'x' must hold numbers, got .*string; convert it"),
    (lambda: mp_.plan(SPACE, n=1e5, epsilon=1), "whole number of rows .* got 100000.0; write 100_000"),
    (lambda: mp_.interactive(FRAME, SPACE, epsilon=1, max_queries=1e3), "max_queries must be a whole number"),
    (lambda: mp.L1([(10, 0)]), r"reversed: low 10 is above high 0; write \(0, 10\)"),
    (lambda: mp.L1((0, 10)), r"pair of numbers \(low, high\), got 0; bounds of one column .*\[\(0, 10\)\]"),
    (lambda: mp.GreatCircle(center=(-122.4, 37.8), radius_km=9), r"if that is \(lon, lat\), write \(37\.8, -122\.4\)"),
]


@pytest.mark.parametrize(("call", "message"), CALLS)
def test_a_call_that_python_refuses_names_the_argument(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        call()


@pytest.mark.parametrize(("call", "message"), VALUES)
def test_a_value_that_is_refused_says_what_is_expected(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(mp.MilepostError, match=message):
        call()


@pytest.fixture(scope="module")
def synopsis() -> mp.Synopsis:
    return mp.release(FRAME, SPACE, epsilon=1000)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        (1, "points with 2 columns, got one value alone"),
        ([1, 2, 3], "points with 2 columns, got an array of shape 1 × 3"),
        ("1,2", "must be numbers, got text .*; convert"),
        ([["1", "2"]], r"must be numbers, got text .*; convert them, such as by astype\(float\)"),
        (None, "got None; a point is a list, in the order x, y"),
        ({"x": 1, "y": 2}, "got a dict; a point is a list, in the order x, y"),
        ([{"x": 1, "y": 2}], r"got dicts; make a frame, pd\.DataFrame\(points\)"),
        (pd.DataFrame({"a": [1.0], "b": [2.0]}), "no column 'x'; it has a, b. Rename them"),
    ],
)
def test_a_question_that_is_refused_says_how_to_ask(points: Any, message: str, synopsis: mp.Synopsis) -> None:
    with pytest.raises(mp.MilepostError, match=message):
        synopsis.mean_distance(points)


def test_a_file_is_saved_where_there_is_a_folder(synopsis: mp.Synopsis, tmp_path: Path) -> None:
    with pytest.raises(mp.MilepostError, match=r"there is no folder .*nowhere"):
        synopsis.save(tmp_path / "nowhere" / "homes.milepost")
    with pytest.raises(mp.MilepostError, match="is a folder; give the name of a file"):
        synopsis.save(tmp_path)
    with pytest.raises(mp.MilepostError, match="is a folder; give the name of a file"):
        synopsis.save(".")


def test_places_the_other_way_around() -> None:
    """Only where all of them would be in the cap so."""
    with pytest.warns(
        mp.AccuracyWarning, match=r"outside the cap but inside as \(lon, lat\): milepost takes \(lat, lon"
    ):
        CAP.read_queries(np.array([[13.4, 52.5], [13.3, 52.4]]))
    CAP.read_queries(np.array([[13.4, 52.5], [52.5, 13.4]]))  # warnings are errors here
    CAP.read_queries(np.empty((0, 2)))


def test_no_mistake_costs_anything(tmp_path: Path) -> None:
    """Those that are seen before the table is read, and those that are seen in it."""
    ledger = mp.Ledger(tmp_path / "ledger.db")
    ledger.create("homes", epsilon=3, delta=1e-5)
    mistakes: list[dict[str, Any]] = [
        {"mechanism": "slope"},
        {"columns": ["x", "z"]},
        {"groups": "h", "labels": ["a"]},
        {"groups": ["a"], "labels": ["a"]},
        {"row_weights": "g", "max_row_weight": 2},
        {"data": FRAME.assign(x="1")},
        {"data": FRAME.assign(x=np.nan)},
        {"data": FRAME.head(0)},
        {"data": "nowhere.csv"},
        {"queries": 100},
        {"space": FRAME},
    ]
    for params in mistakes:
        with pytest.raises(mp.MilepostError):
            release(**{"ledger": ledger, "dataset": "homes"} | params)
    assert ledger.spent("homes").nano == 0


def test_what_was_meant() -> None:
    assert did_you_mean("Add_Remove", ["replace", "add-remove"]) == "; did you mean 'add-remove'?"
    assert did_you_mean("magic", ["replace", "add-remove"]) == ""
