"""What somebody with a key, or without one, might try."""

import asyncio
import sqlite3
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event, Semaphore, Thread
from typing import Any

import httpx
import pytest

from milepost.errors import MilepostError, warn
from milepost.pipeline.space_spec import space_from_spec
from milepost.privacy.guarantee import Guarantee
from milepost.service.app import make_app
from milepost.service.auth import revoke_key
from milepost.service.database import JobRecord, ReleaseRecord, SessionRecord
from milepost.service.schemas.requests import ReleaseRequest, SessionRequest
from milepost.service.settings import Settings
from milepost.service.state import ServiceState
from milepost.sessions.engines.field import FieldEngine
from milepost.synopsis import file_format
from tests.attacks.resource_limits import MEMORY, memory_limit
from tests.events import PATIENCE, wait_in_loop
from tests.service.conftest import BUILD_PARAMS, PLANE, SPACES, ServiceFixture, create_service, wait_for_job

Call = tuple[str, str, str, dict[str, Any]]  # caller, method, path, options of httpx


@pytest.fixture
def fresh_service(tmp_path: Path) -> Iterator[ServiceFixture]:
    result = create_service(tmp_path, {})
    yield result
    result.state.close()


def open_client(service: ServiceFixture) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(service.app, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="http://service")


async def send(service: ServiceFixture, client: httpx.AsyncClient, call: Call) -> httpx.Response:
    who, method, path, options = call
    headers = {"authorization": f"Bearer {service.keys[who]}"} | options.get("headers", {})
    return await client.request(method, path, **options | {"headers": headers})


def send_at_once(service: ServiceFixture, *calls: Call) -> list[httpx.Response]:
    """Send requests concurrently."""

    async def send_all() -> list[httpx.Response]:
        async with open_client(service) as client:
            return await asyncio.gather(*(send(service, client, call) for call in calls))

    return asyncio.run(send_all())


def ask(point: list[float], name: str) -> Call:
    options = {"json": {"point": point}, "headers": {"idempotency-key": name}}
    return "anna", "POST", "/v1/sessions/annas/ask", options


def finish_job(service: ServiceFixture, job: dict[str, Any]) -> dict[str, Any]:
    """Wait for the end of a job and return it."""
    wait_for_job(service, job["id"])
    job.update(service.client("carla").get(f"/v1/jobs/{job['id']}").json())
    return job


def question_names(service: ServiceFixture) -> list[str]:
    return [
        question["name"] for question in service.client("anna").get("/v1/sessions/annas/transcript").json()["questions"]
    ]


def test_a_transcript_has_what_was_answered_while_it_was_closed(
    fresh_service: ServiceFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One question is being answered when two close the session; it is answered, and others are or are not."""
    real_answer, started, proceed = FieldEngine.answer, Event(), Event()
    close: Call = ("carla", "POST", "/v1/sessions/annas/close", {})

    def answer(self: FieldEngine, points: Any) -> Any:
        started.set()
        assert proceed.wait(PATIENCE)
        return real_answer(self, points)

    monkeypatch.setattr(FieldEngine, "answer", answer)

    async def send_all() -> list[int]:
        async with open_client(fresh_service) as client:
            first = asyncio.create_task(send(fresh_service, client, ask([7, 0], "0")))
            await wait_in_loop(lambda: started.is_set() or first.done())
            calls = [close, close, *(ask([7, k], f"{k}") for k in range(1, 4))]
            rest = [asyncio.create_task(send(fresh_service, client, call)) for call in calls]
            queue = fresh_service.state.workers._queues["session", "annas"]
            await wait_in_loop(lambda: len(queue.waiting) == len(calls), "all others wait for the first")
            proceed.set()
            return [answer.status_code for answer in await asyncio.gather(first, *rest)]

    codes = asyncio.run(send_all())
    assert sorted(codes[1:3]) == [204, 409]
    answer_codes = [codes[0], *codes[3:]]
    assert answer_codes[0] == 200
    assert set(answer_codes) <= {200, 409}
    assert sorted(question_names(fresh_service)) == [f"{k}" for k in range(4) if answer_codes[k] == 200]
    assert "annas" not in fresh_service.state.sessions._sessions  # the table is forgotten


def test_nothing_but_the_clock_tells_when_an_answer_was_ready(
    fresh_service: ServiceFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a transcript that waits for it, nor a number of questions that are left; the clock is stopped by hand."""
    look: Call = ("anna", "GET", "/v1/sessions/annas", {})
    waiting: list[float] = []

    async def watch() -> None:
        moment = asyncio.Event()

        async def leave(arrived: float) -> None:
            waiting.append(arrived)
            await moment.wait()

        async def until(count: int, *pending: asyncio.Task[httpx.Response]) -> None:
            await wait_in_loop(lambda: len(waiting) >= count or any(task.done() for task in pending))
            assert len(waiting) == count
            assert not any(task.done() for task in pending)

        monkeypatch.setattr(fresh_service.state.clock, "leave", leave)
        async with open_client(fresh_service) as client:
            asking = asyncio.create_task(send(fresh_service, client, ask([1, 2], "a")))
            await until(1, asking)  # its answer is ready
            reading = asyncio.create_task(send(fresh_service, client, (*look[:2], f"{look[2]}/transcript", {})))
            await until(2, asking, reading)
            assert (await send(fresh_service, client, look)).json()["remaining"] == 5
            moment.set()
            assert (await asking).json()["remaining"] == 4
            assert [question["name"] for question in (await reading).json()["questions"]] == ["a"]
            assert (await send(fresh_service, client, look)).json()["remaining"] == 4

    asyncio.run(watch())


def test_what_is_left_does_not_tell_of_an_answer_whose_moment_is_to_come(
    fresh_service: ServiceFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two answers are ready; at the moment of the first, the second is not counted. Nor is the session closed then."""
    moments: list[asyncio.Event] = []

    async def watch() -> None:
        async def leave(_: float) -> None:
            moments.append(asyncio.Event())
            await moments[-1].wait()

        async def session_state() -> tuple[str, int]:
            session = (await send(fresh_service, client, ("anna", "GET", "/v1/sessions/annas", {}))).json()
            return session["state"], session["remaining"]

        monkeypatch.setattr(fresh_service.state.clock, "leave", leave)
        async with open_client(fresh_service) as client:
            calls: list[Call] = [ask([1, 2], "a"), ask([3, 4], "b")]
            calls += [("carla", "POST", "/v1/sessions/annas/close", {})]
            tasks: list[asyncio.Task[httpx.Response]] = []
            for call in calls:
                tasks.append(asyncio.create_task(send(fresh_service, client, call)))
                await wait_in_loop(lambda: len(moments) >= len(tasks) or tasks[-1].done())
            assert await session_state() == ("open", 5)
            for task, moment, expected in zip(tasks, moments, [("open", 4), ("open", 3), ("closed", 3)], strict=True):
                moment.set()
                assert (await task).status_code in (200, 204)
                assert await session_state() == expected

    asyncio.run(watch())


def test_nothing_waits_for_the_answers_of_sessions_but_these(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """How long it waited would tell how long an answer took."""
    service = create_service(tmp_path, {"ages": SPACES["ages"]})
    sessions = ["annas", *(f"s{k}" for k in range(4))]
    for name in (*sessions[1:], "over"):
        params = SessionRequest(
            id=name, analyst="anna", max_queries=5, space=PLANE, **BUILD_PARAMS | {"mechanism": "field"}
        )
        service.state.sessions.reserve(params, space_from_spec(params.space))
        service.state.sessions.begin(params, space_from_spec(params.space), service.state.quota("anna"))
    assert service.client("carla").post("/v1/sessions/over/close").status_code == 204
    real_answer, started, proceed = FieldEngine.answer, Semaphore(0), Event()

    def answer(self: FieldEngine, points: Any) -> Any:
        started.release()
        assert proceed.wait(PATIENCE)
        return real_answer(self, points)

    monkeypatch.setattr(FieldEngine, "answer", answer)
    requests: list[tuple[str, str, dict[str, Any]]]
    requests = [("GET", path, {}) for path in ("/v1/health", "/v1/me", "/v1/datasets", "/v1/sessions", "/v1/releases")]
    requests += [("GET", f"/v1/sessions/{path}", {}) for path in ("s0", "over", "over/transcript")]
    requests += [("GET", f"/v1/releases/ages{path}", {}) for path in ("", "/statement", "/file")]
    requests += [("POST", "/v1/releases/ages/distances", {"json": {"points": [[k]] * 2_000}}) for k in range(3)]
    requests += [("POST", f"/v1/releases/ages/{path}", {"json": {}}) for path in ("center", "grid")]

    async def check_answers() -> None:
        async with open_client(service) as client:
            params = {"json": {"point": [1, 2]}, "headers": {"idempotency-key": "a"}}
            asks: list[Call] = [("anna", "POST", f"/v1/sessions/{name}/ask", params) for name in sessions]
            tasks = [asyncio.create_task(send(service, client, call)) for call in asks]
            for _ in range(4):  # as many as there are threads for other requests
                await wait_in_loop(lambda: started.acquire(blocking=False))
            for method, path, more in requests:
                assert (await send(service, client, ("anna", method, path, more))).status_code == 200, path
            other = {"json": {"point": [40]}, "headers": {"idempotency-key": "a"}}
            berts: Call = ("bert", "POST", "/v1/sessions/berts/ask", other)
            assert (await send(service, client, berts)).status_code == 200
            assert not any(task.done() for task in tasks)
            proceed.set()
            assert {answer.status_code for answer in await asyncio.gather(*tasks)} == {200}

    asyncio.run(check_answers())
    service.state.close()


def test_one_analyst_does_not_keep_all_threads(fresh_service: ServiceFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another is answered while the first of many questions is being worked on, however long that takes."""
    real_answer, started, proceed = FieldEngine.answer, Event(), Event()

    def answer(self: FieldEngine, points: Any) -> Any:
        started.set()
        assert proceed.wait(PATIENCE)
        return real_answer(self, points)

    monkeypatch.setattr(FieldEngine, "answer", answer)

    async def check_answers() -> None:
        async with open_client(fresh_service) as client:
            questions = [asyncio.create_task(send(fresh_service, client, ask([k, k], f"{k}"))) for k in range(5)]
            await wait_in_loop(lambda: started.is_set() or any(question.done() for question in questions))
            response = await send(fresh_service, client, ("bert", "GET", "/v1/datasets", {}))
            assert response.status_code == 200
            assert not proceed.is_set()
            assert not any(question.done() for question in questions)
            proceed.set()
            await asyncio.gather(*questions)

    asyncio.run(check_answers())


def test_the_same_key_at_once(fresh_service: ServiceFixture) -> None:
    same = send_at_once(fresh_service, *(ask([3, 3], "k") for _ in range(8)))
    assert len({answer.text for answer in same}) == 1
    other = send_at_once(fresh_service, *(ask([3, 4 + k], "l") for k in range(4)))
    assert sorted(answer.status_code for answer in other) == [200, 409, 409, 409]
    assert fresh_service.client("anna").get("/v1/sessions/annas").json()["remaining"] == 3
    assert question_names(fresh_service) == ["k", "l"]


def test_a_session_that_finds_no_room_leaves_no_trace(fresh_service: ServiceFixture) -> None:
    params = {"id": "new", "analyst": "anna", "max_queries": 5, "space": PLANE, **BUILD_PARAMS}
    carla, fresh_service.state.jobs._max_waiting = fresh_service.client("carla"), 0
    assert carla.post("/v1/sessions", params).json()["error"]["code"] == "busy"
    assert carla.get("/v1/sessions/new").status_code == 404
    fresh_service.state.jobs._max_waiting = Settings().max_jobs
    assert carla.post("/v1/sessions", params).status_code == 202


def test_analysts_do_not_see_what_failed(fresh_service: ServiceFixture) -> None:
    """It may have, because of what is in the table."""
    params = {
        "id": "new",
        "analyst": "anna",
        "max_queries": 5,
        "space": PLANE,
        **BUILD_PARAMS,
        "columns": ["x", "side"],
    }
    carla = fresh_service.client("carla")
    job = finish_job(fresh_service, carla.post("/v1/sessions", params).json())
    assert job["state"] == "failed"
    assert [session["id"] for session in fresh_service.client("anna").get("/v1/sessions").json()["sessions"]] == [
        "annas"
    ]
    assert fresh_service.client("anna").get("/v1/sessions/new").status_code == 404
    assert carla.get("/v1/sessions/new").json()["state"] == "failed"


def test_another_release_of_the_same_name_is_another(tmp_path: Path) -> None:
    """Also where it comes within the same second, and after the first was asked."""
    service = create_service(tmp_path, {"city": SPACES["city"], "ages": SPACES["ages"]}, sessions=False)
    carla, anna = service.client("carla"), service.client("anna")
    for name, point in (("city", [52.5, 13.4]), ("ages", [40]), ("city", [52.5, 13.4])):
        content = service.state.directory.release(name).read_bytes()
        assert carla.request("PUT", "/v1/releases/new", content=content).status_code == 201
        release = anna.get("/v1/releases/new").json()
        assert release["columns"] == anna.get(f"/v1/releases/{name}").json()["columns"]
        assert anna.post("/v1/releases/new/distances", {"points": [point]}).status_code == 200
        centers = [anna.post(f"/v1/releases/{release_name}/center", {}).json() for release_name in ("new", name)]
        assert centers[0] == centers[1]
        assert carla.request("DELETE", "/v1/releases/new").status_code == 204
    service.state.close()


def test_of_two_uploads_at_once_one_is_stored_and_paid_for(tmp_path: Path) -> None:
    service = create_service(tmp_path, {"city": SPACES["city"], "ages": SPACES["ages"]}, sessions=False)
    contents = [service.state.directory.release(name).read_bytes() for name in ("city", "ages")]
    charges = len(service.state.directory.ledger.history("people"))
    path = "/v1/releases/new?dataset=people"
    answers = send_at_once(service, *(("carla", "PUT", path, {"content": content}) for content in contents))
    assert sorted(answer.status_code for answer in answers) == [201, 409]
    (accepted,) = [k for k, answer in enumerate(answers) if answer.status_code == 201]
    assert service.state.directory.release("new").read_bytes() == contents[accepted]
    assert len(service.state.directory.ledger.history("people")) == charges + 1
    assert sorted(path.name[:4] for path in service.state.directory.releases.iterdir()) == ["ages", "city", "new."]
    service.state.close()


def test_a_damaged_file_is_the_matter_of_one_release(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    service = create_service(tmp_path, {"city": SPACES["city"], "ages": SPACES["ages"]}, sessions=False)
    service.state.directory.release("city").write_bytes(b"junk")
    service.state.close()
    with ServiceState(tmp_path, Settings()) as state:
        reopened = ServiceFixture(state, make_app(state), service.keys)
        releases = reopened.client("anna").get("/v1/releases").json()["releases"]
        assert [release["id"] for release in releases] == ["ages"]
        assert reopened.client("anna").get("/v1/releases").json()["releases"] == releases
        assert capsys.readouterr().err.count("cannot list the release city: ") == 1
        assert reopened.client("anna").get("/v1/releases/city").json()["error"]["code"] == "internal"
        assert reopened.client("carla").request("DELETE", "/v1/releases/city").status_code == 204


def test_what_is_no_release_stops_nothing(tmp_path: Path) -> None:
    """Folders of editors, folders named like a release, other files; those that block a release are reported."""
    service = create_service(tmp_path, {"ages": SPACES["ages"]}, sessions=False)
    content = service.state.directory.release("ages").read_bytes()
    service.state.close()
    releases = service.state.directory.releases
    for folder in (".ipynb_checkpoints", ".upload-7", ".x.milepost.7", "taken.milepost"):
        (releases / folder).mkdir()
        (releases / folder / "file").touch()
    for name in (".DS_Store", ".nfs0001", "notes.txt", "junk.milepost"):
        (releases / name).write_bytes(b"junk")
    before = sorted(releases.iterdir())
    with ServiceState(tmp_path, Settings()) as state:
        reopened = ServiceFixture(state, make_app(state), service.keys)
        carla = reopened.client("carla")
        assert [release["id"] for release in carla.get("/v1/releases").json()["releases"]] == ["ages"]
        error = carla.request("PUT", "/v1/releases/taken?dataset=people", content=content).json()["error"]
        assert (error["code"], "is in the place of a release" in error["detail"]) == ("refused", True)
        job = finish_job(reopened, carla.post("/v1/releases", {"id": "taken", **BUILD_PARAMS | SPACES["ages"]}).json())
        assert (job["state"], "is in the place of a release" in job["detail"]) == ("failed", True)
        assert len(state.directory.ledger.history("people")) == 1
        assert sorted(releases.iterdir()) == before
        assert carla.request("PUT", "/v1/releases/junk", content=content).status_code == 201


@pytest.mark.parametrize(
    "body",
    [
        b'{"points": [[' + b"{}," * 100_000 + b"{}]]}",
        b'{"points": [' + b"{}," * 100_000 + b"{}]}",
        b'{"points": [' + b"[]," * 300_000 + b"[]]}",
        b"{" + b",".join(b'"%d": 1' % k for k in range(100_000)) + b"}",
        b"[" * 1_000_000,
        b'{"points": [[' + b"1" * 5_000 + b"]]}",
        b'{"points": [["\\ud800"]]}',
    ],
)
def test_what_is_wrong_is_refused_quickly(service: ServiceFixture, body: bytes) -> None:
    """Many faults are not listed one by one, which took seconds and gigabytes."""
    with memory_limit(MEMORY):
        answer = service.client("anna").request(
            "POST", "/v1/releases/city/distances", content=body, headers={"content-type": "application/json"}
        )
    assert answer.status_code in (413, 422)
    assert len(answer.content) < 1_000


@pytest.mark.parametrize("path", ["/static/%00", "/static/" + "a" * 5_000, "/static/%ff", "/static/"])
def test_odd_assets_are_not_found(service: ServiceFixture, path: str) -> None:
    assert service.client("nobody").get(path).status_code == 404


def test_nothing_is_redirected(service: ServiceFixture) -> None:
    for path in ("/v1/releases/", "/v1/me/", "//v1/me", "/v1//me", "/V1/me"):
        assert service.client("anna").get(path, headers={"host": "elsewhere.example"}).status_code in (404, 422), path


def test_nobody_is_waited_for_who_has_no_key(service: ServiceFixture) -> None:
    """A body that never ends is not read."""

    async def status_of(path: str) -> int:
        statuses: list[int] = []

        async def receive() -> dict[str, Any]:
            await asyncio.Event().wait()  # for ever
            return {}

        async def send(message: Any) -> None:
            statuses.append(message.get("status", 0))

        scope = {"type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b""}
        scope |= {"headers": [(b"content-length", b"1000")], "http_version": "1.1", "root_path": "", "scheme": "http"}
        await asyncio.wait_for(service.app(scope, receive, send), 300)
        return statuses[0]

    for path, status in (("/", 405), ("/v1/health", 405), ("/static/x.js", 405), ("/v1/me", 401)):
        assert asyncio.run(status_of(path)) == status, path


def test_a_key_that_could_not_be_read_is_read_again(
    fresh_service: ServiceFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A revoked one must not stay because the database failed once."""
    assert fresh_service.client("anna").get("/v1/me").status_code == 200
    revoke_key(fresh_service.state.database, "anna")

    def fail(*_: Any) -> Any:
        raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as patch:
        patch.setattr("milepost.service.database.rows_of", fail)
        assert fresh_service.client("anna").get("/v1/me").status_code == 500
    assert fresh_service.client("anna").get("/v1/me").status_code == 401


def test_a_job_whose_register_fails_is_over(fresh_service: ServiceFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    params = {"id": "new", "space": PLANE, **BUILD_PARAMS}
    carla = fresh_service.client("carla")

    def fail(*_: Any) -> Any:
        raise MilepostError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(fresh_service.state.database, "change", fail)
        job = finish_job(fresh_service, carla.post("/v1/releases", params).json())
    assert (job["state"], job["detail"]) == ("failed", "the disk is full")
    assert finish_job(fresh_service, carla.post("/v1/releases", params).json())["state"] == "done"


def test_questions_have_an_end_though_they_are_free(tmp_path: Path) -> None:
    """The same point under ever new names is free, and would fill the disk."""
    service = create_service(tmp_path, {}, max_questions=3)
    codes = [answer.status_code for k in range(5) for answer in send_at_once(service, ask([1, 2], f"{k}"))]
    assert codes == [200, 200, 200, 409, 409]
    assert send_at_once(service, ask([1, 2], "1"))[0].status_code == 200
    service.state.close()
    with ServiceState(tmp_path, Settings(max_questions=3, clock=0.02)) as state:
        reopened = ServiceFixture(state, make_app(state), service.keys)
        answers = send_at_once(reopened, ask([1, 2], "7"), ask([1, 2], "2"))
        assert [answer.status_code for answer in answers] == [409, 200]


def test_a_question_that_took_too_long_has_its_answer_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, real_answer, proceed = create_service(tmp_path, {}, timeout=1), FieldEngine.answer, Event()

    def answer(self: FieldEngine, points: Any) -> Any:
        proceed.wait(PATIENCE)
        return real_answer(self, points)

    monkeypatch.setattr(FieldEngine, "answer", answer)
    (late,) = send_at_once(service, ask([1, 2], "a"))
    assert (late.status_code, late.json()["error"]["code"]) == (503, "timeout")
    proceed.set()
    answers = [ask_until_answered(service, ask([1, 2], "a")) for _ in range(2)]
    assert [answer.json()["remaining"] for answer in answers] == [4, 4]
    assert answers[0].json() == answers[1].json()
    service.state.close()


def ask_until_answered(service: ServiceFixture, call: Call) -> httpx.Response:
    """Send a question again while it is refused for its time, as it may be on a busy machine."""
    for _ in range(100):
        (answer,) = send_at_once(service, call)
        if answer.status_code != 503:
            break
    return answer


def test_a_session_in_its_store_waits_for_its_table(fresh_service: ServiceFixture) -> None:
    """The service ended after it was paid for and begun, and before the database said so."""
    (first,) = fresh_service.state.database.all(SessionRecord)[:1]
    fresh_service.state.database.change(replace(first, state="opening"))
    fresh_service.state.close()
    table = fresh_service.state.directory.tables / "people.parquet"
    content = table.read_bytes()
    for table_content, expected in ((b"junk", "opening"), (content, "open")):
        table.write_bytes(table_content)
        with ServiceState(fresh_service.state.directory.root, Settings()) as state:
            assert state.sessions.find("annas", None).state == expected


def test_a_removed_release_does_not_come_back(tmp_path: Path) -> None:
    """Its file stayed because of a crash, and a job of the same name was waiting at another."""
    service = create_service(tmp_path, {"city": SPACES["city"]}, sessions=False)
    request = ReleaseRequest(id="city", **BUILD_PARAMS | SPACES["city"])
    service.state.database.remove(ReleaseRecord, "city")
    upload = service.state.directory.releases / ".upload-1"
    upload.write_bytes(b"half of it")
    service.state.database.add(JobRecord("1", "release", "city", "carla", request.model_dump_json(), "", "queued", ""))
    service.state.close()
    with ServiceState(tmp_path, Settings()) as state:
        assert state.releases.all() == []
        assert not upload.exists()


def test_a_damaged_register_is_refused_and_the_directory_let_go(fresh_service: ServiceFixture) -> None:
    fresh_service.state.close()
    content = fresh_service.state.directory.database_path.read_bytes()
    fresh_service.state.directory.database_path.write_bytes(content[:4096] + b"\x55" * 4096 + content[8192:])
    for _ in range(2):
        with pytest.raises(MilepostError, match="damaged"):
            ServiceState(fresh_service.state.directory.root, Settings())
    fresh_service.state.directory.database_path.write_bytes(content)
    ServiceState(fresh_service.state.directory.root, Settings()).close()


@pytest.mark.filterwarnings("ignore::milepost.AccuracyWarning")
def test_jobs_do_not_collect_what_others_are_told(fresh_service: ServiceFixture) -> None:
    """A question outside the space warns; a job that runs meanwhile has nothing to do with it, nor with its filters."""
    before = [*warnings.filters]

    def work() -> None:
        assert [*warnings.filters] == before
        other = Thread(target=warn, args=["a question"])
        other.start()
        other.join()
        warn("a note")

    job = finish_job(
        fresh_service,
        fresh_service.state.jobs.begin("release", ReleaseRequest(id="new", space=PLANE, **BUILD_PARAMS), "carla", work),
    )
    assert (job["state"], job["detail"]) == ("done", "a note")


def test_charges_that_were_given_back_are_the_curators_to_see(fresh_service: ServiceFixture) -> None:
    before = [fresh_service.client(who).get("/v1/datasets").json() for who in ("anna", "carla")]
    fresh_service.state.directory.ledger.charge("people", Guarantee(1, 1e-6)).refund()
    after = [fresh_service.client(who).get("/v1/datasets").json() for who in ("anna", "carla")]
    assert before[0] == after[0]
    assert before[1] != after[1]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (["parameters"], []),
        (["space"], []),
        (["n"], 10**30),
        (["queries"], "x"),
        (["space", "radius_km"], 1e308),
    ],
)
def test_edited_files_are_refused_and_not_stored(
    service: ServiceFixture, tmp_path: Path, path: list[str], value: Any
) -> None:
    """Their digest is right, but what they say is not."""
    card, tensors = file_format.read(service.state.directory.release("city"))
    part = card
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    file_format.write(tmp_path / "edited.milepost", card, tensors)
    content = (tmp_path / "edited.milepost").read_bytes()
    answer = service.client("carla").request("PUT", "/v1/releases/edited", content=content)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "refused")
    assert not service.state.releases.exists("edited")
