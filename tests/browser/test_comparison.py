"""Columns of a release, a release compared with another one, and drift: the page shows what the interface answers."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page

from tests.browser.conftest import OpenPage
from tests.browser.page_object import NARROW
from tests.browser.service_fixture import ServiceFixture

pytestmark = pytest.mark.slow


def read_estimate(element: Locator, scale: float = 1) -> dict[str, float]:
    """Return value, low and high of an element, and check that its text has them, rounded."""
    element.wait_for()
    data = element.evaluate("element => ({...element.dataset, text: element.innerText})")
    numbers = {name: float(data[name]) for name in ("value", "low", "high")}
    words = [word.strip("()") for word in data["text"].replace(",", "").replace("\n", " ").split()]
    texts = iter(word for word in words if word.replace(".", "", 1).isdigit())
    for number in numbers.values():
        text = next(texts)
        assert abs(float(text) - scale * number) <= 0.51 * 10.0 ** -len(text.partition(".")[2])
    return numbers


def of(answer: dict[str, Any]) -> dict[str, float]:
    return {name: answer[name] for name in ("value", "low", "high")}


def compare(page: Page, other: str) -> None:
    page.get_by_label("Compare with").select_option(other)
    page.get_by_role("button", name="Compare").click()


def test_columns_of_numbers_and_labels(open_page: OpenPage, service: ServiceFixture) -> None:
    """Means and shares are those of the interface, and the form asks about a part of the people."""
    page = open_page().go_to("anna", "release=patients").page
    estimates = service.send("anna", "POST", "/v1/releases/patients/columns", {})["estimates"]
    assert read_estimate(page.locator("[data-column=age] .mean")) == of(estimates[0])
    assert page.locator("[data-column=plan] .bars li").count() == 4
    assert page.locator("[data-column=smokes] .bar-value").inner_text().endswith(" %")
    page.locator(".share-form [name=column]").select_option("age")
    page.get_by_label("From", exact=True).fill("30")
    page.get_by_label("To", exact=True).fill("50")
    page.get_by_role("button", name="Show the share").click()
    body = {"shares": [{"column": "age", "low": 30, "high": 50}]}
    share = service.send("anna", "POST", "/v1/releases/patients/columns", body)["estimates"][0]
    assert read_estimate(page.locator(".answer-share"), 100) == of(share)
    page.locator(".share-form [name=column]").select_option("plan")
    page.get_by_label("With the value").select_option("plus")
    page.get_by_role("button", name="Show the share").press("Enter")
    page.locator(".share-answers li").nth(1).wait_for()
    assert page.locator(".share-answers li").first.inner_text().startswith("plan plus")


def test_columns_of_groups(open_page: OpenPage, service: ServiceFixture) -> None:
    page = open_page().go_to("anna", "release=streets").page
    page.locator("[data-column=east] .mean").wait_for()
    page.get_by_label("Columns of group").select_option("north-east")
    body = {"columns": ["east"], "group": "north-east"}
    expected = of(service.send("anna", "POST", "/v1/releases/streets/columns", body)["estimates"][0])
    page.wait_for_function(
        "value => document.querySelector('[data-column=east] .mean')?.dataset.value == value", arg=expected["value"]
    )
    assert read_estimate(page.locator("[data-column=east] .mean")) == expected


def test_a_map_is_compared_with_a_later_one(open_page: OpenPage, service: ServiceFixture) -> None:
    """The number, two sentences, and a map of the difference that can be asked with keys."""
    tab = open_page().go_to("anna", "release=fjords").wait_for_map()
    page = tab.page
    assert page.get_by_text("Columns", exact=True).count() == 0  # great circles have none
    compare(page, "Homes by the sea, later")
    answer = service.send("anna", "POST", "/v1/releases/fjords/difference", {"other": "harbours"})
    assert read_estimate(page.locator(".answer-difference")) == of(answer)
    assert page.locator(".verdict.tables").inner_text().startswith("The tables are different")
    figure = page.locator(".comparison .figure")
    assert figure.locator(".contour-numbers text").count() > 2
    figure.locator("svg").focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    callout = figure.locator(".callout strong")
    callout.wait_for()
    assert callout.inner_text().endswith("Homes by the sea, later")
    assert tab.status_text == callout.inner_text()


def test_curves_bars_and_other_spaces(open_page: OpenPage, service: ServiceFixture) -> None:
    """Columns of numbers have curves, labels have bars, and a release of another space is refused with what differs."""
    page = open_page(expect=("status of 422",)).go_to("anna", "release=ages").page
    compare(page, "Clinic in 2027")
    assert read_estimate(page.locator(".answer-difference")) == of(
        service.send("anna", "POST", "/v1/releases/ages/difference", {"other": "ages-2027"})
    )
    assert page.locator(".comparison .chart path.line").count() == 2
    compare(page, "Walks by quarter")
    page.get_by_text("These releases have different spaces").wait_for()
    assert (
        "bounds: {age:[18,90]} and {east:[0,10],north:[0,6]}" in page.locator(".questions .problem").last.inner_text()
    )
    page = open_page().go_to("anna", "release=patients").page
    compare(page, "Patients, a year later")
    page.locator(".comparison .bars li").nth(2).wait_for()
    assert page.locator(".comparison .bars li").first.get_attribute("data-name") == "plan"


def test_groups_of_one_release_are_compared(open_page: OpenPage, service: ServiceFixture) -> None:
    page = open_page().go_to("anna", "release=streets").wait_for_map().page
    compare(page, "this release")
    body = {"other": "streets", "group": "south-west", "other_group": "north-east"}
    expected = service.send("anna", "POST", "/v1/releases/streets/difference", body)
    assert read_estimate(page.locator(".answer-difference")) == of(expected)


def test_drift_in_an_order_that_is_chosen(open_page: OpenPage, service: ServiceFixture) -> None:
    """Releases are reordered and left out with keys; the table has the numbers of the chart."""
    page = open_page().go_to("anna", "release=ages").page
    page.get_by_role("link", name="Drift").click()
    page.get_by_role("heading", name="Drift").wait_for()
    page.get_by_label("Space").select_option("l1: age")
    page.get_by_label("Move Clinic in 2027 up").press("Enter")
    page.get_by_role("button", name="Compare in this order").click()
    expected = service.send("anna", "POST", "/v1/drift", {"releases": ["ages", "ages-2027", "ages-2026"]})
    cells = page.locator(".drift-table td")
    cells.nth(3).wait_for()
    differences = [expected[series][row] for row in range(2) for series in ("to_first", "to_previous")]
    assert [read_estimate(cell) for cell in cells.all()] == [of(difference) for difference in differences]
    assert page.locator(".drift .chart circle").count() == 4
    page.get_by_role("checkbox", name="Clinic in 2026").press("Space")
    page.get_by_role("button", name="Compare in this order").click()
    page.wait_for_function("() => document.querySelectorAll('.drift-table td').length === 2")


SCREENS = {"desktop-light": (1360, 900, False), "phone-dark": (NARROW, 780, True)}
COMPARED = {
    "fjords": "Homes by the sea, later",
    "ages": "Clinic in 2027",
    "patients": "Patients, a year later",
    "streets": "this release",
}


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("release", [*COMPARED, "drift"])
def test_pictures(open_page: OpenPage, pictures: Path, screen: str, release: str) -> None:
    width, height, dark = SCREENS[screen]
    tab = open_page(width=width, height=height, dark=dark)
    page = tab.page
    if release == "drift":
        tab.go_to("anna", "drift")
        page.get_by_label("Space").select_option("l1: age")
        page.get_by_role("button", name="Compare in this order").click()
        page.locator(".drift-table td").first.wait_for()
        page.locator(".drift .chart circle").first.wait_for()
    else:
        tab.go_to("anna", f"release={release}")
        compare(page, COMPARED[release])
        page.locator(".comparison .chart path.line, .comparison .figure .outline, .comparison .bars").first.wait_for()
    path = pictures / f"compared-{release}-{screen}.png"
    page.screenshot(path=path, full_page=True)
    assert not tab.scrolls_sideways
    assert path.stat().st_size > 5_000
