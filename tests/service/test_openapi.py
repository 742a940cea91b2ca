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
from tests.service.conftest import SPACES, furnished
from tests.service.server_process import Service, running
from tests.service.test_access import BODIES, BOTH, OWN, OWNERS

pytestmark = pytest.mark.slow

EXAMPLES = 10  # of each address, role and kind of data, in a round
ROUNDS = 30  # at most
LIMITS = ("max_jobs=10000", "max_sessions=10000", "max_connections=10000")
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
NAMES = {"release": [*SPACES], "session": ["annas", "berts"], "name": ["people"]}  # what there is
LONG = '"' + "x" * 20_000 + '"'
NUMBERS = ("NaN", "Infinity", "-Infinity", "1e999", "-1e999", "1" + "0" * 5_000, "0x10", "1_000", "01", "9" * 400)
WRONG = ("[" * 100_000, "[" * 900 + "]" * 900, '{"a": ' * 900 + "1" + "}" * 900, "[]", "{}", '"\\ud800"', LONG)
JSON = {"content-type": "application/json"}
MADE_HERE = ("POST /v1/plan", "POST /v1/releases", "POST /v1/datasets", "GET /v1/jobs")
POINTS: list[Any] = [[52.5, 13.4], [30], [1, 2], [5, 5], [30, "west"], "west", [1, -0.0]]
MAKING = {"space": [words["space"] for words in SPACES.values()], "table": ["people.parquet"], "dataset": ["people"]}
VALUES: dict[str, dict[str, list[Any]]] = {  # that fit something here, by shape and name
    "DistanceRequest": {"points": [[point] for point in POINTS], "group": [None, "west"]},
    "CompareRequest": {"points": [[point] * 2 for point in POINTS]},
    "CenterRequest": {"group": [None, "west"]},
    "GridRequest": {"group": [None, "west"], "steps": [2, 10, 256]},
    "QuestionRequest": {"point": POINTS},
    "PlanRequest": {"space": MAKING["space"], "n": [1_000], "epsilon": [1.0], "error": [None], "contributions": [1]},
    "ReleaseRequest": MAKING,
    "SessionRequest": MAKING | {"analyst": ["anna"]},
}


@dataclass(frozen=True)
class Fuzzed:
    """A service, its document, and keys."""

    service: Service
    document: dict[str, Any]
    keys: dict[str, str]


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fuzzed]:
    root = tmp_path_factory.mktemp("fuzzed") / "data"
    house = furnished(root)
    house.office.close()
    with running(root, *LIMITS) as service:
        with service.client(house.keys["anna"]) as client:
            document = client.get("/v1/openapi.json").json()
        yield Fuzzed(service, document, house.keys)
        assert "internal error" not in service.log.read_text()


def named(document: dict[str, Any]) -> dict[str, Any]:
    """The document of a service that has nothing but what is here: names, spaces and points are made that exist."""
    document = copy.deepcopy(document)
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            for parameter in operation.get("parameters", ()):
                if parameter["name"] in NAMES and method != "delete" and not path.endswith("/close"):
                    parameter["schema"] = {"enum": NAMES[parameter["name"]]}
    for name, values in VALUES.items():
        shape = document["components"]["schemas"][name]
        shape["properties"] |= {word: {"enum": of} for word, of in values.items()}
        shape["required"] = sorted({*shape.get("required", ()), *values})
    return document


@pytest.mark.parametrize("data", ["positive", "negative", "named positive", "named negative"])
@pytest.mark.parametrize("who", ["anna", "carla"])
def test_answers_are_those_of_the_document(fuzzed: Fuzzed, who: str, data: str) -> None:
    """No 5xx, no status, content type or shape that is not documented.

    Of what has names, each address is tried until it answers: it is not for their names that requests are refused.
    One in about 14 fits a release with its point and group, so that ROUNDS rounds miss with less than 1e-8.
    """
    mode = GenerationMode(data.split()[-1])
    schema = schemathesis.openapi.from_dict(named(fuzzed.document) if "named" in data else fuzzed.document)
    wanted = {*BOTH, *(OWN if who == "anna" else MADE_HERE)} if data == "named positive" else set()
    headers = {"authorization": f"Bearer {fuzzed.keys[who]}"}
    answered: set[str] = set()
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
        def conforms(case: schemathesis.Case[Any]) -> None:
            answer = case.call_and_validate(base_url=fuzzed.service.url, headers=headers, checks=CHECKS, timeout=300)
            if answer.status_code < 300:
                answered.add(case.operation.label)

        for number in range(ROUNDS):
            seed(number)(conforms)()
            if operation.label not in wanted - answered:
                break
    assert wanted <= answered


def leaves(content: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of all values that are neither lists nor objects."""
    if not isinstance(content, dict | list):
        yield path
        return
    for key, value in content.items() if isinstance(content, dict) else enumerate(content):
        yield from leaves(value, (*path, key))


def replaced(content: Any, path: tuple[Any, ...], text: str) -> str:
    """JSON in which the value at a path is another text, be it JSON or not."""
    if not path:
        return text
    items = content.items() if isinstance(content, dict) else enumerate(content)
    parts = [(key, replaced(value, path[1:], text) if key == path[0] else json.dumps(value)) for key, value in items]
    if isinstance(content, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {value}" for key, value in parts) + "}"
    return "[" + ", ".join(value for _, value in parts) + "]"


def refused(answer: httpx.Response, what: str, *codes: str) -> None:
    """A documented 4xx in the one shape, with a fixed message and nothing of an exception."""
    assert 400 <= answer.status_code < 500, (what, answer.status_code, answer.text[:500])
    assert answer.headers["content-type"] == "application/json", what
    content = answer.json()
    assert set(content) == {"error"}, what
    error = content["error"]
    assert set(error) <= {"code", "status", "message", "path", "detail"}, what
    assert error["code"] in (codes or CODES), (what, error)
    code = CODES[error["code"]]
    assert (error["status"], error["message"]) == (code.status, code.message), what
    assert answer.status_code == code.status, what
    assert "detail" not in error or (error["code"] == "refused" and "Error" not in error["detail"]), what


def sent(fuzzed: Fuzzed) -> Iterator[tuple[httpx.Client, str, Any]]:
    """A client, an address and a right body for every POST; for both roles where both may."""
    for who in ("anna", "carla"):
        with fuzzed.service.client(fuzzed.keys[who]) as client:
            client.headers.update(JSON | {"idempotency-key": "odd"})
            for address, body in BODIES.items():
                if who == "carla" or address in (*BOTH, *OWNERS):
                    yield client, address.split()[1].format(release="sides", session="annas"), body


@pytest.mark.parametrize("text", [*NUMBERS], ids=[text[:12] for text in NUMBERS])
def test_numbers_that_are_none(fuzzed: Fuzzed, text: str) -> None:
    """In the place of any value of any request."""
    for client, path, body in sent(fuzzed):
        for place in leaves(body):
            refused(client.post(path, content=replaced(body, place, text)), f"{path} {place} {text[:20]}")


@pytest.mark.parametrize("text", [*WRONG], ids=[text[:12] for text in WRONG])
def test_values_of_another_type(fuzzed: Fuzzed, text: str) -> None:
    """Lists and objects where there is a number or a text."""
    for client, path, body in sent(fuzzed):
        for place in leaves(body):
            refused(client.post(path, content=replaced(body, place, text)), f"{path} {place} {text[:20]}")


def test_bodies_that_are_none(fuzzed: Fuzzed) -> None:
    for client, path, body in sent(fuzzed):
        right = json.dumps(body).encode()
        for content in (b"[]", b"1", b'"x"', b"{", b"\xff\xfe", b'{"\xff": 1}', b"nan", right + b"x", right[:-1]):
            refused(client.post(path, content=content), f"{path} {content[:20]!r}", "invalid", "not_found")
        for key in ("odd", "\\ud800", "\\u0000", "x" * 100_000):
            content = b'{"' + key.encode() + b'": 1, ' + right[1:]
            refused(client.post(path, content=content), f"{path} {key[:20]}", "invalid", "not_found")
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
            answer = client.post(path, content=right, headers={"content-type": kind})
            refused(answer, f"{path} {kind}", "invalid", "not_found")
        for empty in (b"", b"null"):
            answer = client.post(path, content=empty)
            refused(answer, f"{path} {empty!r}", "invalid", "not_found")


def test_bodies_that_are_too_large(fuzzed: Fuzzed) -> None:
    """With their length said before, with a wrong one, and in parts without any."""
    large = b" " * (5 << 20)

    def parts() -> Iterator[bytes]:
        for _ in range(5):
            yield large[: 1 << 20]

    for client, path, _ in sent(fuzzed):
        refused(client.post(path, content=large), path, "too_large")
        refused(client.post(path, content=parts()), path, "too_large")


def test_too_many_points_and_columns(fuzzed: Fuzzed) -> None:
    with fuzzed.service.client(fuzzed.keys["anna"]) as client:
        for path in ("/v1/releases/ages/distances", "/v1/releases/sides/nearest"):
            refused(client.post(path, json={"points": [[1]] * 10_001}), path, "too_large")
            refused(client.post(path, json={"points": [[1] * 4_097]}), path, "too_large")
            refused(client.post(path, json={"points": []}), path, "invalid")
            refused(client.post(path, json={"points": [[1, 2], [1]]}), path, "bad_point", "bad_group")
        refused(client.post("/v1/releases/city/field", json={"steps": 257}), "field", "too_large")
        key = {"idempotency-key": "large"}
        refused(client.post("/v1/sessions/annas/ask", json={"point": [1] * 4_097}, headers=key), "ask", "too_large")
        for wrong in ("", "x" * 201, "a\tb"):
            headers = {"idempotency-key": wrong}
            answer = client.post("/v1/sessions/annas/ask", json={"point": [1, 2]}, headers=headers)
            refused(answer, f"{wrong!r}", "invalid")
    with fuzzed.service.client(fuzzed.keys["carla"]) as client:
        wide = {"space": "l1", "bounds": [[0, 1]] * 4_097}
        refused(client.post("/v1/plan", json={"space": wide, "n": 1000, "epsilon": 1}), "plan", "too_large")
        for dim in (10**9, 4_097, -1, 2**53):
            body = {"space": {"space": "angular", "dim": dim}, "n": 1000, "epsilon": 1}
            refused(client.post("/v1/plan", json=body), f"plan {dim}")


def test_negative_zero_is_zero(fuzzed: Fuzzed) -> None:
    with fuzzed.service.client(fuzzed.keys["anna"]) as client:
        found = [
            client.post("/v1/releases/ages/distances", content=b'{"points": [[%s]]}' % zero, headers=JSON).json()
            for zero in (b"0", b"0.0", b"-0.0", b"-0")
        ]
    assert found[0]["distances"]
    assert all(one == found[0] for one in found)


def test_of_a_key_that_is_sent_twice_the_last_counts(fuzzed: Fuzzed) -> None:
    with fuzzed.service.client(fuzzed.keys["anna"]) as client:
        path = "/v1/releases/ages/distances"
        twice = client.post(path, content=b'{"points": "x", "points": [[3]]}', headers=JSON).json()
        assert twice == client.post(path, json={"points": [[3]]}).json()
