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
from tests.attacks.resource_limits import MEMORY, in_memory_of
from tests.events import PATIENCE, wait_in_loop
from tests.service.conftest import MADE, PLANE, SPACES, House, furnished, wait_until_over

Call = tuple[str, str, str, dict[str, Any]]  # who, what


@pytest.fixture
def lodge(tmp_path: Path) -> Iterator[House]:
    result = furnished(tmp_path, {})
    yield result
    result.office.close()


def connected(house: House) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(house.app, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="http://house")


async def sent(house: House, client: httpx.AsyncClient, call: Call) -> httpx.Response:
    who, method, path, words = call
    headers = {"authorization": f"Bearer {house.keys[who]}"} | words.get("headers", {})
    return await client.request(method, path, **words | {"headers": headers})


def at_once(house: House, *calls: Call) -> list[httpx.Response]:
    """Requests that run beside each other."""

    async def every() -> list[httpx.Response]:
        async with connected(house) as client:
            return await asyncio.gather(*(sent(house, client, call) for call in calls))

    return asyncio.run(every())


def ask(point: list[float], name: str) -> Call:
    words = {"json": {"point": point}, "headers": {"idempotency-key": name}}
    return "anna", "POST", "/v1/sessions/annas/ask", words


def ended(house: House, job: dict[str, Any]) -> dict[str, Any]:
    """The job when it is over."""
    wait_until_over(house, job["id"])
    job.update(house.client("carla").get(f"/v1/jobs/{job['id']}").json())
    return job


def names(house: House) -> list[str]:
    return [one["name"] for one in house.client("anna").get("/v1/sessions/annas/transcript").json()["questions"]]


def test_a_transcript_has_what_was_answered_while_it_was_closed(lodge: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """One question is being answered when two close the session; it is answered, and others are or are not."""
    real, begun, told = FieldEngine.answer, Event(), Event()
    close: Call = ("carla", "POST", "/v1/sessions/annas/close", {})

    def answer(self: FieldEngine, places: Any) -> Any:
        begun.set()
        assert told.wait(PATIENCE)
        return real(self, places)

    monkeypatch.setattr(FieldEngine, "answer", answer)

    async def every() -> list[int]:
        async with connected(lodge) as client:
            first = asyncio.create_task(sent(lodge, client, ask([7, 0], "0")))
            await wait_in_loop(lambda: begun.is_set() or first.done())
            calls = [close, close, *(ask([7, k], f"{k}") for k in range(1, 4))]
            rest = [asyncio.create_task(sent(lodge, client, call)) for call in calls]
            lane = lodge.office.workers._lanes["session", "annas"]
            await wait_in_loop(lambda: len(lane.waiting) == len(calls), "all others wait for the first")
            told.set()
            return [answer.status_code for answer in await asyncio.gather(first, *rest)]

    codes = asyncio.run(every())
    assert sorted(codes[1:3]) == [204, 409]
    asked = [codes[0], *codes[3:]]
    assert asked[0] == 200
    assert set(asked) <= {200, 409}
    assert sorted(names(lodge)) == [f"{k}" for k in range(4) if asked[k] == 200]
    assert "annas" not in lodge.office.sessions._sessions  # the table is forgotten


def test_nothing_but_the_clock_tells_when_an_answer_was_ready(lodge: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a transcript that waits for it, nor a number of questions that are left; the clock is stopped by hand."""
    look: Call = ("anna", "GET", "/v1/sessions/annas", {})
    waiting: list[float] = []

    async def watched() -> None:
        moment = asyncio.Event()

        async def leave(arrived: float) -> None:
            waiting.append(arrived)
            await moment.wait()

        async def until(count: int, *those: asyncio.Task[httpx.Response]) -> None:
            await wait_in_loop(lambda: len(waiting) >= count or any(one.done() for one in those))
            assert len(waiting) == count
            assert not any(one.done() for one in those)

        monkeypatch.setattr(lodge.office.clock, "leave", leave)
        async with connected(lodge) as client:
            asking = asyncio.create_task(sent(lodge, client, ask([1, 2], "a")))
            await until(1, asking)  # its answer is ready
            reading = asyncio.create_task(sent(lodge, client, (*look[:2], f"{look[2]}/transcript", {})))
            await until(2, asking, reading)
            assert (await sent(lodge, client, look)).json()["remaining"] == 5
            moment.set()
            assert (await asking).json()["remaining"] == 4
            assert [one["name"] for one in (await reading).json()["questions"]] == ["a"]
            assert (await sent(lodge, client, look)).json()["remaining"] == 4

    asyncio.run(watched())


def test_what_is_left_does_not_tell_of_an_answer_whose_moment_is_to_come(
    lodge: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two answers are ready; at the moment of the first, the second is not counted. Nor is the session closed then."""
    moments: list[asyncio.Event] = []

    async def watched() -> None:
        async def leave(_: float) -> None:
            moments.append(asyncio.Event())
            await moments[-1].wait()

        async def state() -> tuple[str, int]:
            told = (await sent(lodge, client, ("anna", "GET", "/v1/sessions/annas", {}))).json()
            return told["state"], told["remaining"]

        monkeypatch.setattr(lodge.office.clock, "leave", leave)
        async with connected(lodge) as client:
            calls: list[Call] = [ask([1, 2], "a"), ask([3, 4], "b")]
            calls += [("carla", "POST", "/v1/sessions/annas/close", {})]
            tasks: list[asyncio.Task[httpx.Response]] = []
            for call in calls:
                tasks.append(asyncio.create_task(sent(lodge, client, call)))
                await wait_in_loop(lambda: len(moments) >= len(tasks) or tasks[-1].done())
            assert await state() == ("open", 5)
            for task, moment, expected in zip(tasks, moments, [("open", 4), ("open", 3), ("closed", 3)], strict=True):
                moment.set()
                assert (await task).status_code in (200, 204)
                assert await state() == expected

    asyncio.run(watched())


def test_nothing_waits_for_the_answers_of_sessions_but_these(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """How long it waited would tell how long an answer took."""
    house = furnished(tmp_path, {"ages": SPACES["ages"]})
    names = ["annas", *(f"s{k}" for k in range(4))]
    for name in (*names[1:], "over"):
        words = SessionRequest(id=name, analyst="anna", max_queries=5, space=PLANE, **MADE | {"mechanism": "field"})
        house.office.sessions.reserve(words, space_from_spec(words.space))
        house.office.sessions.begin(words, space_from_spec(words.space), house.office.quota("anna"))
    assert house.client("carla").post("/v1/sessions/over/close").status_code == 204
    real, begun, told = FieldEngine.answer, Semaphore(0), Event()

    def answer(self: FieldEngine, places: Any) -> Any:
        begun.release()
        assert told.wait(PATIENCE)
        return real(self, places)

    monkeypatch.setattr(FieldEngine, "answer", answer)
    asked_for: list[tuple[str, str, dict[str, Any]]]
    asked_for = [("GET", path, {}) for path in ("/v1/health", "/v1/me", "/v1/datasets", "/v1/sessions", "/v1/releases")]
    asked_for += [("GET", f"/v1/sessions/{path}", {}) for path in ("s0", "over", "over/transcript")]
    asked_for += [("GET", f"/v1/releases/ages{path}", {}) for path in ("", "/statement", "/file")]
    asked_for += [("POST", "/v1/releases/ages/distances", {"json": {"points": [[k]] * 2_000}}) for k in range(3)]
    asked_for += [("POST", f"/v1/releases/ages/{path}", {"json": {}}) for path in ("center", "field")]

    async def answered() -> None:
        async with connected(house) as client:
            words = {"json": {"point": [1, 2]}, "headers": {"idempotency-key": "a"}}
            asks: list[Call] = [("anna", "POST", f"/v1/sessions/{name}/ask", words) for name in names]
            tasks = [asyncio.create_task(sent(house, client, call)) for call in asks]
            for _ in range(4):  # as many as there are threads for other requests
                await wait_in_loop(lambda: begun.acquire(blocking=False))
            for method, path, more in asked_for:
                assert (await sent(house, client, ("anna", method, path, more))).status_code == 200, path
            other = {"json": {"point": [40]}, "headers": {"idempotency-key": "a"}}
            berts: Call = ("bert", "POST", "/v1/sessions/berts/ask", other)
            assert (await sent(house, client, berts)).status_code == 200
            assert not any(task.done() for task in tasks)
            told.set()
            assert {answer.status_code for answer in await asyncio.gather(*tasks)} == {200}

    asyncio.run(answered())
    house.office.close()


def test_one_analyst_does_not_keep_all_threads(lodge: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another is answered while the first of many questions is being worked on, however long that takes."""
    real, begun, told = FieldEngine.answer, Event(), Event()

    def answer(self: FieldEngine, places: Any) -> Any:
        begun.set()
        assert told.wait(PATIENCE)
        return real(self, places)

    monkeypatch.setattr(FieldEngine, "answer", answer)

    async def answered() -> None:
        async with connected(lodge) as client:
            asked = [asyncio.create_task(sent(lodge, client, ask([k, k], f"{k}"))) for k in range(5)]
            await wait_in_loop(lambda: begun.is_set() or any(one.done() for one in asked))
            found = await sent(lodge, client, ("bert", "GET", "/v1/datasets", {}))
            assert found.status_code == 200
            assert not told.is_set()
            assert not any(one.done() for one in asked)
            told.set()
            await asyncio.gather(*asked)

    asyncio.run(answered())


def test_the_same_key_at_once(lodge: House) -> None:
    same = at_once(lodge, *(ask([3, 3], "k") for _ in range(8)))
    assert len({answer.text for answer in same}) == 1
    other = at_once(lodge, *(ask([3, 4 + k], "l") for k in range(4)))
    assert sorted(answer.status_code for answer in other) == [200, 409, 409, 409]
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
    job = ended(lodge, carla.post("/v1/sessions", words).json())
    assert job["state"] == "failed"
    assert [one["id"] for one in lodge.client("anna").get("/v1/sessions").json()["sessions"]] == ["annas"]
    assert lodge.client("anna").get("/v1/sessions/new").status_code == 404
    assert carla.get("/v1/sessions/new").json()["state"] == "failed"


def test_another_release_of_the_same_name_is_another(tmp_path: Path) -> None:
    """Also where it comes within the same second, and after the first was asked."""
    house = furnished(tmp_path, {"city": SPACES["city"], "ages": SPACES["ages"]}, sessions=False)
    carla, anna = house.client("carla"), house.client("anna")
    for name, point in (("city", [52.5, 13.4]), ("ages", [40]), ("city", [52.5, 13.4])):
        content = house.office.directory.release(name).read_bytes()
        assert carla.request("PUT", "/v1/releases/new", content=content).status_code == 201
        shown = anna.get("/v1/releases/new").json()
        assert shown["columns"] == anna.get(f"/v1/releases/{name}").json()["columns"]
        assert anna.post("/v1/releases/new/distances", {"points": [point]}).status_code == 200
        centers = [anna.post(f"/v1/releases/{one}/center", {}).json() for one in ("new", name)]
        assert centers[0] == centers[1]
        assert carla.request("DELETE", "/v1/releases/new").status_code == 204
    house.office.close()


def test_of_two_uploads_at_once_one_is_stored_and_paid_for(tmp_path: Path) -> None:
    house = furnished(tmp_path, {"city": SPACES["city"], "ages": SPACES["ages"]}, sessions=False)
    contents = [house.office.directory.release(name).read_bytes() for name in ("city", "ages")]
    charges = len(house.office.directory.ledger.history("people"))
    path = "/v1/releases/new?dataset=people"
    answers = at_once(house, *(("carla", "PUT", path, {"content": content}) for content in contents))
    assert sorted(answer.status_code for answer in answers) == [201, 409]
    (stored,) = [k for k, answer in enumerate(answers) if answer.status_code == 201]
    assert house.office.directory.release("new").read_bytes() == contents[stored]
    assert len(house.office.directory.ledger.history("people")) == charges + 1
    assert sorted(path.name[:4] for path in house.office.directory.releases.iterdir()) == ["ages", "city", "new."]
    house.office.close()


def test_a_damaged_file_is_the_matter_of_one_release(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    house = furnished(tmp_path, {"city": SPACES["city"], "ages": SPACES["ages"]}, sessions=False)
    house.office.directory.release("city").write_bytes(b"junk")
    house.office.close()
    with ServiceState(tmp_path, Settings()) as office:
        again = House(office, make_app(office), house.keys)
        listed = again.client("anna").get("/v1/releases").json()["releases"]
        assert [one["id"] for one in listed] == ["ages"]
        assert again.client("anna").get("/v1/releases").json()["releases"] == listed
        assert capsys.readouterr().err.count("the release city is not listed: ") == 1
        assert again.client("anna").get("/v1/releases/city").json()["error"]["code"] == "internal"
        assert again.client("carla").request("DELETE", "/v1/releases/city").status_code == 204


def test_what_is_no_release_stops_nothing(tmp_path: Path) -> None:
    """Folders of editors, folders with a file's name, files of others; those in the place of a release are told of."""
    house = furnished(tmp_path, {"ages": SPACES["ages"]}, sessions=False)
    content = house.office.directory.release("ages").read_bytes()
    house.office.close()
    releases = house.office.directory.releases
    for folder in (".ipynb_checkpoints", ".upload-7", ".x.milepost.7", "taken.milepost"):
        (releases / folder).mkdir()
        (releases / folder / "file").touch()
    for name in (".DS_Store", ".nfs0001", "notes.txt", "junk.milepost"):
        (releases / name).write_bytes(b"junk")
    before = sorted(releases.iterdir())
    with ServiceState(tmp_path, Settings()) as office:
        again = House(office, make_app(office), house.keys)
        carla = again.client("carla")
        assert [one["id"] for one in carla.get("/v1/releases").json()["releases"]] == ["ages"]
        error = carla.request("PUT", "/v1/releases/taken?dataset=people", content=content).json()["error"]
        assert (error["code"], "is in the place of a release" in error["detail"]) == ("refused", True)
        job = ended(again, carla.post("/v1/releases", {"id": "taken", **MADE | SPACES["ages"]}).json())
        assert (job["state"], "is in the place of a release" in job["detail"]) == ("failed", True)
        assert len(office.directory.ledger.history("people")) == 1
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
def test_what_is_wrong_is_refused_quickly(house: House, body: bytes) -> None:
    """Many faults are not told one by one, which took seconds and gigabytes."""
    with in_memory_of(MEMORY):
        answer = house.client("anna").request(
            "POST", "/v1/releases/city/distances", content=body, headers={"content-type": "application/json"}
        )
    assert answer.status_code in (413, 422)
    assert len(answer.content) < 1_000


@pytest.mark.parametrize("path", ["/static/%00", "/static/" + "a" * 5_000, "/static/%ff", "/static/"])
def test_odd_assets_are_not_found(house: House, path: str) -> None:
    assert house.client("nobody").get(path).status_code == 404


def test_nothing_is_redirected(house: House) -> None:
    for path in ("/v1/releases/", "/v1/me/", "//v1/me", "/v1//me", "/V1/me"):
        assert house.client("anna").get(path, headers={"host": "elsewhere.example"}).status_code in (404, 422), path


def test_nobody_is_waited_for_who_has_no_key(house: House) -> None:
    """A body that never ends is not read."""

    async def sent(path: str) -> int:
        found: list[int] = []

        async def receive() -> dict[str, Any]:
            await asyncio.Event().wait()  # for ever
            return {}

        async def send(message: Any) -> None:
            found.append(message.get("status", 0))

        scope = {"type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b""}
        scope |= {"headers": [(b"content-length", b"1000")], "http_version": "1.1", "root_path": "", "scheme": "http"}
        await asyncio.wait_for(house.app(scope, receive, send), 300)
        return found[0]

    for path, status in (("/", 405), ("/v1/health", 405), ("/static/x.js", 405), ("/v1/me", 401)):
        assert asyncio.run(sent(path)) == status, path


def test_a_key_that_could_not_be_read_is_read_again(lodge: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """A revoked one must not stay because the register failed once."""
    assert lodge.client("anna").get("/v1/me").status_code == 200
    revoke_key(lodge.office.database, "anna")

    def fail(*_: Any) -> Any:
        raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as broken:
        broken.setattr("milepost.service.database.rows_of", fail)
        assert lodge.client("anna").get("/v1/me").status_code == 500
    assert lodge.client("anna").get("/v1/me").status_code == 401


def test_a_job_whose_register_fails_is_over(lodge: House, monkeypatch: pytest.MonkeyPatch) -> None:
    words = {"id": "new", "space": PLANE, **MADE}
    carla = lodge.client("carla")

    def full(*_: Any) -> Any:
        raise MilepostError("the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr(lodge.office.database, "change", full)
        job = ended(lodge, carla.post("/v1/releases", words).json())
    assert (job["state"], job["detail"]) == ("failed", "the disk is full")
    assert ended(lodge, carla.post("/v1/releases", words).json())["state"] == "done"


def test_questions_have_an_end_though_they_are_free(tmp_path: Path) -> None:
    """The same point under ever new names is free, and would fill the disk."""
    house = furnished(tmp_path, {}, max_questions=3)
    codes = [answer.status_code for k in range(5) for answer in at_once(house, ask([1, 2], f"{k}"))]
    assert codes == [200, 200, 200, 409, 409]
    assert at_once(house, ask([1, 2], "1"))[0].status_code == 200
    house.office.close()
    with ServiceState(tmp_path, Settings(max_questions=3, clock=0.02)) as office:
        again = House(office, make_app(office), house.keys)
        answers = at_once(again, ask([1, 2], "7"), ask([1, 2], "2"))
        assert [answer.status_code for answer in answers] == [409, 200]


def test_a_question_that_took_too_long_has_its_answer_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house, real, told = furnished(tmp_path, {}, timeout=1), FieldEngine.answer, Event()

    def answer(self: FieldEngine, places: Any) -> Any:
        told.wait(PATIENCE)
        return real(self, places)

    monkeypatch.setattr(FieldEngine, "answer", answer)
    (late,) = at_once(house, ask([1, 2], "a"))
    assert (late.status_code, late.json()["error"]["code"]) == (503, "timeout")
    told.set()
    answers = [asked_again(house, ask([1, 2], "a")) for _ in range(2)]
    assert [answer.json()["remaining"] for answer in answers] == [4, 4]
    assert answers[0].json() == answers[1].json()
    house.office.close()


def asked_again(house: House, call: Call) -> httpx.Response:
    """As its refusal says, where it took too long, which it may on a busy machine."""
    for _ in range(100):
        (answer,) = at_once(house, call)
        if answer.status_code != 503:
            break
    return answer


def test_a_session_in_its_store_waits_for_its_table(lodge: House) -> None:
    """The service ended after it was paid for and begun, and before the register said so."""
    (first,) = lodge.office.database.all(SessionRecord)[:1]
    lodge.office.database.change(replace(first, state="opening"))
    lodge.office.close()
    table = lodge.office.directory.tables / "people.parquet"
    content = table.read_bytes()
    for damaged, state in ((b"junk", "opening"), (content, "open")):
        table.write_bytes(damaged)
        with ServiceState(lodge.office.directory.root, Settings()) as office:
            assert office.sessions.find("annas", None).state == state


def test_a_removed_release_does_not_come_back(tmp_path: Path) -> None:
    """Its file stayed because of a crash, and a job of the same name was waiting at another."""
    house = furnished(tmp_path, {"city": SPACES["city"]}, sessions=False)
    words = ReleaseRequest(id="city", **MADE | SPACES["city"])
    house.office.database.remove(ReleaseRecord, "city")
    upload = house.office.directory.releases / ".upload-1"
    upload.write_bytes(b"half of it")
    house.office.database.add(JobRecord("1", "release", "city", "carla", words.model_dump_json(), "", "queued", ""))
    house.office.close()
    with ServiceState(tmp_path, Settings()) as office:
        assert office.releases.all() == []
        assert not upload.exists()


def test_a_damaged_register_is_refused_and_the_directory_let_go(lodge: House) -> None:
    lodge.office.close()
    content = lodge.office.directory.register.read_bytes()
    lodge.office.directory.register.write_bytes(content[:4096] + b"\x55" * 4096 + content[8192:])
    for _ in range(2):
        with pytest.raises(MilepostError, match="damaged"):
            ServiceState(lodge.office.directory.root, Settings())
    lodge.office.directory.register.write_bytes(content)
    ServiceState(lodge.office.directory.root, Settings()).close()


@pytest.mark.filterwarnings("ignore::milepost.PromiseWarning")
def test_jobs_do_not_collect_what_others_are_told(lodge: House) -> None:
    """A question outside the space warns; a job that runs meanwhile has nothing to do with it, nor with its filters."""
    before = [*warnings.filters]

    def work() -> None:
        assert [*warnings.filters] == before
        other = Thread(target=warn, args=["a question"])
        other.start()
        other.join()
        warn("a note")

    job = ended(lodge, lodge.office.jobs.begin("release", ReleaseRequest(id="new", space=PLANE, **MADE), "carla", work))
    assert (job["state"], job["detail"]) == ("done", "a note")


def test_charges_that_were_given_back_are_the_curators_to_see(lodge: House) -> None:
    before = [lodge.client(who).get("/v1/datasets").json() for who in ("anna", "carla")]
    lodge.office.directory.ledger.charge("people", Guarantee(1, 1e-6)).refund()
    after = [lodge.client(who).get("/v1/datasets").json() for who in ("anna", "carla")]
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
def test_edited_files_are_refused_and_not_stored(house: House, tmp_path: Path, path: list[str], value: Any) -> None:
    """Their digest is right, but what they say is not."""
    card, tensors = file_format.read(house.office.directory.release("city"))
    place = card
    for word in path[:-1]:
        place = place[word]
    place[path[-1]] = value
    file_format.write(tmp_path / "edited.milepost", card, tensors)
    content = (tmp_path / "edited.milepost").read_bytes()
    answer = house.client("carla").request("PUT", "/v1/releases/edited", content=content)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "refused")
    assert not house.office.releases.taken("edited")
