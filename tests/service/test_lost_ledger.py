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
from tests.service.conftest import MADE, SPACES, House, furnished


@pytest.fixture
def lodge(tmp_path: Path) -> Iterator[House]:
    result = furnished(tmp_path, {"ages": SPACES["ages"]})
    yield result
    result.office.close()


def only(house: House, kept: str) -> None:
    """What of the directory names its dataset still; the ledger does not."""
    house.office.close()
    home, register = house.office.directory, ServiceDatabase(house.office.directory.register)
    home.ledger_path.unlink()
    for release in register.all(ReleaseRecord) if kept != "Release" else ():
        register.remove(ReleaseRecord, release.id)
    for opened in register.all(SessionRecord) if kept != "Opened" else ():
        register.remove(SessionRecord, opened.id)
    if kept == "Job":
        words = ReleaseRequest(id="city", **MADE | SPACES["city"])
        register.add(JobRecord("1", "release", "city", "carla", words.model_dump_json(), "", "failed", ""))
    if kept != "store":
        for path in home.sessions.iterdir():
            path.unlink()


@pytest.mark.parametrize(
    ("kept", "where"),
    [
        ("Release", "the release 'ages' in "),
        ("Opened", "the session 'annas' in "),
        ("Job", "the job '1' in "),
        ("store", "annas.db"),
    ],
)
@pytest.mark.parametrize("empty", [False, True])
def test_a_lost_ledger_is_refused_while_something_names_its_dataset(
    lodge: House, kept: str, where: str, empty: bool
) -> None:
    only(lodge, kept)
    home = lodge.office.directory
    if empty:
        home.ledger_path.touch()
    for _ in range(2):
        with pytest.raises(MilepostError, match="does not know the dataset 'people', which") as refusal:
            ServiceState(home.root, Settings())
        assert where in str(refusal.value)
        assert "Restore the ledger from its backup" in str(refusal.value)
        assert f"milepost ledger create {home.ledger_path} people" in str(refusal.value)
    assert home.ledger_path.exists() == empty


def test_what_names_nothing_needs_no_ledger(lodge: House) -> None:
    only(lodge, "nothing")
    ServiceState(lodge.office.directory.root, Settings()).close()


def test_a_dataset_can_be_created_anew_knowingly(lodge: House) -> None:
    only(lodge, "Release")
    Ledger(lodge.office.directory.ledger_path).create("other", rho=1)
    with pytest.raises(MilepostError, match="does not know the dataset 'people'"):
        ServiceState(lodge.office.directory.root, Settings())
    Ledger(lodge.office.directory.ledger_path).create("people", rho=1)
    ServiceState(lodge.office.directory.root, Settings()).close()


def test_a_session_needs_its_charge(lodge: House) -> None:
    """A ledger with the dataset and without the charge is a backup, or another one; charged again, all goes on."""
    lodge.office.close()
    home = lodge.office.directory
    tokens = {entry.token for entry in home.ledger.history("people")[1:]}
    home.ledger_path.unlink()
    home.ledger.create("people", rho=100)
    for _ in tokens:
        with pytest.raises(MilepostError, match="does not know charge") as refusal:
            ServiceState(home.root, Settings())
        (token,) = (token for token in tokens if token in str(refusal.value))
        home.ledger.charge("people", Guarantee(4, 1e-6), label=token).settle()
    with ServiceState(home.root, Settings()) as office:
        assert set(office.sessions._sessions) == {"annas", "berts"}


def test_a_ledger_that_is_lost_meanwhile_is_not_begun_anew(lodge: House) -> None:
    lodge.office.directory.ledger_path.unlink()
    for name in ("people", "other"):
        error = lodge.client("carla").post("/v1/datasets", {"name": name, "epsilon": 1}).json()["error"]
        assert (error["code"], "does not know the dataset 'people'" in error["detail"]) == ("refused", True)
    assert not lodge.office.directory.ledger_path.exists()


def test_stray_files_beside_sessions_are_passed_over(lodge: House) -> None:
    lodge.office.close()
    sessions = lodge.office.directory.sessions
    (sessions / "folder.db").mkdir()
    (sessions / ".hidden.db").write_bytes(b"junk")
    (sessions / "junk.db").write_bytes(b"junk")
    sqlite3.connect(sessions / "other.db").executescript("CREATE TABLE t (x); PRAGMA user_version = 7").close()
    ServiceState(lodge.office.directory.root, Settings()).close()
