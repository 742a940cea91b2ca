"""What somebody with a key, or without one, might try."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from milepost.service.settings import Settings
from milepost.sessions.field_engine import FieldEngine
from tests.service.conftest import MADE, PLANE, House, furnished

Call = tuple[float, str, str, str, dict[str, Any]]  # after how many seconds, who, what


@pytest.fixture
def lodge(tmp_path: Path) -> Iterator[House]:
    result = furnished(tmp_path, {})
    yield result
    result.office.close()


def at_once(house: House, *calls: Call) -> list[tuple[float, httpx.Response]]:
    """Requests that run beside each other, and how many seconds each took."""

    async def one(client: httpx.AsyncClient, call: Call) -> tuple[float, httpx.Response]:
        delay, who, method, path, words = call
        await asyncio.sleep(delay)
        headers = {"authorization": f"Bearer {house.keys[who]}"} | words.pop("headers", {})
        begun = time.monotonic()
        answer = await client.request(method, path, headers=headers, **words)
        return time.monotonic() - begun, answer

    async def every() -> list[tuple[float, httpx.Response]]:
        transport = httpx.ASGITransport(house.app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://house") as client:
            return await asyncio.gather(*(one(client, call) for call in calls))

    return asyncio.run(every())


def ask(delay: float, point: list[float], name: str) -> Call:
    words = {"json": {"point": point}, "headers": {"idempotency-key": name}}
    return delay, "anna", "POST", "/v1/sessions/annas/ask", words


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers that take a while."""
    real = FieldEngine.answer

    def answer(self: FieldEngine, places: Any) -> Any:
        time.sleep(0.3)
        return real(self, places)

    monkeypatch.setattr(FieldEngine, "answer", answer)


def names(house: House) -> list[str]:
    return [one["name"] for one in house.client("anna").get("/v1/sessions/annas/transcript").json()["questions"]]


@pytest.mark.usefixtures("slow")
def test_a_transcript_has_what_was_answered_while_it_was_closed(lodge: House) -> None:
    close: Call = (0.1, "carla", "POST", "/v1/sessions/annas/close", {})
    answers = at_once(lodge, ask(0, [7, 7], "a"), ask(0.05, [7, 8], "b"), close, close, ask(0.15, [7, 9], "c"))
    assert sorted(answer.status_code for _, answer in answers) == [200, 200, 204, 409, 409]
    assert names(lodge) == ["a", "b"]
    assert "annas" not in lodge.office.desk._sessions  # the table is forgotten


@pytest.mark.usefixtures("slow")
def test_nothing_but_the_clock_tells_when_an_answer_was_ready(lodge: House) -> None:
    """Neither a transcript that waits for it, nor a number of questions that are left."""
    lodge.office.clock._period = 0.4
    looks: list[Call] = [(0.05 * k, "anna", "GET", "/v1/sessions/annas", {}) for k in range(1, 16)]
    answers = at_once(lodge, ask(0, [1, 2], "a"), (0.05, "anna", "GET", "/v1/sessions/annas/transcript", {}), *looks)
    took, (_, transcript) = answers[0][0], answers[1]
    assert [one["name"] for one in transcript.json()["questions"]] == ["a"]
    assert answers[1][0] >= 0.39
    for call, (_, look) in zip(looks, answers[2:], strict=True):
        assert look.json()["remaining"] == 5 or call[0] >= took - 0.05


@pytest.mark.usefixtures("slow")
def test_one_analyst_does_not_keep_all_threads(lodge: House) -> None:
    asked = [ask(0, [k, k], f"{k}") for k in range(5)]
    took, answer = at_once(lodge, *asked, (0.1, "bert", "GET", "/v1/datasets", {}))[-1]
    assert answer.status_code == 200
    assert took < 1  # all of them take 1.5 s


def test_the_same_key_at_once(lodge: House) -> None:
    same = at_once(lodge, *(ask(0, [3, 3], "k") for _ in range(8)))
    assert len({answer.text for _, answer in same}) == 1
    other = at_once(lodge, *(ask(0, [3, 4 + k], "l") for k in range(4)))
    assert sorted(answer.status_code for _, answer in other) == [200, 409, 409, 409]
    assert lodge.client("anna").get("/v1/sessions/annas").json()["remaining"] == 3
    assert names(lodge) == ["k", "l"]


def test_a_session_that_finds_no_room_leaves_no_trace(lodge: House) -> None:
    words = {"id": "new", "analyst": "anna", "max_queries": 5, "space": PLANE, **MADE}
    carla, lodge.office.jobs._most = lodge.client("carla"), 0
    assert carla.post("/v1/sessions", words).json()["error"]["code"] == "busy"
    assert carla.get("/v1/sessions/new").status_code == 404
    lodge.office.jobs._most = Settings().max_jobs
    assert carla.post("/v1/sessions", words).status_code == 202


def test_analysts_do_not_see_what_failed(lodge: House) -> None:
    """It may have, because of what is in the table."""
    words = {"id": "new", "analyst": "anna", "max_queries": 5, "space": PLANE, **MADE, "columns": ["x", "side"]}
    carla = lodge.client("carla")
    job = carla.post("/v1/sessions", words).json()
    while job["state"] in ("queued", "running"):
        time.sleep(0.02)
        job = carla.get(f"/v1/jobs/{job['id']}").json()
    assert job["state"] == "failed"
    assert [one["id"] for one in lodge.client("anna").get("/v1/sessions").json()["sessions"]] == ["annas"]
    assert lodge.client("anna").get("/v1/sessions/new").status_code == 404
    assert carla.get("/v1/sessions/new").json()["state"] == "failed"
