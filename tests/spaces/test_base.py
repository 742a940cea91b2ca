"""A space that defines nine members, and no others, works wherever a space does."""

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import milepost as mp
from milepost.service.schemas.views import form_fields, space_view
from milepost.spaces.registry import KINDS
from tests.chance import FALSE_ALARM, assert_promised
from tests.spaces import hour_of_day
from tests.spaces.hour_of_day import HourOfDay

MEMBERS = {
    "read",
    "read_queries",
    "distance",
    "diameter",
    "embedding",
    "quantize",
    "position",
    "to_json",
    "from_json",
}
HOURS = np.random.default_rng(5).normal(9, 4, (30_000, 1))
QUERIES = [[0], [9], [23]]
MECHANISMS: Mapping[str, dict[str, Any]] = {
    "slopes": {"delta": 1e-6},
    "hats": {},
    "tangents": {},
    "gaussian": {"queries": QUERIES, "delta": 1e-6},
    "laplace": {"queries": QUERIES},
    "net": {"queries": QUERIES},
}


def test_nine_members_are_abstract() -> None:
    assert mp.Space.__abstractmethods__ == MEMBERS
    assert {name for name in vars(HourOfDay) if not name.startswith("_")} - {"kind"} == MEMBERS
    lines = inspect.getsource(hour_of_day).partition("class HourOfDay")[2].splitlines()
    assert len(lines) <= 40


@pytest.mark.parametrize("kind", KINDS)
def test_every_space_of_the_library_inherits_the_defaults(kind: str) -> None:
    space = KINDS[kind]
    assert issubclass(space, mp.Space)
    assert space.kind == kind
    assert space.fields is not None


def test_embedded_distances_are_those_of_the_metric() -> None:
    space, hours = HourOfDay(), np.arange(24.0)[:, None]
    images = space.quantize(hours).astype(float)
    embedded = np.abs(images[:, None] - space.position(hours)[None]) @ space.embedding.quantum
    np.testing.assert_allclose(embedded, space.distance(hours, hours), atol=1e-12)
    assert space.distance(hours, hours).max() == space.diameter <= space.embedding.sensitivity_bound


@pytest.mark.filterwarnings("ignore::milepost.AccuracyWarning")
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_release_answers_and_can_be_stored(mechanism: str, tmp_path: Path, kinds: dict[str, type[mp.Space]]) -> None:
    """Within its error, and the same from its file once the class is registered."""
    space = HourOfDay()
    arguments = MECHANISMS[mechanism] | {"mechanism": mechanism, "failure_probability": FALSE_ALARM}
    synopsis = mp.release(HOURS, space, epsilon=3, **arguments)
    truth = mp.exact_mean_distance(HOURS, space, QUERIES)
    assert_promised(synopsis, QUERIES, truth, at_most=(0.5 if mechanism == "tangents" else 0.02) * space.diameter)
    synopsis.save(tmp_path / "hours.milepost")
    with pytest.raises(mp.MilepostError, match=r"the space 'HourOfDay' is not registered\. .*mp\.register_space"):
        mp.load(tmp_path / "hours.milepost")
    assert mp.register_space(HourOfDay) is kinds["HourOfDay"] is HourOfDay
    copy = mp.load(tmp_path / "hours.milepost")
    assert copy.mean_distance(QUERIES).tolist() == synopsis.mean_distance(QUERIES).tolist()
    assert "Rows outside the space were moved into it" in copy.statement()


@pytest.mark.filterwarnings("ignore::milepost.AccuracyWarning")
@pytest.mark.parametrize("mechanism", ["auto", "tangents", "slopes"])
@pytest.mark.usefixtures("kinds")
def test_a_session_answers_and_goes_on_from_its_store(mechanism: str, tmp_path: Path) -> None:
    mp.register_space(HourOfDay)
    arguments: dict[str, Any] = {"epsilon": 3, "delta": 1e-6, "max_queries": 5, "mechanism": mechanism}
    store = tmp_path / "hours.db"
    first = mp.interactive(HOURS, HourOfDay(), store=store, **arguments).ask([9], name="nine")
    again = mp.interactive(HOURS, HourOfDay(), store=store, **arguments)
    assert again.ask([9]).value == first.value
    assert [(name, point.tolist()) for name, point, _ in again.transcript()] == [("nine", [9])]


def test_a_plan_names_the_mechanisms() -> None:
    planned = mp.plan(HourOfDay(), n=30_000, epsilon=3, delta=1e-6, max_queries=10, queries=QUERIES)
    assert {prediction.mechanism for prediction in planned.predictions} >= {"slopes", "hats", "gaussian", "laplace"}
    assert "negative type" in planned.refused["field"]


def test_what_nobody_defined_has_a_default_or_a_clear_error() -> None:
    space = HourOfDay()
    assert (space.kind, space.width, space.names, space.columns) == ("HourOfDay", 1, ("0",), None)
    assert (space.is_point([9]), space.is_point([9, 10]), space.is_point([[9]])) == (True, False, False)
    assert space.clip_points(np.array([[9.2], [30.0]])).tolist() == [[9], [23]]
    assert space.query_distances(np.array([[1.0]]), np.array([[23.0]])).tolist() == [[2]]
    assert (space.parse("9"), space.column_values([9]), space.tensors(), space.kernels) == ([9.0], (9,), {}, ())
    assert space.size_variants(100) == (space,)
    assert (space_view(space)["view"], form_fields(space)[0]["type"]) == ("form", "number")
    synopsis = mp.release(HOURS, space, epsilon=3)
    calls: list[tuple[Callable[[], Any], str]] = [
        (synopsis.center, "space HourOfDay has no centre to start from: release with queries="),
        (synopsis.plot, "a release in HourOfDay has no picture without sites; give sites="),
        (synopsis.grid, "a grid needs a space of one or two numeric columns"),
        (lambda: space.point(np.zeros((1, 12))), "space HourOfDay has no points for 1 embedding positions"),
        (lambda: space.parse("9,10"), r"--at must give 1 numbers \(0\), got '9,10'"),
    ]
    for call, message in calls:
        with pytest.raises(mp.MilepostError, match=message):
            call()
    assert mp.release(HOURS, space, epsilon=3, queries=QUERIES).center().tolist() in ([0.0], [9.0], [23.0])


class Careless(HourOfDay):
    """Reads any number of columns."""

    def read_queries(self, batch: Any, first_row: int = 0) -> Any:  # noqa: ARG002
        return np.asarray(batch)[:, :1]

    read = read_queries


class Named(Careless):
    """Has names for its columns."""

    columns = ("hour",)


def test_a_space_whose_width_cannot_be_seen_is_asked_for_it() -> None:
    with pytest.raises(mp.MilepostError, match="space Careless must say how many columns a point has"):
        _ = Careless().width
    assert (Named().width, Named().names) == (1, ("hour",))


def test_center_is_the_middle_of_the_extent() -> None:
    class Line(HourOfDay):
        extent = ((0.0, 23.0),)

    assert Line().center.tolist() == [11.5]
    assert Line().points_around(np.array([5.0]), 2).tolist() == [[7.0], [3.0]]


@pytest.mark.parametrize("value", [HourOfDay, [(0, 10)], None, "l1"])
def test_what_is_no_space_is_refused(value: Any) -> None:
    with pytest.raises(mp.MilepostError, match="space must be one such as"):
        mp.release(HOURS, value, epsilon=1)
