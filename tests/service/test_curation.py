"""What curators do: jobs, uploads, budgets, quotas, plans."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import milepost as mp
from milepost.service.app import make_app
from milepost.service.auth import Quota, QuotaError, create_key
from milepost.service.database import JobRecord, now
from milepost.service.schemas.requests import ReleaseRequest
from milepost.service.settings import Settings
from milepost.service.state import ServiceState
from tests.service.conftest import CITY, MADE, PLANE, SPACES, House, furnished, wait_until_over


@pytest.fixture
def lodge(tmp_path: Path) -> Iterator[House]:
    result = furnished(tmp_path, {"city": SPACES["city"]}, sessions=False)
    yield result
    result.office.close()


def done(house: House, answer: Any) -> dict[str, Any]:
    """The job when it is over."""
    assert answer.status_code == 202, answer.text
    job: dict[str, Any] = answer.json()
    wait_until_over(house, job["id"])
    job.update(house.client("carla").get(f"/v1/jobs/{job['id']}").json())
    return job


def test_a_release_is_built_charged_and_answered(lodge: House) -> None:
    carla = lodge.client("carla")
    before = carla.get("/v1/datasets").json()["datasets"][0]
    job = done(lodge, carla.post("/v1/releases", {"id": "plane", "title": "A plane", "space": PLANE, **MADE}))
    assert (job["state"], job["detail"], job["of"]) == ("done", None, "plane")
    after = carla.get("/v1/datasets").json()["datasets"][0]
    assert after["share"] > before["share"]
    assert carla.get("/v1/datasets/people/charges").json()["charges"][-1]["label"] == "carla"
    assert lodge.client("anna").post("/v1/releases/plane/distances", {"points": [[5, 5]]}).status_code == 200
    again = carla.post("/v1/releases", {"id": "plane", "space": PLANE, **MADE})
    assert again.json()["error"]["code"] == "exists"
    assert carla.get("/v1/jobs").json()["jobs"][0]["id"] == job["id"]


def test_a_job_that_fails_says_why_and_spends_nothing(lodge: House) -> None:
    carla = lodge.client("carla")
    before = carla.get("/v1/datasets").json()
    for words, reason in (
        ({"space": {"space": "l1", "bounds": {"height": [0, 2]}}}, "no column 'height'"),
        ({"space": PLANE, "epsilon": 900.0}, "does not allow"),
        ({"space": PLANE, "mechanism": "nothing"}, "unknown mechanism"),
    ):
        job = done(lodge, carla.post("/v1/releases", {"id": "new", **MADE, **words}))
        assert (job["state"], reason in job["detail"]) == ("failed", True), job
    after = carla.get("/v1/datasets").json()
    assert [one["spent"] for one in after["datasets"]] == [one["spent"] for one in before["datasets"]]
    assert "new" not in [one["id"] for one in carla.get("/v1/releases").json()["releases"]]


def test_notes_of_the_library_reach_the_curator(lodge: House) -> None:
    words = {"id": "wide", "space": PLANE, **MADE, "epsilon": 1e-4}
    job = done(lodge, lodge.client("carla").post("/v1/releases", words))
    assert (job["state"], "quarter of the diameter" in job["detail"]) == ("done", True)


def test_uploads(lodge: House) -> None:
    carla, content = lodge.client("carla"), lodge.office.directory.release("city").read_bytes()
    charges = "/v1/datasets/people/charges"
    count = len(carla.get(charges).json()["charges"])
    for query, more in (("", 0), ("?dataset=people&title=Copy", 1), ("?dataset=people&paid=true", 1)):
        answer = carla.request("PUT", f"/v1/releases/copy{query}", content=content)
        assert answer.status_code == 201, answer.text
        assert len(carla.get(charges).json()["charges"]) == count + more
        points = {"points": [[52.5, 13.4]]}
        same = [lodge.client("anna").post(f"/v1/releases/{name}/distances", points).json() for name in ("city", "copy")]
        assert same[0] == same[1]
        assert carla.request("PUT", "/v1/releases/copy", content=content).json()["error"]["code"] == "exists"
        assert carla.request("DELETE", "/v1/releases/copy").status_code == 204
        assert carla.request("DELETE", "/v1/releases/copy").status_code == 404
    for broken in (b"", b"junk", content[:-1], content[:1000]):
        assert carla.request("PUT", "/v1/releases/bad", content=broken).json()["error"]["code"] == "refused"
    assert [path.name for path in lodge.office.directory.releases.iterdir()] == ["city.milepost"]


def test_an_upload_beyond_the_budget_is_not_stored(lodge: House) -> None:
    carla, content = lodge.client("carla"), lodge.office.directory.release("city").read_bytes()
    lodge.office.directory.ledger.create("small", epsilon=0.1, delta=1e-6)
    answer = carla.request("PUT", "/v1/releases/copy?dataset=small", content=content)
    assert answer.json()["error"]["code"] == "budget_exceeded"
    assert "does not allow" in answer.json()["error"]["detail"]
    assert not lodge.office.directory.release("copy").exists()


def test_shares_of_a_budget(tmp_path: Path) -> None:
    ledger = mp.Ledger(tmp_path / "ledger.db")
    ledger.create("homes", epsilon=1)
    annas = Quota(ledger.path, "anna", 0.5)
    annas.charge("homes", mp.Guarantee(0.3))
    with pytest.raises(QuotaError, match="50%"):
        annas.charge("homes", mp.Guarantee(0.3))
    annas.charge("homes", mp.Guarantee(0.2))
    Quota(ledger.path, "bert", 0.5).charge("homes", mp.Guarantee(0.5))
    assert ledger.left("homes").nano == 0
    assert [entry.state for entry in ledger.history("homes")] == ["reserved", "returned", "reserved", "reserved"]


def test_a_session_counts_to_its_analysts_share(lodge: House) -> None:
    create_key(lodge.office.database, "dora", "analyst", share=1e-9)
    words = {"id": "doras", "analyst": "dora", "max_queries": 5, "space": PLANE, **MADE}
    job = done(lodge, lodge.client("carla").post("/v1/sessions", words))
    assert (job["state"], "dora may spend" in job["detail"]) == ("failed", True)
    assert [one["state"] for one in lodge.client("carla").get("/v1/sessions").json()["sessions"]] == ["failed"]


def test_plans(lodge: House) -> None:
    carla = lodge.client("carla")
    words = {"space": CITY, "n": 100_000, "epsilon": 1, "delta": 1e-6}
    found = carla.post("/v1/plan", words).json()
    expected = mp.plan(mp.GreatCircle((52.52, 13.405), 30, 16), n=100_000, epsilon=1, delta=1e-6)
    assert [one["mechanism"] for one in found["predictions"]] == [one.mechanism for one in expected.predictions]
    assert found["predictions"][0]["error"] == expected.best.error
    error = carla.post("/v1/plan", words | {"error": 0.1}).json()["error"]
    assert (error["code"], "either epsilon" in error["detail"]) == ("refused", True)
    assert carla.post("/v1/plan", words | {"space": {"space": "angular", "dim": 10**9}}).status_code in (413, 422)


def test_rates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At one moment, however long it takes."""
    monkeypatch.setattr("milepost.service.middleware.monotonic", lambda: 7.0)
    house = furnished(tmp_path, {}, sessions=False, rate=0.01, burst=3)  # one more in 100 seconds
    anna = house.client("anna")
    answers = [anna.get("/v1/me") for _ in range(5)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
    assert 0 < int(answers[-1].headers["retry-after"]) <= 100
    assert house.client("bert").get("/v1/me").status_code == 200
    house.office.close()


def test_one_directory_is_served_once(lodge: House) -> None:
    with pytest.raises(mp.MilepostError, match="served by another process"):
        furnished(lodge.office.directory.root, {}, sessions=False)


def test_a_release_that_was_complete_when_the_service_ended_is_listed(lodge: House) -> None:
    """With its title and dataset; one that was not is interrupted, and what it cost stays spent."""
    office = lodge.office
    for name in ("whole", "lost"):
        words = ReleaseRequest(id=name, title=f"The {name} one", space=PLANE, **MADE)
        office.database.add(
            JobRecord(f"job-{name}", "release", name, "carla", words.model_dump_json(), now(), "running", "")
        )
    office.directory.release("whole").write_bytes(office.directory.release("city").read_bytes())
    office.close()
    with ServiceState(office.directory.root, Settings()) as again:
        house = House(again, make_app(again), lodge.keys)
        listed = house.client("anna").get("/v1/releases").json()["releases"]
        assert [(one["title"], one["dataset"]) for one in listed][1:] == [("The whole one", "people")]
        assert {job["state"] for job in house.client("carla").get("/v1/jobs").json()["jobs"]} == {"interrupted"}
