"""A synopsis as a column of a Spark frame."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import milepost as mp
from milepost.spark import mean_distance

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]

WORDS = ["colour", "color", "kolor", "collar"]
SPACES: dict[str, tuple[Any, list[str]]] = {
    "l2": (mp.L2({"x": (0, 10), "y": (-20, 20)}), ["x", "y"]),
    "great-circle": (mp.GreatCircle((52.5, 13.4), radius_km=40), ["latitude", "lon"]),
    "gower": (
        mp.Gower({"x": mp.number(0, 10), "kind": mp.category(["a", "b", "c"]), "on": mp.flag()}),
        ["x", "kind", "on"],
    ),
    "any": (mp.AnyMetric(mp.edit_distance, diameter=8, queries=WORDS), ["word"]),
}


def column_values(frame: Any, column: Any) -> Any:
    return frame.select(column.alias("d")).toArrow().column("d")


@pytest.mark.parametrize("kind", SPACES)
def test_a_column_has_the_floats_of_the_synopsis(kind: str, people: pa.Table, frame: Any) -> None:
    space, columns = SPACES[kind]
    synopsis = mp.release(people, space, epsilon=8, columns=columns, groups="city", labels=["Bonn", "Ulm"])
    answers = column_values(frame.coalesce(1).sort("person", "x"), mean_distance(synopsis, *columns, group="Ulm"))
    ordered = people.sort_by([("person", "ascending"), ("x", "ascending")]).select(columns)
    assert np.array_equal(np.array(answers), synopsis.mean_distance(ordered, group="Ulm"))


def test_null_and_nan_give_null(spark: Any, people: pa.Table) -> None:
    """As Spark's own functions do; the space names the columns."""
    synopsis = mp.release(people, SPACES["l2"][0], epsilon=8)
    frame = spark.createDataFrame([(1.0, 2.0), (None, 2.0), (float("nan"), 2.0), (5.0, None)], "x double, y double")
    answers = column_values(frame.coalesce(1), mean_distance(synopsis)).to_pylist()
    assert answers == [synopsis.mean_distance([1, 2]), None, None, None]
    assert column_values(frame.where("y > 99"), mean_distance(synopsis)).to_pylist() == []


def test_columns_that_do_not_fit_are_refused_at_once(people: pa.Table) -> None:
    plain = mp.release(people, SPACES["l2"][0], epsilon=8)
    grouped = mp.release(people, SPACES["l2"][0], epsilon=8, groups="city", labels=["Bonn"])
    word_synopsis = mp.release(people, SPACES["any"][0], epsilon=8, columns="word")
    calls: list[tuple[Callable[[], Any], str]] = [
        (lambda: mean_distance(plain, "x"), r"expected 2 columns \(x, y\), got 1"),
        (lambda: mean_distance(grouped, "x", "y"), "name one with group"),
        (lambda: mean_distance(plain, "x", "y", group="Bonn"), "no groups"),
        (lambda: mean_distance(word_synopsis), "expected the columns of a query"),
    ]
    for call, reason in calls:
        with pytest.raises(mp.MilepostError, match=reason):
            call()
