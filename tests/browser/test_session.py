"""Sessions: questions until there are none, and one that was lost on the way."""

import pytest
from playwright.sync_api import Route

from tests.browser.conftest import Visiting
from tests.browser.service_fixture import QUESTIONS, House

pytestmark = pytest.mark.slow


def test_ask_until_it_is_exhausted(visiting: Visiting, house: House) -> None:
    """Every answer is in the transcript; the question after the last one is refused in words."""
    visit = visiting(expect=("status of 409",)).open("anna", "session=short")
    page = visit.page
    page.locator("svg.map .outline").wait_for()
    for turn in range(QUESTIONS):
        visit.click(0.35 + 0.1 * turn, 0.5)
        page.get_by_role("button", name="Ask here").click()
        page.locator(f".session-status[data-remaining='{QUESTIONS - 1 - turn}']").wait_for()
        page.locator(".transcript tbody tr").nth(turn).wait_for()
        point, *numbers = visit.answer()
        said = house.send("anna", "GET", "/v1/sessions/short/transcript")["questions"]
        assert len(said) == turn + 1
        assert (said[-1]["point"], said[-1]["value"], said[-1]["error"]) == (point, *numbers)
    assert page.locator("circle.answer-mark").count() == QUESTIONS
    visit.click(0.5, 0.3)
    page.get_by_role("button", name="Ask here").click()
    alert = page.locator(".view-side .problem")
    alert.wait_for()
    assert alert.inner_text().startswith(f"This session has answered all {QUESTIONS} questions")
    assert len(house.send("anna", "GET", "/v1/sessions/short/transcript")["questions"]) == QUESTIONS


def test_a_lost_question_is_sent_again_under_its_name(visiting: Visiting, house: House) -> None:
    """The answer is lost on its way back; sent again, it costs one question in all, not two."""
    visit = visiting(expect=("net::ERR",)).open("anna", "session=long")
    page = visit.page
    names: list[str] = []

    def lose(route: Route) -> None:
        names.append(route.request.headers["idempotency-key"])
        if len(names) == 1:
            route.fetch()  # it reaches the service
            route.abort()
        else:
            route.continue_()

    page.route("**/ask", lose)
    before = len(house.send("anna", "GET", "/v1/sessions/long/transcript")["questions"])
    page.locator("svg.map .outline").wait_for()
    page.locator("svg.map").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.activeElement.textContent === 'Ask here'")
    page.keyboard.press("Enter")
    page.get_by_text("The service cannot be reached").wait_for()
    page.get_by_role("button", name="Send it again").click()
    visit.answer()
    assert names[0] == names[1]
    assert len(house.send("anna", "GET", "/v1/sessions/long/transcript")["questions"]) == before + 1


def test_another_ones_session_is_not_seen(visiting: Visiting, house: House) -> None:
    page = visiting(expect=("status of 404", "status of 403")).page
    page.goto(f"{house.url}/#key={house.keys['bert']}&session=long")
    page.locator(".content .problem").wait_for()
    assert page.get_by_role("link", name="A long talk").count() == 0
