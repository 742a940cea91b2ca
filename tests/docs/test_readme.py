"""The README's example, commands and links work."""

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import milepost as mp
from milepost.mechanisms.registry import MECHANISM_NAMES
from milepost.spaces.registry import KINDS
from tests import ROOT
from tests.chance import sure

README = (ROOT / "README.md").read_text()
NUMBER = r"-?\d+(?:\.\d+)?"


def block(language: str) -> str:
    """Return the only block of a language."""
    (text,) = re.findall(rf"^```{language}\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)
    assert isinstance(text, str)
    return text


def test_the_example_prints_what_the_readme_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same words; answers near the truth.

    The README's own answers keep their promise. New ones may be as far off as noise allows.
    """
    monkeypatch.chdir(tmp_path)
    printed, names = io.StringIO(), dict[str, Any]()
    with contextlib.redirect_stdout(printed):
        exec(block("python"), names)  # noqa: S102
    expected, real = block("text"), printed.getvalue()
    assert words(expected) == words(real)

    synopsis = names["synopsis"]
    error = synopsis.error()
    exact = mp.exact_mean_distance(names["homes"], names["city"], [[5, 5], [4.4, 5], [3, 7]])
    for text, room in ((expected, error), (real, synopsis.error(sure(3)))):
        shown, low, high, confidence, *sites = [float(number) for number in re.findall(NUMBER, text)]
        (first, town_hall, town_hall_error), (second, market, market_error) = sites[:3], sites[3:]
        assert (confidence, first, second) == (95, 1, 2)
        np.testing.assert_allclose([shown, town_hall, market], exact, atol=room + 0.0005)
        assert (low + high) / 2 == pytest.approx(shown, abs=0.001)
        for half_width in ((high - low) / 2, town_hall_error, market_error):
            assert half_width == pytest.approx(
                error, abs=0.0015
            )  # its part for interpolation is estimated, so it varies
    assert mp.load("homes.milepost").error() == error


def words(text: str) -> list[str]:
    return re.sub(rf"─|{NUMBER}", " ", text).split()


def test_the_commands_that_make_runs_exist() -> None:
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    assert {"demo", "test"} <= set(targets)
    for page in ("README.md", "CONTRIBUTING.md"):
        assert set(re.findall(r"\bmake ([\w-]+)", (ROOT / page).read_text())) <= set(targets)


def test_the_page_of_spaces_names_every_public_space_and_mechanism() -> None:
    page = (ROOT / "docs" / "spaces.md").read_text(encoding="utf-8")
    mechanisms, spaces = (page[page.index(f"\n| {first} |") :].split("\n\n")[0] for first in ("mechanism", "space"))
    assert [kind.__name__ for kind in KINDS.values() if f"`{kind.__name__}`" not in spaces] == []
    for table in (mechanisms, spaces):
        assert [name for name in MECHANISM_NAMES if f"`{name}`" not in table] == []


def test_every_page_is_linked_from_the_index() -> None:
    docs = ROOT / "docs"
    targets = {(docs / link).resolve() for link in re.findall(r"\]\(([^)#]+)", (docs / "index.md").read_text())}
    assert {page.resolve() for page in docs.rglob("*.md")} - {(docs / "index.md").resolve()} <= targets
