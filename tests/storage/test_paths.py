"""Paths: an address is refused as it was given, wherever a file is meant."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import milepost as mp
from milepost.cli import main
from milepost.storage.atomic_file import atomic_write
from milepost.storage.paths import local_path

SPACE = mp.L1([(0, 10)])
ADDRESSES = ["s3a://bucket/homes.parquet", "file:///data/homes.csv", "https://example.org/homes.csv"]
CALLS: dict[str, Callable[[Any], Any]] = {
    "release": lambda path: mp.release(path, SPACE, epsilon=1),
    "exact": lambda path: mp.exact_mean_distance(path, SPACE, [5]),
    "bounds": lambda path: mp.find_bounds(path, epsilon=1),
    "load": mp.load,
    "write": lambda path: atomic_write(path).__enter__(),
    "ledger": mp.Ledger,
    "store": lambda path: mp.interactive([[1.0]], SPACE, epsilon=1, max_queries=1, store=path),
}
COMMANDS = [
    "release {} --space l1 --bounds x=0:1 --epsilon 1 -o out.milepost",
    "release homes.csv --space l1 --bounds x=0:1 --epsilon 1 -o {}",
    "bounds {} --epsilon 1",
    "query {} --at 1",
    "show {}",
]


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("call", CALLS)
def test_an_address_is_refused_as_it_was_given(call: str, address: str) -> None:
    """As text, and as a Path, which has lost a slash."""
    for value in (address, Path(address)):
        with pytest.raises(mp.MilepostError, match=f"{address} is an address, not the path of a local file"):
            CALLS[call](value)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_refuse_addresses(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Tables, files of points, synopses to read and to write."""
    with pytest.raises(SystemExit):
        main([word.format(ADDRESSES[0]) for word in command.split()])
    assert f"{ADDRESSES[0]} is an address" in capsys.readouterr().err


def test_a_path_with_a_colon_is_no_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is one in a folder whose name ends in one."""
    monkeypatch.chdir(tmp_path)
    Path("s3a:").mkdir()
    for text in ("12:30/homes.csv", "C:/homes.csv", "s3a:/homes.csv", "a: b.csv"):
        assert str(local_path(text, "")) == text
