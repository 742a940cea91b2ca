"""How the page looks: wide and narrow, light and dark; kept as pictures, and never wider than the screen."""

from itertools import product
from pathlib import Path

import pytest

from tests.browser.conftest import Visiting
from tests.browser.page_object import NARROW, Visit

pytestmark = pytest.mark.slow
SCREENS = {"desktop": (1360, 900), "phone": (NARROW, 780)}
CHOICES = (
    "release=fjords",
    "login",
    "release=streets",
    "release=ages",
    "release=patients",
    "release=vectors",
    "release=spelling",
    "session=long",
)
MARKS = {
    "release=ages": "path.line",
    "release=spelling": ".bars li",
    "session=long": ".basemap path",
}  # once it is drawn
SITES = {"Copenhagen": (55.68, 12.5), "Aarhus": (56.16, 10.2), "Odense": (55.4, 10.39), "Roskilde": (55.64, 12.08)}


PICTURES = [
    (screen, colours, choice)
    for screen, colours in product(SCREENS, ("light", "dark"))
    for choice in (CHOICES if (screen == "phone") == (colours == "dark") else CHOICES[:2])
]


@pytest.mark.parametrize(("screen", "colours", "choice"), PICTURES)
def test_pictures(visiting: Visiting, pictures: Path, screen: str, colours: str, choice: str) -> None:
    """The login with a refusal, the map with sites and an answer, and every other view, in this size and colours."""
    width, height = SCREENS[screen]
    visit = visiting(width=width, height=height, dark=colours == "dark", expect=("status of 401",))
    if choice == "login":
        visit.page.goto(f"{visit.house.url}/#key=wrong-key")
        visit.page.get_by_text("This key is not known here").wait_for()
    else:
        visit.open("anna", choice)
        visit.page.locator(".view").wait_for()
    if choice == "release=fjords":
        visit.drawn().add_sites(**SITES)
        visit.click(0.4, 0.64)
        visit.answer()
    elif choice == "release=streets":
        visit.drawn().click(0.4, 0.4)
        visit.answer()
    elif choice in MARKS:
        visit.page.locator(MARKS[choice]).first.wait_for()
    _keep(visit, pictures / f"{choice.rpartition('=')[2]}-{screen}-{colours}.png")


def _keep(visit: Visit, path: Path) -> None:
    visit.page.screenshot(path=path, full_page=True)
    assert not visit.sideways
    assert path.stat().st_size > 5_000


def test_colours_can_be_chosen(visiting: Visiting) -> None:
    """The button goes round the system's colours, light and dark, and the choice stays."""
    page = visiting().open("anna", "release=ages").page

    def ground() -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    seen = [ground()]
    for _ in range(2):
        page.locator("#theme").click()
        seen.append(ground())
    assert seen[0] == seen[1] != seen[2]
    page.reload()
    page.locator(".heading h1").wait_for()
    assert ground() == seen[2]


def test_the_narrow_shelf_opens_and_closes(visiting: Visiting) -> None:
    page = visiting(width=NARROW, height=780).open("anna", "release=ages").page
    assert page.get_by_role("link", name="Walks by quarter").is_hidden()
    page.locator("#menu-button").click()
    page.get_by_role("link", name="Walks by quarter").click()
    page.get_by_role("heading", name="Walks by quarter").wait_for()
    assert page.locator("#sidebar").is_hidden()
