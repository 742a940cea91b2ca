"""One service and one browser for all tests here, and a way to visit the page."""

import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.page_object import Visit
from tests.browser.service_fixture import House, furnish, serving
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
Visiting = Callable[..., Visit]


@pytest.fixture(scope="session")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A real service with everything in it. The first of pytest's processes furnishes it, each serves its own copy."""
    require("browser")
    shared = (
        tmp_path_factory.getbasetemp().parent if "PYTEST_XDIST_WORKER" in os.environ else tmp_path_factory.mktemp("all")
    )
    model, written = shared / "house", shared / "house.json"
    with (shared / "house.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not written.exists():
            written.write_text(json.dumps(furnish(model)))
    mine = tmp_path_factory.mktemp("served") / "house"
    shutil.copytree(model, mine)
    with serving(mine, json.loads(written.read_text())) as running:
        yield running


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Debian's own."""
    require("browser")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def visiting(house: House, chromium: Browser) -> Iterator[Visiting]:
    """Makes visits. At their end none has asked another host, and none has trouble in its console but what it names."""
    made: list[tuple[Visit, tuple[str, ...]]] = []

    def make(
        *, width: int = 1360, height: int = 900, dark: bool = False, touch: bool = False, expect: tuple[str, ...] = ()
    ) -> Visit:
        context = chromium.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            has_touch=touch,
            reduced_motion="reduce",
        )
        page = context.new_page()
        page.set_default_timeout(120_000)
        visit = Visit(page, house)
        made.append((visit, expect))
        return visit

    yield make
    for visit, expect in made:
        unexpected = [text for text in visit.trouble if not any(part in text for part in expect)]
        visit.page.context.close()
        assert unexpected == []
        assert visit.embedding <= {urlsplit(house.url).netloc}


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where screenshots are kept: MILEPOST_SCREENSHOTS, or a temporary folder."""
    named = os.environ.get("MILEPOST_SCREENSHOTS")
    folder = Path(named) if named else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder
