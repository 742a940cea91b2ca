"""The curator's view: plan, build, and see it on the sidebar."""

import pytest

from tests.browser.conftest import OpenPage
from tests.browser.service_fixture import ServiceFixture

pytestmark = pytest.mark.slow
SPACE = '{"space": "great-circle", "center": [55.9, 10.6], "radius_km": 260, "directions": 32}'


def test_plan_and_build(open_page: OpenPage, service: ServiceFixture) -> None:
    """A plan lists mechanisms; a build becomes a job, then a release that everybody sees; its charge is listed."""
    page = open_page(expect=("status of 409",)).page
    page.goto(f"{service.url}/#key={service.keys['carla']}&curator")
    page.locator("#plan-form").get_by_label("Space").fill(SPACE)
    page.get_by_role("button", name="Plan", exact=True).click()
    page.locator("#plan-form ~ div table").wait_for()
    assert "slopes" in page.locator("#plan-form ~ div").inner_text()
    form = page.locator("#create-form")
    form.get_by_label("Name").fill("built")
    form.get_by_label("Title").fill("Built here")
    form.get_by_label("Table").fill("homes.csv")
    form.get_by_label("Dataset").select_option("homes")
    form.get_by_label("Space").fill(SPACE)
    form.get_by_label("ε").fill("0.5")
    form.get_by_role("button", name="Build").click()
    page.get_by_role("link", name="Built here").wait_for(timeout=300_000)
    assert service.send("anna", "GET", "/v1/releases/built")["title"] == "Built here"
    assert "release built" in page.locator(".job").first.inner_text()
    form.get_by_role("button", name="Build").click()
    page.get_by_text("This name exists already").wait_for()


def test_an_analyst_has_no_such_view(open_page: OpenPage, service: ServiceFixture) -> None:
    page = open_page().page
    page.goto(f"{service.url}/#key={service.keys['anna']}&curator")
    page.get_by_text("Choose a release or a session").wait_for()
    assert page.get_by_role("link", name="Plan and build").count() == 0
