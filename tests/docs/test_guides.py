"""The guides run from top to bottom, and print what they show."""

import contextlib
import io
import re
import runpy
import shlex
import warnings
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import milepost as mp
from milepost import cli
from milepost.mechanisms import registry as mechanism_registry
from milepost.spaces import registry as space_registry
from milepost.spaces.bounds_provenance import BoundsProvenance
from tests import ROOT
from tests.blocks import LENIENT, Noise, check, written
from tests.chance import assert_close

GUIDE = (ROOT / "docs" / "groups.md").read_text()
CELL = r"(\d+(?:\.\d+)?) ± (\d+(?:\.\d+)?)"
ROW = rf"^ +(\d+), (\d+) +{CELL} +{CELL} +{CELL} +(?:\S+ +)?(budget|family|premium) "


RUN = {  # pages whose blocks are all run, and whether that takes longer than a second
    "tutorial.md": True,
    "how-to/bounds.md": True,
    "how-to/wanted-error.md": True,
    "how-to/any-metric.md": True,
    "how-to/columns.md": True,
    "how-to/difference.md": True,
    "how-to/embeddings.md": True,
    "how-to/interactive.md": True,
    "how-to/weighted.md": True,
    "how-to/extend.md": True,
    "how-to/sharing.md": False,
    "explanation/one-price.md": True,
}
ELSEWHERE = {  # other pages with blocks, and the tests that run them
    "groups.md": "tests/docs/test_guides.py",
    "scale.md": "tests/docs/test_guides.py",
    "spaces.md": "tests/docs/test_guides.py",
    "audit.md": "tests/docs/test_guides.py",
    "guarantee.md": "tests/docs/test_trust_pages.py",
    "known-limitations.md": "tests/docs/test_trust_pages.py",
    "special-values.md": "tests/attacks/special_values.py",
    "ledger.md": "tests/privacy/accounting/test_ledger.py",
    "examples.md": "tests/docs/test_examples.py",
    "spark.md": "tests/ingest/spark/test_guide.py",
    "service.md": "tests/service/test_docs.py",
}
NEW = [*RUN, "how-to/index.md", "explanation/how-it-works.md"]


@pytest.fixture(autouse=True)
def registries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the spaces and mechanisms that a page registers."""
    monkeypatch.setattr(space_registry, "KINDS", dict(space_registry.KINDS))
    monkeypatch.setattr(mechanism_registry, "_registered", dict(mechanism_registry._registered))


def blocks(page: str) -> list[tuple[str, str]]:
    """Language and text of every block."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)


def run(language: str, text: str, names: dict[str, Any]) -> str:
    """What a block prints; notes about small groups are among the things that it shows."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore", mp.AccuracyWarning)
        if language == "python":
            exec(text, names)  # noqa: S102
        for line in text.splitlines() if language == "console" else []:
            with pytest.raises(SystemExit) as stop:
                cli.main(shlex.split(line.removeprefix("$ milepost ")))
            assert not stop.value.code, line
    return printed.getvalue()


def stable_words(text: str) -> list[str]:
    """What does not depend on noise: no numbers, no nearest group, and not whether a group looks too small."""
    text = re.sub(r" \(too small[^)]*\)| \(EUR\)|, 1 group too small| Too small to answer about: 1 group\.", "", text)
    text = re.sub(r"[<≈±–─]|\b(budget|family|premium|other)\b|(?<![\w.])-?\d[\d,]*(\.\d+)?(e-?\d+)?", " ", text)
    return text.split()


@pytest.mark.slow
def test_the_guide_prints_what_it_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All words; and distances, shown and new, as far from exact ones as noise allows at their errors."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    printed, tables = "", GUIDE
    for language, text in blocks(GUIDE):
        if language == "text":
            assert stable_words(text) == stable_words(printed)
        else:
            printed = run(language, text, names)
            tables += printed if "nearest" in printed else ""
    cells = np.genfromtxt("customers.csv", delimiter=",", skip_header=1, usecols=(0, 1))
    segments = np.genfromtxt("customers.csv", delimiter=",", skip_header=1, usecols=(2,), dtype=str)
    rows = re.findall(ROW, tables, flags=re.MULTILINE)
    assert len(rows) >= 10
    for spend, visits, *distances_and_errors, nearest in rows:
        point = [float(spend), float(visits)]
        for label, distance, error in zip(
            names["segments"], distances_and_errors[::2], distances_and_errors[1::2], strict=True
        ):
            exact = mp.exact_mean_distance(cells[segments == label], names["space"], point)
            assert_close(float(distance), exact, float(error) / 1.96, slack=0.01, comparisons=3 * len(rows))
        expected = {"25": "budget", "70": "family", "40": "family"}
        assert expected.get(spend, nearest) == nearest


@pytest.mark.slow
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
    code, expected = (text for _, text in blocks((ROOT / "docs" / "scale.md").read_text())[:2])
    printed = run("python", code, {})
    assert printed.split(", within")[0] == expected.split(", within")[0] == "2,000,000 rows"
    new, old = (float(text.split()[-2]) for text in (printed, expected))
    assert abs(new / old - 1) < 0.2


@pytest.mark.slow
def test_the_blocks_about_spaces_run() -> None:
    """With a graph and a frame as they speak of; 150,000 rows are enough for bounds of two columns at ε = 0.1."""
    generator = np.random.default_rng(0)
    people = {"stop": generator.integers(0, 40, 150_000), "income": generator.lognormal(8, 1, 150_000)}
    frame = pd.DataFrame(people | {"rent": generator.lognormal(6, 1, 150_000)})
    names: dict[str, Any] = {"mp": mp, "roads": nx.cycle_graph(40), "frame": frame}
    for language, text in blocks((ROOT / "docs" / "spaces.md").read_text()):
        run(language, text, names)
    assert names["space"].bounds_provenance == BoundsProvenance(0.1, "replace", 2)


def test_the_audit_of_ones_own_finds_what_it_says() -> None:
    """Half of the noise that is claimed, 50,000 times: seen by over thirty standard deviations."""
    ((language, text),) = blocks((ROOT / "docs" / "audit.md").read_text())
    assert "violated" in run(language, text, {})


def test_every_page_with_blocks_is_run() -> None:
    pages = {page.relative_to(ROOT / "docs").as_posix(): page for page in (ROOT / "docs").rglob("*.md")}
    with_blocks = {
        name for name, page in pages.items() if re.search(r"^```(python|pycon|console)$", page.read_text(), re.M)
    }
    assert with_blocks == {*RUN, *ELSEWHERE}
    for page, test in ELSEWHERE.items():
        assert f'/ "{page}"' in (ROOT / test).read_text(), (page, test)  # as a path, which this list has not


@pytest.mark.parametrize("page", [pytest.param(page, marks=[pytest.mark.slow] * slow) for page, slow in RUN.items()])
def test_a_page_prints_what_it_shows(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Words, and numbers but for noise, of which the page says how much there may be.

    That is over six standard deviations of the difference of two answers everywhere: less likely than 1e-8 each.
    """
    monkeypatch.chdir(tmp_path)
    check((ROOT / "docs" / page).read_text(encoding="utf-8"))


def test_the_tutorial_needs_nothing_but_numpy() -> None:
    """It is also run where nothing else is installed."""
    page = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^(?:import|from) (\w+)", page, flags=re.MULTILINE)) == {"milepost", "numpy", "pathlib"}


@pytest.mark.parametrize("page", NEW)
def test_links_and_pictures_of_a_page_are_there(page: str) -> None:
    """Other pages, and pictures with words for those who do not see them and the command that draws them."""
    path = ROOT / "docs" / page
    text = path.read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#]+)", text):
        assert link.startswith("https://") or (path.parent / link).exists(), link
    pictures = re.findall(r"^!\[(.*)\]\((.*)\)$", text, flags=re.MULTILINE)
    assert all(len(description) > 40 for description, _ in pictures)
    names = re.findall(r"^<!-- drawn by: python -m docs.pictures (\w+) -->\n!\[", text, flags=re.MULTILINE)
    assert [Path(picture).stem.split("-")[0] for _, picture in pictures] == names


def test_every_how_to_page_is_listed() -> None:
    """So are the guides that lie elsewhere."""
    folder = ROOT / "docs" / "how-to"
    links = set(re.findall(r"\]\(([^)#]+)", (folder / "index.md").read_text(encoding="utf-8")))
    elsewhere = {f"../{name}.md" for name in ("groups", "spark", "service", "scale", "ledger", "spaces")}
    assert links >= {page.name for page in folder.glob("*.md")} - {"index.md"} | elsewhere


class TestBlocks:
    """The runner of pages notices what is wrong, and allows no more than a page says."""

    PAGE = "```python\nx = 2\nprint('x is', x / 3)\n```\n\n```text\nx is 0.6666666666666666\n```\n"

    def test_names_go_on_from_block_to_block(self) -> None:
        assert check(self.PAGE + "```pycon\n>>> x + 1\n3\n>>> y = 5\n```\n```python\nz = x + y\n```\n")["z"] == 7

    @pytest.mark.parametrize("output", ["x was 0.6666666666666666", "x is 0.67", "x is", "x is 0.6666666666666666 1"])
    def test_other_words_and_numbers_are_wrong(self, output: str) -> None:
        with pytest.raises(AssertionError, match="line 7"):
            check(self.PAGE.replace("x is 0.6666666666666666", output))

    def test_noise_is_allowed_as_far_as_the_page_says(self) -> None:
        page = self.PAGE.replace("x is 0.6666666666666666", "x is 0.66")
        check("<!-- noise: 0.01, 5 % -->\n" + page)
        for noise in ("0.001, 5 %", "0.01, 0.5 %", "none"):
            with pytest.raises(AssertionError, match=r"0\.66 is shown"):
                check(f"<!-- noise: {noise} -->\n" + page)

    def test_whole_numbers_have_a_limit_of_their_own(self) -> None:
        assert not Noise(0.5, 1.0).difference("n ≈ 29,975 ± 1.3", "n ≈ 29,975 ± 1.4")
        assert Noise(0.5, 1.0).difference("n ≈ 29,975", "n ≈ 29,976") == "29,975 is shown, 29,976 is printed"
        assert not Noise.of("0.5, 100 %, whole 300").difference("n ≈ 29,975", "n ≈ 29,800")
        assert LENIENT.difference("k = 3", "k = 4")

    def test_versions_times_and_widths_do_not_matter(self) -> None:
        expected, printed = "numpy 2.4.6 at 2026-11-16T04:58:24Z", "  numpy   2.0.0rc1 at 2027-01-01T00:00:00.5Z ──"
        assert not Noise().difference(expected, printed)

    def test_examples_of_a_prompt_are_compared(self) -> None:
        check("<!-- noise: 0.2, 10 % -->\n```pycon\n>>> 10 / 3\n3.4\n```\n")
        with pytest.raises(AssertionError):
            check("```pycon\n>>> 10 / 3\n3.4\n```\n")

    def test_commands_are_run_and_compared_where_something_is_shown(self) -> None:
        lines = iter(["first\n", "second\n", "third 3\n"])
        page = "```console\n$ a \\\n  b\n$ c\nsecond\n$ d\nthird 3\n```\n"
        commands: list[str] = []

        def command(line: str) -> str:
            commands.append(line.split()[0])
            return next(lines)

        check(page, command)
        assert commands == ["a", "c", "d"]
        with pytest.raises(AssertionError, match="3 is shown, 4 is printed"):
            check(page, lambda line: {"a": "", "c": "second", "d": "third 4"}[line[0]])

    def test_a_command_that_fails_is_an_error(self) -> None:
        with pytest.raises(RuntimeError, match="exit code 2"):
            check("```console\n$ milepost show missing.milepost\n```\n")

    def test_pages_are_written_anew(self) -> None:
        page = self.PAGE.replace("x is 0.6666666666666666", "…") + "```console\n$ c\n…\n$ d\n```\n"
        result = written(page, lambda line: f"ran {line}\n")
        assert result == self.PAGE + "```console\n$ c\nran c\n$ d\n```\n"
