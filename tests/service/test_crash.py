"""Crashes: kill -9 under load, on one data directory over and over; nothing that was answered is lost or unpaid."""

import random
import signal
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import Any

import httpx
import pyarrow.parquet as pq
import pytest

from milepost.pipeline.space_spec import space_from_spec
from milepost.service.auth import create_key
from milepost.service.data_directory import DataDirectory
from milepost.service.schemas.requests import SessionRequest
from milepost.service.settings import Settings
from milepost.service.state import ServiceState
from milepost.sessions.store import Store
from milepost.synopsis.serialization import load
from tests.events import wait_until
from tests.service.conftest import PLANE, people
from tests.service.server_process import COMMAND, Service, begin, end, running

pytestmark = pytest.mark.slow

LIMIT = 100  # questions of a session
CRASHES = 4  # and more, up to so many times this number, where they came at no interesting moment
MOST = 10
MADE: dict[str, Any] = {"table": "people.parquet", "dataset": "people", "delta": 1e-6, "space": PLANE}
AGES = {"space": "l1", "bounds": {"age": [0, 100]}}  # what is made under load is made quickly
SESSIONS = {"asked": "field", "whole": "slopes"}
OVER = ("done", "failed", "interrupted")


@pytest.fixture
def keys(tmp_path: Path) -> dict[str, str]:
    """Of a data directory with a table, a budget, a session that asks the table, and one that has a synopsis."""
    with ServiceState(tmp_path / "data", Settings()) as office:
        result = {
            name: create_key(office.database, name, role)[1]
            for name, role in (("carla", "curator"), ("anna", "analyst"))
        }
        pq.write_table(people(500), office.directory.tables / "people.parquet")
        office.directory.ledger.create("people", epsilon=20, delta=1e-5)
        for name, mechanism in SESSIONS.items():
            words = SessionRequest(id=name, analyst="anna", max_queries=LIMIT, epsilon=1.0, mechanism=mechanism, **MADE)
            office.sessions.reserve(words, space_from_spec(words.space))
            office.sessions.begin(words, space_from_spec(words.space), office.quota("anna"))
    return result


@dataclass
class Clients:
    """What clients have sent and received, over all crashes. answers: by session and Idempotency-Key."""

    keys: dict[str, str]
    dice: random.Random = field(default_factory=lambda: random.Random(0))  # noqa: S311
    sent: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    answers: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    made: dict[str, float] = field(default_factory=dict)  # ε of every release and session that was asked for
    accepted: set[str] = field(default_factory=set)  # jobs
    states: set[str] = field(default_factory=set)  # of jobs, after restarts
    refused: set[str] = field(default_factory=set)  # codes
    heard: list[str] = field(default_factory=list)  # "answer" or "job", as they came

    def load(self, service: Service, number: int, answers: int) -> None:
        """Ask and build, until the service is killed in the middle of it: after so many answers, and a job or none."""
        jobs = self.heard.count("job") + number % 2
        answers += self.heard.count("answer")
        begun = {session: Event() for session in SESSIONS}
        threads = [
            Thread(target=self._ask, args=(service, f"{number}-{i}", session, begun[session]))
            for i, session in enumerate(("asked", "asked", "asked", "whole"))
        ]
        threads += [Thread(target=self._make, args=(service, number, kind)) for kind in ("releases", "sessions")]
        for thread in threads:
            thread.start()
        for session in SESSIONS if number else ():  # but the first time, not even a session has been read again
            assert begun[session].wait(300)
        wait_until(lambda: self.heard.count("answer") >= answers and self.heard.count("job") >= jobs)
        end(service)
        for thread in threads:
            thread.join()

    def _ask(self, service: Service, name: str, session: str, begun: Event) -> None:
        with service.client(self.keys["anna"]) as client:
            for count in range(10_000):
                again = [of for of in list(self.sent) if of[0] == session] if self.dice.random() < 0.5 else []
                of = self.dice.choice(again) if again else (session, f"{name}-{count}")
                point = self.sent.setdefault(of, [self.dice.randrange(11), self.dice.randrange(11)])
                try:
                    answer = ask(client, of, point)
                except httpx.TransportError:
                    return
                begun.set()
                self.heard.append("answer")
                if answer.status_code == 200:
                    self.keep(of, answer.json())
                else:
                    self.refused.add(answer.json()["error"]["code"])

    def _make(self, service: Service, number: int, kind: str) -> None:
        with service.client(self.keys["carla"]) as client:
            for count in range(10_000):
                name = f"{kind[0]}{number}-{count}"
                epsilon = 0.01 + 1e-5 * len(self.made) if kind == "releases" else 0.011 + 1e-5 * len(self.made)
                self.made[name] = epsilon
                words = MADE | {"id": name, "epsilon": epsilon, "mechanism": "slopes", "space": AGES}
                more = {} if kind == "releases" else {"analyst": "anna", "max_queries": 5}
                try:
                    answer = client.post(f"/v1/{kind}", json=words | more)
                    if answer.status_code == 202:
                        self.accepted.add(answer.json()["id"])
                        wait(client, answer.json()["id"])
                    else:
                        self.refused.add(answer.json()["error"]["code"])
                    self.heard.append("job")
                except httpx.TransportError:
                    return

    @property
    def busy(self) -> bool:
        """Whether there was enough to lose: answers of every session, jobs that were done and others that were not."""
        answered = {session for session, _ in self.answers} == {*SESSIONS} and len(self.answers) > 20
        return answered and {"done", "interrupted"} <= self.states

    def keep(self, of: tuple[str, str], answer: dict[str, Any]) -> None:
        """The same answer as before, if there was one."""
        known = self.answers.setdefault(of, answer)
        assert (known["value"], known["error"]) == (answer["value"], answer["error"])


def ask(client: httpx.Client, of: tuple[str, str], point: list[float]) -> httpx.Response:
    """One question of a session."""
    session, name = of
    return client.post(f"/v1/sessions/{session}/ask", json={"point": point}, headers={"idempotency-key": name})


def wait(client: httpx.Client, job: str) -> dict[str, Any]:
    """A job that is over."""
    found: dict[str, Any] = {}

    def is_over() -> bool:
        found.update(client.get(f"/v1/jobs/{job}").json())
        return found["state"] in OVER

    wait_until(is_over, "the end of a job")
    return found


def test_kill_under_load(tmp_path: Path, keys: dict[str, str]) -> None:
    """After every restart, what clients know is what the service knows, and all of it is paid for.

    A crash finds a job under way more often than not; where none did, there are more crashes.
    """
    root, clients = tmp_path / "data", Clients(keys)
    for number in range(MOST * CRASHES):
        service = begin(root, "max_sessions=1000")
        try:
            with service.client(keys["anna"]) as anna, service.client(keys["carla"]) as carla:
                transcripts(anna, DataDirectory(root), clients)
                paid(anna, carla, DataDirectory(root), clients)
                over(carla, clients)
            assert service.log.read_text() == ""
            if number >= CRASHES and clients.busy:
                break
            clients.load(service, number, clients.dice.randrange(60))
        finally:
            end(service)
    assert clients.busy
    assert clients.refused <= {"session_exhausted", "budget_exceeded", "busy"}


def transcripts(anna: httpx.Client, home: DataDirectory, clients: Clients) -> None:
    """Whole: every answer that was received is there, the same is said again, and the limit is kept."""
    for session in SESSIONS:
        found = anna.get(f"/v1/sessions/{session}/transcript").json()
        questions = {one["name"]: one for one in found["questions"]}
        assert len(questions) == len(found["questions"])
        assert {(session, name) for name in questions} <= {*clients.sent}
        for of, answer in clients.answers.items():
            if of[0] == session:
                kept = questions[of[1]]
                assert (kept["value"], kept["error"]) == (answer["value"], answer["error"])
                assert kept["point"] == clients.sent[of]
        values = {tuple(one["point"]): one["value"] for one in questions.values()}
        assert all(values[tuple(one["point"])] == one["value"] for one in questions.values())
        count = Store(home.session(session)).count()
        if session == "asked":  # the other one has no limit
            assert len(values) <= count <= LIMIT
            assert found["remaining"] == LIMIT - count
        for name in clients.dice.sample([*questions], min(5, len(questions))):
            again = ask(anna, (session, name), clients.sent[session, name]).json()
            assert (again["value"], again["error"]) == (questions[name]["value"], questions[name]["error"])
            clients.keep((session, name), again)


def paid(anna: httpx.Client, carla: httpx.Client, home: DataDirectory, clients: Clients) -> None:
    """Whatever answers has a charge that counts; no cap is passed."""
    account, history = home.ledger.account("people"), home.ledger.history("people")
    counted = [entry for entry in history if entry.counts]
    assert sum(entry.cost.nano for entry in counted) == account.spent.nano <= account.cap.nano
    epsilons = [round(sum(one.epsilon for one in entry.guarantees), 9) for entry in counted]
    releases = [one["id"] for one in anna.get("/v1/releases").json()["releases"]]
    sessions = [one for one in anna.get("/v1/sessions").json()["sessions"] if one["id"] not in SESSIONS]
    assert all(one["state"] in ("open", "failed") for one in sessions)
    for name in [*releases, *(one["id"] for one in sessions if one["state"] == "open")]:
        assert round(clients.made[name], 9) in epsilons, name
    for name in releases:
        load(home.release(name))
        assert anna.post(f"/v1/releases/{name}/distances", json={"points": [[30]]}).status_code == 200
    for one in sessions:
        answer = ask(anna, (one["id"], "first"), [30])
        assert answer.status_code == (200 if one["state"] == "open" else 409)
    done = {job["of"] for job in carla.get("/v1/jobs").json()["jobs"] if job["state"] == "done"}
    assert {name for name in done if name.startswith("r")} <= {*releases}
    assert {name for name in done if name.startswith("s")} <= {one["id"] for one in sessions if one["state"] == "open"}


def over(carla: httpx.Client, clients: Clients) -> None:
    """Jobs that were accepted are known, and none is under way for ever."""
    jobs = {job["id"]: job for job in carla.get("/v1/jobs").json()["jobs"]}
    assert clients.accepted <= {*jobs}
    clients.states |= {job["state"] for job in jobs.values()}
    assert clients.states <= {*OVER}


def test_a_directory_is_served_once(tmp_path: Path, keys: dict[str, str]) -> None:
    root = tmp_path / "data"
    with running(root) as service, service.client(keys["anna"]) as anna:
        line = [*COMMAND, "--data-dir", str(root)]
        second = subprocess.run(line, capture_output=True, text=True, timeout=300, check=False)  # noqa: S603
        assert second.returncode == 2
        assert "is served by another process already; stop that one first" in " ".join(second.stderr.split())
        assert anna.get("/v1/me").status_code == 200


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_an_end_is_clean(tmp_path: Path, keys: dict[str, str], sent: signal.Signals, code: int) -> None:
    """Nothing is left but what the directory is for, and a session goes on where it was."""
    root = tmp_path / "data"
    for name in (".upload-7", ".made.milepost.7"):  # as a crash leaves them
        (root / "releases" / name).touch()
    with running(root) as service, service.client(keys["anna"]) as anna, service.client(keys["carla"]) as carla:
        first = ask(anna, ("asked", "one"), [1, 2]).json()
        words = MADE | {"id": "made", "epsilon": 0.5, "mechanism": "slopes"}
        assert wait(carla, carla.post("/v1/releases", json=words).json()["id"])["state"] == "done"
        assert service.stop(sent) == code
        assert service.log.read_text() == ""
    left = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
    kept = {f"sessions/{name}.db{more}" for name in SESSIONS for more in ("", ".key")}
    assert left == {".lock", "service.db", "ledger.db", "tables/people.parquet", "releases/made.milepost", *kept}
    with running(root) as service, service.client(keys["anna"]) as anna:
        assert ask(anna, ("asked", "one"), [1, 2]).json() == first
        second = ask(anna, ("asked", "two"), [3, 2]).json()
        assert second["remaining"] == first["remaining"] - 1
        names = [one["name"] for one in anna.get("/v1/sessions/asked/transcript").json()["questions"]]
        assert names == ["one", "two"]
