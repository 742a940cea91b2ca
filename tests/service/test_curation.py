"""What curators do: jobs, uploads, budgets, quotas, plans."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import milepost as mp
from milepost.service.app import make_app
from milepost.service.auth import Quota, QuotaError, create_key
from milepost.service.database import JobRecord, now
from milepost.service.schemas.requests import ReleaseRequest
from milepost.service.settings import Settings
from milepost.service.state import ServiceState
from tests.service.conftest import BUILD_PARAMS, CITY, PLANE, SPACES, ServiceFixture, create_service, wait_for_job


@pytest.fixture
def fresh_service(tmp_path: Path) -> Iterator[ServiceFixture]:
    result = create_service(tmp_path, {"city": SPACES["city"]}, sessions=False)
    yield result
    result.state.close()


def finish_job(service: ServiceFixture, answer: Any) -> dict[str, Any]:
    """Wait for the end of an accepted job and return it."""
    assert answer.status_code == 202, answer.text
    job: dict[str, Any] = answer.json()
    wait_for_job(service, job["id"])
    job.update(service.client("carla").get(f"/v1/jobs/{job['id']}").json())
    return job


def test_a_release_is_built_charged_and_answered(fresh_service: ServiceFixture) -> None:
    carla = fresh_service.client("carla")
    before = carla.get("/v1/datasets").json()["datasets"][0]
    job = finish_job(
        fresh_service, carla.post("/v1/releases", {"id": "plane", "title": "A plane", "space": PLANE, **BUILD_PARAMS})
    )
    assert (job["state"], job["detail"], job["subject"]) == ("done", None, "plane")
    after = carla.get("/v1/datasets").json()["datasets"][0]
    assert after["share"] > before["share"]
    assert carla.get("/v1/datasets/people/charges").json()["charges"][-1]["label"] == "carla"
    assert fresh_service.client("anna").post("/v1/releases/plane/distances", {"points": [[5, 5]]}).status_code == 200
    again = carla.post("/v1/releases", {"id": "plane", "space": PLANE, **BUILD_PARAMS})
    assert again.json()["error"]["code"] == "exists"
    assert carla.get("/v1/jobs").json()["jobs"][0]["id"] == job["id"]


def test_a_job_that_fails_says_why_and_spends_nothing(fresh_service: ServiceFixture) -> None:
    carla = fresh_service.client("carla")
    before = carla.get("/v1/datasets").json()
    for params, reason in (
        ({"space": {"space": "l1", "bounds": {"height": [0, 2]}}}, "no column 'height'"),
        ({"space": PLANE, "epsilon": 900.0}, "does not allow"),
        ({"space": PLANE, "mechanism": "nothing"}, "unknown mechanism"),
    ):
        job = finish_job(fresh_service, carla.post("/v1/releases", {"id": "new", **BUILD_PARAMS, **params}))
        assert (job["state"], reason in job["detail"]) == ("failed", True), job
    after = carla.get("/v1/datasets").json()
    assert [dataset["spent"] for dataset in after["datasets"]] == [dataset["spent"] for dataset in before["datasets"]]
    assert "new" not in [release["id"] for release in carla.get("/v1/releases").json()["releases"]]


def test_notes_of_the_library_reach_the_curator(fresh_service: ServiceFixture) -> None:
    params = {"id": "wide", "space": PLANE, **BUILD_PARAMS, "epsilon": 1e-4}
    job = finish_job(fresh_service, fresh_service.client("carla").post("/v1/releases", params))
    assert (job["state"], "quarter of the diameter" in job["detail"]) == ("done", True)


def test_uploads(fresh_service: ServiceFixture) -> None:
    carla, content = fresh_service.client("carla"), fresh_service.state.directory.release("city").read_bytes()
    charges = "/v1/datasets/people/charges"
    count = len(carla.get(charges).json()["charges"])
    for query, more in (("", 0), ("?dataset=people&title=Copy", 1), ("?dataset=people&paid=true", 1)):
        answer = carla.request("PUT", f"/v1/releases/copy{query}", content=content)
        assert answer.status_code == 201, answer.text
        assert len(carla.get(charges).json()["charges"]) == count + more
        points = {"points": [[52.5, 13.4]]}
        same = [
            fresh_service.client("anna").post(f"/v1/releases/{name}/distances", points).json()
            for name in ("city", "copy")
        ]
        assert same[0] == same[1]
        assert carla.request("PUT", "/v1/releases/copy", content=content).json()["error"]["code"] == "exists"
        assert carla.request("DELETE", "/v1/releases/copy").status_code == 204
        assert carla.request("DELETE", "/v1/releases/copy").status_code == 404
    for broken in (b"", b"junk", content[:-1], content[:1000]):
        assert carla.request("PUT", "/v1/releases/bad", content=broken).json()["error"]["code"] == "refused"
    assert [path.name for path in fresh_service.state.directory.releases.iterdir()] == ["city.milepost"]


def test_an_upload_beyond_the_budget_is_not_stored(fresh_service: ServiceFixture) -> None:
    carla, content = fresh_service.client("carla"), fresh_service.state.directory.release("city").read_bytes()
    fresh_service.state.directory.ledger.create("small", epsilon=0.1, delta=1e-6, accounting="zcdp")
    answer = carla.request("PUT", "/v1/releases/copy?dataset=small", content=content)
    assert answer.json()["error"]["code"] == "budget_exceeded"
    assert "does not allow" in answer.json()["error"]["detail"]
    assert not fresh_service.state.directory.release("copy").exists()


def test_the_accounting_of_a_budget_is_chosen_once(fresh_service: ServiceFixture) -> None:
    """Gaussian by default; the budget and its charges say which, and the two are never mixed."""
    carla, cap = fresh_service.client("carla"), {"epsilon": 3, "delta": 1e-6}
    for name, accounting, unit in (("homes", None, "μ²"), ("schools", "zcdp", "ρ"), ("towns", "gaussian", "μ²")):
        created = carla.post("/v1/datasets", {"name": name, **cap, "accounting": accounting})
        assert created.status_code == 201, created.text
        assert created.json()["accounting"] == (accounting or "gaussian")
        assert created.json()["remaining"].startswith(f"{unit} = ")
        assert carla.post("/v1/datasets", {"name": name, **cap}).json() == created.json()
    assert carla.post("/v1/datasets", {"name": "names", "epsilon": 3}).json()["accounting"] == "pure"
    for request, reason in (
        ({"name": "homes", **cap, "accounting": "zcdp"}, "'homes' already has accounting='gaussian'"),
        ({"name": "new", "rho": 1, "accounting": "gaussian"}, "A cap in rho adds up rho"),
    ):
        assert reason in carla.post("/v1/datasets", request).json()["error"]["detail"]
    assert (
        carla.post("/v1/datasets", {"name": "new", **cap, "accounting": "renyi"}).json()["error"]["code"] == "invalid"
    )
    ledger, zcdp = fresh_service.state.directory.ledger, mp.Guarantee(0.1, 1e-6, accounting="zcdp")
    ledger.charge("schools", [zcdp, mp.Guarantee(0.1)])
    (charge,) = carla.get("/v1/datasets/schools/charges").json()["charges"]
    assert (charge["accounting"], charge["cost"][:3]) == ("zcdp and pure", "ρ =")


def test_an_upload_that_does_not_add_up_is_not_stored(fresh_service: ServiceFixture, tmp_path: Path) -> None:
    """A file that was spent as ρ, on a budget of Gaussian noise."""
    carla = fresh_service.client("carla")
    ledger = mp.Ledger(tmp_path / "other.ledger")
    ledger.create("homes", epsilon=3, delta=1e-6, accounting="zcdp")
    synopsis = mp.release(
        [[2.0], [8.0]] * 50, mp.L1([(0, 10)]), epsilon=1, delta=1e-6, mechanism="slopes", ledger=ledger, dataset="homes"
    )
    synopsis.save(tmp_path / "old.milepost")
    content = (tmp_path / "old.milepost").read_bytes()
    for accounting, code in (("gaussian", 422), ("zcdp", 201)):
        cap = {"epsilon": 3, "delta": 1e-6, "accounting": accounting}
        assert carla.post("/v1/datasets", {"name": accounting, **cap}).status_code == 201
        answer = carla.request("PUT", f"/v1/releases/old?dataset={accounting}", content=content)
        assert answer.status_code == code, answer.text
        if code != 201:
            assert "takes no charge that is spent as zCDP" in answer.json()["error"]["detail"]
            assert not carla.get(f"/v1/datasets/{accounting}/charges").json()["charges"]
            assert not fresh_service.state.directory.release("old").exists()


def test_shares_of_a_budget(tmp_path: Path) -> None:
    ledger = mp.Ledger(tmp_path / "ledger.db")
    ledger.create("homes", epsilon=1)
    annas = Quota(ledger.path, "anna", 0.5)
    annas.charge("homes", mp.Guarantee(0.3))
    with pytest.raises(QuotaError, match="50%"):
        annas.charge("homes", mp.Guarantee(0.3))
    annas.charge("homes", mp.Guarantee(0.2))
    Quota(ledger.path, "bert", 0.5).charge("homes", mp.Guarantee(0.5))
    assert ledger.remaining("homes").nano == 0
    assert [entry.state for entry in ledger.history("homes")] == ["reserved", "returned", "reserved", "reserved"]


def test_a_session_counts_to_its_analysts_share(fresh_service: ServiceFixture) -> None:
    create_key(fresh_service.state.database, "dora", "analyst", share=1e-9)
    params = {"id": "doras", "analyst": "dora", "max_queries": 5, "space": PLANE, **BUILD_PARAMS}
    job = finish_job(fresh_service, fresh_service.client("carla").post("/v1/sessions", params))
    assert (job["state"], "dora may spend" in job["detail"]) == ("failed", True)
    assert [session["state"] for session in fresh_service.client("carla").get("/v1/sessions").json()["sessions"]] == [
        "failed"
    ]


def test_plans(fresh_service: ServiceFixture) -> None:
    carla = fresh_service.client("carla")
    params = {"space": CITY, "n": 100_000, "epsilon": 1, "delta": 1e-6}
    plan = carla.post("/v1/plan", params).json()
    expected = mp.plan(mp.GreatCircle((52.52, 13.405), 30, 16), n=100_000, epsilon=1, delta=1e-6)
    assert [prediction["mechanism"] for prediction in plan["predictions"]] == [
        prediction.mechanism for prediction in expected.predictions
    ]
    assert plan["predictions"][0]["error"] == expected.best.error
    error = carla.post("/v1/plan", params | {"error": 0.1}).json()["error"]
    assert (error["code"], "either epsilon" in error["detail"]) == ("refused", True)
    assert carla.post("/v1/plan", params | {"space": {"space": "angular", "dim": 10**9}}).status_code in (413, 422)


def test_angles_in_degrees_over_http(fresh_service: ServiceFixture) -> None:
    carla = fresh_service.client("carla")
    space = {"space": "angular", "dim": 2, "angle_unit": "degrees"}
    params = {"space": space, "columns": ["x", "y"], **BUILD_PARAMS}
    assert finish_job(fresh_service, carla.post("/v1/releases", {"id": "angles", **params}))["state"] == "done"
    release = carla.get("/v1/releases/angles").json()
    assert (release["diameter"], release["distance_unit"]) == (180, "degrees")
    answer = carla.post("/v1/releases/angles/distances", {"points": [[-1, -1]]}).json()
    assert answer["distance_unit"] == "degrees"
    synopsis = mp.load(fresh_service.state.directory.release("angles"))
    assert answer["distances"] == synopsis.mean_distance([[-1, -1]]).tolist()
    assert synopsis.space == mp.Angular(2, synopsis.space.embedding.dimension, angle_unit="degrees")
    params["space"] = {"space": "angular", "dim": 2, "angle_unit": "degree"}
    error = carla.post("/v1/releases", {"id": "wrong", **params}).json()["error"]
    assert (error["code"], "did you mean 'degrees'?" in error["detail"]) == ("refused", True)


def test_float32_unit_vectors_over_http(fresh_service: ServiceFixture) -> None:
    """Vectors whose length is 1 in float32 are inside the unit ball: no note, no refusal."""
    carla = fresh_service.client("carla")
    turns = np.arange(20)
    points = np.column_stack([np.cos(turns), np.sin(turns)]).astype(np.float32)
    assert (np.linalg.norm(points.astype(np.float64), axis=1) > 1).any()
    ball = {"space": "l2", "center": {"x": 0, "y": 0}, "radius": 1, "directions": 16}
    params = {"id": "given", "space": ball, **BUILD_PARAMS, "mechanism": "field", "queries": points.tolist()}
    job = finish_job(fresh_service, carla.post("/v1/releases", params))
    assert (job["state"], job["detail"]) == ("done", None)
    answer = carla.post("/v1/releases/given/distances", {"points": points.tolist()})
    assert answer.status_code == 200, answer.text


def test_a_private_ball_over_http(fresh_service: ServiceFixture) -> None:
    carla = fresh_service.client("carla")
    ball = {"space": "l2", "center": {"x": 0, "y": 0}, "radius": 100}
    params = {"space": ball, "n": 100_000, "epsilon": 1, "delta": 1e-6}
    plan = carla.post("/v1/plan", params | {"ball_share": 0.1}).json()
    assert plan["ball"].startswith("ball: 10 % of the budget finds a centre")
    assert carla.post("/v1/plan", params).json()["ball"] is None
    assert carla.post("/v1/plan", params | {"ball_share": 0.5}).status_code == 422
    build = {"id": "ball", "space": ball, **BUILD_PARAMS, "ball_share": 0.2, "delta": 1e-6}
    job = finish_job(fresh_service, carla.post("/v1/releases", build))
    assert job["state"] == "done", job["detail"]
    refused = {"id": "box", "space": PLANE, **BUILD_PARAMS, "ball_share": 0.2, "delta": 1e-6}
    job = finish_job(fresh_service, carla.post("/v1/releases", refused))
    assert (job["state"], "needs a ball" in job["detail"]) == ("failed", True)


def test_rates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At one moment, however long it takes."""
    monkeypatch.setattr("milepost.service.middleware.monotonic", lambda: 7.0)
    service = create_service(tmp_path, {}, sessions=False, rate=0.01, burst=3)  # one more in 100 seconds
    anna = service.client("anna")
    answers = [anna.get("/v1/me") for _ in range(5)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
    assert 0 < int(answers[-1].headers["retry-after"]) <= 100
    assert service.client("bert").get("/v1/me").status_code == 200
    service.state.close()


def test_one_directory_is_served_once(fresh_service: ServiceFixture) -> None:
    with pytest.raises(mp.MilepostError, match="served by another process"):
        create_service(fresh_service.state.directory.root, {}, sessions=False)


def test_a_release_that_was_complete_when_the_service_ended_is_listed(fresh_service: ServiceFixture) -> None:
    """With its title and dataset; one that was not is interrupted, and what it cost stays spent."""
    state = fresh_service.state
    for name in ("whole", "lost"):
        request = ReleaseRequest(id=name, title=f"The {name} one", space=PLANE, **BUILD_PARAMS)
        state.database.add(
            JobRecord(f"job-{name}", "release", name, "carla", request.model_dump_json(), now(), "running", "")
        )
    state.directory.release("whole").write_bytes(state.directory.release("city").read_bytes())
    state.close()
    with ServiceState(state.directory.root, Settings()) as reopened_state:
        reopened = ServiceFixture(reopened_state, make_app(reopened_state), fresh_service.keys)
        releases = reopened.client("anna").get("/v1/releases").json()["releases"]
        assert [(release["title"], release["dataset"]) for release in releases][1:] == [("The whole one", "people")]
        assert {job["state"] for job in reopened.client("carla").get("/v1/jobs").json()["jobs"]} == {"interrupted"}
