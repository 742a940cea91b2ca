"""A file appears whole or not at all."""

import errno
import os
from pathlib import Path

import pytest

import milepost as mp
from milepost.storage.atomic_file import atomic_write


@pytest.mark.parametrize("before", [None, b"before"])
@pytest.mark.parametrize("failure", [KeyboardInterrupt, ValueError, SystemExit])
def test_what_is_raised_meanwhile_leaves_what_was_there(
    tmp_path: Path, before: bytes | None, failure: type[BaseException]
) -> None:
    path = tmp_path / "answers.csv"
    if before is not None:
        path.write_bytes(before)
    with pytest.raises(failure):
        fail_halfway(path, failure)
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == (
        [("answers.csv", before)] if before else []
    )


def fail_halfway(path: Path, failure: type[BaseException]) -> None:
    with atomic_write(path) as stream:
        stream.write(b"half")
        assert any(file.name.startswith(".answers.csv.") for file in path.parent.iterdir())
        raise failure


def test_a_file_takes_its_name_when_it_is_complete(tmp_path: Path) -> None:
    """With the permissions that any new file of this user has."""
    path, plain = tmp_path / "answers.csv", tmp_path / "plain"
    plain.touch()
    path.write_bytes(b"before")
    with atomic_write(path) as stream:
        stream.write(b"after")
        assert path.read_bytes() == b"before"
    assert path.read_bytes() == b"after"
    assert path.stat().st_mode == plain.stat().st_mode
    assert set(tmp_path.iterdir()) == {path, plain}


def test_a_full_disk_is_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with (
        pytest.raises(mp.MilepostError, match=r"answers.csv cannot be written: No space left"),
        atomic_write(tmp_path / "answers.csv") as stream,
    ):
        stream.write(b"all")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["missing/answers.csv", "file/answers.csv"])
def test_a_folder_that_is_none_is_one_clear_error(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(mp.MilepostError, match="cannot be written"), atomic_write(tmp_path / name):
        pytest.fail("nothing can be written there")
    assert [file.name for file in tmp_path.iterdir()] == ["file"]
