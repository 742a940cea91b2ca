"""What a test needs that not every computer has: it is skipped there, but never where it must be run."""

import os
import shutil

import pytest

from milepost import MilepostError
from milepost.ingest.spark.session import check_java


def require(what: str) -> None:
    """Skip where `what` is missing; fail where MILEPOST_REQUIRE, a list with commas, names it."""
    missing = REQUIREMENTS[what]()
    if missing is None:
        return
    if what in os.environ.get("MILEPOST_REQUIRE", "").split(","):
        pytest.fail(missing)
    pytest.skip(missing)


def _java() -> str | None:
    try:
        check_java()
    except MilepostError as reason:
        return str(reason)
    return None


def _browser() -> str | None:
    return None if shutil.which("chromium") else "there is no chromium on the PATH; install Debian's package"


REQUIREMENTS = {"java": _java, "browser": _browser}
