"""One service and one browser for all tests here, and a function that opens pages in it."""

import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.page_object import PageObject
from tests.browser.service_fixture import ServiceFixture, create_data_directory, run_service
from tests.requirements import require

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
OpenPage = Callable[..., PageObject]


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceFixture]:
    """Run a real service with data of every kind. The first pytest process creates it, each process serves a copy."""
    require("browser")
    shared = (
        tmp_path_factory.getbasetemp().parent if "PYTEST_XDIST_WORKER" in os.environ else tmp_path_factory.mktemp("all")
    )
    template, keys_path = shared / "service", shared / "service.json"
    with (shared / "service.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not keys_path.exists():
            keys_path.write_text(json.dumps(create_data_directory(template)))
    copy = tmp_path_factory.mktemp("served") / "service"
    shutil.copytree(template, copy)
    with run_service(copy, json.loads(keys_path.read_text())) as service:
        yield service


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Start the installed Chromium."""
    require("browser")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(service: ServiceFixture, chromium: Browser) -> Iterator[OpenPage]:
    """Return a function that opens pages; at the end, none has contacted another host or logged an unexpected error."""
    tabs: list[tuple[PageObject, tuple[str, ...]]] = []

    def make(
        *, width: int = 1360, height: int = 900, dark: bool = False, touch: bool = False, expect: tuple[str, ...] = ()
    ) -> PageObject:
        context = chromium.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            has_touch=touch,
            reduced_motion="reduce",
        )
        page = context.new_page()
        page.set_default_timeout(120_000)
        tab = PageObject(page, service)
        tabs.append((tab, expect))
        return tab

    yield make
    for tab, expect in tabs:
        unexpected_errors = [text for text in tab.console_errors if not any(part in text for part in expect)]
        tab.page.context.close()
        assert unexpected_errors == []
        assert tab.hosts <= {urlsplit(service.url).netloc}


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder for screenshots: MILEPOST_SCREENSHOTS, or a temporary one."""
    path = os.environ.get("MILEPOST_SCREENSHOTS")
    folder = Path(path) if path else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder
