"""A visit to the page: what a person does there, and what they and the network saw."""

import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Locator, Page

from tests.browser.service_fixture import House
from tests.events import wait_until

NARROW = 360
ROW = """name => {
  const row = [...document.querySelectorAll('.ranking li')].find(row => row.querySelector('.name').value === name);
  const value = row?.querySelector('.value[data-value]');
  return value && {...value.dataset, ...row.querySelector('.where').dataset, text: value.innerText};
}"""


@dataclass
class Visit:
    """One page in one browser's tab. trouble: what its console said; hosts: whom it asked."""

    page: Page
    house: House
    trouble: list[str] = field(default_factory=list)
    embedding: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.page.on("console", lambda said: self.trouble.append(said.text) if said.type == "error" else None)
        self.page.on("pageerror", lambda error: self.trouble.append(str(error)))
        self.page.on("request", lambda request: self.embedding.add(urlsplit(request.url).netloc))

    def open(self, who: str, choice: str) -> "Visit":
        """With a key in the link."""
        self.page.goto(f"{self.house.url}/#key={self.house.keys[who]}&{choice}")
        self.page.locator(".heading h1").wait_for()
        return self

    def drawn(self) -> "Visit":
        """Once the map has its field and its centre."""
        self.page.locator("path.centre").wait_for(state="attached")
        return self

    def at(self, across: float, down: float) -> tuple[float, float]:
        """A place on the map, as shares of its width and height, in the window."""
        self.page.locator("svg.map").scroll_into_view_if_needed()
        box = self.page.locator("svg.map .outline").bounding_box()
        assert box is not None
        return box["x"] + across * box["width"], box["y"] + down * box["height"]

    def click(self, across: float, down: float) -> None:
        """On the map."""
        self.page.mouse.click(*self.at(across, down))

    def answer(self) -> tuple[Any, float, float]:
        """The point that was asked, its value and its error, once they are there; the text shows the same."""
        shown = self.page.locator(".answer[data-value]").first
        shown.wait_for()
        found = shown.evaluate("shown => ({...shown.dataset, text: shown.innerText})")
        return json.loads(found["point"]), *read(found)

    def add_sites(self, **sites: tuple[float, float]) -> None:
        """By typed coordinates."""
        page = self.page
        page.locator(".view-side details.typed summary").click()
        form = page.locator(".site-form")
        for name, point in sites.items():
            form.locator("[name=name]").fill(name)
            for box, value in zip(form.locator("input[type=number]").all(), point, strict=True):
                box.fill(str(value))
            form.locator("button").click()
        page.locator(".view-side details.typed summary").click()
        for name in sites:
            self.ranked(name)

    def ranked(self, name: str) -> tuple[Any, float, float]:
        """Where a site is, its value and its error, as the ranking shows them; rows move, so all is read at once."""
        found = self.page.wait_for_function(ROW, arg=name).json_value()
        return json.loads(found["point"]), *read(found)

    def settled(self, release: str, name: str) -> tuple[Any, float, float]:
        """The same, once the answers have caught up with the site: they are those of the interface then."""
        found: list[Any] = []

        def is_settled() -> bool:
            found[:] = self.ranked(name)
            return tuple(found[1:]) == self.house.distance(release, found[0])

        wait_until(is_settled, "the answer of a site")
        return found[0], found[1], found[2]

    def order(self) -> list[str]:
        """Of the sites, as ranked."""
        names = self.page.locator(".ranking input.name").evaluate_all("all => all.map(box => box.value)")
        return [str(name) for name in names]

    @property
    def said(self) -> str:
        """What those hear who do not see the page."""
        return str(self.page.locator("#status").inner_text())

    @property
    def sideways(self) -> bool:
        """Whether the page can be scrolled sideways."""
        return bool(self.page.evaluate("document.documentElement.scrollWidth > innerWidth"))


def number(shown: Locator) -> tuple[float, float]:
    """The value and error of an element."""
    return read(shown.evaluate("shown => ({...shown.dataset, text: shown.innerText})"))


def read(found: dict[str, str]) -> tuple[float, float]:
    """A value and its error; what can be read differs from them by rounding only."""
    value, error = float(found["value"]), float(found["error"])
    words = found["text"].replace(",", "").split()
    assert words[1] == "±"
    half = 0.5 * 10.0 ** -len(words[0].partition(".")[2])
    assert abs(float(words[0]) - value) <= half * 1.0001
    assert abs(float(words[2]) - error) <= half * 1.0001
    return value, error
