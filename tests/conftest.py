"""Settings of all tests, and shared fixtures: a small private table, and a folder in memory."""

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

# all tests there are slow; tests/project/test_requirements.py sees to it that `make test-all` has what they need
NEEDED = {"playwright": "browser", "schemathesis": "service/test_openapi.py", "sphinx": "docs/test_site.py"}
collect_ignore = [part for package, part in NEEDED.items() if find_spec(package) is None]

settings.register_profile("steady", deadline=None, derandomize=True, max_examples=40)
settings.register_profile("long", settings.get_profile("steady"), max_examples=100)
settings.load_profile("steady")


def pytest_collection_finish() -> None:
    """Keep the garbage collector from scanning thousands of collected tests again and again."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def pytest_unconfigure() -> None:
    """Let the collector free everything at exit, as without `gc.freeze`."""
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
    """Return a folder in memory where the system has one, else on disk.

    For tests in which a process or a statement fails, not the computer: what was written before survives either way,
    and a thousand transactions need not wait for a disk.
    """
    if not os.access(MEMORY, os.W_OK):
        yield tmp_path
        return
    with TemporaryDirectory(dir=MEMORY, prefix="milepost-") as folder:
        yield Path(folder)
