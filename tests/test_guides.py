"""The guides run from top to bottom, and print what they show."""

import contextlib
import io
import re
import runpy
import shlex
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import milepost as mp
from milepost import cli

ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / "docs" / "groups.md").read_text()
CELL = r"(\d+(?:\.\d+)?) ± (\d+(?:\.\d+)?)"
ROW = rf"^ +(\d+), (\d+) +{CELL} +{CELL} +{CELL} +(?:\S+ +)?(budget|family|premium) "


def blocks(page: str) -> list[tuple[str, str]]:
    """Language and text of every block."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)


def run(language: str, text: str, names: dict[str, Any]) -> str:
    """What a block prints; notes about small groups are among the things that it shows."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore", mp.PromiseWarning)
        if language == "python":
            exec(text, names)  # noqa: S102
        for line in text.splitlines() if language == "console" else []:
            with pytest.raises(SystemExit) as stop:
                cli.main(shlex.split(line.removeprefix("$ milepost ")))
            assert not stop.value.code, line
    return printed.getvalue()


def words(text: str) -> list[str]:
    """What does not depend on noise: no numbers, no nearest group, and not whether a group looks too small."""
    text = re.sub(r" \(too small[^)]*\)| \(EUR\)|, 1 group too small|; 1 group too small[^.]*", "", text)
    text = re.sub(r"[<≈±–─]|\b(budget|family|premium|other)\b|(?<![\w.])-?\d[\d,]*(\.\d+)?(e-?\d+)?", " ", text)
    return text.split()


def test_the_guide_prints_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All words; and distances, shown and new, within three times their errors: over six standard deviations."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    printed, shown = "", GUIDE
    for language, text in blocks(GUIDE):
        if language == "text":
            assert words(text) == words(printed)
        else:
            printed = run(language, text, names)
            shown += printed if "nearest" in printed else ""
    cells = np.genfromtxt("customers.csv", delimiter=",", skip_header=1, usecols=(0, 1))
    segments = np.genfromtxt("customers.csv", delimiter=",", skip_header=1, usecols=(2,), dtype=str)
    rows = re.findall(ROW, shown, flags=re.MULTILINE)
    assert len(rows) >= 10
    for spend, visits, *found, nearest in rows:
        point = [float(spend), float(visits)]
        for label, distance, error in zip(names["segments"], found[::2], found[1::2], strict=True):
            exact = mp.exact(cells[segments == label], names["space"], point)
            assert abs(float(distance) - exact) <= 3 * float(error) + 0.01
        clear = {"25": "budget", "70": "family", "40": "family"}
        assert clear.get(spend, nearest) == nearest


def test_the_example_recommends(capsys: pytest.CaptureFixture[str]) -> None:
    """Of the three new customers two are clear, by over thirty standard deviations."""
    runpy.run_path(str(ROOT / "examples" / "retailer.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert "noise could change it" in printed
    assert re.search(
        r"^Recommendation: treat Ada as budget \(by .*\), treat Ben as family \(by .*\), (treat|ask) Cem .*\.$",
        printed.splitlines()[-1],
    )


def test_the_guide_to_scale_streams() -> None:
    """Two million rows from a generator."""
    code, shown = (text for _, text in blocks((ROOT / "docs" / "scale.md").read_text())[:2])
    printed = run("python", code, {})
    assert printed.split(", within")[0] == shown.split(", within")[0] == "2,000,000 rows"
    new, old = (float(text.split()[-2]) for text in (printed, shown))
    assert abs(new / old - 1) < 0.2
