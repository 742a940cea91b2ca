"""Sessions over HTTP: idempotent, exhaustible, durable, on a clock."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from milepost.errors import MilepostError
from milepost.service.app import make_app
from milepost.service.errors import RefusedError
from milepost.service.settings import Settings
from milepost.service.state import ServiceState
from milepost.service.timing import Clock
from tests.service.conftest import BUILD_PARAMS, PLANE, ServiceFixture, create_service


@pytest.fixture
def fresh_service(tmp_path: Path) -> Iterator[ServiceFixture]:
    result = create_service(tmp_path, {})
    yield result
    result.state.close()


def ask(service: ServiceFixture, who: str, session: str, point: Sequence[float], name: str) -> dict[str, Any]:
    answer = service.client(who).post(
        f"/v1/sessions/{session}/ask", {"point": point}, headers={"idempotency-key": name}
    )
    result: dict[str, Any] = answer.json()
    return result


def test_a_session_from_the_first_question_to_the_last(fresh_service: ServiceFixture) -> None:
    first = ask(fresh_service, "anna", "annas", [1, 2], "a")
    assert (first["remaining"], set(first)) == (4, {"value", "error", "remaining", "distance_unit"})
    assert ask(fresh_service, "anna", "annas", [1, 2], "a") == first
    assert ask(fresh_service, "anna", "annas", [1, 2], "another name") == first
    assert ask(fresh_service, "anna", "annas", [3, 2], "a")["error"]["code"] == "question_differs"
    assert ask(fresh_service, "anna", "annas", [1, 2, 3], "b")["error"]["code"] == "bad_point"
    for k in range(4):
        assert ask(fresh_service, "anna", "annas", [k, 9], f"k{k}")["remaining"] == 3 - k
    assert ask(fresh_service, "anna", "annas", [8, 8], "z")["error"]["code"] == "question_limit_reached"
    assert ask(fresh_service, "anna", "annas", [1, 2], "again")["value"] == first["value"]

    anna, carla = fresh_service.client("anna"), fresh_service.client("carla")
    transcript = anna.get("/v1/sessions/annas/transcript").json()
    assert [question["name"] for question in transcript["questions"]] == [
        "a",
        "another name",
        "k0",
        "k1",
        "k2",
        "k3",
        "again",
    ]
    assert (transcript["questions"][0]["point"], transcript["questions"][0]["value"]) == ([1.0, 2.0], first["value"])
    assert carla.post("/v1/sessions/annas/close").status_code == 204
    assert anna.get("/v1/sessions/annas/transcript").json() == transcript
    assert ask(fresh_service, "anna", "annas", [1, 2], "a")["error"]["code"] == "session_closed"
    session = anna.get("/v1/sessions/annas").json()
    assert (session["state"], session["remaining"], session["limit"]) == ("closed", 0, 5)
    assert carla.post("/v1/sessions/annas/close").json()["error"]["code"] == "session_closed"


def test_it_goes_on_after_a_restart(fresh_service: ServiceFixture) -> None:
    first = ask(fresh_service, "anna", "annas", [1, 2], "a")
    ask(fresh_service, "bert", "berts", [40], "b")
    fresh_service.state.close()
    with ServiceState(fresh_service.state.directory.root, Settings(clock=0.01)) as state:
        reopened = ServiceFixture(state, make_app(state), fresh_service.keys)
        (session,) = reopened.client("anna").get("/v1/sessions").json()["sessions"]
        assert (session["state"], session["remaining"]) == ("open", 4)
        assert ask(reopened, "anna", "annas", [1, 2], "a") == first
        assert ask(reopened, "anna", "annas", [2, 2], "c")["remaining"] == 3
        assert len(reopened.client("carla").get("/v1/sessions/berts/transcript").json()["questions"]) == 1
        assert len(reopened.client("carla").get("/v1/datasets/people/charges").json()["charges"]) == 2


def test_a_table_that_changed_is_not_asked(fresh_service: ServiceFixture) -> None:
    """The curator learns why from the library; the analyst that it went wrong."""
    fresh_service.state.close()
    (fresh_service.state.directory.tables / "people.parquet").unlink()
    with ServiceState(fresh_service.state.directory.root, Settings(clock=0.01)) as state:
        reopened = ServiceFixture(state, make_app(state), fresh_service.keys)
        error = ask(reopened, "anna", "annas", [1, 2], "a")["error"]
        assert error == {"code": "internal", "status": 500, "message": error["message"]}


def test_names_and_places_for_sessions(fresh_service: ServiceFixture) -> None:
    carla = fresh_service.client("carla")
    params = {"id": "annas", "analyst": "anna", "max_queries": 5, "space": PLANE, **BUILD_PARAMS}
    assert carla.post("/v1/sessions", params).json()["error"]["code"] == "exists"
    for more, reason in (
        ({"analyst": "nobody"}, "has no key"),
        ({"table": "../service.db"}, "no table"),
        ({"dataset": "other"}, "no dataset"),
        ({"space": {"space": "l9"}}, "unknown space"),
        ({"space": {"space": "edit", "queries": "/etc/passwd", "diameter": 3}}, "must be a list"),
        ({"neighbors": "add-remove", "epsilon": 1e9}, "epsilon"),
    ):
        error = carla.post("/v1/sessions", params | {"id": "new"} | more).json()["error"]
        assert (error["code"], reason in error["detail"]) == ("refused", True), error


def test_the_clock_hides_how_long_an_answer_took() -> None:
    """Whatever it took within a period, it leaves at the same moment; one that is late waits for one, too."""
    late: list[bool] = []
    clock = Clock(0.5, 60, lambda: late.append(True))
    for session, arrived in enumerate((7.0, 7.01, 7.5, 7.99)):
        due = clock.due(f"{session}", arrived)
        assert {clock.moment(due, arrived + took) for took in (0.0, 0.3, 0.99, 1.0)} == {due}
        assert due - arrived >= 1
    assert not late
    assert [clock.moment(9, now) for now in (9.01, 9.99, 10.5)] == [10, 10, 11]
    assert len(late) == 3


def test_many_questions_do_not_tell_how_long_they_took_together() -> None:
    """Each has a period of its own; how many are refused depends on when they came."""
    clock = Clock(0.5, 8)
    assert [clock.due("annas", 7.5) for _ in range(6)] == [9, 10, 11, 12, 13, 14]
    for _ in range(2):
        with pytest.raises(RefusedError, match="busy"):
            clock.due("annas", 7.9)
    assert clock.due("berts", 7.9) == 9
    assert clock.due("annas", 8.1) == 15
    assert clock.due("annas", 99.5) == 101


@pytest.mark.parametrize("setting", ["clock=31", "timeout=0.5", "clock=10.1", "clock=60"])
def test_a_clock_that_no_answer_would_be_in_time_for_is_refused(setting: str) -> None:
    """An answer leaves up to two periods after its question."""
    with pytest.raises(MilepostError, match="timeout must be at least three times clock, got timeout="):
        Settings.of([setting])
    assert Settings(clock=0.1, timeout=0.3).periods == 3
    Settings.of(["clock=60", "timeout=180"])


def test_refusals_leave_on_the_clock_too(fresh_service: ServiceFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each waits for its moment, once, as the answer does."""
    arrivals: list[float] = []

    async def leave(arrived: float) -> None:
        arrivals.append(arrived)

    monkeypatch.setattr(fresh_service.state.clock, "leave", leave)
    for count, (point, name) in enumerate((([1, 2], "a"), ([1, 2, 3], "b"), ([4, 5], "a"))):
        answer = ask(fresh_service, "anna", "annas", point, name)
        assert "code" in answer["error"] if count else answer["remaining"] == 4
        assert len(arrivals) == count + 1, point
