"""A ledger that has lost what something else in the data directory names."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from milepost.errors import MilepostError
from milepost.privacy.accounting.ledger import Ledger
from milepost.privacy.guarantee import Guarantee
from milepost.service.database import JobRecord, ReleaseRecord, ServiceDatabase, SessionRecord
from milepost.service.schemas.requests import ReleaseRequest
from milepost.service.settings import Settings
from milepost.service.state import ServiceState
from tests.service.conftest import BUILD_PARAMS, SPACES, ServiceFixture, create_service


@pytest.fixture
def fresh_service(tmp_path: Path) -> Iterator[ServiceFixture]:
    result = create_service(tmp_path, {"ages": SPACES["ages"]})
    yield result
    result.state.close()


def remove_all_but(service: ServiceFixture, kind: str) -> None:
    """Remove the ledger, and all that names its dataset except for one kind of entry."""
    service.state.close()
    directory, database = service.state.directory, ServiceDatabase(service.state.directory.database_path)
    directory.ledger_path.unlink()
    for release in database.all(ReleaseRecord) if kind != "Release" else ():
        database.remove(ReleaseRecord, release.id)
    for session in database.all(SessionRecord) if kind != "Opened" else ():
        database.remove(SessionRecord, session.id)
    if kind == "Job":
        request = ReleaseRequest(id="city", **BUILD_PARAMS | SPACES["city"])
        database.add(JobRecord("1", "release", "city", "carla", request.model_dump_json(), "", "failed", ""))
    if kind != "store":
        for path in directory.sessions.iterdir():
            path.unlink()


@pytest.mark.parametrize(
    ("kind", "where"),
    [
        ("Release", "the release 'ages' in "),
        ("Opened", "the session 'annas' in "),
        ("Job", "the job '1' in "),
        ("store", "annas.db"),
    ],
)
@pytest.mark.parametrize("empty", [False, True])
def test_a_lost_ledger_is_refused_while_something_names_its_dataset(
    fresh_service: ServiceFixture, kind: str, where: str, empty: bool
) -> None:
    remove_all_but(fresh_service, kind)
    directory = fresh_service.state.directory
    if empty:
        directory.ledger_path.touch()
    for _ in range(2):
        with pytest.raises(MilepostError, match="does not know the dataset 'people', which") as refusal:
            ServiceState(directory.root, Settings())
        assert where in str(refusal.value)
        assert "Restore the ledger from its backup" in str(refusal.value)
        assert f"milepost ledger create {directory.ledger_path} people" in str(refusal.value)
    assert directory.ledger_path.exists() == empty


def test_what_names_nothing_needs_no_ledger(fresh_service: ServiceFixture) -> None:
    remove_all_but(fresh_service, "nothing")
    ServiceState(fresh_service.state.directory.root, Settings()).close()


def test_a_dataset_can_be_created_anew_knowingly(fresh_service: ServiceFixture) -> None:
    remove_all_but(fresh_service, "Release")
    Ledger(fresh_service.state.directory.ledger_path).create("other", rho=1)
    with pytest.raises(MilepostError, match="does not know the dataset 'people'"):
        ServiceState(fresh_service.state.directory.root, Settings())
    Ledger(fresh_service.state.directory.ledger_path).create("people", rho=1)
    ServiceState(fresh_service.state.directory.root, Settings()).close()


def test_a_session_needs_its_charge(fresh_service: ServiceFixture) -> None:
    """A ledger with the dataset and without the charge is a backup, or another one; charged again, all goes on."""
    fresh_service.state.close()
    directory = fresh_service.state.directory
    tokens = {entry.token for entry in directory.ledger.history("people")[1:]}
    directory.ledger_path.unlink()
    directory.ledger.create("people", rho=100)
    for _ in tokens:
        with pytest.raises(MilepostError, match="does not know charge") as refusal:
            ServiceState(directory.root, Settings())
        (token,) = (token for token in tokens if token in str(refusal.value))
        directory.ledger.charge("people", Guarantee(4, 1e-6), label=token).settle()
    with ServiceState(directory.root, Settings()) as state:
        assert set(state.sessions._sessions) == {"annas", "berts"}


def test_a_ledger_that_is_lost_meanwhile_is_not_begun_anew(fresh_service: ServiceFixture) -> None:
    fresh_service.state.directory.ledger_path.unlink()
    for name in ("people", "other"):
        error = fresh_service.client("carla").post("/v1/datasets", {"name": name, "epsilon": 1}).json()["error"]
        assert (error["code"], "does not know the dataset 'people'" in error["detail"]) == ("refused", True)
    assert not fresh_service.state.directory.ledger_path.exists()


def test_stray_files_beside_sessions_are_passed_over(fresh_service: ServiceFixture) -> None:
    fresh_service.state.close()
    sessions = fresh_service.state.directory.sessions
    (sessions / "folder.db").mkdir()
    (sessions / ".hidden.db").write_bytes(b"junk")
    (sessions / "junk.db").write_bytes(b"junk")
    sqlite3.connect(sessions / "other.db").executescript("CREATE TABLE t (x); PRAGMA user_version = 7").close()
    ServiceState(fresh_service.state.directory.root, Settings()).close()
