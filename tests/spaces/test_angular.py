"""Angular: the unit of angles. Other tests of angles are beside those of great circles, in test_geographic.py."""

import math
import pickle
import shlex
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import milepost as mp
from milepost import cli
from milepost.pipeline.space_spec import space_from_options, space_from_spec
from milepost.spaces.registry import space_from_json
from milepost.synopsis import file_format
from tests.golden.internals import no_noise, replace_noise, sketch_of, sums_of

DEGREE = 180 / math.pi
GUARANTEE: dict[str, Any] = {"epsilon": 1, "delta": 1e-6}
widths = pytest.mark.parametrize("dim", [1, 2, 3, 5, 48])


def both(dim: int, **arguments: Any) -> tuple[mp.Angular, mp.Angular]:
    """Return the same space in radians and in degrees."""
    return mp.Angular(dim, **arguments), mp.Angular(dim, **arguments, angle_unit="degrees")


def vectors(dim: int, count: int = 400) -> Any:
    return np.random.default_rng(dim).standard_normal((count, dim)) + 0.5


def run(line: str) -> int:
    with pytest.raises(SystemExit) as stop:
        cli.main(shlex.split(line))
    return int(stop.value.code or 0)


def in_degrees(values: Any) -> Any:
    return pytest.approx(np.asarray(values) * DEGREE, rel=1e-12, abs=1e-12)


@widths
def test_every_length_is_in_degrees(dim: int) -> None:
    """Distances, their range and error, the diameter, the embedding, kernels."""
    radians, degrees = both(dim)
    points, queries = vectors(dim, 40), vectors(dim + 1, 9)[:, :dim]
    assert degrees.diameter == 180
    assert degrees.distance(points, -3 * points)[0, 0] == pytest.approx(180, abs=1e-4)
    for method in ("distance", "query_distances"):
        assert getattr(degrees, method)(points, queries) == in_degrees(getattr(radians, method)(points, queries))
    assert np.all(degrees.distance(points, queries) <= 180)
    prepared = degrees.prepare_records(points), degrees.prepare_queries(queries)
    for rows, some, tile in degrees.distance_tiles(*prepared):
        assert np.array_equal(tile, degrees.distance(points, queries)[rows, some])
    assert degrees.distance_error == in_degrees(radians.distance_error)
    assert np.array(degrees.distance_range(queries)) == in_degrees(radians.distance_range(queries))
    for name in ("weight", "quantum", "spread", "sensitivity_bound", "total_width", "rotation_deviation", "bias"):
        assert getattr(degrees.embedding, name) == in_degrees(getattr(radians.embedding, name)), name
    assert degrees.embedding.relative_error == radians.embedding.relative_error
    assert degrees.distortion() == radians.distortion()
    for kernel, expected in zip(degrees.kernels, radians.kernels, strict=True):
        for name in ("pair", "single", "max_variance", "distance_error", "between_error"):
            assert getattr(kernel, name) == in_degrees(getattr(expected, name)), name
        assert kernel.half(queries) == in_degrees(expected.half(queries))
        assert kernel.anchor(queries) == in_degrees(expected.anchor(queries))
        assert kernel.apart(queries, queries) == in_degrees(expected.apart(queries, queries))


@widths
def test_integers_are_those_of_radians(dim: int) -> None:
    """Images, sketches and sums of distances in quanta: only the length of a quantum differs."""
    radians, degrees = both(dim)
    points, queries = vectors(dim), vectors(dim, 5)
    assert np.array_equal(degrees.quantize(points), radians.quantize(points))
    assert np.array_equal(degrees.position(queries), radians.position(queries))
    for read in (sketch_of, partial(sums_of, queries=queries)):
        first, second = (read(points, space).arrays for space in (radians, degrees))
        assert len(first) >= 2
        for array, other in zip(first, second, strict=True):
            assert np.array_equal(array, other)


@pytest.mark.parametrize("mechanism", ["slopes", "hats", "gaussian", "laplace", "net", "field"])
@pytest.mark.parametrize("dim", [2, 5])
def test_noise_in_quanta_is_that_of_radians(mechanism: str, dim: int) -> None:
    """The same laws, scales and numbers of draws; answers and half-widths are those of radians, in degrees."""
    points, queries = vectors(dim), vectors(dim, 5)
    options = {} if mechanism in ("slopes", "hats") else {"queries": queries}
    calls, synopses = [], []
    for space in both(dim, directions=64):
        with replace_noise(no_noise) as recorded:
            synopses.append(mp.release(points, space, mechanism=mechanism, **options, **GUARANTEE))
        calls.append(sorted(recorded))
    radians, degrees = synopses
    assert [call[::2] for call in calls[0]] == [call[::2] for call in calls[1]]
    assert [call[1] for call in calls[1]] == pytest.approx([call[1] for call in calls[0]], rel=1e-9)
    assert degrees.mean_distance(queries) == pytest.approx(DEGREE * radians.mean_distance(queries), rel=1e-9)
    assert degrees.error() == pytest.approx(DEGREE * radians.error(), rel=1e-9)
    assert np.array(degrees.interval(queries)) == pytest.approx(DEGREE * np.array(radians.interval(queries)), rel=1e-9)


@pytest.mark.parametrize("mechanism", ["field", "slopes", "tangents"])
def test_sessions_answer_in_degrees(mechanism: str) -> None:
    points = vectors(3, 2000)
    answers = []
    for space in both(3, directions=32):
        with replace_noise(no_noise):
            session = mp.interactive(points, space, mechanism=mechanism, max_queries=4, **GUARANTEE)
            answers.append([session.ask(query).value for query in points[:2]])
    coarse = 1e-6 if mechanism != "tangents" else 0.2  # whose lattice is a power of two in the unit
    assert answers[1] == pytest.approx(DEGREE * np.array(answers[0]), rel=coarse)


def test_plans_are_in_degrees() -> None:
    for options in ({}, {"queries": vectors(5, 3)}, {"max_queries": 10}):
        plans = [mp.plan(space, n=10_000, **GUARANTEE, **options) for space in both(5)]
        errors = [[prediction.error for prediction in plan.predictions] for plan in plans]
        assert errors[1] == pytest.approx(DEGREE * np.array(errors[0]), rel=0.02)
        assert plans[1].best.error == pytest.approx(DEGREE * plans[0].best.error, rel=1e-6)


def test_reports_say_degrees_and_leave_radians_as_they_were() -> None:
    points = vectors(2)
    radians, degrees = (mp.release(points, space, **GUARANTEE) for space in both(2))
    assert degrees.describe().distance_unit == degrees.space.distance_unit == "degrees"
    assert degrees.describe().diameter == 180
    assert "degrees" in repr(degrees)
    assert "Distances go up to 180 degrees" in str(degrees.statement())
    assert degrees.sites(points[:2]).distance_unit == "degrees"
    assert radians.space.distance_unit == ""
    assert "angle_unit" not in radians.describe().space
    assert "radians" not in f"{radians!r}{radians.statement()}{radians.describe()}"


def test_the_unit_survives_files_copies_and_variants(tmp_path: Path) -> None:
    space = mp.Angular(3, directions=64, columns=["a", "b", "c"], angle_unit="degrees")
    assert space.to_json()["angle_unit"] == "degrees"
    assert space_from_json(space.to_json(), {}) == pickle.loads(pickle.dumps(space)) == space  # noqa: S301
    synopsis = mp.release(vectors(3), space, **GUARANTEE)
    synopsis.save(tmp_path / "angles.milepost")
    loaded = mp.load(tmp_path / "angles.milepost")
    assert loaded.space == space
    assert np.array_equal(loaded.mean_distance(vectors(3, 4)), synopsis.mean_distance(vectors(3, 4)))
    free = mp.Angular(3, angle_unit="degrees")
    assert {variant.angle_unit for variant in (*free.size_variants(100), *free.larger_variants())} == {"degrees"}
    assert space != mp.Angular(3, directions=64, columns=["a", "b", "c"])


def test_cards_without_a_unit_are_in_radians() -> None:
    """Cards of radians are as they were before there were units, byte for byte."""
    space = mp.Angular(3, directions=8)
    assert space.to_json() == {"kind": "angular", "dim": 3, "directions": 8, "random_state": 0, "columns": None}
    assert space_from_json(space.to_json(), {}) == mp.Angular(3, directions=8, angle_unit="radians")
    assert space.diameter == math.pi


def test_a_file_with_an_unknown_unit_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "angles.milepost"
    mp.release(vectors(2), mp.Angular(2, angle_unit="degrees"), **GUARANTEE).save(path)
    card, tensors = file_format.read(path)
    card["space"]["angle_unit"] = "gon"
    file_format.write(path, card, tensors)
    with pytest.raises(mp.MilepostError, match="angle_unit"):
        mp.load(path)


def test_every_interface_has_the_unit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    space = mp.Angular(4, angle_unit="degrees")
    assert space_from_spec({"space": "angular", "dim": 4, "angle_unit": "degrees"}) == space
    assert space_from_options("angular", {"dim": 4, "angle_unit": "degrees"}) == space
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(vectors(4), columns=list("abcd")).to_csv("vectors.csv", index=False)
    line = "release vectors.csv --space angular --dim 4 --angle-unit {} --epsilon 1 --delta 1e-6 -o vectors.milepost"
    assert run(line.format("degrees")) == 0
    assert mp.load("vectors.milepost").space.diameter == 180
    capsys.readouterr()
    assert run("query vectors.milepost --at 1,0,0,0") == 0
    assert "mean distance (degrees)" in " ".join(capsys.readouterr().out.split())
    assert run(line.format("degree")) == 2
    message = " ".join(capsys.readouterr().err.split())
    assert "--angle-unit must be one of radians, degrees, got 'degree'; did you mean 'degrees'?" in message


@pytest.mark.parametrize(
    ("unit", "hint"),
    [("deg", "'degrees'"), ("Radian", "'radians'"), ("gon", ""), (None, ""), (["degrees"], "'degrees'")],
)
def test_bad_units_are_refused(unit: Any, hint: str) -> None:
    with pytest.raises(mp.MilepostError, match="angle_unit= must be one of radians, degrees, got") as error:
        mp.Angular(3, angle_unit=unit)
    assert ("did you mean" in str(error.value)) == bool(hint)
    assert hint in str(error.value)
