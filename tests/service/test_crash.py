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
from tests.service.server_process import COMMAND, ServerProcess, run_server, start_server, stop_server

pytestmark = pytest.mark.slow

LIMIT = 100  # questions of a session
CRASHES = 4  # at least; up to MAX_FACTOR times as many where none came at an interesting moment
MAX_FACTOR = 10
BUILD_PARAMS: dict[str, Any] = {"table": "people.parquet", "dataset": "people", "delta": 1e-6, "space": PLANE}
AGES = {"space": "l1", "bounds": {"age": [0, 100]}}  # quick to build under load
SESSIONS = {"adaptive": "field", "offline": "slopes"}
FINAL_STATES = ("done", "failed", "interrupted")


@pytest.fixture
def keys(tmp_path: Path) -> dict[str, str]:
    """Keys of a data directory with a table, a budget, a session that asks the table, and one that has a synopsis."""
    with ServiceState(tmp_path / "data", Settings()) as state:
        result = {
            name: create_key(state.database, name, role)[1]
            for name, role in (("carla", "curator"), ("anna", "analyst"))
        }
        pq.write_table(people(500), state.directory.tables / "people.parquet")
        state.directory.ledger.create("people", epsilon=20, delta=1e-5)
        for name, mechanism in SESSIONS.items():
            request = SessionRequest(
                id=name, analyst="anna", max_queries=LIMIT, epsilon=1.0, mechanism=mechanism, **BUILD_PARAMS
            )
            state.sessions.reserve(request, space_from_spec(request.space))
            state.sessions.begin(request, space_from_spec(request.space), state.quota("anna"))
    return result


@dataclass
class Clients:
    """What clients have sent and received, over all crashes. answers: by session and Idempotency-Key."""

    keys: dict[str, str]
    rng: random.Random = field(default_factory=lambda: random.Random(0))  # noqa: S311
    points: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    answers: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    epsilons: dict[str, float] = field(default_factory=dict)  # ε of every release and session that was requested
    accepted_jobs: set[str] = field(default_factory=set)  # jobs
    job_states: set[str] = field(default_factory=set)  # of jobs, after restarts
    refusal_codes: set[str] = field(default_factory=set)  # codes
    events: list[str] = field(default_factory=list)  # "answer" or "job", in order of arrival

    def load(self, server: ServerProcess, number: int, answers: int) -> None:
        """Ask and build, and kill the server in the middle of it: after this number of answers, and of 0 or 1 jobs."""
        jobs = self.events.count("job") + number % 2
        answers += self.events.count("answer")
        answered = {session: Event() for session in SESSIONS}
        threads = [
            Thread(target=self._ask, args=(server, f"{number}-{i}", session, answered[session]))
            for i, session in enumerate(("adaptive", "adaptive", "adaptive", "offline"))
        ]
        threads += [Thread(target=self._build, args=(server, number, kind)) for kind in ("releases", "sessions")]
        for thread in threads:
            thread.start()
        for session in SESSIONS if number else ():  # but the first time, not even a session has been read again
            assert answered[session].wait(300)
        wait_until(lambda: self.events.count("answer") >= answers and self.events.count("job") >= jobs)
        stop_server(server)
        for thread in threads:
            thread.join()

    def _ask(self, server: ServerProcess, name: str, session: str, answered: Event) -> None:
        with server.client(self.keys["anna"]) as client:
            for count in range(10_000):
                again = (
                    [question for question in list(self.points) if question[0] == session]
                    if self.rng.random() < 0.5
                    else []
                )
                question = self.rng.choice(again) if again else (session, f"{name}-{count}")
                point = self.points.setdefault(question, [self.rng.randrange(11), self.rng.randrange(11)])
                try:
                    answer = ask(client, question, point)
                except httpx.TransportError:
                    return
                answered.set()
                self.events.append("answer")
                if answer.status_code == 200:
                    self.record_answer(question, answer.json())
                else:
                    self.refusal_codes.add(answer.json()["error"]["code"])

    def _build(self, server: ServerProcess, number: int, kind: str) -> None:
        with server.client(self.keys["carla"]) as client:
            for count in range(10_000):
                name = f"{kind[0]}{number}-{count}"
                epsilon = 0.01 + 1e-5 * len(self.epsilons) if kind == "releases" else 0.011 + 1e-5 * len(self.epsilons)
                self.epsilons[name] = epsilon
                params = BUILD_PARAMS | {"id": name, "epsilon": epsilon, "mechanism": "slopes", "space": AGES}
                more = {} if kind == "releases" else {"analyst": "anna", "max_queries": 5}
                try:
                    answer = client.post(f"/v1/{kind}", json=params | more)
                    if answer.status_code == 202:
                        self.accepted_jobs.add(answer.json()["id"])
                        wait_for_job(client, answer.json()["id"])
                    else:
                        self.refusal_codes.add(answer.json()["error"]["code"])
                    self.events.append("job")
                except httpx.TransportError:
                    return

    @property
    def busy(self) -> bool:
        """Whether there was enough to lose: answers of every session, jobs that were done and others that were not."""
        all_answered = {session for session, _ in self.answers} == {*SESSIONS} and len(self.answers) > 20
        return all_answered and {"done", "interrupted"} <= self.job_states

    def record_answer(self, question: tuple[str, str], answer: dict[str, Any]) -> None:
        """Store an answer, and require that it equals the previous one to the same question."""
        previous = self.answers.setdefault(question, answer)
        assert (previous["value"], previous["error"]) == (answer["value"], answer["error"])


def ask(client: httpx.Client, question: tuple[str, str], point: list[float]) -> httpx.Response:
    """Send one question of a session."""
    session, name = question
    return client.post(f"/v1/sessions/{session}/ask", json={"point": point}, headers={"idempotency-key": name})


def wait_for_job(client: httpx.Client, job: str) -> dict[str, Any]:
    """Wait for the end of a job and return it."""
    state: dict[str, Any] = {}

    def is_over() -> bool:
        state.update(client.get(f"/v1/jobs/{job}").json())
        return state["state"] in FINAL_STATES

    wait_until(is_over, "the end of a job")
    return state


def test_kill_under_load(tmp_path: Path, keys: dict[str, str]) -> None:
    """After every restart, what clients know is what the service knows, and all of it is paid for.

    A crash finds a job under way more often than not; where none did, there are more crashes.
    """
    root, clients = tmp_path / "data", Clients(keys)
    for number in range(MAX_FACTOR * CRASHES):
        server = start_server(root, "max_sessions=1000")
        try:
            with server.client(keys["anna"]) as anna, server.client(keys["carla"]) as carla:
                check_transcripts(anna, DataDirectory(root), clients)
                check_charges(anna, carla, DataDirectory(root), clients)
                check_jobs(carla, clients)
            assert server.log.read_text() == ""
            if number >= CRASHES and clients.busy:
                break
            clients.load(server, number, clients.rng.randrange(60))
        finally:
            stop_server(server)
    assert clients.busy
    assert clients.refusal_codes <= {"question_limit_reached", "budget_exceeded", "busy"}


def check_transcripts(anna: httpx.Client, directory: DataDirectory, clients: Clients) -> None:
    """Check that transcripts have every received answer, that answers are repeated, and that limits hold."""
    for session in SESSIONS:
        transcript = anna.get(f"/v1/sessions/{session}/transcript").json()
        questions = {entry["name"]: entry for entry in transcript["questions"]}
        assert len(questions) == len(transcript["questions"])
        assert {(session, name) for name in questions} <= {*clients.points}
        for question, answer in clients.answers.items():
            if question[0] == session:
                entry_of_answer = questions[question[1]]
                assert (entry_of_answer["value"], entry_of_answer["error"]) == (answer["value"], answer["error"])
                assert entry_of_answer["point"] == clients.points[question]
        values = {tuple(entry["point"]): entry["value"] for entry in questions.values()}
        assert all(values[tuple(entry["point"])] == entry["value"] for entry in questions.values())
        count = Store(directory.session(session)).count()
        if session == "adaptive":  # the other one has no limit
            assert len(values) <= count <= LIMIT
            assert transcript["remaining"] == LIMIT - count
        for name in clients.rng.sample([*questions], min(5, len(questions))):
            again = ask(anna, (session, name), clients.points[session, name]).json()
            assert (again["value"], again["error"]) == (questions[name]["value"], questions[name]["error"])
            clients.record_answer((session, name), again)


def check_charges(anna: httpx.Client, carla: httpx.Client, directory: DataDirectory, clients: Clients) -> None:
    """Check that every release and session that answers has a charge that counts, and that no cap is exceeded."""
    account, history = directory.ledger.account("people"), directory.ledger.history("people")
    charges = [entry for entry in history if entry.counts]
    assert sum(entry.cost.nano for entry in charges) == account.spent.nano <= account.cap.nano
    epsilons = [round(sum(guarantee.epsilon for guarantee in entry.guarantees), 9) for entry in charges]
    releases = [release["id"] for release in anna.get("/v1/releases").json()["releases"]]
    sessions = [session for session in anna.get("/v1/sessions").json()["sessions"] if session["id"] not in SESSIONS]
    assert all(session["state"] in ("open", "failed") for session in sessions)
    for name in [*releases, *(session["id"] for session in sessions if session["state"] == "open")]:
        assert round(clients.epsilons[name], 9) in epsilons, name
    for name in releases:
        load(directory.release(name))
        assert anna.post(f"/v1/releases/{name}/distances", json={"points": [[30]]}).status_code == 200
    for session in sessions:
        answer = ask(anna, (session["id"], "first"), [30])
        assert answer.status_code == (200 if session["state"] == "open" else 409)
    finished = {job["subject"] for job in carla.get("/v1/jobs").json()["jobs"] if job["state"] == "done"}
    assert {name for name in finished if name.startswith("r")} <= {*releases}
    assert {name for name in finished if name.startswith("s")} <= {
        session["id"] for session in sessions if session["state"] == "open"
    }


def check_jobs(carla: httpx.Client, clients: Clients) -> None:
    """Check that accepted jobs are listed, and that none stays unfinished."""
    jobs = {job["id"]: job for job in carla.get("/v1/jobs").json()["jobs"]}
    assert clients.accepted_jobs <= {*jobs}
    clients.job_states |= {job["state"] for job in jobs.values()}
    assert clients.job_states <= {*FINAL_STATES}


def test_a_directory_is_served_once(tmp_path: Path, keys: dict[str, str]) -> None:
    root = tmp_path / "data"
    with run_server(root) as server, server.client(keys["anna"]) as anna:
        line = [*COMMAND, "--data-dir", str(root)]
        second = subprocess.run(line, capture_output=True, text=True, timeout=300, check=False)  # noqa: S603
        assert second.returncode == 2
        assert "is served by another process. Stop that process first." in " ".join(second.stderr.split())
        assert anna.get("/v1/me").status_code == 200


@pytest.mark.parametrize(("signal_number", "code"), [(signal.SIGTERM, 0), (signal.SIGINT, 130)])
def test_an_end_is_clean(tmp_path: Path, keys: dict[str, str], signal_number: signal.Signals, code: int) -> None:
    """Nothing is left but what the directory is for, and a session goes on where it was."""
    root = tmp_path / "data"
    for name in (".upload-7", ".made.milepost.7"):  # as a crash leaves them
        (root / "releases" / name).touch()
    with run_server(root) as server, server.client(keys["anna"]) as anna, server.client(keys["carla"]) as carla:
        first = ask(anna, ("adaptive", "one"), [1, 2]).json()
        params = BUILD_PARAMS | {"id": "made", "epsilon": 0.5, "mechanism": "slopes"}
        assert wait_for_job(carla, carla.post("/v1/releases", json=params).json()["id"])["state"] == "done"
        assert server.stop(signal_number) == code
        assert server.log.read_text() == ""
    files = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
    session_files = {f"sessions/{name}.db{more}" for name in SESSIONS for more in ("", ".key")}
    assert files == {
        ".lock",
        "service.db",
        "ledger.db",
        "tables/people.parquet",
        "releases/made.milepost",
        *session_files,
    }
    with run_server(root) as server, server.client(keys["anna"]) as anna:
        assert ask(anna, ("adaptive", "one"), [1, 2]).json() == first
        second = ask(anna, ("adaptive", "two"), [3, 2]).json()
        assert second["remaining"] == first["remaining"] - 1
        names = [question["name"] for question in anna.get("/v1/sessions/adaptive/transcript").json()["questions"]]
        assert names == ["one", "two"]
