"""Links within the repository lead to files and headings that are there."""

import re
from functools import cache
from pathlib import Path

from tests import ROOT

PAGES = [*ROOT.glob("*.md"), *(page for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts)]
FENCED = re.compile(r"^(`{3,})[^\n]*\n.*?^\1$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)|<img src=\"([^\"]+)\"")


@cache
def text_of(page: Path) -> str:
    """Without blocks and pieces of code, in which brackets are brackets."""
    return re.sub(r"`[^`\n]+`", "code", FENCED.sub("", page.read_text(encoding="utf-8")))


@cache
def headings(page: Path) -> frozenset[str]:
    """Anchors, as they are made of headings; those that are generated are checked where the site is built."""
    titles = re.findall(r"^#+ (.*)$", FENCED.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return frozenset(re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles)


def broken_links(page: Path, text: str) -> list[str]:
    """Links of a page that lead nowhere."""
    links = [first or second for first, second in LINK.findall(text)]
    return [link for link in links if not re.match(r"https?://|mailto:", link) and not _leads(page, link)]


def _leads(page: Path, link: str) -> bool:
    path, _, heading = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if not target.exists() or not target.is_relative_to(ROOT):
        return False
    return not heading or target.suffix != ".md" or heading in headings(target)


def test_links_lead_somewhere() -> None:
    links_by_page = {page.relative_to(ROOT).as_posix(): broken_links(page, text_of(page)) for page in PAGES}
    assert {page: links for page, links in links_by_page.items() if links} == {}


def test_broken_links_are_noticed() -> None:
    page = ROOT / "docs" / "index.md"
    text = "[a](gone.md) [b](cli.md#gone) [c](cli.md#spaces) [d](#proofs) [e](#gone) <img src=\"gone.png\" alt=''>"
    assert broken_links(page, text) == ["gone.md", "cli.md#gone", "#gone", "gone.png"]
