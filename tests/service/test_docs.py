"""docs/service.md names every address, code and setting, and the Dockerfile is the one of the repository."""

import re
import shlex
from pathlib import Path

import pytest

from milepost import cli
from milepost.service.app import openapi_document
from milepost.service.errors import CODES
from milepost.service.settings import Settings
from tests import ROOT
from tests.service.conftest import ServiceFixture
from tests.service.test_access import CURATORS, OPEN, OWNERS

PAGE = (ROOT / "docs" / "service.md").read_text()


def rows(heading: str) -> list[list[str]]:
    """The cells of the table under a heading."""
    section = PAGE.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| `")]
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines]


def test_addresses(service: ServiceFixture) -> None:
    addresses = [
        f"{method.upper()} {path}"
        for path, methods in openapi_document(service.app)["paths"].items()
        for method in methods
    ]
    documented = {address: role for address, role, _ in rows("Addresses")}
    assert sorted(documented) == sorted(addresses)
    for address, role in documented.items():
        expected = "curators" if address in CURATORS else "everybody" if address in OPEN else "both"
        assert role == ("its analyst" if address in OWNERS else expected), address


def test_every_address_is_described_with_an_example(service: ServiceFixture) -> None:
    document = openapi_document(service.app)
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert operation.get("description"), (method, path)
            content = operation.get("requestBody", {}).get("content", {}).get("application/json")
            if content:
                name = content["schema"]["$ref"].rpartition("/")[2]
                assert document["components"]["schemas"][name]["examples"], name


def test_codes() -> None:
    assert {code: int(status) for code, status, _ in rows("Refusals")} == {
        code: entry.status for code, entry in CODES.items()
    }


def test_settings() -> None:
    assert [tuple(row) for row in rows("Settings")] == Settings.table()


def test_the_dockerfile_is_the_one_shown() -> None:
    (dockerfile,) = re.findall(r"^```dockerfile\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
    assert dockerfile == (ROOT / "Dockerfile").read_text()


def test_keys_are_made_as_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What follows, copying a table and serving, is what every test of a running service does."""
    monkeypatch.chdir(tmp_path)
    lines = re.findall(r"^\$ milepost (keys .*)$", PAGE, flags=re.MULTILINE)
    assert len(lines) >= 2
    for line in lines:
        with pytest.raises(SystemExit) as stop:
            cli.main(shlex.split(line))
        assert not stop.value.code
        assert re.match(r"mp_[0-9a-f]{12}_", capsys.readouterr().out)
