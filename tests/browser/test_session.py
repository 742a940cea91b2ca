"""Sessions: questions until there are none, and one that was lost on the way."""

import pytest
from playwright.sync_api import Route

from tests.browser.conftest import OpenPage
from tests.browser.service_fixture import QUESTIONS, ServiceFixture

pytestmark = pytest.mark.slow


def test_ask_until_it_is_exhausted(open_page: OpenPage, service: ServiceFixture) -> None:
    """Every answer is in the transcript; the question after the last one is refused in words."""
    tab = open_page(expect=("status of 409",)).go_to("anna", "session=short")
    page = tab.page
    page.locator("svg.map .outline").wait_for()
    for turn in range(QUESTIONS):
        tab.click_map(0.35 + 0.1 * turn, 0.5)
        page.get_by_role("button", name="Ask here").click()
        page.locator(f".session-status[data-remaining='{QUESTIONS - 1 - turn}']").wait_for()
        page.locator(".transcript tbody tr").nth(turn).wait_for()
        point, *numbers = tab.read_answer()
        questions = service.send("anna", "GET", "/v1/sessions/short/transcript")["questions"]
        assert len(questions) == turn + 1
        assert (questions[-1]["point"], questions[-1]["value"], questions[-1]["error"]) == (point, *numbers)
    assert page.locator("circle.answer-mark").count() == QUESTIONS
    tab.click_map(0.5, 0.3)
    page.get_by_role("button", name="Ask here").click()
    alert = page.locator(".view-side .problem")
    alert.wait_for()
    assert alert.inner_text().startswith(f"This session has answered all {QUESTIONS} questions")
    assert len(service.send("anna", "GET", "/v1/sessions/short/transcript")["questions"]) == QUESTIONS


def test_a_lost_question_is_sent_again_under_its_name(open_page: OpenPage, service: ServiceFixture) -> None:
    """The answer is lost on its way back; sent again, it costs one question in all, not two."""
    tab = open_page(expect=("net::ERR",)).go_to("anna", "session=long")
    page = tab.page
    names: list[str] = []

    def lose(route: Route) -> None:
        names.append(route.request.headers["idempotency-key"])
        if len(names) == 1:
            route.fetch()  # it reaches the service
            route.abort()
        else:
            route.continue_()

    page.route("**/ask", lose)
    before = len(service.send("anna", "GET", "/v1/sessions/long/transcript")["questions"])
    page.locator("svg.map .outline").wait_for()
    page.locator("svg.map").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.activeElement.textContent === 'Ask here'")
    page.keyboard.press("Enter")
    page.get_by_text("The page cannot reach the service").wait_for()
    page.get_by_role("button", name="Send it again").click()
    tab.read_answer()
    assert names[0] == names[1]
    assert len(service.send("anna", "GET", "/v1/sessions/long/transcript")["questions"]) == before + 1


def test_another_ones_session_is_not_seen(open_page: OpenPage, service: ServiceFixture) -> None:
    page = open_page(expect=("status of 404", "status of 403")).page
    page.goto(f"{service.url}/#key={service.keys['bert']}&session=long")
    page.locator(".content .problem").wait_for()
    assert page.get_by_role("link", name="A long talk").count() == 0
