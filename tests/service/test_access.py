"""Access: every address × nobody, analysts and curators."""

from typing import Any

import pytest

from milepost.service.app import openapi_document
from milepost.service.auth import create_key, revoke_key
from tests.service.conftest import BUILD_PARAMS, CITY, ServiceFixture

OPEN = ("GET /v1/health",)
CURATORS = (
    "GET /v1/tables",
    "POST /v1/plan",
    "POST /v1/releases",
    "PUT /v1/releases/{release}",
    "DELETE /v1/releases/{release}",
    "POST /v1/sessions",
    "POST /v1/sessions/{session}/close",
    "GET /v1/jobs",
    "GET /v1/jobs/{job}",
    "POST /v1/datasets",
    "GET /v1/datasets/{name}/charges",
    "GET /v1/metrics",
)
OWNERS = ("POST /v1/sessions/{session}/ask",)  # not even a curator's, unless it was opened for them
OWN = ("GET /v1/sessions/{session}", "GET /v1/sessions/{session}/transcript", *OWNERS)
BOTH = (
    "GET /v1/me",
    "GET /v1/releases",
    "GET /v1/releases/{release}",
    "GET /v1/releases/{release}/statement",
    "GET /v1/releases/{release}/file",
    "POST /v1/releases/{release}/distances",
    "POST /v1/releases/{release}/nearest",
    "POST /v1/releases/{release}/center",
    "POST /v1/releases/{release}/grid",
    "POST /v1/releases/{release}/columns",
    "POST /v1/releases/{release}/difference",
    "POST /v1/drift",
    "GET /v1/datasets",
    "GET /v1/sessions",
)
BODIES: dict[str, Any] = {
    "POST /v1/plan": {"space": CITY, "n": 1000, "epsilon": 1},
    "POST /v1/releases": {"id": "new", "space": CITY, **BUILD_PARAMS},
    "POST /v1/sessions": {"id": "new", "space": CITY, "analyst": "anna", "max_queries": 5, **BUILD_PARAMS},
    "POST /v1/datasets": {"name": "other", "epsilon": 1},
    "POST /v1/releases/{release}/distances": {"points": [[1, 2]], "group": "west"},
    "POST /v1/releases/{release}/nearest": {"points": [[1, 2]]},
    "POST /v1/releases/{release}/center": {"group": "east"},
    "POST /v1/releases/{release}/grid": {"steps": 4, "group": "east"},
    "POST /v1/releases/{release}/columns": {
        "columns": ["x"],
        "shares": [{"column": "y", "low": 2, "high": 5.5}],
        "group": "east",
    },
    "POST /v1/releases/{release}/difference": {"other": "sides", "group": "west", "other_group": "east"},
    "POST /v1/drift": {"releases": ["sides", "sides"], "labels": ["old", "new"], "group": "east"},
    "POST /v1/sessions/{session}/ask": {"point": [1, 2]},
}


def addresses(service: ServiceFixture) -> list[str]:
    return [
        f"{method.upper()} {path}"
        for path, methods in openapi_document(service.app)["paths"].items()
        for method in methods
    ]


def status(service: ServiceFixture, who: str, address: str, session: str = "annas") -> int:
    method, path = address.split()
    path = path.format(release="sides", session=session, job="0", name="people")
    answer = service.client(who).request(
        method, path, json=BODIES.get(address), headers={"idempotency-key": f"{who} {address}"}
    )
    if answer.status_code >= 400:
        assert set(answer.json()) == {"error"}
    return answer.status_code


def test_every_address_has_its_rule(service: ServiceFixture) -> None:
    assert sorted(addresses(service)) == sorted([*OPEN, *CURATORS, *OWN, *BOTH])


def test_nobody_is_answered_but_about_health_and_by_the_page(service: ServiceFixture) -> None:
    for address in addresses(service):
        assert status(service, "nobody", address) == (200 if address in OPEN else 401), address
    nobody = service.client("nobody")
    for path in ("/v1/openapi.json", "/v1", "/docs", "/openapi.json", "/metrics", "/v1/releases/nothing", "/etc"):
        assert nobody.get(path).status_code == 401, path
    assert nobody.get("/").status_code == 200
    assert nobody.get("/static/nothing.js").status_code == 404
    for path in ("/static/../app.py", "/static/%2e%2e/app.py", "/static//etc/passwd", "/static/..%2fapp.py"):
        assert nobody.get(path).status_code in (401, 404), path


@pytest.mark.parametrize("who", ["anna", "bert"])
def test_analysts_reach_no_curators_action(service: ServiceFixture, who: str) -> None:
    for address in CURATORS:
        assert status(service, who, address) == 403, address


def test_analysts_reach_no_other_session(service: ServiceFixture) -> None:
    """It is as if there were none."""
    for address in OWN:
        assert status(service, "anna", address, "annas") == 200, address
        assert status(service, "bert", address, "annas") == 404, address
        assert status(service, "bert", address, "nothing") == 404, address
    names = {
        who: [session["id"] for session in service.client(who).get("/v1/sessions").json()["sessions"]]
        for who in service.keys
    }
    assert names == {"anna": ["annas"], "bert": ["berts"], "carla": ["annas", "berts"]}


def test_curators_see_sessions_but_do_not_ask_in_them(service: ServiceFixture) -> None:
    for address in OWN:
        assert status(service, "carla", address, "annas") == (404 if address in OWNERS else 200), address


def test_both_see_releases(service: ServiceFixture) -> None:
    for who in ("anna", "carla"):
        for address in BOTH:
            assert status(service, who, address) == 200, address


@pytest.mark.parametrize(
    "header_template",
    [
        "",
        "Bearer",
        "Bearer ",
        "Bearer x",
        "Basic {key}",
        "{key}",
        "Bearer {key}x",
        "Bearer {short}",
        "Bearer mp__",
        "Bearer \x80",
    ],
)
def test_other_headers_are_no_key(service: ServiceFixture, header_template: str) -> None:
    key = service.keys["anna"]
    header = header_template.format(key=key, short=key[:-1]).encode("latin-1")
    answer = service.client("nobody").get("/v1/me", headers={"authorization": header})
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthorized")
    assert answer.headers["www-authenticate"] == "Bearer"


def test_keys_are_made_and_revoked_while_it_runs(service: ServiceFixture) -> None:
    key, text = create_key(service.state.database, "dora", "analyst")
    service.keys["dora"] = text
    assert service.client("dora").get("/v1/me").json()["name"] == "dora"
    assert [revoked_key.id for revoked_key in revoke_key(service.state.database, key.id)] == [key.id]
    assert service.client("dora").get("/v1/me").status_code == 401
    assert (
        text.split("_")[2].encode() not in service.state.directory.database_path.read_bytes()
    )  # only a digest is stored


def test_headers_close_what_browsers_leave_open(service: ServiceFixture) -> None:
    for path in ("/", "/v1/health", "/v1/me", "/nothing"):
        headers = service.client("anna").get(path, headers={"origin": "https://elsewhere.example"}).headers
        assert "access-control-allow-origin" not in headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "default-src 'none'" in headers["content-security-policy"]
    assert (
        service.client("anna").request("OPTIONS", "/v1/releases", headers={"origin": "https://x.example"}).status_code
        == 405
    )
