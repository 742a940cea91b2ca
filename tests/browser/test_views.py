"""The other views of a release: curve, form, list and groups; and its statement."""

import re
from pathlib import Path

import pytest

import milepost as mp
from tests.browser.conftest import OpenPage
from tests.browser.page_object import read_number
from tests.browser.service_fixture import WIDTH, ServiceFixture

pytestmark = pytest.mark.slow


def test_the_statement_in_plain_words(open_page: OpenPage, service: ServiceFixture) -> None:
    """Who is protected, how strongly and how exactly, and every line of the whole statement behind more."""
    page = open_page().go_to("anna", "release=fjords").page
    facts = page.locator(".fact").all_inner_texts()
    assert "Each single row of the table" in facts[0]
    assert "ε = 1, δ = 1e-06" in facts[1]
    assert "2.7 times as likely" in facts[1]
    assert "with 95\u00a0% confidence" in facts[2]
    assert re.search(r"Distances go up to [\d,.]+\u00a0km\.", facts[2])
    page.get_by_text("More: the full statement").click()
    terms = page.locator(".more .terms").first.inner_text()
    for line in service.send("anna", "GET", "/v1/releases/fjords/statement")["lines"]:
        assert line["text"] in terms


def test_the_release_can_be_taken_home(open_page: OpenPage, service: ServiceFixture, tmp_path: Path) -> None:
    """The file that is downloaded is the release, and answers the same without the service."""
    page = open_page().go_to("anna", "release=ages").page
    page.get_by_text("More: the full statement").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the release").click()
    path = tmp_path / download.value.suggested_filename
    download.value.save_as(path)
    assert path.name == "ages.milepost"
    assert mp.load(path).mean_distance([40]) == service.distance("ages", [40])[0]


def test_a_curve(open_page: OpenPage, service: ServiceFixture) -> None:
    """A click asks there; the keys move along it and ask, too."""
    tab = open_page().go_to("anna", "release=ages")
    page = tab.page
    page.locator("path.line").wait_for()
    page.locator("svg.curve").click(position={"x": 300, "y": 150})
    point, *numbers = tab.read_answer()
    assert tuple(numbers) == service.distance("ages", point)
    page.locator("svg.curve").focus()
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    page.locator(".answers tbody tr").nth(1).wait_for()
    point, *numbers = tab.read_answer()
    assert point == [18]
    assert tuple(numbers) == service.distance("ages", [18])


def test_a_form(open_page: OpenPage, service: ServiceFixture) -> None:
    """Numbers, a choice and a flag; the answers stay in a small table."""
    tab = open_page().go_to("anna", "release=patients")
    page = tab.page
    form = page.locator(".point-form")
    form.get_by_label("age").fill("70")
    form.get_by_label("plan").select_option("plus")
    form.get_by_label("smokes").check()
    page.get_by_role("button", name="Ask").click()
    point, *numbers = tab.read_answer()
    assert point == [70, "plus", True]
    assert tuple(numbers) == service.distance("patients", point)
    form.get_by_label("age").fill("20")
    page.get_by_role("button", name="Ask").click()
    page.locator(".answers tbody tr").nth(1).wait_for()
    assert page.locator(".answers tbody td").first.inner_text() == "20, plus, yes"


def test_many_numbers_are_pasted(open_page: OpenPage, service: ServiceFixture) -> None:
    """Too few are refused here; as many as there are columns are asked."""
    tab = open_page().go_to("anna", "release=vectors")
    page = tab.page
    page.locator("textarea").fill("1, 2, 3")
    page.get_by_role("button", name="Ask").click()
    assert f"needs {WIDTH}" in page.locator("textarea").evaluate("area => area.validationMessage")
    vector = [round(0.1 * index - 1, 1) for index in range(WIDTH)]
    page.locator("textarea").fill(", ".join(map(str, vector)))
    page.get_by_role("button", name="Ask").click()
    point, *numbers = tab.read_answer()
    assert point == vector
    assert tuple(numbers) == service.distance("vectors", vector)


def test_a_list_of_known_points(open_page: OpenPage, service: ServiceFixture) -> None:
    """All of them, the nearest first, each with the interface's numbers."""
    page = open_page().go_to("anna", "release=spelling").page
    page.locator(".bars li").first.wait_for()
    rows = page.locator(".bars li").all()
    numbers = {row.get_attribute("data-name"): read_number(row.locator(".bar-value")) for row in rows}
    points = service.send("anna", "GET", "/v1/releases/spelling")["given_queries"]
    response = service.send("anna", "POST", "/v1/releases/spelling/distances", {"points": points})
    names = [name if isinstance(name, str) else name[0] for name in points]
    assert numbers == dict(zip(names, zip(response["distances"], response["errors"], strict=True), strict=True))
    assert list(numbers.values()) == sorted(numbers.values())


def test_groups(open_page: OpenPage, service: ServiceFixture) -> None:
    """A click ranks all groups; the callout follows the group that is drawn, and an empty group says nothing."""
    tab = open_page().go_to("anna", "release=streets").wait_for_map()
    page = tab.page
    tab.click_map(0.4, 0.4)
    point, *numbers = tab.read_answer()
    streets = service.send("anna", "GET", "/v1/releases/streets")
    assert streets["size"] in page.locator(".heading").inner_text()
    exactness = page.locator(".fact").nth(2).inner_text()
    assert all(f"{float(f'{streets[name]:.2g}'):g}" in exactness for name in ("min_error", "error"))
    response = service.send("anna", "POST", "/v1/releases/streets/nearest", {"points": [point]})
    assert tuple(numbers) == service.distance("streets", point, group="south-west")
    for row in page.locator(".groups .bars li").all():
        index = response["labels"].index(row.get_attribute("data-name"))
        if response["detectable"][index]:
            assert read_number(row.locator(".bar-value")) == (
                response["distances"][0][index],
                response["errors"][0][index],
            )
        else:
            assert row.locator(".bar-value").inner_text() == "too few rows for an answer"
    assert response["detectable"][:2] == [True, True]  # the third is empty, and may be seen or not
    assert f"Nearest: {response['nearest'][0]}" in page.locator(".groups .verdict").inner_text()
    lines = "[...document.querySelectorAll('.contours path')].map(line => line.getAttribute('d')).join()"
    before = page.evaluate(lines)
    page.get_by_label("Group shown").select_option("north-east")
    page.wait_for_function(f"old => {lines} !== old", arg=before)
    tab.click_map(0.6, 0.4)
    point, *numbers = tab.read_answer()
    assert tuple(numbers) == service.distance("streets", point, group="north-east")


def test_budgets(open_page: OpenPage, service: ServiceFixture) -> None:
    """A bar for each dataset, as long as what is spent."""
    page = open_page().go_to("anna", "release=ages").page
    for dataset in service.send("anna", "GET", "/v1/datasets")["datasets"]:
        meter = page.get_by_role("meter", name=f"Budget of {dataset['name']}")
        assert meter.get_attribute("aria-valuenow") == str(round(100 * dataset["share"]))
        counted, _, in_brackets = dataset["remaining"].removesuffix(")").partition(" (")
        text = page.locator(f"[data-dataset={dataset['name']}]").inner_text().replace("\u00a0", " ")
        assert f"Remaining: {in_brackets}, of {dataset['cap']}" in text
        assert f"Accounting: {dataset['accounting']}, {counted}" in text
