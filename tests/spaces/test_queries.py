"""Queries at the border of a space: rounding leaves them inside, and a warning counts those that lie outside."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import milepost as mp
from milepost._typing import AnyArray
from milepost.spaces.queries import BORDER, move_inside
from milepost.spaces.registry import space_from_json
from tests.mechanisms.contract import silent
from tests.spaces.test_angular import run

GUARANTEE: dict[str, Any] = {"epsilon": 900, "delta": 1e-6}
widths = pytest.mark.parametrize("width", [2, 3, 8, 64, 384])


def unit_ball(width: int) -> mp.L2:
    return mp.L2(center=[0] * width, radius=1, directions=64)


def unit_vectors(width: int, count: int = 60) -> AnyArray:
    """Return vectors as models write them: float32, divided by their own length; some are longer than 1."""
    vectors = np.random.default_rng(width).standard_normal((count, width)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    assert (lengths > 1).any()
    assert np.abs(lengths - 1).max() < 1e-6
    return vectors


@widths
@pytest.mark.parametrize("mechanism", ["slopes", "hats", "gaussian", "laplace", "net", "field"])
def test_float32_unit_vectors_are_inside_the_unit_ball(width: int, mechanism: str) -> None:
    """As records and as queries: no warning, no refusal, and the answers of the same vectors, just inside."""
    space, vectors = unit_ball(width), unit_vectors(width)
    records, queries = np.repeat(vectors, 100, axis=0), vectors[:12]
    given: dict[str, Any] = {} if mechanism in ("slopes", "hats") else {"queries": queries}
    synopsis = mp.release(records, space, mechanism=mechanism, **given, **GUARANTEE)
    values = synopsis.mean_distance(queries)
    inside = space.clip_points(queries.astype(np.float64))
    assert values == pytest.approx(synopsis.mean_distance(inside), abs=2e-6)
    low, high = synopsis.interval(queries)
    assert np.all((low <= values) & (values <= high))
    exact = [mp.exact_mean_distance(records, space, points) for points in (queries, inside)]
    assert exact[0] == pytest.approx(exact[1], abs=2e-6)


@widths
def test_float32_unit_vectors_are_planned_and_asked_about(width: int) -> None:
    space, vectors = unit_ball(width), unit_vectors(width)
    mp.plan(space, n=1000, queries=vectors, **GUARANTEE)
    for mechanism in ("field", "slopes"):
        session = mp.interactive(
            np.repeat(vectors, 100, axis=0), space, mechanism=mechanism, max_queries=99, **GUARANTEE
        )
        answers = [session.ask(vectors[0]), *session.ask_many(vectors)]
        assert len(answers) == 61
        with silent():  # the same point, moved inside or not, is asked about once
            again = session.ask(space.clip_points(vectors[:1].astype(np.float64))[0])
        if mechanism == "field":
            assert again.value == answers[0].value


def beyond(space: mp.L2, share: float) -> AnyArray:
    """Return points in all embedding directions, this share of the radius beyond a ball."""
    units = space.thetas / np.linalg.norm(space.thetas, axis=1, keepdims=True)
    return np.asarray(space.center + (space.radius or 0) * (1 + share) * units)


def test_the_border_of_the_embedding_has_the_same_tolerance() -> None:
    """`tangents` and its sessions compare embedding positions."""
    space = mp.L2(center=[3, -1], radius=2, directions=8)
    people = space.center + np.random.default_rng(0).uniform(-1, 1, (2000, 2))
    synopsis = mp.release(people, space, mechanism="tangents", **GUARANTEE)
    session = mp.interactive(people, space, mechanism="tangents", max_queries=50, **GUARANTEE)
    near, far = beyond(space, 1e-6), beyond(space, 1e-5)
    inside = synopsis.mean_distance(beyond(space, 0))
    assert synopsis.mean_distance(near) == pytest.approx(inside, abs=1e-5)
    session.ask_many(near)
    with pytest.warns(mp.AccuracyWarning, match="8 of 8 query points lie outside"):
        synopsis.mean_distance(far)
    with pytest.warns(mp.AccuracyWarning, match="8 of 8 query points lie outside"):
        session.ask_many(far)


SPACES: dict[
    str, tuple[Any, AnyArray, AnyArray]
] = {  # a point on the border, and the way out, as long as the tolerance
    "ball": (mp.L2(center=[5, 5, 5], radius=2), np.array([5, 5, 7.0]), np.array([0, 0, 2.0])),
    "ball, d = 400": (mp.L2(center=[0] * 400, radius=20), np.ones(400), np.ones(400)),
    "box": (mp.L2([(0, 1), (0, 100)]), np.array([0.5, 100]), np.array([0, 50.0])),
    "lp": (mp.Lp(1.5, [(0, 1), (-4, 4)]), np.array([1, 0.0]), np.array([0.5, 0])),
    "l1": (mp.L1({"a": (0, 1e-50), "b": (0, 4)}), np.array([0, 2.0]), np.array([-0.5e-50, 0])),
}


@pytest.mark.parametrize("name", SPACES)
def test_only_queries_beyond_the_tolerance_are_counted(name: str) -> None:
    """All of them are moved inside; records are, too, whatever the tolerance."""
    space, border, out = SPACES[name]
    near, far = (border + share * out for share in (0.99 * BORDER, 1.1 * BORDER))
    queries = np.array([space.center, border, near, far])
    moved = move_inside(space, queries[:3])
    assert np.array_equal(space.clip_points(moved), moved)
    assert np.array_equal(moved, space.read(queries[:3]))
    assert not np.array_equal(moved[2], near)
    with pytest.warns(mp.AccuracyWarning, match="1 of 4 queries lie outside"):
        move_inside(space, queries)


def test_any_change_of_a_constant_column_is_counted() -> None:
    with pytest.warns(mp.AccuracyWarning, match="1 of 2 queries lie outside"):
        move_inside(mp.L1([(0, 1), (5, 5)]), np.array([[0.5, 5], [0.5, 5 + 1e-9]]))


def test_the_command_line_takes_float32_unit_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(unit_vectors(3), columns=["x", "y", "z"])
    frame.to_csv("queries.csv", index=False)
    frame.to_parquet("queries.parquet")
    pd.concat([frame] * 50).to_parquet("people.parquet")
    ball = "--space l2 --center x=0 --center y=0 --center z=0 --radius 1 --directions 64 --epsilon 9 --delta 1e-6"
    for queries in ("queries.csv", "queries.parquet"):
        assert run(f"release people.parquet {ball} --mechanism field --queries {queries} -o {queries}.milepost") == 0
        assert run(f"query {queries}.milepost {queries} -o {queries}.answers.csv") == 0
        assert len(pd.read_csv(f"{queries}.answers.csv")) == 60
    assert run(f"release people.parquet {ball} -o any.milepost") == 0
    assert run("query any.milepost queries.csv -o answers.csv") == 0
    assert "outside" not in capsys.readouterr().err


def test_a_file_of_given_queries_has_them_inside(tmp_path: Path) -> None:
    """So that they are found again as they were written, and as the file has them."""
    vectors = unit_vectors(8)
    synopsis = mp.release(np.repeat(vectors, 50, axis=0), unit_ball(8), mechanism="field", queries=vectors, **GUARANTEE)
    synopsis.save(tmp_path / "given.milepost")
    loaded = mp.load(tmp_path / "given.milepost")
    assert loaded.given_queries is not None
    for points in (vectors, vectors.astype(np.float64), json.loads(json.dumps(vectors.tolist())), loaded.given_queries):
        assert np.array_equal(loaded.mean_distance(points), synopsis.mean_distance(vectors))
    assert np.array_equal(space_from_json(loaded.space.to_json(), {}).read(vectors), loaded.given_queries)
