"""How the page looks: wide and narrow, light and dark; saved as pictures, and never wider than the screen."""

from itertools import product
from pathlib import Path

import pytest

from tests.browser.conftest import OpenPage
from tests.browser.page_object import NARROW, PageObject

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
READY_SELECTORS = {
    "release=ages": "path.line",
    "release=spelling": ".bars li",
    "session=long": ".basemap path",
}  # of an element that is there once the view is drawn
SITES = {"Copenhagen": (55.68, 12.5), "Aarhus": (56.16, 10.2), "Odense": (55.4, 10.39), "Roskilde": (55.64, 12.08)}


PICTURES = [
    (screen, colours, choice)
    for screen, colours in product(SCREENS, ("light", "dark"))
    for choice in (CHOICES if (screen == "phone") == (colours == "dark") else CHOICES[:2])
]


@pytest.mark.parametrize(("screen", "colours", "choice"), PICTURES)
def test_pictures(open_page: OpenPage, pictures: Path, screen: str, colours: str, choice: str) -> None:
    """The login with a refusal, the map with sites and an answer, and every other view, in this size and colours."""
    width, height = SCREENS[screen]
    tab = open_page(width=width, height=height, dark=colours == "dark", expect=("status of 401",))
    if choice == "login":
        tab.page.goto(f"{tab.service.url}/#key=wrong-key")
        tab.page.get_by_text("The service does not know this key").wait_for()
    else:
        tab.go_to("anna", choice)
        tab.page.locator(".view").wait_for()
    if choice == "release=fjords":
        tab.wait_for_map().add_sites(**SITES)
        tab.click_map(0.4, 0.64)
        tab.read_answer()
    elif choice == "release=streets":
        tab.wait_for_map().click_map(0.4, 0.4)
        tab.read_answer()
    elif choice in READY_SELECTORS:
        tab.page.locator(READY_SELECTORS[choice]).first.wait_for()
    _save_picture(tab, pictures / f"{choice.rpartition('=')[2]}-{screen}-{colours}.png")


def _save_picture(tab: PageObject, path: Path) -> None:
    tab.page.screenshot(path=path, full_page=True)
    assert not tab.scrolls_sideways
    assert path.stat().st_size > 5_000


def test_colours_can_be_chosen(open_page: OpenPage) -> None:
    """The button goes round the system's colours, light and dark, and the choice stays."""
    page = open_page().go_to("anna", "release=ages").page

    def background() -> str:
        return str(page.evaluate("getComputedStyle(document.body).backgroundColor"))

    backgrounds = [background()]
    for _ in range(2):
        page.locator("#theme").click()
        backgrounds.append(background())
    assert backgrounds[0] == backgrounds[1] != backgrounds[2]
    page.reload()
    page.locator(".heading h1").wait_for()
    assert background() == backgrounds[2]


def test_the_narrow_sidebar_opens_and_closes(open_page: OpenPage) -> None:
    page = open_page(width=NARROW, height=780).go_to("anna", "release=ages").page
    assert page.get_by_role("link", name="Walks by quarter").is_hidden()
    page.locator("#menu-button").click()
    page.get_by_role("link", name="Walks by quarter").click()
    page.get_by_role("heading", name="Walks by quarter").wait_for()
    assert page.locator("#sidebar").is_hidden()
