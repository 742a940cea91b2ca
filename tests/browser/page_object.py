"""The page as a test uses it: what a person does and reads there, and what the browser logs."""

import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Locator, Page

from tests.browser.service_fixture import ServiceFixture
from tests.events import wait_until

NARROW = 360
ROW = """name => {
  const row = [...document.querySelectorAll('.ranking li')].find(row => row.querySelector('.name').value === name);
  const value = row?.querySelector('.value[data-value]');
  return value && {...value.dataset, ...row.querySelector('.where').dataset, text: value.innerText};
}"""


@dataclass
class PageObject:
    """The page in one tab of a browser. console_errors: texts; hosts: all that requests were sent to."""

    page: Page
    service: ServiceFixture
    console_errors: list[str] = field(default_factory=list)
    hosts: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.page.on(
            "console", lambda message: self.console_errors.append(message.text) if message.type == "error" else None
        )
        self.page.on("pageerror", lambda error: self.console_errors.append(str(error)))
        self.page.on("request", lambda request: self.hosts.add(urlsplit(request.url).netloc))

    def go_to(self, who: str, choice: str) -> "PageObject":
        """Open a view of the page by a link with a key."""
        self.page.goto(f"{self.service.url}/#key={self.service.keys[who]}&{choice}")
        self.page.locator(".heading h1").wait_for()
        return self

    def wait_for_map(self) -> "PageObject":
        """Wait until the map has its field and its centre."""
        self.page.locator("path.centre").wait_for(state="attached")
        return self

    def window_position(self, across: float, down: float) -> tuple[float, float]:
        """Return the position in the window of a point of the map, given as shares of its width and height."""
        self.page.locator("svg.map").scroll_into_view_if_needed()
        box = self.page.locator("svg.map .outline").bounding_box()
        assert box is not None
        return box["x"] + across * box["width"], box["y"] + down * box["height"]

    def click_map(self, across: float, down: float) -> None:
        """Click on the map, at shares of its width and height."""
        self.page.mouse.click(*self.window_position(across, down))

    def read_answer(self) -> tuple[Any, float, float]:
        """Wait for an answer, and return its point, value and error; the text shows the same."""
        element = self.page.locator(".answer[data-value]").first
        element.wait_for()
        data = element.evaluate("element => ({...element.dataset, text: element.innerText})")
        return json.loads(data["point"]), *parse_number(data)

    def add_sites(self, **sites: tuple[float, float]) -> None:
        """Add sites by their coordinates."""
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
            self.ranked_site(name)

    def ranked_site(self, name: str) -> tuple[Any, float, float]:
        """Return the point, value and error of a site in the ranking; rows move, so all is read at once."""
        data = self.page.wait_for_function(ROW, arg=name).json_value()
        return json.loads(data["point"]), *parse_number(data)

    def wait_for_site(self, release: str, name: str) -> tuple[Any, float, float]:
        """Wait until the numbers of a site are those of the interface, and return its point, value and error."""
        site: list[Any] = []

        def is_current() -> bool:
            site[:] = self.ranked_site(name)
            return tuple(site[1:]) == self.service.distance(release, site[0])

        wait_until(is_current, "the answer of a site")
        return site[0], site[1], site[2]

    def order(self) -> list[str]:
        """Return the names of the sites in the order of the ranking."""
        names = self.page.locator(".ranking input.name").evaluate_all("all => all.map(box => box.value)")
        return [str(name) for name in names]

    @property
    def status_text(self) -> str:
        """The text for screen readers."""
        return str(self.page.locator("#status").inner_text())

    @property
    def scrolls_sideways(self) -> bool:
        """Whether the page can be scrolled sideways."""
        return bool(self.page.evaluate("document.documentElement.scrollWidth > innerWidth"))


def read_number(element: Locator) -> tuple[float, float]:
    """Return the value and error of an element."""
    return parse_number(element.evaluate("element => ({...element.dataset, text: element.innerText})"))


def parse_number(data: dict[str, str]) -> tuple[float, float]:
    """Return a value and its error, and check that the text differs from them by rounding only."""
    value, error = float(data["value"]), float(data["error"])
    parts = data["text"].replace(",", "").split()
    assert parts[1] == "±"
    half = 0.5 * 10.0 ** -len(parts[0].partition(".")[2])
    assert abs(float(parts[0]) - value) <= half * 1.0001
    assert abs(float(parts[2]) - error) <= half * 1.0001
    return value, error
