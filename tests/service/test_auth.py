"""Keys: names, roles, shares, and the command line."""

from pathlib import Path

import pytest

import milepost as mp
from milepost.service.auth import Keys, create_key, revoke_key
from milepost.service.database import ApiKey, ServiceDatabase
from tests.commands import runner


@pytest.fixture
def database(tmp_path: Path) -> ServiceDatabase:
    return ServiceDatabase(tmp_path / "service.db")


@pytest.mark.parametrize("name", ["", " anna", "a\nb", "x" * 65, "a\u0308"])
def test_names_are_one_line(database: ServiceDatabase, name: str) -> None:
    with pytest.raises(mp.MilepostError, match="1 to 64"):
        create_key(database, name, "analyst")


@pytest.mark.parametrize("share", [0, -1, 1.5, float("nan"), float("inf")])
def test_shares_are_parts(database: ServiceDatabase, share: float) -> None:
    with pytest.raises(mp.MilepostError, match="share"):
        create_key(database, "anna", "analyst", share)


def test_roles_are_two(database: ServiceDatabase) -> None:
    with pytest.raises(mp.MilepostError, match="curator, analyst"):
        create_key(database, "anna", "admin")


def test_a_person_may_have_several_keys(database: ServiceDatabase) -> None:
    texts = [create_key(database, "anna", "analyst", share)[1] for share in (0.1, 0.5)]
    with database.watching() as watch:
        keys = Keys(watch)
        assert [key.name for text in texts if (key := keys.find(text))] == ["anna", "anna"]
        assert (keys.share("anna"), keys.share("bert")) == (0.1, None)
        assert keys.find(texts[0].replace("mp_", "xx_")) is None
        assert len(revoke_key(database, "anna")) == 2
        assert (keys.find(texts[0]), keys.share("anna")) == (None, None)
    assert revoke_key(database, "anna") == []
    with pytest.raises(mp.MilepostError, match="no key"):
        revoke_key(database, "bert")


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = runner(capsys)
    creation = run(f"keys create anna --data-dir {tmp_path} --share 0.25")
    listing = run(f"keys list --data-dir {tmp_path}")
    assert "anna" in listing.out
    assert "25%" in listing.out
    assert creation.out.strip().split("_")[2] not in listing.out
    assert run(f"keys revoke anna --data-dir {tmp_path}").out == "revoked 1 key\n"
    (key,) = ServiceDatabase(tmp_path / "service.db").all(ApiKey)
    assert key.revoked
    assert run(f"keys revoke nobody --data-dir {tmp_path}").code == 2


def test_no_name_is_a_keys_id(database: ServiceDatabase) -> None:
    with pytest.raises(mp.MilepostError, match="id of a key"):
        create_key(database, "0123456789ab", "analyst")
