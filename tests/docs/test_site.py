"""`make docs` builds the site without a warning, and it is whole."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT

pytestmark = pytest.mark.slow
ACCIDENT = re.compile(r"[^\s>(\[\"'“—–-]<em>")  # emphasis within a word: an index that Markdown has eaten


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, by the command of the Makefile."""
    target = (ROOT / "Makefile").read_text().split("\ndocs:")[1].split("\n\n")[0]
    (line,) = [line for line in target.splitlines() if "-m sphinx" in line]
    folder = tmp_path_factory.mktemp("site")
    command = line.strip("\t@").replace("$(BIN)/python", sys.executable).replace("docs/_build", str(folder))
    assert {"-W", "-n"} <= set(shlex.split(command))
    process = subprocess.run(shlex.split(command), cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
    assert (process.returncode, process.stderr) == (0, "")
    return folder / "html"


def test_every_page_is_there(site: Path) -> None:
    """And the folder's own page leads to the first of them."""
    pages = [page for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts]
    for page in [*pages, *(ROOT / f"{name}.md" for name in ("README", "CHANGELOG", "CONTRIBUTING", "SECURITY"))]:
        assert (site / page.relative_to(ROOT)).with_suffix(".html").is_file()
    assert 'url=docs/index.html"' in (site / "index.html").read_text()


def test_what_is_generated_is_there(site: Path) -> None:
    """One of each, as the quick tests look at all that is put in."""
    for page, content in {
        "python": 'id="milepost.Synopsis.mean_distance"',
        "commands": "milepost ledger create",
        "http": "/v1/releases/{release}/distances",
        "limits": "max_questions",
    }.items():
        text = (site / "docs" / "reference" / f"{page}.html").read_text()
        assert content in text
        assert "generated:" not in text


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    """Unless a page has formulas to typeset."""
    for page in site.rglob("*.html"):
        urls = re.findall(r"<(?:script|link|img)[^>]*(?:src|href)=\"(https?:[^\"]+)", page.read_text())
        assert [url for url in urls if "mathjax" not in url] == [], page


def test_no_formula_is_taken_for_emphasis(site: Path) -> None:
    for page in site.rglob("*.html"):
        assert not ACCIDENT.search(page.read_text()), page
