"""The interface as its OpenAPI document says: whatever is sent, nothing but documented answers comes back."""

import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis import GenerationMode
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_schema_conformance,
    status_code_conformance,
)
from schemathesis.core.result import Ok

from milepost.service.errors import CODES
from tests.service.conftest import SPACES, create_service
from tests.service.server_process import ServerProcess, run_server
from tests.service.test_access import BODIES, BOTH, OWN, OWNERS

pytestmark = pytest.mark.slow

EXAMPLES = 10  # of each address, role and kind of data, in a round
ROUNDS = 30  # at most
LIMITS = ("max_jobs=10000", "max_sessions=10000", "max_connections=10000")
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
NAMES = {"release": [*SPACES], "session": ["annas", "berts"], "name": ["people"]}  # that exist
LONG = '"' + "x" * 20_000 + '"'
NUMBERS = ("NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1" + "0" * 5_000, "0x10", "1_000", "01", "9" * 400)
WRONG = ("[" * 100_000, "[" * 900 + "]" * 900, '{"a": ' * 900 + "1" + "}" * 900, "[]", "{}", '"\\ud800"', LONG)
JSON = {"content-type": "application/json"}
CURATOR_ADDRESSES = ("POST /v1/plan", "POST /v1/releases", "POST /v1/datasets", "GET /v1/jobs")
POINTS: list[Any] = [[52.5, 13.4], [30], [1, 2], [5, 5], [30, "west"], "west", [1, -0.0]]
BUILD_VALUES = {
    "space": [params["space"] for params in SPACES.values()],
    "table": ["people.parquet"],
    "dataset": ["people"],
}
VALUES: dict[str, dict[str, list[Any]]] = {  # that fit something here, by schema and field
    "DistanceRequest": {"points": [[point] for point in POINTS], "group": [None, "west"]},
    "CompareRequest": {"points": [[point] * 2 for point in POINTS]},
    "CenterRequest": {"group": [None, "west"]},
    "ColumnsRequest": {
        "columns": [None, ["age"], ["x"]],
        "shares": [[], [{"column": "age", "low": 18}], [{"column": "side", "label": "west"}]],
        "group": [None, "west"],
    },
    "DifferenceRequest": {"other": ["ages"], "group": [None], "other_group": [None]},
    "DriftRequest": {"releases": [[name] * 3 for name in SPACES], "labels": [None], "group": [None, "west"]},
    "GridRequest": {"group": [None, "west"], "steps": [2, 10, 256]},
    "QuestionRequest": {"point": POINTS},
    "PlanRequest": {
        "space": BUILD_VALUES["space"],
        "n": [1_000],
        "epsilon": [1.0],
        "error": [None],
        "contributions": [1],
    },
    "ReleaseRequest": BUILD_VALUES,
    "SessionRequest": BUILD_VALUES | {"analyst": ["anna"]},
}


@dataclass(frozen=True)
class FuzzTarget:
    """A server, its OpenAPI document, and keys."""

    server: ServerProcess
    document: dict[str, Any]
    keys: dict[str, str]


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FuzzTarget]:
    root = tmp_path_factory.mktemp("fuzz") / "data"
    fixture = create_service(root)
    fixture.state.close()
    with run_server(root, *LIMITS) as server:
        with server.client(fixture.keys["anna"]) as client:
            document = client.get("/v1/openapi.json").json()
        yield FuzzTarget(server, document, fixture.keys)
        assert "internal error" not in server.log.read_text()


def with_existing_names(document: dict[str, Any]) -> dict[str, Any]:
    """Return the document with names, spaces and points restricted to those that exist here."""
    document = copy.deepcopy(document)
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            for parameter in operation.get("parameters", ()):
                if parameter["name"] in NAMES and method != "delete" and not path.endswith("/close"):
                    parameter["schema"] = {"enum": NAMES[parameter["name"]]}
    for name, values in VALUES.items():
        schema = document["components"]["schemas"][name]
        schema["properties"] |= {field: {"enum": options} for field, options in values.items()}
        schema["required"] = sorted({*schema.get("required", ()), *values})
    return document


@pytest.mark.parametrize("data", ["positive", "negative", "named positive", "named negative"])
@pytest.mark.parametrize("who", ["anna", "carla"])
def test_answers_are_those_of_the_document(target: FuzzTarget, who: str, data: str) -> None:
    """No 5xx, no status, content type or shape that is not documented.

    Of what has names, each address is tried until it answers: it is not for their names that requests are refused.
    One in about 14 fits a release with its point and group, so that ROUNDS rounds miss with less than 1e-8.
    """
    mode = GenerationMode(data.split()[-1])
    schema = schemathesis.openapi.from_dict(
        with_existing_names(target.document) if "named" in data else target.document
    )
    required_successes = {*BOTH, *(OWN if who == "anna" else CURATOR_ADDRESSES)} if data == "named positive" else set()
    headers = {"authorization": f"Bearer {target.keys[who]}"}
    successes: set[str] = set()
    for result in schema.get_all_operations():
        assert isinstance(result, Ok)
        operation = result.ok()
        if mode is GenerationMode.NEGATIVE and not {"parameters", "requestBody"} & {*operation.definition.raw}:
            continue  # nothing about it could be wrong

        @settings(
            max_examples=EXAMPLES,
            database=None,
            derandomize=False,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def check_conformance(case: schemathesis.Case[Any]) -> None:
            answer = case.call_and_validate(base_url=target.server.url, headers=headers, checks=CHECKS, timeout=300)
            if answer.status_code < 300:
                successes.add(case.operation.label)

        for number in range(ROUNDS):
            seed(number)(check_conformance)()
            if operation.label not in required_successes - successes:
                break
    assert required_successes <= successes


def leaves(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of all values that are neither lists nor objects."""
    if not isinstance(content, dict | list):
        yield path
        return
    for key, value in content.items() if isinstance(content, dict) else enumerate(content):
        yield from leaves(value, (*path, key))


def with_text(content: Any, path: tuple[Any, ...], text: str) -> str:
    """Return JSON in which the value at a path is replaced by a text, valid JSON or not."""
    if not path:
        return text
    items = content.items() if isinstance(content, dict) else enumerate(content)
    parts = [(key, with_text(value, path[1:], text) if key == path[0] else json.dumps(value)) for key, value in items]
    if isinstance(content, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {value}" for key, value in parts) + "}"
    return "[" + ", ".join(value for _, value in parts) + "]"


def check_refusal(answer: httpx.Response, request: str, *codes: str) -> None:
    """Check for a documented 4xx in the common shape, with a fixed message and nothing of an exception."""
    assert 400 <= answer.status_code < 500, (request, answer.status_code, answer.text[:500])
    assert answer.headers["content-type"] == "application/json", request
    content = answer.json()
    assert set(content) == {"error"}, request
    error = content["error"]
    assert set(error) <= {"code", "status", "message", "path", "detail"}, request
    assert error["code"] in (codes or CODES), (request, error)
    code = CODES[error["code"]]
    assert (error["status"], error["message"]) == (code.status, code.message), request
    assert answer.status_code == code.status, request
    detailed = ("refused", "not_supported", "bad_column")
    assert "detail" not in error or (error["code"] in detailed and "Error" not in error["detail"]), request


def valid_requests(target: FuzzTarget) -> Iterator[tuple[httpx.Client, str, Any]]:
    """Yield a client, a path and a valid body for every POST, for each role that may send it."""
    for who in ("anna", "carla"):
        with target.server.client(target.keys[who]) as client:
            client.headers.update(JSON | {"idempotency-key": "odd"})
            for address, body in BODIES.items():
                if who == "carla" or address in (*BOTH, *OWNERS):
                    yield client, address.split()[1].format(release="sides", session="annas"), body


@pytest.mark.parametrize("text", [*NUMBERS], ids=[text[:12] for text in NUMBERS])
def test_numbers_that_are_none(target: FuzzTarget, text: str) -> None:
    """In the place of any value of any request."""
    for client, path, body in valid_requests(target):
        for location in leaves(body):
            check_refusal(client.post(path, content=with_text(body, location, text)), f"{path} {location} {text[:20]}")


@pytest.mark.parametrize("text", [*WRONG], ids=[text[:12] for text in WRONG])
def test_values_of_another_type(target: FuzzTarget, text: str) -> None:
    """Lists and objects where there is a number or a text."""
    for client, path, body in valid_requests(target):
        for location in leaves(body):
            check_refusal(client.post(path, content=with_text(body, location, text)), f"{path} {location} {text[:20]}")


def test_bodies_that_are_none(target: FuzzTarget) -> None:
    for client, path, body in valid_requests(target):
        right = json.dumps(body).encode()
        for content in (b"[]", b"1", b'"x"', b"{", b"\xff\xfe", b'{"\xff": 1}', b"nan", right + b"x", right[:-1]):
            check_refusal(client.post(path, content=content), f"{path} {content[:20]!r}", "invalid", "not_found")
        for key in ("odd", "\\ud800", "\\u0000", "x" * 100_000):
            content = b'{"' + key.encode() + b'": 1, ' + right[1:]
            check_refusal(client.post(path, content=content), f"{path} {key[:20]}", "invalid", "not_found")
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
            answer = client.post(path, content=right, headers={"content-type": kind})
            check_refusal(answer, f"{path} {kind}", "invalid", "not_found")
        for empty in (b"", b"null"):
            answer = client.post(path, content=empty)
            check_refusal(answer, f"{path} {empty!r}", "invalid", "not_found")


def test_bodies_that_are_too_large(target: FuzzTarget) -> None:
    """With their length said before, with a wrong one, and in parts without any."""
    large = b" " * (5 << 20)

    def parts() -> Iterator[bytes]:
        for _ in range(5):
            yield large[: 1 << 20]

    for client, path, _ in valid_requests(target):
        check_refusal(client.post(path, content=large), path, "too_large")
        check_refusal(client.post(path, content=parts()), path, "too_large")


def test_too_many_points_and_columns(target: FuzzTarget) -> None:
    with target.server.client(target.keys["anna"]) as client:
        for path in ("/v1/releases/ages/distances", "/v1/releases/sides/nearest"):
            check_refusal(client.post(path, json={"points": [[1]] * 10_001}), path, "too_large")
            check_refusal(client.post(path, json={"points": [[1] * 4_097]}), path, "too_large")
            check_refusal(client.post(path, json={"points": []}), path, "invalid")
            check_refusal(client.post(path, json={"points": [[1, 2], [1]]}), path, "bad_point", "bad_group")
        check_refusal(client.post("/v1/releases/city/grid", json={"steps": 257}), "grid", "too_large")
        key = {"idempotency-key": "large"}
        check_refusal(
            client.post("/v1/sessions/annas/ask", json={"point": [1] * 4_097}, headers=key), "ask", "too_large"
        )
        for wrong in ("", "x" * 201, "a\tb"):
            headers = {"idempotency-key": wrong}
            answer = client.post("/v1/sessions/annas/ask", json={"point": [1, 2]}, headers=headers)
            check_refusal(answer, f"{wrong!r}", "invalid")
    with target.server.client(target.keys["carla"]) as client:
        wide = {"space": "l1", "bounds": [[0, 1]] * 4_097}
        check_refusal(client.post("/v1/plan", json={"space": wide, "n": 1000, "epsilon": 1}), "plan", "too_large")
        for dim in (10**9, 4_097, -1, 2**53):
            body = {"space": {"space": "angular", "dim": dim}, "n": 1000, "epsilon": 1}
            check_refusal(client.post("/v1/plan", json=body), f"plan {dim}")


def test_negative_zero_is_zero(target: FuzzTarget) -> None:
    with target.server.client(target.keys["anna"]) as client:
        responses = [
            client.post("/v1/releases/ages/distances", content=b'{"points": [[%s]]}' % zero, headers=JSON).json()
            for zero in (b"0", b"0.0", b"-0.0", b"-0")
        ]
    assert responses[0]["distances"]
    assert all(response == responses[0] for response in responses)


def test_of_a_key_that_is_sent_twice_the_last_counts(target: FuzzTarget) -> None:
    with target.server.client(target.keys["anna"]) as client:
        path = "/v1/releases/ages/distances"
        twice = client.post(path, content=b'{"points": "x", "points": [[3]]}', headers=JSON).json()
        assert twice == client.post(path, json={"points": [[3]]}).json()
