"""HTTP bodies, paths, queries and headers of any content: a documented answer, never a 5xx, in bounded time and memory.

The service runs in this process. tests/service/test_openapi.py does the same by the interface's own document, slowly.
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from milepost.service.app import openapi_document
from milepost.service.errors import CODES
from milepost.synopsis import file_format
from tests.attacks.resource_limits import BOUNDED, MEMORY, memory_limit, time_limit
from tests.attacks.test_fuzz_files import WRONG, apply_damage, damages
from tests.service.conftest import SPACES, ServiceFixture, create_service
from tests.service.test_access import BODIES

pytestmark = pytest.mark.filterwarnings("ignore::milepost.AccuracyWarning")

ADDRESSES = [address for address in BODIES if address not in ("POST /v1/releases", "POST /v1/sessions")]  # make no jobs
NAMES = {
    "release": [*["sides"] * 6, "none", "%00", "..", "x" * 300],
    "session": [*["annas"] * 4, "berts", "none", "%ff"],
}
FIELDS = [
    "points",
    "point",
    "group",
    "confidence",
    "steps",
    "columns",
    "shares",
    "other",
    "releases",
    "labels",
    "space",
    "n",
    "epsilon",
    "delta",
    "name",
    "rho",
    "error",
    "x",
]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceFixture]:
    """Create a service with a release that has groups, and two sessions."""
    result = create_service(tmp_path_factory.mktemp("service"), {"sides": SPACES["sides"]})
    yield result
    result.state.close()


def check_response(service: ServiceFixture, answer: httpx.Response, address: str) -> int:
    """Return the status of a response, and check that it is documented and no fault of the service."""
    method, path = address.split()
    documented = openapi_document(service.app)["paths"].get(path, {}).get(method.lower())
    assert answer.status_code < 500, (address, answer.text[:500])
    if documented is not None:
        assert f"{answer.status_code}" in {*documented["responses"], "404", "405"}, (address, answer.status_code)
    if answer.status_code >= 400:
        error = answer.json()["error"]
        assert (error["status"], error["message"]) == (answer.status_code, CODES[error["code"]].message)
        assert len(answer.content) < 5_000
    else:
        json.loads(answer.content, parse_constant=pytest.fail)  # no NaN, no infinity
    return answer.status_code


scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=6),
    st.sampled_from([10**400, 1e308, -1e308, 5e-324, -0.0, "west", "x" * 10_000, "\x00", "\ud800"]),
)
anything = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4)),
    max_leaves=12,
)
points = st.lists(st.lists(st.one_of(st.floats(), st.integers(-100, 100), scalars), max_size=4), max_size=4)
addresses = st.tuples(st.sampled_from(ADDRESSES), st.sampled_from(NAMES["release"]), st.sampled_from(NAMES["session"]))


@st.composite
def bodies(draw: st.DrawFn) -> tuple[tuple[str, str, str], bytes]:
    """Draw a valid body with some values changed, added and removed; any JSON; JSON with damaged bytes; any bytes."""
    address = draw(addresses)
    content: Any = dict(BODIES[address[0]])
    kind = draw(st.sampled_from(["right", "changed", "changed", "points", "any", "damaged", "bytes"]))
    if kind == "bytes":
        return address, draw(st.binary(max_size=60))
    if kind == "any":
        content = draw(anything)
    elif kind == "points":
        content |= {
            field: draw(points if field == "points" else points.map(lambda many: many[0] if many else many))
            for field in ("points", "point")
            if field in content
        }
    elif kind != "right":
        for _ in range(draw(st.integers(1, 2))):
            content[draw(st.sampled_from([*content, *FIELDS]))] = draw(st.one_of(anything, st.sampled_from(WRONG)))
        if draw(st.booleans()):
            content.pop(draw(st.sampled_from([*content])))
    text = json.dumps(content).encode()
    return address, apply_damage(text, draw(damages)) if kind == "damaged" else text


headers = st.fixed_dictionaries(
    {
        "content-type": st.sampled_from(
            ["application/json"] * 6 + ["text/plain", "", "application/json; charset=x", "\xff"]
        )
    },
    optional={"idempotency-key": st.sampled_from(["a", "", "x" * 300, "a b", "\xe9"]), "accept": st.just("text/html")},
)


def send_bodies(service: ServiceFixture, examples: int) -> Counter[int]:
    statuses: Counter[int] = Counter()
    clients = {who: service.client(who) for who in ("anna", "carla")}

    @settings(BOUNDED, max_examples=examples)
    @given(body=bodies(), headers=headers, who=st.sampled_from(["anna", "carla", "carla"]))
    def send(body: Any, headers: dict[str, str], who: str) -> None:
        (address, release, session), content = body
        path = address.split()[1].format(release=release, session=session)
        encoded_headers = {name: value.encode("latin-1") for name, value in headers.items()}
        with memory_limit(MEMORY), time_limit():
            answer = clients[who].request("POST", path, content=content, headers=encoded_headers)
        statuses[check_response(service, answer, address)] += 1

    send()
    return statuses


@pytest.mark.slow
def test_any_body_has_a_documented_answer(service: ServiceFixture) -> None:
    statuses = send_bodies(service, 60)
    assert {200, 422} <= {*statuses}


@pytest.mark.slow
def test_any_of_many_bodies_has_a_documented_answer(service: ServiceFixture) -> None:
    statuses = send_bodies(service, 400)
    assert {200, 404, 422} <= {*statuses}


@pytest.mark.parametrize("address", ADDRESSES)
def test_deep_and_long_bodies_are_refused(service: ServiceFixture, address: str) -> None:
    """Nesting, keys, numbers and texts of excessive size, as the body and as one of its values."""
    path = address.split()[1].format(release="sides", session="annas")
    key = next(iter(BODIES[address]))
    rest = json.dumps({field: value for field, value in BODIES[address].items() if field != key})[1:]
    for text in (
        "[" * 50_000,
        '{"a":' * 50_000,
        "9" * 50_000,
        "1e" + "9" * 500,
        '"' + "x" * 200_000 + '"',
        "[[[]]]" * 9,
    ):
        for content in (text, f'{{"{key}": {text}{", " if rest != "}" else ""}{rest}'):
            with memory_limit(MEMORY), time_limit():
                answer = service.client("carla").request(
                    "POST",
                    path,
                    content=content.encode(),
                    headers={"content-type": "application/json", "idempotency-key": "a"},
                )
            assert 400 <= check_response(service, answer, address) < 500


@pytest.mark.parametrize("point", [[1e308, -1e308], [-1e308, 0], [1e150, 1], [1e308, 1e308]])
def test_points_beyond_all_reason_are_bad_ones(service: ServiceFixture, point: list[float]) -> None:
    """They were answered by an internal error."""
    answer = service.client("anna").post("/v1/releases/sides/distances", {"points": [point], "group": "west"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "bad_point")
    headers = {"idempotency-key": f"{point}"}
    session_answer = service.client("anna").post("/v1/sessions/annas/ask", {"point": point}, headers=headers)
    assert (session_answer.status_code, session_answer.json()["error"]["code"]) == (422, "bad_point")


parts = st.sampled_from(
    ["v1", "releases", "sessions", "datasets", "jobs", "sides", "annas", "..", "%2e", "%00", "é", "x" * 400, ""]
)
query_params = st.dictionaries(
    st.sampled_from(["dataset", "limit", "after", "x"]), st.sampled_from(["", "1", "-1", "\x00", "9" * 99])
)


@settings(BOUNDED, max_examples=60)
@given(
    path=st.lists(parts, max_size=6),
    query=query_params,
    method=st.sampled_from(["GET", "PUT", "DELETE", "PATCH", "HEAD", "X"]),
)
def check_paths(service: ServiceFixture, path: list[str], query: dict[str, str], method: str) -> None:
    if method == "DELETE" and path[:2] == ["v1", "releases"]:
        method = "GET"  # what is here stays
    with time_limit():
        answer = service.client("carla").request(method, "/" + "/".join(path), params=query)
    assert answer.status_code < 500, (method, path, query)


def test_any_path_has_an_answer(service: ServiceFixture) -> None:
    check_paths(service)


def send_uploads(service: ServiceFixture, folder: Path, examples: int) -> Counter[int]:
    """Upload releases: damaged, and with edited cards; count the statuses."""
    content = service.state.directory.release("sides").read_bytes()
    card, tensors = file_format.read(service.state.directory.release("sides"))
    statuses: Counter[int] = Counter()
    client = service.client("carla")

    @settings(BOUNDED, max_examples=examples)
    @given(damage=damages, key=st.sampled_from(sorted(card)), wrong=st.sampled_from(WRONG), edited=st.booleans())
    def send(damage: Any, key: str, wrong: Any, edited: bool) -> None:
        upload = apply_damage(content, damage)
        if edited:
            file_format.write(folder / "edited.milepost", card | {key: wrong}, tensors)
            upload = (folder / "edited.milepost").read_bytes()
        with memory_limit(MEMORY), time_limit():
            answer = client.request("PUT", "/v1/releases/odd", content=upload)
        statuses[check_response(service, answer, "PUT /v1/releases/{release}")] += 1
        if answer.status_code == 201:
            assert client.get("/v1/releases/odd").status_code == 200
            assert client.request("DELETE", "/v1/releases/odd").status_code == 204

    send()
    return statuses


def test_odd_uploads_are_refused(service: ServiceFixture, tmp_path: Path) -> None:
    assert send_uploads(service, tmp_path, 30)[422] > 10


@pytest.mark.slow
def test_many_odd_uploads_are_refused(service: ServiceFixture, tmp_path: Path) -> None:
    assert send_uploads(service, tmp_path, 100)[422] > 30
