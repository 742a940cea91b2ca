"""The curator's view: plan, build, and see it on the sidebar."""

from typing import Any

import pytest

from milepost.spaces.registry import named_spaces
from tests.browser.conftest import OpenPage
from tests.browser.service_fixture import ServiceFixture

pytestmark = pytest.mark.slow
SPACE = '{"space": "great-circle", "center": [55.9, 10.6], "radius_km": 260, "directions": 32}'


def fill_fields(form: Any) -> None:
    """Fill in the fields of a space, which the form has from the service."""
    form.locator("select[name=kind]").select_option("great-circle")
    form.locator("input[name=center]").fill("[55.9, 10.6]")
    form.locator("input[name=radius_km]").fill("260")
    form.locator("input[name=directions]").fill("32")


def test_every_space_has_its_fields(open_page: OpenPage, service: ServiceFixture) -> None:
    """The inputs are those that the service lists; a value that is not JSON is not sent, and the others make a plan."""
    page = open_page().page
    page.goto(f"{service.url}/#key={service.keys['carla']}&curator")
    form = page.locator("#plan-form")
    form.locator("select[name=kind]").locator("option[value=great-circle]").wait_for(state="attached")
    for name, space in named_spaces().items():
        form.locator("select[name=kind]").select_option(name)
        expected = {field.name for field in space.fields or () if field.in_files}
        assert {
            *form.locator(".wide .compact input").evaluate_all("inputs => inputs.map(({name}) => name)")
        } == expected
    form.locator("select[name=kind]").select_option("l1")
    form.locator("input[name=bounds]").fill("age 18 to 90")
    page.get_by_role("button", name="Plan", exact=True).click()
    message = form.locator("input[name=bounds]").evaluate("input => input.validationMessage")
    assert message == 'This is not JSON; write it like {"age":[18,90]}'
    form.locator("input[name=bounds]").fill('{"age": [18, 90]}')
    form.locator("input[name=distance_unit]").fill("years")
    page.get_by_role("button", name="Plan", exact=True).click()
    page.locator("#plan-form ~ div table").wait_for()
    assert "slopes" in page.locator("#plan-form ~ div").inner_text()


def test_plan_and_build(open_page: OpenPage, service: ServiceFixture) -> None:
    """A plan lists mechanisms; a build becomes a job, then a release that everybody sees; its charge is listed."""
    page = open_page(expect=("status of 409",)).page
    page.goto(f"{service.url}/#key={service.keys['carla']}&curator")
    fill_fields(page.locator("#plan-form"))
    page.get_by_role("button", name="Plan", exact=True).click()
    page.locator("#plan-form ~ div table").wait_for()
    assert "slopes" in page.locator("#plan-form ~ div").inner_text()
    form = page.locator("#create-form")
    form.get_by_label("Name").fill("built")
    form.get_by_label("Title").fill("Built here")
    form.get_by_label("Table").fill("homes.csv")
    form.get_by_label("Dataset").select_option("homes")
    form.locator("select[name=kind]").select_option("as JSON")
    form.locator("textarea[name=space]").fill(SPACE)
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
