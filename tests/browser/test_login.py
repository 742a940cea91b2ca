"""The login: a key lets a person in, another one does not, and it never stays in the address."""

import pytest

from tests.browser.conftest import OpenPage
from tests.browser.service_fixture import ServiceFixture

pytestmark = pytest.mark.slow


def test_a_key_is_typed_and_forgotten_again(open_page: OpenPage, service: ServiceFixture) -> None:
    """Signed in by the form, a reload keeps the tab's key, and signing out drops it."""
    page = open_page().page
    page.goto(service.url)
    page.get_by_label("Your key").fill(service.keys["anna"])
    page.get_by_role("button", name="Sign in").click()
    page.locator(".heading h1").wait_for()
    assert page.locator("#who span").inner_text() == "anna"
    page.reload()
    page.locator(".heading h1").wait_for()
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("Your key").wait_for()
    assert page.evaluate("sessionStorage.length") == 0
    assert service.keys["anna"] not in page.content()
    page.reload()
    page.get_by_label("Your key").wait_for()


def test_a_link_with_a_key(open_page: OpenPage, service: ServiceFixture) -> None:
    """The key leaves the address bar, the choice stays and is what is shown."""
    page = open_page().go_to("anna", "release=ages").page
    assert page.locator(".heading h1").inner_text() == "Ages of patients"
    assert page.url == f"{service.url}/#release=ages"


def test_a_wrong_key_is_refused_in_words(open_page: OpenPage, service: ServiceFixture) -> None:
    page = open_page(expect=("status of 401",)).page
    page.goto(service.url)
    for key in ("not-a-key", "schlüssel ✓"):
        page.get_by_label("Your key").fill(key)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_text("The service does not know this key").wait_for()
        assert page.locator("#workspace").is_hidden()


def test_a_release_that_is_not_there(open_page: OpenPage, service: ServiceFixture) -> None:
    """A link to nothing says so, and the sidebar still leads on."""
    page = open_page(expect=("status of 404",)).page
    page.goto(f"{service.url}/#key={service.keys['anna']}&release=atlantis")
    page.get_by_text("This does not exist, or your key has no access").wait_for()
    page.get_by_role("link", name="Ages of patients").click()
    page.locator(".heading h1").wait_for()
    assert page.url.endswith("#release=ages")
