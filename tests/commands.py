"""Command lines that are run as a user's shell would, within the test's own process."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from milepost import cli


@dataclass(frozen=True)
class Result:
    """Exit code and what was printed."""

    code: int
    out: str
    err: str


Run = Callable[[str], Result]


def runner(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command line in the current folder."""

    def call(line: str) -> Result:
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            cli.main(shlex.split(line))
        out, err = capsys.readouterr()
        return Result(int(stop.value.code or 0), out, err)

    return call
