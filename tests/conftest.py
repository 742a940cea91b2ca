"""Shared fixtures: one small private table that every test may read, and a folder that no disk slows down."""

import gc
import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest
from hypothesis import settings

from milepost import L1

# all tests there are slow; tests/test_requirements.py sees to it that `make test-all` has what they need
NEEDED = {"playwright": "browser", "schemathesis": "service/test_openapi.py", "sphinx": "docs/test_site.py"}
collect_ignore = [part for package, part in NEEDED.items() if find_spec(package) is None]

settings.register_profile("steady", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("steady")


def pytest_collection_finish() -> None:
    """Spare the garbage collector thousands of tests that live to the end: a sixth of the time."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def pytest_unconfigure() -> None:
    """Let libraries free what they hold, as at any other end."""
    gc.unfreeze()


@pytest.fixture
def homes() -> pd.DataFrame:
    """20,000 people with an id, some text, and two coordinates in km."""
    rng = np.random.default_rng(3)
    return pd.DataFrame(
        {
            "id": np.arange(20_000),
            "north": rng.normal(6, 2, 20_000),
            "street": ["Elm"] * 20_000,
            "east": rng.beta(2, 4, 20_000) * 10,
        }
    )


@pytest.fixture
def city() -> L1:
    """The space of those homes."""
    return L1({"east": (0, 10), "north": (0, 10)})


MEMORY = Path("/dev/shm")  # noqa: S108


@pytest.fixture
def memory_path(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where the system has such; else on the disk.

    For tests in which processes or statements fail, not the computer: what was written before is there either way, and
    a thousand transactions need not wait until a disk has them.
    """
    if not os.access(MEMORY, os.W_OK):
        yield tmp_path
        return
    with TemporaryDirectory(dir=MEMORY, prefix="milepost-") as folder:
        yield Path(folder)
