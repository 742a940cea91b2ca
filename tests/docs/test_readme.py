"""The front door works: its example, its commands, its links."""

import contextlib
import doctest
import io
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import milepost as mp
from milepost import cli
from milepost.demo import clinic
from tests import ROOT
from tests.chance import assert_close, sure

README = (ROOT / "README.md").read_text()
NUMBER = r"-?\d+(?:\.\d+)?"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


def block(language: str) -> str:
    (text,) = blocks(language)
    return text


def test_the_example_prints_what_the_readme_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same words; answers near the truth; everything else equal.

    The README's own answers keep their promise. New ones may be as far off as noise allows.
    """
    monkeypatch.chdir(tmp_path)
    printed, names = io.StringIO(), dict[str, Any]()
    with contextlib.redirect_stdout(printed):
        exec(blocks("python")[0], names)  # noqa: S102
    expected, real = blocks("text")[0], printed.getvalue()
    assert re.sub(rf"\s*{NUMBER}", "#", expected) == re.sub(rf"\s*{NUMBER}", "#", real)

    error = names["synopsis"].error()
    exact = mp.exact_mean_distance(names["homes"], names["space"], [[5, 5], [0.5, 0.5], [2, 8]])
    for text, room in ((expected, error), (real, names["synopsis"].error(sure(3)))):
        *answers, promise, confidence = [float(number) for number in re.findall(NUMBER, text)]
        np.testing.assert_allclose(answers, exact, atol=room + 0.005)
        assert confidence == 95
        assert promise == pytest.approx(error, abs=0.0015)  # its part for interpolation is estimated, so it varies
    assert mp.load("homes.milepost").error() == error


def test_the_groups_are_compared_as_the_readme_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As above: shown distances and new ones within what noise allows at their errors."""
    monkeypatch.chdir(tmp_path)
    first, second = blocks("python")
    names, printed = dict[str, Any](), io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()):
        exec(first, names)  # noqa: S102
    with contextlib.redirect_stdout(printed):
        exec(second, names)  # noqa: S102
    expected, real = blocks("text")[1], printed.getvalue()
    assert re.sub(rf"─|{NUMBER}", "", expected).split() == re.sub(rf"─|{NUMBER}", "", real).split()
    halves = names["people"][:25_000], names["people"][25_000:]
    exact = np.array([mp.exact_mean_distance(half, names["space"], [[3, 4], [9, 6]]) for half in halves]).T
    for text in (expected, real):
        cells = np.array(re.findall(rf"({NUMBER}) ± ({NUMBER})", text), dtype=float).reshape(2, 2, 2)
        assert_close(cells[..., 0], exact, cells[..., 1] / 1.96, slack=0.005)


def test_the_words_are_answered_as_the_readme_shows() -> None:
    """Exact answers are multiples of 0.2 and noise has scale 0.0016: rounding shows it less often than once in 1e13."""
    run_examples(blocks("pycon")[0], {"mp": mp}, 4)


def test_the_session_answers_as_the_readme_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The exact answer is 4.9295 and noise has a standard deviation of 0.0012: rounding hides it but once in 1e60."""
    monkeypatch.chdir(tmp_path)
    names = dict[str, Any]()
    with contextlib.redirect_stdout(io.StringIO()):
        exec(blocks("python")[0], names)  # noqa: S102
    run_examples(blocks("pycon")[1], names, 3)


def run_examples(text: str, names: dict[str, Any], count: int) -> None:
    example = doctest.DocTestParser().get_doctest(text, names, "README", "README.md", 0)
    assert len(example.examples) == count
    assert doctest.DocTestRunner().run(example).failed == 0


def test_the_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    header = {"delimiter": ",", "header": "lat,lon", "comments": ""}
    np.savetxt("homes.csv", clinic.homes(5_000), fmt="%.6f", **header)
    commands = [line.removeprefix("$ milepost ") for line in block("console").splitlines() if line.startswith("$ ")]
    assert len(commands) == README.count("$ milepost ")
    for command in commands:
        with pytest.raises(SystemExit) as stop:
            cli.main(shlex.split(command))
        assert not stop.value.code, command


def test_the_commands_that_make_runs_exist() -> None:
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    assert {"demo", "test"} <= set(targets)
    for page in ("README.md", "CONTRIBUTING.md"):
        assert set(re.findall(r"\bmake ([\w-]+)", (ROOT / page).read_text())) <= set(targets)


def test_the_table_names_every_public_space_and_mechanism() -> None:
    from milepost.mechanisms.registry import MECHANISM_NAMES
    from milepost.spaces.registry import KINDS

    table = README[README.index("| space |") :].split("\n\n")[0]
    for name in [*(kind.__name__ for kind in KINDS.values()), *MECHANISM_NAMES]:
        assert f"`{name}`" in table


def test_every_page_is_linked_from_the_index() -> None:
    docs = ROOT / "docs"
    targets = {(docs / link).resolve() for link in re.findall(r"\]\(([^)#]+)", (docs / "index.md").read_text())}
    assert {page.resolve() for page in docs.rglob("*.md")} - {(docs / "index.md").resolve()} <= targets
