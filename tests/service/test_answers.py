"""Answers over HTTP are the library's own, and refusals are fixed texts."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import milepost as mp
from milepost.service.errors import CODES
from milepost.service.schemas.requests import DifferenceRequest
from tests.service.conftest import SPACES, ServiceFixture

POINTS: dict[str, list[Any]] = {
    "city": [[52.5, 13.4], [52.6, 13.5]],
    "ages": [[30], [55.5]],
    "given": [[5, 5]],
    "mixed": [[30, "west"], [40.5, "other"]],
    "words": ["west", "east"],
}


@pytest.mark.parametrize("name", POINTS)
def test_distances_and_centres(service: ServiceFixture, name: str) -> None:
    anna, synopsis = service.client("anna"), mp.load(service.state.directory.release(name))
    answer = anna.post(f"/v1/releases/{name}/distances", {"points": POINTS[name]}).json()
    expected = [synopsis.mean_distance([point])[0] for point in POINTS[name]]
    assert answer["distances"] == pytest.approx(expected, rel=1e-12)
    assert max(answer["errors"]) <= synopsis.error(synopsis.confidence) * (1 + 1e-12)
    centre = anna.post(f"/v1/releases/{name}/center", {}).json()
    again = anna.post(f"/v1/releases/{name}/distances", {"points": [centre["point"]]}).json()
    assert again["distances"] == [centre["distance"]]
    assert centre["distance"] <= min(answer["distances"]) + 1e-9


def test_what_is_told_of_releases(service: ServiceFixture) -> None:
    anna = service.client("anna")
    views = {release["id"]: release["view"] for release in anna.get("/v1/releases").json()["releases"]}
    assert views == {"city": "map", "ages": "curve", "sides": "map", "given": "list", "mixed": "form", "words": "list"}
    for name in SPACES:
        response = anna.get(f"/v1/releases/{name}").json()
        synopsis = mp.load(service.state.directory.release(name))
        assert response["card"] == json.loads(json.dumps(synopsis.card))
        assert [field["name"] for field in response["fields"]] == response["columns"]
        assert anna.get(f"/v1/releases/{name}/statement").json()["text"] == synopsis.statement()
        assert anna.get(f"/v1/releases/{name}/file").content == service.state.directory.release(name).read_bytes()
    assert anna.get("/v1/releases/given").json()["given_queries"] == [[1.0, 2.0], [5.0, 5.0]]
    assert anna.get("/v1/releases/mixed").json()["fields"][1]["labels"] == ["west", "east"]


def test_groups(service: ServiceFixture) -> None:
    anna, synopsis = service.client("anna"), mp.load(service.state.directory.release("sides"))
    response = anna.post("/v1/releases/sides/nearest", {"points": [[1, 5], [9, 5]]}).json()
    comparison = synopsis.compare([[1, 5], [9, 5]])
    assert response["nearest"] == ["west", "east"]
    assert response["distances"] == comparison.mean_distance.tolist()
    single_group = anna.post("/v1/releases/sides/distances", {"points": [[1, 5]], "group": "east"}).json()
    assert single_group["distances"] == [response["distances"][0][1]]


def test_fields(service: ServiceFixture) -> None:
    anna = service.client("anna")
    field = anna.post("/v1/releases/city/grid", {"steps": 10}).json()
    synopsis = mp.load(service.state.directory.release("city"))
    values = np.array(field["values"], dtype=float)
    assert values.shape == (11, 11)
    assert values[5, 5] == pytest.approx(synopsis.mean_distance([field["y"][5], field["x"][5]]))
    assert field["values"][0][0] is None
    curve = anna.post("/v1/releases/ages/grid", {"steps": 20}).json()
    assert curve["y"] is None
    assert len(curve["errors"]) == len(curve["values"]) == 21


def test_columns(service: ServiceFixture) -> None:
    anna, synopsis = service.client("anna"), mp.load(service.state.directory.release("mixed"))
    estimates = anna.post("/v1/releases/mixed/columns", {}).json()["estimates"]
    texts = [(estimate["column"], estimate["statistic"], estimate["label"]) for estimate in estimates]
    shares = [("side", "share", label) for label in ("west", "east", "other")]
    assert texts == [("age", "mean", None), ("age", "variance", None), *shares]
    expected = [
        synopsis.mean("age"),
        synopsis.variance("age"),
        *(synopsis.share("side", label) for *_, label in shares),
    ]
    assert [numbers(estimate) for estimate in estimates] == [estimate.to_json() for estimate in expected]
    body = {"shares": [{"column": "age", "low": 20}, {"column": "side", "label": "west"}], "confidence": 0.9}
    older, west = anna.post("/v1/releases/mixed/columns", body).json()["estimates"]
    assert numbers(older) == synopsis.share("age", 20, np.inf, confidence=0.9).to_json()
    assert older["between"] == [20, None]
    assert numbers(west) == synopsis.share("side", "west", confidence=0.9).to_json()
    group = mp.load(service.state.directory.release("sides")).group("east")
    answer = anna.post("/v1/releases/sides/columns", {"columns": ["x"], "group": "east"}).json()["estimates"]
    assert numbers(answer[0]) == group.mean("x").to_json()


def numbers(estimate: dict[str, Any]) -> dict[str, float]:
    return {name: estimate[name] for name in ("value", "low", "high", "confidence")}


def test_differences(service: ServiceFixture) -> None:
    anna, synopsis = service.client("anna"), mp.load(service.state.directory.release("sides"))
    body = {"other": "sides", "group": "west", "other_group": "east"}
    answer = anna.post("/v1/releases/sides/difference", body).json()
    expected = mp.difference(synopsis.group("west"), synopsis.group("east"), names=("sides: west", "sides: east"))
    for name, value in expected.to_json().items():
        assert name == "parts" or answer[name] == value, name
    assert isinstance(expected.shares, dict)
    assert {part["name"]: part["share"] for part in answer["parts"]} == expected.shares
    assert answer["parts"][0]["part"] >= answer["parts"][1]["part"]
    (first, *_) = answer["curves"]
    assert first["name"] == answer["parts"][0]["name"] == "x"
    assert len(first["positions"]) == len(first["first"]) == len(first["second"]) <= 128
    assert all(0 <= share <= 1 for share in first["first"])
    city = anna.post("/v1/releases/city/difference", {"other": "city"}).json()
    assert (city["value"], city["parts_of"], city["parts"][0]["name"].split()[0]) == (0, "directions", "direction")
    mixed = anna.post("/v1/releases/mixed/difference", {"other": "mixed"}).json()
    assert [part["name"] for part in mixed["parts"]] in (["age", "side"], ["side", "age"])


@contextmanager
def added_release(service: ServiceFixture, name: str, age: float) -> Iterator[mp.Synopsis]:
    """List a release in the space of `ages`, of people of one age."""
    catalog = service.state.releases
    synopsis = mp.release([[age]] * 500, mp.L1({"age": (0, 100)}), epsilon=100, delta=1e-6)
    with catalog.claiming(name):
        synopsis.save(service.state.directory.release(name))
        catalog.add_record(name, name, "people")
    yield synopsis
    catalog.remove(name)


def test_drift(service: ServiceFixture) -> None:
    anna, ages = service.client("anna"), mp.load(service.state.directory.release("ages"))
    with added_release(service, "young", 20.0) as young, added_release(service, "old", 70.0) as old:
        answer = anna.post("/v1/drift", {"releases": ["ages", "young", "old"], "labels": ["a", "b", "c"]}).json()
    expected = mp.drift([ages, young, old])
    assert (answer["labels"], answer["distance_unit"]) == (["a", "b", "c"], "")
    for name in ("to_first", "to_previous"):
        differences = [difference.to_json() for difference in getattr(expected, name)]
        fields = ("value", "low", "high", "confidence", "p_tables", "p_population")
        assert answer[name] == [{field: difference[field] for field in fields} for difference in differences]
    grouped = anna.post("/v1/drift", {"releases": ["sides", "sides"], "group": "west"}).json()
    assert (grouped["labels"], grouped["to_first"][0]["value"]) == (["sides", "sides"], 0)


def test_which_releases_are_compared_and_have_columns(service: ServiceFixture) -> None:
    releases = service.client("anna").get("/v1/releases").json()["releases"]
    assert {release["id"]: release["supports"] for release in releases} == {
        "city": ["difference"],
        "ages": ["columns", "difference"],
        "sides": ["columns", "difference"],
        "given": [],
        "mixed": ["columns", "difference"],
        "words": [],
    }


def test_curators_read_why_releases_are_not_compared(service: ServiceFixture) -> None:
    """The text is about public cards; it has no path."""
    error = service.client("carla").post("/v1/releases/ages/difference", {"other": "city"}).json()["error"]
    assert error["code"] == "not_supported"
    assert "'ages' and 'city' must have the same space" in error["detail"]
    assert str(service.state.directory.root) not in error["detail"]


def test_a_new_release_of_the_same_name_is_compared_anew(service: ServiceFixture) -> None:
    catalog, request = service.state.releases, DifferenceRequest(other="again")
    ages = mp.load(service.state.directory.release("ages"))
    for age in (20.0, 60.0):
        with added_release(service, "again", age) as synopsis:
            answer = catalog.difference("ages", request)
            assert json.loads(answer)["value"] == mp.difference(ages, synopsis).value
            assert catalog.difference("ages", request) is answer


@pytest.mark.parametrize(
    ("path", "body", "code", "where"),
    [
        ("city/distances", {"points": [[52.5]]}, "bad_point", ["body", "points"]),
        ("city/distances", {"points": [[52.5, 13.4], [1.0]]}, "bad_point", ["body", "points"]),
        ("city/distances", {"points": [[91, 0]]}, "bad_point", ["body", "points"]),
        ("city/distances", {"points": [["a", "b"]]}, "bad_point", ["body", "points"]),
        ("city/distances", {"points": ["abc"]}, "bad_point", ["body", "points"]),
        ("city/distances", {"points": [[True, None]]}, "invalid", ["body", "points", 0]),
        ("city/distances", {"points": []}, "invalid", ["body", "points"]),
        ("city/distances", {"points": [[52.5, 13.4]], "more": 1}, "invalid", ["body", "more"]),
        ("city/distances", {"points": [[52.5, 13.4]], "confidence": 1.0}, "invalid", ["body", "confidence"]),
        ("city/distances", {"points": [[52.5, 13.4]], "group": "west"}, "bad_group", ["body", "group"]),
        ("sides/distances", {"points": [[1, 2]]}, "bad_group", ["body", "group"]),
        ("sides/distances", {"points": [[1, 2]], "group": "north"}, "bad_group", ["body", "group"]),
        ("city/distances", {"points": [[0.0, 0.0]] * 10_001}, "too_large", ["body", "points"]),
        ("city/distances", {"points": [[0.0] * 4_097]}, "too_large", ["body", "points"]),
        ("given/distances", {"points": [[1, 3]]}, "bad_point", ["body", "points"]),
        ("mixed/distances", {"points": [[1, 2]]}, "bad_point", ["body", "points"]),
        ("words/distances", {"points": ["north"]}, "bad_point", ["body", "points"]),
        ("city/nearest", {"points": [[52.5, 13.4]]}, "not_supported", None),
        ("mixed/grid", {}, "not_supported", None),
        ("given/grid", {}, "not_supported", None),
        ("city/grid", {"steps": 257}, "too_large", ["body", "steps"]),
        ("city/grid", {"steps": 1}, "invalid", ["body", "steps"]),
        ("city/grid", {"steps": 10.5}, "invalid", ["body", "steps"]),
        ("nothing/grid", {}, "not_found", None),
        ("ages/columns", {"columns": ["height"]}, "bad_column", ["body", "columns"]),
        ("ages/columns", {"columns": []}, "invalid", ["body", "columns"]),
        ("ages/columns", {"columns": ["age"] * 1_001}, "invalid", ["body", "columns"]),
        ("ages/columns", {"shares": [{"column": "age", "low": 9, "high": 1}]}, "bad_column", ["body", "shares", 0]),
        ("ages/columns", {"shares": [{"column": "age", "label": "west"}]}, "bad_column", ["body", "shares", 0]),
        ("mixed/columns", {"shares": [{"column": "age"}, {"column": "side"}]}, "bad_column", ["body", "shares", 1]),
        ("mixed/columns", {"shares": [{"column": "side", "label": "x"}]}, "bad_column", ["body", "shares", 0]),
        ("ages/columns", {"group": "west"}, "bad_group", ["body", "group"]),
        ("sides/columns", {}, "bad_group", ["body", "group"]),
        ("city/columns", {}, "not_supported", None),
        ("given/columns", {}, "not_supported", None),
        ("ages/difference", {}, "invalid", ["body", "other"]),
        ("ages/difference", {"other": "nothing"}, "not_found", ["body", "other"]),
        ("ages/difference", {"other": "../ages"}, "invalid", ["body", "other"]),
        ("ages/difference", {"other": "city"}, "not_supported", ["body", "other"]),
        ("given/difference", {"other": "given"}, "not_supported", ["body", "other"]),
        ("ages/difference", {"other": "ages", "confidence": 1.0}, "invalid", ["body", "confidence"]),
        ("sides/difference", {"other": "sides", "group": "west"}, "bad_group", ["body", "other_group"]),
        ("sides/difference", {"other": "ages", "group": "x"}, "bad_group", ["body", "group"]),
        ("NOT%20A%20NAME/grid", {}, "invalid", ["path", "release"]),
    ],
)
def test_refusals_are_fixed_texts(service: ServiceFixture, path: str, body: Any, code: str, where: Any) -> None:
    check_refusal(service, f"releases/{path}", body, code, where)


@pytest.mark.parametrize(
    ("body", "code", "where"),
    [
        ({"releases": ["ages"]}, "invalid", ["body", "releases"]),
        ({"releases": ["ages"] * 33}, "too_large", ["body", "releases"]),
        ({"releases": ["ages"] * 2, "labels": ["one"]}, "invalid", ["body", "labels"]),
        ({"releases": ["nothing", "ages"]}, "not_found", ["body", "releases", 0]),
        ({"releases": ["ages", "ages", "city"]}, "not_supported", ["body", "releases", 2]),
        ({"releases": ["sides", "sides"]}, "bad_group", ["body", "group"]),
    ],
)
def test_drift_refuses_with_fixed_texts(service: ServiceFixture, body: Any, code: str, where: Any) -> None:
    check_refusal(service, "drift", body, code, where)


def check_refusal(service: ServiceFixture, path: str, body: Any, code: str, where: Any) -> None:
    answer = service.client("anna").post(f"/v1/{path}", body)
    expected = {"code": code, "status": CODES[code].status, "message": CODES[code].message}
    error = answer.json()["error"]
    if where is not None:
        assert error.pop("path")[: len(where)] == where
    assert (answer.status_code, error) == (CODES[code].status, expected)


@pytest.mark.parametrize(
    "number", ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1" + "0" * 400, "1" + "0" * 5_000]
)
def test_numbers_that_are_none_are_refused(service: ServiceFixture, number: str) -> None:
    for path, body in (
        ("/v1/releases/city/distances", f'{{"points": [[{number}, 13.4]]}}'),
        ("/v1/sessions/annas/ask", f'{{"point": [{number}, 1]}}'),
    ):
        headers = {"content-type": "application/json", "idempotency-key": "n"}
        answer = service.client("anna").request("POST", path, content=body, headers=headers)
        assert answer.status_code == 422, answer.text
        assert number not in answer.text


def test_what_is_too_large_is_refused_before_it_is_read(service: ServiceFixture) -> None:
    anna = service.client("anna")
    for headers in ({}, {"content-length": "99999999999999999999999"}, {"content-length": "-5"}):
        content = b" " * (5 << 20) if not headers else b""
        answer = anna.request("POST", "/v1/releases/city/distances", content=content, headers=headers)
        assert answer.json()["error"]["code"] == "too_large"
