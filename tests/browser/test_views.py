"""The other views of a release: curve, form, list and groups; and its statement."""

from pathlib import Path

import pytest

import milepost as mp
from tests.browser.conftest import Visiting
from tests.browser.page_object import number
from tests.browser.service_fixture import WIDTH, House

pytestmark = pytest.mark.slow


def test_the_statement_in_plain_words(visiting: Visiting, house: House) -> None:
    """Who is protected, how strongly and how exactly, and every line of the whole statement behind more."""
    page = visiting().open("anna", "release=fjords").page
    facts = page.locator(".fact").all_inner_texts()
    assert "Each single row of the table" in facts[0]
    assert "ε = 1, δ = 1e-06" in facts[1]
    assert "2.7 times as likely" in facts[1]
    assert "with 95\u00a0% confidence" in facts[2]
    page.get_by_text("More: the full statement").click()
    shown = page.locator(".more .terms").first.inner_text()
    for line in house.send("anna", "GET", "/v1/releases/fjords/statement")["lines"]:
        assert line["text"] in shown


def test_the_release_can_be_taken_home(visiting: Visiting, house: House, tmp_path: Path) -> None:
    """The file that is downloaded is the release, and answers the same without the service."""
    page = visiting().open("anna", "release=ages").page
    page.get_by_text("More: the full statement").click()
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download the release").click()
    path = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(path)
    assert path.name == "ages.milepost"
    assert mp.load(path).mean_distance([40]) == house.distance("ages", [40])[0]


def test_a_curve(visiting: Visiting, house: House) -> None:
    """A click asks there; the keys move along it and ask, too."""
    visit = visiting().open("anna", "release=ages")
    page = visit.page
    page.locator("path.line").wait_for()
    page.locator("svg.curve").click(position={"x": 300, "y": 150})
    point, *numbers = visit.answer()
    assert tuple(numbers) == house.distance("ages", point)
    page.locator("svg.curve").focus()
    page.keyboard.press("Home")
    page.keyboard.press("Enter")
    page.locator(".answers tbody tr").nth(1).wait_for()
    point, *numbers = visit.answer()
    assert point == [18]
    assert tuple(numbers) == house.distance("ages", [18])


def test_a_form(visiting: Visiting, house: House) -> None:
    """Numbers, a choice and a flag; the answers stay in a small table."""
    visit = visiting().open("anna", "release=patients")
    page = visit.page
    page.get_by_label("age").fill("70")
    page.get_by_label("plan").select_option("plus")
    page.get_by_label("smokes").check()
    page.get_by_role("button", name="Ask").click()
    point, *numbers = visit.answer()
    assert point == [70, "plus", True]
    assert tuple(numbers) == house.distance("patients", point)
    page.get_by_label("age").fill("20")
    page.get_by_role("button", name="Ask").click()
    page.locator(".answers tbody tr").nth(1).wait_for()
    assert page.locator(".answers tbody td").first.inner_text() == "20, plus, yes"


def test_many_numbers_are_pasted(visiting: Visiting, house: House) -> None:
    """Too few are refused here; as many as there are columns are asked."""
    visit = visiting().open("anna", "release=vectors")
    page = visit.page
    page.locator("textarea").fill("1, 2, 3")
    page.get_by_role("button", name="Ask").click()
    assert f"needs {WIDTH}" in page.locator("textarea").evaluate("area => area.validationMessage")
    vector = [round(0.1 * place - 1, 1) for place in range(WIDTH)]
    page.locator("textarea").fill(", ".join(map(str, vector)))
    page.get_by_role("button", name="Ask").click()
    point, *numbers = visit.answer()
    assert point == vector
    assert tuple(numbers) == house.distance("vectors", vector)


def test_a_list_of_known_points(visiting: Visiting, house: House) -> None:
    """All of them, the nearest first, each with the interface's numbers."""
    page = visiting().open("anna", "release=spelling").page
    page.locator(".bars li").first.wait_for()
    rows = page.locator(".bars li").all()
    shown = {row.get_attribute("data-name"): number(row.locator(".bar-value")) for row in rows}
    known = house.send("anna", "GET", "/v1/releases/spelling")["known"]
    said = house.send("anna", "POST", "/v1/releases/spelling/distances", {"points": known})
    names = [name if isinstance(name, str) else name[0] for name in known]
    assert shown == dict(zip(names, zip(said["distances"], said["errors"], strict=True), strict=True))
    assert list(shown.values()) == sorted(shown.values())


def test_groups(visiting: Visiting, house: House) -> None:
    """A click ranks all groups; the callout follows the group that is drawn, and an empty group says nothing."""
    visit = visiting().open("anna", "release=streets").drawn()
    page = visit.page
    visit.click(0.4, 0.4)
    point, *numbers = visit.answer()
    said = house.send("anna", "POST", "/v1/releases/streets/nearest", {"points": [point]})
    assert tuple(numbers) == house.distance("streets", point, group="south-west")
    for row in page.locator(".groups .bars li").all():
        place = said["labels"].index(row.get_attribute("data-name"))
        if said["seen"][place]:
            assert number(row.locator(".bar-value")) == (said["distances"][0][place], said["errors"][0][place])
        else:
            assert row.locator(".bar-value").inner_text() == "too few rows to say"
    assert said["seen"][:2] == [True, True]  # the third is empty, and may be seen or not
    assert f"Nearest: {said['nearest'][0]}" in page.locator(".groups .verdict").inner_text()
    lines = "[...document.querySelectorAll('.contours path')].map(line => line.getAttribute('d')).join()"
    before = page.evaluate(lines)
    page.get_by_label("Group shown").select_option("north-east")
    page.wait_for_function(f"old => {lines} !== old", arg=before)
    visit.click(0.6, 0.4)
    point, *numbers = visit.answer()
    assert tuple(numbers) == house.distance("streets", point, group="north-east")


def test_budgets(visiting: Visiting, house: House) -> None:
    """A bar for each dataset, as long as what is spent."""
    page = visiting().open("anna", "release=ages").page
    for dataset in house.send("anna", "GET", "/v1/datasets")["datasets"]:
        meter = page.get_by_role("meter", name=f"Budget of {dataset['name']}")
        assert meter.get_attribute("aria-valuenow") == str(round(100 * dataset["share"]))
