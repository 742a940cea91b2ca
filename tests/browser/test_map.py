"""The map: what is asked by mouse, finger or keys is what the interface answers."""

import json

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import OpenPage
from tests.browser.service_fixture import ServiceFixture

pytestmark = pytest.mark.slow
TOWNS = {"Copenhagen": (55.68, 12.5), "Aarhus": (56.16, 10.2), "Odense": (55.4, 10.39)}


def test_a_click_asks(open_page: OpenPage, service: ServiceFixture) -> None:
    """The callout shows the interface's answer for the point that was clicked, and the status text has it, too."""
    tab = open_page().go_to("anna", "release=fjords").wait_for_map()
    for position in ((0.5, 0.5), (0.3, 0.6)):
        tab.click_map(*position)
        tab.page.wait_for_function("() => document.querySelector('#status').textContent.startsWith('At ')")
        point, value, error = tab.read_answer()
        assert (value, error) == service.distance("fjords", point)
        assert f"{value:.1f}"[:-1] in tab.status_text
    west, east = 10.6 - 260 / 62.35, 10.6 + 260 / 62.35  # a degree of longitude has about 62.35 km there
    assert point[1] == pytest.approx(west + 0.3 * (east - west), abs=0.05)


def test_dragged_sites_are_ranked(open_page: OpenPage, service: ServiceFixture) -> None:
    """A pin's numbers change while it is dragged; where it is dropped they are the interface's; the order follows."""
    tab = open_page().go_to("anna", "release=fjords").wait_for_map()
    tab.add_sites(**TOWNS)
    before = {name: tab.ranked_site(name) for name in TOWNS}
    for name, (point, *numbers) in before.items():
        assert tuple(point) == TOWNS[name]
        assert tuple(numbers) == service.distance("fjords", point)
    assert tab.order() == sorted(TOWNS, key=lambda name: before[name][1])
    assert "larger than the noise" in tab.page.locator(".view-side .verdict").inner_text()
    first = tab.order()[0]
    _drag(tab.page, first, *tab.window_position(0.2, 0.3))
    tab.page.wait_for_function("name => document.querySelector('.ranking input.name').value !== name", arg=first)
    point, value, _ = tab.wait_for_site("fjords", first)
    assert point != list(TOWNS[first])
    assert value > before[first][1]
    assert tab.order()[-1] == first


def _drag(page: Page, name: str, x: float, y: float) -> None:
    """Drag a site to a position in the window; its numbers must change on the way, before it is dropped."""
    pin = page.locator(f".site[aria-label^='{name},'] .pin")
    box = pin.bounding_box()
    assert box is not None
    start = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 3)
    before = page.locator(".ranking .value[data-value]").evaluate_all(
        "all => all.map(value => value.dataset.value).sort()"
    )
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move((start[0] + x) / 2, (start[1] + y) / 2, steps=6)
    page.wait_for_function(
        "before => JSON.stringify([...document.querySelectorAll('.ranking .value')]"
        ".map(value => value.dataset.value).sort()) !== JSON.stringify(before)",
        arg=before,
    )
    page.mouse.move(x, y, steps=6)
    page.mouse.up()


def test_sites_too_close_are_a_tie(open_page: OpenPage) -> None:
    tab = open_page().go_to("anna", "release=fjords").wait_for_map()
    tab.add_sites(Here=(55.7, 12.0), There=(55.7, 12.0001))
    assert "A tie between" in tab.page.locator(".view-side .verdict").inner_text()
    assert tab.page.locator(".ranking .rank").all_inner_texts() == ["1 =", "1 ="]
    tab.page.reload()
    tab.wait_for_map()
    assert set(tab.order()) == {"Here", "There"}  # the tab keeps them


def test_keys_alone_are_enough(open_page: OpenPage, service: ServiceFixture) -> None:
    """Tab to the map, arrows, Enter asks and reaches the button, a site is added, moved and removed by keys."""
    tab = open_page().go_to("anna", "release=fjords").wait_for_map()
    page = tab.page
    page.keyboard.press("Tab")
    for _ in range(60):
        if page.evaluate("document.activeElement.classList.contains('map')"):
            break
        page.keyboard.press("Tab")
    page.locator(".cross").wait_for()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "Shift+ArrowLeft"):
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    point, value, error = tab.read_answer()
    assert (value, error) == service.distance("fjords", point)
    page.wait_for_function("() => document.activeElement.textContent === 'Add site here'")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.activeElement.dataset.site !== undefined")
    start, *_ = tab.ranked_site("Site A")
    assert start == point
    page.keyboard.press("ArrowUp")
    page.wait_for_function(
        "before => document.querySelector('.ranking .where').dataset.point !== before",
        arg=json.dumps(start, separators=(",", ":")),
    )
    end, *_ = tab.wait_for_site("fjords", "Site A")
    assert end[0] > start[0]
    page.keyboard.press("Delete")
    page.locator(".ranking li").wait_for(state="detached")
    assert page.evaluate("document.activeElement.classList.contains('map')")


def test_a_finger_drags_a_site(open_page: OpenPage) -> None:
    """On a phone, by touch events of the browser itself."""
    tab = open_page(width=390, height=844, touch=True).go_to("anna", "release=fjords").wait_for_map()
    tab.add_sites(Aarhus=TOWNS["Aarhus"])
    x, y = tab.window_position(0.7, 0.7)
    box = tab.page.locator(".site .pin").bounding_box()
    assert box is not None
    start = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 3)
    devtools = tab.page.context.new_cdp_session(tab.page)
    for kind, points in (
        ("touchStart", [start]),
        ("touchMove", [((start[0] + x) / 2, (start[1] + y) / 2)]),
        ("touchMove", [(x, y)]),
        ("touchEnd", []),
    ):
        touches = [{"x": px, "y": py} for px, py in points]
        devtools.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})
    tab.page.wait_for_function("() => !document.querySelector('.site.dragged')")
    point, *_ = tab.wait_for_site("fjords", "Aarhus")
    assert point[0] < 55.7
    assert point[1] > 11


def test_the_centre_is_marked(open_page: OpenPage, service: ServiceFixture) -> None:
    tab = open_page().go_to("anna", "release=fjords").wait_for_map()
    centre = service.send("anna", "POST", "/v1/releases/fjords/center", {})
    line = tab.page.locator(".centre-line").inner_text()
    assert f"{centre['point'][0]:.6g}" in line
    assert f"{centre['distance']:.1f}"[:-2] in line
    assert tab.page.locator(".basemap path").count() == 1  # there is a coast, and it is drawn
    assert tab.page.locator(".contour-numbers text").count() > 3
