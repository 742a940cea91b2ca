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
from tests.attacks.resource_limits import BOUNDED, MEMORY, in_memory_of, in_time
from tests.attacks.test_fuzz_files import WRONG, damaged, damages
from tests.service.conftest import SPACES, House, furnished
from tests.service.test_access import BODIES

pytestmark = pytest.mark.filterwarnings("ignore::milepost.PromiseWarning")

ADDRESSES = [address for address in BODIES if address not in ("POST /v1/releases", "POST /v1/sessions")]  # make no jobs
NAMED = {
    "release": [*["sides"] * 6, "none", "%00", "..", "x" * 300],
    "session": [*["annas"] * 4, "berts", "none", "%ff"],
}
WORDS = [
    "points",
    "point",
    "group",
    "confidence",
    "steps",
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
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """With a release that has groups, and two sessions."""
    result = furnished(tmp_path_factory.mktemp("house"), {"sides": SPACES["sides"]})
    yield result
    result.office.close()


def check(house: House, answer: httpx.Response, address: str) -> int:
    """Its status, if the interface's document has it and it is no fault of the service."""
    method, path = address.split()
    documented = openapi_document(house.app)["paths"].get(path, {}).get(method.lower())
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
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(WORDS), inner, max_size=4)),
    max_leaves=12,
)
points = st.lists(st.lists(st.one_of(st.floats(), st.integers(-100, 100), scalars), max_size=4), max_size=4)
addresses = st.tuples(st.sampled_from(ADDRESSES), st.sampled_from(NAMED["release"]), st.sampled_from(NAMED["session"]))


@st.composite
def bodies(draw: st.DrawFn) -> tuple[tuple[str, str, str], bytes]:
    """A right body with some values changed, added and left out; any JSON; JSON with bytes damaged; any bytes."""
    address = draw(addresses)
    content: Any = dict(BODIES[address[0]])
    kind = draw(st.sampled_from(["right", "changed", "changed", "points", "any", "damaged", "bytes"]))
    if kind == "bytes":
        return address, draw(st.binary(max_size=60))
    if kind == "any":
        content = draw(anything)
    elif kind == "points":
        content |= {
            word: draw(points if word == "points" else points.map(lambda of: of[0] if of else of))
            for word in ("points", "point")
            if word in content
        }
    elif kind != "right":
        for _ in range(draw(st.integers(1, 2))):
            content[draw(st.sampled_from([*content, *WORDS]))] = draw(st.one_of(anything, st.sampled_from(WRONG)))
        if draw(st.booleans()):
            content.pop(draw(st.sampled_from([*content])))
    text = json.dumps(content).encode()
    return address, damaged(text, draw(damages)) if kind == "damaged" else text


headers = st.fixed_dictionaries(
    {
        "content-type": st.sampled_from(
            ["application/json"] * 6 + ["text/plain", "", "application/json; charset=x", "\xff"]
        )
    },
    optional={"idempotency-key": st.sampled_from(["a", "", "x" * 300, "a b", "\xe9"]), "accept": st.just("text/html")},
)


def asked(house: House, examples: int) -> Counter[int]:
    found: Counter[int] = Counter()
    clients = {who: house.client(who) for who in ("anna", "carla")}

    @settings(BOUNDED, max_examples=examples)
    @given(body=bodies(), headers=headers, who=st.sampled_from(["anna", "carla", "carla"]))
    def sent(body: Any, headers: dict[str, str], who: str) -> None:
        (address, release, session), content = body
        path = address.split()[1].format(release=release, session=session)
        said = {name: value.encode("latin-1") for name, value in headers.items()}
        with in_memory_of(MEMORY), in_time():
            answer = clients[who].request("POST", path, content=content, headers=said)
        found[check(house, answer, address)] += 1

    sent()
    return found


@pytest.mark.slow
def test_any_body_has_a_documented_answer(house: House) -> None:
    found = asked(house, 60)
    assert {200, 422} <= {*found}


@pytest.mark.slow
def test_any_of_many_bodies_has_a_documented_answer(house: House) -> None:
    found = asked(house, 400)
    assert {200, 404, 422} <= {*found}


@pytest.mark.parametrize("address", ADDRESSES)
def test_deep_and_long_bodies_are_refused(house: House, address: str) -> None:
    """Nesting, keys, numbers and texts beyond all measure, where a body is expected, and in the place of its values."""
    path = address.split()[1].format(release="sides", session="annas")
    key = next(iter(BODIES[address]))
    rest = json.dumps({word: value for word, value in BODIES[address].items() if word != key})[1:]
    for text in (
        "[" * 50_000,
        '{"a":' * 50_000,
        "9" * 50_000,
        "1e" + "9" * 500,
        '"' + "x" * 200_000 + '"',
        "[[[]]]" * 9,
    ):
        for content in (text, f'{{"{key}": {text}{", " if rest != "}" else ""}{rest}'):
            with in_memory_of(MEMORY), in_time():
                answer = house.client("carla").request(
                    "POST",
                    path,
                    content=content.encode(),
                    headers={"content-type": "application/json", "idempotency-key": "a"},
                )
            assert 400 <= check(house, answer, address) < 500


@pytest.mark.parametrize("point", [[1e308, -1e308], [-1e308, 0], [1e150, 1], [1e308, 1e308]])
def test_points_beyond_all_reason_are_bad_ones(house: House, point: list[float]) -> None:
    """They were answered by an internal error."""
    answer = house.client("anna").post("/v1/releases/sides/distances", {"points": [point], "group": "west"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "bad_point")
    headers = {"idempotency-key": f"{point}"}
    asked = house.client("anna").post("/v1/sessions/annas/ask", {"point": point}, headers=headers)
    assert (asked.status_code, asked.json()["error"]["code"]) == (422, "bad_point")


parts = st.sampled_from(
    ["v1", "releases", "sessions", "datasets", "jobs", "sides", "annas", "..", "%2e", "%00", "é", "x" * 400, ""]
)
asks = st.dictionaries(
    st.sampled_from(["dataset", "limit", "after", "x"]), st.sampled_from(["", "1", "-1", "\x00", "9" * 99])
)


@settings(BOUNDED, max_examples=60)
@given(
    path=st.lists(parts, max_size=6), query=asks, method=st.sampled_from(["GET", "PUT", "DELETE", "PATCH", "HEAD", "X"])
)
def paths_are_answered(house: House, path: list[str], query: dict[str, str], method: str) -> None:
    if method == "DELETE" and path[:2] == ["v1", "releases"]:
        method = "GET"  # what is here stays
    with in_time():
        answer = house.client("carla").request(method, "/" + "/".join(path), params=query)
    assert answer.status_code < 500, (method, path, query)


def test_any_path_has_an_answer(house: House) -> None:
    paths_are_answered(house)


def uploads(house: House, folder: Path, examples: int) -> Counter[int]:
    """Releases that were made elsewhere: damaged, and with cards that somebody has edited."""
    content = house.office.directory.release("sides").read_bytes()
    card, tensors = file_format.read(house.office.directory.release("sides"))
    found: Counter[int] = Counter()
    client = house.client("carla")

    @settings(BOUNDED, max_examples=examples)
    @given(damage=damages, word=st.sampled_from(sorted(card)), wrong=st.sampled_from(WRONG), edited=st.booleans())
    def sent(damage: Any, word: str, wrong: Any, edited: bool) -> None:
        sending = damaged(content, damage)
        if edited:
            file_format.write(folder / "edited.milepost", card | {word: wrong}, tensors)
            sending = (folder / "edited.milepost").read_bytes()
        with in_memory_of(MEMORY), in_time():
            answer = client.request("PUT", "/v1/releases/odd", content=sending)
        found[check(house, answer, "PUT /v1/releases/{release}")] += 1
        if answer.status_code == 201:
            assert client.get("/v1/releases/odd").status_code == 200
            assert client.request("DELETE", "/v1/releases/odd").status_code == 204

    sent()
    return found


def test_odd_uploads_are_refused(house: House, tmp_path: Path) -> None:
    assert uploads(house, tmp_path, 30)[422] > 10


@pytest.mark.slow
def test_many_odd_uploads_are_refused(house: House, tmp_path: Path) -> None:
    assert uploads(house, tmp_path, 100)[422] > 30
