"""Answers over HTTP are the library's own, and refusals are fixed texts."""

import json
from typing import Any

import numpy as np
import pytest

import milepost as mp
from milepost.service.errors import CODES
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
        ("NOT%20A%20NAME/grid", {}, "invalid", ["path", "release"]),
    ],
)
def test_refusals_are_fixed_texts(service: ServiceFixture, path: str, body: Any, code: str, where: Any) -> None:
    answer = service.client("anna").post(f"/v1/releases/{path}", body)
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
